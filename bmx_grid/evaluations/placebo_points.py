"""Placebos at declared points: chosen as a boost is, on other folds or other language pairs, and judged alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations.base import Floats
from bmx_grid.evaluations.points import FOLDS, best_or_alone
from bmx_grid.measures.aggregation import PRECISION
from bmx_grid.measures.correlation import correlate, correlate_grid
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.grid_resampling import cross_fit
from bmx_grid.measures.placebos import Selected, WithTerm, fit_term
from bmx_grid.measures.weighted_grids import Sample

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The n used segments of a setting (`grid.grid_inputs`), and what is chosen for them.

    base, human: float64[n]; clusters: n labels.
    means: float64[n, P] of which a point (w, p) is chosen, as for a boost; term: float64[n, k] whose weights are chosen
    instead. before: float64[n, k], a term that is chosen first and belongs to the metric that a gain is measured from.
    """

    base: Floats
    human: Floats
    clusters: NDArray[np.str_]
    means: Floats | None = None
    term: Floats | None = None
    before: Floats | None = None

    def metric(self, before: WithTerm | None) -> Floats:
        """float64[n] scores of what a gain is measured from."""
        return self.base if before is None or self.before is None else before.scores(self.base, self.before)


@dataclass(frozen=True, eq=False)
class Pair:
    """float64[n] boosted scores, and those of what they are compared with; chosen_on: in words."""

    boosted: Floats
    against: Floats
    chosen_on: str


def in_sample(spec: GridSpec, one: Candidates) -> Pair:
    """Chosen on the segments it is judged on: what selection makes of it."""
    everyone = np.ones(len(one.base), dtype=np.bool_)
    metric = one.metric(_before(spec, [(one, everyone)]))
    if one.term is not None:
        boosted = _term(spec, [(one, everyone)]).scores(metric, one.term)
    else:
        boosted = _at(spec, one, metric, *best_or_alone(spec, _gains(spec, one, metric, everyone)))
    return Pair(boosted, metric, "the segments it is judged on")


def folds_of(spec: GridSpec, one: Candidates, seed: int) -> NDArray[np.int64]:
    """int[n] the fold of each segment: those of `grid_resampling.cross_fit`, which knows them without the means."""
    sample = Sample.of(
        np.zeros((len(one.base), 1)), one.base, one.human, np.array(spec.w), one.clusters, kind=spec.correlation
    )
    return cross_fit(sample, FOLDS, seed).fold


def cross_fitted(
    spec: GridSpec, one: Candidates, fold_of: NDArray[np.int64], point: tuple[float, float] | None = None
) -> Pair:
    """Each segment with what is best on the folds it is not in, as `points.cross_fitted` does it for a boost.

    fold_of: int[n]; with one fold nothing is defined. point: a (w, p) of the grid that is given, so that only the term
    before it is chosen. Scores are brought to the mean and spread of the metric alone, as `grid_resampling.cross_fit`
    does it.
    """
    count = int(fold_of.max(initial=0)) + 1
    boosted, against = np.full(len(one.base), np.nan), np.full(len(one.base), np.nan)
    for fold in range(count if count > 1 else 0):
        own, others = fold_of == fold, fold_of != fold
        metric = one.metric(_before(spec, [(one, others)]))
        if one.term is not None:
            scores = _term(spec, [(one, others)]).scores(metric, one.term)
        else:
            chosen = point if point is not None else best_or_alone(spec, _gains(spec, one, metric, others))
            scores = _at(spec, one, metric, *chosen)
        boosted[own] = _to_scale(scores, one.base)[own]
        against[own] = _to_scale(metric, one.base)[own]
    said = f"the other {count - 1} of {count} folds"
    return Pair(boosted, one.base if one.before is None else against, said)


def at_point(spec: GridSpec, one: Candidates, point: tuple[float, float], fold_of: NDArray[np.int64]) -> Pair:
    """At a published (w, p) of the grid. A term has no published weights: what there is of it is cross-fitted."""
    if one.before is None and one.term is None:
        return Pair(_at(spec, one, one.base, *point), one.base, "as published")
    found = cross_fitted(spec, one, fold_of, point)
    return found if one.term is not None else replace(found, chosen_on=f"as published; the term on {found.chosen_on}")


