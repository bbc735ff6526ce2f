"""Several ratings of one output, a row each: which rows belong together, their matrix and their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import visible

TEXT_ROLES = ("source", "reference", "further_references", "hypothesis")


def group_ratings(
    rows: Sequence[int], values: Mapping[str, Sequence[Any]], path: str, place: Callable[[int], str]
) -> list[list[int]]:
    """The rows of each output, in order of appearance, by its raters' order of appearance.

    Args:
        rows: those of one language pair.
        values: role -> the value of each row; with `rater`. Outputs are known by id and system, or without ids by
            system, document and texts: a rater who judges the same texts again judges another output.
        path: the file, for messages.
        place: where a row stands in it.

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
            key = _at(row, values, ("id", "system"))
            group = groups.setdefault(key, {})
            _check_rating(row, rater, group, values, path, place)
        else:
            texts = _at(row, values, ("system", "document", *TEXT_ROLES))
            n_judged[rater, texts] += 1
            # Without a name nobody knows whether two ratings are of two people.
            key = (texts, n_judged[rater, texts] if rater is not None else row)
            group = groups.setdefault(key, {})
        group[rater] = row
    order = {rater: number for number, rater in enumerate(dict.fromkeys(raters[row] for row in rows))}
    return [[group[rater] for rater in sorted(group, key=order.__getitem__)] for group in groups.values()]


def _at(row: int, values: Mapping[str, Sequence[Any]], roles: Sequence[str]) -> tuple[Any, ...]:
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
    name = visible(":".join(str(part) for part in _at(row, values, ("id", "system")) if part is not None))[:60]
    if rater in group:
        person = f"the rater {visible(rater)[:60]!r}" if rater else "a rater without a name"
        raise DataError(
            f"{path}, {place(row)}: {person} judged {name!r} in {place(group[rater])}, too; keep one row per rater, "
            "id and system, or name the columns of these."
        )
    first = next(iter(group.values()))
    for role in TEXT_ROLES:
        if role in values and values[role][row] != values[role][first]:
            role_name = role.replace("_", " ")
            raise DataError(
                f"{path}, {place(row)}: the {role_name} of {name!r} is not that in {place(first)}; correct it, or "
                "name the columns of ids and systems."
            )


def ratings_by_output(groups: Sequence[Sequence[int]], values: Floats) -> Floats:
    """float64[outputs, most ratings]: the ratings of each output, NaN behind the last one."""
    lengths = np.array([len(group) for group in groups])
    rows = np.concatenate([np.asarray(group, dtype=np.intp) for group in groups])
    matrix = np.full((len(groups), lengths.max()), np.nan)
    is_rating = np.arange(lengths.max()) < lengths[:, None]
    matrix[is_rating] = values[rows]
    return matrix


def mean_ratings(matrix: Floats) -> Floats:
    """float64[outputs]: the mean of the ratings of each, NaN for none."""
    is_rated = np.isfinite(matrix)
    counts = is_rated.sum(axis=1)
    sums = np.where(is_rated, matrix, 0.0).sum(axis=1)
    means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means
