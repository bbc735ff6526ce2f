"""Does the score fall when the words that an explanation names are removed: deletion, insertion and random removal.

The words of a hypothesis are removed step by step, and the metric itself scores what remains: the words of the highest
attributions first (deletion), of the lowest first (insertion, read from its end: the highest are those that stay), and
in random orders. All three remove the same numbers of words. The mean score that is lost over the steps is the area
over the perturbation curve. DeYoung et al. (2020, "ERASER", section 4.2) call it comprehensiveness for the first order,
and sufficiency for the second; they remove shares of the words and average, of the probability of a class, which is a
score here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bmx_grid.attribution.explain import item_key
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    MOST_RESAMPLES,
    ColumnValues,
    Estimate,
    Evaluation,
    Measured,
    ScoredSetting,
    SettingRow,
)
from bmx_grid.measures.resampling import bundle_clusters, interval, ratio, resampled_sums, sums_by
from bmx_grid.words.perturbation import Item, Plan, Request

ORDERS = ("highest first", "lowest first", "random")
# Means over segments, and the last one a ratio of means.
MEASURES = ("comprehensiveness", "sufficiency", "random_removal", "deletion", "insertion", "faithfulness")
COLUMNS = MEASURES[:3]  # that the table of scores has of each segment


@dataclass(frozen=True)
class FaithfulnessRow(SettingRow):
    """One row of faithfulness.parquet: a measure with its 95 % interval, in units of the metric.

    comprehensiveness, sufficiency, random_removal: the score that is lost, on average over steps and segments, where
    the words of the highest attributions are removed first, of the lowest, and in random orders. deletion:
    comprehensiveness above random removal; insertion: sufficiency below it. Both are above 0 for a faithful
    explanation. faithfulness: deletion and insertion together as a share of random removal, without a unit: 0 of a
    random order; undefined where random removal loses nothing.
    n_left_out: segments of fewer than two words, without an explanation, or without a score.
    """

    measure: str
    value: Measured
    n_segments: int
    n_left_out: int


@dataclass(frozen=True)
class CurveRow(SettingRow):
    """One row of faithfulness_curves.parquet: the mean score that is lost where a share of the words is removed.

    order: "highest first", "lowest first" or "random"; removed: the share.
    """

    order: str
    removed: float
    lost: Measured
    n_segments: int


@dataclass(frozen=True, eq=False)
class Curves:
    """lost: float64[3, N, steps - 1] the score that is lost in each of ORDERS; NaN for a segment that is left out."""

    lost: Floats

    @property
    def has_curves(self) -> Flags:
        """bool[N] whether a segment has curves."""
        return np.asarray(~np.isnan(self.lost).any(axis=(0, 2)))

    @property
    def areas(self) -> Floats:
        """float64[N, 3] the area over each curve."""
        return np.asarray(self.lost.mean(axis=2).T)


@dataclass(frozen=True, kw_only=True)
class FaithfulnessEvaluation(Evaluation):
    """Deletion and insertion of the words of hypotheses by the attributions of an explainer, beside random removal.

    A word is removed with one space. Random orders depend on seed and segment alone: all explainers of a metric are
    compared with the same ones. Words of equal attributions are removed in a random order. Intervals draw clusters of
    segments. Settings without an explanation, and those of metrics that cannot score other texts, have no rows.

    steps: of the removal; the words of step j of `steps` are j / steps of all words, rounded, at least one, and never
    all. orders: random ones of each segment. resamples: of each interval. seed: of all draws.
    Raises ConfigError for fewer than 2 steps, no order, or a negative number of resamples.
    """

    SECONDS: ClassVar[float] = 2e-4
    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.faithfulness.faithful_explanations",)
    ROWS: ClassVar[Mapping[str, type]] = {"faithfulness": FaithfulnessRow, "faithfulness_curves": CurveRow}

    steps: int = identity(10, least=2, most=1000)
    orders: int = identity(5, least=1, most=1000)
    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        return "" if n_explainers else "there is no explanation to try: there is no explainer"

    def count_texts(self, n_words: Sequence[int]) -> int:
        """A text for each number of words that is removed, in each order."""
        n_sizes = sum(len(np.unique(self._sizes(count))) for count in n_words)
        return n_sizes * (2 + self.orders)

    def texts(self, setting: ScoredSetting) -> Sequence[Item]:
        """The texts of the segments that have curves, order by order, each with fewer and fewer words."""
        items: list[Item] = []
        for row, attributions in self._ordered_attributions(setting).items():
            items += self._request(setting, row, attributions).items()
        return items

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[Mapping[str, Any]]:
        """The rows of a setting; none where its texts were not scored."""
        (setting,) = settings
        if self.key not in setting.further or setting.explainer is None:
            return [{}]
        curves = self._curves(setting)
        return [{"faithfulness": self._measures(setting, curves), **self._curve_rows(setting, curves)}]

    def segment_columns(self, result: Any) -> ColumnValues:
        """The areas of each segment; NaN where it is left out."""
        return result.get("segments", {})  # type: ignore[no-any-return]

    def _sizes(self, n_words: int) -> Ints:
        """int64[steps - 1] how many of n words each step has removed; none of fewer than two words."""
        if n_words < 2:
            return np.empty(0, dtype=np.int64)
        # In integers, as a half is not the same in all shares: 0.7 * 5 is below 3.5, and 0.3 * 5 is not below 1.5.
        steps = np.arange(1, self.steps)
        sizes = (2 * n_words * steps + self.steps) // (2 * self.steps)
        return np.clip(sizes, 1, n_words - 1)

    def _ordered_attributions(self, setting: ScoredSetting) -> dict[int, Floats]:
        """By row the attributions of the hypotheses that have an order: of two words or more, all of them known."""
        explained: dict[int, Floats] = {}
        if "hypothesis" not in setting.scores.by_role:
            return explained
        n_words = [len(row) for row in setting.segment_words("hypothesis")]
        for row, attributions in enumerate(setting.scores.hypothesis.rows()):
            # An explanation from a file may lack some words.
            is_whole = len(attributions) == n_words[row] > 1
            if is_whole and not np.isnan(attributions).any():
                explained[row] = attributions
        return explained

    def _request(self, setting: ScoredSetting, row: int, attributions: Floats) -> Request:
        """The masks of a segment: for each order a row for each distinct number of words that is removed."""
        item = setting.items[row]
        words, gaps = setting.segmented.segmentation_of("hypothesis").segment(item.text("hypothesis"))
        # The texts alone are the seed: neither the explainer nor the order of segments changes what is drawn.
        rng = np.random.default_rng([self.seed, int(item_key(item), 16)])
        draws = [rng.permutation(len(words)) for _ in range(self.orders + 1)]
        ties, *random_orders = draws
        highest_first = np.lexsort((ties, -attributions))
        # Of equal attributions the later ones: with all of them equal, both orders are random and opposite.
        orders = [highest_first, highest_first[::-1], *random_orders]
        sizes = np.unique(self._sizes(len(words)))
        keep = np.ones((len(orders) * len(sizes), len(words)), dtype=np.bool_)
        for number, order in enumerate(orders):
            for place, size in enumerate(sizes.tolist()):
                keep[number * len(sizes) + place, order[:size]] = False
        plan = Plan(words, keep, None, gaps=None if setting.segmented.plain else gaps)
        return Request(plan, "hypothesis", item)

    def _curves(self, setting: ScoredSetting) -> Curves:
        """The score that is lost in each segment, order and step."""
        lost = np.full((len(ORDERS), len(setting.items), self.steps - 1), np.nan)
        scores = setting.further[self.key]
        first = 0
        for row, attributions in self._ordered_attributions(setting).items():
            steps = self._sizes(len(attributions))
            # Steps that remove the same number of words share a text.
            sizes, size_of_step = np.unique(steps, return_inverse=True)
            n_texts = (2 + self.orders) * len(sizes)
            of_orders = scores[first : first + n_texts].reshape(-1, len(sizes))[:, size_of_step]
            remaining = np.stack([of_orders[0], of_orders[1], of_orders[2:].mean(axis=0)])
            lost[:, row] = setting.direction * (setting.scores.base_scores[row] - remaining)
            first += n_texts
        return Curves(lost)

    def _measures(self, setting: ScoredSetting, curves: Curves) -> list[FaithfulnessRow]:
        """A row per measure."""
        areas = curves.areas[curves.has_curves]
        estimates = self._estimates(setting, curves, areas, _measures_of_sums)
        n_used = len(areas)
        n_left_out = len(curves.has_curves) - n_used
        rows = []
        for name, estimate in zip(MEASURES, estimates, strict=True):
            rows.append(FaithfulnessRow(name, estimate, n_segments=n_used, n_left_out=n_left_out))
        return rows

    def _curve_rows(self, setting: ScoredSetting, curves: Curves) -> dict[str, Any]:
        """The rows of the mean curves, and the areas of each segment."""
        n_used = int(curves.has_curves.sum())
        rows = []
        for order, lost in zip(ORDERS, curves.lost, strict=True):
            estimates = self._estimates(setting, curves, lost[curves.has_curves], _means_of_sums)
            for step, estimate in enumerate(estimates, start=1):
                rows.append(CurveRow(order, step / self.steps, estimate, n_used))
        columns = dict(zip(COLUMNS, curves.areas.T, strict=True))
        return {"faithfulness_curves": rows, "segments": columns}

    def _estimates(self, setting: ScoredSetting, curves: Curves, values: Floats, compute: Any) -> list[Estimate]:
        """What `compute` makes of the sums of float64[n, k] values of the used segments, with intervals."""
        clusters = bundle_clusters(setting.codes.clusters[curves.has_curves])
        counted = np.column_stack([values, np.ones(len(values))])
        _, cluster = np.unique(clusters, return_inverse=True)
        sums = sums_by(cluster, counted)
        of_all = compute(sums.sum(axis=0, keepdims=True))[0]
        samples = compute(sums[:0])
        # Nothing is drawn where nothing is defined.
        if len(values):
            samples = resampled_sums(compute, sums, self.resamples, self.seed)
        estimates = []
        for value, resampled in zip(of_all.tolist(), samples.T, strict=True):
            low, high = interval(resampled, len(sums)) if math.isfinite(value) else (math.nan, math.nan)
            estimates.append(Estimate(value, low, high))
        return estimates


def _means_of_sums(sums: Floats) -> Floats:
    """float64[R, k] means of float64[R, k + 1] sums, of which the last are the numbers of segments."""
    return ratio(sums[:, :-1], sums[:, -1:])


def _measures_of_sums(sums: Floats) -> Floats:
    """float64[R, 6] MEASURES of float64[R, 4] sums of the three areas and the number of segments."""
    highest, lowest, random = _means_of_sums(sums).T
    both = highest - lowest
    # A share of nothing, or of a score that rises as words are removed, means nothing.
    share = ratio(both, np.where(random > 0, random, np.nan))
    return np.stack([highest, lowest, random, highest - random, random - lowest, share], axis=1)
