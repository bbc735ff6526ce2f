"""Tests of declared points, of the best point and of metrics against each other, as rows of tables."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from fakes import HashMetric
from some_settings import finished, table_rows

from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.segments import Judgements, SegmentSet
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.evaluations.significance import SignificanceEvaluation, significance_ranks
from bmx_grid.measures.agreement_tests import Scores, compare_agreement
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.measures.multiple_tests import holm
from bmx_grid.measures.resampling import codes
from bmx_grid.measures.system_tests import compare_systems

GRID = GridEvaluation(p=PowerRange(-2, 2, 0.5), w=(0.0, 0.5, 1.0), fixed={"erasure": Point(w=0.5, p=1.0)})
TESTS = ("williams", "perm_both", "perm_inputs", "perm_systems", "bootstrap")
ASKED = SignificanceEvaluation(grid=GRID, tests=TESTS, resamples=200)


def without_systems(setting):
    numbered = enumerate(setting.segments.segments)
    segments = tuple(dataclasses.replace(segment, id=str(row), system=None) for row, segment in numbered)
    return dataclasses.replace(setting, segments=dataclasses.replace(setting.segments, segments=segments))


def with_scores(setting, scores, name):
    known = dataclasses.replace(setting.scores, base_scores=np.asarray(scores, dtype=float), by_role={})
    alone = {"explainer": None, "explainer_name": "none", "boosted": {}}
    return dataclasses.replace(setting, metric_name=name, scores=known, **alone)


def evaluated(settings, evaluation=ASKED):
    """The rows of each setting by table."""
    results = evaluation.evaluate(settings)
    return [{table: table_rows(evaluation, result, table) for table in evaluation.ROWS} for result in results]


def test_each_declared_point_is_compared_with_the_metric_alone_by_each_test():
    setting = finished(60)
    rows = [row for row in evaluated([setting])[0]["tests"] if row.point == "published"]
    assert [row.test for row in rows] == list(TESTS)
    human = setting.segments.human_scores
    boosted, base = setting.boosted["published"], setting.scores.base_scores
    gain = correlate("pearson", boosted, human) - correlate("pearson", base, human)
    for row in rows:
        assert row.difference == pytest.approx(gain, abs=1e-12)
        if row.test in ("perm_both", "perm_systems"):  # two systems are too few to swap
            assert np.isnan(row.p)
            continue
        assert row.low < gain < row.high
        assert 0 < row.p <= 1
        assert (row.n, row.clusters) == (60, 30)  # two systems translate each source
        assert row.resamples == (0 if row.test == "williams" else 200)


def test_the_best_point_is_tested_once_against_the_maximum_over_the_grid():
    result = evaluated([finished(60)])[0]
    (row,) = [row for row in result["tests"] if row.test == "selection_adjusted"]
    grid = GRID.surface(finished(60)).grid
    assert row.point == "best"
    assert row.difference == pytest.approx(grid.best - grid.baseline, abs=1e-12)
    assert (row.n, row.clusters) == (60, 30)


def test_p_values_are_adjusted_within_their_families():
    settings = [finished(40, rng=np.random.default_rng(seed)) for seed in range(5)]
    settings = [dataclasses.replace(setting, explainer_name=f"e{number}") for number, setting in enumerate(settings)]
    rows = [row for result in evaluated(settings) for row in result["tests"]]
    for family in {row.family for row in rows}:
        of_family = [row for row in rows if row.family == family]
        p = np.array([row.p for row in of_family])
        np.testing.assert_allclose([row.p_holm for row in of_family], holm(p))
        tested = np.isfinite(p)
        bh = np.array([row.p_bh for row in of_family])
        np.testing.assert_allclose(bh[tested], scipy.stats.false_discovery_control(p[tested]))
        assert np.isnan(bh[~tested]).all()
        assert family.endswith(f"{np.isfinite(p).sum()} comparisons")


def metrics(n=80, systems=4):
    """A good metric, a copy of it, and noise, on the same segments of several systems."""
    rng = np.random.default_rng(1)
    setting = finished(n, explainer=None)
    human = rng.normal(size=n) + np.repeat(np.arange(n // systems), systems) * 0.01
    old = setting.segments
    segments = tuple(
        dataclasses.replace(segment, id=str(row // systems), system=f"s{row % systems}", source=f"q {row // systems}")
        for row, segment in enumerate(old.segments)
    )
    segments = SegmentSet(old.dataset, old.language_pair, segments, Judgements({"da": human}))
    setting = dataclasses.replace(setting, segments=segments, clusters=[str(row // systems) for row in range(n)])
    good = human + rng.normal(size=n) * 0.5
    return [
        with_scores(setting, good, "good"),
        with_scores(setting, good + rng.normal(size=n) * 1e-3, "copy"),
        with_scores(setting, rng.normal(size=n), "noise"),
    ]


def test_metrics_are_compared_once_per_pair_and_ranked():
    settings = metrics()
    results = evaluated(settings)
    rows = [row for result in results for row in result["tests"] if row.point == "base"]
    segment = [(row.compared, row.against) for row in rows if row.level == "segment" and row.test == "perm_both"]
    assert segment == [("good", "copy"), ("good", "noise"), ("copy", "noise")]
    assert {row.explainer for row in rows} == {"none"}
    for setting, rank in zip(settings, ranking(results), strict=True):
        assert rank.value == correlate("pearson", setting.scores.base_scores, setting.segments.human_scores)


def ranking(results):
    """The ranks of metrics at segment level."""
    return [rank for result in results for rank in result["ranking"] if rank.level == "segment"]


@pytest.mark.parametrize("turn", [1, -1], ids=["in order", "backwards"])
def test_ranks_do_not_depend_on_the_order_of_metrics(turn):
    assert [rank.rank for rank in ranking(evaluated(metrics()[::turn]))] == [1, 1, 2][::turn]


def test_a_test_that_swaps_systems_is_undefined_where_there_is_one_system():
    rows = {row.test: row for row in evaluated([without_systems(finished(40))])[0]["tests"] if row.point == "published"}
    assert np.isfinite(rows["perm_inputs"].p)
    for test in ("perm_systems", "perm_both"):
        assert np.isnan([rows[test].p, rows[test].low, rows[test].high]).all()
        assert rows[test].family.endswith(": 0 comparisons")


def test_at_system_level_whole_systems_are_swapped_and_the_test_is_named_so():
    rows = [row for result in evaluated(metrics()) for row in result["tests"] if row.level == "system"]
    assert {row.test for row in rows} == {"williams", "perm_systems", "bootstrap"}
    assert len(rows) == 3 * len({(row.compared, row.against, row.statistic) for row in rows})
    inputs = dataclasses.replace(ASKED, tests=("perm_inputs",))
    of_inputs = [row for result in evaluated(metrics(), inputs) for row in result["tests"] if row.level == "system"]
    assert [row.p for row in of_inputs] == [row.p for row in rows if row.test == "perm_systems"]
    assert all("perm_systems" in row.family for row in of_inputs)


@pytest.mark.parametrize("unit", ["inputs", "both"])
def test_at_system_level_segments_are_swapped_where_they_are_asked_for(unit):
    """Williams' test stays that of system scores; ranks are those of the tests."""
    settings = metrics()
    asked = dataclasses.replace(ASKED, unit=unit)
    rows = [row for result in evaluated(settings, asked) for row in result["tests"] if row.level == "system"]
    assert {row.test for row in rows} == {"williams", f"perm_{unit}", "bootstrap"}
    good, _, noise = settings
    codes_of = good.codes
    arrays = (good.scores.base_scores, noise.scores.base_scores, good.segments.human_scores)
    labels = (codes_of.systems, codes_of.clusters)
    expected = compare_systems(*arrays, *labels, unit=unit, resamples=200)
    pair = {row.test: row for row in rows if (row.compared, row.against) == ("good", "noise")}
    row = pair[f"perm_{unit}"]
    assert (row.difference, row.low, row.high) == pytest.approx((expected.difference, expected.low, expected.high))
    assert (row.p, pair["bootstrap"].p) == (expected.p, expected.p_bootstrap)
    assert (row.n, row.clusters) == (expected.n, expected.clusters) == (80, 20)
    usual = [row.p for result in evaluated(settings) for row in result["tests"] if row.test == "williams"]
    found = [row.p for result in evaluated(settings, asked) for row in result["tests"] if row.test == "williams"]
    assert np.array_equal(found, usual, equal_nan=True)
    assert ASKED.fingerprint() == dataclasses.replace(ASKED, unit="systems").fingerprint() != asked.fingerprint()


