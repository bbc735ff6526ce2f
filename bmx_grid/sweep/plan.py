"""From a sweep to its settings: what will be run, what is cached, what is left out and why."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from bmx_grid.attribution.boosted import LOWER
from bmx_grid.attribution.explain import count_texts, explanation_identity, item_key, word_counts
from bmx_grid.attribution.places import Places, distinct
from bmx_grid.attribution.store import AttributionSet, Slot
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.errors import BmxError, ConfigError, DataMissingError, ExplainError
from bmx_grid.explainers.base import Explainer, GivenWords
from bmx_grid.metrics.base import GivenScores, Metric
from bmx_grid.segments import SegmentSet, check_name, clusters
from bmx_grid.storage.addresses import Place
from bmx_grid.wording import counted, setting_label
from bmx_grid.words.perturbation import Item, Role
from bmx_grid.words.segmentation import WHITESPACE, PairWords
from bmx_grid.words.segmentation import Name as WordsName
from bmx_grid.words.tags import Rows

ALONE = "none"  # the explainer's name in settings of a metric alone


@dataclass(frozen=True, eq=False)
class Setting:
    """Data set x language pair x metric x explainer, with the objects behind the names.

    explainer: None for the metric alone, whose explainer_name is "none". given: the scores where they exist already,
    imported: the explanations. items: the texts that the metric reads. words: how texts are segmented.
    """

    segments: SegmentSet
    metric_name: str
    explainer_name: str
    metric: Metric
    explainer: Explainer | None
    items: tuple[Item, ...]
    keys: tuple[str, ...]
    slot: Slot
    given: GivenScores | None = None
    imported: GivenWords | None = None
    words: PairWords = WHITESPACE

    @property
    def asked(self) -> Explainer | None:
        """The explainer that is asked while the setting runs: none where its explanations exist already."""
        return None if self.imported is not None else self.explainer

    def explanations(self) -> AttributionSet:
        """Scores and attributions of the N segments. Raises StoreError for those that are not in the store."""
        found = self.slot.load(self.keys) if self.given is None else AttributionSet(self.given.segments, {})
        return found if self.imported is None else replace(found, by_role=self.imported.attributions)

    def attributed(self) -> dict[Role, Rows]:
        """By role, the N rows of words that the attributions belong to."""
        if self.imported is not None:
            return dict(self.imported.attributed)
        roles = () if self.explainer is None else self.metric.reads
        return {role: tuple(self.words.words(role, one.text(role)) for one in self.items) for role in roles}

    def identity(self, seed: int) -> dict[str, object]:
        """All that its explanations depend on besides the texts."""
        return explanation_identity(self.metric, self.explainer, seed, self.words)

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Data set, language pair, metric, explainer: what tells settings apart."""
        return self.segments.dataset, self.segments.language_pair, self.metric_name, self.explainer_name

    @property
    def label(self) -> str:
        """How people name it: data set, pair, metric, explainer."""
        return setting_label(*self.names)


@dataclass(frozen=True, eq=False)
class PlannedSetting:
    """A setting, what is still to do for it, and what it costs.

    missing: positions of segments that are not explained yet; n_texts_of_all: how many texts each segment needs.
    refused: positions of segments that the explainer cannot explain, with its reason; they keep the metric's score, and
        take no part where attributions are needed.
    """

    setting: Setting
    missing: tuple[int, ...]
    n_texts_of_all: tuple[int, ...]
    refused: Mapping[int, str]

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
    """A part of a sweep that is not run, and why."""

    label: str
    reason: str


