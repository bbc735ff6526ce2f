"""Approximate randomisation (Yeh 2000): do two labellings of the same words really differ by a measure?

Yeh (2000), "More accurate tests for the statistical significance of result differences", COLING; used for word-level
measures by Logacheva et al. (2016), section 3.1. In each round the labels of each text are exchanged between the two
labellings with probability 1/2. An exchange moves the statistics of the text from one corpus to the other, so that all
rounds of all measures are one matrix product.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.measures.correlation import TIE
from bmx_grid.measures.resampling import blocks, swaps
from bmx_grid.measures.word_measures import MEASURES, THE_SIX, measures

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Randomised:
    """Tests of P pairs of labellings by M measures.

    pairs: the two labellings of each pair, by their places in what was given. measures: the names of the M measures.
    difference: float64[P, M] the first less the second. p: float64[P, M], two-sided, (k + 1) / (n + 1) for k of n
    rounds that differ at least as much as observed, rounds without a value counted among them; NaN where the
    difference itself is undefined. rounds, seed: of the test.
    """

    pairs: tuple[tuple[int, int], ...]
    measures: tuple[str, ...]
    difference: Floats
    p: Floats
    rounds: int
    seed: int


def approximate_randomisation(
    labellings: Sequence[Floats], names: Sequence[str] = THE_SIX, *, rounds: int = 1000, seed: int = 0
) -> Randomised:
    """Test all pairs of S labellings of the same N texts.

    labellings: `labels.statistics` of each, float64[N, 18]; names: of the measures to test. The exchanges are drawn
    once and used for every pair: the p value of a pair does not depend on what is tested beside it. Raises ValueError
    for labellings of other numbers of texts, unknown measures or fewer than 1 round.
    """
    if len({one.shape for one in labellings}) > 1:
        raise ValueError("labellings that are compared must be of the same texts")
    if rounds < 1:
        raise ValueError(f"at least one round is needed, not {rounds}")
    chosen = [MEASURES.index(name) for name in names]
    pairs = tuple(itertools.combinations(range(len(labellings)), 2))
    sums = [one.sum(axis=0) for one in labellings]
    alone = np.array([measures(one)[chosen] for one in sums]).reshape(len(labellings), len(chosen))
    observed = np.array([alone[first] - alone[second] for first, second in pairs]).reshape(len(pairs), len(chosen))
    extreme = np.zeros(observed.shape)
    texts = len(labellings[0]) if len(labellings) else 0
    rng = np.random.default_rng(seed)
    for size in blocks(rounds, max(texts, 1)):
        exchanged = swaps(rng, texts, size)
        for place, (first, second) in enumerate(pairs):
            moved = exchanged @ (labellings[second] - labellings[first])
            difference = measures(sums[first] + moved) - measures(sums[second] - moved)
            extreme[place] += (~(np.abs(difference[:, chosen]) < np.abs(observed[place]) - TIE)).sum(axis=0)
    p = np.where(np.isnan(observed), np.nan, (extreme + 1) / (rounds + 1))
    return Randomised(pairs, tuple(names), observed, p, rounds, seed)


def p_bounds(found: Randomised, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """float64[P, M] twice: the ends of the interval that a finite number of rounds leaves each p value.

    Clopper and Pearson's, of k extreme rounds in n: what would be the share of extreme exchanges, were all tried.
    """
    from scipy.stats import beta

    extreme = np.round(found.p * (found.rounds + 1)) - 1
    tail = (1 - confidence) / 2
    low = np.where(extreme > 0, beta.ppf(tail, extreme, found.rounds - extreme + 1), 0.0)
    high = np.where(extreme < found.rounds, beta.isf(tail, extreme + 1, found.rounds - extreme), 1.0)
    return np.where(np.isnan(found.p), np.nan, low), np.where(np.isnan(found.p), np.nan, high)
