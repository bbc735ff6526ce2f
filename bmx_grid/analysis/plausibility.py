"""Does a better explanation boost more: plausibility, the AUC against people's word tags, beside the gain of the boost.

Over all settings, the rank correlation of both; within settings, the gain on the segments whose explanation is right
beside that on the others. The numbers are those of words.parquet and word_boosts.parquet; without them nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.analysis import tested
from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.beside import MeanGain, Values, mean_gain
from bmx_grid.analysis.gains import Clusters
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import Flags, Floats
from bmx_grid.analysis.tested import Rows, rows_of, setting_of
from bmx_grid.analysis.words import TARGET
from bmx_grid.measures.correlation import FEWEST, spearman
from bmx_grid.measures.resampling import codes, interval, number_of, resampled_correlations
from bmx_grid.wording import counted, number, with_interval

RESAMPLES = 1000
WAYS = {
    "auc": "the AUC of the segment is above .5 (wrong: below)",
    "recall": "recall at top K is above that of a random order (wrong: below)",
}
GAIN, RHO = "+.4f", "+.2f"
ALL = "all"


@dataclass(frozen=True)
class Plausible:
    """One setting: AUC on the target and gain at its declared point, both with 95 % intervals."""

    names: tuple[str, str, str, str]
    auc: float
    auc_low: float
    auc_high: float
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True)
class Relation:
    """Spearman's rho of AUC and gain over n settings in so many language pairs (`clusters`).

    low, high: 95 % interval by a bootstrap of clusters, NaN with fewer than 3; undefined: settings without an AUC or a
    gain.
    """

    rho: float
    low: float
    high: float
    n: int
    undefined: int
    clusters: int


@dataclass(frozen=True)
class RightAndWrong:
    """Mean gains over settings on the segments whose explanation is right, on the others, and of the difference."""

    right: MeanGain
    wrong: MeanGain
    difference: MeanGain


@dataclass(frozen=True, eq=False)
class Plausibility:
    """plausibility: the relation by explainer, and of "all"; right_and_wrong: by way to decide what is right and
    explainer, and "all"; plausibility_in_words: one sentence. plausible: the settings. Empty without tags."""

    plausibility: dict[str, Relation]
    right_and_wrong: dict[str, dict[str, RightAndWrong]]
    plausibility_in_words: Sequence[str]
    plausible: Sequence[Plausible] = working()


def compute(given: Given) -> Plausibility:
    """Over the settings that are no controls, at the declared points of their explainers."""
    frame = given.frames.get("words")
    auc = _by_setting(row for row in rows_of(frame) if row["measure"] == "auc" and row["side"] == TARGET)
    real, at = given.real, given.ask(tested.declared)
    keys = [("", setting) for setting in real.settings]
    words = Values.of(auc, keys, ("value", "low", "high"))
    if not np.isfinite(words.value).any():
        return Plausibility({}, {}, [], [])
    clusters, seed = real.clusters, given.options.seed
    has_tags = np.array([key in auc for key in keys], dtype=np.bool_)
    explainers = real.factor_levels("explainer")
    groups = {name: has_tags & real.where(explainer=name) for name in explainers} | {ALL: has_tags}
    groups = {name: rows for name, rows in groups.items() if rows.any()}
    relations = {
        name: _relation(words.value[rows], at.gain[rows], clusters[rows], seed) for name, rows in groups.items()
    }
    parts: dict[str, dict[str, RightAndWrong]] = {}
    for way in WAYS:
        found = _by_setting(
            row for row in rows_of(given.frames.get("word_boosts")) if (row["side"], row["right"]) == (TARGET, way)
        )
        own = [(point, setting) for point, setting in zip(at.points, real.settings, strict=True)]
        right = Values.of(found, own, ("gain_right", "gain_right_low", "gain_right_high"))
        wrong = Values.of(found, own, ("gain_wrong", "gain_wrong_low", "gain_wrong_high"))
        apart = Values.of(found, own, ("difference", "low", "high"))
        # All three over the same settings: those where both gains are defined.
        both = np.isfinite(apart.value)
        if not both.any():
            continue
        parts[way] = {
            name: RightAndWrong(
                *(mean_gain(_where(one, both).take(rows), clusters[rows], seed) for one in (right, wrong, apart))
            )
            for name, rows in groups.items()
        }
    plausible = [
        Plausible(setting, *(float(one[row]) for one in (words.value, words.low, words.high, at.gain, at.low, at.high)))
        for row, setting in enumerate(real.settings)
        if has_tags[row]
    ]
    return Plausibility(relations, parts, _sentence(relations, parts), plausible)


def tables(result: Plausibility) -> Sequence[Table]:
    """The relation by explainer, and gains where explanations are right and wrong."""
    if not result.plausibility:
        return ()
    rows = tuple(
        (
            Cell(name),
            Cell(one.rho, RHO, words=with_interval(one.rho, one.low, one.high, RHO)),
            Cell(one.n),
            Cell(one.undefined),
            Cell(one.clusters),
        )
        for name, one in result.plausibility.items()
    )
    note = (
        "AUC: whether the explanation gives marked words of the target lower attributions than others; gain: at the "
        "declared point of the explainer. In brackets: 95 % intervals by a bootstrap of language "
        "pairs (none with fewer than 3). Undefined: settings without an AUC or a gain."
    )
    header = ("explainer", "rho of AUC and gain", "settings", "undefined", "pairs")
    made = [Table("plausibility", "Does a better explanation boost more", header, (rows[:-1], rows[-1:]), (note,))]
    body = []
    for way, by_explainer in result.right_and_wrong.items():
        body.append(
            tuple(
                (
                    Cell(way),
                    Cell(name),
                    *(_gain(mean) for mean in (one.right, one.wrong, one.difference)),
                    Cell(one.difference.n),
                    Cell(one.difference.undefined),
                )
                for name, one in by_explainer.items()
            )
        )
    if body:
        ways = "; ".join(f"{way}: {words}" for way, words in WAYS.items())
        notes = (
            f"Right: {ways}. Each gain is the correlation of the boosted metric with the human scores of these "
            "segments alone, above that of the metric on the same segments; mean over the settings where both are "
            "defined. In brackets: 95 % intervals, of means by a bootstrap of language pairs (none with fewer than 3), "
            "of a single setting by a bootstrap of clusters of segments.",
        )
        columns = ("by", "explainer", "gain where right", "gain where wrong", "difference", "settings", "undefined")
        title = "Gains where explanations are right and wrong"
        made.append(Table("right_and_wrong", title, columns, tuple(body), notes, names=2))
    return made


def _relation(auc: Floats, gain: Floats, clusters: Clusters, seed: int) -> Relation:
    used: Flags = np.isfinite(auc) & np.isfinite(gain)
    x, y, group = auc[used], gain[used], codes(clusters[used])
    n, count = len(x), number_of(group)
    rho = spearman(x, y) if n >= FEWEST else math.nan
    resamples = RESAMPLES if math.isfinite(rho) else 0
    (samples,) = resampled_correlations("spearman", x[:, None], y, group, resamples, seed)
    return Relation(rho, *interval(samples, count), n, len(auc) - n, count)


def _by_setting(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Rows by the name of their point, "" without one, and setting."""
    return {(str(row.get("point", "")), setting_of(row)): row for row in rows}


