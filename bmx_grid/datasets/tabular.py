"""The user's own segments, a TSV, CSV, JSONL or Parquet file with named columns; and the embedded sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.identity import IDENTITY, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import check_name
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.column_roles import REQUIRED, override, recognised, usual_columns
from bmx_grid.datasets.lines import Decimal, parse_numbers
from bmx_grid.datasets.segments import NO_PAIR, Judgements, Segment, SegmentSet
from bmx_grid.datasets.tables import TableFile, open_table
from bmx_grid.words.perturbation import INVISIBLE

SAMPLE = Path(__file__).with_name("sample.tsv")
UNRATED = "leave it empty for an unrated segment"
# Roles whose texts may be empty.
OPTIONAL = ("system", "document", "domain", "rater")
RoleColumns = Mapping[str, str | tuple[str, ...] | None]


@dataclass(frozen=True, kw_only=True)
class Tabular(DatasetReader):
    """path: the file, seen from where the command runs.

    columns: role -> name of its column. A role that is null uses the column of its own name, if the
        file has one; a name that is given must be there. Hypothesis, score, and source or reference
        are needed. Ids default to the row number; several systems may have the same id. Score and reference may
        have lists of columns: of human scores, the first being the primary one, and of references, which may be empty
        from the second on.
    language_pairs: which pairs of the language_pair column to use, none meaning all; without such a
        column, the one pair that the whole file is of, NO_PAIR ("none") where nothing names it.

    decimal: the decimal sign of scores that are texts; a score that can be read with either sign is the same number.

    Scores are finite numbers, higher is better, named as their column; empty, NA, NaN, None or null is an
    unrated segment, which is kept and counted. Systems, documents, domains and raters may be left empty.
    """

    path: str | None = runtime(None)
    columns: RoleColumns = field(default_factory=dict, metadata={"role": IDENTITY})
    decimal: Decimal = runtime(".")

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        """The pairs given, or else those of the file in order of appearance.

        Raises ConfigError when several are given and no column tells them apart.
        """
        by_pair, _ = self._rows()
        return self.language_pairs or tuple(by_pair)

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The rows of one language pair in file order."""
        by_pair, segments = self._rows()
        pairs = self.language_pairs or tuple(by_pair)
        if language_pair not in pairs:
            raise ConfigError(f"dataset.{self.name}: " + unknown("language pair", language_pair, pairs))
        return segments(self.name, language_pair)

    def _rows(self) -> tuple[dict[str, list[int]], PairReader]:
        """The file's rows, as `table_rows`, checked once for all language pairs."""
        key = f"dataset.{self.name}"
        if not self.path:
            raise ConfigError(
                f"{key}.path is not set: name your file, for example "
                f"python -m bmx_grid dataset=[{self.name}] {key}.path=my.tsv"
            )
        table = open_table(Path(self.path).expanduser())
        # Tuples, as what is cached must be hashable.
        columns = []
        for role, names in self.columns.items():
            if names is None:
                continue
            several = (names,) if isinstance(names, str) else names
            stripped = tuple(name.strip(INVISIBLE) for name in several)
            columns.append((role, stripped))
        return _checked_rows(table, tuple(columns), tuple(self.language_pairs), key, self.decimal)


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


PairReader = Callable[[str, str], SegmentSet]


def table_rows(
    table: TableFile, chosen: Mapping[str, tuple[str, ...]], pairs: Sequence[str], key: str, decimal: Decimal = "."
) -> tuple[dict[str, list[int]], PairReader]:
    """language pair -> the numbers of its rows from 0, in order of appearance; and a function that makes the segments
    of one, of the name of the data set and the pair.

    chosen: role -> columns. pairs: those to be checked; without a column of language pairs the one of all rows.
    key: the key of these settings, for the advice in messages. decimal: the sign of scores.
    Raises DataError naming the row of what cannot be used, ConfigError for columns and language pairs that are not
    there.
    """
    way_out = f"{key}.columns.{{}}={{}}"
    roles = recognised(table.names, chosen, REQUIRED, str(table.path), way_out, proposes=True)
    # Each column once, though it may have two roles.
    columns = table.take(dict.fromkeys(chain.from_iterable(roles.values())))
    texts: dict[str, list[Any]] = {}
    for role, names in roles.items():
        if role != "score":
            texts[role] = _texts(columns, names[0], table, optional=role in OPTIONAL)
    further: list[list[Any]] = []
    for name in roles.get("reference", ())[1:]:
        further.append(_texts(columns, name, table, optional=True))
    if "language_pair" in roles:
        pair_of_row = texts.pop("language_pair")
    else:
        pair_of_row = [_only_pair(table, roles, pairs, key)] * len(table)
    by_pair = _rows_by_pair(table, pair_of_row, pairs)
    # Scores are read where they are used: those of other pairs may be anything.
    used: list[int] = []
    for pair in pairs or by_pair:
        used += by_pair[pair]
    written = {name: columns[name] for name in roles["score"]}
    scores = _scores(table, written, sorted(used), decimal, key)

    def segments(dataset: str, pair: str) -> SegmentSet:
        rows = by_pair[pair]
        scores_of_rows = {name: values[rows] for name, values in scores.items()}
        segments_of_rows = _segments(rows, texts, further)
        return SegmentSet(dataset, pair, segments_of_rows, Judgements(scores_of_rows), str(table.path))

    return by_pair, segments


