"""The boosted metric: metric + explainer + (p, w), itself a metric (paper, Algorithm 1 and appendix E)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.contracts import describe_item
from bmx_grid.attribution.explain import Explanation, count_texts, effective_seed, explain_items, split_into_parts
from bmx_grid.boosts.base import Boost, FittedBoost
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid
from bmx_grid.core.configure import check_seed
from bmx_grid.core.errors import BmxError, ConfigError, DataError, ExplainError
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Flags, Floats, Ragged, defined_rows, rows_from
from bmx_grid.core.wording import pluralize
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.aggregation import Aggregation, PowerMean
from bmx_grid.measures.grid import GridSpec, UsedWords
from bmx_grid.metrics.base import Cost, Metric
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


def count_within(metric: Metric, explainer: Explainer | None, item: Item, max_texts: int, copies: int = 1) -> int:
    """The most texts of the innermost metric that `copies` versions of an item need, repeats counted again.

    Raises ExplainError above max_texts.
    """
    count = count_texts(metric, explainer, item, copies)
    if count > max_texts:
        raise ExplainError(
            f"{pluralize(count, 'text')} would be scored for this segment, above max_texts = {max_texts:,}: choose an "
            "explainer or settings that need fewer texts, or raise max_texts of the boosted metric."
        )
    return count


def as_arrays(explanations: Sequence[Explanation]) -> AttributionSet:
    """Base scores and attributions of n explained items."""
    base = np.array([explanation.base_score for explanation in explanations], dtype=np.float64)
    roles = explanations[0].attributions if explanations else ()
    by_role = {}
    for role in roles:
        by_role[role] = Ragged.from_rows(explanation.attributions[role] for explanation in explanations)
    return AttributionSet(base, by_role)


BLOCK_ITEMS = 2**14  # whose features are held at once: 80 MB of the paper's boost
LOWER = "lower scores are better, and boosts are made for metrics whose higher scores are; use it without an explainer."


@dataclass(frozen=True)
class BoostedMetric(Metric):
    """s1 = w * s0 + (1 - w) * M_p(attributions of s0), the score after one iteration of BMX.

    Explained in turn, by a sweep or by a BoostedMetric around it, it gives the iterations that follow; every iteration
    may have its own explainer, p and w. It reads what its metric reads.
    aggregation, side: the mean, and whose words it takes, as in a grid.
    seed: of the explainer's draws; not part of the identity if nothing is random.
    max_texts: the most texts for one segment, all iterations together, those of a sweep's explainer included.

    An item without a word on the aggregated side has no attributions, and keeps the score s0 of the metric.
    Raises ConfigError for a p that is NaN, a w outside [0, 1], a negative seed or a max_texts below 1.
    """

    metric: Metric = identity()
    explainer: Explainer = identity()
    p: float = identity()
    w: float = identity()
    aggregation: Aggregation = identity(PowerMean())
    side: UsedWords = identity("both")
    seed: int = identity(0)
    max_texts: int = runtime(100_000, least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seed(self.seed)
        checked = GridSpec((self.p,), (self.w,), self.side, self.aggregation)
        # floats, without -0.0: one identity for one number
        object.__setattr__(self, "p", checked.p[0] + 0.0)
        object.__setattr__(self, "w", checked.w[0] + 0.0)
        if not self.metric.higher_is_better:
            raise ConfigError(f"{type(self.metric).__name__}: {LOWER}")

    @property
    def reads(self) -> tuple[Role, ...]:
        return self.metric.reads

    @property
    def cost(self) -> Cost:
        return self.metric.cost

    @property
    def reads_all_references(self) -> bool:
        return self.metric.reads_all_references

    @property
    def reads_further(self) -> Mapping[str, int]:
        return self.metric.reads_further

    @property
    def signature(self) -> str:
        return (
            f"boosted|metric:({self.metric.signature})|explainer:({self.explainer.signature})"
            f"|aggregation:{type(self.aggregation).__name__}|side:{self.side}|p:{self.p}|w:{self.w}"
            f"|seed:{effective_seed(self.explainer, self.seed)}|version:{self.VERSION}"
        )

    def fingerprint(self) -> dict[str, Any]:
        fields = super().fingerprint()
        # JSON has no infinity, and the extremes are powers like any other.
        fields["p"] = repr(self.p)
        fields["seed"] = effective_seed(self.explainer, self.seed)
        return fields

    @property
    def has_side_effects(self) -> bool:
        return self.metric.has_side_effects

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        return (*self.metric.pretrained_models(), *self.explainer.pretrained_models())

    def known_languages(self, role: Role) -> frozenset[str] | None:
        return self.metric.known_languages(role)

    def check(self) -> None:
        self.metric.check()
        self.explainer.check()

    def fit(self, segments: SegmentSet) -> BoostedMetric:
        return dataclasses.replace(self, metric=self.metric.fit(segments))

    def set_languages(self, language_pair: str) -> BoostedMetric:
        return dataclasses.replace(self, metric=self.metric.set_languages(language_pair))

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """The most texts of the innermost metric that `copies` versions of `item` need.

        Repeats are counted again; two iterations of Erasure on 15 words count 324 texts where 121 differ.
        Raises ExplainError above max_texts.
        """
        return count_within(self.metric, self.explainer, item, self.max_texts, copies)

    def score(self, items: Sequence[Item]) -> Floats:
        """float64[n] boosted scores. Nothing is scored when an item needs more than max_texts texts (ExplainError).

        Raises BmxError as `boost` does.
        """
        # all are counted before the first is scored; equal items are one
        sizes = {item: self.count_texts(item) for item in items}
        scores: dict[Item, float] = {}
        for part, _ in split_into_parts(sizes.items(), self.max_texts):
            explanations = explain_items(self.metric, self.explainer, part, self.seed)
            boosted = self.boost(explanations).tolist()
            scores |= zip(part, boosted, strict=True)
        return np.array([scores[item] for item in items], dtype=np.float64)

    def boost(self, explanations: Sequence[Explanation]) -> Floats:
        """float64[n] boosted scores of n explained items.

        Raises BmxError for an item whose base score or attributions are not finite.
        """
        boost = PowerMeanGrid((self.p,), (self.w,), self.side, aggregation=self.aggregation)
        scores, _ = apply_boost(boost, AtPoint(self.w, self.p), self.metric, explanations)
        return scores


def _refuse(broken: Flags, metric: Metric, explanations: Sequence[Explanation]) -> None:
    if broken.any():
        first = int(np.argmax(broken))
        raise BmxError(
            f"{metric.signature}: {describe_item(explanations[first].item)} have a score or attributions "
            "that are not finite, and cannot be boosted."
        )


def apply_boost(
    boost: Boost, fitted: FittedBoost, metric: Metric, explanations: Sequence[Explanation]
) -> tuple[Floats, NDArray[np.intp]]:
    """float64[n] boosted scores of n explained items, and the rows of items that keep the metric's score.

    Such items have no word on a side that the boost reads. fitted: the constants of the boost. Each score depends on
    its own item only: bit for bit for equal metric scores. A neural metric scores in float32, equal in other batches
    to about 1e-6.
    Raises BmxError for an item whose score or attributions are not finite, DataError for attributions that the boost
    cannot use.
    """
    stored = as_arrays(explanations)
    base = stored.base_scores
    truth = stored.ground_truth
    hypothesis = stored.hypothesis
    has_truth = truth.lengths > 0
    has_hypothesis = hypothesis.lengths > 0
    # a row without words has nothing undefined in it
    broken = ~np.isfinite(base)
    broken |= has_truth & ~defined_rows(truth)
    broken |= has_hypothesis & ~defined_rows(hypothesis)
    scores = np.empty(len(base))
    # A block at a time: the paper's boost has 600 features and uses one.
    for first in range(0, len(base), BLOCK_ITEMS):
        block = slice(first, first + BLOCK_ITEMS)
        try:
            scores[block] = boost.apply(base[block], rows_from(truth, block), rows_from(hypothesis, block), fitted)
        except DataError as error:
            raise _name_segment(error, first) from error
    undefined = ~np.isfinite(scores)
    # only a side without words may leave a boost undefined
    broken |= undefined & has_truth & has_hypothesis
    _refuse(broken, metric, explanations)
    scores[undefined] = base[undefined]
    return scores, np.flatnonzero(undefined)


def _name_segment(error: DataError, first: int) -> DataError:
    """The error with the number of the segment, from 1, in place of the row of a block that begins at `first`."""
    message = re.sub(r"^row (\d+)", lambda row: f"segment {first + int(row[1]) + 1}", str(error))
    return DataError(message)
