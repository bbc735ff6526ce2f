"""What "best", "plateau", "better" and "worse" mean. Results, tables and figures all ask here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TIE = 1e-12  # correlations are not more exact than this: closer ones count as equal
NO_CHANGE = 1e-5  # a gain up to this counts as no change


class Plateau(NamedTuple):
    """The best boosted points of S settings, among those with w other than 1.

    highest: float64[S] highest correlation with w other than 1; -inf without a defined one.
    members: bool[S, P, W] the points with w other than 1 within 1e-5 of it.
    """

    highest: Floats
    members: Flags


def first_within_rounding(correlation: Floats) -> NDArray[np.intp]:
    """The best point of each of S settings: int[S] indices into the flattened P x W grids, float64[S, P, W].

    Best is the first, p ascending and w fastest, of the points within 1e-12 of the highest correlation: the paper's
    rule, except for rounding. w = 1, the metric alone, is allowed. -1 for a setting without a defined point.
    """
    flat = np.where(np.isnan(correlation), -np.inf, correlation).reshape(len(correlation), -1)
    highest = flat.max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(highest), np.argmax(flat >= highest[:, None] - TIE, axis=1), -1)


def point_that_gains(gains: Floats, w: Sequence[float]) -> tuple[int, int] | None:
    """Row and column of the best of float64[P, W] gains by `first_within_rounding`; None for no boost.

    That is where no gain is defined or above 0 by more than rounding, or the best has w = 1.
    """
    at = int(first_within_rounding(gains[None])[0])
    row, column = divmod(at, len(w))
    return None if at < 0 or not beats(gains[row, column]) or w[column] == 1 else (row, column)


def plateau_within_no_change(correlation: Floats, w: Floats) -> Plateau:
    """The points with w other than 1 that are within 1e-5 of the highest of these, for float64[S, P, W]."""
    boosted = np.where((w != 1) & ~np.isnan(correlation), correlation, -np.inf)
    highest = boosted.max(axis=(1, 2), initial=-np.inf)
    return Plateau(highest, (boosted >= highest[:, None, None] - NO_CHANGE) & np.isfinite(boosted))


def beats(gain: Floats) -> Flags:
    """Where a gain is above 0 by more than rounding (1e-12): the metric alone is not the best there is."""
    return np.asarray(gain > TIE)


def better(gain: Floats) -> Flags:
    """Where a gain is above 1e-5; NaN is not."""
    return np.asarray(gain > NO_CHANGE)


def worse(gain: Floats) -> Flags:
    """Where a gain is 0 or less (the paper's "equal or worse"); NaN is not."""
    return np.asarray(gain <= 0)
