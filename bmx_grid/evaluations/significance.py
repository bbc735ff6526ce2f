"""Is a gain real: tests and intervals of boosted scores against the metric alone, and of metrics against each other."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    Evaluation,
    Finished,
    Measured,
    check_bounds,
    grouped,
    here,
)
from bmx_grid.evaluations.grid import GridEvaluation, sample_of
from bmx_grid.evaluations.levels import SystemLevel
from bmx_grid.measures.agreement_tests import AgreementStatistic, Scores, compare_agreement
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid_resampling import selection_adjusted
from bmx_grid.measures.multiplicity import benjamini_hochberg, holm
from bmx_grid.measures.significance import Alternative, Comparison, Unit, compare, williams

Statistic = Literal[Correlation, AgreementStatistic]
Test = Literal["williams", "perm_both", "perm_inputs", "perm_systems", "bootstrap"]
ALONE = "none"  # the explainer of rows that compare metrics
NEAR = 10  # p values up to so many times the smallest are looked at again in a large family
ENOUGH = 4  # times the resamples that a family needs to show one difference
MOST_REPEATED = 200_000
AGREEMENTS = get_args(AgreementStatistic)
UNITS: Mapping[str, Unit] = {"perm_both": "both", "perm_inputs": "inputs", "perm_systems": "systems"}
LEVEL = 0.05  # of the tests that part the ranks of metrics, and of corrected p values


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of tests.parquet: one comparison and one test of it, with the explainer that it speaks of."""

    explainer: str
    compared: str
    against: str
    point: str
    human: str
    level: str
    grouping: str
    statistic: str
    difference: Measured
    test: str
    alternative: str
    p: float
    p_holm: float = math.nan
    p_bh: float = math.nan
    family: str
    n: int
    clusters: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class SelectionRow:
    """One row of selection.parquet: what the best point of a grid is worth.

    best_w, best_p, best_gain: the point and its gain on the segments it was chosen on; p_selection_adjusted: of the
    highest gain of the grid. What it gains on others is in tests.parquet, at the point "cross_fitted".
    """

    best_w: float
    best_p: float
    best_gain: float
    p_selection_adjusted: float
    clusters: int


@dataclass(frozen=True)
class Rank:
    """One row of ranking.parquet: a metric, whatever its explainer, among those of its language pair.

    value: its correlation, with its sign, as in correlations.parquet: one of a metric whose lower scores are better, as
    TER's, is negative. rank: 1 is the best; 0 where nothing was tested.
    """

    explainer: str
    level: str
    statistic: str
    value: float
    rank: int
    n: int


Result = dict[str, list[Any]]  # the rows of a setting by table
Placed = tuple[int, Row]  # a row, and the place of its setting


