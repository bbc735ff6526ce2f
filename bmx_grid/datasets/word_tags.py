"""Published tags of words: OK and BAD, or 0 and 1 (1 is an error), a tag for each token of a text.

Words are separated by any white space: some lines have several blanks, which the tags do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bmx_grid.datasets.lines import split_row
from bmx_grid.errors import DataError
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import Labels, Rows, WordTags

OK_BAD: Mapping[str, bool] = {"OK": False, "BAD": True}
ZERO_ONE: Mapping[str, bool] = {"0": False, "1": True}


def tags_of_lines(texts: Sequence[str], tags: Sequence[str], where: str, known: Mapping[str, bool]) -> WordTags:
    """The tags of N lines of words. where: the file of the tags; known: tag -> whether it is an error.

    Raises DataError naming file, line and both counts where tags do not fit the words, or the place of another tag.
    """
    words, labels = rows_of_words(texts), rows_of_tags(tags, where, known)
    for row, (line, own) in enumerate(zip(words, labels, strict=True), start=1):
        if len(line) != len(own):
            raise DataError(
                f"{where}, line {row}: {counted(len(own), 'tag')} for {counted(len(line), 'word')}; give one tag per "
                "word, words being separated by blanks."
            )
    return WordTags(words, Labels.from_rows(labels))


def of_segments(tags: dict[Role, WordTags], count: int, tagged: Path, where: str) -> dict[Role, WordTags]:
    """The tags, if they are of as many sentences as `where` has. Raises DataError naming both files and counts."""
    for own in tags.values():
        if len(own) != count:
            raise DataError(
                f"{tagged}: tags of {counted(len(own), 'sentence')}, but {where} has {counted(count, 'sentence')}; "
                "download both again."
            )
    return tags


def rows_of_words(lines: Sequence[str]) -> Rows:
    """The words of each line, separated by any white space."""
    return tuple(tuple(line.split()) for line in lines)


def rows_of_tags(lines: Sequence[str], where: str, known: Mapping[str, bool]) -> list[list[bool]]:
    """The tags of each line. Raises DataError naming file, line and place of a tag that is not known."""
    for row, line in enumerate(lines, start=1):
        for place, tag in enumerate(line.split(), start=1):
            if tag not in known:
                raise DataError(f"{where}, line {row}, tag {place}: {_unknown_tag(tag, known)}")
    return [[known[tag] for tag in line.split()] for line in lines]


def _unknown_tag(tag: str, known: Mapping[str, bool]) -> str:
    return f"the tag {tag[:40]!r} is not {' or '.join(known)}; write one of them."


def listed_labels(
    lines: Sequence[str], where: str, first: int, words: Rows, of_words: str, expected: tuple[str, str | None, str]
) -> Labels:
    """Labels written one per line: language pair, method, side, sentence, token, word and tag, numbers from 0.

    first: the number of the first of `lines` in its file; words: of every sentence; of_words: their file, for
    messages. expected: language pair, method (None for any) and side of every line.
    Raises DataError naming file, line and value for a line of another pair or side, a sentence or token that is unknown
    or doubled, a word that is not the one of the text, another tag, and a token without a line.
    """
    bad: list[list[bool | None]] = [[None] * len(row) for row in words]
    for row, line in enumerate(lines, start=first):
        *head, sentence, token, word, tag = split_row(line, 7, where, row)
        place = f"{where}, line {row}"
        for what, given, wanted in zip(("language pair", "method", "side"), head, expected, strict=True):
            if wanted is not None and given != wanted:
                raise DataError(f"{place}: the {what} {given[:40]!r} is not '{wanted}'; name the right file.")
        number, position = _index(sentence, len(words), place, "sentence"), -1
        position = _index(token, len(words[number]), f"{place} (sentence {number})", "token")
        if word != words[number][position]:
            raise DataError(
                f"{place}: the word {word[:40]!r} is not token {position} of sentence {number} of {of_words}, "
                f"{words[number][position]!r}; name the file of this text."
            )
        if tag not in OK_BAD:
            raise DataError(f"{place}: {_unknown_tag(tag, OK_BAD)}")
        if bad[number][position] is not None:
            raise DataError(f"{place}: token {position} of sentence {number} was already tagged; keep one line.")
        bad[number][position] = OK_BAD[tag]
    for number, tags in enumerate(bad):
        there = sum(tag is not None for tag in tags)
        if there < len(tags):
            missing = sum(None in other for other in bad)
            raise DataError(
                f"{where}: {counted(there, 'tag')} for the {counted(len(tags), 'token')} of sentence {number} "
                f"(line {number + 1} of {of_words}), {counted(missing, 'sentence is', 'sentences are')} incomplete; "
                "give one line per token."
            )
    return Labels.from_rows([bool(tag) for tag in tags] for tags in bad)


def _index(text: str, count: int, where: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) >= count:
        raise DataError(f"{where}: the {what} {text[:40]!r} is not a number from 0 to {count - 1}; correct the line.")
    return int(text)
