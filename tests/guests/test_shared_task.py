"""What shared tasks decide by, as the page shows it."""

from some_frames import as_table

from bmx_grid.analysis.base import SweepTables
from bmx_grid.guests.tasks.shared_task import compute, tables
from bmx_grid.guests.tasks.task_rows import HumanRank, TaskRank, TaskScore, WithoutOutliers

PAIR = {"dataset": "d", "language_pair": "de-en"}


def test_tables_of_a_sweep_without_this_evaluation_are_none():
    assert list(tables(compute(SweepTables({})))) == []


def test_systems_and_metrics_have_a_table_each():
    systems = [
        HumanRank("", "", "da", name, 1.0, 0, 0, low, high, low, name == "b", **PAIR)
        for name, low, high in (("a", 1, 1), ("b", 2, 2), ("c", 0, 0))
    ]
    rows_of = {
        "human_ranking": systems,
        "outliers": [WithoutOutliers("none", "b", 3, 1, 0.9, 0.1, **PAIR, metric="x")],
        "task_ranking": [TaskRank("all", "all", name, "none", 0.5, 1, "one, two", 2, 1) for name in "xy"],
    }
    values = {("x", "spa"): 0.9, ("y", "spa"): 0.7, ("x", "pearson"): 0.4}
    rows_of["task_scores"] = [
        TaskScore("d", "de-en", metric, "none", statistic, value, 2.0) for (metric, statistic), value in values.items()
    ]
    rows_of = {name: as_table(rows) for name, rows in rows_of.items()}
    by_stem = {table.stem: table for table in tables(compute(SweepTables(rows_of)))}
    assert list(by_stem) == ["task_ranking", "task_gaps", "task_scores", "outliers", "people_d_de-en"]
    assert [[cell.display_text for cell in row] for row in by_stem["task_gaps"].rows] == [["y", "de-en: pearson"]]
    of_tasks = by_stem["task_scores"]
    assert of_tasks.header == ("metric", "mean", "de-en spa", "de-en pearson")
    assert [[cell.display_text for cell in row] for row in of_tasks.rows] == [
        ["x", "0.500", "0.900", "0.400"],
        ["y", "0.500", "0.700", "n/a"],
    ]
    assert of_tasks.notes == ("Weights: de-en spa 2, de-en pearson 2.",)
    assert [[cell.display_text for cell in row[:3]] for row in by_stem["people_d_de-en"].rows] == [
        ["a", "1-1", ""],
        ["b", "2-2", "outlier"],
    ]
    assert [cell.display_text for cell in by_stem["outliers"].rows[0]][3:] == ["b", "3", "0.900", "0.100"]
    assert "left out, as undefined for every metric: 1" in by_stem["task_ranking"].notes[0]
