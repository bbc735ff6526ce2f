"""Placebos as an evaluation, on simulated settings whose truth is known."""

import dataclasses
import os

import numpy as np
import pytest
import scipy.stats
from some_settings import finished, simulated

from bmx_grid.attribution.store import AttributionSet
from bmx_grid.evaluations.grid import GridEvaluation, PowerRange, PublishedPoint
from bmx_grid.evaluations.intervals import over_draws
from bmx_grid.evaluations.placebo_points import to_scale
from bmx_grid.evaluations.placebo_verdicts import ALL, PLACEBOS
from bmx_grid.evaluations.placebos import PlaceboEvaluation
from bmx_grid.evaluations.points import FOLDS
from bmx_grid.evaluations.verdicts import Corrected, Estimate, Evidence, corrected, mean_of_pairs, over_pairs, verdict
from bmx_grid.judgements import Judgements
from bmx_grid.measures.correlation import pearson
from bmx_grid.ragged import Ragged

GRID = GridEvaluation(p=PowerRange(-6, 6, 1), w=(0.0, 0.4, 0.8, 1.0), fixed={"erasure": PublishedPoint(w=0.4, p=-1.0)})
PLACEBO = PlaceboEvaluation(grid=GRID, resamples=200)
NAMES_OF_PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en")


def together(settings, evaluation=PLACEBO):
    found = [evaluation.evaluate(one) for one in settings]
    return evaluation.together(settings, evaluation.across_pairs(settings, found))


def verdicts(results, point):
    """Labels by (data set, language pair) at a point."""
    columns = [PLACEBO.rows(result)["verdicts"] for result in results]
    return {
        (dataset, pair): label
        for one in columns
        for dataset, pair, where, label in zip(
            one["dataset"], one["language_pair"], one["point"], one["verdict"], strict=True
        )
        if where == point
    }


@pytest.mark.parametrize("seed", range(int(os.environ.get("BMX_SEEDS", "1"))))
@pytest.mark.parametrize(
    ("truth", "allowed"),
    [
        pytest.param("length", {"length"}, id="people follow the number of words"),
        pytest.param("signal", {"beyond length"}, id="attributions know what people see"),
        pytest.param("noise", {"selection", "nothing established"}, id="nothing but the metric"),
    ],
)
def test_the_verdict_over_pairs_is_the_truth_behind_the_data(truth, allowed, seed):
    results = together([simulated(truth, pair, seed=seed) for pair in NAMES_OF_PAIRS])
    assert {verdicts(results, point)["toy", ALL] for point in ("cross_fitted", "elsewhere")} <= allowed


@pytest.mark.parametrize(
    ("tried", "p_holm", "survives"),
    [
        pytest.param(1, 0.9, True, id="a single candidate is not corrected"),
        pytest.param(2, 0.9, False, id="of two it is"),
        pytest.param(2, 0.05, True, id="at most .05"),
        pytest.param(2, 0.0501, False, id="above .05"),
        pytest.param(2, float("nan"), False, id="undefined"),
    ],
)
def test_what_survives_the_correction_for_several_candidates(tried, p_holm, survives):
    assert Corrected(0.01, p_holm, 0.01, p_holm, tried).survives(p_holm) is survives


@pytest.mark.parametrize(
    ("scores", "like", "expected"),
    [
        pytest.param([1.0, 2, 3], [10.0, 30, 50], [10.0, 30, 50], id="brought to mean and spread"),
        pytest.param([3.0, 1, 2], [0.0, 1, 2], [2.0, 0, 1], id="in the order of the scores"),
        pytest.param([2.0, 2, 2], [0.0, 1, 2], [2.0, 2, 2], id="constant scores stay"),
        pytest.param([0.0, 1, 2], [2.0, 2, 2], [0.0, 1, 2], id="like constant ones they stay"),
    ],
)
def test_scores_are_brought_to_the_scale_of_others(scores, like, expected):
    np.testing.assert_allclose(to_scale(np.array(scores), np.array(like)), expected)


def test_what_is_cross_fitted_says_on_how_many_folds_it_was_chosen():
    columns = PLACEBO.rows(PLACEBO.evaluate(simulated("noise", n=60)))["placebos"]
    said = {
        chosen for chosen, where in zip(columns["chosen_on"], columns["point"], strict=True) if where == "cross_fitted"
    }
    assert said == {f"the other {FOLDS - 1} of {FOLDS} folds"}


def gains(result, point):
    columns = PLACEBO.rows(result)["placebos"]
    rows = zip(*(columns[name] for name in ("placebo", "point", "gain", "low", "high")), strict=True)
    return {placebo: (gain, low, high) for placebo, where, gain, low, high in rows if where == point}


