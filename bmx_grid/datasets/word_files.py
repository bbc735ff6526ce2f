"""Word scores and labels made elsewhere, as a file holds them, and the layout of word-level submissions to WMT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bmx_grid.datasets.lines import read_lines, split_row
from bmx_grid.datasets.word_tags import OK_BAD
from bmx_grid.errors import DataError, unknown
from bmx_grid.words.perturbation import Role

HEADER = 3  # lines of predictions.txt before its rows: disk footprint, parameters, ensembled models
WORD_FIELDS = 7
# What files call the side that a row is of.
SIDES: dict[str, Role] = {
    "target": "hypothesis",
    "hypothesis": "hypothesis",
    "mt": "hypothesis",
    "source": "source",
    "src": "source",
    "reference": "reference",
    "ref": "reference",
}
BAD = -1.0  # a label as a value: low for an error, as attributions are; OK is 0


@dataclass(frozen=True, eq=False)
class WordFile:
    """n rows of word values, each of one side of one text.

    values: per row, None for a text that is not explained; of labels -1 (BAD) and 0 (OK). words: the file's own, None
    where it has none. ids, systems, pairs, sides: what the file says of each row, None where it says nothing: rows
    without ids are in the order of the sources. low_is_error: whether a low value is a suspected error. place(row):
    where row 0 … n - 1 stands, as "line 3".
    """

    path: Path
    values: Sequence[NDArray[np.float64] | None]
    words: Sequence[tuple[str, ...]] | None
    ids: Sequence[str] | None
    systems: Sequence[str] | None
    pairs: Sequence[str] | None
    sides: Sequence[Role] | None
    are_labels: bool
    low_is_error: bool
    place: Callable[[int], str]

    def where(self, row: int) -> str:
        """File and place of a row, for messages."""
        return f"{self.path}, {self.place(row)}"


def side_of(name: str, where: str) -> Role:
    """The role that a file's name for a side stands for. Raises DataError for another name."""
    found = SIDES.get(name.strip().lower())
    if found is None:
        raise DataError(f"{where}: " + unknown("side", name[:40], ("target", "source", "reference")))
    return found


def _from_0(what: str, value: str, path: Path, number: int) -> int:
    if not (value.isascii() and value.isdecimal()):
        raise DataError(f"{path}, line {number}: the {what} {value[:40]!r} is not a number from 0; correct the line.")
    return int(value)


def read_predictions(path: Path) -> WordFile:
    """A predictions.txt of the word-level task, a row per sentence and side in order of appearance.

    Three lines without tabs, then `language pair, method, side, sentence, token, word, tag`, tokens numbered from 0.
    Raises DataError naming file, line and value for another number of fields, a sentence or token that is no number,
    another tag, and tokens that are missing or there twice.
    """
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    found: dict[tuple[str, Role, str], dict[int, tuple[str, bool]]] = {}
    first: list[int] = []
    last: tuple[str, str, str] | None = None  # pair, side and sentence of the line before
    own: dict[int, tuple[str, bool]] = {}
    for number, line in enumerate(lines[HEADER:], start=HEADER + 1):
        pair, _, side, sentence, token, word, tag = split_row(line, WORD_FIELDS, str(path), number)
        bad = OK_BAD.get(tag)
        if bad is None:
            raise DataError(
                f"{path}, line {number}: the tag {tag[:40]!r} is not {' or '.join(OK_BAD)}; write one of them."
            )
        if (pair, side, sentence) != last:
            last = pair, side, sentence
            key = pair, side_of(side, f"{path}, line {number}"), str(_from_0("sentence", sentence, path, number))
            if key not in found:
                first.append(number)
            own = found.setdefault(key, {})
        position = _from_0("token", token, path, number)
        if position in own:
            raise DataError(
                f"{path}, line {number}: token {token} of sentence {sentence} was already tagged; keep one line."
            )
        own[position] = word, bad
    for (_, _, sentence), own in found.items():
        missing = next((token for token in range(len(own)) if token not in own), None)
        if missing is not None:
            raise DataError(f"{path}: token {missing} of sentence {sentence} has no line; give one line per token.")
    rows = [[own[token] for token in range(len(own))] for own in found.values()]
    return WordFile(
        path,
        values=[np.array([BAD if bad else 0.0 for _, bad in row]) for row in rows],
        words=[tuple(word for word, _ in row) for row in rows],
        ids=[sentence for _, _, sentence in found],
        systems=None,
        pairs=[pair for pair, _, _ in found],
        sides=[side for _, side, _ in found],
        are_labels=True,
        low_is_error=True,
        place=lambda row: f"line {first[row]}",
    )
