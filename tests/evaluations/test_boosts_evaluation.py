"""Boosts as an evaluation: chosen on other segments, on simulated settings whose truth is known."""

import dataclasses
import json
import math

import numpy as np
import pytest
from fakes import HashMetric, composed
from some_settings import simulated

from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.learned import Learned
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.configure import build, load_option
from bmx_grid.errors import ConfigError
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.evaluations.grid import GridEvaluation, PowerRange
from bmx_grid.evaluations.placebos import PlaceboEvaluation
from bmx_grid.judgements import Judgements
from bmx_grid.measures.correlation import pearson
from bmx_grid.ragged import Ragged

W = (0.0, 0.4, 0.8, 1.0)
GRID = GridEvaluation(p=PowerRange(-6, 6, 1), w=W, fixed={})
OWN_GRID = PowerMeanGrid(p=PowerRange(-6, 6, 1), w=W)
MEAN, LEARNED = FeatureMix(feature="mean"), Learned()
BOOSTS = BoostEvaluation(grid=GRID, boosts={"power_mean_grid": OWN_GRID}, resamples=100, splits=5)
PLACEBOS = PlaceboEvaluation(grid=GRID, resamples=100)
PAIRS = ("cs-en", "de-en", "fi-en")


def together(settings, evaluation=BOOSTS):
    """The results of a sweep, in the order of its settings."""
    found = [evaluation.evaluate(one) for one in settings]
    groups = {}
    for at, one in enumerate(settings):
        groups.setdefault((one.names[0], *one.names[2:]), []).append(at)
    for own in groups.values():
        across = evaluation.across_pairs([settings[at] for at in own], [found[at] for at in own])
        for at, result in zip(own, across, strict=True):
            found[at] = result
    return evaluation.together(settings, found)


def rows(results, table="boosts", evaluation=BOOSTS, **wanted):
    """Rows as dictionaries, those with these values."""
    found = []
    for result in results:
        columns = evaluation.rows(result)[table]
        found += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def one_row(results, **wanted):
    (found,) = rows(results, **wanted)
    return found


@pytest.fixture(scope="module")
def pairs():
    return [simulated("signal", pair, n=150) for pair in PAIRS]


def with_metric(setting, name, scores):
    """The same segments scored by another metric."""
    other = dataclasses.replace(setting.scores, base_scores=scores)
    return dataclasses.replace(setting, metric_name=name, scores=other)


def alone(setting):
    return dataclasses.replace(setting, explainer=None, explainer_name="none")


def with_human(setting, human):
    return dataclasses.replace(
        setting, segments=dataclasses.replace(setting.segments, judgements=Judgements({"da": human}))
    )


@pytest.mark.parametrize("truth", ["signal", "length"])
def test_the_grid_as_a_boost_is_the_boost_that_placebos_judge(truth):
    settings = [simulated(truth, pair, n=150) for pair in PAIRS]
    placebos = [PLACEBOS.evaluate(one) for one in settings]
    placebos = PLACEBOS.across_pairs(settings, placebos)
    same = {"none": ("power_mean_grid", "metric"), "beyond_length": ("power_mean_grid", "length")}
    same["length"] = ("length", "metric")
    for result, placebo, setting in zip(together(settings), placebos, settings, strict=True):
        pair = setting.names[1]
        for reached in placebo.reached:
            if reached.placebo in same and reached.point != "best":
                boost, against = same[reached.placebo]
                wanted = {"boost": boost, "against": against, "point": reached.point, "language_pair": pair}
                found = one_row([result], interval="clusters", **wanted)
                values = [found[name] for name in ("gain", "low", "high")]
                expected = [reached.gain.value, reached.gain.low, reached.gain.high]
                np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13)
                assert (found["n"], found["clusters"]) == (reached.n, reached.clusters)
        for point, over in placebo.over.items():
            found = one_row([result], boost="power_mean_grid", against="reassigned", point=point, language_pair=pair)
            assert found["gain"] == pytest.approx(over.value, abs=1e-13)
            assert found["low"] == pytest.approx(over.low, abs=1e-13)


@pytest.mark.parametrize(
    ("truth", "allowed"),
    [
        pytest.param("length", {"length", "selection", "nothing established"}, id="people follow the number of words"),
        pytest.param("signal", {"beyond length"}, id="attributions know what people see"),
        pytest.param("noise", {"selection", "nothing established"}, id="nothing but the metric"),
    ],
)
def test_the_verdict_on_each_boost_is_the_truth_behind_the_data(truth, allowed):
    boosts = {"mean": MEAN, "learned": LEARNED}
    evaluation = dataclasses.replace(BOOSTS, boosts=boosts, splits=0, draws=1)
    results = together([simulated(truth, pair) for pair in PAIRS], evaluation)
    found = rows(results, "boost_verdicts", evaluation, language_pair="all")
    assert {(row["boost"], row["point"]) for row in found} == {
        (boost, point) for boost in boosts for point in ("cross_fitted", "elsewhere")
    }
    assert {row["verdict"] for row in found} <= allowed
    assert all(row["reassigned_gain"] < 0.01 for row in found if truth == "signal")


