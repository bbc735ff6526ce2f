"""The grid of a setting: its axes, who is counted, where the best stands, and the whole against plain loops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from bmx_grid.boosts.power_mean_grid import scores_at
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Ragged, concatenate_rows
from bmx_grid.measures.grid import GridSpec, PowerRange, check_size, compute_grid, nearest_point

NAN = float("nan")
FEW_P = (-2.0, -1.0, 0.0, 1.0, 2.0)


def rows(*lists: list[float]) -> Ragged:
    return Ragged.from_rows([np.array(values, dtype=np.float64) for values in lists])


def setting(n: int, seed: int = 0) -> tuple[np.ndarray, Ragged, Ragged, np.ndarray]:
    """Base scores, attributions of both sides and human scores of n made-up segments, half of them shifted."""
    rng = np.random.default_rng(seed)
    human = np.round(rng.normal(size=n), 1)
    base = 0.4 + 0.1 * human + rng.normal(0, 0.1, n)
    sides = []
    for _ in range(2):
        lengths = np.maximum(1, rng.lognormal(2.5, 0.5, n)).astype(int)
        centre = np.where(rng.random(n) < 0.5, 0.5, 0.05)
        sides.append(
            Ragged.from_rows([rng.normal(mid, 0.05, length) for mid, length in zip(centre, lengths, strict=True)])
        )
    return base, sides[0], sides[1], human


def test_the_default_powers_are_the_papers():
    assert GridSpec().p == tuple((np.arange(-300, 300) / 10).tolist())
    assert {0.0, 1.0, -1.4} <= set(GridSpec().p)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param((-0.3, 0.3, 0.2), (-0.3, -0.1, 0.1), id="decimals as written"),
        pytest.param((0.05, 0.35, 0.1), (0.05, 0.15, 0.25), id="start off the step"),
        pytest.param((1e-05, 3e-05, 1e-05), (1e-05, 2e-05), id="written with an exponent"),
    ],
)
def test_powers_are_the_decimals_as_written(numbers, expected):
    assert PowerRange(*numbers).values() == expected


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        pytest.param((1, 1, 0.1), "is empty", id="start equals stop"),
        pytest.param((0, 1, 0), "step must be above 0", id="step 0"),
        pytest.param((0, 2, 1 / 3), "does not come out even", id="a third has no decimal"),
        pytest.param((0, np.inf, 1), "finite", id="infinite stop"),
        pytest.param((-1e308, 1e308, 1e-300), "choose a larger step", id="too many"),
    ],
)
def test_ranges_of_powers_that_cannot_be_are_refused(numbers, message):
    with pytest.raises(ConfigError, match=message):
        PowerRange(*numbers).values()


def test_a_range_of_as_many_powers_as_are_allowed_is_taken():
    assert len(PowerRange(-30, 30, 0.1).values(600)) == 600
    with pytest.raises(ConfigError, match=r"600 points \(600 p x 1 w\), more than 599"):
        PowerRange(-30, 30, 0.1).values(599)
    check_size(5, 3, 15)
    with pytest.raises(ConfigError, match=r"16 points \(8 p x 2 w\), more than 15;"):
        check_size(8, 2, 15)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({"p": (1.0, NAN)}, "p of the grid is NaN", id="nan p"),
        pytest.param({"w": (0.0, 1.2)}, r"w = 1.2 is outside \[0, 1\]", id="w above 1"),
        pytest.param({"side": "hypotesis"}, "Did you mean 'hypothesis'", id="unknown side"),
        pytest.param({"correlation": "kendal"}, "Did you mean 'kendall'", id="unknown correlation"),
    ],
)
def test_grids_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        GridSpec(**wrong)


@pytest.mark.parametrize("side", ["both", "hypothesis"])
def test_the_grid_equals_plain_loops(side):
    base, ground_truth, hypothesis, human = setting(40)
    spec = GridSpec(p=tuple(np.arange(-300, 300, 25) / 10), side=side)
    result = compute_grid(spec, base, ground_truth, hypothesis, human)
    for p, line in zip(spec.p, result.correlation, strict=True):
        means = []
        for left, right in zip(ground_truth.rows(), hypothesis.rows(), strict=True):
            words = np.concatenate([left, right]) if side == "both" else right
            words = words + (abs(words.min()) + 1e-9) if words.min() <= 0 else words + 1e-9
            means.append(np.exp(np.log(words).mean()) if p == 0 else np.mean(words**p) ** (1 / p))
        for w, got in zip(spec.w, line, strict=True):
            scores = w * base + (1 - w) * np.array(means)
            assert got == pytest.approx(stats.pearsonr(scores, human)[0], abs=1e-11)
            boosted = scores_at(spec, p, w, base, ground_truth, hypothesis)
            assert boosted == pytest.approx(scores, abs=1e-11)
    aggregated = concatenate_rows(ground_truth, hypothesis) if side == "both" else hypothesis
    assert result.length_control == pytest.approx(stats.pearsonr(aggregated.lengths, human)[0], abs=1e-12)
    ranked = compute_grid(GridSpec(FEW_P, side=side, correlation="kendall"), base, ground_truth, hypothesis, human)
    assert ranked.length_control == pytest.approx(stats.kendalltau(aggregated.lengths, human)[0], abs=1e-12)
    assert result.share_shifted == np.mean([row.min() <= 0 for row in aggregated.rows()])
    assert (result.n_segments, result.n_rated, result.n_used, result.n_undefined) == (40, 40, 40, 0)


def test_segments_without_a_rating_a_word_or_a_number_are_left_out_and_counted():
    base, ground_truth, hypothesis, human = setting(30)
    left, right = ground_truth.rows(), hypothesis.rows()
    human[2], base[5] = NAN, NAN
    left[8], right[8] = np.array([]), np.array([])
    left[9] = np.array([])  # the other side still has words
    left[11], right[12] = np.array([0.1, np.inf]), np.array([NAN, -0.2])
    changed = base, Ragged.from_rows(left), Ragged.from_rows(right), human
    result = compute_grid(GridSpec(FEW_P), *changed)
    assert (result.n_segments, result.n_rated, result.n_used, result.n_undefined) == (30, 29, 25, 0)
    kept = np.setdiff1d(np.arange(30), [2, 5, 8, 11, 12])
    alone = compute_grid(
        GridSpec(FEW_P),
        base[kept],
        Ragged.from_rows([left[row] for row in kept]),
        Ragged.from_rows([right[row] for row in kept]),
        human[kept],
    )
    assert np.array_equal(result.correlation, alone.correlation)
    assert (result.baseline, result.length_control) == (alone.baseline, alone.length_control)
    assert compute_grid(GridSpec(FEW_P, side="hypothesis"), *changed).n_used == 26
    missing = np.isnan(scores_at(GridSpec(), 1.0, 0.5, *changed[:3]))
    assert np.flatnonzero(missing).tolist() == [5, 8, 11, 12]


@pytest.mark.parametrize("human", [[70.0] * 4, [NAN, 1.0, NAN, 2.0], [NAN] * 4], ids=["equal", "two rated", "none"])
def test_a_grid_without_any_correlation_says_so(human):
    words = rows([0.1], [0.2, 0.3], [0.4], [0.5, -0.1])
    result = compute_grid(GridSpec(FEW_P), np.arange(4.0), words, words, np.array(human))
    assert np.isnan(result.correlation).all()
    assert np.isnan([result.best, result.best_p, result.best_w, result.baseline]).all()
    assert (result.plateau, result.n_undefined) == (0, 30)


EQUAL_WORDS = rows([0.0], [0.0, 0.0], [0.0], [0.0, 0.0, 0.0])
ONE_WORD = rows([0.4], [0.3], [0.2], [0.1])


@pytest.mark.parametrize("correlation", ["pearson", "spearman", "kendall"])
def test_the_rounding_of_means_is_no_order(correlation):
    """Rows whose words differ by less than the precision of a mean, and by more."""
    words = Ragged.from_rows([np.full(8, 0.5) * (1 + 1e-15 * n) for n in range(8)])
    p = (-30.0, -2.0, 0.5, 3.0)
    tied = compute_grid(GridSpec(p, correlation=correlation), np.ones(8), words, words, np.arange(8.0))
    assert np.isnan(tied.correlation).all()
    assert tied.n_undefined == tied.correlation.size
    apart = Ragged.from_rows([np.full(8, 0.5) * (1 + 1e-12 * n) for n in range(8)])
    ordered = compute_grid(GridSpec(p, (0.0,), correlation=correlation), np.ones(8), apart, apart, np.arange(8.0))
    assert ordered.correlation[:, 0] == pytest.approx(np.ones(4), abs=1e-3)


@pytest.mark.parametrize(
    ("p", "w", "used"),
    [
        pytest.param(-1.0, 0.5, (-1.0, 0.5), id="on the grid"),
        pytest.param(-0.95, 0.5, (-1.0, 0.5), id="halfway: the lower"),
        pytest.param(-0.95 + 1e-7, 0.5, (-0.9, 0.5), id="nearer to the higher by more than rounding"),
        pytest.param(-0.94, 0.5, (-0.9, 0.5), id="nearest"),
        pytest.param(-1.0, 0.25, (-1.0, 0.0), id="w halfway: the lower"),
        pytest.param(-2.0 - 1e-12, 0.5, (-2.0, 0.5), id="beyond the end by rounding"),
        pytest.param(-2.0 - 1e-7, 0.5, None, id="beyond the end by more than rounding"),
        pytest.param(-2.1, 0.5, None, id="p before the grid"),
        pytest.param(0.0, 1.1, None, id="w beyond the grid"),
        pytest.param(NAN, 0.5, None, id="no p"),
        pytest.param(NAN, 1.0, (-2.0, 1.0), id="the metric alone needs no p"),
    ],
)
def test_the_nearest_grid_point(p, w, used):
    p_grid, w_grid = np.arange(-20, 20) / 10, np.array([0.0, 0.5, 1.0])
    place = nearest_point(p_grid, w_grid, p, w)
    assert (None if place is None else (p_grid[place[0]], w_grid[place[1]])) == used
    assert nearest_point(np.empty(0), w_grid, p, w) is None


@pytest.mark.parametrize(
    ("p", "used"),
    [(-np.inf, -np.inf), (np.inf, np.inf), (-1e9, 0.0), (0.6, 1.0), (7.0, 1.0), (NAN, None)],
)
def test_the_nearest_point_of_a_grid_with_the_minimum_and_the_maximum(p, used):
    powers = (-np.inf, 0.0, 1.0, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        place = nearest_point(powers, (0.5, 1.0), p, 0.5)
    assert (None if place is None else powers[place[0]]) == used


@pytest.mark.parametrize("correlation", ["pearson", "spearman", "kendall"])
def test_degenerate_settings_warn_of_nothing(correlation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for words in (EQUAL_WORDS, ONE_WORD, rows([], [], [], []), rows([1], [NAN], [-np.inf, np.inf], [])):
            compute_grid(GridSpec(FEW_P, correlation=correlation), np.zeros(4), words, words, np.arange(4.0))
