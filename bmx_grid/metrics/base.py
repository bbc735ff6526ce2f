"""The contract of metrics, and the base of metrics that can read several references."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from bmx_grid.core.identity import Component, digest, identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.core.renamed import old_names
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Item, Request, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

GroundTruth = Literal["source", "reference"]
Cost = Literal["light", "model"]

__getattr__ = old_names(__name__, {"pairs_of": "text_pairs"})


@dataclass(frozen=True)
class Metric(Component):
    """A sentence-level metric: a function of the texts of an item that it reads.

    An item's score is the same in any batch and in any order, of a model in float32 to about 1e-6 (the contract
    tests hold every option to this). Subclasses stay cheap to build and to pickle: models load on the first call of
    `score`. Attributes of a class:

    SCALE: printed scores are multiplied by it: by 100 to be those of sacreBLEU.
    higher_is_better: whether a higher score is a better one (not of TER, which counts edits). If not, correlations keep
        their sign and agreement turns it.
    may_be_undefined: whether it may have no score for an item, which is NaN then, as a judge whose answer has none.
    is_placebo: whether it cannot know which translation is better: random scores, or a sentinel (`metrics.sentinel`).
    is_human: whether its scores are people's, which are averaged with no metric.
    is_explained: whether explainers explain its scores; else every sweep has it without an explainer.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "fitted": "fit",
        "given": "load_scores",
        "members": "expand",
        "of_languages": "set_languages",
        "with_shuffled_weights": "shuffle_weights",
        "is_explained": "can_be_explained",
        "leaves_traces": "has_side_effects",
    }
    SCALE: ClassVar[int] = 1
    higher_is_better: ClassVar[bool] = True
    may_be_undefined: ClassVar[bool] = False
    is_placebo: ClassVar[bool] = False
    is_human: ClassVar[bool] = False
    can_be_explained: ClassVar[bool] = True

    @property
    @abstractmethod
    def reads(self) -> tuple[Role, ...]:
        """The roles it reads, in the order of ROLES. Every such text gets attributions."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """The settings behind a score, in one line that travels with every number."""

    @property
    def cost(self) -> Cost:
        """The cost per text: "light", thousands per second on a processor core, or "model", a pass of a large network.

        The engine decides by it how much to do at once, and an executor which jobs need a device.
        """
        return "light"

    @property
    def has_side_effects(self) -> bool:
        """Whether scoring sends texts to a server, or keeps something in a folder: a dry run does neither."""
        return False

    @property
    def reads_all_references(self) -> bool:
        """Whether its items carry the further references of their segment; else it reads the first one only."""
        return False

    @property
    def reads_further(self) -> Mapping[str, int]:
        """How many of the further texts of a segment it reads, at most, by field of items.

        By default all further references if it `reads_all_references`.
        """
        return {"further_references": sys.maxsize} if self.reads_all_references else {}

    @property
    def is_held_by_tests(self) -> bool:
        """Whether tests of this package hold its code to scores that are the same in any batch."""
        return type(self).__module__.startswith("bmx_grid.")

    @property
    def has_statistics(self) -> bool:
        """Whether `statistics` and `combine` are the metric's own; then `score` is `combine` of each row."""
        return type(self).statistics is not Metric.statistics

    @abstractmethod
    def score(self, items: Sequence[Item]) -> Floats:
        """float64[n] scores of n items.

        Raises UnavailableError when a model or library that the metric needs is unavailable.
        """

    def check(self) -> None:
        """Raise UnavailableError, with the remedy, when this metric is unavailable. Scores nothing."""

    def items(self, segments: SegmentSet) -> tuple[Item, ...]:
        """The N items of a set, with the texts that it reads. Raises DataError for a missing text."""
        return segments.items(self.reads, self.reads_further)

    def fit(self, segments: SegmentSet) -> Metric:
        """This metric fitted to the whole set that it will score (idf weights, translation difficulty).

        The set is part of the identity of the returned metric: its fingerprint and signature.
        Called while a sweep is planned, so it must be cheap: models load, and weights are computed, on the first call
        of `score`.
        """
        return self

    def shuffle_weights(self, seed: int) -> Metric | None:
        """This metric with the weights of its model permuted at random; None, the default, without a model."""
        return None

    def set_languages(self, language_pair: str) -> Metric:
        """This metric for texts of a language pair, without a set; itself, the default, if it needs none.

        Raises ConfigError for languages that it does not know.
        """
        return self

    def known_languages(self, role: Role) -> frozenset[str] | None:
        """The languages that it knows of texts of a role, as codes of ISO 639-1; None, the default, for any.

        Sweeps warn of other languages before they score.
        """
        return None

    def load_scores(self, segments: SegmentSet) -> AttributionSet | None:
        """The scores of these segments and systems if they are read from a file; None, the default, to score texts.

        Such a metric scores no text, so that it has settings without an explainer only. The scores are part of the
        identity of the metric that `fit` returns (`scores_digest`). Raises DataError for scores that do not fit
        the segments.
        """
        return None

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Metric]:
        """The metrics, by name, that this option expands to in a sweep of these sets: by default itself."""
        return {name: self}

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] sufficient statistics of n items, which sum to those of a system (`combine`).

        By default the score and a 1, so that the score of a system is the mean of its segments.
        """
        scores = self.score(items)
        return np.stack([scores, np.ones(len(scores))], axis=1)

    def combine(self, sums: Floats) -> Floats:
        """float64[...] scores of systems from float64[..., k] sums of their segments' statistics; NaN without segments.

        BLEU, chrF, TER and WER of a system are no means of segment scores: their statistics are counts, and a
        resample of segments is a matrix product.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums[..., 0] / sums[..., 1]
        return np.asarray(means, dtype=np.float64)

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """The most texts that `copies` versions of `item` need: above `copies` only for a metric built on another.

        Raises ExplainError when they are above the metric's own limit: found before anything is scored.
        """
        return copies

    def budget(self, n_texts: int, n_characters: int) -> str:
        """The cost, in words, of so many texts, of so many characters in all, at a paid service; "" for nothing.

        Raises ConfigError when that is above what the user allows: before anything is scored.
        """
        return ""

    def score_masked(self, requests: Sequence[Request]) -> list[Floats] | None:
        """Scores of masked texts without writing them out, float64[K] for each request of K >= 1 texts.

        None (the default) when the metric cannot do so: the engine then renders the texts.
        It must equal `score` on the rendered texts bit for bit.
        """
        return None


