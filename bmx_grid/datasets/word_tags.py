"""Published tags of words: OK and BAD, or 0 and 1 (1 is an error), a tag for each token of a text.

Words are separated by any white space: some lines have several blanks, which the tags do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bmx_grid.core.errors import DataError
from bmx_grid.datasets.lines import refuse, text_rows
from bmx_grid.words.tags import Labels, Rows, WordTags

if TYPE_CHECKING:
    import pandas as pd

OK_BAD, ZERO_ONE = ("OK", "BAD"), ("0", "1")  # the second one is an error
LISTED = ["language_pair", "method", "side", "sentence", "token", "word", "tag"]  # of tags written one per line


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


def listed_labels(
    lines: Sequence[str], where: str, first: int, words: Rows, of_words: str, language_pair: str, side: str
) -> Labels:
    """Labels of the words of every sentence, as `listed_tags` has them. of_words: the file of the words, for messages.

    Raises DataError as `listed_tags`, and naming file, line and value for a line of another pair or side, words that
    are not those of the sentence, and a sentence that is unknown or missing.
    """
    texts = listed_tags(lines, where, first)
    for column, wanted in (("language_pair", language_pair), ("side", side)):
        sentence = f"{where}, line {{}}: the {column.replace('_', ' ')} {{!r}} is not '{wanted}'; name the right file."
        refuse(texts, texts[column] != wanted, lambda row: sentence.format(row.line, row[column][:40]))  # noqa: B023
    texts = texts.set_index("sentence")
    for number in range(max(len(words), texts.index.max() + 1)):
        tagged = texts.words.get(number, ())
        expected = words[number] if number < len(words) else ()
        if tagged != expected or number not in texts.index:
            raise DataError(
                f"{where}: the words of sentence {number} are {' '.join(tagged)[:60]!r}, but line {number + 1} of "
                f"{of_words} has {' '.join(expected)[:60]!r}; give one line per token."
            )
    return Labels.from_rows(texts.bad[list(range(len(words)))])
