"""What each metric reaches per language pair: alone, at the point of each explainer, and at its best point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import best, fixed, points
from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.points import ChosenPoints
from bmx_grid.analysis.table import Flags, Floats, GridTable
from bmx_grid.wording import file_stem

Row = tuple[Cell, ...]
ELSEWHERE = {
    "as published": "at points as published",
    "held out": "at held-out points",
    "chosen elsewhere": "at points chosen on another table",
}
READ = (
    "Average: over all language pairs, n/a where one is undefined or was not run. Baselines of explainers may differ "
    "slightly; shown is that of the first."
)


@dataclass(frozen=True)
class Average:
    """Arithmetic means over n language pairs; NaN where a pair is undefined or the explainer did not run on it, so
    that all numbers of a row rest on the same pairs.

    baseline: of the metric alone, each pair as its first explainer has it; fixed, best: by explainer, at its fixed
    point and at each pair's own best point; fixed_gain, best_gain: above the explainer's own baselines.
    """

    n: int
    baseline: float
    fixed: Mapping[str, float]
    fixed_gain: Mapping[str, float]
    best: Mapping[str, float]
    best_gain: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Results:
    """averages: by (data set, metric). fixed, best: float64[S] correlations of the settings of `real`."""

    averages: Mapping[tuple[str, str], Average]
    real: GridTable = working()
    fixed: Floats = working()
    best: Floats = working()
    points: ChosenPoints = working()


def compute(given: Given) -> Results:
    """The correlations of the settings that are not controls, and their averages."""
    real = given.real
    at_fixed, at_best = given.ask(fixed.compute).evaluation.correlation, given.ask(best.compute).real.correlation
    return Results(averages(real, at_fixed, at_best), real, at_fixed, at_best, given.ask(points.compute))


def tables(result: Results) -> Sequence[Table]:
    """One table per data set; where no point was chosen on this table, one of the fixed points alone as well."""
    found = []
    for dataset in result.real.factor_levels("dataset"):
        found.append(_table(result, dataset, "results", "", with_best=True))
        explainers = result.real.take(result.real.where(dataset=dataset)).factor_levels("explainer")
        kinds = {result.points.provenance[name] for name in explainers}
        kind = kinds.pop() if len(kinds) == 1 else ""
        if kind in ELSEWHERE:
            stem = kind.replace(" ", "_")
            found.append(_table(result, dataset, stem, f" {ELSEWHERE[kind]}", with_best=False))
    return found


def averages(table: GridTable, fixed: Floats, best: Floats) -> dict[tuple[str, str], Average]:
    """By (data set, metric); fixed, best: float64[S] correlations of the table's settings."""
    found = {}
    for dataset in table.factor_levels("dataset"):
        part = table.take(table.where(dataset=dataset))
        for metric in part.factor_levels("metric"):
            rows = table.where(dataset=dataset, metric=metric)
            pairs = table.names("language_pair")[rows]
            _, first = np.unique(pairs, return_index=True)
            explainers = sorted(set(table.names("explainer")[rows].tolist()))
            own = {name: rows & table.where(explainer=name) for name in explainers}
            found[dataset, metric] = Average(
                n=len(first),
                baseline=float(table.baseline[rows][first].mean()),
                fixed=_means(fixed, own, len(first)),
                fixed_gain=_means(fixed - table.baseline, own, len(first)),
                best=_means(best, own, len(first)),
                best_gain=_means(best - table.baseline, own, len(first)),
            )
    return found


def _means(values: Floats, rows: Mapping[str, Flags], expected: int) -> dict[str, float]:
    return {name: float(values[of].mean()) if of.sum() == expected else float("nan") for name, of in rows.items()}


def _table(result: Results, dataset: str, stem: str, where: str, *, with_best: bool) -> Table:
    part = result.real.take(result.real.where(dataset=dataset))
    explainers = part.factor_levels("explainer")
    header = ["metric", "language pair", "baseline", *(f"{name} fixed" for name in explainers)]
    header += [f"{name} best" for name in explainers] if with_best else []
    metrics = part.factor_levels("metric")
    said = "Correlation with human scores: baseline, the metric alone; fixed, at the point of the explainer"
    said += "; best, at each setting's own best point, chosen where it is judged." if with_best else "."
    return Table(
        file_stem(f"{stem}_{dataset}"),
        f"{dataset}: correlation with human scores{where}",
        tuple(header),
        tuple(tuple(_rows(result, dataset, metric, explainers, with_best=with_best)) for metric in metrics),
        (said, READ, result.points.in_words(explainers)),
        names=2,
    )


def _rows(result: Results, dataset: str, metric: str, explainers: Sequence[str], *, with_best: bool) -> Iterator[Row]:
    """A row for each language pair, then the averages."""
    real = result.real
    own = real.where(dataset=dataset, metric=metric)
    for pair in sorted(set(real.names("language_pair")[own].tolist())):
        at = {real.settings[row].explainer: row for row in (own & real.where(language_pair=pair)).nonzero()[0].tolist()}
        columns = [{name: float(values[row]) for name, row in at.items()} for values in (result.fixed, result.best)]
        yield _row(metric, pair, float(real.baseline[at[min(at)]]), explainers, columns[: 1 + with_best])
    mean = result.averages[dataset, metric]
    yield _row(metric, "average", mean.baseline, explainers, [mean.fixed, mean.best][: 1 + with_best])


def _row(
    metric: str, pair: str, baseline: float, explainers: Sequence[str], columns: Sequence[Mapping[str, float]]
) -> Row:
    """columns: correlations by explainer; an explainer that did not run has an empty cell."""
    numbers = [Cell(found.get(name), ".4f") for found in columns for name in explainers]
    return (Cell(metric), Cell(pair), Cell(baseline, ".4f"), *numbers)
