"""Settings as boosts see them: the segments that each is judged on, features, and who chooses for whom."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.boosts.recipe import Fixed, Identity
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.evaluations.base import Finished
from bmx_grid.evaluations.boost_evidence import BoostRow, HeldOutScores
from bmx_grid.evaluations.held_out import (
    Rated,
    free_of_each,
    nuisance_of,
    rated_of,
    reassignments,
    strata_of,
)
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid import GridSpec, words_of
from bmx_grid.measures.nuisance import NO_DONOR
from bmx_grid.measures.ordered import without_rounding
from bmx_grid.measures.resampling import codes
from bmx_grid.words.perturbation import ROLES
from bmx_grid.words.segmentation import log_words

Boosts = Mapping[str, Boost]  # by name


@dataclass(frozen=True, eq=False)
class Member(Rated):
    """The segments of a setting that some boosts can be made on, and are judged on.

    setting: where they are from; features: float64[n, k] of each of these boosts; declared: float64[n] scores of the
    grid's own boost at the points that it declares, by both: they are not chosen again.
    donors: int64[n] for each draw, which segment each gets its attributions from, none where a segment has no other
    cluster to get them from; choosing: for each member that chooses for this one, by its number, bool[n] which of its
    segments do.
    held_out: float64[n] scores that others chose, by boost and point; rows: what boosts reach. Both are filled as they
    become known.
    """

    setting: Finished
    features: Mapping[str, Floats]
    declared: Mapping[tuple[str, str], Floats]
    donors: tuple[Ints, ...]
    choosing: Mapping[int, Flags] = field(default_factory=dict)
    held_out: HeldOutScores = field(default_factory=dict)
    rows: list[BoostRow] = field(default_factory=list)

    def reassigned(self, name: str, boost: Boost) -> list[Floats]:
        """The features of a boost with the attributions of other segments, of each draw."""
        if name not in self.features:
            return []
        features = self.features[name]
        # Columns that are no attributions, such as lengths, stay with their segment.
        attributed = np.array(boost.of_attributions())
        return [np.where(attributed, features[donor], features) for donor in self.donors]

    def on_all(self, scores: Floats) -> Floats:
        """float64[N] from float64[n]; NaN for the others."""
        scores_of_all = np.full(len(self.used), np.nan)
        scores_of_all[self.used] = scores
        return scores_of_all


def linked(
    kind: Kind, members: Sequence[Member], labels: Sequence[Sequence[str]], origins: Sequence[str]
) -> list[Member]:
    """Copies of the members, with one code for a cluster in all of them, and with the others that choose for each.

    They have no held-out scores yet, and share the rows.

    labels: of each member the clusters of all its N segments. origins: of each member the name of its language pair,
    or of its data set. Members of another origin choose, on their segments whose clusters are not shared, where the
    correlation of the metric is defined on these.
    """
    named = zip(members, labels, strict=True)
    used = [np.asarray(labels_of_all, dtype=np.str_)[member.used] for member, labels_of_all in named]
    # Coded together and split again, so that a shared cluster has one code in all members.
    ends = np.cumsum(list(map(len, used)))
    clusters = np.split(codes(np.concatenate(used)), ends[:-1])
    joined = []
    for place, free in enumerate(free_of_each(labels)):
        choosing = {}
        for other, is_free in free.items():
            if origins[other] == origins[place]:
                continue
            chooser = members[other]
            rows = is_free[chooser.used]
            if math.isfinite(correlate(kind, chooser.base[rows], chooser.human[rows])):
                choosing[other] = rows
        member = replace(members[place], clusters=clusters[place], choosing=choosing, held_out={})
        joined.append(member)
    return joined


def judged_by(kind: Kind, member: Member, gold: str, fold_seed: int) -> tuple[Rated, Flags]:
    """The judged segments of a setting with another human score, and bool[n] which of them it rates.

    Folds are dealt anew among these. With the primary human score, or "", the segments are as they are.
    """
    judgements = member.setting.segments.judgements
    scores_of_people = judgements.scores[gold or judgements.primary]
    human = scores_of_people[member.used]
    rows = np.isfinite(human)
    if gold in ("", judgements.primary):
        return member, rows
    arrays = (member.base, human, member.log_words, member.clusters, member.nuisance)
    rated = rated_of(kind, *arrays, rows, fold_seed, member.items)
    # Clusters keep their codes, which other language pairs share.
    return replace(rated, clusters=member.clusters[rows]), rows


def is_of_grid(boost: Boost | None, spec: GridSpec) -> bool:
    """Whether a boost is the one whose points a grid declares."""
    if not isinstance(boost, PowerMeanGrid) or boost.shift != "paper":
        return False
    return replace(boost.spec, correlation=spec.correlation) == spec


@dataclass(frozen=True, eq=False)
class Material:
    """What the boosts of a setting are made of, of all N segments.

    rated: bool[N] which segments people and the metric score. features: float64[N, k] of each boost that can be made;
    lacking: why other boosts cannot be made, by name.
    """

    setting: Finished
    rated: Flags
    features: Mapping[str, Floats]
    lacking: Mapping[str, str]

    def segments_of(self, name: str) -> Flags:
        """bool[N] which rated segments a boost can be made on; all of them if it cannot be made."""
        if name not in self.features:
            return self.rated
        return np.asarray(self.rated & np.isfinite(self.features[name]).all(axis=1))


def material_of(setting: Finished, boosts: Boosts) -> Material:
    """What the boosts of a setting are made of; nothing for a metric alone.

    Raises DataError where a boost cannot be made of the attributions at all.
    """
    rated = np.isfinite(setting.segments.human_scores) & np.isfinite(setting.scores.base_scores)
    features = {}
    lacking = {}
    scores = setting.scores
    for name, boost in boosts.items() if setting.explainer is not None else ():
        reason = _differs(boost, setting)
        if reason:
            lacking[name] = reason
            continue
        columns = boost.features(scores.ground_truth, scores.hypothesis)
        complete = np.isfinite(columns).all(axis=1)
        if (complete & rated).any():
            features[name] = columns
        else:
            lacking[name] = _lacks_side(name, boost, setting) if rated.any() else "no segment is rated"
    return Material(setting, rated, features, lacking)


def boosts_by_segments(boosts: Boosts, materials: Sequence[Material]) -> list[dict[str, Boost]]:
    """The boosts that some setting can make, those together that are judged on the same segments of every setting.

    One group of no boosts if none can be made: placebos are judged without them.
    """
    groups: dict[tuple[bytes, ...], dict[str, Boost]] = {}
    for name, boost in boosts.items():
        if not any(name in material.features for material in materials):
            continue
        segments = tuple(material.segments_of(name).tobytes() for material in materials)
        groups.setdefault(segments, {})[name] = boost
    return list(groups.values()) or [{}]


def member_of(material: Material, boosts: Boosts, spec: GridSpec, *, fold_seed: int, draws: int, seed: int) -> Member:
    """The segments of a setting that some boosts are judged on, before others choose for it (`linked`).

    boosts: which can be made on the same segments. spec, fold_seed: of the grid, whose correlation and folds are used;
    draws, seed: of reassigned attributions.
    """
    setting = material.setting
    labels = np.asarray(setting.clusters, dtype=np.str_)
    kind = spec.correlation
    used = material.rated
    for name in boosts:
        used = used & material.segments_of(name)
    features = {}
    declared = {}
    for name, boost in boosts.items():
        if name not in material.features:
            continue
        columns = material.features[name]
        columns = columns if used.all() else columns[used]
        # As in the grid, rounding creates no order.
        features[name] = columns if kind == "pearson" else without_rounding(columns)
        if not is_of_grid(boost, spec):
            continue
        for point, scores in setting.boosted.items():
            if np.isfinite(scores[used]).all():
                declared[name, point] = scores[used]
    segments = setting.segments
    log_words_of_texts = log_words(*[setting.word_counts(role) for role in setting.worded])
    nuisance = nuisance_of(
        base=setting.scores.base_scores,
        log_words=log_words_of_texts,
        texts=[setting.words_of(role) for role in setting.worded],
        unread=[setting.segment_words(role) for role in ROLES if role not in setting.worded and segments.has(role)],
        groups=list(segments.groups.values()),
        clusters=labels,
        strata=strata_of(segments.segments, labels, used),
    )
    drawn: tuple[Ints, ...] = ()
    if features and draws:
        attributed = words_of(spec.side, setting.scores.ground_truth, setting.scores.hypothesis)
        drawn = reassignments(attributed.lengths[used], codes(labels[used]), draws, seed)
        # In one cluster no segment has another one to get attributions from.
        if any((donor == NO_DONOR).any() for donor in drawn):
            drawn = ()
    member: Member = rated_of(
        kind=kind,
        base=setting.scores.base_scores,
        human=segments.human_scores,
        log_words=log_words_of_texts,
        clusters=labels,
        items=np.array([segment.id for segment in segments.segments]),
        nuisance=nuisance,
        used=used,
        seed=fold_seed,
        kind_of=Member,
        setting=setting,
        features=features,
        declared=declared,
        donors=drawn,
    )
    return member


def _lacks_side(name: str, boost: Boost, setting: Finished) -> str:
    """Why no segment has the attributions that a boost reads, with a boost that reads the side which is known."""
    has_hypothesis = len(setting.scores.hypothesis.values) > 0
    has_truth = len(setting.scores.ground_truth.values) > 0
    if has_hypothesis == has_truth:
        return f"no rated segment has finite attributions of every side that boost={name} reads"
    lacking, side = ("ground truth", "hypothesis") if has_hypothesis else ("hypothesis", "ground_truth")
    way_out = f"boost.{name}.side={side}"
    if not isinstance(boost, FeatureMix):
        way_out = f"boost=[mean] boost.mean.side={side}"
    return (
        f"boost={name} reads attributions of the {lacking}, and explainer={setting.explainer_name} gives none. "
        f"Choose: {way_out}"
    )


def _differs(boost: Boost, setting: Finished) -> str:
    """Why a recipe is not for this setting; "" where it is, and for other boosts."""
    if not isinstance(boost, Fixed):
        return ""
    assert setting.explainer is not None
    recipe = boost.known
    dataset = setting.segments.dataset
    # It would be judged where it was chosen.
    if any(part.dataset == dataset for part in recipe.chosen_on):
        return f"the recipe was chosen on {dataset}; give your data another name if they are others"
    try:
        metric = Identity.of("metric", setting.metric_name, setting.metric, setting.metric.signature)
        explainer = Identity.of("explainer", setting.explainer_name, setting.explainer, setting.explainer.signature)
        recipe.check(metric, explainer)
    except ConfigError as error:
        return str(error)
    return ""
