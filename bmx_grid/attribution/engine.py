"""The scoring engine: all texts of many plans, one metric, each distinct text scored once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import BmxError
from bmx_grid.metrics.base import Cost, Metric
from bmx_grid.words.perturbation import Item, Request

_SHARE_AT_ONCE: dict[Cost, int] = {"light": 1, "model": 10}  # a tenth of the texts is enough work for a large model


def texts_at_once(metric: Metric, most: int) -> int:
    """How many texts to score before progress is reported and results are saved; `most` for a light metric."""
    return max(most // _SHARE_AT_ONCE[metric.cost], 1)


def score_items(metric: Metric, items: Sequence[Item]) -> NDArray[np.float64]:
    """float64[n] scores of n items; repeated items are scored once.

    Raises BmxError when the metric returns a wrong number of scores or a NaN.
    """
    rows: dict[Item, int] = {}
    order = np.fromiter((rows.setdefault(item, len(rows)) for item in items), dtype=np.intp, count=len(items))
    if not rows:
        return np.empty(0)
    scores = _checked(metric, metric.score(list(rows)), len(rows))
    if np.isnan(scores).any():
        worst = list(rows)[int(np.flatnonzero(np.isnan(scores))[0])]
        raise BmxError(f"{metric.signature}: no score for {described(worst)}.")
    return scores[order]


def score_requests(metric: Metric, requests: Sequence[Request]) -> list[NDArray[np.float64]]:
    """float64[K] scores for each request, by the metric's `score_masked` where it has one.

    Short cuts for masks know words between single spaces only: with other gaps all texts are written out.
    """
    scores = [np.empty(0)] * len(requests)
    asked = [index for index, request in enumerate(requests) if len(request.plan) > 0]
    written_out = any(requests[index].plan.gaps is not None for index in asked)
    found = None if written_out else metric.score_masked([requests[index] for index in asked])
    if found is None:
        rendered = [requests[index].items() for index in asked]
        flat = score_items(metric, [item for items in rendered for item in items])
        found = np.split(flat, np.cumsum([len(items) for items in rendered])[:-1])
    for index, one in zip(asked, found, strict=bool(asked)):
        scores[index] = _checked(metric, one, len(requests[index].plan))
    return scores


def described(item: Item) -> str:
    """The texts of an item in words, for messages."""
    return " and ".join(f"{role} {text!r}" for role, text in item.texts().items())


def _checked(metric: Metric, scores: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """`scores` as float64[count]. Raises BmxError when the metric returns another number of scores."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (count,):
        raise BmxError(f"{metric.signature}: {count} items gave scores of shape {found.shape}.")
    return found
