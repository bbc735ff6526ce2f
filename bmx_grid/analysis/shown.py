"""What is shown of an analysis: the numbers and choices that figures and the page share, so that they compute nothing.

Figures and page read an `Analysis` through this module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import ceiling, plausibility, settings, tested, verdicts
from bmx_grid.analysis.density import Density
from bmx_grid.analysis.given import NOWHERE, Point, Tie
from bmx_grid.analysis.plausibility import Plausibility
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.table import Floats
from bmx_grid.analysis.verdict_rows import ShownVerdict
from bmx_grid.measures.cluster_means import cluster_mean

MOST_ROWS = 48  # of a forest of single settings; more are shown as means


@dataclass(frozen=True)
class Best:
    """The best of all points of a setting.

    point: None where it is the metric alone (w = 1), or where no correlation is defined.
    correlation, gain: NaN where undefined. plateau: points with w other than 1 within 1e-5 of the highest of these.
    """

    point: Point | None
    correlation: float
    gain: float
    plateau: int
    tie: Tie

    @property
    def is_alone(self) -> bool:
        """Whether the metric alone is best."""
        return self.point is None and math.isfinite(self.correlation)


@dataclass(frozen=True)
class Fixed:
    """A setting at the point of its explainer.

    point: the grid point used (w = 1: the metric alone); None for a control and without a point in the grid.
    correlation: NaN where undefined. origin: where the point comes from, in words. low, high: 95 % interval of its
    gain, NaN where the sweep did not test this point; survives: whether the gain survives the correction.
    """

    point: Point | None
    correlation: float
    origin: str
    low: float = math.nan
    high: float = math.nan
    survives: bool = False


@dataclass(frozen=True)
class ForestRow:
    """A row of a forest: a setting (n is 1), or the n settings of a data set and metric with their mean.

    names: without the explainer; survives: whether the gain survives the correction, False for a mean.
    """

    names: tuple[str, ...]
    n: int
    gain: float
    low: float
    high: float
    survives: bool


def best_of(analysis: Analysis, row: int) -> Best:
    """The best point of a setting of the table."""
    best = analysis.best
    w, p, correlation = float(best.w[row]), float(best.p[row]), float(best.correlation[row])
    boosted = math.isfinite(w) and w != 1 and math.isfinite(correlation)
    return Best(Point(p, w) if boosted else None, correlation, float(best.gain[row]), int(best.plateau[row]), best.tie)


def fixed_of(analysis: Analysis, row: int) -> Fixed:
    """A setting of the table at its fixed point; a control has none."""
    if analysis.table.is_control[row]:
        return Fixed(None, math.nan, "a control")
    explainer = analysis.table.settings[row].explainer
    point = analysis.points.used.get(explainer, NOWHERE)
    found = analysis.ask(settings.compute)
    ends = (float(found.low[row]), float(found.high[row]), bool(found.survives[row]))
    known = None if math.isnan(point.w) else point
    return Fixed(known, float(found.fixed[row]), analysis.origins[explainer], *ends)


def ceiling_of(analysis: Analysis, row: int) -> float:
    """The highest correlation that a setting can be expected to reach; NaN where no raters are published."""
    one = analysis.table.settings[row]
    return analysis.ask(ceiling.compute).ceilings_by_pair.get((one.dataset, one.language_pair), math.nan)


def verdicts_of(analysis: Analysis) -> Sequence[ShownVerdict]:
    """The verdicts on boosts, what helps first; none without a table of them."""
    return analysis.ask(verdicts.compute).verdicts


def plausibility_of(analysis: Analysis) -> Plausibility:
    """Whether a better explanation boosts more; empty without word tags."""
    return analysis.ask(plausibility.compute)


def forest_of(analysis: Analysis, explainer: str) -> list[ForestRow]:
    """The settings of an explainer at their declared points, best first; none where nothing was tested.

    More than 48 are shown as means over the language pairs of a data set and metric, with intervals by pair.
    """
    at, real = analysis.ask(tested.declared), analysis.real
    if not at.test:
        return []
    rows = [
        ForestRow(
            names=setting[:3],
            n=1,
            gain=float(at.gain[row]),
            low=float(at.low[row]),
            high=float(at.high[row]),
            survives=bool(at.survives[row]),
        )
        for row, setting in enumerate(real.settings)
        if setting.explainer == explainer and math.isfinite(at.gain[row])
    ]
    if len(rows) > MOST_ROWS:
        rows = _means(rows, analysis.options.seed)
    return sorted(rows, key=lambda one: (-one.gain, one.names))


def _means(rows: Sequence[ForestRow], seed: int) -> list[ForestRow]:
    groups: dict[tuple[str, ...], list[ForestRow]] = {}
    for one in rows:
        groups.setdefault((one.names[0], one.names[2]), []).append(one)
    found = []
    for names, own in groups.items():
        pairs = [one.names[1] for one in own]
        mean = cluster_mean([one.gain for one in own], pairs, seed=seed)
        found.append(ForestRow(names, len(own), mean.mean, mean.low, mean.high, survives=False))
    return found


def first_to_show(analysis: Analysis) -> int:
    """The row of the setting with the largest best gain, controls last; ties are broken by order."""
    gain = np.where(np.isnan(analysis.best.gain), 0.0, analysis.best.gain)
    return int(np.argmax(np.where(analysis.table.is_control, -np.inf, gain)))


def pairs_to_compare(analysis: Analysis, explainer: str, most: int = 5) -> list[str]:
    """Language pairs to show together: those of several data sets, then the highest and lowest mean gains."""
    found = densities_of(analysis, explainer, "language_pair")
    kept = [name for name, one in found.items() if one.n > 0]
    sets: dict[str, set[str]] = {}
    for one in analysis.real.settings:
        sets.setdefault(one.language_pair, set()).add(one.dataset)
    shared = [name for name in kept if len(sets[name]) > 1]
    by_gain = sorted((name for name in kept if name not in shared), key=lambda name: (found[name].mean, name))
    ends = [one for pair in zip(by_gain[::-1], by_gain, strict=True) for one in pair]
    return sorted(list(dict.fromkeys([*shared, *ends]))[:most])


def densities_of(analysis: Analysis, explainer: str, factor: str) -> Mapping[str, Density]:
    """Densities and means of an explainer's gains at its fixed point, by the names of a factor."""
    return analysis.densities.fixed[explainer][factor]


def gains_of(analysis: Analysis, explainer: str, factor: str) -> dict[str, Floats]:
    """float64[n] defined gains of an explainer's settings at its fixed point, ascending, by the names of a factor."""
    real = analysis.real
    found = {}
    for name in densities_of(analysis, explainer, factor):
        gain = analysis.fixed.gain[real.where(explainer=explainer, **{factor: name})]
        found[name] = np.sort(gain[~np.isnan(gain)])
    return found


def mean_intervals(analysis: Analysis, explainer: str, factor: str) -> dict[str, tuple[float, float]]:
    """95 % intervals of the mean gains of an explainer at its fixed point, by the names of a factor; NaN with fewer
    than 3 clusters, a data set and language pair each.
    """
    found = analysis.fixed.by_explainer[explainer][factor]
    return {name: (one.mean_low, one.mean_high) for name, one in found.items()}


def undefined_gains(analysis: Analysis, explainer: str) -> int:
    """Settings of an explainer whose gain at its fixed point is undefined."""
    return int(np.isnan(analysis.fixed.gain[analysis.real.where(explainer=explainer)]).sum())
