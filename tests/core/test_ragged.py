"""Rows of different lengths, empty ones among them."""

import numpy as np
import pytest

from bmx_grid.core.ragged import Ragged, expand_rows, row_minimum

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([[3.0, 1.0, 2.0], [5.0]], [1.0, 5.0], id="full"),
        pytest.param([[], [-1.0, 4.0], []], [INF, -1.0, INF], id="empty at both ends"),
        pytest.param([[2.0], [], [], [-3.0]], [2.0, INF, INF, -3.0], id="an empty row has nothing of the next"),
        pytest.param([[2.0], []], [2.0, INF], id="empty at the end"),
        pytest.param([[], []], [INF, INF], id="nothing but empty ones"),
        pytest.param([], [], id="no rows"),
        pytest.param([[1.0, NAN], [0.0]], [NAN, 0.0], id="undefined"),
    ],
)
def test_the_lowest_value_of_each_row(rows, expected):
    minima = row_minimum(Ragged.from_rows([np.array(row) for row in rows]))
    assert np.array_equal(minima, np.array(expected, dtype=float), equal_nan=True)


def test_rows_that_are_a_part_of_their_values():
    part = Ragged(np.array([-9.0, 2.0, 1.0, 7.0, -9.0]), np.array([1, 3, 3, 4]))
    assert row_minimum(part).tolist() == [1.0, INF, 7.0]


def test_values_stand_in_their_rows_and_all_of_them_are_not_copied():
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    rows = expand_rows(values, np.array([True, False, True]))
    assert np.isnan(rows[1]).all() and rows[[0, 2]].tolist() == values.tolist()
    assert expand_rows(values, np.array([True, True])) is values
