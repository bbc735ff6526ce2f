"""What held-out scores of boosts gain, over several things, with intervals by language pair and over several pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import NOTHING, Estimate, Measured, SettingNames, SettingRow
from bmx_grid.evaluations.gain_estimates import (
    METRIC,
    Contrasts,
    GainStatistic,
    Key,
    estimate,
    estimate_gains,
    p_of,
)
from bmx_grid.evaluations.held_out import Rated
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.nuisance import CurveTerms, beyond_nuisance
from bmx_grid.measures.pairwise import PairedSources
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, cluster_mean, codes, number_of, seeded_draws

# What a gain is measured from besides the metric: whatever score, lengths and texts tell, fitted to both; the same with
# all metrics at hand; the metric, within each source. Also what the boost gains with other attributions (`held_out`).
SCORE_AND_TEXT = "score, length and text"
METRICS = "metrics"
WITHIN = "metric within source"
# What stands beside the boosts, under these names.
LENGTH = "length"
CURVE = "curve"
COMBINED = "combined"
PLACEBOS = (LENGTH, CURVE)
# Points: where a boost was chosen.
CROSS_FITTED = "cross_fitted"
ELSEWHERE = "elsewhere"
OTHER_DATASETS = "other_datasets"
PUBLISHED = "published"
FIXED = "fixed"
ALL = "all"  # in place of a name, where a row speaks of all language pairs, or all data sets
FEWEST_SOURCES = 30  # with two translations or more, for a gain within sources

# Scores float64[n] of a boost at a point, by both: with its attributions as they are, then with each of the others.
HeldOutScores = dict[tuple[str, str], list[Floats]]


@dataclass(frozen=True)
class BoostRow(SettingRow):
    """One row of boosts.parquet: what a boost gains over something at a point, on a data set and language pair.

    The interval is that of the bootstrap of a pair's clusters; of several pairs that of `over_pairs`.
    human: the human score that judges, "" for the primary one. n, clusters: segments that it rests on, and clusters of
    these. beside: of what stands beside boosts that are judged on different segments, the boosts whose segments these
    are; else "".
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    boost: str
    against: str
    point: str
    gain: Measured
    pairs: int
    n: int
    clusters: int
    human: str = ""
    beside: str = ""

    @property
    def key(self) -> Key:
        """Boost, against, point, human score."""
        return self.boost, self.against, self.point, self.human


def contrasts(
    kind: Kind,
    rated: Rated,
    held_out: HeldOutScores,
    instead: Sequence[str] = (),
    metrics: Floats | None = None,
    statistic: GainStatistic = "pooled",
    gold: str = "",
) -> Contrasts:
    """What each boost gains over the metric, and over what else its verdict asks for.

    statistic, gold: as of `Contrasts`; within sources there is nothing further to ask where these judge anyway.
    instead: of which kind the other attributions are, of one kind all draws after each other (`Member.instead`).
    metrics: float64[n, m] of other metrics, if there are any, that are fitted to the judged segments as further terms.
    """
    # One set of columns for all contrasts: each correlation is computed once per resample.
    sources = _paired_sources(kind, rated, statistic)
    differences = Contrasts(kind=kind, statistic=statistic, gold=gold, human=rated.human, sources=sources)
    base = differences.add(rated.base)
    # All boosts as they are stand before all with other attributions.
    places = {}
    for boost_and_point, (as_it_is, *_) in held_out.items():
        places[boost_and_point] = differences.add(as_it_is)
    for (boost, point), place in places.items():
        differences.terms[boost, METRIC, point, gold] = {place: 1.0, base: -1.0}
        if sources is not None and statistic == "pooled":
            differences.within[boost, WITHIN, point, gold] = place, base
        _, *of_other_attributions = held_out[boost, point]
        # Not strict: `length` and `curve` are made of no attributions, and of the last kind another language pair may
        # lack some.
        places_of_kinds: dict[str, list[int]] = {}
        for scores, attributions in zip(of_other_attributions, instead, strict=False):
            other = differences.add(scores)
            places_of_kinds.setdefault(attributions, []).append(other)
        for attributions, places_of_kind in places_of_kinds.items():
            # The mean over the draws of one kind is taken off.
            share = -1 / len(places_of_kind)
            weights = dict.fromkeys(places_of_kind, share)
            differences.terms[boost, attributions, point, gold] = {place: 1.0, **weights}
    _adjust(differences, rated, held_out, SCORE_AND_TEXT)
    if metrics is not None:
        # The average of metrics is made of what would be taken off.
        boosts_alone = {key: held_out[key] for key in held_out if key[0] != COMBINED}
        _adjust(differences, rated, boosts_alone, METRICS, metrics)
    return differences


def _paired_sources(kind: Kind, rated: Rated, statistic: GainStatistic) -> PairedSources | None:
    """The sources with several translations; None of too few, and where most have one and a pooled statistic judges."""
    sources = PairedSources.of(kind, rated.human, rated.items, rated.clusters)
    if len(sources.first) < FEWEST_SOURCES:
        return None
    are_most = 2 * len(sources.rows) >= len(rated.human)
    if are_most or statistic == "pdp":
        return sources
    return None


