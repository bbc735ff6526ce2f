"""How metrics correlate with human judgements on the best systems, and what is difficult there (Zhan et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmx_grid.analysis.base import Column, Given, Table, first_by, rows_by
from bmx_grid.core.wording import file_stem, named
from bmx_grid.evaluations.base import NOTHING, SettingRow
from bmx_grid.guests.difficulty.difficulty_rows import ON_THESE, BinRow, DifferenceRow, RankRow, TopRow, WordRow

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
    result = {}
    for name, row_type in ROW_TYPES.items():
        if name in given.frames:
            result[name] = _rows_of_metrics(given.rows(name, row_type))
    return result


def _rows_of_metrics(rows: Sequence[Any]) -> list[Any]:
    first = first_by(rows, lambda row: row.metric_alone)
    rows = [row for row in rows if row.explainer == first[row.metric_alone].explainer]
    # Rows on difficulty have no such field.
    fitted = [row for row in rows if getattr(row, "fitted", None) == ON_THESE]
    # Differences are shown of metrics that are fitted on the systems only.
    if any(isinstance(row, DifferenceRow) for row in rows):
        return fitted
    if not fitted:
        return rows
    fitted_sizes = {(row.metric_alone, row.systems) for row in fitted}
    kept = []
    for row in rows:
        if row.fitted == ON_THESE or (row.metric_alone, row.systems) not in fitted_sizes:
            kept.append(row)
    return kept


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Correlations of all and of the best systems, their ranks, differences of metrics, and what is difficult."""
    parts: tuple[tuple[str, int, Any], ...] = (
        ("top_systems", 2, _correlations),
        ("top_differences", 2, _differences),
        ("ranks", 2, _ranks),
        ("difficulty", 3, _histogram),
        ("difficult_words", 3, _words),
    )
    for name, n_names, table_of in parts:
        # Two names are a language pair, three a metric.
        groups: dict[tuple[str, ...], list[Any]] = {}
        for row in result.get(name, ()):
            groups.setdefault(row.setting_names[:n_names], []).append(row)
        for names, rows in groups.items():
            yield table_of(names, rows)


def shown_sizes(rows: Sequence[TopRow | RankRow]) -> tuple[int, int]:
    """How many systems there are, and how many the best 30 % are, or the fewest that have rows."""
    sizes = [row.systems for row in rows]
    most = max(sizes)
    return most, max(most * TOP // 100, min(sizes))


def _table(kind: str, group: tuple[str, ...], title: str, rows: Sequence[Any], *columns: Any, **options: Any) -> Table:
    """A table of a group, a language pair or a metric, whose names are in its title and in its file name."""
    stem = file_stem(f"{kind}_{'_'.join(group)}")
    full_title = f"{' · '.join(group)}: {title}"
    return Table.of(stem, full_title, rows, columns, **options)


def _correlations(pair: tuple[str, ...], rows: Sequence[TopRow]) -> Table:
    sizes = shown_sizes(rows)
    shown_rows = [row for row in rows if row.systems in sizes]
    shown_rows.sort(key=lambda row: -row.systems)
    lines: list[dict[str, Any]] = []
    for (systems, metric), group in rows_by(shown_rows, lambda row: (row.systems, row.metric)).items():
        line: dict[str, Any] = {"metric": metric, "systems": systems}
        line |= dict.fromkeys(SYMBOLS, NOTHING)
        for row in group:
            line[row.statistic] = row.value
        lines.append(line)
    known = {row.statistic for row in rows}
    columns: list[Any] = ["metric", "systems"]
    columns += [Column(name, symbol, ".3f") for name, symbol in SYMBOLS.items() if name in known]
    title = "correlation with human judgements, of all and of the best systems"
    return _table("best_systems", pair, title, lines, *columns, notes=OF_TOP, by=["systems"])


def _differences(pair: tuple[str, ...], rows: Sequence[DifferenceRow]) -> Table:
    """How much better a metric that is fitted on the systems does than each other metric."""
    rows = [row for row in rows if row.statistic in SYMBOLS]
    title = "difference from other metrics among the best systems, by their number"
    by = ["metric", "against", "statistic"]
    columns = (*by, "systems", Column("difference", form=".3f"))
    return _table("best_systems_differences", pair, title, rows, *columns, notes=OF_DIFFERENCES, by=by, names=3)


def _ranks(pair: tuple[str, ...], rows: Sequence[RankRow]) -> Table:
    _, top = shown_sizes(rows)
    rows = [row for row in rows if row.systems == top]
    moved: dict[str, float] = {}
    for row in rows:
        ranks = abs(row.human_rank - row.rank)
        moved[row.metric] = moved.get(row.metric, 0.0) + ranks
    lines = []
    by_people = sorted(rows, key=lambda row: row.human_rank)
    for system, rows_of_system in rows_by(by_people, lambda row: row.system).items():
        line: dict[str, Any] = {"system": system, "human": rows_of_system[0].human}
        # A metric may not have scored this system.
        line |= dict.fromkeys(moved, math.nan)
        for row in rows_of_system:
            line[row.metric] = _rank_in_words(row)
        lines.append(line)
    sums_of_metrics = [f"{metric} {ranks:g}" for metric, ranks in moved.items()]
    sums = named(sums_of_metrics, len(moved))
    notes = (
        f"The best {top} systems. In brackets: how many ranks higher (+) or lower than people the metric ranks the "
        f"system among these; the sums are {sums}.",
        *OF_TOP[1:],
    )
    columns = ("system", *moved, Column("human", form=".3f"))
    return _table("best_systems_ranks", pair, "ranks of the best systems", lines, *columns, notes=notes)


def _rank_in_words(row: RankRow) -> str:
    """The score of a system, and how many ranks higher than people the metric ranks it."""
    score = f"{row.score:.4f}"
    moved = row.human_rank - row.rank
    if moved == 0:
        return score
    return f"{score} ({moved:+g})"


def _histogram(metric: tuple[str, ...], rows: Sequence[BinRow]) -> Table:
    notes = (
        "Shares of the tokens of all references by difficulty, fitted on so many systems. Zero: references without a "
        "difficult token, whose segments score 0.",
    )
    columns = (
        "systems",
        Column("low", "from", ".2f"),
        Column("high", "to", ".2f"),
        Column("share", form=".3f"),
        Column("mean", "mean difficulty", ".3f"),
        "tokens",
        "references",
        "zero",
    )
    return _table("difficulty", metric, "difficulty of reference tokens", rows, *columns, notes=notes, by=["systems"])


def _words(metric: tuple[str, ...], rows: Sequence[WordRow]) -> Table:
    """One row per token and number of systems, sentence by sentence."""
    columns = (Column("id", "segment"), "token", "systems", Column("difficulty", form=".3f"))
    title = "the references with the most difficult tokens"
    by = ["id", "systems"]
    return _table("difficult_words", metric, title, rows, *columns, notes=OF_WORDS, by=by, names=2)
