"""Is a gain real: tests and intervals of boosted scores against the metric alone, and of metrics against each other."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from bmx_grid.errors import ConfigError, unknown
from bmx_grid.evaluations.base import BASE, Each, Evaluation, Finished, here
from bmx_grid.evaluations.compared import UNITS, Scores, scores_of, segment_scores, system_scores
from bmx_grid.evaluations.grid import GridEvaluation, sample_of
from bmx_grid.evaluations.tests_of import (
    LEVEL,
    Band,
    Rank,
    Row,
    SelectionRow,
    TestsOfSetting,
    WholeGrid,
    adjusted,
    significance_ranks,
)
from bmx_grid.identity import identity
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.correlation import check_kind, correlate
from bmx_grid.measures.grid import nearest_point
from bmx_grid.measures.grid_resampling import bootstrap_bands, selection_adjusted, split_gains
from bmx_grid.measures.significance import Alternative, Comparison, Unit, compare, williams
from bmx_grid.segments import SegmentSet

Test = Literal["williams", "perm_both", "perm_inputs", "perm_systems", "bootstrap"]
ALONE = "none"  # the explainer of rows that compare metrics
NEAR = 10  # p values up to so many times the smallest are looked at again in a large family
ENOUGH = 4  # times the resamples that a family needs to show one difference
MOST_RESAMPLES = 200_000


@dataclass(frozen=True, kw_only=True)
class SignificanceEvaluation(Evaluation):
    """Tests of every declared point against the metric alone, of the best point, and of metrics against each other.

    grid: whose points are tested. tests: which ones; alternative: "two-sided" or "greater"; statistics: the
    correlations compared; resamples: of permutation tests and of the cluster bootstrap behind the intervals; splits:
    of the clusters in halves, for the cross-fitted gain; rank_resamples: of the whole grid where its correlation is a
    rank correlation, whose resampled grids take a minute per 1,000 (splits are as many at most); 0: the best point is
    not tested, and there is no band. seed: of all draws.

    The unit that is swapped and drawn is the cluster (perm_inputs): segments that share a source or a reference;
    perm_systems and perm_both ask about other systems, and have intervals of their own. Metrics are compared at
    system level as well, by their systems' scores: whole systems are swapped (perm_systems, whatever permutation test
    is asked for) and drawn (bootstrap), and the column `clusters` counts systems. Permutation tests are those of
    Deutsch, Dror & Roth (2021) with p = (k + 1) / (resamples + 1), Williams' test that of Graham & Baldwin (2014). The
    best point of the grid is tested against the distribution of the maximum over the whole grid. p values are adjusted
    within families: all comparisons of a sweep by one test at one point; in a large family permutation
    tests near their smallest p are repeated with more resamples (column `resamples`). Raises ConfigError.
    """

    VERSION: ClassVar[int] = 2
    ROWS: ClassVar[Mapping[str, type]] = {"tests": Row, "selection": SelectionRow, "ranking": Rank}

    grid: GridEvaluation = identity()
    tests: tuple[Test, ...] = identity(("williams", "perm_inputs", "bootstrap"))
    alternative: Alternative = identity("two-sided")
    statistics: tuple[Correlation, ...] = identity(("pearson",))
    resamples: int = identity(1000)
    splits: int = identity(100)
    rank_resamples: int = identity(0)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        for name in ("tests", "statistics"):
            if not getattr(self, name):
                raise ConfigError(f"significance.{name}: choose at least one, or leave significance out of evaluation.")
        for test in self.tests:
            if test not in get_args(Test):
                raise ConfigError(unknown("test", test, get_args(Test)))
        for statistic in self.statistics:
            check_kind(statistic)
        if self.alternative not in get_args(Alternative):
            raise ConfigError(unknown("alternative", self.alternative, get_args(Alternative)))
        for name, least, most in (("resamples", 40, 1_000_000), ("splits", 40, 10_000), ("rank_resamples", 0, 100_000)):
            if not least <= getattr(self, name) <= most:
                raise ConfigError(
                    f"significance.{name} must lie between {least} and {most:,}, got {getattr(self, name)}."
                )

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if n_explainers or n_metrics > 1:
            return ""
        return "compares boosts with their metric, and metrics with each other, and there is one metric alone"

    def cost(self, n_segments: int) -> float:
        return 0.2 + n_segments * (self.resamples + 10 * self.splits) * len(self.grid.spec.p) / 1e9

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[TestsOfSetting]:
        """The tests of points and grids, those of metrics against each other, and p values by family."""
        results = each(self._of_setting, settings)
        rows = [list(result.rows) for result in results]
        ranks: list[tuple[Rank, ...]] = [() for _ in results]
        first_of: dict[tuple[str, str], dict[str, int]] = {}  # by pair, of each metric its first explainer
        for at, setting in enumerate(settings):
            first_of.setdefault(setting.pair, {}).setdefault(setting.metric_name, at)
        for places in first_of.values():
            of_metrics = self._metrics([settings[at] for at in places.values()])
            for at, (tests, own_ranks) in zip(places.values(), of_metrics, strict=True):
                rows[at] += tests
                ranks[at] = own_ranks
        corrected = adjusted(self._refined(settings, first_of, rows))
        return [
            TestsOfSetting(own, result.grid, rank) for result, own, rank in zip(results, corrected, ranks, strict=True)
        ]

    def _of_setting(self, setting: Finished) -> TestsOfSetting:
        """The tests of the points of a setting, and of its grid."""
        rows = [row for point in setting.boosted for row in self._against_base(setting, point)]
        pearson = self.grid.correlation == "pearson"
        resamples = self.resamples if pearson else self.rank_resamples
        if setting.explainer is None or not resamples:
            return TestsOfSetting(tuple(rows), None)
        whole = self._whole_grid(setting, resamples, self.splits if pearson else min(self.splits, resamples))
        setting.forget()
        best = Row(
            **self._names(setting, "best"),
            **_of_segments(setting, self.grid.correlation),
            difference=whole.selection.gain,
            low=float("nan"),
            high=float("nan"),
            test="selection_adjusted",
            alternative="greater",
            p=whole.selection.p,
            n=whole.n,
            clusters=whole.clusters,
            resamples=resamples,
            seed=self.seed,
            family="best point against base",
        )
        return TestsOfSetting((*rows, best), whole)

    def _whole_grid(self, setting: Finished, resamples: int, splits: int) -> WholeGrid:
        spec = self.grid.spec
        whole = sample_of(setting, spec, spec.w)
        best = selection_adjusted(whole, resamples, self.seed)
        published = self.grid.fixed.get(setting.explainer_name)
        place = (
            None if published is None else nearest_point(np.array(spec.p), np.array(spec.w), published.p, published.w)
        )
        shown = spec.w[place[1]] if place is not None else best.w if math.isfinite(best.w) else spec.w[0]
        bands = bootstrap_bands(sample_of(setting, spec, (shown,)), resamples, self.seed)
        return WholeGrid(
            point=(best.w, spec.p[best.row] if best.row >= 0 else float("nan")),
            selection=best,
            splits=split_gains(whole, splits, self.seed),
            band=Band(shown, *(one[:, 0] for one in (bands.low, bands.high, bands.gain_low, bands.gain_high))),
            n=len(whole.base),
            clusters=whole.clusters,
        )

    def rows(self, result: TestsOfSetting) -> Mapping[str, Sequence[Any]]:
        """One row per comparison and test; one per grid; one per metric, level and statistic."""
        selection = []
        if result.grid is not None:
            (w, p), best, split = result.grid.point, result.grid.selection, result.grid.splits
            crossed = (split.mean, split.low, split.high, split.abstained, len(split.gains), result.grid.clusters)
            selection.append(SelectionRow(w, p, best.gain, best.p, *crossed))
        return {"tests": result.rows, "selection": selection, "ranking": result.ranks}

    def _names(self, setting: Finished, point: str) -> dict[str, Any]:
        return {
            "explainer": setting.explainer_name,
            "compared": f"{setting.metric_name} at {point}",
            "against": setting.metric_name,
            "point": point,
        }

    def _against_base(self, setting: Finished, point: str) -> Iterator[Row]:
        """Every test of a declared point against the metric alone."""
        scores = setting.boosted[point], setting.scores.base_scores
        for statistic in self.statistics:
            where = {**self._names(setting, point), **_of_segments(setting, statistic)}
            yield from self._tests(where, scores_of(setting, *scores), statistic, f"{point} against base")

    def _metrics(self, settings: Sequence[Finished]) -> list[tuple[list[Row], tuple[Rank, ...]]]:
        """For each metric of a language pair its tests against those after it, and its ranks."""
        found: list[tuple[list[Row], tuple[Rank, ...]]] = [([], ()) for _ in settings]
        if len(settings) < 2:
            return found
        for statistic in self.statistics:
            for level, scores in (("segment", segment_scores(settings)), ("system", system_scores(settings))):
                p_of: dict[tuple[int, int], float] = {}
                for left, right in itertools.combinations(range(len(settings)), 2):
                    where = {
                        "explainer": ALONE,
                        "compared": settings[left].metric_name,
                        "against": settings[right].metric_name,
                        "point": BASE,
                        "human": settings[left].segments.human_name,
                        "level": level,
                        "grouping": "none",
                        "statistic": statistic,
                    }
                    both = replace(scores[left], y=scores[right].x)
                    rows = list(self._tests(where, both, statistic, f"{level}: metric against metric"))
                    if math.isfinite(rows[0].difference):
                        found[left][0].extend(rows)
                        shown = next((row for row in rows if row.test in UNITS), rows[0])
                        p_of[left, right] = _two_sided(shown.p, shown.alternative)
                values = [correlate(statistic, one.x, one.human) for one in scores]
                for at, rank in enumerate(significance_ranks(values, p_of)):
                    if p_of:
                        sign = 1.0 if settings[at].metric.higher_is_better else -1.0  # `scores` are turned
                        own = Rank(ALONE, level, statistic, sign * values[at], rank, scores[at].n)
                        found[at] = (found[at][0], (*found[at][1], own))
        return found

    def _refined(
        self, settings: Sequence[Finished], places: Mapping[tuple[str, str], Mapping[str, int]], rows: list[list[Row]]
    ) -> list[list[Row]]:
        """The rows, where R resamples cannot show anything in a large family: 1 / (R + 1) times its size is above .05.

        Permutation tests that came near to their smallest p are then done again, with resamples enough for the family
        and with draws of their own. Each test must pass both rounds, so that its level is kept.
        """
        sizes = Counter(row.family for own in rows for row in own if row.test in UNITS and math.isfinite(row.p))
        near = NEAR / (self.resamples + 1)
        seed = int(np.random.SeedSequence([self.seed, 1]).generate_state(1)[0])
        for at, own in enumerate(rows):
            for place, row in enumerate(own):
                size = sizes[row.family] if row.test in UNITS else 0
                if size / (self.resamples + 1) <= LEVEL or not row.p <= near:
                    continue
                if row.point == BASE:
                    pair = [settings[at], settings[places[settings[at].pair][row.against]]]
                    left, right = (segment_scores if row.level == "segment" else system_scores)(pair)
                    scores = replace(left, y=right.x)
                else:
                    scores = scores_of(settings[at], settings[at].boosted[row.point], settings[at].scores.base_scores)
                count = min(math.ceil(ENOUGH * size / LEVEL), MOST_RESAMPLES)
                found = self._compared(scores, row.statistic, scores.unit(row.test), count, seed, bootstrap=False)
                own[place] = replace(row, p=found.p, resamples=count, seed=seed)
        return rows

    def _compared(
        self, scores: Scores, statistic: str, unit: Unit, resamples: int, seed: int, bootstrap: bool = True
    ) -> Comparison:
        return compare(
            scores.x,
            scores.y,
            scores.human,
            scores.cluster,
            system=scores.system,
            statistic=statistic,  # type: ignore[arg-type]
            unit=unit,
            alternative=self.alternative,
            resamples=resamples,
            seed=seed,
            bootstrap=bootstrap,
        )

    def _tests(self, where: Mapping[str, Any], scores: Scores, statistic: Correlation, kind: str) -> Iterator[Row]:
        done: dict[str, Comparison] = {}
        for test in self.tests if where["level"] == "segment" else _of_whole_systems(self.tests):
            unit = scores.unit(test)
            # Each system score is a row of its own; of one system's segments no system can be swapped.
            undefined = UNITS.get(test, "inputs") != "inputs" and scores.system is None and where["level"] == "segment"
            if unit not in done:
                done[unit] = self._compared(scores, statistic, unit, self.resamples, self.seed)
            found = done[unit]
            if test == "williams":
                between = correlate(statistic, *scores.used())
                p = williams(found.x, found.y, between, found.n, self.alternative)
            else:
                p = found.p_bootstrap if test == "bootstrap" else found.p
            yield Row(
                **where,
                difference=found.difference,
                low=math.nan if undefined else found.low,
                high=math.nan if undefined else found.high,
                test=test,
                alternative=self.alternative,
                p=math.nan if undefined else p,
                n=found.n,
                clusters=found.clusters,
                resamples=0 if test == "williams" else self.resamples,
                seed=self.seed,
                family=f"{kind}, {statistic}, {test}",
            )


def _of_segments(setting: Finished, statistic: str) -> dict[str, Any]:
    return {"human": setting.segments.human_name, "level": "segment", "grouping": "none", "statistic": statistic}


def _of_whole_systems(tests: Sequence[Test]) -> tuple[Test, ...]:
    """The tests of system scores: whatever permutation test is asked for, whole systems are swapped."""
    return tuple(dict.fromkeys("perm_systems" if test in UNITS else test for test in tests))


def _two_sided(p: float, alternative: str) -> float:
    """A p value as ranks need it, which ask for a difference in either direction."""
    return p if alternative == "two-sided" else min(1.0, 2 * min(p, 1 - p))
