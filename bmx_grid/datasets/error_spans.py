"""Errors marked as spans of characters, and what they say of words: MQM annotations and error-span JSON.

A span has a start and an end, the end excluded, counted in characters of the text from 0, as xCOMET (Guerreiro et al.
2024, "xCOMET: Transparent machine translation evaluation through fine-grained error detection", TACL 12) and MQM tools
write them. A word is BAD if any of its characters is inside a span.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.datasets.lines import read_lines
from bmx_grid.errors import DataError, unknown
from bmx_grid.ragged import Ragged
from bmx_grid.wording import counted
from bmx_grid.words.tags import Labels, Rows, WordTags
from bmx_grid.words.text import split_words

# Points of one error as in MQM (Freitag et al. 2021) for neutral to major, and 10 for critical as in later MQM data.
WEIGHTS: Mapping[str, float] = {"neutral": 0.0, "minor": 1.0, "major": 5.0, "critical": 10.0}
KEYS = ("error_spans", "errors", "spans")  # what tools call the list of spans of one text


@dataclass(frozen=True)
class ErrorSpan:
    """Characters start to end (excluded) of a text. severity: in lower case; category: "" where none is given."""

    start: int
    end: int
    severity: str
    category: str = ""


@dataclass(frozen=True, eq=False)
class SpanTags:
    """What spans say of the words of N texts.

    tags: with the category and severity of the heaviest span of each word, of equally heavy ones the first.
    scores: minus the weight of that span, 0 for words outside all spans: low for errors, as attributions are.
    without_words: (text, span) of spans that touch no word: empty ones, which mark an omission, and blanks.
    """

    tags: WordTags
    scores: Ragged
    without_words: tuple[tuple[int, ErrorSpan], ...]


def tags_of_spans(
    texts: Sequence[str],
    spans: Sequence[Sequence[ErrorSpan]],
    words: Sequence[Sequence[str]] | None = None,
    weights: Mapping[str, float] = WEIGHTS,
) -> SpanTags:
    """Word tags from the spans of N texts.

    words: of each text, in order; those between single spaces by default. weights: points of an error by severity.
    Raises DataError for a severity without a weight, ValueError for words that are not in their text, or spans outside
    it.
    """
    rows: Rows = tuple(split_words(text) if words is None else tuple(words[row]) for row, text in enumerate(texts))
    bad, category, severity, scores, without = [], [], [], [], []
    for row, (text, own, marked) in enumerate(zip(texts, rows, spans, strict=True)):
        places = word_places(text, own) if marked else []
        starts, ends = [start for start, _ in places], [end for _, end in places]  # both in order
        heaviest: list[ErrorSpan | None] = [None] * len(own)
        for span in marked:
            if span.severity not in weights:
                raise DataError(f"text {row + 1}: " + unknown("severity", span.severity, weights))
            if not 0 <= span.start <= span.end <= len(text):
                raise ValueError(f"the span {span.start} to {span.end} is not in a text of {len(text)} characters")
            near = range(bisect_right(ends, span.start), bisect_left(starts, span.end))
            touched = [at for at in near if max(starts[at], span.start) < min(ends[at], span.end)]
            if not touched:
                without.append((row, span))
            for at in touched:
                before = heaviest[at]
                if before is None or weights[span.severity] > weights[before.severity]:
                    heaviest[at] = span
        bad.append([one is not None for one in heaviest])
        category.append(tuple("" if one is None else one.category for one in heaviest))
        severity.append(tuple("" if one is None else one.severity for one in heaviest))
        scores.append(np.array([0.0 if one is None else 0.0 - weights[one.severity] for one in heaviest]))
    tags = WordTags(rows, Labels.from_rows(bad), tuple(category), tuple(severity))
    return SpanTags(tags, Ragged.from_rows(scores), tuple(without))


def word_places(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of each word in its text, the words being in order. Raises ValueError for a word that is not."""
    places, at = [], 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            raise ValueError(f"the word {word!r} is not in its text after character {at}")
        at = start + len(word)
        places.append((start, at))
    return places


