"""External scores of texts and of words, as their files hold them: a row per text, with its id, system and place.

| file of scores | rows | how they find their segments |
|---|---|---|
| .tsv, .csv, .jsonl, .parquet | named columns: score, and id, system, language_pair if present | id and system |
| .seg.score, .sys.score | SYSTEM and score; a block of segments per system (mt-metrics-eval) | order of the sources |
| predictions.txt | three lines of another kind, then language pair, method, id and score (WMT22) | id |
| predictions.txt of words | as below: the score is minus the share of BAD words | id |
| .tar.gz of MLQE-PE | `model_scores`: the translation system's own score of its sentence | order of the sources |
| text of comet-score | FILE, Segment 0, score | order of the sources; of several files their names as systems |
| .json of comet-score | a list per FILE, with COMET | the same |
| any other | one score | order of the sources, or of the rows of the table |

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
from bmx_grid.core.wording import override, pluralize
from bmx_grid.datasets.column_roles import first_few
from bmx_grid.datasets.comet_files import comet_json_rows, comet_rows, is_comet_text
from bmx_grid.datasets.file_source import FileSource, ImportedFile
from bmx_grid.datasets.lines import (
    HAS_DECIMAL_COMMA,
    LISTED,
    Decimal,
    finite_or_nan,
    listed_tags,
    parse_numbers,
    read_lines,
    refuse,
    text_rows,
)
from bmx_grid.datasets.mlqe_pe import read_model_scores
from bmx_grid.datasets.table_file import TableFile, name_of
from bmx_grid.datasets.tables import TABLE_ENDINGS, open_table
from bmx_grid.words.perturbation import Role

if TYPE_CHECKING:
    import pandas as pd

SEGMENT_COLUMNS = ("id", "system", "language_pair")
SCORE_ROLES = ("score", *SEGMENT_COLUMNS)
WORD_ROLES = ("scores", "labels", "words", "side", *SEGMENT_COLUMNS)
# Lines of a submission before its rows: disk footprint, parameters, ensembled models.
HEADER = 3
NO_SCORE = "write None for what has no score"
# What files call the side that a row is of.
ROLE_OF_SIDE: dict[str, Role] = {
    **dict.fromkeys(("target", "hypothesis", "mt"), "hypothesis"),
    **dict.fromkeys(("source", "src"), "source"),
    **dict.fromkeys(("reference", "ref"), "reference"),
}
# A label as a value: low for an error, as attributions are; OK is 0.
BAD = -1.0
LABELS: Mapping[str, float] = {"OK": 0.0, "BAD": BAD, "0": 0.0, "1": BAD}


def read_score_file(path: Path, option: FileSource, pair: str) -> ImportedFile:
    """The scores of a file; pair: that is read from an archive.

    Raises DataError naming file, row and value for everything that violates the layout, DataMissingError for an
    archive of another pair.
    """
    name = path.name.lower()
    if name.endswith(".tar.gz"):
        rows = _rows(read_model_scores(path, pair))
        return ImportedFile(path, rows.assign(language_pair=pair))
    if _is_table(name):
        return _score_table(path, option)
    if name.endswith(".score"):
        return ImportedFile(path, read_blocks(path, option), of_systems=name.endswith(".sys.score"))
    if name.endswith(".json"):
        rows = comet_json_rows(path, "\n".join(read_lines(path)), option)
        return ImportedFile(path, _parse_scores(path, rows, "the score", option))
    lines = _filled_lines(path)
    if is_comet_text(lines):
        rows, of_systems = comet_rows(lines, path)
        return ImportedFile(path, _parse_scores(path, rows, "the score", option), of_systems)
    if any("\t" in line for line in lines):
        return ImportedFile(path, _score_submission(path, lines, option), is_numbered=True)
    return ImportedFile(path, _listed_scores(path, lines, ["value"], option))


def read_blocks(path: Path, option: FileSource | None = None) -> pd.DataFrame:
    """mt-metrics-eval: the rows `SYSTEM SCORE` of a file, separated by whitespace. option: what names the file, None
    for a data set."""
    return _listed_scores(path, _filled_lines(path), ["system", "value"], option, separator=None)


def read_word_file(path: Path, option: FileSource) -> ImportedFile:
    """The word values of a file. Raises DataError naming file, row and value for any violation of the layout."""
    name = path.name.lower()
    if _is_table(name):
        return _word_table(path, option)
    lines = read_lines(path)
    if _lists_tags(lines):
        return ImportedFile(path, _word_submission(path, lines), are_labels=True, is_numbered=True)
    rows = _rows([line.split() for line in lines])
    scores = _parse_arrays(path, rows, "scores", option)
    return ImportedFile(path, scores, low_is_error=not name.endswith(".submission"))


def _rows(values: Any) -> pd.DataFrame:
    """Rows of values on lines of their own."""
    import pandas as pd

    places = [f"line {number}" for number, _ in enumerate(values, start=1)]
    # Objects, as values may be lists of several lengths.
    return pd.DataFrame({"value": pd.Series(values, dtype=object), "place": places})


def _is_table(name: str) -> bool:
    return name.removesuffix(".gz").endswith(TABLE_ENDINGS)


def _lists_tags(lines: Sequence[str]) -> bool:
    """Whether the first row of a submission has the fields of a tag."""
    return len(lines) > HEADER and len(lines[HEADER].split("\t")) == len(LISTED)


def _filled_lines(path: Path) -> list[str]:
    """The lines without empty ones at the end. Raises DataError for an empty file."""
    lines = read_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; write one score per line.")
    return lines


def _listed_scores(
    path: Path,
    lines: Sequence[str],
    columns: Sequence[str],
    option: FileSource | None,
    first: int = 1,
    separator: str | None = "\t",
) -> pd.DataFrame:
    """The rows of lines without column names. A score must not be empty: the file could have been cut."""
    rows = text_rows(lines, columns, str(path), first, separator)
    rows["place"] = [f"line {line}" for line in rows.line]

    def sentence(row: Any) -> str:
        return f"{path}, {row.place}: no score; {NO_SCORE}."

    refuse(rows, rows.value.str.strip() == "", sentence)
    return _parse_scores(path, rows, "the score", option)


def _parse_scores(path: Path, rows: pd.DataFrame, noun: str, option: FileSource | None) -> pd.DataFrame:
    """The rows with their values as numbers. noun: the values' name in a sentence."""
    decimal: Decimal = "."
    comma_option = None
    # The files of a data set have decimal points, and no option for another sign.
    if option is not None:
        decimal = option.decimal
        comma_option = f"{option.KEY}.decimal=,"

    def where(row: int) -> str:
        return f"{path}, {rows.place.iloc[row]}"

    return rows.assign(value=parse_numbers(rows.value.tolist(), where, noun, NO_SCORE, decimal, comma_option))


