"""A user's table as `data show` reads it: what its columns are taken for, which are unused, and the command to run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.wording import counted, factor_in_words, visible
from bmx_grid.datasets.columns import REQUIRED, listed, override, quoted, recognised
from bmx_grid.datasets.tables import FORMATS, Table, open_table
from bmx_grid.datasets.tabular import Tabular

KEY = "dataset.tabular"
SEGMENT = ("id", "system", "language_pair")  # what a segment is known by
Roles = Mapping[str, tuple[str, ...]]


def is_table(name: str) -> bool:
    """Whether the name of a data set is the path of a table, or of a file that the user takes for one."""
    return name.lower().removesuffix(".gz").endswith(FORMATS) or Path(name).is_file()


def own_table(reader: Tabular) -> tuple[Tabular, list[str], str]:
    """The reader with the columns that are recognised, lines that say what they are, and the command that runs it.

    Raises DataError for roles that are missing, in one sentence, and as `open_table`.
    """
    if not reader.path:
        raise ConfigError(f"{KEY}.path is not set: name your file: bmx-grid data show my.tsv")
    path = Path(reader.path).expanduser()
    table = open_table(path)
    given = {role: (names,) if isinstance(names, str) else names for role, names in reader.columns.items() if names}
    way_out = f"bmx-grid data show {shlex.quote(reader.path)} --columns {{}}=NAME"
    roles = recognised(table.names, given, REQUIRED, str(path), way_out)
    repeated = None if "id" in given else _repeated_id(table, roles)
    if repeated is not None:
        del roles["id"]
    columns = {role: names if len(names) > 1 else names[0] for role, names in roles.items()}
    whole = replace(reader, columns=columns)
    return whole, _recognition(table, roles, reader.language_pairs, repeated), _command(whole, roles)


def _repeated_id(table: Table, roles: Roles) -> str | None:
    """The column of a usual name for ids that does not tell segments apart, so that it is not taken."""
    if roles.get("id", ("id",)) == ("id",):
        return None
    values = table.take([roles[role][0] for role in SEGMENT if role in roles])
    known = list(zip(*values.values(), strict=True))
    return roles["id"][0] if len(set(known)) < len(known) else None


def _recognition(table: Table, roles: Roles, pairs: tuple[str, ...], repeated: str | None) -> list[str]:
    lines = {factor_in_words(role): visible(", ".join(names)) for role, names in roles.items()}
    if "language_pair" not in roles:
        lines["language pair"] = ", ".join(pairs) or "none (name it with language_pair=de-en)"
    if repeated is not None:
        lines["id"] = f"the number of the row: {visible(repeated)} repeats within a pair"
    used = {name for names in roles.values() for name in names}
    unused = [name for name in dict.fromkeys(table.names) if name not in used]
    lines["unused"] = visible(listed(unused)) or "no column"
    head = f"{visible(str(table.path))}: {counted(len(table), 'row')}"
    return [head, *(f"  {name:<14} {text}" for name, text in lines.items())]


def _command(reader: Tabular, roles: Roles) -> str:
    """The command that runs a sweep on this table, in lines to be copied into a shell."""
    words = [f"'dataset=[{KEY.removeprefix('dataset.')}]'", override(f"{KEY}.path", str(reader.path))]
    for role, names in roles.items():
        if len(names) > 1:
            words.append(shlex.quote(f"{KEY}.columns.{role}=[{','.join(map(quoted, names))}]"))
        elif names != (role,):
            words.append(override(f"{KEY}.columns.{role}", names[0]))
    if "language_pair" not in roles and reader.language_pairs:
        words.append(shlex.quote(f"{KEY}.language_pairs=[{','.join(reader.language_pairs)}]"))
    metrics = "chrf,sentence_bleu" if "reference" in roles else "xlmr_sbert"
    words += [f"'metric=[{metrics}]'", "'explainer=[erasure,lime]'", "name=mine"]
    unread = "" if "reference" in roles else f"\n(without references metrics need a model: {metrics} is fetched)"
    return " \\\n    ".join(["bmx-grid run", *words]) + unread