def test_systems_have_the_scores_of_the_segments_that_both_metrics_score():
    settings = metrics()
    for setting, first in ((settings[0], 0), (settings[2], 5)):
        setting.scores.base_scores[first::9] = np.nan
    rows = [row for result in evaluated(settings) for row in result["tests"] if row.level == "system"]
    for left, right in ((0, 2), (0, 1), (1, 2)):
        both = settings[left], settings[right]
        columns = [*(setting.scores.base_scores for setting in both), both[0].segments.human_scores]
        used = np.isfinite(columns).all(axis=0)
        means = pd.DataFrame(np.transpose(columns)[used]).groupby(both[0].codes.systems[used]).mean()
        x, y, human = means.to_numpy().T
        expected = scipy.stats.pearsonr(x, human).statistic - scipy.stats.pearsonr(y, human).statistic
        names = tuple(setting.metric_name for setting in both)
        found = [row for row in rows if (row.compared, row.against) == names]
        assert len(found) == 3
        assert [row.difference for row in found] == pytest.approx([expected] * 3, abs=1e-12)


def test_segments_are_swapped_where_people_scored_whole_systems():
    settings = []
    published = {f"s{place}": place * 0.1 for place in range(4)}
    for setting in metrics():
        judgements = Judgements({"da": np.full(80, np.nan)}, systems={"da": published})
        segments = dataclasses.replace(setting.segments, judgements=judgements)
        settings.append(dataclasses.replace(setting, segments=segments))
    asked = dataclasses.replace(ASKED, unit="both")
    rows = [row for result in evaluated(settings, asked) for row in result["tests"] if row.level == "system"]
    human = np.array([published[name] for name in settings[0].codes.names])[settings[0].codes.systems]
    arrays = (settings[0].scores.base_scores, settings[2].scores.base_scores, human)
    labels = (settings[0].codes.systems, settings[0].codes.clusters)
    expected = compare_systems(*arrays, *labels, unit="both", resamples=200)
    (row,) = [row for row in rows if (row.compared, row.against, row.test) == ("good", "noise", "perm_both")]
    assert row.difference == pytest.approx(expected.difference, abs=1e-12)
    assert row.p == expected.p


