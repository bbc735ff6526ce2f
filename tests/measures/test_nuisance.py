"""A curve of score and lengths, and terms fitted to human scores, against plain loops; donors."""

import numpy as np
import patsy
import pytest

from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.nuisance import NO_DONOR, CurveTerms, donors, fit_term

RNG = np.random.default_rng(5)
N = 60
SCORE, LOG_WORDS = RNG.normal(3, 2, size=N), np.log(RNG.integers(1, 50, size=(N, 2)))
FULL = 3 + 6 + 3 + 5  # linear, squares and products, cubes, and a spline of 7 knots beyond its linear part


def standard(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def columns(clusters, score=SCORE, log_words=LOG_WORDS):
    return CurveTerms.from_scores(score, log_words, clusters).columns(score, log_words)


@pytest.mark.parametrize(
    ("clusters", "score", "count"),
    [
        pytest.param(2, SCORE, 3, id="the linear ones at least"),
        pytest.param(40, SCORE, 4, id="one for every ten"),
        pytest.param(5000, SCORE, FULL, id="all there are"),
        pytest.param(5000, np.sign(SCORE - 3), FULL - 5, id="two scores have no spline"),
    ],
)
def test_there_is_a_term_for_every_ten_clusters_and_linear_ones_come_first(clusters, score, count):
    terms = columns(clusters, score)
    assert terms.shape == (N, count)
    assert np.isfinite(terms).all()
    np.testing.assert_allclose(terms[:, 1:3], standard(LOG_WORDS), atol=1e-12)
    if np.ptp(score):
        np.testing.assert_allclose(terms[:, 0], standard(score), atol=1e-12)
        np.testing.assert_array_equal(terms, columns(5000, score)[:, :count])


def test_the_spline_is_the_natural_cubic_spline_of_patsy():
    curve = CurveTerms.from_scores(SCORE, LOG_WORDS, 5000)
    everywhere = np.linspace(SCORE.min() - 20, SCORE.max() + 20, 400)  # far beyond the outer knots too
    columns = curve.columns(everywhere, np.zeros((400, 2)))
    spline = np.column_stack([np.ones(400), columns[:, 0], columns[:, FULL - 5 :]])
    first, *inner, last = np.quantile(standard(SCORE), np.linspace(0.05, 0.95, 7))
    variables = {"x": (everywhere - SCORE.mean()) / SCORE.std(), "first": first, "inner": inner, "last": last}
    theirs = np.asarray(patsy.dmatrix("cr(x, knots=inner, lower_bound=first, upper_bound=last) - 1", variables))
    for target, basis in ((spline, theirs), (theirs, spline)):
        fitted = basis @ np.linalg.lstsq(basis, target)[0]
        np.testing.assert_allclose(fitted, target, atol=1e-8 * np.abs(target).max())


def ints(*values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("n_words", "clusters", "allowed"),
    [
        pytest.param(ints(5, 5, 5, 5), ints(0, 0, 1, 1), [{2, 3}, {2, 3}, {0, 1}, {0, 1}], id="not its own cluster"),
        pytest.param(ints(5, 5, 9), ints(0, 0, 1), [{2}, {2}, {0, 1}], id="the nearest number"),
        pytest.param(ints(5, 3, 7), ints(0, 1, 1), [{1}, {0}, {0}], id="of two equally near ones the smaller"),
        pytest.param(ints(5, 6, 8), ints(0, 0, 1), [{2}, {2}, {1}], id="past a nearer one of its own cluster"),
        pytest.param(ints(5, 5), ints(0, 0), [{NO_DONOR}, {NO_DONOR}], id="one cluster"),
    ],
)
def test_attributions_come_from_another_cluster_with_as_many_words(n_words, clusters, allowed):
    seen = [set() for _ in n_words]
    for seed in range(20):
        for place, donor in enumerate(donors(n_words, clusters, np.random.default_rng(seed)).tolist()):
            seen[place].add(donor)
    assert seen == allowed
    assert len(donors(ints(), ints(), np.random.default_rng(0))) == 0


def selected(base_weight=1.0, weight=0.5, noise=0.1, n=200, seed=3):
    """Base scores, two terms and human scores."""
    rng = np.random.default_rng(seed)
    base, term = rng.normal(size=n), rng.normal(size=(n, 2))
    return base, term, base_weight * base + term @ [weight, -weight] + noise * rng.normal(size=n)


def test_weights_are_those_of_least_squares_and_keep_the_spread_of_the_metric():
    base, term, human = selected()
    expected = np.linalg.lstsq(np.column_stack([base, term, np.ones(len(base))]), human)[0]
    metric_weight, weights = fit_term("pearson", [(base, term, human)])
    assert metric_weight > 0
    np.testing.assert_allclose(weights / metric_weight, expected[1:3] / expected[0], rtol=1e-10)
    assert (metric_weight * base + term @ weights).std() == pytest.approx(base.std(), rel=1e-12)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_a_rank_correlation_takes_ranks_of_human_scores(kind):
    base, term, human = selected(noise=0.0)
    skewed = base, term, np.exp(3 * human)
    metric_weight, weights = fit_term(kind, [(base, term, human)])
    np.testing.assert_allclose(fit_term(kind, [skewed])[1], weights)
    assert abs(weights[0] / metric_weight - 0.5) < 0.05
    assert abs(fit_term("pearson", [skewed])[1][0] - weights[0]) > 0.05  # the case can tell


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_a_term_that_gains_by_ranks_squared_and_not_by_the_correlation_asked_for_is_left_out(kind):
    abstained = 0
    for seed in range(60):
        base, term, human = part = selected(n=8, weight=0.1, noise=1.0, seed=seed)
        metric_weight, weights = fit_term(kind, [part])
        gain = correlate(kind, metric_weight * base + term @ weights, human) - correlate(kind, base, human)
        abstained += not weights.any()
        assert gain > 0 or (metric_weight == 1 and not weights.any())
    assert 0 < abstained < 60, "the cases can tell"


def test_a_metric_that_would_get_a_negative_weight_is_left_out():
    metric_weight, weights = fit_term("pearson", [selected(base_weight=-1.0)])
    assert metric_weight == 0
    assert weights[0] > 0 > weights[1]


NINE, TERMS = np.arange(9.0), np.random.default_rng(0).normal(size=(9, 2))
NOTHING = {
    "no pair": [],
    "as few segments as weights": [(NINE[:3], TERMS[:3], NINE[:3])],
    "all judgements equal": [(NINE, TERMS, np.ones(9))],
    "a term without variance": [(NINE, np.ones((9, 2)), NINE)],
    "a perfect metric": [(NINE, TERMS, NINE)],
    "a constant metric": [(np.ones(9), TERMS, NINE)],
}


@pytest.mark.parametrize("parts", NOTHING.values(), ids=NOTHING)
def test_where_nothing_can_be_gained_nothing_is_added(parts):
    metric_weight, weights = fit_term("pearson", parts)
    assert metric_weight == 1 and not weights.any()
