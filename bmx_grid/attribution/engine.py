"""The scoring engine: all texts of many plans, one metric, each distinct text scored once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.contracts import checked_scores, scores_of
from bmx_grid.errors import ComponentError
from bmx_grid.metrics.base import Cost, Metric
from bmx_grid.words.perturbation import Item, Request

_SHARE_AT_ONCE: dict[Cost, int] = {"light": 1, "model": 10}  # a tenth of the texts is enough work for a large model


def texts_at_once(metric: Metric, most: int) -> int:
    """How many texts to score before progress is reported and results are saved; `most` for a light metric."""
    return max(most // _SHARE_AT_ONCE[metric.cost], 1)


def score_items(metric: Metric, items: Sequence[Item]) -> NDArray[np.float64]:
    """float64[n] scores of n items; repeated items are scored once.

    Raises ComponentError unless the metric returns one real number per item, none of them NaN.
    """
    rows: dict[Item, int] = {}
    order = np.fromiter((rows.setdefault(item, len(rows)) for item in items), dtype=np.intp, count=len(items))
    if not rows:
        return np.empty(0)
    return checked_scores(metric, metric.score(list(rows)), list(rows))[order]


def score_requests(metric: Metric, requests: Sequence[Request]) -> list[NDArray[np.float64]]:
    """float64[K] scores for each request, by the metric's `score_masked` where it has one.

    Short cuts for masks know words between single spaces only: with other gaps all texts are written out.
    """
    scores = [np.empty(0)] * len(requests)
    asked = [index for index, request in enumerate(requests) if len(request.plan) > 0]
    if not asked:
        return scores
    written_out = any(requests[index].plan.gaps is not None for index in asked)
    found = None if written_out else metric.score_masked([requests[index] for index in asked])
    if found is None:
        rendered = [requests[index].items() for index in asked]
        flat = score_items(metric, [item for items in rendered for item in items])
        found = np.split(flat, np.cumsum([len(items) for items in rendered])[:-1])
    if len(found) != len(asked):
        raise ComponentError(f"{metric.signature}: score_masked: expected {len(asked)} arrays, got {len(found)}.")
    for index, values in zip(asked, found, strict=True):
        scores[index] = scores_of(metric, values, len(requests[index].plan))
    return scores
