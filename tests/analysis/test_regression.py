"""The regression of gains against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from some_tables import lime, peaked, random_surfaces, table

from bmx_grid.analysis.base import FACTORS
from bmx_grid.analysis.factors import cluster_errors, compute, fit_rows
from bmx_grid.analysis.gains import gains_without_controls
from bmx_grid.analysis.questions import analyse_table
from bmx_grid.measures.grid import Point

SURFACES = random_surfaces(2, pairs=("a", "b", "c"), explainers=("lime", "shap"))
AT = {"fixed": {name: Point(0.5, 0.5) for name in ("lime", "shap")}}
HOLE = np.array([0.0, np.nan, 0.0])  # w = 0.5 is undefined
HOLED = {names: np.where(names[1] == "a", surface + HOLE, surface) for names, surface in SURFACES.items()}


@pytest.mark.parametrize("surfaces", [SURFACES, HOLED], ids=["all defined", "some undefined"])
def test_ridge_is_scikit_learns(surfaces):
    analysis = analyse_table(table(surfaces), **AT)
    real = analysis.compute_once(gains_without_controls).dropna(subset="gain")
    gains = real["gain"].to_numpy()
    columns = pd.get_dummies(real[list(FACTORS)], prefix_sep=" ").astype(float)
    oracle = Ridge(alpha=1).fit(columns, gains)
    rows, fit = analysis.compute_once(compute)["ridge_coefficients"], analysis.compute_once(compute)["ridge"]
    named = dict(zip(rows["factor"] + " " + rows["name"], rows["coefficient"], strict=True))
    assert named == pytest.approx(dict(zip(columns.columns, oracle.coef_, strict=True)), abs=1e-14)
    assert fit["intercept"] == pytest.approx(oracle.intercept_, abs=1e-14)
    assert fit["r2"] == pytest.approx(oracle.score(columns, gains), abs=1e-12)
    assert list(named.values()) == sorted(named.values(), reverse=True)
    assert fit["n"] == len(real)


def test_the_table_of_the_fit_has_all_of_it():
    analysis = analyse_table(table(SURFACES), **AT)
    fit, rows = analysis.compute_once(compute)["ridge"], analysis.compute_once(fit_rows)
    assert dict(zip(rows["name"], rows["coefficient"], strict=True)) == fit["coefficients"]
    for name in ("intercept", "r2", "n", "clusters", "alpha"):
        assert set(rows[name]) == {fit[name]}


def test_standard_errors_are_those_of_refits_on_drawn_clusters():
    from bmx_grid.measures.resampling import codes, draws

    some = table(SURFACES)
    gain = np.random.default_rng(3).normal(0.01, 0.02, len(some))
    x = pd.get_dummies(pd.DataFrame(some.settings)).astype(float).to_numpy()
    cluster = codes([setting.cluster for setting in some.settings])
    errors = cluster_errors(x, gain, cluster, seed=5, resamples=40)
    fits = []
    for counts in draws(np.random.default_rng(5), cluster.max() + 1, 40):
        weights = counts[cluster]
        fit = Ridge(alpha=1).fit(x, gain, sample_weight=weights).coef_
        fits.append(np.where(weights @ x > 0, fit, np.nan))
    np.testing.assert_allclose(errors, np.nanstd(fits, axis=0, ddof=1), rtol=1e-8)


def test_names_that_two_factors_share_are_told_apart():
    analysis = analyse_table(table(random_surfaces(0, ("d",), ("same", "b"), ("m1", "m2", "m3"), ("same", "lime"))))
    named = analysis.compute_once(compute)["ridge"]["coefficients"]
    assert set(named) == {"d", "language_pair:same", "b", "m1", "m2", "m3", "explainer:same", "lime"}
    assert list(named.values()) == sorted(named.values(), reverse=True)


def test_equal_gains_are_the_intercept_and_have_no_variance_to_explain():
    surfaces = {names: peaked(0.5, gain=0.03) for names in random_surfaces(0)}
    result = analyse_table(table(surfaces), **AT).compute_once(compute)
    assert result["ridge"]["intercept"] == pytest.approx(0.03)
    assert result["ridge_coefficients"]["coefficient"].to_numpy() == pytest.approx(0.0, abs=1e-15)
    assert np.isnan(result["ridge"]["r2"])


@pytest.mark.parametrize(
    ("n_left_out", "n", "n_coefficients"),
    [
        pytest.param(2, 10, 8, id="a setting more than coefficients with the intercept"),
        pytest.param(3, 9, 0, id="as many settings, which fit whatever their gains are"),
    ],
)
def test_more_settings_than_coefficients_are_regressed(n_left_out, n, n_coefficients):
    surfaces = random_surfaces(2, ("d",), ("a", "b", "c"), explainers=("lime", "shap"))
    for names in [names for names in surfaces if names[1] == "c"][:n_left_out]:
        del surfaces[names]
    analysis = analyse_table(table(surfaces), **AT)
    fit = analysis.compute_once(compute)["ridge"]
    assert (fit["n"], len(fit["coefficients"]), len(analysis.compute_once(fit_rows))) == (n, *(n_coefficients,) * 2)
    assert np.isnan([fit["intercept"], fit["r2"]]).all() == (n_coefficients == 0)


def test_without_a_gain_nothing_is_regressed():
    nothing = analyse_table(lime([peaked(0.5)]), fixed={"lime": Point(9.0, 0.5)}).compute_once(compute)
    assert (len(nothing["ridge_coefficients"]), nothing["ridge"]["n"]) == (0, 0)
    assert np.isnan(nothing["ridge"]["intercept"])
