"""Boosts as an evaluation, against plain loops on simulated settings whose truth is known; the rule of verdicts."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.stats
from fakes import HashMetric, composed
from some_recipe import recipe
from some_settings import changed, simulated, table_rows

from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.learned import Learned
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.boosts.recipe import ChosenOn, Identity, RecipeBoost, write_recipe
from bmx_grid.core.configure import build
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.segments import Judgements
from bmx_grid.evaluations import held_out
from bmx_grid.evaluations.base import Estimate, Evaluation
from bmx_grid.evaluations.boost_evidence import ALL, BoostRow, build_contrasts, pool_language_pairs
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.evaluations.choose import add_verdicts
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.evaluations.held_out import folds_of, nuisance_of, select_rated
from bmx_grid.evaluations.verdicts import (
    CONFOUNDED,
    HELPS,
    HURTS,
    INFORMATIVE,
    NO_GAIN,
    OPEN,
    REDUNDANT,
    TOO_LITTLE,
    Verdict,
    collect_evidence,
    label_gains,
)
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.measures.means import MeansInParts
from bmx_grid.measures.resampling import codes
from bmx_grid.words.perturbation import ROLES
from bmx_grid.words.segmentation import text_statistics

NAN = float("nan")
W, P = (0.0, 0.4, 0.8, 1.0), PowerRange(-2, 2, 1)
GRID = GridEvaluation(p=P, w=W, fixed={"erasure": Point(w=0.4, p=-1.0)})
MEAN, LEARNED, OWN_GRID = FeatureMix(feature="mean"), Learned(), PowerMeanGrid(p=P, w=W)
BOOSTS = BoostEvaluation(grid=GRID, boosts={"grid": OWN_GRID}, resamples=60)
PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en")


def together(settings, **changes):
    """The results of a sweep, in the order of its settings. changes: to the evaluation."""
    return dataclasses.replace(BOOSTS, **changes).evaluate(settings)


def rows(results, table="boosts", **wanted):
    """Rows as dictionaries, those with these values."""
    all_rows = [vars(row) for result in results for row in table_rows(BOOSTS, result, table)]
    return [row for row in all_rows if all(row[key] == value for key, value in wanted.items())]


def one_row(results, table="boosts", **wanted):
    (row,) = rows(results, table, **wanted)
    return row


# The rule ------------------------------------------------------------------------------------------------------------

SURE = 0.001
UP, DOWN = Estimate(0.02, 0.01, 0.03, SURE), Estimate(-0.02, -0.03, -0.01, SURE)
UNCLEAR, WIDE = Estimate(0.006, -0.01, 0.02, 0.5), Estimate(0.02, -0.04, 0.08, 0.4)
SMALL, ZERO = Estimate(0.004, 0.002, 0.006, SURE), Estimate(0.0, -0.1, 0.1, 0.9)
NO_P, NO_INTERVAL = Estimate(0.02, 0.01, 0.03), Estimate(0.02)


def evidence(gain=UP, partial_r=UP, units=20, left=0.006, **more):
    return Verdict(gain=gain, partial_r=partial_r, clusters=units, left=left, **more)


def verdict(inputs):
    return label_gains([inputs])[0]


@pytest.mark.parametrize(
    ("inputs", "label", "message"),
    [
        pytest.param(evidence(DOWN), HURTS, "-0.02", id="a loss, whatever its partial correlation"),
        pytest.param(evidence(), HELPS, "+0.02", id="a gain, and a partial correlation"),
        pytest.param(evidence(partial_r=UNCLEAR), OPEN, "up to 0.0060 may be left", id="no partial correlation"),
        pytest.param(
            evidence(partial_r=Estimate(), left=NAN), OPEN, "partial r", id="no partial correlation is defined"
        ),
        pytest.param(evidence(partial_r=UNCLEAR, left=0.0049), CONFOUNDED, "0.0049", id="less than .005 can be left"),
        pytest.param(evidence(partial_r=DOWN, left=0.0), CONFOUNDED, "0.0000", id="nothing is left"),
        pytest.param(evidence(left=0.001), CONFOUNDED, "0.0010", id="a small rest that is significant"),
        pytest.param(evidence(partial_r=NO_P), OPEN, "", id="the partial correlation has no p value"),
        pytest.param(evidence(over_metrics=UNCLEAR, metrics="chrf"), REDUNDANT, "chrf", id="nothing given a metric"),
        pytest.param(evidence(over_metrics=UP, metrics="chrf"), HELPS, "", id="something given another metric"),
        pytest.param(evidence(gain=SMALL), NO_GAIN, "0.005", id="a gain not worth having"),
        pytest.param(evidence(gain=UNCLEAR), INFORMATIVE, "partial r", id="more data would decide on the gain"),
        pytest.param(evidence(gain=UNCLEAR, left=0.001), NO_GAIN, "", id="more data would show nothing worth having"),
        pytest.param(evidence(gain=WIDE), INFORMATIVE, "partial r", id="much more data"),
        pytest.param(evidence(gain=NO_P), INFORMATIVE, "", id="the gain has no p value"),
        pytest.param(evidence(gain=ZERO), TOO_LITTLE, "wide", id="a partial correlation, and no gain"),
        pytest.param(evidence(UNCLEAR, UNCLEAR), NO_GAIN, "", id="an interval with 0"),
        pytest.param(evidence(units=3), TOO_LITTLE, "3 clusters", id="three clusters"),
        pytest.param(evidence(DOWN, units=3), TOO_LITTLE, "3 clusters", id="three clusters, and a loss"),
        pytest.param(evidence(units=4), HELPS, "4 clusters only", id="four clusters"),
        pytest.param(evidence(units=5), HELPS, "5 clusters only", id="five clusters"),
        pytest.param(evidence(NO_INTERVAL), TOO_LITTLE, "interval", id="no interval"),
        pytest.param(evidence(Estimate()), TOO_LITTLE, "no gain is defined", id="no gain"),
        pytest.param(evidence(WIDE, UNCLEAR), TOO_LITTLE, "wide", id="a wide interval"),
        pytest.param(evidence(Estimate(0.02, -0.02, 0.06, 0.4), ZERO), NO_GAIN, "", id="half of a narrower interval"),
    ],
)
def test_the_verdict_follows_from_the_evidence(inputs, label, message):
    result = verdict(inputs)
    assert result.label == label
    assert message in result.because
    assert (" only" in result.because) == (inputs.clusters in (4, 5))


@pytest.mark.parametrize(
    ("gain_p", "partial_p", "alone", "among_forty"),
    [
        pytest.param(SURE, 0.03, HELPS, OPEN, id="the partial correlation"),
        pytest.param(0.03, SURE, HELPS, INFORMATIVE, id="the gain"),
        pytest.param(0.03, 0.03, HELPS, NO_GAIN, id="none survives"),
        pytest.param(1e-6, 1e-6, HELPS, HELPS, id="both survive"),
    ],
)
def test_a_family_is_corrected_by_holm(gain_p, partial_p, alone, among_forty):
    single = evidence(dataclasses.replace(UP, p=gain_p), dataclasses.replace(UP, p=partial_p))
    family = [single, *[evidence(UNCLEAR, UNCLEAR)] * 39]
    assert verdict(single).label == alone
    in_family = label_gains(family)[0]
    assert (in_family.label, in_family.tried) == (among_forty, 40)
    assert label_gains([single, evidence(Estimate(), Estimate())])[0] == dataclasses.replace(
        verdict(single), tried=2
    ), "undefined: no test"


# Over several pairs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 4, 11])
def test_the_interval_over_pairs_reaches_as_far_as_students_t_and_the_joint_bootstrap(count):
    values = np.random.default_rng(count).normal(0.02, 0.01, size=count)
    test = scipy.stats.ttest_1samp(values, 0)
    t = test.confidence_interval(0.95)
    for joint in (Estimate(0, -1.0, 0.0, 0.9), Estimate(0, t.low + 0.001, t.high + 0.1, 0.0)):
        estimate = pool_language_pairs([*values, NAN], joint)
        expected = (values.mean(), min(t.low, joint.low), max(t.high, joint.high), max(test.pvalue, joint.p))
        assert (estimate.value, estimate.low, estimate.high, estimate.p) == pytest.approx(expected)
    assert np.isnan(
        [pool_language_pairs(values.tolist(), Estimate()).low, pool_language_pairs(values[:2].tolist(), joint).low]
    ).all()


def test_pairs_that_are_copies_of_each_other_do_not_narrow_the_interval():
    original = simulated("signal", n=80)
    copies, apart = [], []
    for pair in PAIRS:
        segments = dataclasses.replace(original.segments, language_pair=pair)
        copies.append(dataclasses.replace(original, segments=segments))
        clusters = [f"{pair} {label}" for label in original.clusters]
        apart.append(dataclasses.replace(copies[-1], clusters=clusters))
    wanted = {"boost": "length", "against": "metric", "point": "cross_fitted"}
    single = one_row(together([original], boosts={}), **wanted)
    widths = {}
    for name, settings in (("copies", copies), ("apart", apart)):
        row = one_row(together(settings, boosts={}), **wanted, language_pair=ALL)
        widths[name] = (row["high"] - row["low"]) / (single["high"] - single["low"])
        assert row["clusters"] == {"copies": 40, "apart": 200}[name]
    assert widths["copies"] == pytest.approx(1, abs=0.35)
    assert widths["apart"] < 0.7 * widths["copies"], "the case can tell"


# Which verdicts there are --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs_at", "points"),
    [
        pytest.param({"cross_fitted": 1}, ["cross_fitted"], id="one pair"),
        pytest.param({"cross_fitted": 1, "elsewhere": 1}, ["elsewhere"], id="one pair with others"),
        pytest.param({"cross_fitted": 4, "elsewhere": 4, "published": 4}, ["elsewhere", "published"], id="published"),
        pytest.param({"cross_fitted": 4, "elsewhere": 3}, ["cross_fitted"], id="not all pairs have others"),
        pytest.param({"elsewhere": 4, "other_datasets": 4}, ["elsewhere", "other_datasets"], id="other data sets"),
        pytest.param({"fixed": 1}, ["fixed"], id="a recipe"),
        pytest.param({"cross_fitted": 2, "published": 2}, [], id="two pairs"),
        pytest.param({"cross_fitted": 3, "published": 3}, [], id="three pairs"),
        pytest.param({"cross_fitted": 3, "published": 4}, ["published"], id="one of four is a single cluster"),
    ],
)
def test_a_boost_has_one_verdict_at_its_declared_point_and_further_questions(pairs_at, points):
    lines = [BoostRow("toy", ALL, "m", "e", "b", "metric", point, UP, pairs, 9, 9) for point, pairs in pairs_at.items()]
    assert [question.point for question in collect_evidence(lines, ["b", "other"])] == points


def test_questions_are_families_of_their_own():
    settings = [simulated("noise", pair, n=12, dataset=name) for name in ("a", "b") for pair in PAIRS[:4]]
    of_another_metric = [dataclasses.replace(setting, metric_name="other") for setting in settings]
    boosts = {"grid": OWN_GRID, "mean": MEAN}
    verdicts = rows(together([*settings, *of_another_metric], boosts=boosts, resamples=40), "verdicts")
    tried = {(row["dataset"] == ALL, row["language_pair"] == ALL, row["point"]): row["tried"] for row in verdicts}
    per_scope = {"elsewhere": 2 * 2, "other_datasets": 2 * 2, "published": 2}  # 2 metrics x 2 boosts, of which 1 has it
    expected = {}
    for scope, n_scopes in {(False, False): 8, (False, True): 2, (True, True): 1}.items():
        for point, n_verdicts in per_scope.items():
            expected[*scope, point] = n_scopes * n_verdicts
    assert tried == expected and len(verdicts) == sum(tried.values())


# Gains, by plain loops -----------------------------------------------------------------------------------------------


def r(x, human):
    return np.corrcoef(x, human)[0, 1]


def best_point(parts):
    """(w, column) of the highest mean gain on parts of base, features and human scores; the metric where none is."""
    best, place = 1e-12, (1.0, 0)
    for column in range(parts[0][1].shape[1]):
        for w in W[:-1]:
            gains = []
            for base, means, human in parts:
                boosted = w * base + (1 - w) * means[:, column]
                gains.append(r(boosted, human) - r(base, human))
            if np.mean(gains) > best:
                best, place = np.mean(gains), (w, column)
    return place


def data(setting, rows=slice(None)):
    means = OWN_GRID.features(setting.scores.ground_truth, setting.scores.hypothesis)
    return setting.scores.base_scores[rows], means[rows], setting.segments.human_scores[rows]


def plain_scores(point, setting, settings):
    """What the power mean scores where these segments did not choose."""
    base, means, _ = data(setting)

    def scores_at(w, column):
        return w * base + (1 - w) * means[:, column]

    if point in ("published", "fixed"):
        sides = zip(setting.scores.ground_truth.rows(), setting.scores.hypothesis.rows(), strict=True)
        words = [np.concatenate(both) for both in sides]
        return 0.4 * base + 0.6 * np.array([len(attributions) / np.sum(1 / attributions) for attributions in words])
    if point == "cross_fitted":
        folds = folds_of("pearson", base, setting.segments.human_scores, codes(list(setting.clusters)), GRID.seed)
        scores = np.empty(len(base))
        for fold in np.unique(folds):
            of_fold = scores_at(*best_point([data(setting, folds != fold)]))
            scaled = (of_fold - of_fold.mean()) / of_fold.std() * base.std() + base.mean()
            scores[folds == fold] = scaled[folds == fold]
        return scores
    parts = []
    for other in settings:
        same_dataset = other.names[0] == setting.names[0]
        free = np.array([label not in setting.clusters for label in other.clusters])
        if other is not setting and same_dataset == (point == "elsewhere") and free.any():
            parts.append(data(other, free))
    return scores_at(*best_point(parts))


@pytest.fixture(scope="module")
def shared():
    """Two data sets; some sources stand in two language pairs, and all of a third pair in the other data set."""
    pairs = [("toy", pair) for pair in PAIRS[:3]] + [("other", pair) for pair in ("cs-en", "lv-en")]
    truth = {"toy": "signal", "other": "length"}  # so that data sets choose other points
    settings = [simulated(truth[name], pair, n=40, dataset=name) for name, pair in pairs]
    settings[1] = changed(settings[1], sources=[*settings[0].clusters[:10], *settings[1].clusters[10:]])
    return [changed(setting, sources=list(setting.clusters)) for setting in settings]


@pytest.fixture(scope="module")
def recipe_of(tmp_path_factory):
    def make(**fields):
        """A recipe, by default for the simulated settings: the power mean at w = .4, p = -1."""
        metric = Identity.from_part("metric", "hash", HashMetric(), HashMetric().signature)
        constants, path = {"w": 0.4, "p": -1.0}, tmp_path_factory.mktemp("recipes") / "recipe.json"
        known = {"metric": metric, "constants": constants, **fields}
        write_recipe(path, dataclasses.replace(recipe(boost=OWN_GRID), **known))
        return RecipeBoost(recipe=str(path))

    return make


@pytest.fixture(scope="module")
def of_shared(shared, recipe_of):
    return together(shared, boosts={"grid": OWN_GRID, "recipe": recipe_of()})


@pytest.mark.parametrize("point", ["published", "cross_fitted", "elsewhere", "other_datasets", "fixed"])
def test_gains_are_those_of_plain_loops(point, shared, of_shared):
    boost = "recipe" if point == "fixed" else "grid"
    for setting, result in zip(shared, of_shared, strict=True):
        scores = plain_scores(point, setting, shared)
        if point in ("elsewhere", "fixed"):
            np.testing.assert_allclose(BOOSTS.segment_columns(result)[f"boost_{boost}"], scores, atol=1e-6)
        human = setting.segments.human_scores
        names = {"dataset": setting.names[0], "language_pair": setting.names[1]}
        row = one_row(of_shared, boost=boost, against="metric", point=point, **names)
        assert row["gain"] == pytest.approx(r(scores, human) - r(setting.scores.base_scores, human), abs=1e-7)
        assert row["low"] < row["gain"] < row["high"]
    assert {chosen["boost_name"] for result in of_shared for chosen in result.chosen} == {"grid"}, "recipes are chosen"


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_the_gain_in_differences_of_outputs_is_that_of_plain_loops(kind):
    as_ranks = {"pearson": np.asarray, "kendall": scipy.stats.rankdata}
    options = {"grid": dataclasses.replace(GRID, correlation=kind), "boosts": {"mean": MEAN}, "statistic": "pdp"}
    setting = simulated("signal", n=175, systems=5)
    human = setting.segments.human_scores.copy()
    human[:4] = NAN  # one translation is left
    human[[5, 6, 7]] = NAN  # two translations are left
    result = together([changed(setting, human=human)], **options)
    scores, base = BOOSTS.segment_columns(result[0])["boost_mean"], setting.scores.base_scores

    def pairwise(values):
        """Pearson's r of the differences of all outputs of one source, or of their ranks."""
        rated = np.flatnonzero(np.isfinite(human))
        of_human, of_values = (as_ranks[kind](column[rated]) for column in (human, values))
        left, right = [], []
        for i, j in itertools.permutations(range(len(rated)), 2):
            if rated[i] // 5 == rated[j] // 5:
                left.append(of_values[i] - of_values[j])
                right.append(of_human[i] - of_human[j])
        return r(np.array(left), np.array(right))

    gain = one_row(result, boost="mean", against="metric", point="cross_fitted")["gain"]
    assert gain == pytest.approx(pairwise(scores) - pairwise(base), abs=1e-12)
    assert one_row(result, boost="mean", against="score, length and text", point="cross_fitted")["gain"] > 0
    (alone,) = rows(together([simulated("signal", n=60)], **options), "verdicts")
    assert (alone["verdict"], np.isnan(alone["gain"])) == (TOO_LITTLE, True), "one output per source"


