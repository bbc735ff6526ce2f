"""Arrow tables: columns made from NumPy and Python and read back, and the distinct rows of several tables.

Columns are made and read by way of buffers: `pyarrow.array`, `to_numpy` and `read_table` import pandas, which takes a
worker a third of its start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.ragged import Floats, Ragged


def arrow_numbers(values: ArrayLike, kind: type[np.number]) -> Any:
    """Numbers of this kind as an Arrow array."""
    import pyarrow as pa

    plain = np.ascontiguousarray(values, dtype=kind)
    arrow_type = pa.from_numpy_dtype(plain.dtype)
    # the first buffer would say which values are null: none is
    return pa.Array.from_buffers(arrow_type, len(plain), [None, pa.py_buffer(plain)])


def arrow_texts(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array. Raises OverflowError for more than 2 GiB of them."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    whole = b"".join(encoded)
    # the type of texts has offsets of 32 bits
    if len(whole) > np.iinfo(np.int32).max:
        raise OverflowError(f"{len(whole):,} bytes of text in one table")
    lengths = [len(text) for text in encoded]
    offsets = np.cumsum([0, *lengths]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(whole))


def arrow_lists(rows: Iterable[Floats]) -> Any:
    """Rows of numbers as an Arrow array of lists."""
    import pyarrow as pa

    packed = Ragged.from_rows(rows)
    offsets = arrow_numbers(packed.offsets, np.int32)
    values = arrow_numbers(packed.values, np.float64)
    element = pa.field("element", pa.float64())  # as Parquet gives it back
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(element))


def numbers_of(table: Any, name: str) -> NDArray[Any]:
    """A column of numbers without nulls, read-only."""
    return np.from_dlpack(table.column(name).combine_chunks())


def ragged_column(table: Any, name: str) -> Ragged:
    """A column of lists of numbers."""
    column = table.column(name).combine_chunks()
    values = np.from_dlpack(column.values)
    offsets = np.from_dlpack(column.offsets)
    return Ragged(values, offsets.astype(np.int64))


def distinct_rows(tables: list[Any], group_rows: int) -> Iterator[Any]:
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
