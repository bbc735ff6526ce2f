"""The second move of a plan: metrics and explainers are combined on every set, and what cannot be is named."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Literal, TypeVar

from bmx_grid.attribution.boosted import LOWER
from bmx_grid.attribution.contracts import fitted_to
from bmx_grid.attribution.explain import NOT_ASKED, asked_of
from bmx_grid.attribution.filled import Filling, scores_from_file, words_from_file
from bmx_grid.core.errors import BmxError, ConfigError, DataMissingError, component_errors
from bmx_grid.core.wording import named, setting_label, visible
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.explainers.base import Explainer, GivenWords
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.read import Read
from bmx_grid.sweep.settings import ALONE, Refused
from bmx_grid.words.segmentation import PairWords

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """A combination on its way to a setting: a metric that is fitted to the segments, and an explainer, if any.

    words: how the texts are segmented. filling: what files fill of its slot.
    """

    segments: SegmentSet
    metric_name: str
    explainer_name: str
    metric: Metric
    explainer: Explainer | None
    words: PairWords
    filling: Filling

    @property
    def pair(self) -> tuple[str, str]:
        """Data set and language pair."""
        return self.segments.dataset, self.segments.language_pair

    @property
    def label(self) -> str:
        """Data set, language pair, metric and explainer."""
        return setting_label(*self.pair, self.metric_name, self.explainer_name)

    @property
    def to_ask(self) -> Explainer | None:
        """The explainer that is to be asked: none where its explanations exist already."""
        return self.filling.left_to(self.explainer)


@dataclass(frozen=True)
class Fallen:
    """A combination that becomes no setting, and why.

    pair, details: of what cannot be, or whose data are absent; the kind of both is "absent". A reason is said once for
    all language pairs, with the first one's details. error: of one that failed.
    """

    kind: Literal["failed", "absent", "unwanted"]
    label: str
    reason: str
    pair: str = ""
    details: str = ""
    error: BmxError | None = None


def combine(
    read: Read,
    metrics: Mapping[str, Metric],
    explainers: Mapping[str, Explainer | None],
    patterns: Sequence[str],
) -> list[Candidate | Fallen]:
    """Every metric with every explainer on every set, metric by metric so that a model is loaded once.

    patterns: of what is not wanted (`PlanOptions.leave_out`). Raises ConfigError for one that names no setting.
    """
    _check_patterns(patterns)
    everything: list[Candidate | Fallen] = []
    for name, metric in metrics.items():
        for segments in read.sets:
            everything += _of_metric(name, metric, segments, read.words[segments.language_pair], explainers)
    wanted = each(partial(_if_wanted, patterns=patterns), everything)
    possible = each(_if_possible, wanted)
    known: dict[tuple[str, ...], tuple[Explainer, GivenWords]] = {}  # a file is read once for all metrics
    return each(partial(_with_words_from_file, known=known), possible)


def tried(step: Callable[[], Value], segments: SegmentSet, *names: str, absent: str) -> Value | Fallen:
    """What a step returns. absent: the reason where its data are missing."""
    try:
        with component_errors():
            return step()
    except DataMissingError as error:
        return Fallen("absent", setting_label(segments.dataset, *names), absent, segments.language_pair, f": {error}")
    except BmxError as error:
        label = setting_label(segments.dataset, segments.language_pair, *names)
        return Fallen("failed", label, str(error), error=error)


def each(step: Callable[[Candidate], Value | Fallen], candidates: Sequence[Candidate | Fallen]) -> list[Value | Fallen]:
    """What a step makes of each candidate, in their order; those that have fallen stay."""
    results: list[Value | Fallen] = []
    for candidate in candidates:
        if isinstance(candidate, Candidate):
            names = (candidate.metric_name, candidate.explainer_name)
            results.append(tried(partial(step, candidate), candidate.segments, *names, absent="no explanations"))
        else:
            results.append(candidate)
    return results


def left_out(fallen: Sequence[Fallen], patterns: Sequence[str]) -> list[Refused]:
    """Combinations that cannot be, or whose data are absent; what is not wanted, and patterns that fit nothing.

    The ones of kind "failed" are not among them: `make_plan` lists these apart.
    """
    absent: dict[tuple[str, str], dict[str, str]] = {}
    unwanted: dict[str, list[str]] = {pattern: [] for pattern in patterns}
    for combination in fallen:
        if combination.kind == "absent":
            by_pair = absent.setdefault((combination.label, combination.reason), {})
            by_pair[combination.pair] = combination.details
        elif combination.kind == "unwanted":
            unwanted[combination.reason].append(combination.label)
    lacking = []
    for (label, reason), by_pair in absent.items():
        pairs = ", ".join(by_pair)
        first_details = next(iter(by_pair.values()))
        lacking.append(Refused(label, f"{reason.rstrip('.')} ({pairs}){first_details}"))
    labels = list(itertools.chain.from_iterable(unwanted.values()))
    by_choice = [Refused(named(labels, 1), "not wanted in this sweep (leave_out)")] if labels else []
    useless = "no setting fits this pattern of leave_out; correct or delete it"
    fits_nothing = [Refused(visible(pattern), useless) for pattern in unwanted if not unwanted[pattern]]
    return [*lacking, *by_choice, *fits_nothing]


def _check_patterns(patterns: Sequence[str]) -> None:
    for pattern in patterns:
        if pattern.count("/") != 3:
            raise ConfigError(
                f"leave_out: '{visible(pattern)}' names no setting; write "
                "DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER, with * for any, as in leave_out=['*/en-de/minilm_*/shap']."
            )


def _of_metric(
    name: str, metric: Metric, segments: SegmentSet, words: PairWords, explainers: Mapping[str, Explainer | None]
) -> list[Candidate | Fallen]:
    """A metric, fitted to the segments, with each explainer that it may have."""
    lacking = [role for role in metric.reads if not segments.has(role)]
    if lacking:
        label = setting_label(segments.dataset, name)
        reasons = [
            f"the metric reads the {role}, which {segments.dataset} does not have for every segment" for role in lacking
        ]
        return [Fallen("absent", label, reason, segments.language_pair) for reason in reasons]
    fitted = tried(partial(_fitted, metric, segments), segments, name, absent="no scores")
    if isinstance(fitted, Fallen):
        return [fitted]
    known, filling = fitted
    candidates: list[Candidate | Fallen] = []
    if not known.is_explained:
        explainers = {ALONE: None}
    for explainer_name, explainer in explainers.items():
        if explainer is None or filling.explains(explainer, name):
            candidate = Candidate(
                segments=segments,
                metric_name=name,
                explainer_name=explainer_name,
                metric=known,
                explainer=explainer,
                words=words,
                filling=filling,
            )
            candidates.append(candidate)
    return candidates


def _fitted(metric: Metric, segments: SegmentSet) -> tuple[Metric, Filling]:
    fitted = fitted_to(metric, segments)
    return fitted, scores_from_file(fitted, segments)


def _if_wanted(candidate: Candidate, patterns: Sequence[str]) -> Candidate | Fallen:
    """The candidate, if it is wanted; else it counts for the first pattern that says so."""
    names = (*candidate.pair, candidate.metric_name, candidate.explainer_name)
    for pattern in patterns:
        if all(map(fnmatchcase, names, pattern.split("/"))):
            return Fallen("unwanted", candidate.label, pattern)
    return candidate


def _if_possible(candidate: Candidate) -> Candidate | Fallen:
    """The candidate, if its explainer can explain its metric."""
    unfit = None if candidate.explainer is None else _unfit(candidate, candidate.explainer)
    if unfit is None:
        return candidate
    label = setting_label(candidate.segments.dataset, candidate.metric_name, candidate.explainer_name)
    return Fallen("absent", label, unfit, candidate.segments.language_pair)


def _unfit(candidate: Candidate, explainer: Explainer) -> str | None:
    """Why an explainer cannot explain a metric, if so."""
    if not candidate.metric.higher_is_better:
        return f"{candidate.metric_name} is a metric whose {LOWER}"
    if explainer.writes_texts and not candidate.words.plain:
        return f"the explainer writes single spaces between words, but words={candidate.words.name}"
    if asked_of(explainer, candidate.metric) is None:
        return NOT_ASKED
    if candidate.filling.scores is not None and not explainer.is_given:
        return "the scores are from a file, which no explainer can ask for other texts; write explainer=[]"
    return None


def _with_words_from_file(
    candidate: Candidate, known: dict[tuple[str, ...], tuple[Explainer, GivenWords]]
) -> Candidate:
    """The candidate with its explanations, where they are a file's. known: those read, by explainer and pair."""
    if candidate.explainer is None or not candidate.explainer.is_given:
        return candidate
    key = (candidate.explainer_name, *candidate.pair)
    if key not in known:
        known[key] = words_from_file(candidate.explainer, candidate.segments, candidate.words)
    explainer, words = known[key]
    return replace(candidate, explainer=explainer, filling=replace(candidate.filling, words=words))
