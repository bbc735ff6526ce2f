"""The whole analysis of a results table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bmx_grid.analysis.averages import Average, averages
from bmx_grid.analysis.baseline import GainBaseline, gain_baseline
from bmx_grid.analysis.best import BestPoints, Tie, best_points
from bmx_grid.analysis.density import Densities, gain_densities
from bmx_grid.analysis.fixed import FixedEvaluation, evaluate, grid_point
from bmx_grid.analysis.medians import Median, Point, beating_medians, explainer_medians, median_of, metric_medians
from bmx_grid.analysis.regression import RidgeFit, fit_ridge
from bmx_grid.analysis.table import CONTROL, Flags, GridTable
from bmx_grid.analysis.transfer import HELD_OUT, HeldOut, leave_one_out, nested


@dataclass(frozen=True)
class Options:
    """tie: the rule for the best of several points (see BestPoints).

    select_from: the table whose medians are evaluated; None for the analysed table itself.
    fixed: (p, w) by explainer, given; they go before medians.
    """

    tie: Tie = "first"
    select_from: GridTable | None = None
    fixed: Mapping[str, Point] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Controls:
    """Settings without meaning, at fixed points; what they gain is what chance gains.

    explainer: settings of the random explainer with real metrics, at the median of their own best points (in-sample).
    metric: settings of the random metric with real explainers, at the points of these explainers.
    None where the table has no such settings.
    """

    explainer: FixedEvaluation | None
    metric: FixedEvaluation | None


@dataclass(frozen=True, eq=False)
class Analysis:
    """Every result of a table. Controls (random metric, random explainer) are in `best`, `controls` and
    `densities.grid["explainer"]` only.

    table: all settings; real: those that are no controls; options: how it was made.
    best: best points of all settings of `table`, in its order.
    medians: by explainer, the medians of the best points of `real`; strict_medians: of settings with a best gain
        above 0 only; metric_medians: by (metric, explainer); beating_medians: by (metric, explainer), over all points
        that beat the baseline.
    fixed: `real` at the points asked for; origins: by explainer, where the point comes from, in words.
    averages: by (data set, metric), means over language pairs at the fixed and the best points of `real`.
    ridge, gain_baseline: of the gains of `fixed`. densities: of grid gains, and of the gains of `fixed`.
    leave_one_out, nested: by factor ("dataset", "language_pair", "metric") and explainer.
    """

    table: GridTable
    real: GridTable
    options: Options
    best: BestPoints
    medians: Mapping[str, Median]
    strict_medians: Mapping[str, Median]
    metric_medians: Mapping[tuple[str, str], Median]
    beating_medians: Mapping[tuple[str, str], Median]
    fixed: FixedEvaluation
    origins: Mapping[str, str]
    averages: Mapping[tuple[str, str], Average]
    ridge: RidgeFit
    gain_baseline: GainBaseline
    densities: Densities
    leave_one_out: Mapping[str, Mapping[str, HeldOut]]
    nested: Mapping[str, Mapping[str, HeldOut]]
    controls: Controls

    @property
    def n_tied(self) -> int:
        """Settings of `real` that no (p, w) with w other than 1 improves."""
        return int(self.best.ties_baseline[~self.table.is_control].sum())

    @property
    def is_held_out(self) -> bool:
        """Whether every fixed point was given or chosen on another table: nothing was selected where it is judged."""
        return self.options.select_from is not None or set(self.options.fixed) >= set(self.origins)

    @property
    def best_explainer(self) -> str | None:
        """The explainer with the largest share of better settings at its fixed point.

        Of equal shares the larger mean gain, then the first name. None without a defined gain.
        """
        found = [(name, one) for name, one in self.fixed.by["explainer"].items() if one.n > 0]
        return (
            min(found, key=lambda item: (-item[1].better / item[1].n, -item[1].mean_gain, item[0]))[0]
            if found
            else None
        )


def analyse(table: GridTable, options: Options | None = None) -> Analysis:
    """All results of a table."""
    options = Options() if options is None else options
    is_real = ~table.is_control
    real = table.take(is_real)
    best = best_points(table, options.tie)
    real_best = best.take(is_real)
    medians = explainer_medians(real, real_best)
    points, origins = _points(real, medians, options)
    fixed = evaluate(real, points)
    every = evaluate(table, points)
    return Analysis(
        table=table,
        real=real,
        options=options,
        best=best,
        medians=medians,
        strict_medians=explainer_medians(real, real_best, strict=True),
        metric_medians=metric_medians(real, real_best),
        beating_medians=beating_medians(real),
        fixed=fixed,
        origins=origins,
        averages=averages(real, fixed.correlation, real_best.correlation),
        ridge=fit_ridge(real, fixed.gain),
        gain_baseline=gain_baseline(real, fixed.gain),
        densities=gain_densities(table, every.gain),
        leave_one_out={factor: leave_one_out(real, real_best, factor) for factor in HELD_OUT},
        nested={factor: nested(real, real_best, factor) for factor in HELD_OUT},
        controls=_controls(table, best, points),
    )


def _points(
    real: GridTable, medians: Mapping[str, Median], options: Options
) -> tuple[dict[str, Point], dict[str, str]]:
    """The (p, w) each explainer is evaluated at, and where it comes from."""
    other = options.select_from
    if other is None:
        chosen, source = dict(medians), "median of the best points of this table"
    else:
        chosen = explainer_medians(other, best_points(other, options.tie))
        source = f"median of the best points of {other.origin}"
    points: dict[str, Point] = {}
    origins = {}
    for name in real.factor_levels("explainer"):
        if name in options.fixed:
            points[name], origins[name] = options.fixed[name], "given"
        elif name in chosen:
            points[name], origins[name] = chosen[name], source
        else:
            origins[name] = f"none: {source} has no {name}"
        if name in points and grid_point(real, points[name]) is None:
            origins[name] += f", p = {points[name].p:g}, w = {points[name].w:g}, which is not in this grid"
    return points, origins


def _controls(table: GridTable, best: BestPoints, points: Mapping[str, Point]) -> Controls:
    random_explainer = table.where(explainer=CONTROL) & ~table.where(metric=CONTROL)
    random_metric = table.where(metric=CONTROL) & ~table.where(explainer=CONTROL)
    return Controls(
        explainer=_random_explainer(table, best, random_explainer) if random_explainer.any() else None,
        metric=evaluate(table.take(random_metric), points) if random_metric.any() else None,
    )


def _random_explainer(table: GridTable, best: BestPoints, rows: Flags) -> FixedEvaluation:
    return evaluate(table.take(rows), {CONTROL: median_of(best.p[rows], best.w[rows])})
