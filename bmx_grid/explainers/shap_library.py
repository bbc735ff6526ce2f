"""SHAP by the library `shap` itself, on its own random stream (backend="library")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.explainers.replay import Answer, global_generator, record, replay
from bmx_grid.explainers.threads import one_blas_thread
from bmx_grid.words.perturbation import Plan

Algorithm = Literal["exact", "permutation", "kernel", "partition"]
Choice = Literal["auto", "exact", "permutation", "kernel", "partition"]


def plan(words: tuple[str, ...], algorithm: Algorithm, max_evals: int, seed: int, mask: str) -> Plan:
    """The texts that shap asks for under `seed`, repeats included."""
    keep = record(lambda answer: _explain(len(words), algorithm, max_evals, seed, answer))
    return Plan(words, keep=keep, replacement=mask, design=seed)


def attribute(plan: Plan, scores: NDArray[np.float64], algorithm: Algorithm, max_evals: int) -> NDArray[np.float64]:
    """float64[n] values that shap finds."""
    assert plan.keep is not None
    n = len(plan.words)
    remedy = "Raise explainer.shap.max_evals, or choose another explainer.shap.algorithm."
    return replay(lambda answer: _explain(n, algorithm, max_evals, plan.design, answer), plan.keep, scores, remedy)


def least_evals(n: int, algorithm: Algorithm) -> int:
    """The smallest max_evals under which shap's masks for n words do not depend on scores, or 0."""
    if algorithm == "exact":
        return 0
    return 2 + _partition_evals(n) if algorithm == "partition" else 2 * n + 1


def count_texts(n: int, algorithm: Algorithm, max_evals: int) -> int:
    """How many texts shap asks for; at most so many for "kernel", which drops masks that it draws again."""
    if algorithm == "exact":
        return int(2**n)
    if algorithm == "permutation":
        return (2 * n + 1) * (max_evals // (2 * n + 1))
    if algorithm == "partition":
        return 2 + _partition_evals(n)
    return 2 + (min(max_evals, 2**n - 2) if n > 1 else 0)


def _explain(n: int, algorithm: Algorithm, max_evals: int, seed: int, answer: Answer) -> NDArray[np.float64]:
    """float64[n] values from one run of shap, which draws from NumPy's global generator."""
    with global_generator(seed):
        return _ALGORITHMS[algorithm](n, max_evals, seed, answer)


def _exact(n: int, max_evals: int, seed: int, answer: Answer) -> NDArray[np.float64]:
    from shap.explainers import Exact

    explainer = Exact(answer, _Masker())
    return _values(explainer(np.ones((1, n)), max_evals=2**n, batch_size=2**n, silent=True))


def _permutation(n: int, max_evals: int, seed: int, answer: Answer) -> NDArray[np.float64]:
    from shap.explainers import Permutation

    explainer = Permutation(answer, _Masker(), seed=seed)
    return _values(explainer(np.ones((1, n)), max_evals=max_evals, batch_size=2 * n + 1, silent=True))


def _partition(n: int, max_evals: int, seed: int, answer: Answer) -> NDArray[np.float64]:
    from shap.explainers import Partition

    explainer = Partition(answer, _HalvingMasker(n))
    return _values(explainer(np.ones((1, n)), max_evals=max_evals, batch_size=max_evals, silent=True))


def _kernel(n: int, max_evals: int, seed: int, answer: Answer) -> NDArray[np.float64]:
    from shap import KernelExplainer

    def model(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return answer(rows > 0.5)

    explainer = KernelExplainer(model, np.zeros((1, n)))
    # Without l1_reg=False shap keeps ten words and gives all others 0.
    with one_blas_thread():
        values = explainer.shap_values(np.ones((1, n)), nsamples=max_evals, l1_reg=False, silent=True)
    return np.asarray(values[0], dtype=np.float64)


_ALGORITHMS: dict[Algorithm, Callable[[int, int, int, Answer], NDArray[np.float64]]] = {
    "exact": _exact,
    "permutation": _permutation,
    "partition": _partition,
    "kernel": _kernel,
}


class _Masker:
    """Passes shap's masks to the model unchanged."""

    clustering: NDArray[np.float64] | None = None

    def __call__(self, mask: NDArray[np.bool_], row: NDArray[np.float64]) -> NDArray[np.bool_]:
        return mask[None, :]


class _HalvingMasker(_Masker):
    """The same, with a tree of words for shap's partition: the side halved again and again."""

    def __init__(self, n: int) -> None:
        self.clustering = halving_tree(n)


def halving_tree(n: int) -> NDArray[np.float64]:
    """float64[n - 1, 4] merges of adjacent words in SciPy's linkage format: two nodes, height, size."""
    merges: list[tuple[int, int, int, int]] = []

    def grow(first: int, after: int) -> int:
        if after - first == 1:
            return first
        middle = (first + after + 1) // 2
        left, right = grow(first, middle), grow(middle, after)
        merges.append((left, right, after - first, after - first))
        return n + len(merges) - 1

    grow(0, n)
    return np.array(merges, dtype=np.float64).reshape(n - 1, 4)


def _partition_evals(n: int) -> int:
    """Evaluations below a node of n words: two for its split, then each half with the other half shown and hidden."""
    return 0 if n < 2 else 2 + 2 * (_partition_evals((n + 1) // 2) + _partition_evals(n // 2))


def _values(explanation: Any) -> NDArray[np.float64]:
    return np.asarray(explanation.values[0], dtype=np.float64)
