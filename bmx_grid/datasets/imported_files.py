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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.wording import counted
from bmx_grid.datasets.columns import listed, setting
from bmx_grid.datasets.error_spans import KEYS as SPANS
from bmx_grid.datasets.lines import finite_or_nan, parse_number, read_crlf_lines, refuse_cr_alone, split_rows
from bmx_grid.datasets.mlqe_pe import pair_of, read_model_scores
from bmx_grid.datasets.tables import FORMATS, Table, open_table
from bmx_grid.datasets.word_tags import LISTED, listed_tags
from bmx_grid.words.perturbation import Role

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("id", "system", "language_pair")
SCORE_ROLES = ("score", *NAMES)
WORD_VALUES = ("scores", "labels", "error_spans")  # the roles of which a table of words has one
WORD_ROLES = (*WORD_VALUES, "words", "side", *NAMES)
HEADER = 3  # lines of a submission before its rows: disk footprint, parameters, ensembled models
MISSING = "write None for what has no score"
# What files call the side that a row is of.
SIDES: dict[str, Role] = {
    **dict.fromkeys(("target", "hypothesis", "mt"), "hypothesis"),
    **dict.fromkeys(("source", "src"), "source"),
    **dict.fromkeys(("reference", "ref"), "reference"),
}
BAD = -1.0  # a label as a value: low for an error, as attributions are; OK is 0
LABELS: Mapping[str, float] = {"OK": 0.0, "BAD": BAD, "0": 0.0, "1": BAD}


@dataclass(frozen=True, eq=False)
class ImportedFile:
    """Rows of scores of segments or systems, or of word values of one side of a text each.

    rows: the columns `value` and `place` ("line 3"), and `id`, `system`, `language_pair`, `side` and `words` (a tuple)
    where the file has them; without ids they are in the order of the sources. The values are floats, NaN where the
    file says that there is none; of words an array with a value per word (of labels -1, BAD, and 0, OK), a list of
    error spans, or None for a text that is not explained.
    of_systems: whether scores are those of whole systems. are_labels: whether word values are labels. low_is_error:
    whether a low value is a suspected error.
    """

    path: Path
    rows: pd.DataFrame
    of_systems: bool = False
    are_labels: bool = False
    low_is_error: bool = True

    def where(self, row: int) -> str:
        """File and place of a row, for messages."""
        return f"{self.path}, {self.rows.place[row]}"


class Reading(NamedTuple):
    """How a table is read. key: the configuration key of these settings, for the advice in messages.

    columns: role and name of its column, of those that have another than the role's own.
    separator, max_bytes: as for a data set (`tabular`).
    """

    key: str
    columns: tuple[tuple[str, str], ...]
    separator: str | None
    max_bytes: int


def read_score_file(path: Path, metric: str, reading: Reading) -> ImportedFile:
    """The scores of a file. metric: its column is taken where a table has one of that name, and none called score.

    Raises DataError naming file, row and value for everything that is not as the layout promises, ConfigError for
    .score files of documents or domains.
    """
    name = path.name.lower()
    if name.endswith(".tar.gz"):
        pair = pair_of(path)
        try:
            scores = read_model_scores(path, pair)
        except (ValueError, LookupError, AttributeError) as error:
            raise DataError(f"{path}: holds no model_scores as published ({error}); download it again.") from error
        return ImportedFile(path, _rows(scores, language_pair=pair))
    if _is_table(name):
        return _score_table(path, metric, reading)
    if name.endswith(".score") and not name.endswith((".seg.score", ".sys.score")):
        raise ConfigError(f"{path}: scores of documents or domains are not read; name a .seg.score or .sys.score.")
    lines = _filled_lines(path)
    if name.endswith(".score") or len(lines[0].split("\t")) == 2:
        return read_blocks(path)
    if any("\t" in line for line in lines):
        return _score_submission(path, lines)
    return ImportedFile(path, _rows(_written_scores(lines, path)))


def read_blocks(path: Path) -> ImportedFile:
    """mt-metrics-eval: rows `SYSTEM SCORE`, separated by whitespace; of systems if the name says .sys.score."""
    systems, scores = zip(*split_rows(_filled_lines(path), 2, str(path), separator=None), strict=True)
    rows = _rows(_written_scores(scores, path), system=systems)
    return ImportedFile(path, rows, of_systems=path.name.lower().endswith(".sys.score"))


