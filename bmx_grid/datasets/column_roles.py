"""Which column of a table plays which role, and what to write where that is not clear."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.wording import named

# Role -> other names that such columns often have, compared as `_plainly` writes them.
_NAMES = Path(__file__).with_name("usual_columns.tsv").read_text(encoding="utf-8").splitlines()[1:]
COLUMN_ROLES = tuple(line.split("\t")[0] for line in _NAMES)
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
REQUIRED = ("hypothesis", "score")
# Roles that may have several columns: of scores and references the first is what metrics use.
MANY_COLUMNS = ("score", "reference", "hypothesis", "rater")
# Columns listed in a message.
MOST_LISTED = 30
# What Hydra reads as something else than a text, in any case.
NO_TEXTS = ("null", "true", "false", "nan", "inf")
# A value that may be typed as it is: it is no number and has no signs of a shell.
PLAIN = re.compile(r"[A-Za-z_][\w-]*|(?:[A-Za-z_.]|/(?=\w))[\w./-]*[A-Za-z]", re.ASCII)


def recognised(
    names: Sequence[str],
    chosen: Mapping[str, Sequence[str]],
    needed: Sequence[str],
    where: str,
    way_out: str,
    *,
    command: str = "",
) -> dict[str, tuple[str, ...]]:
    """role -> its columns, of the roles that have one: the chosen ones, else the one of the role's own or a usual name.

    names: the columns that are free; chosen: role -> columns that the user named; needed: roles without which nothing
    can be done; with a hypothesis that is also a source or a reference. way_out: what to write for a role (`{}`),
    behind `command`.
    Raises ConfigError for an unknown role or column, DataError for needed roles without a column, all in one sentence.
    """
    for role, columns in chosen.items():
        _check_role(role, columns, names, f"{where}: columns: ")
    roles = {role: tuple(columns) for role, columns in chosen.items()}
    for role, name in usual_columns(names, roles).items():
        roles[role] = (name,)
    missing = [role for role in needed if role not in roles]
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
    return {role: roles[role] for role in COLUMN_ROLES if role in roles}


def _check_role(role: str, columns: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise ConfigError for an unknown role, columns that are not among `names`, or another number than it may have."""
    if role not in COLUMN_ROLES:
        raise ConfigError(where + unknown("role", role, COLUMN_ROLES))
    has_many = role in MANY_COLUMNS
    are_repeated = len(set(columns)) < len(columns)
    if not columns or are_repeated or (len(columns) > 1 and not has_many):
        expected = "one or more, each once" if has_many else "one column"
        raise ConfigError(f"{where}{role} is [{', '.join(columns)}]; name {expected}.")
    for name in columns:
        if name not in names:
            message = unknown("column", name, names)
            parts = [part.strip(" \"'") for part in name.strip("[] ").split(",")]
            if has_many and len(parts) > 1 and set(parts) <= set(names):
                message = f"a list of columns is written {listed_columns(f'columns.{role}', parts)}"
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
            raise ConfigError(f"--columns: the {role} is given twice; name one column.")
        columns[role] = (*columns.get(role, ()), column)
    # A single column is a text, as in a configuration.
    return {role: names[0] if len(names) == 1 else names for role, names in columns.items()}


def usual_columns(names: Sequence[str], taken: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """role -> its column, of the roles not in `taken` that a column's own or usual name (in any case) stands for.

    A column plays one role. Of several usual names of a role, the one that stands first in the list is taken.
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


def override(key: str, value: str) -> str:
    """An override with a text as its value, as it is typed into a shell."""
    if PLAIN.fullmatch(value) and value.lower() not in NO_TEXTS:
        return f"{key}={value}"
    return in_shell(f"{key}={quoted(value)}")


def listed_columns(key: str, names: Sequence[str]) -> str:
    """An override with a list of columns as its value, as it is typed into a shell."""
    listed = ",".join(map(quoted, names))
    return in_shell(f"{key}=[{listed}]")


def in_shell(word: str) -> str:
    """A word as it is typed into a shell: signs that no terminal shows as their bytes, between $' and '."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = [_shell_sign(sign) for sign in word]
    return f"$'{''.join(escaped)}'"


def _shell_sign(sign: str) -> str:
    """A character between $' and ': bytes of what no terminal shows, and an escape where the shell needs one."""
    if sign in "\\'":
        return "\\" + sign
    if sign.isprintable():
        return sign
    return "".join(f"\\x{byte:02x}" for byte in sign.encode())


def quoted(text: str) -> str:
    """A text between quotation marks, as an override has it: Hydra removes backslashes only before such a mark."""
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', text)
    # The closing mark comes behind these.
    escaped = re.sub(r"(\\*)\Z", r"\1\1", escaped)
    return f'"{escaped}"'


def first_few(names: Sequence[str]) -> str:
    """Column names as a message lists them: the first ones, and how many more there are."""
    listed = []
    for name in names:
        start = name[:60]
        is_readable = name.strip() and name.isprintable()
        listed.append(start if is_readable else repr(start))
    return named(listed, MOST_LISTED)
