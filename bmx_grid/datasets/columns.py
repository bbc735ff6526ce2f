"""Which column of a user's table plays which role, and what to write where that is not clear."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.wording import named, visible
from bmx_grid.words.text import INVISIBLE

# Role -> other names that such columns often have, in small letters, with _ in place of blanks, dots and dashes.
# Sweeps take none of them by itself: they are proposed, so that a configuration says what was read.
# usual_columns.tsv holds them.
USUAL: dict[str, list[str]] = {
    role: names.split()
    for role, names in (
        line.split("\t")
        for line in Path(__file__).with_name("usual_columns.tsv").read_text(encoding="utf-8").splitlines()[1:]
    )
}
ROLES = tuple(USUAL)
REQUIRED = ("hypothesis", "score")
SEVERAL = ("score", "reference")  # roles that may have several columns: the first is what metrics use
SHOWN = 30  # columns listed in a message
PLAIN = re.compile(
    r"[A-Za-z_][\w-]*|(?:[A-Za-z_.]|/(?=\w))[\w./-]*[A-Za-z]", re.ASCII
)  # no number, no signs of a shell


def recognised(
    names: Sequence[str],
    given: Mapping[str, Sequence[str]],
    needed: Sequence[str],
    where: str,
    way_out: str,
    *,
    proposes: bool = False,
) -> dict[str, tuple[str, ...]]:
    """role -> its columns, of the roles that have one: the given ones, else the one of the role's own or a usual name.

    names: the columns that are free; needed: roles without which nothing can be done; with a hypothesis that is also a
    source or a reference. way_out: what to write, for a role and a column (two `{}`). proposes: whether columns of a
    usual name are not taken, only named in the message. Raises ConfigError for an unknown role or column, DataError for
    needed roles without a column, all in one sentence.
    """
    for role, columns in given.items():
        if role not in ROLES:
            raise ConfigError(f"{where}: columns: {unknown('role', role, ROLES)}")
        if len(columns) != 1 and role not in SEVERAL:
            raise ConfigError(f"{where}: columns: only {' and '.join(SEVERAL)} may have several columns, not {role}.")
        if not columns or len(set(columns)) < len(columns):
            raise ConfigError(f"{where}: columns: {role} is [{', '.join(columns)}]; name one or more, each once.")
        for name in columns:
            if name not in names:
                raise ConfigError(f"{where}: columns: {role}: {unknown('column', name, names)}")
    roles = {role: tuple(columns) for role, columns in given.items()}
    usual = usual_columns([name for name in names if name.isprintable()], roles)
    if proposes:
        roles = {role: (role,) for role in ROLES if role in names} | roles
        usual = {role: name for role, name in usual.items() if role not in roles}
    else:
        roles |= {role: (name,) for role, name in usual.items()}
    missing = [role for role in needed if role not in roles]
    if "hypothesis" in needed and not {"source", "reference"} & roles.keys():
        missing.append("source or reference")
    if missing:
        advice = {role: name for role, name in usual.items() if role not in roles}
        advice |= {role.split()[0]: "NAME" for role in missing if not set(role.split()) & advice.keys()}
        raise DataError(
            f"{where} has no column for {', '.join(missing)} among {listed(names) or 'none'}. Name them: "
            + " ".join(way_out.format(role, name) for role, name in advice.items())
        )
    return {role: roles[role] for role in ROLES if role in roles}


def named_roles(arguments: Sequence[str]) -> dict[str, str]:
    """role -> column, from arguments ROLE=COLUMN. Raises ConfigError."""
    columns: dict[str, str] = {}
    for argument in arguments:
        role, _, column = argument.partition("=")
        if not column:
            raise ConfigError(f"--columns {argument}: write ROLE=COLUMN, with one of {', '.join(ROLES)}.")
        if role in columns:
            raise ConfigError(f"--columns: the {role} is given twice; name one column.")
        columns[role] = column
    return columns


def usual_columns(names: Sequence[str], found: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """role -> its column, of the roles not in `found` that a column's own or usual name (in any case) stands for.

    A column plays one role. Of several usual names of a role, the one that stands first in USUAL is taken.
    """
    taken = {name for own in found.values() for name in own}
    chosen: dict[str, str] = {}
    for exact in (True, False):  # a column that is named as a role is of that role
        for role in ROLES:
            wanted = (role,) if exact else USUAL[role]
            usual = [name for name in names if name not in taken and _plainly(name) in wanted]
            if role not in found and role not in chosen and usual:
                chosen[role] = min(usual, key=lambda name: wanted.index(_plainly(name)))
                taken.add(chosen[role])
    return chosen


def _plainly(name: str) -> str:
    """A column's name as USUAL writes it."""
    return re.sub(r"[\s.-]+", "_", unicodedata.normalize("NFKC", name.strip(INVISIBLE)).lower())


def setting(reader: str, role: str, column: str) -> str:
    """The override that gives a column a role, as it is typed into a shell."""
    return override(f"{reader}.columns.{role}", column)


def override(key: str, value: str) -> str:
    """An override with a text as its value, as it is typed into a shell."""
    if PLAIN.fullmatch(value):
        return f"{key}={value}"
    return shlex.quote(visible(f"{key}={quoted(value)}"))


def quoted(text: str, mark: str = '"') -> str:
    """A text between quotation marks, as an override has it: Hydra removes backslashes only before such a mark."""
    inner = re.sub(rf"(\\*)({mark}|\Z)", lambda at: at[1] * 2 + ("\\" + mark if at[2] else ""), text)
    return f"{mark}{inner}{mark}"


def listed(names: Sequence[str]) -> str:
    """Column names as a message lists them: the first ones, and how many more there are."""
    return named([name[:60] if name.strip() and name.isprintable() else repr(name[:60]) for name in names], SHOWN)
