"""Numbers in users' tables: finite, or missing in one of the usual ways to write it."""

from __future__ import annotations

import math
from typing import Any

from bmx_grid.errors import DataError
from bmx_grid.judgements import LARGEST

MISSING = {"", "na", "n/a", "nan", "none", "null"}


def finite_or_nan(text: str) -> float:
    """The number that a text is; NaN where it is none, or not finite."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def parse_number(value: Any, where: str, what: str, way_out: str) -> float:
    """A finite number; NaN for empty, NA, N/A, NaN, None and null, in any case.

    where: file and row; what: the number's name in a sentence; way_out: how a missing number is written. Raises
    DataError naming these and the value for everything else: infinity, numbers beyond 1e150, truth values, 1_000.
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
        return math.nan
    try:
        # float() would take "1_000" and True for numbers.
        number = math.inf if isinstance(value, bool) or "_" in str(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if abs(number) > LARGEST:
        wrong = "not a finite number" if math.isinf(number) else f"beyond ±{LARGEST:g}, whose squares have no number"
        raise DataError(f"{where}: {what} is {wrong}: {str(value)[:60]!r}; write a number like -0.25, or {way_out}.")
    return number