def test_the_boost_is_judged_at_the_points_that_the_grid_declares():
    settings = [simulated("signal", pair) for pair in NAMES_OF_PAIRS[:3]]
    placebos = together(settings)
    grids = GRID.across_pairs(settings, [GRID.evaluate(one) for one in settings])
    for setting, placebo, grid in zip(settings, placebos, grids, strict=True):
        human, base = setting.segments.human_scores, setting.scores.base_scores
        assert set(grid.declared) == {"published", "cross_fitted", "elsewhere"}
        for point, declared in grid.declared.items():
            expected = pearson(declared.boosted, human) - pearson(base, human)
            assert gains(placebo, point)["none"][0] == pytest.approx(expected, abs=1e-10)
        assert gains(placebo, "best")["none"][0] == pytest.approx(grid.grid.best - grid.grid.baseline, abs=1e-12)


def test_every_placebo_stands_at_every_point_with_an_interval_but_where_it_was_chosen():
    placebo = together([simulated("length", pair) for pair in NAMES_OF_PAIRS[:2]])[0]
    for point in ("published", "cross_fitted", "elsewhere"):
        found = gains(placebo, point)
        assert set(found) == set(PLACEBOS)
        assert all(low <= gain <= high for gain, low, high in found.values())
    assert all(np.isnan([low, high]).all() for _, low, high in gains(placebo, "best").values())


def test_length_gains_what_people_follow_and_the_boost_has_nothing_beyond():
    found = gains(PLACEBO.evaluate(simulated("length")), "cross_fitted")
    assert found["length"][1] > found["none"][2]
    assert found["none"][1] > 0.01
    assert found["beyond_length"][1] <= 0
    assert found["indicator"][0] == 0  # no attribution is <= 0: the term has no variance


def test_reassigned_attributions_lose_the_signal_and_keep_the_length():
    signal = gains(PLACEBO.evaluate(simulated("signal")), "cross_fitted")
    assert signal["none"][1] > 0.05 > 0.01 > signal["reassigned"][0]
    length = gains(dataclasses.replace(PLACEBO, draws=5).evaluate(simulated("length")), "cross_fitted")
    assert length["reassigned"][1] > 0.01
    assert length["random"][1] > 0.005


def test_what_share_got_attributions_of_as_many_words_is_said_of_reassigned_ones_alone():
    columns = PLACEBO.rows(PLACEBO.evaluate(finished(n=60)))["placebos"]
    matched = {}
    for placebo, share in zip(columns["placebo"], columns["matched"], strict=True):
        matched.setdefault(placebo, []).append(share)
    assert set(matched) == set(PLACEBOS)
    assert all(0 < share <= 1 for share in matched.pop("reassigned"))
    assert all(np.isnan(shares).all() for shares in matched.values())


def test_the_indicator_gains_where_people_follow_it():
    setting = simulated("noise")
    truth = setting.scores.by_role["source"]
    values, shifted = truth.values.copy(), np.arange(len(truth)) % 2 == 0
    values[truth.offsets[:-1][shifted]] = -1e-6
    scores = AttributionSet(
        setting.scores.base_scores, {**setting.scores.by_role, "source": Ragged(values, truth.offsets)}
    )
    human = setting.segments.human_scores + ~shifted
    segments = dataclasses.replace(setting.segments, judgements=Judgements({"da": human}))
    found = gains(PLACEBO.evaluate(dataclasses.replace(setting, scores=scores, segments=segments)), "cross_fitted")
    assert found["indicator"][1] > 0.1 > found["length"][2]


def test_points_elsewhere_know_nothing_of_the_segments_they_are_judged_on():
    settings = [simulated("length", pair) for pair in NAMES_OF_PAIRS[:3]]
    shared = dataclasses.replace(settings[1], clusters=settings[0].clusters)  # all of it is left out for the first
    human = np.random.default_rng(5).normal(size=400) * 100
    other = dataclasses.replace(
        shared, segments=dataclasses.replace(shared.segments, judgements=Judgements({"da": human}))
    )
    before, after = (together([settings[0], one, settings[2]])[0] for one in (shared, other))
    assert gains(before, "elsewhere") == gains(after, "elsewhere")
    free = [together([settings[0], one, settings[2]])[2] for one in (shared, other)]
    assert gains(free[0], "elsewhere") != gains(free[1], "elsewhere")  # the case can tell


def test_folds_know_nothing_of_the_segments_they_are_judged_on():
    setting = simulated("length")
    before = gains(PLACEBO.evaluate(setting), "cross_fitted")
    # human scores that are noise on every segment: honest selection cannot find what is not there
    noise = np.random.default_rng(11).normal(size=400)
    segments = dataclasses.replace(setting.segments, judgements=Judgements({"da": noise}))
    after = PLACEBO.evaluate(dataclasses.replace(setting, segments=segments))
    assert before["length"][1] > 0.1
    assert gains(after, "best")["length"][0] > 0
    assert all(low < 0.02 for _, low, _ in gains(after, "cross_fitted").values())


