"""Explanations as Arrow tables and Parquet files in row groups, every one of them with a digest.

No more than one row group has to be in memory, and damage costs its row group alone.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.attribution.explain import Explanation
from bmx_grid.core.errors import StoreError
from bmx_grid.core.identity import canonical_json
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.storage import Place, opened, replacing
from bmx_grid.core.wording import first_line
from bmx_grid.words.perturbation import Role

VERSION = 4  # that is written and read
GROUP_ROWS = 2**16
STATISTICS = "statistics"


def table_of(rows: Sequence[Explanation], reads: Sequence[Role], explained: bool) -> Any:
    """The table of explanations, in their order."""
    import pyarrow as pa

    named = pa.list_(pa.field("element", pa.float64()))  # as Parquet gives it back
    own = [row.statistics for row in rows if row.statistics is not None]

    def lists(arrays: list[NDArray[np.float64]]) -> Any:
        packed = Ragged.from_rows(arrays)
        offsets, values = array_of(packed.offsets, np.int32), array_of(packed.values, np.float64)
        return pa.ListArray.from_arrays(offsets, values, type=named)

    return pa.table(
        {
            "key": texts_of([row.key for row in rows]),
            "base_score": array_of([row.base_score for row in rows], np.float64),
            **{role: texts_of([row.item.text(role) for row in rows]) for role in reads},
            **({list_of(role): lists([row.attributions[role] for row in rows]) for role in reads} if explained else {}),
            **({STATISTICS: lists(own)} if own else {}),
        }
    )


def list_of(role: str) -> str:
    """The column that holds the attributions of a role."""
    return f"{role}_attributions"


# `pyarrow.array`, `to_numpy` and `read_table` import pandas, which takes a worker a third of its start.


def array_of(values: ArrayLike, kind: type[np.number]) -> Any:
    """Numbers of this kind as an Arrow array."""
    import pyarrow as pa

    own = np.ascontiguousarray(values, dtype=kind)
    return pa.Array.from_buffers(pa.from_numpy_dtype(own.dtype), len(own), [None, pa.py_buffer(own)])


def texts_of(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array. Raises OverflowError for more than 2 GiB of them."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    whole = b"".join(encoded)
    if len(whole) > np.iinfo(np.int32).max:
        raise OverflowError(f"{len(whole):,} bytes of text in one table")
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(whole))


def in_order(tables: list[Any]) -> Iterator[Any]:
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


def ragged(table: Any, name: str) -> Ragged:
    """A column of lists."""
    column = table.column(name).combine_chunks()
    return Ragged(numbers(column.values), numbers(column.offsets).astype(np.int64))


def numbers(array: Any) -> NDArray[Any]:
    """An Arrow array without nulls as one of NumPy."""
    return np.from_dlpack(array)


def write(path: Place, tables: Iterable[Any], identity: str) -> None:
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
            digests.append(content_digest(table, identity))
        header = {"version": VERSION, "digests": digests, "identity": json.loads(identity)}
        writer.add_key_value_metadata({"bmx_grid": canonical_json(header)})


def read(path: Place, identity: str, reads: Sequence[Role]) -> Iterator[Any]:
    """The tables of a file, one per row group; damaged ones are left out with a warning.

    Raises FileNotFoundError when there is none, and StoreError, leaving the file as it is, when a newer or a much older
    version wrote it, or when it cannot be opened at all.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if isinstance(path, Path) and path.is_dir():
            raise StoreError(f"{path} is a folder where a file should be; remove it, or choose another cache_dir.")
        with opened(path) as source:
            file = pq.ParquetFile(source, page_checksum_verification=True)
            header = json.loads((file.metadata.metadata or {})[b"bmx_grid"])
            _check_version(path, int(header["version"]))
            digests = header["digests"]
            if len(digests) != file.num_row_groups:
                raise ValueError(f"it has {file.num_row_groups} of {len(digests)} row groups")
            for group, digest in enumerate(digests):
                try:
                    yield _checked(file.read_row_group(group).combine_chunks(), digest, identity, reads)
                except (OSError, ValueError, pa.ArrowException) as error:
                    _warn(f"row group {group + 1} of {path}", error)
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror}. Fix its permissions or choose another cache_dir."
        ) from error
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        _warn(str(path), error)


def _warn(what: str, error: Exception) -> None:
    warnings.warn(
        f"{what} is damaged ({first_line(error)}); its rows are computed again and the file replaced.", stacklevel=4
    )


def _check_version(path: Place, version: int) -> None:
    if version != VERSION:
        written, remedy = ("a newer", "Update bmx_grid, or") if version > VERSION else ("an earlier", "Please")
        raise StoreError(
            f"{path} was written by {written} bmx_grid (store version {version}, this one reads {VERSION}). {remedy} "
            "choose another cache_dir."
        )


def _checked(table: Any, digest: str, identity: str, reads: Sequence[Role]) -> Any:
    """The table. Raises ValueError for other rows than those the digest is of, or other columns, which it is not of."""
    if digest != content_digest(table, identity):
        raise ValueError("its rows do not agree with their digest")
    plain = ["key", "base_score", *reads]
    names = [name for name in table.column_names if name != STATISTICS]
    if names not in (plain, [*plain, *map(list_of, reads)]):
        raise ValueError(f"it has the columns {', '.join(table.column_names)}")
    return table.replace_schema_metadata(None)


def content_digest(table: Any, identity: str) -> str:
    """SHA-256 of all values of a table, independent of how Arrow lays them out in memory."""
    sha = hashlib.sha256(f"{VERSION}\n{identity}\n{table.num_rows}\n".encode())
    lists = _lists(table)
    for name in [one for one in table.column_names if one not in ("base_score", *lists)]:
        sha.update("\0".join(table.column(name).to_pylist()).encode("utf-8", "surrogatepass"))
        sha.update(b"\1")
    sha.update(numbers(table.column("base_score").combine_chunks()).tobytes())
    for name in lists:
        rows = ragged(table, name)
        sha.update(rows.lengths.tobytes())
        sha.update(rows.values[rows.offsets[0] : rows.offsets[-1]].tobytes())
    return sha.hexdigest()


def _lists(table: Any) -> list[str]:
    return [name for name in table.column_names if name.endswith("_attributions") or name == STATISTICS]