def _adjust(differences: Contrasts, rated: Rated, held_out: HeldOutScores, against: str, *more: Floats) -> None:
    """Add contrasts of boosts with what score, lengths, texts and more tell of the judged segments anyway.

    more: float64[n, m] of further terms.
    """
    keys = []
    for (boost, point), (as_it_is, *_) in held_out.items():
        if boost not in PLACEBOS and np.isfinite(as_it_is).all():
            keys.append((boost, point))
    if not (keys and len(rated.human)):
        return
    # As many terms as the clusters allow.
    n_clusters = number_of(codes(rated.clusters))
    curve = CurveTerms.of(rated.base, rated.log_words, n_clusters)
    terms_of_curve = curve.columns(rated.base, rated.log_words)
    terms = np.column_stack([terms_of_curve, rated.terms, *more])
    scores = np.column_stack([held_out[key][0] for key in keys])
    kind = differences.kind
    fits = beyond_nuisance(kind, rated.base, rated.log_words, terms, rated.human, rated.fold_of, scores)
    for fit in fits:
        # One column for all boosts: what is known without any of them.
        alone = differences.add(fit.alone)
        for (boost, point), with_score in zip(keys, fit.with_scores.T, strict=True):
            contrast = (boost, against, point, differences.gold)
            weights = differences.terms.setdefault(contrast, {})
            place = differences.add(with_score)
            weights[place] = fit.weight
            weights[alone] = -fit.weight


def lines_of(setting: SettingNames, rated: Rated, differences: Contrasts, resamples: int, seed: int) -> list[BoostRow]:
    """A row for each contrast of a language pair."""
    n_segments = len(rated.human)
    n_clusters = number_of(codes(rated.clusters))
    lines = []
    for key, gain in estimate_gains(differences, rated.clusters, resamples, seed).items():
        boost, against, point, human = key
        line = BoostRow(*setting, boost, against, point, gain, pairs=1, n=n_segments, clusters=n_clusters, human=human)
        lines.append(line)
    return lines


def joint_samples(pairs: Sequence[tuple[Rated, Contrasts]], resamples: int, seed: int) -> dict[Key, Floats]:
    """For each key float64[R] resamples of the mean over language pairs, clusters being drawn for all together.

    The codes of clusters are the same in every pair, so that a reference that several translate counts as often in all
    of them. A pair without a defined contrast is left out of a mean, as a resample is in which a pair has none.
    """
    sizes = [len(rated.clusters) for rated, _ in pairs]
    clusters_in_turn = np.concatenate([rated.clusters for rated, _ in pairs])
    clusters_of_all = codes(clusters_in_turn)
    ends = np.cumsum(sizes)
    clusters_of_pairs = np.split(clusters_of_all, ends[:-1])
    n_clusters = number_of(clusters_of_all)
    if n_clusters < FEWEST_CLUSTERS:
        return {}
    # Blocks are as large as the largest pair allows: the same blocks, and so the same draws, in all.
    widest = max(sizes)
    by_key: dict[Key, list[Floats]] = {}
    for clusters, (_, differences) in zip(clusters_of_pairs, pairs, strict=True):
        # The same seed in every pair: each draw is one draw of clusters, read in all of them.
        draws = seeded_draws(n_clusters, resamples, seed, widest)
        times: Iterator[Floats] = (drawn[clusters] for drawn in draws)
        defined = differences.values()
        for key, samples in differences.under(times).items():
            if math.isfinite(defined[key]):
                by_key.setdefault(key, []).append(samples)
    means = {}
    for key, samples_of_pairs in by_key.items():
        means[key] = np.mean(samples_of_pairs, axis=0)
    return means


def over_scope(
    scope: tuple[str, str], lines: Sequence[BoostRow], joint: Mapping[Key, Floats], clusters: int
) -> list[BoostRow]:
    """The rows of several language pairs as one; lines: of the single pairs; clusters: how many there are in all.

    A boost is judged at the same point in all of them: one that a pair lacks has no row.
    """
    groups: dict[Key, list[BoostRow]] = {}
    for line in lines:
        if math.isfinite(line.gain.value):
            groups.setdefault(line.key, []).append(line)
    dataset, language_pair = scope
    joined = []
    for key, of_pairs in groups.items():
        if len(of_pairs) < 2:
            continue
        values = [line.gain.value for line in of_pairs]
        drawn = NOTHING
        if key in joint:
            mean = float(np.mean(values))
            drawn = estimate(mean, joint[key], clusters)
        boost, against, point, human = key
        row = BoostRow(
            dataset=dataset,
            language_pair=language_pair,
            metric=of_pairs[0].metric,
            explainer=of_pairs[0].explainer,
            boost=boost,
            against=against,
            point=point,
            gain=over_pairs(values, drawn),
            pairs=len(of_pairs),
            n=sum(line.n for line in of_pairs),
            clusters=clusters,
            human=human,
            beside=of_pairs[0].beside,
        )
        joined.append(row)
    return joined


def over_pairs(values: Sequence[float], joint: Estimate) -> Estimate:
    """The mean of one value per language pair; NaN values are left out. None without FEWEST_CLUSTERS pairs.

    joint: the same mean with the interval of clusters of segments drawn together in all pairs. Both have to leave 0
    out: pairs that share segments are not independent of each other, and segments of these pairs say nothing of others.
    The interval therefore reaches as far as the wider one on each side, and p is the larger one.
    """
    # Each language pair is a cluster of its own.
    language_pairs = list(range(len(values)))
    over = cluster_mean(list(values), language_pairs)
    known = np.array([value for value in values if math.isfinite(value)])
    n_known = len(known)
    if n_known < FEWEST_CLUSTERS or math.isnan(joint.low):
        return Estimate(over.mean)
    deviation = float(known.std(ddof=1))
    error = deviation / math.sqrt(n_known)
    low = min(over.low, joint.low)
    high = max(over.high, joint.high)
    p = max(p_of(over.mean, error, n_known), joint.p)
    return Estimate(over.mean, low, high, p)