@dataclass(frozen=True, kw_only=True)
class SignificanceEvaluation(Evaluation):
    """Tests of every declared point against the metric alone, of the best point, and of metrics against each other.

    grid: whose points are tested. tests: which ones; alternative: "two-sided" or "greater"; statistics: the
    correlations compared, acc_eq (by item), and spa and pairwise_accuracy (of the systems' mean scores); resamples: of
    permutation tests and of the cluster bootstrap behind the intervals; rank_resamples: of the whole grid where its
    correlation is a rank correlation, whose resampled grids take a minute per 1,000; 0: the best point is not tested.
    seed: of all draws.

    The unit that is swapped and drawn is the cluster (perm_inputs): segments that share a source or a reference;
    perm_systems and perm_both ask about other systems, and have intervals of their own. Metrics are compared at
    system level as well, by their systems' scores: whole systems are swapped (perm_systems, whatever permutation test
    is asked for) and drawn (bootstrap), and the column `clusters` counts systems. Metrics and points are compared with
    placebos (`Metric.is_placebo`) in families of their own, placebos not with each other. Permutation tests are those
    of Deutsch, Dror & Roth (2021) with p = (k + 1) / (resamples + 1), Williams' test that of Graham & Baldwin (2014).
    The best point of the grid is tested against the distribution of the maximum over the whole grid. p values are
    adjusted within families: all comparisons of a sweep by one test at one point; in a large family permutation tests
    near their smallest p are repeated with more resamples (column `resamples`). Raises ConfigError.
    """

    VERSION: ClassVar[int] = 4  # without gains of halves
    ROWS: ClassVar[Mapping[str, type]] = {"tests": Row, "selection": SelectionRow, "ranking": Rank}

    grid: GridEvaluation = identity()
    tests: tuple[Test, ...] = identity(("williams", "perm_inputs", "bootstrap"))
    alternative: Alternative = identity("two-sided")
    statistics: tuple[Statistic, ...] = identity(("pearson",))
    resamples: int = identity(1000)
    rank_resamples: int = identity(0)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        for name in ("tests", "statistics"):
            if not getattr(self, name):
                raise ConfigError(f"significance.{name}: choose at least one, or leave significance out of evaluation.")
        bounds = {"resamples": (40, MOST_RESAMPLES), "rank_resamples": (0, 100_000)}
        check_bounds(self, "significance", **bounds)

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if n_explainers or n_metrics > 1:
            return ""
        return "compares boosts with their metric, and metrics with each other, and there is one metric alone"

    def cost(self, n_segments: int) -> float:
        return 0.2 + n_segments * self.resamples * len(self.grid.spec.p) / 1e9

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[Result]:
        """The tests of points and grids, those of metrics against each other, and p values by family."""
        results = super().evaluate(settings, each)
        rows = [(at, row) for at, result in enumerate(results) for row in result.pop("tests")]
        first = {of_metric[0] for of_metric in grouped(settings, OF_METRIC)}  # its first explainer
        for of_pair in grouped(settings, OF_PAIR):
            places = [at for at in of_pair if at in first]
            for statistic in self.statistics if len(places) > 1 else ():
                for level in _levels(settings[places[0]], statistic):
                    compared, ranks = self._compare_metrics(settings, places, level, statistic)
                    rows += compared
                    for at, rank in zip(places, ranks, strict=False):
                        results[at].setdefault("ranking", []).append(rank)
            placebos = [settings[at] for at in places if settings[at].metric.is_placebo]
            for at in of_pair if placebos else ():
                rows += [(at, row) for row in self._over_placebos(settings[at], placebos)]
        for at, row in adjusted(self._refined(settings, rows)):
            results[at].setdefault("tests", []).append(row)
        return results

    def of_scope(self, settings: Sequence[Finished]) -> list[Result]:
        """The tests of the points of a setting, and of its grid."""
        (setting,) = settings
        rows = [
            row
            for point in setting.boosted
            for statistic in self.statistics
            for level in _levels(setting, statistic)[:1]
            for row in self._tests(
                _where(setting, point, statistic, level),
                _of_point(setting, point, statistic),
                f"{point} against base",
            )
        ]
        resamples = self.resamples if self.grid.correlation == "pearson" else self.rank_resamples
        if setting.explainer is None or not resamples:
            return [{"tests": rows}]
        spec, seed = self.grid.spec, self.seed
        whole = sample_of(setting, spec, spec.w)
        best = selection_adjusted(whole, resamples, seed)
        of_best = Row(
            **_where(setting, "best", self.grid.correlation),
            difference=Estimate(best.gain),
            test="selection_adjusted",
            alternative="greater",
            p=best.p,
            n=len(whole.base),
            clusters=whole.clusters,
            resamples=resamples,
            seed=seed,
            family="best point against base",
        )
        p = spec.p[best.row] if best.row >= 0 else math.nan
        selection = SelectionRow(best.w, p, best.gain, best.p, whole.clusters)
        return [{"tests": [*rows, of_best], "selection": [selection]}]

    def _compare_metrics(
        self,
        settings: Sequence[Finished],
        places: Sequence[int],
        level: str,
        statistic: Statistic,
    ) -> tuple[list[Placed], list[Rank]]:
        """The tests of each metric of a language pair against those after it, and its rank; no rank without a test."""
        rows: list[Placed] = []
        scores = {at: turned(settings[at], BASE, level, statistic) for at in places}
        p_of: dict[tuple[int, int], float] = {}
        # of two metrics one of which is a placebo, the other one is compared with it
        in_order = sorted(places, key=lambda at: settings[at].metric.is_placebo)
        for left, right in itertools.combinations(in_order, 2):
            if settings[left].metric.is_placebo:
                continue
            against = "placebo" if settings[right].metric.is_placebo else "metric"
            where = {
                **_where(settings[left], BASE, statistic, level),
                "explainer": ALONE,
                "compared": settings[left].metric_name,
                "against": settings[right].metric_name,
            }
            both = replace(scores[left], y=scores[right].x)
            tests = list(self._tests(where, both, f"{level}: metric against {against}"))
            if math.isfinite(tests[0].difference.value):
                rows += [(left, row) for row in tests]
                shown = next((row for row in tests if row.test in UNITS), tests[0])
                p = shown.p if shown.alternative == "two-sided" else min(1.0, 2 * min(shown.p, 1 - shown.p))
                p_of[places.index(left), places.index(right)] = p
        values = [self._value(scores[at], statistic) for at in places]
        ranks = []
        for at, value, rank in zip(places, values, significance_ranks(values, p_of), strict=True):
            n = int(np.isfinite(scores[at].x + scores[at].human).sum())
            sign = 1.0 if statistic in AGREEMENTS else settings[at].direction
            ranks.append(Rank(ALONE, level, statistic, sign * value, rank, n))
        return rows, ranks if p_of else []

    def _over_placebos(self, setting: Finished, placebos: Sequence[Finished]) -> Iterator[Row]:
        """The tests of the points of a setting against placebos: sentinels and random scores."""
        for point, statistic in itertools.product(setting.boosted, self.statistics):
            for level in () if setting.metric.is_placebo else _levels(setting, statistic)[:1]:
                for placebo in placebos:
                    where = {**_where(setting, point, statistic, level), "against": placebo.metric_name}
                    both = _against(setting, point, placebo, level, statistic)
                    yield from self._tests(where, both, f"{level}: boost against placebo")

    def _refined(self, settings: Sequence[Finished], rows: Sequence[Placed]) -> list[Placed]:
        """Tests repeated where R resamples show nothing in a large family: 1 / (R + 1) times its size is above .05.

        Permutation tests that came near to their smallest p are then done again, with resamples enough for the family
        and with draws of their own. Each test must pass both rounds, so that its level is kept.
        """
        sizes = Counter(row.family for _, row in rows if row.test in UNITS and math.isfinite(row.p))
        near = NEAR / (self.resamples + 1)
        seed = int(np.random.SeedSequence([self.seed, 1]).generate_state(1)[0])
        alone = {(*setting.pair, setting.metric_name): setting for setting in reversed(settings)}
        refined = []
        for at, row in rows:
            setting, size = settings[at], sizes[row.family] if row.test in UNITS else 0
            if size / (self.resamples + 1) > LEVEL and row.p <= near:
                scores = _of_point(setting, row.point, row.statistic)
                if row.against != setting.metric_name:
                    other = alone[(*setting.pair, row.against)]
                    scores = _against(setting, row.point, other, row.level, row.statistic)
                count = min(math.ceil(ENOUGH * size / LEVEL), MOST_REPEATED)
                drawn = {"resamples": count, "seed": seed, "bootstrap": False}
                found = self._compared(scores, row.statistic, _unit(scores, row.test), **drawn)
                row = replace(row, p=found.p, resamples=count, seed=seed)
            refined.append((at, row))
        return refined

    def _value(self, scores: Scores, statistic: Any) -> float:
        if statistic in AGREEMENTS:
            return self._compared(scores, statistic, "inputs", resamples=1, bootstrap=False).x
        return correlate(statistic, scores.x, scores.human)

    def _compared(self, scores: Scores, statistic: Any, unit: Unit, **drawn: Any) -> Comparison:
        how: dict[str, Any] = {"statistic": statistic, "unit": unit, "alternative": self.alternative, **drawn}
        if statistic in AGREEMENTS:
            return compare_agreement(scores=scores, **how)
        return compare(scores.x, scores.y, scores.human, scores.cluster, system=scores.system, **how)

    def _tests(self, where: Mapping[str, Any], scores: Scores, kind: str) -> Iterator[Row]:
        """Every test of one comparison. Of system scores whole systems are swapped, whatever test is asked for."""
        done: dict[str, Comparison] = {}
        statistic = where["statistic"]
        of_segments = where["level"] == "segment" or statistic in AGREEMENTS
        tests = [test if of_segments or test not in UNITS else "perm_systems" for test in self.tests]
        for test in dict.fromkeys(tests):
            unit = _unit(scores, test)
            # Each system score is a row of its own; of one system's segments no system can be swapped.
            undefined = UNITS.get(test, "inputs") != "inputs" and scores.system is None and of_segments
            if unit not in done:
                done[unit] = self._compared(scores, statistic, unit, resamples=self.resamples, seed=self.seed)
            found = done[unit]
            if test == "williams" and statistic in AGREEMENTS:
                p = math.nan  # a test of correlations
            elif test == "williams":
                used = np.isfinite([scores.x, scores.y, scores.human]).all(axis=0)
                between = correlate(statistic, scores.x[used], scores.y[used])
                p = williams(found.x, found.y, between, found.n, self.alternative)
            else:
                p = found.p_bootstrap if test == "bootstrap" else found.p
            yield Row(
                **where,
                difference=Estimate(found.difference, *(() if undefined else (found.low, found.high))),
                test=test,
                alternative=self.alternative,
                p=math.nan if undefined else p,
                n=found.n,
                clusters=found.clusters,
                resamples=0 if test == "williams" else self.resamples,
                seed=self.seed,
                family=f"{kind}, {statistic}, {test}",
            )


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


