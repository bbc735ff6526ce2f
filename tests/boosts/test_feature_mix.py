"""Features against numpy, word for word, and mixes against brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from some_attributions import attributions, planted, rows_of

from bmx_grid.boosts.base import Part, mean_gain
from bmx_grid.boosts.feature_mix import LARGEST_WEIGHT, FeatureMix
from bmx_grid.boosts.power_mean_grid import AtPoint
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError

ORACLES = {"share_negative": lambda row: np.mean(row <= 0), "mean": np.mean, "sum": np.sum, "spread": np.std}


@pytest.mark.parametrize("feature", ORACLES)
@pytest.mark.parametrize("side", ["hypothesis", "ground_truth", "both"])
def test_features_are_those_of_numpy(feature, side):
    truth, hypothesis = attributions(40)
    rows = {"ground_truth": truth.rows(), "hypothesis": hypothesis.rows()}
    boost = FeatureMix(feature, side=side)
    expected = [[ORACLES[feature](row) for row in rows[name]] for name in ([side] if side != "both" else rows)]
    np.testing.assert_allclose(boost.features(truth, hypothesis), np.transpose(expected), rtol=1e-12, atol=1e-14)
    linear = FeatureMix(feature, side=side, mix="linear").features(truth, hypothesis)
    if side == "both":
        of_both = [ORACLES[feature](np.concatenate(pair)) for pair in zip(*rows.values(), strict=True)]
        np.testing.assert_allclose(linear[:, 0], of_both, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("row", "share"),
    [
        pytest.param([0.5, -0.5, 0.25, -1.0], 0.5, id="signs"),
        pytest.param([0.5, 0.0, -0.0, 1.0], 0.5, id="zeros help nothing"),
        pytest.param([0.5, 1e-17, -1e-17, 1.0], 0.5, id="rounding is 0 on either side"),
        pytest.param([5e-17, 1e-17], 0.0, id="small scores are no rounding"),
        pytest.param([0.0, 0.0], 1.0, id="nothing matches"),
    ],
)
def test_words_without_a_positive_attribution(row, share):
    features = FeatureMix("share_negative", side="hypothesis").features(rows_of([1.0]), rows_of(row))
    assert features.tolist() == [[share]]


def held(base, features, human):
    return Part(base, features, human, np.arange(len(base)))


@pytest.mark.parametrize("sign", [1, -1])
def test_lambda_is_that_of_brute_force(sign):
    rng = np.random.default_rng(2)
    base, feature = rng.normal(3, 2, size=200), rng.normal(7, 0.1, size=200)
    feature += 0.02 * base
    human = base + sign * 15 * feature + 3 * rng.normal(size=200)
    fitted = FeatureMix("mean", side="hypothesis").fit("pearson", [held(base, feature[:, None], human)])
    z = [(values - values.mean()) / values.std() for values in (base, feature)]
    best = minimize_scalar(lambda x: -np.corrcoef(z[0] + x * z[1], human)[0, 1], bounds=(-9, 9), method="bounded",
                           options={"xatol": 1e-10})  # fmt: skip
    assert fitted.lambdas[0] == pytest.approx(best.x, rel=1e-5)
    assert np.sign(fitted.lambdas[0]) == sign
    expected = base + best.x * base.std() * z[1]
    np.testing.assert_allclose(fitted.scores(base, feature[:, None]), expected, rtol=1e-5)


def test_the_lambdas_of_two_sides_are_those_of_brute_force():
    part, _ = planted(FeatureMix("spread"), n=300)
    fitted = FeatureMix("spread").fit("pearson", [part])
    z = (part.features - part.features.mean(axis=0)) / part.features.std(axis=0)
    base = (part.base - part.base.mean()) / part.base.std()
    best = minimize(lambda x: -np.corrcoef(base + z @ x, part.human)[0, 1], np.zeros(2), options={"gtol": 1e-10})
    np.testing.assert_allclose(fitted.lambdas, best.x, atol=1e-4)
    assert fitted.constants()["base_sd"] == pytest.approx(part.base.std())


def test_means_and_deviations_are_taken_within_language_pairs():
    rng = np.random.default_rng(3)
    parts = []
    for n, level in ((50, 0.0), (500, 100.0)):
        base, feature = rng.normal(level, 1, size=n), rng.normal(level, 2, size=n)
        parts.append(held(base, feature[:, None], base + feature + rng.normal(size=n)))
    fitted = FeatureMix("mean", side="hypothesis").fit("pearson", parts)
    deviations = [np.sqrt(np.mean([values.var() for values in some])) for some in
                  ([p.base for p in parts], [p.features for p in parts])]  # fmt: skip
    assert (fitted.base_sd, fitted.sd[0]) == pytest.approx(deviations)
    assert fitted.mean[0] == pytest.approx(np.mean([part.features.mean() for part in parts]))
    assert mean_gain("pearson", parts, fitted) > 0.1


def test_a_metric_that_says_the_opposite_is_outweighed_but_not_turned():
    rng = np.random.default_rng(5)
    feature = rng.normal(size=100)
    human = -feature + 0.1 * rng.normal(size=100)
    base = feature + rng.normal(size=100)  # a metric that is wrong, until the feature is known
    fitted = FeatureMix("mean", side="hypothesis").fit("pearson", [held(base, feature[:, None], human)])
    assert fitted.lambdas == (-LARGEST_WEIGHT,)
    assert np.corrcoef(fitted.scores(base, feature[:, None]), human)[0, 1] > 0.9


def test_a_constant_feature_is_no_feature():
    part = planted(FeatureMix("spread"), n=60)[0]
    part.features[:, 1] = 2.0
    fitted = FeatureMix("spread").fit("pearson", [part])
    assert fitted.lambdas[1] == 0 and fitted.lambdas[0] != 0
    part.features[:, 0] = 2.0
    assert FeatureMix("spread").fit("pearson", [part]).keeps_base_scores


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_the_linear_mix_takes_the_best_w(kind):
    from scipy import stats

    correlation_of = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    boost = FeatureMix("mean", mix="linear", w=tuple(np.arange(11) / 10))
    parts = [planted(boost, n=n, seed=n)[0] for n in (40, 80)]
    best = max(
        (np.mean([correlation_of(w * part.base + (1 - w) * part.features[:, 0], part.human)[0] for part in parts]), -w)
        for w in boost.w
    )
    assert boost.fit(kind, parts) == AtPoint(-best[1])


def test_severity_at_its_fixed_weight_is_the_formula_of_xcomet():
    """.78 * regression + .22 * (25 - min(25, sum)) / 25 (Unbabel/COMET, xcomet_metric.py), with sums beyond the cap."""
    rng = np.random.default_rng(5)
    weights = [-rng.choice([0.0, 1.0, 5.0, 10.0], size=rng.integers(1, 9)) for _ in range(200)]
    base = rng.random(200)
    boost = build(load_option("boost", "xcomet"), FeatureMix, "boost.xcomet")
    scores = boost.fixed_fit.scores(base, boost.features(rows_of(*[[]] * 200), rows_of(*weights)))
    expected = [0.78 * score + 0.22 * (25 - min(25, -sum(row))) / 25 for score, row in zip(base, weights, strict=True)]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    assert boost.from_constants(boost.fixed_fit.constants()) == boost.fixed_fit == boost.fit("pearson", [])


def test_severity_is_undefined_for_what_nobody_marked_and_its_settings_fit_together():
    boost = FeatureMix("severity", side="hypothesis", cap=25.0)
    features = boost.features(rows_of([], [], []), rows_of([np.nan, np.nan], [], [-5.0, 0.0]))[:, 0]
    np.testing.assert_array_equal(features, [np.nan, np.nan, 0.8])
    for settings in ({"feature": "sum", "cap": 25.0}, {"feature": "severity"}, {"feature": "severity", "cap": 0.0}):
        with pytest.raises(ConfigError, match="cap"):
            FeatureMix(**settings)
    with pytest.raises(ConfigError, match="mix=fixed needs one w, got 2"):
        FeatureMix("mean", mix="fixed", w=(0.5, 1.0))
    for no_share in (1.5, -0.1, np.nan):
        with pytest.raises(ConfigError, match=r"^w: .* is outside \[0, 1\]"):
            FeatureMix("mean", mix="fixed", w=(no_share,))
