"""Medians of best points and of all points that beat the baseline."""

import warnings

import numpy as np
import pytest
from some_tables import P, W, flat, lime, peaked, random_surfaces, table

from bmx_grid.analysis.best import best_points
from bmx_grid.analysis.given import Given, Options
from bmx_grid.analysis.medians import Median, beating_medians, compute, explainer_medians, metric_medians, tables


def test_the_median_of_an_even_number_is_the_mean_of_the_two_middle_ones():
    found = lime([peaked(-1.0), peaked(-0.5, w=0.0), peaked(0.0), peaked(1.0, w=0.0)])
    assert explainer_medians(found, best_points(found)) == {"lime": Median(p=-0.25, w=0.25, n=4)}


def test_medians_are_written_in_the_digits_of_the_grid():
    """The mean of 0.2 and 0.4 is 0.30000000000000004 in binary."""
    ws, surfaces = np.array([0.2, 0.4, 1.0]), []
    for column in (0, 1):
        surface = np.full((len(P), 3), 0.4)
        surface[:, 2], surface[5 + column, column] = 0.5, 0.6
        surfaces.append(surface)
    found = table({("d", pair, "m", "lime"): one for pair, one in zip("ab", surfaces, strict=True)}, w=ws)
    best = best_points(found)
    expected = Median(p=-1.45, w=0.3, n=2)
    assert explainer_medians(found, best)["lime"] == expected
    assert metric_medians(found, best)["m", "lime"] == beating_medians(found)["m", "lime"] == expected


def test_ties_pull_the_papers_median_and_neither_the_strict_one_nor_the_mildest():
    found = lime([flat(), flat(), peaked(-1.0), peaked(-0.4)])
    paper, mildest = best_points(found), best_points(found, "mildest")
    assert explainer_medians(found, paper)["lime"] == Median(p=-1.5, w=0.75, n=4)
    assert explainer_medians(found, paper, strict=True)["lime"] == Median(p=-0.7, w=0.5, n=2)
    assert explainer_medians(found, mildest)["lime"] == Median(p=-0.7, w=0.5, n=2)


def test_nothing_improves_anywhere():
    found = lime([flat(), flat()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        median = explainer_medians(found, best_points(found), strict=True)["lime"]
    assert median.n == 0
    assert np.isnan([median.p, median.w]).all()
    assert beating_medians(found)["m", "lime"].n == 0


@pytest.mark.parametrize("row", [0, 7, len(P) - 1], ids=["first", "amid", "last"])
def test_the_median_of_a_single_point_that_beats_is_that_point(row):
    surface = flat()
    surface[row, 1] = 0.6
    assert beating_medians(lime([surface])) == {("m", "lime"): Median(P[row], W[1], 1)}


def test_medians_are_shown_by_explainer_and_by_metric():
    surfaces = {("d", pair, metric, "lime"): peaked(p) for pair, metric, p in [("a", "m", -1), ("b", "m", 0)]}
    surfaces["d", "a", "n", "lime"] = flat()
    by_explainer, by_metric = tables(compute(Given(table(surfaces), Options())))
    assert (by_explainer.names, by_metric.names, len(by_metric.groups)) == (1, 2, 2)
    assert [[cell.shown for cell in row] for row in by_explainer.rows] == [
        ["lime", "0.5", "-1", "3", "0.5", "-0.5", "2"],
    ]
    assert [[cell.shown for cell in row[:5]] for row in by_metric.rows] == [
        ["m", "lime", "0.5", "-0.5", "2"],
        ["n", "lime", "1", "metric alone", "1"],
    ]


def test_controls_take_no_part():
    surfaces = {
        ("d", "a", "m", "lime"): peaked(-1.0),
        ("d", "a", "random", "lime"): peaked(1.0),
        ("d", "a", "m", "random"): peaked(1.0),
    }
    found = table(surfaces)
    best = best_points(found)
    assert explainer_medians(found, best) == {"lime": Median(p=-1.0, w=0.5, n=1)}
    assert list(metric_medians(found, best)) == list(beating_medians(found)) == [("m", "lime")]


def test_metrics_have_medians_of_their_own():
    surfaces = {
        ("d", pair, metric, "lime"): peaked(p) for pair, metric, p in [("a", "m", -1), ("b", "m", 0), ("a", "n", 1)]
    }
    found = table(surfaces)
    assert metric_medians(found, best_points(found)) == {
        ("m", "lime"): Median(-0.5, 0.5, 2),
        ("n", "lime"): Median(1.0, 0.5, 1),
    }


@pytest.mark.parametrize("seed", range(3))
def test_medians_over_all_points_that_beat_the_baseline(seed):
    surfaces = random_surfaces(seed, metrics=("m1",))
    surfaces["d9", "a", "m1", "lime"] = np.where(W == 1, -0.1, flat(0.5, 0.5))  # a baseline below 0 takes no part
    points = [
        (p, w)
        for surface in surfaces.values()
        for p, row in zip(P, surface, strict=True)
        for w, value in zip(W, row, strict=True)
        if w != 1 and value > row[-1] + 1e-12 and row[-1] > 0
    ]
    expected = Median(*(float(one) for one in np.median(points, axis=0)), n=len(points))
    assert beating_medians(table(surfaces)) == {("m1", "lime"): expected}
