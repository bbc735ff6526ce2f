"""LIME: a weighted linear model of the score around the unchanged side (paper, section 3.3).

Follows `lime` 0.2: the number of hidden words is uniform on 1..n, which ones a draw without
replacement; a sample weighs sqrt(exp(-d^2 / width^2)) with d = 100 x its cosine distance from the
full side; the attributions are the coefficients of a ridge regression with intercept. All
samples are drawn and solved at once; on the same masks lime itself (backend=library) finds the same to about 1e-15.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats
from bmx_grid.core.threads import one_blas_thread
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.library_backends import explain_by_lime
from bmx_grid.words.perturbation import Plan

MOST_SAMPLES = 1_000_000  # per side: each is a text to score


@dataclass(frozen=True)
class Lime(Explainer):
    """Attribution of word i = its coefficient in a ridge model of the score over random masks.

    num_samples: texts per side, including the unchanged side (the paper's 100).
    kernel_width: in hundredths of cosine distance; the larger, the more a far sample counts.
    alpha: strength of the ridge penalty.
    mask: the text in place of a hidden word.
    backend: batched, or library: lime itself samples and solves, on the same draws.
    """

    stochastic: ClassVar[bool] = True

    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {
        "feature_selection": "none",
        "num_features": None,
        "bow": False,
        "distance_metric": "cosine",
    }

    num_samples: int = identity(100, least=2, most=MOST_SAMPLES)
    kernel_width: float = identity(25.0, above=0)
    alpha: float = identity(1.0, above=0)
    mask: str = identity("UNKWORDZ")
    backend: Literal["batched", "library"] = identity("batched")

    @property
    def draws_as(self) -> Explainer:
        """The batched engine."""
        return replace(self.two_sided, backend="batched")

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """num_samples texts, the first unperturbed."""
        keep = draw_masks(len(words), self.num_samples, rng)
        return Plan(words, keep=keep, replacement=self.mask)

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        """float64[n] coefficients, from the float64[num_samples] scores of the plan; 0 if all scores are equal."""
        assert plan.keep is not None
        with one_blas_thread():
            if self.backend == "library":
                return explain_by_lime(plan, scores, self.kernel_width, self.alpha)
            return solve(plan.keep, scores, self.kernel_width, self.alpha)

    def count_texts(self, n_words: int) -> int:
        """num_samples at any length."""
        return self.num_samples


def draw_masks(n: int, num_samples: int, rng: np.random.Generator) -> Flags:
    """bool[num_samples, n], True for kept words; the first row keeps all, every other hides 1..n words."""
    n_draws = num_samples - 1
    sizes = rng.integers(1, n + 1, size=n_draws)
    # The words with the smallest of n random keys are a draw without replacement, for all samples in one sort.
    keys = rng.random((n_draws, n))
    sorted_keys = np.sort(keys, axis=1)
    last_hidden = sorted_keys[np.arange(n_draws), sizes - 1]
    keep = np.ones((num_samples, n), dtype=np.bool_)
    np.greater(keys, last_hidden[:, None], out=keep[1:])
    return keep


@lru_cache(maxsize=1024)
def _root_weights(n: int, kernel_width: float) -> Floats:
    """float64[n + 1] square roots of the weight of a sample that keeps 0..n of n words."""
    # Masks of 0 and 1: one that keeps k of n words has the cosine sqrt(k / n) with the full one, whichever they are.
    cosine = np.sqrt(np.arange(n + 1) / n)
    distance = 100 * (1 - cosine)
    weight = np.sqrt(np.exp(-(distance**2) / kernel_width**2))
    # the square root of a weight is the factor of a row in least squares
    return np.sqrt(weight)


def solve(keep: Flags, scores: Floats, kernel_width: float, alpha: float) -> Floats:
    """float64[n] coefficients of the weighted ridge model of float64[K] scores on bool[K, n] masks.

    Centred on weighted means, so that the intercept is not penalised. Solves the n x n normal
    equations, or the K x K dual where words outnumber samples.
    """
    n_samples, n = keep.shape
    features = keep.astype(np.float64)
    n_kept = np.count_nonzero(keep, axis=1)
    root = _root_weights(n, kernel_width)[n_kept]
    weights = root * root
    weights /= weights.sum()
    # From the unperturbed score: scores that do not differ give exact zeros, not rounding noise.
    rises = scores - scores[0]
    features -= weights @ features
    features *= root[:, None]
    rises -= weights @ rises
    rises *= root
    if n <= n_samples:
        gram = features.T @ features
        gram.flat[:: n + 1] += alpha  # the diagonal
        return np.asarray(np.linalg.solve(gram, rises @ features))
    gram = features @ features.T
    gram.flat[:: n_samples + 1] += alpha
    sample_weights = np.linalg.solve(gram, rises)
    return np.asarray(sample_weights @ features)
