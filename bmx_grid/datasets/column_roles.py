"""The roles of a table's columns: one recognition for files, frames and previews."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import ConfigError, DataError, quote_value, text_of, unknown
from bmx_grid.core.wording import columns_override, join_names
from bmx_grid.datasets.table_file import TableFile, is_gap

Roles = Mapping[str, tuple[str, ...]]
# The roles that identify an output.
OUTPUT_KEY = ("id", "system", "language_pair")
# Role -> other names that such columns often have, compared as `_plainly` writes them.
_NAMES = Path(__file__).with_name("usual_columns.tsv").read_text(encoding="utf-8").splitlines()[1:]
COLUMN_ROLES = tuple(line.split("\t")[0] for line in _NAMES)
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
REQUIRED = ("hypothesis", "score")
# Roles that may have several columns: of scores and references the first is what metrics use.
MANY_COLUMNS = ("score", "reference", "hypothesis", "rater")
# Columns listed in a message.
MOST_LISTED = 30


def _check_role(role: str, columns: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise ConfigError for an unknown role, columns that are not among `names`, or another number than it may have."""
    if role not in COLUMN_ROLES:
        raise ConfigError(where + unknown("role", role, COLUMN_ROLES))
    has_many = role in MANY_COLUMNS
    are_repeated = len(set(columns)) < len(columns)
    if not columns or are_repeated or (len(columns) > 1 and not has_many):
        expected = "one or more, without repeats" if has_many else "one column"
        raise ConfigError(f"{where}{role} is [{', '.join(columns)}]; name {expected}.")
    for name in columns:
        if name not in names:
            message = unknown("column", name, names)
            parts = [part.strip(" \"'") for part in name.strip("[] ").split(",")]
            if has_many and len(parts) > 1 and set(parts) <= set(names):
                message = f"a list of columns is written {columns_override(f'columns.{role}', parts)}"
            raise ConfigError(f"{where}{role}: {message}")


def named_roles(arguments: Sequence[str]) -> dict[str, str | tuple[str, ...]]:
    """role -> column, from arguments ROLE=COLUMN; several columns of a role that is given again. Raises ConfigError."""
    columns: dict[str, tuple[str, ...]] = {}
    for argument in arguments:
        role, _, column = argument.partition("=")
        if not column:
            roles = ", ".join(COLUMN_ROLES)
            raise ConfigError(f"--columns {argument}: write ROLE=COLUMN, with one of {roles}.")
        if role in columns and role not in MANY_COLUMNS:
            raise ConfigError(f"--columns: {role} is set twice; choose one column.")
        columns[role] = (*columns.get(role, ()), column)
    # A single column is a text, as in a configuration.
    return {role: names[0] if len(names) == 1 else names for role, names in columns.items()}


