"""Metrics over tasks, systems by people and outliers, against plain loops."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats
from some_settings import translated

from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.segments import Judgements
from bmx_grid.guests.tasks.tasks import TasksEvaluation
from bmx_grid.measures.agreement_tests import Scores, drawn_agreement
from bmx_grid.measures.systems import ranges_by_wins
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.random_scores import RandomMetric
from bmx_grid.words.attributions import AttributionSet

TASKS = TasksEvaluation(weights={}, resamples=60)
PAIRS = ("de-en", "fr-en")


def named(setting, metric):
    object.__setattr__(setting, "metric_name", metric)
    return setting


def settings():
    return [named(translated(Chrf()), "chrf"), named(translated(RandomMetric(ground_truth="reference")), "random")]


@pytest.mark.parametrize("weight", [1.0, 3.0], ids=["equal weights", "one statistic counts three times"])
def test_the_mean_over_tasks_is_that_of_each_task(weight):
    results = dataclasses.replace(TASKS, weights={"spa": weight, "de-en": 2.0}).evaluate(settings())
    rows = [result["task_ranking"][0] for result in results]
    scores = [setting.scores.base_scores for setting in settings()]
    segments = settings()[0].segments
    item = np.unique([segment.id for segment in segments.segments], return_inverse=True)[1]
    system = np.unique([segment.system for segment in segments.segments], return_inverse=True)[1]
    means = []
    for statistic in ("spa", "acc_eq"):
        both = Scores(*scores, segments.human_scores, item, system, item)
        means.append(drawn_agreement(statistic, both, resamples=60)[:2])
    assert [row.value for row in rows] == pytest.approx(
        np.average(means, axis=0, weights=[weight, 1]).tolist(), abs=1e-9
    )
    assert [row.rank for row in rows] == [1, 2], "chrF follows the words that people like"
    assert (rows[0].n_tasks, rows[0].n_left_out, rows[0].tasks) == (2, 0, "toy de-en spa, toy de-en acc_eq")


def test_a_task_without_any_value_is_none():
    human = np.full(120, np.nan)
    results = TASKS.evaluate([named(translated(Chrf(), human=human), "a"), named(translated(Chrf(), human=human), "b")])
    assert not any("task_ranking" in result for result in results)
    assert {row.rank_high for row in results[0]["human_ranking"]} == {0}


def of_pair(metric, name, language_pair="de-en", *, scored=True):
    """A metric of a language pair; without scores of segments, where it is not scored."""
    setting = named(translated(metric), name)
    if not scored:
        setting = dataclasses.replace(setting, scores=AttributionSet(np.full(120, np.nan), {}))
    return dataclasses.replace(setting, segments=dataclasses.replace(setting.segments, language_pair=language_pair))


def test_a_metric_that_lacks_a_task_is_left_out_and_no_task_is():
    """As AverageCorrs of mt-metrics-eval: the others keep the mean and the rank that they have without it."""
    random = RandomMetric(ground_truth="reference")
    others = [of_pair(metric, name, pair) for metric, name in ((Chrf(), "a"), (random, "b")) for pair in PAIRS]
    lacking = [of_pair(Chrf(), "one pair"), of_pair(Chrf(), "no segments", scored=False)]
    lacking.append(of_pair(Chrf(), "no segments", "fr-en", scored=False))

    def ranking(settings_of_pairs):
        ranks = {}
        results = TASKS.evaluate(settings_of_pairs)
        for setting, result in zip(settings_of_pairs, results, strict=True):
            for row in result.get("task_ranking", []):
                ranks[setting.metric_name] = (row.value, row.rank, row.n_tasks, row.n_left_out)
        return ranks

    expected = ranking(others)
    assert expected.keys() == {"a", "b"} and {n_tasks for *_, n_tasks, _ in expected.values()} == {4}
    assert ranking([*lacking, *others]) == expected
    alone = ranking([*lacking, *others[:2]])
    assert alone == {"a": (expected["a"][0], 1, 4, 0)}, "a single metric that has all tasks is the first"


def test_wins_and_ranges_are_those_of_wilcoxons_tests():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 5)) + np.array([1.5, 1.4, 0.7, 0.0, np.nan])
    scores[3, 1] = np.nan
    wins, losses = np.zeros(5), np.zeros(5)
    for better, worse in itertools.permutations(range(4), 2):
        both = np.isfinite(scores[:, [better, worse]]).all(axis=1)
        if stats.wilcoxon(scores[both, better], scores[both, worse], alternative="greater").pvalue < 0.05:
            wins[better] += 1
            losses[worse] += 1
    ranges = ranges_by_wins(scores)
    assert ranges[0].tolist() == wins.tolist()
    assert ranges[1].tolist() == losses.tolist()
    assert ranges[2].tolist() == [1 + loss for loss in losses[:4]] + [0]
    assert ranges[3].tolist() == [4 - win for win in wins[:4]] + [0]
    assert ranges[4].tolist() == [1, 1, 2, 3, 0]


def test_metrics_are_correlated_without_outliers_as_well():
    setting = translated(Chrf(), human=np.repeat([0.0, -0.1, -0.2, -0.3, -3.0, -9.0], 20))
    row = TASKS.evaluate([setting])[0]["outliers"][0]
    means = setting.scores.base_scores.reshape(6, 20).mean(axis=1)
    human = np.array([0.0, -0.1, -0.2, -0.3, -3.0, -9.0])
    assert (row.systems, row.n_systems, row.n_outliers) == ("e, f", 6, 2)
    assert row.pearson == pytest.approx(stats.pearsonr(means, human)[0])
    assert row.pearson_without == pytest.approx(stats.pearsonr(means[:4], human[:4])[0])


def test_a_weight_below_0_is_refused():
    with pytest.raises(ConfigError, match="weights.spa is -1.0; write a number of 0 or more"):
        dataclasses.replace(TASKS, weights={"spa": -1.0})


def of_documents(metric):
    """Two systems' worth of documents of four segments each, and a pair of languages with other systems."""
    setting = translated(metric, systems="abcd")
    segments = [
        dataclasses.replace(segment, document=f"d{int(segment.id) // 4}") for segment in setting.segments.segments
    ]
    return dataclasses.replace(setting, segments=dataclasses.replace(setting.segments, segments=tuple(segments)))


