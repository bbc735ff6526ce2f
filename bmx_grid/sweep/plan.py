"""The plan of a sweep: its settings, their texts to score, and the combinations that do not run.

One pass over metric x data set x explainer. A combination that cannot run raises; the planner records the reason, and
continues with the next one.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeVar

from bmx_grid.attribution.boosted import LOWER
from bmx_grid.attribution.contracts import (
    check_explainer,
    check_metric,
    fit_metric,
    scores_from_file,
    warn_of_languages,
    words_from_file,
)
from bmx_grid.attribution.explain import (
    NOT_ASKED,
    count_texts,
    explanation_identity,
    item_key,
    scoring_metric,
    word_counts,
)
from bmx_grid.attribution.store import open_store
from bmx_grid.core.errors import (
    BmxError,
    ComponentError,
    ConfigError,
    DataMissingError,
    ExplainError,
    component_errors,
    quote_value,
)
from bmx_grid.core.storage import check_name
from bmx_grid.core.wording import escape_unprintable, join_names, pluralize, setting_label, shorten
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.settings import ALONE, NotRun, PlanOptions, Setting, SweepPlan
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import PairWords

MetricOrExplainer = TypeVar("MetricOrExplainer", Metric, Explainer)


class NotWanted(BmxError):
    """A pattern of `leave_out` excludes the combination; the message is the pattern."""


class NotPossible(BmxError):
    """The explainer cannot explain the metric; the message has the reason."""


def make_plan(
    datasets: Mapping[str, DatasetReader],
    metrics: Mapping[str, Metric],
    explainers: Mapping[str, Explainer],
    options: PlanOptions,
) -> SweepPlan:
    """Read the data and list the settings of a sweep. Scores nothing.

    Args:
        datasets: readers by name. A data set or language pair that cannot be read fails its own settings only.
        metrics: metrics by the name of their option; one option can hold several metrics.
        explainers: explainers by the name of their option; without any, metrics are evaluated unboosted.
        options: what the sweep covers.

    Returns:
        The settings with their items missing in the store, and the combinations that do not run, with reasons.

    Raises:
        ConfigError: if two metrics or explainers have one name, or if the sweep would cost more than the user allows.
        BmxError: if an option holds no metric or explainer, such as a file pattern that matches nothing.
    """
    planner = Planner(options)
    for name, reader in datasets.items():
        planner.add_dataset(name, reader)
    known_metrics = planner.expand_options("metric", metrics)
    known_explainers: Mapping[str, Explainer | None] = planner.expand_options("explainer", explainers)
    # Metric by metric, so that each model is loaded once.
    for name, metric in known_metrics.items():
        planner.add_metric(name, metric, known_explainers if explainers else {ALONE: None})
    not_run = planner.not_run()
    for name, part in {**known_metrics, **known_explainers}.items():
        try:
            with component_errors():
                if part is not None:
                    part.check()
        except BmxError as error:
            not_run.append(NotRun("unavailable", name, str(error)))
    settings = tuple(setting for setting in planner.settings if setting.repeated_with is None)
    repeats = tuple(setting for setting in planner.settings if setting.repeated_with is not None)
    if options.seeds and settings and not repeats:
        reason = f"no explainer is random, or the only seed is {options.seed}: nothing is repeated"
        not_run.append(NotRun("left out", "seeds", reason))
    plan = SweepPlan(settings, repeats, tuple(not_run))
    warn_of_languages((setting.metric_name, setting.metric, setting.segments.language_pair) for setting in settings)
    plan.costs()  # raises if the sweep costs more than the user allows
    return plan


@dataclass(eq=False)
class MetricTexts:
    """The texts that a metric reads of N segments, and their keys in the store."""

    items: tuple[Item, ...]
    words: PairWords

    @functools.cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each item."""
        return tuple(map(item_key, self.items))

    @functools.cached_property
    def n_words(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of words of each item's texts."""
        return tuple(word_counts(item, self.words) for item in self.items)


class Planner:
    """Plans one metric after the other on all data sets, and records the combinations that do not run.

    settings: those that are planned. sets: the segments of each language pair that was read.
    """

    def __init__(self, options: PlanOptions) -> None:
        self.settings: list[Setting] = []
        self.sets: list[SegmentSet] = []
        self._options = options
        self._failed: list[NotRun] = []
        # The details of each language pair, by label and reason: what cannot run is reported once for all pairs.
        self._absent: dict[tuple[str, str], dict[str, str]] = {}
        self._unwanted: dict[str, list[str]] = {pattern: [] for pattern in options.leave_out}
        # Read once for all metrics that share it.
        self._clusters: dict[tuple[str, str], Sequence[str]] = {}
        self._texts: dict[tuple[object, ...], MetricTexts] = {}
        self._words_of_files: dict[tuple[str, str, str], tuple[Explainer, AttributionSet]] = {}

    def add_dataset(self, name: str, reader: DatasetReader) -> None:
        """Add what can be read of a data set; one that is missing as a whole fails once."""
        options = self._options
        try:
            with component_errors():
                pairs = reader.pairs(options.data_dir)
            if not pairs:
                raise ConfigError(f"no language pair is chosen; write dataset.{name}.language_pairs=[PAIR,…].")
        except BmxError as error:
            self._failed.append(NotRun("failed", name, str(error), error))
            return
        sets: list[SegmentSet] = []
        errors: dict[str, BmxError] = {}
        for pair in pairs:
            try:
                with component_errors():
                    segments = reader.load_segments(options.data_dir, pair).head(options.limit)
                _warn_of_empty_texts(segments)
                _warn_of_one_document(segments)
                sets.append(replace(segments, constructed=reader.constructed))
            except BmxError as error:
                errors[pair] = error
        is_missing = all(isinstance(error, DataMissingError) for error in errors.values())
        if len(errors) > 1 and not sets and is_missing:
            first_error = next(iter(errors.values()))
            self._failed.append(NotRun("failed", f"{name} (all {len(errors)} language pairs)", str(first_error)))
        else:
            for pair, reason in errors.items():
                self._failed.append(NotRun("failed", setting_label(name, pair), str(reason), reason))
        # Segments may share a source across the language pairs of a data set.
        for segments, labels in zip(sets, clusters(sets), strict=True):
            self._clusters[segments.dataset, segments.language_pair] = labels.tolist()
        self.sets += sets

    def expand_options(self, group: str, parts: Mapping[str, MetricOrExplainer]) -> dict[str, MetricOrExplainer]:
        """The parts by name; an option can hold several. Parts that break their contract fail.

        Raises ConfigError for a name that occurs twice, BmxError for options without parts.
        """
        known: dict[str, MetricOrExplainer] = {}
        for option, part in parts.items():
            members: Mapping[str, MetricOrExplainer] = {}
            try:
                with component_errors():
                    members = part.expand(option, self.sets)
                    for member in members.values():
                        check_metric(member) if isinstance(member, Metric) else check_explainer(member)
            except BmxError as error:
                if not members and not isinstance(error, ComponentError):
                    raise
                self._failed.append(NotRun("failed", f"{group} {option}", str(error), error))
                continue
            for name in members:
                check_name(group, name, f"{group}.{option}")
                if name in known:
                    raise ConfigError(f"{group}.{option}: another {group} has the name '{name}'; rename one.")
            known |= members
        return known

    def add_metric(self, metric_name: str, metric: Metric, explainers: Mapping[str, Explainer | None]) -> None:
        """Plan a metric on all data sets with every explainer, one setting per seed if the explainer is random."""
        for segments in self.sets:
            missing_roles = [role for role in metric.reads if not segments.has(role)]
            for role in missing_roles:
                reason = f"the metric reads the {role}, which {segments.dataset} does not have for every segment"
                self._add_absent(segments, (metric_name,), reason)
            if missing_roles:
                continue
            with self._record_errors(segments, metric_name, missing="no scores"):
                fitted = fit_metric(metric, segments)
                scores = scores_from_file(fitted, segments)
                for name, explainer in (explainers if fitted.can_be_explained else {ALONE: None}).items():
                    # The words of one submission do not explain the scores of another one.
                    of_metric = None if explainer is None or scores is None else explainer.only_for_metric
                    if of_metric not in (None, metric_name):
                        continue
                    with self._record_errors(segments, metric_name, name, missing="no explanations"):
                        self._add_settings(segments, metric_name, name, fitted, explainer, scores)

    def not_run(self) -> list[NotRun]:
        """The combinations that do not run: a line per missing part and reason, one for all that is not wanted."""
        reports = list(self._failed)
        for (label, reason), details in self._absent.items():
            first_details = next(iter(details.values()))
            reason = f"{reason.rstrip('.')} ({', '.join(details)}){first_details}"
            reports.append(NotRun("left out", label, reason))
        labels = list(itertools.chain.from_iterable(self._unwanted.values()))
        if labels:
            reports.append(NotRun("left out", join_names(labels, 1), "not wanted in this sweep (leave_out)"))
        for pattern, matches in self._unwanted.items():
            if not matches:
                reason = "no setting fits this pattern of leave_out; correct or delete it"
                reports.append(NotRun("left out", escape_unprintable(pattern), reason))
        return reports

    @contextmanager
    def _record_errors(self, segments: SegmentSet, *names: str, missing: str) -> Iterator[None]:
        """Record the error that ends the block. missing: the reason if data are missing."""
        label = setting_label(segments.dataset, segments.language_pair, *names)
        try:
            with component_errors():
                yield
        except NotWanted as error:
            self._unwanted[error.args[0]].append(label)
        except NotPossible as error:
            self._add_absent(segments, names, str(error))
        except DataMissingError as error:
            self._add_absent(segments, names, missing, f": {error}")
        except BmxError as error:
            self._failed.append(NotRun("failed", label, str(error), error))

    def _add_absent(self, segments: SegmentSet, names: Sequence[str], reason: str, details: str = "") -> None:
        label = setting_label(segments.dataset, *names)
        self._absent.setdefault((label, reason), {})[segments.language_pair] = details

    def _add_settings(
        self,
        segments: SegmentSet,
        metric_name: str,
        explainer_name: str,
        metric: Metric,
        explainer: Explainer | None,
        scores: AttributionSet | None,
    ) -> None:
        """Plan a combination. scores: of the metric, if they are from a file.

        Raises NotWanted, NotPossible, DataMissingError if a file has no explanations of the language pair, ExplainError
        if the metric refuses a text or no segment can be explained, StoreError.
        """
        options = self._options
        pair = (segments.dataset, segments.language_pair)
        names = (*pair, metric_name, explainer_name)
        for pattern in options.leave_out:
            if all(map(fnmatchcase, names, pattern.split("/"))):
                raise NotWanted(pattern)
        texts = self._texts_of(segments, metric)
        _check_possible(metric_name, metric, explainer, texts.words, scores)
        read = None
        if explainer is not None and explainer.is_imported:
            key = (explainer_name, *pair)
            if key not in self._words_of_files:
                self._words_of_files[key] = words_from_file(explainer, segments, texts.words)
            explainer, read = self._words_of_files[key]
        asked = explainer if read is None else None
        n_texts, refused = _count_texts(metric, asked, texts)
        if read is not None:
            refused |= read.refused
        _check_refused(refused, segments, names)
        is_random = explainer is not None and explainer.stochastic
        for seed in dict.fromkeys((options.seed, *(options.seeds if is_random else ()))):
            identity = explanation_identity(metric, asked, seed, texts.words)
            # Without an explainer the store holds the scores of the baseline.
            stored_names = (metric_name, ALONE if asked is None else explainer_name)
            roles = () if asked is None else asked.roles(metric.reads)
            slot = open_store(options.cache_dir, stored_names, identity, pair, metric.reads, roles)
            setting = Setting(
                segments=segments,
                metric_name=metric_name,
                explainer_name=explainer_name,
                metric=metric,
                explainer=explainer,
                items=texts.items,
                keys=texts.keys,
                words=texts.words,
                clusters=self._clusters[pair],
                seed=seed,
                repeated_with=None if seed == options.seed else seed,
                slot=slot,
                scores_of_file=scores,
                words_of_file=read,
                missing=tuple(slot.missing(texts.keys)) if scores is None else (),
                n_texts_of_all=n_texts,
            )
            self.settings.append(setting)

    def _texts_of(self, segments: SegmentSet, metric: Metric) -> MetricTexts:
        """The texts that a metric reads of the segments; all metrics that read the same share them."""
        key = (segments.dataset, segments.language_pair, metric.reads, *sorted(metric.reads_further.items()))
        if key not in self._texts:
            items = metric.items(segments)
            words = PairWords.from_name(self._options.words, segments.language_pair)
            self._texts[key] = MetricTexts(items, words)
        return self._texts[key]


def _warn_of_empty_texts(segments: SegmentSet) -> None:
    empty = segments.empty_texts()
    if empty:
        origin = segments.origin or segments.dataset
        n_empty = pluralize(len(empty), "segment")
        ids = shorten(", ".join(empty), 60)
        warnings.warn(
            f"{origin}: {n_empty} of {len(segments)} segments have an empty text (segment {ids}). They are scored, but "
            "an empty side has no attributions.",
            stacklevel=2,
        )


def _warn_of_one_document(segments: SegmentSet) -> None:
    documents = {segment.document for segment in segments.segments}
    if len(documents) == 1 and any(documents) and len(segments) > 1:
        (document,) = documents
        origin = segments.origin or segments.dataset
        warnings.warn(
            f"{origin}: all {len(segments)} segments are of the document {quote_value(document)}. They are taken for "
            "independent, and intervals may be too narrow: add segments of other documents.",
            stacklevel=2,
        )


def _check_possible(
    metric_name: str, metric: Metric, explainer: Explainer | None, words: PairWords, scores: AttributionSet | None
) -> None:
    if explainer is None:
        return
    if not metric.higher_is_better:
        raise NotPossible(f"{metric_name} is a metric whose {LOWER}")
    if explainer.writes_texts and not words.plain:
        raise NotPossible(f"the explainer writes single spaces between words, but words={words.name}")
    if scoring_metric(explainer, metric) is None:
        raise NotPossible(NOT_ASKED)
    if scores is not None and not explainer.is_imported:
        raise NotPossible(
            "the metric reads its scores from a file and cannot score perturbed texts; write explainer=[]"
        )


def _count_texts(
    metric: Metric, explainer: Explainer | None, texts: MetricTexts
) -> tuple[tuple[int, ...], dict[int, str]]:
    """The number of texts that each item needs, and why the explainer refuses some items, by position.

    Raises ExplainError if the metric itself refuses a text: then the score is missing, too.
    """
    counts: list[int] = []
    refused: dict[int, str] = {}
    for position, item in enumerate(texts.items):
        sizes = None if explainer is None else texts.n_words[position]
        try:
            counts.append(count_texts(metric, explainer, item, words=texts.words, sizes=sizes))
        except ExplainError as error:
            if explainer is None:
                raise
            counts.append(1)  # the text itself, for the score of the metric
            refused[position] = str(error)
    return tuple(counts), refused


def _check_refused(refused: Mapping[int, str], segments: SegmentSet, names: Sequence[str]) -> None:
    """Raise ExplainError if no segment can be explained; warn if some cannot."""
    if not refused:
        return
    position, reason = next(iter(refused.items()))
    sentence = f"segment '{segments.segments[position].id}': {reason}"
    if len(refused) > 1:
        sentence += f" ({pluralize(len(refused) - 1, 'more segment')} likewise)"
    if len(refused) == len(segments):
        raise ExplainError(sentence)
    warnings.warn(f"{setting_label(*names)}: not explained: {sentence}", stacklevel=2)