def two_golds(seed, pair, share=1.0):
    """A setting whose first raters like what the attributions say, as well as quality; the second see quality only.

    share: of the segments that the second ones rate.
    """
    setting = simulated("signal", pair, n=120, seed=seed)
    rng = np.random.default_rng([seed, 5, *pair.encode()])
    base = setting.scores.base_scores
    second = np.where(rng.random(120) < share, base + rng.normal(size=120) / 3, NAN)
    judged = Judgements({"da": setting.segments.human_scores, "esa": second})
    return dataclasses.replace(setting, segments=dataclasses.replace(setting.segments, judgements=judged))


def test_each_human_score_has_a_verdict_and_the_first_one_alone_chooses():
    settings = [two_golds(0, pair, share=0.8) for pair in PAIRS[:4]]
    result = together(settings, boosts={"mean": MEAN}, human=("da", "esa"))
    alone = together([two_golds(0, pair) for pair in PAIRS[:4]], boosts={"mean": MEAN}, resamples=40)
    everywhere = {"language_pair": ALL, "point": "elsewhere"}
    of_da, of_esa = (one_row(result, "verdicts", human=human, **everywhere) for human in ("da", "esa"))
    assert (of_da["verdict"], of_esa["verdict"], of_esa["tried"]) == (HELPS, HURTS, 2), "one family"
    assert of_da["gain"] == one_row(alone, "verdicts", human="", **everywhere)["gain"]
    assert np.isnan(of_esa["best_gain"]), "nothing was chosen by it"
    for setting, of_setting in zip(settings, result, strict=True):
        scores, esa = BOOSTS.segment_columns(of_setting)["boost_mean"], setting.segments.judgements.scores["esa"]
        rated = np.isfinite(esa)
        gain = r(scores[rated], esa[rated]) - r(setting.scores.base_scores[rated], esa[rated])
        wanted = {"boost": "mean", "human": "esa", "against": "metric", "point": "elsewhere"}
        row = one_row(result, **wanted, language_pair=setting.names[1])
        assert (row["gain"], row["n"]) == (pytest.approx(gain, abs=1e-12), rated.sum())