def _only_pair(table: TableFile, roles: Mapping[str, Sequence[str]], pairs: Sequence[str], key: str) -> str:
    """The language pair of a table that has no column of it, NO_PAIR where nothing names it.

    Raises ConfigError for several pairs, and where none is named though a column looks as if it named them.
    """
    usual = usual_columns(table.names, roles).get("language_pair")
    if len(pairs) > 1 or (usual and not pairs):
        raise ConfigError(
            f"{table.path} has no language_pair column: say which pair the file is of "
            f"({key}.language_pairs=[de-en]), or which column names it: "
            + override(f"{key}.columns.language_pair", usual or "NAME")
        )
    return pairs[0] if pairs else NO_PAIR


def _segments(
    rows: Sequence[int], texts: Mapping[str, Sequence[Any]], further: Sequence[Sequence[Any]]
) -> tuple[Segment, ...]:
    """The segments of these rows. texts: role -> values of all rows; further: those of each further reference."""
    by_role: dict[str, Iterable[Any]] = {}
    for role, values in texts.items():
        by_role[role] = [values[row] for row in rows]
    if "id" not in by_role:
        by_role["id"] = [str(row + 1) for row in rows]
    if further:
        references = []
        for row in rows:
            of_row = [values[row] for values in further]
            references.append(tuple(text for text in of_row if text is not None))
        by_role["further_references"] = references
    # In the order of the fields, so that `map` makes all segments without a loop in Python.
    by_field = [by_role.get(field.name, repeat(field.default)) for field in fields(Segment)]
    return tuple(map(Segment, *by_field))


def _rows_by_pair(table: TableFile, pair_of_row: Sequence[Any], pairs: Sequence[str]) -> dict[str, list[int]]:
    """The rows of each language pair, in order of appearance. Raises ConfigError where one of `pairs` has none."""
    by_pair: dict[str, list[int]] = {}
    for row, pair in enumerate(pair_of_row):
        # Checked where it is first seen: a name becomes part of file names.
        if pair not in by_pair:
            check_name("language pair", str(pair), table.where(row))
        by_pair.setdefault(str(pair), []).append(row)
    for pair in pairs:
        if pair not in by_pair:
            raise ConfigError(f"{table.path}: " + unknown("language pair", pair, by_pair))
    return by_pair


def _scores(
    table: TableFile, columns: Mapping[str, Sequence[Any]], used: Sequence[int], decimal: Decimal, key: str
) -> dict[str, Floats]:
    """float64[rows] of each column of human scores; NaN for unrated segments, and for rows that are not used."""

    def where(place: int) -> str:
        return table.where(used[place])

    scores: dict[str, Floats] = {}
    for name, values in columns.items():
        written = [values[row] for row in used]
        noun = f"the score in column '{name}'"
        numbers = np.full(len(table), np.nan)
        numbers[used] = parse_numbers(written, where, noun, UNRATED, decimal, f"{key}.decimal=,")
        scores[name] = numbers
    unrated = [name for name, numbers in scores.items() if np.isnan(numbers).all()]
    if unrated and len(scores) > 1:
        raise DataError(f"{table.path}: the column '{unrated[0]}' holds no score in any row; leave it out.")
    return scores


# A table is one object until its file changes (`open_table`), and every language pair asks for its rows.
@lru_cache(maxsize=1)
def _checked_rows(
    table: TableFile,
    columns: tuple[tuple[str, tuple[str, ...]], ...],
    pairs: tuple[str, ...],
    key: str,
    decimal: Decimal,
) -> tuple[dict[str, list[int]], PairReader]:
    return table_rows(table, dict(columns), pairs, key, decimal)


def _texts(columns: Mapping[str, Sequence[Any]], name: str, table: TableFile, optional: bool) -> list[Any]:
    """The texts of a column, whole numbers (ids, say) as they are written; None for what is optional and empty.

    Raises DataError naming the row for anything else.
    """
    values = columns[name]
    texts = list(values)
    for row, value in enumerate(values):
        if optional and (value is None or value == ""):
            texts[row] = None
        # bool is a kind of int, but no id.
        elif isinstance(value, int) and not isinstance(value, bool):
            texts[row] = str(value)
        elif not isinstance(value, str):
            kind = type(value).__name__
            raise DataError(
                f"{table.where(row)}: the column '{name}' holds {str(value)[:60]!r} ({kind}), not text; write a text "
                "between quotation marks (it may be empty)."
            )
        # Only JSON can hold halves, as escapes. Most texts are ASCII, which is quickly told.
        elif not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise DataError(
                f"{table.where(row)}: the column '{name}' holds half of a character (a lone surrogate) "
                f"in {value[:60]!r}; write the whole character, or take it out."
            )
    return texts
