"""Word-level truth of Eval4NLP 2021 and MLQE-PE: a published tag for each token of source and hypothesis.

| data set | files | tags |
|---|---|---|
| Eval4NLP 2021 | test21.src-tags, test21.tgt-tags | 0 and 1, 1 is an error |
| MLQE-PE 2020 | test20.source_tags, test20.tags | OK and BAD; 2n + 1 for n target words: gap, word, gap, …, gap |
| MLQE-PE 2021 | task2_wordlevel_src.tags, task2_wordlevel_mt.tags | OK and BAD, one word per line |

Words are separated by any white space: some lines have several blanks, which the tags do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bmx_grid.datasets.lines import check_aligned, read_archive, split_row
from bmx_grid.errors import DataError
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import Labels, Rows, WordTags

OK_BAD: Mapping[str, bool] = {"OK": False, "BAD": True}
ZERO_ONE: Mapping[str, bool] = {"0": False, "1": True}
EVAL4NLP21 = ("test21.src", "test21.src-tags", "test21.mt", "test21.tgt-tags")
TEST21_SIDES: Mapping[Role, tuple[str, str]] = {"source": ("src", "source"), "hypothesis": ("mt", "mt")}


def eval4nlp21_tags(archive: Path) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's archive, in the order of its sentences.

    They were given by people. Raises DataError naming file, line and both counts where tags do not fit the words.
    """
    return eval4nlp21_tags_of(read_archive(archive, EVAL4NLP21), archive)


def eval4nlp21_tags_of(files: Mapping[str, Sequence[str]], archive: Path) -> dict[Role, WordTags]:
    """The same from the lines of the archive's members EVAL4NLP21."""
    names = EVAL4NLP21
    where = {name: f"{archive}:{name}" for name in names}
    check_aligned({where[name]: files[name] for name in names})
    sides: tuple[tuple[Role, str, str], ...] = (("source", *names[:2]), ("hypothesis", *names[2:]))
    return {
        side: WordTags(
            words, Labels.from_rows(fitting(words, rows_of_tags(files[tags], where[tags], ZERO_ONE), where[tags]))
        )
        for side, text, tags in sides
        for words in [rows_of_words(files[text])]
    }


def mlqe_pe_test20_tags(archive: Path) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's post-editing archive of 2020; tags of gaps are not read.

    They were derived from post-edits. Raises DataError as `eval4nlp21_tags`.
    """
    names = ("test20.src", "test20.source_tags", "test20.mt", "test20.tags")
    files = read_archive(archive, names)
    where = {name: f"{archive}:{name}" for name in names}
    check_aligned({where[name]: files[name] for name in names})
    sources, hypotheses = rows_of_words(files["test20.src"]), rows_of_words(files["test20.mt"])
    of_source = rows_of_tags(files["test20.source_tags"], where["test20.source_tags"], OK_BAD)
    of_both = rows_of_tags(files["test20.tags"], where["test20.tags"], OK_BAD)
    for row, (words, tags) in enumerate(zip(hypotheses, of_both, strict=True), start=1):
        if len(tags) != 2 * len(words) + 1:
            raise DataError(
                f"{where['test20.tags']}, line {row}: {counted(len(tags), 'tag')} for {counted(len(words), 'word')} of "
                f"test20.mt, expected 2n + 1 = {2 * len(words) + 1} (gap, word, gap, …); correct the line, or download "
                "the archive again."
            )
    fitted = fitting(sources, of_source, where["test20.source_tags"])
    return {
        "source": WordTags(sources, Labels.from_rows(fitted)),
        "hypothesis": WordTags(hypotheses, Labels.from_rows(tags[1::2] for tags in of_both)),
    }


def mlqe_pe_test21_tags(archive: Path, language_pair: str) -> dict[Role, WordTags]:
    """The tags of source and hypothesis of a pair's archive of 2021, whose words are those of `test21.tok`.

    Raises DataError for a row of another language pair or side, words or sentences that are missing, doubled or out
    of order, and words that are not those of the tokenised text.
    """
    found: dict[Role, WordTags] = {}
    for side, (ending, column) in TEST21_SIDES.items():
        text, tags = f"test21.tok.{ending}", f"task2_wordlevel_{ending}.tags"
        files = read_archive(archive, (text, tags))
        words = rows_of_words(files[text])
        expected = (language_pair, "REFERENCE", column)
        labels = listed_labels(files[tags], f"{archive}:{tags}", 1, words, f"{archive}:{text}", expected)
        found[side] = WordTags(words, labels)
    return found


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
    found = []
    for row, line in enumerate(lines, start=1):
        tags = line.split()
        for place, tag in enumerate(tags, start=1):
            if tag not in known:
                raise DataError(f"{where}, line {row}, tag {place}: {_unknown_tag(tag, known)}")
        found.append([known[tag] for tag in tags])
    return found


def _unknown_tag(tag: str, known: Mapping[str, bool]) -> str:
    return f"the tag {tag[:40]!r} is not {' or '.join(known)}; write one of them."


def fitting(words: Rows, tags: Sequence[Sequence[bool]], where: str) -> Sequence[Sequence[bool]]:
    """The tags, of which each line has as many as words. Raises DataError naming file, line and both counts."""
    for row, (line, own) in enumerate(zip(words, tags, strict=True), start=1):
        if len(line) != len(own):
            raise DataError(
                f"{where}, line {row}: {counted(len(own), 'tag')} for {counted(len(line), 'word')}; give one tag per "
                "word, words being separated by blanks."
            )
    return tags


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
