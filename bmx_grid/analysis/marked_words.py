"""Do explanations blame the words that people marked, and does a better explanation boost more?

Measures of words per explainer with intervals; over settings the rank correlation of the AUC and of the gain at one
point per explainer. The numbers are those of words.parquet; without it this question has no answer and no table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import (
    CONTROL,
    CONTROLS,
    FACTORS,
    PAIR,
    Column,
    SweepTables,
    Table,
    each_group,
    each_row,
    pivot_estimates,
)
from bmx_grid.analysis.points import gains_at_declared_points
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import format_interval, join_names, pluralize
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.word_level import WordsRow
from bmx_grid.measures.correlation import FEWEST, correlate
from bmx_grid.measures.correlations_of_resamples import resampled_correlations
from bmx_grid.measures.resampling import cluster_mean, codes, number_of
from bmx_grid.measures.resampling import interval as ends_of

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"
CHANCE = {"auc": 0.5, "mcc": 0.0}  # of attributions without information; the first available measure is reported
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
    "unless evaluation.words.ties is changed; these leave out segments whose words are all OK or all BAD.",
    "MCC, F1, phrase F1, SeqCor: of labels; attributions become labels at a threshold chosen on other segments. "
    "SeqCor max: that of a perfect labelling.",
    "Sum with human: Spearman's rho of the summed attributions of a text with its human score.",
    INTERVALS,
)


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


def compute(tables: SweepTables) -> dict[str, Any]:
    """What explanations find of the words that people marked.

    words: means over the settings of each explainer and side, the target first, the highest AUC (of labels MCC) first;
    metrics that are controls are left out. words_by_setting: of each setting. words_in_words: one sentence.
    plausibility: the relation of AUC and gain by explainer and of all. All empty without tags.
    """
    words = tables.compute_once(means_by_explainer)
    plausible = tables.compute_once(plausibility)
    return {
        "words": words,
        # A single setting keeps its own intervals, over segments.
        "words_by_setting": _side_by_side(_words(tables), _words(tables), [*FACTORS, "side"]),
        "words_in_words": _sentence(words),
        "plausibility": plausible,
        "plausibility_in_words": [_relation_in_words(plausible[ALL])] if plausible else [],
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """The means per explainer, and every setting; no table without tags."""
    words = result["words"]
    if words.empty:
        return
    known = [name for name in MEASURES_OF_WORDS if name in words and words[name].notna().any()]
    shown = [name for name in BRIEF_MEASURES if name in known] or known
    columns: tuple[Any, ...] = ("explainer", "side", *map(_measure, shown), "pairs", "settings")
    title = "Do explanations blame the words people marked"
    brief = len(words) <= MOST_BRIEF_ROWS
    yield Table.from_rows("words", title, words, columns, OF_MEASURES, by=["side"], names=2, brief=brief)
    columns = (*FACTORS, "side", *map(_measure, known))
    title = "Measures of words by setting"
    by_setting = result["words_by_setting"]
    long = len(by_setting) > MOST_SETTINGS
    yield Table.from_rows("words_by_setting", title, by_setting, columns, OF_MEASURES, names=5, data=long)


def _measure(name: str) -> Column:
    return Column(name, MEASURES_OF_WORDS[name], FORM, (f"{name}_low", f"{name}_high"))


def _words(tables: SweepTables) -> pd.DataFrame:
    """The rows of words.parquet, without the random metric."""
    words = tables.frame("words", WordsRow)
    return words[words["metric"] != CONTROL]


def means_by_explainer(tables: SweepTables) -> pd.DataFrame:
    """The means over the settings of each explainer, the random one among them, by side.

    explainer, side; each measure with its 95 % interval, as NAME, NAME_low and NAME_high; pairs, settings: how many
    language pairs and settings.
    """
    import pandas as pd

    words = _words(tables)
    rows = []
    for names, group in each_group(words, "explainer", "side", "measure"):
        rows.append((*names, *_mean(group)))
    means = pd.DataFrame(rows, columns=["explainer", "side", "measure", "value", "low", "high"])
    found = _side_by_side(means, words, ["explainer", "side"])
    # Explainers that give labels, not scores, have no AUC.
    strength = found.reindex(columns=list(CHANCE)).astype(np.float64).bfill(axis=1).iloc[:, 0]
    order = found.assign(strength=-strength, other=found["side"] != TARGET)
    order = order.sort_values(["other", "strength", "explainer"])
    return found.loc[order.index].reset_index(drop=True)


def _side_by_side(means: pd.DataFrame, words: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """One row of all measures per combination of `by`, with its numbers of language pairs and settings of `words`."""
    measures = []
    for name in sorted(set(means["measure"])):
        measures += [name, f"{name}_low", f"{name}_high"]
    found = pivot_estimates(means, by, "measure")[[*by, *measures]]
    for name, factors in (("pairs", PAIR), ("settings", FACTORS)):
        counts = words.drop_duplicates([*by, *factors]).groupby(by).size()
        found = found.join(counts.rename(name), on=by)
    return found


def _mean(rows: pd.DataFrame) -> tuple[float, float, float]:
    """The mean of one measure over settings, with its interval over language pairs."""
    known = rows[rows["value"].notna()]
    # A single setting keeps its own interval, over segments: one cluster has none.
    if len(known) == 1:
        row = next(each_row(known))
        return row.value, row.low, row.high
    clusters = known["dataset"] + " " + known["language_pair"]
    mean = cluster_mean(known["value"].tolist(), clusters.tolist())
    return mean.mean, mean.low, mean.high


def _sentence(words: pd.DataFrame) -> list[str]:
    """Who finds the marked words of the target, by AUC, of labels by MCC, against chance."""
    sides = words["side"].tolist()
    # Errors are marked in translations; a sweep may have tags of sources only.
    side = TARGET if TARGET in sides else next(iter(sides), TARGET)
    words = words[words["side"] == side]
    measure = next((name for name in CHANCE if name in words and words[name].notna().any()), None)
    if measure is None:
        return []
    # From the highest on, as the rows are sorted.
    ranked = words[words[measure].notna()]
    chance = CHANCE[measure]
    by_kind: dict[str, list[str]] = {}
    columns = ["explainer", measure, f"{measure}_low", f"{measure}_high"]
    for explainer, value, low, high in ranked[columns].itertuples(index=False):
        better, worse, unclear, control = KINDS_OF_EXPLAINERS
        kind = unclear
        if explainer in CONTROLS:
            kind = control
        elif low > chance:
            kind = better
        elif high < chance:
            kind = worse
        by_kind.setdefault(kind, []).append(f"{explainer} {format_interval(value, low, high, FORM)}")
    parts = []
    for kind in KINDS_OF_EXPLAINERS:
        if kind in by_kind:
            parts.append(f"{kind}: {join_names(by_kind[kind])}")
    over = pluralize(ranked["pairs"].max(), "language pair")
    lead = f"Do explanations find the words people marked? {MEASURES_OF_WORDS[measure]} on the {side} of {over}"
    return [f"{lead} (chance {chance:g}), {'; '.join(parts)}."]


def plausibility(tables: SweepTables) -> dict[str, Relation]:
    """The relation of the AUC on the target and of the gain at one point, by explainer and of all settings.

    Empty without an AUC.
    """
    words = _words(tables)
    auc = words[(words["measure"] == "auc") & (words["side"] == TARGET)].drop_duplicates([*FACTORS])
    settings = tables.non_controls.names.merge(auc[[*FACTORS, "value"]], on=[*FACTORS])
    if settings["value"].isna().all():
        return {}
    settings = settings.merge(
        tables.compute_once(gains_at_declared_points)[[*FACTORS, "gain"]], on=[*FACTORS], how="left"
    )
    relations = {}
    for name, rows in {**dict(each_group(settings, "explainer", sort=True)), ALL: settings}.items():
        aucs = rows["value"].to_numpy()
        relations[name] = relation(aucs, rows["gain"].to_numpy(), rows["cluster"].to_numpy(), tables.seed)
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
    over = f"over {pluralize(of_all.n, 'setting')} in {pluralize(of_all.clusters, 'language pair')}"
    if not math.isfinite(of_all.rho):
        undefined = "no correlation of AUC and gain at one point per explainer is defined"
        return f"Whether a better explanation boosts more is open: {over} {undefined}."
    lead = "Whether a better explanation boosts more is not established"
    finders = "Explanations that find more of the words people marked boost"
    if of_all.low > 0:
        lead = f"{finders} more"
    elif of_all.high < 0:
        lead = f"{finders} less"
    rho = format_interval(of_all.rho, of_all.low, of_all.high, FORM_OF_RHO, without="(too few for an interval)")
    return f"{lead}: Spearman's rho of AUC and gain at one point per explainer {over} is {rho}."