def read_word_file(path: Path, reading: Reading) -> ImportedFile:
    """The word values of a file. Raises DataError naming file, row and value for what is not as promised."""
    name = path.name.lower()
    if name.endswith(".json"):
        raise DataError(f"{path}: is one JSON document; write an object per text and line, with its id, into a .jsonl.")
    if _is_table(name):
        return _word_table(path, reading)
    lines = read_crlf_lines(path)
    if _lists_tags(lines):
        return _word_submission(path, lines)
    if not any(line.strip() for line in lines):
        raise DataError(f"{path}: the file is empty; write one line per text, with one score per word.")
    values = [_word_scores(line.split(), f"{path}, line {row}") for row, line in enumerate(lines, start=1)]
    return ImportedFile(path, _rows(values), low_is_error=not name.endswith(".submission"))


def _rows(values: Any, first: int = 1, **columns: Any) -> pd.DataFrame:
    """Rows of values on lines of their own, from the number `first`."""
    import pandas as pd

    places = [f"line {number}" for number in range(first, first + len(values))]
    return pd.DataFrame({"value": pd.Series(values), "place": places, **columns})


def _is_table(name: str) -> bool:
    return name.removesuffix(".gz").endswith(FORMATS)


def _lists_tags(lines: Sequence[str]) -> bool:
    return len(lines) > HEADER and len(lines[HEADER].split("\t")) == len(LISTED)


def _filled_lines(path: Path) -> list[str]:
    """The lines without CR, and without empty ones at the end. Raises DataError when there are none."""
    lines = read_crlf_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise DataError(f"{path}: the file is empty; write one score per line.")
    refuse_cr_alone(lines, path)
    return lines


def _written_scores(texts: Sequence[str], path: Path, first: int = 1) -> list[float]:
    """Scores that must not be left empty: the file could have been cut there."""
    scores = []
    for row, text in enumerate(texts, start=first):
        if not text.strip():
            raise DataError(f"{path}, line {row}: no score; {MISSING}.")
        scores.append(parse_number(text.strip(), f"{path}, line {row}", "the score", MISSING))
    return scores


def _score_submission(path: Path, lines: Sequence[str]) -> ImportedFile:
    for row, line in enumerate(lines[:HEADER], start=1):
        if "\t" in line:
            raise DataError(
                f"{path}, line {row}: tabs in {line[:80]!r}, but submissions begin with {HEADER} lines without; if it "
                "is a table with column names, let its name end in .tsv."
            )
    if _lists_tags(lines):
        words = _word_submission(path, lines).rows
        words = words[words.side == "hypothesis"].drop(columns="side").reset_index(drop=True)
        return ImportedFile(path, words.assign(value=[float(labels.mean()) for labels in words.value]))  # <EOS> counts
    first = HEADER + 1
    rows = split_rows(lines[HEADER:], 4, str(path), first)
    if not rows:
        raise DataError(f"{path}: holds no scores after its {HEADER} header lines.")
    pairs, _, ids, values = zip(*rows, strict=True)
    return ImportedFile(path, _rows(_written_scores(values, path, first), first, id=ids, language_pair=pairs))


def _word_submission(path: Path, lines: Sequence[str]) -> ImportedFile:
    """A predictions.txt of the word-level task, a row per sentence and side in order of appearance.

    Raises DataError naming file, line and value as `listed_tags`, and for an unknown side.
    """
    import pandas as pd

    texts = listed_tags(lines[HEADER:], str(path), HEADER + 1)
    rows = texts[["language_pair", "words"]].assign(
        id=texts.sentence.astype(str),
        side=[_side(side, f"{path}, line {line}") for side, line in zip(texts.side, texts.line, strict=True)],
        place=[f"line {line}" for line in texts.line],
        value=pd.Series([np.where(bad, BAD, 0.0) for bad in texts.bad], texts.index),
    )
    return ImportedFile(path, rows, are_labels=True)


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
    rows = _named_rows(table, columns, "score")
    what = f"the score in column '{columns['score']}'"
    rows["value"] = [parse_number(value, table.where(row), what, MISSING) for row, value in enumerate(rows.value)]
    # Without ids, a table that names each system once (in each language pair) is of systems.
    named = [name for name in ("system", "language_pair") if name in rows]
    return ImportedFile(
        path, rows, of_systems="id" not in rows and "system" in rows and not any(rows.duplicated(named))
    )