def read_error_spans(
    path: Path, texts: Mapping[tuple[str, str | None], str], all_ids: Sequence[str] = ()
) -> dict[tuple[str, str | None], list[ErrorSpan]]:
    """Spans of texts by (id, system), from a JSONL file of one object per text, or one JSON object or list of them.

    An object has `id` (and `system` where the texts name one) and a list `error_spans`, `errors` or `spans` of objects
    with `start`, `end` and `severity`, and perhaps `category` and `text`, which must then be the marked characters.
    Without any `id`, the spans are in the order of `texts`: a list of lists (or of objects), bare, or as `error_spans`
    of an object or of its `metadata`, as xCOMET's output is written.
    texts: (id, system) -> the text that the spans count characters of, in their order. all_ids: of the whole test set
    that the texts may be a part of, in its order; the file may hold all of them.
    Raises DataError naming file, line or entry, and value: no JSON, a text that is missing, unknown or doubled, a span
    outside its text or without numbers, a severity that is no text.
    """
    entries = _entries(path)
    keys = list(texts)
    if not any(isinstance(one, dict) and "id" in one for _, one in entries):
        if len(entries) == len(all_ids) > len(keys) and all(system is None for _, system in keys):
            place = {one: number for number, one in enumerate(all_ids)}
            entries = [entries[place[one]] for one, _ in keys]
        if len(entries) != len(keys):
            raise DataError(
                f"{path}: spans of {counted(len(entries), 'text')} without ids, but there are "
                f"{counted(len(keys), 'text')}; give one list per text, or name the id of each."
            )
        return {key: _spans(one, texts[key], where) for key, (where, one) in zip(keys, entries, strict=True)}
    found: dict[tuple[str, str | None], list[ErrorSpan]] = {}
    named = any(system is not None for _, system in keys)
    others = set(all_ids) - {one for one, _ in keys}
    for where, one in entries:
        if not isinstance(one, dict) or "id" not in one:
            raise DataError(f"{where}: no id, which other entries have; name it.")
        key = (str(one["id"]), str(one["system"]) if named and one.get("system") is not None else None)
        name = key[0] if key[1] is None else f"{key[0]}:{key[1]}"
        if key not in texts and key[0] in others:
            continue
        if key not in texts:
            raise DataError(f"{where}: '{name[:60]}' is none of the texts; correct id and system, or take it out.")
        if key in found:
            raise DataError(f"{where}: '{name[:60]}' was already there; keep one.")
        found[key] = _spans(one, texts[key], where)
    missing = [key for key in keys if key not in found]
    if missing:
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        name = missing[0][0] if missing[0][1] is None else f"{missing[0][0]}:{missing[0][1]}"
        raise DataError(f"{path}: no spans for '{name}'{more}; write an empty list for a text without errors.")
    return {key: found[key] for key in keys}


def _entries(path: Path) -> list[tuple[str, Any]]:
    """Place and content of what the file has per text."""
    lines = read_lines(path)
    filled = [(row, line) for row, line in enumerate(lines, start=1) if line.strip()]
    if not filled:
        raise DataError(f"{path}: the file is empty; write one JSON object per text.")
    try:
        whole = json.loads("\n".join(lines))
    except (json.JSONDecodeError, RecursionError):
        return [(f"{path}, line {row}", _parsed(line, f"{path}, line {row}")) for row, line in filled]
    if isinstance(whole, dict) and "id" not in whole:
        inside = whole["metadata"] if isinstance(whole.get("metadata"), dict) else whole
        whole = next((inside[key] for key in KEYS if key in inside), None)
    elif isinstance(whole, dict):
        whole = [whole]
    if not isinstance(whole, list):
        raise DataError(f"{path}: holds no list of {' or '.join(KEYS)}; write one JSON object per text and line.")
    return [(f"{path}, entry {number}", one) for number, one in enumerate(whole, start=1)]


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{where}: is not JSON ({error}); write one JSON object per line.") from error


def _spans(entry: Any, text: str, where: str) -> list[ErrorSpan]:
    listed = entry if isinstance(entry, list) else None
    if isinstance(entry, dict):
        listed = next((entry[key] for key in KEYS if key in entry), None)
    if not isinstance(listed, list):
        raise DataError(f"{where}: no list of {' or '.join(KEYS)}; write an empty list for a text without errors.")
    return [_span(one, text, f"{where}, span {number}") for number, one in enumerate(listed, start=1)]


def _span(one: Any, text: str, where: str) -> ErrorSpan:
    if not isinstance(one, dict):
        raise DataError(f"{where}: {str(one)[:60]!r} is no object with start, end and severity.")
    start, end = (_place(one.get(name), f"{where}: the {name}") for name in ("start", "end"))
    severity = one.get("severity")
    if not isinstance(severity, str) or not severity.strip():
        raise DataError(f"{where}: the severity is {str(severity)[:40]!r}; write {', '.join(WEIGHTS)}.")
    if not 0 <= start <= end <= len(text):
        raise DataError(
            f"{where}: the characters {start} to {end} are not in its text of {counted(len(text), 'character')}; "
            "count from 0, the end excluded, in the text that was scored."
        )
    marked = one.get("text")
    if isinstance(marked, str) and marked.strip() != text[start:end].strip():
        raise DataError(
            f"{where}: the characters {start} to {end} are {text[start:end][:40]!r}, not {marked[:40]!r}; count from "
            "0, the end excluded, in the text that was scored."
        )
    category = one.get("category") or ""
    return ErrorSpan(start, end, severity.strip().lower(), str(category))


def _place(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"{what} is {str(value)[:40]!r}, not a whole number of characters.")
    return value