def test_a_human_score_that_a_data_set_does_not_have_is_refused():
    (setting,) = [two_golds(0, "de-en")]
    evaluation = dataclasses.replace(BOOSTS, human=("mqm",))
    with pytest.raises(ConfigError, match=r"evaluation.boosts.human: toy de-en: .*'mqm'.*da.*esa"):
        evaluation.inapplicable(1, 1, [setting.segments])


def test_resamples_of_differences_of_outputs_draw_the_items_of_their_clusters():
    base, human, scores = np.random.default_rng(0).normal(size=(3, 93))
    scores[:3] = 1.0  # nothing to correlate with
    items, used = np.arange(93) // 3, np.ones(93, dtype=bool)
    lengths = np.zeros((93, 1))
    nuisance = nuisance_of(base, lengths, [], [], items)
    rated = select_rated("pearson", base, human, lengths, items, nuisance, used, 0, items)
    of_items = build_contrasts("pearson", rated, {("b", "cross_fitted"): scores}, 0, statistic="pdp")
    resampled = of_items.resample_gains(
        [np.equal.outer(items, np.arange(31)).astype(float)]
    )  # one item in each resample
    expected = [
        r(scores[items == item], human[items == item]) - r(base[items == item], human[items == item])
        for item in range(1, 31)
    ]
    np.testing.assert_allclose(resampled["b", "metric", "cross_fitted", ""][1:], expected, atol=1e-12)


