"""Correlation with human judgements at segment and system level: correlations.parquet and systems.parquet."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.attribution.contracts import combined
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    NOTHING,
    Estimate,
    Evaluation,
    Finished,
)
from bmx_grid.evaluations.level_rows import CorrelationRow, SystemRow, ThresholdRow
from bmx_grid.measures.agreement import spa
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.grouped import acc_eq_of_halves, grouped_acc_eq, grouped_correlations
from bmx_grid.measures.pairwise import pairwise_correlations
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, interval, number_of, seeded_draws
from bmx_grid.measures.systems import (
    FEWEST_SYSTEMS,
    Statistic,
    by_mean,
    expit,
    mean,
    rank_ranges,
    system_samples,
    system_scores,
    system_statistic,
)

CORRELATIONS: tuple[Correlation, ...] = ("pearson", "spearman", "kendall")
OF_SYSTEMS: tuple[Statistic, ...] = (*CORRELATIONS, "pairwise_accuracy")
PDP = "pdp"  # Pearson's r of the differences between outputs for one source
PROBABILITIES = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)
SystemScoring = Literal["auto", "mean", "corpus"]
Weighted = Callable[[Floats], Floats]  # float64[C, B] weights of clusters -> float64[B, S] scores of systems


def segment_correlations(
    setting: Finished,
    points: Sequence[str],
    scores: Floats,
    human_name: str,
    drawn: Mapping[str, Any],
    wanted: Sequence[str] = ("none", "item", "system", "document"),
) -> list[list[CorrelationRow]]:
    """The rows of each column of float64[n, K] scores of K points, of segments with the wanted groupings.

    drawn: `resamples` of intervals, and the `seed` of all draws.
    """
    segment_codes = setting.codes
    named = segment_codes.named
    human = setting.segments.judgements.scores[human_name]
    groupings: dict[str, Ints] = {"none": np.zeros(len(human), dtype=np.int64)}
    if named.any():
        groupings |= {"item": segment_codes.items, "system": segment_codes.systems}
    if 1 < number_of(segment_codes.documents) < number_of(segment_codes.items):
        groupings["document"] = segment_codes.documents
    rows_of_points: list[list[CorrelationRow]] = [[] for _ in points]
    for grouping, groups in groupings.items():
        if grouping not in wanted:
            continue
        columns = np.where(named[:, None], scores, np.nan) if grouping in ("item", "system") else scores
        used = np.isfinite(columns).all(axis=1) & np.isfinite(human)
        n_systems = len(np.unique(segment_codes.systems[used & named]))
        arrays = (human, groups, segment_codes.clusters)
        # Within documents only tau-b is asked for.
        kinds: Any = ["kendall"] if grouping == "document" else CORRELATIONS
        correlations = grouped_correlations(kinds, columns, *arrays, **drawn)
        for point, rows, by_kind in zip(points, rows_of_points, correlations, strict=True):
            for kind, measured in by_kind.items():
                rows.append(_segment_row(point, human_name, grouping, kind, n_systems, measured))
        if grouping == "document":
            continue
        turned = setting.direction * columns
        agreements = grouped_acc_eq(turned, *arrays, **drawn)
        halves = acc_eq_of_halves(turned, *arrays, drawn["seed"]).tolist()
        for point, rows, (measured, epsilon, notes), held_out in zip(
            points, rows_of_points, agreements, halves, strict=True
        ):
            row = _segment_row(point, human_name, grouping, "acc_eq", n_systems, measured)
            note = "; ".join(notes)
            rows.append(replace(row, epsilon=epsilon, calibrated_on="same data", held_out=held_out, note=note))
        if grouping == "item":
            within = within_sources(setting, points, scores, human_name, drawn)
            for rows, row in zip(rows_of_points, within, strict=True):
                rows.append(row)
    return rows_of_points


def _segment_row(
    point: str, human_name: str, grouping: str, statistic: str, n_systems: int, measured: Sequence[Any]
) -> CorrelationRow:
    """The row of a statistic; measured: value, ends of its interval, groups, undefined ones of these, and segments."""
    value, low, high, n_groups, n_undefined, n = measured
    counts = (1, int(math.isnan(value))) if grouping == "none" else (n_groups, n_undefined)
    estimate = Estimate(value, low, high)
    return CorrelationRow(point, human_name, "segment", grouping, statistic, estimate, n, n_systems, *counts)


def within_sources(
    setting: Finished, points: Sequence[str], scores: Floats, human_name: str, drawn: Mapping[str, Any]
) -> Iterator[CorrelationRow]:
    """PDP (`measures.pairwise`) of each column of float64[n, K] scores of K points; drawn: of intervals."""
    segment_codes = setting.codes
    human = setting.segments.judgements.scores[human_name]
    columns = np.where(segment_codes.named[:, None], scores, np.nan)
    used = np.isfinite(columns).all(axis=1) & np.isfinite(human)
    n_systems = len(np.unique(segment_codes.systems[used]))
    by_point = pairwise_correlations(columns, human, segment_codes.items, segment_codes.clusters, **drawn)
    for point, measured in zip(points, by_point, strict=True):
        yield _segment_row(point, human_name, "item", PDP, n_systems, measured)


class SystemLevel:
    """Systems of a setting by one point and one judgement.

    names: of S systems. scores, human: float64[S] by the metric, turned so that higher is better, and by people; the
    metric's as `kind` says, "corpus" or "mean". n_segments: int64[S] that system scores are made of: those with a
    score, and rated where segments are rated; n_clusters: of these. drawn: as for `segment_correlations`; without it
    there are no intervals.
    """

    def __init__(
        self,
        setting: Finished,
        point: str,
        human_name: str,
        drawn: Mapping[str, Any] = MappingProxyType({"resamples": 0, "seed": 0}),
        system_score: SystemScoring = "auto",
    ) -> None:
        judged = setting.segments.judgements
        segment_codes = setting.codes
        self.point = point
        self.human_name = human_name
        self.names = segment_codes.names
        self._codes = segment_codes
        self._drawn = drawn
        self._published = list[Weighted]()
        self._of_segments = setting.points[point], judged.scores[human_name]
        scores, human = self._of_segments
        published = judged.systems.get(human_name)
        system_file = setting.systems if point == BASE else {}
        systems_only = bool(system_file) and not np.isfinite(scores).any()
        rated = np.isfinite(human) | (published is not None)
        self._used = segment_codes.named & rated & (np.isfinite(scores) | systems_only)
        clusters = codes(segment_codes.clusters[self._used])
        systems = segment_codes.systems[self._used]
        self.n_clusters = len(np.unique(clusters))
        self.n_segments = np.bincount(systems, minlength=len(self.names))

        def over(terms: Floats, combine: Callable[[Floats], Floats]) -> Weighted:
            return system_scores(terms[self._used], combine, systems, clusters, len(self.names), self.n_clusters)

        # Both are kept: the table of systems shows them beside each other.
        self._means = over(by_mean(scores), mean)
        self._corpus = None
        statistics = setting.scores.statistics if point == BASE else None
        if system_file:
            self._corpus = self._fixed(system_file)
        elif statistics is not None:
            self._corpus = over(statistics, functools.partial(combined, setting.metric))
        as_corpus = systems_only or system_score == "corpus" or (system_score == "auto" and published is not None)
        self.kind = "mean"
        self._metric = self._means
        if as_corpus and self._corpus is not None:
            self.kind = "corpus"
            self._metric = self._corpus
        self._human = over(by_mean(human), mean) if published is None else self._fixed(published)
        self.direction = setting.direction
        self.scores = self.direction * self._whole(self._metric)
        self.human = self._whole(self._human)

    def _fixed(self, scores: Mapping[str, float]) -> Weighted:
        """Published scores, the same in every resample."""
        row = np.array([scores.get(system, math.nan) for system in self.names])
        self._published.append(lambda weights: np.tile(row, (weights.shape[1], 1)))
        return self._published[-1]

    def _whole(self, scores: Weighted) -> Floats:
        """float64[S] the scores of all segments, each counted once."""
        whole: Floats = scores(np.ones((self.n_clusters, 1)))[0]
        return whole

    def rows(self) -> Iterator[CorrelationRow]:
        """Rows of the system level; none where no segment names its system."""
        if not self._codes.named.any():
            return
        both = np.isfinite(self.scores) & np.isfinite(self.human)
        few = "" if both.sum() >= FEWEST_SYSTEMS else f"fewer than {FEWEST_SYSTEMS} systems"

        def row(statistic: str, value: Estimate, kind: str, note: str) -> CorrelationRow:
            names = (self.point, self.human_name, "system", "none", statistic)
            counts = (int(self.n_segments[both].sum()), int(both.sum()), 1, int(math.isnan(value.value)))
            return CorrelationRow(*names, value, *counts, system_score=kind, note=note)

        for statistic in OF_SYSTEMS:
            # Scores are turned so that higher is better: correlations get their sign back, agreements have none.
            sign = 1.0 if statistic == "pairwise_accuracy" else self.direction
            ends = sorted(sign * end for end in self.interval(self.samples[statistic]))
            value = sign * self.values[statistic]
            estimate = Estimate(value, *ends) if math.isfinite(value) else NOTHING
            yield row(statistic, estimate, self.kind, few)
        yield row("spa", *self._soft(few))

    @functools.cached_property
    def values(self) -> Mapping[Statistic, float]:
        """Each statistic, of scores turned so that higher is better."""
        return {statistic: system_statistic(statistic, self.scores, self.human) for statistic in OF_SYSTEMS}

    @functools.cached_property
    def samples(self) -> Mapping[Statistic, Floats]:
        """float64[B] the same over resampled systems and clusters."""
        sizes = len(self.names), self.n_clusters
        return system_samples(OF_SYSTEMS, self._turned, self._human, *sizes, **self._drawn)

    def _turned(self, weights: Floats) -> Floats:
        return self.direction * self._metric(weights)

    def interval(self, samples: Floats) -> tuple[float, float]:
        """The 95 % interval of such samples, for the systems or the clusters, whichever are fewer."""
        return interval(samples, min(len(self.names), self.n_clusters))

    @property
    def drawn_from(self) -> tuple[Any, ...]:
        """Equal for two metrics whose resamples are of the same systems and clusters: then their samples are paired."""
        clusters = self._codes.clusters[self._used]
        systems = self._codes.systems[self._used]
        return repr(self.names), clusters.tobytes(), systems.tobytes()

    def _soft(self, few: str) -> tuple[Estimate, str, str]:
        """Soft pairwise accuracy, from the segments that the systems share, with its interval and a note."""
        metric, human = map(self._codes.table, self._of_segments)
        if not np.isfinite(human).any():
            return NOTHING, self.kind, "needs human scores of segments"
        value, ends, n_pairs = spa(self.direction * metric, human, **self._drawn)
        n_systems = int((np.isfinite(metric) & np.isfinite(human)).any(axis=0).sum())
        undefined = math.comb(n_systems, 2) - n_pairs
        note = f"{undefined} pairs of systems share no segment" if undefined else few
        return Estimate(value, *ends), "mean", note

    def thresholds(self) -> Iterator[ThresholdRow]:
        """Rows of thresholds.parquet; none with fewer than three systems."""
        first, second = np.triu_indices(len(self.names), 1)
        gaps = self.scores[first] - self.scores[second]
        judged = self.human[first] - self.human[second]
        known = np.isfinite(gaps) & np.isfinite(judged)
        if not self._codes.named.any() or known.sum() < FEWEST_SYSTEMS:
            return
        agree = (1 + np.sign(gaps[known]) * np.sign(judged[known])) / 2
        apart = np.abs(gaps[known])
        slope = system_statistic("agreement_slope", self.scores, self.human)
        sizes = len(self.names), self.n_clusters
        of_slope = system_samples(["agreement_slope"], self._turned, self._human, *sizes, **self._drawn)
        ends = np.array(self.interval(of_slope["agreement_slope"]))
        for probability in PROBABILITIES:
            # The logistic curve has no constant: without a difference people agree as often as not.
            odds = math.log(probability / (1 - probability))
            difference = odds / slope if slope > 0 else math.nan
            # The steepest curve needs the smallest difference: the ends change places.
            high, low = (odds / end if end > 0 else math.nan for end in ends.tolist())
            far = agree[apart >= difference]
            observed = float(far.mean()) if len(far) else math.nan
            least, most = expit(ends * difference).tolist()
            shares = (least, most, observed, len(far), int((~known).sum()), self.kind)
            yield ThresholdRow(self.point, self.human_name, probability, Estimate(difference, low, high), *shares)

    def table(self) -> Iterator[SystemRow]:
        """Rows of systems.parquet."""
        if not self._codes.named.any():
            return
        ranks = np.concatenate([self._ranked(self._metric, self.direction), self._ranked(self._human, 1.0)])
        means = self._whole(self._means)
        corpus = means if self._corpus is None else self._whole(self._corpus)  # the mean, of a metric without one
        for place, system in enumerate(self.names):
            if system or self._codes.named.all():
                values = float(self.human[place]), float(means[place]), float(corpus[place])
                n_segments = int(self.n_segments[place])
                yield SystemRow(self.point, self.human_name, system, *values, n_segments, *ranks[:, place].tolist())

    def _ranked(self, scores: Weighted, direction: float) -> Ints:
        """Ranks of the systems; with ranges where their scores come from segments that can be drawn."""
        samples = np.empty((0, len(self.names)))
        if self._drawn["resamples"] and scores not in self._published and self.n_clusters >= FEWEST_CLUSTERS:
            drawn = seeded_draws(self.n_clusters, **self._drawn)
            samples = np.concatenate([direction * scores(weights) for weights in drawn])
        return rank_ranges(direction * self._whole(scores), samples)


@dataclass(frozen=True, kw_only=True)
class LevelsEvaluation(Evaluation):
    """How well a metric, and each boosted point, agrees with each human judgement, segment by segment and by system.

    Segments: Pearson's r, Spearman's rho, Kendall's tau-b and acc_eq, over all segments, by item (mean over the items
    of the correlation between systems) and by system, and tau-b within documents; intervals draw clusters of segments.
    Systems: the same correlations, pairwise accuracy and soft pairwise accuracy; intervals draw systems and clusters of
    segments.
    Correlations of a metric whose lower scores are better keep their sign; agreements turn it.

    resamples: of each bootstrap, and permutations of soft pairwise accuracy; seed: of all draws.
    system_score: what the metric says of a system. "mean": the mean over the rated segments; "corpus": the score of its
    summed statistics, where the metric has them; "auto": as people's scores were made, the mean where they are means of
    rated segments, else the corpus score. systems.parquet has both.
    It also ranks the systems, by the metric and by people, with rank ranges and clusters over resampled segments.
    A judgement of systems only has no rows of segments; segments without a named system have no groups and no systems.
    Raises ConfigError for a negative number of resamples.
    """

    VERSION: ClassVar[int] = 4  # tau-b within documents was added
    SECONDS: ClassVar[float] = 6e-4
    ROWS: ClassVar[Mapping[str, type]] = {
        "correlations": CorrelationRow,
        "systems": SystemRow,
        "thresholds": ThresholdRow,
    }

    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)
    system_score: SystemScoring = identity("auto")

    def of_scope(self, settings: Sequence[Finished]) -> list[Mapping[str, Sequence[Any]]]:
        """The rows of the metric alone and of every declared point."""
        (setting,) = settings
        rows: dict[str, list[Any]] = {table: [] for table in self.ROWS}
        drawn = {"resamples": self.resamples, "seed": self.seed}
        aspects = setting.segments.judgements.aspects
        of_segments = {human: self._of_segments(setting, human) for human in aspects}
        for point in setting.points:
            for human in aspects:
                level = SystemLevel(setting, point, human, drawn, self.system_score)
                rows["correlations"] += of_segments[human].get(point, ())
                rows["correlations"] += level.rows()
                rows["systems"] += level.table()
                rows["thresholds"] += level.thresholds()
        return [rows]

    def _of_segments(self, setting: Finished, human_name: str) -> Mapping[str, list[CorrelationRow]]:
        """The rows of each point; none for a judgement of systems only."""
        drawn = {"resamples": self.resamples, "seed": self.seed}
        judged = setting.segments.judgements
        if judged.systems.get(human_name) is not None and not np.isfinite(judged.scores[human_name]).any():
            return {}
        alike: dict[bytes, list[str]] = {}
        for point, scores in setting.points.items():  # those with scores of the same segments share their resamples
            alike.setdefault(np.isfinite(scores).tobytes(), []).append(point)
        rows: dict[str, list[CorrelationRow]] = {}
        for points in alike.values():
            columns = np.column_stack([setting.points[point] for point in points])
            rows |= zip(points, segment_correlations(setting, points, columns, human_name, drawn), strict=True)
        return rows
