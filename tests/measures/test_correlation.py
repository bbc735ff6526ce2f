"""Correlations against SciPy, one pair of arrays and whole grids, where digits and ties are scarce as well."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import stats

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Ragged
from bmx_grid.measures import ordered
from bmx_grid.measures.aggregation import PowerMean, shift_positive
from bmx_grid.measures.correlation import (
    NO_CHANGE,
    TIE,
    beats,
    better,
    correlate,
    correlate_grid,
    first_within_rounding,
    kendall_tau_c,
    plateau_within_no_change,
    worse,
)
from bmx_grid.measures.correlations_of_resamples import weighted_correlations
from bmx_grid.measures.projection import influences
from bmx_grid.measures.systems import weighted_statistics

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
TOLERANCE = {"pearson": 1e-12, "spearman": 1e-12, "kendall": 0.0}
KINDS = list(SCIPY)
W = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
P = np.arange(-300, 300, 15) / 10
RNG_SEED = 11


def scipy_value(kind: str, x: np.ndarray, y: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant and nearly constant input, which is the point of some cases
        return float(SCIPY[kind](x, y)[0])


def scipy_grid(kind: str, means: np.ndarray, base: np.ndarray, human: np.ndarray) -> np.ndarray:
    """Every point by SciPy; all at once where it takes an axis, as one by one it computes p-values most of the time."""
    boosted = np.array([[w * base + (1 - w) * column for w in W] for column in means.T])
    if kind == "kendall":
        return np.array([[scipy_value(kind, scores, human) for scores in row] for row in boosted])
    if kind == "spearman":
        boosted, human = stats.rankdata(boosted, axis=-1), stats.rankdata(human)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stats.pearsonr(boosted, np.broadcast_to(human, boosted.shape), axis=-1).statistic


X = np.array([0.1, 0.4, 0.4, -0.2, 0.9, 0.3])
Y = np.array([1.0, 2.0, 3.0, 3.0, 5.0, -1.0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(X, Y, id="ties on both sides"),
        pytest.param(X * 1e-170, Y * 1e150, id="numbers whose squares leave float64"),
        pytest.param(X * 1e-9 + 1e3, Y, id="a spread near rounding"),
        pytest.param(X, -X, id="perfectly opposed"),
    ],
)
def test_one_pair_of_arrays_equals_scipy(kind, x, y):
    assert abs(correlate(kind, x, y) - scipy_value(kind, x, y)) <= TOLERANCE[kind]


def lists(n, seed=0):
    x = np.random.default_rng(seed).normal(size=n)
    return x, x + np.random.default_rng(seed + 1).normal(size=n)


LONG, LONG_HUMAN = lists(3000)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(LONG, LONG_HUMAN, id="no ties"),
        pytest.param(np.round(LONG), np.round(LONG_HUMAN, 1), id="many ties, also on both sides"),
        pytest.param(1 + 1e-12 * LONG, LONG_HUMAN, id="equal in the upper half of their bits"),
        pytest.param(LONG * 1e-310, np.round(LONG_HUMAN), id="subnormal"),
        pytest.param(
            np.where(LONG > 0.5, 0.0, np.where(LONG < 0, -0.0, LONG)), LONG_HUMAN, id="minus zero ties with zero"
        ),
        pytest.param(np.where(LONG > 1, np.inf, np.where(LONG < -1, -np.inf, LONG)), LONG_HUMAN, id="infinite"),
        pytest.param(np.sort(LONG), -np.sort(LONG_HUMAN), id="opposed"),
        pytest.param(LONG > 2.9, LONG_HUMAN, id="all but a few equal"),
    ],
)
def test_ranks_of_long_lists_equal_scipy(kind, x, y):
    ranks = [stats.rankdata(x), stats.rankdata(y)]  # SciPy makes NaN of what is infinite
    assert correlate(kind, x, y) == pytest.approx(scipy_value(kind, *ranks), abs=1e-15 if kind == "kendall" else 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_unrated_pairs_are_left_out(kind):
    x, y = np.append(X, [7.0, np.nan]), np.append(Y, [np.nan, -3.0])
    assert correlate(kind, x, y) == correlate(kind, X, Y)
    infinite = correlate(kind, [1.0, np.inf, 2.0, 0.0], Y[:4])
    expected = np.nan if kind == "pearson" else correlate(kind, [1, 9, 2, 0], Y[:4])
    assert infinite == pytest.approx(expected, nan_ok=True), "it has a rank, but no distance"


@pytest.mark.parametrize("kind", KINDS)
def test_undefined_correlations_are_nan(kind):
    few, scores, equal = [1.0, 2.0], list(range(10)), [0.1] * 10
    assert np.isnan([correlate(kind, *pair) for pair in ((few, few), ([], []), (scores, equal), (equal, scores))]).all()


def setting(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means float64[N, P], base and human scores of one made-up setting."""
    rng = np.random.default_rng(RNG_SEED)
    n = 3 if name == "three segments" else 90
    quality = rng.normal(size=n)
    human = np.round(quality + rng.normal(size=n), 1)
    base = 0.4 + 0.1 * quality + rng.normal(0, 0.05, n)
    lengths = np.maximum(1, rng.lognormal(3, 0.5, n)).astype(int)
    centre = np.where(rng.random(n) < 0.5, 0.5, 0.02)  # about half of the segments have to be shifted
    rows = [rng.normal(mid, 0.05, length) for mid, length in zip(centre, lengths, strict=True)]
    means = PowerMean().aggregate(shift_positive(Ragged.from_rows(rows))[0], P)
    digits = 10.0 ** (12 - np.floor(np.log10(means)))
    means = np.round(means * digits) / digits  # means tie exactly, or differ by more than their rounding
    if name == "many equal scores":
        base, means, human = np.round(base, 1), np.round(means, 1), np.round(human)
    if name == "base near rounding":
        base = 1e3 + 1e-9 * base
    if name == "base and mean cancel":
        base = 0.5 - 4 * means[:, 25] + 1e-7 * rng.normal(size=n)  # at w = .2 next to nothing is left
    if name == "means far above their spread":
        means = 1 + 10.0 ** np.linspace(0, -9, len(P)) * rng.normal(size=means.shape)
    if name == "one segment carries all variance":
        means[0] = 1e9 * means[0]
    if name == "equal human scores":
        human[:] = 70.0
    if name == "nothing carries over from p to p":
        means = rng.normal(size=means.shape)
    if name == "neighbours in p reversed":
        means[:, 1::2] = -means[:, ::2]
    return means, base, human


