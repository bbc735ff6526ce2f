"""From a sweep to its settings: what will be run, what is cached, what is left out and why."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from bmx_grid.attribution.boosted import LOWER
from bmx_grid.attribution.contracts import check_explainer, check_metric, explanations_of, fitted_to
from bmx_grid.attribution.explain import NOT_ASKED, asked_of, count_texts, explanation_identity, item_key, word_counts
from bmx_grid.attribution.store import slot_of
from bmx_grid.core.errors import BmxError, ComponentError, ConfigError, DataMissingError, ExplainError, component_errors
from bmx_grid.core.storage import check_name
from bmx_grid.core.wording import counted, named, setting_label, shortened, visible
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.explainers.base import Explainer, GivenWords
from bmx_grid.metrics.base import GivenScores, Metric
from bmx_grid.sweep.settings import ALONE, PlanOptions, Refused, Setting, SweepPlan
from bmx_grid.words.perturbation import Item, Role
from bmx_grid.words.segmentation import PairWords

Part = TypeVar("Part", Metric, Explainer)
# what settings that read the same texts share: N items, their keys, and how many words each of their texts has
_Texts = tuple[tuple[Item, ...], tuple[str, ...], tuple[tuple[int, ...], ...]]


def make_plan(
    datasets: Mapping[str, DatasetReader],
    metrics: Mapping[str, Metric],
    explainers: Mapping[str, Explainer],
    options: PlanOptions,
) -> SweepPlan:
    """Read the data and expand the sweep, metric by metric so that a model is loaded once. Scores nothing.

    explainers: without any, the metrics alone are evaluated.
    Data that cannot be read fail their own settings only. Raises ConfigError for what is no such pattern, and BmxError
    for a metric or explainer that is a file and names none.
    """
    sets: list[SegmentSet] = []
    failed: list[Refused] = []
    for name, reader in datasets.items():
        readable, refused = _read(name, reader, options.data_dir, options.limit)
        sets += readable
        failed += refused
    known_metrics = _members("metric", metrics, sets, failed)
    known_explainers = _members("explainer", explainers, sets, failed)
    expansion = _Expansion(sets, options)
    for name, metric in known_metrics.items():
        expansion.add(name, metric, known_explainers if explainers else {ALONE: None})
    left_out = expansion.left_out()
    if options.seeds and expansion.settings and not expansion.repeats:
        reason = f"no explainer is random, or there is no seed but {options.seed}: nothing is repeated"
        left_out.append(Refused("seeds", reason))
    return SweepPlan(
        settings=tuple(expansion.settings),
        repeats=tuple(expansion.repeats),
        left_out=tuple(left_out),
        failed=(*failed, *expansion.failed),
        unavailable=_unavailable({**known_metrics, **known_explainers}),
    )


class _Expansion:
    """The settings of a sweep, and combinations that are skipped, as they are found metric by metric."""

    def __init__(self, sets: Sequence[SegmentSet], options: PlanOptions) -> None:
        for pattern in options.leave_out:
            if pattern.count("/") != 3:
                raise ConfigError(
                    f"leave_out: '{visible(pattern)}' names no setting; write "
                    "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER, with * for any, as in leave_out=['*/en-de/minilm_*/shap']."
                )
        self._sets, self._cache_dir = sets, options.cache_dir
        self._seeds = tuple(dict.fromkeys((options.seed, *options.seeds)))
        self._unwanted: dict[str, list[str]] = {pattern: [] for pattern in options.leave_out}  # the settings it fits
        pairs = {segments.language_pair for segments in sets}
        self._words = {pair: PairWords.of_pair(options.words, pair) for pair in pairs}
        self._clusters = _clusters(sets)
        self._imported: dict[tuple[str, int], tuple[Explainer, GivenWords]] = {}  # read once for all metrics
        self._texts: dict[tuple[int, tuple[Role, ...], bool], _Texts] = {}
        self._absent: dict[tuple[str, str], dict[str, str]] = {}  # by label and what is absent: of pairs, details
        self.settings: list[Setting] = []
        self.repeats: list[Setting] = []
        self.failed: list[Refused] = []

    def add(self, name: str, metric: Metric, explainers: Mapping[str, Explainer | None]) -> None:
        """All settings of a metric."""
        for segments in self._sets:
            for role in metric.reads:
                if not segments.has(role):
                    lacks = f"the metric reads the {role}, which {segments.dataset} does not have for every segment"
                    self._note_absent(segments, name, what=lacks)
            if all(map(segments.has, metric.reads)):
                with self._noting(segments, name, what="no scores"):
                    fitted, given = fitted_to(metric, segments)
                    for explainer_name, explainer in (explainers if fitted.is_explained else {ALONE: None}).items():
                        if given is not None and explainer is not None and explainer.of_metric not in (None, name):
                            continue  # the words of one submission do not explain the scores of another
                        if self._is_unwanted(segments.dataset, segments.language_pair, name, explainer_name):
                            continue
                        with self._noting(segments, name, explainer_name, what="no explanations"):
                            self._add(segments, (name, explainer_name), fitted, given, explainer)

    @contextmanager
    def _noting(self, segments: SegmentSet, *names: str, what: str) -> Iterator[None]:
        """Note what cannot be planned in this block. what: is absent where data are missing."""
        try:
            with component_errors():
                yield
        except DataMissingError as error:
            self._note_absent(segments, *names, what=what, details=f": {error}")
        except BmxError as error:
            self.failed.append(Refused(setting_label(segments.dataset, segments.language_pair, *names), str(error)))

    def _note_absent(self, segments: SegmentSet, *names: str, what: str, details: str = "") -> None:
        by_pair = self._absent.setdefault((setting_label(segments.dataset, *names), what), {})
        by_pair[segments.language_pair] = details

    def _is_unwanted(self, *names: str) -> bool:
        """Whether a setting of these four names is to be left out; it counts for the first pattern that says so."""
        for pattern in self._unwanted:
            if all(map(fnmatchcase, names, pattern.split("/"))):
                self._unwanted[pattern].append(setting_label(*names))
                return True
        return False

    def left_out(self) -> list[Refused]:
        """Combinations that cannot be, or whose data are absent; what is not wanted, and patterns that fit nothing."""
        absent = [
            Refused(label, f"{absence.rstrip('.')} ({', '.join(by_pair)}){next(iter(by_pair.values()))}")
            for (label, absence), by_pair in self._absent.items()
        ]
        unwanted = [label for labels in self._unwanted.values() for label in labels]
        by_choice = [Refused(named(unwanted, 1), "not wanted in this sweep (leave_out)")] if unwanted else []
        useless = [
            Refused(visible(pattern), "no setting fits this pattern of leave_out; correct or delete it")
            for pattern, labels in self._unwanted.items()
            if not labels
        ]
        return [*absent, *by_choice, *useless]

    def _add(
        self,
        segments: SegmentSet,
        names: tuple[str, str],
        metric: Metric,
        given: GivenScores | None,
        explainer: Explainer | None,
    ) -> None:
        """The setting of a metric and an explainer of these names, with every seed.

        Raises BmxError; DataMissingError for explanations.
        """
        words = self._words[segments.language_pair]
        unfit = None if explainer is None else _unfit(names[0], metric, given, explainer, words)
        if unfit is not None:
            self._note_absent(segments, *names, what=unfit)
            return
        imported = None
        if explainer is not None and explainer.is_given:
            key = names[1], id(segments)
            if key not in self._imported:
                self._imported[key] = explanations_of(explainer, segments, words)
            explainer, imported = self._imported[key]
        # Explanations that exist already are not kept: the metric's scores are those of the metric alone.
        asked, kept_names = (explainer, names) if imported is None else (None, (names[0], ALONE))
        items, keys, sizes = self._texts_of(segments, metric, is_explained=asked is not None)
        n_texts, refused = ((), {}) if given is not None else _counted(metric, asked, items, sizes, words)
        refused |= {} if imported is None else imported.refused
        if len(refused) == len(segments) > 0:
            raise ExplainError(_refusals(segments, refused))
        if refused:
            label = setting_label(segments.dataset, segments.language_pair, *names)
            warnings.warn(f"{label}: not explained: {_refusals(segments, refused)}", stacklevel=2)
        for seed in self._seeds if explainer is not None and explainer.stochastic else self._seeds[:1]:
            identity = explanation_identity(metric, asked, seed, words)
            pair = segments.dataset, segments.language_pair
            slot = slot_of(self._cache_dir, kept_names, identity, pair, metric.reads)
            setting = Setting(
                segments=segments,
                metric_name=names[0],
                explainer_name=names[1],
                metric=metric,
                explainer=explainer,
                given=given,
                imported=imported,
                items=items,
                keys=keys,
                words=words,
                clusters=self._clusters[pair],
                seed=seed,
                repeated_with=None if seed == self._seeds[0] else seed,
                slot=slot,
                missing=() if given is not None else tuple(slot.missing(keys)),
                n_texts_of_all=n_texts,
                refused=refused,
            )
            (self.settings if seed == self._seeds[0] else self.repeats).append(setting)

    def _texts_of(self, segments: SegmentSet, metric: Metric, *, is_explained: bool) -> _Texts:
        """What the metric reads of them, made once for all metrics that read the same."""
        key = id(segments), metric.reads, metric.reads_all_references
        if key not in self._texts or (is_explained and not self._texts[key][2]):
            items = segments.items(metric.reads, all_references=metric.reads_all_references)
            words = self._words[segments.language_pair]
            sizes = tuple(word_counts(item, words) for item in items) if is_explained else ()
            self._texts[key] = items, tuple(map(item_key, items)), sizes
        return self._texts[key]


def _refusals(segments: SegmentSet, refused: Mapping[int, str]) -> str:
    """The first segment that cannot be explained, why, and how many there are."""
    position, reason = next(iter(refused.items()))
    others = f" ({counted(len(refused) - 1, 'more segment')} likewise)" if len(refused) > 1 else ""
    return f"segment '{segments.segments[position].id}': {reason}{others}"


def _unfit(name: str, metric: Metric, given: GivenScores | None, explainer: Explainer, words: PairWords) -> str | None:
    """Why an explainer cannot explain a metric, if so."""
    if not metric.higher_is_better:
        return f"{name} is a metric whose {LOWER}"
    if explainer.writes_texts and not words.plain:
        return f"the explainer writes single spaces between words, but words={words.name}"
    if asked_of(explainer, metric) is None:
        return NOT_ASKED
    if given is not None and not explainer.is_given:
        return "the scores are from a file, which no explainer can ask for other texts; write explainer=[]"
    return None


def _counted(
    metric: Metric,
    explainer: Explainer | None,
    items: Sequence[Item],
    sizes: Sequence[tuple[int, ...]],
    words: PairWords,
) -> tuple[tuple[int, ...], dict[int, str]]:
    """How many texts each item needs, and why the explainer refuses some. Raises ExplainError where the metric does."""
    counts: list[int] = []
    refused: dict[int, str] = {}
    for position, item in enumerate(items):
        try:
            of_item = None if explainer is None else sizes[position]
            counts.append(count_texts(metric, explainer, item, words=words, sizes=of_item))
        except ExplainError as error:
            if explainer is None:  # the metric itself refuses: there is no score either
                raise
            counts.append(1)  # its own text, for the metric's score
            refused[position] = str(error)
    return tuple(counts), refused


def _members(
    group: str, parts: Mapping[str, Part], sets: Sequence[SegmentSet], failed: list[Refused]
) -> dict[str, Part]:
    """The parts by name, where an option may stand for several; adds to `failed` those that break their contract.

    Raises ConfigError for a name that occurs twice.
    """
    known: dict[str, Part] = {}
    for option, part in parts.items():
        try:
            with component_errors():
                members = part.members(option, sets)
                for member in members.values():
                    check_metric(member) if isinstance(member, Metric) else check_explainer(member)
        except ComponentError as error:
            failed.append(Refused(f"{group} {option}", str(error)))
            continue
        for name in members:
            check_name(group, name, f"{group}.{option}")
            if name in known:
                raise ConfigError(
                    f"{group}.{option}: there is another {group} '{name}'; give one of them another name."
                )
        known |= members
    return known


def _clusters(sets: Sequence[SegmentSet]) -> dict[tuple[str, str], Sequence[str]]:
    """The labels of each set's segments, which may be shared across the language pairs of a data set."""
    labels: dict[tuple[str, str], Sequence[str]] = {}
    for name in {segments.dataset for segments in sets}:
        of_name = [segments for segments in sets if segments.dataset == name]
        for segments, of_set in zip(of_name, clusters(of_name), strict=True):
            labels[name, segments.language_pair] = of_set.tolist()
    return labels


