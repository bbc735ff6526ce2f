"""Scores of texts and of words made elsewhere, as their files hold them: a row per text, with what it says of itself.

| file of scores | rows | how they find their segments |
|---|---|---|
| .tsv, .csv, .jsonl, .parquet | named columns: score, and id, system, language_pair where there are | id and system |
| .seg.score, .sys.score | SYSTEM and score; a block of segments per system (mt-metrics-eval) | order of the sources |
| predictions.txt | three lines of another kind, then language pair, method, id and score (WMT22) | id |
| predictions.txt of words | as below: the score is minus the share of BAD words | id |
| .tar.gz of MLQE-PE | `model_scores`: the translation system's own score of its sentence | order of the sources |
| any other | one score | order of the sources |

| file of words | rows | a suspected error has |
|---|---|---|
| .tsv, .csv, .jsonl, .parquet | columns: scores or labels; words, id, system, side, language_pair | a low score; BAD |
| predictions.txt | three other lines; language pair, method, side, sentence, token, word, tag (WMT22) | BAD |
| .submission | one text per line, one score per word, separated by blanks (WMT22) | a high score |
| any other | the same | a low score |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.core.errors import DataError, unknown
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import counted
from bmx_grid.datasets.lines import (
    HAS_DECIMAL_COMMA,
    LISTED,
    finite_or_nan,
    listed_tags,
    parse_number,
    read_crlf_lines,
    refuse,
    text_rows,
)
from bmx_grid.datasets.mlqe_pe import read_model_scores
from bmx_grid.datasets.scores_of_files import FromFile, ImportedFile
from bmx_grid.datasets.tables import TABLE_ENDINGS, TableFile, first_few, open_table, override
from bmx_grid.words.perturbation import Role

if TYPE_CHECKING:
    import pandas as pd

SEGMENT_COLUMNS = ("id", "system", "language_pair")
SCORE_ROLES = ("score", *SEGMENT_COLUMNS)
WORD_ROLES = ("scores", "labels", "words", "side", *SEGMENT_COLUMNS)
HEADER = 3  # lines of a submission before its rows: disk footprint, parameters, ensembled models
NO_SCORE = "write None for what has no score"
# What files call the side that a row is of.
ROLE_OF_SIDE: dict[str, Role] = {
    **dict.fromkeys(("target", "hypothesis", "mt"), "hypothesis"),
    **dict.fromkeys(("source", "src"), "source"),
    **dict.fromkeys(("reference", "ref"), "reference"),
}
BAD = -1.0  # a label as a value: low for an error, as attributions are; OK is 0
LABELS: Mapping[str, float] = {"OK": 0.0, "BAD": BAD, "0": 0.0, "1": BAD}


def read_score_file(path: Path, option: FromFile, pair: str) -> ImportedFile:
    """The scores of a file; pair: of which an archive is read.

    Raises DataError naming file, row and value for everything that is not as the layout promises, DataMissingError for
    an archive of another pair.
    """
    name = path.name.lower()
    if name.endswith(".tar.gz"):
        return ImportedFile(path, _rows(read_model_scores(path, pair)).assign(language_pair=pair))
    if _is_table(name):
        return _score_table(path, option)
    if name.endswith(".score"):
        return ImportedFile(path, read_blocks(path, option), of_systems=name.endswith(".sys.score"))
    lines = _filled_lines(path)
    if any("\t" in line for line in lines):
        return ImportedFile(path, _score_submission(path, lines, option))
    return ImportedFile(path, _listed_scores(path, lines, ["value"], option))


def read_blocks(path: Path, option: FromFile | None = None) -> pd.DataFrame:
    """mt-metrics-eval: the rows `SYSTEM SCORE` of a file, separated by whitespace. option: what names the file."""
    return _listed_scores(path, _filled_lines(path), ["system", "value"], option, separator=None)


def read_word_file(path: Path, option: FromFile) -> ImportedFile:
    """The word values of a file. Raises DataError naming file, row and value for what is not as promised."""
    name = path.name.lower()
    if _is_table(name):
        return _word_table(path, option)
    lines = read_crlf_lines(path)
    if _lists_tags(lines):
        return ImportedFile(path, _word_submission(path, lines), are_labels=True)
    rows = _rows([line.split() for line in lines])
    scores = _with_numbers(path, rows, "scores", option)
    return ImportedFile(path, scores, low_is_error=not name.endswith(".submission"))


def _rows(values: Any) -> pd.DataFrame:
    """Rows of values on lines of their own."""
    import pandas as pd

    places = [f"line {number}" for number in range(1, len(values) + 1)]
    return pd.DataFrame({"value": pd.Series(values, dtype=object), "place": places})


def _is_table(name: str) -> bool:
    return name.removesuffix(".gz").endswith(TABLE_ENDINGS)


def _lists_tags(lines: Sequence[str]) -> bool:
    return len(lines) > HEADER and len(lines[HEADER].split("\t")) == len(LISTED)


def _filled_lines(path: Path) -> list[str]:
    """The lines without CR, and without empty ones at the end. Raises DataError when there are none."""
    lines = read_crlf_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; write one score per line.")
    return lines


def _listed_scores(
    path: Path,
    lines: Sequence[str],
    columns: Sequence[str],
    option: FromFile | None,
    first: int = 1,
    separator: str | None = "\t",
) -> pd.DataFrame:
    """The rows of lines without column names. A score must not be left empty: the file could have been cut there."""
    rows = text_rows(lines, columns, str(path), first, separator)
    rows["place"] = [f"line {line}" for line in rows.line]
    refuse(rows, rows.value.str.strip() == "", lambda row: f"{path}, {row.place}: no score; {NO_SCORE}.")
    return _with_scores(path, rows, "the score", option)


def _with_scores(path: Path, rows: pd.DataFrame, what: str, option: FromFile | None) -> pd.DataFrame:
    """The rows with numbers in place of what the file has. what: their name in a sentence."""
    sign: tuple[Any, ...] = () if option is None else (option.decimal, f"{option.KEY}.decimal=,")
    scores = []
    for value, place in zip(rows.value, rows.place, strict=True):
        scores.append(parse_number(value, f"{path}, {place}", what, NO_SCORE, *sign))
    return rows.assign(value=scores)


def _score_submission(path: Path, lines: Sequence[str], option: FromFile) -> pd.DataFrame:
    for row, line in enumerate(lines[:HEADER], start=1):
        if "\t" in line:
            raise DataError(
                f"{path}, line {row}: tabs in {line[:80]!r}, but submissions begin with {HEADER} lines without; if it "
                "is a table with column names, let its name end in .tsv."
            )
    if _lists_tags(lines):
        words = _word_submission(path, lines)
        words = words[words.side == "hypothesis"].drop(columns="side").reset_index(drop=True)
        return words.assign(value=[float(labels.mean()) for labels in words.value])  # <EOS> counts
    return _listed_scores(path, lines[HEADER:], ["language_pair", "method", "id", "value"], option, HEADER + 1)


def _word_submission(path: Path, lines: Sequence[str]) -> pd.DataFrame:
    """A predictions.txt of the word-level task, a row per sentence and side in order of appearance.

    Raises DataError naming file, line and value as `listed_tags`, and for an unknown side.
    """
    texts = listed_tags(lines[HEADER:], str(path), HEADER + 1)
    texts["place"] = [f"line {line}" for line in texts.line]
    texts["id"] = texts.sentence.astype(str)
    texts["value"] = texts.bad.map(lambda bad: np.where(bad, BAD, 0.0))
    return _with_sides(path, texts[["value", "place", "id", "language_pair", "side", "words"]])


def _with_sides(path: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with roles in place of the file's names of sides. Raises DataError for another name."""
    roles = rows.side.str.strip().str.lower().map(ROLE_OF_SIDE)
    known = ("target", "source", "reference")
    refuse(rows, roles.isna(), lambda row: f"{path}, {row.place}: " + unknown("side", row.side[:40], known))
    return rows.assign(side=roles)


