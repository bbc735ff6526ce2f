"""Settings at given points: which grid point is used, how gains are counted."""

from types import SimpleNamespace

import numpy as np
import pytest
from some_tables import P, flat, lime, peaked, table

from bmx_grid.analysis.fixed import best_explainer, compute, evaluate, gains_at, tables
from bmx_grid.analysis.gains import summarise
from bmx_grid.analysis.given import Given, Options, Point
from bmx_grid.analysis.points import grid_point

TABLE = lime([peaked(-1.0)])


@pytest.mark.parametrize(
    ("p", "w", "used"),
    [
        pytest.param(-1.0, 0.5, (-1.0, 0.5), id="on the grid"),
        pytest.param(-0.95, 0.5, (-1.0, 0.5), id="halfway: the lower"),
        pytest.param(0.25, 0.5, (0.2, 0.5), id="halfway above 0: the lower"),
        pytest.param(-0.94, 0.5, (-0.9, 0.5), id="nearest"),
        pytest.param(-1.0, 0.25, (-1.0, 0.0), id="w halfway: the lower"),
        pytest.param(-1.0, 0.8, (-1.0, 1.0), id="w nearest"),
        pytest.param(2.0, 0.5, None, id="p beyond the grid"),
        pytest.param(float("nan"), 0.5, None, id="no p"),
    ],
)
def test_the_nearest_grid_point_is_used(p, w, used):
    found, gain = grid_point(TABLE, Point(p, w)), gains_at(TABLE, Point(p, w))[0]
    if used is None:
        assert np.isnan([found.p, found.w, gain]).all()
    elif used[1] == 1:
        assert (found.w, found.words, gain) == (1.0, "metric alone", 0.0)
        assert np.isnan(found.p)  # p means nothing there, whatever was asked
    else:
        assert (found.p, found.w) == used
        assert gain == TABLE.correlation[0, int(np.flatnonzero(used[0] == P)[0]), int(used[1] * 2)] - 0.5


def test_the_metric_alone_gains_exactly_nothing_whatever_its_rows_hold():
    rounded = peaked(-1.0)
    rounded[5, 2] += 3e-7  # rows with w = 1 may differ by rounding
    table_of_it = lime([rounded])
    for p in (P[5], float("nan")):
        assert gains_at(table_of_it, Point(p, 1.0)).tolist() == [0.0]


def test_each_explainer_has_its_point():
    surfaces = {("d", "a", "m", name): peaked(-1.0) for name in ("lime", "shap", "erasure")}
    found = evaluate(table(surfaces), {"lime": Point(-1.0, 0.5), "shap": Point(-0.5, 0.5)})
    by = found.by["explainer"]
    assert by["lime"].mean_gain == pytest.approx(0.1)
    assert by["shap"].mean_gain == pytest.approx(0.05)
    assert (by["erasure"].n, by["erasure"].undefined) == (0, 1)
    assert (found.all.n, found.all.undefined, found.all.better) == (2, 1, 2)
    assert found.correlation[np.isfinite(found.gain)].tolist() == pytest.approx([0.6, 0.55])


@pytest.mark.parametrize(
    ("gains", "best"),
    [
        pytest.param(
            {"lime": [0.3, 0.2, -0.1], "shap": [0.01, 0.01, -0.1, 0.02]}, "shap", id="share, not number or size"
        ),
        pytest.param({"lime": [0.1, -0.1], "shap": [0.3, -0.1]}, "shap", id="equal shares: the larger mean gain"),
        pytest.param({"shap": [0.1, -0.1], "lime": [0.1, -0.1]}, "lime", id="equal gains: by name"),
        pytest.param({"lime": [np.nan], "shap": [-0.1]}, "shap", id="an undefined gain is no candidate"),
        pytest.param({"lime": [np.nan]}, None, id="none defined"),
    ],
)
def test_the_best_explainer_has_the_largest_share_of_better_settings(gains, best):
    of_each = {name: summarise(np.array(of), np.full(len(of), 0.5)) for name, of in gains.items()}
    assert best_explainer(SimpleNamespace(by={"explainer": of_each})) == best


