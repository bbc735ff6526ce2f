"""The boost of a recipe, applied to explained items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.contracts import described
from bmx_grid.attribution.explain import Explanation
from bmx_grid.attribution.explained import Explained
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.boosts.recipe import Recipe
from bmx_grid.boosts.statistics import defined
from bmx_grid.errors import BmxError, DataError


def boosted_by(
    recipe: Recipe, explained: Explained, explanations: Sequence[Explanation]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """float64[n] boosted scores of n explained items, and the rows of those that keep the score of the metric.

    These have no word on a side that the boost reads. Each score depends on its own item alone: bit for
    bit given what the metric scored, which a neural one does in float32, equal in other batches to about 1e-6.
    Raises BmxError for an item whose score or attributions are not finite, DataError for one whose attributions the
    boost cannot be made of.
    """
    stored = explained.attributions(explanations)
    base, truth, hypothesis = stored.base_scores, stored.ground_truth, stored.hypothesis
    worded = (truth.lengths > 0, hypothesis.lengths > 0)
    broken = ~np.isfinite(base) | (worded[0] & ~defined(truth)) | (worded[1] & ~defined(hypothesis))
    fitted = recipe.fitted()
    try:
        scores = fitted.scores(base, recipe.boost.features(truth, hypothesis))
    except DataError as error:
        raise _located(error, recipe, explained, explanations) from error
    undefined = ~np.isfinite(scores)
    broken |= undefined & worded[0] & worded[1]
    if broken.any():
        one = explanations[int(np.argmax(broken))]
        raise BmxError(
            f"{explained.metric.signature}: {described(one.item)} have a score or attributions that are not finite, "
            "and cannot be boosted."
        )
    scores[undefined] = base[undefined]
    return scores, np.flatnonzero(undefined)


def _located(error: DataError, recipe: Recipe, explained: Explained, explanations: Sequence[Explanation]) -> DataError:
    """The error with the number of the first segment that it comes from."""
    for number, one in enumerate(explanations, start=1):
        alone: AttributionSet = explained.attributions([one])
        try:
            recipe.boost.features(alone.ground_truth, alone.hypothesis)
        except DataError as reason:
            return DataError(f"segment {number}: {str(reason).removeprefix('row 0: ')}")
    return error
