"""The first line of a table: its column names and its separator, or a title that stands above them."""

from __future__ import annotations

from collections.abc import Sequence

from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import visible
from bmx_grid.words.perturbation import INVISIBLE

# Of a CSV file; of as many the first.
SEPARATORS = (",", ";", "\t", "|")
# First rows that tell which columns are in use.
FIRST_ROWS = 20


def separator_of(lines: Sequence[str]) -> str:
    """The separator of CSV lines: the one that the first line has most of, or the second below a title."""
    filled = [line for line in lines[:FIRST_ROWS] if line.strip()]
    best = [max(SEPARATORS, key=line.count) for line in filled[:2]]
    if not best:
        return SEPARATORS[0]
    if len(best) == 2:
        first, second = filled[:2]
        # A quoted text may go on in the second line, and hold anything.
        is_title = first.count(best[1]) == 0 and second.count(best[0]) == 0 and '"' not in second
        if is_title and second.count(best[1]) > first.count(best[0]):
            return best[1]
    return best[0]


def check_header(rows: Sequence[Sequence[str]], places: Sequence[int], path: str, option: str) -> None:
    """Check that the first row holds the names of most columns that are in use.

    Args:
        rows: the fields of the first rows.
        places: the line that each row ends at.
        path: the file, for messages.
        option: what sets the lines to skip, as "skip_rows="; "" if nothing does.

    Raises:
        DataError: the first row is a title.
    """
    filled = []
    for row in rows[:FIRST_ROWS]:
        filled.append({column for column, value in enumerate(row) if value.strip(INVISIBLE)})
    n_used = len(set().union(*filled))
    # An index that pandas writes has no name, so that one of two columns may lack it.
    if 2 * len(filled[0]) >= n_used:
        return
    way_out = "delete the lines above the header"
    named = [number for number, columns in enumerate(filled) if 2 * len(columns) >= n_used]
    if option:
        # All lines above the first row that has most columns.
        way_out = f"{way_out}, or skip them: {option}{places[named[0] - 1]}"
    title = " ".join(rows[0]).strip()
    raise DataError(f"{path}: line {places[0]} holds no column names, but {visible(title)[:60]!r}; {way_out}.")