def test_a_seed_gives_the_same_rows_in_any_company_and_another_seed_others():
    alone = PLACEBO.evaluate(simulated("noise"))
    again = PLACEBO.evaluate(simulated("noise"))
    assert gains(alone, "cross_fitted") == gains(again, "cross_fitted")
    other = dataclasses.replace(PLACEBO, seed=1).evaluate(simulated("noise"))
    for placebo in ("random", "reassigned"):
        assert gains(alone, "best")[placebo] != gains(other, "best")[placebo]


def test_gains_of_several_draws_are_their_mean_and_their_interval_holds_what_draws_differ_by():
    setting = simulated("length")
    singles = [dataclasses.replace(PLACEBO, seed=seed).evaluate(setting) for seed in range(8)]
    several = gains(dataclasses.replace(PLACEBO, draws=8).evaluate(setting), "published")
    alone = [gains(one, "published") for one in singles]
    assert several["none"][0] == alone[0]["none"][0]
    for placebo in ("random", "reassigned"):
        values = [one[placebo][0] for one in alone]
        error = np.std(values, ddof=1) / np.sqrt(8)
        assert error > 0
        assert abs(several[placebo][0] - np.mean(values)) < 5 * error
        assert several[placebo][2] - several[placebo][1] > 2 * error


def test_a_resample_of_draws_takes_each_of_them_as_often():
    draws, resamples = np.repeat([[0.0], [1.0], [5.0]], 30_000, axis=1), 30_000
    found = over_draws(draws, seed=0)
    assert found.mean() == pytest.approx(2, abs=5 * found.std() / np.sqrt(resamples))
    assert found.std() == pytest.approx(np.std([0, 1, 5]) / np.sqrt(3), rel=0.03)


def test_two_language_pairs_have_verdicts_of_their_own_only():
    found = verdicts(together([simulated("signal", pair) for pair in NAMES_OF_PAIRS[:2]]), "cross_fitted")
    assert set(found) == {("toy", "cs-en"), ("toy", "de-en")}


def test_segments_of_a_single_cluster_are_counted_as_one_and_have_no_interval():
    setting = dataclasses.replace(simulated("signal", n=40), clusters=["the same"] * 40)
    columns = PLACEBO.rows(PLACEBO.evaluate(setting))["placebos"]
    assert set(columns["clusters"]) == {1}
    assert np.isnan(columns["low"]).all()


def test_several_data_sets_have_a_verdict_over_all_of_them():
    settings = [simulated("signal", pair, dataset=name) for name in ("toy", "two") for pair in NAMES_OF_PAIRS[:3]]
    results = together(settings)
    found = verdicts(results, "cross_fitted")
    assert {found[name, ALL] for name in ("toy", "two", ALL)} == {"beyond length"}
    rows = PLACEBO.rows(results[0])["verdicts"]
    counts = dict(
        zip(zip(rows["dataset"], rows["language_pair"], rows["point"], strict=True), rows["pairs"], strict=True)
    )
    assert counts[ALL, ALL, "cross_fitted"] == 6
    assert counts["toy", ALL, "cross_fitted"] == 3


def test_the_metric_alone_has_no_placebos():
    assert "no explainer" in PLACEBO.silent(5, 0)
    assert PLACEBO.silent(1, 1) == ""
    found = PLACEBO.rows(PLACEBO.evaluate(finished(explainer=None)))
    assert all(len(column) == 0 for table in found.values() for column in table.values())


def test_segments_of_one_cluster_have_gains_without_intervals_and_nobody_to_take_attributions_from():
    setting = dataclasses.replace(simulated("signal"), clusters=["one"] * 400)
    result = PLACEBO.evaluate(setting)
    found = gains(result, "published")
    assert np.isfinite(found["none"][0])
    assert np.isnan(found["none"][1:]).all()
    assert np.isnan(found["reassigned"]).all()
    assert set(verdicts([result], "published").values()) == {"nothing established"}


def test_attributions_that_are_missing_leave_the_others_judged_alike():
    setting = simulated("signal", n=100)
    rows = setting.scores.by_role["hypothesis"]
    values = rows.values.copy()
    values[rows.offsets[0] : rows.offsets[1]] = np.nan
    scores = AttributionSet(
        setting.scores.base_scores, {**setting.scores.by_role, "hypothesis": Ragged(values, rows.offsets)}
    )
    result = PLACEBO.evaluate(dataclasses.replace(setting, scores=scores))
    assert {one.n for one in result.reached} == {99}
    assert all(np.isfinite(gain) for gain, _, _ in gains(result, "cross_fitted").values())


