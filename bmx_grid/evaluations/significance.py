"""Is a gain real: tests and intervals of boosted scores against the baseline, and of metrics against each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    OF_METRIC,
    OF_PAIR,
    Estimate,
    MapFunction,
    Measured,
    ScoredSetting,
    SettingRow,
    group_by_names,
    map_sequential,
)
from bmx_grid.evaluations.compared_scores import (
    AGREEMENTS,
    UNITS,
    compare_metrics,
    compare_swapping,
    gain_at,
    levels_of,
    scored_segments,
    scores_at_level,
    scores_of_two,
    unit_to_swap,
)
from bmx_grid.evaluations.grid_surface import OnGrid, sample_of
from bmx_grid.measures.agreement_tests import AgreementStatistic, Scores
from bmx_grid.measures.correlation import Coefficient, correlate
from bmx_grid.measures.correlations_of_resamples import Unit
from bmx_grid.measures.grid_resampling import selection_adjusted
from bmx_grid.measures.multiple_tests import LEVEL, benjamini_hochberg, holm, seed_of_repeats, select_repeats
from bmx_grid.measures.paired_tests import Comparison, williams

ComparedBy = Literal[Coefficient, AgreementStatistic]
Test = Literal["williams", "perm_both", "perm_inputs", "perm_systems", "bootstrap"]
ALONE = "none"  # the explainer of rows that compare metrics


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
    TER's, is negative. rank: 1 is the best; 0 if nothing was tested.
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
    """Tests of every declared point against the baseline, of the best point, and of metrics against each other.

    grid: whose points are tested. tests: which ones; statistics: the correlations compared, acc_eq (by item), and spa
    and pairwise_accuracy (of the systems' mean scores); resamples: of permutation tests and of the cluster bootstrap
    behind the intervals; seed: of all draws.

    The unit that is swapped and drawn is the cluster (perm_inputs): segments that share a source or a reference;
    perm_systems and perm_both generalise to other systems, and have their own intervals. Metrics are compared at system
    level, too, by their systems' scores. unit: the unit of permutation tests and bootstrap at system level: "systems"
    (perm_systems), and the column `clusters` counts systems; "inputs" (perm_inputs) or "both" (perm_both), after which
    systems' means of segment scores are made anew. Metrics and points are compared with placebos (`Metric.is_placebo`)
    in families of their own, placebos not with each other. Permutation tests are those of Deutsch, Dror & Roth (2021)
    with p = (k + 1) / (resamples + 1), Williams' test that of Graham & Baldwin (2014). The best point of a grid of
    Pearson's r is tested against the distribution of the maximum over the whole grid.
    p values are adjusted within families: all comparisons of a sweep by one test at one point; in a large family
    permutation tests near their smallest p are repeated with more resamples (column `resamples`). Raises ConfigError.
    """

    VERSION: ClassVar[int] = 7  # scores of systems are those of the segments that both metrics score
    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"alternative": "two-sided", "rank_resamples": 0}
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIR
    ROWS: ClassVar[Mapping[str, type]] = {"tests": TestRow, "ranking": Rank}

    tests: tuple[Test, ...] = identity(("williams", "perm_inputs", "bootstrap"))
    statistics: tuple[ComparedBy, ...] = identity(("pearson",))
    resamples: int = identity(1000, least=40, most=MOST_RESAMPLES)
    seed: int = identity(0)
    unit: Unit = identity("systems", added_later=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tests", "statistics"):
            if not getattr(self, name):
                raise ConfigError(f"significance.{name}: choose at least one, or leave significance out of evaluation.")

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if n_explainers or n_metrics > 1:
            return ""
        return "one metric without boosts has nothing to compare"

    def cost(self, n_segments: int) -> float:
        cells = n_segments * self.resamples * len(self.grid.spec.p)
        return 0.2 + cells / 1e9

    def evaluate(self, settings: Sequence[ScoredSetting], map_function: MapFunction = map_sequential) -> list[Result]:
        """Evaluate the settings, and adjust p values within their families."""
        results = super().evaluate(settings, map_function)
        # Families span the sweep: their sizes are known when all settings have ended.
        of_rows = [setting for setting, result in zip(settings, results, strict=True) for _ in result["tests"]]
        rows = itertools.chain.from_iterable(result["tests"] for result in results)
        corrected = iter(adjust_p_values(self._repeat_tests(settings, of_rows, list(rows))))
        for result in results:
            result["tests"] = [next(corrected) for _ in result["tests"]]
        return results

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[Result]:
        """The tests of the points and grids of a language pair, and those of its metrics with their ranks."""
        results: list[Result] = [{"tests": list(self._test_points(setting)), "ranking": []} for setting in settings]
        # A metric without an explainer is the same with every explainer: it is compared once, with the first.
        first = [places[0] for places in group_by_names(settings, OF_METRIC)]
        metrics = [settings[place] for place in first]
        if len(metrics) > 1:
            results_of_metrics = [results[place] for place in first]
            for statistic in self.statistics:
                for level in levels_of(settings[0], statistic):
                    self._compare_metrics(metrics, results_of_metrics, level, statistic)
        placebos = [setting for setting in metrics if setting.metric.is_placebo]
        for setting, result in zip(settings, results, strict=True):
            # Placebos are not compared with each other.
            if setting.metric.is_placebo:
                continue
            for point, statistic in itertools.product(setting.boosted, self.statistics):
                for level, placebo in itertools.product(levels_of(setting, statistic)[:1], placebos):
                    family = f"{level}: boost against placebo"
                    scores = scores_of_two(setting, point, placebo, level, statistic)
                    result["tests"] += self._tests(scores, setting, point, placebo, level, statistic, family)
        return results

    def _test_points(self, setting: ScoredSetting) -> Iterator[TestRow]:
        """The tests of the points of a setting, and of the best point of its grid."""
        drawn = {"resamples": self.resamples, "seed": self.seed}
        for point, statistic in itertools.product(setting.boosted, self.statistics):
            family = f"{point} against base"
            for level in levels_of(setting, statistic)[:1]:
                known = gain_at(setting, point, statistic, self.grid.correlation, **drawn)
                scores = scores_of_two(setting, point, setting, level, statistic)
                yield from self._tests(scores, setting, point, setting, level, statistic, family, known)
        if setting.explainer is None or self.grid.correlation != "pearson":
            return
        spec = self.grid.spec
        sample = sample_of(spec, setting, setting.inputs(spec))
        gain, p = selection_adjusted(sample, self.resamples, self.seed)
        yield TestRow(
            **_where(setting, "best", setting, "segment", "pearson"),
            difference=Estimate(gain),
            test="selection_adjusted",
            alternative="greater",
            p=p,
            n=len(sample.base),
            clusters=sample.clusters,
            resamples=self.resamples,
            seed=self.seed,
            family="best point against base",
        )

    def _compare_metrics(
        self, settings: Sequence[ScoredSetting], results: Sequence[Result], level: str, statistic: ComparedBy
    ) -> None:
        """Add the tests of each metric of a language pair against those after it, and its rank; none without a test."""
        # Once of each metric, whatever it is compared with.
        scores = [scores_at_level(setting, BASE, level, statistic, turn=True) for setting in settings]
        scored = [scored_segments(setting, BASE) for setting in settings]
        p_of_pairs: dict[tuple[int, int], float] = {}
        is_placebo = [setting.metric.is_placebo for setting in settings]
        # Placebos last: a metric is compared with a placebo, not a placebo with a metric.
        in_order = sorted(range(len(settings)), key=is_placebo.__getitem__)
        for left, right in itertools.combinations(in_order, 2):
            if is_placebo[left]:
                continue
            against = "placebo" if is_placebo[right] else "metric"
            family = f"{level}: metric against {against}"
            if level == "system" and not np.array_equal(scored[left], scored[right]):
                both = scores_of_two(settings[left], BASE, settings[right], level, statistic)
            else:
                both = replace(scores[left], y=scores[right].x)
            tests = list(self._tests(both, settings[left], BASE, settings[right], level, statistic, family))
            if math.isfinite(tests[0].difference.value):
                results[left]["tests"] += tests
                # Ranks go by a permutation test, if one was requested.
                decisive = [row for row in tests if row.test in UNITS] or tests
                p_of_pairs[left, right] = decisive[0].p
        if not p_of_pairs:
            return
        values = [_value(scores_of_metric, statistic) for scores_of_metric in scores]
        ranks = significance_ranks(values, p_of_pairs)
        for setting, result, of_metric, value, rank in zip(settings, results, scores, values, ranks, strict=True):
            n_used = int(np.isfinite(of_metric.x + of_metric.human).sum())
            sign = 1.0 if statistic in AGREEMENTS else setting.direction
            result["ranking"].append(Rank(ALONE, level, statistic, sign * value, rank, n_used))

    def _repeat_tests(
        self, settings: Sequence[ScoredSetting], of_rows: Sequence[ScoredSetting], rows: Sequence[TestRow]
    ) -> Iterator[TestRow]:
        """Permutation tests of large families repeated with more resamples (`select_repeats`); other rows as they are.

        of_rows: the setting of each row.
        """
        places_of_families: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            if row.test in UNITS:
                places_of_families.setdefault(row.family, []).append(place)
        resamples_of: dict[int, int] = {}  # by the place of a repeated row
        for family in places_of_families.values():
            repeated, count = select_repeats([rows[place].p for place in family], self.resamples)
            for place in np.array(family)[repeated].tolist():
                resamples_of[place] = count
        seed = seed_of_repeats(self.seed)
        # Reversed, so that of several explainers of a metric the first one stays.
        alone = {(*setting.pair, setting.metric_name): setting for setting in reversed(settings)}
        for place, row in enumerate(rows):
            if place not in resamples_of:
                yield row
                continue
            count = resamples_of[place]
            setting = of_rows[place]
            is_own = row.against == setting.metric_name
            other = setting if is_own else alone[(*setting.pair, row.against)]
            drawn: dict[str, Any] = {"resamples": count, "seed": seed, "bootstrap": False}
            scores = scores_of_two(setting, row.point, other, row.level, row.statistic)
            swapped = unit_to_swap(scores, row.level, row.statistic, row.test, self.unit)
            again = compare_swapping(swapped, scores, setting, row.point, other, row.statistic, **drawn)
            yield replace(row, p=again.p, resamples=count, seed=seed)

    def _tests(
        self,
        scores: Scores,
        setting: ScoredSetting,
        point: str,
        other: ScoredSetting,
        level: str,
        statistic: Any,
        family: str,
        known: Estimate | None = None,
    ) -> Iterator[TestRow]:
        """Every test of a point against a metric. Of system scores `unit` is swapped, whatever is requested.

        scores: of both. known: the difference and its interval, where these are a gain that is estimated already.
        """
        # Tests that swap the same unit share its resamples.
        by_unit: dict[tuple[Unit, bool], Comparison] = {}
        of_segments = level == "segment" or statistic in AGREEMENTS
        # The unit decides whether systems, segments or both are swapped.
        tests = [test if of_segments or test not in UNITS else f"perm_{self.unit}" for test in self.tests]
        for test in dict.fromkeys(tests):
            swapped = unit_to_swap(scores, level, statistic, test, self.unit)
            if swapped not in by_unit:
                drawn: dict[str, Any] = {"resamples": self.resamples, "seed": self.seed}
                by_unit[swapped] = compare_swapping(swapped, scores, setting, point, other, statistic, **drawn)
            both = by_unit[swapped]
            difference = Estimate(both.difference, both.low, both.high)
            if known is not None:
                # Of other systems the gain is the same, and its interval another one.
                difference = known if swapped[0] == "inputs" else replace(difference, value=known.value)
            p = both.p
            if test == "bootstrap":
                p = both.p_bootstrap
            elif test == "williams":
                p = _williams(scores, statistic, both)
            # Each system score is a row of its own; of one system's segments no system can be swapped.
            swaps_systems = UNITS.get(test, "inputs") != "inputs"
            if swaps_systems and scores.system is None and of_segments:
                difference = Estimate(difference.value)
                p = math.nan
            yield TestRow(
                **_where(setting, point, other, level, statistic),
                difference=difference,
                test=test,
                p=p,
                n=both.n,
                clusters=both.clusters,
                resamples=0 if test == "williams" else self.resamples,
                seed=self.seed,
                family=f"{family}, {statistic}, {test}",
            )


def _value(scores: Scores, statistic: Any) -> float:
    """The statistic of a metric."""
    if statistic in AGREEMENTS:
        return compare_metrics(replace(scores, y=scores.x), statistic, "inputs", resamples=1, bootstrap=False).x
    return correlate(statistic, scores.x, scores.human)


def _williams(scores: Scores, statistic: Any, both: Comparison) -> float:
    """The p value of Williams' test, which is one of correlations; NaN for statistics of agreement."""
    if statistic in AGREEMENTS:
        return math.nan
    used = np.isfinite([scores.x, scores.y, scores.human]).all(axis=0)
    between = correlate(statistic, scores.x[used], scores.y[used])
    return williams(both.x, both.y, between, both.n)


def _where(setting: ScoredSetting, point: str, other: ScoredSetting, level: str, statistic: str) -> dict[str, Any]:
    """The names of a row's comparison: a metric at a point, or two unboosted metrics."""
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


def significance_ranks(values: Sequence[float], p_of: Mapping[tuple[int, int], float]) -> list[int]:
    """The rank of each metric, by the rule of the WMT metrics tasks (Freitag et al. 2022).

    From the highest value down, metrics share a rank until one differs significantly (at .05) from one that has it:
    this metric starts the next rank. A metric has rank 0 if its value or all its p values are undefined. p_of: by two
    indices, in either order.
    """
    tested: set[int] = set()
    p_of_both: dict[frozenset[int], float] = {}
    for pair, p in p_of.items():
        p_of_both[frozenset(pair)] = p
        if np.isfinite(p):
            tested.update(pair)
    in_order = [place for place in tested if np.isfinite(values[place])]
    in_order.sort(key=lambda place: (-values[place], place))
    ranks = [0] * len(values)
    group: list[int] = []
    rank = 1
    for place in in_order:
        # Without a test, nothing parts two metrics: a comparison with NaN is false.
        p_of_group = [p_of_both.get(frozenset((other, place)), np.nan) for other in group]
        if any(p < LEVEL for p in p_of_group):
            rank += 1
            group = []
        group.append(place)
        ranks[place] = rank
    return ranks


def adjust_p_values(rows: Iterable[TestRow]) -> list[TestRow]:
    """The rows with p values adjusted within their families, and how many comparisons there are in the name."""
    import pandas as pd

    rows = list(rows)
    # With its type: a series of none would have another one.
    p = pd.Series([row.p for row in rows], dtype=np.float64)
    by_family = p.groupby([row.family for row in rows])
    # Of defined p values: what could not be tested is no comparison.
    columns = [by_family.transform(how) for how in ("count", holm, benjamini_hochberg)]
    corrected = []
    for row, size, p_holm, p_bh in zip(rows, *columns, strict=True):
        family = f"{row.family}: {pluralize(size, 'comparison')}"
        corrected.append(replace(row, family=family, p_holm=p_holm, p_bh=p_bh))
    return corrected
