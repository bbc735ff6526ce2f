"""What boosts reach: gains and verdicts of a setting and over several language pairs, and recipes.

A recipe is a boost that was fitted on all segments of all language pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Boost, Fitted
from bmx_grid.boosts.recipe import ChosenOn, HeldOut
from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import NAMES, Estimate, Finished, grouped
from bmx_grid.evaluations.boost_evidence import ALL, COMBINED, CURVE, LENGTH, BoostRow, over_scope
from bmx_grid.evaluations.boost_inputs import Boosts, Member
from bmx_grid.evaluations.gain_estimates import Key
from bmx_grid.evaluations.held_out import chosen, has_groups
from bmx_grid.evaluations.verdicts import DISTANCE, Verdict
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.resampling import codes, number_of

TAKEN = (LENGTH, CURVE, COMBINED)  # names of what stands beside boosts
DATASET = NAMES[:1]
RecipeFields = dict[str, Any]  # by the name of the field
Samples = Mapping[Key, Floats]  # float64[R] resamples of a gain


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
        by_scope: dict[tuple[str, str, str], list[Verdict]] = {}
        for row in self.verdicts:
            by_scope.setdefault((row.dataset, row.language_pair, row.human), []).append(row)
        self.verdicts.clear()
        for rows in by_scope.values():
            self.verdicts.extend(sorted(rows, key=lambda row: boosts.index(row.boost)))
        scores = {name: self.scores.pop(name) for name in boosts if name in self.scores}
        self.scores.update(scores)
        self.chosen.sort(key=lambda recipe: boosts.index(recipe["boost_name"]))


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
    baseline = correlate(kind, member.base, member.human)
    gains = {}
    for name, features in member.features.items():
        fitted = chosen_on_all(kind, name, boosts[name], [member])
        gains[name] = correlate(kind, fitted.scores(member.base, features), member.human) - baseline
    return gains


def recipe_fields(kind: Kind, boosts: Boosts, members: Sequence[Member]) -> list[RecipeFields]:
    """What is best on all segments of these members, as fields of a recipe; not what abstains or is a recipe."""
    chosen_on = []
    for member in members:
        n_clusters = number_of(codes(member.clusters))
        human = member.setting.segments.judgements.primary
        chosen_on.append(ChosenOn(*member.setting.pair, len(member.base), n_clusters, human))
    recipes = []
    for name, boost in boosts.items():
        fitted = boost.fixed or chosen_on_all(kind, name, boost, members)
        if boost.fixed is None and not fitted.abstains:
            fields = {"boost_name": name, "boost": boost, "constants": fitted.constants()}
            recipes.append({**fields, "chosen_on": tuple(chosen_on), "correlation": kind})
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
        partial_r = _held_out(best.partial_r, best)
        judged.append({**recipe, "gain": gain, "partial_r": partial_r, "verdict": best.label})
    return judged


def _held_out(estimate: Estimate, verdict: Verdict) -> HeldOut:
    """An estimate of a verdict as a recipe tells it."""
    return HeldOut.of(estimate.value, estimate.low, estimate.high, verdict.how())


def told(row: Verdict, settings: Sequence[Finished], best: Sequence[Mapping[str, float]]) -> Verdict:
    """The evidence with what stands beside it: the named levels, other metrics, and the gain in-sample.

    named: of systems, raters, domains and documents, what all data behind the verdict name, and it controls for.
    best: of each setting what each boost gains on the segments it is chosen on; none where another human score judges
    than the one that chooses.
    """
    primary = settings[0].segments.judgements.primary
    levels = []
    gains = []
    metrics: set[str] = set()
    for setting, best_of_setting in zip(settings, best, strict=True):
        metrics.update(setting.others)
        dataset, language_pair = setting.pair
        if row.dataset not in (ALL, dataset) or row.language_pair not in (ALL, language_pair):
            continue
        documents = [segment.document or f"\0{number}" for number, segment in enumerate(setting.segments.segments)]
        groups = {**setting.segments.groups, "document": np.array(documents)}
        levels.append({kind for kind, names in groups.items() if has_groups(names)})
        if row.human in ("", primary) and row.boost in best_of_setting:
            gains.append(best_of_setting[row.boost])
    return replace(
        row,
        named=", ".join(sorted(set.intersection(*levels))),
        # Metrics are named only where a gain over them is known.
        metrics=", ".join(sorted(metrics)) if math.isfinite(row.over_metrics.value) else "",
        # NumPy warns of the mean of nothing.
        best_gain=float(np.mean(gains)) if gains else math.nan,
    )


def add_scopes(members: Sequence[Member], samples: Sequence[Samples]) -> None:
    """Add the gains over the language pairs of each data set to the rows of its first member, and those over all
    data sets to the rows of the first member of all.

    samples: resamples of each data set, which count as often as it has pairs.
    """
    # Copied: rows over several pairs are added to the same lists.
    single = [list(member.rows) for member in members]
    by_dataset = grouped([member.setting for member in members], DATASET)
    scopes: list[Sequence[int]] = [[number] for number in range(len(by_dataset))]
    if len(by_dataset) > 1:
        scopes.append(range(len(by_dataset)))
    for datasets in scopes:
        places = sorted(place for number in datasets for place in by_dataset[number])
        first = members[places[0]]
        name = first.setting.segments.dataset if len(datasets) == 1 else ALL
        joint: dict[Key, Floats] = {}
        for key in samples[datasets[0]]:
            if all(key in samples[number] for number in datasets):
                # Of data sets with several pairs each has its share: the mean is over pairs.
                parts = [samples[number][key] * (len(by_dataset[number]) / len(places)) for number in datasets]
                joint[key] = np.sum(parts, axis=0)
        by_gold: dict[str, list[BoostRow]] = {}
        for place in places:
            for row in single[place]:
                by_gold.setdefault(row.human, []).append(row)
        for gold, rows in by_gold.items():
            # A cluster that several pairs share counts once: they are drawn together.
            clusters = set[tuple[str, str]]().union(*(_rated_clusters(members[place], gold) for place in places))
            first.rows.extend(over_scope((name, ALL), rows, joint, len(clusters)))


def _rated_clusters(member: Member, gold: str) -> set[tuple[str, str]]:
    """Data set and label of the clusters of the segments that a human score rates."""
    judgements = member.setting.segments.judgements
    human = judgements.scores[gold or judgements.primary]
    rated = member.used & np.isfinite(human)
    labels = np.asarray(member.setting.clusters)[rated]
    # Of two data sets equal labels are different clusters.
    dataset = member.setting.segments.dataset
    return {(dataset, label) for label in labels.tolist()}
