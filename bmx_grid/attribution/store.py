"""The attribution store: explained items in Parquet, keyed by their content.

    cache_dir/attributions/<metric>-<explainer>-<hash of their identity>/
        <data set>.<language pair>.parts/      finished chunks, and what was merged of them, a file each

A key is the content of an item, so files do not depend on the order of segments, on chunks or on workers, a subset
finds its rows among those of the whole, and the whole goes on where a subset stopped. A file has row groups, so that no
more than one has to be in memory, each with a digest of its rows and settings; rows that do not agree with their digest
count as missing, and are computed again.

Files are never changed, in a folder and in an object store alike, so that no lock is needed: a file is named by the
keys of its rows, so that who writes the same rows writes the same file, and it is removed only after another one with
all of its rows has been written: whatever processes do meanwhile, no row is lost.

For each role that the metric reads, a file has one column of texts and one of attributions; for a metric that has
statistics of its own, one column of these.
"""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.attribution.explain import Explanation
from bmx_grid.core.errors import StoreError
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.ragged import Floats, Ragged, concatenate_rows, row_minimum
from bmx_grid.core.storage import Place, files_of, opened, remove, remove_abandoned, replacing
from bmx_grid.core.wording import first_line
from bmx_grid.words.perturbation import Role

STORE_VERSION = 4  # that is written and read
LISTINGS = 100  # listings of a folder whose files other processes replace meanwhile
GROUP_ROWS = 2**16
STATISTICS_COLUMN = "statistics"


@dataclass(frozen=True, eq=False)
class AttributionSet:
    """Explanations of N items as arrays: base score float64[N], and N rows of attributions by role (ragged).

    Without an explainer there are no roles.
    statistics: float64[N, k] of a metric that has its own; None without.
    """

    base_scores: Floats
    by_role: Mapping[Role, Ragged]
    statistics: Floats | None = None

    @functools.cached_property
    def hypothesis(self) -> Ragged:
        """N rows of attributions of the hypothesis; empty ones where there are none."""
        return self.by_role.get("hypothesis", self._none())

    @functools.cached_property
    def ground_truth(self) -> Ragged:
        """N rows of attributions of all that was read beside the hypothesis, one text after the other."""
        rows = [of_role for role, of_role in self.by_role.items() if role != "hypothesis"]
        return functools.reduce(concatenate_rows, rows) if rows else self._none()

    @property
    def n_unexplained(self) -> int:
        """How many items have an undefined attribution."""
        is_undefined = [np.isnan(row_minimum(rows)) for rows in self.by_role.values()]
        return int(np.any(is_undefined, axis=0).sum())

    def _none(self) -> Ragged:
        return Ragged(np.empty(0), np.zeros(len(self.base_scores) + 1, dtype=np.int64))


