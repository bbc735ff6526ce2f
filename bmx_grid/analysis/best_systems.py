"""How metrics correlate with human judgements on the best systems, and what is difficult there (Zhan et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import PAIR, Column, Given, Table
from bmx_grid.core.wording import file_stem, named
from bmx_grid.evaluations.rows_of_guests import BinRow, DifferenceRow, RankRow, TopRow, WordRow

if TYPE_CHECKING:
    import pandas as pd

METRIC = [*PAIR, "metric"]
ON_THESE = "on these systems"
STATISTICS = {"pearson": "r", "kendall": "τ", "spearman": "ρ"}
TABLES: dict[str, type] = {
    "top_systems": TopRow,
    "ranks": RankRow,
    "top_differences": DifferenceRow,
    "difficulty": BinRow,
    "difficult_words": WordRow,
}
TOP = 30  # percent of the systems: the "competitive" ones of the paper
NOTES = (
    "Correlations of system scores with human scores, with the metric's own sign; in brackets 95 % intervals by a "
    "bootstrap of systems and clusters of segments. Few systems carry little evidence: six can be ordered in 720 ways.",
    "A metric that is fitted on systems is fitted on those that are compared.",
)
OF_DIFFERENCES = (
    "Above 0 the metric is better than the other one. In brackets 95 % intervals, by a bootstrap of systems and "
    "clusters of segments, the same for both metrics.",
    *NOTES[1:],
)
OF_WORDS = ("Difficulty: 1 less the mean, over the systems, of the token's best cosine with a token of their output.",)


def compute(given: Given) -> dict[str, Any]:
    """What the evaluations `top_systems` and `difficulty` found, by the names of their tables; nothing without them.

    Each metric once, from its first explainer: rows are of the metric alone. Of a metric that is fitted on the systems
    compared, these rows only.
    """
    frames = {name: given.frame(name, row) for name, row in TABLES.items()}
    return {name: _of_metrics(frame) for name, frame in frames.items() if frame is not None}


def _of_metrics(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["explainer"] == frame.groupby(METRIC)["explainer"].transform("first")]
    if "fitted" not in frame:
        return frame
    fitted = frame["fitted"] == ON_THESE
    again = fitted.groupby([frame[name] for name in (*METRIC, "systems")]).transform("any")
    return frame[fitted | ~again] if "against" not in frame else frame[fitted]


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Correlations of all and of the best systems, their ranks, differences of metrics, and what is difficult."""
    for name, by, table_of in (
        ("top_systems", PAIR, _correlations),
        ("top_differences", PAIR, _differences),
        ("ranks", PAIR, _ranks),
        ("difficulty", METRIC, _histogram),
        ("difficult_words", METRIC, _words),
    ):
        for names, rows in result[name].groupby(by, sort=False) if name in result else ():
            yield table_of(names, rows)


def shown_sizes(systems: pd.Series) -> tuple[int, int]:
    """How many systems there are, and how many the best 30 % are, or the fewest that have rows."""
    most = int(systems.max())
    return most, max(most * TOP // 100, int(systems.min()))


def _table(kind: str, place: tuple[str, ...], title: str, frame: pd.DataFrame, *columns: Any, **options: Any) -> Table:
    stem = file_stem(f"{kind}_{'_'.join(place)}")
    return Table.of(stem, f"{' · '.join(place)}: {title}", frame, columns, **options)


def _correlations(names: tuple[str, ...], rows: pd.DataFrame) -> Table:
    index = ["systems", "metric"]
    wide = rows.pivot(index=index, columns="statistic", values=["value", "low", "high"])
    wide.columns = [" ".join(column) for column in wide.columns]
    first = rows[rows["systems"].isin(shown_sizes(rows["systems"]))][index].drop_duplicates()
    first = first.sort_values("systems", ascending=False, kind="stable")  # metrics in the order of the table
    columns = [
        Column(f"value {name}", symbol, ".3f", (f"low {name}", f"high {name}"))
        for name, symbol in STATISTICS.items()
        if f"value {name}" in wide
    ]
    title = "correlation with human judgements, of all and of the best systems"
    shown = first.join(wide, on=index)
    return _table("best_systems", names, title, shown, "metric", "systems", *columns, notes=NOTES, by=["systems"])


def _differences(names: tuple[str, ...], rows: pd.DataFrame) -> Table:
    """How much better a metric that is fitted on the systems does than each other metric."""
    rows = rows[rows["statistic"].isin(STATISTICS)]
    title = "difference from other metrics among the best systems, by their number"
    difference = Column("difference", form=".3f", ends=("low", "high"))
    columns = ("metric", "against", "statistic", "systems", difference)
    by = ["metric", "against", "statistic"]
    return _table("best_systems_differences", names, title, rows, *columns, notes=OF_DIFFERENCES, by=by, names=3)


def _ranks(names: tuple[str, ...], rows: pd.DataFrame) -> Table:
    _, top = shown_sizes(rows["systems"])
    rows = rows[rows["systems"] == top].assign(moved=rows["human_rank"] - rows["rank"])
    moves = rows["moved"].map(lambda moved: f" ({moved:+g})" if moved else "")
    rows = rows.assign(shown=rows["score"].map("{:.4f}".format) + moves).sort_values("human_rank", kind="stable")
    wide = rows.pivot(index="system", columns="metric", values="shown")
    metrics = list(dict.fromkeys(rows.sort_index()["metric"]))
    sums = rows["moved"].abs().groupby(rows["metric"]).sum()
    notes = (
        f"The best {top} systems. In brackets: how many ranks higher (+) or lower than people the metric ranks the "
        f"system among these; the sums are {named([f'{name} {sums[name]:g}' for name in metrics], len(metrics))}.",
        *NOTES[1:],
    )
    shown = rows[["system", "human"]].drop_duplicates("system").join(wide, on="system")
    columns = ("system", *metrics, Column("human", form=".3f"))
    return _table("best_systems_ranks", names, "ranks of the best systems", shown, *columns, notes=notes)


def _histogram(names: tuple[str, ...], rows: pd.DataFrame) -> Table:
    notes = (
        "Shares of the tokens of all references by difficulty, fitted on so many systems. Zero: references without a "
        "difficult token, whose segments score 0.",
    )
    numbers = (Column("low", "from", ".2f"), Column("high", "to", ".2f"), Column("share", form=".3f"))
    columns = ("systems", *numbers, Column("mean", "mean difficulty", ".3f"), "tokens", "references", "zero")
    return _table("difficulty", names, "difficulty of reference tokens", rows, *columns, notes=notes, by=["systems"])


def _words(names: tuple[str, ...], rows: pd.DataFrame) -> Table:
    """One row per token and number of systems, sentence by sentence."""
    columns = (Column("id", "segment"), "token", "systems", Column("difficulty", form=".3f"))
    title, by = "the references with the most difficult tokens", ["id", "systems"]
    return _table("difficult_words", names, title, rows, *columns, notes=OF_WORDS, by=by, names=2)
