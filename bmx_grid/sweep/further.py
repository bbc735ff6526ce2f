"""Texts that evaluations want scored beside those of a plan: counted before the sweep, scored once it is explained.

Which texts they are depends on the explanations, as those of a deletion curve do. They are scored as all others, in
chunks that go through the executor, and kept where the store keeps the scores of the metric alone, so that what is
scored once is never scored again, whichever explainer or evaluation wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from bmx_grid.attribution.explain import explanation_identity, item_key
from bmx_grid.attribution.store import AttributionStore, open_store
from bmx_grid.core.errors import BmxError, component_errors
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import Place
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.sweep.executors.base import Executor
from bmx_grid.sweep.judge import Evaluations, SettingResult, Spent, failure
from bmx_grid.sweep.scoring import score_settings
from bmx_grid.sweep.settings import ALONE, FurtherTexts, NotRun, Setting, SweepPlan
from bmx_grid.sweep.time_left import ScoredTexts
from bmx_grid.words.perturbation import Item

LABEL = "further texts"  # in place of the explainer's name in failures of texts that could not be scored


def add_further_texts(plan: SweepPlan, evaluations: Evaluations, cache_dir: Place) -> SweepPlan:
    """The plan with the texts that evaluations want scored.

    Of settings that are explained already they are those that the store lacks, of the others the most there can be.
    Raises ConfigError if the sweep then costs more than the user allows.
    """
    parts = []
    for name, evaluation in _asking(evaluations).items():
        for setting in plan.settings:
            if not _can_be_asked(setting):
                continue
            n_texts, n_characters = _count(evaluation, setting, cache_dir)
            if n_texts:
                parts.append(FurtherTexts(name, setting.metric_name, n_texts, n_characters))
    if not parts:
        return plan
    plan = replace(plan, further=tuple(parts))
    plan.costs()  # raises if they cost more than the user allows
    return plan


def _count(evaluation: Evaluation, setting: Setting, cache_dir: Place) -> tuple[int, int]:
    """At most how many texts of a setting are to be scored, and their characters."""
    n_words = [len(setting.words.words("hypothesis", item.text("hypothesis"))) for item in setting.items]
    n_texts = evaluation.count_texts(n_words)
    if setting.is_cached and n_texts:
        missing = _missing(evaluation.texts(setting.load()), _slot(setting, cache_dir))
        return len(missing), sum(item.n_characters for item in missing)
    mean_length = sum(item.n_characters for item in setting.items) // max(len(setting.items), 1)
    return n_texts, n_texts * mean_length


def _asking(evaluations: Evaluations) -> dict[str, Evaluation]:
    """The evaluations that want texts scored, by the name of their option."""
    return {name: part for name, part in evaluations.items() if type(part).texts is not Evaluation.texts}


def _can_be_asked(setting: Setting) -> bool:
    """Whether a setting has an explanation, and its metric can score other texts than those of a file."""
    return setting.explainer is not None and setting.scores_of_file is None


def _slot(setting: Setting, cache_dir: Place) -> AttributionStore:
    """Where the store keeps what the metric of a setting scores, whatever the explainer."""
    identity = explanation_identity(setting.metric, None, setting.seed, setting.words)
    return open_store(cache_dir, (setting.metric_name, ALONE), identity, setting.pair, setting.metric.reads, ())


def _missing(items: Sequence[Item], slot: AttributionStore) -> list[Item]:
    """The items that a slot lacks, each once."""
    keys = [item_key(item) for item in items]
    return [items[place] for place in slot.missing(keys)]


@dataclass(frozen=True, eq=False)
class _SharedTexts:
    """Settings of one metric and language pair, whose further texts have one place in the store.

    asked: by the position of a result and the key of an evaluation the keys of its texts. missing: the distinct items
    that the store lacks, by key.
    """

    setting: Setting
    slot: AttributionStore
    asked: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    missing: dict[str, Item] = field(default_factory=dict)

    def to_score(self) -> Setting:
        """The texts to score, as a setting of the metric alone."""
        items = tuple(self.missing.values())
        return replace(
            self.setting,
            explainer=None,
            explainer_name=LABEL,
            words_of_file=None,
            items=items,
            keys=tuple(self.missing),
            slot=self.slot,
            missing=tuple(range(len(items))),
            n_texts_of_all=tuple(self.setting.metric.count_texts(item, 1) for item in items),
        )


def score_further(
    ended: Sequence[SettingResult],
    plan: SweepPlan,
    evaluations: Evaluations,
    cache_dir: Place,
    *,
    executor: Executor,
    progress: Callable[[int], None],
) -> tuple[list[SettingResult], list[NotRun]]:
    """The results with the scores of the texts that evaluations want, and what could not be scored.

    Settings that repeat others with a further seed have none.
    """
    results = list(ended)
    failed: list[NotRun] = []
    asking = list(_asking(evaluations).values())
    # One metric and language pair after the other: no more texts than theirs are in memory.
    for places in _sharing(results, plan, cache_dir) if asking else ():
        try:
            with component_errors():
                shared = _collect_texts(places, results, asking)
            spent = _score(shared, plan, executor, progress)
            scores = _load(shared)
        except BmxError as error:
            setting, _ = next(iter(places.values()))
            failed.append(failure(replace(setting, explainer_name=LABEL), str(error), error))
            continue
        for place, further in scores.items():
            finished = replace(results[place].finished, further=further)
            # What was scored for several settings is told of the first one.
            results[place] = replace(results[place], finished=finished, spent=results[place].spent + spent)
            spent = Spent()
    return results, failed


def _sharing(
    results: Sequence[SettingResult], plan: SweepPlan, cache_dir: Place
) -> Iterator[Mapping[int, tuple[Setting, AttributionStore]]]:
    """By position the settings that share a place in the store, one place after the other."""
    planned = {setting.names: setting for setting in plan.settings}
    by_slot: dict[Place, dict[int, tuple[Setting, AttributionStore]]] = {}
    for place, result in enumerate(results):
        setting = planned[result.names]
        if result.repeated_with is None and _can_be_asked(setting):
            slot = _slot(setting, cache_dir)
            by_slot.setdefault(slot.parts, {})[place] = (setting, slot)
    yield from by_slot.values()


def _collect_texts(
    places: Mapping[int, tuple[Setting, AttributionStore]],
    results: Sequence[SettingResult],
    asking: Sequence[Evaluation],
) -> _SharedTexts:
    """What evaluations want of the settings at these places."""
    setting, slot = next(iter(places.values()))
    shared = _SharedTexts(setting, slot)
    wanted: dict[str, Item] = {}
    for place in places:
        for evaluation in asking:
            items = evaluation.texts(results[place].finished)
            keys = [item_key(item) for item in items]
            shared.asked[place, evaluation.key] = keys
            wanted |= zip(keys, items, strict=True)
    distinct = list(wanted)
    for position in slot.missing(distinct):
        key = distinct[position]
        shared.missing[key] = wanted[key]
    return shared


def _score(shared: _SharedTexts, plan: SweepPlan, executor: Executor, progress: Callable[[int], None]) -> Spent:
    """Score the missing texts into the store. Raises BmxError where that fails; what was scored before is kept."""
    if not shared.missing:
        return Spent()
    setting = shared.to_score()
    alone = SweepPlan((setting,), (), plan.not_run)

    def end(setting: Setting, spent: Spent) -> Spent:
        return spent

    def advance(done: ScoredTexts) -> None:
        progress(done.n_texts)

    def drop(metric: str, n_texts: int) -> None:
        """Texts that are lost fail their evaluations, which end the progress."""

    total = Spent()
    with closing(score_settings(alone, end, executor, advance, drop)) as ended:
        for outcome in ended:
            if isinstance(outcome, NotRun):
                raise outcome.error or BmxError(outcome.reason)
            total += outcome
    shared.slot.merge()
    return total


def _load(shared: _SharedTexts) -> dict[int, dict[str, Floats]]:
    """By the position of a result the scores of the texts that each evaluation wants, by its key."""
    scores: dict[int, dict[str, Floats]] = {}
    for (place, name), keys in shared.asked.items():
        scores.setdefault(place, {})[name] = shared.slot.load(keys).base_scores
    return scores
