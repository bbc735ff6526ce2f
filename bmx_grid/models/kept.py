"""Texts and numbers that a model made once, kept by the content that they were made of.

In a folder of the cache, which all processes share, else in this process only. What is missing is made under a lock, so
that workers that need the same do not make it twice, and is written in parts, so that a killed run goes on. A part is
never changed, and named by its keys and their values.

The lock of an object store holds on one machine only, so that two machines may make the same twice, and keep both.
"""

from __future__ import annotations

import functools
import json
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from bmx_grid.errors import StoreError
from bmx_grid.identity import canonical_json, digest
from bmx_grid.storage.addresses import Place, listed, locked, opened, place, replacing

Value = str | tuple[float, ...]
Make = Callable[[list[str]], Iterator[Mapping[str, Value]]]  # what is missing -> parts, as they are made
Content = TypeVar("Content")
VERSION = 1
_WRITE_EVERY_S = 30.0


class Kept:
    """Values by key. path: None for this process only; the parts are in the folder of this name."""

    def __init__(self, path: Place | None, identity: str) -> None:
        self.path, self.identity = path, identity
        self._values: dict[str, Value] = {}
        self._read: set[Place] = set()
        self._new: dict[str, Value] = {}  # not written yet

    def known(self, keys: Sequence[str]) -> dict[str, Value]:
        """Those of the values that are there."""
        if any(key not in self._values for key in keys):
            self._load()
        return {key: self._values[key] for key in keys if key in self._values}

    def filled(self, keys: Sequence[str], make: Make) -> dict[str, Value]:
        """The values of all keys; `make` gets those that are missing. Raises StoreError where they cannot be kept."""
        found = self.known(keys)
        if len(found) == len(set(keys)):
            return found
        if self.path is None:
            self._make(keys, make)
        else:
            try:
                with locked(self.path):
                    self._load()
                    self._make(keys, make)
            except OSError as error:
                raise StoreError(
                    f"cannot write {self.path}: {error.strerror or error}. Choose another cache_dir."
                ) from error
        return {key: self._values[key] for key in keys}

    def _make(self, keys: Sequence[str], make: Make) -> None:
        missing = [key for key in dict.fromkeys(keys) if key not in self._values]
        last = time.monotonic()
        try:
            for part in make(missing) if missing else ():
                self._values.update(part)
                self._new.update(part)
                if time.monotonic() - last > _WRITE_EVERY_S:
                    self._write()
                    last = time.monotonic()
        finally:  # also of what was made before an error or an interrupt
            if self._new:
                self._write()

    def _load(self) -> None:
        """Read new parts, and the one file of earlier versions; a damaged one counts as empty, with a warning."""
        if self.path is not None:
            for file in (self.path, *listed(self.path.with_suffix(".parts"), ".parquet")):
                if file not in self._read:
                    self._values.update(self._content(file))
                    self._read.add(file)

    def _content(self, file: Place) -> dict[str, Value]:
        """The values in a file; none where it is gone, or damaged. Raises StoreError where it cannot be opened."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with opened(file) as source:
                table = pq.read_table(source, page_checksum_verification=True, partitioning=None)
            header = json.loads((table.schema.metadata or {})[b"bmx_grid"])
            keys, values = table.column("key").to_pylist(), table.column("value").to_pylist()
            if header != self._header(keys, values):
                raise ValueError("its rows do not agree with their digest")
        except FileNotFoundError:
            return {}
        except PermissionError as error:
            raise StoreError(
                f"cannot read {file}: {error.strerror}. Fix its permissions or choose another cache_dir."
            ) from error
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            warnings.warn(f"{file} is damaged ({reason}); what it held is made again.", stacklevel=2)
            return {}
        return {key: one if isinstance(one, str) else tuple(one) for key, one in zip(keys, values, strict=True)}

    def _header(self, keys: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
        shown = [one if isinstance(one, str) else [repr(number) for number in one] for one in values]
        rows = [list(keys), shown]
        return {"version": VERSION, "identity": json.loads(self.identity), "digest": digest(rows)}

    def _write(self) -> None:
        """Write the new values as a part."""
        if self.path is not None:
            import pyarrow as pa
            import pyarrow.parquet as pq

            keys, values = list(self._new), list(self._new.values())
            kind = pa.string() if isinstance(values[0], str) else pa.list_(pa.float64())
            table = pa.table({"key": pa.array(keys, pa.string()), "value": pa.array(values, kind)})
            header = self._header(keys, values)
            marked = table.replace_schema_metadata({"bmx_grid": canonical_json(header)})
            file = self.path.with_suffix(".parts") / f"{header['digest'][:24]}.parquet"
            with replacing(file) as part:
                pq.write_table(marked, part, compression="zstd", use_dictionary=False, write_page_checksum=True)
            self._read.add(file)
        self._new.clear()


def made_or_kept(
    store: Kept,
    contents: Mapping[str, Content],
    keep: Collection[str],
    make: Callable[[list[Content]], Iterator[Mapping[int, Value]]],
) -> dict[str, Value]:
    """The value of each key, from the store or made of its content; what is made is kept for the keys of `keep` alone.

    make: contents -> parts, values by their position. Perturbed texts come by the million, and are not kept.
    """
    found = store.known(list(contents))
    missing = [key for key in contents if key not in found]

    def parts(keys: list[str]) -> Iterator[Mapping[str, Value]]:
        for part in make([contents[key] for key in keys]):
            yield {keys[position]: value for position, value in part.items()}

    own = [key for key in missing if key in keep]
    if own:
        found |= store.filled(own, parts)
    other = [key for key in missing if key not in keep]
    if other:
        for part in parts(other):
            found |= part
    return found


def kept(cache_dir: str | None, kind: str, identity: Mapping[str, Any]) -> Kept:
    """The values of a kind ("translations") and identity; one store per process, read again as it grows."""
    return _kept(cache_dir, kind, canonical_json(identity))


@functools.lru_cache(maxsize=128)
def _kept(cache_dir: str | None, kind: str, identity: str) -> Kept:
    path = None if cache_dir is None else place(cache_dir) / kind / f"{digest(json.loads(identity))[:24]}.parquet"
    return Kept(path, identity)


def key_of(*texts: str) -> str:
    """32 hexadecimal digits naming texts, in this order."""
    return digest(list(texts))[:32]
