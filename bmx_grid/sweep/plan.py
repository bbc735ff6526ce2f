"""From a sweep to its settings: what will be run, what is cached, what is left out and why."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from bmx_grid.attribution.explain import count_texts, explanation_identity, pair_key
from bmx_grid.attribution.store import Slot, slot
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.errors import BmxError, ConfigError, DataMissingError, ExplainError
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric, Pair
from bmx_grid.segments import SegmentSet
from bmx_grid.wording import setting_label


@dataclass(frozen=True, eq=False)
class Setting:
    """Data set x language pair x metric x explainer, with the objects behind the names."""

    segments: SegmentSet
    metric_name: str
    explainer_name: str
    metric: Metric
    explainer: Explainer
    pairs: tuple[Pair, ...]
    keys: tuple[str, ...]
    slot: Slot

    @property
    def label(self) -> str:
        """How people name it: data set, pair, metric, explainer."""
        return setting_label(self.segments.dataset, self.segments.language_pair, self.metric_name, self.explainer_name)


@dataclass(frozen=True, eq=False)
class PlannedSetting:
    """A setting, the positions of its segments that are not explained yet, and the texts these need."""

    setting: Setting
    missing: tuple[int, ...]
    n_texts: int

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
    unavailable: metrics and explainers that cannot be had here, with the remedy; their settings are planned, and
    fail when they are run unless they are cached.
    """

    settings: tuple[PlannedSetting, ...]
    left_out: tuple[Refused, ...]
    failed: tuple[Refused, ...]
    unavailable: Mapping[str, str]

    def obstacle(self, setting: Setting) -> str | None:
        """Why a setting cannot be scored here, if so."""
        names = (setting.metric_name, setting.explainer_name)
        return next((self.unavailable[name] for name in names if name in self.unavailable), None)

    @property
    def n_texts(self) -> int:
        """Texts still to score, before repeats are taken out."""
        return sum(planned.n_texts for planned in self.settings)


def make_plan(
    datasets: Mapping[str, DatasetReader],
    metrics: Mapping[str, Metric],
    explainers: Mapping[str, Explainer],
    *,
    data_dir: Path,
    cache_dir: Path,
    limit: int | None,
    seed: int,
    leave_out: Sequence[str] = (),
) -> SweepPlan:
    """Read the data and expand the sweep, metric by metric so that a model is loaded once. Scores nothing.

    leave_out: patterns of settings that are not wanted, "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER" with * for any.
    Data that cannot be read fail their own settings only. Raises ConfigError for what is no such pattern.
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
    planned: list[PlannedSetting] = []
    unavailable = _unavailable(metrics) | _unavailable(explainers)
    for metric_name, metric in metrics.items():
        lacking = [segments for segments in sets if not segments.has(metric.reads)]
        for dataset in dict.fromkeys(segments.dataset for segments in lacking):
            where = ", ".join(segments.language_pair for segments in lacking if segments.dataset == dataset)
            reason = f"reads the {metric.reads}, which {dataset} does not have for every segment ({where})"
            left_out.append(Refused(setting_label(dataset, metric_name), reason))
        for segments in sets:
            if segments in lacking:
                continue
            pairs = tuple(zip(segments.ground_truths(metric.reads), segments.hypotheses, strict=True))
            keys = tuple(pair_key(*pair) for pair in pairs)
            for explainer_name, explainer in explainers.items():
                names = (metric_name, explainer_name)
                matching = _matching(unwanted, segments.dataset, segments.language_pair, *names)
                if matching is not None:
                    unwanted[matching] += 1
                    continue
                identity = explanation_identity(metric, explainer, seed)
                place = slot(cache_dir, names, identity, segments.dataset, segments.language_pair)
                setting = Setting(segments, *names, metric, explainer, pairs, keys, place)
                try:
                    planned.append(_plan_setting(setting))
                except BmxError as error:
                    failed.append(Refused(setting.label, str(error)))
    for pattern, count in unwanted.items():
        left_out.append(Refused(pattern, f"matches {count or 'no'} settings of this sweep, by leave_out"))
    return SweepPlan(tuple(planned), tuple(left_out), tuple(failed), unavailable)


def _matching(patterns: Iterable[str], *names: str) -> str | None:
    """The first of the patterns whose parts match the four names."""
    for pattern in patterns:
        if all(fnmatchcase(name, part) for name, part in zip(names, pattern.split("/"), strict=True)):
            return pattern
    return None


def _unavailable(parts: Mapping[str, Metric] | Mapping[str, Explainer]) -> dict[str, str]:
    """The reasons of the parts that cannot be had here, by their name."""
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


def _plan_setting(setting: Setting) -> PlannedSetting:
    """Raises ExplainError naming the first segment that cannot be explained, StoreError for the cache."""
    missing = tuple(setting.slot.missing(setting.keys))
    n_texts = 0
    for position in missing:
        try:
            n_texts += count_texts(setting.metric, setting.explainer, setting.pairs[position])
        except ExplainError as error:
            raise ExplainError(f"segment '{setting.segments.segments[position].id}': {error}") from error
    return PlannedSetting(setting, missing, n_texts)


def _warn_of_empty_texts(segments: SegmentSet) -> None:
    empty = segments.empty_texts()
    if empty:
        some = ", ".join(empty[:3]) + (", …" if len(empty) > 3 else "")
        warnings.warn(
            f"{segments.origin or segments.dataset}: {len(empty)} of {len(segments)} segments have an empty text "
            f"(segment {some}); metrics give empty text its stated score, and an empty side has no attributions.",
            stacklevel=2,
        )
