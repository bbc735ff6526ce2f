"""What boosts reach where others choose: other folds, other language pairs, other data sets, or nobody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from bmx_grid.boosts.base import Fit
from bmx_grid.boosts.controls import fit_average, fit_curve, fit_length
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid
from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.boost_evidence import COMBINED, CROSS_FITTED, CURVE, FIXED, LENGTH, PUBLISHED, placebo_name
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
    """The boosts of which something is chosen, and the placebos beside them: `length`, `curve`, and reassigned ones.

    None for a metric alone, which has no attributions to boost with.
    """
    choices: list[Choice] = []
    if members[0].setting.explainer is None:
        return choices
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
    choices.append(Choice(LENGTH, partial(fit_length, roles), log_words))
    choices.append(Choice(CURVE, fit_curve, log_words))
    return choices


def average_of(members: Sequence[Member]) -> Choice | None:
    """The average of the metric and others that score every judged segment, whose scores are its features.

    None without such a metric.
    """
    shared: set[str] = set(members[0].setting.others)
    for member in members:
        for name, scores in member.setting.others.items():
            if not np.isfinite(scores[member.used]).all():
                shared.discard(name)
        shared &= member.setting.others.keys()
    names = tuple(sorted(shared))
    if not names:
        return None
    features = []
    for member in members:
        columns = [member.setting.others[name][member.used] for name in names]
        features.append(np.column_stack(columns))
    return Choice(COMBINED, partial(fit_average, names), features)


def hold_out_elsewhere(kind: Kind, choices: Sequence[Choice], members: Sequence[Member], point: str) -> None:
    """Add to the held-out scores of each member, at `point`, those of what is best on the members that choose for it.

    Chosen for all members or for none: a mean over language pairs is of one question.
    """
    for choice in choices:
        features = [columns for columns in choice.features if columns is not None]
        if len(features) < len(members):
            continue
        for member, columns in zip(members, features, strict=True):
            selection = []
            for other, rows in member.choosing.items():
                selection.append((members[other], features[other], rows))
            key = choice.name, point
            if selection and key in member.declared:
                member.held_out[key] = member.declared[key]
            elif selection:
                fitted = chosen(kind, choice.fit, selection)
                member.held_out[key] = fitted.scores(member.base, columns)


def hold_out_unchosen(boosts: Boosts, published: Point | None, member: Member) -> None:
    """Add the scores of recipes, and of the power mean at the published point of the explainer, where it has one."""
    for name, features in member.features.items():
        boost = boosts[name]
        fitted = boost.fixed
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
            member.held_out[key] = fitted.scores(member.base, features)


def hold_out_folds(kind: Kind, choices: Sequence[Choice], members: Sequence[Member]) -> None:
    """Add the scores of what is best on the other folds of each member."""
    for choice in choices:
        key = choice.name, CROSS_FITTED
        for member, features in zip(members, choice.features, strict=True):
            if key in member.declared:
                member.held_out[key] = member.declared[key]
            # A boost that cannot be made has no scores.
            elif features is not None:
                member.held_out[key] = cross_fitted(kind, choice.fit, member, features)
