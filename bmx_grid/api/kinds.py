"""Frames of any kind: pandas, a dictionary of columns, and through narwhals polars, Arrow and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.wording import first_line

if TYPE_CHECKING:
    import pandas as pd

    from bmx_grid.core.ragged import Floats


@dataclass(frozen=True)
class FrameKind:
    """What results are handed back as.

    backend: the narwhals implementation of a frame or series; `dict` for a dictionary of lists; None for pandas and
    NumPy.
    """

    backend: Any = None

    def frame(self, frame: pd.DataFrame) -> Any:
        """A table as a frame of this kind. NaN stays NaN in columns of numbers, and is missing in all others."""
        if self.backend is None:
            return frame
        columns: dict[str, Any] = {}
        for name in frame.columns:
            column = frame[name]
            columns[str(name)] = column.to_numpy() if column.dtype.kind in "biuf" else plain_values(column)
        if self.backend is dict:
            return {name: list(values) for name, values in columns.items()}
        import narwhals.stable.v2 as nw

        return nw.from_dict(columns, backend=self.backend).to_native()

    def series(self, name: str, values: Floats) -> Any:
        """Numbers as a series of this kind; of a dictionary an array."""
        if self.backend in (None, dict):
            return values
        import narwhals.stable.v2 as nw

        return nw.new_series(name, values, backend=self.backend).to_native()


PANDAS = FrameKind()


def plain_values(column: pd.Series[Any]) -> list[Any]:
    """The values of a column as Python's own objects, None for those that are missing."""
    # As objects: among numbers None would become NaN again.
    values: list[Any] = column.astype(object).where(column.notna(), None).tolist()
    # A column of objects may hold NumPy's numbers.
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def frame_kind(frame: Any) -> tuple[pd.DataFrame, FrameKind]:
    """A frame of any kind as a pandas DataFrame, and its kind. Raises ConfigError for anything that is no frame."""
    import narwhals.stable.v2 as nw
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame, PANDAS
    try:
        if isinstance(frame, Mapping):
            columns = {name: list(values) for name, values in frame.items()}
            # As objects, whole numbers with gaps stay whole.
            return pd.DataFrame(columns, dtype=object), FrameKind(dict)
        native = nw.from_native(frame)
    except (TypeError, ValueError) as error:
        kinds = "a DataFrame of pandas or polars, an Arrow table or a dictionary of lists"
        kind = type(frame).__name__
        # A dictionary has the right type; an error about its columns is more useful.
        reason = f", {first_line(error):.80}" if isinstance(frame, Mapping) else ""
        # As datasets.Dataset has.
        way_out = "; call its .to_pandas()" if hasattr(frame, "to_pandas") else ""
        raise ConfigError(f"frame: expected {kinds}, got a {kind}{reason}{way_out}.") from error
    eager = native.collect() if isinstance(native, nw.LazyFrame) else native
    columns = {name: eager[name].to_list() for name in eager.columns}
    return pd.DataFrame(columns, dtype=object), FrameKind(eager.implementation)


def plain_series(values: Any) -> tuple[Any, FrameKind]:
    """A list in place of a series of any library, and its kind; anything else as it is."""
    import narwhals.stable.v2 as nw

    # `pass_through` keeps NumPy's arrays and lists.
    series = nw.from_native(values, allow_series=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return values, PANDAS
    backend = series.implementation
    kind = PANDAS if backend.is_pandas() else FrameKind(backend)
    return series.to_list(), kind
