"""Questions that need no grid: the agreement of metrics with people, and counts of families of tests."""

import math

import pandas as pd
import pytest

from bmx_grid.analysis import agreement, families
from bmx_grid.analysis.given import Frames

PLACE = {"dataset": "toy", "language_pair": "de-en"}


def correlation(metric, value, *, level="segment", grouping="none", statistic="pearson", point="base", human="da"):
    names = {**PLACE, "metric": metric, "explainer": "none", "point": point, "human": human}
    where = {"level": level, "grouping": grouping, "statistic": statistic}
    return {**names, **where, "value": value, "low": value - 0.1, "high": value + 0.1}


def rank(metric, value, level="segment"):
    return {**PLACE, "metric": metric, "explainer": "none", "level": level, "rank": value}


def comparison(p, difference, *, family="f: 2 comparisons", point="published", alternative="two-sided", holm=None):
    adjusted = p if holm is None else holm
    return {
        "family": family,
        "point": point,
        "alternative": alternative,
        "p": p,
        "difference": difference,
        "p_holm": adjusted,
        "p_bh": adjusted,
    }


def asked(question, **frames):
    given = Frames({name: pd.DataFrame(rows) for name, rows in frames.items()})
    result = question.compute(given)
    return result, question.tables(result)


def test_metrics_are_ordered_by_their_correlation_with_its_interval_and_rank():
    rows = [
        correlation("a", 0.2),
        correlation("b", 0.5),
        correlation("b", 0.7, level="system"),
        correlation("a", math.nan, level="system"),
    ]
    _, (brief, whole) = asked(agreement, correlations=rows, ranking=[rank("a", 2), rank("b", 1)])
    assert brief.brief
    assert brief.header == ("pair", "metric", "segment r, rank", "system r")
    assert [[cell.shown for cell in row] for row in brief.rows] == [
        ["de-en", "b", "0.500 [0.400, 0.600]  1", "0.700 [0.600, 0.800]"],
        ["de-en", "a", "0.200 [0.100, 0.300]  2", "n/a"],
    ]
    assert whole.header == ("pair", "metric", "segment r", "system r", "segment rank")
    assert whole.frame()["segment r"].tolist() == [0.5, 0.2]


def test_a_metric_whose_lower_scores_are_better_stands_by_its_size():
    rows = [correlation("low", -0.6), correlation("high", 0.5)]
    _, (brief, whole) = asked(agreement, correlations=rows)
    assert [row[1].value for row in brief.rows] == ["low", "high"]
    assert any("negative" in note for note in whole.notes)
    assert any("negative" in note for note in brief.notes)
    (without, _) = asked(agreement, correlations=rows[1:])[1]
    assert not any("negative" in note for note in without.notes)


def test_ranks_come_before_the_size_of_a_correlation():
    """A metric that correlates negatively because it fails is strong in size alone."""
    rows = [correlation("fails", -0.6), correlation("high", 0.5)]
    _, (brief, _) = asked(agreement, correlations=rows, ranking=[rank("fails", 2), rank("high", 1)])
    assert [row[1].value for row in brief.rows] == ["high", "fails"]


def test_a_metric_without_a_rank_stands_below_those_that_have_one():
    rows = [correlation(name, value) for name, value in (("none", 0.6), ("first", 0.5), ("zero", 0.7), ("second", 0.4))]
    ranking = [rank("first", 1), rank("second", 2), rank("zero", 0)]
    _, (brief, whole) = asked(agreement, correlations=rows, ranking=ranking)
    assert [row[1].value for row in brief.rows] == ["first", "second", "zero", "none"]
    assert whole.frame()["segment rank"].tolist() == pytest.approx([1, 2, math.nan, math.nan], nan_ok=True)
    assert [row[2].shown.partition("]")[2].strip() for row in brief.rows] == ["1", "2", "", ""]


def test_the_ceiling_of_the_shown_judgement_stands_below_the_metrics():
    ceilings = [{**PLACE, "human": human, "ceiling": value} for human, value in (("da", 0.5), ("mqm", 0.875))]
    rows = [correlation("a", 0.5, human="mqm")]
    for made in asked(agreement, correlations=rows, ceilings=ceilings)[1]:
        assert any("any metric can be expected to reach" in note and "de-en 0.875" in note for note in made.notes)
        assert not any("0.500" in note for note in made.notes)
    for made in asked(agreement, correlations=rows)[1]:
        assert not any("expected to reach" in note for note in made.notes)


