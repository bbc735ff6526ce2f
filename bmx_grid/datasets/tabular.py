"""The user's own segments, a TSV, CSV, JSONL, Parquet or Excel file with named columns; and the embedded sample."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.identity import IDENTITY, runtime
from bmx_grid.core.storage import expanded
from bmx_grid.core.wording import visible
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.column_roles import REQUIRED, roles_of_table
from bmx_grid.datasets.lines import Decimal
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.table_file import Reading, TableFile
from bmx_grid.datasets.table_rows import TableRows, table_rows
from bmx_grid.datasets.tables import open_table
from bmx_grid.words.perturbation import INVISIBLE

SAMPLE = Path(__file__).with_name("sample.tsv")
RoleColumns = Mapping[str, str | tuple[str, ...] | None]


@dataclass(frozen=True, kw_only=True)
class Tabular(DatasetReader):
    """path: the file, seen from where the command runs.

    columns: role -> name of its column. A role that is null uses the column of its own name, or else of a usual one
        (src, mt, DA, …), which a warning names; a name that is given must be there. Hypothesis, score, and source or
        reference are needed. Ids default to the row number; several systems may have the same id. Four roles may have
        lists of columns: score, the first being the primary human score; reference, which may be empty from the second
        on; hypothesis, the outputs of one system each, with as many columns of scores in the same order; and rater, the
        ratings of one person each, whose mean is the score unless that has a column.
    language_pairs: which pairs of the language_pair column to use, none meaning all; without such a
        column, the one pair that the whole file is of, NO_PAIR ("none") if nothing names it.

    decimal: the decimal sign of scores that are texts; a score that can be read with either sign is the same number.
    encoding: of a text file without a byte-order mark; null for UTF-8. skip_rows: lines above the header.

    Scores are finite numbers, higher is better, named as their column; empty, NA, NaN, None or null is an
    unrated segment, which is kept and counted. Systems, documents, domains and raters may be left empty; a text that is
    missing is an empty text; rows without any value are skipped and counted. Rows of one output that differ in the
    rater are its ratings, whose mean is the score.
    """

    VERSION: ClassVar[int] = 2  # ratings of one output in several rows, empty rows, columns of usual names

    path: str | None = runtime(None)
    columns: RoleColumns = field(default_factory=dict, metadata={"role": IDENTITY})
    decimal: Decimal = runtime(".")
    encoding: str | None = runtime(None)
    skip_rows: int = runtime(0, least=0)

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        """The pairs given, or else those of the file in order of appearance.

        Raises ConfigError when several are given and no column tells them apart.
        """
        rows = self._rows()
        return self.language_pairs or tuple(rows.by_pair)

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The rows of one language pair in file order."""
        rows = self._rows()
        pairs = self.language_pairs or tuple(rows.by_pair)
        if language_pair not in pairs:
            raise ConfigError(f"dataset.{self.name}: " + unknown("language pair", language_pair, pairs))
        return rows.segments(self.name, language_pair)

    def open(self) -> TableFile:
        """The file as it is, before roles are recognised. Raises ConfigError without a path, and as `open_table`."""
        key = f"dataset.{self.name}"
        if not self.path:
            raise ConfigError(
                f"{key}.path is not set: name your file, for example "
                f"python -m bmx_grid dataset=[{self.name}] {key}.path=my.tsv"
            )
        reading = Reading(self.encoding, self.skip_rows, f"{key}.{{}}=")
        return open_table(expanded(self.path), reading)

    def chosen_columns(self) -> dict[str, tuple[str, ...]]:
        """role -> its columns, of the roles that are not null."""
        chosen = {}
        for role, names in self.columns.items():
            if names is None:
                continue
            several = (names,) if isinstance(names, str) else names
            chosen[role] = tuple(name.strip(INVISIBLE) for name in several)
        return chosen

    def _rows(self) -> TableRows:
        """The file's rows, as `table_rows`, checked once for all language pairs."""
        key = f"dataset.{self.name}"
        table = self.open()
        # Tuples, as what is cached must be hashable.
        columns = tuple(self.chosen_columns().items())
        return _checked_rows(table, columns, tuple(self.language_pairs), key, self.decimal)


@dataclass(frozen=True, kw_only=True)
class Sample(DatasetReader):
    """The embedded sample, for trying the tool and for tests: 48 segments per pair, with source and reference.

    The human score, `score` (0 to 100), is the writer's of the texts.

    Sources, references and hypotheses were written for this project, and the scores are the writer's graded judgement,
    not a rating campaign: no conclusion about a metric can rest on them (SAMPLE.md). Licence: Apache-2.0.
    Nothing is downloaded and no data_dir is needed: `read` opens the file that lies in the package.
    """

    PAIRS: ClassVar[tuple[str, ...]] = ("de-en", "fr-en", "es-en", "en-de")

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of one pair in file order; `data_dir` is not looked at."""
        self.check_pair(language_pair)
        return Tabular(name=self.name, path=str(SAMPLE)).read(data_dir, language_pair)


# A table is one object until its file changes (`open_table`), and every language pair needs its rows.
@lru_cache(maxsize=1)
def _checked_rows(
    table: TableFile,
    columns: tuple[tuple[str, tuple[str, ...]], ...],
    pairs: tuple[str, ...],
    key: str,
    decimal: Decimal,
) -> TableRows:
    found = roles_of_table(table, dict(columns), REQUIRED, f"{key}.columns.{{}}=NAME")
    if found.guessed:
        listed = ", ".join(f"{role} {visible(names[0])}" for role, names in found.guessed.items())
        warnings.warn(
            f"{table.path}: columns recognised by their names: {listed}. Name others: {key}.columns.ROLE=COLUMN.",
            stacklevel=2,
        )
    return table_rows(table, found.roles, pairs, key, decimal)
