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
| .tsv, .csv, .jsonl, .parquet | columns: scores, labels or error_spans; words, id, system, side | a low score; BAD |
| predictions.txt | three other lines; language pair, method, side, sentence, token, word, tag (WMT22) | BAD |
| .submission | one text per line, one score per word, separated by blanks (WMT22) | a high score |
| any other | the same | a low score |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.datasets.columns import listed, setting
from bmx_grid.datasets.error_spans import KEYS as SPANS
from bmx_grid.datasets.lines import finite_or_nan, parse_number, read_crlf_lines, refuse_cr_alone, split_row
from bmx_grid.datasets.sub_words import pair_of, read_model_scores
from bmx_grid.datasets.tables import FORMATS, Table, open_table
from bmx_grid.errors import ConfigError, DataError, unknown
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Role

SCORE_ROLES = ("score", "id", "system", "language_pair")
WORD_VALUES = ("scores", "labels", "error_spans")  # the roles of which a table of words has one
WORD_ROLES = (*WORD_VALUES, "words", "id", "system", "side", "language_pair")
HEADER = 3  # lines of a submission before its rows: disk footprint, parameters, ensembled models
SCORE_FIELDS, WORD_FIELDS = 4, 7  # of a submission's rows
MISSING = "write None for what has no score"
# What files call the side that a row is of.
SIDES: dict[str, Role] = {
    "target": "hypothesis",
    "hypothesis": "hypothesis",
    "mt": "hypothesis",
    "source": "source",
    "src": "source",
    "reference": "reference",
    "ref": "reference",
}
BAD = -1.0  # a label as a value: low for an error, as attributions are; OK is 0
LABELS: Mapping[str, float] = {"OK": 0.0, "BAD": BAD, "0": 0.0, "1": BAD}


@dataclass(frozen=True, eq=False)
class ImportedFile:
    """n rows of scores of segments or systems, or of word values of one side of a text each.

    values: of scores, floats, NaN where the file says that there is none; of words, per row an array with a value per
    word (of labels -1, BAD, and 0, OK), a list of error spans, or None for a text that is not explained.
    place(row): where row 0 … n - 1 stands, as "line 3". ids, systems, pairs, sides: n names each; None where the file
    has none: rows without ids are in the order of the sources. words: the file's own, of each row, if it has any.
    of_systems: whether scores are those of whole systems. are_labels: whether word values are labels. low_is_error:
    whether a low value is a suspected error.
    """

    path: Path
    values: Sequence[Any]
    place: Callable[[int], str] = lambda row: f"line {row + 1}"
    ids: Sequence[str] | None = None
    systems: Sequence[str] | None = None
    pairs: Sequence[str] | None = None
    sides: Sequence[Role] | None = None
    words: Sequence[tuple[str, ...]] | None = None
    of_systems: bool = False
    are_labels: bool = False
    low_is_error: bool = True

    def where(self, row: int) -> str:
        """File and place of a row, for messages."""
        return f"{self.path}, {self.place(row)}"

    def of_side(self, side: Role) -> ImportedFile:
        """The rows of one side; all where the file names none."""
        if self.sides is None:
            return self
        rows = [row for row, name in enumerate(self.sides) if name == side]
        columns = {name: getattr(self, name) for name in ("values", "ids", "systems", "pairs", "words")}
        kept: dict[str, Any] = {name: column and [column[row] for row in rows] for name, column in columns.items()}
        return replace(self, sides=None, place=lambda row: self.place(rows[row]), **kept)


@dataclass(frozen=True)
class Reading:
    """How a table is read. key: the configuration key of these settings, for the advice in messages.

    columns: role -> name of its column; a role that is null or left out takes the column of its own name.
    separator, max_bytes: as for a data set (`tabular`).
    """

    key: str
    columns: Mapping[str, str | None]
    separator: str | None
    max_bytes: int


