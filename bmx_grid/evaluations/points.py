"""Points of the grid that were chosen without the segments they are judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations.base import Finished, Floats
from bmx_grid.measures.best import point_that_gains
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import GridInputs, GridSpec, boosted_scores
from bmx_grid.measures.grid_resampling import cross_fit, folds_of
from bmx_grid.measures.resampling import number_of
from bmx_grid.measures.weighted_grids import Sample, grids

FOLDS = 10

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class PointRow:
    """One row of points.parquet: a declared point, and what it reaches on the segments it was not chosen on.

    w, p: the point; w = 1, with p NaN, is the metric alone. baseline, correlation: of the metric alone and of the
    boosted scores on `n` segments, NaN where undefined; gain: their difference. chosen_on: in words.
    """

    point: str
    w: float
    p: float
    baseline: float
    correlation: float
    gain: float
    n: int
    chosen_on: str


@dataclass(frozen=True, eq=False)
class Declared:
    """boosted: float64[N] scores at a declared point, NaN for a segment without one; judged: one entry per part of the
    segments that has a point of its own."""

    boosted: Floats
    judged: tuple[PointRow, ...]


def scores_at(spec: GridSpec, setting: Finished, w: float, p: float) -> Floats:
    """float64[N] boosted scores of a setting at (w, p); with w = 1 those of the metric alone, whatever p is."""
    found = setting.scores
    if w == 1:
        return found.base_scores
    rows = (found.base_scores, found.ground_truth, found.hypothesis)
    return boosted_scores(spec.aggregation, spec.side, p, w, *rows)


def judge(
    spec: GridSpec,
    setting: Finished,
    name: str,
    boosted: Floats,
    rows: NDArray[np.bool_],
    point: tuple[float, float],
    chosen_on: str,
) -> PointRow:
    """What (w, p) reaches on these rows: of the segments that are rated and have a boosted score."""
    human, base = setting.segments.human_scores, setting.scores.base_scores
    used = rows & np.isfinite(human) & np.isfinite(base) & np.isfinite(boosted)
    alone, at = (correlate(spec.correlation, scores[used], human[used]) for scores in (base, boosted))
    return PointRow(name, *point, alone, at, at - alone, int(used.sum()), chosen_on)


def cross_fitted(spec: GridSpec, setting: Finished, seed: int) -> Declared:
    """Each segment at the point that is best on the other folds: ten folds of whole clusters, drawn from the seed.

    Points differ in the scale of their scores: all are brought to that of the metric alone
    (`grid_resampling.CrossFitted`).
    """
    inputs = setting.inputs(spec)
    found = cross_fit(_sample(spec, setting, inputs), FOLDS, seed)
    boosted = np.full(len(inputs.used), np.nan)
    boosted[inputs.used] = found.scores
    fold_of = np.full(len(inputs.used), -1)
    fold_of[inputs.used] = found.fold
    judged = []
    for fold, (row, weight) in enumerate(zip(found.rows.tolist(), found.w.tolist(), strict=True)):
        point = (weight, spec.p[row] if row >= 0 else float("nan"))
        judged.append(
            judge(spec, setting, "cross_fitted", boosted, fold_of == fold, point, other_folds(len(found.rows)))
        )
    return Declared(boosted, tuple(judged))


def cross_fitting_folds(spec: GridSpec, setting: Finished, seed: int) -> NDArray[np.int64]:
    """int[n] the folds of `cross_fitted` that the n used segments are in; all 0 where nothing is cross-fitted."""
    return folds_of(_sample(spec, setting, setting.inputs(spec)), FOLDS, seed)


def _sample(spec: GridSpec, setting: Finished, inputs: GridInputs) -> Sample:
    labels = np.asarray(setting.clusters, dtype=np.str_)[inputs.used]
    return Sample.of(inputs.columns, inputs.base, inputs.human, np.array(spec.w), labels, kind=spec.correlation)


def chosen_elsewhere(spec: GridSpec, settings: Sequence[Finished]) -> list[Declared | None]:
    """Each setting at the point with the highest mean gain on the other language pairs of its data set.

    settings: those of one metric and explainer. Clusters that a setting shares with the others are taken out of these,
    and their grids are computed again: 492 of the 2,851 references of WMT17 stand in several language pairs. None where
    no other language pair has a defined correlation, and for metrics alone.
    """
    found: list[Declared | None] = [None] * len(settings)
    if len(settings) < 2 or any(setting.explainer is None for setting in settings):
        return found
    free = free_of_each([setting.clusters for setting in settings])
    sums = [np.zeros((len(spec.p), len(spec.w))) for _ in settings]
    choosing: list[list[str]] = [[] for _ in settings]
    for other, setting in enumerate(settings):
        judged = [at for at in range(len(settings)) if at != other]
        for at, gains in zip(judged, gains_on(spec, setting, [free[at][other] for at in judged]), strict=True):
            if np.isfinite(gains).any():
                sums[at] += gains
                choosing[at].append(setting.segments.language_pair)
    for at, (setting, total, names) in enumerate(zip(settings, sums, choosing, strict=True)):
        if names:
            w, p = best_or_alone(spec, total / len(names))
            boosted = scores_at(spec, setting, w, p)
            everyone, on = np.ones(len(boosted), dtype=np.bool_), f"{', '.join(names)} without shared clusters"
            found[at] = Declared(boosted, (judge(spec, setting, "elsewhere", boosted, everyone, (w, p), on),))
    return found


def free_of_each(clusters: Sequence[Sequence[str]]) -> list[dict[int, Flags]]:
    """For each of L language pairs the others by number: bool[N] which of their segments are in none of its clusters.

    clusters: N labels of each language pair.
    """
    labels, known = [np.asarray(own, dtype=np.str_) for own in clusters], [list(set(own)) for own in clusters]
    return [
        {other: ~np.isin(of, own) for other, of in enumerate(labels) if other != at} for at, own in enumerate(known)
    ]


def gains_on(spec: GridSpec, setting: Finished, parts: Sequence[Flags]) -> Floats:
    """float64[S, P, W] correlations on each of S parts of the segments, bool[N], less that of the base score there.

    Equal parts are computed once.
    """
    given, known = setting.inputs(spec), dict[bytes, int]()
    place = [known.setdefault(rows[given.used].tobytes(), len(known)) for rows in parts]
    of = np.stack([parts[place.index(number)][given.used] for number in range(len(known))])
    each = np.arange(len(given.base))  # any segment may be left out: each is a cluster of its own
    sample = Sample.of(given.columns, given.base, given.human, spec.w, each, kind=spec.correlation)
    found, alone = grids(sample, of.astype(np.float64))
    gains: Floats = (found[sample.given] - alone).transpose(2, 1, 0)
    return gains[place]


def best_or_alone(spec: GridSpec, gains: Floats) -> tuple[float, float]:
    """(w, p) of the highest of float64[P, W] gains, by `best.point_that_gains`; (1, NaN) where none is above 0."""
    at = point_that_gains(gains, spec.w)
    return (1.0, float("nan")) if at is None else (spec.w[at[1]], spec.p[at[0]])


def outside_folds(fold_of: NDArray[np.int64]) -> list[Flags]:
    """For each fold bool[n] the segments that are not in it; with one fold none, as nothing is left to choose on."""
    count = number_of(fold_of)
    return [fold_of != fold for fold in range(count)] if count > 1 else []


def other_folds(count: int) -> str:
    """Where the point of each of so many folds was chosen, in words."""
    count = max(count, 1)
    return f"the other {count - 1} of {count} folds"


def declared_scores(found: Mapping[str, Declared]) -> dict[str, Floats]:
    """The boosted scores of each declared point."""
    return {name: one.boosted for name, one in found.items()}