def test_statistics_of_texts_are_computed_once_for_all_metrics_and_boosts(monkeypatch):
    calls = []
    monkeypatch.setattr(held_out, "_kept_statistics", {})
    monkeypatch.setattr(held_out, "text_statistics", lambda *texts: calls.append(texts) or text_statistics(*texts))
    setting = simulated("signal", n=60)
    settings = [setting, dataclasses.replace(setting, metric_name="another")]
    results = together(settings, boosts={"mean": MEAN, "grid": OWN_GRID})
    roles = [role for role in ROLES if setting.segments.has(role)]
    assert len(calls) == len(roles)
    assert {row["metric"] for row in rows(results, "verdicts")} == {setting.metric_name, "another"}


def test_boosts_of_reassigned_attributions_stand_beside_a_boost_if_they_are_asked_for():
    settings = [simulated("signal", n=60)]
    at_declared = {"against": "metric", "point": "cross_fitted"}
    results = together(settings, boosts={"mean": MEAN}, draws=2)
    gains = [one_row(results, boost=f"mean reassigned {draw}", **at_declared)["gain"] for draw in (1, 2)]
    assert gains[0] != gains[1], "each draw is another one"
    (with_draws,) = rows(results, "verdicts")
    assert with_draws["reassigned_gain"] == pytest.approx(np.mean(gains))
    (without,) = rows(together(settings, boosts={"mean": MEAN}, draws=0), "verdicts")
    assert np.isnan(without["reassigned_gain"])
    assert {**without, "reassigned_gain": 0} == {**with_draws, "reassigned_gain": 0}, "a placebo decides nothing"