def _where(values: Values, keep: Flags) -> Values:
    return Values(*(np.where(keep, one, math.nan) for one in (values.value, values.low, values.high)))


def _gain(one: MeanGain) -> Cell:
    return Cell(one.mean, GAIN, words=with_interval(one.mean, one.low, one.high, GAIN))


def _sentence(relations: dict[str, Relation], parts: dict[str, dict[str, RightAndWrong]]) -> list[str]:
    found = relations[ALL]
    over = f"over {counted(found.n, 'setting')} in {counted(found.clusters, 'language pair')}"
    if not math.isfinite(found.rho):
        said = [f"Whether a better explanation boosts more is open: {over} no correlation of AUC and gain is defined"]
    else:
        known = math.isfinite(found.low)
        lead = "Explanations that find more of the words people marked boost more"
        if known and found.high < 0:
            lead = "Explanations that find more of the words people marked boost less"
        elif not known or found.low <= 0:
            lead = "Whether a better explanation boosts more is not established"
        said = [f"{lead}: Spearman's rho of AUC and gain {over} is {_rho(found)}"]
    if "auc" in parts:
        one = parts["auc"][ALL]
        said.append(
            f"on segments where the explanation is right the gain is {number(one.right.mean, GAIN)}, where it is "
            f"wrong {number(one.wrong.mean, GAIN)}, difference "
            f"{with_interval(one.difference.mean, one.difference.low, one.difference.high, GAIN)}"
        )
    return ["; ".join(said) + "."]


def _rho(one: Relation) -> str:
    return with_interval(one.rho, one.low, one.high, RHO, without="(too few for an interval)")
