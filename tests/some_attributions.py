"""Made-up attributions and selections for tests of boosts."""

from __future__ import annotations

import numpy as np

from bmx_grid.boosts.base import Boost, Part
from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.nuisance import donors


def rows_of(*rows) -> Ragged:
    return Ragged.from_rows([np.asarray(row, dtype=float) for row in rows])


def attributions(n: int, seed: int = 0, *, positive: bool = False) -> tuple[Ragged, Ragged]:
    """Ground truth and hypothesis of n segments of 1 to 15 words; the level and the spread of a segment vary."""
    rng = np.random.default_rng(seed)
    sides = []
    level, width = rng.normal(0.2, 0.5, size=n), rng.uniform(0.2, 2, size=n)
    for _ in range(2):
        drawn = [level[row] + width[row] * rng.normal(size=rng.integers(1, 16)) for row in range(n)]
        sides.append(Ragged.from_rows([np.exp(words) if positive else words for words in drawn]))
    return sides[0], sides[1]


def taken(rows: Ragged, places) -> Ragged:
    return Ragged.from_rows([rows[row] for row in places])


def planted(boost: Boost, n: int = 300, seed: int = 1) -> tuple[Part, Part]:
    """A selection in which people like what the boost measures, and the same with attributions of other segments.

    What they like has nothing of the number of words. Reassigned attributions come from a segment with as many words.
    """
    rng = np.random.default_rng(seed)
    truth, hypothesis = attributions(n, seed)
    clusters = np.arange(n) // 2
    features = boost.features(truth, hypothesis)
    words = truth.lengths + hypothesis.lengths
    donor_of = donors(words, clusters, rng)
    liked = (
        features[:, features.shape[1] // 2] if features.shape[1] > 20 else features[:, -1]
    )  # of a grid a mean with p near 0
    signal = standard(residual(liked, truth, hypothesis))
    base = rng.normal(size=n)
    human = base + 1.5 * signal + rng.normal(size=n)
    reassigned = boost.features(taken(truth, donor_of), taken(hypothesis, donor_of))
    return Part(base, features, human, clusters), Part(base, reassigned, human, clusters)


def residual(values: np.ndarray, truth: Ragged, hypothesis: Ragged) -> np.ndarray:
    """Values without what the lengths say of them."""
    known = np.column_stack([np.ones(len(values)), truth.lengths, hypothesis.lengths])
    return values - known @ np.linalg.lstsq(known, values, rcond=None)[0]


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()
