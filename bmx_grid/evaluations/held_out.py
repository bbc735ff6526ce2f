"""Settings as boosts see them, and boosts fitted on some segments and applied to others: folds, pairs, data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.boosts.base import Boost, Fit, Fitted, Part
from bmx_grid.boosts.recipe import Fixed, Identity
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.evaluations.base import Finished
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.grid_resampling import FOLDS_PLACE, to_scale
from bmx_grid.measures.nuisance import NO_DONOR, PER_TERM, donors, levels, log_words
from bmx_grid.measures.ordered import without_rounding
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, dealt, number_of
from bmx_grid.words.statistics import text_statistics

FOLDS = 10
# What a boost is made of in place of the attributions, to see what it gains then.
REASSIGNED = "reassigned"
SHUFFLED = "shuffled"
REASSIGNED_PLACE = 2  # in the seed


@dataclass(frozen=True, eq=False)
class Rated:
    """The n judged of N segments of a language pair.

    base, human: float64[n], finite; log_words: float64[n, k] of the texts that are read; clusters: int64[n] codes,
    the same for a cluster in every language pair that chooses together with this one; items: int64[n] codes of the
    segment ids, which translations of one source share; terms: float64[n, t] what else is no explanation, such as the
    level of a system or the frequency of words; fold_of: int64[n]; used: bool[N] which segments these are.
    """

    base: Floats
    human: Floats
    log_words: Floats
    clusters: Ints
    items: Ints
    terms: Floats
    fold_of: Ints
    used: Flags


def rated_of(
    kind: Kind,
    base: Floats,
    human: Floats,
    log_words: Floats,
    clusters: NDArray[Any],
    items: NDArray[Any],
    terms: Floats,
    used: Flags,
    seed: int,
    among: Flags | None = None,
) -> Rated:
    """The segments where bool[N] `used` is true, of arrays of N; labels of clusters and items.

    seed: of folds, which are dealt among the same segments, or those where bool[N] `among` is true.
    """
    # Folds are those of the grid's points, whose segments may be more.
    among = used if among is None else among
    folds = folds_of(kind, base[among], human[among], codes(clusters[among]), seed)[used[among]]
    cluster_codes = codes(clusters[used])
    item_codes = codes(items[used])
    return Rated(base[used], human[used], log_words[used], cluster_codes, item_codes, terms[used], folds, used)


def terms_of(
    groups: Sequence[NDArray[Any]], texts: Sequence[Sequence[Sequence[str]]], clusters: NDArray[Any]
) -> Floats:
    """float64[N, t] terms for what is no explanation: levels of named groups, and what the texts are like.

    groups: N names each, of systems, raters or domains; texts: of each side N rows of words; clusters: N labels.
    Each PER_TERM clusters allow one term of the texts, those of all sides in turn.
    """
    numbers = codes(clusters)
    columns_of_groups = [levels(names) for names in groups]
    columns_of_sides = [text_statistics(rows, numbers).T for rows in texts]
    # In turn, so that few clusters leave terms of every side.
    in_turn: list[Floats] = []
    for columns in zip(*columns_of_sides, strict=True):
        in_turn += columns
    columns_of_texts = in_turn[: number_of(numbers) // PER_TERM]
    return np.column_stack([np.empty((len(clusters), 0)), *columns_of_groups, *columns_of_texts])


def judged_by(kind: Kind, member: Member, gold: str, fold_seed: int) -> tuple[Rated, Flags]:
    """The judged segments of a setting with another human score, and bool[n] which of them it rates.

    Folds are dealt anew among these. With the primary human score, or "", the segments are as they are.
    """
    judgements = member.setting.segments.judgements
    human = judgements.scores[gold or judgements.primary][member.used]
    rows = np.isfinite(human)
    if gold in ("", judgements.primary):
        return member, rows
    used = member.used.copy()
    used[member.used] = rows
    clusters = member.clusters[rows]
    rated = Rated(
        base=member.base[rows],
        human=human[rows],
        log_words=member.log_words[rows],
        clusters=clusters,
        items=member.items[rows],
        terms=member.terms[rows],
        fold_of=folds_of(kind, member.base[rows], human[rows], codes(clusters), fold_seed),
        used=used,
    )
    return rated, rows


def folds_of(kind: Kind, base: Floats, human: Floats, unit: Ints, seed: int) -> Ints:
    """int64[n] which of ten folds each segment is in, those of the grid; 0 where nothing is cross-fitted."""
    if number_of(unit) < FEWEST_CLUSTERS or math.isnan(correlate(kind, base, human)):
        return np.zeros(len(base), dtype=np.int64)
    return dealt(unit, FOLDS, np.random.default_rng([seed, FOLDS_PLACE]))


def free_of_each(clusters: Sequence[Sequence[str]]) -> list[dict[int, Flags]]:
    """For each of L language pairs the others by number: bool[N] which of their segments are in none of its clusters.

    clusters: N labels of each language pair.
    """
    labels = [np.asarray(names, dtype=np.str_) for names in clusters]
    # Each name once: `isin` sorts what it looks for.
    known = [list(set(names)) for names in clusters]
    free = []
    for place, names in enumerate(known):
        others = [other for other in range(len(labels)) if other != place]
        free.append({other: ~np.isin(labels[other], names) for other in others})
    return free


def chosen(kind: Kind, fit: Fit, selection: Sequence[tuple[Rated, Floats, Flags]]) -> Fitted:
    """What is best on some segments of language pairs, which count the same.

    selection: each with its features float64[n, k], and bool[n] which of its segments choose. Pairs on which the
    correlation of the metric is undefined have no say.
    """
    parts = []
    for rated, features, rows in selection:
        columns = features if rows.all() else features[rows]  # features are large: no copy where all choose
        part = Part(rated.base[rows], columns, rated.human[rows], rated.clusters[rows])
        if part.decides and np.ptp(part.base) > 0:
            parts.append(part)
    return fit(kind, parts)


def cross_fitted(kind: Kind, fit: Fit, rated: Rated, features: Floats) -> Floats:
    """float64[n] each segment with what is best on the folds it is not in; NaN with one fold.

    Scores of a fold are brought to the mean and spread of the metric alone, so that folds are comparable.
    """
    scores = np.full(len(rated.base), np.nan)
    # One fold stands for none: nothing is cross-fitted there.
    count = number_of(rated.fold_of)
    for fold in range(count) if count > 1 else ():
        inside = rated.fold_of == fold
        fitted = chosen(kind, fit, [(rated, features, ~inside)])
        boosted = fitted.scores(rated.base, features)
        scores[inside] = to_scale(boosted, rated.base)[inside]
    return scores


@dataclass(frozen=True, eq=False)
class Member(Rated):
    """The judged segments of a setting as boosts see them.

    setting: where they are from; features: float64[n, k] of each boost that can be made; lacking: why others cannot,
    by name; donors: int64[n] for each draw, which segment each gets its attributions from, none where a segment has
    no other cluster to get them from; placebos: features like the first ones, of each of the setting's placebos;
    choosing: for each member that chooses for this one, by its number, bool[n] which of its segments do.
    """

    setting: Finished
    features: Mapping[str, Floats]
    lacking: Mapping[str, str]
    donors: tuple[Ints, ...]
    placebos: tuple[Mapping[str, Floats], ...]
    choosing: Mapping[int, Flags] = field(default_factory=dict)

    def features_of(self, name: str, boost: Boost) -> list[Floats]:
        """The features of a boost as they are, then those of each of `instead`. None where it cannot be made."""
        if name not in self.features:
            return []
        features = self.features[name]
        # Columns that are no attributions, such as lengths, stay with their segment.
        reassigned = np.array(boost.of_attributions())
        of_others = [np.where(reassigned, features[donor], features) for donor in self.donors]
        return [features, *of_others, *(placebo[name] for placebo in self.placebos)]

    @property
    def instead(self) -> list[str]:
        """What the same boost is made of as well: attributions of other segments, then those of placebos."""
        return [REASSIGNED] * len(self.donors) + [SHUFFLED] * len(self.placebos)

    def on_all(self, scores: Floats) -> Floats:
        """float64[N] from float64[n]; NaN for the others."""
        scores_of_all = np.full(len(self.used), np.nan)
        scores_of_all[self.used] = scores
        return scores_of_all


def linked(
    kind: Kind, members: Sequence[Member], labels: Sequence[Sequence[str]], names: Sequence[str]
) -> list[Member]:
    """The members with one code for a cluster in all of them, and with the others that choose for each.

    labels: N clusters of each. names: those with another name choose, without shared clusters, where a correlation of
    the metric is defined.
    """
    used = [np.asarray(clusters, dtype=np.str_)[member.used] for member, clusters in zip(members, labels, strict=True)]
    ends = np.cumsum([len(clusters) for clusters in used])
    clusters = np.split(codes(np.concatenate(used)), ends[:-1])
    joined = []
    for place, free in enumerate(free_of_each(labels)):
        choosing = {}
        for other, is_free in free.items():
            if names[other] == names[place]:
                continue
            chooser = members[other]
            rows = is_free[chooser.used]
            if math.isfinite(correlate(kind, chooser.base[rows], chooser.human[rows])):
                choosing[other] = rows
        joined.append(replace(members[place], clusters=clusters[place], choosing=choosing))
    return joined


def member_of(
    setting: Finished, boosts: Mapping[str, Boost], spec: GridSpec, *, fold_seed: int, draws: int, seed: int
) -> Member:
    """A setting as boosts see it.

    spec, fold_seed: the grid whose segments, correlation and folds are used; draws, seed: of reassigned attributions.
    Raises DataError where a boost cannot be made of the attributions at all.
    """
    base = setting.scores.base_scores
    human = setting.segments.human_scores
    labels = np.asarray(setting.clusters, dtype=np.str_)
    kind = spec.correlation
    features: dict[str, Floats] = {}
    lacking: dict[str, str] = {}
    placebos: list[dict[str, Floats]] = []
    used = among = np.isfinite(human) & np.isfinite(base)
    if setting.explainer is not None:
        inputs = setting.inputs(spec)
        among = inputs.used
        features, lacking = _features(setting, boosts, among)
        for scores in setting.placebos:
            instead, lacking_there = _features(replace(setting, scores=scores), boosts, among)
            placebos.append(instead)
            # What a placebo cannot be made for is not judged: there would be nothing to compare with.
            lacking |= lacking_there
        features = {name: columns for name, columns in features.items() if name not in lacking}
        # one set of segments for all boosts that can be made here, in the folds of the grid's points
        used = among.copy()
        for features_of_model in (features, *placebos):
            for name in features:
                used &= np.isfinite(features_of_model[name]).all(axis=1)
    words = log_words(*(setting.word_counts(role) for role in setting.worded))
    items = np.array([segment.id for segment in setting.segments.segments])
    texts = [setting.words_of(role) for role in setting.worded]
    terms = terms_of(list(setting.segments.groups.values()), texts, labels)
    rated = rated_of(kind, base, human, words, labels, items, terms, used, fold_seed, among)
    drawn: tuple[Ints, ...] = ()
    if features:
        drawn = reassignments(inputs.lengths[used[among]], rated.clusters, draws, seed)
        if not len(rated.base) or any((donor == NO_DONOR).any() for donor in drawn):
            drawn = ()  # nothing is judged in one cluster
            placebos = []
    return Member(
        **vars(rated),
        setting=setting,
        features=_judged(kind, features, used),
        lacking=lacking,
        donors=drawn,
        placebos=tuple(_judged(kind, of_placebo, used) for of_placebo in placebos),
    )


def _judged(kind: Kind, features: Mapping[str, Floats], used: Flags) -> dict[str, Floats]:
    """float64[n, k] features of the judged segments, of those of all N."""
    judged = {}
    for name, columns in features.items():
        judged[name] = columns if used.all() else columns[used]
        if kind != "pearson":  # as in the grid, rounding creates no order
            judged[name] = without_rounding(judged[name])
    return judged


def reassignments(n_words: Ints, clusters: Ints, draws: int, seed: int) -> tuple[Ints, ...]:
    """int64[n] for each draw, which of n judged segments each gets its attributions from (`nuisance.donors`).

    n_words: int64[n]; clusters: int64[n] codes from 0. Drawn from the seed and from these, so that the same segments
    have the same ones in every sweep and in `bmx_grid.boost`.
    """
    content = int(digest([n_words.tolist(), clusters.tolist()])[:16], 16)
    drawn = []
    for draw in range(draws):
        generator = np.random.default_rng([seed, content, REASSIGNED_PLACE, draw])
        drawn.append(donors(n_words, clusters, generator))
    return tuple(drawn)


def _features(setting: Finished, boosts: Mapping[str, Boost], used: Flags) -> tuple[dict[str, Floats], dict[str, str]]:
    """The features float64[N, k] of boosts that can be made, and why others cannot, by name."""
    features = {}
    lacking = {}
    for name, boost in boosts.items():
        reason = _differs(boost, setting)
        columns = np.empty((0, 1)) if reason else boost.features(setting.scores.ground_truth, setting.scores.hypothesis)
        if not reason and not (np.isfinite(columns).all(axis=1) & used).any():
            reason = "it reads a side that has no attributions here" if used.any() else "no segment is rated"
        if reason:
            lacking[name] = reason
        else:
            features[name] = columns
    return features, lacking


def _differs(boost: Boost, setting: Finished) -> str:
    """Why a recipe is not for this setting; "" where it is, and for other boosts."""
    if not isinstance(boost, Fixed):
        return ""
    assert setting.explainer is not None
    recipe = boost.known
    # It would be judged where it was chosen.
    if any(part.dataset == setting.segments.dataset for part in recipe.chosen_on):
        return f"the recipe was chosen on {setting.segments.dataset}; give your data another name if they are others"
    try:
        recipe.check(
            Identity.of("metric", setting.metric_name, setting.metric, setting.metric.signature),
            Identity.of("explainer", setting.explainer_name, setting.explainer, setting.explainer.signature),
        )
    except ConfigError as error:
        return str(error)
    return ""
