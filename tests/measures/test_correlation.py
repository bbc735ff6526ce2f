"""Correlations against SciPy, one pair of arrays and whole grids, where digits and ties are scarce as well."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import stats

from bmx_grid.core.ragged import Ragged
from bmx_grid.measures import ordered
from bmx_grid.measures.aggregation import PowerMean, shift_positive
from bmx_grid.measures.correlation import average_ranks, correlate, correlate_grid, kendall, pearson, spearman

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
OURS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
TOLERANCE = {"pearson": 1e-12, "spearman": 1e-12, "kendall": 0.0}
KINDS = list(SCIPY)
W = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
P = np.arange(-300, 300, 12) / 10
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
        pytest.param(np.repeat([0.0, 1.0], 20), np.tile([0.0, 1.0, 1.0, 2.0], 10), id="two scores only"),
        pytest.param(X[:3], Y[:3], id="three pairs"),
    ],
)
def test_one_pair_of_arrays_equals_scipy(kind, x, y):
    assert abs(OURS[kind](x, y) - scipy_value(kind, x, y)) <= TOLERANCE[kind]
    assert correlate(kind, x, y) == OURS[kind](x, y)


@pytest.mark.parametrize("values", [X, -Y, np.array([2.0, 1.0, 2.0, 2.0, 2.0, 1.0]), np.array([np.inf, 0.0, np.inf])])
def test_equal_values_share_the_mean_of_their_ranks(values):
    assert average_ranks(values).tolist() == stats.rankdata(values).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_unrated_pairs_are_left_out(kind):
    x, y = np.append(X, [7.0, np.nan]), np.append(Y, [np.nan, -3.0])
    assert OURS[kind](x, y) == OURS[kind](X, Y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param([1.0, 2.0], [1.0, 2.0], id="two pairs"),
        pytest.param([1.0, 2.0, 3.0], [1.0, np.nan, 2.0], id="two rated pairs"),
        pytest.param([], [], id="no pairs"),
        pytest.param([0.1] * 10, list(range(10)), id="equal scores"),
        pytest.param(list(range(10)), [0.1] * 10, id="equal human scores"),
    ],
)
def test_undefined_correlations_are_nan(kind, x, y):
    assert np.isnan(OURS[kind](x, y))


def test_an_infinite_score_has_a_rank_but_no_distance():
    x = np.array([1.0, np.inf, 2.0, 0.0])
    y = np.array([1.0, 3.0, 2.0, 5.0])
    assert np.isnan(pearson(x, y))
    assert spearman(x, y) == pytest.approx(spearman([1, 9, 2, 0], y))
    assert kendall(x, y) == kendall([1, 9, 2, 0], y)


def setting(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means float64[N, P], base and human scores of one made-up setting."""
    rng = np.random.default_rng(RNG_SEED)
    n = 3 if name == "three segments" else 90
    quality = rng.normal(size=n)
    human = np.round(quality + rng.normal(size=n), 1)
    base = 0.4 + 0.1 * quality + rng.normal(0, 0.05, n)
    lengths = np.maximum(1, rng.lognormal(3, 0.5, n)).astype(int)
    centre = np.where(rng.random(n) < 0.5, 0.5, 0.02)  # about half of the segments have to be shifted
    if name == "all shifted":
        centre[:] = 0.0
    rows = [rng.normal(mid, 0.05, length) for mid, length in zip(centre, lengths, strict=True)]
    if name == "no change for any word":
        rows = [np.zeros_like(row) for row in rows]
    if name == "minimum 0, equal lengths":
        rows = [np.concatenate([[0.0], row[:3] ** 2, np.ones(5)])[:4] for row in rows]
    means = PowerMean().aggregate(shift_positive(Ragged.from_rows(rows))[0], P)
    if name == "many equal scores":
        base, means, human = np.round(base, 1), np.round(means, 1), np.round(human)
    if name == "base of zeros":
        base = np.zeros(n)
    if name == "base near rounding":
        base = 1e3 + 1e-9 * base
    if name == "base and mean cancel":
        base = 0.5 - 4 * means[:, 30] + 1e-7 * rng.normal(size=n)  # at w = .2 next to nothing is left
    if name == "means far above their spread":
        means = 1 + 10.0 ** np.linspace(0, -9, len(P)) * rng.normal(size=means.shape)
    if name == "one segment carries all variance":
        means[0] = 1e9 * means[0]
    if name == "one base score of another size":
        base[0] = -1e6
    if name == "equal human scores":
        human[:] = 70.0
    if name == "nothing carries over from p to p":
        means = rng.normal(size=means.shape)
    if name == "neighbours in p reversed":
        means[:, 1::2] = -means[:, ::2]
    return means, base, human


