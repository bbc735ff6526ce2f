"""What held-out scores of boosts gain, over several things, with intervals by language pair and over several pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from bmx_grid.core.memory import give_back_memory
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.evaluations.base import NAMES, NOTHING, Estimate, SettingNames, SettingRow, Tested, group_by_names
from bmx_grid.evaluations.held_out import FEWEST_SOURCES, BoostInputs, HeldOutScores, RatedSegments
from bmx_grid.measures.correlation import TIE, Coefficient, correlate
from bmx_grid.measures.correlations_of_resamples import weighted_correlations
from bmx_grid.measures.kernel_ridge import LARGEST_FIT
from bmx_grid.measures.pairwise import PairedSources
from bmx_grid.measures.partial_correlation import PartialCorrelation, partial_correlations
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, cluster_mean, codes, interval, number_of, seeded_draws

# In rows of partial correlations, in place of the metric: controlled for score, lengths, texts and named groups; the
# second the correlation of the residuals, not extrapolated; the third also controlled for all other metrics of the
# sweep.
SCORE_AND_TEXT = "score, length and text"
RESIDUALS = "residuals"
METRICS = "metrics"
# Names of the candidates besides the boosts.
LENGTH = "length"
CURVE = "curve"
COMBINED = "combined"
PLACEBOS = (LENGTH, CURVE)
REASSIGNED = "reassigned"
# Points, by the segments that chose the boost.
CROSS_FITTED = "cross_fitted"
ELSEWHERE = "elsewhere"
OTHER_DATASETS = "other_datasets"
PUBLISHED = "published"
FIXED = "fixed"
ALL = "all"  # in place of a name, if a row speaks of all language pairs, or all data sets
DATASET = NAMES[:1]

METRIC = "metric"  # gains are over the baseline
Key = tuple[str, str, str, str]  # boost, against, point, human score
GainStatistic = Literal["pooled", "pdp"]
Samples = Mapping[Key, Floats]  # float64[R] resamples of a gain


def placebo_name(boost: str, draw: int) -> str:
    """The name of a boost that is made of the attributions of other segments, of the nth draw."""
    return f"{boost} {REASSIGNED} {draw}"


def original_of(name: str) -> str | None:
    """The boost that one of reassigned attributions is made like; None for all other boosts."""
    boost, separator, _ = name.rpartition(f" {REASSIGNED} ")
    return boost if separator else None


@dataclass(frozen=True)
class BoostRow(SettingRow):
    """One row of boosts.parquet: the gain of a boost at a point, on a data set and language pair.

    Against anything but the metric: its partial correlation with the human scores (`SCORE_AND_TEXT`).
    p: two-sided, of no gain, by Student's t of the gain over the spread of its resamples, and uncorrected: those of the
    verdicts are corrected.
    explained: the share of the variance of human scores that the controls of a partial correlation predict. The
    interval is that of the bootstrap of a pair's clusters; of several pairs that of `pool_language_pairs`.
    human: the human score that judges, "" for the primary one. n, clusters: numbers of segments and of their clusters.
    beside: for placebos of boosts with different judged segments, the boosts whose segments were used; else "".
    baseline: the correlation of the baseline on these segments, of several pairs their mean.
    """

    LATER = ("baseline",)

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    boost: str
    against: str
    point: str
    gain: Tested
    pairs: int
    n: int
    clusters: int
    human: str = ""
    beside: str = ""
    explained: float = math.nan
    baseline: float = math.nan

    @property
    def key(self) -> Key:
        """Boost, against, point, human score."""
        return self.boost, self.against, self.point, self.human


KeptCorrelations = dict[tuple[int, bytes], Floats]  # float64[R] by the number of a block of draws, and scores


@dataclass(frozen=True, eq=False)
class Contrasts:
    """What n segments' scores gain over base scores in the correlation with the human scores.

    statistic: the correlation over all segments, or that of the pairs of translations of one source (PDP). base,
    human: float64[n]; scores: by key, float64[n] each. sources: the pairs of translations of one source, for PDP.
    partial: partial correlations, by key: no gains, but estimated from the same draws, by the influence of each
    segment. kept: correlations of resamples by block and scores, which contrasts share whose segments and draws are the
    same; None to keep none.
    """

    kind: Coefficient
    statistic: GainStatistic
    base: Floats
    human: Floats
    scores: Mapping[Key, Floats]
    sources: PairedSources | None = None
    partial: dict[Key, PartialCorrelation] = field(default_factory=dict)
    kept: KeptCorrelations | None = None

    @cached_property
    def correlations(self) -> Floats:
        """float64[1 + K] correlations of the base scores and of all others; NaN if one is undefined."""
        columns = [self.base, *self.scores.values()]
        if self.statistic == "pdp":
            once = np.ones((len(self.human), 1))
            return self._pdp(np.column_stack(columns), once)[:, 0]
        reached = np.full(len(columns), math.nan)
        for place, column in enumerate(columns):
            if np.isfinite(column).all():
                reached[place] = correlate(self.kind, column, self.human)
        return reached

    def values(self) -> dict[Key, float]:
        """The gains on the segments as they are; NaN if one is undefined."""
        gains = self.correlations[1:] - self.correlations[0]
        values = dict(zip(self.scores, gains.tolist(), strict=True))
        return values | {key: correlation.value for key, correlation in self.partial.items()}

    def resample_gains(self, times: Iterable[Floats]) -> dict[Key, Floats]:
        """float64[R] the gains under blocks float64[n, R'] of how often a segment counts."""
        columns = np.column_stack([self.base, *self.scores.values()])
        blocks = []
        for block, weights in enumerate(times):
            if self.statistic == "pdp":
                reached = self._pdp(columns, weights)
            elif self.kept is None:
                reached = weighted_correlations(self.kind, columns, self.human, weights)
            else:
                reached = np.array([self._keep(self.kept, block, column, weights) for column in columns.T])
            gains = list(reached[1:] - reached[0])
            for correlation in self.partial.values():
                moved = correlation.influence @ weights / len(weights)
                # A sum of influences may leave the range of a correlation.
                gains.append(np.clip(correlation.value + moved, -1.0, 1.0))
            blocks.append(gains)
        keys = [*self.scores, *self.partial]
        samples = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
        return dict(zip(keys, samples, strict=True))

    def _keep(self, kept: KeptCorrelations, block: int, column: Floats, weights: Floats) -> Floats:
        """float64[R] correlations of float64[n] scores under the weights of a block, computed once."""
        key = (block, column.tobytes())
        if key not in kept:
            (kept[key],) = weighted_correlations(self.kind, column[:, None], self.human, weights)
        return kept[key]

    def _pdp(self, columns: Floats, times: Floats) -> Floats:
        """float64[K, R] PDP of float64[n, K] columns; NaN without enough sources. times: float64[n, R]."""
        if self.sources is None:
            return np.full((columns.shape[1], times.shape[1]), math.nan)
        return self.sources.correlations(columns, times[self.sources.first])


def estimate_gains(differences: Contrasts, clusters: Ints, resamples: int, seed: int) -> dict[Key, Estimate]:
    """Each gain with its interval and p, by a bootstrap of int64[n] clusters if there are FEWEST_CLUSTERS.

    Every table takes its gains on single language pairs from this function.
    """
    units = codes(clusters)
    n_clusters = number_of(units)
    samples = {}
    if n_clusters >= FEWEST_CLUSTERS:
        draws = seeded_draws(n_clusters, resamples, seed, len(differences.human))
        samples = differences.resample_gains(drawn[units] for drawn in draws)
    gains = {}
    for key, value in differences.values().items():
        gains[key] = Estimate(value)
        if key in samples and math.isfinite(value):
            gains[key] = estimate(value, samples[key], n_clusters)
    return gains


def estimate_gain(
    kind: Coefficient,
    base: Floats,
    boosted: Floats,
    human: Floats,
    clusters: Ints | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> Estimate:
    """What float64[N] boosted scores gain over the base scores, on the segments with all three scores are finite.

    clusters: int64[N], for the interval (`estimate_gains`); none without them.
    """
    used = np.isfinite(human) & np.isfinite(base) & np.isfinite(boosted)
    scores = {("", METRIC, "", ""): boosted[used]}
    differences = Contrasts(kind, "pooled", base[used], human[used], scores)
    units = np.zeros(len(human), dtype=np.int64) if clusters is None else clusters
    (gain,) = estimate_gains(differences, units[used], resamples, seed).values()
    return gain


def estimate(value: float, samples: Floats, units: int) -> Estimate:
    """A value with its interval (`resampling.interval`) and p from float64[R] resamples of so many units."""
    # NumPy warns of the spread of nothing.
    error = math.nan
    if np.isfinite(samples).any():
        error = float(np.nanstd(samples))
    low, high = interval(samples, units)
    return Estimate(value, low, high, p_of(value, error, units))


def p_of(value: float, error: float, units: int) -> float:
    """The two-sided p value of a value with this standard error from so many units, by Student's t.

    Values and errors are of correlations: below TIE they are 0 but for rounding.
    """
    from scipy.special import stdtr

    if units < 2 or math.isnan(error):
        return math.nan
    # Student's t is undefined: all resamples are equal.
    if error <= TIE:
        return 1.0 if abs(value) <= TIE else 0.0
    t = -abs(value) / error
    return float(2 * stdtr(units - 1, t))


def build_contrasts(
    kind: Coefficient,
    rated: RatedSegments,
    held_out: HeldOutScores,
    seed: int,
    metrics: Floats | None = None,
    statistic: GainStatistic = "pooled",
    gold: str = "",
    not_judged: Set[tuple[str, str]] = frozenset(),
    kept: KeptCorrelations | None = None,
) -> Contrasts:
    """Compute the gain of each boost over the metric, and its partial correlations.

    not_judged: boosts at points that no verdict is about, so that no partial correlation is needed.
    statistic, gold, kept: as of `Contrasts`. metrics: float64[n, m] of other metrics, if there are any. seed: of the
    divisions of the segments that a partial correlation is extrapolated from.
    """
    sources = None
    if statistic == "pdp":
        paired = PairedSources.from_codes(kind, rated.human, rated.items, rated.clusters)
        sources = paired if len(paired.first) >= FEWEST_SOURCES else None
    scores_by_key = {(boost, METRIC, point, gold): scores for (boost, point), scores in held_out.items()}
    differences = Contrasts(kind, statistic, rated.base, rated.human, scores_by_key, sources, kept=kept)
    given = {SCORE_AND_TEXT: rated.nuisance}
    if metrics is not None:
        given[METRICS] = replace(rated.nuisance, metrics=metrics)
    for against, nuisance in given.items():
        judged = {}
        for (boost, point), scores in held_out.items():
            # Placebos are functions of the controls; the average of metrics, of the metrics controlled for.
            is_made_of_it = boost in PLACEBOS or original_of(boost) is not None
            is_made_of_it |= against == METRICS and boost == COMBINED
            if (boost, point) not in not_judged and not is_made_of_it and np.isfinite(scores).all():
                judged[boost, against, point, gold] = scores
        if judged and len(rated.human):
            columns = np.column_stack(list(judged.values()))
            found = partial_correlations(kind, nuisance, rated.human, columns, rated.clusters, seed)
            if len(rated.human) > LARGEST_FIT:
                give_back_memory()  # of the kernels of each block, whose size the C library keeps for later
            for (boost, against, point, gold), (extrapolated, of_residuals) in zip(judged, found, strict=True):
                differences.partial[boost, against, point, gold] = extrapolated
                if against == SCORE_AND_TEXT:
                    differences.partial[boost, RESIDUALS, point, gold] = of_residuals
    return differences


def contrast_rows(
    setting: SettingNames, rated: RatedSegments, differences: Contrasts, resamples: int, seed: int
) -> list[BoostRow]:
    """A row for each contrast of a language pair."""
    n_segments = len(rated.human)
    n_clusters = number_of(codes(rated.clusters))
    lines = []
    for key, gain in estimate_gains(differences, rated.clusters, resamples, seed).items():
        boost, against, point, human = key
        line = BoostRow(*setting, boost, against, point, gain, pairs=1, n=n_segments, clusters=n_clusters, human=human)
        line = replace(line, baseline=float(differences.correlations[0]))
        if key in differences.partial:
            line = replace(line, explained=differences.partial[key].explained)
        lines.append(line)
    return lines


def joint_samples(pairs: Sequence[tuple[RatedSegments, Contrasts]], resamples: int, seed: int) -> dict[Key, Floats]:
    """Resample the mean over language pairs: float64[R] by key, from one draw of clusters for all pairs.

    The codes of clusters are the same in every pair, so that a shared reference is drawn equally often in each. A pair
    with an undefined contrast is left out of the mean; a resample in which a pair has none is dropped.
    """
    sizes = [len(rated.clusters) for rated, _ in pairs]
    clusters_of_all = codes(np.concatenate([rated.clusters for rated, _ in pairs]))
    n_clusters = number_of(clusters_of_all)
    if n_clusters < FEWEST_CLUSTERS:
        return {}
    by_key: dict[Key, list[Floats]] = {}
    for clusters, (_, differences) in zip(np.split(clusters_of_all, np.cumsum(sizes)[:-1]), pairs, strict=True):
        # The same seed, and blocks as large as the largest pair allows: each draw is read in all pairs.
        draws = seeded_draws(n_clusters, resamples, seed, max(sizes))
        times: Iterator[Floats] = (drawn[clusters] for drawn in draws)
        defined = differences.values()
        for key, samples in differences.resample_gains(times).items():
            if math.isfinite(defined[key]):
                by_key.setdefault(key, []).append(samples)
    return {key: np.mean(samples_of_pairs, axis=0) for key, samples_of_pairs in by_key.items()}


def pool_rows(
    scope: tuple[str, str], lines: Sequence[BoostRow], joint: Mapping[Key, Floats], clusters: int
) -> list[BoostRow]:
    """The rows of several language pairs as one; lines: of the single pairs; clusters: how many there are in all.

    A boost is judged at the same point in every pair; a point that a pair lacks has no row.
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
        row = replace(
            of_pairs[0],
            dataset=dataset,
            language_pair=language_pair,
            gain=pool_language_pairs(values, drawn),
            pairs=len(of_pairs),
            n=sum(line.n for line in of_pairs),
            clusters=clusters,
            explained=float(np.mean([line.explained for line in of_pairs])),
            baseline=float(np.mean([line.baseline for line in of_pairs])),
        )
        joined.append(row)
    return joined


def pool_language_pairs(values: Sequence[float], joint: Estimate) -> Estimate:
    """The mean of one value per language pair; NaN values are left out. None without FEWEST_CLUSTERS pairs.

    joint: the same mean with the interval of clusters of segments drawn together in all pairs. Both must exclude 0:
    pairs that share segments are dependent, and their segments do not represent other pairs. The interval therefore
    reaches as far as the wider one on each side, and p is the larger one.
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


def add_scopes(
    members: Sequence[BoostInputs], rows_of_members: Sequence[list[BoostRow]], samples: Sequence[Samples]
) -> None:
    """Add the gains over the language pairs of each data set to the rows of its first member, and those over all
    data sets to the rows of the first member of all.

    samples: resamples of each data set, which count as often as it has pairs.
    """
    # Copied: rows over several pairs are added to the same lists.
    single = [list(rows) for rows in rows_of_members]
    by_dataset = group_by_names([member.setting for member in members], DATASET)
    scopes: list[Sequence[int]] = [[number] for number in range(len(by_dataset))]
    if len(by_dataset) > 1:
        scopes.append(range(len(by_dataset)))
    for datasets in scopes:
        places = sorted(place for number in datasets for place in by_dataset[number])
        name = members[places[0]].setting.segments.dataset if len(datasets) == 1 else ALL
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
            rows_of_members[places[0]].extend(pool_rows((name, ALL), rows, joint, len(clusters)))


def _rated_clusters(member: BoostInputs, gold: str) -> set[tuple[str, str]]:
    """Data set and label of the clusters of the segments that a human score rates."""
    judgements = member.setting.segments.judgements
    human = judgements.scores[gold or judgements.primary]
    rated = member.rated.used & np.isfinite(human)
    labels = np.asarray(member.setting.clusters)[rated]
    # Of two data sets equal labels are different clusters.
    dataset = member.setting.segments.dataset
    return {(dataset, label) for label in labels.tolist()}
