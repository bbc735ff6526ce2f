"""The scoring engine: all texts of many plans, one metric, each distinct text scored once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import BmxError
from bmx_grid.metrics.base import Metric, Pair
from bmx_grid.perturbation import Request


def score_pairs(metric: Metric, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """float64[n] scores of n (ground truth, hypothesis) pairs; repeated pairs are scored once.

    Raises BmxError when the metric hands back a wrong number of scores or a NaN.
    """
    rows: dict[Pair, int] = {}
    order = np.fromiter((rows.setdefault(pair, len(rows)) for pair in pairs), dtype=np.intp, count=len(pairs))
    if not rows:
        return np.empty(0)
    scores = _checked(metric, metric.score(list(rows)), len(rows))
    if np.isnan(scores).any():
        worst = list(rows)[int(np.flatnonzero(np.isnan(scores))[0])]
        raise BmxError(f"{metric.signature}: no score for ground truth {worst[0]!r} and hypothesis {worst[1]!r}.")
    return scores[order]


def score_requests(metric: Metric, requests: Sequence[Request]) -> list[NDArray[np.float64]]:
    """float64[K] scores for each request, through the metric's short cut for masks where it has one."""
    scores = [np.empty(0)] * len(requests)
    asked = [index for index, request in enumerate(requests) if len(request.plan) > 0]
    found = metric.score_masked([requests[index] for index in asked])
    if found is None:
        rendered = [requests[index].pairs() for index in asked]
        flat = score_pairs(metric, [pair for pairs in rendered for pair in pairs])
        found = np.split(flat, np.cumsum([len(pairs) for pairs in rendered])[:-1])
    for index, one in zip(asked, found, strict=bool(asked)):
        scores[index] = _checked(metric, one, len(requests[index].plan))
    return scores


def _checked(metric: Metric, scores: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """`scores` as float64[count]. Raises BmxError when the metric hands back another number of scores."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (count,):
        raise BmxError(f"{metric.signature}: {count} pairs were scored, but scores of shape {found.shape} came back.")
    return found