def usual_columns(names: Sequence[str], taken: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """role -> its column, of the roles not in `taken` that a column's own or usual name (in any case) matches.

    A column plays one role. Of several usual names of a role, the first in the list is taken.
    """
    used = set(chain.from_iterable(taken.values()))
    chosen: dict[str, str] = {}
    # Twice, as a column that is named as a role is of that role, not of one that it is a usual name of.
    for exact in (True, False):
        for role in COLUMN_ROLES:
            if role in taken or role in chosen:
                continue
            wanted = [_plainly(role)] if exact else USUAL[role]
            candidates = [name for name in names if name not in used and _plainly(name) in wanted]
            if candidates:
                name = min(candidates, key=lambda name: wanted.index(_plainly(name)))
                chosen[role] = name
                used.add(name)
    return chosen


def _plainly(name: str) -> str:
    """A column's name in small letters and digits only, umlauts in two letters: Satz-ID, satz_id and SatzID are one."""
    # NFKC first: it also joins an umlaut that is written as a letter and two dots.
    lower = unicodedata.normalize("NFKC", name).lower()
    return re.sub(r"[\W_]+", "", lower.translate(UMLAUTS))


USUAL: dict[str, list[str]] = {}
for _line in _NAMES:
    _role, _names = _line.split("\t")
    USUAL[_role] = [_plainly(_name) for _name in _names.split()]


def first_few(names: Sequence[str]) -> str:
    """Column names as a message lists them: the first ones, and how many more there are."""
    listed = []
    for name in names:
        start = name[:60]
        is_readable = name.strip() and name.isprintable()
        listed.append(start if is_readable else repr(start))
    return join_names(listed, MOST_LISTED)


@dataclass(frozen=True)
class TableRoles:
    """roles: role -> its columns. guessed: those found by a usual name only. notes: role -> why it has no column."""

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
        needed: roles that must have a column; with a hypothesis also a source or a reference.
        way_out: text to type for a role (`{}`), after `command`.
        command: the command to repeat with the way out.
        taken: columns that play another part.

    Raises:
        ConfigError: a role or column is unknown, or roles contradict each other.
        DataError: needed roles have no column; one sentence names them all.
    """
    where = str(table.path)
    names = [name for name in dict.fromkeys(table.names) if name not in taken]
    for role, columns in chosen.items():
        _check_role(role, columns, names, f"{where}: columns: ")
    roles = {role: tuple(columns) for role, columns in chosen.items()}
    for role, name in usual_columns(names, roles).items():
        roles[role] = (name,)
    missing = [role for role in needed if role not in roles]
    if has_rating_columns(chosen) and "score" in missing:
        # It is the mean of the ratings.
        missing.remove("score")
    if "hypothesis" in needed and "source" not in roles and "reference" not in roles:
        missing.append("source or reference")
    if missing:
        # Of "source or reference" either will do.
        typed = [way_out.format(role.split()[0]) for role in missing]
        if command:
            typed.insert(0, command)
        lacking = ", ".join(missing)
        raise DataError(
            f"{where} has no column for {lacking} among {first_few(names) or 'none'}. Name them: {' '.join(typed)}"
        )
    # In the order of COLUMN_ROLES, whatever the order of the chosen ones was.
    roles = {role: roles[role] for role in COLUMN_ROLES if role in roles}
    guessed = {role: columns for role, columns in roles.items() if role not in chosen and columns != (role,)}
    notes = {}
    # A column that is only called like an id may number something else.
    if "id" in guessed:
        (column,) = guessed["id"]
        fault = _fault_of_ids(table, roles)
        if fault:
            notes["id"] = f"the number of the row, as {column} {fault}"
            del roles["id"], guessed["id"]
    if len(roles.get("hypothesis", ())) > 1:
        _check_systems(table, roles, chosen)
        roles.pop("system", None)
        guessed.pop("system", None)
    return TableRoles(roles, guessed, notes)


def _check_systems(table: TableFile, roles: Roles, chosen: Mapping[str, Sequence[str]]) -> None:
    """Raise ConfigError if several columns of hypotheses contradict other roles."""
    hypotheses = roles["hypothesis"]
    listed = ", ".join(hypotheses)
    if "system" in chosen:
        raise ConfigError(
            f"{table.path}: columns: the hypotheses [{listed}] name the systems, and so does system; choose one."
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
    first_row: dict[tuple[str, ...], int] = {}
    rated: dict[tuple[str, ...], int] = {}
    for row in range(len(table)):
        if all(is_gap(values[row]) for values in used):
            continue
        if is_gap(ids[row]) or not text_of(ids[row]).strip():
            return f"is empty in {table.place(row)}"
        key = _texts_at(row, columns, key_columns)
        rating = (*key, *_texts_at(row, columns, rater_columns))
        first = rated.setdefault(rating, row)
        if first == row:
            # Several raters judge one output: its texts are the same in each row.
            other = first_row.setdefault(key, row)
            if _texts_at(other, columns, text_columns) != _texts_at(row, columns, text_columns):
                first = other
        if first != row:
            places = f"{table.place(first)} and {table.place(row)}"
            return f"repeats within a pair, {quote_value(text_of(ids[row]))} in {places}"
    return ""


def _texts_at(row: int, columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> tuple[str, ...]:
    # As texts, as JSON may hold lists, which no set can.
    return tuple(text_of(columns[name][row]) for name in names)
