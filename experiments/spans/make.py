"""Do error spans improve metrics that have none? WMT23 en-de: mixtures within sources, and verdicts on boosts by spans.

python experiments/spans/make.py DATA_DIR            both tables, which are in README.md
python experiments/spans/make.py DATA_DIR --mixtures the first only: nothing is chosen, a few seconds

DATA_DIR has mt-metrics-eval-v2/wmt23, and esa-wmt23-en-de for spans of people. The sweep goes to outputs/spans.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that a checkout needs no installation

import numpy as np  # noqa: E402

from bmx_grid.core.errors import BmxError  # noqa: E402
from bmx_grid.core.wording import format_interval  # noqa: E402
from bmx_grid.datasets.mt_metrics_eval import MtMetricsEval  # noqa: E402
from bmx_grid.datasets.segments import clusters  # noqa: E402
from bmx_grid.measures.pairwise import PairedSources  # noqa: E402
from bmx_grid.measures.resampling import codes, interval, number_of, seeded_draws  # noqa: E402
from bmx_grid.metrics.imported import Imported  # noqa: E402
from bmx_grid.sweep.folder import table_path  # noqa: E402

if TYPE_CHECKING:
    from bmx_grid.core.ragged import Floats
    from bmx_grid.datasets.segments import SegmentSet

PAIR = "en-de"
BASES = {"chrF": "chrF-refA", "COMET": "COMET-refA", "MetricX-23": "MetricX-23-refA"}
OF_SPANS = {"GEMBA-MQM": "GEMBA-MQM-src", "MaTESe": "MaTESe-refA"}  # minus the points of the errors that they name
PEOPLE = {"ESA": "240315rc5ESA", "ESA_AI": "240315rc5GEMBA"}
SECOND = "240520rc6ESA"  # the same protocol by other people
RESAMPLES = 1000
MAJOR = 5  # points


class Mixture(NamedTuple):
    """PDP of a metric, of the one mixed in, and of the equal mixture of both; what the mixture gains over each."""

    metric: str
    other: str
    alone: float
    of_other: float
    mixed: float
    gain: tuple[float, float, float]
    over_other: tuple[float, float, float]


def main(arguments: list[str]) -> int:
    """Print the tables; the exit status."""
    if not arguments or arguments[1:] not in ([], ["--mixtures"]):
        print(__doc__, file=sys.stderr)
        return 2
    data_dir = Path(arguments[0]).expanduser().resolve()
    try:
        print("\n".join(mixture_lines(data_dir)))
        if not arguments[1:]:
            folder = ROOT / "outputs" / "spans"
            status = sweep(data_dir, folder)
            if status:
                return status
            print("\n".join(["", *verdict_lines(folder), "", *agreement_lines(folder)]))
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def segments_of(folder: Path) -> SegmentSet:
    """The segments of 12 systems; the synthetic reference, an outlier by construction, is left out."""
    reader = MtMetricsEval(
        name="wmt23", folder=str(folder.parent), test_set=folder.name, reference="refA", leave_out=("synthetic_ref",)
    )
    return reader.load_segments(folder.parent, PAIR)


def scores_of(folder: Path, segments: SegmentSet, file: str) -> Floats:
    """float64[N] of a metric; NaN for a segment without."""
    path = folder / "metric-scores" / PAIR / f"{file}.seg.score"
    given = Imported(name=file, file=str(path), language_pairs=(PAIR,)).load_scores(segments)
    assert given is not None
    return given.base_scores


def mixtures(data_dir: Path) -> Iterator[Mixture]:
    """Each metric mixed with each metric that names errors: the mean of both in standard deviations, nothing chosen."""
    folder = data_dir / "mt-metrics-eval-v2" / "wmt23"
    segments = segments_of(folder)
    human = segments.human_scores
    scores = {name: scores_of(folder, segments, file) for name, file in (BASES | OF_SPANS).items()}
    used = np.isfinite(human) & np.all([np.isfinite(column) for column in scores.values()], axis=0)
    z = {name: (column[used] - column[used].mean()) / column[used].std() for name, column in scores.items()}
    items = codes(np.array([segment.id for segment in segments.segments])[used])
    cluster = codes(clusters([segments])[0][used])
    sources = PairedSources.from_codes("pearson", human[used], items, cluster)
    drawn = np.concatenate(list(seeded_draws(number_of(cluster), RESAMPLES, 0)), axis=1)
    every_source = np.ones((len(sources.first), 1))
    counts = np.concatenate([every_source, drawn[cluster[sources.first]]], axis=1)  # all of them, then the draws
    for metric in BASES:
        for other in OF_SPANS:
            columns = np.stack([z[metric], z[other], z[metric] + z[other]], axis=1)
            alone, of_other, mixed = sources.correlations(columns, counts)
            gains = [
                (float(gain[0]), *interval(gain[1:], number_of(cluster))) for gain in (mixed - alone, mixed - of_other)
            ]
            yield Mixture(metric, other, float(alone[0]), float(of_other[0]), float(mixed[0]), gains[0], gains[1])


def mixture_lines(data_dir: Path) -> Iterator[str]:
    """The first table, in Markdown."""
    header = ("metric", "mixed with", "alone", "the other alone", "mixed", "gain", "over the other")
    yield from _header(header)
    for row in mixtures(data_dir):
        values = [f"{value:.3f}" for value in (row.alone, row.of_other, row.mixed)]
        yield _line([row.metric, row.other, *values, format_interval(*row.gain), format_interval(*row.over_other)])


def sweep(data_dir: Path, output_dir: Path) -> int:
    """Run the sweep of the second table; its exit status.

    The scores of metrics that name errors become spans: as many major errors as are in the points, then minor ones,
    without a place. People's spans need the scores of their segments beside the data set.
    """
    source = data_dir / "mt-metrics-eval-v2" / "wmt23"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "wmt23"
        people = {name: data_dir / "esa-wmt23-en-de" / f"{file}.scores.csv" for name, file in PEOPLE.items()}
        for part in ("sources", "documents", "references", "system-outputs", "metric-scores"):
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).symlink_to(source / part)
        (folder / "human-scores").mkdir()
        scores = [*(source / "human-scores").iterdir(), *(data_dir / "esa-wmt23-en-de").glob("*.ESA*.seg.score")]
        for path in scores:
            (folder / "human-scores" / path.name).symlink_to(path)
        explained = {name: str(path) for name, path in people.items()}
        for name, file in OF_SPANS.items():
            explained[name] = str(_as_spans(folder, file, Path(made) / f"{name}.jsonl"))
        metrics = {
            name: f"{folder}/metric-scores/{PAIR}/{file}.{{level}}.score" for name, file in (BASES | OF_SPANS).items()
        }
        gold = {"mqm": str(folder / "human-scores" / f"{PAIR}.mqm.merged.seg.rating"), "ESA": explained["ESA"]}
        gold["ESA_2"] = str(data_dir / "esa-wmt23-en-de" / f"{SECOND}.scores.csv")
        chosen = {
            "dataset": "[mt_metrics_eval]",
            "dataset.mt_metrics_eval.folder": made,
            "dataset.mt_metrics_eval.test_set": "wmt23",
            "dataset.mt_metrics_eval.reference": "refA",
            "dataset.mt_metrics_eval.leave_out": "[synthetic_ref]",
            "metric": "[imported]",
            "metric.imported.files": _mapping(metrics),
            "explainer": "[imported]",
            "explainer.imported.files": _mapping(explained),
            "explainer.imported.extra": "ignore",
            "boost": "[severity]",
            "evaluation": "[boosts,spans]",
            "evaluation.spans.gold": _mapping(gold),
            "evaluation.spans.extra": "ignore",
            "name": "spans",
            "output_dir": str(output_dir),
            "cache_dir": str(Path(made) / "cache"),
            "tracking": "none",
            "analysis": "false",
        }
        words = [f"{key}={value}" for key, value in chosen.items()]
        return subprocess.run([sys.executable, "-m", "bmx_grid", *words], cwd=ROOT, check=False).returncode


def _mapping(paths: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{name}: "{path}"' for name, path in paths.items()) + "}"


def _as_spans(folder: Path, file: str, path: Path) -> Path:
    """The file of spans that has the points of each segment."""
    segments = segments_of(folder)
    lines = []
    for segment, score in zip(segments.segments, scores_of(folder, segments, file).tolist(), strict=True):
        spans: list[dict[str, Any]] | None = None
        if math.isfinite(score):
            majors, minors = divmod(round(-score), MAJOR)
            severities = ["major"] * majors + ["minor"] * minors
            spans = [{"start": 0, "end": 0, "severity": severity} for severity in severities]
        lines.append(json.dumps({"id": segment.id, "system": segment.system, "spans": spans}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def verdict_lines(folder: Path) -> Iterator[str]:
    """The second table: what the severity of spans adds, chosen on other folds; Pearson's r over all segments."""
    import pandas as pd

    estimates = ("gain", "partial_r", "over_metrics")
    corrected = ("p_gain_holm", "p_partial_holm")
    columns = ("gain", "partial r", "partial r given metrics", "verdict", "p gain (Holm)", "p partial (Holm)")
    yield from _header(("metric", "spans of", *columns))
    frame = pd.read_parquet(table_path(folder, "verdicts"))
    for row in frame.sort_values(["metric", "explainer"]).to_dict("records"):
        if row["metric"] in BASES:
            values = [format_interval(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in estimates]
            p_values = ["<0.001" if row[name] < 0.0005 else f"{row[name]:.3f}" for name in corrected]
            yield _line([row["metric"], row["explainer"], *values, row["verdict"], *p_values])


def agreement_lines(folder: Path) -> Iterator[str]:
    """The third table: whose spans agree with whose."""
    import pandas as pd

    yield from _header(("spans of", "against", "characters", "MPP", "segments"))
    frame = pd.read_parquet(table_path(folder, "spans"))
    for (explainer, gold), rows in frame.groupby(["explainer", "gold"], sort=True):
        if explainer in OF_SPANS or explainer == gold:
            continue  # scores have no places
        of_measure = rows.drop_duplicates("measure").set_index("measure")
        values = [f"{row.f1:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in of_measure.itertuples()]
        yield _line([explainer, gold, *values, f"{of_measure.n_segments.iloc[0]:,}"])


def _header(names: tuple[str, ...]) -> list[str]:
    return [_line(list(names)), _line(["---"] * len(names))]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]))
