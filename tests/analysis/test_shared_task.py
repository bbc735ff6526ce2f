"""What shared tasks decide by, as the page shows it."""

import numpy as np
import pandas as pd
import pytest

from bmx_grid.analysis.base import Given
from bmx_grid.analysis.shared_task import compute, tables

PAIR = {"dataset": "d", "language_pair": "de-en"}


def row_of(compared, against, difference, p, test="perm_inputs", family="segment: metric against placebo"):
    explainer = "lime" if " at " in compared else "none"
    where = {
        "compared": compared,
        "explainer": explainer,
        "against": against,
        "level": "segment",
        "statistic": "pearson",
        "test": test,
    }
    return {**PAIR, **where, "family": family, "difference": difference, "low": -1.0, "high": 1.0, "p_holm": p}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([("chrf", "sentinel_source", 0.2, 0.01)], [], id="beaten"),
        pytest.param(
            [("chrf", "sentinel_source", 0.2, 0.06), ("chrf", "random", 0.3, 0.01)],
            ["Not shown to beat a placebo: chrF (sentinel_source)."],
            id="not after the correction",
        ),
        pytest.param(
            [("chrf at elsewhere", "random", -0.2, 0.001)],
            ["Not shown to beat a placebo: LIME on chrF at the point elsewhere (random)."],
            id="a boost that a placebo beats",
        ),
        pytest.param([("chrf", "random", np.nan, np.nan)], [], id="undefined"),
    ],
)
def test_what_beats_no_placebo_is_named(rows, said):
    others = [row_of("chrf", "bleu", -0.1, 0.9, family="segment: metric against metric")]
    frame = pd.DataFrame([*(row_of(*row) for row in rows), *(row_of(*row, test="williams") for row in rows), *others])
    found = compute(Given({"tests": frame}))
    assert found["unbeaten"] == said
    (table,) = tables(found)
    assert len(table.rows) == len(rows)


def test_tables_of_a_sweep_without_these_evaluations_are_none():
    assert list(tables(compute(Given({})))) == []


def test_systems_and_metrics_have_a_table_each():
    systems = pd.DataFrame(
        [
            {**PAIR, "system": name, "rank_low": low, "rank_high": high, "cluster": low, "outlier": name == "b"}
            | {"human": 1.0, "wins": 0, "losses": 0}
            for name, low, high in (("a", 1, 1), ("b", 2, 2), ("c", 0, 0))
        ]
    )
    ranks = [{"metric": name, "value": 0.5, "rank": 1, "tasks": "one, two", "n_left_out": 1} for name in "xy"]
    r = {"systems": "b", "n_systems": 3, "n_outliers": 1, "pearson": 0.9, "pearson_without": 0.1}
    given = {"human_ranking": systems, "outliers": pd.DataFrame([{**PAIR, "metric": "x", **r}])}
    found = {table.stem: table for table in tables(compute(Given({**given, "task_ranking": pd.DataFrame(ranks)})))}
    assert list(found) == ["task_ranking", "outliers", "people_d_de-en"]
    assert [[cell.shown for cell in row[:3]] for row in found["people_d_de-en"].rows] == [
        ["a", "1-1", ""],
        ["b", "2-2", "outlier"],
    ]
    assert [cell.shown for cell in found["outliers"].rows[0]][3:] == ["b", "3", "0.900", "0.100"]
    assert "left out, as undefined or not of every metric: 1" in found["task_ranking"].notes[0]
