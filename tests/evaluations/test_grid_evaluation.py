"""The grid as an evaluation: the published point, the metric alone, what it says of segments."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from scipy.stats import pearsonr
from some_settings import changed, finished

from bmx_grid.core.ragged import Ragged
from bmx_grid.evaluations.grid_surface import GridEvaluation, sample_of
from bmx_grid.measures import grid, means
from bmx_grid.measures.aggregation import PowerMean
from bmx_grid.measures.correlation import KINDS, correlate
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.measures.grid_resampling import selection_adjusted
from bmx_grid.words.attributions import AttributionSet

GRID = GridEvaluation(p=PowerRange(-2, 2, 0.1), w=(0.0, 0.4, 1.0), fixed={"erasure": Point(w=0.4, p=-0.95)})


def test_a_published_point_is_evaluated_at_the_nearest_grid_point_the_lower_of_two():
    setting = finished()
    result = GRID.surface(setting)
    assert (result.published_row.w, result.published_row.p) == (0.4, -1.0)
    of_grid = result.grid.correlation[result.spec.p.index(-1.0), 1]
    assert result.published_row.correlation == pytest.approx(of_grid, abs=1e-12), "the surface is exact to 1e-12"
    of_scores = pearsonr(result.boosted["published"], setting.segments.human_scores)[0]
    assert result.published_row.correlation == pytest.approx(of_scores, abs=1e-12)


def test_what_was_known_as_a_setting_ended_is_not_computed_again():
    setting = finished()
    known = GRID.surface(setting)
    again = dataclasses.replace(setting, surface=known)
    assert GRID.evaluate_scope([again])[0] is known
    assert GRID.evaluate_scope([setting])[0] is not known


@pytest.mark.parametrize(
    "point",
    [pytest.param(Point(w=0.4, p=-9.0), id="p outside"), pytest.param(None, id="none for this explainer")],
)
def test_without_a_point_on_the_grid_there_is_no_number(point):
    evaluation = dataclasses.replace(GRID, fixed={} if point is None else {"erasure": point})
    result = evaluation.surface(finished())
    assert np.isnan([result.published_row.p, result.published_row.correlation]).all()
    assert np.isnan(evaluation.segment_columns(result)["boosted_published"]).all()


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
    assert np.isnan([result.published_row.correlation, *(getattr(result.grid, name) for name in nothing)]).all()
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


@pytest.mark.parametrize("kind", KINDS)
def test_means_that_are_too_many_to_hold_are_made_in_parts_with_the_same_numbers(kind, monkeypatch):
    """To 1e-13: a mean may be summed up with other powers beside it. Pairs choose for each other, sharing clusters."""
    settings = [finished(n=40, rng=np.random.default_rng(seed)) for seed in (1, 2)]
    settings[0] = changed(settings[0], human=[np.nan, *settings[0].segments.human_scores[1:]])
    settings[1] = changed(
        settings[1], sources=[f"other {row}" if row > 9 else f"quelle {row // 2}" for row in range(40)]
    )
    evaluation = dataclasses.replace(GRID, correlation=kind)
    whole = evaluation.evaluate_scope(settings)
    read = []
    aggregate = PowerMean.aggregate

    def noted(self, values, p):
        read.append(len(p))
        return aggregate(self, values, p)

    monkeypatch.setattr(PowerMean, "aggregate", noted)
    monkeypatch.setattr(means, "HELD_CELLS", 0)
    monkeypatch.setattr(means, "PART_CELLS", 40 * 15)
    in_parts = evaluation.evaluate_scope(settings)
    assert max(read) == 15, "39 or 40 segments by 15 powers, of 40"
    for one, other in zip(whole, in_parts, strict=True):
        assert other.grid.correlation == pytest.approx(one.grid.correlation, abs=1e-13, nan_ok=True)
        assert (other.grid.best_p, other.grid.best_w) == (one.grid.best_p, one.grid.best_w)
        assert set(other.boosted) == set(one.boosted) == {"published", "cross_fitted", "elsewhere"}
        for point, scores in one.boosted.items():
            assert other.boosted[point] == pytest.approx(scores, abs=1e-13, nan_ok=True), point
    samples = [sample_of(evaluation.spec, setting, setting.inputs(evaluation.spec)) for setting in settings]
    tested = [selection_adjusted(sample, resamples=50) for sample in samples if kind == "pearson"]
    monkeypatch.undo()
    held = [sample_of(evaluation.spec, setting, setting.inputs(evaluation.spec)) for setting in settings]
    expected = [selection_adjusted(sample, resamples=50) for sample in held if kind == "pearson"]
    assert tested == [pytest.approx(values, abs=1e-13) for values in expected]


def test_a_large_grid_takes_the_memory_of_a_part(monkeypatch):
    """10,000 segments of 200 powers have 16 MB of means, which correlations copy."""
    setting = finished(n=30)
    copies = 10_000 // 30
    human = np.random.default_rng(0).normal(size=30 * copies)
    words = Ragged.from_rows([row for _ in range(copies) for row in setting.scores.hypothesis])
    base = np.tile(setting.scores.base_scores, copies)
    spec = dataclasses.replace(GRID.spec, side="hypothesis", p=PowerRange(-10, 10, 0.1).values())

    def peak() -> int:
        tracemalloc.start()
        try:
            grid.compute_grid(spec, base, words, words, human)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    monkeypatch.setattr(grid, "KEPT_CELLS", 0)
    peak()  # what a first call leaves behind is not counted
    whole = peak()
    monkeypatch.setattr(means, "HELD_CELLS", 0)
    monkeypatch.setattr(means, "PART_CELLS", len(base) * 8)
    assert peak() < whole / 3
