"""The libraries lime and shap themselves, on the masks of a plan: slow, a check of the batched engines.

The libraries request scores while they sample. This module draws and scores all masks beforehand, with the draws that
the library makes or gets, and looks up every mask that it requests.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bmx_grid.core.ragged import Flags, Floats
from bmx_grid.words.perturbation import Plan

_GLOBAL_DRAWS = threading.Lock()  # NumPy's global generator, which shap seeds


class _Draws(np.random.RandomState):
    """Draws for lime that hide, sample by sample, the same words as the rows of bool[K, n] masks after the first."""

    def __init__(self, keep: Flags):
        super().__init__(0)
        self.hidden = [np.flatnonzero(~row) for row in keep[1:]]
        self.samples = iter(self.hidden)

    def randint(self, *_: Any, **__: Any) -> Any:
        return np.array([len(places) for places in self.hidden])

    def choice(self, *_: Any, **__: Any) -> Any:
        return next(self.samples)


def explain_by_lime(plan: Plan, scores: Floats, kernel_width: float, alpha: float) -> Floats:
    """float64[n] coefficients that lime finds for float64[K] scores of the plan's masks.

    lime reads the positions of the words in place of the words, which may be anything.
    """
    from lime.lime_text import LimeTextExplainer
    from sklearn.linear_model import Ridge

    assert plan.keep is not None
    n_samples, n = plan.keep.shape
    known = _scores_by_mask(plan.keep, scores)

    def predict(texts: list[str]) -> Floats:
        masks = []
        for text in texts:
            # what lime hides is no number any more
            masks.append([word.isdecimal() for word in text.split(" ")])
        scores_of_texts = _look_up(known, np.array(masks))
        return scores_of_texts[:, None]

    explainer = LimeTextExplainer(
        kernel_width=kernel_width,
        class_names=["score"],
        feature_selection="none",
        split_expression=" ",
        bow=False,
        random_state=_Draws(plan.keep),
    )
    explanation = explainer.explain_instance(
        " ".join(map(str, range(n))),
        predict,
        labels=(0,),
        num_features=n,
        num_samples=n_samples,
        model_regressor=Ridge(alpha=alpha),
    )
    coefficients = np.zeros(n)
    for place, coefficient in explanation.as_map()[0]:
        coefficients[place] = coefficient
    return coefficients


def explain_by_shap(plan: Plan, scores: Floats, max_evals: int, seed: int | None) -> Floats:
    """float64[n] Shapley values that shap finds for float64[K] scores of the plan's masks.

    seed: of its permutations; None for its exact explainer.
    """
    from shap.explainers import Exact, Permutation

    assert plan.keep is not None
    n = len(plan.words)
    known = _scores_by_mask(plan.keep, scores)

    def masker(mask: Flags, _: Any) -> tuple[Flags]:
        return (mask[None, :].copy(),)

    def model(masks: Flags) -> Floats:
        return _look_up(known, masks)

    with _own_global_draws():
        if seed is None:
            explainer = Exact(model, masker)
            max_evals = 2**n
        else:
            explainer = Permutation(model, masker, seed=seed)
        explanation = explainer(np.ones((1, n)), max_evals=max_evals, silent=True)
    return np.asarray(explanation.values[0], dtype=np.float64)


@contextmanager
def _own_global_draws() -> Iterator[None]:
    """A block that may seed NumPy's global generator, which is as before afterwards."""
    with _GLOBAL_DRAWS:
        state = np.random.get_state()  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


def _scores_by_mask(keep: Flags, scores: Floats) -> dict[bytes, float]:
    """The score of each mask, by its bytes: an array is no key."""
    return {row.tobytes(): float(score) for row, score in zip(keep, scores, strict=True)}


def _look_up(known: dict[bytes, float], masks: Flags) -> Floats:
    return np.array([known[row.tobytes()] for row in masks.astype(np.bool_)])
