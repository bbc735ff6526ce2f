"""Averages over language pairs against sums by hand."""

import numpy as np
import pytest
from some_tables import flat, peaked, table

from bmx_grid.analysis.results import averages

SURFACES = {
    ("d", "a", "m", "lime"): peaked(0.5, gain=0.1, baseline=0.5),
    ("d", "b", "m", "lime"): flat(0.4, 0.2),
    ("d", "a", "m", "shap"): flat(0.7, 0.2),
    ("e", "a", "m", "lime"): flat(0.9, 0.2),
}


def test_means_are_taken_over_the_pairs_of_a_data_set_and_metric():
    found = table(SURFACES)
    means = averages(found, found.baseline + np.arange(4), found.baseline + 1)
    assert set(means) == {("d", "m"), ("e", "m")}
    mean = means["d", "m"]
    assert mean.n == 2
    assert mean.baseline == pytest.approx(0.45)  # of each pair the first explainer's
    assert mean.fixed["lime"] == pytest.approx(0.45 + 0.5)
    assert mean.fixed_gain["lime"] == pytest.approx(0.5)
    assert mean.best_gain["lime"] == pytest.approx(1.0)
    assert means["e", "m"].fixed == pytest.approx({"lime": 0.9 + 3})


def test_an_explainer_that_did_not_run_on_every_pair_has_none():
    found = table(SURFACES)
    mean = averages(found, found.baseline, found.baseline)["d", "m"]
    assert np.isnan(mean.fixed["shap"])
    assert np.isnan(mean.best_gain["shap"])


def test_an_undefined_pair_leaves_no_average():
    found = table(SURFACES)
    fixed = found.baseline.copy()
    fixed[1] = np.nan
    mean = averages(found, fixed, found.baseline)["d", "m"]
    assert np.isnan(mean.fixed["lime"])
    assert mean.best["lime"] == pytest.approx(0.45)