SETTINGS = ["natural", "three segments", "many equal scores", "base near rounding", "base and mean cancel"]
SETTINGS += ["equal human scores", "means far above their spread", "one segment carries all variance"]
SETTINGS += ["nothing carries over from p to p", "neighbours in p reversed"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SETTINGS)
def test_every_point_of_a_grid_equals_scipy(kind, name):
    means, base, human = setting(name)
    got, expected = correlate_grid(kind, means, base, human, W), scipy_grid(kind, means, base, human)
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    alone = np.full(len(got), correlate(kind, base, human))
    assert np.array_equal(got[:, -1], alone, equal_nan=True), "w = 1 is the baseline to the last bit"
    assert np.nanmax(np.abs(got - expected), initial=0.0) <= TOLERANCE[kind]


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_means_within_their_precision_tie(kind):
    """The order within a group of means that only rounding tells apart must not count, whatever p carries over."""
    rng = np.random.default_rng(RNG_SEED)
    n, precision = 60, 2e-14
    human, base = np.round(rng.normal(size=n), 1), np.zeros(n)
    level = rng.integers(1, 8, size=(n, 40)) * 1e-9 * 10.0 ** np.arange(40)[None] ** 0.5
    level[:, 20:] = -level[:, 20:]
    noisy = level * (1 + precision / 4 * rng.random(level.shape))
    got = correlate_grid(kind, noisy, base, human, W[:-1])
    expected = correlate_grid(kind, level, base, human, W[:-1])
    assert np.abs(got - expected).max() <= 1e-15
    apart = level * (1 + 100 * precision * rng.random(level.shape))
    assert np.abs(correlate_grid(kind, apart, base, human, W[:-1]) - expected).max() > 1e-3


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_takes_no_point_beyond_1(kind, sign):
    human = np.random.default_rng(7).normal(size=40)
    grid = correlate_grid(kind, np.linspace(0.1, 3, 50) * human[:, None] + 0.1, 7 * human + 0.3, sign * human, W)
    assert np.abs(grid).max() <= 1
    np.testing.assert_allclose(grid, sign)


