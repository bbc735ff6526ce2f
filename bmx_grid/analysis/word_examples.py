"""Segments where explanations find the words people marked, and where they do not, chosen by rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.examples import Side, sides_of
from bmx_grid.analysis.table import CONTROL
from bmx_grid.evaluations.words import WordsOfSetting
from bmx_grid.measures.words.scores import Ranking
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Setting, SweepPlan

WORDS, TARGET = "words", "target"
FEWEST_WORDS = 5  # of two words the one that is marked is found half of the time
RULE = (
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
    """The segments that RULE names; none where no setting has tags of its target and scores of its words.

    Raises StoreError when attributions are missing.
    """
    planned = {one.setting.names: one.setting for one in plan.settings}
    chosen: dict[str, tuple[float, SettingResult, Ranking]] = {}
    for result in results:
        ranking = _ranking(result)
        if ranking is None or CONTROL in result.names or result.names not in planned or not usable(ranking).any():
            continue
        mean = float(np.nanmean(ranking.auc))
        if result.explainer not in chosen or mean > chosen[result.explainer][0]:
            chosen[result.explainer] = mean, result, ranking
    found = []
    for name in sorted(chosen):
        mean, result, ranking = chosen[name]
        found += _extremes(result, planned[result.names], ranking, mean)
    return found


def usable(ranking: Ranking) -> NDArray[np.bool_]:
    """bool[N] segments with an AUC and enough words."""
    return np.isfinite(ranking.auc) & (ranking.words >= FEWEST_WORDS)


def _ranking(result: SettingResult) -> Ranking | None:
    found = result.evaluated.get(WORDS)
    if not isinstance(found, WordsOfSetting):
        return None
    return next((ranking for side, _, ranking in found.fits if side == TARGET), None)


def _extremes(result: SettingResult, setting: Setting, ranking: Ranking, mean: float) -> list[WordExample]:
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
            mean_auc=mean,
        )
        for right, row in dict.fromkeys(((True, int(best)), (False, int(worst))))
    ]