def test_a_metric_that_is_better_when_lower_is_turned_before_it_is_compared():
    class Lower(HashMetric):
        higher_is_better = False

    good, _, noise = metrics()
    turned = dataclasses.replace(with_scores(good, -good.scores.base_scores, "lower"), metric=Lower())
    results = evaluated([good, turned, noise])
    (row,) = [r for r in results[0]["tests"] if (r.against, r.level, r.test) == ("lower", "segment", "perm_inputs")]
    assert row.difference == pytest.approx(0, abs=1e-12)
    ranks = ranking(results)
    assert [r.rank for r in ranks] == [1, 1, 2]
    assert ranks[1].value == -ranks[0].value < 0, "signed, as in correlations.parquet"


def test_metrics_and_boosts_are_compared_with_placebos_in_families_of_their_own():
    class Placebo(HashMetric):
        is_placebo = True

    boosted, noise = finished(60), np.random.default_rng(0).normal(size=(3, 60))
    names = ("first placebo", "other", "placebo")
    alone = [with_scores(boosted, scores, name) for scores, name in zip(noise, names, strict=True)]
    placebo = [dataclasses.replace(alone[place], metric=Placebo()) for place in (0, 2)]
    rows = [row for result in evaluated([placebo[0], boosted, alone[1], placebo[1]]) for row in result["tests"]]
    families = {(row.compared, row.against): row.family.partition(",")[0] for row in rows if row.level == "segment"}
    known = [pair for pair in families if "placebo" in pair[1]]
    assert families["hash", "other"] == "segment: metric against metric"
    assert {pair: families[pair] for pair in known} == {
        (name, placebo_name): f"segment: {'boost' if 'at' in name else 'metric'} against placebo"
        for name in ("hash", "other", "hash at published")
        for placebo_name in names[::2]
    }


