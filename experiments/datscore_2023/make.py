"""DATScore's weights without its model: does an agreement-weighted combination of metrics beat its parts?

python experiments/datscore_2023/make.py DATA_DIR CACHE_DIR [wmt17 wmt22 mlqe_pe]

wmt17    sentence BLEU, chrF and BERTScore (MiniLM) with Erasure, from a cache that holds them:
         python -m bmx_grid dataset=[wmt17] metric=[sentence_bleu,chrf,minilm_bertscore] explainer=[erasure] \
             evaluation=[grid] cache_dir=CACHE_DIR
wmt22    the sentence-level submissions of WMT22 quality estimation, as they were handed in; `metric=[combined]` with
         the files as members
mlqe_pe  glass-box scores of MLQE-PE: probabilities of sub-words of the translation systems

Parts are put on mean 0 and standard deviation 1, and weighted equally or by their agreement (one-vs-rest); no human
score is looked at. Rows are differences of Pearson's r with the human scores, averaged over the language pairs, with
the 95 % interval of a bootstrap of pairs. "part chosen elsewhere" is the part with the best mean r on the other pairs;
"best part in hindsight" knows the human scores of the very segments. BMX boosts the combination with the Erasure of
the combination, which is the weighted sum of its parts' Erasure, at the point chosen on the other folds of clusters.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that a checkout needs no installation

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import BmxError, DataMissingError, unknown
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.wording import format_interval
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.mlqe_pe import read_model_scores, read_sub_words
from bmx_grid.explainers.base import Explainer
from bmx_grid.guests.datscore.combined import Combined, one_vs_rest, weighted_sums
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import GridSpec, grid_inputs
from bmx_grid.measures.grid_resampling import GridSample, cross_fit
from bmx_grid.measures.resampling import cluster_mean
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.settings import PlanOptions

Floats = NDArray[np.float64]
METRICS = ("sentence_bleu", "chrf", "minilm_bertscore")


@dataclass(frozen=True, eq=False)
class Pair:
    """One language pair: parts float64[N, k] with their names, higher is better; human float64[N].

    boost: what a weighted sum of the parts gains with BMX, given its scores and weights; None where nothing explains.
    """

    name: str
    names: tuple[str, ...]
    parts: Floats
    human: Floats
    sides: tuple[Sequence[Ragged], Sequence[Ragged]] | None = None
    clusters: Sequence[str] = ()


def main(arguments: list[str]) -> int:
    """Print the tables; the exit status."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    data_dir, cache_dir, *names = arguments
    try:
        for name in names or list(READERS):
            if name not in READERS:
                raise DataMissingError(unknown("table", name, READERS))
            print("\n".join(table(name, list(READERS[name](Path(data_dir), Path(cache_dir))))))
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def wmt17(data_dir: Path, cache_dir: Path) -> Iterator[Pair]:
    """The parts and their Erasure from the cache. Raises DataMissingError for what is not there."""
    reader = build(load_option("dataset", "wmt17"), DatasetReader, "dataset.wmt17")
    metrics = {name: build(load_option("metric", name), Metric, f"metric.{name}") for name in METRICS}
    explainers = {"erasure": build(load_option("explainer", "erasure"), Explainer, "explainer.erasure")}
    plan = make_plan({"wmt17": reader}, metrics, explainers, PlanOptions(data_dir=data_dir, cache_dir=cache_dir))
    missing = [setting.label for setting in plan.settings if not setting.is_cached]
    if missing or plan.failures:
        raise DataMissingError(f"{cache_dir} lacks {len(missing)} settings ({missing[:1]}); run the command above.")
    for pair in dict.fromkeys(setting.segments.language_pair for setting in plan.settings):
        own = [setting for setting in plan.settings if setting.segments.language_pair == pair]
        stored = [one.slot.load(one.keys) for one in own]
        parts = np.column_stack([one.base_scores for one in stored])
        sides = tuple(one.ground_truth for one in stored), tuple(one.hypothesis for one in stored)
        human, clusters = own[0].segments.human_scores, own[0].clusters
        yield Pair(pair, tuple(one.metric_name for one in own), parts, human, sides, clusters)


def wmt22(data_dir: Path, cache_dir: Path) -> Iterator[Pair]:
    """The submissions of each pair, by `metric=[combined]` with the files as members."""
    reader = build(load_option("dataset", "wmt22_task1"), DatasetReader, "dataset.wmt22_task1")
    folder = data_dir / "wmt-qe-2022-data" / "official_submissions"
    file = f"{folder}/task1_[dm]*/{{language_pair}}/{{metric}} - * submission/predictions.txt"
    for pair in reader.pairs(data_dir):
        segments = reader.load_segments(data_dir, pair)
        try:
            made = Combined(metrics=({"imported": {"file": file}},)).expand("combined", [segments])["combined"]
        except DataMissingError as error:
            print(f"{pair} left out: {error}", file=sys.stderr)
            continue
        fitted: Any = made.fit(segments)
        yield Pair(
            pair, fitted.part_names, dataclasses.replace(fitted, scale="raw").fitted_scores(), segments.human_scores
        )


