"""Ridge regression, correlation with the baseline and densities against scikit-learn and SciPy."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde, pearsonr
from sklearn.linear_model import Ridge
from some_tables import flat, lime, random_surfaces, table

from bmx_grid.analysis.as_json import as_plain
from bmx_grid.analysis.baseline import gain_baseline
from bmx_grid.analysis.density import density_of, gain_densities
from bmx_grid.analysis.regression import cluster_errors, fit_ridge
from bmx_grid.analysis.table import FACTORS

TABLE = table(random_surfaces(2, pairs=("a", "b", "c"), explainers=("lime", "shap")))
GAIN = np.random.default_rng(3).normal(0.01, 0.02, len(TABLE))
HOLES = np.where(np.arange(len(TABLE)) % 5 == 0, np.nan, GAIN)


@pytest.mark.parametrize("gain", [GAIN, HOLES], ids=["all defined", "some undefined"])
def test_ridge_is_scikit_learns(gain):
    defined = ~np.isnan(gain)
    names = pd.DataFrame(TABLE.settings)[defined]
    columns = pd.get_dummies(names, prefix_sep=" ").astype(float)
    oracle = Ridge(alpha=1).fit(columns, gain[defined])
    found = fit_ridge(TABLE, gain)
    assert {f"{factor} {name}": value for (factor, name), value in found.coefficients.items()} == pytest.approx(
        dict(zip(columns.columns, oracle.coef_, strict=True)), abs=1e-14
    )
    assert found.intercept == pytest.approx(oracle.intercept_, abs=1e-14)
    assert found.r2 == pytest.approx(oracle.score(columns, gain[defined]), abs=1e-12)
    assert list(found.coefficients.values()) == sorted(found.coefficients.values(), reverse=True)
    assert found.n == defined.sum()


def test_standard_errors_are_those_of_refits_on_drawn_clusters():
    from bmx_grid.measures.resampling import codes, draws

    names = pd.DataFrame(TABLE.settings)
    columns = pd.get_dummies(names, prefix_sep=" ").astype(float)
    order = [f"{factor} {name}" for factor in FACTORS for name in sorted(set(names[factor]))]
    x, cluster = columns[order].to_numpy(), codes(TABLE.clusters)
    found = cluster_errors(x, GAIN, cluster, seed=5, resamples=40)
    fits = []
    for counts in draws(np.random.default_rng(5), cluster.max() + 1, 40):
        weights = counts[cluster]
        fit = Ridge(alpha=1).fit(x, GAIN, sample_weight=weights).coef_
        fits.append(np.where(weights @ x > 0, fit, np.nan))
    expected = np.nanstd(fits, axis=0, ddof=1)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_names_in_fewer_than_three_clusters_have_no_standard_error():
    found = fit_ridge(TABLE, GAIN)
    in_clusters = {
        (factor, name): len(set(TABLE.clusters[TABLE.where(**{factor: name})]))
        for factor in FACTORS
        for name in TABLE.factor_levels(factor)
    }
    two = TABLE.take(~(TABLE.where(language_pair="a", dataset="d1")))
    fewer = fit_ridge(two, GAIN[~TABLE.where(language_pair="a", dataset="d1")])
    assert all(np.isfinite(found.errors[key]) for key, count in in_clusters.items() if count >= 3)
    assert np.isnan(fewer.errors["language_pair", "a"]) and np.isnan(fewer.errors["dataset", "d1"])
    assert np.isfinite(fewer.errors["language_pair", "b"])
    assert found.named_errors["m1"] == found.errors["metric", "m1"]
    assert (found.clusters, fewer.clusters) == (9, 8)


def test_ridge_of_a_single_setting_is_its_gain():
    found = fit_ridge(lime([flat()]), np.array([0.03]))
    assert found.intercept == pytest.approx(0.03)
    assert set(found.coefficients.values()) == {0.0}
    assert np.isnan(found.r2)


def test_equal_coefficients_stand_in_alphabetical_order():
    found = fit_ridge(TABLE, np.zeros(len(TABLE)))
    assert set(found.coefficients.values()) == {0.0}
    assert list(found.coefficients) == sorted(found.coefficients)


def test_ridge_of_nothing():
    found = fit_ridge(lime([flat()]), np.array([np.nan]))
    assert (found.n, found.coefficients) == (0, {})
    assert np.isnan(found.intercept)


def test_gain_against_baseline_is_scipys():
    found = gain_baseline(TABLE, HOLES)
    for rows, value in (
        (np.ones(len(TABLE), bool), found.all),
        (TABLE.where(explainer="shap"), found.by_explainer["shap"]),
    ):
        rows = rows & ~np.isnan(HOLES)
        assert value == pytest.approx(pearsonr(HOLES[rows], TABLE.baseline[rows])[0], abs=1e-12)


def test_the_uncoupled_correlation_is_of_gain_and_mean():
    rng = np.random.default_rng(0)
    baseline, boosted = rng.normal(size=(2, len(TABLE))) * 0.1 + 0.5  # equal noise in both, nothing else
    made = dataclasses.replace(TABLE, correlation=np.broadcast_to(baseline[:, None, None], TABLE.correlation.shape))
    found = gain_baseline(made, boosted - baseline)
    assert found.uncoupled == pytest.approx(pearsonr(boosted - baseline, (boosted + baseline) / 2)[0], abs=1e-12)
    assert found.all < -0.5 < found.uncoupled


def test_two_settings_have_no_correlation():
    two = lime([flat(0.5), flat(0.6)])
    assert np.isnan(gain_baseline(two, np.array([0.1, 0.2])).all)


VALUES = {
    "few": np.random.default_rng(4).normal(size=7) * 0.01,
    "many": np.random.default_rng(5).normal(size=20_000) * 0.1 - 0.05,
    "two groups": np.concatenate(
        [np.random.default_rng(6).normal(-1, 0.01, 500), np.random.default_rng(7).normal(size=500)]
    ),
    "long tail": -(np.random.default_rng(8).exponential(0.02, 5_000) ** 1.5),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_density_is_scipys(values):
    found = density_of(values, np.zeros_like(values))
    oracle = gaussian_kde(values)
    exact = oracle(found.x)
    assert np.abs(found.density - exact).max() < 0.01 * exact.max()
    assert found.bandwidth == pytest.approx(float(np.sqrt(oracle.covariance[0, 0])))
    assert np.trapezoid(found.density, found.x) == pytest.approx(1, abs=2e-3)
    assert found.share_positive == (values > 0).mean()


def test_a_density_is_written_to_four_digits():
    found = density_of(VALUES["few"], np.zeros(7))
    written = as_plain(found)["density"]
    assert written == [float(f"{one:.4g}") for one in found.density]
    assert written != [float(f"{one:.5g}") for one in found.density]


@pytest.mark.parametrize(
    "values", [[], [0.1], [0.1, 0.1, 0.1], [np.nan, 0.1]], ids=["none", "one", "equal", "one defined"]
)
def test_values_without_a_width_have_no_curve(values):
    found = density_of(np.array(values), np.zeros(len(values)))
    assert found.n == int(np.isfinite(values).sum())
    assert len(found.x) == len(found.density) == 0
    assert np.isnan(found.bandwidth)


def test_densities_by_factor():
    surfaces = random_surfaces(9, explainers=("lime", "random"), metrics=("m1", "random"))
    some = table(surfaces)
    found = gain_densities(some, some.gains[:, 3, 0])
    points = len(some.p) * 2
    assert {name: one.n for name, one in found.grid["explainer"].items()} == {
        "lime": 12 * points,
        "random": 12 * points,
    }
    assert {name: one.n for name, one in found.grid["metric"].items()} == {"m1": 6 * points}
    assert {name: one.n for name, one in found.fixed["lime"]["dataset"].items()} == {"d1": 2, "d2": 2, "d3": 2}
    assert list(found.fixed) == ["all", "lime"]
    d1 = some.where(dataset="d1", metric="m1", explainer="lime")
    assert found.fixed["lime"]["dataset"]["d1"].mean == pytest.approx(some.gains[d1, 3, 0].mean())
    assert found.fixed["lime"]["dataset"]["d1"].mean_baseline == pytest.approx(some.baseline[d1].mean())


def test_names_are_equal_where_their_letters_are():
    """Settings of tables that are put together do not share their strings."""
    copies = tuple(type(one)(*(f"{name} "[:-1] for name in one)) for one in TABLE.settings)
    assert copies == TABLE.settings and copies[0].explainer is not copies[1].explainer
    again = fit_ridge(dataclasses.replace(TABLE, settings=copies), GAIN)
    assert again.coefficients == fit_ridge(TABLE, GAIN).coefficients