@pytest.mark.parametrize(
    ("values", "p_of", "ranks"),
    [
        pytest.param([0.5, 0.4, 0.3], {(0, 1): 0.2, (0, 2): 0.01, (1, 2): 0.3}, [1, 1, 2], id="a chain"),
        pytest.param([0.3, 0.5, 0.4], {(0, 1): 0.01, (0, 2): 0.3, (1, 2): 0.2}, [2, 1, 1], id="in any order"),
        pytest.param([0.5, 0.4, 0.3], {(0, 1): 0.01, (0, 2): 0.01, (1, 2): 0.01}, [1, 2, 3], id="all differ"),
        pytest.param([0.5, 0.4, 0.3], {(0, 1): 0.9, (0, 2): 0.9, (1, 2): 0.9}, [1, 1, 1], id="none differs"),
        pytest.param([0.5, np.nan, 0.3], {(0, 2): 0.9}, [1, 0, 1], id="undefined"),
        pytest.param([0.5, 0.4], {(0, 1): np.nan}, [0, 0], id="no p value"),
        pytest.param([0.5, 0.4, 0.3], {(0, 1): np.nan, (0, 2): 0.01, (1, 2): np.nan}, [1, 0, 2], id="one without any"),
        pytest.param([0.4, 0.4], {(0, 1): 1.0}, [1, 1], id="equal"),
    ],
)
def test_metrics_share_a_rank_until_one_differs_from_the_best_of_it(values, p_of, ranks):
    assert significance_ranks(values, p_of) == ranks


@pytest.mark.parametrize("name", ["tests", "statistics"])
def test_nothing_to_test_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name}: choose at least one"):
        dataclasses.replace(ASKED, **{name: ()})


def test_a_large_family_gets_the_resamples_it_needs():
    """With 40 swaps no p is below .024, so that three comparisons could never survive Holm's correction."""
    evaluation = dataclasses.replace(ASKED, tests=("perm_inputs",), resamples=40)
    settings = metrics(160)
    results = evaluated(settings, evaluation)
    rows = {(row.compared, row.against): row for result in results for row in result["tests"] if row.level == "segment"}
    assert rows["good", "noise"].resamples == 240  # 4 times 3 comparisons at .05
    assert rows["good", "noise"].p_holm < 0.05
    assert rows["good", "noise"].seed != evaluation.seed
    quiet = rows["good", "copy"]
    assert quiet.p > 10 / 41 or quiet.resamples == 240


def test_statistics_of_agreement_are_compared_by_item_and_by_system():
    evaluation = dataclasses.replace(ASKED, statistics=("acc_eq", "spa", "pairwise_accuracy"))
    settings = metrics()
    results = evaluated(settings, evaluation)
    rows = [row for result in results for row in result["tests"] if row.point == "base"]
    where = {"acc_eq": ("segment", "item"), "spa": ("system", "none"), "pairwise_accuracy": ("system", "none")}
    assert {row.statistic: (row.level, row.grouping) for row in rows} == where
    assert len(rows) == 3 * 3 * len(TESTS)
    segments = settings[0].segments.segments
    named = [codes([getattr(segment, name) for segment in segments]) for name in ("system", "id")]
    where = (settings[0].segments.human_scores, codes(settings[0].clusters), *named)
    for row in (row for row in rows if (row.compared, row.against) == ("good", "noise")):
        x, y = (setting.scores.base_scores for setting in (settings[0], settings[2]))
        unit = {"perm_both": "both", "perm_systems": "systems"}.get(row.test, "inputs")
        expected = compare_agreement(row.statistic, Scores(x, y, *where), unit=unit, resamples=200)
        p = {"williams": np.nan, "bootstrap": expected.p_bootstrap}.get(row.test, expected.p)
        np.testing.assert_equal((row.difference, row.p, row.low), (expected.difference, p, expected.low))
    assert [row.rank for result in results for row in result["ranking"] if row.statistic == "acc_eq"] == [1, 1, 2]


def test_without_systems_there_is_no_agreement_to_compare():
    evaluation = dataclasses.replace(ASKED, statistics=("spa",))
    settings = [without_systems(setting) for setting in metrics()]
    assert [len(result["tests"]) for result in evaluated(settings, evaluation)] == [0, 0, 0]
