"""Ablations of DATScore, or of a combination of metrics, from a finished run: a table and a figure.

python experiments/datscore_2023/ablations.py OUTPUT_DIR [pearson | spearman | kendall]

OUTPUT_DIR: of a sweep with metric=[datscore] or metric=[combined] (its config.yaml says the rest; what was scored is in
its cache_dir, and is not scored again). Written beside it, for each such metric: ablations-METRIC.csv, one row per
language pair and variant, and ablations-METRIC.png, means over the pairs: each direction alone, each left out, with a
line at the whole; and entropy on and off x one-vs-rest on and off, printed as a table. Correlations keep their sign;
Kendall's tau-b by default. Parts of a combination are its metrics, on the scale that it sums them on.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import yaml
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that a checkout needs no installation

from parts import ALONE, LEFT_OUT, WHOLE, Ablation, ablations, mean_of

from bmx_grid.core.configure import build_options
from bmx_grid.core.errors import BmxError, ConfigError, DataMissingError, unknown
from bmx_grid.core.storage import replacing
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.guests.datscore.bartscore import score_of
from bmx_grid.guests.datscore.combined import Mixed
from bmx_grid.guests.datscore.datscore import DatScore
from bmx_grid.measures.correlation import Kind
from bmx_grid.metrics.base import Metric
from bmx_grid.report.canvas import BLUE, COLUMN, INK, canvas, style, thin_grid

Floats = NDArray[np.float64]
HEADER = ("dataset", "language_pair", "kind", "name", "correlation", "difference", "weight")


def main(arguments: list[str]) -> int:
    """Print tables, write tables and figures; the exit status."""
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        kind = arguments[1] if len(arguments) == 2 else "kendall"
        if kind not in get_args(Kind):
            raise ConfigError(unknown("correlation", kind, get_args(Kind)))
        folder = Path(arguments[0])
        for name, found in of_run(folder, kind).items():
            rows = [[*pair.split("/"), *_cells(one)] for pair, own in found.items() for one in own]
            path = folder / f"ablations-{name}.csv"
            with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([HEADER, *rows])
            means = mean_of(list(found.values()))
            print("\n".join(table(f"{name}, mean over {len(found)} language pairs, {kind}", means)))
            with style():
                draw(means, kind).savefig(folder / f"ablations-{name}.png", dpi=200)
            print(f"written to {path} and ablations-{name}.png")
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def of_run(folder: Path, kind: Any) -> dict[str, dict[str, list[Ablation]]]:
    """Ablations by metric and "DATA SET/PAIR" of a finished run. Raises BmxError for what is not there."""
    path = folder / "config.yaml"
    if not path.is_file():
        raise DataMissingError(f"{path} is not there: name the output_dir of a finished sweep.")
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    metrics = build_options(config, "metric", Metric)
    mixed = {name: metric for name, metric in metrics.items() if isinstance(metric, Mixed)}
    if not mixed:
        raise ConfigError(f"{path}: no metric of this run is made of parts; run metric=[datscore] or [combined].")
    readers = build_options(config, "dataset", DatasetReader).values()
    data_dir = Path(config["data_dir"])
    sets = [one.load_segments(data_dir, pair).head(config["limit"]) for one in readers for pair in one.pairs(data_dir)]
    found: dict[str, dict[str, list[Ablation]]] = {name: {} for name in mixed}
    for name, metric in mixed.items():
        for segments in sets:
            (fitted,) = (one.fit(segments) for one in metric.expand(name, [segments]).values())
            assert isinstance(fitted, Mixed)
            rows = ablations(variants_of(fitted), fitted.part_names, segments.human_scores, kind)
            found[name][f"{segments.dataset}/{segments.language_pair}"] = rows
    return found


def variants_of(metric: Mixed) -> Mapping[str, Floats]:
    """float64[N, k] scores of the parts of the set that it is fitted to, with the term weights there are."""
    if not isinstance(metric, DatScore):
        return {"scores": metric.fitted_scores()}
    sums = metric.direction_sums(metric.fitted_on)
    return {name: score_of(sums, entropy=name == "entropy", length=metric.length) for name in ("entropy", "uniform")}


def table(title: str, rows: Sequence[Ablation]) -> list[str]:
    """Lines of Markdown."""
    lines = [f"\n**{title}**\n", "| variant | of | correlation | from the whole | weight |", "|---|---|---|---|---|"]
    for one in rows:
        weight = "–" if np.isnan(one.weight) else f"{one.weight:.3f}"
        lines.append(f"| {one.kind} | {one.name} | {one.correlation:.4f} | {one.difference:+.4f} | {weight} |")
    return lines


def draw(rows: Sequence[Ablation], kind: str) -> Any:
    """Two panels of bars, as on the slide: each part alone (a), each left out (b); a dashed line at the whole."""
    whole = next(one.correlation for one in rows if one.kind == WHOLE)
    sides = [[one for one in rows if one.kind == what] for what in (ALONE, LEFT_OUT)]
    figure, axes = canvas(COLUMN * 2, 0.6 + 0.22 * max(map(len, sides)), columns=2)
    for panel, side, title in zip(axes, sides, ("(a) alone", "(b) left out"), strict=True):
        places = -np.arange(len(side))
        panel.barh(places, [one.correlation for one in side], color=BLUE, height=0.7)
        panel.axvline(whole, color=INK, linestyle="--", linewidth=0.8)
        panel.set_yticks(places, [one.name.replace("->", " → ") for one in side])
        panel.set_title(title)
        panel.set_xlabel(f"correlation with human scores ({kind})")
        thin_grid(panel, "x")
    return figure


def _cells(one: Ablation) -> list[Any]:
    return [one.kind, one.name, one.correlation, one.difference, one.weight]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
