"""The contract of explainers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import Component, identity
from bmx_grid.core.ragged import Floats
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Item, Plan, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords


Side = Literal["ground_truth", "hypothesis"]
BOTH_SIDES: tuple[Side, ...] = ("ground_truth", "hypothesis")


@dataclass(frozen=True)
class Explainer(Component):
    """Turns the scores of perturbed texts into one attribution per word (paper section 2.1).

    The ground truth and the hypothesis of a segment are explained one after the other, each with
    the other side unchanged. An explainer never calls a metric: it plans texts, receives their
    scores, and attributes. `rng` is made from the seed, this explainer's fingerprint, the segment's
    content and the side, so that order, subset and number of workers cannot change a result.

    sides: whose words are explained, and so perturbed: both, hypothesis, or a list of ground_truth (all texts
        except the hypothesis) and hypothesis. One side costs half the texts, and has the same attributions. None
        is both; in a sweep the hypothesis only, if grid and boosts read no other words.
    Raises ConfigError for no side.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "given": "load_attributions",
        "is_given": "is_imported",
        "members": "expand",
        "of_metric": "only_for_metric",
        "shuffles_with": "weight_shuffle_seed",
        "on_both_sides": "two_sided",
    }
    stochastic: ClassVar[bool] = False  # whether `plan` draws from `rng`, so that the seed is identity
    marks_errors: ClassVar[bool] = False  # whether attributions are minus the weights of errors (MQM's), 0 without one
    writes_texts: ClassVar[bool] = False  # whether plans hold texts, with single spaces between words, and no masks

    sides: Literal["both", "hypothesis"] | tuple[Side, ...] | None = identity(
        BOTH_SIDES, added_later=True, kw_only=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        named = {"None": BOTH_SIDES, "both": BOTH_SIDES, "hypothesis": ("hypothesis",)}
        sides = named.get(str(self.sides), self.sides)
        if not sides:
            raise ConfigError("sides: at least one is explained; write sides=[hypothesis] or sides=both.")
        # in one order, without repeats: the same sides are one identity, however they are written
        in_order = tuple(side for side in BOTH_SIDES if side in sides)
        object.__setattr__(self, "sides", in_order)

    def roles(self, reads: Sequence[Role]) -> tuple[Role, ...]:
        """Of the roles that a metric reads those whose words are explained."""
        roles: list[Role] = []
        for role in reads:
            side = "hypothesis" if role == "hypothesis" else "ground_truth"
            # `__post_init__` leaves no None: `or` is for the type checker.
            if side in (self.sides or ()):
                roles.append(role)
        return tuple(roles)

    @property
    def signature(self) -> str:
        """The settings behind an attribution, in one line that travels with every number."""
        values = self.fingerprint()
        name = values.pop("type").lower()
        settings = [f"{key}:{value}" for key, value in values.items()]
        return "|".join([name, *settings])

    @property
    def draws_as(self) -> Explainer:
        """The explainer with whose fingerprint `rng` is made: by default itself, as it explains both sides."""
        return self.two_sided

    @property
    def two_sided(self) -> Self:
        """This explainer of all texts that a metric reads."""
        if self.sides == BOTH_SIDES:
            return self
        return replace(self, sides=BOTH_SIDES)

    @abstractmethod
    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """The texts to score for one side of n >= 1 words.

        Raises ExplainError when the side cannot be explained (for example, too many words).
        """

    def check(self) -> None:
        """Raise UnavailableError, with the remedy, when this explainer is unavailable. Plans nothing."""

    @property
    def weight_shuffle_seed(self) -> int | None:
        """The seed with which the metric's weights are permuted before it scores; None, the default: unchanged."""
        return None

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Explainer]:
        """The explainers, by name, that this option expands to in a sweep of these sets: by default itself."""
        return {name: self}

    @property
    def only_for_metric(self) -> str | None:
        """The one metric with scores from a file that it explains, by name; None, the default, for any metric."""
        return None

    @property
    def is_imported(self) -> bool:
        """Whether its explanations exist before a sweep (`load_attributions`), so that it plans nothing."""
        return type(self).load_attributions is not Explainer.load_attributions

    def load_attributions(self, segments: SegmentSet, words: PairWords) -> tuple[Explainer, AttributionSet] | None:
        """The explanations of these segments if they exist already; None, the default, for an explainer that plans.

        words: how the texts are segmented, to whose words the explanations are carried. The set has no scores (NaN).
        The identity of the returned explainer includes the explanations.
        Raises DataError for explanations that do not fit the segments, DataMissingError without any of the language
        pair.
        """
        return None

    def explain(self, items: Sequence[Item], words: PairWords) -> list[Mapping[Role, Floats]] | None:
        """By item and role an attribution for each word, of an explainer that reads texts and needs no score of them.

        NaN for all words of an item that is not explained. None, the default, for an explainer that plans.
        """
        return None

    def budget(self, n_items: int, n_characters: int) -> str:
        """As `Metric.budget`, for a sweep with so many items to explain; "" for nothing."""
        return ""

    @abstractmethod
    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        """float64[n] attributions from the float64[K] scores of the plan's K texts."""

    @abstractmethod
    def count_texts(self, n_words: int) -> int:
        """The largest number of texts that `plan` returns for a side of `n_words` words, before repeats are removed.

        Raises ExplainError if `plan` would: a sweep finds out before anything is scored.
        """
