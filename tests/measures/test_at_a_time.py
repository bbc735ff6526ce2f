"""Ranges that are handled at a time, and how many things fit into one."""

import pytest

from bmx_grid.measures.at_a_time import fitting, ranges, sizes


@pytest.mark.parametrize(
    ("cells", "each", "expected"),
    [
        pytest.param(10, 3, 3, id="whole things only"),
        pytest.param(10, 5, 2, id="no cell is left"),
        pytest.param(10, 1, 10, id="things of one cell"),
        pytest.param(10, 0, 10, id="things without cells count as one cell"),
        pytest.param(10, 11, 1, id="larger than the cells: one at a time"),
    ],
)
def test_as_many_as_fit_and_at_least_one(cells, each, expected):
    assert fitting(cells, each) == expected


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [
        pytest.param(10, 3, [(0, 3), (3, 6), (6, 9), (9, 10)], id="the last is shorter"),
        pytest.param(6, 3, [(0, 3), (3, 6)], id="even"),
        pytest.param(2, 3, [(0, 2)], id="one"),
        pytest.param(3, 1, [(0, 1), (1, 2), (2, 3)], id="one by one"),
        pytest.param(0, 3, [], id="nothing"),
    ],
)
def test_ranges_cover_all_once_and_in_order(count, size, expected):
    assert [(part.start, part.stop) for part in ranges(count, size)] == expected
    assert list(sizes(count, size)) == [stop - start for start, stop in expected]
