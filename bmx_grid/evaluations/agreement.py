"""The rows of the points of a setting against one judgement, for the evaluation of levels."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.contracts import combined
from bmx_grid.evaluations.base import BASE, Finished, Floats
from bmx_grid.measures.agreement import spa
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.levels import Grouped, grouped_acc_eq, grouped_correlations
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, Ints, codes, seeded_draws
from bmx_grid.measures.systems import (
    FEWEST_SYSTEMS,
    RankRanges,
    Segments,
    Statistic,
    rank_ranges,
    spa_interval,
    system_interval,
    system_samples,
    system_statistic,
)

CORRELATIONS: tuple[Correlation, ...] = ("pearson", "spearman", "kendall")
OF_SYSTEMS: tuple[Statistic, ...] = (*CORRELATIONS, "pairwise_accuracy")
SAME_DATA = "same data"
SystemScore = Literal["auto", "mean", "corpus"]


@dataclass(frozen=True)
class Row:
    """One row of correlations.parquet.

    point: "base" or the name of a boosted point; human: which judgement. level: "segment" or "system"; grouping:
    "none", "item" or "system". low, high: the 95 % interval; NaN where undefined.
    n_segments: segments with both scores; n_systems: their systems; n_groups: groups, 1 without grouping;
    n_undefined: those of them without a value.
    epsilon, calibrated_on: the tie threshold of acc_eq, and what it was chosen on. system_score: "mean" or "corpus".
    """

    point: str
    human: str
    level: str
    grouping: str
    statistic: str
    value: float
    low: float
    high: float
    n_segments: int
    n_systems: int
    n_groups: int
    n_undefined: int
    epsilon: float = math.nan
    calibrated_on: str = ""
    system_score: str = ""
    note: str = ""


@dataclass(frozen=True)
class SystemRow:
    """One row of systems.parquet: a system's human score, and its score as a mean and from summed statistics.

    rank: among the systems by the metric, 1 is the best, with the ends of its rank range and the cluster of systems it
    is in (`measures.rank_ranges`), of the score that the system level uses; human_*: the same by people. 0 where there
    is none: a system without a score, no resamples, too few clusters of segments, or people who scored whole systems.
    """

    point: str
    human_name: str
    system: str
    human: float
    mean: float
    corpus: float
    n_segments: int
    rank: int
    rank_low: int
    rank_high: int
    rank_cluster: int
    human_rank: int
    human_rank_low: int
    human_rank_high: int
    human_rank_cluster: int


class Places:
    """Where the segments of a setting stand: in which item, system and cluster; int64[N] numbers from 0.

    named: bool[N] whether a segment names its system; names: of the systems, in the order of their numbers.
    """

    def __init__(self, setting: Finished) -> None:
        segments = setting.segments.segments
        systems = ["" if segment.system is None else segment.system for segment in segments]
        self.named = np.array([segment.system is not None for segment in segments], dtype=np.bool_)
        self.names: list[str] = sorted(set(systems))
        self.items = codes([segment.id for segment in segments])
        self.systems = codes(systems)
        self.clusters = codes(list(setting.clusters))


@dataclass(frozen=True, eq=False)
class _Asked:
    """What the rows of segments are made of: float64[n, K] scores of K points, as they are and their direction.

    Equal where all of it is equal, so that what was asked before is known: the metric alone is the same with every
    explainer.
    """

    scores: Floats
    human: Floats
    places: Places
    direction: float
    resamples: int
    seed: int

    @functools.cached_property
    def digest(self) -> bytes:
        places = self.places
        arrays = (self.scores, self.human, places.named, places.items, places.systems, places.clusters)
        found = hashlib.sha256(repr((self.scores.shape, self.direction, self.resamples, self.seed)).encode())
        for array in arrays:
            found.update(np.ascontiguousarray(array).tobytes())
        return found.digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.digest == other.digest


def segment_rows(
    setting: Finished, places: Places, points: Sequence[str], human_name: str, *, resamples: int, seed: int
) -> dict[str, list[Row]]:
    """The rows of each point of segments with and without grouping; none for a judgement of systems only."""
    judged = setting.segments.judgements
    human = judged.scores[human_name]
    if judged.systems.get(human_name) is not None and not np.isfinite(human).any():
        return {point: [] for point in points}
    direction = 1.0 if setting.metric.higher_is_better else -1.0
    alike: dict[object, list[str]] = {}
    for point in points:  # those with scores of the same segments share their resamples
        alike.setdefault(BASE if point == BASE else np.isfinite(setting.points[point]).tobytes(), []).append(point)
    found = {}
    for names in alike.values():
        scores = np.column_stack([setting.points[point] for point in names])
        asked = _Asked(scores, human, places, direction, resamples, seed)
        for point, rows in zip(names, _known_rows(asked) if names == [BASE] else _rows(asked), strict=True):
            found[point] = [dataclasses.replace(row, point=point, human=human_name) for row in rows]
    return found


def _rows(asked: _Asked) -> list[list[Row]]:
    """The rows of each column, which lack the names of point and judgement."""
    places, human = asked.places, asked.human
    groupings: dict[str, Ints] = {"none": np.zeros(len(human), dtype=np.int64)}
    if places.named.any():
        groupings |= {"item": places.items, "system": places.systems}
    found: list[list[Row]] = [[] for _ in asked.scores.T]
    for grouping, groups in groupings.items():
        scores = asked.scores if grouping == "none" else np.where(places.named[:, None], asked.scores, np.nan)
        used = np.isfinite(scores).all(axis=1) & np.isfinite(human)
        n_systems = len(np.unique(places.systems[used & places.named]))
        arrays = (human, groups, places.clusters, asked.resamples, asked.seed)
        correlations = grouped_correlations(CORRELATIONS, scores, *arrays)
        agreements = grouped_acc_eq(asked.direction * scores, *arrays)
        for rows, by_kind, (agreement, ties) in zip(found, correlations, agreements, strict=True):
            rows += [_segment_row(grouping, kind, one, n_systems) for kind, one in by_kind.items()]
            notes = []
            if ties.only_ties:
                notes.append("no better than tying every pair: this is only the share of pairs that people tied")
            if ties.n_pairs < ties.n_pairs_of:
                notes.append(f"on {ties.n_pairs:,} random pairs of {ties.n_pairs_of:,}")
            row = _segment_row(grouping, "acc_eq", agreement, n_systems)
            note = "; ".join(notes)
            rows.append(dataclasses.replace(row, epsilon=ties.epsilon, calibrated_on=SAME_DATA, note=note))
    return found


_known_rows = functools.lru_cache(maxsize=8)(_rows)


def _segment_row(grouping: str, statistic: str, found: Grouped, n_systems: int) -> Row:
    groups = (found.n_groups, found.n_undefined) if grouping != "none" else (1, int(math.isnan(found.value)))
    values = (found.value, found.low, found.high)
    return Row("", "", "segment", grouping, statistic, *values, found.n_segments, n_systems, *groups)


class OfPoint:
    """System scores of one point against one judgement."""

    def __init__(
        self,
        setting: Finished,
        places: Places,
        point: str,
        human_name: str,
        *,
        resamples: int = 0,
        seed: int = 0,
        system_score: SystemScore = "auto",
    ) -> None:
        judged = setting.segments.judgements
        self.places, self.point, self.human_name = places, point, human_name
        self.resamples, self.seed, self.system_score = resamples, seed, system_score
        self.scores, self.human = setting.points[point], judged.scores[human_name]
        self.direction = 1.0 if setting.metric.higher_is_better else -1.0
        self.whole_systems = judged.systems.get(human_name)
        self.statistics = setting.statistics if point == BASE else None
        self.combine = functools.partial(combined, setting.metric)
        self.given = setting.systems if point == BASE else {}

    def system_rows(self) -> Iterator[Row]:
        """Rows of the system level; none where no segment names its system."""
        if not self.places.named.any():
            return
        human, mean, corpus = self._human_systems(), self._mean(), self._corpus()
        of_metric = corpus if corpus is not None and self._uses_corpus() else mean
        kind = "corpus" if of_metric is corpus else "mean"
        both = np.isfinite(of_metric(None)) & np.isfinite(human(None))
        n_systems, n_segments = int(both.sum()), int(self._counts()[both].sum())
        few = "" if n_systems >= FEWEST_SYSTEMS else f"fewer than {FEWEST_SYSTEMS} systems"

        def row(statistic: str, value: float, ends: tuple[float, float], note: str) -> Row:
            counts = (n_segments, n_systems, 1, int(math.isnan(value)))
            names = (self.point, self.human_name, "system", "none", statistic)
            return Row(*names, value, *ends, *counts, system_score=kind, note=note)

        scores, judged = of_metric(None), human(None)
        for statistic in OF_SYSTEMS:
            sign = 1.0 if statistic == "pairwise_accuracy" else self.direction
            value = sign * system_statistic(statistic, self.direction * scores[both], judged[both])
            low, high = sorted(
                sign * end for end in system_interval(self.samples[statistic], self.n_systems, self.n_clusters)
            )
            known = math.isfinite(value)
            yield row(statistic, value, (low, high) if known else (math.nan, math.nan), few)
        yield self._soft_row(row, few)

    @functools.cached_property
    def samples(self) -> Mapping[Statistic, Floats]:
        """float64[B] each statistic over resampled systems and clusters; of scores turned so that higher is better."""
        corpus = self._corpus()
        of_metric = corpus if corpus is not None and self._uses_corpus() else self._mean()
        return system_samples(
            OF_SYSTEMS,
            lambda weights: self.direction * of_metric(weights),
            self._human_systems(),
            self.n_systems,
            self.n_clusters,
            resamples=self.resamples,
            seed=self.seed,
        )

    @property
    def n_systems(self) -> int:
        """Systems that resamples draw from."""
        return len(self.places.names)

    @property
    def drawn_from(self) -> bytes:
        """Equal for two metrics whose resamples are of the same systems and clusters: then their samples are paired."""
        found = hashlib.sha256(repr(self.places.names).encode())
        for places in (self.places.clusters, self.places.systems):
            found.update(places[self._used].tobytes())
        return found.digest()

    def _soft_row(self, row: Callable[[str, float, tuple[float, float], str], Row], few: str) -> Row:
        """Soft pairwise accuracy, from the segments that the systems share."""
        shape = (int(self.places.items.max()) + 1, len(self.places.names))
        metric, human = np.full(shape, np.nan), np.full(shape, np.nan)
        own = self.places.named
        metric[self.places.items[own], self.places.systems[own]] = self.direction * self.scores[own]
        human[self.places.items[own], self.places.systems[own]] = self.human[own]
        if not np.isfinite(human).any():
            return row("spa", math.nan, (math.nan, math.nan), "needs human scores of segments")
        found = spa(metric, human, resamples=self.resamples or 1000, seed=self.seed)
        n_systems = int((np.isfinite(metric) & np.isfinite(human)).any(axis=0).sum())
        undefined = math.comb(n_systems, 2) - found.n_pairs
        note = f"{undefined} pairs of systems share no segment" if undefined else few
        ends = spa_interval(found, resamples=self.resamples, seed=self.seed)
        return dataclasses.replace(row("spa", found.value, ends, note), system_score="mean")

    def of_systems(self) -> tuple[list[str], Floats, Floats]:
        """The systems, their scores by the metric, higher is better, and by people; as the system level uses them."""
        corpus = self._corpus()
        of_metric = corpus if corpus is not None and self._uses_corpus() else self._mean()
        return self.places.names, self.direction * of_metric(None), self._human_systems()(None)

    def systems_table(self) -> Iterator[SystemRow]:
        """Rows of systems.parquet."""
        if not self.places.named.any():
            return
        human, mean, corpus = self._human_systems(), self._mean(), self._corpus()
        by_metric = corpus if corpus is not None and self._uses_corpus() else mean
        ranks = [self._ranked(by_metric, self.direction), self._ranked(human, 1.0)]
        # the mean, of a metric without statistics of its own
        columns = [human(None), mean(None), (mean if corpus is None else corpus)(None)]
        counts = self._counts()
        for at, system in enumerate(self.places.names):
            if system or self.places.named.all():
                values = (float(columns[0][at]), float(columns[1][at]), float(columns[2][at]), int(counts[at]))
                of_ranks = (int(part[at]) for one in ranks for part in (one.rank, one.low, one.high, one.cluster))
                yield SystemRow(self.point, self.human_name, system, *values, *of_ranks)

    def _ranked(self, of: _OfWeights | _Fixed, direction: float) -> RankRanges:
        """Ranks of the systems; with ranges where their scores come from segments that can be drawn."""
        samples = np.empty((0, len(self.places.names)))
        if self.resamples and isinstance(of, _OfWeights) and self.n_clusters >= FEWEST_CLUSTERS:
            drawn = seeded_draws(self.n_clusters, self.resamples, self.seed)
            samples = np.concatenate([direction * of(weights) for weights in drawn])
        return rank_ranges(direction * of(None), samples)

    @property
    def _systems_only(self) -> bool:
        """Whether the metric's scores are of systems only, read from a file."""
        return bool(self.given) and not np.isfinite(self.scores).any()

    def _uses_corpus(self) -> bool:
        if self._systems_only:
            return True
        if self.system_score == "auto":
            return self.whole_systems is not None
        return self.system_score == "corpus"

    @property
    def _used(self) -> NDArray[np.bool_]:
        """The segments that system scores are made of: those with a score, and rated where segments are rated."""
        used = self.places.named & (np.isfinite(self.scores) | self._systems_only)
        return used if self.whole_systems is not None else used & np.isfinite(self.human)

    @property
    def n_clusters(self) -> int:
        """Clusters of segments that resamples draw from."""
        return len(np.unique(self.places.clusters[self._used]))

    def _counts(self) -> Ints:
        return np.bincount(self.places.systems[self._used], minlength=len(self.places.names))

    def _segments(self, values: Floats, statistics: Floats | None = None) -> Segments:
        used = self._used
        return Segments(
            values[used],
            self.places.systems[used],
            codes(self.places.clusters[used]),
            len(self.places.names),
            self.n_clusters,
            None if statistics is None else statistics[used],
            None if statistics is None else self.combine,
        )

    def _mean(self) -> _OfWeights:
        return _OfWeights(self._segments(self.scores))

    def _corpus(self) -> _OfWeights | _Fixed | None:
        if self.given:
            return _Fixed(np.array([self.given.get(system, math.nan) for system in self.places.names]))
        if self.statistics is None:
            return None
        return _OfWeights(self._segments(self.scores, self.statistics))

    def _human_systems(self) -> _OfWeights | _Fixed:
        if self.whole_systems is not None:
            return _Fixed(np.array([self.whole_systems.get(system, math.nan) for system in self.places.names]))
        return _OfWeights(self._segments(self.human))


@dataclass(frozen=True, eq=False)
class _OfWeights:
    """Scores of S systems under float64[C, B] weights of clusters, float64[B, S]; without weights float64[S].

    They come from summed statistics; of segments without statistics they are means.
    """

    segments: Segments

    def __call__(self, weights: Floats | None) -> Floats:
        if weights is None:
            whole: Floats = self(np.ones((self.segments.n_clusters, 1)))[0]
            return whole
        return self.segments.resampled(weights, corpus=True)


@dataclass(frozen=True, eq=False)
class _Fixed:
    """Published scores of S systems, the same in every resample."""

    scores: Floats

    def __call__(self, weights: Floats | None) -> Floats:
        return self.scores if weights is None else np.tile(self.scores, (weights.shape[1], 1))
