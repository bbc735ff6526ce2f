"""Do explanations blame the words that people marked, and does a better explanation boost more?

Measures of words per explainer with intervals; over settings the rank correlation of the AUC and of the gain at the
declared point. The numbers are those of words.parquet; without it nothing is said or shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import CONTROL, CONTROLS, FACTORS, Column, Given, Table, WideRow, highest_first, rows_by
from bmx_grid.analysis.declared_gains import declared
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import counted, named, with_interval
from bmx_grid.evaluations.base import NOTHING, Estimate
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.word_level import WordsRow
from bmx_grid.measures.correlation import FEWEST, correlate
from bmx_grid.measures.correlations_of_resamples import resampled_correlations
from bmx_grid.measures.resampling import cluster_mean, codes, number_of
from bmx_grid.measures.resampling import interval as ends_of

TARGET = "target"
CHANCE = {"auc": 0.5, "mcc": 0.0}  # of attributions that know nothing; the first that is there is said
KINDS_OF_EXPLAINERS = ("better than chance", "worse than chance", "not distinguishable from chance", "control")
# Measures of words.parquet, and the names of their columns.
MEASURES_OF_WORDS = {
    "auc": "AUC",
    "ap": "AP",
    "recall_at_k": "R@K",
    "mcc": "MCC",
    "f1_ok": "F1-OK",
    "f1_bad": "F1-BAD",
    "f1_mult": "F1-mult",
    "phrase_f1_ok": "phrase F1-OK",
    "phrase_f1_bad": "phrase F1-BAD",
    "phrase_f1_mult": "phrase F1-mult",
    "seqcor": "SeqCor",
    "seqcor_max": "SeqCor max",
    "spearman_sum": "sum with human",
}
BRIEF_MEASURES = ("auc", "recall_at_k", "mcc", "f1_mult")
MOST_BRIEF_ROWS = 12  # of a table that fits a screen
MOST_SETTINGS = 400  # rows of a table that is read; more are written as CSV only
FORM = ".3f"
FORM_OF_RHO = "+.2f"
RESAMPLES = 1000
INTERVALS = (
    "In brackets: 95 % intervals, of means by a bootstrap of language pairs (none with fewer than 3), of a single "
    "setting by a bootstrap of clusters of segments."
)
OF_MEASURES = (
    "AUC: probability that a marked word has a lower attribution than another one of its segment (.5: chance); AP: "
    "average precision; R@K: share of the K marked words among the K lowest attributions, ties by their expectation "
    "unless evaluation.words.ties says otherwise; these leave out segments whose words are all OK or all BAD.",
    "MCC, F1, phrase F1, SeqCor: of labels; attributions become labels at a threshold chosen on other segments. SeqCor "
    "max: what a perfect labelling would reach.",
    "Sum with human: Spearman's rho of the summed attributions of a text with its human score.",
    INTERVALS,
)


@dataclass(frozen=True)
class WordMeans(WideRow):
    """What measures of words are over the settings of an explainer, or in one setting, on one side of the text.

    names: the columns that these share. measures: the mean of each, of a single setting with its own interval, of
    several with that of their mean over language pairs; NOTHING where it was not computed. pairs, settings: how many
    language pairs and settings.
    """

    names: Mapping[str, str]
    explainer: str
    side: str
    measures: Mapping[str, Estimate]
    pairs: int
    settings: int

    @property
    def columns(self) -> dict[str, Any]:
        """The names, each measure with the ends of its interval, and counts."""
        columns: dict[str, Any] = dict(self.names)
        for name, mean in self.measures.items():
            columns[name] = mean.value
            columns[f"{name}_low"] = mean.low
            columns[f"{name}_high"] = mean.high
        columns["pairs"] = self.pairs
        columns["settings"] = self.settings
        return columns

    def value(self, name: str) -> float:
        """The mean of a measure; NaN where it is not defined."""
        return self.measures.get(name, NOTHING).value


@dataclass(frozen=True)
class Relation:
    """Spearman's rho of AUC and gain over n settings, with its 95 % interval by a bootstrap of clusters.

    The interval is NaN with fewer than 3 clusters; undefined: settings without an AUC or a gain.
    """

    rho: float
    low: float
    high: float
    n: int
    undefined: int
    clusters: int


@dataclass(frozen=True)
class WordFindings:
    """words: means over the settings of each explainer and side, the target first, the highest AUC (of labels MCC)
    first; metrics that are controls are left out. words_by_setting: of each setting. words_in_words: one sentence.

    plausibility: the relation of AUC and gain by explainer and of all. All empty without tags.
    """

    words: Sequence[WordMeans]
    words_by_setting: Sequence[WordMeans]
    words_in_words: Sequence[str]
    plausibility: Mapping[str, Relation]
    plausibility_in_words: Sequence[str]


def compute(given: Given) -> WordFindings:
    """What explanations find of the words that people marked."""
    words = given.ask(means_by_explainer)
    plausible = given.ask(plausibility)
    return WordFindings(
        words=words,
        words_by_setting=_means(_rows(given), (*FACTORS, "side")),
        words_in_words=_sentence(words),
        plausibility=plausible,
        plausibility_in_words=[_relation_in_words(plausible[ALL])] if plausible else [],
    )


def tables(result: WordFindings) -> Iterator[Table]:
    """The means per explainer, and every setting; no table without tags."""
    words = result.words
    if not words:
        return
    known = [name for name in MEASURES_OF_WORDS if _is_known(name, words)]
    shown = [name for name in BRIEF_MEASURES if name in known] or known
    columns: tuple[Any, ...] = ("explainer", "side", *map(_measure, shown), "pairs", "settings")
    title = "Do explanations blame the words people marked"
    brief = len(words) <= MOST_BRIEF_ROWS
    yield Table.of("words", title, words, columns, OF_MEASURES, by=["side"], names=2, brief=brief)
    columns = (*FACTORS, "side", *map(_measure, known))
    title = "Measures of words by setting"
    by_setting = result.words_by_setting
    long = len(by_setting) > MOST_SETTINGS
    yield Table.of("words_by_setting", title, by_setting, columns, OF_MEASURES, names=5, data=long)


def _is_known(name: str, words: Sequence[WordMeans]) -> bool:
    """Whether a measure is defined in any of these rows."""
    return not all(math.isnan(row.value(name)) for row in words)


def _measure(name: str) -> Column:
    return Column(name, MEASURES_OF_WORDS[name], FORM, (f"{name}_low", f"{name}_high"))


def _rows(given: Given) -> list[WordsRow]:
    """The rows of words.parquet, without the random metric."""
    return [row for row in given.rows("words", WordsRow) if row.metric != CONTROL]


def means_by_explainer(given: Given) -> list[WordMeans]:
    """The means over the settings of each explainer, the random one among them, by side."""

    def order(row: WordMeans) -> tuple[Any, ...]:
        value = row.value("auc")
        # Explainers that give labels, not scores, have no AUC.
        if math.isnan(value):
            value = row.value("mcc")
        return row.side != TARGET, highest_first(value), row.explainer

    return sorted(_means(_rows(given), ("explainer", "side")), key=order)


def _means(rows: Sequence[WordsRow], by: Sequence[str]) -> list[WordMeans]:
    """The means over the rows that share these names."""
    means = []
    known = sorted({row.measure for row in rows})
    groups = rows_by(rows, lambda row: tuple(getattr(row, name) for name in by))
    for names, group in groups.items():
        by_measure = rows_by(group, lambda row: row.measure)
        settings = {row.setting_names for row in group}
        pairs = {row.pair for row in group}
        mean = WordMeans(
            names=dict(zip(by, names, strict=True)),
            explainer=group[0].explainer,
            side=group[0].side,
            measures={measure: _mean(by_measure.get(measure, [])) for measure in known},
            pairs=len(pairs),
            settings=len(settings),
        )
        means.append(mean)
    return means


def _mean(rows: Sequence[WordsRow]) -> Estimate:
    """The mean of one measure over settings, with its interval over language pairs."""
    known = [row for row in rows if not math.isnan(row.value.value)]
    # A single setting keeps its own interval, over segments: one cluster has none.
    if len(known) == 1:
        return known[0].value
    values = [row.value.value for row in known]
    clusters = [f"{row.dataset} {row.language_pair}" for row in known]
    mean = cluster_mean(values, clusters)
    return Estimate(mean.mean, mean.low, mean.high)


def _sentence(words: Sequence[WordMeans]) -> list[str]:
    """Who finds the marked words of the target, by AUC, of labels by MCC, against chance."""
    sides = [row.side for row in words]
    # Errors are marked in translations; a sweep may have tags of sources alone.
    side = TARGET if TARGET in sides else next(iter(sides), TARGET)
    words = [row for row in words if row.side == side]
    measure = next((name for name in CHANCE if _is_known(name, words)), None)
    if measure is None:
        return []
    # From the highest on, as the rows are sorted.
    ranked = [row for row in words if not math.isnan(row.value(measure))]
    chance = CHANCE[measure]
    by_kind: dict[str, list[str]] = {}
    for row in ranked:
        estimate = row.measures[measure]
        better, worse, unclear, control = KINDS_OF_EXPLAINERS
        kind = unclear
        if row.explainer in CONTROLS:
            kind = control
        elif estimate.low > chance:
            kind = better
        elif estimate.high < chance:
            kind = worse
        by_kind.setdefault(kind, []).append(f"{row.explainer} {estimate:{FORM}}")
    parts = []
    for kind in KINDS_OF_EXPLAINERS:
        if kind in by_kind:
            parts.append(f"{kind}: {named(by_kind[kind])}")
    most_pairs = max(row.pairs for row in ranked)
    over = counted(most_pairs, "language pair")
    lead = f"Do explanations find the words people marked? {MEASURES_OF_WORDS[measure]} on the {side} of {over}"
    return [f"{lead} (chance {chance:g}), {'; '.join(parts)}."]


def plausibility(given: Given) -> dict[str, Relation]:
    """The relation of the AUC on the target and of the gain at the declared point by explainer, and of all settings.

    Empty without an AUC.
    """
    auc = {}
    for row in _rows(given):
        if row.measure == "auc" and row.side == TARGET:
            auc[row.setting_names] = row.value.value
    settings = [setting for setting in given.real.settings if setting in auc]
    if all(math.isnan(auc[setting]) for setting in settings):
        return {}
    rows = given.ask(declared)
    gains = dict(zip(rows[[*FACTORS]].itertuples(index=False, name=None), rows["gain"], strict=True))
    by_explainer = rows_by(settings, lambda setting: setting.explainer)
    groups = dict(sorted(by_explainer.items()))
    groups[ALL] = settings
    relations = {}
    for name, group in groups.items():
        aucs_of_group = np.array([auc[setting] for setting in group])
        gains_of_group = np.array([gains.get(setting, math.nan) for setting in group])
        clusters = np.array([setting.cluster for setting in group])
        relations[name] = relation(aucs_of_group, gains_of_group, clusters, given.seed)
    return relations


def relation(auc: Floats, gain: Floats, clusters: NDArray[Any], seed: int) -> Relation:
    """The relation of float64[S] AUC and gains of settings in S clusters. seed: of the bootstrap."""
    used = np.isfinite(auc) & np.isfinite(gain)
    auc_of_used = auc[used]
    gain_of_used = gain[used]
    cluster_codes = codes(clusters[used])
    n = len(auc_of_used)
    n_clusters = number_of(cluster_codes)
    rho = math.nan
    if n >= FEWEST:
        rho = correlate("spearman", auc_of_used, gain_of_used)
    # Nothing is drawn for an undefined rho: its interval is NaN in any case.
    resamples = RESAMPLES if math.isfinite(rho) else 0
    column = auc_of_used[:, None]
    (samples,) = resampled_correlations("spearman", column, gain_of_used, cluster_codes, resamples, seed)
    low, high = ends_of(samples, n_clusters)
    return Relation(rho, low, high, n, undefined=len(auc) - n, clusters=n_clusters)


def _relation_in_words(of_all: Relation) -> str:
    """Whether a better explanation boosts more, in a sentence."""
    over = f"over {counted(of_all.n, 'setting')} in {counted(of_all.clusters, 'language pair')}"
    if not math.isfinite(of_all.rho):
        undefined = "no correlation of AUC and gain at the declared point is defined"
        return f"Whether a better explanation boosts more is open: {over} {undefined}."
    lead = "Whether a better explanation boosts more is not established"
    finders = "Explanations that find more of the words people marked boost"
    if of_all.low > 0:
        lead = f"{finders} more"
    elif of_all.high < 0:
        lead = f"{finders} less"
    rho = with_interval(of_all.rho, of_all.low, of_all.high, FORM_OF_RHO, without="(too few for an interval)")
    return f"{lead}: Spearman's rho of AUC and gain at the declared point {over} is {rho}."
