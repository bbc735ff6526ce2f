"""A curve of score and lengths, what a score adds to it and to joint effects of them, against plain loops; donors."""

import numpy as np
import patsy
import pytest
import statsmodels.api as sm
from scipy.stats import rankdata

from bmx_grid.measures import nuisance
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.nuisance import NO_DONOR, CurveTerms, beyond_nuisance, donors, extrapolation, fit_term, levels

RNG = np.random.default_rng(5)
N, FOLDS = 60, 4
SCORE, LOG_WORDS = RNG.normal(3, 2, size=N), np.log(RNG.integers(1, 50, size=(N, 2)))
FOLD_OF = np.arange(N) % FOLDS
FULL = 3 + 6 + 3 + 5  # linear, squares and products, cubes, and a spline of 7 knots beyond its linear part


def predictions(kind, terms, human, fold_of, scores, monkeypatch):
    """From least squares alone: the learner finds nothing in what that leaves."""
    monkeypatch.setattr(nuisance, "out_of_part", lambda inputs, left, divisions: [np.zeros_like(left)] * len(divisions))
    (fit, *halves) = beyond_nuisance(kind, SCORE, LOG_WORDS, terms, human, fold_of, scores)
    assert all(np.array_equal(half.with_scores, fit.with_scores) for half in halves)
    return fit.alone, fit.with_scores


