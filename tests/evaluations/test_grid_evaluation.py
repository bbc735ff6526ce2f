"""The grid as an evaluation: the published point, the metric alone, what it says of segments."""

import dataclasses

import numpy as np
import pytest
from some_settings import finished

from bmx_grid.attribution.store import AttributionSet
from bmx_grid.core.ragged import Ragged
from bmx_grid.evaluations.grid import GridEvaluation, PowerRange
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import Point

GRID = GridEvaluation(p=PowerRange(-2, 2, 0.1), w=(0.0, 0.4, 1.0), fixed={"erasure": Point(w=0.4, p=-0.95)})


def test_a_published_point_is_evaluated_at_the_nearest_grid_point_the_lower_of_two():
    found = GRID.of_setting(finished())
    assert (found.published.w, found.published.p) == (0.4, -1.0)
    assert found.published.correlation == found.grid.correlation[found.spec.p.index(-1.0), 1]


@pytest.mark.parametrize(
    "point",
    [pytest.param(Point(w=0.4, p=-9.0), id="p outside"), pytest.param(None, id="none for this explainer")],
)
def test_without_a_point_on_the_grid_there_is_no_number(point):
    grid = dataclasses.replace(GRID, fixed={} if point is None else {"erasure": point})
    found = grid.of_setting(finished())
    assert np.isnan([found.published.p, found.published.correlation]).all()
    assert np.isnan(grid.segment_columns(found)["boosted_published"]).all()


def test_shifted_names_the_segments_whose_attributions_are_not_all_above_0():
    made = finished()
    sides = zip(made.scores.ground_truth.rows(), made.scores.hypothesis.rows(), strict=True)
    expected = [min(*truth, *hypothesis) <= 0 for truth, hypothesis in sides]
    assert 0 < sum(expected) <= len(expected)
    assert GRID.of_setting(made).shifted.tolist() == expected
    own = dataclasses.replace(GRID, side="hypothesis").of_setting(made).shifted
    assert own.tolist() == [min(made.scores.hypothesis[row]) <= 0 for row in range(len(made.segments))]


def test_the_metric_alone_has_a_baseline_and_no_grid():
    made = finished(explainer=None)
    found = GRID.of_setting(made)
    assert found.grid.baseline == correlate("pearson", made.scores.base_scores, made.segments.human_scores)
    assert found.grid.correlation.shape == (0, 3)
    assert np.isnan([found.grid.best, found.published.correlation]).all()
    assert all(len(column) == 0 for column in GRID.columns(found)["grid"].values())
    assert np.isnan(GRID.segment_columns(found)["boosted_published"]).all()
    assert not found.shifted.any() and len(found.shifted) == 30


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param({"p": PowerRange(-2.0, 2.0, 0.1)}, True, id="the same grid written with decimals"),
        pytest.param({"w": (1, 0, 0.4)}, True, id="weights in another order"),
        pytest.param({"p": PowerRange(-2, 2, 0.2)}, False, id="step"),
        pytest.param({"fixed": {}}, False, id="published point"),
    ],
)
def test_one_grid_is_one_identity_however_it_is_written(change, same):
    assert (dataclasses.replace(GRID, **change).fingerprint() == GRID.fingerprint()) is same


def test_the_metric_alone_counts_its_segments():
    human = np.where(np.arange(30) < 10, np.nan, np.arange(30.0))
    grid = GRID.of_setting(finished(human=human, explainer=None)).grid
    assert (grid.n_segments, grid.n_rated, grid.n_used) == (30, 20, 20)
    assert (grid.n_undefined, grid.plateau) == (0, 0)
    assert np.isnan([grid.best_p, grid.best_w, grid.share_shifted, grid.length_control]).all()


def test_an_attribution_of_exactly_0_is_shifted_and_a_segment_without_words_is_not():
    made = finished(n=3)
    sides = {
        "source": Ragged.from_rows([np.array([0.5, 0.0]), np.array([]), np.array([0.1])]),
        "hypothesis": Ragged.from_rows([np.array([0.5]), np.array([]), np.array([0.2])]),
    }
    given = dataclasses.replace(made, scores=AttributionSet(made.scores.base_scores, sides))
    assert GRID.of_setting(given).shifted.tolist() == [True, False, False]
    own = dataclasses.replace(GRID, side="hypothesis")
    assert own.of_setting(given).shifted.tolist() == [False, False, False]