def test_correlations_of_segments_systems_and_documents_are_those_of_scipy():
    statistics = ("pearson", "system_pearson", "document_kendall", "pairwise_accuracy")
    two = [named(of_documents(Chrf()), "chrf"), named(of_documents(RandomMetric(ground_truth="reference")), "random")]
    results = dataclasses.replace(TASKS, statistics=statistics).evaluate(two)
    for setting, result in zip(two, results, strict=True):
        scores = setting.scores.base_scores
        human = setting.segments.human_scores
        documents = np.array([segment.document for segment in setting.segments.segments])
        of_systems = scores.reshape(4, 20).mean(axis=1), human.reshape(4, 20).mean(axis=1)
        within = [stats.kendalltau(scores[documents == name], human[documents == name])[0] for name in set(documents)]
        orders = [[np.sign(x - y) for x, y in itertools.combinations(means, 2)] for means in of_systems]
        agree = np.equal(*orders)
        expected = [stats.pearsonr(scores, human)[0], stats.pearsonr(*of_systems)[0], np.mean(within), np.mean(agree)]
        values = {row.statistic: row.value for row in result["task_scores"]}
        assert list(values) == list(statistics)
        assert list(values.values()) == pytest.approx(expected, abs=1e-9)
        shares = [(1 + value) / 2 for value in expected[:3]] + expected[3:]
        assert result["task_ranking"][0].value == pytest.approx(np.mean(shares), abs=1e-9)


def test_pooled_pairs_of_systems_count_once_in_all_language_pairs():
    """Six systems have 15 pairs, three have 3: the mean is that of 18 pairs, and weighs as two tasks."""
    settings_of_pairs = []
    for metric in (Chrf(), RandomMetric(ground_truth="reference")):
        many = translated(metric)
        few = translated(metric, systems="abc")
        few = dataclasses.replace(few, segments=dataclasses.replace(few.segments, language_pair="fr-en"))
        settings_of_pairs += [named(many, type(metric).__name__), named(few, type(metric).__name__)]
    tasks = dataclasses.replace(TASKS, statistics=("pairwise_accuracy", "acc_eq"), pooled=("pairwise_accuracy",))
    rows = [row for result in tasks.evaluate(settings_of_pairs) for row in result.get("task_scores", [])]
    weights = {(row.language_pair, row.statistic): row.weight for row in rows}
    assert weights == pytest.approx(
        {("de-en", "pairwise_accuracy"): 2 * 15 / 18, ("fr-en", "pairwise_accuracy"): 2 * 3 / 18}
        | {(pair, "acc_eq"): 1.0 for pair in ("de-en", "fr-en")}
    )


