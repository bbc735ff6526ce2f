"""What held-out scores of boosts gain, over several things, with intervals by language pair and over several pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.evaluations.base import NOTHING, Estimate, Measured
from bmx_grid.evaluations.held_out import Rated
from bmx_grid.measures.agreement import members_of
from bmx_grid.measures.correlation import FEWEST, Kind, correlate
from bmx_grid.measures.nuisance import CurveTerms, levels, predictions
from bmx_grid.measures.resampling import (
    FEWEST_CLUSTERS,
    cluster_mean,
    codes,
    interval,
    number_of,
    seeded_draws,
    weighted_correlations,
)

# What a gain is measured from: the metric; the metric, when a curve of score and lengths is fitted to both; what the
# boost gains with attributions of other segments; a fit of all metrics at hand; the metric, within each source.
METRIC, SCORE_AND_LENGTH, REASSIGNED, METRICS, WITHIN = (
    "metric", "score and length", "reassigned", "metrics", "metric within source",
)  # fmt: skip
LENGTH, CURVE, COMBINED = "length", "curve", "combined"  # stand beside the boosts, under these names
PLACEBOS = (LENGTH, CURVE)
CROSS_FITTED, ELSEWHERE, OTHER_DATASETS, PUBLISHED, FIXED = (
    "cross_fitted", "elsewhere", "other_datasets", "published", "fixed",
)  # fmt: skip
ALL = "all"  # in place of a name, where a row speaks of all language pairs, or all data sets
FEWEST_SOURCES = 30  # with three translations or more, for a gain within sources

Key = tuple[str, str, str]  # boost, against, point
Chosen = dict[tuple[str, str], list[Floats]]  # scores by boost and point: as it is, then with reassigned attributions


@dataclass(frozen=True)
class BoostRow:
    """One row of boosts.parquet: what a boost gains over something at a point, on a data set and language pair.

    The interval is that of the bootstrap of a pair's clusters; of several pairs that of `over_pairs`.
    clusters: of segments that it rests on.
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

    @property
    def key(self) -> Key:
        """Boost, against, point."""
        return self.boost, self.against, self.point


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences of correlations of n segments' scores with their human scores, and of means of such correlations.

    columns: float64[n] each; terms: for each key the columns that count, and those that are taken off.
    within: for each key float64[I] differences by item, and int64[I] a row of each item.
    """

    kind: Kind
    human: Floats
    columns: list[Floats] = field(default_factory=list)
    terms: dict[Key, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    within: dict[Key, tuple[Floats, Ints]] = field(default_factory=dict)

    def add(self, scores: Floats) -> int:
        """The place of a column."""
        self.columns.append(scores)
        return len(self.columns) - 1

    def values(self) -> dict[Key, float]:
        """The differences on the segments as they are; NaN where one is undefined."""
        found = np.array(
            [correlate(self.kind, one, self.human) if np.isfinite(one).all() else math.nan for one in self.columns]
        )
        differences = {
            key: float(found[list(own)].mean() - found[list(off)].mean()) for key, (own, off) in self.terms.items()
        }
        return differences | {key: float(items.mean()) for key, (items, _) in self.within.items()}

    def under(self, times: Iterable[Floats]) -> dict[Key, Floats]:
        """float64[R] the differences under blocks float64[n, R'] of how often a segment counts."""
        blocks: dict[Key, list[Floats]] = {}
        columns = np.column_stack(self.columns) if self.columns else np.empty((len(self.human), 0))
        for weights in times:
            found = weighted_correlations(self.kind, columns, self.human, weights)
            for key, (own, off) in self.terms.items():
                blocks.setdefault(key, []).append(found[list(own)].mean(axis=0) - found[list(off)].mean(axis=0))
            for key, (items, rows) in self.within.items():
                counts = weights[rows]
                with np.errstate(invalid="ignore"):
                    blocks.setdefault(key, []).append(items @ counts / counts.sum(axis=0))
        return {key: np.concatenate(parts) for key, parts in blocks.items()}


def contrasts(kind: Kind, rated: Rated, held: Chosen, metrics: Floats | None = None) -> Contrasts:
    """What each boost gains over the metric, and over what else its verdict asks for.

    metrics: float64[n, m] of other metrics, if there are any, that are fitted to the judged segments with the curve.
    """
    differences = Contrasts(kind, rated.human)
    base = differences.add(rated.base)
    places = {key: differences.add(scores) for key, (scores, *_) in held.items()}
    for (boost, point), place in places.items():
        differences.terms[boost, METRIC, point] = (place,), (base,)
        others = tuple(differences.add(reassigned) for reassigned in held[boost, point][1:])
        if others:
            differences.terms[boost, REASSIGNED, point] = (place,), others
    _fitted(differences, rated, held, SCORE_AND_LENGTH)
    _within_source(differences, rated, held)
    if metrics is not None:
        alone = {key: scores for key, scores in held.items() if key[0] != COMBINED}
        _fitted(differences, rated, alone, METRICS, metrics)
    return differences


def _fitted(made: Contrasts, rated: Rated, held: Chosen, against: str, *more: Floats) -> None:
    """Contrasts of boosts over a curve of score and lengths, levels of systems, and more, fitted to judged segments."""
    keys = [key for key, (own, *_) in held.items() if key[0] not in PLACEBOS and np.isfinite(own).all()]
    if not (keys and len(rated.human)):
        return
    curve = CurveTerms.of(rated.base, rated.log_words, len(np.unique(rated.clusters)))
    terms = np.column_stack([curve.columns(rated.base, rated.log_words), levels(rated.systems), *more])
    breaks = curve.breaks(rated.base, rated.log_words)
    scores = np.column_stack([held[key][0] for key in keys])
    alone, boosted = predictions(made.kind, terms, rated.human, rated.fold_of, scores, breaks, curve.most_breaks)
    off = made.add(alone)
    for (boost, point), predicted in zip(keys, boosted.T, strict=True):
        made.terms[boost, against, point] = (made.add(predicted),), (off,)


def _within_source(made: Contrasts, rated: Rated, held: Chosen) -> None:
    """The gain among the translations of one source, the mean over sources with three rated translations or more."""
    items = [
        rows
        for rows in members_of(rated.items)
        if len(rows) >= FEWEST and np.ptp(rated.human[rows]) > 0 and np.ptp(rated.base[rows]) > 0
        if (rated.clusters[rows] == rated.clusters[rows[0]]).all()
    ]
    if len(items) < FEWEST_SOURCES:
        return
    first = np.array([rows[0] for rows in items])
    alone = np.array([correlate(made.kind, rated.base[rows], rated.human[rows]) for rows in items])
    for (boost, point), (own, *_) in held.items():
        gains = np.array([correlate(made.kind, own[rows], rated.human[rows]) for rows in items]) - alone
        known = np.isfinite(gains)
        if known.sum() >= FEWEST_SOURCES:
            made.within[boost, WITHIN, point] = gains[known], first[known]


def lines_of(
    setting: tuple[str, str, str, str], rated: Rated, made: Contrasts, resamples: int, seed: int
) -> list[BoostRow]:
    """A row for each contrast of a language pair, with the interval of its clusters where there are three."""
    clusters = codes(rated.clusters)
    count = number_of(clusters)
    times = (drawn[clusters] for drawn in seeded_draws(count, resamples, seed, len(rated.human)))
    samples = made.under(times) if count >= FEWEST_CLUSTERS else {}
    lines = []
    for key, value in made.values().items():
        gain = estimate(value, samples[key], count) if key in samples and math.isfinite(value) else Estimate(value)
        lines.append(BoostRow(*setting, *key, gain, 1, len(rated.human), count))
    return lines


def joint_samples(rated: Sequence[Rated], made: Sequence[Contrasts], resamples: int, seed: int) -> dict[Key, Floats]:
    """For each key float64[R] resamples of the mean over language pairs, clusters being drawn for all together.

    The codes of clusters are the same in every pair, so that a reference that several translate counts as often in all
    of them. A pair without a defined contrast is left out of a mean, as a resample is in which a pair has none.
    """
    numbers = codes(np.concatenate([one.clusters for one in rated]))
    parts, count = np.split(numbers, np.cumsum([len(one.clusters) for one in rated])[:-1]), number_of(numbers)
    if count < FEWEST_CLUSTERS:
        return {}
    widest = max(len(one.human) for one in rated)
    sums: dict[Key, list[Floats]] = {}
    for own, of_pair in zip(parts, made, strict=True):
        times: Iterator[Floats] = (drawn[own] for drawn in seeded_draws(count, resamples, seed, widest))
        defined = of_pair.values()
        for key, samples in of_pair.under(times).items():
            if math.isfinite(defined[key]):
                sums.setdefault(key, []).append(samples)
    return {key: np.mean(found, axis=0) for key, found in sums.items()}


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
            counts = len(of_pairs), sum(line.n for line in of_pairs), clusters
            joined.append(BoostRow(*names, *key, over_pairs(values, drawn), *counts))
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
    mean = over["mean"]
    known = np.array([value for value in values if math.isfinite(value)])
    if len(known) < FEWEST_CLUSTERS or math.isnan(joint.low):
        return Estimate(mean)
    p = _p_of(mean, float(known.std(ddof=1)) / math.sqrt(len(known)), len(known))
    return Estimate(mean, min(over["low"], joint.low), max(over["high"], joint.high), max(p, joint.p))


def _p_of(value: float, error: float, units: int) -> float:
    from scipy.special import stdtr

    if units < 2 or math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(units - 1, -abs(value) / error))