def _score_submission(path: Path, lines: Sequence[str], option: FileSource) -> pd.DataFrame:
    """The scores of a predictions.txt, of texts or, from the tags of their words, of translations."""
    for number, line in enumerate(lines[:HEADER], start=1):
        if "\t" in line:
            raise DataError(
                f"{path}, line {number}: tabs in {line[:80]!r}, but submissions begin with {HEADER} lines without; if "
                "it is a table with column names, let its name end in .tsv."
            )
    if _lists_tags(lines):
        words = _word_submission(path, lines)
        words = words[words.side == "hypothesis"].drop(columns="side").reset_index(drop=True)
        # The mean of 0 and -1 is minus the share of BAD words, <EOS> among them.
        scores = [float(labels.mean()) for labels in words.value]
        return words.assign(value=scores)
    columns = ["language_pair", "method", "id", "value"]
    return _listed_scores(path, lines[HEADER:], columns, option, HEADER + 1)


def _word_submission(path: Path, lines: Sequence[str]) -> pd.DataFrame:
    """A predictions.txt of the word-level task, a row per sentence and side in order of appearance.

    Raises DataError naming file, line and value as `listed_tags`, and for an unknown side.
    """
    texts = listed_tags(lines[HEADER:], str(path), HEADER + 1)
    texts["place"] = [f"line {line}" for line in texts.line]
    texts["id"] = texts.sentence.astype(str)
    texts["value"] = texts.bad.map(lambda bad: np.where(bad, BAD, 0.0))
    return _roles_from_sides(path, texts[["value", "place", "id", "language_pair", "side", "words"]])


