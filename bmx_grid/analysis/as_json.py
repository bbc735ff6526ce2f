"""An analysis as plain keys and values, for JSON; undefined numbers are null."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bmx_grid.analysis import gains, verdicts
from bmx_grid.analysis.base import Table
from bmx_grid.analysis.questions import Analysis
from bmx_grid.errors import ConfigError

Plain = dict[str, Any]
# What a tracking server gets as numbers, to compare sweeps by; all of the rest is in analysis.json.
WHOLE = ("medians", "ridge", "gain_baseline_pearson", "single_gains")
OF_FIXED = ["n", "better", "worse", "undefined", "mean_gain", "mean_low", "mean_high"]  # by explainer


def to_json(analysis: Analysis) -> str:
    """The text of analysis.json: one line per key of the first two levels, numbers in full, NaN as null."""
    lines = []
    for key, value in plain(analysis).items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f"  {_compact(name)}: {_compact(part)}" for name, part in value.items())
            lines.append(f" {_compact(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {_compact(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def table_json(tables: Iterable[Table]) -> str:
    """Rows by the name of each table."""
    rows = {table.stem: as_plain(table.frame()) for table in tables}
    return f"{json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=1)}\n"


def plain(analysis: Analysis) -> Plain:
    """The keys of analysis.json: those of every question's result.

    Raises ConfigError when two questions write the same key.
    """
    found: Plain = {}
    owner: dict[str, str] = {}
    for question in analysis.questions:
        for key, value in as_plain(analysis.ask(question.compute)).items():
            if key in found and found[key] != value:
                raise ConfigError(
                    f"the questions {owner[key]} and {question.__name__} both write '{key}'; rename a key of one."
                )
            found[key], owner[key] = value, question.__name__
    return found


def numbers(analysis: Analysis) -> dict[str, float]:
    """Medians, gains at the fixed points, tests and the regression as flat names and numbers, for a tracking server.

    Verdicts are gains, with intervals and beyond score and length, by scope, metric, explainer and boost.
    """
    whole = plain(analysis)
    found: Plain = {name: whole[name] for name in WHOLE if name in whole}
    found["fixed"] = as_plain(analysis.ask(gains.compute)["fixed"][OF_FIXED])
    frame = analysis.ask(verdicts.shown_verdicts)
    for row in frame[frame["question"] == "declared"].to_dict("records"):
        name = f"verdicts/{row['dataset']} {row['language_pair']}/{row['metric']}/{row['explainer']}/{row['boost']}"
        columns = {"gain": "gain", "low": "gain_low", "high": "gain_high", "beyond": "beyond"}
        found[name] = as_plain({key: row[column] for key, column in columns.items()})
    return dict(_leaves("", found))


def as_plain(value: Any) -> Any:
    """A result, or anything in it, as dicts, lists, numbers, texts and None.

    A frame becomes a list of its rows; with names in its index, dicts of rows by these. Arrays become lists; what is
    not finite becomes None.
    """
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return _frame(value)
    if isinstance(value, Mapping):
        return {str(key): as_plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [as_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"a result holds {type(value).__name__}, which analysis.json cannot: {value!r}")


def _frame(frame: Any) -> Any:
    rows = [as_plain(row) for row in frame.to_dict("records")]
    if frame.index.dtype.kind in "iu" and frame.index.nlevels == 1:
        return rows
    found: Plain = {}
    for names, row in zip(frame.index, rows, strict=True):
        *outer, last = names if isinstance(names, tuple) else (names,)
        place = found
        for name in outer:
            place = place.setdefault(str(name), {})
        place[str(last)] = row
    return found


def _leaves(path: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(f"{path}/{name}" if path else str(name), inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