def test_several_data_sets_are_named_in_the_brief_table_and_in_its_ceilings():
    rows = [{**correlation("a", 0.5), "dataset": name} for name in ("toy", "two")]
    ceilings = [{**PLACE, "dataset": name, "human": "da", "ceiling": 0.75} for name in ("toy", "two")]
    brief, *each = asked(agreement, correlations=rows, ceilings=ceilings)[1]
    assert (brief.header[:3], brief.names) == (("data set", "pair", "metric"), 3)
    assert [[cell.value for cell in row[:3]] for row in brief.rows] == [["toy", "de-en", "a"], ["two", "de-en", "a"]]
    assert any("toy · de-en 0.750, two · de-en 0.750." in note for note in brief.notes)
    for made in each:
        assert (made.header[:2], made.names) == (("pair", "metric"), 2)
        assert any(": de-en 0.750." in note for note in made.notes)


def test_a_metric_without_a_correlation_stands_below_those_that_have_one():
    rows = [correlation("a", math.nan), correlation("b", 0.0), correlation("c", 0.1)]
    _, (brief, _) = asked(agreement, correlations=rows)
    assert [row[1].value for row in brief.rows] == ["c", "b", "a"]


def test_where_no_correlation_is_defined_it_says_so():
    _, (brief, _) = asked(agreement, correlations=[correlation("a", math.nan)])
    assert [cell.shown for cell in brief.rows[0]] == ["de-en", "a", "n/a"]


def test_a_single_metric_has_its_correlation_with_its_interval():
    rows = [correlation("a", 0.5), correlation("a", 0.6, point="published")]
    brief, whole = asked(agreement, correlations=rows)[1]
    assert brief.brief and not whole.brief
    for made in (brief, whole):
        assert [cell.shown for cell in made.rows[0]] == ["de-en", "a", "0.500 [0.400, 0.600]"]


def test_without_levels_there_is_no_table():
    assert asked(agreement, correlations=[])[1] == ()


def test_another_judgement_than_the_first_is_left_to_the_parquet_file():
    rows = [correlation(name, value, human=human) for human, value in (("mqm", 0.3), ("da", 0.9)) for name in "ab"]
    result, _ = asked(agreement, correlations=rows)
    assert {one.human for one in result.of_metrics} == {"mqm"}
    assert {one.values["segment r"][0] for one in result.of_metrics} == {0.3}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [comparison(0.01, 0.1), comparison(0.01, -0.1)], families.Family(2, 1, 1, 1, 1), id="a loss is no gain"
        ),
        pytest.param(
            [comparison(0.01, -0.1, point="base")] * 2, families.Family(2, 2, 2, 2, 2), id="metrics, either sign"
        ),
        pytest.param(
            [comparison(0.04, 0.1, holm=0.08), comparison(0.5, 0.1)], families.Family(2, 1, 0, 0, 1), id="corrected"
        ),
        pytest.param([comparison(math.nan, 0.1), comparison(0.2, 0.1)], families.Family(1, 0, 0, 0, 0), id="undefined"),
        pytest.param(
            [comparison(0.04, 0.1, alternative="greater")] * 2, families.Family(2, 2, 2, 2, 0), id="one-sided"
        ),
    ],
)
def test_families_are_counted(rows, expected):
    result, _ = asked(families, tests=rows)
    assert result.families == {"f: 2 comparisons": expected}


def test_without_tests_there_are_no_families():
    assert asked(families)[1] == ()


@pytest.mark.parametrize("other", ["a judgement before it in the alphabet", "z"])
def test_only_the_first_judgement_of_a_language_pair_is_shown(other):
    rows = [correlation("a", 0.5), correlation("a", 0.9, human=other, statistic="kendall")]
    result, _ = asked(agreement, correlations=rows)
    (one,) = result.of_metrics
    assert one.human == "da"
    assert [value for value, _, _ in one.values.values()] == [0.5]


def test_rows_of_other_points_and_judgements_may_stand_between_those_of_metrics():
    other = correlation("a", 0.9, point="published"), correlation("a", 0.9, human="mqm")
    result, _ = asked(agreement, correlations=[correlation("a", 0.5), *other, correlation("b", 0.4)])
    assert {one.names[2]: one.values["segment r"][0] for one in result.of_metrics} == {"a": 0.5, "b": 0.4}
