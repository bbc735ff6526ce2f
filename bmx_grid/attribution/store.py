"""The attribution store: explained items in Parquet, keyed by their content.

    cache_dir/attributions/<metric>-<explainer>-<hash of their identity>/
        <data set>.<language pair>.parts/      files of finished and of merged chunks

A key is the content of an item, so files do not depend on the order of segments, on chunks or on workers, a subset
finds its rows among those of the whole, and the whole continues from a subset. A file has row groups, so that no
more than one has to be in memory, each with a digest of its rows and settings; rows that do not agree with their digest
count as missing, and are computed again.

Files are never changed, in a folder and in an object store alike, so that no lock is needed: a file is named by the
keys of its rows, so that who writes the same rows writes the same file, and it is removed only after another one with
all of its rows has been written: whatever processes do meanwhile, no row is lost.

For each role that the metric reads, a file has one column of texts and one of attributions; for a metric that has
statistics of its own, a column of them. Columns are made and read by way of buffers: `pyarrow.array`, `to_numpy` and
`read_table` import pandas, which takes a worker a third of its start.
"""

from __future__ import annotations

import hashlib
import json
import operator
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
from bmx_grid.core.ragged import Floats, Ragged
from bmx_grid.core.storage import Place, below, files_of, open_for_arrow, remove, remove_abandoned, replacing
from bmx_grid.core.wording import first_line
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Role

STORE_VERSION = 4  # that is written and read
LISTINGS = 100  # listings of a folder whose files other processes replace meanwhile
GROUP_ROWS = 2**16  # of a file: so many are in memory as it is read
STATISTICS_COLUMN = "statistics"


