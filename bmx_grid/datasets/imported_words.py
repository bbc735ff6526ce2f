"""What a file made elsewhere says of words, carried from its own words to those that are scored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.wording import counted
from bmx_grid.datasets.imported import FromFile, segment_rows
from bmx_grid.datasets.imported_files import ImportedFile
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.word_tags import parse_span, tags_of_spans
from bmx_grid.words.alignment import How, align, carry_scores
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordScores
from bmx_grid.words.text import BLANK

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
SHOWN = 5  # words named in a warning


@dataclass(frozen=True, eq=False)
class Matched:
    """What a file says of one side of N segments, on its own words and on those that are scored.

    words: of its own, low for a suspected error. attributed, attributions: the scored words that it says something of,
    and what; NaN for the segments in `refused`, which are not explained: their positions, and why.
    """

    words: WordScores | None
    attributed: Rows
    attributions: Ragged
    refused: dict[int, str]


def own_words(
    file: ImportedFile, role: Role, segments: SegmentSet, scored: Rows, option: FromFile, low_is_error: bool
) -> tuple[WordScores, dict[int, str]]:
    """What the file says of N texts on its own words, and the positions of those that are not explained.

    A file without words has a value per word of the published tags, or else per scored word; whichever fits all texts.
    Zero-width spaces that have a tag of their own may be left out. Error spans speak of the scored words.
    Raises DataError naming file, place and both counts where neither fits, and for what `segment_rows` refuses.
    """
    if "side" in file.rows:
        of_side = file.rows[file.rows.side == role].drop(columns="side")
        if of_side.empty:
            raise DataMissingError(f"{file.path} has no row of the {role}")
        file = ImportedFile(file.path, of_side, are_labels=file.are_labels)
    rows = segment_rows(file, segments, option)
    values: list[Any] = rows.value.tolist()
    tags = segments.judgements.tags.get(role)
    published = [] if tags is None else [tags.words, tuple(map(_without_blanks, tags.words))]
    if any(isinstance(value, list) for value in values):
        values, words = _of_spans(file, rows, segments.texts(role), scored), scored
    elif "words" in rows:
        words = tuple(rows.words)
        if file.are_labels and published and all(words):
            _check_published(file, rows, *published)
    else:
        words = _fitting(file, rows, [*published, scored])
    refused = {place: "it is not explained in the file" for place, value in enumerate(values) if value is None}
    words = tuple(scored[place] if place in refused and not line else line for place, line in enumerate(words))
    sign = 1.0 if low_is_error else -1.0
    signed = [
        np.full(len(line), np.nan) if value is None else sign * value + 0.0
        for value, line in zip(values, words, strict=True)
    ]
    return WordScores(words, Ragged.from_rows(signed), file.are_labels), refused


def _of_spans(file: ImportedFile, rows: pd.DataFrame, texts: Sequence[str], scored: Rows) -> list[Floats | None]:
    """Per text minus the weight of each scored word's heaviest span; None where the file does not explain it."""
    spans = [
        [parse_span(entry, text, f"{file.path}, {place}, span {number}") for number, entry in enumerate(value or (), 1)]
        for value, place, text in zip(rows.value, rows.place, texts, strict=True)
    ]
    _, scores = tags_of_spans(texts, spans, scored)
    return [None if value is None else scores[row] for row, value in enumerate(rows.value)]


def _without_blanks(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if BLANK.sub("", word))


def _check_published(file: ImportedFile, rows: pd.DataFrame, published: Rows, bare: Rows) -> None:
    """Raise DataError for labels of other words than the published tags'."""
    for words, place, *choices in zip(rows.words, rows.place, published, bare, strict=True):
        if words not in choices:
            raise DataError(
                f"{file.path}, {place}: the words {' '.join(words)[:60]!r} are not the {len(choices[0])} that have a "
                f"published tag, {' '.join(choices[0])[:60]!r}; give one label per word, or name the file of this "
                "language pair."
            )


def _fitting(file: ImportedFile, rows: pd.DataFrame, choices: Sequence[Rows]) -> Rows:
    """The first of the choices of words with as many as there are values, in every text."""
    problems = []
    for words in choices:
        counts = zip(rows.place, rows.value, words, strict=True)
        wrong = [
            (place, len(value), len(line))
            for place, value, line in counts
            if value is not None and len(value) != len(line)
        ]
        if not wrong:
            return words
        problems.append(wrong[0])
    place, values, there = problems[0]
    raise DataError(
        f"{file.path}, {place}: {counted(values, 'value')} for {counted(there, 'word')}; give one value per word, or "
        "the words as well."
    )


def carried(
    words: WordScores, scored: Rows, refused: dict[int, str], how: How, names: Sequence[str], where: str
) -> Matched:
    """The values of the file's words on the N texts' scored words that they share characters with.

    Scored words that no word of the file belongs to are left out, among them the empty words between two blanks; both
    these and words of the file without a counterpart are counted and named in a warning. `<EOS>` belongs to no text.
    A text that has less than half of its characters in common with its words gets no attributions.
    names: of the segments, for messages; where: the file. Raises DataError where most texts are such.
    """
    attributed, rows, lost, others = [], [], [], list[int]()
    for place, (tokens, line) in enumerate(zip(words.words, scored, strict=True)):
        values = words.values[place]
        if tokens and tokens[-1] == EOS and (not line or line[-1] != EOS):
            tokens, values = tokens[:-1], values[:-1]
        links = None if place in refused else align(tokens, line)
        if links is not None and links.differing > 2 * int(links.shared.sum()):
            others.append(place)
            if 2 * len(others) > len(scored):
                raise DataError(
                    f"{where}: the words of segment '{names[place]}' and of most others are not those of its text: "
                    f"{' '.join(tokens)[:60]!r}, not {' '.join(line)[:60]!r}; name the file of this language pair and "
                    "system."
                )
            links = None
        if links is None:
            attributed.append(line)
            rows.append(np.full(len(line), np.nan))
            continue
        scores = carry_scores(links, values, how)
        kept = np.isfinite(scores)
        attributed.append(tuple(word for word, known in zip(line, kept.tolist(), strict=True) if known))
        rows.append(scores[kept])
        left = [*(tokens[token] for token in links.tokens_without), *(line[word] for word in np.flatnonzero(~kept))]
        lost += [(place, word) for word in _without_blanks(left)]
    if lost:
        some = ", ".join(f"{word!r} of '{names[place]}'" for place, word in lost[:SHOWN])
        warnings.warn(
            f"{where}: of {counted(len({place for place, _ in lost}), 'segment')}, {counted(len(lost), 'word')} "
            "without a counterpart in the other tokenisation left out: "
            f"{some}{', …' if len(lost) > SHOWN else ''}",
            stacklevel=2,
        )
    refused = refused | dict.fromkeys(others, "its words in the file are mostly not those of the text")
    return Matched(words, tuple(attributed), Ragged.from_rows(rows), dict(sorted(refused.items())))
