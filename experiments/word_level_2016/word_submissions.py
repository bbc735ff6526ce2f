"""The word-level truth of WMT22 and the submissions to the word-level and the explainability task, token by token.

Zerva et al.: Findings of the WMT 2022 Shared Task on Quality Estimation, WMT 2022. The official tables count `<EOS>`,
and it is not OK in every sentence, so whether it counts is the caller's choice: `eos`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.core.ragged import Labels, Ragged
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.lines import finite_or_nan, listed_tags, read_lines, refuse
from bmx_grid.datasets.wmt22_qe import read_word_gold
from bmx_grid.words.tags import EOS, Rows, WordTags

HEADER = 3  # lines of predictions.txt before its rows: disk footprint, parameters, ensembled models
NUMBERED = re.compile(r"\s*-\s*\d+\s+submission\s*")
Choice = Literal["keep", "drop"]


@dataclass(frozen=True, eq=False)
class WordGold:
    """The truth of one language pair, and what the files of submissions must look like.

    tags: of the tokens that count. tokens: all tokens of mt_tok, `<EOS>` included; counts: bool[total] which of them
    count. surplus: sentence -> places of tags, among all tags of the line, that stand for a zero-width space which
    mt_tok lacks; they are left out. language_pair, where: for messages.
    """

    tags: WordTags
    tokens: Rows
    counts: NDArray[np.bool_]
    surplus: Mapping[int, tuple[int, ...]]
    language_pair: str
    where: str


def read_gold(folder: Path, language_pair: str, eos: Choice = "keep", zero_width: Choice = "drop") -> WordGold:
    """The truth from the folder that holds test.2022.PAIR.tags, mt_tok and mt.

    eos: whether `<EOS>` counts, as in the official tables. zero_width: whether a zero-width space that has a tag but is
    no token of mt_tok counts as a token; the official numbers of submissions with one score per tag include it.
    Raises as `read_word_gold`, and DataError for a sentence without `<EOS>` to drop.
    """
    tags, surplus = read_word_gold(folder, language_pair)
    where = f"{folder}, mt_tok"
    dropped = surplus if zero_width == "drop" else {}
    inside = [
        [place for place in range(len(words)) if place not in dropped.get(row, ())]
        for row, words in enumerate(tags.words)
    ]
    tokens = tuple(tuple(words[place] for place in own) for words, own in zip(tags.words, inside, strict=True))
    labels = [tags.labels[row][own] for row, own in enumerate(inside)]
    keep = [np.ones(len(line), dtype=np.bool_) for line in tokens]
    if eos == "drop":
        for row, line in enumerate(tokens):
            if not line or line[-1] != EOS:
                raise DataError(f"{where}, line {row + 1}: does not end with {EOS}; set eos=keep.")
            keep[row][-1] = False
    words = tuple(
        tuple(word for word, kept in zip(line, row, strict=True) if kept)
        for line, row in zip(tokens, keep, strict=True)
    )
    counts = np.concatenate(keep) if keep else np.empty(0, dtype=np.bool_)
    kept_labels = Labels.from_rows(own[kept] for own, kept in zip(labels, keep, strict=True))
    return WordGold(WordTags(words, kept_labels), tokens, counts, dropped, language_pair, where)


def submission_name(folder: str) -> str:
    """The name of a submission by its folder: "Team HW-TSC  - 3 submission" is "Team HW-TSC"."""
    return NUMBERED.sub("", folder).strip() if NUMBERED.search(folder) else folder.strip()


def submissions(folder: Path, file: str) -> dict[str, Path]:
    """The files called `file` of all submissions in the folder of a task and language pair, by name, sorted.

    Folders without such a file and hidden ones are passed over. Raises DataMissingError where there is none, DataError
    for two of one name.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.glob(f"[!.]*/{file}")):
        name = submission_name(path.parent.name)
        if name in found:
            raise DataError(f"{found[name].parent} and {path.parent} are both submissions of '{name}'; keep one.")
        found[name] = path
    if not found:
        raise DataMissingError(f"{folder}: no submission with a {file} in it; name the folder of a task and pair.")
    return found


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


def read_word_predictions(path: Path, gold: WordGold) -> Labels:
    """The predicted labels of the tokens that count, from a predictions.txt of the word-level task.

    Three lines without tabs, then rows `language pair, method, MT, sentence, token, word, tag`. Raises DataError for
    everything that `listed_labels` names, and for a file without the three lines.
    """
    lines = read_lines(path)
    for row, line in enumerate(lines[:HEADER], start=1):
        if "\t" in line:
            raise DataError(
                f"{path}, line {row}: tabs in {line[:60]!r}, but submissions begin with {HEADER} lines without; "
                "add them."
            )
    labels = listed_labels(lines[HEADER:], str(path), HEADER + 1, gold.tokens, gold.where, gold.language_pair, "MT")
    return Labels(labels.bad[gold.counts], gold.tags.labels.offsets)


def read_target_scores(path: Path, gold: WordGold) -> Ragged:
    """The attributions of the tokens that count, from a target.submission of the explainability task.

    The file's scores are higher for suspected errors; they are negated, so that a low attribution is one. A sentence
    has one score per token of mt_tok, or one per tag, where those of zero-width spaces are left out.
    Raises DataError naming file, line and both counts for another number of sentences or scores, and for a score that
    is not a finite number.
    """
    lines = read_lines(path)
    if len(lines) != len(gold.tokens):
        raise DataError(
            f"{path}: {pluralize(len(lines), 'line')} for {pluralize(len(gold.tokens), 'sentence')} of {gold.where}; "
            f"give one line per sentence of {gold.language_pair}."
        )
    rows = []
    for row, (line, tokens) in enumerate(zip(lines, gold.tokens, strict=True)):
        scores = [_score(text, path, row, place) for place, text in enumerate(line.split(), start=1)]
        surplus = gold.surplus.get(row, ())
        if surplus and len(scores) == len(tokens) + len(surplus):
            scores = [score for place, score in enumerate(scores) if place not in surplus]
        if len(scores) != len(tokens):
            raise DataError(
                f"{path}, line {row + 1}: {pluralize(len(scores), 'score')} for {pluralize(len(tokens), 'token')} of "
                f"{gold.where}; give one score per token, {EOS} included."
            )
        rows.append(np.array(scores))
    values = 0.0 - Ragged.from_rows(rows).values
    return Ragged(values[gold.counts], gold.tags.labels.offsets)


def _score(text: str, path: Path, row: int, place: int) -> float:
    value = finite_or_nan(text)
    if math.isnan(value):
        raise DataError(f"{path}, line {row + 1}: score {place} is {text[:40]!r}, not a finite number; correct it.")
    return value
