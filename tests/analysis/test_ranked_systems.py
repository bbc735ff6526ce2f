"""Rank ranges of systems: the table of each language pair."""

import pandas as pd
import pytest

from bmx_grid.analysis import rank_ranges
from bmx_grid.analysis.given import Frames


def row(system, human, ranks, people, metric="chrf", explainer="none", point="base", human_name="mqm"):
    names = {"dataset": "toy", "language_pair": "de-en", "metric": metric, "explainer": explainer}
    found = {**names, "point": point, "human_name": human_name, "system": system, "human": human}
    for prefix, own in (("rank", ranks), ("human_rank", people)):
        found |= dict(zip((prefix, f"{prefix}_low", f"{prefix}_high", f"{prefix}_cluster"), own, strict=True))
    return found


ROWS = [
    row("b", 0.5, (1, 1, 3, 1), (2, 1, 2, 1)),
    row("a", 0.75, (2, 1, 3, 1), (1, 1, 2, 1)),
    row("c", 0.25, (3, 2, 3, 1), (3, 3, 3, 2)),
    row("a", 0.75, (1, 1, 1, 1), (1, 1, 2, 1), metric="ter"),
    row("b", 0.5, (0, 0, 0, 0), (2, 1, 2, 1), metric="ter"),
]


def asked(rows):
    return rank_ranges.tables(rank_ranges.compute(Frames({"systems": pd.DataFrame(rows)})))


def test_systems_stand_in_the_order_and_the_clusters_of_people():
    (table,) = asked(ROWS)
    assert table.header == ("system", "human score", "rank by people", "chrf", "ter")
    assert [[[cell.shown for cell in line] for line in group] for group in table.groups] == [
        [["a", "0.750", "1-2", "1-3", "1-1"], ["b", "0.500", "1-2", "1-3", "n/a"]],
        [["c", "0.250", "3-3", "2-3", "n/a"]],
    ]
    assert rank_ranges.CLUSTERS in table.notes
    assert table.frame()["chrf"].tolist() == [2, 1, 3], "files hold the ranks"


def test_a_rank_alone_where_nothing_was_drawn():
    (table,) = asked([row(name, -at, (at, 0, 0, 0), (at, 0, 0, 0)) for at, name in enumerate("ab", start=1)])
    assert [[cell.shown for cell in line] for line in table.rows] == [
        ["a", "-1.000", "1", "1"],
        ["b", "-2.000", "2", "2"],
    ]
    assert rank_ranges.CLUSTERS not in table.notes


@pytest.mark.parametrize(
    "further",
    [
        pytest.param({"explainer": "lime"}, id="another explainer: the metric alone is the same"),
        pytest.param({"point": "published"}, id="a boosted point"),
        pytest.param({"human_name": "da"}, id="another judgement"),
    ],
)
def test_rows_that_are_not_shown(further):
    other = [row("d", 9.0, (1, 1, 1, 1), (1, 1, 1, 1), **further)]
    for place in (2, len(ROWS)):
        assert asked([*ROWS[:place], *other, *ROWS[place:]]) == asked(ROWS)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="no table"),
        pytest.param([ROWS[0]], id="one system"),
        pytest.param([{k: v for k, v in one.items() if "rank" not in k} for one in ROWS], id="of an older version"),
    ],
)
def test_nothing_to_show(rows):
    assert not asked(rows)