def _score_table(path: Path, option: FromFile) -> ImportedFile:
    table = open_table(path)
    columns, _ = _columns(table, option, ("score",))
    what = f"the score in column '{columns['score']}'"
    rows = _with_scores(path, _named_rows(table, columns, "score"), what, option)
    # Without ids, a table that names each system once (in each language pair) is of systems.
    names = [name for name in ("system", "language_pair") if name in rows]
    of_systems = "id" not in rows and "system" in rows and not any(rows.duplicated(names))
    return ImportedFile(path, rows, of_systems)


def _word_table(path: Path, option: FromFile) -> ImportedFile:
    table = open_table(path)
    columns, kind = _columns(table, option, ("scores", "labels"))
    rows = _named_rows(table, columns, kind)
    rows["value"] = _lists(path, rows, "value", columns[kind])
    rows = _with_numbers(path, rows, kind, option)
    if "words" in rows:
        rows["words"] = [tuple(map(str, words or ())) for words in _lists(path, rows, "words", columns["words"])]
        refuse(
            rows,
            rows.apply(lambda row: row.value is not None and len(row.value) != len(row.words), axis=1),
            lambda row: (
                f"{path}, {row.place}: {counted(len(row.value), 'value')} for {counted(len(row.words), 'word')}; give "
                "one value per word."
            ),
        )
    return ImportedFile(path, _with_sides(path, rows) if "side" in rows else rows, are_labels=kind == "labels")


