"""Points of the grid that were chosen without the segments they are judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations.base import Finished, Floats
from bmx_grid.measures.aggregation import PRECISION
from bmx_grid.measures.best import beats, first_within_rounding
from bmx_grid.measures.correlation import correlate, correlate_grid
from bmx_grid.measures.grid import GridInputs, GridSpec, boosted_scores, grid_inputs
from bmx_grid.measures.grid_resampling import cross_fit
from bmx_grid.measures.weighted_grids import Sample

FOLDS = 10


@dataclass(frozen=True, eq=False)
class Judged:
    """A point that was chosen, and what it reaches on the segments it was not chosen on.

    w, p: the point; w = 1, with p NaN, is the metric alone. baseline, correlation: of the metric alone and of the
    boosted scores on `n` segments, NaN where undefined. chosen_on: in words.
    """

    w: float
    p: float
    baseline: float
    correlation: float
    n: int
    chosen_on: str

    @property
    def gain(self) -> float:
        """Correlation above the baseline."""
        return self.correlation - self.baseline


@dataclass(frozen=True, eq=False)
class Declared:
    """boosted: float64[N] scores at a declared point, NaN for a segment without one; judged: one entry per part of the
    segments that has a point of its own."""

    boosted: Floats
    judged: tuple[Judged, ...]


def scores_at(spec: GridSpec, setting: Finished, w: float, p: float) -> Floats:
    """float64[N] boosted scores of a setting at (w, p); with w = 1 those of the metric alone, whatever p is."""
    found = setting.scores
    if w == 1:
        return found.base_scores
    rows = (found.base_scores, found.ground_truth, found.hypothesis)
    return boosted_scores(spec.aggregation, spec.side, p, w, *rows)


def judge(
    spec: GridSpec, setting: Finished, boosted: Floats, rows: NDArray[np.bool_], point: tuple[float, float], on: str
) -> Judged:
    """What (w, p) reaches on these rows: of the segments that are rated and have a boosted score."""
    human, base = setting.segments.human_scores, setting.scores.base_scores
    used = rows & np.isfinite(human) & np.isfinite(base) & np.isfinite(boosted)
    alone, at = (correlate(spec.correlation, scores[used], human[used]) for scores in (base, boosted))
    return Judged(*point, alone, at, int(used.sum()), on)


def cross_fitted(spec: GridSpec, setting: Finished, seed: int) -> Declared:
    """Each segment at the point that is best on the other folds: ten folds of whole clusters, drawn from the seed.

    Points differ in the scale of their scores: all are brought to that of the metric alone
    (`grid_resampling.CrossFitted`).
    """
    inputs = inputs_of(spec, setting)
    labels = np.asarray(setting.clusters, dtype=np.str_)[inputs.used]
    kind, w = spec.correlation, np.array(spec.w)
    found = cross_fit(Sample.of(inputs.means, inputs.base, inputs.human, w, labels, kind=kind), FOLDS, seed)
    boosted = np.full(len(inputs.used), np.nan)
    boosted[inputs.used] = found.scores
    fold_of = np.full(len(inputs.used), -1)
    fold_of[inputs.used] = found.fold
    judged = []
    for fold, (row, weight) in enumerate(zip(found.rows.tolist(), found.w.tolist(), strict=True)):
        point = (weight, spec.p[row] if row >= 0 else float("nan"))
        on = f"the other {len(found.rows) - 1} of {len(found.rows)} folds"
        judged.append(judge(spec, setting, boosted, fold_of == fold, point, on))
    return Declared(boosted, tuple(judged))


def chosen_elsewhere(spec: GridSpec, settings: Sequence[Finished]) -> list[Declared | None]:
    """Each setting at the point with the highest mean gain on the other language pairs of its data set.

    Clusters that a setting shares with the others are taken out of these, and their grids are computed again: 492 of
    the 2,851 references of WMT17 stand in several language pairs. Settings of one metric and explainer choose for each
    other. None where no other language pair has a defined correlation.
    """
    groups: dict[tuple[str, str, str], list[int]] = {}
    for at, setting in enumerate(settings):
        if setting.explainer is not None:
            groups.setdefault((setting.names[0], *setting.names[2:]), []).append(at)
    found: list[Declared | None] = [None] * len(settings)
    for members in groups.values():
        own = [settings[at] for at in members]
        for at, (gains, pairs) in zip(members, _gains_elsewhere(spec, own), strict=True):
            if not pairs:
                continue
            setting = settings[at]
            w, p = best_or_alone(spec, gains / len(pairs))
            boosted = scores_at(spec, setting, w, p)
            everyone = np.ones(len(boosted), dtype=np.bool_)
            judged = judge(spec, setting, boosted, everyone, (w, p), f"{', '.join(pairs)} without shared clusters")
            found[at] = Declared(boosted, (judged,))
    return found


def _gains_elsewhere(spec: GridSpec, settings: Sequence[Finished]) -> list[tuple[Floats, list[str]]]:
    """For each setting the summed gains float64[P, W] of the others without its clusters, and their language pairs."""
    sums: list[tuple[Floats, list[str]]] = [(np.zeros((len(spec.p), len(spec.w))), []) for _ in settings]
    known = [set(setting.clusters) for setting in settings]
    for chooses in settings:  # one after the other: the means of a large setting are large
        inputs = inputs_of(spec, chooses)
        labels = np.asarray(chooses.clusters, dtype=np.str_)[inputs.used]
        whole: Floats | None = None
        for at, (judged, taken) in enumerate(zip(settings, known, strict=True)):
            if judged is chooses:
                continue
            free = np.array([label not in taken for label in labels.tolist()], dtype=np.bool_)
            if free.all() and whole is not None:
                gains = whole
            else:
                gains = _gains(spec, inputs, free)
                whole = gains if free.all() else whole
            if np.isfinite(gains).any():
                total, pairs = sums[at]
                sums[at] = (total + gains, [*pairs, chooses.segments.language_pair])
    return sums


def _gains(spec: GridSpec, inputs: GridInputs, rows: NDArray[np.bool_]) -> Floats:
    """float64[P, W] gains over the metric alone on these of the used segments."""
    means, base, human = inputs.means[rows], inputs.base[rows], inputs.human[rows]
    surface = correlate_grid(spec.correlation, means, base, human, spec.w, PRECISION)
    found: Floats = surface - correlate(spec.correlation, base, human)
    return found


def inputs_of(spec: GridSpec, setting: Finished) -> GridInputs:
    """The used segments of a setting, and their means for every p."""
    found = setting.scores
    attributed = (found.ground_truth, found.hypothesis)
    return grid_inputs(spec, found.base_scores, *attributed, setting.segments.human_scores)


def best_or_alone(spec: GridSpec, gains: Floats) -> tuple[float, float]:
    """(w, p) of the highest of float64[P, W] gains, by `best.first_within_rounding`; (1, NaN) where none is above 0."""
    at = int(first_within_rounding(gains[None])[0])
    row, column = divmod(at, len(spec.w))
    if at < 0 or not beats(gains[row, column]) or spec.w[column] == 1:
        return 1.0, float("nan")
    return spec.w[column], spec.p[row]


def declared_scores(found: Mapping[str, Declared]) -> dict[str, Floats]:
    """The boosted scores of each declared point."""
    return {name: one.boosted for name, one in found.items()}
