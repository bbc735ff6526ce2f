"""What held-out scores of boosts gain: over several things, with intervals, and the verdicts on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.evaluations.base import Floats
from bmx_grid.evaluations.gained import Sampled, gained, less, scores_by_id
from bmx_grid.evaluations.held_out import Held, Rated
from bmx_grid.evaluations.intervals import estimate, resampled, under
from bmx_grid.evaluations.verdicts import (
    Corrected,
    Estimate,
    Evidence,
    Judged,
    corrected,
    mean_of_pairs,
    over_pairs,
    verdict,
)
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, number_of, seeded_draws

METRIC, LENGTH, REASSIGNED, COMBINED = "metric", "length", "reassigned", "combined"
COMPARATORS = (LENGTH, COMBINED)  # stand beside the boosts, under these names
BEST, CROSS_FITTED, ELSEWHERE, OTHER_DATASETS = "best", "cross_fitted", "elsewhere", "other_datasets"
HALF_SPLITS = "half_splits"
JUDGED_AT = (CROSS_FITTED, ELSEWHERE, OTHER_DATASETS)
ALL = "all"  # in place of a name, where a row speaks of all language pairs, or all data sets
CLUSTERS, PAIRS, JOINT, SPLITS, NONE = "clusters", "pairs", "clusters of all pairs", "splits", "none"

Key = tuple[str, str, str]  # boost, against, point
Held_ = Mapping[Key, Sequence[Held]]


@dataclass(frozen=True)
class Line:
    """What a boost gains over something at a point, on a scope: the names of data set and language pair.

    interval: what the ends of the gain are. "clusters": 95 % by the bootstrap of a pair's clusters; "pairs": over
    language pairs (`cluster_means.cluster_mean`); "clusters of all pairs": the bootstrap of clusters, drawn together
    for all pairs; "splits": the range of 95 % of the half splits; "none".
    abstained: the share of choices that are "do not boost"; constants: as JSON, of a single choice.
    """

    dataset: str
    language_pair: str
    boost: str
    against: str
    point: str
    gain: Estimate
    interval: str
    pairs: int
    n: int
    clusters: int
    abstained: float
    chosen_on: str
    constants: str = ""

    @property
    def key(self) -> Key:
        """Boost, against, point."""
        return self.boost, self.against, self.point


@dataclass(frozen=True, kw_only=True)
class JudgedBoost(Judged):
    """A verdict on a boost.

    corrected: p values over all boosts of the same setting, or scope, at the same point; the verdict rests on them.
    combined: the gain of the average of metrics; over_combined: of the boost over the metric with the length term and
    the other metrics. joint: gain and gain beyond length of several pairs, with the intervals of clusters drawn
    together.
    """

    boost: str
    combined: Estimate
    over_combined: Estimate
    joint: tuple[Estimate, Estimate]
    corrected: Corrected


def without_best(held: Held_) -> dict[Key, Sequence[Held]]:
    """Without what was chosen on the segments it is judged on."""
    return {(boost, against, point): one for (boost, against, point), one in held.items() if point != BEST}


def differences(
    kind: Kind, human: Floats, held: Held_, correlations: Mapping[int, Floats], seed: int
) -> dict[Key, Sampled]:
    """For each key the gain, with resamples of it.

    Against reassigned attributions the gain is that of the boost over the metric less theirs.
    """
    found = gained(kind, human, held, correlations, seed)
    return {
        (boost, against, point): less(found[boost, METRIC, point], one) if against == REASSIGNED else one
        for (boost, against, point), one in found.items()
    }


def lines_of(names: Sequence[str], kind: Kind, rated: Rated, held: Held_, resamples: int, seed: int) -> list[Line]:
    """A row for each key, with an interval but for what was chosen on the segments it is judged on."""
    clusters = np.unique(rated.clusters, return_inverse=True)[1].astype(np.int64)
    count = number_of(clusters)
    inside = without_best(held)
    correlations = resampled(kind, scores_by_id(inside), rated.human, clusters, resamples, seed)
    found = differences(kind, rated.human, inside, correlations, seed)
    found |= differences(kind, rated.human, {key: held[key] for key in held if key not in inside}, {}, seed)
    lines = []
    for key, (gain, samples) in found.items():
        shown = Estimate(gain) if samples is None else estimate(gain, samples, count)
        interval = NONE if samples is None else CLUSTERS
        first = held[key][0]
        abstained = float(np.mean([one.abstained for one in held[key]]))
        _, against, _ = key
        constants = first.constants if against != REASSIGNED else ""
        sizes = 1, len(rated.human), count
        lines.append(Line(names[0], names[1], *key, shown, interval, *sizes, abstained, first.chosen_on, constants))
    return lines


def reassigned_gains(kind: Kind, rated: Rated, held: Held_) -> dict[Key, float]:
    """By key what reassigned attributions themselves gain."""
    return {
        (boost, against, point): float(np.mean([one.gain(kind, rated.human) for one in drawn]))
        for (boost, against, point), drawn in held.items()
        if against == REASSIGNED
    }


def joint_samples(
    kind: Kind, rated: Sequence[Rated], held: Sequence[Held_], resamples: int, seed: int
) -> dict[Key, Floats]:
    """For each key float64[R] resamples of the mean gain over language pairs, clusters being drawn for all together.

    The codes of clusters are the same in every pair, so that a reference that several translate counts as often in all
    of them. A pair without a defined gain is left out of a mean, as a resample is in which a pair has none.
    """
    labels, numbers = np.unique(np.concatenate([one.clusters for one in rated]), return_inverse=True)
    parts = np.split(numbers.ravel(), np.cumsum([len(one.clusters) for one in rated])[:-1])
    if len(labels) < FEWEST_CLUSTERS:
        return {}
    widest = max(len(one.human) for one in rated)
    sums: dict[Key, list[Floats]] = {}
    for one, own, of_pair in zip(rated, parts, held, strict=True):
        scores = scores_by_id(of_pair)
        if not scores or not len(own):
            continue
        times = (drawn[own] for drawn in seeded_draws(len(labels), resamples, seed, widest))
        correlations = under(kind, scores, one.human, times)
        for key, (_, samples) in differences(kind, one.human, of_pair, correlations, seed).items():
            if samples is not None:
                sums.setdefault(key, []).append(samples)
    return {key: np.mean(found, axis=0) for key, found in sums.items()}


def over_scope(scope: tuple[str, str], lines: Sequence[Line], joint: Mapping[Key, Floats], clusters: int) -> list[Line]:
    """The rows of several language pairs as one: the mean, with the interval over pairs and that of joint clusters.

    lines: of the single pairs; clusters: how many there are in all. An interval over pairs needs three of them; of a
    single pair there is nothing to add.
    """
    made: list[Line] = []
    for key in dict.fromkeys(line.key for line in lines):
        own = [line for line in lines if line.key == key]
        known = [line for line in own if math.isfinite(line.gain.value)]
        *_, point = key
        if point not in JUDGED_AT or len(known) < 2:
            continue
        mean = mean_of_pairs([line.gain.value for line in known])
        sizes = len(known), sum(line.n for line in known), clusters
        abstained = float(np.mean([line.abstained for line in known]))
        said = _chosen_for_several(point)
        if len(known) >= FEWEST_CLUSTERS:
            made.append(Line(*scope, *key, mean, PAIRS, *sizes, abstained, said))
        if key in joint:
            drawn = estimate(mean.value, joint[key], clusters)
            made.append(Line(*scope, *key, drawn, JOINT, *sizes, abstained, said))
    return made


def judge_pair(boosts: Iterable[str], lines: Sequence[Line], reassigned: Mapping[Key, float]) -> list[JudgedBoost]:
    """A verdict on each boost at each of its points, on one language pair."""
    known = {line.key: line for line in lines}
    gains = {key: one.gain for key, one in known.items()}
    nothing = Estimate()
    made = []
    for point in JUDGED_AT:
        tried = [boost for boost in boosts if (boost, METRIC, point) in known]
        evidence = [
            Evidence(
                gain=gains[boost, METRIC, point],
                best=gains.get((boost, METRIC, BEST), nothing).value,
                beyond_length=gains.get((boost, LENGTH, point), nothing),
                over_reassigned=gains.get((boost, REASSIGNED, point), nothing),
                length=gains.get((LENGTH, METRIC, point), nothing),
                reassigned=Estimate(reassigned.get((boost, REASSIGNED, point), math.nan)),
                random=nothing,
            )
            for boost in tried
        ]
        for boost, one, p_values in zip(tried, evidence, corrected(evidence), strict=True):
            line = known[boost, METRIC, point]
            made.append(
                JudgedBoost(
                    dataset=line.dataset,
                    language_pair=line.language_pair,
                    boost=boost,
                    point=point,
                    pairs=1,
                    n=line.n,
                    clusters=line.clusters,
                    evidence=one,
                    combined=gains.get((COMBINED, METRIC, point), nothing),
                    over_combined=gains.get((boost, COMBINED, point), nothing),
                    joint=(nothing, nothing),
                    corrected=p_values,
                    verdict=verdict(one, p_values),
                )
            )
    return made


def judge_scope(scope: tuple[str, str], judged: Sequence[JudgedBoost], lines: Sequence[Line]) -> list[JudgedBoost]:
    """Verdicts on several language pairs, from those on single ones and the rows of `over_scope`."""
    known = {(line.key, line.interval): line for line in lines}
    made = []
    for point in dict.fromkeys(one.point for one in judged):
        of_boost: dict[str, list[JudgedBoost]] = {}
        for one in judged:
            if one.point == point and ((one.boost, METRIC, point), PAIRS) in known:
                of_boost.setdefault(one.boost, []).append(one)
        of_all = [over_pairs([one.evidence for one in own]) for own in of_boost.values()]
        for (boost, own), evidence, p_values in zip(of_boost.items(), of_all, corrected(of_all), strict=True):
            line = known[(boost, METRIC, point), PAIRS]
            joint = [known.get(((boost, against, point), JOINT)) for against in (METRIC, LENGTH)]
            both = [Estimate() if of is None else of.gain for of in joint]
            made.append(
                JudgedBoost(
                    dataset=scope[0],
                    language_pair=scope[1],
                    boost=boost,
                    point=point,
                    pairs=line.pairs,
                    n=line.n,
                    clusters=line.clusters,
                    evidence=evidence,
                    combined=mean_of_pairs([of.combined.value for of in own]),
                    over_combined=mean_of_pairs([of.over_combined.value for of in own]),
                    joint=(both[0], both[1]),
                    corrected=p_values,
                    verdict=verdict(evidence, p_values),
                )
            )
    return made


def _chosen_for_several(point: str) -> str:
    return {
        CROSS_FITTED: "the other folds of each language pair",
        ELSEWHERE: "the other language pairs of the data set without shared clusters",
        OTHER_DATASETS: "the other data sets without shared clusters",
    }[point]
