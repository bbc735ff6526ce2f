"""Which columns of a table play which roles: one recognition for files, frames and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bmx_grid.core.errors import ConfigError, text_of
from bmx_grid.datasets.column_roles import recognised
from bmx_grid.datasets.table_file import TableFile
from bmx_grid.datasets.table_values import is_gap

Roles = Mapping[str, tuple[str, ...]]
# What an output is known by.
OUTPUT_KEY = ("id", "system", "language_pair")


@dataclass(frozen=True)
class TableRoles:
    """roles: role -> its columns. guessed: those that only a usual name tells. notes: role -> why it has no column."""

    roles: Roles
    guessed: Roles = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def has_rating_columns(roles: Mapping[str, Sequence[str]]) -> bool:
    """Whether each rater has a column of ratings, and not each row a rater."""
    return len(roles.get("rater", ())) > 1


def roles_of_table(
    table: TableFile,
    chosen: Mapping[str, Sequence[str]],
    needed: Sequence[str],
    way_out: str,
    *,
    command: str = "",
    taken: Sequence[str] = (),
) -> TableRoles:
    """The roles of a table's columns: chosen ones, else those of a role's own or a usual name.

    Args:
        table: an opened table.
        chosen: role -> columns that the user named.
        needed: roles without which nothing can be done.
        way_out: what to write, for a role (`{}`); behind `command`.
        command: what is typed again with the way out.
        taken: columns that play another part.

    Raises:
        ConfigError: a role or column is unknown, or roles contradict each other.
        DataError: needed roles have no column.
    """
    if has_rating_columns(chosen):
        # The score is the mean of these, unless it has a column.
        needed = [role for role in needed if role != "score"]
    names = [name for name in dict.fromkeys(table.names) if name not in taken]
    roles = recognised(names, chosen, needed, str(table.path), way_out, command=command)
    guessed = {role: columns for role, columns in roles.items() if role not in chosen and columns != (role,)}
    notes = {}
    # A column that is only called like an id may number something else.
    if "id" in guessed:
        (column,) = guessed["id"]
        fault = _fault_of_ids(table, roles)
        if fault:
            notes["id"] = f"the number of the row: {column} {fault}"
            del roles["id"], guessed["id"]
    if len(roles.get("hypothesis", ())) > 1:
        _check_systems(table, roles, chosen)
        for role in ("system",):
            roles.pop(role, None)
            guessed.pop(role, None)
    return TableRoles(roles, guessed, notes)


def _check_systems(table: TableFile, roles: Roles, chosen: Mapping[str, Sequence[str]]) -> None:
    """Raise ConfigError where several columns of hypotheses contradict other roles."""
    hypotheses = roles["hypothesis"]
    listed = ", ".join(hypotheses)
    if "system" in chosen:
        raise ConfigError(
            f"{table.path}: columns: the hypotheses [{listed}] name the systems, and so does system; name one of them."
        )
    if has_rating_columns(roles):
        raise ConfigError(
            f"{table.path}: columns: both hypothesis and rater have several columns; write one row per output."
        )
    scores = roles["score"]
    if len(scores) != len(hypotheses):
        raise ConfigError(
            f"{table.path}: columns: hypothesis has {len(hypotheses)} columns ({listed}) and score {len(scores)} "
            f"({', '.join(scores)}); name one column of scores per hypothesis in the same order, or write one row per "
            f"output: pandas.melt(frame, value_vars={list(hypotheses)}, id_vars=[…], var_name='system', "
            "value_name='hypothesis')"
        )


def _fault_of_ids(table: TableFile, roles: Roles) -> str:
    """Why a column cannot be that of ids: it has gaps, or names two outputs alike; "" for ids."""
    key_columns = [roles[role][0] for role in OUTPUT_KEY if role in roles]
    keys = table.take(key_columns)
    different = set(zip(*(map(text_of, values) for values in keys.values()), strict=True))
    ids = keys[roles["id"][0]]
    has_gaps = any(is_gap(name) or not text_of(name).strip() for name in ids)
    if len(different) == len(table) and not has_gaps:
        return ""
    text_columns = [roles[role][0] for role in ("source", "reference", "hypothesis") if role in roles]
    has_raters = "rater" in roles and not has_rating_columns(roles)
    rater_columns = [roles["rater"][0]] if has_raters else []
    columns = table.take(dict.fromkeys([*key_columns, *text_columns, *rater_columns]))
    used = list(columns.values())
    texts_of: dict[tuple[str, ...], tuple[str, ...]] = {}
    rated = set()
    for row in range(len(table)):
        if all(is_gap(values[row]) for values in used):
            continue
        if is_gap(ids[row]) or not text_of(ids[row]).strip():
            return "is empty in a row"
        key = _texts_at(row, columns, key_columns)
        rating = (*key, *_texts_at(row, columns, rater_columns))
        texts = _texts_at(row, columns, text_columns)
        # Several raters judge one output: its texts are the same in each row.
        is_same = has_raters and texts_of.get(key) == texts
        if rating in rated or (key in texts_of and not is_same):
            return "repeats within a pair"
        rated.add(rating)
        texts_of[key] = texts
    return ""


def _texts_at(row: int, columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> tuple[str, ...]:
    # As texts, as JSON may hold lists, which no set can.
    return tuple(text_of(columns[name][row]) for name in names)