@dataclass(frozen=True)
class Slot:
    """The place of one setting's explanations: a folder of finished chunks, some of them large.

    reads: the roles whose texts are kept; explained: those that have attributions.
    """

    parts: Place
    identity: str
    reads: tuple[Role, ...]
    explained: tuple[Role, ...]

    @property
    def stored(self) -> Slot:
        """The slot that jobs write to: without what a file filled (`attribution.filled`)."""
        return self

    @property
    def told(self) -> Mapping[str, Any]:
        """Fields of `evaluations.base.Finished` that are known beside scores and attributions."""
        return {}

    def lacking(self, loaded: AttributionSet) -> str:
        """What none of the items that were loaded has: "score" or "explanation"; "" where nothing is amiss."""
        if len(loaded.base_scores) == 0:
            return ""
        if np.isnan(loaded.base_scores).all():
            return "score"
        return "explanation" if self.explained and loaded.n_unexplained == len(loaded.base_scores) else ""

    def missing(self, keys: Sequence[str]) -> list[int]:
        """Positions of the distinct `keys` that are in no file."""
        positions: dict[str, int] = {}
        for position, key in enumerate(keys):
            positions.setdefault(key, position)
        for table in self._tables():
            for key in table.column("key").to_pylist():
                positions.pop(key, None)
        return list(positions.values())

    def add(self, explanations: Sequence[Explanation]) -> None:
        """Write one finished chunk. Raises StoreError."""
        rows = sorted(explanations, key=lambda row: row.key)
        _write(self._chunk([row.key for row in rows]), distinct_rows([self._table(rows)]), self.identity)

    def merge(self) -> None:
        """Write a file with the rows of all others, then remove these. Raises StoreError."""
        if isinstance(self.parts, Path):
            remove_abandoned(self.parts)
        files = files_of(self.parts, ".parquet")
        if len(files) < 2:
            return
        tables: list[Any] = []
        for file in files:
            with suppress(FileNotFoundError):  # merged by another process
                tables += self._read(file)
        if not tables:
            return
        whole = self._chunk(_keys_of(tables))
        _write(whole, distinct_rows(tables), self.identity)
        for file in files:
            if file != whole:
                _remove(file)

    def discard(self, keys: Sequence[str]) -> None:
        """Remove the explanations of `keys`, which are then missing. Raises StoreError."""
        import pyarrow.compute as pc

        wanted = _texts(keys)
        for file in files_of(self.parts, ".parquet"):
            try:
                tables = list(self._read(file))
            except FileNotFoundError:  # merged by another process
                continue
            others = [table.filter(pc.invert(pc.is_in(table.column("key"), value_set=wanted))) for table in tables]
            remaining = _keys_of(others)
            if remaining:
                _write(self._chunk(remaining), distinct_rows(others), self.identity)
            if file != self._chunk(remaining):
                _remove(file)

    def load(self, keys: Sequence[str]) -> AttributionSet:
        """The explanations of `keys`, in that order (a key may repeat).

        Raises StoreError when one is missing; ask `missing` and `merge` first.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = _texts(keys)
        texts = list(self.reads)
        kept = [self._table([]).drop_columns(texts)]
        for table in self._tables():
            kept.append(table.filter(pc.is_in(table.column("key"), value_set=wanted)).drop_columns(texts))
        rows = pa.concat_tables(kept, promote_options="default").combine_chunks()
        places = pc.index_in(wanted, value_set=rows.column("key").combine_chunks())
        if places.null_count:
            raise StoreError(
                f"{self.parts} lacks {places.null_count} of {len(keys)} explanations; run the command again, with a "
                "cache_dir that all machines share where workers run on several."
            )
        rows = rows.take(places)
        base = _numbers(rows.column("base_score").combine_chunks()).copy()
        by_role = {role: _ragged(rows, f"{role}_attributions") for role in self.explained}
        if STATISTICS_COLUMN not in rows.column_names:
            return AttributionSet(base, by_role)
        return AttributionSet(base, by_role, _ragged(rows, STATISTICS_COLUMN).values.reshape(len(keys), -1))

    def _chunk(self, keys: Sequence[str]) -> Place:
        """The chunk of these keys, which are sorted."""
        return self.parts / f"{digest(list(keys))[:24]}.parquet"

    def _tables(self) -> Iterator[Any]:
        """All rows that are kept, in tables; some may be there twice."""
        seen: set[Place] = set()
        for _ in range(LISTINGS):
            gone = 0
            for file in [file for file in files_of(self.parts, ".parquet") if file not in seen]:
                try:
                    yield from self._read(file)
                    seen.add(file)
                except FileNotFoundError:  # another process has made one of it and others: listed next time
                    gone += 1
            if not gone:
                return
        raise StoreError(f"{self.parts}: its files change faster than they are read; run the command again.")

    def _table(self, rows: Sequence[Explanation]) -> Any:
        """The table of explanations, in their order."""
        import pyarrow as pa

        named = pa.list_(pa.field("element", pa.float64()))  # as Parquet gives it back
        statistics = [row.statistics for row in rows if row.statistics is not None]

        def lists(arrays: list[Floats]) -> Any:
            packed = Ragged.from_rows(arrays)
            offsets = _array(packed.offsets, np.int32)
            values = _array(packed.values, np.float64)
            return pa.ListArray.from_arrays(offsets, values, type=named)

        columns: dict[str, Any] = {
            "key": _texts([row.key for row in rows]),
            "base_score": _array([row.base_score for row in rows], np.float64),
        }
        for role in self.reads:
            columns[role] = _texts([row.item.text(role) for row in rows])
        for role in self.explained:
            columns[f"{role}_attributions"] = lists([row.attributions[role] for row in rows])
        return pa.table(columns | ({STATISTICS_COLUMN: lists(statistics)} if statistics else {}))

    def _read(self, path: Place) -> Iterator[Any]:
        """The tables of a file, one per row group; damaged ones are left out with a warning.

        Raises FileNotFoundError when there is none, and StoreError, leaving the file as it is, when another version
        wrote it, or when it cannot be opened at all.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with opened(path) as source:
                file = pq.ParquetFile(source, page_checksum_verification=True)
                header = json.loads((file.metadata.metadata or {})[b"bmx_grid"])
                if header["version"] != STORE_VERSION:
                    raise StoreError(
                        f"{path} was written by another bmx_grid (store version {header['version']}, this one reads "
                        f"{STORE_VERSION}). Use that one, or choose another cache_dir."
                    )
                for group, group_digest in zip(range(file.num_row_groups), header["digests"], strict=True):
                    try:
                        yield self._checked(file.read_row_group(group).combine_chunks(), group_digest)
                    except (OSError, ValueError, pa.ArrowException) as error:
                        _warn(f"row group {group + 1} of {path}", error)
        except FileNotFoundError:
            raise
        except PermissionError as error:
            raise StoreError(
                f"cannot read {path}: {error.strerror}. Fix its permissions or choose another cache_dir."
            ) from error
        except (OSError, ValueError, KeyError, TypeError, RecursionError, pa.ArrowException) as error:
            _warn(str(path), error)

    def _checked(self, table: Any, group_digest: str) -> Any:
        """The table. Raises ValueError for other rows than those of the digest, or other columns, which it has not."""
        if group_digest != _content_digest(table, self.identity):
            raise ValueError("its rows do not agree with their digest")
        names = [name for name in table.column_names if name != STATISTICS_COLUMN]
        attributed = [f"{role}_attributions" for role in self.explained]
        if names != ["key", "base_score", *self.reads, *attributed]:
            raise ValueError(f"it has the columns {', '.join(table.column_names)}")
        return table.replace_schema_metadata(None)