def _where(setting: Finished, point: str, statistic: str, level: str = "segment") -> dict[str, Any]:
    """What a row of a point says of itself."""
    return {
        "explainer": setting.explainer_name,
        "compared": f"{setting.metric_name} at {point}",
        "against": setting.metric_name,
        "point": point,
        "human": setting.segments.human_name,
        "level": level,
        "grouping": "item" if statistic == "acc_eq" else "none",
        "statistic": statistic,
    }


def _of_point(setting: Finished, point: str, statistic: str) -> Scores:
    """The scores of a point, and of the metric alone; for statistics of agreement higher is better."""
    of, segments, published = setting.codes, setting.segments, None
    scores, alone, human = setting.points[point], setting.scores.base_scores, segments.human_scores
    if statistic not in AGREEMENTS:
        return Scores(scores, alone, human, of.clusters, of.systems if len(segments.systems) > 1 else None)
    if statistic == "pairwise_accuracy" and segments.human_name in segments.judgements.systems:
        published = SystemLevel(setting, BASE, segments.human_name).human
    scores, alone = (np.where(of.named, setting.direction * values, np.nan) for values in (scores, alone))
    return Scores(scores, alone, human, of.clusters, of.systems, of.items, published)


def _against(setting: Finished, point: str, other: Finished, level: str, statistic: str) -> Scores:
    """The scores of a point, and those of another metric alone; higher is better."""
    return replace(turned(setting, point, level, statistic), y=turned(other, BASE, level, statistic).x)