def _roles_from_sides(path: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with roles in place of the file's names of sides. Raises DataError for another name."""
    roles = rows.side.str.strip().str.lower().map(ROLE_OF_SIDE)

    def sentence(row: Any) -> str:
        problem = unknown("side", row.side[:40], ("target", "source", "reference"))
        return f"{path}, {row.place}: {problem}"

    refuse(rows, roles.isna(), sentence)
    return rows.assign(side=roles)


def _score_table(path: Path, option: FileSource) -> ImportedFile:
    """The scores of a table, of texts or of whole systems. Raises DataError for columns and values that do not fit."""
    table = open_table(path)
    columns = _columns(table, option)
    # The column of a score may be called as the metric.
    if "score" not in columns and option.name in table.names:
        columns["score"] = option.name
    _check_values(table, option, columns, ("score",))
    noun = f"the score in column '{columns['score']}'"
    rows = _named_rows(table, columns, "score")
    rows = _parse_scores(path, rows, noun, option)
    of_systems = False
    # Without ids, a table that names each system once (in each language pair) is of systems.
    if "system" in rows and "id" not in rows:
        names = [name for name in ("system", "language_pair") if name in rows]
        of_systems = not any(rows.duplicated(names))
    return ImportedFile(path, rows, of_systems)


def _word_table(path: Path, option: FileSource) -> ImportedFile:
    """The word values of a table: a list in each row, of scores or of labels, and perhaps one of words."""
    table = open_table(path)
    columns = _columns(table, option)
    kind = _check_values(table, option, columns, ("scores", "labels"))
    rows = _named_rows(table, columns, kind)
    rows["value"] = _lists(path, rows, "value", columns[kind])
    rows = _parse_arrays(path, rows, kind, option)
    if "words" in rows:
        lists = _lists(path, rows, "words", columns["words"])
        # Words that look like numbers may be stored as such.
        rows["words"] = [tuple(map(str, words or ())) for words in lists]
        _check_lengths(path, rows)
    if "side" in rows:
        rows = _roles_from_sides(path, rows)
    return ImportedFile(path, rows, are_labels=kind == "labels")


def _check_lengths(path: Path, rows: pd.DataFrame) -> None:
    """Raise DataError for a text with another number of values than of words."""
    for values, words, place in zip(rows.value, rows.words, rows.place, strict=True):
        if values is not None and len(values) != len(words):
            raise DataError(
                f"{path}, {place}: {pluralize(len(values), 'value')} for {pluralize(len(words), 'word')}; give one "
                "value per word."
            )


def _columns(table: TableFile, option: FileSource) -> dict[str, str]:
    """role -> its column, of the roles that have one. Raises DataError for a named column that does not exist."""
    columns = {role: role for role in option.ROLES if role in table.names}
    for role, name in option.columns.items():
        if name is None:
            continue
        if name not in table.names:
            raise DataError(
                f"{table.path}: no column '{name}' for the {role}. The file has the columns {first_few(table.names)}; "
                f"correct {option.KEY}.columns.{role}."
            )
        columns[role] = name
    return columns


def _check_values(table: TableFile, option: FileSource, columns: Mapping[str, str], kinds: Sequence[str]) -> str:
    """The one kind of values that the table has. Raises DataError if it has none, or several."""
    there = [kind for kind in kinds if kind in columns]
    if len(there) == 1:
        return there[0]
    count = len(there) or "no"
    roles = " or ".join(kinds)
    # A single column without a role is likely the missing one.
    free = [name for name in table.names if name not in columns.values()]
    candidate = free[0] if len(free) == 1 else "NAME"
    proposed = override(f"{option.KEY}.columns.{kinds[0]}", candidate)
    raise DataError(
        f"{table.path}: {count} columns for {roles} among {first_few(table.names)}; name one so, or with {proposed}"
    )


def _named_rows(table: TableFile, columns: Mapping[str, str], kind: str) -> pd.DataFrame:
    """The rows of a table: the column of the role `kind` as `value`, and those of the other roles."""
    import pandas as pd

    values = columns[kind]
    words = columns.get("words")
    # Together, so that a column with both roles is read once.
    needed = [values] if words is None else [values, words]
    taken = table.take(dict.fromkeys(needed))
    rows = _rows(taken[values])
    rows["place"] = [table.place(row) for row in range(len(table))]
    if words is not None:
        rows["words"] = pd.Series(taken[words], dtype=object)
    for role in ("side", *SEGMENT_COLUMNS):
        if role in columns:
            rows[role] = _names(table, columns[role])
    return rows


@lru_cache(maxsize=4)  # several metrics may be columns of one table
def _names(table: TableFile, column: str) -> list[str]:
    values = table.take([column])[column]
    return [_name(value, table.where(row), column) for row, value in enumerate(values)]


def _name(value: Any, where: str, column: str) -> str:
    """An id, a system, a language pair or a side as a text, a whole number written as such."""
    try:
        name = name_of(value)
    except ValueError:
        name = None
    if name is None:
        raise DataError(
            f"{where}: the column '{column}' holds {str(value)[:60]!r}, not a name; write the id, system or language "
            "pair that the score is of."
        )
    return name


def _lists(path: Path, rows: pd.DataFrame, role: str, column: str) -> pd.Series[Any]:
    """Lists, as JSON and Parquet hold them or written with blanks between; None for a text that is not explained."""

    def as_list(value: Any) -> Any:
        return value.split() if isinstance(value, str) else value

    def is_wrong(value: Any) -> bool:
        return value is not None and not isinstance(value, list)

    def sentence(row: Any) -> str:
        return (
            f"{path}, {row.place}: the column '{column}' holds {str(row[role])[:40]!r}; write a list with one value "
            "per word, or null for a text that is not explained."
        )

    lists = rows[role].map(as_list)
    refuse(rows, lists.map(is_wrong), sentence)
    return lists


def _parse_arrays(path: Path, rows: pd.DataFrame, kind: str, option: FileSource) -> pd.DataFrame:
    """The rows with an array in place of each list. kind: "scores" or "labels".

    Raises DataError for a value that is no finite score, or label.
    """
    import pandas as pd

    arrays: list[Floats | None] = []
    for values, place in zip(rows.value, rows.place, strict=True):
        if values is None:
            arrays.append(None)
            continue
        texts = [str(value) for value in values]
        if kind == "labels":
            numbers = np.array([LABELS.get(text, math.nan) for text in texts])
        else:
            # The decimal sign is that of texts: numbers of JSON and Parquet have none.
            are_texts = all(isinstance(value, str) for value in values)
            decimal = option.decimal if are_texts else "."
            numbers = np.array([finite_or_nan(text, decimal) for text in texts])
        is_wrong = np.isnan(numbers)
        if is_wrong.any():
            first = int(np.argmax(is_wrong))
            text = texts[first][:40]
            problem = _not_a_value(text, first + 1, kind, option)
            raise DataError(f"{path}, {place}: {problem}")
        arrays.append(numbers)
    return rows.assign(value=pd.Series(arrays, dtype=object))


def _not_a_value(text: str, number: int, kind: str, option: FileSource) -> str:
    """The message for a word's value that is no score, or no label."""
    if kind == "labels":
        return f"label {number} is {text!r}; write OK or BAD, or 0 for OK and 1 per word."
    if option.decimal == "." and HAS_DECIMAL_COMMA.fullmatch(text):
        advice = f"if its comma is a decimal comma, add {option.KEY}.decimal=, to the arguments"
    else:
        advice = "write a finite number per word"
    return f"score {number} is {text!r}; {advice}."
