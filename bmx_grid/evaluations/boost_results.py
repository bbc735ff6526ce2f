"""What the boosts of a setting reach, group by group of those that are judged on the same segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.boost_evidence import COMBINED, CURVE, LENGTH, BoostRow
from bmx_grid.evaluations.boost_recipes import RecipeFields
from bmx_grid.evaluations.verdicts import Verdict

TAKEN = (LENGTH, CURVE, COMBINED)  # names of what stands beside boosts


@dataclass(frozen=True, eq=False)
class BoostsOfSetting:
    """What the boosts of a setting reach.

    boosts: gains; verdicts. In the first setting of a data set those on the whole data set as well, and in the first
    one of a metric and explainer those on all data sets. scores: float64[N] held-out scores by boost. gains: over the
    metric alone, at the points of the grid.
    chosen: in that first setting each boost that was fitted on all segments of all its settings, as fields of a recipe.
    """

    boosts: list[BoostRow] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    scores: dict[str, Floats] = field(default_factory=dict)
    gains: dict[str, Estimate] = field(default_factory=dict)
    chosen: list[RecipeFields] = field(default_factory=list)

    def add(self, other: BoostsOfSetting, beside: str) -> None:
        """Add what boosts with other segments reach; beside: the name of these boosts in the rows of placebos."""
        for row in other.boosts:
            self.boosts.append(replace(row, beside=beside) if row.boost in TAKEN else row)
        self.verdicts.extend(other.verdicts)
        self.scores.update(other.scores)
        self.gains.update(other.gains)
        self.chosen.extend(other.chosen)

    def sort(self, boosts: Sequence[str]) -> None:
        """Sort verdicts by scope, and these, scores and recipes by the order of the boosts."""
        place_of_boost = {name: place for place, name in enumerate(boosts)}
        scopes = [(row.dataset, row.language_pair, row.human) for row in self.verdicts]
        place_of_scope = {scope: place for place, scope in enumerate(dict.fromkeys(scopes))}

        def place_of(row: Verdict) -> tuple[int, int]:
            scope = (row.dataset, row.language_pair, row.human)
            return place_of_scope[scope], place_of_boost[row.boost]

        self.verdicts.sort(key=place_of)
        scores = sorted(self.scores.items(), key=lambda named: place_of_boost[named[0]])
        self.scores.clear()
        self.scores.update(scores)
        self.chosen.sort(key=lambda recipe: place_of_boost[recipe["boost_name"]])
