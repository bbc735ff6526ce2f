"""Points of the grid that are chosen: on parts of the segments, and on the other language pairs of a data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations.base import Finished, Floats
from bmx_grid.measures.best import point_that_gains
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.resampling import number_of
from bmx_grid.measures.weighted_grids import Sample, grids

Flags = NDArray[np.bool_]


def outside_folds(fold_of: NDArray[np.int64]) -> list[Flags]:
    """For each fold bool[n] the segments that are not in it; with one fold none, as nothing is left to choose on."""
    count = number_of(fold_of)
    return [fold_of != fold for fold in range(count)] if count > 1 else []


def other_folds(count: int) -> str:
    """Where the point of each of so many folds was chosen, in words."""
    count = max(count, 1)
    return f"the other {count - 1} of {count} folds"


@dataclass(frozen=True, eq=False)
class Candidates:
    """What points are chosen of: the n used of N segments of a setting (`grid.grid_inputs`).

    base, human: float64[n]; used: bool[N]; make: makes the means.
    """

    base: Floats
    human: Floats
    used: Flags
    make: Callable[[], Floats]

    @property
    def means(self) -> Floats:
        """float64[n, P]; those of many segments are made each time."""
        return self.make()


def boost_of(spec: GridSpec, setting: Finished) -> Candidates:
    """The candidates of a boost."""
    given = setting.inputs(spec)
    return Candidates(given.base, given.human, given.used, lambda: setting.inputs(spec).means)


def gains_on(spec: GridSpec, given: Candidates, parts: Sequence[Flags]) -> Floats:
    """float64[S, P, W] correlations on each of S parts, bool[n], less that of the base score there.

    Equal parts are computed once.
    """
    known: dict[bytes, int] = {}
    place = [known.setdefault(rows.tobytes(), len(known)) for rows in parts]
    of = np.stack([parts[place.index(number)] for number in range(len(known))])
    each = np.arange(len(given.base))  # any segment may be left out: each is a cluster of its own
    sample = Sample.of(given.means, given.base, given.human, spec.w, each, kind=spec.correlation)
    found, alone = grids(sample, of.astype(np.float64))
    gains: Floats = (found[sample.given] - alone).transpose(2, 1, 0)
    return gains[place]


def free_of_each(clusters: Sequence[Sequence[str]]) -> list[dict[int, Flags]]:
    """For each of L language pairs the others by number: bool[N] which of their segments are in none of its clusters.

    clusters: N labels of each language pair.
    """
    labels, known = [np.asarray(own, dtype=np.str_) for own in clusters], [list(set(own)) for own in clusters]
    return [
        {other: ~np.isin(of, own) for other, of in enumerate(labels) if other != at} for at, own in enumerate(known)
    ]


def mean_gains_elsewhere(
    spec: GridSpec,
    names: Sequence[str],
    free: Sequence[Mapping[int, Flags]],
    members: Sequence[Candidates],
) -> list[tuple[Floats, list[str]] | None]:
    """For each language pair the mean gains float64[P, W] on the others without its clusters, and which these are.

    names: of the language pairs; free: `free_of_each`; members: the candidates of each. None where no other pair has a
    defined correlation.
    """
    sums = [np.zeros((len(spec.p), len(spec.w))) for _ in members]
    said: list[list[str]] = [[] for _ in members]
    for other, one in enumerate(members):
        judged = [at for at in range(len(members)) if at != other]
        if not judged:
            continue
        gains = gains_on(spec, one, [free[at][other][one.used] for at in judged])
        for at, found in zip(judged, gains, strict=True):
            if np.isfinite(found).any():
                sums[at] += found
                said[at].append(names[other])
    return [(total / len(by), by) if by else None for total, by in zip(sums, said, strict=True)]


def best_or_alone(spec: GridSpec, gains: Floats) -> tuple[float, float]:
    """(w, p) of the highest of float64[P, W] gains, by `best.point_that_gains`; (1, NaN) where none is above 0."""
    at = point_that_gains(gains, spec.w)
    return (1.0, float("nan")) if at is None else (spec.w[at[1]], spec.p[at[0]])