def test_what_a_pair_gets_elsewhere_does_not_depend_on_its_own_judgements(pairs):
    other = [with_human(pairs[0], np.arange(150.0)), *pairs[1:]]
    one, two = (
        [one_row(together(some), boost="power_mean_grid", against="metric", point="elsewhere", language_pair=pair)
         for pair in ("cs-en", "de-en")]
        for some in (pairs, other)
    )  # fmt: skip
    assert one[0]["constants"] == two[0]["constants"]
    assert one[0]["gain"] != two[0]["gain"]
    assert "de-en, fi-en without shared clusters" in one[0]["chosen_on"]


def test_other_data_sets_choose_without_shared_texts(pairs):
    elsewhere = [simulated("length", pair, n=150, dataset="other") for pair in PAIRS[:2]]  # of a pair the same sources
    further = [simulated("signal", "lv-en", n=150, dataset="third")]
    results = together([*pairs, *elsewhere, *further])
    wanted = {"boost": "length", "against": "metric", "point": "other_datasets"}
    for pair, free in (("cs-en", "de-en"), ("de-en", "cs-en")):
        found = one_row(results, **wanted, language_pair=pair, dataset="toy")
        assert found["chosen_on"] == f"other {free}, third lv-en without shared clusters"
    found = one_row(results, **wanted, language_pair="lv-en")
    assert "toy cs-en" in found["chosen_on"]
    assert "other cs-en" in found["chosen_on"]
    over = rows(results, boost="power_mean_grid", against="metric", dataset="all", point="cross_fitted")
    assert {(row["interval"], row["pairs"]) for row in over} == {("pairs", 6), ("clusters of all pairs", 6)}


def test_clusters_that_pairs_share_are_drawn_together(pairs):
    def width(settings):
        found = one_row(
            together(settings), boost="length", against="metric", point="cross_fitted",
            language_pair="all", interval="clusters of all pairs",
        )  # fmt: skip
        return found["high"] - found["low"]

    truth = [simulated("length", "de-en", n=150) for _ in PAIRS]

    def copies(shared):
        return [
            dataclasses.replace(
                one,
                segments=dataclasses.replace(one.segments, language_pair=pair),
                clusters=[f"{'' if shared else pair}{label}" for label in one.clusters],
            )
            for one, pair in zip(truth, PAIRS, strict=True)
        ]

    # three times the same segments tell nothing new; three times as many others would make it narrower by 3 ** 0.5
    assert 1.4 < width(copies(True)) / width(copies(False)) < 2.1