@dataclass(frozen=True)
class AttributionStore:
    """The place of one setting's explanations: a folder of finished chunks, some of them large.

    reads: the roles whose texts are kept; explained: those that have attributions.
    """

    parts: Place
    identity: str
    reads: tuple[Role, ...]
    explained: tuple[Role, ...]

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
        rows = sorted(explanations, key=operator.attrgetter("key"))
        path = self._chunk([row.key for row in rows])
        _write(path, [self._table(rows)], self.identity)

    def merge(self) -> None:
        """Write a file with the rows of all others, then remove these. Raises StoreError."""
        if isinstance(self.parts, Path):
            remove_abandoned(self.parts)
        files = files_of(self.parts, ".parquet")
        if len(files) < 2:
            return
        tables: list[Any] = []
        for file in files:
            # another process may have merged the file meanwhile
            with suppress(FileNotFoundError):
                tables += self._read_tables(file)
        if not tables:
            return
        whole = self._chunk(_keys_of(tables))
        _write(whole, tables, self.identity)
        _release()
        # only now that all their rows are in another file
        for file in files:
            if file != whole:
                remove(file)

    def discard(self, keys: Sequence[str]) -> None:
        """Remove the explanations of `keys`, which are then missing. Raises StoreError."""
        import pyarrow.compute as pc

        unwanted = _arrow_texts(keys)
        for file in files_of(self.parts, ".parquet"):
            try:
                tables = list(self._read_tables(file))
            except FileNotFoundError:  # merged by another process
                continue
            others = []
            for table in tables:
                is_unwanted = pc.is_in(table.column("key"), value_set=unwanted)
                others.append(table.filter(pc.invert(is_unwanted)))
            remaining = _keys_of(others)
            if remaining:
                _write(self._chunk(remaining), others, self.identity)
            if file != self._chunk(remaining):
                remove(file)

    def load(self, keys: Sequence[str]) -> AttributionSet:
        """The explanations of `keys`, in that order (a key may repeat).

        Raises StoreError when one is missing; call `missing` and `merge` first.
        """
        loaded = self._load(keys)
        _release()  # only now that the tables which were read are gone
        return loaded

    def _load(self, keys: Sequence[str]) -> AttributionSet:
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = _arrow_texts(keys)
        texts = list(self.reads)
        # A table without rows is first: without any file the columns still exist.
        tables = [self._table([]).drop_columns(texts)]
        for table in self._tables():
            is_wanted = pc.is_in(table.column("key"), value_set=wanted)
            tables.append(table.filter(is_wanted).drop_columns(texts))
        # promoted, since the table without rows has no statistics
        rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
        tables.clear()  # the rows are copied, and once more in their order
        places = pc.index_in(wanted, value_set=rows.column("key").combine_chunks())
        if places.null_count:
            raise StoreError(
                f"{self.parts} lacks {places.null_count} of {len(keys)} explanations; run the command again, with a "
                "cache_dir that all machines share if workers run on several."
            )
        rows = rows.take(places)
        # a copy, since what Arrow holds is read-only
        base = _numbers_of(rows, "base_score").copy()
        by_role = {role: _ragged_column(rows, f"{role}_attributions") for role in self.explained}
        statistics = None
        if STATISTICS_COLUMN in rows.column_names:
            # every item has equally many
            statistics = _ragged_column(rows, STATISTICS_COLUMN).values.reshape(len(keys), -1)
        return AttributionSet(base, by_role, statistics)

    def _chunk(self, keys: Sequence[str]) -> Place:
        """The chunk of the sorted `keys`."""
        name = digest(list(keys))[:24]
        return self.parts / f"{name}.parquet"

    def _tables(self) -> Iterator[Any]:
        """All rows that are kept, in tables; some may occur twice."""
        seen: set[Place] = set()
        for _ in range(LISTINGS):
            gone = 0
            for file in files_of(self.parts, ".parquet"):
                if file in seen:
                    continue
                try:
                    yield from self._read_tables(file)
                    seen.add(file)
                except FileNotFoundError:
                    # another process has made one of it and others: listed next time
                    gone += 1
            if not gone:
                return
        raise StoreError(f"{self.parts}: its files change faster than they are read; run the command again.")

    def _table(self, rows: Sequence[Explanation]) -> Any:
        import pyarrow as pa

        columns: dict[str, Any] = {
            "key": _arrow_texts([row.key for row in rows]),
            "base_score": _arrow_numbers([row.base_score for row in rows], np.float64),
        }
        for role in self.reads:
            columns[role] = _arrow_texts([row.item.text(role) for row in rows])
        for role in self.explained:
            columns[f"{role}_attributions"] = _arrow_lists(row.attributions[role] for row in rows)
        statistics = [row.statistics for row in rows if row.statistics is not None]
        if statistics:
            columns[STATISTICS_COLUMN] = _arrow_lists(statistics)
        return pa.table(columns)

    def _read_tables(self, path: Place) -> Iterator[Any]:
        """The tables of a file, one per row group; damaged ones are left out with a warning.

        Raises FileNotFoundError for a missing file, and StoreError, leaving the file unchanged, when another version
        wrote it, or when it cannot be opened at all.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with open_for_arrow(path) as source:
                file = pq.ParquetFile(source, page_checksum_verification=True)
                header = json.loads((file.metadata.metadata or {})[b"bmx_grid"])
                if header["version"] != STORE_VERSION:
                    raise StoreError(
                        f"{path} was written by another bmx_grid (store version {header['version']}, this one reads "
                        f"{STORE_VERSION}). Use that one, or choose another cache_dir."
                    )
                for group, group_digest in zip(range(file.num_row_groups), header["digests"], strict=True):
                    try:
                        table = file.read_row_group(group).combine_chunks()
                        yield self._check_table(table, group_digest)
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

    def _check_table(self, table: Any, group_digest: str) -> Any:
        """The table. Raises ValueError for other rows than those of the digest, or other columns, which it has not."""
        if group_digest != _content_digest(table, self.identity):
            raise ValueError("its rows do not agree with their digest")
        names = [name for name in table.column_names if name != STATISTICS_COLUMN]
        attributed = [f"{role}_attributions" for role in self.explained]
        if names != ["key", "base_score", *self.reads, *attributed]:
            raise ValueError(f"it has the columns {', '.join(table.column_names)}")
        return table.replace_schema_metadata(None)


def open_store(
    cache_dir: Place,
    names: tuple[str, str],
    identity: Mapping[str, Any],
    where: tuple[str, str],
    reads: tuple[Role, ...],
    explained: tuple[Role, ...],
) -> AttributionStore:
    """The store of a (metric, explainer) pair of `names` and `identity`; where: data set and language pair.

    reads: the roles that the metric reads; explained: those that the explainer explains, none without one.
    Raises StoreError if a link leads out of the cache.
    """
    metric, explainer = names
    dataset, language_pair = where
    # the digest distinguishes settings of the same names
    folder = f"{metric}-{explainer}-{digest(identity)[:12]}"
    name = f"attributions/{folder}/{dataset}.{language_pair}.parts"
    # Merging removes files, which must not be those of another folder.
    parts = below(cache_dir, name)
    return AttributionStore(parts, canonical_json(identity), reads, explained)


def _keys_of(tables: Sequence[Any]) -> list[str]:
    keys: set[str] = set()
    for table in tables:
        keys.update(table.column("key").to_pylist())
    return sorted(keys)


def _write(path: Place, tables: list[Any], identity: str) -> None:
    """Write the distinct rows of tables as the row groups of one file, in one step; empties the list of tables.

    Raises StoreError.
    """
    import pyarrow.parquet as pq

    groups = _distinct_rows(tables, GROUP_ROWS)
    first = next(groups)  # its schema is the file's
    digests = []
    schema = first.schema.remove_metadata()
    options: dict[str, Any] = {
        "compression": "zstd",
        "use_dictionary": False,
        "column_encoding": {f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in _lists(first)},
        "write_page_checksum": True,
    }
    with replacing(path) as part, pq.ParquetWriter(part, schema, **options) as writer:
        for table in chain([first], groups):
            writer.write_table(table, row_group_size=max(len(table), 1))
            digests.append(_content_digest(table, identity))
        header = {"version": STORE_VERSION, "digests": digests, "identity": json.loads(identity)}
        writer.add_key_value_metadata({"bmx_grid": canonical_json(header)})


def _warn(place: str, error: Exception) -> None:
    warnings.warn(
        f"{place} is damaged ({first_line(error)}); its rows are computed again and the file replaced.", stacklevel=4
    )


def _content_digest(table: Any, identity: str) -> str:
    """SHA-256 of all values of a table, independent of how Arrow lays them out in memory."""
    sha = hashlib.sha256(f"{STORE_VERSION}\n{identity}\n{table.num_rows}\n".encode())
    lists = _lists(table)
    for name in table.column_names:
        if name == "base_score" or name in lists:
            continue
        texts = "\0".join(table.column(name).to_pylist())
        sha.update(texts.encode("utf-8", "surrogatepass"))
        sha.update(b"\1")
    sha.update(_numbers_of(table, "base_score").tobytes())
    for name in lists:
        rows = _ragged_column(table, name)
        sha.update(rows.lengths.tobytes())
        # a part of a table has offsets into the values of the whole
        values = rows.values[rows.offsets[0] : rows.offsets[-1]]
        sha.update(values.tobytes())
    return sha.hexdigest()


def _lists(table: Any) -> list[str]:
    return [name for name in table.column_names if name.endswith("_attributions") or name == STATISTICS_COLUMN]


def _arrow_numbers(values: ArrayLike, kind: type[np.number]) -> Any:
    import pyarrow as pa

    plain = np.ascontiguousarray(values, dtype=kind)
    arrow_type = pa.from_numpy_dtype(plain.dtype)
    # the first buffer would mark null values: none is null
    return pa.Array.from_buffers(arrow_type, len(plain), [None, pa.py_buffer(plain)])


def _release() -> None:
    """Give back the memory that Arrow keeps for later: half a gigabyte after a million explanations."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _arrow_texts(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array. Raises OverflowError for more than 2 GiB."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    whole = b"".join(encoded)
    # the type of texts has offsets of 32 bits
    if len(whole) > np.iinfo(np.int32).max:
        raise OverflowError(f"{len(whole):,} bytes of text in one table")
    lengths = [len(text) for text in encoded]
    offsets = np.cumsum([0, *lengths]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(whole))