@dataclass(frozen=True, eq=False)
class SweepPlan:
    """All settings of a sweep.

    left_out: combinations that cannot be, with a sentence each. failed: those that should have been.
    clusters: by data set and language pair, a label for each segment: segments of one label share a source or a
        reference, also across the language pairs of a data set.
    unavailable: metrics and explainers that are unavailable here, with the remedy; their settings are planned, and
    fail when they are run unless they are cached.
    repeats: by further seed, the settings whose explainer is random, once more with that seed.
    """

    settings: tuple[PlannedSetting, ...]
    left_out: tuple[Refused, ...]
    failed: tuple[Refused, ...]
    unavailable: Mapping[str, str]
    clusters: Mapping[tuple[str, str], Sequence[str]]
    repeats: Mapping[int, tuple[PlannedSetting, ...]] = field(default_factory=dict)

    def clusters_of(self, setting: Setting) -> Sequence[str]:
        """N labels of the clusters that the setting's segments belong to."""
        return self.clusters[setting.segments.dataset, setting.segments.language_pair]

    def obstacle(self, setting: Setting) -> str | None:
        """Why a setting cannot be scored here, if so."""
        names = (setting.metric_name, setting.explainer_name)
        return next((self.unavailable[name] for name in names if name in self.unavailable), None)

    @property
    def n_texts(self) -> int:
        """Texts still to score, with all seeds, before repeated texts are removed."""
        return sum(planned.n_texts for planned in self.everything)

    @property
    def everything(self) -> tuple[PlannedSetting, ...]:
        """The settings, then those repeated with further seeds."""
        return (*self.settings, *(planned for settings in self.repeats.values() for planned in settings))


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
    unwanted = dict.fromkeys(leave_out, 0)
    for pattern in unwanted:
        if pattern.count("/") != 3:
            raise ConfigError(
                f"leave_out: '{pattern}' names no setting; write DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER, with * for "
                "any, as in leave_out=['*/en-de/minilm_*/shap']."
            )
    left_out: list[Refused] = []
    failed: list[Refused] = []
    sets: list[SegmentSet] = []
    for name, reader in datasets.items():
        found, missed = _read(name, reader, data_dir, limit)
        sets += found
        failed += missed
    for segments in sets:
        _warn_of_empty_texts(segments)
    metrics = _members("metric", metrics, sets)
    explainers = _members("explainer", explainers, sets)
    segmented = {one.language_pair: PairWords.of_pair(words, one.language_pair) for one in sets}
    read = _Explanations(segmented)
    places = Places(cache_dir)
    texts_of: dict[tuple[int, tuple[Role, ...], bool], _Texts] = {}
    planned: list[PlannedSetting] = []
    repeats: dict[int, list[PlannedSetting]] = {}
    unavailable = _unavailable(metrics) | _unavailable(explainers)
    of_metric: Mapping[str, Explainer | None] = explainers if explainers else {ALONE: None}
    for metric_name, metric in metrics.items():
        lacking: dict[int, list[str]] = {
            id(segments): [role for role in metric.reads if not segments.has(role)] for segments in sets
        }
        left_out += _lacking(metric_name, [(segments, lacking[id(segments)]) for segments in sets])
        absent: dict[str, dict[str, str]] = {}  # data set -> pairs without scores, and why
        unexplained: dict[tuple[str, str], dict[str, str]] = {}  # data set, explainer -> pairs without explanations
        for segments in sets:
            if lacking[id(segments)]:
                continue
            try:
                fitted = metric.fitted(segments)
                given = fitted.given(segments)
            except DataMissingError as error:
                absent.setdefault(segments.dataset, {})[segments.language_pair] = str(error)
                continue
            except BmxError as error:
                failed.append(Refused(setting_label(segments.dataset, segments.language_pair, metric_name), str(error)))
                continue
            of_pair = segmented[segments.language_pair]
            of = id(segments), metric.reads, fitted.reads_all_references
            if of not in texts_of:
                items = segments.items(metric.reads, all_references=fitted.reads_all_references)
                texts_of[of] = _Texts(items, of_pair)
            texts = texts_of[of]
            for explainer_name, explainer in of_metric.items():
                names = (metric_name, explainer_name)
                if explainer is not None and not metric.higher_is_better:
                    label = setting_label(segments.dataset, segments.language_pair, *names)
                    left_out.append(Refused(label, f"{metric_name} is a metric whose {LOWER}"))
                    continue
                if given is not None and explainer is not None and explainer.of_metric not in (None, metric_name):
                    continue  # the words of one submission do not explain the scores of another
                matching = _matching(unwanted, segments.dataset, segments.language_pair, *names)
                if matching is not None:
                    unwanted[matching] += 1
                    continue
                imported = None
                if explainer is not None and explainer.writes_texts and words != "whitespace":
                    label = setting_label(segments.dataset, segments.language_pair, *names)
                    left_out.append(Refused(label, f"writes single spaces between words, but words={words}"))
                    continue
                if explainer is not None and explainer.is_given:
                    try:
                        explainer, imported = read.of(explainer_name, explainer, segments)
                    except DataMissingError as error:
                        where = segments.dataset, explainer_name
                        unexplained.setdefault(where, {})[segments.language_pair] = str(error)
                        continue
                    except BmxError as error:
                        label = setting_label(segments.dataset, segments.language_pair, *names)
                        failed.append(Refused(label, str(error)))
                        continue
                elif given is not None and explainer is not None:
                    why = "has scores from a file, which no explainer can ask for other texts; write explainer=[]"
                    left_out.append(Refused(setting_label(segments.dataset, segments.language_pair, *names), why))
                    continue
                where_kept = segments.dataset, segments.language_pair, metric.reads
                # Explanations that exist already are not kept: the metric's scores are those of the metric alone.
                kept = (metric_name, ALONE, None) if imported is not None else (*names, explainer)
                slot_of = partial(places.slot, fitted, kept, of_pair, where_kept)
                read_as = texts.items, texts.keys
                setting = Setting(
                    segments, *names, fitted, explainer, *read_as, slot_of(seed), given, imported, of_pair
                )
                again = [other for other in seeds if other != seed and explainer is not None and explainer.stochastic]
                try:
                    one = _plan_setting(setting, places, texts)
                    others = [_repeat(one, slot_of(other), places, texts) for other in again]
                except BmxError as error:
                    failed.append(Refused(setting.label, str(error)))
                    continue
                if len(one.refused) == len(segments) > 0:
                    failed.append(Refused(setting.label, _refusals(one)))
                    continue
                if one.refused and imported is None:  # else they were named when the file was read
                    warnings.warn(f"{setting.label}: not explained: {_refusals(one)}", stacklevel=2)
                planned.append(one)
                for other, repeat in zip(again, others, strict=True):
                    repeats.setdefault(other, []).append(repeat)
        for (dataset, explainer_name), reasons in unexplained.items():
            why = f"has no explanations of {', '.join(reasons)}: {next(iter(reasons.values()))}"
            left_out.append(Refused(setting_label(dataset, metric_name, explainer_name), why))
        for dataset, reasons in absent.items():
            why = f"has no scores of {', '.join(reasons)}: {next(iter(reasons.values()))}"
            left_out.append(Refused(setting_label(dataset, metric_name), why))
    for pattern, count in unwanted.items():
        left_out.append(
            Refused(
                pattern, f"matches {counted(count, 'setting') if count else 'no settings'} of this sweep, by leave_out"
            )
        )
    of_seeds = {other: tuple(found) for other, found in repeats.items()}
    return SweepPlan(tuple(planned), tuple(left_out), tuple(failed), unavailable, _clusters(sets), of_seeds)


