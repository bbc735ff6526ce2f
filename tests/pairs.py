"""Tests speak of (ground truth, hypothesis) pairs; these are the items, requests, scores and sets of such pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bmx_grid.attribution.explain import Explanation, explain_items
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item, Plan, Request

Pair = tuple[str, str]


def items(pairs: Sequence[Pair], role: str = "reference") -> list[Item]:
    """The items of pairs whose ground truth is that text."""
    return [Item(**{role: truth, "hypothesis": hypothesis}) for truth, hypothesis in pairs]


def items_for(metric: Metric, pairs: Sequence[Pair]) -> list[Item]:
    """The items of pairs for a metric that reads one ground truth."""
    return items(pairs, next(role for role in metric.reads if role != "hypothesis"))


def score(metric: Metric, pairs: Sequence[Pair]) -> np.ndarray:
    """float64[n] scores of n pairs."""
    return metric.score(items_for(metric, pairs))


def rated(items: Sequence[Item], language_pair: str = "de-en") -> SegmentSet:
    """The items as the segments 0, 1, ... of a set, which people scored 0, 1, ..."""
    segments = tuple(
        Segment(
            str(row), item.hypothesis or "", item.source, item.reference, further_references=item.further_references
        )
        for row, item in enumerate(items)
    )
    return SegmentSet("toy", language_pair, segments, Judgements({"da": np.arange(float(len(segments)))}))


def explain(metric: Metric, explainer: Explainer, pairs: Sequence[Pair], seed: int) -> list[Explanation]:
    """The explanations of n pairs."""
    return explain_items(metric, explainer, items_for(metric, pairs), seed)


def request_of(plan: Plan, side: str, other: str, role: str = "reference") -> Request:
    """Score a plan for "hypothesis", or for the ground truth `role`, beside the other text."""
    whole = " ".join(plan.words)
    if side == "hypothesis":
        return Request(plan, "hypothesis", Item(**{role: other, "hypothesis": whole}))
    return Request(plan, role, Item(**{role: whole, "hypothesis": other}))


def pairs_of(request: Request) -> list[Pair]:
    """The (ground truth, hypothesis) pairs that a request asks for."""
    return [tuple(item.texts().values()) for item in request.items()]


def truth_of(explanation: Explanation) -> np.ndarray:
    """The attributions of the one ground truth."""
    return next(values for role, values in explanation.attributions.items() if role != "hypothesis")
