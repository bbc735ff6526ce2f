"""What every option of configs/boost that is chosen promises. A new YAML file is covered without a line here."""

import json
import pickle

import numpy as np
import pytest
from some_attributions import attributions, planted, rows_of, taken

from bmx_grid.boosts.base import Boost, FittedBoost, Part, mean_gain
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import ConfigError
from bmx_grid.measures.correlation import KINDS

CHOSEN = [name for name in options("boost") if name not in ("recipe", "xcomet")]  # of which nothing is chosen
NAN = float("nan")


@pytest.fixture(scope="module", params=CHOSEN)
def boost(request) -> Boost:
    return build(load_option("boost", request.param), Boost, f"boost.{request.param}")


@pytest.fixture(scope="module")
def part(boost) -> Part:
    """A selection with something to gain."""
    return planted(boost)[0]


@pytest.fixture(scope="module")
def fitted(boost, part) -> FittedBoost:
    return boost.fit("pearson", [part])


def noise(boost, n=60, seed=4) -> Part:
    """Human scores that are the base: nothing can be gained."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    return Part(base, boost.features(*attributions(n, seed)), base.copy(), np.arange(n))


@pytest.mark.parametrize("n", [0, 1, 20])
def test_features_are_one_named_float64_each(boost, n):
    features = boost.features(*attributions(n))
    assert features.dtype == np.float64
    assert features.shape == (n, len(boost.names()))
    assert len(set(boost.names())) == len(boost.names())
    assert np.isfinite(features).all()


def test_features_and_scores_do_not_depend_on_order_subset_or_batch(boost, fitted):
    assert not fitted.keeps_base_scores
    truth, hypothesis = attributions(50, 7)
    base = np.random.default_rng(8).normal(size=50)
    features = boost.features(truth, hypothesis)
    scores = fitted.scores(base, features)
    order = np.random.default_rng(9).permutation(50)
    for rows in (order, order[:13], [3], range(49)):
        places = np.array(list(rows))
        part = boost.features(taken(truth, places), taken(hypothesis, places))
        assert part.tobytes() == features[places].tobytes()
        assert fitted.scores(base[places], part).tobytes() == scores[places].tobytes()


def test_the_order_of_words_changes_nothing(boost):
    truth, hypothesis = attributions(30, 7)
    turned = [rows_of(*(row[::-1] for row in side.rows())) for side in (truth, hypothesis)]
    assert boost.features(*turned).tobytes() == boost.features(truth, hypothesis).tobytes()


@pytest.mark.parametrize("broken", ["a NaN", "infinity", "no words"])
def test_undefined_rows_are_nan_and_leave_the_others_alone(boost, fitted, broken):
    truth, hypothesis = attributions(6, 7)
    row = {"a NaN": [NAN, 1.0], "infinity": [1.0, np.inf], "no words": []}[broken]
    wrong = [rows_of(*(row if place == 2 else side[place] for place in range(6))) for side in (truth, hypothesis)]
    features, others = boost.features(*wrong), [0, 1, 3, 4, 5]
    assert np.isnan(features[2]).all()
    assert features[others].tobytes() == boost.features(truth, hypothesis)[others].tobytes()
    scores = fitted.scores(np.ones(6), features)
    assert np.isnan(scores).tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize("selection", ["a planted signal", "nothing to gain", "no segments", "no parts"])
def test_constants_survive_json_bit_for_bit(boost, part, selection):
    empty = Part(part.base[:0], part.features[:0], part.human[:0], part.clusters[:0])
    parts = {"a planted signal": [part], "nothing to gain": [noise(boost)], "no segments": [empty], "no parts": []}
    fitted = boost.fit("pearson", parts[selection])
    again = boost.from_constants(json.loads(json.dumps(fitted.constants(), allow_nan=False)))
    assert again.scores(part.base, part.features).tobytes() == fitted.scores(part.base, part.features).tobytes()
    assert again.keeps_base_scores == fitted.keeps_base_scores
    assert again.constants() == fitted.constants()


@pytest.mark.parametrize("selection", ["nothing to gain", "two segments", "equal judgements", "equal base", "no parts"])
def test_no_boost_is_always_a_choice_and_gives_the_base_bit_for_bit(boost, selection):
    part = noise(boost)
    if selection == "two segments":
        part = Part(part.base[:2], part.features[:2], part.human[:2], part.clusters[:2])
    if selection == "equal judgements":
        part = Part(part.base, part.features, np.ones(len(part.base)), part.clusters)
    if selection == "equal base":  # no correlation to gain on
        part = Part(np.ones(len(part.base)), part.features, part.human, part.clusters)
    fitted = boost.fit("pearson", [] if selection == "no parts" else [part])
    assert fitted.keeps_base_scores
    nothing = np.full((3, len(boost.names())), NAN)
    base = np.array([0.1, -0.0, 1e300])
    assert fitted.scores(base, nothing).tobytes() == base.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_chosen_gains_where_it_was_chosen(boost, kind):
    parts = [planted(boost, n=60, seed=seed)[0] for seed in (1, 2)]
    fitted = boost.fit(kind, parts)
    assert mean_gain(kind, parts, fitted) > 0.01
    assert boost.fit(kind, parts).constants() == fitted.constants()


def test_reassigned_attributions_lose_what_a_planted_signal_gains(boost):
    signal, reassigned = planted(boost, n=800)
    halves = [np.arange(800) < 400, np.arange(800) >= 400]

    def held_out(part):
        first, second = (Part(part.base[h], part.features[h], part.human[h], part.clusters[h]) for h in halves)
        return mean_gain("pearson", [second], boost.fit("pearson", [first]))

    assert held_out(signal) > 0.05
    assert held_out(reassigned) < 0.2 * held_out(signal)


@pytest.mark.parametrize("wrong", [{}, {"w": 0.5, "own": 1.0}], ids=["nothing", "keys of others"])
def test_constants_of_something_else_are_refused(boost, wrong):
    with pytest.raises(ConfigError, match="constants"):
        boost.from_constants(wrong)


@pytest.mark.parametrize("value", [NAN, float("inf"), "1", True, [], None], ids=repr)
def test_a_constant_that_is_no_number_is_refused_by_name(boost, fitted, value):
    constants = fitted.constants()
    for key, old in constants.items():
        with pytest.raises(ConfigError, match=f"constants.{key}"):
            boost.from_constants({**constants, key: [value, *old[1:]] if isinstance(old, list) else value})


def test_what_was_chosen_travels_to_worker_processes(fitted):
    assert pickle.loads(pickle.dumps(fitted)) == fitted