@pytest.mark.parametrize(
    ("fields", "refused", "message"),
    [
        pytest.param({"chosen_on": (ChosenOn("toy", "de-en", 40, 20, "da"),)}, {"cs-en", "de-en", "fi-en"}, "chosen on",
                     id="on the judged data set, whose pairs share segments"),
        pytest.param({"chosen_on": (ChosenOn("wmt17", "de-en", 40, 20, "da"),)}, set(), "", id="on another data set"),
        pytest.param({"metric": recipe().metric}, {"cs-en", "de-en", "fi-en"}, "the metric hash given here is another",
                     id="for another metric"),
    ],
)  # fmt: skip
def test_a_recipe_for_something_else_is_not_judged(recipe_of, shared, fields, refused, message):
    results = together(shared[:3], boosts={"recipe": recipe_of(**fields), "mean": MEAN})
    reasons = {row["language_pair"]: row["because"] for row in rows(results, "verdicts", boost="recipe")}
    assert set(reasons) == set(PAIRS[:3])
    assert {pair for pair, because in reasons.items() if because.startswith("not judged")} == refused
    assert all(message in reasons[pair] for pair in refused)
    assert {row["language_pair"] for row in rows(results, boost="recipe", pairs=1)} == set(PAIRS[:3]) - refused


# What is left out, and what does not matter --------------------------------------------------------------------------


def test_a_boost_that_reads_a_side_without_attributions_has_a_reason_and_takes_no_segment_from_others():
    one_sided = []
    for setting in (simulated("signal", pair, n=60) for pair in PAIRS[:2]):
        nothing = {**setting.scores.by_role, "source": Ragged.from_rows([np.empty(0)] * 60)}
        one_sided.append(dataclasses.replace(setting, scores=dataclasses.replace(setting.scores, by_role=nothing)))
    boosts = {"hypothesis": FeatureMix(feature="spread", side="hypothesis"), "learned": LEARNED}
    results = together(one_sided, boosts=boosts)
    assert {row["n"] for row in rows(results, boost="hypothesis", pairs=1)} == {60}
    for pair in PAIRS[:2]:
        lacking = one_row(results, "verdicts", boost="learned", language_pair=pair)
        assert "boost=learned reads attributions of the ground truth" in lacking["because"]
    assert not rows(results, boost="learned")
    assert [chosen["boost_name"] for chosen in results[0].chosen] == ["hypothesis"]


