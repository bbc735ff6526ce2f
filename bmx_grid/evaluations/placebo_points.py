"""Placebos at declared points: chosen as a boost is, on other folds or other language pairs, and judged alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations import chosen
from bmx_grid.evaluations.base import Floats
from bmx_grid.evaluations.chosen import Flags, best_or_alone, gains_on, mean_gains_elsewhere, other_folds, outside_folds
from bmx_grid.evaluations.gained import Pair
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.placebos import Selected, WithTerm, fit_term
from bmx_grid.measures.resampling import number_of


@dataclass(frozen=True, eq=False)
class Candidates(chosen.Candidates):
    """What a placebo is chosen of, on the segments of the boost.

    term: float64[n, k] whose weights are chosen instead of a point. before: float64[n, k], a term that is chosen first
    and belongs to the metric that a gain is measured from.
    """

    term: Floats | None = None
    before: Floats | None = None

    def metric(self, before: WithTerm | None) -> Floats:
        """float64[n] scores of what a gain is measured from."""
        return self.base if before is None or self.before is None else before.scores(self.base, self.before)


def in_sample(spec: GridSpec, one: Candidates) -> Pair:
    """Chosen on the segments it is judged on: what selection makes of it."""
    everyone = np.ones(len(one.base), dtype=np.bool_)
    metric = one.metric(_before(spec, [(one, everyone)]))
    if one.term is not None:
        boosted = _term(spec, [(one, everyone)]).scores(metric, one.term)
    else:
        boosted = _at(spec, one, metric, *_best(spec, one, [metric], [everyone])[0])
    return Pair(boosted, metric, "the segments it is judged on")


def cross_fitted(
    spec: GridSpec, one: Candidates, fold_of: NDArray[np.int64], point: tuple[float, float] | None = None
) -> Pair:
    """Each segment with what is best on the folds it is not in, as `points.cross_fitted` does it for a boost.

    fold_of: int[n]; with one fold nothing is defined. point: a (w, p) of the grid that is given, so that only the term
    before it is chosen. Scores are brought to the mean and spread of the metric alone, as `grid_resampling.cross_fit`
    does it.
    """
    boosted, against = np.full(len(one.base), np.nan), np.full(len(one.base), np.nan)
    others = outside_folds(fold_of)
    metrics = [one.metric(_before(spec, [(one, rows)])) for rows in others]
    given = point is not None or one.term is not None
    places = [point] * len(others) if given else _best(spec, one, metrics, others)
    for rows, metric, at in zip(others, metrics, places, strict=True):
        if one.term is not None:
            scores = _term(spec, [(one, rows)]).scores(metric, one.term)
        else:
            assert at is not None
            scores = _at(spec, one, metric, *at)
        boosted[~rows] = to_scale(scores, one.base)[~rows]
        against[~rows] = to_scale(metric, one.base)[~rows]
    return Pair(boosted, one.base if one.before is None else against, other_folds(number_of(fold_of)))


def at_point(spec: GridSpec, one: Candidates, point: tuple[float, float], fold_of: NDArray[np.int64]) -> Pair:
    """At a published (w, p) of the grid. A term has no published weights: what there is of it is cross-fitted."""
    if one.before is None and one.term is None:
        return Pair(_at(spec, one, one.base, *point), one.base, "as published")
    found = cross_fitted(spec, one, fold_of, point)
    return found if one.term is not None else replace(found, chosen_on=f"as published; the term on {found.chosen_on}")


def elsewhere(
    spec: GridSpec, pairs: Sequence[str], free: Sequence[Mapping[int, Flags]], members: Sequence[Candidates]
) -> list[Pair | None]:
    """Each language pair with what is best on the others without its clusters, as `points.chosen_elsewhere` does it.

    pairs: the names of the language pairs; free: `chosen.free_of_each`; members: the candidates of each. None where no
    other pair has a defined correlation.
    """
    others = [{at: (members[at], rows[members[at].used]) for at, rows in found.items()} for found in free]
    if members and members[0].term is not None:
        return [_term_elsewhere(spec, pairs, one, found) for one, found in zip(members, others, strict=True)]
    befores = [_before(spec, list(found.values())) for found in others]
    made: list[Pair | None] = []
    gains = mean_gains_elsewhere(spec, pairs, free, members, lambda one, at: one.metric(befores[at]))
    for one, before, found in zip(members, befores, gains, strict=True):
        if found is None:
            made.append(None)
            continue
        metric = one.metric(before)
        boosted = _at(spec, one, metric, *best_or_alone(spec, found[0]))
        made.append(Pair(boosted, metric, f"{', '.join(found[1])} without shared clusters"))
    return made


def _term_elsewhere(
    spec: GridSpec, pairs: Sequence[str], one: Candidates, others: Mapping[int, tuple[Candidates, Flags]]
) -> Pair | None:
    defined = {at: found for at, found in others.items() if _judgeable(spec, *found)}
    if not defined or one.term is None:
        return None
    fitted = _term(spec, list(defined.values()))
    said = ", ".join(pairs[at] for at in defined)
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


def _best(
    spec: GridSpec, one: Candidates, metrics: Sequence[Floats], parts: Sequence[Flags]
) -> list[tuple[float, float]]:
    """(w, p) that is best on each part, with the metric of each."""
    return [best_or_alone(spec, gains) for gains in gains_on(spec, one, metrics, parts)] if parts else []


def _at(spec: GridSpec, one: Candidates, metric: Floats, w: float, p: float) -> Floats:
    """float64[n] scores w * metric + (1 - w) * M_p; the metric for w = 1."""
    if w == 1:
        return metric
    return w * metric + (1 - w) * one.means[:, spec.p.index(p)]


def to_scale(scores: Floats, like: Floats) -> Floats:
    """Scores with the mean and spread of `like`; unchanged where either has no spread."""
    spread, wanted = float(scores.std()), float(like.std())
    if not (spread > 0 and wanted > 0):
        return scores
    found: Floats = (scores - scores.mean()) * (wanted / spread) + like.mean()
    return found
