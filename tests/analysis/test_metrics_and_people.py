"""Metrics alone: their correlation with human judgements, and ranks of systems."""

import math

import pytest
from some_frames import completed

from bmx_grid.analysis import metrics_and_people
from bmx_grid.analysis.base import SweepTables
from bmx_grid.evaluations.levels import LevelsEvaluation
from bmx_grid.evaluations.significance import SignificanceEvaluation

KINDS = {**LevelsEvaluation.ROWS, **SignificanceEvaluation.ROWS}
PLACE = {"dataset": "toy", "language_pair": "de-en"}


def correlation(metric, value, *, level="segment", grouping="none", statistic="pearson", point="base", human="da"):
    names = {**PLACE, "metric": metric, "explainer": "none", "point": point, "human": human}
    where = {"level": level, "grouping": grouping, "statistic": statistic}
    return {**names, **where, "value": value, "low": value - 0.1, "high": value + 0.1}


def rank(metric, value, level="segment"):
    return {**PLACE, "metric": metric, "explainer": "none", "level": level, "rank": value}


def asked(**frames):
    result = metrics_and_people.compute(
        SweepTables({name: completed(rows, KINDS[name]) for name, rows in frames.items()})
    )
    return result, list(metrics_and_people.tables(result))


@pytest.mark.parametrize(
    ("values", "ranks", "expected"),
    [
        pytest.param({"low": -0.6, "high": 0.5}, {}, ["low", "high"], id="by size: lower scores may be better"),
        pytest.param({"fails": -0.6, "high": 0.5}, {"fails": 2, "high": 1}, ["high", "fails"], id="ranks come first"),
        pytest.param(
            {"none": 0.6, "first": 0.5, "zero": 0.7, "second": 0.4},
            {"first": 1, "second": 2, "zero": 0},
            ["first", "second", "zero", "none"],
            id="without a rank below",
        ),
        pytest.param({"a": math.nan, "b": 0.0, "c": 0.1}, {}, ["c", "b", "a"], id="undefined last"),
    ],
)
def test_metrics_stand_in_the_order_of_ranks_then_of_size(values, ranks, expected):
    rows = [correlation(name, value) for name, value in values.items()]
    ranking = {"ranking": [rank(*pair) for pair in ranks.items()]} if ranks else {}
    _, (brief, _) = asked(correlations=rows, **ranking)
    assert [row[1].value for row in brief.rows] == expected


def test_rows_of_boosts_and_of_other_judgements_are_not_shown():
    """A boosted point, another judgement, another explainer: the metric alone is the same."""
    further = [correlation("a", 0.9, point="published"), correlation("a", 0.9, human="another judgement")]
    further.append({**correlation("a", 0.9), "explainer": "shap"})
    result, _ = asked(correlations=[correlation("a", 0.5), *further, correlation("b", 0.4)])
    values = result["correlations"].set_index("metric")["segment r"]
    assert values.to_dict() == {"a": 0.5, "b": 0.4}


def system(name, human, ranks, people, metric="chrf", **changes):
    names = {**PLACE, "metric": metric, "explainer": "none", "point": "base", "human_name": "mqm", "system": name}
    row = {**names, "human": human, **changes}
    for prefix, of_prefix in (("rank", ranks), ("human_rank", people)):
        row |= dict(zip((prefix, f"{prefix}_low", f"{prefix}_high", f"{prefix}_cluster"), of_prefix, strict=True))
    return row


SYSTEMS = [
    system("b", 0.5, (1, 1, 3, 1), (2, 1, 2, 1)),
    system("a", 0.75, (2, 1, 3, 1), (1, 1, 2, 1)),
    system("c", 0.25, (3, 2, 3, 1), (3, 3, 3, 2)),
    system("a", 0.75, (1, 1, 1, 1), (1, 1, 2, 1), metric="ter"),
    system("b", 0.5, (0, 0, 0, 0), (2, 1, 2, 1), metric="ter"),
]


def test_systems_stand_in_the_order_and_the_clusters_of_people():
    others = [
        {**SYSTEMS[0], **change} for change in ({"explainer": "lime"}, {"point": "published"}, {"human_name": "da"})
    ]
    (table,) = asked(systems=[*SYSTEMS, *others])[1]
    assert table.header == ("system", "human score", "rank by people", "chrf", "ter")
    assert [[[cell.display_text for cell in line] for line in group] for group in table.groups] == [
        [["a", "0.750", "1-2", "1-3", "1-1"], ["b", "0.500", "1-2", "1-3", "n/a"]],
        [["c", "0.250", "3-3", "2-3", "n/a"]],
    ]
    assert any("Lines separate clusters" in note for note in table.notes)


def test_of_one_system_there_are_no_ranks_to_show():
    assert asked(systems=SYSTEMS[:1])[1] == []
