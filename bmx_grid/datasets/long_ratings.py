"""Several ratings of one output, a row each: which rows belong together, their matrix and their mean."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import escape_unprintable, pluralize
from bmx_grid.datasets.table_file import TableFile

TEXT_ROLES = ("source", "reference", "further_references", "hypothesis")


def outputs_with_ratings(
    table: TableFile,
    rows_of_pair: Mapping[str, Sequence[int]],
    texts: Mapping[str, Sequence[Any]],
    number_of: Sequence[int],
) -> dict[str, list[list[int]]]:
    """The rows of each output, of language pairs with several ratings of an output; a warning counts them.

    number_of: the number of each row in the table.
    """

    def place(row: int) -> str:
        return table.place(number_of[row])

    groups_of_pair = {}
    for pair, rows in rows_of_pair.items():
        groups = _group_ratings(rows, texts, str(table.path), place)
        if len(groups) < len(rows):
            groups_of_pair[pair] = groups
    n_outputs = sum(map(len, groups_of_pair.values()))
    if n_outputs:
        n_ratings = pluralize(sum(len(rows_of_pair[pair]) for pair in groups_of_pair), "rating")
        warnings.warn(
            f"{table.path}: {n_ratings} of {pluralize(n_outputs, 'output')}; the human score is their mean.",
            stacklevel=2,
        )
    return groups_of_pair


def _group_ratings(
    rows: Sequence[int], values: Mapping[str, Sequence[Any]], path: str, place: Callable[[int], str]
) -> list[list[int]]:
    """The rows of each output, in order of appearance, by its raters' order of appearance.

    Args:
        rows: of one language pair.
        values: role -> the values of all rows; with `rater`. Outputs are known by id and system, or without ids by
            system, document and texts: a rater who judges the same texts again judges another output.
        path: the file, for messages.
        place: of a row in the file, for messages.

    Raises:
        DataError: a rater judged an output twice, or an output has different texts.
    """
    raters = values["rater"]
    has_ids = "id" in values
    groups: dict[tuple[Any, ...], dict[str | None, int]] = {}
    n_judged: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        rater = raters[row]
        if has_ids:
            key = _row_values(row, values, ("id", "system"))
            group = groups.setdefault(key, {})
            _check_rating(row, rater, group, values, path, place)
        else:
            texts = _row_values(row, values, ("system", "document", *TEXT_ROLES))
            n_judged[rater, texts] += 1
            # Without a name nobody knows whether two ratings are of two people.
            key = (texts, n_judged[rater, texts] if rater is not None else row)
            group = groups.setdefault(key, {})
        group[rater] = row
    order = {rater: number for number, rater in enumerate(dict.fromkeys(raters[row] for row in rows))}
    return [[group[rater] for rater in sorted(group, key=order.__getitem__)] for group in groups.values()]


def _row_values(row: int, values: Mapping[str, Sequence[Any]], roles: Sequence[str]) -> tuple[Any, ...]:
    return tuple(values[role][row] for role in roles if role in values)


def _check_rating(
    row: int,
    rater: str | None,
    group: Mapping[str | None, int],
    values: Mapping[str, Sequence[Any]],
    path: str,
    place: Callable[[int], str],
) -> None:
    """Raise DataError for a further row of an output by the same rater, or with other texts."""
    if not group:
        return
    name = escape_unprintable(
        ":".join(str(part) for part in _row_values(row, values, ("id", "system")) if part is not None)
    )[:60]
    if rater in group:
        person = f"the rater {escape_unprintable(rater)[:60]!r}" if rater else "a rater without a name"
        raise DataError(
            f"{path}, {place(row)}: {person} judged {name!r} in {place(group[rater])}, too; keep one row per rater, "
            "id and system, or name the columns of id and system."
        )
    first = next(iter(group.values()))
    for role in TEXT_ROLES:
        if role in values and values[role][row] != values[role][first]:
            role_name = role.replace("_", " ")
            raise DataError(
                f"{path}, {place(row)}: the {role_name} of {name!r} is not that in {place(first)}; correct it, or "
                "name the columns of ids and systems."
            )


def rating_matrix(ratings: Iterable[Iterable[float]]) -> Floats:
    """float64[outputs, most ratings]: the ratings of each output, NaN behind the last one."""
    by_rater = list(zip_longest(*ratings, fillvalue=np.nan))
    return np.ascontiguousarray(np.array(by_rater, dtype=np.float64).T)


def mean_ratings(matrix: Floats) -> Floats:
    """float64[outputs]: the mean of the ratings of each, NaN for none."""
    n_ratings = np.isfinite(matrix).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(matrix, axis=1) / n_ratings)