UP, DOWN, OPEN = Estimate(0.02, 0.01, 0.03), Estimate(-0.02, -0.03, -0.01), Estimate(0.004, -0.01, 0.018)


@pytest.mark.parametrize(
    ("gain", "beyond", "over", "best", "label"),
    [
        pytest.param(UP, UP, UP, 0.04, "beyond length", id="all three"),
        pytest.param(OPEN, UP, UP, 0.04, "beyond length", id="the metric alone is no part of the rule"),
        pytest.param(UP, OPEN, UP, 0.04, "length", id="not beyond length"),
        pytest.param(UP, UP, OPEN, 0.04, "length", id="reassigned attributions do as well"),
        pytest.param(OPEN, OPEN, OPEN, 0.04, "selection", id="less than the best point gains"),
        pytest.param(DOWN, DOWN, DOWN, 0.04, "selection", id="a loss where it was not chosen"),
        pytest.param(OPEN, OPEN, OPEN, 0.015, "nothing established", id="may be as large as the best"),
        pytest.param(DOWN, DOWN, DOWN, 0.0, "nothing established", id="the best point gains nothing"),
        pytest.param(Estimate(0.1), Estimate(0.1), Estimate(0.1), 0.2, "nothing established", id="no interval"),
        pytest.param(Estimate(), Estimate(), Estimate(), np.nan, "nothing established", id="undefined"),
    ],
)
def test_the_rule(gain, beyond, over, best, label):
    found = verdict(Evidence(gain, best, beyond, over, UP, UP, UP))
    assert found.label == label
    assert found.because


SURE, NEARLY = 0.004, 0.03  # p values, of which .03 does not survive a correction for two


def tried(*p_values, gain_p=SURE):
    """The verdicts on boosts that are above 0 in everything, with these p values beyond length."""

    def above(p):
        return Estimate(0.02, 0.01, 0.03, p)

    found = [Evidence(above(gain_p), 0.04, above(p), above(SURE), UP, UP, UP) for p in p_values]
    return [verdict(one, p) for one, p in zip(found, corrected(found), strict=True)]


def test_verdicts_on_several_boosts_survive_a_correction_for_their_number():
    assert [one.label for one in tried(NEARLY)] == ["beyond length"]
    assert [one.label for one in tried(SURE, NEARLY)] == ["beyond length", "beyond length"]
    one, two = tried(NEARLY, NEARLY)
    assert one.label == two.label == "length"
    assert one.because.endswith("p 0.060 by Holm over 2 boosts; the length term alone gains +0.0200 [+0.0100, +0.0300]")
    one, two = tried(NEARLY, NEARLY, gain_p=NEARLY)
    assert one.label == two.label == "selection"  # the gain itself does not survive
    assert one.because.startswith("gain +0.0200 [+0.0100, +0.0300], p 0.060 by Holm over 2 boosts; the best point")
    assert [one.label for one in tried(SURE, 0.5)] == ["beyond length", "length"]


def test_the_p_value_beyond_length_is_that_of_the_weaker_of_two_gains_above_0():
    def p_of(beyond, over):
        (found,) = corrected([Evidence(UP, 0.04, beyond, over, UP, UP, UP)])
        return found.beyond_length

    up, down = Estimate(0.02, 0.01, 0.03, SURE), Estimate(-0.02, -0.03, -0.01, SURE)
    assert p_of(up, Estimate(0.02, 0.0, 0.04, NEARLY)) == p_of(Estimate(0.02, 0.0, 0.04, NEARLY), up) == NEARLY
    assert p_of(up, down) == p_of(down, up) == 1
    assert np.isnan(p_of(up, Estimate(0.02)))


def test_an_interval_over_pairs_is_students_t():
    found = mean_of_pairs([0.01, 0.02, 0.06, np.nan])
    reach = 4.302653 * np.std([0.01, 0.02, 0.06], ddof=1) / np.sqrt(3)  # the table's 97.5 % point of 2 degrees
    assert (found.value, found.low, found.high) == pytest.approx((0.03, 0.03 - reach, 0.03 + reach))
    assert found.p == pytest.approx(scipy.stats.ttest_1samp([0.01, 0.02, 0.06], 0).pvalue, rel=1e-12)
    assert (mean_of_pairs([0.25] * 3).p, mean_of_pairs([0.0] * 3).p) == (0, 1)
    assert np.isnan(mean_of_pairs([0.01, 0.02]).low)
    assert np.isnan(mean_of_pairs([]).value)


def test_three_pairs_that_all_gain_by_chance_establish_nothing():
    pairs = [Evidence(Estimate(g), 0.1, Estimate(g), Estimate(g), UP, UP, UP) for g in (0.001, 0.002, 0.02)]
    assert verdict(over_pairs(pairs)).label != "beyond length"
