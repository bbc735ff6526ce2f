"""Explaining without a metric: whole plans at once against one call of lime or shap per side.

A score costs the same few nanoseconds everywhere, so that only explaining is timed. "library" is an ordinary call of
lime or shap on one side, as a script without this package would write it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from harness import Bench

# isort: split
import numpy as np
from numpy.typing import NDArray

from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shap import Shap
from bmx_grid.words.perturbation import join_words

QUICK, SLOW = 200, 10  # calls per round of a way that plans at once, and of one that asks a library


def ours(explainer: Explainer, words: tuple[str, ...]) -> Callable[[], object]:
    """Plan and attribute one side; the scores are ready."""
    rng = np.random.Generator(np.random.PCG64(0))
    scores = rng.random(explainer.count_texts(len(words)))

    def explain() -> NDArray[np.float64]:
        return explainer.attribute(explainer.plan(words, rng), scores)

    return explain


def lime_call(words: tuple[str, ...]) -> Callable[[], object]:
    """One call of lime as the paper uses it."""
    from lime.lime_text import LimeTextExplainer

    text, scores = join_words(words), np.random.Generator(np.random.PCG64(0)).random((100, 1))
    explainer = LimeTextExplainer(split_expression=" ", bow=False, class_names=["score"], random_state=0)

    def explain() -> object:
        return explainer.explain_instance(
            text, lambda texts: scores, labels=(0,), num_features=len(words), num_samples=100
        )

    return explain


def shap_call(words: tuple[str, ...]) -> Callable[[], object]:
    """One call of shap's permutation explainer, texts written by its masker."""
    from shap.explainers import Permutation

    scores, row = np.random.Generator(np.random.PCG64(0)).random(500), np.ones((1, len(words)))

    def masker(mask: NDArray[np.bool_], row: NDArray[np.float64]) -> tuple[NDArray[np.str_]]:
        text = join_words([word if kept else "UNKWORDZ" for word, kept in zip(words, mask, strict=True)])
        return (np.array([text]),)

    explainer = Permutation(lambda texts: scores[: len(texts)], masker, seed=0)
    return lambda: explainer(row, max_evals=500, batch_size=500, silent=True)


def rendering(make: Explainer, words: tuple[str, ...]) -> Callable[[], object]:
    """As `ours`, and write out the texts, as the libraries do."""
    rng = np.random.Generator(np.random.PCG64(0))
    scores = rng.random(make.count_texts(len(words)))

    def explain() -> NDArray[np.float64]:
        plan = make.plan(words, rng)
        plan.render()
        return make.attribute(plan, scores)

    return explain


bench = Bench(__doc__, rounds=7, words={"type": int, "nargs": "+", "default": [10, 25, 40]})
for n in bench.options.words:
    words = tuple(f"word{number}" for number in range(n))
    shap = Shap(exact_up_to=0)
    for label, make, call in (("lime", Lime(), lime_call), ("shap", shap, shap_call)):
        ways = {
            "batched": ours(make, words),
            "texts written": rendering(make, words),
            "library": call(words),
        }
        repeats = {name: SLOW if name == "library" else QUICK for name in ways}
        bench.compare(f"{label}, {n} words", ways, repeats=repeats)
    bench.compare(f"erasure, {n} words", {"batched": ours(Erasure(), words)}, repeats={"batched": QUICK})
sys.exit(bench.finish())
