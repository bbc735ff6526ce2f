"""What makes two results the same result: components, their settings and fingerprints.

A component (metric, explainer, data set, aggregation) is a frozen dataclass. Each field says its
role: `identity` fields change the result, `runtime` fields (device, batch size) do not. The
fingerprint holds the class name, its VERSION and the identity fields; VERSION is raised by hand
when the code's results change.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import operator
from collections.abc import Mapping
from typing import Any, ClassVar

from bmx_grid.core.errors import ConfigError

IDENTITY = "identity"
RUNTIME = "runtime"
BOUNDS = {  # of numbers, which are finite where there is one
    "least": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "most": ("at most", operator.le),
    "below": ("below", operator.lt),
}


def identity(
    default: Any = dataclasses.MISSING, *, later: bool = False, kw_only: Any = dataclasses.MISSING, **bounds: float
) -> Any:
    """A dataclass field that changes the result, and so belongs to the fingerprint.

    later: it came after results had been stored, so that its default is no part of the fingerprint.
    kw_only: of a base class, whose subclasses have fields without a default. bounds: least, most, above, below
    (`BOUNDS`), of the number that it holds; None and texts stand outside of them.
    """
    metadata = {"role": IDENTITY, "later": later, **bounds}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


def runtime(default: Any = dataclasses.MISSING, **bounds: float) -> Any:
    """A dataclass field that changes how a result is reached (speed, device), never the result. bounds: as above."""
    return dataclasses.field(default=default, metadata={"role": RUNTIME, **bounds})


@dataclasses.dataclass(frozen=True)
class Component:
    """Base of all configured parts. Subclasses are frozen dataclasses that check their own values."""

    VERSION: ClassVar[int] = 1
    # options of earlier versions, in every fingerprint since: results stay valid
    GONE: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        """Raise ConfigError for a number beyond the bounds of its field."""
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            bounds = [key for key in BOUNDS if key in item.metadata]
            if value is None or isinstance(value, str) or not bounds:  # as "auto", beside numbers
                continue
            if not (abs(value) < math.inf and all(BOUNDS[key][1](value, item.metadata[key]) for key in bounds)):
                asked = ", ".join(f"{BOUNDS[key][0]} {item.metadata[key]:,}" for key in bounds)
                raise ConfigError(f"{item.name}: expected a number {asked}, got {f'{value:,}':.60}.")

    def settings(self, role: str = IDENTITY) -> dict[str, Any]:
        """The fields of one role with their values, in order of declaration.

        Raises TypeError when a field has no role: a new field must say whether it changes results.
        """
        found = {}
        for item in dataclasses.fields(self):
            if item.metadata.get("role") not in (IDENTITY, RUNTIME):
                raise TypeError(f"{type(self).__name__}.{item.name} is neither identity() nor runtime()")
            if item.metadata["role"] == role:
                found[item.name] = getattr(self, item.name)
        return found

    def pretrained(self) -> tuple[tuple[str, str | None], ...]:
        """The pretrained models that it loads, as (name, revision); by default none."""
        return ()

    def recipe_fingerprint(self) -> dict[str, Any]:
        """What a boost chosen for this component depends on: less than a result, where data are read from files."""
        return self.fingerprint()

    def fingerprint(self) -> dict[str, Any]:
        """Everything of this component that a result depends on, readable and canonical."""
        values = {key: _fingerprinted(value) for key, value in self.settings(IDENTITY).items()}
        for item in dataclasses.fields(self):
            if item.metadata.get("later") and values[item.name] == item.default:
                del values[item.name]
        return {"type": type(self).__name__, "version": self.VERSION, **values, **self.GONE}


def _fingerprinted(value: Any) -> Any:
    return value.fingerprint() if isinstance(value, Component) else value


def canonical_json(value: Any) -> str:
    """One text for one value: keys sorted, no blanks, tuples as lists, NaN and infinity refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