def test_a_missing_attribution_takes_its_segment_out_for_all_boosts():
    setting = simulated("signal", n=60)
    rows_of = setting.scores.by_role["source"]
    values = rows_of.values.copy()
    values[rows_of.offsets[3]] = NAN
    by_role = {**setting.scores.by_role, "source": Ragged(values, rows_of.offsets)}
    setting = dataclasses.replace(setting, scores=dataclasses.replace(setting.scores, by_role=by_role))
    (result,) = together([setting], boosts={"grid": OWN_GRID, "mean": MEAN})
    assert {row["n"] for row in rows([result])} == {59}
    for scores in BOOSTS.segment_columns(result).values():
        assert np.flatnonzero(np.isnan(scores)).tolist() == [3]


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(changed(simulated("signal", n=40), sources=["one"] * 40), id="a single cluster"),
        pytest.param(changed(simulated("signal", n=40), human=[NAN] * 40), id="nobody rated"),
    ],
)
def test_too_little_data_says_so(setting):
    verdicts = rows(together([setting]), "verdicts")
    assert {row["verdict"] for row in verdicts} == {TOO_LITTLE}
    assert all(row["because"] for row in verdicts)
    assert np.isnan([row["gain_low"] for row in verdicts]).all()


def test_the_average_of_metrics_stands_beside_boosts_and_a_fit_of_metrics_below_them():
    pairs = [simulated("signal", pair, n=80) for pair in PAIRS[:4]]
    draw, good = np.random.default_rng(0), []
    for setting in pairs:
        scores = dataclasses.replace(
            setting.scores, base_scores=setting.segments.human_scores + draw.normal(size=80) / 8
        )
        good.append(
            dataclasses.replace(setting, metric_name="good", explainer_name="none", explainer=None, scores=scores)
        )
    results = together([*pairs, *good])
    both = {"language_pair": ALL, "point": "elsewhere"}
    assert one_row(results, boost="combined", against="metric", metric="hash", **both)["gain"] > 0.2
    of_grid = one_row(results, "verdicts", boost="grid", **both)
    assert of_grid["combined_gain"] > of_grid["gain"] > 0.02
    assert of_grid["over_metrics"] < of_grid["partial_r"] / 2, "the other metric knows what attributions know"
    assert {row["boost"] for row in rows(results, metric="good")} == {"combined"}
    assert not rows(results, "verdicts", metric="good")
    assert not rows(together(pairs[:1]), boost="combined")


def test_each_boost_is_chosen_on_everything_with_its_verdict_elsewhere():
    pairs = [simulated("signal", pair, n=60) for pair in PAIRS[:4]]
    first, *others = together(pairs)
    assert not any(result.chosen for result in others)
    (chosen,) = first.chosen
    w, column = best_point([data(setting) for setting in pairs])
    assert chosen["constants"] == {"w": w, "p": OWN_GRID.spec.p[column]}
    assert [(part.language_pair, part.segments, part.clusters) for part in chosen["chosen_on"]] == [
        (pair, 60, 30) for pair in PAIRS[:4]
    ]
    verdict_of_all = one_row([first], "verdicts", language_pair=ALL, point="elsewhere")
    values = chosen["verdict"], chosen["gain"].value, chosen["partial_r"].low
    assert values == (verdict_of_all["verdict"], verdict_of_all["gain"], verdict_of_all["partial_r_low"])
    assert all(words in chosen["gain"].how for words in ("4 language pairs", "other language pairs"))


def test_a_boost_of_one_language_pair_is_fitted_once_on_all_of_it_and_without_each_fold(monkeypatch):
    fits, fit = [], PowerMeanGrid.fit

    def counted(self, kind, parts):
        fits.append(tuple(part.base.tobytes() for part in parts))
        return fit(self, kind, parts)

    monkeypatch.setattr(PowerMeanGrid, "fit", counted)
    together([simulated("signal", n=60)])
    assert len(fits) == len(set(fits)) == 1 + held_out.FOLDS


@pytest.mark.parametrize("names", [PAIRS[:3], PAIRS[2::-1]], ids=["in order", "in another order"])
def test_a_recipe_of_three_language_pairs_states_the_worst_and_names_all(names):
    pairs = [simulated("signal", pair, n=60) for pair in names]
    results = together([changed(pairs[0], human=np.random.default_rng(0).normal(size=60)), *pairs[1:]])
    (chosen,) = results[0].chosen
    verdicts = rows(results, "verdicts", point="elsewhere")
    lowest = min(verdicts, key=lambda row: row["gain"])
    assert lowest["language_pair"] == names[0]
    assert (chosen["verdict"], chosen["gain"].value) == (lowest["verdict"], lowest["gain"])
    assert chosen["partial_r"].how.startswith(f"toy {names[0]}, each chosen on other language pairs")
    assert "the least favourable of 3 verdicts: toy cs-en " in chosen["gain"].how
    for row in verdicts:
        assert f"toy {row['language_pair']} {row['verdict']}, gain {row['gain']:+.4f} [" in chosen["gain"].how


