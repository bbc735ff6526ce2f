"""What boosts reach where others choose: other folds, other language pairs, other data sets, or nobody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from bmx_grid.boosts.base import Fit
from bmx_grid.boosts.controls import fit_average, fit_curve, fit_length
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid
from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.beside import shared_metrics
from bmx_grid.evaluations.boost_evidence import (
    COMBINED,
    CROSS_FITTED,
    CURVE,
    FIXED,
    LENGTH,
    PUBLISHED,
    HeldOutScores,
    placebo_name,
)
from bmx_grid.evaluations.boost_inputs import Boosts, Member
from bmx_grid.evaluations.held_out import chosen, cross_fitted
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.grid import Point, nearest_point


class Choice(NamedTuple):
    """Something that is chosen, with its features of each member; None of a member that it cannot be made for."""

    name: str
    fit: Fit
    features: Sequence[Floats | None]


def choices_of(boosts: Boosts, members: Sequence[Member]) -> list[Choice]:
    """The boosts of which something is chosen, and the placebos beside them: `length`, `curve`, and reassigned ones."""
    choices = []
    for name, boost in boosts.items():
        if boost.fixed is not None:
            continue
        features = [member.features.get(name) for member in members]
        choices.append(Choice(name, boost.fit, features))
        reassigned = [member.reassigned(name, boost) for member in members]
        for draw, features_of_draw in enumerate(zip(*reassigned, strict=False), start=1):
            choices.append(Choice(placebo_name(name, draw), boost.fit, features_of_draw))
    roles = members[0].setting.worded
    log_words = [member.log_words for member in members]
    length = Choice(LENGTH, partial(fit_length, roles), log_words)
    curve = Choice(CURVE, fit_curve, log_words)
    return [*choices, length, curve]


def average_of(members: Sequence[Member]) -> Choice | None:
    """The average of several metrics, with the scores of the others as features; None without a shared metric."""
    names, scores_of_members = shared_metrics(members)
    # An average needs scores of all metrics on all judged segments.
    if not names:
        return None
    return Choice(COMBINED, partial(fit_average, names), scores_of_members)


def without_choice(boosts: Boosts, published: Point | None, member: Member) -> HeldOutScores:
    """The scores of recipes, and of the power mean at the published point of the explainer, where it has one."""
    held_out: HeldOutScores = {}
    for name, features in member.features.items():
        boost = boosts[name]
        fitted = boost.fixed
        point = FIXED
        # Other shifts are not the paper's, and so have no published point.
        if isinstance(boost, PowerMeanGrid) and boost.shift == "paper" and published is not None:
            fitted = _at_published(boost, published)
            point = PUBLISHED
        if fitted is not None:
            scores = member.declared.get((name, point))
            held_out[name, point] = fitted.scores(member.base, features) if scores is None else scores
    return held_out


def _at_published(boost: PowerMeanGrid, published: Point) -> AtPoint | None:
    """The boost at the grid point that stands for a published one; None where that is outside its grid."""
    spec = boost.spec
    place = nearest_point(spec.p, spec.w, published.p, published.w)
    if place is None:
        return None
    row, column = place
    # Its features are the means with each p: the row is the place of the feature.
    return AtPoint(w=spec.w[column], p=spec.p[row], column=row)


def chosen_by_others(
    kind: Kind, choices: Sequence[Choice], members: Sequence[Member], point: str
) -> list[HeldOutScores]:
    """For each member the scores of what is best on the members that choose for it, at `point`."""
    scores_of_members: list[HeldOutScores] = [{} for _ in members]
    for choice in choices:
        features = [columns for columns in choice.features if columns is not None]
        # Chosen for all members or for none: a mean over language pairs is of one question.
        if len(features) < len(members):
            continue
        for member, columns, scores in zip(members, features, scores_of_members, strict=True):
            selection = []
            for other, rows in member.choosing.items():
                selection.append((members[other], features[other], rows))
            if selection and (choice.name, point) in member.declared:
                scores[choice.name, point] = member.declared[choice.name, point]
            elif selection:
                fitted = chosen(kind, choice.fit, selection)
                scores[choice.name, point] = fitted.scores(member.base, columns)
    return scores_of_members


def add_cross_fitted(
    kind: Kind, choices: Sequence[Choice], members: Sequence[Member], scores_of_members: Sequence[HeldOutScores]
) -> None:
    """Add to the scores of each member those of what is best on its other folds."""
    for choice in choices:
        for member, features, scores in zip(members, choice.features, scores_of_members, strict=True):
            # A boost that cannot be made has no row of scores.
            if (choice.name, CROSS_FITTED) in member.declared:
                scores[choice.name, CROSS_FITTED] = member.declared[choice.name, CROSS_FITTED]
            elif features is not None:
                scores[choice.name, CROSS_FITTED] = cross_fitted(kind, choice.fit, member, features)
