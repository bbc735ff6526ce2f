"""The ridge regression against scikit-learn, its penalty against brute force."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from some_attributions import attributions, rows_of, standard

from bmx_grid.boosts.base import Part
from bmx_grid.boosts.learned import RIDGE_PENALTIES, Learned, Linear, fit_ridge
from bmx_grid.core.errors import ConfigError

BOOST = Learned()
K = len(BOOST.names())


def selection(n=300, seed=0, *, base=1.0, noise=1.0, weights=(0.5, -0.4), clusters=None) -> Part:
    """People like the base, and two of the features."""
    rng = np.random.default_rng(seed)
    features = BOOST.features(*attributions(n, seed))
    base_scores = rng.normal(2, 3, size=n)
    liked = sum(weight * standard(features[:, 3 + number]) for number, weight in enumerate(weights))
    human = base * standard(base_scores) + liked + noise * rng.normal(size=n)
    return Part(base_scores, features, human, np.arange(n) // 2 if clusters is None else clusters)


def sklearn_scores(parts, penalty, rows, judged):
    """Scores of one part by scikit-learn, from some rows of each part, each part counting the same.

    A column that is not penalised is one that is scaled up.
    """
    free = 1e4
    raw = [np.column_stack([part.base, part.features]) for part in parts]
    sds = np.sqrt(np.mean([columns.var(axis=0) for columns in raw], axis=0))
    sds[0] /= free
    x, y, weight = [], [], []
    for part, columns, some in zip(parts, raw, rows, strict=True):
        target = standard(part.human)
        columns = (columns - columns.mean(axis=0)) / sds
        x.append(columns[some] - columns[some].mean(axis=0))
        y.append(target[some] - target[some].mean())
        weight.append(np.full(int(some.sum()), 1 / some.sum() / len(parts)))
    ridge = Ridge(alpha=penalty, fit_intercept=False, tol=1e-12, solver="svd")
    ridge.fit(np.concatenate(x), np.concatenate(y), sample_weight=np.concatenate(weight))
    return (raw[judged] - raw[judged].mean(axis=0)) / sds @ ridge.coef_, ridge.coef_ * np.append(free, np.ones(K))


@pytest.mark.parametrize("penalty", [0.001, 0.3, 3.0])
def test_the_regression_is_that_of_scikit_learn(penalty):
    parts = [selection(), selection(n=120, seed=1)]
    fitted = Learned(penalties=(penalty,)).fit("pearson", parts)
    everyone = [np.ones(len(part.base), dtype=bool) for part in parts]
    for number, part in enumerate(parts):
        expected, _ = sklearn_scores(parts, penalty, everyone, number)
        np.testing.assert_allclose(standard(fitted.scores(part.base, part.features)), standard(expected), atol=1e-6)
    alone = Learned(penalties=(penalty,)).fit("pearson", [part]).scores(part.base, part.features)
    assert (alone.mean(), alone.std()) == pytest.approx((part.base.mean(), part.base.std())), (
        "on the scale of the metric"
    )


def test_the_penalty_is_the_one_that_predicts_other_clusters():
    parts = [selection(n=90, seed=seed) for seed in (1, 2)]
    labels = np.concatenate([part.clusters for part in parts])
    errors = {}
    for penalty in RIDGE_PENALTIES:
        errors[penalty] = 0.0
        for fold in range(BOOST.folds):
            inside = [np.unique(labels, return_inverse=True)[1][: len(part.base)] % 5 != fold for part in parts]
            for number, part in enumerate(parts):
                predicted, _ = sklearn_scores(parts, penalty, inside, number)
                errors[penalty] += np.var((standard(part.human) - predicted)[~inside[number]])
    fitted, chosen = fit_ridge(BOOST, "pearson", parts)
    assert RIDGE_PENALTIES[0] < chosen == min(errors, key=errors.get) < np.inf
    assert not fitted.keeps_base_scores


def test_noise_is_not_learned():
    parts = [selection(seed=seed, weights=()) for seed in range(6)]
    assert sum(BOOST.fit("pearson", [part]).keeps_base_scores for part in parts) >= 4
    assert BOOST.fit("pearson", parts).keeps_base_scores


def test_people_who_share_a_cluster_are_not_left_out_one_by_one():
    """Copies of a segment are one cluster: predicting a copy is not predicting another segment."""
    single = selection(n=40, seed=3, weights=(), noise=1.5)
    copies = np.tile(np.arange(40), 6)
    many = Part(single.base[copies], single.features[copies], single.human[copies], copies)
    apart = Part(many.base, many.features, many.human, np.random.default_rng(1).permutation(240))
    penalty = {name: fit_ridge(BOOST, "pearson", [part])[1]
               for name, part in (("together", many), ("apart", apart))}  # fmt: skip
    assert penalty["apart"] < penalty["together"]


def test_the_base_gets_no_negative_weight():
    part = selection(base=-0.5)
    fitted = BOOST.fit("pearson", [part])
    assert fitted.own == 0
    without = Ridge(alpha=300 * 0.01).fit((part.features - part.features.mean(axis=0)) / part.features.std(axis=0),
                                          standard(part.human))  # fmt: skip
    only = Learned(penalties=(0.01,)).fit("pearson", [part])
    np.testing.assert_allclose(standard(np.array(only.weights)), standard(without.coef_), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_rank_correlations_learn_from_ranks(kind):
    part = selection()
    stretched = Part(part.base, part.features, np.exp(3 * part.human), part.clusters)
    assert BOOST.fit(kind, [part]) == BOOST.fit(kind, [stretched])
    assert BOOST.fit("pearson", [part]) != BOOST.fit("pearson", [stretched])


def test_features_name_lengths_and_statistics_of_each_side():
    features = BOOST.features(rows_of([1.0, -2.0, 4.0]), rows_of([-0.5, 0.5]))
    named = dict(zip(BOOST.names(), features[0], strict=True))
    assert named["log_words ground_truth"] == np.log(3) and named["log_words hypothesis"] == np.log(2)
    assert named["sum ground_truth"] == 3 and named["min hypothesis"] == -0.5 and named["max ground_truth"] == 4
    assert named["share_negative hypothesis"] == 0.5 and named["mean ground_truth"] == 1
    assert len(named) == K == 14


def test_constants_of_other_features_are_refused():
    good = BOOST.fit("pearson", [selection()]).constants()
    assert isinstance(BOOST.from_constants(good), Linear)
    for wrong, message in (
        ({"features": good["features"][::-1]}, "constants.features: expected"),
        ({"weights": good["weights"][1:]}, "constants.weights: expected a list of 14,"),
        ({"sds": [0.0, *good["sds"][1:]]}, "constants.sds: standard deviations are above 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            BOOST.from_constants({**good, **wrong})