@pytest.mark.parametrize(
    ("labels_and_gains", "stated"),
    [
        pytest.param([(HELPS, 0.03)], 0, id="only one"),
        pytest.param([(HELPS, 0.03), (HELPS, 0.02), (HELPS, 0.05)], 1, id="the lowest gain"),
        pytest.param([(HELPS, 0.01), (NO_GAIN, 0.02)], 1, id="not every pair is helped"),
        pytest.param([(NO_GAIN, -0.01), (TOO_LITTLE, 0.02), (TOO_LITTLE, NAN)], 2, id="an undefined gain"),
        pytest.param([(HURTS, -0.03), (HELPS, 0.02), (TOO_LITTLE, NAN)], 0, id="a loss"),
    ],
)
def test_a_recipe_states_its_least_favourable_verdict(labels_and_gains, stated):
    verdicts = []
    for pair, (label, gain) in zip(PAIRS, labels_and_gains, strict=False):
        named = {"dataset": "toy", "language_pair": pair, "boost": "b", "point": "elsewhere"}
        verdicts.append(Verdict(**named, verdict=label, gain=Estimate(gain, gain - 0.01, gain + 0.01)))
    (fields,) = add_verdicts([{"boost_name": "b"}], verdicts)
    label, gain = labels_and_gains[stated]
    value = None if np.isnan(gain) else gain
    assert (fields["verdict"], fields["gain"].value) == (label, value)
    assert fields["gain"].how.startswith(f"toy {PAIRS[stated]}, ")
    assert fields["gain"].how.count(", gain ") == (len(verdicts) if len(verdicts) > 1 else 0)


def test_the_order_of_settings_and_of_boosts_changes_nothing(shared):
    def everything(settings, names):
        boosts = {name: {"grid": OWN_GRID, "mean": MEAN, "learned": LEARNED}[name] for name in names}
        values_of = {}
        for table in BOOSTS.ROWS:
            for row in rows(together(settings, boosts=boosts), table):
                key = tuple(row.get(name) for name in ("dataset", "language_pair", "boost", "against", "point"))
                values_of[(table, *key)] = [value for value in row.values() if isinstance(value, float)]
        return values_of

    some = shared[1:4]  # two of one data set, and one of the other
    in_order = everything(some, ("grid", "mean", "learned"))
    reversed_order = everything(some[::-1], ("learned", "grid", "mean"))
    assert set(in_order) == set(reversed_order)
    for key, values in in_order.items():
        np.testing.assert_allclose(values, reversed_order[key], rtol=1e-6, atol=1e-9, err_msg=str(key))


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_means_in_parts_choose_as_means_that_are_held(kind, shared, recipe_of, monkeypatch):
    """To 1e-9 of estimates that rest on learners; a segment without an attribution is left out in both."""
    words = shared[2].scores.hypothesis
    values = words.values.copy()
    values[words.offsets[3]] = NAN
    by_role = {**shared[2].scores.by_role, "hypothesis": Ragged(values, words.offsets)}
    scores_of_third = dataclasses.replace(shared[2].scores, by_role=by_role)
    settings = [*shared[:2], dataclasses.replace(shared[2], scores=scores_of_third)]
    boosts = {"grid": OWN_GRID, "wider": PowerMeanGrid(p=PowerRange(-3, 3, 0.5), w=W), "recipe": recipe_of()}
    options = {"boosts": boosts, "draws": 1, "grid": dataclasses.replace(GRID, correlation=kind)}
    held = together(settings, **options)
    monkeypatch.setattr("bmx_grid.measures.means.HELD_CELLS", 0)
    monkeypatch.setattr("bmx_grid.measures.means.PART_CELLS", 40 * 2)
    assert isinstance(OWN_GRID.features(scores_of_third.ground_truth, words), MeansInParts)
    in_parts = together(settings, **options)
    for expected, result in zip(held, in_parts, strict=True):
        assert result.scores.keys() == expected.scores.keys()
        for name, scores in expected.scores.items():
            assert result.scores[name] == pytest.approx(scores, abs=1e-12, nan_ok=True), name
        assert [fields["constants"] for fields in result.chosen] == [fields["constants"] for fields in expected.chosen]
    for table in BOOSTS.ROWS:
        for row, expected in zip(rows(in_parts, table), rows(held, table), strict=True):
            assert row == pytest.approx(expected, abs=1e-9, nan_ok=True)
    points = {(row["boost"], row["point"]) for row in rows(in_parts)}
    assert {("wider", "elsewhere"), ("wider reassigned 1", "cross_fitted"), ("grid", "published")} <= points


@pytest.mark.parametrize("name", ["length", "curve", "combined"])
def test_a_name_that_is_taken_is_refused(name):
    with pytest.raises(ConfigError, match=f"boost.{name}"):
        dataclasses.replace(BOOSTS, boosts={name: MEAN})


