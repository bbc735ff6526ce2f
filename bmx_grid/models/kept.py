"""Texts and numbers that a model made once, kept by the content that they were made of.

In a folder of the cache, which all processes share, else in this process only. What is missing is made under a lock, so
that workers that need the same do not make it twice, and is written in parts, so that a killed run goes on. A part is
never changed, and named by its keys and their values.

The lock of an object store holds on one machine only, so that two machines may make the same twice, and keep both.
"""

from __future__ import annotations

import functools
import itertools
import json
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TypeVar

from bmx_grid.core.errors import StoreError
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.storage import Place, listed, locked, opened, place, replacing

Value = str | tuple[float, ...]
Content = TypeVar("Content")
Make = Callable[[list[Content]], Sequence[Value]]
VERSION = 1
AT_ONCE = 256  # contents that are made between two looks at the clock
_WRITE_EVERY_S = 30.0


class Kept:
    """Values by key. path: None for this process only; the parts are in the folder of this name."""

    def __init__(self, path: Place | None, identity: str) -> None:
        self.path, self.identity = path, identity
        self._values: dict[str, Value] = {}
        self._read: set[Place] = set()

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
        try:
            self._load(by_key)
            new = self._new(key for key in by_key if key in keep)
            if new:
                with nullcontext() if self.path is None else locked(self.path):
                    self._load(new)  # what another process made meanwhile
                    self._fill({key: by_key[key] for key in self._new(new)}, make)
        except OSError as error:
            raise StoreError(f"cannot use {self.path}: {error.strerror or error}. Choose another cache_dir.") from error
        passing = dict(itertools.chain(*_made({key: by_key[key] for key in self._new(by_key)}, make)))
        return [passing[key] if key in passing else self._values[key] for key in keys]

    def _new(self, keys: Iterable[str]) -> list[str]:
        return [key for key in keys if key not in self._values]

    def _fill(self, contents: Mapping[str, Content], make: Make[Content]) -> None:
        """Make and keep values; also those that were made before an error or an interrupt."""
        waiting: dict[str, Value] = {}
        last = time.monotonic()
        try:
            for part in _made(contents, make):
                waiting.update(part)
                if time.monotonic() - last > _WRITE_EVERY_S:
                    self._write(waiting)
                    waiting, last = {}, time.monotonic()
        finally:
            self._write(waiting)

    def _load(self, keys: Collection[str]) -> None:
        """Read new parts, and the one file of earlier versions, where values of keys are unknown."""
        if self.path is None or not self._new(keys):
            return
        for file in (self.path, *listed(self.path.with_suffix(".parts"), ".parquet")):
            if file not in self._read:
                self._values.update(_content(file))
                self._read.add(file)

    def _write(self, values: dict[str, Value]) -> None:
        """Write new values as a part."""
        self._values.update(values)
        if self.path is None or not values:
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        kind = pa.string() if isinstance(next(iter(values.values())), str) else pa.list_(pa.float64())
        table = pa.table({"key": pa.array(list(values), pa.string()), "value": pa.array(list(values.values()), kind)})
        header = {"version": VERSION, "identity": json.loads(self.identity)}
        marked = table.replace_schema_metadata({"bmx_grid": canonical_json(header)})
        name = digest([[key, one if isinstance(one, str) else list(map(repr, one))] for key, one in values.items()])
        file = self.path.with_suffix(".parts") / f"{name[:24]}.parquet"
        with replacing(file) as part:
            pq.write_table(marked, part, compression="zstd", use_dictionary=False, write_page_checksum=True)
        self._read.add(file)


def _content(file: Place) -> dict[str, Value]:
    """The values in a file; none where it is gone, or damaged, of which it warns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(file) as source:
            table = pq.read_table(source, page_checksum_verification=True, partitioning=None)
        keys, values = table.column("key").to_pylist(), table.column("value").to_pylist()
    except FileNotFoundError:
        return {}
    except PermissionError:
        raise
    except (OSError, KeyError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        warnings.warn(f"{file} is damaged ({reason}); what it held is made again.", stacklevel=2)
        return {}
    return {key: one if isinstance(one, str) else tuple(one) for key, one in zip(keys, values, strict=True)}


def _made(contents: Mapping[str, Content], make: Make[Content]) -> Iterator[list[tuple[str, Value]]]:
    """Keys with their values, some at once."""
    rows = iter(contents.items())
    while part := list(itertools.islice(rows, AT_ONCE)):
        yield list(zip([key for key, _ in part], make([content for _, content in part]), strict=True))


@functools.lru_cache(maxsize=128)
def kept(cache_dir: str | None, kind: str, identity: str) -> Kept:
    """The values of a kind ("translations") and an identity in canonical JSON; one store per process."""
    path = None if cache_dir is None else place(cache_dir) / kind / f"{digest(json.loads(identity))[:24]}.parquet"
    return Kept(path, identity)


def key_of(*texts: str) -> str:
    """32 hexadecimal digits naming texts, in this order."""
    return digest(list(texts))[:32]