@pytest.mark.parametrize("kind", KINDS)
def test_segments_with_anything_missing_are_left_out_of_every_point(kind):
    means, base, human = setting("natural")
    human[3], base[7], means[11, 5], means[12, 6] = np.nan, np.inf, np.nan, np.inf
    kept = np.delete(np.arange(len(base)), [3, 7, 11, 12])
    whole = correlate_grid(kind, means, base, human, W)
    assert np.array_equal(whole, correlate_grid(kind, means[kept], base[kept], human[kept], W))
    assert np.isfinite(whole).all()
    human[2:] = np.nan
    assert np.isnan(correlate_grid(kind, means, base, human, W)).all(), "two rated segments"


def test_without_a_folder_for_compiled_code_the_ranks_still_come(monkeypatch):
    """numba raises RuntimeError where it may write to no folder; here it also compiles nothing, to be quick."""
    cache_settings = []

    def njit(cache=False, nogil=False):
        cache_settings.append(cache)
        if cache:
            raise RuntimeError("cannot cache function '_grid': no locator available")
        return lambda function: function

    monkeypatch.setattr("numba.njit", njit)
    means, base, human = setting("many equal scores")
    expected = correlate_grid("kendall", means[:, :4], base, human, W)
    ordered.compile_kernel.cache_clear()
    try:
        assert np.array_equal(correlate_grid("kendall", means[:, :4], base, human, W), expected)
    finally:
        ordered.compile_kernel.cache_clear()
    assert cache_settings == [True, False] * 4  # four kernels


def test_pearson_loads_neither_numba_nor_scipy():
    code = (
        "import sys, numpy\nfrom bmx_grid.measures.grid import GridSpec, compute_grid\n"
        "from bmx_grid.core.ragged import Ragged\n"
        "rows = Ragged.from_rows([numpy.ones(n) for n in (1, 2, 3, 4)]); x = numpy.arange(4.0)\n"
        "compute_grid(GridSpec(), x, rows, rows, x)\n"
        "print(sorted({'numba', 'scipy', 'torch', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


BEST_P, BEST_W = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0])


def surface(changes, alone=0.5):
    """float64[1, P, W]: .4 below w = 1, `alone` at w = 1, and the given values at (p, w)."""
    grid = np.full((1, len(BEST_P), len(BEST_W)), 0.4)
    grid[:, :, BEST_W == 1] = alone
    for (p, w), value in changes.items():
        grid[0, np.flatnonzero(p == BEST_P), np.flatnonzero(w == BEST_W)] = value
    return grid


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({(0, 0.5): 0.6, (1, 0.0): 0.6}, (0, 0.5), id="equal: the lower p"),
        pytest.param({(0, 0.5): 0.6, (0, 0.0): 0.6}, (0, 0.0), id="equal: w is fastest"),
        pytest.param({(0, 0.5): 0.6, (1, 0.5): 0.6 + TIE / 2}, (0, 0.5), id="higher by less than rounding: the first"),
        pytest.param({(0, 0.5): 0.6, (1, 0.5): 0.6 + 2 * TIE}, (1, 0.5), id="higher by more than rounding"),
        pytest.param({}, (-1, 1.0), id="nothing improves: the metric alone, at the lowest p"),
        pytest.param({(0, 0.5): 0.5 - TIE / 2, (-1, 1.0): np.nan}, (0, 0.5), id="as good as the metric, and before it"),
        pytest.param({(-1, 0.5): np.nan, (1, 0.5): 0.6}, (1, 0.5), id="undefined points are passed over"),
        pytest.param(dict.fromkeys(itertools.product(BEST_P, BEST_W), np.nan), None, id="nothing defined"),
    ],
)
def test_best_is_the_first_within_rounding(changes, expected):
    place = int(first_within_rounding(surface(changes))[0])
    row, column = divmod(place, len(BEST_W))
    assert (None if place < 0 else (BEST_P[row], BEST_W[column])) == expected


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        pytest.param({}, 8, id="flat: every point but w = 1"),
        pytest.param({(0, 0.5): 0.6, (2, 0.5): 0.6 - 0.9e-5}, 2, id="within 1e-5"),
        pytest.param({(0, 0.5): 0.6, (2, 0.5): 0.6 - 1.1e-5}, 1, id="beyond 1e-5"),
    ],
)
def test_the_plateau_is_all_points_within_1e_minus_5_of_the_best(changes, size):
    _, plateau = plateau_within_no_change(surface(changes, alone=0.9), BEST_W)
    assert plateau.sum() == size
    assert not plateau[:, :, BEST_W == 1].any()


