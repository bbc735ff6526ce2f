"""Transfer across data sets, pairs and metrics, against selection written out by hand."""

import numpy as np
import pytest
from some_tables import P, W, lime, peaked, random_surfaces, table

from bmx_grid.analysis.factors import compute, moved_gains
from bmx_grid.analysis.questions import analyse_table


def best_by_hand(surface):
    row, column = np.unravel_index(np.argmax(surface), surface.shape)
    return P[row], W[column]


def nearest_below(values, wanted):
    """The place of the nearest value; of two equally near ones that of the lower."""
    return int(np.argmin(np.abs(values - wanted) + 1e-7 * np.arange(len(values))))


@pytest.mark.parametrize(("factor", "position"), [("dataset", 0), ("language_pair", 1), ("metric", 2)])
def test_parameters_come_from_the_others_only(factor, position):
    surfaces = random_surfaces(4, pairs=("a", "b", "c"))
    analysis = analyse_table(table(surfaces))
    expected = {}
    for held in {names[position] for names in surfaces}:
        others = [best_by_hand(surface) for names, surface in surfaces.items() if names[position] != held]
        p, w = np.median(others, axis=0)
        for names, surface in surfaces.items():
            if names[position] == held:
                expected[names] = surface[nearest_below(P, p), nearest_below(W, w)] - surface[0, -1]
    gains = moved_gains(analysis, factor)["gain"].tolist()
    assert gains == pytest.approx([expected[tuple(setting)] for setting in analysis.table.settings], abs=1e-15)
    row = analysis.compute_once(compute)["leave_one_out"].loc[(factor, "lime")]
    assert row.optimism == pytest.approx(row.in_sample_mean_gain - np.mean(list(expected.values())))


def test_selection_in_sample_is_rosier_than_transfer():
    # Each language pair has its own best p: what suits the others does not suit it.
    left_out = analyse_table(lime([peaked(p) for p in (-1.8, -0.6, 0.6, 1.8)])).compute_once(compute)["leave_one_out"]
    assert list(left_out.index) == [("language_pair", "lime")], "a single name cannot be left out"
    row = left_out.loc[("language_pair", "lime")]
    assert (row.in_sample_mean_gain, row.mean_gain, row.optimism) == pytest.approx((-0.02, -0.08, 0.06))
