"""WMT22 quality estimation: word-level truth, and the submissions to the word-level and the explainability task.

Zerva et al.: Findings of the WMT 2022 Shared Task on Quality Estimation, WMT 2022. Tags belong to the tokens of
`mt_tok`, which ends every sentence with `<EOS>`. The official tables count this token, and it is not OK in every
sentence, so whether it counts is the caller's choice: `eos`. Sentences and tokens are numbered from 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bmx_grid.datasets.lines import check_aligned, read_lines
from bmx_grid.datasets.numbers import finite_or_nan
from bmx_grid.datasets.word_tags import OK_BAD, listed_labels, rows_of_tags, rows_of_words
from bmx_grid.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.ragged import Ragged
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Labels, Rows, WordTags
from bmx_grid.words.text import BLANK

HEADER = 3  # lines of predictions.txt before its rows: disk footprint, parameters, ensembled models
NUMBERED = re.compile(r"\s*-\s*\d+\s+submission\s*")
STEMS = ("test.2022", "test2022")  # how names of files begin
ZERO_WIDTH = "\u200b"
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
    Raises DataMissingError for a file that is not there, DataError naming file, line and both counts where tags do not
    fit the tokens, ConfigError for another choice.
    """
    for name, given in (("eos", eos), ("zero_width", zero_width)):
        if given not in get_args(Choice):
            raise ConfigError(f"{name}: " + unknown("choice", given, get_args(Choice)))
    paths = {name: test_file(folder, name) for name in (f"{language_pair}.tags", "mt_tok", "mt")}
    of_tags, of_tokens, of_text = (str(path) for path in paths.values())
    lines = {str(path): read_lines(path) for path in paths.values()}
    check_aligned(lines)
    tokens, tags = rows_of_words(lines[of_tokens]), rows_of_tags(lines[of_tags], of_tags, OK_BAD)
    surplus: dict[int, tuple[int, ...]] = {}
    for row, (own, line) in enumerate(zip(tags, tokens, strict=True)):
        if len(own) != len(line):
            places = _zero_width_places(lines[of_text][row], line)
            if places is None or len(own) - len(line) != len(places):
                raise DataError(
                    f"{of_tags}, line {row + 1}: {counted(len(own), 'tag')} for {counted(len(line), 'token')} of "
                    f"{of_tokens}; give one tag per token."
                )
            surplus[row] = places
    tokens, tags, surplus = _without_surplus(tokens, tags, surplus, zero_width)
    keep = [np.ones(len(line), dtype=np.bool_) for line in tokens]
    if eos == "drop":
        for row, line in enumerate(tokens):
            if not line or line[-1] != EOS:
                raise DataError(f"{of_tokens}, line {row + 1}: does not end with {EOS}; set eos=keep.")
            keep[row][-1] = False
    counts = np.concatenate(keep) if keep else np.empty(0, dtype=np.bool_)
    words = tuple(
        tuple(word for word, kept in zip(line, row, strict=True) if kept)
        for line, row in zip(tokens, keep, strict=True)
    )
    labels = Labels.from_rows(np.array(own, dtype=np.bool_)[kept] for own, kept in zip(tags, keep, strict=True))
    return WordGold(WordTags(words, labels), tokens, counts, surplus, language_pair, of_tokens)


def _without_surplus(
    tokens: Rows, tags: list[list[bool]], surplus: dict[int, tuple[int, ...]], zero_width: Choice
) -> tuple[Rows, list[list[bool]], dict[int, tuple[int, ...]]]:
    """Tokens and tags that fit: surplus tags left out, or zero-width spaces put among the tokens."""
    rows, fitting = list(tokens), list(tags)
    for row, places in surplus.items():
        if zero_width == "drop":
            fitting[row] = [tag for place, tag in enumerate(tags[row]) if place not in places]
        else:
            rest = iter(tokens[row])
            rows[row] = tuple(ZERO_WIDTH if place in places else next(rest) for place in range(len(tags[row])))
    return tuple(rows), fitting, surplus if zero_width == "drop" else {}


def published_tags(folder: Path, language_pair: str) -> dict[Role, WordTags]:
    """The tags of the translation from such a folder, with `<EOS>` and tagged zero-width spaces; {} without the folder.

    Raises as `read_gold`.
    """
    if not any((folder / f"{stem}.{language_pair}.tags").is_file() for stem in STEMS):
        return {}
    return {"hypothesis": read_gold(folder, language_pair, zero_width="keep").tags}


def test_file(folder: Path, name: str) -> Path:
    """The one file of a test set with this ending; the publisher's names are not uniform.

    Raises DataMissingError for none, DataError naming two.
    """
    found = [path for stem in STEMS if (path := folder / f"{stem}.{name}").is_file()]
    if not found:
        raise DataMissingError(f"{folder / f'test.2022.{name}'}: not found; download the data set again.")
    if len(found) > 1:
        raise DataError(f"{found[0]} and {found[1]} are both there; remove the one that is not the publisher's.")
    return found[0]


def _zero_width_places(text: str, tokens: tuple[str, ...]) -> tuple[int, ...] | None:
    """Where tags of the zero-width spaces of a text stand among those of its tokens; None where one is in a token.

    Places are found by counting characters other than blanks from the start of the text.
    """
    starts, length = [], 0
    for token in tokens:
        starts.append(length)
        length += len(BLANK.sub("", token))
    found: list[int] = []
    for place, sign in enumerate(text):
        if sign == ZERO_WIDTH:
            before = len(BLANK.sub("", text[:place]))
            if before not in starts:
                return None
            found.append(starts.index(before) + len(found))
    return tuple(found)


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


def read_word_predictions(path: Path, gold: WordGold) -> Labels:
    """The predicted labels of the tokens that count, from a predictions.txt of the word-level task.

    Three lines without tabs, then rows `language pair, method, MT, sentence, token, word, tag`. Raises DataError for
    everything that `word_tags.listed_labels` names, and for a file without the three lines.
    """
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    for row, line in enumerate(lines[:HEADER], start=1):
        if "\t" in line:
            raise DataError(
                f"{path}, line {row}: tabs in {line[:60]!r}, but submissions begin with {HEADER} lines without; "
                "add them."
            )
    expected = (gold.language_pair, None, "MT")
    labels = listed_labels(lines[HEADER:], str(path), HEADER + 1, gold.tokens, gold.where, expected)
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
            f"{path}: {counted(len(lines), 'line')} for {counted(len(gold.tokens), 'sentence')} of {gold.where}; give "
            f"one line per sentence of {gold.language_pair}."
        )
    rows = []
    for row, (line, tokens) in enumerate(zip(lines, gold.tokens, strict=True)):
        scores = [_score(text, path, row, place) for place, text in enumerate(line.split(), start=1)]
        surplus = gold.surplus.get(row, ())
        if surplus and len(scores) == len(tokens) + len(surplus):
            scores = [score for place, score in enumerate(scores) if place not in surplus]
        if len(scores) != len(tokens):
            raise DataError(
                f"{path}, line {row + 1}: {counted(len(scores), 'score')} for {counted(len(tokens), 'token')} of "
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
