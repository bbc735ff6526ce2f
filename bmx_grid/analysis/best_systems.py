"""How metrics correlate with human judgements on the best systems, and what is difficult there (Zhan et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import Cell, Column, Table
from bmx_grid.analysis.table import Frames
from bmx_grid.core.wording import file_stem, number

if TYPE_CHECKING:
    import pandas as pd

PAIR = ["dataset", "language_pair"]
METRIC = [*PAIR, "metric"]
ON_THESE = "on these systems"
STATISTICS = {"pearson": "r", "kendall": "τ", "spearman": "ρ"}
TABLES = ("top_systems", "ranks", "top_differences", "difficulty", "difficult_words")
TOP = 30  # percent of the systems: the "competitive" ones of the paper
NOTES = (
    "Correlations of system scores with human scores, with the metric's own sign; in brackets 95 % intervals by a "
    "bootstrap of systems and clusters of segments. Few systems carry little evidence: six can be ordered in 720 ways.",
    "A metric that is fitted on systems is fitted on those that are compared.",
)
OF_DIFFERENCES = (
    "Above 0 the metric is the better one. In brackets 95 % intervals of the difference, by a bootstrap of systems and "
    "clusters of segments, the same for both metrics.",
    *NOTES[1:],
)
OF_WORDS = ("Difficulty: 1 less the mean, over the systems, of the token's best cosine with a token of their output.",)


def compute(given: Frames) -> dict[str, Any]:
    """What the evaluations `top_systems` and `difficulty` found, by the names of their tables; nothing without them.

    Each metric once, from its first explainer: rows are of the metric alone. Of a metric that is fitted on the systems
    compared, these rows only.
    """
    return {name: _of_metrics(given.frames[name]) for name in TABLES if name in given.frames}


def _of_metrics(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["explainer"] == frame.groupby(METRIC)["explainer"].transform("first")]
    if "fitted" not in frame:
        return frame
    fitted = frame["fitted"] == ON_THESE
    again = fitted.groupby([frame[name] for name in (*METRIC, "systems")]).transform("any")
    return frame[fitted | ~again] if "against" not in frame else frame[fitted]


def tables(result: Mapping[str, Any]) -> list[Table]:
    """Correlations of all and of the best systems, by their number, their ranks, and what is difficult."""
    shown: dict[tuple[str, ...], list[Table]] = {}  # those of a language pair stand together
    for name, by, made in (
        ("top_systems", PAIR, _correlations),
        ("top_differences", METRIC, _differences),
        ("ranks", PAIR, _ranks),
        ("difficulty", METRIC, _histogram),
        ("difficult_words", METRIC, _words),
    ):
        for names, rows in result[name].groupby(by, sort=False) if name in result else ():
            shown.setdefault(names[:2], []).extend(made(names, rows))
    return [table for of_pair in shown.values() for table in of_pair]


def shown_sizes(systems: pd.Series) -> tuple[int, int]:
    """How many systems there are, and how many the best 30 % are, or the fewest that have rows."""
    most = int(systems.max())
    return most, max(most * TOP // 100, int(systems.min()))


def _stem(kind: str, names: tuple[str, ...]) -> str:
    return file_stem(f"{kind}_{'_'.join(names)}")


def _correlations(names: tuple[str, ...], rows: pd.DataFrame) -> Iterator[Table]:
    pair = " ".join(names)
    index, wide = ["systems", "metric"], rows[rows["statistic"].isin(STATISTICS)]
    wide = wide.pivot(index=index, columns="statistic", values=["value", "low", "high"])
    wide.columns = ["_".join(column) for column in wide.columns]
    wide = wide.reindex(columns=[f"{value}_{name}" for value in ("value", "low", "high") for name in STATISTICS])
    first = rows[index].drop_duplicates()  # metrics in the order of the table
    shown = first[first["systems"].isin(shown_sizes(rows["systems"]))].sort_values(
        "systems", ascending=False, kind="stable"
    )
    columns = [
        Column(f"value_{name}", header, ".3f", (f"low_{name}", f"high_{name}")) for name, header in STATISTICS.items()
    ]
    yield Table.of(
        _stem("best_systems", names),
        f"{pair}: correlation with human judgements, of all and of the best systems",
        shown.join(wide, on=index),
        ["metric", Column("systems", form=".0f"), *columns],
        NOTES,
        by=["systems"],
    )
    kendall = rows[rows["statistic"] == "kendall"].pivot(index="systems", columns="metric", values="value")
    metrics = list(dict.fromkeys(rows["metric"]))
    kendall = kendall.reindex(index=sorted(set(rows["systems"])), columns=metrics).reset_index()
    yield Table.of(
        _stem("best_systems_by_number", names),
        f"{pair}: Kendall's τ among the best systems, by their number",
        kendall.astype({"systems": str}),
        ["systems", *(Column(metric, form=".3f") for metric in metrics)],
        NOTES,
    )


def _differences(names: tuple[str, ...], rows: pd.DataFrame) -> Iterator[Table]:
    """How much better a metric that is fitted on the systems does than each other metric."""
    headers = {
        (statistic, against): f"{STATISTICS[statistic]} less {against}'s"
        for against in dict.fromkeys(rows["against"])
        for statistic in ("pearson", "kendall")
    }
    values = ("difference", "low", "high")
    wide = rows.pivot(index="systems", columns=["statistic", "against"], values=list(values))
    wide = wide.reindex(columns=[(value, *name) for value in values for name in headers])
    wide.columns = [f"{value} {header}" for value in values for header in headers.values()]
    columns = [Column(f"difference {name}", name, ".3f", (f"low {name}", f"high {name}")) for name in headers.values()]
    title = f"{' · '.join(names)}: difference from other metrics among the best systems, by their number"
    frame = wide.reset_index().astype({"systems": str})
    yield Table.of(_stem("best_systems_differences", names), title, frame, ["systems", *columns], OF_DIFFERENCES)


def _ranks(names: tuple[str, ...], rows: pd.DataFrame) -> Iterator[Table]:
    _, top = shown_sizes(rows["systems"])
    rows = rows[rows["systems"] == top].assign(moved=rows["human_rank"] - rows["rank"])
    metrics = list(dict.fromkeys(rows["metric"]))
    by_system = rows.sort_values("human_rank", kind="stable").groupby("system", sort=False)
    body = tuple(
        (
            Cell(str(system)),
            *(_ranked(of_metric) for of_metric in of_system.set_index("metric").loc[metrics].to_dict("records")),
            Cell(float(of_system["human"].iloc[0]), ".3f"),
        )
        for system, of_system in by_system
    )
    sums = rows["moved"].abs().groupby(rows["metric"]).sum()
    last = (Cell("sum of rank differences"), *(Cell(float(sums[name]), "g") for name in metrics), Cell(0.0, "g"))
    notes = (
        f"The best {top} systems. In brackets: how many ranks higher (+) or lower than people the metric ranks the "
        "system among these.",
        *NOTES[1:],
    )
    title = f"{' '.join(names)}: ranks of the best systems"
    header = ("system", *metrics, "human")
    yield Table(_stem("best_systems_ranks", names), title, header, (body, (last,)), notes)


def _ranked(row: Mapping[Any, Any]) -> Cell:
    moved = float(row["moved"])
    return Cell(float(row["score"]), ".4f", words=f"{number(row['score'], '.4f')} ({moved:+g})" if moved else None)


def _histogram(names: tuple[str, ...], rows: pd.DataFrame) -> Iterator[Table]:
    first = rows.drop_duplicates("systems")
    bins = rows["low"].map("{:.2f}".format) + " to " + rows["high"].map("{:.2f}".format)
    shares = rows.assign(bin=bins).pivot(index="bin", columns="systems", values="share")
    mean = first.set_index("systems")["mean"].to_frame("mean difficulty").T
    columns = [Column(size, f"{size} systems", ".3f") for size in first["systems"]]
    notes = (
        f"Shares of {int(first['tokens'].iloc[0]):,} tokens of {int(first['references'].iloc[0]):,} references; no "
        f"token of {' and '.join(map(str, first['zero']))} of these is difficult: their segments score 0. Last row: "
        "the mean difficulty.",
    )
    title = f"{' · '.join(names)}: difficulty of reference tokens"
    import pandas as pd

    frame = pd.concat([shares.assign(part=0), mean.assign(part=1)]).rename_axis("difficulty").reset_index()
    yield Table.of(_stem("difficulty", names), title, frame, ["difficulty", *columns], notes, by=["part"])


def _words(names: tuple[str, ...], rows: pd.DataFrame) -> Iterator[Table]:
    """One row per token, sentence by sentence."""
    order = {segment: place for place, segment in enumerate(dict.fromkeys(rows["id"]))}
    tokens = rows.assign(order=rows["id"].map(order)).pivot(
        index=["order", "id", "place", "token"], columns="systems", values="difficulty"
    )
    sizes = [Column(size, f"{size} systems", ".3f") for size in dict.fromkeys(rows["systems"])]
    title = f"{' · '.join(names)}: the references with the most difficult tokens"
    columns = [Column("id", "segment"), "token", *sizes]
    frame = tokens.reset_index()
    yield Table.of(_stem("difficult_words", names), title, frame, columns, OF_WORDS, by=["id"], names=2)
