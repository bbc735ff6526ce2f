"""The evaluation of levels: which rows there are, in which direction, and what is undefined and counted."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats
from some_settings import finished, table_rows, translated

from bmx_grid.datasets.segments import Judgements
from bmx_grid.evaluations.levels import LevelsEvaluation
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.words import Ter
from bmx_grid.words.attributions import AttributionSet

LEVELS = LevelsEvaluation(resamples=200)
OF_SYSTEMS = Judgements({"mqm": np.full(120, np.nan)}, systems={"mqm": dict(zip("abcdef", range(6), strict=True))})


def rows_of(setting, evaluation=LEVELS):
    """Rows of correlations by (point, human, level, grouping, statistic), and those of systems."""
    result = evaluation.evaluate([setting])[0]
    keys = ("point", "human", "level", "grouping", "statistic")
    return {
        tuple(getattr(row, key) for key in keys): row for row in table_rows(evaluation, result, "correlations")
    }, result["systems"]


def test_notes_say_where_pairs_were_drawn_and_only_ties_agree():
    rows, _ = rows_of(translated(Chrf(), n_items=250), LevelsEvaluation(resamples=0))
    assert rows["base", "mqm", "segment", "none", "acc_eq"].note == "on 1,000,000 random pairs of 1,124,250"
    assert np.isnan(rows["base", "mqm", "segment", "none", "acc_eq"].low), "no resamples, no interval"
    setting = translated(Chrf())
    equal = dataclasses.replace(setting, scores=AttributionSet(np.full(120, 0.25), {}, setting.scores.statistics))
    row = value(rows_of(equal)[0], "segment", "item", "acc_eq")
    assert row.epsilon == row.value == 0 and "only the share of pairs that people tied" in row.note


def value(rows, level, grouping, statistic):
    return rows["base", "mqm", level, grouping, statistic]


def test_every_level_grouping_and_statistic_has_one_row():
    rows, systems = rows_of(translated(Chrf()))
    correlations = ("pearson", "spearman", "kendall")
    assert [key[2:] for key in rows] == [
        *itertools.product(["segment"], ["none"], [*correlations, "acc_eq"]),
        *itertools.product(["segment"], ["item"], [*correlations, "acc_eq", "pdp"]),
        *itertools.product(["segment"], ["system"], [*correlations, "acc_eq"]),
        *itertools.product(["system"], ["none"], [*correlations, "pairwise_accuracy", "spa"]),
    ]
    assert [row.system for row in systems] == list("abcdef")
    for row in rows.values():
        assert row.low <= row.value <= row.high
        assert (row.n_segments, row.n_systems, row.n_undefined) == (120, 6, 0)
    assert [rows["base", "mqm", "segment", g, "kendall"].n_groups for g in ("none", "item", "system")] == [1, 20, 6]


def test_values_are_scipys():
    setting = translated(Chrf())
    rows, systems = rows_of(setting)
    scores, human = setting.scores.base_scores, setting.segments.human_scores
    assert value(rows, "segment", "none", "kendall").value == pytest.approx(stats.kendalltau(scores, human).statistic)
    scores, human = scores.reshape(6, 20), human.reshape(6, 20)  # system by system
    by_item = [stats.pearsonr(*item).statistic for item in zip(scores.T, human.T, strict=True)]
    assert value(rows, "segment", "item", "pearson").value == pytest.approx(np.mean(by_item))
    by_system = [stats.spearmanr(*system).statistic for system in zip(scores, human, strict=True)]
    assert value(rows, "segment", "system", "spearman").value == pytest.approx(np.mean(by_system))
    assert [row.mean for row in systems] == pytest.approx(scores.mean(axis=1).tolist())
    assert [row.human for row in systems] == pytest.approx(human.mean(axis=1).tolist())
    expected = stats.pearsonr(scores.mean(axis=1), human.mean(axis=1)).statistic
    assert value(rows, "system", "none", "pearson").value == pytest.approx(expected)
    seeds = [rows_of(setting, LevelsEvaluation(resamples=0, seed=seed))[0] for seed in (0, 1)]
    assert len({value(of_seed, "segment", "none", "acc_eq").held_out for of_seed in seeds}) == 2


def test_kendalls_tau_within_documents_is_the_mean_of_scipys():
    """All outputs of a document are one group (IWSLT 2026); segments that name none have no such row."""
    setting = translated(Chrf())
    named = tuple(
        dataclasses.replace(segment, document=f"d{int(segment.id) // 7}") for segment in setting.segments.segments
    )
    setting = dataclasses.replace(setting, segments=dataclasses.replace(setting.segments, segments=named))
    documents = np.array([segment.document for segment in named])
    scores = setting.scores.base_scores
    human = setting.segments.human_scores
    within = [stats.kendalltau(scores[documents == name], human[documents == name])[0] for name in set(documents)]
    row = value(rows_of(setting)[0], "segment", "document", "kendall")
    assert row.value == pytest.approx(np.mean(within), abs=1e-12)
    assert row.low < row.value < row.high
    assert (row.n_groups, row.n_undefined, row.n_segments) == (3, 0, 120)


def test_systems_have_mean_and_corpus_score():
    import sacrebleu

    setting = translated(Ter())
    _, systems = rows_of(setting)
    for row in systems:
        outputs = [output for output in setting.segments.segments if output.system == row.system]
        corpus = sacrebleu.TER().corpus_score(
            [output.hypothesis for output in outputs], [[output.reference for output in outputs]]
        )
        assert row.corpus == pytest.approx(corpus.score / 100, abs=1e-15)
        assert row.n_segments == 20


def test_lower_is_better_turns_agreement_and_keeps_the_sign_of_correlations():
    rows, _ = rows_of(translated(Ter()))
    for statistic in ("pearson", "spearman", "kendall"):
        assert value(rows, "segment", "none", statistic).value < -0.5
        assert value(rows, "system", "none", statistic).high < 0
    assert value(rows, "segment", "item", "acc_eq").value > 0.6
    assert value(rows, "system", "none", "pairwise_accuracy").value > 0.8
    assert value(rows, "system", "none", "spa").value > 0.8


@pytest.mark.parametrize(
    ("setting_of_score", "of_systems", "used"),
    [
        pytest.param("auto", False, "mean", id="people-rated-segments"),
        pytest.param("auto", True, "corpus", id="people-rated-systems"),
        pytest.param("mean", True, "mean", id="means-asked"),
        pytest.param("corpus", False, "corpus", id="corpus-asked"),
    ],
)
def test_which_system_score_is_correlated_is_named(setting_of_score, of_systems, used):
    human = {system: -float(number) + (number % 2) for number, system in enumerate("abcdef")}
    judged = Judgements({"mqm": np.full(120, np.nan)}, systems={"mqm": human}) if of_systems else None
    rows, systems = rows_of(
        translated(Chrf(), judged=judged), LevelsEvaluation(resamples=50, system_score=setting_of_score)
    )
    row = value(rows, "system", "none", "pearson")
    scores = [getattr(system_row, used) for system_row in systems]
    assert row.system_score == used
    assert row.value == pytest.approx(stats.pearsonr(scores, [system_row.human for system_row in systems]).statistic)


def test_a_judgement_of_systems_only_has_no_rows_of_segments_and_no_spa():
    rows, systems = rows_of(translated(Chrf(), judged=OF_SYSTEMS))
    assert {key[2] for key in rows} == {"system"}
    assert np.isnan(value(rows, "system", "none", "spa").value)
    assert value(rows, "system", "none", "spa").n_undefined == 1
    assert "needs human scores of segments" in value(rows, "system", "none", "spa").note
    assert [row.human for row in systems] == [0, 1, 2, 3, 4, 5]
    assert np.isfinite(value(rows, "system", "none", "kendall").low)


BAD = {
    "nobody rated": ({"human": np.full(120, np.nan)}, "all"),
    "judgements constant": ({"human": np.ones(120)}, "correlations"),
    "one system": ({"systems": "a"}, "systems"),
    "two systems": ({"systems": "ab"}, "correlations of systems"),
    "two clusters": ({"n_items": 2}, "intervals"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_undefined_is_nan_and_counted(name):
    settings, undefined = BAD[name]
    rows, _ = rows_of(translated(Chrf(), **settings))
    for (_, _, level, _, statistic), row in rows.items():
        if undefined == "intervals":
            assert np.isnan([row.low, row.high]).all() or statistic == "spa"
            continue
        of_ties = statistic in ("acc_eq", "pairwise_accuracy", "spa")
        expected = {
            "all": True,
            "correlations": not of_ties,
            "systems": level == "system",
            "correlations of systems": level == "system" and not of_ties,
        }[undefined]
        if name in ("one system", "two systems") and row.grouping == "item":
            expected = not (of_ties or statistic == "pdp") or name == "one system"  # two translations are a pair
        assert np.isnan(row.value) == expected, row
        assert (row.n_undefined == row.n_groups) == expected or (row.grouping != "none" and row.n_groups == 0), row
        if level == "system" and name in ("one system", "two systems"):
            assert "fewer than 3 systems" in row.note


def test_rows_without_a_system_among_others_take_no_part_in_groups():
    rows, systems = rows_of(translated(Chrf(), systems=["a", "b", "c", "d", ""]))
    assert value(rows, "segment", "none", "pearson").n_segments == 100
    assert value(rows, "segment", "system", "pearson").n_segments == 80
    assert value(rows, "segment", "system", "pearson").n_groups == 4
    assert value(rows, "system", "none", "pearson").n_systems == 4
    assert [row.system for row in systems] == list("abcd")


def test_unrated_segments_do_not_count_for_system_scores():
    setting = translated(Chrf())
    human = setting.segments.human_scores.copy()
    human[:10] = np.nan
    partly = translated(Chrf(), human=human)
    _, systems = rows_of(partly)
    assert [row.n_segments for row in systems] == [10, 20, 20, 20, 20, 20]
    assert systems[0].mean == pytest.approx(setting.scores.base_scores[10:20].mean())
    sums = setting.scores.statistics[10:20].sum(axis=0)
    assert systems[0].corpus == pytest.approx(float(Chrf().combine(sums)))


def test_scores_of_systems_alone_are_judged_at_system_level():
    setting = translated(Chrf())
    scores_of_systems = {system: -float(number) for number, system in enumerate("abcdef")}
    nothing = AttributionSet(np.full(120, np.nan), {}, systems=scores_of_systems)
    rows, systems = rows_of(dataclasses.replace(setting, scores=nothing))
    row = value(rows, "system", "none", "pearson")
    human = setting.segments.human_scores.reshape(6, 20).mean(axis=1)
    assert row.value == pytest.approx(stats.pearsonr(list(scores_of_systems.values()), human).statistic)
    assert row.low < row.value <= row.high
    assert row.system_score == "corpus"
    assert np.isnan([system_row.mean for system_row in systems]).all()
    assert np.isnan(value(rows, "segment", "none", "kendall").value)


def test_a_segment_that_one_point_lacks_counts_at_the_others():
    setting = finished(60)
    scores, boosted = setting.scores.base_scores, {}
    for lacking in (0, 1, 5):
        boosted[f"lacks {lacking}"] = scores.copy()
        boosted[f"lacks {lacking}"][:lacking] = np.nan
    rows = LEVELS.evaluate([dataclasses.replace(setting, boosted=boosted)])[0]["correlations"]
    kind = ("segment", "none", "pearson")
    n = {row.point: row.n_segments for row in rows if (row.level, row.grouping, row.statistic) == kind}
    assert n == {"base": 60, "lacks 0": 60, "lacks 1": 59, "lacks 5": 55}


@pytest.mark.parametrize("metric", [Chrf(), Ter()], ids=["higher is better", "lower is better"])
def test_systems_are_ranked_by_the_metric_and_by_people(metric):
    """The best system of a clear order has range 1-1; systems that are the same but for noise share a cluster."""
    _, systems = rows_of(translated(metric))
    assert [row.rank for row in systems] == [1, 2, 3, 4, 5, 6]
    assert [row.human_rank for row in systems] == [1, 2, 3, 4, 5, 6]
    for row in systems:
        assert 1 <= row.rank_low <= row.rank <= row.rank_high <= 6
        assert 1 <= row.human_rank_low <= row.human_rank <= row.human_rank_high <= 6
    assert systems[0].rank_cluster == systems[0].human_rank_cluster == 1
    assert systems[-1].rank_cluster > 1


@pytest.mark.parametrize(
    ("settings", "evaluation"),
    [
        pytest.param({"judged": OF_SYSTEMS}, LEVELS, id="people scored whole systems: nothing to draw"),
        pytest.param({}, LevelsEvaluation(resamples=0), id="no resamples"),
        pytest.param({"n_items": 2}, LEVELS, id="two clusters"),
    ],
)
def test_without_resamples_there_are_ranks_and_no_ranges(settings, evaluation):
    _, systems = rows_of(translated(Chrf(), **settings), evaluation)
    assert {row.human_rank_high for row in systems} == {row.human_rank_cluster for row in systems} == {0}
    assert sorted(row.human_rank for row in systems) == [1, 2, 3, 4, 5, 6]
    by_system = "judged" in settings  # the metric's scores come from segments all the same
    assert all((row.rank_high > 0) == by_system for row in systems)


def test_thresholds_say_how_far_apart_systems_are_when_people_agree():
    (result,) = LEVELS.evaluate([translated(Ter(), systems="abcdefgh")])
    rows = {row.probability: row for row in table_rows(LEVELS, result, "thresholds")}
    slope = np.log(4) / rows[0.8].difference
    for probability, row in rows.items():
        assert 1 / (1 + np.exp(-slope * row.difference)) == pytest.approx(probability)
        assert row.low <= row.difference <= row.high
        assert row.probability_low <= probability <= row.probability_high
    system = {row.system: (-row.mean, row.human) for row in result["systems"]}
    agree = [
        (1 + np.sign(x[0] - y[0]) * np.sign(x[1] - y[1])) / 2
        for x, y in itertools.combinations(system.values(), 2)
        if abs(x[0] - y[0]) >= rows[0.6].difference
    ]
    assert (rows[0.6].n_pairs, rows[0.6].n_undefined) == (len(agree), 0)
    assert rows[0.6].observed == pytest.approx(np.mean(agree))


def test_where_people_disagree_with_a_metric_no_difference_is_large_enough():
    disliked = -translated(Chrf()).segments.human_scores
    (result,) = LEVELS.evaluate([translated(Chrf(), human=disliked)])
    assert np.isnan([row.difference for row in table_rows(LEVELS, result, "thresholds")]).all()
    assert not LEVELS.evaluate([translated(Chrf(), systems=[""], n_items=20)])[0]["thresholds"]