def read_score_file(path: Path, metric: str, reading: Reading) -> ImportedFile:
    """The scores of a file. metric: its column is taken where a table has one of that name, and none called score.

    Raises DataError naming file, row and value for everything that is not as the layout promises, ConfigError for
    .score files of documents or domains.
    """
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file of scores, or the folder of a test set of mt-metrics-eval.")
    name = path.name.lower()
    if name.endswith(".tar.gz"):
        pair = pair_of(path)
        scores = read_model_scores(path, pair).tolist()
        return ImportedFile(path, scores, pairs=[pair] * len(scores))
    if _is_table(path):
        return _score_table(path, metric, reading)
    if name.endswith(".score"):
        if not name.endswith((".seg.score", ".sys.score")):
            raise ConfigError(f"{path}: scores of documents or domains are not read; name a .seg.score or .sys.score.")
        return read_blocks(path)
    lines = _filled_lines(path)
    if len(lines[0].split("\t")) == 2:
        return read_blocks(path)
    if any("\t" in line for line in lines):
        return _score_submission(path, lines)
    return ImportedFile(path, [_written_score(line, f"{path}, line {row}") for row, line in enumerate(lines, start=1)])


def read_blocks(path: Path) -> ImportedFile:
    """mt-metrics-eval: rows `SYSTEM SCORE`, separated by whitespace; of systems if the name says .sys.score."""
    systems, scores = [], []
    for row, line in enumerate(_filled_lines(path), start=1):
        fields = line.split()
        if len(fields) != 2:
            raise DataError(f"{path}, line {row}: expected a system and a score, got {line[:80]!r}.")
        systems.append(fields[0])
        scores.append(parse_number(fields[1], f"{path}, line {row}", "the score", MISSING))
    return ImportedFile(path, scores, systems=systems, of_systems=path.name.lower().endswith(".sys.score"))


def read_word_file(path: Path, reading: Reading) -> ImportedFile:
    """The word values of a file. Raises DataError naming file, row and value for what is not as promised."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file of word scores.")
    if path.name.lower().endswith(".json"):
        raise DataError(f"{path}: is one JSON document; write an object per text and line, with its id, into a .jsonl.")
    if _is_table(path):
        return _word_table(path, reading)
    lines = read_crlf_lines(path)
    if len(lines) > HEADER and len(lines[HEADER].split("\t")) == WORD_FIELDS:
        return _word_submission(path, lines)
    if not any(line.strip() for line in lines):
        raise DataError(f"{path}: the file is empty; write one line per text, with one score per word.")
    rows = [_word_scores(line.split(), f"{path}, line {row}") for row, line in enumerate(lines, start=1)]
    return ImportedFile(path, rows, low_is_error=not path.name.lower().endswith(".submission"))


def _is_table(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(FORMATS)


def _filled_lines(path: Path) -> list[str]:
    """The lines without CR, and without empty ones at the end. Raises DataError when there are none."""
    lines = read_crlf_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; write one score per line.")
    refuse_cr_alone(lines, path)
    return lines


def _written_score(text: str, where: str) -> float:
    """A score that must not be left empty: the file could have been cut there."""
    if not text.strip():
        raise DataError(f"{where}: no score; {MISSING}.")
    return parse_number(text.strip(), where, "the score", MISSING)


def _score_submission(path: Path, lines: Sequence[str]) -> ImportedFile:
    for row, line in enumerate(lines[:HEADER], start=1):
        if "\t" in line:
            raise DataError(
                f"{path}, line {row}: tabs in {line[:80]!r}, but submissions begin with {HEADER} lines without; if it "
                "is a table with column names, let its name end in .tsv."
            )
    if len(lines) > HEADER and len(lines[HEADER].split("\t")) == WORD_FIELDS:
        words = _word_submission(path, lines).of_side("hypothesis")  # all count, <EOS> too
        return replace(words, values=[float(labels.mean()) for labels in words.values], words=None)
    first = HEADER + 1
    rows = [split_row(line, SCORE_FIELDS, str(path), row) for row, line in enumerate(lines[HEADER:], start=first)]
    if not rows:
        raise DataError(f"{path}: holds no scores after its {HEADER} header lines.")
    pairs, _, ids, values = (list(column) for column in zip(*rows, strict=True))
    scores = [_written_score(value, f"{path}, line {row}") for row, value in enumerate(values, start=first)]
    return ImportedFile(path, scores, lambda row: f"line {row + first}", ids=ids, pairs=pairs)


def _word_submission(path: Path, lines: Sequence[str]) -> ImportedFile:
    """A predictions.txt of the word-level task, a row per sentence and side in order of appearance.

    Raises DataError naming file, line and value for another number of fields, a sentence or token that is no number
    from 0, another tag, and tokens that are missing or there twice.
    """
    texts: dict[tuple[str, Role, str], dict[int, tuple[str, float]]] = {}
    first: dict[tuple[str, Role, str], int] = {}
    for number, line in enumerate(lines[HEADER:], start=HEADER + 1):
        where = f"{path}, line {number}"
        pair, _, side, sentence, token, word, tag = split_row(line, WORD_FIELDS, str(path), number)
        for part, value in (("sentence", sentence), ("token", token)):
            if not (value.isascii() and value.isdecimal()):
                raise DataError(f"{where}: the {part} {value[:40]!r} is not a number from 0; correct the line.")
        if tag not in ("OK", "BAD"):
            raise DataError(f"{where}: the tag {tag[:40]!r} is not OK or BAD; write one of them.")
        key = pair, _side(side, where), str(int(sentence))
        first.setdefault(key, number)
        tokens = texts.setdefault(key, {})
        if int(token) in tokens:
            raise DataError(f"{where}: token {token} of sentence {sentence} was already tagged; keep one line.")
        tokens[int(token)] = word, LABELS[tag]
    for (_, _, sentence), tokens in texts.items():
        missing = next((token for token in range(len(tokens)) if token not in tokens), None)
        if missing is not None:
            raise DataError(f"{path}: token {missing} of sentence {sentence} has no line; give one line per token.")
    rows = [[tokens[token] for token in range(len(tokens))] for tokens in texts.values()]
    pairs, sides, ids = (list(column) for column in zip(*texts, strict=True)) if texts else ([], [], [])
    starts = list(first.values())
    return ImportedFile(
        path,
        [np.array([label for _, label in row]) for row in rows],
        lambda row: f"line {starts[row]}",
        ids=ids,
        pairs=pairs,
        sides=sides,
        words=[tuple(word for word, _ in row) for row in rows],
        are_labels=True,
    )


def _side(name: str, where: str) -> Role:
    """The role that a file's name for a side stands for. Raises DataError for another name."""
    side = SIDES.get(name.strip().lower())
    if side is None:
        raise DataError(f"{where}: " + unknown("side", name[:40], ("target", "source", "reference")))
    return side


