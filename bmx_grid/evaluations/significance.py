"""Is a gain real: tests and intervals of boosted scores against the metric alone, and of metrics against each other."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.wording import counted
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    OF_METRIC,
    OF_PAIR,
    Each,
    Estimate,
    Finished,
    Measured,
    SettingRow,
    grouped,
    here,
)
from bmx_grid.evaluations.grid_options import OnGrid
from bmx_grid.evaluations.grid_surface import sample_of
from bmx_grid.evaluations.levels import SystemLevel
from bmx_grid.measures.agreement_tests import AgreementStatistic, Scores, compare_agreement
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid_resampling import selection_adjusted
from bmx_grid.measures.paired_tests import Comparison, Unit, benjamini_hochberg, compare, holm, williams

ComparedBy = Literal[Correlation, AgreementStatistic]
Test = Literal["williams", "perm_both", "perm_inputs", "perm_systems", "bootstrap"]
ALONE = "none"  # the explainer of rows that compare metrics
NEAR = 10  # p values up to so many times the smallest are looked at again in a large family
ENOUGH = 4  # times the resamples that a family needs to show one difference
MOST_REPEATED = 200_000
AGREEMENTS = get_args(AgreementStatistic)
UNITS: Mapping[str, Unit] = {"perm_both": "both", "perm_inputs": "inputs", "perm_systems": "systems"}
LEVEL = 0.05  # of the tests that part the ranks of metrics, and of corrected p values


@dataclass(frozen=True, kw_only=True)
class TestRow(SettingRow):
    """One row of tests.parquet: one comparison and one test of it, with the explainer that it speaks of."""

    explainer: str
    compared: str
    against: str
    point: str
    level: str
    grouping: str
    statistic: str
    difference: Measured
    test: str
    alternative: str = "two-sided"
    p: float
    p_holm: float = math.nan
    p_bh: float = math.nan
    family: str
    n: int
    clusters: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class Rank(SettingRow):
    """One row of ranking.parquet: a metric, whatever its explainer, among those of its language pair.

    value: its correlation, with its sign, as in correlations.parquet: one of a metric whose lower scores are better, as
    TER's, is negative. rank: 1 is the best; 0 where nothing was tested.
    """

    KEY = ("level", "statistic")

    explainer: str
    level: str
    statistic: str
    value: float
    rank: int
    n: int


Result = dict[str, list[Any]]  # the rows of a setting by table


@dataclass(frozen=True, kw_only=True)
class SignificanceEvaluation(OnGrid):
    """Tests of every declared point against the metric alone, of the best point, and of metrics against each other.

    grid: whose points are tested. tests: which ones; statistics: the correlations compared, acc_eq (by item), and spa
    and pairwise_accuracy (of the systems' mean scores); resamples: of permutation tests and of the cluster bootstrap
    behind the intervals; seed: of all draws.

    The unit that is swapped and drawn is the cluster (perm_inputs): segments that share a source or a reference;
    perm_systems and perm_both ask about other systems, and have intervals of their own. Metrics are compared at
    system level as well, by their systems' scores: whole systems are swapped (perm_systems, whatever permutation test
    is asked for) and drawn (bootstrap), and the column `clusters` counts systems. Metrics and points are compared with
    placebos (`Metric.is_placebo`) in families of their own, placebos not with each other. Permutation tests are those
    of Deutsch, Dror & Roth (2021) with p = (k + 1) / (resamples + 1), Williams' test that of Graham & Baldwin (2014).
    The best point of a grid of Pearson's r is tested against the distribution of the maximum over the whole grid.
    p values are adjusted within families: all comparisons of a sweep by one test at one point; in a large family
    permutation tests near their smallest p are repeated with more resamples (column `resamples`). Raises ConfigError.
    """

    VERSION: ClassVar[int] = 5  # intervals have the draws of verdicts
    GONE: ClassVar[Mapping[str, Any]] = {"alternative": "two-sided", "rank_resamples": 0}
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIR
    ROWS: ClassVar[Mapping[str, type]] = {"tests": TestRow, "ranking": Rank}

    tests: tuple[Test, ...] = identity(("williams", "perm_inputs", "bootstrap"))
    statistics: tuple[ComparedBy, ...] = identity(("pearson",))
    resamples: int = identity(1000, least=40, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tests", "statistics"):
            if not getattr(self, name):
                raise ConfigError(f"significance.{name}: choose at least one, or leave significance out of evaluation.")

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if n_explainers or n_metrics > 1:
            return ""
        return "nothing is there to compare: there is one metric alone"

    def cost(self, n_segments: int) -> float:
        return 0.2 + n_segments * self.resamples * len(self.grid.spec.p) / 1e9

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[Result]:
        """With p values by family."""
        results = super().evaluate(settings, each)
        rows = []
        places = []  # of the setting of each row
        for place, result in enumerate(results):
            rows += result["tests"]
            places += [place] * len(result["tests"])
        # Families span the sweep: their sizes are known when all settings have ended.
        refined = iter(adjusted(self._refined(settings, places, rows)))
        for result in results:
            result["tests"] = [next(refined) for _ in result["tests"]]
        return results

    def of_scope(self, settings: Sequence[Finished]) -> list[Result]:
        """The tests of the points and grids of a language pair, and those of its metrics with their ranks."""
        results: list[Result] = [{"tests": list(self._of_points(setting)), "ranking": []} for setting in settings]
        first = [places[0] for places in grouped(settings, OF_METRIC)]  # of a metric its first explainer
        metrics = [settings[place] for place in first]
        results_of_metrics = [results[place] for place in first]
        for statistic in self.statistics if len(first) > 1 else ():
            for level in _levels(settings[0], statistic):
                self._compare_metrics(metrics, results_of_metrics, level, statistic)
        placebos = [setting for setting in metrics if setting.metric.is_placebo]
        for setting, result in zip(settings, results, strict=True):
            points = () if setting.metric.is_placebo else itertools.product(setting.boosted, self.statistics)
            for point, statistic in points:
                for level, placebo in itertools.product(_levels(setting, statistic)[:1], placebos):
                    family = f"{level}: boost against placebo"
                    result["tests"] += self._tests(setting, point, placebo, level, statistic, family)
        return results

    def _of_points(self, setting: Finished) -> Iterator[TestRow]:
        """The tests of the points of a setting, and of the best point of its grid."""
        for point, statistic in itertools.product(setting.boosted, self.statistics):
            for level in _levels(setting, statistic)[:1]:
                yield from self._tests(setting, point, setting, level, statistic, f"{point} against base")
        if setting.explainer is None or self.grid.correlation != "pearson":
            return
        whole = sample_of(self.grid.spec, setting, setting.inputs(self.grid.spec))
        gain, p = selection_adjusted(whole, self.resamples, self.seed)
        yield TestRow(
            **_where(setting, "best", setting, "segment", "pearson"),
            difference=Estimate(gain),
            test="selection_adjusted",
            alternative="greater",
            p=p,
            n=len(whole.base),
            clusters=whole.clusters,
            resamples=self.resamples,
            seed=self.seed,
            family="best point against base",
        )

    def _compare_metrics(
        self, settings: Sequence[Finished], results: Sequence[Result], level: str, statistic: ComparedBy
    ) -> None:
        """Add the tests of each metric of a language pair against those after it, and its rank; none without a test."""
        p_of: dict[tuple[int, int], float] = {}
        # of two metrics one of which is a placebo, the other one is compared with it
        in_order = sorted(range(len(settings)), key=lambda place: settings[place].metric.is_placebo)
        for left, right in itertools.combinations(in_order, 2):
            if settings[left].metric.is_placebo:
                continue
            family = f"{level}: metric against {'placebo' if settings[right].metric.is_placebo else 'metric'}"
            tests = list(self._tests(settings[left], BASE, settings[right], level, statistic, family))
            if math.isfinite(tests[0].difference.value):
                results[left]["tests"] += tests
                p_of[left, right] = next((row for row in tests if row.test in UNITS), tests[0]).p
        if not p_of:
            return
        scores = [turned(setting, BASE, level, statistic) for setting in settings]
        values = [self._value(scores_of_metric, statistic) for scores_of_metric in scores]
        ranks = significance_ranks(values, p_of)
        for setting, scored, value, rank, result in zip(settings, scores, values, ranks, results, strict=True):
            n = int(np.isfinite(scored.x + scored.human).sum())
            sign = 1.0 if statistic in AGREEMENTS else setting.direction
            result["ranking"].append(Rank(ALONE, level, statistic, sign * value, rank, n))

    def _refined(
        self, settings: Sequence[Finished], places: Sequence[int], rows: Sequence[TestRow]
    ) -> Iterator[TestRow]:
        """Tests repeated where R resamples show nothing in a large family: 1 / (R + 1) times its size is above .05.

        Permutation tests that came near to their smallest p are then done again, with resamples enough for the family
        and with draws of their own. Each test must pass both rounds, so that its level is kept.
        """
        sizes = Counter(row.family for row in rows if row.test in UNITS and math.isfinite(row.p))
        near = NEAR / (self.resamples + 1)
        seed = int(np.random.SeedSequence([self.seed, 1]).generate_state(1)[0])
        alone = {(*setting.pair, setting.metric_name): setting for setting in reversed(settings)}
        for place, row in zip(places, rows, strict=True):
            setting = settings[place]
            size = sizes[row.family] if row.test in UNITS else 0
            if size / (self.resamples + 1) > LEVEL and row.p <= near:
                is_own = row.against == setting.metric_name
                other = setting if is_own else alone[(*setting.pair, row.against)]
                scores = _compared_scores(setting, row.point, other, row.level, row.statistic)
                count = min(math.ceil(ENOUGH * size / LEVEL), MOST_REPEATED)
                drawn = {"resamples": count, "seed": seed, "bootstrap": False}
                again = _compared(scores, row.statistic, _unit(scores, row.test), **drawn)
                row = replace(row, p=again.p, resamples=count, seed=seed)
            yield row

    def _value(self, scores: Scores, statistic: Any) -> float:
        if statistic in AGREEMENTS:
            return _compared(scores, statistic, "inputs", resamples=1, bootstrap=False).x
        return correlate(statistic, scores.x, scores.human)

    def _tests(
        self, setting: Finished, point: str, other: Finished, level: str, statistic: Any, family: str
    ) -> Iterator[TestRow]:
        """Every test of a point against a metric. Of system scores whole systems are swapped, whatever is asked for."""
        scores = _compared_scores(setting, point, other, level, statistic)
        done: dict[str, Comparison] = {}
        of_segments = level == "segment" or statistic in AGREEMENTS
        tests = [test if of_segments or test not in UNITS else "perm_systems" for test in self.tests]
        for test in dict.fromkeys(tests):
            unit = _unit(scores, test)
            # Each system score is a row of its own; of one system's segments no system can be swapped.
            undefined = UNITS.get(test, "inputs") != "inputs" and scores.system is None and of_segments
            if unit not in done:
                done[unit] = _compared(scores, statistic, unit, resamples=self.resamples, seed=self.seed)
            both = done[unit]
            if test == "williams" and statistic in AGREEMENTS:
                p = math.nan  # a test of correlations
            elif test == "williams":
                used = np.isfinite([scores.x, scores.y, scores.human]).all(axis=0)
                p = williams(both.x, both.y, correlate(statistic, scores.x[used], scores.y[used]), both.n)
            else:
                p = both.p_bootstrap if test == "bootstrap" else both.p
            yield TestRow(
                **_where(setting, point, other, level, statistic),
                difference=Estimate(both.difference) if undefined else Estimate(both.difference, both.low, both.high),
                test=test,
                p=math.nan if undefined else p,
                n=both.n,
                clusters=both.clusters,
                resamples=0 if test == "williams" else self.resamples,
                seed=self.seed,
                family=f"{family}, {statistic}, {test}",
            )


def _compared(scores: Scores, statistic: Any, unit: Unit, **drawn: Any) -> Comparison:
    if statistic in AGREEMENTS:
        return compare_agreement(statistic, scores, unit=unit, **drawn)
    by = {"system": scores.system, "statistic": statistic, "unit": unit}
    return compare(scores.x, scores.y, scores.human, scores.cluster, **by, **drawn)


def _unit(scores: Scores, test: str) -> Unit:
    """What a test swaps; of one system there is nothing but the inputs, and each system score is an input."""
    return UNITS.get(test, "inputs") if scores.system is not None else "inputs"


def _levels(setting: Finished, statistic: str) -> tuple[str, ...]:
    """The levels at which metrics are compared by a statistic, boosts at the first; agreement needs systems."""
    if statistic not in AGREEMENTS:
        return "segment", "system"
    if len(setting.segments.systems) < 2:
        return ()
    return ("segment" if statistic == "acc_eq" else "system",)


def _where(setting: Finished, point: str, other: Finished, level: str, statistic: str) -> dict[str, Any]:
    """What a row says of itself: a metric at a point, or metrics alone."""
    alone = point == BASE
    return {
        "explainer": ALONE if alone else setting.explainer_name,
        "compared": setting.metric_name if alone else f"{setting.metric_name} at {point}",
        "against": other.metric_name,
        "point": point,
        "level": level,
        "grouping": "item" if statistic == "acc_eq" else "none",
        "statistic": statistic,
    }


def _compared_scores(setting: Finished, point: str, other: Finished, level: str, statistic: str) -> Scores:
    """The scores of a point, and those of its own metric alone, or of another one; of two metrics higher is better."""
    if other is setting:
        return _of_point(setting, point, statistic)
    return replace(turned(setting, point, level, statistic), y=turned(other, BASE, level, statistic).x)


def _of_point(setting: Finished, point: str, statistic: str) -> Scores:
    """The scores of a point, and of the metric alone; for statistics of agreement higher is better."""
    segment_codes = setting.codes
    segments = setting.segments
    clusters = segment_codes.clusters
    systems = segment_codes.systems
    scores = setting.points[point]
    alone = setting.scores.base_scores
    human = segments.human_scores
    if statistic not in AGREEMENTS:
        return Scores(scores, alone, human, clusters, systems if len(segments.systems) > 1 else None)
    published = None
    if statistic == "pairwise_accuracy" and segments.judgements.primary in segments.judgements.systems:
        published = SystemLevel(setting, BASE, segments.judgements.primary).human
    # Segments without a named system would make a system of their own.
    scores = np.where(segment_codes.named, setting.direction * scores, np.nan)
    alone = np.where(segment_codes.named, setting.direction * alone, np.nan)
    return Scores(scores, alone, human, clusters, systems, segment_codes.items, published)


def turned(setting: Finished, point: str, level: str, statistic: str) -> Scores:
    """The scores of a point, higher is better; a system is swapped and drawn as a whole."""
    if level == "segment" or statistic in AGREEMENTS:
        scores = _of_point(setting, point, statistic)
        turned = scores.x if statistic in AGREEMENTS else setting.direction * scores.x
        return replace(scores, x=turned, y=turned)
    # A system is drawn as a whole: each is a cluster of its own.
    systems = SystemLevel(setting, point, setting.segments.judgements.primary)
    return Scores(systems.scores, systems.scores, systems.human, np.arange(len(systems.names)), None)


def significance_ranks(values: Sequence[float], p_of: Mapping[tuple[int, int], float]) -> list[int]:
    """The rank of each metric, by the rule of the WMT metrics tasks (Freitag et al. 2022).

    From the highest value down, metrics share a rank until one differs significantly (at .05) from any of them: it has
    the next rank, and so on. A metric has rank 0 where its value is undefined, or each of its p values. p_of: by two
    indices, in either order.
    """
    tested: set[int] = set()
    for pair, p in p_of.items():
        if np.isfinite(p):
            tested.update(pair)
    in_order = [place for place in tested if np.isfinite(values[place])]
    in_order.sort(key=lambda place: (-values[place], place))
    ranks = [0] * len(values)
    group: list[int] = []
    rank = 1
    for place in in_order:
        if any(p_of.get((other, place), p_of.get((place, other), np.nan)) < LEVEL for other in group):
            rank = rank + 1
            group = []
        group.append(place)
        ranks[place] = rank
    return ranks


def adjusted(rows: Iterable[TestRow]) -> list[TestRow]:
    """The rows with p values adjusted within their families, and how many comparisons there are in the name."""
    import pandas as pd

    rows = list(rows)
    p = pd.Series([row.p for row in rows], dtype=np.float64).groupby([row.family for row in rows])
    sizes = p.transform("count")  # of defined p values: what could not be tested is no comparison
    corrected = []
    for row, size, p_holm, p_bh in zip(rows, sizes, p.transform(holm), p.transform(benjamini_hochberg), strict=True):
        family = f"{row.family}: {counted(size, 'comparison')}"
        corrected.append(replace(row, family=family, p_holm=p_holm, p_bh=p_bh))
    return corrected
