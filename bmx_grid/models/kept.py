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
from contextlib import nullcontext
from typing import Any, TypeVar

from bmx_grid.core.errors import StoreError
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.storage import Place, listed, locked, opened, place, replacing

Value = str | tuple[float, ...]
Content = TypeVar("Content")
Make = Callable[[list[Content]], Iterator[Mapping[int, Value]]]  # contents -> parts, values by their position
VERSION = 1
_WRITE_EVERY_S = 30.0


class Kept:
    """Values by key. path: None for this process only; the parts are in the folder of this name."""

    def __init__(self, path: Place | None, identity: str) -> None:
        self.path, self.identity = path, identity
        self._values: dict[str, Value] = {}
        self._read: set[Place] = set()
        self._new: dict[str, Value] = {}  # not written yet

    def values(
        self,
        keys: Sequence[str],
        contents: Sequence[Content],
        keep: Collection[str],
        make: Make[Content],
    ) -> list[Value]:
        """The value of each key, known or made of its content; what is made is kept for the keys of `keep` alone.

        Perturbed texts come by the million, and are not kept.
        Raises StoreError where values cannot be kept.
        """
        by_key = dict(zip(keys, contents, strict=True))
        if any(key not in self._values for key in by_key):
            self._load()
        self._fill({key: by_key[key] for key in by_key if key in keep and key not in self._values}, make)
        passing: dict[str, Value] = {}
        others = {key: by_key[key] for key in by_key if key not in self._values}
        for part in _made(others, make):
            passing |= part
        return [passing[key] if key in passing else self._values[key] for key in keys]

    def _fill(self, contents: Mapping[str, Content], make: Make[Content]) -> None:
        """Make and keep what no other process has made meanwhile."""
        if not contents:
            return
        try:
            with nullcontext() if self.path is None else locked(self.path):
                self._load()
                last = time.monotonic()
                try:
                    for part in _made({key: contents[key] for key in contents if key not in self._values}, make):
                        self._new |= part
                        if time.monotonic() - last > _WRITE_EVERY_S:
                            self._write()
                            last = time.monotonic()
                finally:  # also of what was made before an error or an interrupt
                    self._write()
        except OSError as error:
            raise StoreError(
                f"cannot write {self.path}: {error.strerror or error}. Choose another cache_dir."
            ) from error

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
        self._values.update(self._new)
        if self.path is not None and self._new:
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


def _made(contents: Mapping[str, Content], make: Make[Content]) -> Iterator[dict[str, Value]]:
    """Parts of values by key."""
    keys = list(contents)
    for part in make(list(contents.values())) if keys else ():
        yield {keys[position]: value for position, value in part.items()}


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