def _score_table(path: Path, metric: str, reading: Reading) -> ImportedFile:
    table = open_table(path, reading.max_bytes, reading.separator, reading.key)
    columns = _columns(table, SCORE_ROLES, reading)
    if "score" not in columns and metric in table.names:
        columns["score"] = metric
    if "score" not in columns:
        free = [name for name in table.names if name not in columns.values()]
        proposed = setting(reading.key, "score", free[0] if len(free) == 1 else "NAME")
        raise DataError(
            f"{path}: no column for the score. The file has the columns {listed(table.names)}; name it 'score' or "
            f"'{metric}', or write {proposed}"
        )
    values = table.take(dict.fromkeys(columns.values()))
    what = f"the score in column '{columns['score']}'"
    scores = [
        parse_number(value, table.where(row), what, MISSING) for row, value in enumerate(values[columns["score"]])
    ]
    ids, systems, pairs = (_names(role, columns, values, table) for role in SCORE_ROLES[1:])
    # Without ids, a table that names each system once (in each language pair) is of systems.
    once = systems is not None and len(set(zip(systems, pairs or systems, strict=True))) == len(systems)
    return ImportedFile(path, scores, table.place, ids, systems, pairs, of_systems=ids is None and once)


def _word_table(path: Path, reading: Reading) -> ImportedFile:
    named = {role: reading.columns.get(role) or role for role in WORD_ROLES}
    lists = [*(named[role] for role in (*WORD_VALUES, "words")), *SPANS]
    table = open_table(path, reading.max_bytes, reading.separator, reading.key, lists)
    columns = _columns(table, WORD_ROLES, reading)
    if "error_spans" not in columns:
        columns |= dict([("error_spans", name) for name in SPANS if name in table.names][:1])
    kinds = [role for role in WORD_VALUES if role in columns]
    if len(kinds) != 1:
        problem = "columns for both " + " and ".join(kinds) if kinds else "no column for scores, labels or error_spans"
        raise DataError(
            f"{path}: {problem}. The file has the columns {listed(table.names)}; name one, as "
            f"{reading.key}.columns.scores=NAME or {reading.key}.columns.labels=NAME."
        )
    values = table.take(dict.fromkeys(columns.values()))
    kind, name = kinds[0], columns[kinds[0]]
    lists_of_rows = [_list(value, table.where(row), f"the column '{name}'") for row, value in enumerate(values[name])]
    rows: list[Any] = lists_of_rows
    if kind != "error_spans":
        parse = _word_labels if kind == "labels" else _word_scores
        rows = [None if row is None else parse(row, table.where(at)) for at, row in enumerate(lists_of_rows)]
    words = _words(values[columns["words"]], rows, table) if "words" in columns and kind != "error_spans" else None
    ids, systems, sides, pairs = (_names(role, columns, values, table) for role in WORD_ROLES[4:])
    return ImportedFile(
        path,
        rows,
        table.place,
        ids,
        systems,
        pairs,
        None if sides is None else [_side(side, table.where(row)) for row, side in enumerate(sides)],
        words,
        are_labels=kind == "labels",
    )


