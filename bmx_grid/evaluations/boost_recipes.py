"""What a boost is on all segments that could choose: the fields of a recipe, and its gain in-sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Boost, Fitted
from bmx_grid.boosts.recipe import ChosenOn, HeldOut
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.boost_inputs import Boosts, Member
from bmx_grid.evaluations.held_out import chosen
from bmx_grid.evaluations.verdicts import DISTANCE, Verdict
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.resampling import codes, number_of

RecipeFields = dict[str, Any]  # by the name of the field


def chosen_on_all(kind: Kind, name: str, boost: Boost, members: Sequence[Member]) -> Fitted:
    """What is best on all segments of the members that a boost can be made for."""
    selection = []
    for member in members:
        if name in member.features:
            everyone = np.ones(len(member.base), dtype=np.bool_)
            selection.append((member, member.features[name], everyone))
    return chosen(kind, boost.fit, selection)


def best_gains(kind: Kind, boosts: Boosts, member: Member) -> dict[str, float]:
    """What each boost that can be made here gains on the segments it is chosen on."""
    gains = {}
    for name, features in member.features.items():
        fitted = chosen_on_all(kind, name, boosts[name], [member])
        boosted = fitted.scores(member.base, features)
        correlation = correlate(kind, boosted, member.human)
        baseline = correlate(kind, member.base, member.human)
        gains[name] = correlation - baseline
    return gains


def recipe_fields(kind: Kind, boosts: Boosts, members: Sequence[Member]) -> list[RecipeFields]:
    """What is best on all segments of these members, as fields of a recipe; not what abstains or is a recipe."""
    chosen_on = []
    for member in members:
        segments = member.setting.segments
        part = ChosenOn(
            dataset=segments.dataset,
            language_pair=segments.language_pair,
            segments=len(member.base),
            clusters=number_of(codes(member.clusters)),
            human=segments.judgements.primary,
        )
        chosen_on.append(part)
    recipes = []
    for name, boost in boosts.items():
        if boost.fixed is not None:
            continue
        fitted = chosen_on_all(kind, name, boost, members)
        if fitted.abstains:
            continue
        recipes.append(
            {
                "boost_name": name,
                "boost": boost,
                "constants": fitted.constants(),
                "chosen_on": tuple(chosen_on),
                "correlation": kind,
            }
        )
    return recipes


def with_verdicts(recipes: Sequence[RecipeFields], verdicts: Sequence[Verdict]) -> list[RecipeFields]:
    """Fields of recipes with the verdict that says most of such a choice; without those that were not judged.

    That is the one on the most language pairs, chosen furthest away, by the human score that is named first.
    """
    distances = list(DISTANCE)
    judged = []
    for recipe in recipes:
        boost = recipe["boost_name"]
        of_boost = [row for row in verdicts if row.boost == boost and row.point in DISTANCE]
        if not of_boost:
            continue
        # Verdicts by several human scores are several questions: a recipe tells one.
        first_human = of_boost[0].human
        candidates = [row for row in of_boost if row.human == first_human]
        best = max(candidates, key=lambda row: (row.pairs, distances.index(row.point)))
        gain = _held_out(best.gain, best)
        beyond = _held_out(best.partial_r, best)
        judged.append({**recipe, "gain": gain, "beyond": beyond, "verdict": best.label})
    return judged


def _held_out(estimate: Estimate, verdict: Verdict) -> HeldOut:
    """An estimate of a verdict as a recipe tells it."""
    return HeldOut.of(estimate.value, estimate.low, estimate.high, verdict.how())
