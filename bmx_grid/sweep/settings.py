"""A setting, what is still to do for it, and the plan of a whole sweep."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bmx_grid.attribution.explain import explanation_identity
from bmx_grid.attribution.store import Slot
from bmx_grid.core.errors import BmxError
from bmx_grid.core.storage import Place
from bmx_grid.core.wording import setting_label
from bmx_grid.evaluations.base import Combination, Finished
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.words.segmentation import Name as WordsName
from bmx_grid.words.segmentation import PairWords

ALONE = "none"  # the explainer's name in settings of a metric alone


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What a sweep covers, besides its data sets, metrics and explainers.

    limit: segments per language pair; None for all. seeds: with which settings are repeated, beside `seed`, where the
    explainer is random. leave_out: patterns of settings that are not wanted, "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER"
    with * for any. words: how texts are segmented.
    """

    data_dir: Path
    cache_dir: Place
    limit: int | None = None
    seed: int = 0
    seeds: tuple[int, ...] = ()
    leave_out: tuple[str, ...] = ()
    words: WordsName = "whitespace"


@dataclass(frozen=True, eq=False)
class Setting(Combination):
    """A combination, and what is still to do for it.

    keys: of each item in the store. words: how texts are segmented.
    clusters: N labels; segments of one label share a source, a reference or a document, texts also across the
    language pairs of a data set. seed: of the explainer's draws, and of folds and resamples.
    repeated_with: the seed, where it repeats another setting with a further one.
    missing: positions of segments that are not explained yet; n_texts_of_all: how many texts each segment needs.
    """

    keys: tuple[str, ...]
    words: PairWords
    clusters: Sequence[str]
    seed: int
    repeated_with: int | None
    slot: Slot
    missing: tuple[int, ...]
    n_texts_of_all: tuple[int, ...]

    @property
    def to_ask(self) -> Explainer | None:
        """The explainer that is asked while the setting runs: none where its explanations exist already."""
        return self.explainer if self.slot.explained else None

    def finished(self) -> Finished:
        """What evaluations read of it. Raises StoreError for explanations that are not in the store."""
        known: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(Combination)}
        loaded = self.slot.load(self.keys)
        return Finished(**known, **self.slot.told, scores=loaded, clusters=self.clusters, segmented=self.words)

    @property
    def identity(self) -> dict[str, object]:
        """All that its explanations depend on besides the texts."""
        return explanation_identity(self.metric, self.explainer, self.seed, self.words)

    @property
    def label(self) -> str:
        """How people name it: data set, pair, metric, explainer, and a further seed."""
        if self.repeated_with is None:
            return setting_label(*self.names)
        return setting_label(*self.names, f"seed {self.seed}")

    @property
    def n_texts_of(self) -> tuple[int, ...]:
        """How many texts each missing segment needs."""
        return tuple(self.n_texts_of_all[position] for position in self.missing)

    @property
    def n_texts(self) -> int:
        """Texts still to score, before repeats are removed."""
        return sum(self.n_texts_of)

    @property
    def cached(self) -> bool:
        """Whether nothing is left to score."""
        return not self.missing


@dataclass(frozen=True)
class Refused:
    """A part of a sweep that is not run, and why. error: what it failed with, if it ran."""

    label: str
    reason: str
    error: BmxError | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class SweepPlan:
    """All settings of a sweep.

    repeats: those whose explainer is random, once more for each further seed.
    left_out: combinations that cannot be, with a sentence each. failed: those that should have been.
    unavailable: metrics and explainers that are unavailable here, with the remedy; their settings are planned, and
    fail when they are run unless they are cached.
    """

    settings: tuple[Setting, ...]
    repeats: tuple[Setting, ...]
    left_out: tuple[Refused, ...]
    failed: tuple[Refused, ...]
    unavailable: Mapping[str, str]

    @property
    def everything(self) -> tuple[Setting, ...]:
        """The settings, then those repeated with further seeds."""
        return (*self.settings, *self.repeats)

    @property
    def n_texts(self) -> int:
        """Texts still to score, with all seeds, before repeated texts are removed."""
        return sum(setting.n_texts for setting in self.everything)

    @property
    def n_texts_here(self) -> int:
        """Texts to score of the settings whose metric and explainer are available here."""
        return sum(setting.n_texts for setting in self.everything if self.obstacle(setting) is None)

    def obstacle(self, setting: Setting) -> str | None:
        """Why a setting cannot be scored here, if so."""
        names = (setting.metric_name, setting.explainer_name)
        return next((self.unavailable[name] for name in names if name in self.unavailable), None)

    def costs(self) -> dict[str, str]:
        """By metric, the texts that it is to score, and what that costs elsewhere.

        Raises ConfigError when that is above what the user allows.
        """
        parts: dict[str, Metric | Explainer] = {}
        texts = Counter[str]()
        characters = Counter[str]()
        for setting in self.everything:
            sizes = []  # characters of each segment
            for position in setting.missing:
                texts_of_item = setting.items[position].texts().values()
                sizes.append(sum(map(len, texts_of_item)))
            parts[setting.metric_name] = setting.metric
            texts[setting.metric_name] += setting.n_texts
            characters[setting.metric_name] += sum(map(operator.mul, sizes, setting.n_texts_of))
            if setting.to_ask is not None:
                parts[setting.explainer_name] = setting.to_ask
                texts[setting.explainer_name] += len(sizes)
                characters[setting.explainer_name] += sum(sizes)
        costs = {}
        for name, part in parts.items():
            budget = part.budget(texts[name], characters[name])
            if budget:
                costs[name] = f"{texts[name]:,} ({budget})"
            elif isinstance(part, Metric):
                costs[name] = f"{texts[name]:,}"
        return costs