Part = TypeVar("Part", Metric, Explainer)


def _members(group: str, parts: Mapping[str, Part], sets: Sequence[SegmentSet]) -> dict[str, Part]:
    """The parts by name, where an option may stand for several. Raises ConfigError for a name that occurs twice."""
    found: dict[str, Part] = {}
    for option, part in parts.items():
        for name, one in part.members(option, sets).items():
            check_name(group, name, f"{group}.{option}")
            if name in found:
                raise ConfigError(
                    f"{group}.{option}: there is another {group} '{name}'; give one of them another name."
                )
            found[name] = one
    return found


class _Explanations:
    """Explanations that exist already, read once for all metrics of a sweep."""

    def __init__(self, words: Mapping[str, PairWords]) -> None:
        self._words = words
        self._known: dict[tuple[str, int], tuple[Explainer, GivenWords] | BmxError] = {}

    def of(self, name: str, explainer: Explainer, segments: SegmentSet) -> tuple[Explainer, GivenWords]:
        """What `Explainer.given` returns or raises."""
        key = name, id(segments)
        if key not in self._known:
            try:
                found = explainer.given(segments, self._words[segments.language_pair])
                assert found is not None
                self._known[key] = found
            except BmxError as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, BmxError):
            raise known
        return known


def _clusters(sets: Sequence[SegmentSet]) -> dict[tuple[str, str], Sequence[str]]:
    found: dict[tuple[str, str], Sequence[str]] = {}
    for name in dict.fromkeys(segments.dataset for segments in sets):
        own = [segments for segments in sets if segments.dataset == name]
        for segments, labels in zip(own, clusters(own), strict=True):
            found[name, segments.language_pair] = labels.tolist()
    return found


def _lacking(metric: str, found: Sequence[tuple[SegmentSet, list[str]]]) -> list[Refused]:
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


def _matching(patterns: Iterable[str], *names: str) -> str | None:
    """The first of the patterns whose parts match the four names."""
    for pattern in patterns:
        if all(fnmatchcase(name, part) for name, part in zip(names, pattern.split("/"), strict=True)):
            return pattern
    return None


def _unavailable(parts: Mapping[str, Metric] | Mapping[str, Explainer]) -> dict[str, str]:
    """The reasons of the parts that are unavailable here, by their name."""
    reasons = {}
    for name, part in parts.items():
        try:
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
    """What settings that read the same texts share. items: N; keys: of each; distinct: `places.distinct`."""

    def __init__(self, items: tuple[Item, ...], words: PairWords) -> None:
        self.items, self._words = items, words
        self.keys = tuple(map(item_key, items))
        self.distinct = distinct(self.keys)

    @cached_property
    def sizes(self) -> list[tuple[int, ...]]:
        """The number of words of each text of the N items, equal ones once."""
        known: dict[tuple[int, ...], tuple[int, ...]] = {}
        counts = (word_counts(item, self._words) for item in self.items)
        return [known.setdefault(one, one) for one in counts]


def _plan_setting(setting: Setting, places: Places, texts: _Texts) -> PlannedSetting:
    """Raises StoreError for the cache."""
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
    missing = places.missing(setting.slot, setting.keys, texts.distinct)
    return PlannedSetting(setting, missing, tuple(found), refused)


def _repeat(planned: PlannedSetting, place: Slot, places: Places, texts: _Texts) -> PlannedSetting:
    """The same setting with other draws, kept in another place. Raises StoreError for the cache."""
    setting = replace(planned.setting, slot=place)
    return replace(planned, setting=setting, missing=places.missing(place, setting.keys, texts.distinct))


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
