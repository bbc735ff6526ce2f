"""A setting with its remaining work, and the plan of a whole sweep."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from bmx_grid.attribution.explain import explanation_identity
from bmx_grid.attribution.store import AttributionStore
from bmx_grid.core.errors import BmxError, ConfigError
from bmx_grid.core.storage import Place
from bmx_grid.core.wording import escape_unprintable, setting_label
from bmx_grid.evaluations.base import Combination, ScoredSetting
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.segmentation import Name as WordsName
from bmx_grid.words.segmentation import PairWords

ALONE = "none"  # the explainer's name in settings without an explainer


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The extent of a sweep besides its data sets, metrics and explainers.

    limit: sources per language pair, with all their systems; None for all. seeds: repeat settings with a random
    explainer, in addition to `seed`. leave_out: patterns of settings that are not wanted,
    "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER" with * for any. words: how texts are segmented.
    Raises ConfigError for a pattern of another form.
    """

    data_dir: Path
    cache_dir: Place
    limit: int | None = None
    seed: int = 0
    seeds: tuple[int, ...] = ()
    leave_out: tuple[str, ...] = ()
    words: WordsName = "whitespace"

    def __post_init__(self) -> None:
        for pattern in self.leave_out:
            if pattern.count("/") != 3:
                raise ConfigError(
                    f"leave_out: '{escape_unprintable(pattern)}' names no setting; write "
                    "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER, with * for any, as in leave_out=['*/en-de/minilm_*/shap']."
                )


@dataclass(frozen=True)
class NotRun:
    """A part of a sweep that does not run, or has no results, and why.

    Attributes:
        status: "failed" if it should have run; "left out" if it cannot run or is not wanted; "unavailable" for a
            metric or an explainer that this machine lacks: its settings are planned, and fail unless they are cached.
        label: how people name the part.
        reason: a sentence for people, with the way out.
        error: the exception, if it ran.
    """

    status: Literal["failed", "left out", "unavailable"]
    label: str
    reason: str
    error: BmxError | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Setting(Combination):
    """A combination, and its remaining work.

    keys: of each item in the store. words: how texts are segmented.
    clusters: N labels; segments of one label share a source, a reference or a document, texts also across the language
    pairs of a data set. seed: of the explainer's draws, and of folds and resamples.
    repeated_with: the seed, if it repeats another setting with a further one.
    slot: its place in the store. scores_of_file, words_of_file: values read from files; None if they are computed.
    missing: positions of segments that are not explained yet; n_texts_of_all: how many texts each segment needs.
    """

    keys: tuple[str, ...]
    words: PairWords
    clusters: Sequence[str]
    seed: int
    repeated_with: int | None
    slot: AttributionStore
    scores_of_file: AttributionSet | None
    words_of_file: AttributionSet | None
    missing: tuple[int, ...]
    n_texts_of_all: tuple[int, ...]

    @property
    def to_ask(self) -> Explainer | None:
        """The explainer that runs in the setting; None if its explanations exist already."""
        return self.explainer if self.words_of_file is None else None

    def load(self) -> ScoredSetting:
        """Read the input of evaluations from the store and from files. Raises StoreError for missing explanations."""
        scores = self.slot.load(self.keys) if self.scores_of_file is None else self.scores_of_file
        read = self.words_of_file
        if read is not None:
            scores = replace(scores, by_role=read.by_role, attributed=read.attributed, words=read.words)
        return ScoredSetting(
            self.segments,
            self.metric_name,
            self.explainer_name,
            self.metric,
            self.explainer,
            self.items,
            scores=scores,
            clusters=self.clusters,
            segmented=self.words,
        )

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
    def is_cached(self) -> bool:
        """Whether nothing is left to score."""
        return not self.missing


class FurtherTexts(NamedTuple):
    """The texts that an evaluation wants a metric to score once settings are explained: at most so many."""

    evaluation: str
    metric: str
    n_texts: int
    n_characters: int


@dataclass(frozen=True, eq=False)
class SweepPlan:
    """All settings of a sweep.

    repeats: those whose explainer is random, once more for each further seed.
    not_run: combinations that are left out or failed, and metrics and explainers that are unavailable on this machine.
    further: the texts that evaluations want scored.
    """

    settings: tuple[Setting, ...]
    repeats: tuple[Setting, ...]
    not_run: tuple[NotRun, ...] = ()
    further: tuple[FurtherTexts, ...] = ()

    @property
    def everything(self) -> tuple[Setting, ...]:
        """The settings, then those repeated with further seeds."""
        return (*self.settings, *self.repeats)

    @property
    def left_out(self) -> tuple[NotRun, ...]:
        """Combinations that cannot run or are not wanted."""
        return tuple(part for part in self.not_run if part.status == "left out")

    @property
    def failures(self) -> tuple[NotRun, ...]:
        """Combinations that should have run."""
        return tuple(part for part in self.not_run if part.status == "failed")

    @property
    def unavailable(self) -> dict[str, NotRun]:
        """Metrics and explainers that are unavailable on this machine, by name."""
        return {part.label: part for part in self.not_run if part.status == "unavailable"}

    @property
    def n_texts(self) -> int:
        """Texts still to score, with all seeds, before repeated texts are removed."""
        return sum(setting.n_texts for setting in self.everything)

    @property
    def texts_here(self) -> Counter[str]:
        """The texts to score by metric, of settings with an available metric and explainer."""
        texts = Counter[str]()
        for setting in self.everything:
            if self.obstacle(setting) is None:
                texts[setting.metric_name] += setting.n_texts
        return texts

    @property
    def n_further(self) -> int:
        """At most how many texts evaluations want scored."""
        return sum(part.n_texts for part in self.further)

    @property
    def n_texts_here(self) -> int:
        """The number of `texts_here`."""
        return self.texts_here.total()

    def obstacle(self, setting: Setting) -> str | None:
        """The reason why a setting cannot be scored on this machine, if any."""
        names = (setting.metric_name, setting.explainer_name)
        return next((self.unavailable[name].reason for name in names if name in self.unavailable), None)

    def costs(self) -> dict[str, str]:
        """The number of texts by metric, with their cost if the metric or explainer has one.

        Raises ConfigError when the cost is above the user's limit.
        """
        parts: dict[str, Metric | Explainer] = {}
        texts = Counter[str]()
        characters = Counter[str]()
        for setting in self.everything:
            sizes = []  # characters of each segment
            for position in setting.missing:
                sizes.append(setting.items[position].n_characters)
            parts[setting.metric_name] = setting.metric
            texts[setting.metric_name] += setting.n_texts
            characters[setting.metric_name] += sum(map(operator.mul, sizes, setting.n_texts_of))
            if setting.to_ask is not None:
                parts[setting.explainer_name] = setting.to_ask
                texts[setting.explainer_name] += len(sizes)
                characters[setting.explainer_name] += sum(sizes)
        for further in self.further:
            texts[further.metric] += further.n_texts
            characters[further.metric] += further.n_characters
        costs = {}
        for name, part in parts.items():
            budget = part.budget(texts[name], characters[name])
            if budget:
                costs[name] = f"{texts[name]:,} ({budget})"
            elif isinstance(part, Metric):
                costs[name] = f"{texts[name]:,}"
        return costs
