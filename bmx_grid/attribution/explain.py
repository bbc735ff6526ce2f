"""Segments + metric + explainer -> attributions (paper, section 2.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.engine import score_requests
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import canonical_json, digest
from bmx_grid.metrics.base import Metric, Pair
from bmx_grid.perturbation import Plan, Request, Side
from bmx_grid.text import split_words

SIDES: tuple[Side, Side] = ("ground_truth", "hypothesis")
NO_WORDS = Plan((), keep=np.empty((0, 0), dtype=np.bool_))  # an empty side asks for nothing


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explained pair of texts: its base score, and one attribution for each word of both sides.

    n_texts: how many texts were asked of the metric for it, repeats among them.
    """

    key: str
    base_score: float
    ground_truth_text: str
    hypothesis_text: str
    ground_truth: NDArray[np.float64]
    hypothesis: NDArray[np.float64]
    n_texts: int = 0


def explanation_identity(metric: Metric, explainer: Explainer, seed: int) -> dict[str, object]:
    """All that an explanation depends on beside the texts; the seed only where something is drawn."""
    return {
        "metric": metric.fingerprint(),
        "explainer": explainer.fingerprint(),
        "seed": seed if explainer.stochastic else None,
    }


def pair_key(ground_truth: str, hypothesis: str) -> str:
    """32 hexadecimal digits naming the texts that an explanation depends on."""
    return digest([ground_truth, hypothesis])[:32]


def _generator(seed: int, explainer: str, pair: Pair, side: Side) -> np.random.Generator:
    content = canonical_json([seed, explainer, *pair, side]).encode()
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(content).digest()[:16], "little")))


def explain_pairs(metric: Metric, explainer: Explainer, pairs: Sequence[Pair], seed: int) -> list[Explanation]:
    """Explain (ground truth, hypothesis) pairs: plan both sides, score all texts together, attribute.

    A pair's explanation is the same alone, in any order and in any batch.
    Raises UnavailableError (metric) and ExplainError (explainer).
    """
    identity = canonical_json(explainer.fingerprint())
    sides = [(pair, side, split_words(pair[index])) for pair in pairs for index, side in enumerate(SIDES)]
    worded = [(words, _generator(seed, identity, pair, side)) for pair, side, words in sides if words]
    plans = iter(explainer.plan_many([words for words, _ in worded], [rng for _, rng in worded]))
    requests = [
        Request(next(plans) if words else NO_WORDS, side, pair[1 - SIDES.index(side)]) for pair, side, words in sides
    ]
    # The pairs as they stand go with their perturbations, most of which hold them again: they are scored once.
    whole = [Request(_unperturbed(words), "hypothesis", pair[0]) for pair, _, words in sides[1::2]]
    scores = score_requests(metric, [*whole, *requests])
    attributions = [
        explainer.attribute(request.plan, score) if request.plan.words else np.empty(0)
        for request, score in zip(requests, scores[len(whole) :], strict=True)
    ]
    found = []
    for row, pair in enumerate(pairs):
        sides_of_pair = slice(2 * row, 2 * row + 2)
        ground_truth, hypothesis = attributions[sides_of_pair]
        n_texts = 1 + sum(len(request.plan) for request in requests[sides_of_pair])
        found.append(Explanation(pair_key(*pair), float(scores[row][0]), *pair, ground_truth, hypothesis, n_texts))
    return found


def _unperturbed(words: tuple[str, ...]) -> Plan:
    return Plan(words, keep=np.ones((1, len(words)), dtype=np.bool_))


def count_texts(metric: Metric, explainer: Explainer, pair: Pair, copies: int = 1) -> int:
    """How many texts explaining `copies` versions of a pair asks for, at most: each, and the plans of its two sides.

    Raises ExplainError when the explainer cannot explain the pair or the metric refuses that many texts.
    """
    sizes = [len(split_words(text)) for text in pair]
    return metric.count_texts(pair, copies * (1 + sum(explainer.count_texts(size) for size in sizes if size > 0)))