def _unavailable(parts: Mapping[str, Metric | Explainer]) -> dict[str, str]:
    """The reasons of the parts that are unavailable here, by their name."""
    reasons = {}
    for name, part in parts.items():
        try:
            with component_errors():
                part.check()
        except BmxError as error:
            reasons[name] = str(error)
    return reasons


def _read(
    name: str, reader: DatasetReader, data_dir: Path, limit: int | None
) -> tuple[list[SegmentSet], list[Refused]]:
    """What can be read of a data set, and what cannot; a data set that is missing as a whole is named once."""
    try:
        pairs = reader.pairs(data_dir)
    except BmxError as error:
        return [], [Refused(name, str(error))]
    if not pairs:
        return [], [Refused(name, f"no language pair is chosen; write dataset.{name}.language_pairs=[PAIR,…].")]
    sets: list[SegmentSet] = []
    errors: dict[str, BmxError] = {}
    for pair in pairs:
        try:
            segments = reader.read(data_dir, pair).head(limit)
            _warn_of_empty_texts(segments)
            sets.append(replace(segments, constructed=reader.constructed))
        except BmxError as error:
            errors[pair] = error
    if len(errors) > 1 and not sets and all(isinstance(error, DataMissingError) for error in errors.values()):
        return [], [Refused(f"{name} (all {len(errors)} language pairs)", str(next(iter(errors.values()))))]
    return sets, [Refused(setting_label(name, pair), str(error)) for pair, error in errors.items()]


def _warn_of_empty_texts(segments: SegmentSet) -> None:
    empty = segments.empty_texts()
    if empty:
        warnings.warn(
            f"{segments.origin or segments.dataset}: {counted(len(empty), 'segment')} of {len(segments)} with an empty "
            f"text (segment {shortened(', '.join(empty), 60)}); metrics give empty text its stated score, and an empty "
            "side has no attributions.",
            stacklevel=2,
        )
