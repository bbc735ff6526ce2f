"""Columns, frames and arguments of every type that people hand over: in another form, or odd."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N = 24
_RNG = np.random.default_rng(0)
HUMAN = _RNG.normal(size=N).round(3)
FRAME = pd.DataFrame(
    {
        "seg_id": [row // 3 for row in range(N)],
        "system": list("ABC") * (N // 3),
        "ref": [f"ref {row // 3} x" for row in range(N)],
        "mt": [f"mt {row} ref x" for row in range(N)],
        "score": HUMAN,
        "m1": (HUMAN + _RNG.normal(size=N)).round(3),
        "m2": _RNG.normal(size=N).round(3),
    }
)
TEXTS = FRAME["mt"].tolist()
REFERENCES = FRAME["ref"].tolist()
ATTRIBUTIONS = [[float(x) for x in _RNG.normal(size=1 + row % 4).round(3)] for row in range(N)]


class Unprintable:
    """Raises wherever it is shown or asked."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")

    __hash__ = object.__hash__


# Columns and lists in another form, with the same content.
def _with_gap_index(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_axis([7] * len(frame), axis=0)


def _categories(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({"seg_id": "category", "system": "category", "ref": "category"})


def _arrow_types(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.convert_dtypes(dtype_backend="pyarrow")


def _nullable(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.convert_dtypes()


def _dictionary(frame: pd.DataFrame) -> dict[str, list[Any]]:
    return frame.to_dict("list")


def _arrays(frame: pd.DataFrame) -> dict[str, Any]:
    return {name: frame[name].to_numpy() for name in frame}


def _tuples(frame: pd.DataFrame) -> dict[str, Any]:
    return {name: tuple(frame[name]) for name in frame}


def _polars(frame: pd.DataFrame) -> Any:
    polars = __import__("polars")
    return polars.DataFrame(_dictionary(frame))


def _lazy(frame: pd.DataFrame) -> Any:
    return _polars(frame).lazy()


def _arrow(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.table(_dictionary(frame))


def _reordered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[list(reversed(frame.columns))]


def _whole_floats(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({"seg_id": "float64"})


def _objects(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(object)


def _texts_of_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({"score": str, "m1": str, "seg_id": str})


def _read_only(frame: pd.DataFrame) -> pd.DataFrame:
    copied = frame.copy()
    for name in ("score", "m1", "m2"):
        values = frame[name].to_numpy().copy()
        values.flags.writeable = False
        copied[name] = values
    return copied


def _copy(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.copy()


class OfMine(pd.DataFrame):
    """A frame of a class of one's own."""


# fmt: off
FRAMES: list[Callable[[pd.DataFrame], Any]] = [
    _with_gap_index, _categories, _arrow_types, _nullable, _dictionary, _arrays, _tuples, _polars, _lazy, _arrow,
    _reordered, _whole_floats, _objects, _texts_of_numbers, _read_only, OfMine,
]
# fmt: on
LISTS: list[Callable[[list[Any]], Any]] = [
    tuple,
    pd.Series,
    lambda values: pd.Series(values, index=[3] * len(values)),
    lambda values: np.array(values),
    lambda values: np.array(values, dtype=object),
    lambda values: pd.Series(values).convert_dtypes(),
    lambda values: pd.Series(values).convert_dtypes(dtype_backend="pyarrow"),
    lambda values: __import__("polars").Series(values),
    lambda values: __import__("pyarrow").array(values),
    lambda values: __import__("pyarrow").chunked_array([values[:5], values[5:]]),
    lambda values: pd.Index(values),
]
TEXT_FORMS = [*LISTS, lambda values: pd.Series(values, dtype="category"), lambda values: list(map(np.str_, values))]
NUMBER_FORMS = [*LISTS, lambda values: list(map(np.float64, values)), lambda values: pd.array(values)]
COUNTS: list[Callable[[int], Any]] = [np.int64, np.int8, np.uint8, np.array]

# Anything in place of an argument.
ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "a Series": lambda: FRAME["score"],
    "a Series of texts": lambda: FRAME["system"],
    "an array": lambda: FRAME["score"].to_numpy(),
    "an empty array": lambda: np.array([]),
    "two dimensions": lambda: np.ones((N, 2)),
    "a masked array": lambda: np.ma.masked_all(N),
    "complex": lambda: np.ones(N) * 1j,
    "an empty list": list,
    "an empty text": str,
    "a blank": lambda: " ",
    "a text": lambda: "nowhere",
    "a column": lambda: "m1",
    "a text of many": lambda: "x" * 100_000,
    "escapes": lambda: "\x1b[31mred\x07",
    "half a character": lambda: "\ud83d",
    "NUL": lambda: "a\0b",
    "bytes": lambda: b"chrf",
    "an int": lambda: 5,
    "0": lambda: 0,
    "-1": lambda: -1,
    "huge": lambda: 10**400,
    "2**63": lambda: 2**63,
    "1.5": lambda: 1.5,
    "NaN": lambda: math.nan,
    "inf": lambda: math.inf,
    "pd.NA": lambda: pd.NA,
    "pd.NaT": lambda: pd.NaT,
    "True": lambda: True,
    "numpy False": lambda: np.False_,
    "a fraction": lambda: fractions.Fraction(1, 2),
    "a Decimal": lambda: decimal.Decimal("0.5"),
    "a date": lambda: datetime.date(2026, 1, 1),
    "a generator": lambda: (one for one in ("m1", "m2")),
    "a set": lambda: {"m1", "m2"},
    "a dictionary": lambda: {"a": 1},
    "a nested list": lambda: [["m1"]],
    "mixed": lambda: ["m1", 1, None, math.nan, b"x"],
    "as many mixed": lambda: [[None, "x", 1, 0.5, pd.NA, b"y"][row % 6] for row in range(N)],
    "as many Nones": lambda: [None] * N,
    "as many texts": lambda: ["x"] * N,
    "as many empty texts": lambda: [""] * N,
    "as many lists": lambda: [["a", "b"]] * N,
    "as many booleans": lambda: [True, False] * (N // 2),
    "as many infinities": lambda: [math.inf] * N,
    "as many huge": lambda: [10**400] * N,
    "as many 1e308": lambda: [1e308, -1e308] * (N // 2),
    "as many equal": lambda: [0.5] * N,
    "one too few": lambda: [0.5] * (N - 1),
    "a class": lambda: int,
    "a function": lambda: len,
    "a module": lambda: math,
    "an object": object,
    "what cannot be printed": Unprintable,
    "a path": lambda: Path("nowhere/at all"),
    "a frame": lambda: FRAME,
    "an ellipsis": lambda: ...,
    "a range": lambda: range(3),
    "a circle": lambda: _circle(),
}
MISSING: dict[str, Any] = {
    "NaN": math.nan, "None": None, "NA": pd.NA, "NaT": pd.NaT, "inf": math.inf, "a text": "x", "": "", "a list": [1],
    "a dictionary": {"a": 1}, "bytes": b"x", "a date": datetime.date(2026, 1, 1), "True": True, "1.5": 1.5,
    "huge": 10**400, "half a character": "\ud83d", "an object": Unprintable(), "complex": 1j, "a tuple": (1, 2),
    "an array": np.array([1.0, 2.0]), "an empty array": np.array([]), "a Series": pd.Series([1, 2]),
    "a date of pandas": pd.Timestamp(0),
}  # fmt: skip


def _circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made
