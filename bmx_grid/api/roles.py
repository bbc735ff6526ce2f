"""Which column of a DataFrame plays which role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bmx_grid.api.given import check_names, listed, numbers, plain
from bmx_grid.datasets.columns import ROLES, SEVERAL, usual_columns
from bmx_grid.errors import ConfigError, DataError, unknown

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, str | Sequence[str]]


def assigned(
    frame: pd.DataFrame, columns: Columns, needed: Sequence[str], taken: Sequence[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Role -> its columns: those given, else the one of the role's own or of a usual name.

    taken: columns that play another part. Raises ConfigError for a role or column that there is not, DataError for
    needed roles without a column, all in one sentence.
    """
    check_names(list(frame.columns))
    names = [str(name) for name in frame.columns if str(name) not in taken]
    found: dict[str, tuple[str, ...]] = {}
    for role, own in columns.items():
        if role not in ROLES:
            raise ConfigError("columns: " + unknown("role", role, ROLES))
        found[role] = tuple(listed(f"columns: {role}", own))
        if len(found[role]) != 1 and role not in SEVERAL:
            raise ConfigError(f"columns: only {' and '.join(SEVERAL)} may have several columns, not {role}.")
        for name in found[role]:
            if name not in names:
                raise ConfigError(f"columns: {role}: " + unknown("column", name, names))
    found |= {role: (name,) for role, name in usual_columns(names, found).items()}
    missing = [role for role in needed if role not in found]
    if "hypothesis" in needed and not {"source", "reference"} & found.keys():
        missing.append("source or reference")
    if missing:
        raise DataError(
            f"the frame has no column for {', '.join(missing)}; its {'other ' if taken else ''}columns are "
            f"{', '.join(names) or 'none'}. Name them: columns={{'{missing[0].split()[0]}': 'COLUMN'}}."
        )
    return found


def check_frame(frame: object) -> None:
    """Raise ConfigError for what is no DataFrame."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise ConfigError(
            f"frame: expected a pandas DataFrame, got a {type(frame).__name__}; pandas.DataFrame makes one."
        )


def check_numbers(frame: pd.DataFrame, column: str, least: int) -> None:
    """Raise DataError for a column that holds anything but finite numbers and gaps, or fewer than `least` numbers."""
    import numpy as np

    values = numbers(frame[column])
    known = np.isfinite(values) & (frame[column].dtype.kind != "b")  # people and metrics do not score True and False
    wrong = np.flatnonzero(~known & frame[column].notna().to_numpy())
    if len(wrong):
        held = plain(frame[column].iloc[int(wrong[0])])
        raise DataError(
            f"the frame, row {wrong[0] + 1}: the column {column!r} holds {held!r:.60}, no finite number; write a "
            "number like -0.25, or NaN for a segment without a score."
        )
    if np.isfinite(values).sum() < least:
        raise DataError(
            f"the column {column!r} of the frame has {np.isfinite(values).sum()} numbers in {len(frame)} rows; a "
            f"correlation needs {least}."
        )