def _word_table(path: Path, reading: Reading) -> ImportedFile:
    import pandas as pd

    named = {role: dict(reading.columns).get(role, role) for role in WORD_ROLES}
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
    kind = kinds[0]
    rows = _named_rows(table, columns, kind)
    wheres = [table.where(row) for row in range(len(rows))]
    values: list[Any] = [_list(value, where, columns[kind]) for value, where in zip(rows.value, wheres, strict=True)]
    if kind != "error_spans":
        parse = _word_labels if kind == "labels" else _word_scores
        values = [value if value is None else parse(value, where) for value, where in zip(values, wheres, strict=True)]
    rows["value"] = pd.Series(values, dtype=object)
    if "words" in rows:
        rows["words"] = [_words(*row) for row in zip(rows.words, values, wheres, strict=True)]
    if kind == "error_spans":
        rows = rows.drop(columns="words", errors="ignore")
    if "side" in rows:
        rows["side"] = [_side(side, where) for side, where in zip(rows.side, wheres, strict=True)]
    return ImportedFile(path, rows, are_labels=kind == "labels")


def _columns(table: Table, roles: Sequence[str], reading: Reading) -> dict[str, str]:
    """role -> its column, of the roles that have one. Raises DataError for a named column that is not there."""
    columns = {role: role for role in roles if role in table.names}
    for role, name in reading.columns:
        if name not in table.names:
            raise DataError(
                f"{table.path}: no column '{name}' for the {role}. The file has the columns {listed(table.names)}; "
                f"correct {reading.key}.columns.{role}."
            )
        columns[role] = name
    return columns


def _named_rows(table: Table, columns: Mapping[str, str], kind: str) -> pd.DataFrame:
    """The rows of a table: the column of the role `kind` as `value`, and those of the other roles."""
    import pandas as pd

    taken = table.take(dict.fromkeys(columns.values()))
    rows = pd.DataFrame({"value": pd.Series(taken[columns[kind]], dtype=object)})
    rows["place"] = [table.place(row) for row in range(len(rows))]
    for role in ("side", *NAMES):
        if role in columns:
            rows[role] = [
                _name(value, table.where(row), columns[role]) for row, value in enumerate(taken[columns[role]])
            ]
    if "words" in columns:
        rows["words"] = pd.Series(taken[columns["words"]], dtype=object)
    return rows


def _name(value: Any, where: str, column: str) -> str:
    """An id, a system, a language pair or a side as a text, a whole number written as such."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)  # pandas writes whole numbers beside missing ones as floats
    if value is None or value == "" or isinstance(value, bool | float | list | dict):
        raise DataError(
            f"{where}: the column '{column}' holds {str(value)[:60]!r}, not a name; write the id, system or language "
            "pair that the score is of."
        )
    return str(value)


def _list(value: Any, where: str, column: str) -> list[Any] | None:
    """A list, as JSON and Parquet hold it or written with blanks between; None for a text that is not explained."""
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, str):
        return value.split()
    raise DataError(
        f"{where}: the column '{column}' holds {str(value)[:40]!r}; write a list with one value per word, or null for "
        "a text that is not explained."
    )


def _word_scores(values: Sequence[Any], where: str) -> NDArray[np.float64]:
    """Finite numbers. Raises DataError naming the place of another value."""
    scores = [
        math.nan if isinstance(value, bool) or "_" in str(value) else finite_or_nan(str(value)) for value in values
    ]
    for place, (value, score) in enumerate(zip(values, scores, strict=True), start=1):
        if math.isnan(score):
            raise DataError(
                f"{where}: score {place} is {str(value)[:40]!r}, not a finite number; write one number per word."
            )
    return np.array(scores, dtype=np.float64)


def _word_labels(values: Sequence[Any], where: str) -> NDArray[np.float64]:
    for place, value in enumerate(values, start=1):
        if isinstance(value, bool) or str(value) not in LABELS:
            raise DataError(
                f"{where}: label {place} is {str(value)[:40]!r}; write OK or BAD, or 0 for OK and 1 for BAD, one per "
                "word."
            )
    return np.array([LABELS[str(value)] for value in values], dtype=np.float64)


def _words(value: Any, numbers: Sequence[Any] | None, where: str) -> tuple[str, ...]:
    words = _list(value, where, "words") or []
    for place, word in enumerate(words, start=1):
        if not isinstance(word, str):
            raise DataError(f"{where}: word {place} is {str(word)[:40]!r}; write texts.")
    if numbers is not None and len(words) != len(numbers):
        raise DataError(
            f"{where}: {counted(len(numbers), 'value')} for {counted(len(words), 'word')}; give one value per word."
        )
    return tuple(words)
