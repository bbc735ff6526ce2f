"""A few segments of a sweep with the attributions of their words, chosen by rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bmx_grid.analysis.base import CONTROLS
from bmx_grid.boosts.power_mean_grid import scores_at
from bmx_grid.core.ragged import Floats
from bmx_grid.measures.correlation import average_ranks
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.settings import Setting, SweepPlan
from bmx_grid.words.alignment import align, carry_labels
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordTags

RULE = (
    "Per explainer: in the setting with the largest gain at the (w, p) named, the segment that rises by the most ranks "
    "from the metric's score to the boosted score, and the one that falls by the most. Ties are broken by order in the "
    "data. They were chosen because they are extreme; they say nothing about the average."
)


@dataclass(frozen=True, eq=False)
class ExampleSide:
    """A text of a segment: n words, their float64[n] attributions, and n flags of what people marked."""

    role: Role
    words: Sequence[str]
    attributions: Floats
    marked: Sequence[bool]


class RankedScore(NamedTuple):
    """A score, and its rank among the rated segments of the setting: 1 is the best, equal ones share their mean."""

    score: float
    rank: float


@dataclass(frozen=True, eq=False)
class Example:
    """A segment, by its id, of a setting of these names, boosted with (w, p), among n rated ones."""

    segment: str
    names: tuple[str, str, str, str]
    w: float
    p: float
    n: int
    sides: Sequence[ExampleSide]
    metric: RankedScore
    boosted: RankedScore
    human: RankedScore


def choose_examples(results: Iterable[SettingResult], plan: SweepPlan) -> list[Example]:
    """The segments that RULE names, from finished settings of a plan whose attributions are in the store.

    The (w, p) is the fixed one of the explainer, or the best of the setting where it has none.
    Raises StoreError when attributions are missing.
    """
    planned = {setting.names: setting for setting in plan.settings}
    best: dict[str, SettingResult] = {}
    for result in results:
        *_, gain = _point(result)
        # What a control marks explains nothing.
        is_control = not set(CONTROLS).isdisjoint(result.names)
        # Outside the plan no attributions are at hand.
        if is_control or result.names not in planned or not math.isfinite(gain):
            continue
        *_, best_gain = _point(best.get(result.explainer, result))
        if result.explainer not in best or gain > best_gain:
            best[result.explainer] = result
    examples: list[Example] = []
    for _, result in sorted(best.items()):
        examples += movers(result, planned[result.names])
    return examples


def _point(result: SettingResult) -> tuple[float, float, float]:
    """w, p, and the gain there."""
    published = result.published
    if math.isfinite(published.gain):
        return published.w, published.p, published.gain
    return result.grid.best_w, result.grid.best_p, result.gain


def movers(result: SettingResult, setting: Setting) -> list[Example]:
    """The segments that rise and fall by the most ranks; none where no segment moves."""
    w, p, _ = _point(result)
    spec = result.spec
    assert spec is not None, "it has a gain, and so a grid"
    finished = setting.load()
    stored = finished.scores
    base = stored.base_scores
    human = setting.segments.human_scores
    boosted = scores_at(spec, p, w, base, stored.ground_truth, stored.hypothesis)
    # Ranks count among the segments that all three score.
    scored = np.isfinite(base) & np.isfinite(boosted) & np.isfinite(human)
    used = np.flatnonzero(scored)
    if len(used) == 0:
        return []
    scores = {"metric": base[used], "boosted": boosted[used], "human": human[used]}
    # Of negative scores, so that 1 is the best.
    ranks = {name: average_ranks(-values) for name, values in scores.items()}
    rise = ranks["metric"] - ranks["boosted"]
    words = {role: finished.words_of(role) for role in stored.by_role}
    examples = []
    for row in (int(np.argmax(rise)), int(np.argmin(rise))):
        # Where nothing rises, both are the first segment, which shows nothing.
        if rise[row] == 0:
            continue
        ranked_scores = {}
        for name, values in scores.items():
            ranked_scores[name] = RankedScore(float(values[row]), float(ranks[name][row]))
        place = int(used[row])
        segment = setting.segments.segments[place].id
        example = Example(
            segment=segment,
            names=result.names,
            w=w,
            p=p,
            n=len(used),
            sides=sides_of(setting, stored, words, place),
            **ranked_scores,
        )
        examples.append(example)
    return examples


def sides_of(setting: Setting, stored: AttributionSet, words: Mapping[Role, Rows], row: int) -> list[ExampleSide]:
    """The sides of one segment."""
    tags = setting.segments.judgements.tags
    sides = []
    for role, values in stored.by_role.items():
        text = words[role][row]
        flags = (False,) * len(text)
        if role in tags:
            flags = marked(tags[role], row, text)
        sides.append(ExampleSide(role, text, values[row], flags))
    return sides


def marked(tags: WordTags, row: int, words: Sequence[str]) -> tuple[bool, ...]:
    """A flag per word of a text whether people marked it, from tags on words of their own.

    row: the segment, among those of the tags. A word without a tag is not marked.
    """
    tokens = tags.words[row]
    bad = tags.labels[row]
    # `<EOS>` is not a word of the text, where its letters would be looked for.
    if tokens and tokens[-1] == EOS:
        tokens = tokens[:-1]
        bad = bad[:-1]
    alignment = align(tokens, words)
    carried, _ = carry_labels(alignment, bad)
    return tuple(carried.tolist())


def strengths(attributions: Sequence[Floats]) -> list[Floats]:
    """float64[n] for each side, |attribution| relative to the largest of all sides; 0 where undefined or all are 0."""
    # One scale for all sides: a reader compares the colours of source, reference and hypothesis.
    sizes = [np.where(np.isfinite(values), np.abs(values), 0.0) for values in attributions]
    largest = 0.0
    for values in sizes:
        largest = max(largest, float(values.max(initial=0.0)))
    if largest == 0:
        return sizes
    return [values / largest for values in sizes]