def slot_of(
    cache_dir: Place,
    names: tuple[str, str],
    identity: Mapping[str, Any],
    where: tuple[str, str],
    reads: tuple[Role, ...],
    explained: tuple[Role, ...],
) -> Slot:
    """The slot of a (metric, explainer) pair of `names` and `identity`; where: data set and language pair.

    reads: the roles that the metric reads; explained: those that the explainer explains, none without one.
    """
    folder = cache_dir / "attributions" / f"{names[0]}-{names[1]}-{digest(identity)[:12]}"
    return Slot(folder / f"{'.'.join(where)}.parts", canonical_json(identity), reads, explained)


# `pyarrow.array`, `to_numpy` and `read_table` import pandas, which takes a worker a third of its start.


def _array(values: ArrayLike, kind: type[np.number]) -> Any:
    """Numbers of this kind as an Arrow array."""
    import pyarrow as pa

    plain = np.ascontiguousarray(values, dtype=kind)
    return pa.Array.from_buffers(pa.from_numpy_dtype(plain.dtype), len(plain), [None, pa.py_buffer(plain)])


def _keys_of(tables: Sequence[Any]) -> list[str]:
    """The keys of all explanations in these tables, sorted, each once."""
    keys: set[str] = set()
    for table in tables:
        keys.update(table.column("key").to_pylist())
    return sorted(keys)