def turned(setting: Finished, point: str, level: str, statistic: str) -> Scores:
    """The scores of a point, higher is better; a system is swapped and drawn as a whole."""
    if level == "segment" or statistic in AGREEMENTS:
        scores = _of_point(setting, point, statistic)
        turned = scores.x if statistic in AGREEMENTS else setting.direction * scores.x
        return replace(scores, x=turned, y=turned)
    systems = SystemLevel(setting, point, setting.segments.human_name)
    return Scores(systems.scores, systems.scores, systems.human, np.arange(len(systems.names)), None)


def significance_ranks(values: Sequence[float], p_of: Mapping[tuple[int, int], float]) -> list[int]:
    """The rank of each metric, by the rule of the WMT metrics tasks (Freitag et al. 2022).

    From the highest value down, metrics share a rank until one differs significantly (at .05) from any of them: it has
    the next rank, and so on. A metric has rank 0 where its value is undefined, or each of its p values. p_of: by two
    indices, in either order.
    """
    tested = {at for pair, p in p_of.items() if np.isfinite(p) for at in pair}
    ranks = [0] * len(values)
    group: list[int] = []
    rank = 1
    for at in sorted((at for at in tested if np.isfinite(values[at])), key=lambda at: (-values[at], at)):
        if any(p_of.get((other, at), p_of.get((at, other), np.nan)) < LEVEL for other in group):
            rank, group = rank + 1, []
        group.append(at)
        ranks[at] = rank
    return ranks


def adjusted(rows: Sequence[Placed]) -> list[Placed]:
    """The rows with p values adjusted within their families, and how many comparisons there are in the name."""
    import pandas as pd

    if not rows:
        return []
    p = pd.Series([row.p for _, row in rows], dtype=np.float64).groupby([row.family for _, row in rows])
    found = zip(rows, p.transform("count"), p.transform(holm), p.transform(benjamini_hochberg), strict=True)
    return [
        (at, replace(row, family=f"{row.family}: {counted(size, 'comparison')}", p_holm=first, p_bh=second))
        for (at, row), size, first, second in found
    ]
