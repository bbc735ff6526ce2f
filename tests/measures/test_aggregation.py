"""Means over words: against mpmath, at the edges, and the shift that makes attributions positive."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.aggregation import PowerMean, even_step, shift_positive

GRID = np.arange(-300, 300) / 10
NEAR_ZERO = np.union1d(GRID[::23], GRID[285:316])  # small |p| is where digits are lost first


def log_uniform(words: int) -> np.ndarray:
    return 10 ** np.random.default_rng(words).uniform(-9, 0, words)


def shifted_row(words: int) -> np.ndarray:
    """What a shifted row looks like: one value at 1e-9, the others near their spread."""
    return np.concatenate([[1e-9], 1e-9 + np.random.default_rng(words).uniform(0, 0.1, words - 1)])


def exact_power_mean(row: np.ndarray, p: float) -> mpmath.mpf:
    if p == 0:
        return mpmath.exp(mpmath.fsum(mpmath.log(mpmath.mpf(float(x))) for x in row) / len(row))
    power = mpmath.mpf(float(p))
    return (mpmath.fsum(mpmath.mpf(float(x)) ** power for x in row) / len(row)) ** (1 / power)


def relative_errors(got: np.ndarray, exact: list[mpmath.mpf]) -> np.ndarray:
    return np.array([float(abs(mpmath.mpf(float(a)) / b - 1)) for a, b in zip(got, exact, strict=True)])


ROWS = [
    pytest.param(log_uniform(50), GRID[::3], id="50 words over nine orders"),
    pytest.param(log_uniform(250), NEAR_ZERO, id="250 words over nine orders"),
    pytest.param(np.concatenate([[1e-9], np.ones(249)]), NEAR_ZERO, id="one 1e-9 among 249 ones"),
    pytest.param(log_uniform(40), np.array([-1.4, 0.3, 7.77]), id="a few uneven p"),
    pytest.param(log_uniform(40), np.linspace(-0.02, 0.02, 41), id="a fine grid around 0"),
    pytest.param(log_uniform(40) * 100, GRID[::7], id="scores to 100"),
    pytest.param(log_uniform(40) ** 5, GRID[(GRID < -0.5) | (GRID > 0.5)][::23], id="too wide for sums of both signs"),
    pytest.param(
        np.concatenate([[1e-9], np.full(95, 0.39)]), GRID[290:311], id="as many words as are added one by one"
    ),
    pytest.param(shifted_row(97), np.arange(-150, 150) / 5 + 0.07, id="an even grid without 0"),
    pytest.param(shifted_row(97), np.arange(-300, 4) / 10, id="negative p and a few positive"),
    pytest.param(log_uniform(97), np.linspace(-30, 30, 10), id="as few p as an even grid may have, nearly"),
]


@pytest.mark.parametrize(("row", "p"), ROWS)
def test_power_mean_against_mpmath(row, p):
    # All of the grid goes in, so that the tables of powers are those of real use.
    grid = np.union1d(GRID, p) if np.isin(p, GRID).all() else p
    got = PowerMean().aggregate(Ragged.from_rows([row, np.ones(4)]), grid)[0, np.isin(grid, p)]
    with mpmath.workdps(40):
        assert relative_errors(got, [exact_power_mean(row, x) for x in p]).max() <= 2e-14


def test_known_means_of_2_4_8():
    """Minimum, harmonic, geometric, arithmetic and quadratic mean, maximum."""
    p = np.array([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf])
    means = PowerMean().aggregate(Ragged.from_rows([[2.0, 4.0, 8.0], []]), p)
    np.testing.assert_allclose(means[0], [2.0, 24 / 7, 4.0, 14 / 3, 28**0.5, 8.0], rtol=1e-15)
    assert np.isnan(means[1]).all(), "a row without words"


@pytest.mark.parametrize("p", [[1.0, np.nan], [1.0, 0.0], [1.0, 1.0]], ids=["NaN", "descending", "repeated"])
def test_p_that_do_not_ascend_are_refused(p):
    with pytest.raises(ValueError, match="above the one before"):
        PowerMean().aggregate(Ragged.from_rows([[1.0]]), np.array(p))


@pytest.mark.parametrize("row", [[0.3], [1e-9] * 7, [0.1] * 250], ids=["1 word", "7 words", "250 words"])
def test_equal_words_are_their_own_mean_exactly(row):
    assert (PowerMean().aggregate(Ragged.from_rows([np.array(row)]), GRID) == row[0]).all()


def test_a_mean_depends_on_its_row_alone_and_not_on_word_order():
    mean = PowerMean()
    rng = np.random.default_rng(5)
    rows = [10 ** rng.uniform(-9, 0, n) for n in rng.integers(1, 150, 60)]
    rows[20] **= 6  # too wide for sums of both signs
    whole = mean.aggregate(Ragged.from_rows(rows), GRID)
    turned = mean.aggregate(Ragged.from_rows([rng.permutation(row) for row in rows[40:10:-1]]), GRID)
    assert np.array_equal(turned, whole[40:10:-1])


def test_threads_do_not_share_their_tables():
    work = [Ragged.from_rows([log_uniform(n + k) for n in range(1, 80)]) for k in range(4)]
    alone = [PowerMean().aggregate(rows, GRID) for rows in work]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            together = pool.map(lambda rows: PowerMean().aggregate(rows, GRID), work)
            assert all(map(np.array_equal, together, alone))


def test_no_rows_and_a_part_of_a_larger_array():
    assert PowerMean().aggregate(Ragged.from_rows([]), GRID).shape == (0, 600)
    whole = Ragged.from_rows([log_uniform(3), log_uniform(4), log_uniform(5)])
    part = Ragged(whole.values, whole.offsets[1:])  # as a slice of an Arrow column comes
    assert np.array_equal(PowerMean().aggregate(part, GRID), PowerMean().aggregate(whole, GRID)[1:])
    assert np.array_equal(shift_positive(part)[0].values, shift_positive(whole)[0].values[3:])


@pytest.mark.parametrize(("wrong", "named"), [(0.0, "0"), (-0.25, "-0.25"), (np.nan, "nan"), (np.inf, "inf")])
def test_values_without_a_mean_are_named_with_their_row(wrong, named):
    with pytest.raises(DataError, match=rf"row 1: {named} .*shift_positive"):
        PowerMean().aggregate(Ragged.from_rows([np.ones(2), np.array([1.0, wrong])]), GRID)


@pytest.mark.parametrize(
    ("row", "expected", "shifted"),
    [
        pytest.param([0.2, -0.3], [0.2 + (0.3 + 1e-9), -0.3 + (0.3 + 1e-9)], True, id="negative minimum"),
        pytest.param([0.5, 0.0], [0.5 + 1e-9, 1e-9], True, id="minimum exactly 0"),
        pytest.param([0.0, 0.0], [1e-9, 1e-9], True, id="all zero"),
        pytest.param([0.5, 0.1], [0.5 + 1e-9, 0.1 + 1e-9], False, id="all positive"),
        pytest.param([], [], False, id="no words"),
    ],
)
def test_shift_is_the_papers_to_the_bit(row, expected, shifted):
    positive, flags = shift_positive(Ragged.from_rows([np.array([1.0]), np.array(row), np.array([2.0])]))
    assert positive[1].tolist() == expected
    assert flags.tolist() == [False, shifted, False]
    assert (positive.values > 0).all()


@pytest.mark.parametrize("row", [[np.nan, 0.2], [np.nan, -0.2], [0.2, np.nan], [-0.2, np.nan, 0.1]])
def test_a_row_with_a_nan_is_nan_and_disturbs_no_other(row):
    positive, shifted = shift_positive(Ragged.from_rows([np.array(row), np.array([-0.5, 0.5])]))
    assert np.isnan(positive[0]).all()
    assert shifted.tolist() == [False, True]
    assert positive[1].tolist() == shift_positive(Ragged.from_rows([np.array([-0.5, 0.5])]))[0].values.tolist()


def test_attributions_that_swallow_the_offset_are_refused():
    with pytest.raises(DataError, match=r"row 1: .*-1e\+09.* scale"):
        shift_positive(Ragged.from_rows([np.ones(1), np.array([3.0, -1e9])]))


@pytest.mark.parametrize(("ulps", "even"), [(0, True), (4, True), (-3, True), (5, False), (-5, False), (2**40, False)])
def test_exponents_are_even_within_four_units_in_the_last_place(ulps, even):
    exponents = np.arange(-32.0, 33.0)
    exponents[48] += ulps * np.spacing(16.0)  # one unit in the last place of 16 is 16 eps
    assert even_step(exponents) == (1.0 if even else None)
    assert even_step(np.full(65, 2.0)) is None
