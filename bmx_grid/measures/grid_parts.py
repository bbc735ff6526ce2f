"""The p x w grids of several parts of one setting's segments, such as all folds but one, from one pass over the means.

For Pearson's r the sums over all parts are one matrix product; every part is centred by its own means, and the digits
that moments lose are computed again from the scores, as for a single grid: the numbers are those of
`correlation.correlate_grid` to 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.at_a_time import fitting, ranges
from bmx_grid.measures.correlation import (
    CENTRED,
    FEWEST,
    Kind,
    Moments,
    check_kind,
    correlate_grid,
    from_moments,
    pearson_columns,
    unit_columns,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CELLS = 2**21  # segments x p handled at a time: 16 MiB


def correlate_parts(
    kind: Kind, means: Floats, bases: Floats, human: Floats, parts: Flags, w: Floats, precision: float = 0.0
) -> Floats:
    """float64[S, P, W] the grid of each of S parts of N segments.

    means: float64[N, P]; bases: float64[S, N] the base score, which may be another one in every part; human:
    float64[N]; parts: bool[S, N] the segments of each part; w, precision: as for `correlate_grid`, which this is on
    each part's segments. Raises ConfigError for an unknown kind.
    """
    check_kind(kind)
    w = np.asarray(w, dtype=np.float64)
    parts = parts & np.isfinite(human) & np.isfinite(bases)
    if not np.isfinite(np.ones(len(means)) @ means).all():
        parts &= np.isfinite(means).all(axis=1)
    rows = parts.any(axis=0)
    if not rows.all():
        means, bases, human, parts = means[rows], bases[:, rows], human[rows], parts[:, rows]
    if kind != "pearson":
        given = ((means[own], base[own], human[own]) for own, base in zip(parts, bases, strict=True))
        return np.stack([correlate_grid(kind, *arrays, w, precision) for arrays in given])
    found = np.full((len(parts), len(w), means.shape[1]), np.nan)
    defined = [at for at, own in enumerate(parts) if own.sum() >= FEWEST and not _constant(human[own])]
    if defined:
        of = _Parts.of(bases[defined], human, parts[defined])
        for columns in ranges(means.shape[1], fitting(CELLS, len(human))):
            found[defined, :, columns] = _pearson_parts(means[:, columns], of, w, precision)
    return found.transpose(0, 2, 1)


def _constant(values: Floats) -> bool:
    return bool((values == values[0]).all())


@dataclass(frozen=True, eq=False)
class _Parts:
    """What the parts have for all p. parts: bool[S, N]; bases: float64[S, N]; human: float64[N].

    centres: float64[S] means of the bases; base_left: float64[S, N] bases less these, 0 outside the part; human_unit:
    float64[S, N] human scores of the part, centred, of length 1. together: float64[3 S, N] the three below each other.
    """

    parts: Flags
    bases: Floats
    human: Floats
    centres: Floats
    base_left: Floats
    human_unit: Floats
    together: Floats

    @classmethod
    def of(cls, bases: Floats, human: Floats, parts: Flags) -> _Parts:
        centres = np.array([base[own].mean() for base, own in zip(bases, parts, strict=True)])
        base_left = np.where(parts, bases - centres[:, None], 0.0)
        human_unit = np.zeros(parts.shape)
        for own, unit in zip(parts, human_unit, strict=True):
            unit[own] = unit_columns(human[own][:, None]).ravel()
        together = np.concatenate([parts, base_left, human_unit])
        return cls(parts, bases, human, centres, base_left, human_unit, together)


def _pearson_parts(means: Floats, of: _Parts, w: Floats, precision: float) -> Floats:
    """float64[S, W, P] for parts of at least three segments whose human scores differ."""
    parts, bases, human, centres = of.parts, of.bases, of.human, of.centres
    base_left, human_unit = of.base_left, of.human_unit
    middle = means.mean(axis=0)
    left = means - middle
    sums, with_base, with_human = np.split(of.together @ left, 3)
    squares = of.together[: len(parts)] @ (left * left)
    found = np.empty((len(parts), len(w), means.shape[1]))
    for at, own in enumerate(parts):
        n = int(own.sum())
        centre = sums[at] / n
        level = n * centre**2
        spread = squares[at] - level
        close = ~(spread > CENTRED * level)  # a part far from the middle of all: as in `correlate_grid`
        if close.any():
            again = left[np.ix_(own, close)] - centre[close]
            with_human[at, close], with_base[at, close] = human_unit[at, own] @ again, base_left[at, own] @ again
            spread[close] = np.einsum("np,np->p", again, again)
        base = base_left[at, own]
        products = float(base @ base), float(base @ human_unit[at, own])
        moments = Moments(n, float(centres[at]), *products, centre + middle, spread, with_base[at], with_human[at])
        found[at], direct = from_moments(moments, w)
        for column in np.flatnonzero(direct.any(axis=1)):
            lost = direct[column]
            scores = w[column] * bases[at, own][:, None] + (1 - w[column]) * means[np.ix_(own, lost)]
            found[at, column, lost] = pearson_columns(scores, human[own], precision if w[column] != 1 else 0.0)
    clipped: Floats = np.clip(found, -1.0, 1.0)
    return clipped
