"""Explanations per second without a metric: whole plans at once against the libraries lime and shap.

    python benchmarks/explainers.py [--words 10 25 40] [--rounds 7]

A score costs the same few nanoseconds everywhere, so that only explaining is timed. "library" is an
ordinary call of lime or shap on one side, as a script without this package would write it; all ways
take turns in each round, and what is printed are medians over rounds, in one process and one run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shap import Shap
from bmx_grid.text import join_words

BUDGET_S = 0.15  # of each way in each round


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


def seconds_a_call(call: Callable[[], object]) -> float:
    """Mean time of as many calls as the budget has room for, at least one."""
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < BUDGET_S:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def main() -> None:
    """Time all ways in turn and print medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, nargs="+", default=[10, 25, 40], help="words a side")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    print(f"{'words':>5}  {'explainer':<8} {'way':<22} {'us a side':>10} {'sides/s':>9} {'against the library':>20}")
    for n in arguments.words:
        words = tuple(f"word{number}" for number in range(n))
        ways: dict[tuple[str, str], Callable[[], object]] = {
            ("lime", "library"): lime_call(words),
            ("lime", "backend=library"): ours(Lime(backend="library"), words),
            ("lime", "batched"): ours(Lime(), words),
            ("lime", "batched, texts written"): rendering(Lime(), words),
            ("shap", "library"): shap_call(words),
            ("shap", "backend=library"): ours(Shap(backend="library", algorithm="permutation"), words),
            ("shap", "batched"): ours(Shap(algorithm="permutation"), words),
            ("shap", "batched, texts written"): rendering(Shap(algorithm="permutation"), words),
            ("erasure", "batched"): ours(Erasure(), words),
        }
        times: dict[tuple[str, str], list[float]] = {name: [] for name in ways}
        for call in ways.values():
            call()
        for _ in range(arguments.rounds):
            for name, call in ways.items():
                times[name].append(seconds_a_call(call))
        for (explainer, way), found in times.items():
            median = statistics.median(found)
            base = times.get((explainer, "library"))
            ratio = "" if base is None else f"{statistics.median(base) / median:.1f}x"
            print(f"{n:>5}  {explainer:<8} {way:<22} {median * 1e6:>10.1f} {1 / median:>9.0f} {ratio:>20}")


if __name__ == "__main__":
    main()
