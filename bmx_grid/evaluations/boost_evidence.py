"""What held-out scores of boosts gain, over several things, with intervals by language pair and over several pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.evaluations.base import NOTHING, Estimate, Measured, SettingRow
from bmx_grid.evaluations.held_out import Rated
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.nuisance import CurveTerms, beyond_nuisance
from bmx_grid.measures.pairwise import PairedSources
from bmx_grid.measures.resampling import (
    FEWEST_CLUSTERS,
    cluster_mean,
    codes,
    interval,
    number_of,
    seeded_draws,
    weighted_correlations,
)

# What a gain is measured from: the metric; whatever score, lengths and texts tell, fitted to both; the same with all
# metrics at hand; the metric, within each source. Also what the boost gains with other attributions (`held_out`).
METRIC = "metric"
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

Key = tuple[str, str, str, str]  # boost, against, point, human score
GainStatistic = Literal["pooled", "pdp"]
Chosen = dict[tuple[str, str], list[Floats]]  # scores by boost and point: as it is, then with other attributions


@dataclass(frozen=True)
class BoostRow(SettingRow):
    """One row of boosts.parquet: what a boost gains over something at a point, on a data set and language pair.

    The interval is that of the bootstrap of a pair's clusters; of several pairs that of `over_pairs`.
    human: the human score that judges, "" for the primary one. clusters: of segments that it rests on.
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

    @property
    def key(self) -> Key:
        """Boost, against, point, human score."""
        return self.boost, self.against, self.point, self.human


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Sums of weighted correlations of n segments' scores with their human scores, such as differences.

    statistic: the correlation over all segments, or that of the pairs of translations of one source (PDP). gold: the
    name of the human score. columns: float64[n] each; terms: for each key the weight of each of its columns, by place.
    sources: the pairs of translations of one source, where there are enough; within: for each key its column, and that
    of the metric.
    """

    kind: Kind
    statistic: GainStatistic
    gold: str
    human: Floats
    columns: list[Floats] = field(default_factory=list)
    terms: dict[Key, dict[int, float]] = field(default_factory=dict)
    sources: PairedSources | None = None
    within: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def add(self, scores: Floats) -> int:
        """The place of a column."""
        self.columns.append(scores)
        return len(self.columns) - 1

    def values(self) -> dict[Key, float]:
        """The differences on the segments as they are; NaN where one is undefined."""
        once = np.ones((len(self.human), 1))
        if self.statistic == "pdp":
            reached = self._of_pairs(self._stacked(), once)
        else:
            reached = np.full((len(self.columns), 1), math.nan)
            for place, column in enumerate(self.columns):
                if np.isfinite(column).all():
                    reached[place] = correlate(self.kind, column, self.human)
        return {key: float(value[0]) for key, value in self._differences(reached, once).items()}

    def under(self, times: Iterable[Floats]) -> dict[Key, Floats]:
        """float64[R] the differences under blocks float64[n, R'] of how often a segment counts."""
        blocks: dict[Key, list[Floats]] = {}
        columns = self._stacked()
        for weights in times:
            if self.statistic == "pdp":
                reached = self._of_pairs(columns, weights)
            else:
                reached = weighted_correlations(self.kind, columns, self.human, weights)
            for key, values in self._differences(reached, weights).items():
                blocks.setdefault(key, []).append(values)
        return {key: np.concatenate(parts) for key, parts in blocks.items()}

    def _stacked(self) -> Floats:
        """float64[n, K] the columns."""
        return np.column_stack([np.empty((len(self.human), 0)), *self.columns])

    def _of_pairs(self, columns: Floats, times: Floats) -> Floats:
        """float64[K, R] PDP of float64[n, K] columns; NaN without enough sources. times: float64[n, R]."""
        if self.sources is None:
            return np.full((columns.shape[1], times.shape[1]), math.nan)
        return self.sources.correlations(columns, times[self.sources.first])

    def _differences(self, reached: Floats, times: Floats) -> dict[Key, Floats]:
        """float64[R] of each key from float64[K, R] correlations of the columns; times: float64[n, R]."""
        values: dict[Key, Floats] = {}
        for key, weights in self.terms.items():
            values[key] = np.array(list(weights.values())) @ reached[list(weights)]
        if self.within:
            # The columns of other terms are not asked for within sources.
            places = sorted(set(itertools.chain.from_iterable(self.within.values())))
            columns = np.column_stack([self.columns[place] for place in places])
            within_sources = dict(zip(places, self._of_pairs(columns, times), strict=True))
            for key, (boosted, alone) in self.within.items():
                values[key] = within_sources[boosted] - within_sources[alone]
        return values


def contrasts(
    kind: Kind,
    rated: Rated,
    held: Chosen,
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
    differences = Contrasts(kind, statistic, gold, rated.human, sources=_paired_sources(kind, rated, statistic))
    base = differences.add(rated.base)
    places = {key: differences.add(scores) for key, (scores, *_) in held.items()}
    for (boost, point), place in places.items():
        differences.terms[boost, METRIC, point, gold] = {place: 1.0, base: -1.0}
        if differences.sources is not None and statistic == "pooled":
            differences.within[boost, WITHIN, point, gold] = place, base
        others = [differences.add(scores) for scores in held[boost, point][1:]]
        for against in dict.fromkeys(instead):
            # `length` and `curve` are made of no attributions, and another language pair may lack the last kind
            of_kind = [other for other, its_kind in zip(others, instead, strict=False) if its_kind == against]
            if of_kind:
                share = -1 / len(of_kind)
                differences.terms[boost, against, point, gold] = {place: 1.0, **dict.fromkeys(of_kind, share)}
    _adjust(differences, rated, held, SCORE_AND_TEXT)
    if metrics is not None:
        # The average of metrics is made of what would be taken off.
        alone = {key: scores for key, scores in held.items() if key[0] != COMBINED}
        _adjust(differences, rated, alone, METRICS, metrics)
    return differences


def _paired_sources(kind: Kind, rated: Rated, statistic: GainStatistic) -> PairedSources | None:
    """The sources with several translations; None of too few, and where most have one and a pooled statistic judges."""
    sources = PairedSources.of(kind, rated.human, rated.items, rated.clusters)
    if len(sources.first) < FEWEST_SOURCES:
        return None
    are_most = 2 * len(sources.rows) >= len(rated.human)
    return sources if are_most or statistic == "pdp" else None


def _adjust(differences: Contrasts, rated: Rated, held: Chosen, against: str, *more: Floats) -> None:
    """Add contrasts of boosts with what score, lengths, texts and more tell of the judged segments anyway."""
    keys = [key for key, (scores, *_) in held.items() if key[0] not in PLACEBOS and np.isfinite(scores).all()]
    if not (keys and len(rated.human)):
        return
    # As many terms as the clusters allow.
    curve = CurveTerms.of(rated.base, rated.log_words, number_of(codes(rated.clusters)))
    terms = np.column_stack([curve.columns(rated.base, rated.log_words), rated.terms, *more])
    scores = np.column_stack([held[key][0] for key in keys])
    kind = differences.kind
    for fit in beyond_nuisance(kind, rated.base, rated.log_words, terms, rated.human, rated.fold_of, scores):
        # One column for all boosts: what is known without any of them.
        alone = differences.add(fit.alone)
        for (boost, point), with_score in zip(keys, fit.with_scores.T, strict=True):
            weights = differences.terms.setdefault((boost, against, point, differences.gold), {})
            weights[differences.add(with_score)] = fit.weight
            weights[alone] = -fit.weight


def lines_of(
    setting: tuple[str, str, str, str], rated: Rated, differences: Contrasts, resamples: int, seed: int
) -> list[BoostRow]:
    """A row for each contrast of a language pair, with the interval of its clusters where there are three."""
    clusters = codes(rated.clusters)
    count = number_of(clusters)
    times = (drawn[clusters] for drawn in seeded_draws(count, resamples, seed, len(rated.human)))
    samples = differences.under(times) if count >= FEWEST_CLUSTERS else {}
    lines = []
    for key, value in differences.values().items():
        known = key in samples and math.isfinite(value)
        gain = estimate(value, samples[key], count) if known else Estimate(value)
        boost, against, point, human = key
        lines.append(BoostRow(*setting, boost, against, point, gain, 1, len(rated.human), count, human))
    return lines


def joint_samples(pairs: Sequence[tuple[Rated, Contrasts]], resamples: int, seed: int) -> dict[Key, Floats]:
    """For each key float64[R] resamples of the mean over language pairs, clusters being drawn for all together.

    The codes of clusters are the same in every pair, so that a reference that several translate counts as often in all
    of them. A pair without a defined contrast is left out of a mean, as a resample is in which a pair has none.
    """
    sizes = [len(rated.clusters) for rated, _ in pairs]
    numbers = codes(np.concatenate([rated.clusters for rated, _ in pairs]))
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    count = number_of(numbers)
    if count < FEWEST_CLUSTERS:
        return {}
    # Blocks are as large as the largest pair allows: the same blocks, and so the same draws, in all.
    widest = max(sizes)
    sums: dict[Key, list[Floats]] = {}
    for numbers_of_pair, (_, differences) in zip(parts, pairs, strict=True):
        # The same seed in every pair: each draw is one draw of clusters, read in all of them.
        draws = seeded_draws(count, resamples, seed, widest)
        times: Iterator[Floats] = (drawn[numbers_of_pair] for drawn in draws)
        defined = differences.values()
        for key, samples in differences.under(times).items():
            if math.isfinite(defined[key]):
                sums.setdefault(key, []).append(samples)
    return {key: np.mean(samples_of_pairs, axis=0) for key, samples_of_pairs in sums.items()}


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
    joined = []
    for key, of_pairs in groups.items():
        if len(of_pairs) > 1:
            values = [line.gain.value for line in of_pairs]
            drawn = estimate(float(np.mean(values)), joint[key], clusters) if key in joint else NOTHING
            names = (*scope, of_pairs[0].metric, of_pairs[0].explainer)
            n = sum(line.n for line in of_pairs)
            boost, against, point, human = key
            gain = over_pairs(values, drawn)
            joined.append(BoostRow(*names, boost, against, point, gain, len(of_pairs), n, clusters, human=human))
    return joined


def estimate(value: float, samples: Floats, units: int) -> Estimate:
    """A value with its interval (`resampling.interval`) and p from float64[R] resamples of so many units."""
    error = float(np.nanstd(samples)) if np.isfinite(samples).any() else math.nan
    return Estimate(value, *interval(samples, units), _p_of(value, error, units))


def over_pairs(values: Sequence[float], joint: Estimate) -> Estimate:
    """The mean of one value per language pair; NaN values are left out. None without FEWEST_CLUSTERS pairs.

    joint: the same mean with the interval of clusters of segments drawn together in all pairs. Both have to leave 0
    out: pairs that share segments are not independent of each other, and segments of these pairs say nothing of others.
    The interval therefore reaches as far as the wider one on each side, and p is the larger one.
    """
    over = cluster_mean(list(values), list(range(len(values))))
    known = np.array([value for value in values if math.isfinite(value)])
    if len(known) < FEWEST_CLUSTERS or math.isnan(joint.low):
        return Estimate(over.mean)
    error = float(known.std(ddof=1)) / math.sqrt(len(known))
    p = _p_of(over.mean, error, len(known))
    return Estimate(over.mean, min(over.low, joint.low), max(over.high, joint.high), max(p, joint.p))


def _p_of(value: float, error: float, units: int) -> float:
    from scipy.special import stdtr

    if units < 2 or math.isnan(error):
        return math.nan
    # Student's t has no value here: all resamples are the same.
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(units - 1, -abs(value) / error))
