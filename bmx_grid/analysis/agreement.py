"""How well each metric alone correlates with human judgements: by segment and by system, with intervals and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import WithFrames
from bmx_grid.analysis.tested import rows_of
from bmx_grid.wording import file_stem, number, setting_label

BASE = "base"
# level, grouping, statistic of correlations.parquet, and the name of the column
STATISTICS = {
    ("segment", "none", "pearson"): "segment r",
    ("segment", "none", "kendall"): "segment τ",
    ("segment", "item", "kendall"): "τ by item",
    ("segment", "system", "kendall"): "τ by system",
    ("segment", "none", "acc_eq"): "acc_eq",
    ("system", "none", "pearson"): "system r",
    ("system", "none", "pairwise_accuracy"): "accuracy",
    ("system", "none", "spa"): "SPA",
}
BRIEF = ("segment r", "system r")  # in the terminal, where there is no room for all
NOTES = (
    "In brackets: 95 % intervals by a bootstrap of clusters of segments, at system level of systems and clusters.",
    "τ: Kendall's tau-b; accuracy: pairs of systems ordered as people order them (Kocmi et al. 2021); SPA: "
    "soft pairwise accuracy (Thompson et al. 2024); acc_eq: pairwise accuracy with tie calibration (Deutsch et al. "
    "2023), calibrated on the same data. By item and by system: the mean of the groups with a defined value.",
    "A negative correlation belongs to a metric whose lower scores are better, as TER's are, or to one that fails.",
)
REACH = "The highest r of segments that any metric can be expected to reach, from the reliability of the human scores"
RANKS = (
    "rank: metrics have one rank until the first, from the highest down, that differs from any of these at .05 "
    "(uncorrected), as the WMT metrics tasks count."
)

Key = tuple[str, str, str]


@dataclass(frozen=True)
class OfMetric:
    """values: (value, low, high) by the name of the column, of one metric on one language pair; rank: by level, 0 where
    there is none; human: the judgement."""

    names: Key
    human: str
    values: Mapping[str, tuple[float, float, float]]
    ranks: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Agreement:
    """of_metrics: by data set, language pair and metric, in this order. ceilings: what any metric can be expected to
    reach, by data set and language pair, of the same judgement; where raters are published."""

    of_metrics: Sequence[OfMetric] = working()
    ceilings: Mapping[tuple[str, str], float] = working()


def compute(given: WithFrames) -> Agreement:
    """The agreement of the metrics alone with the primary human score; nothing without the evaluation of levels."""
    found: dict[Key, dict[str, tuple[float, float, float]]] = {}
    judged: dict[tuple[str, str], str] = {}
    for row in rows_of(given.frames.get("correlations")):
        names = row["dataset"], row["language_pair"], row["metric"]
        column = STATISTICS.get((row["level"], row["grouping"], row["statistic"]))
        if row["point"] != BASE or row["human"] != judged.setdefault(names[:2], row["human"]):
            continue
        own = found.setdefault(names, {})
        if column is not None:
            own.setdefault(column, (row["value"], row["low"], row["high"]))  # the same for every explainer
    ranks: dict[Key, dict[str, int]] = {}
    for row in rows_of(given.frames.get("ranking")):
        names = row["dataset"], row["language_pair"], row["metric"]
        ranks.setdefault(names, {}).setdefault(row["level"], int(row["rank"]))
    ceilings = {
        (row["dataset"], row["language_pair"]): float(row["ceiling"])
        for row in rows_of(given.frames.get("ceilings"))
        if judged.get((row["dataset"], row["language_pair"])) == row["human"] and math.isfinite(row["ceiling"])
    }
    return Agreement(
        [OfMetric(names, judged[names[:2]], values, ranks.get(names, {})) for names, values in sorted(found.items())],
        ceilings,
    )


def tables(result: Agreement) -> Sequence[Table]:
    """All metrics in brief, where there are no more than fit a screen, and one table per data set."""
    made = []
    everything, ceilings = result.of_metrics, result.ceilings
    if not everything:
        return ()
    made.append(
        _table(
            "agreement",
            "Correlation of the metrics alone with human judgements",
            everything,
            ceilings,
            BRIEF,
            brief=True,
        )
    )
    for dataset in dict.fromkeys(one.names[0] for one in everything):
        own = [one for one in everything if one.names[0] == dataset]
        title = f"{dataset}: correlation of the metrics alone with human judgements"
        made.append(_table(file_stem(f"agreement_{dataset}"), title, own, ceilings, tuple(STATISTICS.values())))
    return made


def _table(
    stem: str,
    title: str,
    found: Sequence[OfMetric],
    ceilings: Mapping[tuple[str, str], float],
    wanted: Sequence[str],
    *,
    brief: bool = False,
) -> Table:
    defined = [name for name in wanted if any(math.isfinite(_value(one, name)[0]) for one in found)]
    columns = defined or wanted[:1]  # n/a is an answer, too
    ranked = [level for level in ("segment", "system") if any(one.ranks.get(level, 0) for one in found)]
    within = (
        {f"{level} r": level for level in ranked} if brief else {}
    )  # ranks stand beside the value: there is no room
    several = len({one.names[0] for one in found}) > 1
    shown = [f"{name}, rank" if name in within else name for name in columns]
    ranks = [] if brief else [f"{level} rank" for level in ranked]
    header = (*(["data set"] if several else []), "pair", "metric", *shown, *ranks)
    groups: dict[tuple[str, str], list[OfMetric]] = {}
    for one in found:
        groups.setdefault(one.names[:2], []).append(one)
    rows = []
    for own in groups.values():
        ordered = sorted(own, key=lambda one: (_rank(one, ranked), -_order(_value(one, columns[0])[0]), one.names))
        rows.append(
            tuple(tuple(_cells(one, columns, [] if brief else ranked, within, several=several)) for one in ordered)
        )
    judged = sorted({one.human for one in found})
    negative = any(_value(one, name)[0] < 0 for one in found for name in columns)
    said = (*NOTES[:1], *(NOTES[2:] if negative else ())) if brief else NOTES
    known = [
        f"{setting_label(*pair[0 if several else 1 :])} {ceilings[pair]:.3f}" for pair in groups if pair in ceilings
    ]
    reach = [f"{REACH}: {', '.join(known)}."] if known else []
    notes = (f"Human score: {', '.join(judged)}; r: Pearson.", *said, *reach, *([RANKS] if ranked else []))
    return Table(stem, title, header, tuple(rows), notes, names=2 + several, brief=brief)


def _cells(
    one: OfMetric, columns: Sequence[str], ranked: Sequence[str], within: Mapping[str, str], *, several: bool
) -> Iterator[Cell]:
    for name in one.names[0 if several else 1 :]:
        yield Cell(name)
    for name in columns:
        value, low, high = _value(one, name)
        ends = f" [{number(low, '.3f')}, {number(high, '.3f')}]" if math.isfinite(low) else ""
        beside = f"  {one.ranks.get(within[name], 0) or ''}" if name in within else ""
        yield Cell(value, ".4f", words=f"{number(value, '.3f')}{ends}{beside}")
    for level in ranked:
        rank = one.ranks.get(level, 0)
        yield Cell(rank or math.nan, ".0f")


def _value(one: OfMetric, name: str) -> tuple[float, float, float]:
    return one.values.get(name, (math.nan,) * 3)


def _rank(one: OfMetric, ranked: Sequence[str]) -> float:
    """At the first level with ranks; without one last."""
    return one.ranks.get(ranked[0], 0) or math.inf if ranked else 0.0


def _order(value: float) -> float:
    return abs(value) if math.isfinite(value) else -1.0
