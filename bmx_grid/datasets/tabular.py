"""The user's own segments, a TSV, CSV, JSONL, Parquet or Excel file with named columns; and the embedded sample.

A row of a table is an output, a rating of one, or a source with the outputs of several systems.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.identity import IDENTITY, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import check_name, expand_home
from bmx_grid.core.wording import escape_unprintable, pluralize
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.column_roles import REQUIRED, Roles, has_rating_columns, roles_of_table
from bmx_grid.datasets.lines import Decimal, parse_numbers
from bmx_grid.datasets.long_ratings import mean_ratings, outputs_with_ratings, rating_matrix
from bmx_grid.datasets.segments import NO_PAIR, Judgements, Segment, SegmentSet
from bmx_grid.datasets.table_file import Reading, TableFile, is_gap, read_names, read_texts, warn_of_quotes
from bmx_grid.datasets.tables import open_table
from bmx_grid.words.perturbation import INVISIBLE

SAMPLE = Path(__file__).with_name("sample.tsv")
RoleColumns = Mapping[str, str | tuple[str, ...] | None]

UNRATED = "leave it empty for an unrated segment"
NAME_ROLES = ("language_pair", "id", "system", "document", "domain", "rater")
# The human score of columns that are no score by themselves: ratings, or those of one system each.
SCORE = "score"

# Role -> the value of each row.
RoleValues = dict[str, list[Any]]


@dataclass(frozen=True, kw_only=True)
class Tabular(DatasetReader):
    """path: the file, seen from where the command runs.

    columns: role -> name of its column. A role that is null uses the column of its own name, or else of a usual one
        (src, mt, DA, …), which a warning names; a configured name must exist. Hypothesis, score, and source or
        reference are needed. Ids default to the row number; several systems may have the same id. Four roles may have
        lists of columns: score, the first being the primary human score; reference, which may be empty from the second
        on; hypothesis, the outputs of one system each, with as many columns of scores in the same order; and rater, the
        ratings of one person each, whose mean is the score unless that has a column.
    language_pairs: which pairs of the language_pair column to use, none meaning all; without such a
        column, the one pair that the whole file is of, NO_PAIR ("none") if it is not named.

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
        """The configured pairs, or else those of the file in order of appearance.

        Raises ConfigError when several are configured and the file has no column of pairs.
        """
        rows = self._rows()
        return self.language_pairs or tuple(rows.by_pair)

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
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
        return open_table(expand_home(self.path), reading)

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
        # Tuples, as cached arguments must be hashable.
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

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of one pair in file order; `data_dir` is not looked at."""
        self.check_pair(language_pair)
        return Tabular(name=self.name, path=str(SAMPLE)).load_segments(data_dir, language_pair)


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
        listed = ", ".join(f"{role} {escape_unprintable(names[0])}" for role, names in found.guessed.items())
        warnings.warn(
            f"{table.path}: columns recognised by their names: {listed}. Name others: {key}.columns.ROLE=COLUMN.",
            stacklevel=2,
        )
    for role, note in found.notes.items():
        warnings.warn(f"{table.path}: {role}: {note}. Name another: {key}.columns.{role}=COLUMN.", stacklevel=2)
    return table_rows(table, found.roles, pairs, key, decimal)


@dataclass(frozen=True, eq=False)
class TableRows:
    """The segments of a table.

    by_pair: language pair -> of each segment the number of its row from 0, of several ratings the first.
    repeated: of a row that is a further rating, the first one's.
    segments: makes the segments of a pair, of the name of the data set and the pair.
    """

    by_pair: Mapping[str, list[int]]
    repeated: Mapping[int, int]
    segments: Callable[[str, str], SegmentSet]


def table_rows(table: TableFile, roles: Roles, pairs: Sequence[str], key: str, decimal: Decimal = ".") -> TableRows:
    """The segments of a table by language pair, in order of appearance.

    Args:
        table: an opened table. Its rows without any value in a role are skipped; a warning counts them.
        roles: role -> columns, as `roles_of_table`.
        pairs: to be checked; without a column of language pairs the one of all rows.
        key: the key of these settings, for the advice in messages.
        decimal: the decimal sign of scores that are texts.

    Raises:
        DataError: a value cannot be used; the message names its row.
        ConfigError: a language pair has no rows.
    """
    filled, numbers = _filled_part(table, roles)
    texts = _read_roles(filled, roles)
    if "language_pair" in texts:
        pair_of_row = texts.pop("language_pair")
    else:
        pair_of_row = [_only_pair(table, pairs, key)] * len(filled)
    rows_of_pair = _rows_by_pair(filled, pair_of_row, pairs)
    # Scores are read when they are used: those of other pairs may be anything.
    used: list[int] = []
    for pair in pairs or rows_of_pair:
        used += rows_of_pair[pair]
    used.sort()
    scores, raters = _read_scores(filled, roles, used, decimal, key)
    warn_of_quotes(table, texts)
    systems = roles["hypothesis"]
    if len(systems) > 1:
        texts, scores = _one_row_per_system(texts, scores, systems)
        for pair, rows in rows_of_pair.items():
            rows_of_pair[pair] = [row * len(systems) + system for row in rows for system in range(len(systems))]
    # Row numbers count outputs from now on.
    number_of = np.repeat(np.asarray(numbers, dtype=np.intp), len(systems)).tolist()
    groups_of_pair: dict[str, list[list[int]]] = {}
    if "rater" in texts:
        rows_of_used = {pair: rows_of_pair[pair] for pair in pairs or rows_of_pair}
        groups_of_pair = outputs_with_ratings(table, rows_of_used, texts, number_of)
    for pair, groups in groups_of_pair.items():
        rows_of_pair[pair] = [min(group) for group in groups]

    def segments(dataset: str, pair: str) -> SegmentSet:
        rows = rows_of_pair[pair]
        groups = groups_of_pair.get(pair)
        segments_of_rows = _segments(rows, texts, groups)
        judgements = _judgements(rows, groups, scores, raters)
        return SegmentSet(dataset, pair, segments_of_rows, judgements, str(table.path))

    by_pair = {pair: [number_of[row] for row in rows] for pair, rows in rows_of_pair.items()}
    repeated = {}
    for groups in groups_of_pair.values():
        for group in groups:
            first = min(group)
            repeated.update({number_of[row]: number_of[first] for row in group if row != first})
    return TableRows(by_pair, repeated, segments)


def _filled_part(table: TableFile, roles: Roles) -> tuple[TableFile, Sequence[int]]:
    """The columns of these roles in the rows that have any value in them, and the numbers of these rows."""
    names = [name for columns in roles.values() for name in columns]
    # Each column once, though it may have two roles.
    columns = table.take(dict.fromkeys(names))
    numbers: Sequence[int] = range(len(table))
    hypothesis = columns[roles["hypothesis"][0]]
    # Nearly all rows have a hypothesis, so that one column suffices.
    doubtful = [row for row, value in enumerate(hypothesis) if is_gap(value)]
    empty = set()
    for row in doubtful:
        cells = [values[row] for values in columns.values()]
        if all(is_gap(cell) or (isinstance(cell, str) and not cell.strip()) for cell in cells):
            empty.add(row)
    if empty:
        numbers = [row for row in range(len(table)) if row not in empty]
        columns = {name: [values[row] for row in numbers] for name, values in columns.items()}
    n_empty = len(empty) + table.empty_rows
    if n_empty:
        warnings.warn(f"{table.path}: {pluralize(n_empty, 'empty row')} skipped.", stacklevel=2)
    if not numbers:
        raise DataError(f"{table.path}: all rows are empty; write one row per segment.")
    places = [table.places[row] for row in numbers]
    return TableFile(table.path, list(columns), columns.__getitem__, places, table.unit), numbers


def _read_roles(table: TableFile, roles: Roles) -> RoleValues:
    """The values of all roles but the scores; of further references and hypotheses a list per row."""
    texts: RoleValues = {}
    for role, names in roles.items():
        if role == "score" or (role == "rater" and has_rating_columns(roles)):
            continue
        columns = table.take(names)
        if role in NAME_ROLES:
            texts[role] = list(read_names(columns[names[0]], role, names[0], table))
            continue
        first, *further = names
        texts[role] = read_texts(columns[first], first, table)
        if not further:
            continue
        is_reference = role == "reference"
        lists = [read_texts(columns[name], name, table, optional=is_reference) for name in further]
        # Further references may be missing; a hypothesis is empty then.
        if is_reference:
            rows = zip(*lists, strict=True)
            texts["further_references"] = [tuple(text for text in row if text is not None) for row in rows]
        else:
            texts[role] = list(zip(texts[role], *lists, strict=True))
    return texts


def _only_pair(table: TableFile, pairs: Sequence[str], key: str) -> str:
    """The language pair of a table that has no column of it, NO_PAIR if nothing names it.

    Raises ConfigError for several pairs.
    """
    if len(pairs) > 1:
        raise ConfigError(
            f"{table.path} has no column 'language_pair': set the pair of the file "
            f"({key}.language_pairs=[de-en]), or the column that names it: {key}.columns.language_pair=NAME"
        )
    return pairs[0] if pairs else NO_PAIR


def _rows_by_pair(table: TableFile, pair_of_row: Sequence[Any], pairs: Sequence[str]) -> dict[str, list[int]]:
    """The rows of each language pair, in order of appearance. Raises ConfigError if one of `pairs` has none."""
    by_pair: dict[str, list[int]] = {}
    for row, pair in enumerate(pair_of_row):
        # Checked at its first row: a name becomes part of file names.
        if pair not in by_pair:
            check_name("language pair", str(pair), table.where(row))
        by_pair.setdefault(str(pair), []).append(row)
    for pair in pairs:
        if pair not in by_pair:
            raise ConfigError(f"{table.path}: " + unknown("language pair", pair, by_pair))
    return by_pair


def _read_scores(
    table: TableFile, roles: Roles, used: Sequence[int], decimal: Decimal, key: str
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """float64[rows] of each human score, NaN for unrated segments and rows that are not used; and float64[rows, raters]
    of the score that columns of ratings are of."""

    def where(place: int) -> str:
        return table.where(used[place])

    def parse_column(name: str) -> Floats:
        values = table.take([name])[name]
        written = [values[row] for row in used]
        numbers = np.full(len(table), np.nan)
        noun = f"the score in column '{name}'"
        numbers[used] = parse_numbers(written, where, noun, UNRATED, decimal, f"{key}.decimal=,")
        return numbers

    scores = {name: parse_column(name) for name in roles.get("score", ())}
    raters: dict[str, Floats] = {}
    if has_rating_columns(roles):
        matrix = np.stack([parse_column(name) for name in roles["rater"]], axis=1)
        scores = scores or {SCORE: mean_ratings(matrix)}
        raters[next(iter(scores))] = matrix
    unrated = [name for name, numbers in scores.items() if np.isnan(numbers).all()]
    if unrated and len(scores) > 1:
        raise DataError(f"{table.path}: the column '{unrated[0]}' holds no score in any row; remove it.")
    return scores, raters


def _one_row_per_system(
    texts: RoleValues, scores: Mapping[str, Floats], systems: Sequence[str]
) -> tuple[RoleValues, dict[str, Floats]]:
    """Rows with a hypothesis and a score per system as rows of one system each, named as its column."""
    count = len(texts["hypothesis"])
    by_output: RoleValues = {}
    if "id" not in texts:
        # The outputs of one row are of one source.
        texts = {**texts, "id": [str(row + 1) for row in range(count)]}
    for role, values in texts.items():
        if role == "hypothesis":
            by_output[role] = [text for row in values for text in row]
        else:
            by_output[role] = [value for value in values for _ in systems]
    by_output["system"] = list(systems) * count
    columns = np.stack(list(scores.values()), axis=1)
    return by_output, {SCORE: columns.ravel()}


def _segments(
    rows: Sequence[int], texts: Mapping[str, Sequence[Any]], groups: Sequence[Sequence[int]] | None
) -> tuple[Segment, ...]:
    """The segments of these rows. texts: role -> values of all rows; groups: rows of segments, if some have several."""
    by_role: dict[str, Iterable[Any]] = {}
    for role, values in texts.items():
        by_role[role] = [values[row] for row in rows]
    if "id" not in by_role:
        by_role["id"] = [str(row + 1) for row in rows]
    if groups is not None:
        # A mean is nobody's rating.
        by_role["rater"] = [texts["rater"][group[0]] if len(group) == 1 else None for group in groups]
    # In the order of the fields, so that `map` makes all segments without a loop in Python.
    by_field = [by_role.get(field.name, repeat(field.default)) for field in fields(Segment)]
    return tuple(map(Segment, *by_field))


def _judgements(
    rows: Sequence[int],
    groups: Sequence[Sequence[int]] | None,
    scores: Mapping[str, Floats],
    raters: Mapping[str, Floats],
) -> Judgements:
    """The human scores of segments: of several rows the mean, with the single ratings."""
    if groups is None:
        scores_of_rows = {name: values[rows] for name, values in scores.items()}
        raters_of_rows = {name: values[rows] for name, values in raters.items()}
        return Judgements(scores_of_rows, raters_of_rows)
    matrices = {name: rating_matrix(values[group] for group in groups) for name, values in scores.items()}
    means = {name: mean_ratings(matrix) for name, matrix in matrices.items()}
    return Judgements(means, matrices)
