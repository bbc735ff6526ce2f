"""A user's table as `data show` reads it: what its columns are taken for, which are unused, and the command to run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bmx_grid.datasets.archives import GZIP, gunzip
from bmx_grid.datasets.columns import REQUIRED, ROLES, listed, override, quoted, setting, usual_columns
from bmx_grid.datasets.lines import read_bytes
from bmx_grid.datasets.tables import FORMATS, open_table
from bmx_grid.datasets.tabular import Tabular
from bmx_grid.errors import ConfigError, DataError, close_match
from bmx_grid.wording import counted, factor_in_words, visible

KEY = "dataset.tabular"
PARTS = ("id", "system", "language_pair")  # what a segment is known by
SEPARATORS = (",", ";", "|")
HEAD_BYTES = 1_000_000  # of a compressed file, to see which separator it has


@dataclass(frozen=True)
class OwnTable:
    """reader: reads the table. roles: role -> its columns; unused: the other columns. rows: how many there are.

    repeated: the column of a usual name for ids that does not tell segments apart, so that it is not taken.
    """

    reader: Tabular
    roles: Mapping[str, tuple[str, ...]]
    unused: Sequence[str]
    rows: int
    repeated: str | None

    def lines(self) -> list[str]:
        """What the columns are taken for."""
        name = visible(str(self.reader.path))
        found = [f"{name}: {counted(self.rows, 'row')}"]
        if self.reader.separator is not None:
            found.append(f"  {'separator':<14} {self.reader.separator}")
        for role in ROLES:
            if role in self.roles:
                found.append(f"  {factor_in_words(role):<14} {visible(', '.join(self.roles[role]))}")
        if "language_pair" not in self.roles:
            pairs = ", ".join(self.reader.language_pairs)
            found.append(f"  {'language pair':<14} {pairs or 'none (name it with language_pair=de-en)'}")
        if self.repeated is not None:
            found.append(f"  {'id':<14} the number of the row: {visible(self.repeated)} repeats within a pair")
        found.append(f"  {'unused':<14} {visible(listed(self.unused)) if self.unused else 'no column'}")
        return found

    def command(self) -> str:
        """The command that runs a sweep on this table, in lines to be copied into a shell."""
        words = [f"'dataset=[{KEY.removeprefix('dataset.')}]'", override(f"{KEY}.path", str(self.reader.path))]
        if self.reader.separator is not None:
            words.append(override(f"{KEY}.separator", self.reader.separator))
        single = {role: names[0] for role, names in self.roles.items() if len(names) == 1 and names != (role,)}
        words += [setting(KEY, role, name) for role, name in single.items()]
        if "language_pair" not in self.roles and self.reader.language_pairs:
            words.append(shlex.quote(f"{KEY}.language_pairs=[{','.join(self.reader.language_pairs)}]"))
        several = {role: ",".join(map(quoted, names)) for role, names in self.roles.items() if len(names) > 1}
        words += [shlex.quote(f"{KEY}.columns.{role}=[{names}]") for role, names in several.items()]
        metrics = "chrf,sentence_bleu" if "reference" in self.roles else "xlmr_sbert"
        words += [f"'metric=[{metrics}]'", "'explainer=[erasure,lime]'", "name=mine"]
        unread = (
            "" if "reference" in self.roles else f"\n(without references metrics need a model: {metrics} is fetched)"
        )
        return " \\\n    ".join(["bmx-grid run", *words]) + unread


def own_table(reader: Tabular) -> OwnTable:
    """What is recognised in the table of a reader, beside the columns that it was given.

    Raises DataError for every role that is missing, in one sentence, and as `open_table`.
    """
    reader = _with_separator(reader)
    path = Path(str(reader.path)).expanduser()
    if not path.is_file():
        reader.pairs(path.parent)  # says what is wrong with the path
    table = open_table(path, reader.max_bytes, reader.separator, KEY)
    names, rows = list(table.names), len(table)
    given = {role: (own,) if isinstance(own, str) else tuple(own) for role, own in reader.columns.items() if own}
    for role, own in given.items():
        for name in own:
            if name not in names:
                raise DataError(
                    f"{path}: no column '{name}' for the {role}{close_match(name, names)}. The file has the columns "
                    f"{listed(names)}."
                )
    found = given | {
        role: (name,) for role, name in usual_columns([one for one in names if one.isprintable()], given).items()
    }
    missing = [role for role in REQUIRED if role not in found]
    missing += [] if {"source", "reference"} & found.keys() else ["source (or reference)"]
    if missing:
        told = " ".join(f"columns.{one.split()[0]}=NAME" for one in missing)
        raise DataError(
            f"{path}: no column is recognised for the {', the '.join(missing)}. The file has the columns "
            f"{listed(names)}. Name them: bmx-grid data show {shlex.quote(str(reader.path))} {told}"
        )
    repeated = None
    if "id" in found and "id" not in given and found["id"] != ("id",):
        parts = {part: found[part][0] for part in PARTS if part in found}
        values = table.take(parts.values())
        known = list(zip(*(values[name] for name in parts.values()), strict=True))
        if len(set(known)) < len(known):
            repeated = found.pop("id")[0]
    columns = {role: own if len(own) > 1 else own[0] for role, own in found.items()}
    unused = [name for name in dict.fromkeys(names) if not any(name in own for own in found.values())]
    of_all = replace(reader, columns=columns)
    return OwnTable(of_all, {role: found[role] for role in ROLES if role in found}, unused, rows, repeated)


def is_table(name: str) -> bool:
    """Whether the name of a data set is the path of a table, or of a file that the user takes for one."""
    return name.lower().removesuffix(".gz").endswith(FORMATS) or Path(name).is_file()


def _with_separator(reader: Tabular) -> Tabular:
    """The reader, with the separator of a CSV file whose first line has more of another sign than commas."""
    if not reader.path:
        raise ConfigError(f"{KEY}.path is not set: name your file: bmx-grid data show my.tsv")
    path = Path(reader.path).expanduser()
    if reader.separator is not None or not path.name.lower().removesuffix(".gz").endswith(".csv") or not path.is_file():
        return reader
    raw = read_bytes(path)
    if raw.startswith(GZIP):
        raw = gunzip(raw, str(path), reader.max_bytes, f"set {KEY}.max_bytes to more.")
    head = raw[:HEAD_BYTES].partition(b"\n")[0]
    found = max(SEPARATORS, key=lambda sign: head.count(sign.encode()))  # of as many, the first
    return replace(reader, separator=found) if found != "," else reader
