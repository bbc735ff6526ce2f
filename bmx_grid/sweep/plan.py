"""From a sweep to its settings: what will be run, what is cached, what is left out and why."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from bmx_grid.attribution.boosted import LOWER
from bmx_grid.attribution.contracts import check_explainer, check_metric, explanations_of, fitted_to
from bmx_grid.attribution.explain import count_texts, explanation_identity, item_key, word_counts
from bmx_grid.attribution.store import Slot, slot_of
from bmx_grid.core.errors import BmxError, ComponentError, ConfigError, DataMissingError, ExplainError, component_errors
from bmx_grid.core.storage import Place, names_in
from bmx_grid.core.wording import counted, setting_label, visible
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import SegmentSet, check_name, clusters
from bmx_grid.explainers.base import Explainer, GivenWords
from bmx_grid.metrics.base import GivenScores, Metric
from bmx_grid.sweep.settings import ALONE, PlannedSetting, Refused, Setting, SweepPlan
from bmx_grid.words.perturbation import Item, Role
from bmx_grid.words.segmentation import Name as WordsName
from bmx_grid.words.segmentation import PairWords


def make_plan(
    datasets: Mapping[str, DatasetReader],
    metrics: Mapping[str, Metric],
    explainers: Mapping[str, Explainer],
    *,
    data_dir: Path,
    cache_dir: Place,
    limit: int | None,
    seed: int,
    seeds: Sequence[int] = (),
    leave_out: Sequence[str] = (),
    words: WordsName = "whitespace",
) -> SweepPlan:
    """Read the data and expand the sweep, metric by metric so that a model is loaded once. Scores nothing.

    explainers: without any, the metrics alone are evaluated.
    seeds: with which settings are repeated, beside `seed`, where the explainer is random.
    leave_out: patterns of settings that are not wanted, "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER" with * for any.
    words: how texts are segmented.
    Data that cannot be read fail their own settings only. Raises ConfigError for what is no such pattern, and BmxError
    for a metric or explainer that is a file and names none.
    """
    for pattern in leave_out:
        _check_pattern(pattern)
    failed: list[Refused] = []
    sets: list[SegmentSet] = []
    for name, reader in datasets.items():
        found, missed = _read(name, reader, data_dir, limit)
        sets += found
        failed += missed
    for segments in sets:
        _warn_of_empty_texts(segments)
    explained = bool(explainers)
    metrics = _members("metric", metrics, sets, failed)
    explainers = _members("explainer", explainers, sets, failed)
    asked = explainers if explained else {ALONE: None}
    expansion = _Expansion(sets, asked, cache_dir, seed, seeds, leave_out, words)
    for name, metric in metrics.items():
        expansion.add(name, metric)
    return SweepPlan(
        settings=tuple(expansion.planned),
        left_out=(*expansion.left_out, *expansion.unwanted()),
        failed=(*failed, *expansion.failed),
        unavailable=_unavailable(metrics) | _unavailable(explainers),
        repeats={seed: tuple(found) for seed, found in expansion.repeats.items()},
    )


class _Expansion:
    """The settings of a sweep, and combinations that are skipped, as they are found metric by metric."""

    def __init__(
        self,
        sets: Sequence[SegmentSet],
        explainers: Mapping[str, Explainer | None],
        cache_dir: Place,
        seed: int,
        seeds: Sequence[int],
        leave_out: Sequence[str],
        words: WordsName,
    ) -> None:
        self._sets = sets
        self._explainers = explainers
        self._cache_dir = cache_dir
        self._listed: dict[Place, frozenset[str]] = {}  # the names in folders of the cache
        self._seed = seed
        self._further = [other for other in seeds if other != seed]
        self._unwanted = dict.fromkeys(leave_out, 0)  # how many settings each pattern has met
        self._words = {one.language_pair: PairWords.of_pair(words, one.language_pair) for one in sets}
        self._clusters = _clusters(sets)
        self._imported: dict[tuple[str, int], tuple[Explainer, GivenWords] | BmxError] = {}
        self._texts: dict[tuple[int, tuple[Role, ...], bool], _Texts] = {}
        self.planned: list[PlannedSetting] = []
        self.repeats: dict[int, list[PlannedSetting]] = {}
        self.left_out: list[Refused] = []
        self.failed: list[Refused] = []

    def add(self, name: str, metric: Metric) -> None:
        """All settings of a metric."""
        lacking = [(segments, [role for role in metric.reads if not segments.has(role)]) for segments in self._sets]
        self.left_out += _lacking(name, lacking)
        absent: dict[tuple[str, ...], dict[str, str]] = {}  # by data set and part
        for segments in (segments for segments, lacks in lacking if not lacks):
            pair = segments.dataset, segments.language_pair
            try:
                with component_errors():
                    fitted, given = fitted_to(metric, segments)
            except DataMissingError as error:
                absent.setdefault((segments.dataset, name), {})[segments.language_pair] = str(error)
                continue
            except BmxError as error:
                self.failed.append(Refused(setting_label(*pair, name), str(error)))
                continue
            asked = self._explainers if fitted.is_explained else {ALONE: None}
            for explainer_name, explainer in asked.items():
                if given is not None and explainer is not None and explainer.of_metric not in (None, name):
                    continue  # the words of one submission do not explain the scores of another
                if self._is_unwanted(*pair, name, explainer_name):
                    continue
                try:
                    with component_errors():
                        self._add(segments, (name, explainer_name), fitted, given, explainer)
                except DataMissingError as error:
                    absent.setdefault((segments.dataset, name, explainer_name), {})[pair[1]] = str(error)
                except BmxError as error:
                    self.failed.append(Refused(setting_label(*pair, name, explainer_name), str(error)))
        for names, reasons in sorted(absent.items(), key=lambda item: -len(item[0])):
            missing = "explanations" if len(names) == 3 else "scores"
            why = f"has no {missing} of {', '.join(reasons)}: {next(iter(reasons.values()))}"
            self.left_out.append(Refused(setting_label(*names), why))

    def _is_unwanted(self, *names: str) -> bool:
        """Whether a setting of these four names is to be left out; it counts for the first pattern that says so."""
        for pattern in self._unwanted:
            if all(map(fnmatchcase, names, pattern.split("/"))):
                self._unwanted[pattern] += 1
                return True
        return False

    def unwanted(self) -> list[Refused]:
        """Each pattern of settings to leave out, and how many it met."""
        met = {
            pattern: counted(count, "setting") if count else "no settings" for pattern, count in self._unwanted.items()
        }
        return [Refused(visible(pattern), f"matches {met[pattern]} of this sweep, by leave_out") for pattern in met]

    def _add(
        self,
        segments: SegmentSet,
        names: tuple[str, str],
        metric: Metric,
        given: GivenScores | None,
        explainer: Explainer | None,
    ) -> None:
        """One setting; names: of metric and explainer. Raises BmxError, DataMissingError for explanations."""
        words = self._words[segments.language_pair]
        unfit = None if explainer is None else _unfit(names[0], metric, given, explainer, words)
        if unfit is not None:
            label = setting_label(segments.dataset, segments.language_pair, *names)
            self.left_out.append(Refused(label, unfit))
            return
        imported = None
        if explainer is not None and explainer.is_given:
            explainer, imported = self._explanations(names[1], explainer, segments)
        texts = self._texts_of(segments, metric)
        # Explanations that exist already are not kept: the metric's scores are those of the metric alone.
        kept_names, kept = ((names[0], ALONE), None) if imported is not None else (names, explainer)
        again = self._further if explainer is not None and explainer.stochastic else []
        slot, *others = (
            slot_of(
                self._cache_dir,
                kept_names,
                explanation_identity(metric, kept, seed, words),
                (segments.dataset, segments.language_pair),
                metric.reads,
            )
            for seed in (self._seed, *again)
        )
        setting = Setting(
            segments,
            *names,
            metric,
            explainer,
            texts.items,
            texts.keys,
            slot,
            self._clusters[segments.dataset, segments.language_pair],
            self._seed,
            given,
            imported,
            words,
        )
        planned = _plan_setting(setting, self._missing(slot, texts), texts)
        if len(planned.refused) == len(segments) > 0:
            raise ExplainError(_refusals(planned))
        if planned.refused and imported is None:  # else they were named when the file was read
            warnings.warn(f"{setting.label}: not explained: {_refusals(planned)}", stacklevel=2)
        self.planned.append(planned)
        for seed, other in zip(again, others, strict=True):  # the same setting with other draws, kept in another place
            repeated = replace(setting, slot=other, seed=seed)
            missing = self._missing(other, texts)
            self.repeats.setdefault(seed, []).append(replace(planned, setting=repeated, missing=missing))

    def _missing(self, slot: Slot, texts: _Texts) -> tuple[int, ...]:
        """`Slot.missing`, with each folder listed once for all settings that are kept in it. Raises StoreError."""
        folder = slot.path.parent
        if folder not in self._listed:
            self._listed[folder] = names_in(folder)
        is_empty = self._listed[folder].isdisjoint((slot.path.name, slot.parts.name))
        return texts.distinct if is_empty else tuple(slot.missing(texts.keys))

    def _explanations(self, name: str, explainer: Explainer, segments: SegmentSet) -> tuple[Explainer, GivenWords]:
        """Explanations that exist already, read once for all metrics. What `Explainer.given` returns or raises."""
        key = name, id(segments)
        if key not in self._imported:
            try:
                with component_errors():
                    self._imported[key] = explanations_of(explainer, segments, self._words[segments.language_pair])
            except BmxError as error:
                self._imported[key] = error
        known = self._imported[key]
        if isinstance(known, BmxError):
            raise known
        return known

    def _texts_of(self, segments: SegmentSet, metric: Metric) -> _Texts:
        """What the metric reads of them, made once for all metrics that read the same."""
        of = id(segments), metric.reads, metric.reads_all_references
        if of not in self._texts:
            items = segments.items(metric.reads, all_references=metric.reads_all_references)
            self._texts[of] = _Texts(items, self._words[segments.language_pair])
        return self._texts[of]


def _unfit(name: str, metric: Metric, given: GivenScores | None, explainer: Explainer, words: PairWords) -> str | None:
    """Why an explainer cannot explain a metric, if so."""
    if not metric.higher_is_better:
        return f"{name} is a metric whose {LOWER}"
    if explainer.writes_texts and not words.plain:
        return f"writes single spaces between words, but words={words.name}"
    if given is not None and not explainer.is_given:
        return "has scores from a file, which no explainer can ask for other texts; write explainer=[]"
    return None


def _check_pattern(pattern: str) -> None:
    """Raise ConfigError for what is no pattern of settings."""
    if pattern.count("/") != 3:
        raise ConfigError(
            f"leave_out: '{visible(pattern)}' names no setting; write "
            "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER, with * for any, as in leave_out=['*/en-de/minilm_*/shap']."
        )


Part = TypeVar("Part", Metric, Explainer)


def _members(
    group: str, parts: Mapping[str, Part], sets: Sequence[SegmentSet], failed: list[Refused]
) -> dict[str, Part]:
    """The parts by name, where an option may stand for several; adds to `failed` those that break their contract.

    Raises ConfigError for a name that occurs twice.
    """
    found: dict[str, Part] = {}
    for option, part in parts.items():
        try:
            with component_errors():
                members = part.members(option, sets)
                for member in members.values():
                    check_metric(member) if isinstance(member, Metric) else check_explainer(member)
        except ComponentError as error:
            failed.append(Refused(f"{group} {option}", str(error)))
            continue
        for name, one in members.items():
            check_name(group, name, f"{group}.{option}")
            if name in found:
                raise ConfigError(
                    f"{group}.{option}: there is another {group} '{name}'; give one of them another name."
                )
            found[name] = one
    return found


def _clusters(sets: Sequence[SegmentSet]) -> dict[tuple[str, str], Sequence[str]]:
    found: dict[tuple[str, str], Sequence[str]] = {}
    for name in dict.fromkeys(segments.dataset for segments in sets):
        own = [segments for segments in sets if segments.dataset == name]
        for segments, labels in zip(own, clusters(own), strict=True):
            found[name, segments.language_pair] = labels.tolist()
    return found


def _lacking(metric: str, found: Sequence[tuple[SegmentSet, Sequence[str]]]) -> list[Refused]:
    """What a metric is left out of: one sentence for each data set and text that it lacks."""
    where: dict[tuple[str, str], list[str]] = {}
    for segments, roles in found:
        for role in roles:
            where.setdefault((segments.dataset, role), []).append(segments.language_pair)
    return [
        Refused(
            setting_label(dataset, metric),
            f"reads the {role}, which {dataset} does not have for every segment ({', '.join(pairs)})",
        )
        for (dataset, role), pairs in where.items()
    ]


def _unavailable(parts: Mapping[str, Metric] | Mapping[str, Explainer]) -> dict[str, str]:
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
    found: list[SegmentSet] = []
    errors: dict[str, BmxError] = {}
    for pair in pairs:
        try:
            found.append(reader.read(data_dir, pair).head(limit))
        except BmxError as error:
            errors[pair] = error
    if len(errors) > 1 and not found and all(isinstance(error, DataMissingError) for error in errors.values()):
        return [], [Refused(f"{name} (all {len(errors)} language pairs)", str(next(iter(errors.values()))))]
    return found, [Refused(setting_label(name, pair), str(error)) for pair, error in errors.items()]


class _Texts:
    """What settings that read the same texts share. items: N; keys: of each; distinct: where each key stands first."""

    def __init__(self, items: tuple[Item, ...], words: PairWords) -> None:
        self.items, self._words = items, words
        self.keys = tuple(map(item_key, items))
        first = {key: row for row, key in reversed([*enumerate(self.keys)])}
        self.distinct = tuple(sorted(first.values()))

    @cached_property
    def sizes(self) -> list[tuple[int, ...]]:
        """The number of words of each text of the N items, equal ones once."""
        known: dict[tuple[int, ...], tuple[int, ...]] = {}
        counts = (word_counts(item, self._words) for item in self.items)
        return [known.setdefault(one, one) for one in counts]


def _plan_setting(setting: Setting, missing: tuple[int, ...], texts: _Texts) -> PlannedSetting:
    refused: dict[int, str] = {} if setting.imported is None else dict(setting.imported.refused)
    if setting.given is not None:
        return PlannedSetting(setting, (), (), refused)
    found: list[int] = []
    known = texts.sizes if setting.asked is not None else [()] * len(setting.items)
    for position, (item, sizes) in enumerate(zip(setting.items, known, strict=True)):
        try:
            found.append(count_texts(setting.metric, setting.asked, item, words=setting.words, sizes=sizes))
        except ExplainError as error:
            if setting.asked is None:  # the metric itself refuses: there is no score either
                raise
            found.append(1)  # its own text, for the metric's score
            refused[position] = str(error)
    return PlannedSetting(setting, missing, tuple(found), refused)


def _refusals(planned: PlannedSetting) -> str:
    """The first segment that cannot be explained, why, and how many there are."""
    position, reason = next(iter(planned.refused.items()))
    more = len(planned.refused) - 1
    others = f" ({counted(more, 'more segment')} likewise)" if more else ""
    return f"segment '{planned.setting.segments.segments[position].id}': {reason}{others}"


def _warn_of_empty_texts(segments: SegmentSet) -> None:
    empty = segments.empty_texts()
    if empty:
        some = ", ".join(empty[:3]) + (", …" if len(empty) > 3 else "")
        warnings.warn(
            f"{segments.origin or segments.dataset}: {len(empty)} of {len(segments)} segments "
            f"{'has' if len(empty) == 1 else 'have'} an empty text "
            f"(segment {some}); metrics give empty text its stated score, and an empty side has no attributions.",
            stacklevel=2,
        )
