"""The paper's boost gives today's grids and points, bit for bit."""

import numpy as np
import pytest
from some_attributions import attributions, planted, rows_of
from some_settings import finished

from bmx_grid.boosts.base import Part
from bmx_grid.boosts.power_mean_grid import AtPoint, PowerMeanGrid, PowerRange, best_mixture, scores_at
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.evaluations.grid_surface import scores_of_point
from bmx_grid.measures.aggregation import PRECISION
from bmx_grid.measures.correlation import correlate_grid
from bmx_grid.measures.grid import GridSpec, compute_grid

SMALL = PowerMeanGrid(p=PowerRange(-3, 3, 0.5))
OPTION = build(load_option("boost", "power_mean_grid"), PowerMeanGrid, "boost.power_mean_grid")


def test_the_option_is_the_grid_of_the_paper():
    assert PowerMeanGrid() == OPTION
    assert OPTION.spec == GridSpec()


@pytest.mark.parametrize("side", ["both", "hypothesis"])
@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_features_give_the_grid_of_the_evaluation_bit_for_bit(kind, side):
    setting = finished(n=40)
    truth, hypothesis = setting.scores.ground_truth, setting.scores.hypothesis
    base, human = setting.scores.base_scores, setting.segments.human_scores
    boost = PowerMeanGrid(side=side)
    spec = GridSpec(side=side, correlation=kind)
    expected = compute_grid(spec, base, truth, hypothesis, human)
    features = boost.features(truth, hypothesis)
    grid = correlate_grid(kind, features, base, human, np.array(spec.w))
    assert grid.tobytes() == expected.correlation.tobytes()
    fitted = boost.fit(kind, [Part(base, features, human, np.arange(40))])
    assert (fitted.w, fitted.p) == (expected.best_w, expected.best_p)
    np.testing.assert_allclose(
        fitted.scores(base, features),
        scores_of_point(spec, setting, fitted.w, fitted.p),
        rtol=10 * PRECISION,
        atol=1e-14,
    )


def test_several_parts_choose_the_point_of_the_highest_mean_gain():
    parts = [planted(SMALL, n=n, seed=seed)[0] for n, seed in ((40, 1), (200, 2), (90, 3))]
    brute = max(
        (
            np.mean(
                [np.corrcoef(w * part.base + (1 - w) * part.features[:, column], part.human)[0, 1] for part in parts]
            ),
            w,
            p,
        )
        for column, p in enumerate(SMALL.spec.p)
        for w in SMALL.w
    )
    fitted = SMALL.fit("pearson", parts)
    assert (fitted.w, fitted.p) == brute[1:]


def test_parts_without_a_correlation_have_no_say():
    part = planted(SMALL, n=60)[0]
    silent = Part(part.base, part.features, np.ones(60), part.clusters)
    assert SMALL.fit("pearson", [silent, part, silent]) == SMALL.fit("pearson", [part])
    assert SMALL.fit("pearson", [silent]).keeps_base_scores


def test_a_point_has_to_gain_and_to_be_defined_in_every_part():
    base, human = np.random.default_rng(0).normal(size=(2, 30))
    knows, constant, loses = (
        Part(scores, feature[:, None], human, np.arange(30))
        for scores, feature in ((base, human), (base, np.ones(30)), (human, base))
    )
    assert best_mixture("pearson", [knows], (0.0, 1.0)) == (0.0, 0)
    assert best_mixture("pearson", [knows, constant], (0.0, 1.0)) == (1.0, -1)
    assert best_mixture("pearson", [loses], (0.0,)) == (1.0, -1)


def test_without_shift_means_are_those_of_the_word_scores():
    truth, hypothesis = attributions(12, positive=True)
    boost = PowerMeanGrid(p=PowerRange(-1, 2, 0.5), shift="none", side="hypothesis")
    features = boost.features(truth, hypothesis)
    rows = hypothesis.rows()
    assert np.allclose(features[:, 0], [1 / np.mean(1 / row) for row in rows], rtol=1e-13)
    assert np.allclose(features[:, 2], [np.exp(np.mean(np.log(row))) for row in rows], rtol=1e-13)
    assert np.allclose(features[:, 4], [row.mean() for row in rows], rtol=1e-13)
    shifted = PowerMeanGrid(p=PowerRange(-1, 2, 0.5), side="hypothesis").features(truth, hypothesis)
    assert not np.array_equal(features, shifted)


@pytest.mark.parametrize("value", [0.0, -0.25])
def test_without_shift_a_word_score_that_is_not_positive_is_named(value):
    good = rows_of([0.1], [0.2], [], [0.3])
    wrong = rows_of([0.1], [np.nan], [0.5, value], [0.3])
    with pytest.raises(DataError, match=rf"row 2: a word score of {value:g} of the hypothesis is not above 0"):
        PowerMeanGrid(shift="none", side="hypothesis").features(good, wrong)


def test_scores_at_a_point_are_those_of_the_formula_and_at_w_1_the_base_scores():
    truth, hypothesis = rows_of([0.1, 0.2], [], [0.4], []), rows_of([0.3], [0.1, 0.5], [np.nan], [])
    base = np.array([0.5, 0.7, 0.9, 0.2])
    means = np.array([0.2, 0.3, np.nan, np.nan]) + 1e-9  # the smallest word is above 0: the shift is 1e-9 alone
    scores = scores_at(GridSpec(), 1.0, 0.4, base, truth, hypothesis)
    np.testing.assert_allclose(scores, 0.4 * base + 0.6 * means, rtol=1e-12)
    boost = PowerMeanGrid((1.0,), (0.4,))
    np.testing.assert_allclose(boost.apply(base, truth, hypothesis, AtPoint(0.4, 1.0)), scores, rtol=1e-12)
    assert scores_at(GridSpec(), 1.0, 1.0, base, truth, hypothesis).tolist() == base.tolist()


def test_a_point_is_restored_on_the_grid_only():
    point = SMALL.from_constants({"w": 0.4, "p": -1.5})
    assert point == AtPoint(0.4, -1.5, PowerRange(-3, 3, 0.5).values().index(-1.5))
    assert SMALL.from_constants({"w": 1, "p": None}).keeps_base_scores
    for constants, message in (
        ({"w": 0.4, "p": -1.4}, "p: -1.4 is not on the grid of this boost, 12 powers from -3 to 2.5"),
        ({"w": 1.2, "p": 1}, r"w: 1.2 is outside \[0, 1\]"),
        ({"w": 0.4, "p": None}, "p: None is not on the grid"),
        ({"w": 0.4}, "p: None is not on the grid"),
        ({"w": 0.4, "p": 1, "q": 2}, "unknown key 'q'"),
    ):
        with pytest.raises(ConfigError, match=message):
            SMALL.from_constants(constants)
