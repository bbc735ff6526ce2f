"""Which exponents count as evenly spaced: those that are so up to rounding, and no others."""

import numpy as np
import pytest

from bmx_grid.measures.aggregation import even_step

EVEN = np.arange(-32.0, 33.0)


@pytest.mark.parametrize(
    ("ulps", "step"),
    [
        pytest.param(0, 1.0, id="exact"),
        pytest.param(4, 1.0, id="within rounding"),
        pytest.param(-3, 1.0, id="within rounding, below"),
        pytest.param(5, None, id="beyond rounding"),
        pytest.param(-5, None, id="beyond rounding, below"),
        pytest.param(2**40, None, id="far beyond"),
    ],
)
def test_exponents_are_even_within_four_units_in_the_last_place(ulps, step):
    exponents = EVEN.copy()
    exponents[48] += ulps * np.spacing(16.0)  # one unit in the last place of 16 is 16 eps
    assert EVEN[48] == 16.0
    assert even_step(exponents) == step


def test_the_grid_of_the_paper_is_even():
    assert even_step(np.arange(-300, 300) / 10) == pytest.approx(0.1, rel=1e-15)


def test_one_number_over_and_over_has_no_step():
    assert even_step(np.full(65, 2.0)) is None