def elsewhere(spec: GridSpec, pairs: Sequence[str], members: Sequence[Callable[[], Candidates]]) -> list[Pair | None]:
    """Each language pair with what is best on the others without its clusters, as `points.chosen_elsewhere` does it.

    pairs: the names of the language pairs; members: what makes the candidates of each, one after the other, since
    means of many segments are large. None where no other pair has a defined correlation.
    """
    light = [replace(make(), means=None) for make in members]
    known = [set(one.clusters.tolist()) for one in light]
    free: list[list[tuple[int, Flags]]] = []
    for at, own in enumerate(known):
        others = [(other, one) for other, one in enumerate(light) if other != at]
        free.append([(other, ~np.isin(one.clusters, list(own))) for other, one in others])
    befores = [_before(spec, [(light[other], rows) for other, rows in found]) for found in free]
    if light and light[0].term is not None:
        return [_term_elsewhere(spec, pairs, light, at, free[at]) for at in range(len(light))]
    sums = [np.zeros((len(spec.p), len(spec.w))) for _ in light]
    said: list[list[str]] = [[] for _ in light]
    for other, make in enumerate(members):
        one = make()
        for at, found in enumerate(free):
            rows = dict(found).get(other)
            if rows is None:
                continue
            gains = _gains(spec, one, one.metric(befores[at]), rows)
            if np.isfinite(gains).any():
                sums[at] += gains
                said[at].append(pairs[other])
    made: list[Pair | None] = []
    for at, make in enumerate(members):
        if not said[at]:
            made.append(None)
            continue
        point = best_or_alone(spec, sums[at] / len(said[at]))
        one = light[at] if point[0] == 1 else make()
        metric = one.metric(befores[at])
        made.append(Pair(_at(spec, one, metric, *point), metric, f"{', '.join(said[at])} without shared clusters"))
    return made


def _term_elsewhere(
    spec: GridSpec, pairs: Sequence[str], light: Sequence[Candidates], at: int, free: Sequence[tuple[int, Flags]]
) -> Pair | None:
    defined = [(other, rows) for other, rows in free if _judgeable(spec, light[other], rows)]
    one = light[at]
    if not defined or one.term is None:
        return None
    fitted = _term(spec, [(light[other], rows) for other, rows in defined])
    said = ", ".join(pairs[other] for other, _ in defined)
    return Pair(fitted.scores(one.base, one.term), one.base, f"{said} without shared clusters")


def _judgeable(spec: GridSpec, one: Candidates, rows: Flags) -> bool:
    return bool(np.isfinite(correlate(spec.correlation, one.base[rows], one.human[rows])))


def _before(spec: GridSpec, parts: Sequence[tuple[Candidates, Flags]]) -> WithTerm | None:
    selected = [
        Selected(one.base[rows], one.before[rows], one.human[rows]) for one, rows in parts if one.before is not None
    ]
    return fit_term(spec.correlation, selected) if selected else None


def _term(spec: GridSpec, parts: Sequence[tuple[Candidates, Flags]]) -> WithTerm:
    selected = [
        Selected(one.base[rows], one.term[rows], one.human[rows]) for one, rows in parts if one.term is not None
    ]
    return fit_term(spec.correlation, selected)


def _gains(spec: GridSpec, one: Candidates, metric: Floats, rows: Flags) -> Floats:
    """float64[P, W] correlations on these rows less that of the metric."""
    assert one.means is not None
    base, human = metric[rows], one.human[rows]
    surface = correlate_grid(spec.correlation, one.means[rows], base, human, spec.w, PRECISION)
    alone = surface[0, -1] if spec.w[-1] == 1 else correlate(spec.correlation, base, human)  # the same bit for bit
    found: Floats = surface - alone
    return found


def _at(spec: GridSpec, one: Candidates, metric: Floats, w: float, p: float) -> Floats:
    """float64[n] scores w * metric + (1 - w) * M_p; the metric for w = 1."""
    if w == 1:
        return metric
    assert one.means is not None
    return w * metric + (1 - w) * one.means[:, spec.p.index(p)]


def _to_scale(scores: Floats, like: Floats) -> Floats:
    """Scores with the mean and spread of `like`; unchanged where either has no spread."""
    spread, wanted = float(scores.std()), float(like.std())
    if not (spread > 0 and wanted > 0):
        return scores
    found: Floats = (scores - scores.mean()) * (wanted / spread) + like.mean()
    return found
