"""LIME by the library `lime` itself, on masks that we draw (backend="library")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.explainers.replay import Answer, record, replay
from bmx_grid.explainers.threads import one_blas_thread
from bmx_grid.words.perturbation import Plan
from bmx_grid.words.text import join_words, split_words

FeatureSelection = Literal["none", "auto", "highest_weights", "forward_selection", "lasso_path"]
DistanceMetric = Literal["cosine", "euclidean", "manhattan"]


@dataclass(frozen=True)
class Options:
    """The arguments for lime; names and meanings are lime's. `replacement` is the text in place of a hidden word."""

    kernel_width: float
    alpha: float
    replacement: str
    feature_selection: FeatureSelection
    num_features: int | None
    bow: bool
    distance_metric: DistanceMetric


def count_features(words: tuple[str, ...], bow: bool) -> int:
    """How many features lime sees in `words`."""
    return len(set(words)) if bow else len(words)


def plan(words: tuple[str, ...], masks: NDArray[np.bool_], options: Options) -> Plan:
    """The texts that lime asks for when it draws bool[K, features] `masks`."""
    keep = record(lambda answer: _explain(words, masks, answer, options))
    return Plan(words, keep=keep, replacement=options.replacement, design=masks)


def attribute(plan: Plan, scores: NDArray[np.float64], options: Options) -> NDArray[np.float64]:
    """float64[n] coefficients that lime finds; 0 for words that it leaves out."""
    assert plan.keep is not None
    remedy = "Choose other options of explainer.lime."
    return replay(lambda answer: _explain(plan.words, plan.design, answer, options), plan.keep, scores, remedy)


class _PlannedDraws:
    """Stands for lime's RandomState and hands out masks drawn beforehand."""

    def __init__(self, masks: NDArray[np.bool_]) -> None:
        self._hidden = [np.flatnonzero(~row) for row in masks[1:]]
        self._next = iter(self._hidden)

    def randint(self, low: int, high: int, size: int) -> NDArray[np.int64]:
        """How many features each sample hides."""
        return np.array([len(one) for one in self._hidden], dtype=np.int64)

    def choice(self, options: Iterable[int], size: int, replace: bool) -> NDArray[np.int64]:
        """Which features the next sample hides."""
        return next(self._next)


def _explain(words: tuple[str, ...], masks: NDArray[np.bool_], answer: Answer, options: Options) -> NDArray[np.float64]:
    """float64[n] coefficients from one run of lime."""
    from lime.lime_text import LimeTextExplainer

    # lime reads numbers in place of words: a word that its splitting would lose or join (such as
    # an empty one) stays a word, and what it hides can be read off its text. Equal numbers are one feature to bow.
    feature_of = {word: number for number, word in enumerate(dict.fromkeys(words))} if options.bow else {}
    features = [feature_of[word] for word in words] if options.bow else list(range(len(words)))
    names = [str(number) for number in features]

    def predict(texts: list[str]) -> NDArray[np.float64]:
        parts = [split_words(text) if text else ("",) for text in texts]
        return answer(np.array([[part == name for part, name in zip(row, names, strict=True)] for row in parts]))[
            :, None
        ]

    explainer = LimeTextExplainer(
        kernel_width=options.kernel_width,
        class_names=["score"],
        feature_selection=options.feature_selection,
        split_expression=" ",
        bow=options.bow,
        random_state=0,
    )
    explainer.random_state = _PlannedDraws(masks)
    with one_blas_thread():
        explained = explainer.explain_instance(
            join_words(names),
            predict,
            labels=(0,),
            num_features=masks.shape[1] if options.num_features is None else options.num_features,
            num_samples=len(masks),
            distance_metric=options.distance_metric,
            model_regressor=_regressor(options.alpha),
        )
    coefficients = np.zeros(masks.shape[1])
    for feature, coefficient in explained.local_exp[0]:
        coefficients[feature] = coefficient
    return coefficients[features]


def _regressor(alpha: float) -> Any:
    """lime's own choice for alpha = 1, else the same ridge regression with another penalty."""
    if alpha == 1:
        return None
    from sklearn.linear_model import Ridge

    return Ridge(alpha=alpha, fit_intercept=True)
