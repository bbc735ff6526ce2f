"""Choose boosts on other segments, and score held-out segments with them.

Other folds choose, other language pairs, other data sets, or nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bmx_grid.boosts.base import Boost, Fit, FittedBoost, Part
from bmx_grid.boosts.controls import fit_average, fit_curve, fit_length
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid
from bmx_grid.boosts.recipe import ChosenOn, HeldOut
from bmx_grid.core.ragged import Flags, Floats
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.boost_evidence import COMBINED, CROSS_FITTED, CURVE, FIXED, LENGTH, PUBLISHED, placebo_name
from bmx_grid.evaluations.held_out import BoostInputs, Boosts, RatedSegments
from bmx_grid.evaluations.verdicts import DISTANCE, HURTS, LEGEND, Verdict
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid import Point, nearest_point
from bmx_grid.measures.grid_resampling import to_scale
from bmx_grid.measures.resampling import codes, number_of

RecipeFields = dict[str, Any]  # by the name of the field


def free_of_each(clusters: Sequence[Sequence[str]]) -> list[dict[int, Flags]]:
    """Find the segments of other language pairs that share no cluster with a pair: by other pair's number, bool[N].

    clusters: N labels of each of L language pairs.
    """
    labels = [np.asarray(names, dtype=np.str_) for names in clusters]
    free: list[dict[int, Flags]] = []
    for names in clusters:
        # One search per name: `isin` sorts its second argument.
        known = list(set(names))
        place = len(free)
        free.append({other: ~np.isin(labels[other], known) for other in range(len(labels)) if other != place})
    return free


def link_selection_sets(
    kind: Kind, members: Sequence[BoostInputs], labels: Sequence[Sequence[str]], origins: Sequence[str]
) -> list[BoostInputs]:
    """Copy the members, with common codes of clusters and the members that choose for each.

    They have no held-out scores yet.

    labels: of each member the clusters of all its N segments. origins: of each member the name of its language pair, or
    of its data set. Members of another origin choose, on their segments whose clusters are not shared, if the
    correlation of the metric is defined on these.
    """
    if len(members) == 1:
        # Nobody else chooses, and the clusters have codes already.
        return [replace(members[0], choosing={}, held_out={})]
    named = zip(members, labels, strict=True)
    used = [np.asarray(labels_of_all, dtype=np.str_)[member.rated.used] for member, labels_of_all in named]
    # Coded together and split again, so that a shared cluster has one code in all members.
    ends = np.cumsum(list(map(len, used)))
    clusters = np.split(codes(np.concatenate(used)), ends[:-1])
    joined = []
    for place, free in enumerate(free_of_each(labels)):
        choosing = {}
        for other, is_free in free.items():
            if origins[other] == origins[place]:
                continue
            chooser = members[other].rated
            rows = is_free[chooser.used]
            if math.isfinite(correlate(kind, chooser.base[rows], chooser.human[rows])):
                choosing[other] = rows
        member = members[place]
        rated = replace(member.rated, clusters=clusters[place])
        joined.append(replace(member, rated=rated, choosing=choosing, held_out={}))
    return joined


def fit_boost(kind: Kind, fit: Fit, selection: Sequence[tuple[RatedSegments, Floats, Flags]]) -> FittedBoost:
    """Fit a boost on some segments of language pairs with equal weights.

    selection: rated segments, features float64[n, k], and bool[n] of the segments that choose. Pairs with an undefined
    correlation of the metric are ignored.
    """
    parts = []
    for rated, features, rows in selection:
        part = Part(rated.base, features, rated.human, rated.clusters).taken(rows)
        if part.decides and np.ptp(part.base) > 0:
            parts.append(part)
    return fit(kind, parts)


def cross_fitted(kind: Kind, fit: Fit, rated: RatedSegments, features: Floats) -> Floats:
    """Score float64[n] segments, each with the best choice on the other folds; NaN with one fold.

    Scores of a fold are brought to the mean and spread of the baseline, so that folds are comparable.
    """
    scores = np.full(len(rated.base), np.nan)
    n_folds = number_of(rated.fold_of)
    # With a single fold nothing is cross-fitted.
    if n_folds < 2:
        return scores
    for fold in range(n_folds):
        inside = rated.fold_of == fold
        fitted = fit_boost(kind, fit, [(rated, features, ~inside)])
        boosted = fitted.scores(rated.base, features)
        # All segments define the scale: the mean and spread of a fold vary.
        scaled = to_scale(boosted, rated.base)
        scores[inside] = scaled[inside]
    return scores


class BoostCandidate(NamedTuple):
    """Something that is chosen, with its features of each member; None of a member that it cannot be made for."""

    name: str
    fit: Fit
    features: Sequence[Floats | None]


def boost_candidates(boosts: Boosts, members: Sequence[BoostInputs]) -> list[BoostCandidate]:
    """Boosts with a choice, and their placebos `length`, `curve` and reassigned ones.

    Empty without an explainer: boosts need attributions.
    """
    choices: list[BoostCandidate] = []
    if members[0].setting.explainer is None:
        return choices
    for name, boost in boosts.items():
        if boost.fixed_fit is not None:
            continue
        features = [member.features.get(name) for member in members]
        choices.append(BoostCandidate(name, boost.fit, features))
        reassigned = [member.reassign_features(name, boost) for member in members]
        for draw, features_of_draw in enumerate(zip(*reassigned, strict=False), start=1):
            choices.append(BoostCandidate(placebo_name(name, draw), boost.fit, features_of_draw))
    roles = members[0].setting.text_roles
    log_words = [member.rated.log_words for member in members]
    choices.append(BoostCandidate(LENGTH, partial(fit_length, roles), log_words))
    choices.append(BoostCandidate(CURVE, fit_curve, log_words))
    return choices


def average_of(members: Sequence[BoostInputs]) -> BoostCandidate | None:
    """The average of the metric and others that score every judged segment, whose scores are its features.

    None without such a metric.
    """
    shared: set[str] = set(members[0].setting.others)
    for member in members:
        for name, scores in member.setting.others.items():
            if not np.isfinite(scores[member.rated.used]).all():
                shared.discard(name)
        shared &= member.setting.others.keys()
    names = tuple(sorted(shared))
    if not names:
        return None
    features = []
    for member in members:
        columns = [member.setting.others[name][member.rated.used] for name in names]
        features.append(np.column_stack(columns))
    setting = members[0].setting
    fit = partial(fit_average, names, own=setting.metric_name, known=setting.averages)
    return BoostCandidate(COMBINED, fit, features)


def hold_out_elsewhere(
    kind: Kind, choices: Sequence[BoostCandidate], members: Sequence[BoostInputs], point: str
) -> None:
    """Add to the held-out scores of each member, at `point`, the best choice of the members that choose for it.

    All members have a choice, or none: a mean over language pairs answers one question.
    """
    for choice in choices:
        features = [columns for columns in choice.features if columns is not None]
        if len(features) < len(members):
            continue
        for member, columns in zip(members, features, strict=True):
            selection = []
            for other, rows in member.choosing.items():
                selection.append((members[other].rated, features[other], rows))
            key = choice.name, point
            if selection and key in member.declared:
                member.held_out[key] = member.declared[key]
            elif selection:
                fitted = fit_boost(kind, choice.fit, selection)
                member.held_out[key] = fitted.scores(member.rated.base, columns)


def hold_out_unchosen(boosts: Boosts, published: Point | None, member: BoostInputs) -> None:
    """Add the scores of recipes, and of the power mean at the published point of the explainer, if it has one."""
    for name, features in member.features.items():
        boost = boosts[name]
        fitted = boost.fixed_fit
        key = name, FIXED
        # Other shifts are not the paper's, and so have no published point.
        if isinstance(boost, PowerMeanGrid) and boost.shift == "paper" and published is not None:
            key = name, PUBLISHED
            spec = boost.spec
            place = nearest_point(spec.p, spec.w, published.p, published.w)
            # A point outside the grid has no scores. Features are the means with each p.
            fitted = None if place is None else AtPoint(spec.w[place[1]], spec.p[place[0]], place[0])
        if fitted is not None and key in member.declared:
            member.held_out[key] = member.declared[key]
        elif fitted is not None:
            member.held_out[key] = fitted.scores(member.rated.base, features)


def hold_out_folds(kind: Kind, choices: Sequence[BoostCandidate], members: Sequence[BoostInputs]) -> None:
    """Add the scores of the best choices on the other folds of each member."""
    for choice in choices:
        key = choice.name, CROSS_FITTED
        for member, features in zip(members, choice.features, strict=True):
            if key in member.declared:
                member.held_out[key] = member.declared[key]
            # A boost that cannot be made has no scores.
            elif features is not None:
                member.held_out[key] = cross_fitted(kind, choice.fit, member.rated, features)


def chosen_on_all(kind: Kind, name: str, boost: Boost, members: Sequence[BoostInputs]) -> FittedBoost:
    """Fit a boost on all segments that it can be made for; on those of one member once."""
    if len(members) == 1 and name in members[0].fitted:
        return members[0].fitted[name]
    selection = []
    for member in members:
        if name in member.features:
            everyone = np.ones(len(member.rated.base), dtype=np.bool_)
            selection.append((member.rated, member.features[name], everyone))
    fitted = fit_boost(kind, boost.fit, selection)
    if len(members) == 1:
        members[0].fitted[name] = fitted
    return fitted


def best_gains(kind: Kind, boosts: Boosts, member: BoostInputs) -> dict[str, float]:
    """The in-sample gain of each boost of a member."""
    base = member.rated.base
    human = member.rated.human
    baseline = correlate(kind, base, human)
    gains = {}
    for name, features in member.features.items():
        fitted = chosen_on_all(kind, name, boosts[name], [member])
        gains[name] = correlate(kind, fitted.scores(base, features), human) - baseline
    return gains


def recipe_fields(kind: Kind, boosts: Boosts, members: Sequence[BoostInputs]) -> list[RecipeFields]:
    """Fields of recipes fitted on all segments of the members; without boosts that abstain and recipes."""
    chosen_on = []
    for member in members:
        n_clusters = number_of(codes(member.rated.clusters))
        human = member.setting.segments.judgements.primary
        chosen_on.append(ChosenOn(*member.setting.pair, len(member.rated.base), n_clusters, human))
    recipes = []
    for name, boost in boosts.items():
        fitted = boost.fixed_fit or chosen_on_all(kind, name, boost, members)
        if boost.fixed_fit is None and not fitted.keeps_base_scores:
            fields = {"boost_name": name, "boost": boost, "constants": fitted.constants()}
            recipes.append({**fields, "chosen_on": tuple(chosen_on), "correlation": kind})
    return recipes


def add_verdicts(recipes: Sequence[RecipeFields], verdicts: Sequence[Verdict]) -> list[RecipeFields]:
    """Fields of judged recipes, with their strongest verdict.

    The strongest verdict is that on the most language pairs, chosen furthest away, by the human score that is named
    first. Of several, as of two or three language pairs, it is the least favourable one, and `gain.how` names all.
    """
    distances = list(DISTANCE)
    judged = []
    for recipe in recipes:
        boost = recipe["boost_name"]
        of_boost = [row for row in verdicts if row.boost == boost and row.point in DISTANCE]
        if not of_boost:
            continue
        # Each human score has a verdict; a recipe holds one.
        first_human = of_boost[0].human
        candidates = [row for row in of_boost if row.human == first_human]
        strengths = [(row.pairs, distances.index(row.point)) for row in candidates]
        strongest = [row for row, strength in zip(candidates, strengths, strict=True) if strength == max(strengths)]
        stated = max(strongest, key=_unfavourable)
        how = stated.how()
        partial_r = _held_out(stated.partial_r, how)
        if len(strongest) > 1:
            each = sorted(f"{row.dataset} {row.language_pair} {row.label}, gain {row.gain}" for row in strongest)
            how += f"; the least favourable of {len(each)} verdicts: {'; '.join(each)}"
        gain = _held_out(stated.gain, how)
        judged.append({**recipe, "gain": gain, "partial_r": partial_r, "verdict": stated.label})
    return judged


def _unfavourable(verdict: Verdict) -> tuple[bool, int, bool, float]:
    """How little a verdict says for a boost: a loss least, then a later label, an undefined gain, a lower one."""
    gain = verdict.gain.value
    return verdict.label == HURTS, list(LEGEND).index(verdict.verdict), math.isnan(gain), -gain


def _held_out(estimate: Estimate, how: str) -> HeldOut:
    """Turn the estimate of a verdict into that of a recipe."""
    return HeldOut.from_estimate(estimate.value, estimate.low, estimate.high, how)
