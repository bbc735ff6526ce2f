"""An analysis as plain keys and values, for JSON; undefined numbers are null."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bmx_grid.analysis import verdicts
from bmx_grid.analysis.base import KEY, Table
from bmx_grid.analysis.run import Analysis
from bmx_grid.errors import ConfigError

Plain = dict[str, Any]
# What a tracking server gets as numbers, to compare sweeps by; all of the rest is in analysis.json.
WHOLE = ("medians", "ridge", "gain_baseline_pearson", "single_gains")
OF_FIXED = ("n", "better", "worse", "undefined", "mean_gain", "mean_low", "mean_high")  # by explainer


def to_json(analysis: Analysis) -> str:
    """The text of analysis.json: one line per key of the first two levels, numbers in full, NaN as null."""
    lines = []
    for key, value in plain(analysis).items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f"  {_compact(name)}: {_compact(one)}" for name, one in value.items())
            lines.append(f" {_compact(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {_compact(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def table_json(tables: Iterable[Table]) -> str:
    """Rows by the name of each table."""
    rows = {
        table.stem: [{name: cell.value for name, cell in zip(table.header, row, strict=True)} for row in table.rows]
        for table in tables
    }
    return f"{json.dumps(as_plain(rows), ensure_ascii=False, allow_nan=False, indent=1)}\n"


def plain(analysis: Analysis) -> Plain:
    """The keys of analysis.json: the fields of every question's Result.

    Those that name an explainer hold no controls; `controls`, `settings` and `densities` do.
    Raises ConfigError when two questions write the same key.
    """
    found: Plain = {}
    owner: dict[str, str] = {}
    for name, result in analysis.answers().items():
        for key, value in as_plain(result).items():
            if key in found and found[key] != value:
                raise ConfigError(f"the questions {owner[key]} and {name} both write '{key}'; rename a field of one.")
            found[key], owner[key] = value, name
    return found


def headline_numbers(analysis: Analysis) -> dict[str, float]:
    """About ten numbers that summarise the findings; undefined ones are left out."""
    numbers = plain(analysis).get("headline_numbers", {})
    return {key: float(value) for key, value in numbers.items() if value is not None}


def numbers(analysis: Analysis) -> dict[str, float]:
    """Medians, gains at the fixed points, tests and the regression as flat names and numbers, for a tracking server.

    Verdicts are gains, with intervals and beyond score and length, by scope, metric, explainer and boost.
    """
    whole = plain(analysis)
    found: Plain = {name: whole[name] for name in WHOLE if name in whole}
    found["fixed"] = {name: _only(OF_FIXED, one) for name, one in whole.get("fixed", {}).items()}
    for one in analysis.ask(verdicts.compute).verdicts:
        name = f"verdicts/{one.dataset} {one.language_pair}/{one.metric}/{one.explainer}/{one.boost}"
        beyond = one.estimates["beyond"].gain
        of_gain = {"gain": one.gain.gain, "low": one.gain.low, "high": one.gain.high, "beyond": beyond}
        found[name] = as_plain(of_gain)
    return dict(_leaves("", found))


def _only(keys: Sequence[str], of: Plain) -> Plain:
    return {key: of[key] for key in keys if key in of}


def as_plain(value: Any) -> Any:
    """A Result, or anything in it, as dicts, lists, numbers, texts and None.

    Dataclasses become dicts of their fields, as base.written, base.inlined and base.working say; keys of several names
    become dicts in dicts; arrays become lists; what is not finite becomes None.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, np.ndarray | np.generic):
        return as_plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [as_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"a Result holds {type(value).__name__}, which analysis.json cannot: {value!r}")


def _fields(value: Any) -> Plain:
    found: Plain = {}
    for item in dataclasses.fields(value):
        said, inner = item.metadata.get(KEY, {}), getattr(value, item.name)
        if said.get("hidden"):
            continue
        if "inline" in said:
            parts = as_plain(inner)
            only = said["only"] or parts
            found.update({f"{said['inline']}{key}": part for key, part in parts.items() if key in only})
            continue
        if said.get("digits") is not None:
            inner = [float(f"{one:.{said['digits']}g}") for one in np.asarray(inner).tolist()]
        found[said.get("key") or item.name] = as_plain(inner)
    return found


def _mapping(value: Mapping[Any, Any]) -> Plain:
    found: Plain = {}
    for key, inner in value.items():
        if isinstance(key, tuple):
            place = found
            for part in key[:-1]:
                place = place.setdefault(part, {})
            place[key[-1]] = as_plain(inner)
        else:
            found[str(key)] = as_plain(inner)
    return found


def _leaves(path: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name != "by":
                yield from _leaves(f"{path}/{name}" if path else str(name), inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
