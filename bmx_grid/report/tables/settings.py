"""Tables of what was run: data sets (the paper's Table 1), counts (appendix B), results by language pair."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bmx_grid.analysis.best import NO_CHANGE
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.report.figures.words import points_in_words
from bmx_grid.report.table import Cell, Table

SegmentCounts = Mapping[tuple[str, str], int]  # (data set, language pair) to segments
Row = tuple[Cell, ...]
NONE = Cell(None)


def datasets(analysis: Analysis, segments: SegmentCounts | None = None) -> Table:
    """Table 1: the language pairs of each data set and how many segments they have; pairs of several sets bold."""
    table = analysis.table
    sets = table.factor_levels("dataset")
    pairs = {name: table.take(table.where(dataset=name)).factor_levels("language_pair") for name in sets}
    times = [pair for found in pairs.values() for pair in found]
    body = []
    for at in range(max(map(len, pairs.values()))):
        found = [pairs[name][at] if at < len(pairs[name]) else None for name in sets]
        shared = [pair is not None and times.count(pair) > 1 for pair in found]
        body.append((Cell("language pairs" if at == 0 else ""), *map(_bold, found, shared)))
    below: list[Row] = [(Cell("settings"), *(Cell(int(table.where(dataset=name).sum()), ",") for name in sets))]
    notes = ["Bold (*): language pairs of several data sets."]
    if segments is None:
        notes.append("A results table does not say how many segments it rests on.")
    else:
        counts = {name: [segments.get((name, pair)) for pair in pairs[name]] for name in sets}
        below.append((Cell("segments per pair"), *(Cell(_range(counts[name])) for name in sets)))
        below.append((Cell("segments"), *(_total(counts[name]) for name in sets)))
    return Table(
        "table1_datasets",
        "Data sets",
        ("", *sets),
        (tuple(body), tuple(below)),
        (*notes, signature(analysis)),
    )


def _bold(pair: str | None, shared: bool) -> Cell:
    return Cell(pair, best=shared)


def _range(counts: list[int | None]) -> str:
    known = sorted({one for one in counts if one is not None})
    if not known:
        return "not known"
    text = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
    missing = counts.count(None)
    return text if missing == 0 else f"{text}, {missing} not known"


def _total(counts: list[int | None]) -> Cell:
    known = [one for one in counts if one is not None]
    return Cell(sum(known), ",") if len(known) == len(counts) else Cell("not known")


def counts(analysis: Analysis) -> Table:
    """Appendix B: settings and correlations of each data set."""
    table = analysis.table
    each = len(table.p) * int(table.boosted.sum())
    header = ("data set", "metrics", "explainers", "language pairs", "settings", "p", "w below 1", "correlations")
    rows = []
    for name in table.factor_levels("dataset"):
        part = table.take(table.where(dataset=name))
        levels = [len(part.factor_levels(factor)) for factor in ("metric", "explainer", "language_pair")]
        numbers = [*levels, len(part), len(table.p), int(table.boosted.sum()), len(part) * each]
        rows.append((Cell(name), *(Cell(one, ",") for one in numbers)))
    levels = [len(table.factor_levels(factor)) for factor in ("metric", "explainer", "language_pair")]
    numbers = [*levels, len(table), len(table.p), int(table.boosted.sum()), table.n_boosted]
    notes = [
        "Controls (random metric, random explainer) included. A setting is a data set, language pair, metric and "
        "explainer that was run; correlations: settings times p times w other than 1, undefined ones included."
    ]
    notes += [f"Left out: {one}." for one in table.left_out]
    notes.append(
        "Appendix E, a second iteration, is the same command on the results of a sweep whose metric is boosted; "
        "it is not made from this table."
    )
    return Table(
        "appendix_b_counts",
        "Number of correlations",
        header,
        (tuple(rows), ((Cell("all"), *(Cell(one, ",") for one in numbers)),)),
        (*notes, signature(analysis)),
    )


def results(analysis: Analysis) -> list[Table]:
    """A table for each data set: metric alone, each explainer at its fixed point and at each setting's best point."""
    return [_results(analysis, name, with_best=True) for name in analysis.real.factor_levels("dataset")]