def rated_by(ratings):
    """chrF and random scores of 120 segments, whose primary human score is the mean of these ratings."""
    with np.errstate(invalid="ignore"):
        human = np.nanmean(ratings, axis=1)
    made = []
    for setting in settings():
        judgements = Judgements({"da": human}, raters={"da": ratings})
        segments = dataclasses.replace(setting.segments, judgements=judgements)
        made.append(dataclasses.replace(setting, segments=segments))
    return [named(setting, name) for setting, name in zip(made, ("chrf", "random"), strict=True)]


def raters(n, seed=0):
    rng = np.random.default_rng(seed)
    quality = settings()[0].segments.human_scores
    ratings = quality[:, None] / quality.std() + rng.normal(size=(len(quality), n))
    # Not everybody rated everything.
    ratings[:30, 0] = np.nan
    return ratings


RATED = TasksEvaluation(weights={}, resamples=60, statistics=("pearson",), raters=True)


def rows_of(results, table):
    return {row.metric: row for result in results for row in result.get(table, [])}


def test_a_rater_is_judged_by_the_mean_of_the_others_and_never_by_itself():
    ratings = raters(3)
    rows = rows_of(RATED.evaluate(rated_by(ratings)), "task_scores")
    assert set(rows) == {"chrf", "random", "human_rater_1", "human_rater_2", "human_rater_3"}
    for number in range(3):
        others = np.delete(ratings, number, axis=1)
        mean = [np.mean(row[np.isfinite(row)]) for row in others]
        known = np.isfinite(ratings[:, number])
        expected = stats.pearsonr(ratings[known, number], np.array(mean)[known])[0]
        assert rows[f"human_rater_{number + 1}"].value == pytest.approx(expected)
    without = rows_of(dataclasses.replace(RATED, raters=False).evaluate(rated_by(ratings)), "task_scores")
    assert without == {name: rows[name] for name in ("chrf", "random")}, "metrics are judged by all raters"


def test_a_metric_is_tested_against_a_rater_on_the_mean_of_the_others():
    """A metric that repeats a rater does not differ from it, although all raters together, of whom it is one, favour
    it."""
    ratings = raters(3)
    ratings[:30, 0] = ratings[:30, 1]
    copy, random = rated_by(ratings)
    copy = named(dataclasses.replace(copy, scores=AttributionSet(ratings[:, 0].copy(), {})), "chrf")
    ranks = rows_of(RATED.evaluate([copy, random]), "task_ranking")
    assert ranks["chrf"].value > ranks["human_rater_1"].value
    assert max(rank.rank for rank in ranks.values()) == ranks["random"].rank > ranks["human_rater_1"].rank
    task = RATED.evaluate_scope([copy, random])[0]["tasks"][0]
    drawn = task.resample_difference("chrf", "human_rater_1", 60, 0)
    expected = stats.pearsonr(ratings[:, 0], ratings[:, 1:].mean(axis=1))[0]
    assert (drawn.x, drawn.y) == pytest.approx(((1 + expected) / 2, (1 + expected) / 2))
    assert RATED._p_of(("chrf", "human_rater_1", [task.select_metrics("chrf", "human_rater_1")])) == 1


def test_two_raters_are_not_tested_against_each_other_and_one_is_no_rater():
    ranks = rows_of(RATED.evaluate(rated_by(raters(2))), "task_ranking")
    assert set(ranks) == {"chrf", "random", "human_rater_1", "human_rater_2"}
    task = RATED.evaluate_scope(rated_by(raters(2)))[0]["tasks"][0]
    assert np.isnan(task.resample_difference("human_rater_1", "human_rater_2", 60, 0).x)
    alone = raters(1)
    alone[:30, 0] = 0.0
    assert set(rows_of(RATED.evaluate(rated_by(alone)), "task_scores")) == {"chrf", "random"}
    of_systems = dataclasses.replace(RATED, statistics=("system_pearson", "pearson"))
    results = of_systems.evaluate(rated_by(raters(3)))
    assert set(rows_of(results, "task_ranking")) == {"chrf", "random"}, "a rater has no task of systems"