def _columns(table: Table, roles: Sequence[str], reading: Reading) -> dict[str, str]:
    """role -> its column, of the roles that have one. Raises DataError for a named column that is not there."""
    columns = {role: role for role in roles if role in table.names}
    for role, name in reading.columns.items():
        if name is not None and name not in table.names:
            raise DataError(
                f"{table.path}: no column '{name}' for the {role}. The file has the columns {listed(table.names)}; "
                f"correct {reading.key}.columns.{role}."
            )
        if name is not None:
            columns[role] = name
    return columns


def _names(
    role: str, columns: Mapping[str, str], values: Mapping[str, Sequence[Any]], table: Table
) -> list[str] | None:
    """Ids, systems or language pairs as texts, whole numbers written as such; None without a column for them."""
    if role not in columns:
        return None
    names = []
    for row, value in enumerate(values[columns[role]]):
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)  # pandas writes whole numbers beside missing ones as floats
        if value is None or value == "" or isinstance(value, bool | float | list | dict):
            raise DataError(
                f"{table.where(row)}: the column '{columns[role]}' holds {str(value)[:60]!r}, not a name; write "
                "the id, system or language pair that the score is of."
            )
        names.append(str(value))
    return names


def _list(value: Any, where: str, what: str) -> list[Any] | None:
    """A list, as JSON and Parquet hold it or written with blanks between; None for a text that is not explained."""
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, str):
        return value.split()
    raise DataError(
        f"{where}: {what} holds {str(value)[:40]!r}; write a list with one value per word, or null for a text that is "
        "not explained."
    )


def _word_scores(values: Sequence[Any], where: str) -> NDArray[np.float64]:
    """Finite numbers. Raises DataError naming the place of another value."""
    scores = []
    for place, value in enumerate(values, start=1):
        number = math.nan if isinstance(value, bool) or "_" in str(value) else finite_or_nan(str(value))
        if math.isnan(number):
            raise DataError(
                f"{where}: score {place} is {str(value)[:40]!r}, not a finite number; write one number per word."
            )
        scores.append(number)
    return np.array(scores, dtype=np.float64)


def _word_labels(values: Sequence[Any], where: str) -> NDArray[np.float64]:
    for place, value in enumerate(values, start=1):
        if isinstance(value, bool) or str(value) not in LABELS:
            raise DataError(
                f"{where}: label {place} is {str(value)[:40]!r}; write OK or BAD, or 0 for OK and 1 for BAD, one per "
                "word."
            )
    return np.array([LABELS[str(value)] for value in values], dtype=np.float64)


def _words(column: Sequence[Any], rows: Sequence[Any], table: Table) -> list[tuple[str, ...]]:
    texts = []
    for row, (value, numbers) in enumerate(zip(column, rows, strict=True)):
        words = _list(value, table.where(row), "the column of words") or []
        for place, word in enumerate(words, start=1):
            if not isinstance(word, str):
                raise DataError(f"{table.where(row)}: word {place} is {str(word)[:40]!r}; write texts.")
        if numbers is not None and len(words) != len(numbers):
            raise DataError(
                f"{table.where(row)}: {counted(len(numbers), 'value')} for {counted(len(words), 'word')}; give one "
                "value per word."
            )
        texts.append(tuple(words))
    return texts