def test_beats_better_and_worse():
    gains = np.array([0.0, -1e-9, TIE, 2e-12, NO_CHANGE, 1.1e-5, np.nan])
    assert beats(gains).tolist() == [False, False, False, True, True, True, False]
    assert better(gains).tolist() == [False, False, False, False, False, True, False]
    assert worse(gains).tolist() == [True, True, False, False, False, False, False]


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_tau_c_is_scipys(levels):
    rng = np.random.default_rng(levels)
    human = rng.integers(0, levels, 200).astype(float)
    metric = np.round(human + rng.normal(size=200), 1)
    expected = stats.kendalltau(metric, human, variant="c").statistic
    assert kendall_tau_c(metric, human) == pytest.approx(expected, abs=1e-12)
    human[:20] = np.nan
    expected = stats.kendalltau(metric[20:], human[20:], variant="c").statistic
    assert kendall_tau_c(metric.tolist(), human.tolist()) == pytest.approx(expected, abs=1e-12)
    # by hand: every pair of different levels is concordant, and half of 100 lie on either of two levels
    assert kendall_tau_c(np.arange(100.0), np.arange(100) // 50) == pytest.approx(1.0, abs=1e-12)
    assert np.isnan([kendall_tau_c(human, np.ones(200)), kendall_tau_c([1.0, 2], [1, 2])]).all()


TAU_C_CASES = {
    "no ties": (np.random.default_rng(1).normal(size=30), np.random.default_rng(2).normal(size=30)),
    "five levels against scores": (np.random.default_rng(3).normal(size=40), np.arange(40.0) // 8),
    "ties on both sides": (np.arange(40.0) % 7, np.arange(40.0) % 3),
    "huge": (1e300 * (np.arange(20.0) % 6), -1e300 * (np.arange(20.0) % 4)),
    "three pairs": (np.array([1.0, 2, 2]), np.array([0.0, 1, 2])),
}


@pytest.mark.parametrize("case", TAU_C_CASES)
def test_tau_c_is_scipys_of_resamples_systems_and_projections(case):
    """Resamples are lists written out; systems' scores are the same lists; a constant side is NaN."""
    x, y = TAU_C_CASES[case]
    n = len(x)
    assert correlate("kendall_tau_c", x, y) == pytest.approx(tau_c(x, y), abs=1e-12)
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=25).T.astype(float)
    lists = [np.repeat(np.arange(n), column.astype(int)) for column in times.T]
    expected = [tau_c(x[rows], y[rows]) for rows in lists]
    (found,) = weighted_correlations("kendall_tau_c", x[:, None], y, times)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    rows_of_x, rows_of_y = np.tile(x, (25, 1)), np.tile(y, (25, 1))
    of_systems = weighted_statistics(["kendall_tau_c"], rows_of_x, rows_of_y, times.T, fewest=1)["kendall_tau_c"]
    np.testing.assert_allclose(of_systems, expected, rtol=0, atol=1e-12)


def tau_c(x, y):
    return float(stats.kendalltau(x, y, variant="c").statistic)


def test_tau_c_moves_with_one_more_copy_as_its_projection_says():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=300), rng.integers(0, 4, 300).astype(float)
    moves = influences("kendall_tau_c", x, y)
    value = tau_c(x, y)
    for row in range(0, 300, 37):
        weights = np.ones((300, 1))
        weights[row] += 1e-4  # a small part of a copy: a derivative
        (moved,) = weighted_correlations("kendall_tau_c", x[:, None], y, weights)[0]
        assert (moved - value) / 1e-4 == pytest.approx(moves[row], abs=1e-5)


def test_tau_c_is_undefined_of_a_constant_side_and_of_two_pairs():
    """SciPy's value of two pairs is 1 or -1, as of any correlation: here it is undefined, as that of the others."""
    assert np.isnan(correlate("kendall_tau_c", np.ones(9), np.arange(9.0)))
    assert np.isnan(correlate("kendall_tau_c", [1.0, 2], [1.0, 2]))
    drawn = weighted_correlations(
        "kendall_tau_c", np.arange(4.0)[:, None], np.arange(4.0), np.array([[4.0, 0, 0, 0]]).T
    )
    assert np.isnan(drawn).all()
    with pytest.raises(ConfigError, match="kendall_tau_c"):
        correlate("kendall_d", [1.0, 2, 3], [1.0, 2, 3])
    with pytest.raises(ConfigError, match="kendall, pearson, spearman"):
        correlate_grid("kendall_tau_c", np.ones((4, 1)), np.arange(4.0), np.arange(4.0), [1.0])
