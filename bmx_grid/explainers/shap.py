"""SHAP: Shapley values of the words, exact on short sides and sampled on longer ones (paper, section 3.3).

Follows `shap` 0.51: up to 7 words every mask is scored; above, antithetic permutations, each adding
the words in its order and taking them away in the same order, as many as `max_evals` has room for.
All masks of a side are planned at once; on the same draws shap itself (backend=library) finds the same to about
1e-15.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ExplainError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.core.threads import one_blas_thread
from bmx_grid.core.wording import pluralize
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.library_backends import explain_by_shap
from bmx_grid.words.perturbation import Plan

_MOST_EXACT = 15  # words; 32,768 masks
_MOST_EVALS = 1_000_000  # per side: each is a text to score
_USUAL_EVALS = 500  # as in shap


@dataclass(frozen=True)
class Shap(Explainer):
    """Attribution of word i = its Shapley value; they add up to the score minus that of a fully masked side.

    max_evals: the most scores for a longer side, as shap counts them: 2 n + 1 per permutation.
        A side that is too long for one permutation (250 words at 500) cannot be explained, as in shap. With "auto"
        it gets one permutation, and all shorter ones have 500.
    exact_up_to: words up to which all 2^n masks are scored, whatever max_evals is.
    mask: the text in place of a hidden word.
    backend: batched, or library: shap itself samples and averages, with the same seed.
    """

    stochastic: ClassVar[bool] = True
    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"algorithm": "auto"}

    max_evals: int | Literal["auto"] = identity(_USUAL_EVALS, least=3, most=_MOST_EVALS)
    exact_up_to: int = identity(7, least=0, most=_MOST_EXACT)
    mask: str = identity("UNKWORDZ")
    backend: Literal["batched", "library"] = identity("batched")

    @property
    def draws_as(self) -> Explainer:
        """The batched engine."""
        return replace(self.two_sided, backend="batched")

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """The side unchanged, fully masked, and every mask between.

        Raises ExplainError for a side that is too long.
        """
        n = len(words)
        n_orders = self._orders(n)
        seed = int(rng.integers(2**32))
        if not n_orders:
            return Plan(words, keep=all_masks(n), replacement=self.mask)
        orders = draw_orders(n, n_orders, seed)
        design = seed if self.backend == "library" else orders
        return Plan(words, keep=permutation_masks(orders), replacement=self.mask, design=design)

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        """float64[n] Shapley values, from the float64[K] scores of the plan."""
        if self.backend == "library":
            return explain_by_shap(plan, scores, self._evals(len(plan.words)), plan.design)
        if plan.design is None:
            weights = exact_weights(len(plan.words))
            with one_blas_thread():
                # from the unperturbed score: scores that do not differ give exact zeros
                return np.asarray(weights @ (scores - scores[0]))
        return permutation_values(plan.design, scores)

    def count_texts(self, n_words: int) -> int:
        """2^n where exact, else 2 for the ends and 2 (n - 1) per permutation.

        Raises ExplainError for a side that is too long.
        """
        n_orders = self._orders(n_words)
        if not n_orders:
            return int(2**n_words)
        return 2 + 2 * (n_words - 1) * n_orders

    def _orders(self, n: int) -> int:
        """How many permutations of n words are scored; 0 for all masks."""
        if n <= self.exact_up_to:
            return 0
        evals = self._evals(n)
        least = _evals_of_one_order(n)
        if evals < least:
            raise ExplainError(
                f"a side of {pluralize(n, 'word')} takes at least {least} scores (shap, permutation), and "
                f"explainer.shap.max_evals is {evals}: raise it to {least} or more, or set it to auto."
            )
        return evals // least

    def _evals(self, n: int) -> int:
        if self.max_evals == "auto":
            return max(_USUAL_EVALS, _evals_of_one_order(n))
        return self.max_evals


def _evals_of_one_order(n: int) -> int:
    return 2 * n + 1


@lru_cache(maxsize=16)
def all_masks(n: int) -> Flags:
    """bool[2^n, n], all kept in the first row and none in the last. Read-only: it is kept for the next side."""
    # Bit j of a row's number is 1 if word j is hidden.
    numbers = np.arange(2**n)[:, None]
    hidden = (numbers >> np.arange(n)) & 1
    keep: Flags = hidden == 0
    keep.flags.writeable = False
    return keep


@lru_cache(maxsize=16)
def exact_weights(n: int) -> Floats:
    """float64[n, 2^n]: Shapley value of each word = row @ scores of `all_masks(n)`."""
    keep = all_masks(n)
    # Number of other words kept with each word.
    others = np.count_nonzero(keep, axis=1)[:, None] - keep
    # In this share of all orders a word follows directly after a certain set of `size` others.
    weight = np.array([1 / (n * comb(n - 1, size)) for size in range(n)])
    # with the word a text counts for it, without the word against it
    sign = np.where(keep, 1.0, -1.0)
    weights: Floats = (sign * weight[others]).T.copy()
    return weights


_PER_THREAD = threading.local()  # shap's kind of generator: making one costs more than all its draws


def draw_orders(n: int, n_orders: int, seed: int) -> Ints:
    """int64[n_orders, n] permutations, the very ones that shap draws for `seed`: each shuffles the one before."""
    if not hasattr(_PER_THREAD, "generator"):
        _PER_THREAD.generator = np.random.RandomState(0)
    generator = _PER_THREAD.generator
    generator.seed(seed)
    orders = np.empty((n_orders, n), dtype=np.int64)
    order = np.arange(n)
    for row in orders:
        generator.shuffle(order)
        row[:] = order
    return orders


def permutation_masks(orders: Ints) -> Flags:
    """bool[2 + 2 R (n - 1), n] for int64[R, n] orders: full side, masked side, words being added, being taken away."""
    n_orders, n = orders.shape
    places = orders.argsort(axis=1).astype(np.int32)
    between = n_orders * (n - 1)
    keep = np.empty((2 + 2 * between, n), dtype=np.bool_)
    keep[0] = True
    keep[1] = False
    adding = keep[2 : 2 + between]
    removing = keep[2 + between :]
    steps = np.arange(1, n, dtype=np.int32)
    # After k steps of adding, the k words with the first places in the order are in.
    adding_by_order = adding.reshape(n_orders, n - 1, n)  # a view
    np.less(places[:, None, :], steps[:, None], out=adding_by_order)
    np.logical_not(adding, out=removing)
    return keep


def permutation_values(orders: Ints, scores: Floats) -> Floats:
    """float64[n] mean rise of the score when a word is added, over both directions of int64[R, n] orders.

    scores: of the rows of `permutation_masks(orders)`.
    """
    n_orders, n = orders.shape
    path = np.empty((2, n_orders, n + 1))
    adding, removing = path
    # All orders share both ends; only what lies between was scored for each.
    full, masked = scores[:2]
    adding[:, 0] = removing[:, n] = masked
    adding[:, n] = removing[:, 0] = full
    path[:, :, 1:n] = scores[2:].reshape(2, n_orders, n - 1)
    rises = adding[:, 1:] - adding[:, :-1]
    # The way back takes the same words away: a fall there is a rise of the word.
    rises += removing[:, :-1]
    rises -= removing[:, 1:]
    sums = np.bincount(orders.ravel(), weights=rises.ravel(), minlength=n)
    return np.asarray(sums / (2 * n_orders))