def mlqe_pe(data_dir: Path, cache_dir: Path) -> Iterator[Pair]:
    """Five scores of each sentence from the log-probabilities of its sub-words."""
    reader = build(load_option("dataset", "mlqe_pe"), DatasetReader, "dataset.mlqe_pe")
    for pair in reader.pairs(data_dir):
        segments = reader.load_segments(data_dir, pair)
        (archive,) = reader.require(data_dir, reader.needs(pair))
        _, logs = read_sub_words(archive, pair)
        rows = [row[:-1] if len(row) > 1 else np.full(1, np.nan) for row in logs.rows()]
        found = {
            "model score": read_model_scores(archive, pair),
            "mean": np.array([row.mean() for row in rows]),
            "lowest": np.array([row.min() for row in rows]),
            "- standard deviation": -np.array([row.std() for row in rows]),
            "end of sentence": np.array([row[-1] for row in logs.rows()]),
        }
        yield Pair(pair, tuple(found), np.column_stack(list(found.values())), segments.human_scores)


READERS = {"wmt17": wmt17, "wmt22": wmt22, "mlqe_pe": mlqe_pe}


def table(name: str, pairs: list[Pair]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    found = [_scores(one) for one in pairs]
    yield f"\n**{name}**, {len(pairs)} language pairs ({', '.join(one.name for one in pairs)})\n"
    yield "| scores | mean r | lowest | highest |"
    yield "|---|---|---|---|"
    parts = {part for one in pairs for part in one.names}
    everywhere = [part for part in pairs[0].names if all(part in one.names for one in pairs)]
    for part in everywhere:
        yield _line(part, [row[part] for row in found])
    if len(parts) > len(everywhere):
        yield f"| {len(parts) - len(everywhere)} more in some of the pairs | – | – | – |"
    for key in ("equal", "one-vs-rest"):
        yield _line(f"**{key}**", [row[key] for row in found])
    yield "\n| difference | mean [95 % interval] | pairs above 0 |"
    yield "|---|---|---|"
    chosen = [_chosen_elsewhere(found, at, one.names) for at, one in enumerate(pairs)]
    best = [max(row[part] for part in one.names) for row, one in zip(found, pairs, strict=True)]
    mean = [float(np.mean([row[part] for part in one.names])) for row, one in zip(found, pairs, strict=True)]
    against = {"mean of its parts": mean, "part chosen elsewhere": chosen, "best part in hindsight": best}
    for key in ("one-vs-rest", "equal"):
        for other, values in against.items():
            yield _difference(f"{key} − {other}", [row[key] for row in found], values)
    yield _difference("one-vs-rest − equal", [row["one-vs-rest"] for row in found], [row["equal"] for row in found])
    if "boosted" in found[0]:
        yield _difference("BMX − one-vs-rest", [r["boosted"] for r in found], [r["one-vs-rest"] for r in found])
    negative = sum(int((_agreement(one) < 0).sum()) for one in pairs)
    yield f"\n{negative} of {sum(len(one.names) for one in pairs)} weights are negative."


def _scores(pair: Pair) -> dict[str, float]:
    """Pearson's r with the human scores of each part and combination."""
    used = np.isfinite(pair.parts).all(axis=1)
    whole = pair.parts[used]
    standard = (pair.parts - whole.mean(axis=0)) / whole.std(axis=0)
    found = {name: correlate("pearson", part, pair.human) for name, part in zip(pair.names, pair.parts.T, strict=True)}
    weights = _agreement(pair)
    found["equal"] = correlate("pearson", standard.mean(axis=1), pair.human)
    combination = weighted_sums(standard, weights)
    found["one-vs-rest"] = correlate("pearson", combination, pair.human)
    if pair.sides is not None:
        shares = weights / whole.std(axis=0)
        truth, hypothesis = (_sum(side, shares) for side in pair.sides)
        found["boosted"] = _boosted(combination, truth, hypothesis, pair)
    return found


def _agreement(pair: Pair) -> Any:
    return one_vs_rest(pair.parts, pair.names)[0]


def _sum(sides: Sequence[Ragged], shares: Floats) -> Ragged:
    """The attributions of a weighted sum, of those of its parts: Erasure is linear in the scores."""
    values = sum(share * side.values for share, side in zip(shares.tolist(), sides, strict=True))
    return Ragged(np.asarray(values), sides[0].offsets)


def _boosted(base: Floats, truth: Ragged, hypothesis: Ragged, pair: Pair) -> float:
    spec = GridSpec()
    given = grid_inputs(spec, base, truth, hypothesis, pair.human)
    labels = np.asarray(pair.clusters)[given.used]
    sample = GridSample(given.means, given.base, given.human, np.array(spec.w), labels)
    return correlate("pearson", cross_fit(sample), given.human)


def _chosen_elsewhere(found: Sequence[dict[str, float]], at: int, names: Sequence[str]) -> float:
    """The r of the part that has the best mean r on the other pairs that have it."""
    means = {
        name: np.nanmean([row.get(name, np.nan) for other, row in enumerate(found) if other != at])
        for name in names
        if any(name in row for other, row in enumerate(found) if other != at)
    }
    return found[at][max(means, key=lambda name: means[name])]


def _line(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {np.mean(values):.4f} | {min(values):.4f} | {max(values):.4f} |"


def _difference(name: str, left: Sequence[float], right: Sequence[float]) -> str:
    differences = np.array(left) - np.array(right)
    found = cluster_mean(differences, np.arange(len(differences)))
    interval = format_interval(found.mean, found.low, found.high)
    return f"| {name} | {interval} | {found.positive} of {found.n} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
