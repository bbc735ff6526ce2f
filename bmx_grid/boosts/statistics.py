"""Statistics of the attributions of each segment: one number per row of a ragged array, none of them shifted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Ragged, concatenate_rows, defined_rows, take_rows
from bmx_grid.measures.aggregation import PowerMean

Floats = NDArray[np.float64]

ROUNDING = 1e-9  # share of the largest attribution of a segment that scores of 1e-16 precision leave uncertain


def share_negative(rows: Ragged) -> Floats:
    """float64[N] share of the words without a positive attribution: those that the metric finds useless or harmful.

    Zeros count: n-gram metrics attribute exactly 0 to a word that matches nothing. An attribution within 1e-9 of the
    largest of its segment is 0, since whether rounding leaves it below or above is chance.
    """
    largest = _over_rows(np.maximum, Ragged(np.abs(rows.values), rows.offsets))
    low = rows.values <= np.repeat(ROUNDING * largest, rows.lengths)
    return _over_rows(np.add, Ragged(low.astype(np.float64), rows.offsets)) / rows.lengths


def mean(rows: Ragged) -> Floats:
    """float64[N] arithmetic mean."""
    return _over_rows(np.add, rows) / rows.lengths


def spread(rows: Ragged) -> Floats:
    """float64[N] standard deviation, of all words of the segment (divided by their number); exactly 0 for one word."""
    squares = (rows.values - np.repeat(mean(rows), rows.lengths)) ** 2
    return np.sqrt(mean(Ragged(squares, rows.offsets)))


def _over_rows(reduce: np.ufunc, rows: Ragged) -> Floats:
    """One value per row; no row is empty."""
    return np.asarray(reduce.reduceat(rows.values, rows.offsets[:-1]) if len(rows) else [], dtype=np.float64)


STATISTICS: dict[str, Callable[[Ragged], Floats]] = {
    "share_negative": share_negative,
    "mean": mean,
    "sum": partial(_over_rows, np.add),
    "spread": spread,
    "min": partial(_over_rows, np.minimum),
    "max": partial(_over_rows, np.maximum),
}


def statistic(name: str, rows: Ragged) -> Floats:
    """float64[N] of each row; NaN for a row without words, or with an attribution that is not finite.

    Its words are taken in ascending order, so that their order in the text changes nothing, not even rounding.
    """
    found = np.full(len(rows), np.nan)
    usable = defined_rows(rows)
    found[usable] = STATISTICS[name](_ascending(take_rows(rows, usable)))
    return found


def power_means(rows: Ragged, p: Floats, what: str) -> Floats:
    """float64[N, P] power means of positive word scores as they are, without a shift; NaN rows as in `statistic`.

    what: whose scores these are, for the message. Raises DataError naming the row and the value that is not above 0.
    """
    usable = defined_rows(rows)
    kept = take_rows(rows, usable)
    wrong = kept.values <= 0
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.flatnonzero(usable)[np.searchsorted(kept.offsets, at, side="right") - 1])
        raise DataError(
            f"row {row}: a word score of {kept.values[at]:g} of the {what} is not above 0, and a power mean without "
            "shift is defined for positive word scores only, such as token probabilities; for attributions with "
            "a sign choose shift=paper, or another feature."
        )
    found = np.full((len(rows), len(p)), np.nan)
    found[usable] = PowerMean().aggregate(kept, p)
    return found


def side_rows(side: str, truth: Ragged, hypothesis: Ragged) -> Ragged:
    """The words of one side, or those of both in one row."""
    if side == "both":
        return concatenate_rows(truth, hypothesis)
    return hypothesis if side == "hypothesis" else truth


def _ascending(rows: Ragged) -> Ragged:
    owner = np.repeat(np.arange(len(rows)), rows.lengths)
    return Ragged(rows.values[np.lexsort((rows.values, owner))], rows.offsets)
