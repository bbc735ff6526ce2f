"""Word values made elsewhere, matched with segments and carried to the words that are scored. Nothing is shifted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.datasets.score_files import ScoreFile
from bmx_grid.datasets.score_matching import Matching, segment_rows
from bmx_grid.datasets.word_files import WordFile
from bmx_grid.errors import DataError, DataMissingError
from bmx_grid.ragged import Ragged
from bmx_grid.segments import SegmentSet
from bmx_grid.wording import counted
from bmx_grid.words.alignment import How, align, carry_scores
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordScores
from bmx_grid.words.text import BLANK

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


def as_scores(file: WordFile, side: Role | None) -> ScoreFile:
    """The rows of one side (all where the file names none) as rows to match: their scores are row numbers."""
    rows = [row for row in range(len(file.values)) if file.sides is None or file.sides[row] == side]

    def part(names: Sequence[str] | None) -> list[str] | None:
        return None if names is None else [names[row] for row in rows]

    numbers = [float(row) for row in rows]
    pairs, ids, systems = part(file.pairs), part(file.ids), part(file.systems)
    return ScoreFile(file.path, "segment", numbers, ids, systems, pairs, lambda row: file.place(rows[row]))


def own_words(
    file: WordFile, role: Role, segments: SegmentSet, scored: Rows, how: Matching, low_is_error: bool
) -> tuple[WordScores, dict[int, str]]:
    """What the file says of N texts on its own words, and the positions of those that are not explained.

    A file without words has a value per word of the published tags, or else per scored word; whichever fits all texts.
    Zero-width spaces that have a tag of their own may be left out.
    Raises DataError naming file, place and both counts where neither fits, and for what `segment_rows` refuses.
    """
    listed = as_scores(file, role)
    if not listed.scores:
        raise DataMissingError(f"{file.path} has no row of the {role}")
    rows = [int(listed.scores[row]) for row in segment_rows(listed, segments, how)]
    values = [file.values[row] for row in rows]
    tags = segments.judgements.tags.get(role)
    if file.words is not None:
        words: Rows = tuple(file.words[row] for row in rows)
        if file.are_labels and tags is not None and all(words):
            _check_published(file, rows, words, tags.words)
    else:
        words = _fitting(file, rows, values, [*_published(segments, role), scored])
    refused = {at: "it is not explained in the file" for at, own in enumerate(values) if own is None}
    words = tuple(scored[at] if at in refused and not own else own for at, own in enumerate(words))
    sign = 1.0 if low_is_error else -1.0
    turned = [
        np.full(len(line), np.nan) if own is None else sign * own + 0.0 for own, line in zip(values, words, strict=True)
    ]
    return WordScores(words, Ragged.from_rows(turned), file.are_labels), refused


def _published(segments: SegmentSet, role: Role) -> list[Rows]:
    """The words of the published tags, with and without zero-width spaces that are words of their own."""
    tags = segments.judgements.tags.get(role)
    if tags is None:
        return []
    return [tags.words, tuple(tuple(word for word in line if BLANK.sub("", word)) for line in tags.words)]


def _check_published(file: WordFile, rows: Sequence[int], words: Rows, published: Rows) -> None:
    """Raise DataError for labels of other words than the published tags'."""
    for row, own, wanted in zip(rows, words, published, strict=True):
        bare = tuple(word for word in wanted if BLANK.sub("", word))
        if own in (wanted, bare):
            continue
        if len(own) not in (len(wanted), len(bare)):
            raise DataError(
                f"{file.where(row)}: {counted(len(own), 'word')}, but {counted(len(wanted), 'word')} of this text have "
                "a published tag; give one label per word, or name the file of this language pair."
            )
        place = next(at for at, (one, other) in enumerate(zip(own, wanted, strict=False)) if one != other)
        raise DataError(
            f"{file.where(row)}: the word {own[place][:40]!r} is not token {place} of this text, "
            f"{wanted[place][:40]!r}; name the file of this language pair."
        )


def _fitting(file: WordFile, rows: Sequence[int], values: Sequence[Floats | None], choices: Sequence[Rows]) -> Rows:
    """The first of the choices of words with as many as there are values, in every text."""
    problem = ""
    for words in choices:
        wrong = next(
            (at for at, own in enumerate(values) if own is not None and len(own) != len(words[at])),
            None,
        )
        if wrong is None:
            return words
        own = values[wrong]
        assert own is not None
        problem = problem or (
            f"{file.where(rows[wrong])}: {counted(len(own), 'value')} for {counted(len(words[wrong]), 'word')}; give "
            "one value per word, or the words as well."
        )
    raise DataError(problem)


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
    for at, (own, line) in enumerate(zip(words.words, scored, strict=True)):
        if at in refused:
            attributed.append(line)
            rows.append(np.full(len(line), np.nan))
            continue
        ended = bool(own) and own[-1] == EOS and (not line or line[-1] != EOS)
        tokens, values = (own[:-1], words.values[at][:-1]) if ended else (own, words.values[at])
        links = align(tokens, line)
        if links.differing > 2 * int(links.shared.sum()):
            others.append(at)
            if 2 * len(others) > len(scored):
                raise DataError(
                    f"{where}: the words of segment '{names[at]}' and of most others are not those of its text: "
                    f"{' '.join(tokens)[:60]!r}, not {' '.join(line)[:60]!r}; name the file of this language pair and "
                    "system."
                )
            attributed.append(line)
            rows.append(np.full(len(line), np.nan))
            continue
        found = carry_scores(links, values, how)
        kept = np.isfinite(found)
        attributed.append(tuple(word for word, known in zip(line, kept.tolist(), strict=True) if known))
        rows.append(found[kept])
        for one, places in ((tokens, links.tokens_without), (line, np.flatnonzero(~kept).tolist())):
            lost += [(at, one[place]) for place in places if BLANK.sub("", one[place])]
    if lost:
        some = ", ".join(f"{word!r} of '{names[at]}'" for at, word in lost[:SHOWN])
        warnings.warn(
            f"{where}: {counted(len(lost), 'word')} of {counted(len({at for at, _ in lost}), 'segment')} "
            f"{'has' if len(lost) == 1 else 'have'} no counterpart in the other tokenisation and "
            f"{'is' if len(lost) == 1 else 'are'} left out: {some}{', …' if len(lost) > SHOWN else ''}",
            stacklevel=2,
        )
    refused = refused | dict.fromkeys(others, "its words in the file are mostly not those of the text")
    return Matched(words, tuple(attributed), Ragged.from_rows(rows), dict(sorted(refused.items())))
