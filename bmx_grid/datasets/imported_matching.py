"""Which row of a file made elsewhere is which segment's: by (id, system), or by the order of the sources.

Nothing is dropped and nothing is shifted.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.datasets.columns import listed
from bmx_grid.datasets.error_spans import parse_span, tags_of_spans
from bmx_grid.datasets.imported_files import ImportedFile
from bmx_grid.datasets.path_patterns import PathPattern
from bmx_grid.errors import ConfigError, DataError, DataMissingError, close_match
from bmx_grid.ragged import Ragged
from bmx_grid.segments import Segment, SegmentSet
from bmx_grid.wording import counted
from bmx_grid.words.alignment import How, align, carry_scores
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordScores
from bmx_grid.words.text import BLANK

Floats = NDArray[np.float64]
ADD = "add it, or write None for what has no score."
SHOWN = 5  # words named in a warning


@dataclass(frozen=True)
class Matching:
    """How rows are matched. key: the configuration key of the metric or explainer, for the advice in messages.

    one_pair: whether the file is known to be of the language pair asked for, so that rows of another are mistakes.
    ignore_extra: whether rows of ids or systems that the test set does not have are passed over.
    """

    key: str
    one_pair: bool
    ignore_extra: bool


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


def is_of_pair(file: ImportedFile, pattern: PathPattern, pairs: Sequence[str], pair: str, key: str) -> bool:
    """Whether the file is of this pair by its path or by `pairs`, those that it was given for, or else by its rows.

    Raises ConfigError when nothing says of which pair it is, DataMissingError when it is of another.
    """
    if pairs and pair not in pairs:
        raise DataMissingError(f"{file.path} is of {pairs[0]}")
    known = bool(pairs) or pattern.has("language_pair")
    if file.pairs is None and not known:
        raise ConfigError(
            f"{file.path} does not say of which language pair it is: write {key}.language_pairs=[{pair}], "
            f"{{language_pair}} in its path, or name its column of language pairs, as {key}.columns.language_pair=NAME."
        )
    return known


def segment_scores(file: ImportedFile, segments: SegmentSet, how: Matching) -> Floats:
    """float64[N] scores of the N segments, NaN where the file says that there is none.

    Raises as `segment_rows`, and DataError where all scores are missing.
    """
    scores = np.array(file.values, dtype=np.float64)[segment_rows(file, segments, how)]
    if not np.isfinite(scores).any():
        raise DataError(
            f"{file.path}: no segment of {_set(segments)} has a score, all are missing; name the right file or column."
        )
    return scores


def segment_rows(file: ImportedFile, segments: SegmentSet, how: Matching) -> NDArray[np.intp]:
    """intp[N] the row of each of the N segments.

    Raises DataError naming the file and a row, or a segment without one: for a score that is missing or there twice,
    another number of scores than the test set has segments, and rows of unknown ids or systems. Raises
    DataMissingError when the file has no row of the language pair.
    """
    rows = _rows_of_pair(file, segments, how)
    by_segment = _by_order(file, segments, rows) if file.ids is None else _by_id(file, segments, rows)
    if file.systems is None or not segments.systems:
        _refuse_ambiguous(file, segments)
    if not how.ignore_extra:
        _refuse_unknown(file, "id", rows, segments, how)
        _refuse_unknown(file, "system", rows, segments, how)
    return np.array(by_segment, dtype=np.intp)


def system_scores(file: ImportedFile, segments: SegmentSet, how: Matching) -> Mapping[str, float]:
    """The score of each system of the segments, NaN where the file says that there is none. Raises as above."""
    assert file.systems is not None
    rows: dict[str, int] = {}
    wanted = _rows_of_pair(file, segments, how)
    if not segments.systems:
        raise DataError(_no_systems(file, segments, "scores of systems"))
    for row in wanted:
        first = rows.setdefault(file.systems[row], row)
        if first != row:
            name = file.systems[row][:60]
            raise DataError(f"{file.where(row)}: the system {name!r} was already in {file.place(first)}; keep one.")
    _refuse_missing_systems(file, segments, list(rows))
    if not how.ignore_extra:
        _refuse_unknown(file, "system", wanted, segments, how)
    return {system: file.values[rows[system]] for system in segments.systems}


def _set(segments: SegmentSet) -> str:
    return f"{segments.dataset} {segments.language_pair}"


def _no_systems(file: ImportedFile, segments: SegmentSet, what: str) -> str:
    return (
        f"{file.path}: holds {what}, but the segments of {_set(segments)} name no systems; give the data set a column "
        "for them."
    )


def _refuse_missing_systems(file: ImportedFile, segments: SegmentSet, known: Sequence[str]) -> None:
    for system in segments.systems:
        if system not in known:
            raise DataError(
                f"{file.path}: no score for the system {system[:60]!r}; the file has {listed(known)}. Correct the "
                f"name, or {ADD}"
            )


def _rows_of_pair(file: ImportedFile, segments: SegmentSet, how: Matching) -> Sequence[int]:
    """The rows of the language pair; all where the file names none."""
    if file.pairs is None:
        return range(len(file.values))
    pair = segments.language_pair
    rows = [row for row, name in enumerate(file.pairs) if name == pair]
    if how.one_pair and len(rows) < len(file.pairs):
        other = next(row for row, name in enumerate(file.pairs) if name != pair)
        raise DataError(
            f"{file.where(other)}: a score of {file.pairs[other][:60]!r}, but the file was given for {pair}; "
            "correct the row, or name the right file."
        )
    if not rows:
        raise DataMissingError(f"{file.path} has no row of {pair}, only of {listed(tuple(dict.fromkeys(file.pairs)))}")
    return rows


def _name(file: ImportedFile, row: int) -> str:
    """The segment that a row is of, as messages write it."""
    assert file.ids is not None
    return Segment(file.ids[row], "", system=None if file.systems is None else file.systems[row]).name[:60]


def _by_id(file: ImportedFile, segments: SegmentSet, rows: Sequence[int]) -> list[int]:
    """For each segment its row."""
    assert file.ids is not None
    systems = file.systems if segments.systems else None
    row_of: dict[tuple[str, str | None], int] = {}
    for row in rows:
        first = row_of.setdefault((file.ids[row], None if systems is None else systems[row]), row)
        if first != row:
            hint = ", or name the column of the systems" if systems is None else ""
            name = file.ids[row][:60] if systems is None else _name(file, row)
            raise DataError(
                f"{file.where(row)}: segment {name!r} was already scored in {file.place(first)}; keep one{hint}."
            )
    wanted = {(segment.id, None if systems is None else segment.system): segment for segment in segments.segments}
    missing = [segment for key, segment in wanted.items() if key not in row_of]
    if missing:
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        left = next((row for key, row in row_of.items() if key not in wanted), None)
        held = ""
        if left is not None:  # the row that was perhaps meant for it
            place = file.place(left)
            held = f" {place[:1].upper()}{place[1:]} has {_name(file, left)!r}, which no segment is called."
        raise DataError(
            f"{file.path}: no score for segment {missing[0].name[:60]!r}{more} of {_set(segments)}.{held} Correct the "
            f"id, or {ADD}"
        )
    return [row_of[key] for key in wanted]


def _by_order(file: ImportedFile, segments: SegmentSet, rows: Sequence[int]) -> list[int]:
    """For each segment its row, in a file whose scores are in the order of the sources, a block per system."""
    blocks: dict[str | None, list[int]] = {}
    for row in rows:
        blocks.setdefault(None if file.systems is None else file.systems[row], []).append(row)
    position = {name: number for number, name in enumerate(segments.all_ids)}
    for system, block in blocks.items():
        if len(block) != len(position):
            of = "" if system is None else f" for the system {system[:60]!r} (first in {file.place(block[0])})"
            raise DataError(
                f"{file.path}: {counted(len(block), 'score')}{of}, but {_set(segments)} has "
                f"{counted(len(position), 'segment')}; give one per source in the order of the sources, or a table "
                "with a column id."
            )
    if file.systems is None or not segments.systems:
        if len(blocks) > 1:
            raise DataError(_no_systems(file, segments, f"scores of {len(blocks)} systems"))
        (block,) = blocks.values()
        return [block[position[segment.id]] for segment in segments.segments]
    _refuse_missing_systems(file, segments, [system for system in blocks if system])
    return [blocks[segment.system][position[segment.id]] for segment in segments.segments]


def _refuse_ambiguous(file: ImportedFile, segments: SegmentSet) -> None:
    """Raise DataError when several systems translate one segment, and the file does not name them."""
    seen: dict[str, str] = {}
    for segment in segments.segments:
        if segment.id in seen:
            raise DataError(
                f"{file.path}: names no systems, but segment '{segment.id}' of {_set(segments)} has translations of "
                f"'{seen[segment.id]}' and '{segment.system}'; add a column system."
            )
        seen[segment.id] = str(segment.system)


def _refuse_unknown(file: ImportedFile, role: str, rows: Sequence[int], segments: SegmentSet, how: Matching) -> None:
    """Raise DataError for the first row of an id or a system that the whole test set does not have."""
    names = file.ids if role == "id" else file.systems
    known = segments.all_ids if role == "id" else segments.all_systems
    if names is None or not known:  # where the data set names no systems, ids alone are matched
        return
    allowed = set(known)
    wrong = [row for row in rows if names[row] not in allowed]
    if wrong:
        more = f" (and {len(wrong) - 1:,} more rows)" if len(wrong) > 1 else ""
        name = names[wrong[0]]
        raise DataError(
            f"{file.where(wrong[0])}: the {role} {name[:60]!r}{more} is none of {_set(segments)}"
            f"{close_match(name, known)}; correct it, take the rows out, or set {how.key}.extra=ignore."
        )


def own_words(
    file: ImportedFile, role: Role, segments: SegmentSet, scored: Rows, how: Matching, low_is_error: bool
) -> tuple[WordScores, dict[int, str]]:
    """What the file says of N texts on its own words, and the positions of those that are not explained.

    A file without words has a value per word of the published tags, or else per scored word; whichever fits all texts.
    Zero-width spaces that have a tag of their own may be left out. Error spans speak of the scored words.
    Raises DataError naming file, place and both counts where neither fits, and for what `segment_rows` refuses.
    """
    file = file.of_side(role)
    if not file.values:
        raise DataMissingError(f"{file.path} has no row of the {role}")
    rows = segment_rows(file, segments, how).tolist()
    values = [file.values[row] for row in rows]
    if any(isinstance(value, list) for value in values):
        values, words = _of_spans(file, rows, segments.texts(role), scored), scored
    elif file.words is not None:
        words = tuple(file.words[row] for row in rows)
        tags = segments.judgements.tags.get(role)
        if file.are_labels and tags is not None and all(words):
            _check_published(file, rows, words, tags.words)
    else:
        words = _fitting(file, rows, values, [*_published(segments, role), scored])
    refused = {place: "it is not explained in the file" for place, value in enumerate(values) if value is None}
    words = tuple(scored[place] if place in refused and not line else line for place, line in enumerate(words))
    sign = 1.0 if low_is_error else -1.0
    signed = [
        np.full(len(line), np.nan) if value is None else sign * value + 0.0
        for value, line in zip(values, words, strict=True)
    ]
    return WordScores(words, Ragged.from_rows(signed), file.are_labels), refused


def _of_spans(file: ImportedFile, rows: Sequence[int], texts: Sequence[str], scored: Rows) -> list[Floats | None]:
    """Per text minus the weight of each scored word's heaviest span; None where the file does not explain it."""
    spans = [
        [
            parse_span(entry, text, f"{file.where(row)}, span {number}")
            for number, entry in enumerate(file.values[row] or (), start=1)
        ]
        for row, text in zip(rows, texts, strict=True)
    ]
    _, scores = tags_of_spans(texts, spans, scored)
    return [None if file.values[row] is None else scores[place] for place, row in enumerate(rows)]


