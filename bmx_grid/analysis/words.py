"""Do explanations blame the words that people marked, and does a better explanation boost more?

Measures of words per explainer with intervals; over settings the rank correlation of the AUC and of the gain at the
declared point; within settings the gain on the segments whose explanation is right beside that on the others. The
numbers are those of words.parquet and word_boosts.parquet; without these nothing is said or shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import Column, Table, interval
from bmx_grid.analysis.gains import declared
from bmx_grid.analysis.table import CONTROL, FACTORS, Floats, Frames, Given
from bmx_grid.core.wording import counted, named, number
from bmx_grid.measures.cluster_means import cluster_mean
from bmx_grid.measures.correlation import FEWEST, spearman
from bmx_grid.measures.resampling import codes, number_of, resampled_correlations
from bmx_grid.measures.resampling import interval as ends_of

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"
CHANCE = 0.5  # the AUC of attributions that know nothing
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
FORM, GAIN, RHO = ".3f", "+.4f", "+.2f"
RESAMPLES = 1000
ALL = "all"
WAYS = {
    "auc": "the AUC of the segment is above .5 (wrong: below)",
    "recall": "recall at top K is above that of a random order (wrong: below)",
}
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


def compute(given: Frames) -> dict[str, Any]:
    """words: means over the settings of each explainer and side, the target first, the highest AUC (of labels MCC)
    first; metrics that are controls are left out. words_by_setting: of each setting. words_in_words: one sentence.

    plausibility: the relation of AUC and gain by explainer and of all; right_and_wrong: gains by way to decide what is
    right. words_unaligned: what could not be aligned, in a sentence. All empty without tags.
    """
    words, by_setting = given.ask(means_by_explainer), _wide(_rows(given), [*FACTORS, "side"])
    found = {
        "words": words,
        "words_by_setting": by_setting,
        "words_in_words": _sentence(words) if len(words) else [],
        "words_unaligned": _unaligned(given.frames.get("word_tags")),
    }
    if isinstance(given, Given):
        plausible, parts = given.ask(plausibility), _right_and_wrong(given)
        sentence = _of_plausibility(plausible.to_dict("index")[ALL], parts) if len(plausible) else []
        found |= {"plausibility": plausible, "right_and_wrong": parts, "plausibility_in_words": sentence}
    return found


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """The means per explainer in brief and in full, and every setting; no table without tags."""
    words, by_setting = result["words"], result["words_by_setting"]
    if not len(words):
        return
    notes = (*NOTES, *result["words_unaligned"])
    shown = [name for name in MEASURES if name in words and words[name].notna().any()]
    brief = [name for name in BRIEF if name in shown] or shown
    for stem, title, measures, small in (
        ("words", "Do explanations blame the words people marked", brief, len(words) <= MOST_ROWS),
        ("words_all_measures", "Measures of words by explainer", shown, False),
    ):
        columns = ("explainer", "side", *map(_measure, measures), "pairs", "settings")
        yield Table.of(stem, title, words, columns, notes, by=["side"], names=2, brief=small)
    columns = (*FACTORS, "side", *map(_measure, shown))
    long = len(by_setting) > MOST_SETTINGS
    yield Table.of("words_by_setting", "Measures of words by setting", by_setting, columns, notes, names=5, data=long)
    yield from _tables_of_plausibility(result)


def _measure(name: str) -> Column:
    return Column(name, MEASURES[name], FORM, (f"{name}_low", f"{name}_high"))


def _rows(given: Frames) -> pd.DataFrame:
    """The rows of words.parquet, without the random metric."""
    import pandas as pd

    columns = [*FACTORS, "side", "measure", "value", "low", "high"]
    frame = given.frames.get("words", pd.DataFrame(columns=columns))
    return frame[frame["metric"] != CONTROL]


def means_by_explainer(given: Frames) -> pd.DataFrame:
    """The means over the settings of each explainer, the random one among them: a row per explainer and side."""
    rows = _wide(_rows(given), ["explainer", "side"])
    if not len(rows):
        return rows
    order = rows.reindex(columns=["auc", "mcc"]).bfill(axis=1).iloc[:, 0]
    rows = rows.assign(other=rows["side"] != TARGET, order=-order)
    return rows.sort_values(["other", "order", "explainer"], ignore_index=True).drop(columns=["other", "order"])


def _wide(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """A row per group, each measure with the ends of its interval in columns, and how many pairs and settings."""
    import pandas as pd

    wide = []
    for names, group in rows.groupby(by, sort=False):
        row: dict[str, Any] = dict(zip(by, names, strict=True))
        for measure, values in group.groupby("measure"):
            mean = mean_of(values, "value", "low", "high")
            row |= {str(measure): mean["mean"], f"{measure}_low": mean["low"], f"{measure}_high": mean["high"]}
        pairs = group[list(FACTORS[:2])].drop_duplicates()
        wide.append({**row, "pairs": len(pairs), "settings": len(group[list(FACTORS)].drop_duplicates())})
    return pd.DataFrame(wide, columns=None if wide else by)


def mean_of(settings: pd.DataFrame, value: str, low: str, high: str, seed: int = 0) -> dict[str, Any]:
    """The mean of a quantity over the n settings where it is defined, with its interval over language pairs.

    Of a single setting the interval is its own, in the columns low and high. undefined: how many other settings.
    """
    known = settings[settings[value].notna()]
    clusters = known["dataset"].astype(str) + " " + known["language_pair"].astype(str)
    mean = cluster_mean(known[value].to_numpy(np.float64), clusters.to_numpy(str), seed=seed)
    ends = (known[low].iloc[0], known[high].iloc[0]) if len(known) == 1 else (mean.low, mean.high)
    undefined = len(settings) - len(known)
    return {"mean": mean.mean, "low": ends[0], "high": ends[1], "n": len(known), "undefined": undefined}


def _sentence(words: pd.DataFrame) -> list[str]:
    """Who finds the marked words of the target, by AUC against chance; of labels, the highest MCC."""
    side = TARGET if TARGET in set(words["side"]) else words["side"].iloc[0]
    words = words[words["side"] == side].reindex(columns=list(dict.fromkeys([*words, *_names("auc"), *_names("mcc")])))
    ranked, labels = (words[words[name].notna()] for name in ("auc", "mcc"))
    if not len(ranked):
        if not len(labels):
            return []
        over = counted(int(labels["pairs"].max()), "language pair")
        found = named([_with_interval(row, "mcc") for row in labels.to_dict("records")])
        return [f"Labels of the words people marked, MCC on the {side} of up to {over}, highest first: {found}."]
    kinds: dict[str, list[str]] = {"better": [], "worse": [], "not": [], CONTROL: []}
    for row in ranked.to_dict("records"):
        kind = "better" if row["auc_low"] > CHANCE else "worse" if row["auc_high"] < CHANCE else "not"
        kinds[CONTROL if row["explainer"] == CONTROL else kind].append(_with_interval(row, "auc"))
    leads = {"better": "better than chance", "worse": "worse than chance", "not": "not distinguishable from chance"}
    parts = [f"{lead}: {named(kinds[kind])}" for kind, lead in leads.items() if kinds[kind]]
    parts += [f"random attributions {line.removeprefix(f'{CONTROL} ')}" for line in kinds[CONTROL]]
    over = counted(int(ranked["pairs"].max()), "language pair")
    lead = f"Do explanations find the words people marked? AUC on the {side} of {over} (chance .5), "
    return [f"{lead}{'; '.join(parts)}."]


def _names(measure: str) -> tuple[str, str, str]:
    return measure, f"{measure}_low", f"{measure}_high"


def _with_interval(row: Mapping[Any, Any], measure: str) -> str:
    return f"{row['explainer']} {interval(row, _names(measure), FORM)}"


def _unaligned(tags: pd.DataFrame | None) -> list[str]:
    """One sentence on tags that fit no word that was scored, counted once per language pair and side."""
    if tags is None or not (tags["n_lost"] > 0).any():
        return []
    key = ["dataset", "language_pair", "side"]
    worst = tags[tags["n_lost"] > 0].sort_values("n_lost", ascending=False).drop_duplicates(key).sort_values(key)
    lost = [f"{row.language_pair} {row.side} {row.n_lost:,} of {row.n_tags:,}" for row in worst.itertuples()]
    return [f"Tags that share no character with a scored word, left out: {named(lost, 6)} (word_tags.parquet)."]


def plausible_settings(given: Given) -> pd.DataFrame:
    """The settings with tags of the target: auc, auc_low, auc_high; gain, low, high at the declared point."""
    words = _rows(given)
    words = words[(words["measure"] == "auc") & (words["side"] == TARGET)]
    names = {"value": "auc", "low": "auc_low", "high": "auc_high"}
    auc = words[[*FACTORS, *names]].rename(columns=names)
    gains = given.ask(declared)[[*FACTORS, "point", "gain", "low", "high"]]
    key = list(FACTORS)
    return given.real.frame.merge(auc, on=key).merge(gains, on=key, how="left")


def plausibility(given: Given) -> pd.DataFrame:
    """The relation of AUC and gain by explainer, and of all settings; empty without an AUC."""
    import pandas as pd

    settings = given.ask(plausible_settings)
    if not settings["auc"].notna().any():
        return pd.DataFrame()
    groups = {**dict(list(settings.groupby("explainer"))), ALL: settings}
    seed = given.options.seed
    rows = [
        relation(group["auc"].to_numpy(), group["gain"].to_numpy(), group["cluster"].to_numpy(), seed)
        for group in groups.values()
    ]
    return pd.DataFrame(rows, index=pd.Index(groups, name="explainer"))


def relation(auc: Floats, gain: Floats, clusters: NDArray[Any], seed: int) -> dict[str, Any]:
    """Spearman's rho of AUC and gain over n settings, with its 95 % interval by a bootstrap of clusters.

    The interval is NaN with fewer than 3 clusters; undefined: settings without an AUC or a gain.
    """
    used = np.isfinite(auc) & np.isfinite(gain)
    x, y, group = auc[used], gain[used], codes(clusters[used])
    n, count = len(x), number_of(group)
    rho = spearman(x, y) if n >= FEWEST else math.nan
    resamples = RESAMPLES if math.isfinite(rho) else 0
    (samples,) = resampled_correlations("spearman", x[:, None], y, group, resamples, seed)
    low, high = ends_of(samples, count)
    return {"rho": rho, "low": low, "high": high, "n": n, "undefined": len(auc) - n, "clusters": count}


def _right_and_wrong(given: Given) -> pd.DataFrame:
    """Mean gains on the segments whose explanation is right, on the others, and of the difference.

    All three over the same settings: those where both gains are defined; undefined: the others.
    """
    import pandas as pd

    boosts, settings = given.frames.get("word_boosts"), given.ask(plausible_settings)
    if boosts is None or not len(settings):
        return pd.DataFrame()
    boosts = boosts[boosts["side"] == TARGET].rename(columns={"low": "difference_low", "high": "difference_high"})
    names = ("gain_right", "gain_wrong", "difference")
    rows = []
    for way in WAYS:
        both = settings.merge(boosts[boosts["right"] == way], on=[*FACTORS, "point"], how="left")
        both.loc[both["difference"].isna(), list(names)] = math.nan
        if both["difference"].notna().any():
            for explainer, group in {**dict(list(both.groupby("explainer"))), ALL: both}.items():
                row = {"by": way, "explainer": explainer}
                for name in names:
                    mean = mean_of(group, name, f"{name}_low", f"{name}_high", given.options.seed)
                    row |= {name: mean["mean"], f"{name}_low": mean["low"], f"{name}_high": mean["high"]}
                rows.append({**row, "settings": mean["n"], "undefined": mean["undefined"]})
    return pd.DataFrame(rows)


def _tables_of_plausibility(result: Mapping[str, Any]) -> Iterator[Table]:
    frame, parts = (result.get(name, ()) for name in ("plausibility", "right_and_wrong"))
    if len(frame):
        rows = frame.reset_index()
        note = (
            "AUC: whether the explanation gives marked words of the target lower attributions than others; gain: at "
            "the declared point of the explainer. In brackets: 95 % intervals by a bootstrap of language pairs (none "
            "with fewer than 3). Undefined: settings without an AUC or a gain."
        )
        columns: tuple[Any, ...] = (
            "explainer",
            Column("rho", "rho of AUC and gain", RHO, ("low", "high")),
            Column("n", "settings"),
            "undefined",
            Column("clusters", "pairs"),
        )
        yield Table.of("plausibility", "Does a better explanation boost more", rows, columns, [note])
    if len(parts):
        ways = "; ".join(f"{way}: {words}" for way, words in WAYS.items())
        note = (
            f"Right: {ways}. Each gain is the correlation of the boosted metric with the human scores of these "
            "segments alone, above that of the metric on the same segments; mean over the settings where both are "
            f"defined. {INTERVALS}"
        )
        headers = {"gain_right": "gain where right", "gain_wrong": "gain where wrong", "difference": "difference"}
        gains = (Column(name, header, GAIN, _names(name)[1:]) for name, header in headers.items())
        columns = ("by", "explainer", *gains, "settings", "undefined")
        title = "Gains where explanations are right and wrong"
        yield Table.of("right_and_wrong", title, parts, columns, [note], by=["by"], names=2)


def _of_plausibility(found: Mapping[Any, Any], parts: pd.DataFrame) -> list[str]:
    """Whether a better explanation boosts more, in a sentence."""
    over = f"over {counted(int(found['n']), 'setting')} in {counted(int(found['clusters']), 'language pair')}"
    if not math.isfinite(found["rho"]):
        lines = [f"Whether a better explanation boosts more is open: {over} no correlation of AUC and gain is defined"]
    else:
        lead = "Whether a better explanation boosts more is not established"
        if found["low"] > 0 or found["high"] < 0:
            lead = "Explanations that find more of the words people marked boost "
            lead += "more" if found["low"] > 0 else "less"
        rho = interval(found, ("rho", "low", "high"), RHO, "(too few for an interval)")
        lines = [f"{lead}: Spearman's rho of AUC and gain {over} is {rho}"]
    if len(parts):
        for part in parts[(parts["by"] == "auc") & (parts["explainer"] == ALL)].to_dict("records"):
            lines.append(
                f"on segments where the explanation is right the gain is {number(part['gain_right'], GAIN)}, where it "
                f"is wrong {number(part['gain_wrong'], GAIN)}, difference "
                f"{interval(part, _names('difference'), GAIN)}"
            )
    return [f"{'; '.join(lines)}."]