def _columns(table: TableFile, option: FromFile, kinds: Sequence[str]) -> tuple[dict[str, str], str]:
    """role -> its column, of the roles that have one; and which of the kinds of values the table has.

    The column of a score may be called as the metric. Raises DataError for a named column that is not there, and where
    there is not one column of values.
    """
    named = {role: name for role, name in option.columns.items() if name is not None}
    for role, name in named.items():
        if name not in table.names:
            raise DataError(
                f"{table.path}: no column '{name}' for the {role}. The file has the columns {first_few(table.names)}; "
                f"correct {option.KEY}.columns.{role}."
            )
    columns = {role: role for role in option.ROLES if role in table.names} | named
    if kinds == ("score",) and option.name in table.names:
        columns.setdefault("score", option.name)
    there = [kind for kind in kinds if kind in columns]
    if len(there) != 1:
        free = [name for name in table.names if name not in columns.values()]
        proposed = override(f"{option.KEY}.columns.{kinds[0]}", free[0] if len(free) == 1 else "NAME")
        raise DataError(
            f"{table.path}: {len(there) or 'no'} columns for {' or '.join(kinds)} among {first_few(table.names)}; name "
            f"one so, or with {proposed}"
        )
    return columns, there[0]


def _named_rows(table: TableFile, columns: Mapping[str, str], kind: str) -> pd.DataFrame:
    """The rows of a table: the column of the role `kind` as `value`, and those of the other roles."""
    import pandas as pd

    taken = table.take(dict.fromkeys(columns[role] for role in (kind, "words") if role in columns))
    rows = _rows(taken[columns[kind]]).assign(place=[table.place(row) for row in range(len(table))])
    if "words" in columns:
        rows["words"] = pd.Series(taken[columns["words"]], dtype=object)
    return rows.assign(**{role: _names(table, columns[role]) for role in ("side", *SEGMENT_COLUMNS) if role in columns})


@lru_cache(maxsize=4)  # several metrics may be columns of one table
def _names(table: TableFile, column: str) -> list[str]:
    return [_name(value, table.where(row), column) for row, value in enumerate(table.take([column])[column])]


def _name(value: Any, where: str, column: str) -> str:
    """An id, a system, a language pair or a side as a text, a whole number written as such."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)  # pandas writes whole numbers beside missing ones as floats
    if value == "" or isinstance(value, bool) or not isinstance(value, str | int):
        raise DataError(
            f"{where}: the column '{column}' holds {str(value)[:60]!r}, not a name; write the id, system or language "
            "pair that the score is of."
        )
    return str(value)


def _lists(path: Path, rows: pd.DataFrame, role: str, column: str) -> pd.Series[Any]:
    """Lists, as JSON and Parquet hold them or written with blanks between; None for a text that is not explained."""
    lists = rows[role].map(lambda value: value.split() if isinstance(value, str) else value)
    refuse(
        rows,
        lists.map(lambda value: value is not None and not isinstance(value, list)),
        lambda row: (
            f"{path}, {row.place}: the column '{column}' holds {str(row[role])[:40]!r}; write a list with one value "
            "per word, or null for a text that is not explained."
        ),
    )
    return lists


def _with_numbers(path: Path, rows: pd.DataFrame, kind: str, option: FromFile) -> pd.DataFrame:
    """The rows with an array in place of each list. Raises DataError for a value that is no finite score, or label."""
    import pandas as pd

    noun, expected = ("score", "a finite number") if kind == "scores" else ("label", "OK or BAD, or 0 for OK and 1")
    arrays: list[Floats | None] = []
    for values, place in zip(rows.value, rows.place, strict=True):
        texts = [str(value) for value in values or ()]
        if noun == "label":
            numbers = np.array([LABELS.get(text, math.nan) for text in texts])
        elif all(isinstance(value, str) for value in values or ()):
            numbers = np.array([finite_or_nan(text, option.decimal) for text in texts])
        else:  # numbers of JSON and Parquet, whatever the decimal sign of texts is
            numbers = np.array([finite_or_nan(text) for text in texts])
        if np.isnan(numbers).any():
            first = int(np.argmax(np.isnan(numbers)))
            wrong = texts[first][:40]
            advice = f"write {expected} per word"
            if noun == "score" and option.decimal == "." and HAS_DECIMAL_COMMA.fullmatch(wrong):
                advice = f"if its comma is a decimal comma, add {option.KEY}.decimal=, to the arguments"
            raise DataError(f"{path}, {place}: {noun} {first + 1} is {wrong!r}; {advice}.")
        arrays.append(None if values is None else numbers)
    return rows.assign(value=pd.Series(arrays, dtype=object))
