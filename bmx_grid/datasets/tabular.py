"""The user's own segments: a TSV, CSV, JSONL or Parquet file with named columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.tables import Table, read_table
from bmx_grid.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.identity import IDENTITY, runtime
from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet

ROLES = ("source", "reference", "hypothesis", "score", "language_pair", "id", "system", "document")
REQUIRED = ("hypothesis", "score")
UNRATED = {"", "na", "n/a", "nan", "none", "null"}


@dataclass(frozen=True, kw_only=True)
class Tabular(DatasetReader):
    """path: the file, seen from where the command runs.

    columns: role -> name of its column. A role that is null uses the column of its own name, if the
        file has one; a name that is given must be there. Hypothesis, score, and source or reference
        are needed. Ids default to the row number.
    language_pairs: which pairs of the language_pair column to use, none meaning all; without such a
        column, the one pair that the whole file is of.

    Scores are finite numbers, higher is better; empty, NA, NaN, None or null is a segment that
    nobody rated, which is kept and counted.
    """

    path: str | None = runtime(None)
    columns: Mapping[str, str | None] = field(default_factory=dict, metadata={"role": IDENTITY})

    def __post_init__(self) -> None:
        super().__post_init__()
        for role in self.columns:
            if role not in ROLES:
                raise ConfigError(f"dataset.{self.name}.columns: " + unknown("role", role, ROLES))
        object.__setattr__(self, "columns", dict(self.columns))

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        """The pairs given, or else those of the file in order of appearance.

        Raises ConfigError when the file does not say its pair and none, or several, are given.
        """
        path, table = self._table()
        column = self._column(table, "language_pair", path)
        if column is None:
            if len(self.language_pairs) != 1:
                raise ConfigError(
                    f"{path} has no language_pair column: say which pair the file is of "
                    f"(dataset.{self.name}.language_pairs=[de-en]), or which column names it "
                    f"(dataset.{self.name}.columns.language_pair=NAME)."
                )
            return self.language_pairs
        found = tuple(dict.fromkeys(_texts(table, column, path)))
        for pair in self.language_pairs:
            if pair not in found:
                raise ConfigError(f"{path}: " + unknown("language pair", pair, found))
        return self.language_pairs or found

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The rows of one language pair in file order."""
        pairs = self.pairs(data_dir)
        if language_pair not in pairs:
            raise ConfigError(f"dataset.{self.name}: " + unknown("language pair", language_pair, pairs))
        path, table = self._table()
        values = self._values(table, path)
        kept = list(range(len(table.rows)))
        if "language_pair" in values:
            kept = [index for index in kept if values["language_pair"][index] == language_pair]
        if "id" not in values:
            values["id"] = [str(number) for number in range(1, len(table.rows) + 1)]
        _refuse_repeated(values["id"], kept, table, path)
        segments = tuple(
            Segment(
                id=values["id"][index],
                source=values["source"][index] if "source" in values else None,
                reference=values["reference"][index] if "reference" in values else None,
                hypothesis=values["hypothesis"][index],
                system=values["system"][index] if "system" in values else None,
                document=values["document"][index] if "document" in values else None,
            )
            for index in kept
        )
        name = str(self._column(table, "score", path))
        human = [_score(table.columns[name][index], f"{path}, {table.rows[index]}", name) for index in kept]
        judgements = Judgements({name: np.array(human, dtype=np.float64)})
        return SegmentSet(self.name, language_pair, segments, judgements, str(path))

    def _table(self) -> tuple[Path, Table]:
        if not self.path:
            raise ConfigError(
                f"dataset.{self.name}.path is not set: name your file, for example "
                f"python -m bmx_grid dataset=[{self.name}] dataset.{self.name}.path=my.tsv"
            )
        path = Path(self.path).expanduser()
        if not path.is_file():
            raise DataMissingError(f"dataset.{self.name}.path: there is no file {path} (looked in {Path.cwd()}).")
        return path, read_table(path)

    def _column(self, table: Table, role: str, path: Path) -> str | None:
        """The column that plays a role; None when the file has none for it."""
        given = self.columns.get(role)
        name = role if given is None else given
        if name in table.columns:
            return name
        if given is not None or role in REQUIRED:
            raise DataError(
                f"{path}: {unknown('column', name, table.columns)} "
                f"Name the {role} column with dataset.{self.name}.columns.{role}=NAME."
            )
        return None

    def _values(self, table: Table, path: Path) -> dict[str, list[str]]:
        """role -> texts, for every role but the score that the file has a column for."""
        found = {role: self._column(table, role, path) for role in ROLES}
        values = {role: _texts(table, name, path) for role, name in found.items() if name and role != "score"}
        if "source" not in values and "reference" not in values:
            raise DataError(
                f"{path}: neither a source nor a reference column among {', '.join(table.columns)}; name one with "
                f"dataset.{self.name}.columns.source=NAME or dataset.{self.name}.columns.reference=NAME."
            )
        return values


def _texts(table: Table, name: str, path: Path) -> list[str]:
    """The texts of a column; whole numbers (ids, say) as they are written."""
    texts = []
    for place, value in zip(table.rows, table.columns[name], strict=True):
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise DataError(f"{path}, {place}: the column '{name}' holds {value!r}; write a text (it may be empty).")
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise DataError(
                f"{path}, {place}: the column '{name}' holds half of a character (a lone surrogate) in "
                f"{value[:60]!r}; write the whole character, or take it out."
            )
        texts.append(value)
    return texts


def _score(value: Any, where: str, name: str) -> float:
    """A human score as a number; NaN for a segment that nobody rated."""
    if value is None or (isinstance(value, str) and value.strip().lower() in UNRATED):
        return math.nan
    try:
        # float() would take "1_000" and True for numbers.
        number = math.inf if isinstance(value, bool) or "_" in str(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        raise DataError(
            f"{where}: the score {str(value)[:60]!r} in column '{name}' is not a finite number; "
            "write a number like -0.25, or leave it empty for a segment that nobody rated."
        )
    return number


def _refuse_repeated(ids: list[str], kept: list[int], table: Table, path: Path) -> None:
    seen: dict[str, str] = {}
    for index in kept:
        if ids[index] in seen:
            raise DataError(
                f"{path}, {table.rows[index]}: the id '{ids[index]}' was already used in {seen[ids[index]]}; "
                "give every segment of a language pair an id of its own, or leave the column out."
            )
        seen[ids[index]] = table.rows[index]