def test_clusters_that_pairs_share_are_counted_once_in_all_verdicts():
    """Of 60 segments in 30 clusters, the same in three pairs, the last two have no human score anywhere."""

    def shared(one):
        human = np.where(np.arange(60) < 58, one.segments.human_scores, np.nan)
        segments = dataclasses.replace(one.segments, judgements=Judgements({"da": human}))
        return dataclasses.replace(one, segments=segments, clusters=[str(row // 2) for row in range(60)])

    settings = [shared(simulated("signal", pair, n=60, dataset=name)) for name in ("toy", "other") for pair in PAIRS]
    for evaluation, table in ((PLACEBOS, "verdicts"), (BOOSTS, "boost_verdicts")):
        results = together(settings, evaluation)
        found = {
            (row["dataset"], row["language_pair"]): (row["n"], row["clusters"])
            for row in rows(results, table, evaluation, point="cross_fitted")
        }
        assert found["toy", "de-en"] == (58, 29), table
        assert found["toy", "all"] == (3 * 58, 29), table
        assert found["all", "all"] == (6 * 58, 2 * 29), "labels are names within their data set"


@pytest.mark.parametrize(
    ("n_metrics", "n_explainers", "silent"), [(1, 0, True), (2, 0, False), (3, 0, False), (1, 1, False), (1, 2, False)]
)
def test_one_metric_alone_has_nothing_to_judge(n_metrics, n_explainers, silent):
    assert bool(BOOSTS.silent(n_metrics, n_explainers)) == silent


def test_the_average_of_metrics_stands_beside_boosts_and_below_metrics_alone(pairs):
    rng = np.random.default_rng(0)
    good = [one.segments.human_scores + rng.normal(size=150) / 4 for one in pairs]
    others = [alone(with_metric(one, "good", scores)) for one, scores in zip(pairs, good, strict=True)]
    results = together([*pairs, *others])
    for names in (("hash", "erasure"), ("good", "none")):
        found = rows(results, boost="combined", metric=names[0], explainer=names[1], point="elsewhere")
        assert {row["interval"] for row in found} == {"clusters", "pairs", "clusters of all pairs"}
        assert json.loads(found[0]["constants"])["features"] == [{"hash": "good", "good": "hash"}[names[0]]]
    gain = one_row(results, boost="combined", metric="hash", point="elsewhere", interval="pairs")["gain"]
    assert gain > 0.2
    # The other metric knows most of what attributions know
    own = one_row(results, boost="power_mean_grid", against="metric", point="elsewhere", interval="pairs")
    over = one_row(results, boost="power_mean_grid", against="combined", point="elsewhere", interval="pairs")
    assert over["gain"] < own["gain"] / 3
    assert not rows(together([*pairs[:1]]), boost="combined")
    assert {row["boost"] for row in rows(results, metric="good")} == {"combined"}


def one_sided(setting):
    """The setting with attributions of the hypothesis only, as explanations made elsewhere may have them."""
    nothing = Ragged.from_rows([np.empty(0)] * len(setting.segments))
    by_role = {**setting.scores.by_role, "source": nothing}
    return dataclasses.replace(setting, scores=dataclasses.replace(setting.scores, by_role=by_role))


def test_boosts_that_read_a_side_without_attributions_are_left_out_and_take_no_segment_from_others(pairs):
    some = [one_sided(one) for one in pairs]
    both = dataclasses.replace(BOOSTS, boosts={"hypothesis": FeatureMix(feature="spread", side="hypothesis"),
                                               "learned": LEARNED}, splits=2)  # fmt: skip
    alone = dataclasses.replace(both, boosts={"hypothesis": both.boosts["hypothesis"]})
    found, expected = together(some, both), together(some, alone)
    assert {row["n"] for row in rows(found, evaluation=both, boost="hypothesis", language_pair="cs-en")} == {150}
    assert not rows(found, evaluation=both, boost="learned")
    assert not rows(found, "coefficients", both)
    for table in ("boosts", "boost_verdicts"):
        assert str(rows(found, table, both)) == str(rows(expected, table, alone))
    assert [one.boost_name for one in found[0].chosen] == ["hypothesis"]


def test_an_attribution_that_is_missing_takes_its_segment_out_for_all_boosts(pairs):
    setting = pairs[0]
    rows_of = setting.scores.by_role["source"]
    values = rows_of.values.copy()
    values[rows_of.offsets[3]] = np.nan
    scores = dataclasses.replace(
        setting.scores, by_role={**setting.scores.by_role, "source": dataclasses.replace(rows_of, values=values)}
    )
    result = BOOSTS.evaluate(dataclasses.replace(setting, scores=scores))
    assert {row["n"] for row in rows([result])} == {149}
    assert np.flatnonzero(np.isnan(BOOSTS.segment_columns(result)["boost_power_mean_grid"])).tolist() == [3]


def test_what_is_chosen_on_the_segments_it_is_judged_on_has_no_interval(pairs):
    found = rows(together(pairs[:1]))
    assert {row["point"] for row in found} >= {"best", "cross_fitted"}
    for row in found:
        assert np.isfinite(row["low"]) == (row["point"] not in ("best",)), row["point"]


def test_held_out_scores_are_those_that_gain(pairs):
    results = together(pairs)
    for setting, result in zip(pairs, results, strict=True):
        scores = BOOSTS.segment_columns(result)["boost_power_mean_grid"]
        human = setting.segments.human_scores
        expected = pearson(scores, human) - pearson(setting.scores.base_scores, human)
        pair = setting.names[1]
        found = one_row([result], boost="power_mean_grid", against="metric", point="elsewhere", language_pair=pair)
        assert found["gain"] == pytest.approx(expected, abs=1e-13)


def test_each_boost_is_chosen_on_everything_with_what_it_gains_elsewhere(pairs):
    evaluation = dataclasses.replace(BOOSTS, boosts={"mean": MEAN}, splits=0, draws=1)
    first, *others = together(pairs, evaluation)
    assert not any(one.chosen for one in others)
    (found,) = first.chosen
    assert [(one.language_pair, one.segments, one.human) for one in found.chosen_on] == [
        (pair, 150, "da") for pair in PAIRS
    ]
    assert "3 language pairs" in found.how
    (gained,) = rows(
        [first], evaluation=evaluation, boost="mean", against="metric", point="elsewhere", interval="pairs"
    )
    assert (found.gain.value, found.gain.low, found.gain.high) == (gained["gain"], gained["low"], gained["high"])
    (over,) = rows([first], evaluation=evaluation, boost="mean", against="length", point="elsewhere", interval="pairs")
    assert (found.beyond_length.value, found.beyond_length.low) == (over["gain"], over["low"])
    assert MEAN.restored(json.loads(json.dumps(found.fitted.constants()))) == found.fitted


def test_a_choice_that_no_other_segments_judge_says_so(pairs):
    evaluation = dataclasses.replace(BOOSTS, boosts={"mean": MEAN}, splits=0, draws=1)
    (result,) = together([dataclasses.replace(pairs[0], clusters=["one"] * 150)], evaluation)
    (found,) = result.chosen
    assert found.how == "not judged: no gain is defined on segments that did not choose"
    assert np.isnan([found.gain.value, found.gain.low, found.beyond_length.value]).all()


def test_coefficients_of_what_is_learned_have_intervals(pairs):
    evaluation = dataclasses.replace(BOOSTS, boosts={"learned": LEARNED}, splits=0, draws=1)
    found = rows(together(pairs, evaluation), "coefficients", evaluation)
    assert {row["language_pair"] for row in found} == {*PAIRS, "all"}
    of_all = {row["feature"]: row for row in found if row["language_pair"] == "all"}
    assert set(of_all) == {"base", *LEARNED.names()}
    assert of_all["base"]["low"] > 0
    assert all(row["low"] <= row["value"] <= row["high"] for row in of_all.values())


def test_halves_say_how_often_nothing_is_chosen(pairs):
    noise = with_human(pairs[0], pairs[0].scores.base_scores.copy())
    found = one_row([BOOSTS.evaluate(noise)], boost="length", point="half_splits")
    assert (found["gain"], found["abstained"]) == (0, 1)
    signal = one_row([BOOSTS.evaluate(pairs[0])], boost="power_mean_grid", point="half_splits")
    assert signal["gain"] > 0.02
    assert signal["abstained"] < 0.5
    assert signal["interval"] == "splits"


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_rank_correlations_are_judged_by_themselves(kind):
    grid = dataclasses.replace(GRID, correlation=kind)
    boosts = {"mean": MEAN, "power_mean_grid": OWN_GRID}
    evaluation = BoostEvaluation(grid=grid, boosts=boosts, resamples=20, splits=2, draws=1)
    settings = [simulated("signal", pair, n=60) for pair in PAIRS[:2]]
    found = rows(
        together(settings, evaluation), evaluation=evaluation, boost="mean", against="metric", point="elsewhere"
    )
    assert all(math.isfinite(row["gain"]) for row in found)


@pytest.mark.parametrize("name", ["length", "combined"])
def test_a_boost_that_bears_the_name_of_what_boosts_stand_beside_is_refused(name):
    with pytest.raises(ConfigError, match=f"boost.{name}: that name is taken"):
        dataclasses.replace(BOOSTS, boosts={name: MEAN})


def test_boosts_come_from_their_group_and_the_grid_from_the_sweep():
    config = composed(
        "evaluation=[grid,boosts]",
        "boost=[spread,power_mean_grid]",
        "grid.p.step=10",
        "grid.side=hypothesis",
        "grid.fixed={}",
    )
    made = build(config["evaluation"]["boosts"], Evaluation, "evaluation.boosts")
    assert isinstance(made, BoostEvaluation)
    assert list(made.boosts) == ["spread", "power_mean_grid"]
    of_grid = made.boosts["power_mean_grid"]
    assert (of_grid.spec.p, of_grid.spec.w, of_grid.side) == (made.grid.spec.p, made.grid.spec.w, "hypothesis")
    none = build(
        composed("evaluation=[grid,boosts]", "boost=[]")["evaluation"]["boosts"], Evaluation, "evaluation.boosts"
    )
    assert none.boosts == {}
    assert len({made.cost(560), none.cost(560)}) == 2
    assert made.fingerprint() != none.fingerprint()


def test_without_a_sweep_the_grid_of_a_boost_is_that_of_the_paper():
    made = build(load_option("boost", "power_mean_grid"), PowerMeanGrid, "boost.power_mean_grid")
    assert (len(made.spec.p), made.spec.p[0], made.side) == (600, -30.0, "both")


def test_a_metric_alone_has_no_boosts(pairs):
    result = BOOSTS.evaluate(alone(pairs[0]))
    assert not any(rows([result], table) for table in BOOSTS.TABLES)
    assert isinstance(pairs[0].metric, HashMetric)