def _texts(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array. Raises OverflowError for more than 2 GiB of them."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    whole = b"".join(encoded)
    if len(whole) > np.iinfo(np.int32).max:
        raise OverflowError(f"{len(whole):,} bytes of text in one table")
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(whole))


def _ragged(table: Any, name: str) -> Ragged:
    """A column of lists."""
    column = table.column(name).combine_chunks()
    return Ragged(_numbers(column.values), _numbers(column.offsets).astype(np.int64))


def _numbers(array: Any) -> NDArray[Any]:
    """An Arrow array without nulls as one of NumPy."""
    return np.from_dlpack(array)


def distinct_rows(tables: list[Any]) -> Iterator[Any]:
    """The distinct rows of tables by ascending key, in tables of GROUP_ROWS rows; empties the list of tables.

    Column by column, so that no more than one column is in memory twice.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    chunked = pa.concat_tables(tables)
    tables.clear()
    columns = {}
    for name in chunked.column_names:
        columns[name] = chunked.column(name).combine_chunks()
        chunked = chunked.drop_columns([name])
    whole = pa.table(columns)
    columns.clear()
    order = pc.sort_indices(whole.column("key"))  # stable: of equal keys the first stays
    keys = whole.column("key").take(order).combine_chunks()
    order = pa.concat_arrays([order[:1], order[1:].filter(pc.not_equal(keys[1:], keys[:-1]))])
    for first in range(0, len(order), GROUP_ROWS):
        yield whole.take(order[first : first + GROUP_ROWS]).combine_chunks()


def _write(path: Place, tables: Iterable[Any], identity: str) -> None:
    """Write tables as the row groups of one file, in one step. Raises StoreError."""
    import pyarrow.parquet as pq

    rest = iter(tables)
    first = next(rest)
    digests = []
    options: dict[str, Any] = {
        "compression": "zstd",
        "use_dictionary": False,
        "column_encoding": {f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in _lists(first)},
        "write_page_checksum": True,
    }
    with replacing(path) as part, pq.ParquetWriter(part, first.schema.remove_metadata(), **options) as writer:
        for table in chain([first], rest):
            writer.write_table(table, row_group_size=max(len(table), 1))
            digests.append(_content_digest(table, identity))
        header = {"version": STORE_VERSION, "digests": digests, "identity": json.loads(identity)}
        writer.add_key_value_metadata({"bmx_grid": canonical_json(header)})


def _remove(file: Place) -> None:
    """Remove a file whose rows are in another one, or are not kept. Raises StoreError."""
    try:
        remove(file)
    except OSError as error:
        raise StoreError(
            f"cannot remove {file}: {error.strerror or error}. Fix the folder's permissions, or choose another "
            "cache_dir."
        ) from error


def _warn(what: str, error: Exception) -> None:
    warnings.warn(
        f"{what} is damaged ({first_line(error)}); its rows are computed again and the file replaced.", stacklevel=4
    )


def _content_digest(table: Any, identity: str) -> str:
    """SHA-256 of all values of a table, independent of how Arrow lays them out in memory."""
    sha = hashlib.sha256(f"{STORE_VERSION}\n{identity}\n{table.num_rows}\n".encode())
    lists = _lists(table)
    for name in [name for name in table.column_names if name not in ("base_score", *lists)]:
        sha.update("\0".join(table.column(name).to_pylist()).encode("utf-8", "surrogatepass"))
        sha.update(b"\1")
    sha.update(_numbers(table.column("base_score").combine_chunks()).tobytes())
    for name in lists:
        rows = _ragged(table, name)
        sha.update(rows.lengths.tobytes())
        sha.update(rows.values[rows.offsets[0] : rows.offsets[-1]].tobytes())
    return sha.hexdigest()


def _lists(table: Any) -> list[str]:
    return [name for name in table.column_names if name.endswith("_attributions") or name == STATISTICS_COLUMN]
