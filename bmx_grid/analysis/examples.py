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
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED
from bmx_grid.measures.correlation import average_ranks
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.words.alignment import align, carry_labels
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordTags

RULE = (
    "The boost is that of the point chosen on other language pairs, else of the published point, else of the best. "
    "Best move: boosting brings the rank of this segment nearest to its rank by human score. Worst move: boosting "
    "takes it farthest away. Typical: the median of all moves. Ties are broken by order in the data."
)
BEST_MOVE, WORST_MOVE, TYPICAL = "best move", "worst move", "typical"
MOST_SETTINGS = 16  # that have examples: each loads its attributions, and adds some 25 kB to the page


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
    """A segment, by its id, system and the names of its setting, boosted with (w, p), among n rated ones.

    kind: the reason of its choice, a key of RULE.
    """

    kind: str
    segment: str
    system: str | None
    names: tuple[str, str, str, str]
    w: float
    p: float
    n: int
    sides: Sequence[ExampleSide]
    metric: RankedScore
    boosted: RankedScore
    human: RankedScore


def choose_examples(results: Iterable[SettingResult]) -> list[Example]:
    """The segments that RULE names, of the MOST_SETTINGS finished settings with the largest gains, these first."""
    shown = []
    for result in results:
        *_, gain = _point(result)
        # Marks of a control explain nothing.
        is_control = not set(CONTROLS).isdisjoint(result.names)
        if not is_control and math.isfinite(gain):
            shown.append((gain, result))
    # The sort is stable: settings of equal gains stay in their order.
    shown.sort(key=lambda gain_and_result: -gain_and_result[0])
    examples: list[Example] = []
    for _, result in shown[:MOST_SETTINGS]:
        examples += movers(result)
    return examples


def _point(result: SettingResult) -> tuple[float, float, float]:
    """w, p and gain of the point that RULE names."""
    for name in (ELSEWHERE, PUBLISHED):
        for row in result.points:
            # At w = 1 nothing moves.
            if row.point == name and row.w < 1 and math.isfinite(row.gain):
                return row.w, row.p, row.gain
    return result.grid.best_w, result.grid.best_p, result.gain


def movers(result: SettingResult) -> list[Example]:
    """The segments that RULE names, the typical one last; none if no segment moves."""
    w, p, _ = _point(result)
    spec = result.spec
    assert spec is not None, "it has a gain, and so a grid"
    finished = result.finished
    stored = finished.scores
    base = stored.base_scores
    human = finished.segments.human_scores
    boosted = scores_at(spec, p, w, base, stored.ground_truth, stored.hypothesis)
    # Ranks count among the segments that all three score.
    scored = np.isfinite(base) & np.isfinite(boosted) & np.isfinite(human)
    used = np.flatnonzero(scored)
    scores = {"metric": base[used], "boosted": boosted[used], "human": human[used]}
    # Of negative scores, so that 1 is the best.
    ranks = {name: average_ranks(-values) for name, values in scores.items()}
    if np.array_equal(ranks["metric"], ranks["boosted"]):
        return []
    approach = np.abs(ranks["metric"] - ranks["human"]) - np.abs(ranks["boosted"] - ranks["human"])
    order = np.argsort(-approach, kind="stable")
    rows = {BEST_MOVE: int(order[0]), WORST_MOVE: int(np.argmin(approach)), TYPICAL: int(order[len(order) // 2])}
    words = {role: finished.words(role) for role in stored.by_role}
    examples = []
    for kind, row in rows.items():
        # If no rank improves, the best move is missing; likewise the worst one.
        if (kind == BEST_MOVE and approach[row] <= 0) or (kind == WORST_MOVE and approach[row] >= 0):
            continue
        ranked_scores = {}
        for name, values in scores.items():
            ranked_scores[name] = RankedScore(float(values[row]), float(ranks[name][row]))
        place = int(used[row])
        segment = finished.segments.segments[place]
        example = Example(
            kind=kind,
            segment=segment.id,
            system=segment.system,
            names=result.names,
            w=w,
            p=p,
            n=len(used),
            sides=sides_of(finished, stored, words, place),
            **ranked_scores,
        )
        examples.append(example)
    return examples


def sides_of(setting: ScoredSetting, stored: AttributionSet, words: Mapping[Role, Rows], row: int) -> list[ExampleSide]:
    """The sides of one segment."""
    tags = setting.segments.judgements.tags
    sides = []
    for role, values in stored.by_role.items():
        text = words[role][row]
        flags = (False,) * len(text)
        if role in tags:
            flags = error_flags(tags[role], row, text)
        sides.append(ExampleSide(role, text, values[row], flags))
    return sides


def error_flags(tags: WordTags, row: int, words: Sequence[str]) -> tuple[bool, ...]:
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
