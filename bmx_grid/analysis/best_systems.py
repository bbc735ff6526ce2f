"""How metrics agree with human judgements on the best systems, and what is difficult there (Zhan et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import WithFrames
from bmx_grid.analysis.tested import rows_of
from bmx_grid.wording import file_stem, number, with_interval

Pair = tuple[str, str]
ON_THESE = "on these systems"
STATISTICS = {"pearson": "r", "kendall": "τ", "spearman": "ρ"}
TOP = 30  # percent of the systems: the "competitive" ones of the paper
NOTES = (
    "Correlations of system scores with human scores, with the metric's own sign; in brackets 95 % intervals by a "
    "bootstrap of systems and clusters of segments. Few systems carry little evidence: six can be ordered in 720 ways.",
    "A metric that is fitted on systems is fitted on those that are compared.",
)


@dataclass(frozen=True, eq=False)
class BestSystems:
    """of_systems: by data set and pair, number of systems and metric: (value, low, high) by statistic.

    ranks: by the same, a row per system. bins, words: the rows of difficulty.parquet and difficult_words.parquet by
    data set, pair and metric; differences: those of top_differences.parquet, of metrics fitted on the systems compared.
    """

    of_systems: Mapping[Pair, Mapping[tuple[int, str], Mapping[str, tuple[float, float, float]]]] = working()
    ranks: Mapping[Pair, Mapping[tuple[int, str], Sequence[Mapping[str, Any]]]] = working()
    bins: Mapping[tuple[str, str, str], Sequence[Mapping[str, Any]]] = working()
    words: Mapping[tuple[str, str, str], Sequence[Mapping[str, Any]]] = working()
    differences: Mapping[tuple[str, str, str], Sequence[Mapping[str, Any]]] = working()


def compute(given: WithFrames) -> BestSystems:
    """What the evaluations `top_systems` and `difficulty` found, of each metric once; nothing without them."""
    correlations: dict[Pair, dict[tuple[int, str], dict[str, tuple[float, float, float]]]] = {}
    for row in _shown(given, "top_systems"):
        own = correlations.setdefault(_pair(row), {}).setdefault((int(row["systems"]), row["metric"]), {})
        own[row["statistic"]] = row["value"], row["low"], row["high"]
    ranks: dict[Pair, dict[tuple[int, str], list[Mapping[str, Any]]]] = {}
    for row in _shown(given, "ranks"):
        ranks.setdefault(_pair(row), {}).setdefault((int(row["systems"]), row["metric"]), []).append(row)
    by_setting: list[dict[tuple[str, str, str], list[Mapping[str, Any]]]] = [{}, {}]
    for found, name in zip(by_setting, ("difficulty", "difficult_words"), strict=True):
        for row in _of_one_explainer(given, name):
            found.setdefault((*_pair(row), row["metric"]), []).append(row)
    differences: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in _of_one_explainer(given, "top_differences"):
        if row["fitted"] == ON_THESE:
            differences.setdefault((*_pair(row), row["metric"]), []).append(row)
    bins, words = by_setting
    return BestSystems(correlations, ranks, bins, words, differences)


def tables(result: BestSystems) -> Sequence[Table]:
    """Agreement of all and of the best systems, by their number, their ranks, and what is difficult."""
    made: list[Table] = []
    for pair, cells in result.of_systems.items():
        made += [_agreement(pair, cells), _by_number(pair, cells)]
        made += [_differences(names, rows) for names, rows in result.differences.items() if names[:2] == pair]
        made += _ranks(pair, result.ranks.get(pair, {}))
    made += [_histogram(names, rows) for names, rows in result.bins.items()]
    made += [_words(names, rows) for names, rows in result.words.items()]
    return made


def _pair(row: Mapping[str, Any]) -> Pair:
    return row["dataset"], row["language_pair"]


def _of_one_explainer(given: WithFrames, name: str) -> Iterator[Mapping[str, Any]]:
    """The rows of each metric from its first explainer: they are of the metric alone."""
    first: dict[tuple[str, ...], str] = {}
    for row in rows_of(given.frames.get(name)):
        if first.setdefault((*_pair(row), row["metric"]), row["explainer"]) == row["explainer"]:
            yield row


def _shown(given: WithFrames, name: str) -> Sequence[Mapping[str, Any]]:
    """Of a metric fitted on the systems that are compared these rows only."""
    rows = list(_of_one_explainer(given, name))
    again = {(*_pair(row), row["metric"], row["systems"]) for row in rows if row["fitted"] == ON_THESE}
    return [
        row for row in rows if row["fitted"] == ON_THESE or (*_pair(row), row["metric"], row["systems"]) not in again
    ]


def _sizes(cells: Mapping[tuple[int, str], object]) -> tuple[int, int]:
    """How many systems there are, and how many the best 30 % are, or the fewest that have rows."""
    sizes = sorted({size for size, _ in cells})
    return sizes[-1], max(sizes[-1] * TOP // 100, sizes[0])


def _agreement(pair: Pair, cells: Mapping[tuple[int, str], Mapping[str, tuple[float, float, float]]]) -> Table:
    groups = []
    for size in dict.fromkeys(_sizes(cells)):
        groups.append(
            tuple(
                (Cell(metric), Cell(size, ".0f"), *(_with_ends(found.get(name)) for name in STATISTICS))
                for (own, metric), found in cells.items()
                if own == size
            )
        )
    header = ("metric", "systems", *STATISTICS.values())
    title = f"{' '.join(pair)}: correlation with human judgements, of all and of the best systems"
    return Table(file_stem(f"best_systems_{'_'.join(pair)}"), title, header, tuple(groups), NOTES)


def _with_ends(found: tuple[float, float, float] | None) -> Cell:
    value, low, high = found or (math.nan,) * 3
    return Cell(value, ".3f", words=with_interval(value, low, high, ".3f"))


def _by_number(pair: Pair, cells: Mapping[tuple[int, str], Mapping[str, tuple[float, float, float]]]) -> Table:
    metrics = list(dict.fromkeys(metric for _, metric in cells))
    rows = tuple(
        (
            Cell(str(size)),
            *(Cell(cells.get((size, metric), {}).get("kendall", (math.nan,))[0], ".3f") for metric in metrics),
        )
        for size in sorted({size for size, _ in cells})
    )
    title = f"{' '.join(pair)}: Kendall's τ among the best systems, by their number"
    return Table(file_stem(f"best_systems_by_number_{'_'.join(pair)}"), title, ("systems", *metrics), (rows,), NOTES)


def _differences(names: tuple[str, str, str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """How much better a metric that is fitted on the systems does than each other metric."""
    shown = {"pearson": "r", "kendall": "τ"}
    of = {(int(row["systems"]), row["against"], row["statistic"]): row for row in rows}
    others = list(dict.fromkeys(str(row["against"]) for row in rows))
    columns = [(against, statistic) for against in others for statistic in shown]

    def cell(size: int, against: str, statistic: str) -> Cell:
        row = of.get((size, against, statistic))
        return _with_ends(None if row is None else (row["difference"], row["low"], row["high"]))

    body = tuple(
        (Cell(str(size)), *(cell(size, *column) for column in columns)) for size in sorted({key[0] for key in of})
    )
    header = ("systems", *(f"{shown[statistic]} less {against}'s" for against, statistic in columns))
    notes = (
        "Above 0 the metric is the better one. In brackets 95 % intervals of the difference, by a bootstrap of "
        "systems and clusters of segments, the same for both metrics.",
        *NOTES[1:],
    )
    title = f"{' · '.join(names)}: difference from other metrics among the best systems, by their number"
    return Table(file_stem(f"best_systems_differences_{'_'.join(names)}"), title, header, (body,), notes)


def _ranks(pair: Pair, cells: Mapping[tuple[int, str], Sequence[Mapping[str, Any]]]) -> Iterator[Table]:
    """Scores of the best systems, each with how much higher or lower its rank is than people rank it."""
    if not cells:
        return
    _, top = _sizes(cells)
    metrics = [metric for size, metric in cells if size == top]
    of = {metric: {row["system"]: row for row in cells[top, metric]} for metric in metrics}
    people = sorted(next(iter(of.values())).values(), key=lambda row: float(row["human_rank"]))
    rows = tuple(
        (
            Cell(str(one["system"])),
            *(_ranked(of[metric][one["system"]]) for metric in metrics),
            Cell(float(one["human"]), ".3f"),
        )
        for one in people
    )
    sums = [sum(abs(row["human_rank"] - row["rank"]) for row in of[metric].values()) for metric in metrics]
    last = (Cell("sum of rank differences"), *(Cell(float(value), "g") for value in sums), Cell(0.0, "g"))
    notes = (
        f"The best {top} systems. In brackets: how many ranks higher (+) or lower than people the metric ranks the "
        "system among these.",
        *NOTES[1:],
    )
    title = f"{' '.join(pair)}: ranks of the best systems"
    header = ("system", *metrics, "human")
    yield Table(file_stem(f"best_systems_ranks_{'_'.join(pair)}"), title, header, (rows, (last,)), notes)


def _ranked(row: Mapping[str, Any]) -> Cell:
    moved = float(row["human_rank"] - row["rank"])
    return Cell(float(row["score"]), ".4f", words=f"{number(row['score'], '.4f')} ({moved:+g})" if moved else None)


def _histogram(names: tuple[str, str, str], rows: Sequence[Mapping[str, Any]]) -> Table:
    sizes = list(dict.fromkeys(int(row["systems"]) for row in rows))
    of = {(int(row["systems"]), float(row["low"])): row for row in rows}
    lows = sorted({low for _, low in of})
    body = tuple(
        (
            Cell(f"{low:.2f} to {of[sizes[0], low]['high']:.2f}"),
            *(Cell(float(of[size, low]["share"]), ".3f") for size in sizes),
        )
        for low in lows
    )
    first = [of[size, lows[0]] for size in sizes]
    mean = (Cell("mean difficulty"), *(Cell(float(row["mean"]), ".4f") for row in first))
    notes = (
        f"Shares of {int(first[0]['tokens']):,} tokens of {int(first[0]['references']):,} references; no token of "
        f"{' and '.join(str(int(row['zero'])) for row in first)} of these is difficult: their segments score 0.",
    )
    header = ("difficulty", *(f"{size} systems" for size in sizes))
    title = f"{' · '.join(names)}: difficulty of reference tokens"
    return Table(file_stem(f"difficulty_{'_'.join(names)}"), title, header, (body, (mean,)), notes)


def _words(names: tuple[str, str, str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """One row per token, sentence by sentence."""
    sizes = list(dict.fromkeys(int(row["systems"]) for row in rows))
    of: dict[str, dict[int, dict[int, Mapping[str, Any]]]] = {}
    for row in rows:
        of.setdefault(str(row["id"]), {}).setdefault(int(row["place"]), {})[int(row["systems"])] = row
    groups = tuple(
        tuple(
            (
                Cell(segment),
                Cell(str(next(iter(fits.values()))["token"])),
                *(Cell(float(fits[size]["difficulty"]), ".3f") for size in sizes),
            )
            for _, fits in sorted(places.items())
        )
        for segment, places in of.items()
    )
    header = ("segment", "token", *(f"{size} systems" for size in sizes))
    title = f"{' · '.join(names)}: the references with the most difficult tokens"
    notes = ("Difficulty: 1 less the mean, over the systems, of the token's best cosine with a token of their output.",)
    return Table(file_stem(f"difficult_words_{'_'.join(names)}"), title, header, groups, notes, names=2)
