"""What decisions a metric makes: as a filter of good translations, and choosing among outputs for one source.

Perrella et al. (2024), "Beyond Correlation: Interpretable Evaluation of Machine Translation Metrics" (EMNLP). A filter
accepts the segments whose score is at least a threshold; re-ranking chooses the output with the highest score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.evaluations.base import BASE, MOST_RESAMPLES, NOTHING, Estimate, Evaluation, ScoredSetting, SettingRow
from bmx_grid.measures.correlation import TIE
from bmx_grid.measures.resampling import (
    assign_folds,
    bundle_clusters,
    codes,
    interval,
    number_of,
    ratio,
    resampled_sums,
    sums_by,
)

MEASURES = ("precision", "recall", "f")


@dataclass(frozen=True)
class FilterRow(SettingRow):
    """One row of filtering.parquet: a point as a filter of good segments, those of a human score of `good` or more.

    Each segment is accepted if its score is at least the threshold that has the highest F on the other folds.
    precision: the share of good ones among the accepted; recall: of accepted ones among the good; f: their weighted
    harmonic mean. gain: of f above that of the metric alone, on the segments that both score; NaN for the metric alone.
    f_of_all: of a filter that accepts all. accepted: the share. n_good: of n_segments. Intervals draw clusters.
    """

    KEY = ("point",)

    point: str
    human: str
    good: float
    precision: Estimate
    recall: Estimate
    f: Estimate
    gain: Estimate
    f_of_all: float
    accepted: float
    n_good: int
    n_segments: int
    n_clusters: int


@dataclass(frozen=True)
class RerankingRow(SettingRow):
    """One row of reranking.parquet: a point that chooses among the outputs for a source.

    precision: the share of sources whose output of the highest score is one that people scored highest; of equally high
    scores the mean. chance: that of a random output. gain: of precision above the metric alone. regret: by how much the
    human score of the chosen output is below the highest, on average. n_sources: with several outputs that are scored
    and rated, of which people do not score all alike; n_undecided: those whose outputs people score alike.
    """

    KEY = ("point",)

    point: str
    human: str
    precision: Estimate
    gain: Estimate
    chance: float
    regret: float
    n_sources: int
    n_undecided: int
    n_clusters: int


@dataclass(frozen=True, kw_only=True)
class DecisionsEvaluation(Evaluation):
    """Precision, recall and F of a metric, and of each boosted point, as a filter; precision as a re-ranker.

    good: a segment is good whose primary human score is this or more; None takes the best `good_share` of the rated
    segments of the language pair. beta: recall counts beta times as much as precision in F. folds: of clusters of
    segments, for thresholds. resamples: of each interval. seed: of folds and resamples.
    Raises ConfigError for a share that is not between 0 and 1, fewer than 2 folds, and numbers that are too small.
    """

    SECONDS: ClassVar[float] = 2e-4
    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.decisions.good_decisions",)
    ROWS: ClassVar[dict[str, type]] = {"filtering": FilterRow, "reranking": RerankingRow}

    good: float | None = identity(None)
    good_share: float = identity(0.5, above=0, below=1)
    beta: float = identity(1.0, above=0)
    folds: int = identity(10, least=2, most=1000)
    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[dict[str, list[Any]]]:
        (setting,) = settings
        return [{"filtering": list(self._filtering(setting)), "reranking": list(self._reranking(setting))}]

    def _filtering(self, setting: ScoredSetting) -> Iterator[FilterRow]:
        """A row per point; none where no segment, or every one, is good, or one cluster leaves no other segments."""
        human = setting.segments.human_scores
        rated = human[np.isfinite(human)]
        if not len(rated):
            return
        good = self.good
        if good is None:
            # The lowest of the best share: of equal scores all are good.
            good = float(np.quantile(rated, 1 - self.good_share, method="higher"))
        is_good = human >= good
        for point in setting.points:
            rows = _rows_and_scores(setting, point)
            truth = is_good[rows]
            if truth.all() or not truth.any() or number_of(codes(setting.codes.clusters[rows])) < 2:
                continue
            yield self._filter_row(setting, point, good, rows, truth)

    def _filter_row(self, setting: ScoredSetting, point: str, good: float, rows: Ints, truth: Flags) -> FilterRow:
        cluster = codes(setting.codes.clusters[rows])
        columns = [self._outcomes(setting.points[point][rows] * setting.direction, truth, cluster)]
        if point != BASE:
            columns.append(self._outcomes(setting.points[BASE][rows] * setting.direction, truth, cluster))
        # Of a point and of the metric alone, accepted and good, accepted and not, good and not accepted.
        outcomes = np.concatenate(columns, axis=1)

        def measures(sums: Floats) -> Floats:
            return np.column_stack([_measures(sums[:, :3], self.beta), *_gains(sums, self.beta)])

        *of_point, gain = self._estimates(measures, outcomes, cluster)
        share = float(truth.mean())
        weight = self.beta**2
        return FilterRow(
            point=point,
            human=setting.segments.judgements.primary,
            good=good,
            precision=of_point[0],
            recall=of_point[1],
            f=of_point[2],
            gain=gain if point != BASE else NOTHING,
            f_of_all=(1 + weight) * share / (weight * share + 1),  # of precision `share` and recall 1
            accepted=float(outcomes[:, :2].sum(axis=1).mean()),
            n_good=int(truth.sum()),
            n_segments=len(truth),
            n_clusters=number_of(cluster),
        )

    def _outcomes(self, scores: Floats, truth: Flags, cluster: Ints) -> Floats:
        """float64[N, 3] whether a segment is accepted and good, accepted and not good, good and not accepted."""
        accepted = np.zeros(len(scores), dtype=np.bool_)
        fold = assign_folds(cluster, self.folds, np.random.default_rng(self.seed))
        for number in range(number_of(fold)):
            inside = fold == number
            threshold = best_threshold(scores[~inside], truth[~inside], self.beta)
            accepted[inside] = scores[inside] >= threshold
        return np.column_stack([accepted & truth, accepted & ~truth, ~accepted & truth]).astype(np.float64)

    def _reranking(self, setting: ScoredSetting) -> Iterator[RerankingRow]:
        """A row per point; none without several outputs for a source."""
        for point in setting.points:
            rows = _rows_and_scores(setting, point)
            scores = setting.direction * setting.points[point]
            base = setting.direction * setting.points[BASE]
            human = setting.segments.human_scores
            chosen = []
            labels = []
            n_undecided = 0
            for outputs in _rows_of_items(setting.codes.items[rows], rows):
                of_people = human[outputs]
                best = of_people >= of_people.max() - TIE
                if best.all():
                    n_undecided += 1
                    continue
                top = _top(scores[outputs])
                of_base = _top(base[outputs])
                regret = of_people.max() - of_people[top].mean()
                chosen.append([best[top].mean(), best[of_base].mean(), best.mean(), regret])
                labels.append(int(setting.codes.clusters[outputs[0]]))
            if not chosen:
                continue
            values = np.array(chosen, dtype=np.float64)
            cluster = codes(np.array(labels))
            counted = np.column_stack([values[:, 0], values[:, 0] - values[:, 1], np.ones(len(values))])
            precision, gain = self._estimates(_means, counted, cluster)
            yield RerankingRow(
                point=point,
                human=setting.segments.judgements.primary,
                precision=precision,
                gain=gain if point != BASE else NOTHING,
                chance=float(values[:, 2].mean()),
                regret=float(values[:, 3].mean()),
                n_sources=len(values),
                n_undecided=n_undecided,
                n_clusters=number_of(cluster),
            )

    def _estimates(self, compute: Any, columns: Floats, cluster: Ints) -> list[Estimate]:
        """What `compute` makes of sums of float64[N, k] columns over clusters, with intervals."""
        sums = sums_by(codes(bundle_clusters(cluster)), columns)
        values = compute(sums.sum(axis=0, keepdims=True))[0]
        samples = resampled_sums(compute, sums, self.resamples, self.seed)
        estimates = []
        for value, resampled in zip(values.tolist(), samples.T, strict=True):
            estimates.append(Estimate(value, *interval(resampled, len(sums))))
        return estimates


def best_threshold(scores: Floats, truth: Flags, beta: float = 1.0) -> float:
    """The threshold of the highest F: segments of it or more are accepted. Of equal F the highest threshold.

    Halfway to the score below, so that it does not hang on one score. Where nothing is good the threshold is infinite.
    """
    if not truth.any():
        return float("inf")
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    hits = np.cumsum(truth[order]).astype(np.float64)
    accepted = np.arange(1, len(scores) + 1)
    weight = beta**2
    f = (1 + weight) * hits / (accepted + weight * hits[-1])
    # Equal scores are accepted together.
    is_cut = np.append(ordered[1:] < ordered[:-1], True)
    f[~is_cut] = -1.0
    best = int(np.argmax(f >= f.max() - TIE))
    if best + 1 == len(ordered):
        return float("-inf")
    return float(ordered[best] + (ordered[best + 1] - ordered[best]) / 2)


def _measures(sums: Floats, beta: float) -> Floats:
    """float64[R, 3] precision, recall and F of sums of outcomes; NaN where nothing is accepted, or good."""
    hits, wrong, missed = sums.T
    weight = beta**2
    precision = ratio(hits, hits + wrong)
    recall = ratio(hits, hits + missed)
    f = ratio((1 + weight) * hits, (1 + weight) * hits + wrong + weight * missed)
    return np.column_stack([precision, recall, f])


def _gains(sums: Floats, beta: float) -> list[Floats]:
    """float64[R, 1] by how much F is above that of the metric alone, which is in the last three sums; else NaN."""
    if sums.shape[1] == 3:
        return [np.full((len(sums), 1), np.nan)]
    return [_measures(sums[:, :3], beta)[:, 2:] - _measures(sums[:, 3:], beta)[:, 2:]]


def _means(sums: Floats) -> Floats:
    return ratio(sums[:, :-1], sums[:, -1:])


def _rows_and_scores(setting: ScoredSetting, point: str) -> Ints:
    """The rows with a human score, and scores of the point and of the metric alone."""
    known = np.isfinite(setting.segments.human_scores)
    known &= np.isfinite(setting.points[point]) & np.isfinite(setting.points[BASE])
    return np.flatnonzero(known)


def _rows_of_items(items: Ints, rows: Ints) -> Iterator[Ints]:
    """The rows of each item that has several."""
    order = np.argsort(items, kind="stable")
    ends = np.flatnonzero(np.diff(items[order])) + 1
    for places in np.split(order, ends):
        if len(places) > 1:
            yield rows[places]


def _top(scores: Floats) -> Flags:
    """bool[n] which outputs have the highest score."""
    return np.asarray(scores == scores.max())
