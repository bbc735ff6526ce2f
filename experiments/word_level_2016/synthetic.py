"""Labellings made from the truth by a rule, which a measure should rank below real ones (Logacheva et al. 2016).

Section 3.1 of "Metrics for Evaluation of Word-level Machine Translation Quality Estimation" describes five; which words
get a label is drawn at random, each word for itself, so that spans of the truth are not kept.

"Optimistic" is given by three numbers: 98 % of the words OK, precision .9 and recall .1 of BAD. Any two decide the
third, and all three hold only where 18 % of the words are BAD: precision x share given BAD = recall x share of BAD. Two
readings are here, both with the precision: `optimistic_by_share` (98 % OK; the recall is what it is) and
`optimistic_by_recall` (recall .1; the share of OK is what it is). The third, without the precision, would not be what
the paper asks for, "high precision". "Pessimistic" is given by three numbers that always agree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.ragged import Labels
from bmx_grid.core.wording import pluralize

GIVEN_BAD = 0.02  # share of the words, of optimistic_by_share
PRECISION, RECALL = 0.9, 0.1  # of BAD, of the optimistic ones
PESSIMISTIC_BAD, PESSIMISTIC_OK = 0.9, 0.1  # recall of either label


def synthetic_labels(name: str, gold: Labels, rng: np.random.Generator) -> Labels:
    """The labelling of that name (a key of SYNTHETIC) for the words of `gold`.

    Shares, precisions and recalls hold up to the rounding of numbers of words, except for `random`, which draws every
    word independently with the share of BAD in `gold`. Raises ConfigError for another name, DataError where
    `optimistic_by_share` needs more BAD words than there are.
    """
    if name not in SYNTHETIC:
        raise ConfigError("synthetic labelling: " + unknown("labelling", name, SYNTHETIC))
    return Labels(SYNTHETIC[name](gold.bad, rng), gold.offsets)


def _all_bad(bad: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.ones(len(bad), dtype=np.bool_)


def _all_good(bad: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.zeros(len(bad), dtype=np.bool_)


def _optimistic_by_share(bad: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    given = round(GIVEN_BAD * len(bad))
    right = round(PRECISION * given)
    if right > bad.sum():
        raise DataError(
            f"optimistic_by_share labels {right:,} BAD words as such, but the truth has {int(bad.sum()):,} of "
            f"{pluralize(len(bad), 'word')}; use optimistic_by_recall."
        )
    return _given(bad, right, given - right, rng)


def _optimistic_by_recall(bad: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    right = round(RECALL * bad.sum())
    wrong = min(round(right * (1 - PRECISION) / PRECISION), int((~bad).sum()))
    return _given(bad, right, wrong, rng)


def _pessimistic(bad: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    fine = int((~bad).sum())
    return _given(bad, round(PESSIMISTIC_BAD * bad.sum()), fine - round(PESSIMISTIC_OK * fine), rng)


def _random(bad: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    share = bad.mean() if len(bad) else 0.0
    return rng.random(len(bad)) < share


def _given(bad: NDArray[np.bool_], right: int, wrong: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """BAD for that many words that are BAD and that many that are OK, drawn without replacement."""
    found = np.zeros(len(bad), dtype=np.bool_)
    found[rng.choice(np.flatnonzero(bad), right, replace=False)] = True
    found[rng.choice(np.flatnonzero(~bad), wrong, replace=False)] = True
    return found


SYNTHETIC: dict[str, Callable[[NDArray[np.bool_], np.random.Generator], NDArray[np.bool_]]] = {
    "all_bad": _all_bad,
    "all_good": _all_good,
    "optimistic_by_share": _optimistic_by_share,
    "optimistic_by_recall": _optimistic_by_recall,
    "pessimistic": _pessimistic,
    "random": _random,
}
DRAWN = ("optimistic_by_share", "optimistic_by_recall", "pessimistic", "random")  # another one for every seed
