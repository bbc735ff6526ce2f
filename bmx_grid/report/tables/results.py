"""Tables of the analysis: selection, what was gained, regression, selection without leakage."""

from __future__ import annotations

from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.report.figures.words import points_in_words
from bmx_grid.report.table import Cell, Table

NONE = Cell(None)
COUNTS = ("better", "worse", "within 1e-5", "undefined", "max gain", "mean gain")
SAID = "Better: gain above 1e-5; worse: gain of 0 or less."


def selection(analysis: Analysis) -> Table:
    """For each explainer the medians of best points, the point it is evaluated at, and what it gains there."""
    header = ("explainer", "median w", "median p", "n", "strict w", "strict p", "strict n", "at w", "at p", *COUNTS)
    rows = []
    for name, found in analysis.fixed.by["explainer"].items():
        median, strict, at = analysis.medians[name], analysis.strict_medians[name], analysis.fixed.used.get(name)
        points = [median.w, median.p, median.n, strict.w, strict.p, strict.n]
        points += [float("nan")] * 2 if at is None else [at.w, at.p]
        pearson = Cell(analysis.gain_baseline.by_explainer[name], ".4f")
        rows.append((Cell(name), *(Cell(one, "g") for one in points), *_counts(found), pearson))
    total = (Cell("all"), *[NONE] * 8, *_counts(analysis.fixed.all), Cell(analysis.gain_baseline.all, ".4f"))
    notes = (
        f"Medians of the best points of the settings, rule '{analysis.best.tie}' of several; strict: of those with a "
        f"gain above 0 only. r: Pearson correlation of gain and baseline. {SAID}",
        points_in_words(analysis),
    )
    return Table(
        "selection_by_explainer",
        "Selected parameters and what they gain",
        (*header, "r(gain, baseline)"),
        (tuple(rows), (total,)),
        (*notes, signature(analysis)),
    )


def metric_selection(analysis: Analysis) -> Table:
    """For each metric and explainer the medians of best points, and of all points that beat the baseline."""
    header = ("metric", "explainer", "median w", "median p", "n", "beating w", "beating p", "beating n")
    groups: dict[str, list[tuple[Cell, ...]]] = {}
    for (metric, explainer), median in analysis.metric_medians.items():
        beating = analysis.beating_medians[metric, explainer]
        numbers = (median.w, median.p, median.n, beating.w, beating.p)
        cells = [Cell(one, "g") for one in numbers]
        groups.setdefault(metric, []).append((Cell(metric), Cell(explainer), *cells, Cell(beating.n, ",")))
    notes = (
        f"Median: of the best points of the settings, rule '{analysis.best.tie}'. Beating: of every (p, w) with w "
        "other than 1 that beats a baseline above 0, each counted once for each setting.",
    )
    return Table(
        "selection_by_metric",
        "Selected parameters by metric and explainer",
        header,
        tuple(map(tuple, groups.values())),
        (*notes, signature(analysis)),
        names=2,
    )


def gains(analysis: Analysis) -> Table:
    """Counts and gains by data set, language pair and metric, for each explainer."""
    header = ["factor", "name", "explainer", "n", *COUNTS, "mean baseline"]
    groups = []
    for factor in ("dataset", "language_pair", "metric"):
        rows = [
            (Cell(factor), Cell(name), Cell(explainer), Cell(one.n), *_counts(one), Cell(one.mean_baseline, ".4f"))
            for explainer, found in analysis.fixed.by_explainer.items()
            for name, one in found[factor].items()
        ]
        groups.append(tuple(rows))
    notes = (SAID, points_in_words(analysis))
    return Table(
        "gains_by_factor",
        "Gains at the fixed points by data set, language pair and metric",
        tuple(header),
        tuple(groups),
        (*notes, signature(analysis)),
        names=3,
    )


def ridge(analysis: Analysis) -> Table:
    """The regression of Figure 8 in full."""
    fit = analysis.ridge
    rows = tuple((Cell(factor), Cell(name), Cell(value, "+.5f")) for (factor, name), value in fit.coefficients.items())
    below = ((Cell("intercept"), Cell(""), Cell(fit.intercept, "+.5f")), (Cell("R²"), Cell(""), Cell(fit.r2, ".4f")))
    note = f"Ridge regression, alpha {fit.alpha:g}, of the gain at the fixed points of {fit.n:,} settings."
    return Table(
        "ridge_coefficients",
        "What goes with a larger or smaller gain",
        ("factor", "name", "coefficient"),
        (rows, below),
        (note, points_in_words(analysis), signature(analysis)),
        names=2,
    )


def leave_one_out(analysis: Analysis) -> Table:
    """In-sample, held-out and nested counts and mean gains, and the optimism between them."""
    header = ["left out", "explainer", "n", "in-sample better", "in-sample mean gain", "held-out better"]
    header += ["held-out mean gain", "optimism", "nested better", "nested mean gain", "nested optimism"]
    groups = []
    for factor, found in analysis.leave_one_out.items():
        rows = []
        for name, one in found.items():
            if not one.folds:
                continue
            nested = analysis.nested[factor][name]
            cells = [Cell(one.in_sample.better), Cell(one.in_sample.mean_gain, "+.5f")]
            for held in (one, nested):
                cells += [Cell(held.summary.better), Cell(held.summary.mean_gain, "+.5f"), Cell(held.optimism, "+.5f")]
            rows.append((Cell(factor), Cell(name), Cell(one.summary.n), *cells))
        groups.append(tuple(rows))
    notes = [
        "In-sample: the median point of all settings of the explainer; held-out: of those of the other data sets "
        "(language pairs, metrics); nested: the rule of selection is chosen on the others too. Optimism: in-sample "
        "mean gain minus held-out mean gain."
    ]
    single = [factor for factor, rows in zip(analysis.leave_one_out, groups, strict=True) if not rows]
    if single:
        notes.append(f"Nothing to leave out, a single name: {', '.join(single)}.")
    return Table(
        "leave_one_out",
        "Selection without leakage",
        tuple(header),
        tuple(group for group in groups if group),
        (*notes, signature(analysis)),
        names=2,
    )


def folds(analysis: Analysis) -> Table:
    """What each fold of the leave-one-out selection chose, and what it gained on what was left out."""
    header = ("left out", "name", "explainer", "w", "p", "n", *COUNTS)
    groups = []
    for factor, found in analysis.leave_one_out.items():
        rows = [
            (
                *(Cell(factor), Cell(fold.name), Cell(explainer)),
                *(Cell(fold.point.w, "g"), Cell(fold.point.p, "g"), Cell(fold.gains.n)),
                *_counts(fold.gains),
            )
            for explainer, one in found.items()
            for fold in one.folds
        ]
        groups.append(tuple(rows))
    notes = (f"w, p: medians of the best points of the settings that were not left out. {SAID}", signature(analysis))
    kept = tuple(group for group in groups if group)
    return Table("leave_one_out_folds", "Selection without leakage, fold by fold", header, kept, notes, names=3)


def _counts(found: GainSummary) -> tuple[Cell, ...]:
    counts = (found.better, found.worse, found.unchanged, found.undefined)
    return (*map(Cell, counts), Cell(found.max_gain, "+.4f"), Cell(found.mean_gain, "+.5f"))