def test_gains_are_counted_apart_by_every_factor():
    surfaces = {
        ("d", "a", "m", "lime"): peaked(-1.0),
        ("d", "b", "m", "lime"): flat(),
        ("e", "a", "n", "lime"): peaked(-1.0, gain=5e-6, baseline=0.3),
    }
    found = evaluate(table(surfaces), {"lime": Point(-1.0, 0.5)}).by_explainer["lime"]
    counts = {
        factor: {name: (s.better, s.worse, s.unchanged) for name, s in by.items()} for factor, by in found.items()
    }
    assert counts == {
        "dataset": {"d": (1, 1, 0), "e": (0, 0, 1)},
        "language_pair": {"a": (1, 0, 1), "b": (0, 1, 0)},
        "metric": {"m": (1, 1, 0), "n": (0, 0, 1)},
    }
    assert found["metric"]["n"].positive == 1
    assert found["metric"]["n"].mean_baseline == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("gain", "counts"),
    [
        pytest.param(0.0, (0, 1, 0), id="no gain is worse, as in the paper"),
        pytest.param(-0.0, (0, 1, 0), id="minus zero"),
        pytest.param(1e-5, (0, 0, 1), id="1e-5 is not better"),
        pytest.param(1.1e-5, (1, 0, 0), id="above 1e-5"),
        pytest.param(-1e-9, (0, 1, 0), id="hardly worse"),
        pytest.param(float("nan"), (0, 0, 0), id="undefined"),
    ],
)
def test_borders_of_better_and_worse(gain, counts):
    found = summarise(np.array([gain]), np.array([0.5]))
    assert (found.better, found.worse, found.unchanged) == counts
    assert found.n + found.undefined == 1


@pytest.mark.parametrize(
    ("better", "p"),
    [pytest.param(5, 7 / 64, id="5 of 6 pairs"), pytest.param(6, 1 / 64, id="6 of 6 pairs")],
)
def test_counts_are_tested_by_language_pair_not_by_setting(better, p):
    """15 of 18 settings on six language pairs, as the paper counts: the sign test of pairs gives .109, not .004."""
    gain = np.repeat([0.01] * better + [-0.01] * (6 - better), 3)
    found = summarise(gain, np.full(18, 0.5), np.repeat(list("abcdef"), 3))
    assert (found.better, found.n, found.clusters, found.clusters_better) == (3 * better, 18, 6, better)
    assert found.sign_p == pytest.approx(p)


def test_the_largest_gain_is_shown_with_its_baseline():
    found = summarise(np.array([0.01, 0.08, np.nan]), np.array([0.5, 0.02, 0.1]))
    assert (found.max_gain, found.max_gain_baseline) == (0.08, 0.02)


def test_an_interval_across_settings_needs_three_clusters():
    gain, baseline = np.array([0.1, 0.2, 0.3, 0.4]), np.full(4, 0.5)
    two, three = (summarise(gain, baseline, np.array(list(names))) for names in ("aabb", "aabc"))
    assert np.isnan([two.mean_low, two.mean_high]).all()
    reach = 4.302652729911275 * np.sqrt(1.5 * (0.2**2 + 0.05**2 + 0.15**2)) / 4  # residual sums of a, b, c; t of 2
    assert (three.mean_low, three.mean_high) == pytest.approx((0.25 - reach, 0.25 + reach))
    assert np.isnan(summarise(gain, baseline).mean_low)


def test_gains_are_shown_by_data_set_language_pair_and_metric_for_each_explainer():
    gains = {("d", "a", "m", "lime"): 0.1, ("e", "a", "m", "lime"): 0.2, ("d", "a", "m", "shap"): 0.3}
    given = table({names: peaked(-1.0, gain=gain) for names, gain in gains.items()})
    found = compute(Given(given, Options(fixed={name: Point(-1.0, 0.5) for name in ("lime", "shap")})))
    assert {name: (one.used_p, one.used_w, one.gains.n) for name, one in found.fixed.items()} == {
        "lime": (-1.0, 0.5, 2),
        "shap": (-1.0, 0.5, 1),
    }
    (made,) = tables(found)
    assert made.names == 3
    mean = made.header.index("mean gain")
    assert [[*(cell.value for cell in row[:3]), round(row[mean].value, 3)] for row in made.rows] == [
        ["dataset", "d", "lime", 0.1],
        ["dataset", "e", "lime", 0.2],
        ["dataset", "d", "shap", 0.3],
        ["language_pair", "a", "lime", 0.15],
        ["language_pair", "a", "shap", 0.3],
        ["metric", "m", "lime", 0.15],
        ["metric", "m", "shap", 0.3],
    ]
