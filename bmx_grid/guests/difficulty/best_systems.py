"""How metrics correlate with human judgements on the best systems, and what is difficult there (Zhan et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmx_grid.analysis.base import Column, Given, Table, first_by, rows_by
from bmx_grid.core.wording import file_stem, named
from bmx_grid.evaluations.base import NOTHING, SettingRow
from bmx_grid.guests.difficulty.difficulty_rows import BinRow, DifferenceRow, RankRow, TopRow, WordRow

ON_THESE = "on these systems"
SYMBOLS = {"pearson": "r", "kendall": "τ", "spearman": "ρ"}
ROW_TYPES: dict[str, type[SettingRow]] = {
    "top_systems": TopRow,
    "ranks": RankRow,
    "top_differences": DifferenceRow,
    "difficulty": BinRow,
    "difficult_words": WordRow,
}
TOP = 30  # percent of the systems: the "competitive" ones of the paper
OF_TOP = (
    "Correlations of system scores with human scores, with the metric's own sign; in brackets 95 % intervals by a "
    "bootstrap of systems and clusters of segments. Few systems carry little evidence: six can be ordered in 720 ways.",
    "A metric that is fitted on systems is fitted on those that are compared.",
)
OF_DIFFERENCES = (
    "Above 0 the metric is better than the other one. In brackets 95 % intervals, by a bootstrap of systems and "
    "clusters of segments, the same for both metrics.",
    *OF_TOP[1:],
)
OF_WORDS = ("Difficulty: 1 less the mean, over the systems, of the token's best cosine with a token of their output.",)


def compute(given: Given) -> dict[str, Any]:
    """What the evaluations `top_systems` and `difficulty` found, by the names of their tables; nothing without them.

    Each metric once, from its first explainer: rows are of the metric alone. Of a metric that is fitted on the systems
    compared, these rows only.
    """
    return {name: _of_metrics(given.rows(name, row)) for name, row in ROW_TYPES.items() if name in given.frames}


def _of_metrics(rows: Sequence[Any]) -> list[Any]:
    first = first_by(rows, lambda row: row.metric_alone)
    rows = [row for row in rows if row.explainer == first[row.metric_alone].explainer]
    fitted = [row for row in rows if getattr(row, "fitted", None) == ON_THESE]
    if any(isinstance(row, DifferenceRow) for row in rows):
        return fitted
    again = {(row.metric_alone, row.systems) for row in fitted}
    return [row for row in rows if not again or row.fitted == ON_THESE or (row.metric_alone, row.systems) not in again]


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Correlations of all and of the best systems, their ranks, differences of metrics, and what is difficult."""
    parts: tuple[tuple[str, int, Any], ...] = (
        ("top_systems", 2, _correlations),
        ("top_differences", 2, _differences),
        ("ranks", 2, _ranks),
        ("difficulty", 3, _histogram),
        ("difficult_words", 3, _words),
    )
    for name, shared, table_of in parts:  # by language pair, or by metric
        groups: dict[tuple[str, ...], list[Any]] = {}
        for row in result.get(name, ()):
            groups.setdefault(row.setting_names[:shared], []).append(row)
        for names, rows in groups.items():
            yield table_of(names, rows)


def shown_sizes(rows: Sequence[TopRow | RankRow]) -> tuple[int, int]:
    """How many systems there are, and how many the best 30 % are, or the fewest that have rows."""
    sizes = [row.systems for row in rows]
    return max(sizes), max(max(sizes) * TOP // 100, min(sizes))


def _table(kind: str, place: tuple[str, ...], title: str, rows: Sequence[Any], *columns: Any, **options: Any) -> Table:
    stem = file_stem(f"{kind}_{'_'.join(place)}")
    return Table.of(stem, f"{' · '.join(place)}: {title}", rows, columns, **options)


def _correlations(names: tuple[str, ...], rows: Sequence[TopRow]) -> Table:
    shown: list[dict[str, Any]] = []
    of_sizes = [row for row in rows if row.systems in shown_sizes(rows)]
    of_sizes.sort(key=lambda row: -row.systems)
    for (systems, metric), group in rows_by(of_sizes, lambda row: (row.systems, row.metric)).items():
        values = {row.statistic: row.value for row in group}
        shown.append({"metric": metric, "systems": systems, **dict.fromkeys(SYMBOLS, NOTHING), **values})
    known = {row.statistic for row in rows}
    columns = [Column(name, symbol, ".3f") for name, symbol in SYMBOLS.items() if name in known]
    title = "correlation with human judgements, of all and of the best systems"
    return _table("best_systems", names, title, shown, "metric", "systems", *columns, notes=OF_TOP, by=["systems"])


def _differences(names: tuple[str, ...], rows: Sequence[DifferenceRow]) -> Table:
    """How much better a metric that is fitted on the systems does than each other metric."""
    rows = [row for row in rows if row.statistic in SYMBOLS]
    title = "difference from other metrics among the best systems, by their number"
    columns = ("metric", "against", "statistic", "systems", Column("difference", form=".3f"))
    by = ["metric", "against", "statistic"]
    return _table("best_systems_differences", names, title, rows, *columns, notes=OF_DIFFERENCES, by=by, names=3)


def _ranks(names: tuple[str, ...], rows: Sequence[RankRow]) -> Table:
    _, top = shown_sizes(rows)
    rows = [row for row in rows if row.systems == top]
    moved: dict[str, float] = {}
    for row in rows:
        moved[row.metric] = moved.get(row.metric, 0.0) + abs(row.human_rank - row.rank)
    shown = []
    by_people = sorted(rows, key=lambda row: row.human_rank)
    for system, of_metrics in rows_by(by_people, lambda row: row.system).items():
        texts = {row.metric: _rank_in_words(row) for row in of_metrics}
        shown.append({"system": system, "human": of_metrics[0].human, **dict.fromkeys(moved, math.nan), **texts})
    sums = named([f"{metric} {ranks:g}" for metric, ranks in moved.items()], len(moved))
    notes = (
        f"The best {top} systems. In brackets: how many ranks higher (+) or lower than people the metric ranks the "
        f"system among these; the sums are {sums}.",
        *OF_TOP[1:],
    )
    columns = ("system", *moved, Column("human", form=".3f"))
    return _table("best_systems_ranks", names, "ranks of the best systems", shown, *columns, notes=notes)


def _rank_in_words(row: RankRow) -> str:
    """The score of a system, and how many ranks higher than people the metric ranks it."""
    moved = row.human_rank - row.rank
    return f"{row.score:.4f} ({moved:+g})" if moved else f"{row.score:.4f}"


def _histogram(names: tuple[str, ...], rows: Sequence[BinRow]) -> Table:
    notes = (
        "Shares of the tokens of all references by difficulty, fitted on so many systems. Zero: references without a "
        "difficult token, whose segments score 0.",
    )
    numbers = (Column("low", "from", ".2f"), Column("high", "to", ".2f"), Column("share", form=".3f"))
    columns = ("systems", *numbers, Column("mean", "mean difficulty", ".3f"), "tokens", "references", "zero")
    return _table("difficulty", names, "difficulty of reference tokens", rows, *columns, notes=notes, by=["systems"])


def _words(names: tuple[str, ...], rows: Sequence[WordRow]) -> Table:
    """One row per token and number of systems, sentence by sentence."""
    columns = (Column("id", "segment"), "token", "systems", Column("difficulty", form=".3f"))
    title = "the references with the most difficult tokens"
    by = ["id", "systems"]
    return _table("difficult_words", names, title, rows, *columns, notes=OF_WORDS, by=by, names=2)
