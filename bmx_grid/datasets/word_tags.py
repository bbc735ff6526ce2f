"""Tags of words: as published, OK and BAD or 0 and 1 (1 is an error) per token, and as spans of characters.

Words of published tags are separated by any white space: some lines have several blanks, which the tags do not count.
A span has a start and an end, the end excluded, counted in characters of the text from 0, as xCOMET (Guerreiro et al.
2024, "xCOMET: Transparent machine translation evaluation through fine-grained error detection", TACL 12) and MQM tools
write them. A word is BAD if any of its characters is inside a span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.core.errors import DataError, unknown
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.wording import counted
from bmx_grid.datasets.lines import refuse, text_rows
from bmx_grid.words.tags import Labels, Rows, WordTags

if TYPE_CHECKING:
    import pandas as pd

OK_BAD, ZERO_ONE = ("OK", "BAD"), ("0", "1")  # the second one is an error
LISTED = ["language_pair", "method", "side", "sentence", "token", "word", "tag"]  # of tags written one per line
# Points of one error as in MQM (Freitag et al. 2021) for neutral to major, and 10 for critical as in later MQM data.
WEIGHTS: Mapping[str, float] = {"neutral": 0.0, "minor": 1.0, "major": 5.0, "critical": 10.0}
KEYS = ("error_spans", "errors", "spans")  # what tools call the list of spans of one text


def tags_of_lines(texts: Sequence[str], tags: Sequence[str], known: tuple[str, str] = OK_BAD) -> WordTags:
    """The tags of N lines of words. Raises ValueError where they do not fit the words, or for another tag."""
    return WordTags(rows_of_words(texts), Labels.from_rows(rows_of_tags(tags, known)))


def rows_of_words(lines: Sequence[str]) -> Rows:
    """The words of each line, separated by any white space."""
    return tuple(tuple(line.split()) for line in lines)


def rows_of_tags(lines: Sequence[str], known: tuple[str, str] = OK_BAD) -> list[list[int]]:
    """0 or 1 (an error) for each tag of each line. Raises ValueError for a tag that is not known."""
    return [[known.index(tag) for tag in line.split()] for line in lines]


def listed_tags(lines: Sequence[str], where: str, first: int) -> pd.DataFrame:
    """Tags written one per line, as LISTED says, with sentences and tokens numbered from 0: a row per text.

    Its columns: language_pair, side, sentence, line (of the first token), words and bad (lists).
    first: the number of the first of `lines` in its file. Raises DataError naming file, line and value for another
    number of fields, a sentence or token that is no number, another tag, and tokens that are missing or there twice.
    """
    rows = text_rows(lines, LISTED, where, first)
    for column, pattern, problem in (
        ("sentence", r"[0-9]{1,9}", "is not a number from 0; correct the line"),
        ("token", r"[0-9]{1,9}", "is not a number from 0; correct the line"),
        ("tag", "OK|BAD", "is not OK or BAD; write one of them"),
    ):
        sentence = f"{where}, line {{}}: the {column} {{!r}} {problem}.".format
        wrong = ~rows[column].str.fullmatch(pattern).astype(bool)
        refuse(rows, wrong, lambda row: sentence(row.line, row[column][:40]))  # noqa: B023
    rows = rows.astype({"sentence": int, "token": int})
    text = ["language_pair", "side", "sentence"]
    refuse(
        rows,
        rows.duplicated([*text, "token"]),
        lambda row: (
            f"{where}, line {row.line}: token {row.token} of sentence {row.sentence} was already tagged; keep one line."
        ),
    )
    rows["text"] = rows.groupby(text, sort=False).ngroup()
    rows = rows.sort_values(["text", "token"])
    rows["place"] = rows.groupby("text").cumcount()
    refuse(
        rows,
        rows.token != rows.place,
        lambda row: f"{where}: token {row.place} of sentence {row.sentence} has no line; give one line per token.",
    )
    rows["tag"] = rows.tag == "BAD"
    grouped = rows.groupby("text")
    texts = grouped[text].first().assign(line=grouped.line.min())
    return texts.assign(words=grouped.word.agg(tuple), bad=grouped.tag.agg(list))


@dataclass(frozen=True)
class ErrorSpan:
    """Characters start to end (excluded) of a text. severity: in lower case; category: "" where none is given."""

    start: int
    end: int
    severity: str
    category: str = ""


def tags_of_spans(
    texts: Sequence[str], spans: Sequence[Sequence[ErrorSpan]], words: Sequence[Sequence[str]]
) -> tuple[WordTags, Ragged]:
    """Tags of the words of N texts, and their scores: minus the weight of a word's heaviest span, 0 outside all.

    Category and severity are those of the heaviest span, of equally heavy ones the first. Spans that touch no word
    (empty ones, which mark an omission, and blanks) say nothing. words: of each text, in order.
    Raises DataError for a severity without a weight, ValueError for words that are not in their text.
    """
    rows: Rows = tuple(map(tuple, words))
    heaviest = [_heaviest(row, *parts) for row, parts in enumerate(zip(texts, spans, rows, strict=True), start=1)]
    tags = WordTags(
        rows,
        Labels.from_rows([span is not None for span in row] for row in heaviest),
        tuple(tuple("" if span is None else span.category for span in row) for row in heaviest),
        tuple(tuple("" if span is None else span.severity for span in row) for row in heaviest),
    )
    scores = (np.array([0.0 if span is None else 0.0 - WEIGHTS[span.severity] for span in row]) for row in heaviest)
    return tags, Ragged.from_rows(scores)


def _heaviest(row: int, text: str, spans: Sequence[ErrorSpan], words: Sequence[str]) -> list[ErrorSpan | None]:
    """The heaviest span that touches each word. Raises ValueError for a word that is not in its text, in order."""
    if not spans:
        return [None] * len(words)
    heaviest: list[ErrorSpan | None] = []
    end = 0
    for span in spans:
        if span.severity not in WEIGHTS:
            raise DataError(f"text {row}: " + unknown("severity", span.severity, WEIGHTS))
    for word in words:
        start = text.find(word, end)
        if start < 0:
            raise ValueError(f"the word {word!r} is not in its text after character {end}")
        end = start + len(word)
        touching = [span for span in spans if max(start, span.start) < min(end, span.end)]
        heaviest.append(max(touching, key=lambda span: WEIGHTS[span.severity], default=None))
    return heaviest


def parse_span(entry: Any, text: str, where: str) -> ErrorSpan:
    """A span as tools write it: an object with `start`, `end` and `severity`, and perhaps `category` and `text`.

    text: what the span counts characters of; a `text` in the entry must be the marked characters.
    Raises DataError naming `where` and the value: no object, a span outside its text or without numbers, a severity
    that is no text.
    """
    if not isinstance(entry, dict):
        raise DataError(f"{where}: {str(entry)[:60]!r} is no object with start, end and severity.")
    start, end = (_whole_number(entry.get(name), f"{where}: the {name}") for name in ("start", "end"))
    severity, marked = entry.get("severity"), entry.get("text")
    if not isinstance(severity, str) or not severity.strip():
        raise DataError(f"{where}: the severity is {str(severity)[:40]!r}; write {', '.join(WEIGHTS)}.")
    count = "count from 0, the end excluded, in the text that was scored."
    if not 0 <= start <= end <= len(text):
        raise DataError(
            f"{where}: the characters {start} to {end} are not in its text of {counted(len(text), 'character')}; "
            + count
        )
    if isinstance(marked, str) and marked.strip() != text[start:end].strip():
        raise DataError(
            f"{where}: the characters {start} to {end} are {text[start:end][:40]!r}, not {marked[:40]!r}; {count}"
        )
    return ErrorSpan(start, end, severity.strip().lower(), str(entry.get("category") or ""))


def _whole_number(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"{what} is {str(value)[:40]!r}, not a whole number of characters.")
    return value