def _arrow_lists(rows: Iterable[Floats]) -> Any:
    import pyarrow as pa

    packed = Ragged.from_rows(rows)
    offsets = _arrow_numbers(packed.offsets, np.int32)
    values = _arrow_numbers(packed.values, np.float64)
    element = pa.field("element", pa.float64())  # as Parquet gives it back
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(element))


def _numbers_of(table: Any, name: str) -> NDArray[Any]:
    """A column of numbers without nulls, read-only."""
    return np.from_dlpack(table.column(name).combine_chunks())


def _ragged_column(table: Any, name: str) -> Ragged:
    column = table.column(name).combine_chunks()
    values = np.from_dlpack(column.values)
    offsets = np.from_dlpack(column.offsets)
    return Ragged(values, offsets.astype(np.int64))


def _distinct_rows(tables: list[Any], group_rows: int) -> Iterator[Any]:
    """The distinct rows of tables by ascending key, in tables of `group_rows` rows; empties the list of tables.

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
    is_new = pc.not_equal(keys[1:], keys[:-1])
    first_row = order[:1]
    order = pa.concat_arrays([first_row, order[1:].filter(is_new)])
    for start in range(0, len(order), group_rows):
        rows = order[start : start + group_rows]
        yield whole.take(rows).combine_chunks()
