"""The rows of a forest of gains: one per setting, and means by data set and metric where there are too many."""

import itertools

import pytest
from some_frames import frames
from some_tables import peaked, table

from bmx_grid.analysis.given import Options, Point
from bmx_grid.analysis.run import analyse
from bmx_grid.analysis.shown import MOST_ROWS, forest_of


def analysed(gains, **more):
    made = table({names: peaked(0.5, gain=gain) for names, gain in gains.items()})
    return analyse(made, Options(fixed={"lime": Point(0.5, 0.5)}), frames=frames(gains, **more))


def gains_of(n_metrics):
    """Gains of 2 data sets x 5 language pairs x `n_metrics` metrics: no two are the same."""
    names = itertools.product(("d", "e"), "abcde", [f"m{n}" for n in range(n_metrics)], ("lime",))
    return {one: 0.001 * row for row, one in enumerate(names, start=1)}


def test_up_to_48_settings_have_a_row_each_best_first():
    gains = gains_of(4)
    rows = forest_of(analysed(gains, half=0.25), "lime")
    assert MOST_ROWS == 48
    assert [row.names for row in rows] == [names[:3] for names in sorted(gains, key=gains.get, reverse=True)]
    best = max(gains.values())
    assert (rows[0].n, rows[0].gain) == (1, pytest.approx(best))
    assert (rows[0].low, rows[0].high) == pytest.approx((best - 0.25, best + 0.25))


@pytest.mark.parametrize(
    ("known", "rows"),
    [
        pytest.param(("points", "tests"), 2, id="tests"),
        pytest.param(("points",), 0, id="nothing was tested"),
    ],
)
def test_settings_have_rows_where_tests_are_known(known, rows):
    gains = {("d", pair, "m", "lime"): gain for pair, gain in zip("ab", (0.1, 0.02), strict=True)}
    made = table({names: peaked(0.5, gain=gain) for names, gain in gains.items()})
    some = {name: one for name, one in frames(gains).items() if name in known}
    assert len(forest_of(analyse(made, Options(fixed={"lime": Point(0.5, 0.5)}), frames=some), "lime")) == rows


def test_more_are_means_over_the_pairs_of_a_data_set_and_metric():
    gains = gains_of(5)
    rows = forest_of(analysed(gains, holm=0.001), "lime")
    assert {row.names for row in rows} == {(names[0], names[2]) for names in gains}
    assert [row.gain for row in rows] == sorted((row.gain for row in rows), reverse=True)
    for row in rows:
        own = [gain for names, gain in gains.items() if (names[0], names[2]) == row.names]
        assert (row.n, row.gain) == (5, pytest.approx(sum(own) / 5))
        assert min(own) <= row.low < row.gain < row.high <= max(own)
        assert not row.survives