def held_out(analysis: Analysis) -> list[Table]:
    """The paper's 4.4 and 4.5: metric alone and fixed points that were not chosen on this table; none otherwise."""
    if not analysis.is_held_out:
        return []
    return [_results(analysis, name, with_best=False) for name in analysis.real.factor_levels("dataset")]


def _results(analysis: Analysis, dataset: str, *, with_best: bool) -> Table:
    part = analysis.real.take(analysis.real.where(dataset=dataset))
    explainers = part.factor_levels("explainer")
    header = ["metric", "language pair", "baseline", *(f"{name} fixed" for name in explainers)]
    if with_best:
        header += [f"{name} best" for name in explainers]
    groups = [
        tuple(_metric_rows(analysis, dataset, metric, explainers, with_best=with_best))
        for metric in part.factor_levels("metric")
    ]
    notes = [
        "Correlation with human scores: baseline, the metric alone; fixed, at the point of the explainer"
        + ("; best, at each setting's own best point, chosen where it is judged." if with_best else "."),
        "Bold (*): the highest of baseline and fixed" + (", and of best" if with_best else "") + "; +: above the "
        "explainer's own baseline by more than 1e-5 (baselines of explainers may differ slightly; shown is that of "
        "the first). Average: over all language pairs, n/a where one is undefined or was not run.",
        points_in_words(analysis, explainers),
    ]
    kind = "results" if with_best else "held_out"
    title = f"{dataset}: correlation with human scores"
    title += "" if with_best else " at points chosen elsewhere"
    return Table(
        f"{kind}_{dataset}".replace("/", "-"),
        title,
        tuple(header),
        tuple(groups),
        (*notes, signature(analysis)),
        names=2,
    )


def _metric_rows(analysis: Analysis, dataset: str, metric: str, explainers: list[str], *, with_best: bool) -> list[Row]:
    """A row for each language pair, then the averages."""
    real = analysis.real
    best = analysis.best.take(~analysis.table.is_control)
    rows = []
    own = real.where(dataset=dataset, metric=metric)
    for pair in sorted(set(real.names("language_pair")[own].tolist())):
        at = {real.settings[row].explainer: row for row in (own & real.where(language_pair=pair)).nonzero()[0].tolist()}
        baseline = float(real.baseline[at[min(at)]])
        fixed = {
            name: (float(analysis.fixed.correlation[row]), float(analysis.fixed.gain[row])) for name, row in at.items()
        }
        top = {name: (float(best.correlation[row]), float(best.gain[row])) for name, row in at.items()}
        rows.append(_row(metric, pair, baseline, explainers, fixed, top if with_best else None))
    mean = analysis.averages[dataset, metric]
    fixed = {name: (value, mean.fixed_gain[name]) for name, value in mean.fixed.items()}
    top = {name: (value, mean.best_gain[name]) for name, value in mean.best.items()}
    rows.append(_row(metric, "average", mean.baseline, explainers, fixed, top if with_best else None))
    return rows


def _row(
    metric: str,
    pair: str,
    baseline: float,
    explainers: list[str],
    fixed: Mapping[str, tuple[float, float]],
    best: Mapping[str, tuple[float, float]] | None,
) -> Row:
    """fixed, best: correlation and gain by explainer."""
    highest = max(
        (one for one in [baseline, *(value for value, _ in fixed.values())] if math.isfinite(one)), default=math.nan
    )
    cells = [Cell(metric), Cell(pair), Cell(baseline, ".4f", best=baseline == highest)]
    cells += [_cell(fixed.get(name), highest) for name in explainers]
    if best is not None:
        highest = max((value for value, _ in best.values() if math.isfinite(value)), default=math.nan)
        cells += [_cell(best.get(name), highest) for name in explainers]
    return tuple(cells)


def _cell(found: tuple[float, float] | None, highest: float) -> Cell:
    if found is None:
        return NONE
    value, gain = found
    return Cell(value, ".4f", best=value == highest, improved=gain > NO_CHANGE)