def test_boosts_come_from_their_group_and_the_grid_from_the_sweep():
    config = composed("evaluation=[grid,boosts]", "boost=[spread,power_mean_grid]", "grid.p.step=10")
    evaluation = build(config["evaluation"]["boosts"], Evaluation, "evaluation.boosts")
    assert list(evaluation.boosts) == ["spread", "power_mean_grid"]
    assert evaluation.boosts["power_mean_grid"].spec.p == evaluation.grid.spec.p
    assert [bool(evaluation.inapplicable(*counts, [])) for counts in ((1, 0), (2, 0), (1, 1))] == [True, False, False]


@pytest.mark.parametrize(
    ("known", "name", "boost", "way_out"),
    [
        pytest.param("hypothesis", "mean", MEAN, "boost.mean.side=hypothesis", id="a feature"),
        pytest.param(
            "hypothesis", "learned", LEARNED, "boost=[mean] boost.mean.side=hypothesis", id="no side to choose"
        ),
        pytest.param(
            "source",
            "mean",
            dataclasses.replace(MEAN, side="hypothesis"),
            "boost.mean.side=ground_truth",
            id="the source alone",
        ),
        pytest.param(
            "source",
            "grid",
            dataclasses.replace(OWN_GRID, side="hypothesis", shift="none"),
            "boost=[mean] boost.mean.side=ground_truth",
            id="a grid of the source",
        ),
    ],
)
def test_a_boost_of_a_side_without_attributions_names_one_that_can_be_made(known, name, boost, way_out):
    setting = simulated("signal", n=60)
    rows_of_side = setting.scores.by_role[known]
    one_sided = dataclasses.replace(setting.scores, by_role={known: rows_of_side})
    results = together([changed(setting, scores=one_sided)], boosts={name: boost})
    (because,) = [row["because"] for row in rows(results, "verdicts", boost=name, point="none")]
    lacking = "ground truth" if known == "hypothesis" else "hypothesis"
    assert f"boost={name} reads attributions of the {lacking}, and explainer=erasure gives none" in because
    assert because.endswith(f"Choose: {way_out}")
    # and that one can be made
    side = way_out.rpartition("=")[2]
    alternative = MEAN if "boost=[mean]" in way_out else boost
    results = together([changed(setting, scores=one_sided)], boosts={name: dataclasses.replace(alternative, side=side)})
    assert rows(results, "verdicts", boost=name, point="cross_fitted")


def test_levels_are_those_of_the_data_that_a_verdict_is_about():
    named, unnamed = simulated("signal", "de-en", n=60, systems=2), simulated("signal", "cs-en", n=60)
    segments = [dataclasses.replace(segment, system=None) for segment in unnamed.segments.segments]
    without = dataclasses.replace(unnamed.segments, segments=tuple(segments))
    results = together([named, dataclasses.replace(unnamed, segments=without)], boosts={"mean": MEAN})
    levels = {row["language_pair"]: row["named"] for row in rows(results, "verdicts", boost="mean")}
    assert levels == {"de-en": "system", "cs-en": ""}


@pytest.fixture(scope="module")
def two_pairs():
    return [simulated("signal", pair, n=80, systems=2) for pair in ("de-en", "cs-en")]


def estimates(settings):
    """The boosts and verdicts of some settings: labels, and all numbers that are correlations or p values."""
    boosts = {"mean": MEAN, "learned": LEARNED, "spread": FeatureMix(feature="spread", side="hypothesis")}
    results = together(settings, boosts=boosts)
    labels = [row["verdict"] for row in rows(results, "verdicts")]
    numbers = []
    for row in rows(results):
        numbers += [row["gain"], row["low"], row["high"]]
    return labels, np.array(numbers)


@pytest.fixture(scope="module")
def estimates_of_two_pairs(two_pairs):
    return estimates(two_pairs)


@pytest.mark.parametrize(
    ("of_metric", "of_human", "of_attributions"),
    [
        pytest.param(1e-200, 1.0, 1e-200, id="probabilities of sentences, and their differences"),
        pytest.param(1.0, 1e-300, 1.0, id="tiny human scores"),
        pytest.param(1e149, 1e149, 1e100, id="large scores"),
        pytest.param(1e-12, 1e-12, 1e-12, id="scores as small as rounding elsewhere"),
    ],
)
def test_the_scale_of_scores_changes_no_gain_and_no_verdict(
    two_pairs, estimates_of_two_pairs, of_metric, of_human, of_attributions
):
    scaled = []
    for setting in two_pairs:
        by_role = {}
        for role, attributions in setting.scores.by_role.items():
            by_role[role] = Ragged(of_attributions * attributions.values, attributions.offsets)
        base = of_metric * setting.scores.base_scores
        scores = dataclasses.replace(setting.scores, base_scores=base, by_role=by_role)
        scaled.append(changed(setting, human=of_human * setting.segments.human_scores, scores=scores))
    labels, numbers = estimates(scaled)
    assert labels == estimates_of_two_pairs[0]
    # scores in another scale are rounded differently
    np.testing.assert_allclose(numbers, estimates_of_two_pairs[1], rtol=1e-6, atol=1e-8)