SETTINGS = [
    "natural",
    "three segments",
    "all shifted",
    "no change for any word",
    "minimum 0, equal lengths",
    "many equal scores",
    "base of zeros",
    "base near rounding",
    "base and mean cancel",
    "means far above their spread",
    "one segment carries all variance",
    "one base score of another size",
    "equal human scores",
    "nothing carries over from p to p",
    "neighbours in p reversed",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SETTINGS)
def test_every_point_of_a_grid_equals_scipy(kind, name):
    means, base, human = setting(name)
    got, expected = correlate_grid(kind, means, base, human, W), scipy_grid(kind, means, base, human)
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    assert np.nanmax(np.abs(got - expected), initial=0.0) <= TOLERANCE[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_grid_equals_scipy(kind):
    rng = np.random.default_rng(3)
    human = np.round(rng.normal(size=60), 1)
    base = 0.3 + 0.1 * human + rng.normal(0, 0.1, 60)
    rows = Ragged.from_rows([rng.normal(0.03, 0.05, n) for n in rng.integers(3, 60, 60)])
    means = PowerMean().aggregate(shift_positive(rows)[0], np.arange(-300, 300) / 10)
    got, expected = correlate_grid(kind, means, base, human, W), scipy_grid(kind, means, base, human)
    assert got.shape == (600, 6)
    assert np.abs(got - expected).max() <= TOLERANCE[kind]


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_means_within_their_precision_tie(kind):
    """The order within a group of means that only rounding tells apart must not count, whatever p carries over."""
    rng = np.random.default_rng(RNG_SEED)
    n, precision = 60, 2e-14
    human, base = np.round(rng.normal(size=n), 1), np.zeros(n)
    level = rng.integers(1, 8, size=(n, 40)) * 1e-9 * 10.0 ** np.arange(40)[None] ** 0.5
    level[:, 20:] = -level[:, 20:]
    noisy = level * (1 + precision / 4 * rng.random(level.shape))
    got = correlate_grid(kind, noisy, base, human, W[:-1], precision)
    expected = correlate_grid(kind, level, base, human, W[:-1])
    assert np.abs(got - expected).max() <= 1e-15
    assert np.abs(correlate_grid(kind, noisy, base, human, W[:-1]) - expected).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_the_precision_of_means_changes_nothing_where_differences_are_real(kind):
    means, base, human = setting("natural")
    real = means[:, P >= -1]  # below, the means of shifted rows with as many words differ by rounding
    assert np.array_equal(correlate_grid(kind, real, base, human, W, 2e-14), correlate_grid(kind, real, base, human, W))


@pytest.mark.parametrize("kind", KINDS)
def test_the_baseline_column_is_the_baseline_exactly(kind):
    means, base, human = setting("natural")
    assert (correlate_grid(kind, means, base, human, W)[:, -1] == OURS[kind](base, human)).all()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_takes_no_point_beyond_1(kind, sign):
    human = np.random.default_rng(7).normal(size=40)
    found = correlate_grid(kind, np.linspace(0.1, 3, 50) * human[:, None] + 0.1, 7 * human + 0.3, sign * human, W)
    assert np.abs(found).max() <= 1
    np.testing.assert_allclose(found, sign)


@pytest.mark.parametrize("kind", KINDS)
def test_segments_with_anything_missing_are_left_out_of_every_point(kind):
    means, base, human = setting("natural")
    human[3], base[7], means[11, 5], means[12, 6] = np.nan, np.inf, np.nan, np.inf
    kept = np.delete(np.arange(len(base)), [3, 7, 11, 12])
    whole = correlate_grid(kind, means, base, human, W)
    assert np.array_equal(whole, correlate_grid(kind, means[kept], base[kept], human[kept], W))
    assert np.isfinite(whole).all()


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_than_three_rated_segments_give_nan(kind):
    means, base, human = setting("natural")
    human[2:] = np.nan
    assert np.isnan(correlate_grid(kind, means, base, human, W)).all()


def test_without_a_folder_for_compiled_code_the_ranks_still_come(monkeypatch):
    """numba raises RuntimeError where it may write to no folder; here it also compiles nothing, to be quick."""
    asked = []

    def njit(cache=False, nogil=False):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function '_grid': no locator available")
        return lambda function: function

    monkeypatch.setattr("numba.njit", njit)
    means, base, human = setting("many equal scores")
    expected = correlate_grid("kendall", means[:, :4], base, human, W)
    ordered.compiled.cache_clear()
    try:
        assert np.array_equal(correlate_grid("kendall", means[:, :4], base, human, W), expected)
    finally:
        ordered.compiled.cache_clear()
    assert asked == [True, False]


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
