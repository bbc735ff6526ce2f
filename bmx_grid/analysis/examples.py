"""A few segments of a sweep with the attributions of their words, chosen by rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.table import CONTROL
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.measures.correlation import average_ranks
from bmx_grid.measures.grid import GridSpec, boosted_scores
from bmx_grid.measures.word_scores import Ranking
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Setting, SweepPlan
from bmx_grid.words.alignment import align, carry_labels
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordTags

RULE = (
    "Per explainer: in the setting with the largest gain at the (w, p) named, the segment that rises by the most ranks "
    "from the metric's score to the boosted score, and the one that falls by the most. Ties are broken by order in the "
    "data. They were chosen because they are extreme; they say nothing about the average."
)


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a segment: its name, n words, and float64[n] attributions.

    marked: n flags, whether people marked the word as an error; empty where the side has no word tags.
    """

    name: str
    words: tuple[str, ...]
    attributions: NDArray[np.float64]
    marked: tuple[bool, ...] = ()


@dataclass(frozen=True, eq=False)
class Example:
    """A segment before and after boosting.

    names: data set, language pair, metric, explainer; w, p: the point it is boosted with.
    score, boosted, human: the metric's, the boosted and the human score.
    score_rank, boosted_rank, human_rank: ranks among the n rated segments of the setting, 1 is the best; equal scores
        share their mean rank.
    """

    segment: str
    names: tuple[str, str, str, str]
    w: float
    p: float
    sides: tuple[Side, ...]
    score: float
    boosted: float
    human: float
    score_rank: float
    boosted_rank: float
    human_rank: float
    n: int


def choose_examples(results: Iterable[SettingResult], plan: SweepPlan, spec: GridSpec) -> list[Example]:
    """The segments that RULE names, from finished settings of a plan whose attributions are in the store.

    The (w, p) is the fixed one of the explainer, or the best of the setting where it has none.
    Raises StoreError when attributions are missing.
    """
    return [
        example
        for result, setting in _best(results, plan, lambda result: _point(result)[2])
        for example in _movers(result, setting, spec)
    ]


def _best(
    results: Iterable[SettingResult], plan: SweepPlan, value_of: Callable[[SettingResult], float]
) -> list[tuple[SettingResult, Setting]]:
    """Per explainer the planned setting with the highest value, controls and undefined values left out."""
    planned = {one.setting.names: one.setting for one in plan.settings}
    known = [
        (value_of(result), result)
        for result in results
        if CONTROL not in result.names and result.names in planned and math.isfinite(value_of(result))
    ]
    chosen: dict[str, SettingResult] = {}
    for _, result in sorted(known, key=lambda item: -item[0]):
        chosen.setdefault(result.explainer, result)
    return [(chosen[name], planned[chosen[name].names]) for name in sorted(chosen)]


def _point(result: SettingResult) -> tuple[float, float, float]:
    """w, p, and the gain there."""
    if math.isfinite(result.fixed_gain):
        return result.published.w, result.published.p, result.fixed_gain
    return result.grid.best_w, result.grid.best_p, result.gain


def _movers(result: SettingResult, setting: Setting, spec: GridSpec) -> list[Example]:
    w, p, _ = _point(result)
    stored = setting.explanations()
    base, human = stored.base_scores, setting.segments.human_scores
    boosted = boosted_scores(spec.aggregation, spec.side, p, w, base, stored.ground_truth, stored.hypothesis)
    used = np.flatnonzero(np.isfinite(base) & np.isfinite(boosted) & np.isfinite(human))
    if len(used) == 0:
        return []
    before, after, wanted = (ranks(scores[used]) for scores in (base, boosted, human))
    rise = before - after
    moved = [int(np.argmax(rise)), int(np.argmin(rise))]
    examples = []
    words = setting.attributed()
    for at in [one for one in moved if rise[one] != 0]:
        row = int(used[at])
        examples.append(
            Example(
                segment=setting.segments.segments[row].id,
                names=result.names,
                w=w,
                p=p,
                sides=sides_of(setting, stored, words, row),
                score=float(base[row]),
                boosted=float(boosted[row]),
                human=float(human[row]),
                score_rank=float(before[at]),
                boosted_rank=float(after[at]),
                human_rank=float(wanted[at]),
                n=len(used),
            )
        )
    return examples


