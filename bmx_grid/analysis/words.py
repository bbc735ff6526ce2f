"""Do explanations blame the words that people marked, and does a better explanation boost more?

Measures of words per explainer with intervals; over settings the rank correlation of the AUC and of the gain at the
declared point. The numbers are those of words.parquet; without it nothing is said or shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import CONTROL, CONTROLS, FACTORS, PAIR, Column, Given, Table, interval
from bmx_grid.analysis.gains import declared
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import counted, named
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.words import Row as WordsRow
from bmx_grid.measures.correlation import FEWEST, correlate
from bmx_grid.measures.resampling import cluster_mean, codes, number_of, resampled_correlations
from bmx_grid.measures.resampling import interval as ends_of

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"
CHANCE = {"auc": 0.5, "mcc": 0.0}  # of attributions that know nothing; the first that is there is said
# Measures of words.parquet, and the names of their columns.
MEASURES = {
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
BRIEF = ("auc", "recall_at_k", "mcc", "f1_mult")
MOST_ROWS = 12  # of a table that fits a screen
MOST_SETTINGS = 400  # rows of a table that is read; more are written as CSV only
FORM, RHO = ".3f", "+.2f"
RESAMPLES = 1000
INTERVALS = (
    "In brackets: 95 % intervals, of means by a bootstrap of language pairs (none with fewer than 3), of a single "
    "setting by a bootstrap of clusters of segments."
)
NOTES = (
    "AUC: probability that a marked word has a lower attribution than another one of its segment (.5: chance); AP: "
    "average precision; R@K: share of the K marked words among the K lowest attributions, ties by their expectation "
    "unless evaluation.words.ties says otherwise; these leave out segments whose words are all OK or all BAD.",
    "MCC, F1, phrase F1, SeqCor: of labels; attributions become labels at a threshold chosen on other segments. SeqCor "
    "max: what a perfect labelling would reach.",
    "Sum with human: Spearman's rho of the summed attributions of a text with its human score.",
    INTERVALS,
)


def compute(given: Given) -> dict[str, Any]:
    """words: means over the settings of each explainer and side, the target first, the highest AUC (of labels MCC)
    first; metrics that are controls are left out. words_by_setting: of each setting. words_in_words: one sentence.

    plausibility: the relation of AUC and gain by explainer and of all. All empty without tags.
    """
    words = given.ask(means_by_explainer)
    plausible = given.ask(plausibility)
    return {
        "words": words,
        "words_by_setting": _wide(_rows(given), [*FACTORS, "side"]),
        "words_in_words": _sentence(words) if len(words) else [],
        "plausibility": plausible,
        "plausibility_in_words": [_relation_in_words(plausible)] if len(plausible) else [],
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """The means per explainer, and every setting; no table without tags."""
    words, by_setting = result["words"], result["words_by_setting"]
    if not len(words):
        return
    known = [name for name in MEASURES if name in words and words[name].notna().any()]
    shown = [name for name in BRIEF if name in known] or known
    columns: tuple[Any, ...] = ("explainer", "side", *map(_measure, shown), "pairs", "settings")
    title, brief = "Do explanations blame the words people marked", len(words) <= MOST_ROWS
    yield Table.of("words", title, words, columns, NOTES, by=["side"], names=2, brief=brief)
    columns = (*FACTORS, "side", *map(_measure, known))
    long = len(by_setting) > MOST_SETTINGS
    yield Table.of("words_by_setting", "Measures of words by setting", by_setting, columns, NOTES, names=5, data=long)


def _measure(name: str) -> Column:
    return Column(name, MEASURES[name], FORM, (f"{name}_low", f"{name}_high"))


def _rows(given: Given) -> pd.DataFrame:
    """The rows of words.parquet, without the random metric."""
    import pandas as pd

    columns = [*FACTORS, "side", "measure", "value", "low", "high"]
    known = given.frame("words", WordsRow)
    frame = pd.DataFrame(columns=columns) if known is None else known
    return frame[frame["metric"] != CONTROL]


def means_by_explainer(given: Given) -> pd.DataFrame:
    """The means over the settings of each explainer, the random one among them: a row per explainer and side."""
    rows = _wide(_rows(given), ["explainer", "side"])
    if not len(rows):
        return rows
    order = rows.reindex(columns=["auc", "mcc"]).bfill(axis=1).iloc[:, 0]
    rows = rows.assign(other=rows["side"] != TARGET, order=-order)
    return rows.sort_values(["other", "order", "explainer"], ignore_index=True).drop(columns=["other", "order"])


def _wide(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """A row per group, each measure with the ends of its interval in columns, and how many pairs and settings.

    Of a single setting the interval is its own, of several that of their mean over language pairs.
    """
    import pandas as pd

    wide = []
    for names, group in rows.groupby(by, sort=False):
        row: dict[str, Any] = dict(zip(by, names, strict=True))
        for measure, values in group.groupby("measure"):
            known = values[values["value"].notna()]
            pairs = (known["dataset"] + " " + known["language_pair"]).to_numpy(str)
            mean = cluster_mean(known["value"].to_numpy(np.float64), pairs)
            ends = (known["low"].iloc[0], known["high"].iloc[0]) if len(known) == 1 else (mean["low"], mean["high"])
            row |= dict(zip(_names(str(measure)), (mean["mean"], *ends), strict=True))
        counts = {"pairs": PAIR, "settings": list(FACTORS)}
        wide.append(row | {name: len(group[factors].drop_duplicates()) for name, factors in counts.items()})
    return pd.DataFrame(wide, columns=None if wide else by)


def _sentence(words: pd.DataFrame) -> list[str]:
    """Who finds the marked words of the target, by AUC, of labels by MCC, against chance."""
    side = TARGET if TARGET in set(words["side"]) else words["side"].iloc[0]
    words = words[words["side"] == side].reindex(columns=list(dict.fromkeys([*words, *_names("auc"), *_names("mcc")])))
    measure = next((name for name in CHANCE if words[name].notna().any()), None)
    if measure is None:
        return []
    value, low, high = _names(measure)
    ranked, chance = words[words[value].notna()], CHANCE[measure]
    better, worse, control = ranked[low] > chance, ranked[high] < chance, ranked["explainer"].isin(CONTROLS)
    kinds = ("control", "better than chance", "worse than chance", "not distinguishable from chance")
    by_kind: dict[str, list[str]] = {}
    ranked = ranked.assign(kind=np.select([control, better, worse], kinds[:3], kinds[3]))
    for row in ranked.to_dict("records"):
        by_kind.setdefault(row["kind"], []).append(f"{row['explainer']} {interval(row, (value, low, high), FORM)}")
    parts = [f"{kind}: {named(by_kind[kind])}" for kind in (*kinds[1:], kinds[0]) if kind in by_kind]
    over = counted(int(ranked["pairs"].max()), "language pair")
    lead = f"Do explanations find the words people marked? {MEASURES[value]} on the {side} of {over}"
    return [f"{lead} (chance {chance:g}), {'; '.join(parts)}."]


def _names(measure: str) -> tuple[str, str, str]:
    return measure, f"{measure}_low", f"{measure}_high"


def plausibility(given: Given) -> pd.DataFrame:
    """The relation of the AUC on the target and of the gain at the declared point by explainer, and of all settings.

    Empty without an AUC.
    """
    import pandas as pd

    words = _rows(given)
    words = words[(words["measure"] == "auc") & (words["side"] == TARGET)].rename(columns={"value": "auc"})
    settings = given.real.frame.merge(words[[*FACTORS, "auc"]], on=list(FACTORS))
    settings = settings.merge(given.ask(declared)[[*FACTORS, "gain"]], on=list(FACTORS), how="left")
    if not settings["auc"].notna().any():
        return pd.DataFrame()
    groups = {**dict(list(settings.groupby("explainer"))), ALL: settings}
    rows = []
    for group in groups.values():
        auc, gain, cluster = (group[name].to_numpy() for name in ("auc", "gain", "cluster"))
        rows.append(relation(auc, gain, cluster, given.seed))
    return pd.DataFrame(rows, index=pd.Index(groups, name="explainer"))


def relation(auc: Floats, gain: Floats, clusters: NDArray[Any], seed: int) -> dict[str, Any]:
    """Spearman's rho of AUC and gain over n settings, with its 95 % interval by a bootstrap of clusters.

    The interval is NaN with fewer than 3 clusters; undefined: settings without an AUC or a gain.
    """
    used = np.isfinite(auc) & np.isfinite(gain)
    x, y, group = auc[used], gain[used], codes(clusters[used])
    n, count = len(x), number_of(group)
    rho = correlate("spearman", x, y) if n >= FEWEST else math.nan
    resamples = RESAMPLES if math.isfinite(rho) else 0
    (samples,) = resampled_correlations("spearman", x[:, None], y, group, resamples, seed)
    low, high = ends_of(samples, count)
    return {"rho": rho, "low": low, "high": high, "n": n, "undefined": len(auc) - n, "clusters": count}


def _relation_in_words(plausible: pd.DataFrame) -> str:
    """Whether a better explanation boosts more, in a sentence."""
    relation_of_all: Any = plausible.loc[ALL]
    pairs = counted(int(relation_of_all["clusters"]), "language pair")
    over = f"over {counted(int(relation_of_all['n']), 'setting')} in {pairs}"
    if not math.isfinite(relation_of_all["rho"]):
        undefined = "no correlation of AUC and gain at the declared point is defined"
        return f"Whether a better explanation boosts more is open: {over} {undefined}."
    lead = "Whether a better explanation boosts more is not established"
    if relation_of_all["low"] > 0 or relation_of_all["high"] < 0:
        lead = "Explanations that find more of the words people marked boost "
        lead += "more" if relation_of_all["low"] > 0 else "less"
    rho = interval(relation_of_all, ("rho", "low", "high"), RHO, "(too few for an interval)")
    return f"{lead}: Spearman's rho of AUC and gain at the declared point {over} is {rho}."
