"""The grid as an evaluation: the published point, the metric alone, what it says of segments."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import pearsonr
from some_settings import finished

from bmx_grid.core.ragged import Ragged
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.words.attributions import AttributionSet

GRID = GridEvaluation(p=PowerRange(-2, 2, 0.1), w=(0.0, 0.4, 1.0), fixed={"erasure": Point(w=0.4, p=-0.95)})


def test_a_published_point_is_evaluated_at_the_nearest_grid_point_the_lower_of_two():
    setting = finished()
    result = GRID.surface(setting)
    assert (result.published.w, result.published.p) == (0.4, -1.0)
    of_grid = result.grid.correlation[result.spec.p.index(-1.0), 1]
    assert result.published.correlation == pytest.approx(of_grid, abs=1e-12), "the surface is exact to 1e-12"
    of_scores = pearsonr(result.boosted["published"], setting.segments.human_scores)[0]
    assert result.published.correlation == pytest.approx(of_scores, abs=1e-12)


def test_what_was_known_as_a_setting_ended_is_not_computed_again():
    setting = finished()
    known = GRID.surface(setting)
    again = dataclasses.replace(setting, surface=known)
    assert GRID.of_scope([again])[0] is known
    assert GRID.of_scope([setting])[0] is not known


@pytest.mark.parametrize(
    "point",
    [pytest.param(Point(w=0.4, p=-9.0), id="p outside"), pytest.param(None, id="none for this explainer")],
)
def test_without_a_point_on_the_grid_there_is_no_number(point):
    grid = dataclasses.replace(GRID, fixed={} if point is None else {"erasure": point})
    result = grid.surface(finished())
    assert np.isnan([result.published.p, result.published.correlation]).all()
    assert np.isnan(grid.segment_columns(result)["boosted_published"]).all()


@pytest.mark.parametrize(
    ("side", "expected"),
    [("both", [True, True, True, False, False]), ("hypothesis", [True, False, True, False, False])],
)
def test_shifted_names_the_segments_whose_attributions_are_not_all_above_0(side, expected):
    """Also one of exactly 0; a segment without words is not shifted."""
    rows = {"source": [[0.5], [0.5, 0.0], [-0.1], [], [0.1]], "hypothesis": [[0.5, -0.2], [0.5], [0.0], [], [0.2]]}
    setting = finished(n=5)
    sides = {role: Ragged.from_rows(map(np.array, rows_of_side)) for role, rows_of_side in rows.items()}
    with_rows = dataclasses.replace(setting, scores=AttributionSet(setting.scores.base_scores, sides))
    assert dataclasses.replace(GRID, side=side).surface(with_rows).shifted.tolist() == expected


def test_the_metric_alone_has_a_baseline_counts_its_segments_and_has_no_grid():
    human = np.where(np.arange(30) < 10, np.nan, np.arange(30.0))
    setting = finished(human=human, explainer=None)
    result = GRID.surface(setting)
    assert result.grid.baseline == correlate("pearson", setting.scores.base_scores, human)
    assert result.grid.correlation.shape == (0, 3)
    counts = ("n_segments", "n_rated", "n_used", "n_undefined", "plateau")
    assert [getattr(result.grid, name) for name in counts] == [30, 20, 20, 0, 0]
    nothing = ("best", "best_p", "best_w", "share_shifted", "length_control")
    assert np.isnan([result.published.correlation, *(getattr(result.grid, name) for name in nothing)]).all()
    assert all(len(column) == 0 for column in GRID.columns(result)["grid"].values())
    assert np.isnan(GRID.segment_columns(result)["boosted_published"]).all()
    assert not result.shifted.any() and len(result.shifted) == 30


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