def sides_of(setting: Setting, stored: AttributionSet, words: Mapping[Role, Rows], row: int) -> tuple[Side, ...]:
    """The sides of one segment with their attributions, and what people marked of these words."""
    tags = setting.segments.judgements.tags
    return tuple(
        Side(role, words[role][row], found[row], marked(tags[role], row, words[role][row]) if role in tags else ())
        for role, found in stored.by_role.items()
    )


def marked(tags: WordTags, row: int, words: Sequence[str]) -> tuple[bool, ...]:
    """Which words of a text people marked, from tags on words of their own; those without a tag are not marked."""
    tokens, bad = tags.words[row], tags.labels[row]
    if tokens and tokens[-1] == EOS:  # no word of the text; its letters would be looked for there
        tokens, bad = tokens[:-1], bad[:-1]
    found, _ = carry_labels(align(tokens, words), bad)
    return tuple(found.tolist())


def ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n] ranks, 1 for the highest score; equal scores share their mean rank."""
    return average_ranks(-scores)


def strengths(sides: Sequence[Side]) -> list[NDArray[np.float64]]:
    """float64[n] for each side, |attribution| relative to the largest of all sides; 0 where undefined or all are 0."""
    finite = [np.where(np.isfinite(side.attributions), np.abs(side.attributions), 0.0) for side in sides]
    largest = max((float(values.max(initial=0.0)) for values in finite), default=0.0)
    return [values / largest if largest > 0 else values for values in finite]


WORDS, TARGET = "words", "target"
FEWEST_WORDS = 5  # of two words the one that is marked is found half of the time
WORD_RULE = (
    "Per explainer: in the setting with the highest mean AUC on the target, the segment with the highest AUC and the "
    f"one with the lowest, of those with at least {FEWEST_WORDS} tagged words; of equal ones that with most marked "
    "words, then by order in the data. They are extreme; the table of measures has the averages."
)


@dataclass(frozen=True, eq=False)
class WordExample:
    """A segment with word tags.

    right: whether it is the best of its setting, not the worst. names: data set, language pair, metric, explainer.
    auc, recall: of its target; n_marked: its marked words, of n_words with a tag. mean_auc: of the setting.
    """

    segment: str
    names: tuple[str, str, str, str]
    right: bool
    sides: tuple[Side, ...]
    auc: float
    recall: float
    n_marked: int
    n_words: int
    mean_auc: float


def choose_word_examples(results: Iterable[SettingResult], plan: SweepPlan) -> list[WordExample]:
    """The segments that WORD_RULE names; none where no setting has tags of its target and scores of its words.

    Raises StoreError when attributions are missing.
    """
    return [
        example
        for result, setting in _best(results, plan, _mean_auc)
        for ranking in [_ranking(result)]
        if ranking is not None
        for example in _extremes(result, setting, ranking)
    ]


def _mean_auc(result: SettingResult) -> float:
    """Of the target; NaN without a segment that can be shown."""
    ranking = _ranking(result)
    return math.nan if ranking is None or not usable(ranking).any() else float(np.nanmean(ranking.auc))


def usable(ranking: Ranking) -> NDArray[np.bool_]:
    """bool[N] segments with an AUC and enough words."""
    return np.isfinite(ranking.auc) & (ranking.words >= FEWEST_WORDS)


def _ranking(result: SettingResult) -> Ranking | None:
    ranking: Ranking | None = result.evaluated.get(WORDS, {}).get("rankings", {}).get(TARGET)
    return ranking


def _extremes(result: SettingResult, setting: Setting, ranking: Ranking) -> list[WordExample]:
    rows = np.flatnonzero(usable(ranking))
    n_marked = np.rint(ranking.share_bad[rows] * ranking.words[rows])
    best = rows[np.lexsort((rows, -n_marked, -ranking.auc[rows]))[0]]
    worst = rows[np.lexsort((rows, -n_marked, ranking.auc[rows]))[0]]
    stored, words = setting.explanations(), setting.attributed()
    return [
        WordExample(
            segment=setting.segments.segments[row].name,
            names=result.names,
            right=right,
            sides=sides_of(setting, stored, words, row),
            auc=float(ranking.auc[row]),
            recall=float(ranking.recall_at_k[row]),
            n_marked=round(float(ranking.share_bad[row] * ranking.words[row])),
            n_words=int(ranking.words[row]),
            mean_auc=_mean_auc(result),
        )
        for right, row in dict.fromkeys(((True, int(best)), (False, int(worst))))
    ]