def scores_digest(given: AttributionSet) -> str:
    """The digest, in a metric's identity, of scores that were read from a file: 16 hexadecimal digits."""
    systems = [[name, repr(score)] for name, score in sorted(given.systems.items())]
    return digest([repr(given.base_scores.tolist()), systems])[:16]


def text_pairs(items: Sequence[Item], role: GroundTruth) -> list[tuple[str, str]]:
    """(ground truth, hypothesis) of each item, for metrics that read these two."""
    return [(item.text(role), item.text("hypothesis")) for item in items]


@dataclass(frozen=True, kw_only=True)
class MultiReferenceMetric(Metric):
    """A metric that compares a hypothesis with the first reference of a segment, or with all of them.

    references: first, or all. A set without further references has the metric of the first one, with its identity.
    nrefs: number of references of the segments, in signatures; set by `fit`.

    An explainer perturbs the first reference only.
    """

    references: Literal["first", "all"] = identity("first", added_later=True)
    nrefs: str = runtime("1")

    @property
    def reads_all_references(self) -> bool:
        return self.references == "all"

    def fit(self, segments: SegmentSet) -> Self:
        fitted = cast(Self, super().fit(segments))
        if self.references == "first":
            return fitted
        counts = {1 + len(segment.further_references) for segment in segments.segments}
        # without further references "all" is "first": one identity for the same scores
        if counts <= {1}:
            return dataclasses.replace(fitted, references="first")
        nrefs = "var" if len(counts) > 1 else str(counts.pop())
        return dataclasses.replace(fitted, nrefs=nrefs)

    def references_of(self, item: Item) -> list[str]:
        """The references of an item that are read, the first one first."""
        first = item.text("reference")
        if self.references == "first":
            return [first]
        return [first, *item.further_references]

    def reads_several(self, items: Iterable[Item]) -> bool:
        """Whether any item has several references that are read."""
        if self.references == "first":
            return False
        return any(item.further_references for item in items)

    def best_reference_rows(
        self, items: Sequence[Item], count: Callable[[Sequence[Item]], Floats], score: Callable[[Floats], Floats]
    ) -> Floats:
        """Rows that `count` makes of items: among items with one reference, the row that scores best, or the first.

        score: of the rows of `count`.
        """
        if not self.reads_several(items):
            return count(items)
        # All references of all items are counted in one call, which is what makes counting quick.
        single: list[Item] = []
        bounds = [0]
        for item in items:
            for text in self.references_of(item):
                single.append(item._replace(reference=text, further_references=()))
            bounds.append(len(single))
        rows = count(single)
        # the highest is the best, whatever the metric's direction
        scores = score(rows) if self.higher_is_better else -score(rows)
        best = []
        for start, end in itertools.pairwise(bounds):
            best.append(start + int(scores[start:end].argmax()))
        return rows[best]

    def library_settings(self) -> dict[str, Any]:
        """The identity fields that sacreBLEU knows."""
        return {key: value for key, value in self.settings().items() if key != "references"}

    def sacrebleu_signature(self, library: Any) -> str:
        """The name and the signature of a metric of sacreBLEU, with the number of references that there are."""
        name = library.corpus_score(["a"], [["a"]]).name  # sacreBLEU signs only after it has seen a reference
        signature = f"{name}|{library.get_signature().format()}"
        # it has seen one reference per segment, whatever the data set has
        return signature.replace("nrefs:1", f"nrefs:{self.nrefs}", 1)


@dataclass(frozen=True, kw_only=True)
class Counted(MultiReferenceMetric):
    """A metric on references whose score is `combine` of what `statistics` counts."""

    reads: ClassVar[tuple[Role, ...]] = ("reference", "hypothesis")

    def score(self, items: Sequence[Item]) -> Floats:
        return self.combine(self.statistics(items))
