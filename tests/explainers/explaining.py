"""What the explainers' tests share: cheap scores of texts, generators, real segments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from bmx_grid.explainers.base import Explainer
from bmx_grid.words.perturbation import Plan


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def hash_scores(texts: Iterable[str]) -> np.ndarray:
    """A random metric: a number in [0, 1) for each text, the same for the same text."""
    numbers = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") for text in texts]
    return np.array(numbers, dtype=np.float64) / 2**48


def explained(explainer: Explainer, words: tuple[str, ...], seed: int = 0) -> tuple[Plan, np.ndarray]:
    """The plan and the attributions under hash scores."""
    plan = explainer.plan(words, generator(seed))
    return plan, explainer.attribute(plan, hash_scores(plan.render()))


def side(n: int) -> tuple[str, ...]:
    return tuple(f"w{number}" for number in range(n))
