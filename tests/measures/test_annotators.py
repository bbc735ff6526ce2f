"""Agreement of annotators against the libraries of the field, resamples included, and against hand calculation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bmx_grid.measures.annotators import cohen_kappa, fleiss_kappa, krippendorff_alpha, standardised
from bmx_grid.measures.resampling import bounds, draws, interval_levels

NONE = float("nan")
LEVELS = ("nominal", "ordinal", "interval")


def ratings(seed=0, items=60, annotators=4, grades=5, missing=0.2):
    rng = np.random.default_rng(seed)
    found = rng.integers(0, grades, size=(items, 1)) + rng.integers(-1, 2, size=(items, annotators)).astype(float)
    found[rng.random(found.shape) < missing] = NONE
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "given",
    [
        pytest.param(ratings(), id="whole grades, some missing"),
        pytest.param(ratings(missing=0.6), id="items with one rating or none"),
        pytest.param(ratings(annotators=2, missing=0), id="two annotators"),
        pytest.param(ratings(grades=101) * 1e-4 + 1e3, id="small differences of large numbers"),
    ],
)
def test_alpha_equals_the_library(given, level):
    library = pytest.importorskip("krippendorff")
    expected = library.alpha(reliability_data=given.T, level_of_measurement=level)
    assert krippendorff_alpha(given, level, resamples=0).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_resamples_of_alpha_are_the_library_on_repeated_items(level):
    library = pytest.importorskip("krippendorff")
    given = ratings(items=25, missing=0)
    times = draws(np.random.default_rng(3), len(given), 40)
    samples = [
        library.alpha(reliability_data=np.repeat(given, row.astype(int), axis=0).T, level_of_measurement=level)
        for row in times
    ]
    ends = bounds(np.array(samples), interval_levels(len(given)))
    found = krippendorff_alpha(given, level, resamples=40, seed=3)
    assert (found.low, found.high) == pytest.approx(tuple(map(float, ends)), abs=1e-12)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_cohen_equals_the_library(weights):
    from sklearn.metrics import cohen_kappa_score

    one, other = ratings(annotators=2, missing=0).T
    expected = cohen_kappa_score(one.astype(int), other.astype(int), weights=None if weights == "none" else weights)
    assert cohen_kappa(one, other, weights=weights, resamples=0).value == pytest.approx(expected, abs=1e-12)
    half = np.where(np.arange(len(one)) % 2, other, NONE)  # items that one did not rate do not count
    known = np.isfinite(half)
    expected = cohen_kappa_score(
        one[known].astype(int), half[known].astype(int), weights=None if weights == "none" else weights
    )
    assert cohen_kappa(one, half, weights=weights, resamples=0).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_resamples_of_cohen_are_the_library_with_sample_weights(weights):
    from sklearn.metrics import cohen_kappa_score

    one, other = ratings(items=30, annotators=2, missing=0).T.astype(int)
    samples = [
        cohen_kappa_score(one, other, weights=None if weights == "none" else weights, sample_weight=row)
        for row in draws(np.random.default_rng(5), len(one), 40)
    ]
    found = cohen_kappa(one, other, weights=weights, resamples=40, seed=5)
    ends = bounds(np.array(samples), interval_levels(len(one)))
    assert (found.low, found.high) == pytest.approx(tuple(map(float, ends)), abs=1e-12)


@pytest.mark.parametrize(("chance", "method"), [("pooled", "fleiss"), ("uniform", "randolph")])
def test_fleiss_equals_the_library(chance, method):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    given = ratings(missing=0)
    table = inter_rater.aggregate_raters(given.astype(int))[0]
    found = fleiss_kappa(given, chance=chance, resamples=0)
    assert found.value == pytest.approx(inter_rater.fleiss_kappa(table, method=method), abs=1e-12)


@pytest.mark.parametrize("chance", ["pooled", "uniform"])
def test_with_one_category_there_is_no_agreement_beyond_chance(chance):
    found = fleiss_kappa(np.full((5, 3), 2.0), chance=chance, resamples=0)
    assert found.observed == 0 and np.isnan(found.value)


def test_fleiss_example():
    """Two of three agree on the first item, all on the others: p(A) = (1/3 + 1 + 1)/3, shares 5/9 and 4/9."""
    given = [[1, 1, 2], [1, 1, 1], [2, 2, 2]]
    agreed, chance = 7 / 9, (25 + 16) / 81
    pooled = fleiss_kappa(given, resamples=0)
    assert (1 - pooled.observed, 1 - pooled.expected) == pytest.approx((agreed, chance))
    assert pooled.value == pytest.approx((agreed - chance) / (1 - chance))
    stated = fleiss_kappa(given, chance="uniform", categories=5, resamples=0)
    assert stated.value == pytest.approx((agreed - 0.2) / 0.8), "the chance of five categories, as the lecture has it"


def test_linear_weights_do_not_read_the_names_of_categories():
    named, numbered = [[1, 5, 100, 5], [5, 5, 100, 1]], [[0, 1, 2, 1], [1, 1, 2, 0]]
    values = [cohen_kappa(*both, weights="linear", resamples=0).value for both in (named, numbered)]
    assert values[0] == pytest.approx(values[1])
    with_all = cohen_kappa(*named, weights="linear", categories=[1, 5, 50, 100], resamples=0).value
    assert with_all != pytest.approx(values[0]), "a category that nobody used lies between two others"


@pytest.mark.parametrize(
    "measure",
    [
        *(
            pytest.param(lambda given, level=level, **kw: krippendorff_alpha(given, level, **kw), id=level)
            for level in LEVELS
        ),
        pytest.param(fleiss_kappa, id="fleiss"),
    ],
)
class TestAll:
    def test_order_of_annotators_and_items_is_nothing(self, measure):
        given = ratings()
        value = measure(given, resamples=0).value
        assert measure(given[::-1, ::-1], resamples=0).value == pytest.approx(value, abs=1e-12)

    def test_full_agreement_is_one(self, measure):
        found = measure(np.repeat(np.arange(4.0), 3).reshape(4, 3))
        assert found.value == pytest.approx(1) and found.low == pytest.approx(1)

    @pytest.mark.parametrize(
        ("given", "items"),
        [
            pytest.param(np.full((5, 3), 2.5), 5, id="all ratings equal: nothing can differ by chance"),
            pytest.param([[1, NONE], [NONE, 2], [NONE, NONE]], 0, id="no item rated twice"),
            pytest.param(np.empty((0, 3)), 0, id="no items"),
        ],
    )
    def test_undefined(self, measure, given, items):
        found = measure(given)
        assert np.isnan([found.value, found.low, found.high]).all()
        assert found.n_items == items

    def test_clusters_are_drawn_together(self, measure):
        """Ten copies of every item are no new evidence: the interval is that of the items themselves."""
        given = ratings(items=40, missing=0)
        copied, cluster = np.repeat(given, 10, axis=0), np.repeat(np.arange(40), 10)
        alone, copies = measure(given), measure(copied, cluster=cluster)
        assert (copies.low, copies.high) == pytest.approx((alone.low, alone.high), abs=0.01)
        falsely = measure(copied)
        assert falsely.high - falsely.low < (alone.high - alone.low) / 2

    def test_seed_and_shape(self, measure):
        given = ratings()
        assert measure(given, seed=1) == measure(given, seed=1) != measure(given, seed=2)
        with pytest.raises(ValueError, match="expected items x annotators"):
            measure(given[0])
        with pytest.raises(ValueError, match="3 cluster labels for 60 items"):
            measure(given, cluster=[1, 2, 3])


@pytest.mark.parametrize("ddof", [0, 1])
def test_standardised(ddof):
    given = ratings(missing=0.3)
    found = standardised(given, ddof=ddof)
    for own, z in zip(given.T, found.T, strict=True):
        known = np.isfinite(own)
        assert z[known] == pytest.approx((own[known] - own[known].mean()) / own[known].std(ddof=ddof))
        assert np.isnan(z[~known]).all()


def test_standardised_without_a_scale_is_undefined():
    found = standardised([[5.0, 1.0, NONE], [5.0, NONE, NONE], [5.0, NONE, NONE]])
    assert np.isnan(found).all(), "all equal, one rating, none"
    assert np.mean([0.1, 0.1, 0.1]) != 0.1, "the case can tell"
    for equal in ([[0.1]] * 3, [[0.1]] * 3 + [[NONE]]):
        assert np.isnan(standardised(equal)).all(), "rounding is no scale, whether a rating is missing or not"


def test_intervals_hold_the_truth():
    """Of 200 samples of 60 items from a population of 5,000, most 95 % intervals hold the population's alpha."""
    population = ratings(seed=9, items=5000, missing=0)
    truth = krippendorff_alpha(population, "interval", resamples=0).value
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        found = krippendorff_alpha(population[rng.integers(0, 5000, 60)], "interval", resamples=200)
        inside += found.low <= truth <= found.high
    assert 180 <= inside <= 199


def test_pairs_average_to_the_observed_agreement_of_all():
    """Without missing ratings, Fleiss' p(A) is the mean of the pairs' p(A)."""
    given = ratings(missing=0)
    pairs = [cohen_kappa(one, other, resamples=0).observed for one, other in itertools.combinations(given.T, 2)]
    assert fleiss_kappa(given, resamples=0).observed == pytest.approx(np.mean(pairs))