def _published(segments: SegmentSet, role: Role) -> list[Rows]:
    """The words of the published tags, with and without zero-width spaces that are words of their own."""
    tags = segments.judgements.tags.get(role)
    return [] if tags is None else [tags.words, tuple(map(_without_blanks, tags.words))]


def _without_blanks(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if BLANK.sub("", word))


def _check_published(file: ImportedFile, rows: Sequence[int], words: Rows, published: Rows) -> None:
    """Raise DataError for labels of other words than the published tags'."""
    for row, line, wanted in zip(rows, words, published, strict=True):
        bare = _without_blanks(wanted)
        if line in (wanted, bare):
            continue
        if len(line) not in (len(wanted), len(bare)):
            raise DataError(
                f"{file.where(row)}: {counted(len(line), 'word')}, but {counted(len(wanted), 'word')} of this text "
                "have a published tag; give one label per word, or name the file of this language pair."
            )
        place = next(place for place, pair in enumerate(zip(line, wanted, strict=False)) if pair[0] != pair[1])
        raise DataError(
            f"{file.where(row)}: the word {line[place][:40]!r} is not token {place} of this text, "
            f"{wanted[place][:40]!r}; name the file of this language pair."
        )


def _fitting(file: ImportedFile, rows: Sequence[int], values: Sequence[Floats | None], choices: Sequence[Rows]) -> Rows:
    """The first of the choices of words with as many as there are values, in every text."""
    problem = ""
    for words in choices:
        wrong = next(
            (
                (row, len(value), len(line))
                for row, value, line in zip(rows, values, words, strict=True)
                if value is not None and len(value) != len(line)
            ),
            None,
        )
        if wrong is None:
            return words
        problem = problem or (
            f"{file.where(wrong[0])}: {counted(wrong[1], 'value')} for {counted(wrong[2], 'word')}; give one value per "
            "word, or the words as well."
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
        _warn_of_lost(lost, names, where)
    refused = refused | dict.fromkeys(others, "its words in the file are mostly not those of the text")
    return Matched(words, tuple(attributed), Ragged.from_rows(rows), dict(sorted(refused.items())))


def _warn_of_lost(lost: Sequence[tuple[int, str]], names: Sequence[str], where: str) -> None:
    some = ", ".join(f"{word!r} of '{names[place]}'" for place, word in lost[:SHOWN])
    warnings.warn(
        f"{where}: {counted(len(lost), 'word')} of {counted(len({place for place, _ in lost}), 'segment')} "
        f"{'has' if len(lost) == 1 else 'have'} no counterpart in the other tokenisation and "
        f"{'is' if len(lost) == 1 else 'are'} left out: {some}{', …' if len(lost) > SHOWN else ''}",
        stacklevel=3,
    )
