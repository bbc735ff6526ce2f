"""Correlations of metrics with human scores on the best systems, and the difficult tokens (Zhan et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import Column, SweepTables, Table, each_group, pivot_estimates
from bmx_grid.core.wording import file_stem, join_names
from bmx_grid.evaluations.base import OF_METRIC, SettingRow
from bmx_grid.guests.difficulty.difficulty_rows import ON_THESE, BinRow, DifferenceRow, RankRow, TopRow, WordRow

if TYPE_CHECKING:
    import pandas as pd

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


def compute(tables: SweepTables) -> dict[str, pd.DataFrame]:
    """Read the tables of the evaluations `top_systems` and `difficulty`, by name; empty without them.

    Each metric once, from its first explainer: rows are of the baseline. Of a metric that is fitted on the systems
    compared, these rows only.
    """
    result = {}
    for name, row_type in ROW_TYPES.items():
        if name in tables.frames:
            result[name] = _rows_of_metrics(tables.frame(name, row_type), row_type)
    return result


def _rows_of_metrics(rows: pd.DataFrame, row_type: type) -> pd.DataFrame:
    rows = rows[rows["explainer"] == rows.groupby([*OF_METRIC])["explainer"].transform("first")]
    # Rows on difficulty have no such column.
    if "fitted" in rows:
        is_fitted = rows["fitted"] == ON_THESE
        # Differences are shown of metrics that are fitted on the systems only.
        is_shown = is_fitted
        if row_type is not DifferenceRow:
            has_fit = is_fitted.groupby([rows[name] for name in (*OF_METRIC, "systems")]).transform("any")
            is_shown = is_fitted | ~has_fit
        rows = rows[is_shown]
    return rows.reset_index(drop=True)


def tables(result: Mapping[str, pd.DataFrame]) -> Iterator[Table]:
    """Correlations on all and on the best systems, their ranks, differences of metrics, and difficult tokens."""
    parts: tuple[tuple[str, int, Any], ...] = (
        ("top_systems", 2, _correlations),
        ("top_differences", 2, _differences),
        ("ranks", 2, _ranks),
        ("difficulty", 3, _histogram),
        ("difficult_words", 3, _words),
    )
    for name, n_names, table_of in parts:
        if name in result:
            # Two names are a language pair, three a metric.
            for names, rows in each_group(result[name], *OF_METRIC[:n_names]):
                yield table_of(names, rows)


def shown_sizes(sizes: Iterable[int]) -> tuple[int, int]:
    """How many systems there are, and how many the best 30 % are, or the fewest that have rows.

    sizes: how many systems each row is on.
    """
    known = list(sizes)
    most = max(known)
    return most, max(most * TOP // 100, min(known))


def _table(kind: str, group: tuple[str, ...], title: str, rows: pd.DataFrame, *columns: Any, **options: Any) -> Table:
    """A table of a group, a language pair or a metric, whose names are in its title and in its file name."""
    stem = file_stem(f"{kind}_{'_'.join(group)}")
    full_title = f"{' · '.join(group)}: {title}"
    return Table.from_rows(stem, full_title, rows, columns, **options)


def _correlations(pair: tuple[str, ...], rows: pd.DataFrame) -> Table:
    shown = rows[rows["systems"].isin(shown_sizes(rows["systems"]))]
    shown = shown.sort_values("systems", ascending=False, kind="stable")
    lines = pivot_estimates(shown, ["systems", "metric"], "statistic")
    columns: list[Any] = ["metric", "systems"]
    for name, symbol in SYMBOLS.items():
        if name in lines:
            columns.append(Column(name, symbol, ".3f", (f"{name}_low", f"{name}_high")))
    title = "correlation with human judgements, of all and of the best systems"
    return _table("best_systems", pair, title, lines, *columns, notes=OF_TOP, by=["systems"])


def _differences(pair: tuple[str, ...], rows: pd.DataFrame) -> Table:
    """How much better a metric that is fitted on the systems does than each other metric."""
    rows = rows[rows["statistic"].isin(SYMBOLS)]
    title = "difference from other metrics among the best systems, by their number"
    by = ["metric", "against", "statistic"]
    columns = (*by, "systems", Column("difference", form=".3f", ends=("low", "high")))
    return _table("best_systems_differences", pair, title, rows, *columns, notes=OF_DIFFERENCES, by=by, names=3)


def _ranks(pair: tuple[str, ...], rows: pd.DataFrame) -> Table:
    _, top = shown_sizes(rows["systems"])
    rows = rows[rows["systems"] == top]
    moved = rows["human_rank"] - rows["rank"]
    sums = moved.abs().groupby(rows["metric"], sort=False).sum(skipna=False)
    metrics = sums.index.tolist()
    cells = []
    for score, ranks in zip(rows["score"], moved, strict=True):
        # How many ranks higher than people the metric ranks the system.
        remark = f" ({ranks:+g})" if ranks != 0 else ""
        cells.append(f"{score:.4f}{remark}")
    rows = rows.assign(shown=cells).sort_values("human_rank", kind="stable")
    lines = rows.drop_duplicates("system")[["system", "human"]]
    # A metric may not have scored a system.
    by_system = rows.pivot(index="system", columns="metric", values="shown")
    lines[metrics] = by_system.loc[lines["system"], metrics].to_numpy()
    sums_of_metrics = [f"{metric} {ranks:g}" for metric, ranks in sums.items()]
    notes = (
        f"The best {top} systems. In brackets: how many ranks higher (+) or lower than people the metric ranks the "
        f"system among these; the sums are {join_names(sums_of_metrics, len(metrics))}.",
        *OF_TOP[1:],
    )
    columns = ("system", *metrics, Column("human", form=".3f"))
    return _table("best_systems_ranks", pair, "ranks of the best systems", lines, *columns, notes=notes)


def _histogram(metric: tuple[str, ...], rows: pd.DataFrame) -> Table:
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


def _words(metric: tuple[str, ...], rows: pd.DataFrame) -> Table:
    """One row per token and number of systems, sentence by sentence."""
    columns = (Column("id", "segment"), "token", "systems", Column("difficulty", form=".3f"))
    title = "the references with the most difficult tokens"
    by = ["id", "systems"]
    return _table("difficult_words", metric, title, rows, *columns, notes=OF_WORDS, by=by, names=2)
