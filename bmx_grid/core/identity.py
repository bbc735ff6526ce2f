"""Identity of results: components, their settings and fingerprints.

A component (metric, explainer, data set, aggregation) is a frozen dataclass. Each field has a
role: `identity` fields change the result, `runtime` fields (device, batch size) do not. The
fingerprint holds the class name, its VERSION and the identity fields; VERSION is raised by hand
when the code's results change.

Files are known by the digest of their content. A process also uses it as the key of what it keeps in memory.
A file that is overwritten in place is another file, even if its size and times are equal.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import operator
import os
import stat
import time
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.renamed import AcceptsOldNames

IDENTITY = "identity"
RUNTIME = "runtime"
# Bounds of a number, by the argument of `identity` and `runtime`: its words in a message, and whether a value keeps it.
BOUNDS = {
    "least": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "most": ("at most", operator.le),
    "below": ("below", operator.lt),
}


def identity(
    default: Any = dataclasses.MISSING,
    *,
    added_later: bool = False,
    kw_only: Any = dataclasses.MISSING,
    **bounds: float,
) -> Any:
    """A dataclass field that changes the result, and so belongs to the fingerprint.

    added_later: it came after results had been stored, so that its default is no part of the fingerprint.
    kw_only: of a base class, whose subclasses have fields without a default. bounds: least, most, above, below
    (`BOUNDS`), of the number that it holds, which is then finite; they do not apply to None and texts.
    """
    metadata = {"role": IDENTITY, "added_later": added_later, **bounds}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


def runtime(default: Any = dataclasses.MISSING, **bounds: float) -> Any:
    """A dataclass field that changes how a result is reached (speed, device), never the result. bounds: as above."""
    return dataclasses.field(default=default, metadata={"role": RUNTIME, **bounds})


@dataclasses.dataclass(frozen=True)
class Component(AcceptsOldNames):
    """Base of all configured parts. Subclasses are frozen dataclasses that check their own values."""

    VERSION: ClassVar[int] = 1
    RENAMED: ClassVar[Mapping[str, str]] = {"pretrained": "pretrained_models"}
    # Options of earlier versions, in every fingerprint since: results stay valid.
    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        """Raise ConfigError for a number beyond the bounds of its field."""
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            bounds = [key for key in BOUNDS if key in item.metadata]
            # Fields of numbers may take a word in their place, such as "auto".
            if value is None or isinstance(value, str) or not bounds:
                continue
            # NaN is not below infinity either.
            fits = abs(value) < math.inf
            expected = []
            for key in bounds:
                words, is_kept = BOUNDS[key]
                bound = item.metadata[key]
                fits = fits and is_kept(value, bound)
                expected.append(f"{words} {bound:,}")
            if not fits:
                shown_value = f"{value:,}"[:60]
                raise ConfigError(f"{item.name}: expected a number {', '.join(expected)}, got {shown_value}.")

    def settings(self, role: str = IDENTITY) -> dict[str, Any]:
        """The fields of one role with their values, in order of declaration.

        Raises TypeError if a field has no role: a new field must declare whether it changes results.
        """
        values = {}
        for item in dataclasses.fields(self):
            role_of_field = item.metadata.get("role")
            if role_of_field not in (IDENTITY, RUNTIME):
                raise TypeError(f"{type(self).__name__}.{item.name} is neither identity() nor runtime()")
            if role_of_field == role:
                values[item.name] = getattr(self, item.name)
        return values

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        """The pretrained models that it loads, as (name, revision); by default none."""
        return ()

    def recipe_fingerprint(self) -> dict[str, Any]:
        """The settings that a boost for this component depends on: fewer than a result's if data are from files."""
        return self.fingerprint()

    def fingerprint(self) -> dict[str, Any]:
        """Everything of this component that a result depends on, readable and canonical."""
        values = self.settings(IDENTITY)
        for key, value in values.items():
            if isinstance(value, Component):
                values[key] = value.fingerprint()
        for item in dataclasses.fields(self):
            # With its default it is left out, as in fingerprints from before it came.
            if item.metadata.get("added_later") and values[item.name] == item.default:
                del values[item.name]
        return {"type": type(self).__name__, "version": self.VERSION, **values, **self.REMOVED_FIELDS}


def canonical_json(value: Any) -> str:
    """One text for one value: keys sorted, no blanks, tuples as lists, NaN and infinity refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


# Nanoseconds. Clocks of file systems tick every few milliseconds, and that of a server may be late: a file that was
# changed so shortly before it was read may be changed again without another time.
SETTLES_WITHIN = 2_000_000_000

# path -> the file's status when it was read, and the digest of its content
_KNOWN: dict[Path, tuple[Hashable, str]] = {}


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, 64 hexadecimal digits; read again if it may have changed. Raises OSError.

    The system's time of the last change of a file's state cannot be set back, unlike that of its content.
    """
    path = path.absolute()
    now = time.time_ns()
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        version = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        known = _KNOWN.get(path)
        if known is not None and known[0] == version:
            return known[1]
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if now - state.st_ctime_ns > SETTLES_WITHIN:
        _KNOWN[path] = (version, digest)
    else:
        _KNOWN.pop(path, None)
    return digest


def file_version(path: Path) -> Hashable:
    """The version of a file: its digest; of a pipe, which is read once, its number and time.

    Raises OSError, and ValueError for a name that is no path.
    """
    state = path.stat()
    if stat.S_ISREG(state.st_mode):
        return file_digest(path)
    return (state.st_ino, state.st_mtime_ns)
