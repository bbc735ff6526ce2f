"""Do explanations blame the words that people marked: measures of words per explainer, with intervals.

The numbers are those of a sweep's words.parquet; without that table nothing is said or shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.beside import Values, mean_gain
from bmx_grid.analysis.given import WithFrames
from bmx_grid.analysis.table import CONTROL, FACTORS
from bmx_grid.analysis.tested import rows_of
from bmx_grid.wording import counted, named, with_interval

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
FORM = ".3f"
Row = Mapping[str, Any]
NOTES = (
    "AUC: probability that a marked word has a lower attribution than another one of its segment (.5: chance); AP: "
    "average precision; R@K: share of the K marked words among the K lowest attributions, ties by their expectation "
    "unless evaluation.words.ties says otherwise; these leave out segments whose words are all OK or all BAD.",
    "MCC, F1, phrase F1, SeqCor: of labels; attributions become labels at a threshold chosen on other segments. SeqCor "
    "max: what a perfect labelling would reach.",
    "Sum with human: Spearman's rho of the summed attributions of a text with its human score.",
    "In brackets: 95 % intervals, of means by a bootstrap of language pairs (none with fewer than 3), of a single "
    "setting by a bootstrap of clusters of segments.",
)


@dataclass(frozen=True)
class OnWords:
    """A mean over n settings with its interval; undefined: how many others have no value."""

    value: float
    low: float
    high: float
    n: int
    undefined: int


@dataclass(frozen=True)
class OfWords:
    """What the tags of one side say of an explainer, over metrics that are no controls.

    measures: by name; pairs: language pairs, of all data sets; settings: how many.
    """

    explainer: str
    side: str
    measures: Mapping[str, OnWords]
    pairs: int
    settings: int

    def of(self, measure: str) -> OnWords:
        """A measure, undefined where there is none."""
        return self.measures.get(measure, OnWords(math.nan, math.nan, math.nan, 0, self.settings))


@dataclass(frozen=True, eq=False)
class Words:
    """words: by side, the target first, the highest AUC (of labels MCC) first. words_in_words: one sentence.

    words_by_setting: the rows of words.parquet by setting and side. words_unaligned: what could not be aligned, in a
    sentence. All empty without tags.
    """

    words: Sequence[OfWords]
    words_in_words: Sequence[str]
    words_by_setting: Sequence[Row]
    words_unaligned: Sequence[str]


def compute(given: WithFrames) -> Words:
    """The means over the settings of each explainer, the random one among them."""
    rows = [row for row in rows_of(given.frames.get("words")) if row["metric"] != CONTROL]
    found = []
    for explainer, side in dict.fromkeys((row["explainer"], row["side"]) for row in rows):
        own = [row for row in rows if (row["explainer"], row["side"]) == (explainer, side)]
        measures = {}
        for name in dict.fromkeys(row["measure"] for row in own):
            of = [row for row in own if row["measure"] == name]
            values = Values(*(np.array([row[key] for row in of], dtype=np.float64) for key in ("value", "low", "high")))
            mean = mean_gain(values, np.array([_pair(row) for row in of], dtype=np.str_), 0)
            measures[name] = OnWords(mean.mean, mean.low, mean.high, mean.n, mean.undefined)
        settings = {tuple(row[name] for name in FACTORS) for row in own}
        found.append(OfWords(explainer, side, measures, len({_pair(row) for row in own}), len(settings)))
    found.sort(key=lambda one: (one.side != TARGET, -_order(one), one.explainer))
    return Words(found, _sentence(found), _by_setting(rows), _unaligned(list(rows_of(given.frames.get("word_tags")))))


def tables(result: Words) -> Sequence[Table]:
    """The means per explainer in brief and in full, and every setting; no table without tags."""
    if not result.words:
        return ()
    notes = (*NOTES, *result.words_unaligned)
    shown = [name for name in MEASURES if any(math.isfinite(one.of(name).value) for one in result.words)]
    brief = [name for name in BRIEF if name in shown] or shown
    made = [
        _table("words", "Do explanations blame the words people marked", result.words, brief, notes, brief=True),
        _table("words_all_measures", "Measures of words by explainer", result.words, shown, notes, brief=False),
    ]
    header = ("data set", "language pair", "metric", "explainer", "side", *(MEASURES[name] for name in shown))
    cells = []
    for row in result.words_by_setting:
        values = [_cell(row[name]) if name in row else Cell(math.nan) for name in shown]
        cells.append((*(Cell(row[name]) for name in (*FACTORS, "side")), *values))
    title = "Measures of words by setting"
    long = len(cells) > MOST_SETTINGS
    return [*made, Table("words_by_setting", title, header, (tuple(cells),), notes, names=5, data=long)]


def _table(
    stem: str, title: str, found: Sequence[OfWords], shown: Sequence[str], notes: Sequence[str], *, brief: bool
) -> Table:
    header = ("explainer", "side", *(MEASURES[name] for name in shown), "pairs", "settings")
    groups: dict[str, list[tuple[Cell, ...]]] = {}
    for one in found:
        cells = [_cell(one.of(name)) for name in shown]
        row = (Cell(one.explainer), Cell(one.side), *cells, Cell(one.pairs), Cell(one.settings))
        groups.setdefault(one.side, []).append(row)
    small = brief and len(found) <= MOST_ROWS
    return Table(stem, title, header, tuple(map(tuple, groups.values())), tuple(notes), names=2, brief=small)


def _cell(one: OnWords) -> Cell:
    return Cell(one.value, FORM, words=with_interval(one.value, one.low, one.high, FORM))


def _by_setting(rows: Sequence[Row]) -> list[Row]:
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        names = (*FACTORS, "side")
        own = found.setdefault(tuple(row[name] for name in names), {name: row[name] for name in names})
        defined = math.isfinite(row["value"])
        own[row["measure"]] = OnWords(row["value"], row["low"], row["high"], int(defined), int(not defined))
    return list(found.values())


def _sentence(found: Sequence[OfWords]) -> list[str]:
    """Who finds the marked words of the target, by AUC against chance; of labels, the highest MCC."""
    sides = {one.side for one in found}
    side = TARGET if TARGET in sides else next(iter(sides), "")
    own = [one for one in found if one.side == side]
    ranked = [one for one in own if math.isfinite(one.of("auc").value)]
    if not ranked:
        labels = [one for one in own if math.isfinite(one.of("mcc").value)]
        if not labels:
            return []
        told = [f"{one.explainer} {_in_words(one.of('mcc'))}" for one in labels]
        over = counted(max(one.pairs for one in labels), "language pair")
        return [f"Labels of the words people marked, MCC on the {side} of up to {over}, highest first: {named(told)}."]
    said: dict[str, list[str]] = {kind: [] for kind in ("finds", "misses", "open", "random")}
    for one in ranked:
        auc = one.of("auc")
        kind = "finds" if auc.low > CHANCE else "misses" if auc.high < CHANCE else "open"
        said["random" if one.explainer == CONTROL else kind].append(f"{one.explainer} {_in_words(auc)}")
    parts = [
        f"{words}: {named(said[kind])}"
        for kind, words in (
            ("finds", "better than chance"),
            ("misses", "worse than chance"),
            ("open", "not distinguishable from chance"),
        )
        if said[kind]
    ]
    random = [f"random attributions {one.removeprefix(f'{CONTROL} ')}" for one in said["random"]]
    over = counted(max(one.pairs for one in ranked), "language pair")
    lead = f"Do explanations find the words people marked? AUC on the {side} of {over} (chance .5), "
    return [lead + "; ".join([*parts, *random]) + "."]


def _in_words(one: OnWords) -> str:
    return with_interval(one.value, one.low, one.high, FORM)


def _unaligned(rows: Sequence[Row]) -> list[str]:
    """One sentence on tags that fit no word that was scored, counted once per language pair and side."""
    worst: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = row["dataset"], row["language_pair"], row["side"]
        if row["n_lost"] > (worst[key]["n_lost"] if key in worst else 0):
            worst[key] = row
    if not worst:
        return []
    told = [f"{pair} {side} {row['n_lost']:,} of {row['n_tags']:,}" for (_, pair, side), row in sorted(worst.items())]
    return [f"Tags that share no character with a scored word, left out: {named(told, 6)} (word_tags.parquet)."]


def _pair(row: Row) -> str:
    return f"{row['dataset']} {row['language_pair']}"


def _order(one: OfWords) -> float:
    values = (one.of("auc").value, one.of("mcc").value)
    return next((value for value in values if math.isfinite(value)), -math.inf)
