"""Correlation with human judgements at segment and system level: correlations.parquet and systems.parquet."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.attribution.contracts import combine_statistics
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    NOTHING,
    Estimate,
    Evaluation,
    MapFunction,
    ScoredSetting,
    map_sequential,
)
from bmx_grid.evaluations.level_rows import CorrelationRow, SystemRow, ThresholdRow
from bmx_grid.evaluations.segment_level import CORRELATIONS, segment_correlations
from bmx_grid.evaluations.slices import SliceRow, check_columns, correct_p_values, slice_rows
from bmx_grid.measures.agreement import spa
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, interval, number_of, seeded_draws
from bmx_grid.measures.systems import (
    FEWEST_SYSTEMS,
    Statistic,
    expit,
    mean,
    mean_terms,
    rank_ranges,
    system_samples,
    system_scores,
    system_statistic,
)

OF_SYSTEMS: tuple[Statistic, ...] = (*CORRELATIONS, "pairwise_accuracy")
PROBABILITIES = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)
SystemScoring = Literal["auto", "mean", "corpus"]
Weighted = Callable[[Floats], Floats]  # float64[C, B] weights of clusters -> float64[B, S] scores of systems


class SystemLevel:
    """Systems of a setting by one point and one judgement.

    names: of S systems. scores, human: float64[S] by the metric, turned so that higher is better, and by people; the
    metric's are of this `kind`, "corpus" or "mean". n_segments: int64[S] that system scores are made of: those with a
    score, and rated where segments are rated; n_clusters: of these. drawn: as for `segment_correlations`; without it
    there are no intervals. wanted: the statistics of rows. among: bool[N] the segments that count; all if None.
    """

    def __init__(
        self,
        setting: ScoredSetting,
        point: str,
        human_name: str,
        drawn: Mapping[str, Any] = MappingProxyType({"resamples": 0, "seed": 0}),
        system_score: SystemScoring = "auto",
        wanted: Sequence[Statistic] = OF_SYSTEMS,
        among: Flags | None = None,
    ) -> None:
        judgements = setting.segments.judgements
        self.point = point
        self.human_name = human_name
        self.direction = setting.direction
        self._codes = setting.codes
        self.names = self._codes.names
        self._resampling = drawn
        self._wanted = wanted
        scores = setting.points[point]
        human = judgements.scores[human_name]
        self._segment_rows = scores, human
        published = judgements.systems.get(human_name)
        self._people_scored_systems = published is not None
        # Other points have no scores of systems of their own: they are mixtures of segment scores.
        system_file = setting.scores.systems if point == BASE else {}
        statistics = setting.scores.statistics if point == BASE else None
        systems_only = bool(system_file) and not np.isfinite(scores).any()
        # Where people scored whole systems, no segment needs a rating of its own.
        rated = np.isfinite(human) | self._people_scored_systems
        scored = np.isfinite(scores) | systems_only
        self._used = self._codes.named & rated & scored & (True if among is None else among)
        self._clusters = codes(self._codes.clusters[self._used])
        self._systems = self._codes.systems[self._used]
        self.n_clusters = number_of(self._clusters)
        self.n_segments = np.bincount(self._systems, minlength=len(self.names))
        # Both are kept: the table of systems shows them beside each other.
        self._means = self._system_scores(mean_terms(scores), mean)
        self._corpus = None
        if system_file:
            self._corpus = _same_always(self._codes.array_by_system(system_file))
        elif statistics is not None:
            self._corpus = self._system_scores(statistics, functools.partial(combine_statistics, setting.metric))
        as_people = system_score == "auto" and self._people_scored_systems
        self.kind = "mean"
        self._metric = self._means
        if self._corpus is not None and (systems_only or system_score == "corpus" or as_people):
            self.kind = "corpus"
            self._metric = self._corpus
        self._is_drawn = not (system_file and self.kind == "corpus")
        if published is None:
            self._human = self._system_scores(mean_terms(human), mean)
        else:
            self._human = _same_always(self._codes.array_by_system(published))
        self.scores = self.direction * self._whole(self._metric)
        self.human = self._whole(self._human)

    def _system_scores(self, terms: Floats, combine: Callable[[Floats], Floats]) -> Weighted:
        """The scores of systems from float64[N, k] terms of segments."""
        sizes = (len(self.names), self.n_clusters)
        return system_scores(terms[self._used], combine, self._systems, self._clusters, *sizes)

    def _whole(self, scores: Weighted) -> Floats:
        """float64[S] the scores of all segments, each counted once."""
        once = np.ones((self.n_clusters, 1))
        whole: Floats = scores(once)[0]
        return whole

    def rows(self) -> Iterator[CorrelationRow]:
        """Rows of the system level; none where no segment names its system."""
        if not self._codes.named.any():
            return
        both = np.isfinite(self.scores) & np.isfinite(self.human)
        n_systems = int(both.sum())
        few = ""
        if n_systems < FEWEST_SYSTEMS:
            few = f"fewer than {FEWEST_SYSTEMS} systems"

        def row(statistic: str, estimate: Estimate, kind: str, note: str) -> CorrelationRow:
            return CorrelationRow(
                point=self.point,
                human=self.human_name,
                level="system",
                grouping="none",
                statistic=statistic,
                value=estimate,
                n_segments=int(self.n_segments[both].sum()),
                n_systems=n_systems,
                n_groups=1,
                n_undefined=int(math.isnan(estimate.value)),
                system_score=kind,
                note=note,
            )

        for statistic in self._wanted:
            # Scores are turned so that higher is better: correlations get their sign back, agreements have none.
            sign = 1.0 if statistic == "pairwise_accuracy" else self.direction
            ends = self.interval(self.samples[statistic])
            low, high = sorted(sign * end for end in ends)
            value = sign * self.values[statistic]
            # Without a value there is no interval, even where resamples have one.
            estimate = NOTHING
            if math.isfinite(value):
                estimate = Estimate(value, low, high)
            yield row(statistic, estimate, self.kind, few)
        yield row("spa", *self._soft(few))

    @functools.cached_property
    def values(self) -> Mapping[Statistic, float]:
        """Each statistic, of scores turned so that higher is better."""
        return {statistic: system_statistic(statistic, self.scores, self.human) for statistic in self._wanted}

    @functools.cached_property
    def samples(self) -> Mapping[Statistic, Floats]:
        """float64[B] the same over resampled systems and clusters."""
        return self._samples_of(self._wanted)

    def _samples_of(self, statistics: Sequence[Statistic]) -> dict[Statistic, Floats]:
        return system_samples(
            statistics, self._oriented_scores, self._human, len(self.names), self.n_clusters, **self._resampling
        )

    def _oriented_scores(self, weights: Floats) -> Floats:
        return self.direction * self._metric(weights)

    def interval(self, samples: Floats) -> tuple[float, float]:
        """The 95 % interval of such samples, for the systems or the clusters, whichever are fewer."""
        return interval(samples, min(len(self.names), self.n_clusters))

    @property
    def drawn_from(self) -> tuple[Any, ...]:
        """Equal for two metrics whose resamples are of the same systems and clusters: then their samples are paired."""
        clusters = self._codes.clusters[self._used]
        return repr(self.names), clusters.tobytes(), self._systems.tobytes()

    def _soft(self, few: str) -> tuple[Estimate, str, str]:
        """Soft pairwise accuracy, from the segments that the systems share, with its interval and a note."""
        metric, human = map(self._codes.table, self._segment_rows)
        if not np.isfinite(human).any():
            return NOTHING, self.kind, "needs human scores of segments"
        turned = self.direction * metric
        value, ends, n_pairs = spa(turned, human, **self._resampling)
        both = np.isfinite(metric) & np.isfinite(human)
        n_systems = int(both.any(axis=0).sum())
        undefined = math.comb(n_systems, 2) - n_pairs
        note = f"{undefined} pairs of systems share no segment" if undefined else few
        return Estimate(value, *ends), "mean", note

    def thresholds(self) -> Iterator[ThresholdRow]:
        """Rows of thresholds.parquet; none with fewer than three systems."""
        first, second = np.triu_indices(len(self.names), 1)
        gaps = self.scores[first] - self.scores[second]
        human_gaps = self.human[first] - self.human[second]
        known = np.isfinite(gaps) & np.isfinite(human_gaps)
        n_known = int(known.sum())
        if n_known < FEWEST_SYSTEMS or not self._codes.named.any():
            return
        gaps = gaps[known]
        # 1 where both prefer the same system, 0 where they differ, and a half for a tie of either.
        same_sign = np.sign(gaps) * np.sign(human_gaps[known])
        agree = (1 + same_sign) / 2
        apart = np.abs(gaps)
        slope = system_statistic("agreement_slope", self.scores, self.human)
        samples = self._samples_of(["agreement_slope"])
        slopes = np.array(self.interval(samples["agreement_slope"]))
        flattest, steepest = slopes.tolist()
        for probability in PROBABILITIES:
            # The logistic curve has no constant: without a difference people agree as often as not.
            odds = math.log(probability / (1 - probability))
            difference = _quotient(odds, slope)
            # The steepest curve needs the smallest difference: the ends change places.
            interval_of_difference = (_quotient(odds, steepest), _quotient(odds, flattest))
            far = agree[apart >= difference]
            least, most = expit(slopes * difference).tolist()
            yield ThresholdRow(
                point=self.point,
                human_name=self.human_name,
                probability=probability,
                difference=Estimate(difference, *interval_of_difference),
                probability_low=least,
                probability_high=most,
                observed=float(far.mean()) if len(far) else math.nan,
                n_pairs=len(far),
                n_undefined=len(known) - n_known,
                system_score=self.kind,
            )

    def table(self) -> Iterator[SystemRow]:
        """Rows of systems.parquet."""
        if not self._codes.named.any():
            return
        by_metric = self._rank_systems(self._metric, self.direction, self._is_drawn)
        by_people = self._rank_systems(self._human, 1.0, not self._people_scored_systems)
        means = self._whole(self._means)
        # A metric without a corpus score has its mean in both columns.
        corpus = means
        if self._corpus is not None:
            corpus = self._whole(self._corpus)
        for place, system in enumerate(self.names):
            # The name "" stands for segments without a system, unless a system is called so.
            if not system and not self._codes.named.all():
                continue
            rank, rank_low, rank_high, rank_cluster = by_metric[:, place].tolist()
            human_rank, human_rank_low, human_rank_high, human_rank_cluster = by_people[:, place].tolist()
            yield SystemRow(
                point=self.point,
                human_name=self.human_name,
                system=system,
                human=float(self.human[place]),
                mean=float(means[place]),
                corpus=float(corpus[place]),
                n_segments=int(self.n_segments[place]),
                rank=rank,
                rank_low=rank_low,
                rank_high=rank_high,
                rank_cluster=rank_cluster,
                human_rank=human_rank,
                human_rank_low=human_rank_low,
                human_rank_high=human_rank_high,
                human_rank_cluster=human_rank_cluster,
            )

    def _rank_systems(self, scores: Weighted, direction: float, is_drawn: bool) -> Ints:
        """Ranks of the systems; with ranges where their scores come from segments that can be drawn."""
        samples = np.empty((0, len(self.names)))
        if self._resampling["resamples"] and is_drawn and self.n_clusters >= FEWEST_CLUSTERS:
            drawn = seeded_draws(self.n_clusters, **self._resampling)
            samples = np.concatenate([direction * scores(weights) for weights in drawn])
        turned = direction * self._whole(scores)
        return rank_ranges(turned, samples)


def _same_always(scores: Floats) -> Weighted:
    """float64[S] published scores, the same in every resample."""
    return lambda weights: np.tile(scores, (weights.shape[1], 1))


def _quotient(odds: float, slope: float) -> float:
    """The difference of systems at which a logistic curve has these odds; NaN where it does not rise."""
    return odds / slope if slope > 0 else math.nan


@dataclass(frozen=True, kw_only=True)
class LevelsEvaluation(Evaluation):
    """How well a metric, and each boosted point, agrees with each human judgement, segment by segment and by system.

    Segments: Pearson's r, Spearman's rho, Kendall's tau-b and acc_eq, over all segments, by item (mean over the items
    of the correlation between systems) and by system, and tau-b within documents; intervals draw clusters of segments.
    Systems: the same correlations, pairwise accuracy and soft pairwise accuracy; intervals draw systems and clusters of
    segments.
    Correlations of a metric whose lower scores are better keep their sign; agreements turn it.

    resamples: of each bootstrap, and permutations of soft pairwise accuracy; seed: of all draws.
    system_score: the metric's score of a system. "mean": the mean over the rated segments; "corpus": the score of its
    summed statistics, where the metric has them; "auto": as people's scores were made, the mean where they are means of
    rated segments, else the corpus score. systems.parquet has both.
    It also ranks the systems, by the metric and by people, with rank ranges and clusters over resampled segments.
    A judgement of systems only has no rows of segments; segments without a named system have no groups and no systems.
    by: columns, each value of which is a slice of its own in slices.parquet (`slices.columns_of_set`); gains of all
    slices of a sweep are corrected as one family.
    Raises ConfigError for a negative number of resamples, and for a column that the data do not have.
    """

    VERSION: ClassVar[int] = 6  # sources of an undefined PDP are counted as undefined
    SECONDS: ClassVar[float] = 6e-4
    ROWS: ClassVar[Mapping[str, type]] = {
        "correlations": CorrelationRow,
        "systems": SystemRow,
        "thresholds": ThresholdRow,
        "slices": SliceRow,
    }

    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)
    system_score: SystemScoring = identity("auto")
    by: tuple[str, ...] = identity((), added_later=True)

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        check_columns(self.by, sets)
        return ""

    def evaluate(self, settings: Sequence[ScoredSetting], map_function: MapFunction = map_sequential) -> list[Any]:
        """With the gains of slices corrected."""
        results = super().evaluate(settings, map_function)
        rows = []
        for setting, result in zip(settings, results, strict=True):
            rows += [(setting, row) for row in result["slices"]]
        # The family spans the sweep: its size is known when all settings have ended.
        of_family = correct_p_values(rows, self.resamples, self.seed)
        for result in results:
            result["slices"] = [next(of_family) for _ in result["slices"]]
        return results

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[Mapping[str, Sequence[Any]]]:
        """The rows of the metric alone and of every declared point."""
        (setting,) = settings
        rows: dict[str, list[Any]] = {table: [] for table in self.ROWS}
        judgements = setting.segments.judgements
        of_segments = {human: self._segment_rows(setting, human) for human in judgements.aspects}
        # The first rows of each level are those of its primary human score.
        aspects_of_systems = dict.fromkeys((judgements.primary_of_systems, *judgements.aspects))
        aspects = list(zip(judgements.aspects, aspects_of_systems, strict=True))
        for point in setting.points:
            for human, human_of_systems in aspects:
                level = SystemLevel(setting, point, human_of_systems, self._resampling, self.system_score)
                rows["correlations"] += of_segments[human].get(point, ())
                rows["correlations"] += level.rows()
                rows["systems"] += level.table()
                rows["thresholds"] += level.thresholds()
        rows["slices"] = slice_rows(setting, self.by, self._resampling)
        return [rows]

    @property
    def _resampling(self) -> dict[str, int]:
        return {"resamples": self.resamples, "seed": self.seed}

    def _segment_rows(self, setting: ScoredSetting, human_name: str) -> Mapping[str, list[CorrelationRow]]:
        """The rows of each point; none for a judgement of systems only."""
        judgements = setting.segments.judgements
        if human_name in judgements.systems and not np.isfinite(judgements.scores[human_name]).any():
            return {}
        # Points with scores of the same segments share their resamples.
        alike: dict[bytes, list[str]] = {}
        for point, scores in setting.points.items():
            alike.setdefault(np.isfinite(scores).tobytes(), []).append(point)
        rows: dict[str, list[CorrelationRow]] = {}
        for points in alike.values():
            columns = np.column_stack([setting.points[point] for point in points])
            rows_of_points = segment_correlations(setting, points, columns, human_name, self._resampling)
            rows |= zip(points, rows_of_points, strict=True)
        return rows