def standard(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def columns(clusters, score=SCORE, log_words=LOG_WORDS):
    return CurveTerms.of(score, log_words, clusters).columns(score, log_words)


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
    curve = CurveTerms.of(SCORE, LOG_WORDS, 5000)
    everywhere = np.linspace(SCORE.min() - 20, SCORE.max() + 20, 400)  # far beyond the outer knots too
    columns = curve.columns(everywhere, np.zeros((400, 2)))
    spline = np.column_stack([np.ones(400), columns[:, 0], columns[:, FULL - 5 :]])
    first, *inner, last = np.quantile(standard(SCORE), np.linspace(0.05, 0.95, 7))
    variables = {"x": (everywhere - SCORE.mean()) / SCORE.std(), "first": first, "inner": inner, "last": last}
    theirs = np.asarray(patsy.dmatrix("cr(x, knots=inner, lower_bound=first, upper_bound=last) - 1", variables))
    for target, basis in ((spline, theirs), (theirs, spline)):
        fitted = basis @ np.linalg.lstsq(basis, target)[0]
        np.testing.assert_allclose(fitted, target, atol=1e-8 * np.abs(target).max())


def plain(terms, human, scores):
    """Each fold by ordinary least squares on the others; weights from what that leaves in the other folds."""
    values = np.column_stack([human, scores])
    predicted = np.empty(values.shape)
    for fold in range(FOLDS):
        judged, others = fold == FOLD_OF, fold != FOLD_OF
        for place, column in enumerate(values.T):
            fit = sm.OLS(column[others], sm.add_constant(terms[others])).fit()
            ahead = fit.predict(sm.add_constant(terms[judged]))
            left = np.clip(column[judged] - ahead, fit.resid.min(), fit.resid.max())
            predicted[judged, place] = column[judged] - left
            if place == 0:
                predicted[judged, 0] = np.clip(ahead, fit.fittedvalues.min(), fit.fittedvalues.max())
    left = values - predicted
    boosted = np.empty(scores.shape)
    for fold in range(FOLDS):
        judged, others = fold == FOLD_OF, fold != FOLD_OF
        for place in range(scores.shape[1]):
            weight = sm.OLS(left[others, 0], left[others, 1 + place]).fit().params[0]
            boosted[judged, place] = predicted[judged, 0] + max(weight, 0.0) * left[judged, 1 + place]
    return predicted[:, 0], boosted


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_predictions_are_those_of_statsmodels_fold_by_fold(kind, monkeypatch):
    """Of average ranks for a rank correlation."""
    terms, signal = columns(90), RNG.normal(size=N)
    human = SCORE - LOG_WORDS[:, 0] + 2 * signal + RNG.normal(size=N) / 4
    scores = np.column_stack([SCORE + signal, SCORE - signal, 1e6 + 1e-3 * (SCORE + signal)])
    alone, boosted = predictions(kind, terms, human, FOLD_OF, scores, monkeypatch)
    target = human if kind == "pearson" else rankdata(human)
    expected_alone, expected = plain(terms, target, scores[:, :2])
    np.testing.assert_allclose(alone, expected_alone, rtol=1e-6)
    np.testing.assert_allclose(boosted[:, :2], expected, rtol=1e-6)
    np.testing.assert_allclose(boosted[:, 2], boosted[:, 0], rtol=1e-3, err_msg="whatever its level and scale")
    assert np.array_equal(boosted[:, 1], alone), "a score is not used against its own direction"
    assert np.corrcoef(boosted[:, 0], human)[0, 1] > np.corrcoef(alone, human)[0, 1] + 0.1


@pytest.mark.parametrize(
    "score",
    [
        pytest.param(SCORE, id="the score itself"),
        pytest.param((SCORE - 3) ** 2, id="a curve"),
        pytest.param(np.ones(N), id="a constant"),
    ],
)
def test_a_score_that_the_terms_determine_adds_exactly_nothing(score):
    fits = beyond_nuisance("pearson", SCORE, LOG_WORDS, columns(90), RNG.normal(size=N), FOLD_OF, score[:, None])
    assert all(np.array_equal(fit.with_scores[:, 0], fit.alone) for fit in fits)


def test_nothing_is_predicted_beyond_what_was_seen(monkeypatch):
    terms, human = np.arange(N, dtype=float)[:, None], np.arange(N, dtype=float)
    terms[7] = 1e6
    alone, _ = predictions("pearson", terms, human, FOLD_OF, human[:, None] % 5, monkeypatch)
    assert alone[7] <= N - 1, "the highest human score of the other folds"


def two_steps(score, words):
    return 2.0 * ((score > 3) & (words[:, 0] > 3))


@pytest.mark.parametrize(
    ("known", "explained"),
    [
        pytest.param(two_steps, True, id="a joint effect of score and words"),
        pytest.param(lambda score, words: 3.0 * (score > 3.2), True, id="a step of the score"),
        pytest.param(
            lambda score, words: np.random.default_rng(1).normal(size=600), False, id="what only the boost knows"
        ),
    ],
)
def test_what_score_and_lengths_tell_jointly_is_no_gain(known, explained):
    rng = np.random.default_rng(3)
    score, words, folds = rng.normal(3, 2, size=600), np.log(rng.integers(1, 50, size=(600, 2))), np.arange(600) % 10
    effect = known(score, words)
    human, boost = effect + rng.normal(size=600), (effect + 0.2 * rng.normal(size=600))[:, None]
    terms = CurveTerms.of(score, words, 600).columns(score, words)
    fits = beyond_nuisance("pearson", score, words, terms, human, folds, boost)
    gains = [
        correlate("pearson", fit.with_scores[:, 0], human) - correlate("pearson", fit.alone, human) for fit in fits
    ]
    beyond = sum(fit.weight * gain for fit, gain in zip(fits, gains, strict=True))
    assert (beyond < 0.005) == explained
    assert gains[0] > 0.01 or explained
    assert sum(fit.weight for fit in fits) == pytest.approx(1)


def test_no_prediction_knows_the_human_scores_of_its_own_fold(monkeypatch):
    rng = np.random.default_rng(4)
    human, boost, terms = rng.normal(size=N), rng.normal(size=(N, 1)), columns(100)
    judged = FOLD_OF == 0
    changed = np.where(judged, 9.0 * (SCORE > 3), human)
    before, _ = predictions("pearson", terms, human, FOLD_OF, boost, monkeypatch)
    after, _ = predictions("pearson", terms, changed, FOLD_OF, boost, monkeypatch)
    np.testing.assert_allclose(before[judged], after[judged], rtol=1e-9)


@pytest.mark.parametrize("inputs", [2, 3])
@pytest.mark.parametrize("share", [0.9, 0.75])
def test_extrapolated_gains_lose_an_error_of_the_optimal_rate_and_keep_what_is_constant(inputs, share):
    weights = extrapolation(inputs, share, 2)
    gains = [0.02 + 0.05 * size ** (-2 / (2 + inputs)) for size in (share, 0.5, 0.5)]
    assert np.dot(weights, gains) == pytest.approx(0.02)


def test_two_folds_leave_nothing_to_extrapolate_from():
    assert extrapolation(3, 0.5, 2) == (1.0, 0.0, 0.0)


def ints(*values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("systems", "expected"),
    [
        pytest.param([0] * 10 + [1] * 12, [10, 12], id="two systems"),
        pytest.param([0] * 9 + [1] * 12, [12], id="nine segments are too few"),
        pytest.param([0] * 30, [], id="one system has no level of its own"),
    ],
)
def test_each_system_of_ten_segments_has_a_level(systems, expected):
    assert levels(ints(*systems)).sum(axis=0).tolist() == expected


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
