"""Agreement of annotators against the libraries of the field, and reliability against published values."""

from __future__ import annotations

import numpy as np
import pytest

from bmx_grid.measures.annotators import krippendorff_alpha, reliability, standardize_ratings, uniform_kappa
from bmx_grid.measures.resampling import draws, interval

NONE = float("nan")
LEVELS = ("ordinal", "interval")


def ratings(seed=0, items=60, annotators=4, grades=5, missing=0.2):
    rng = np.random.default_rng(seed)
    grades_given = rng.integers(0, grades, size=(items, 1)) + rng.integers(-1, 2, size=(items, annotators)).astype(
        float
    )
    grades_given[rng.random(grades_given.shape) < missing] = NONE
    return grades_given


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "table",
    [
        pytest.param(ratings(), id="whole grades, some missing"),
        pytest.param(ratings(missing=0.6), id="items with one rating or none"),
        pytest.param(ratings(grades=101) * 1e-4 + 1e3, id="small differences of large numbers"),
    ],
)
def test_alpha_equals_the_library(table, level):
    library = pytest.importorskip("krippendorff")
    expected = library.alpha(reliability_data=table.T, level_of_measurement=level)
    assert krippendorff_alpha(table, level, resamples=0).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_resamples_of_alpha_are_the_library_on_repeated_items(level):
    library = pytest.importorskip("krippendorff")
    table = ratings(items=25, missing=0)
    times = draws(np.random.default_rng(3), len(table), 40)
    samples = [
        library.alpha(reliability_data=np.repeat(table, row.astype(int), axis=0).T, level_of_measurement=level)
        for row in times
    ]
    alpha = krippendorff_alpha(table, level, resamples=40, seed=3)
    assert (alpha.low, alpha.high) == pytest.approx(interval(np.array(samples), len(table)), abs=1e-12)


def test_kappa_by_hand():
    """Two of three agree on the first item, all on the others; the chance of five categories, as the lecture has it."""
    kappa = uniform_kappa([[1, 1, 2], [1, 1, 1], [2, 2, 2], [1, NONE, NONE]], 5, resamples=0)
    assert 1 - kappa.observed == pytest.approx(7 / 9)
    assert kappa.value == pytest.approx((7 / 9 - 0.2) / 0.8)
    assert (kappa.n_items, kappa.n_annotators) == (3, 3)


MEASURES = {
    **{level: lambda table, level=level, **drawn: krippendorff_alpha(table, level, **drawn) for level in LEVELS},
    "kappa": lambda table, **drawn: uniform_kappa(table, 4, **drawn),
}


@pytest.mark.parametrize("name", MEASURES)
def test_what_all_measures_of_agreement_have(name):
    measure, table = MEASURES[name], ratings()
    value = measure(table, resamples=0).value
    assert measure(table[::-1, ::-1], resamples=0).value == pytest.approx(value, abs=1e-12), "order is nothing"
    full = measure(np.repeat(np.arange(4.0), 3).reshape(4, 3))
    assert full.value == pytest.approx(1) and full.low == pytest.approx(1)
    assert measure(table, seed=1) == measure(table, seed=1) != measure(table, seed=2)
    with pytest.raises(ValueError, match="expected items x annotators"):
        measure(table[0])
    for nothing, n_items in (
        ([[1, NONE], [NONE, 2], [NONE, NONE]], 0),
        (np.empty((0, 3)), 0),
        (np.full((5, 3), 2.5), 5),
    ):
        result = measure(nothing)
        assert result.n_items == n_items
        assert np.isnan([result.value, result.low, result.high]).all() or (name, n_items) == ("kappa", 5)


def test_standardised_is_undefined_without_a_scale():
    np.testing.assert_allclose(standardize_ratings([[1.0], [3.0], [NONE]]), [[-1], [1], [NONE]])
    undefined = standardize_ratings([[5.0, 1.0, NONE], [5.0, NONE, NONE], [5.0, NONE, NONE]])
    assert np.isnan(undefined).all(), "all equal, one rating, none"
    assert np.mean([0.1, 0.1, 0.1]) != 0.1, "the case can tell"
    for equal in ([[0.1]] * 3, [[0.1]] * 3 + [[NONE]]):
        assert np.isnan(standardize_ratings(equal)).all(), "rounding is no scale, whether a rating is missing or not"


# Shrout & Fleiss (1979), table 2: six targets, four judges; ICC(1,1) = .17 and ICC(1,4) = .44 in their table 4.
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def test_reliability_of_the_published_example_is_as_published():
    result = reliability(SHROUT_FLEISS)
    assert (round(result["icc_1"], 2), round(result["icc_k"], 2)) == (0.17, 0.44)
    assert result["ceiling"] == pytest.approx(result["icc_k"] ** 0.5)
    assert result["k"] == pytest.approx(4)
    permuted = np.random.default_rng(0).permuted(SHROUT_FLEISS, axis=1)
    assert reliability(permuted)["icc_k"] == pytest.approx(result["icc_k"]), "columns are no persons"


def test_different_numbers_of_ratings_by_hand():
    ratings = np.array([[1.0, 3, np.nan], [4, 5, 9], [np.nan, 8, np.nan], [np.nan] * 3])
    # means 2, 6, 8 of k = 2, 3, 1; grand mean (1+3+4+5+9+8)/6 = 5
    within = (2 + 14) / (6 - 3)
    between = (2 * 9 + 3 * 1 + 1 * 9) / 2
    n0 = (6 - (4 + 9 + 1) / 6) / 2
    k = 3 / (1 / 2 + 1 / 3 + 1)
    true = (between - within) / n0
    result = reliability(ratings)
    assert result["icc_k"] == pytest.approx(true / (true + within / k))
    assert result["icc_1"] == pytest.approx(true / (true + within))
    assert result["k"] == pytest.approx(k)


@pytest.mark.parametrize(
    "ratings",
    [np.full((5, 3), np.nan), np.ones((5, 3)), [[1.0, np.nan], [np.nan, 2], [3, np.nan]], [[1.0, 2]], np.empty((0, 3))],
    ids=["nobody-rated", "all-equal", "nobody-twice", "one-segment", "no-segments"],
)
def test_undefined_is_nan_and_disagreement_below_chance_is_none(ratings):
    undefined = reliability(ratings)
    assert np.isnan([undefined["icc_k"], undefined["icc_1"], undefined["ceiling"]]).all()
    below = reliability([[1, 9], [9, 2], [1, 8.5]])
    assert below["icc_k"] < 0 == below["ceiling"]
