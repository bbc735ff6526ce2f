"""Gains at one point per explainer: how they are counted, what was tested of them, and control settings."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from some_frames import frames
from some_frames import settings as some_settings
from some_tables import peaked, random_surfaces, table

from bmx_grid.analysis import gains as question
from bmx_grid.analysis.base import SweepTables, each_row
from bmx_grid.analysis.gains import gains_without_controls, settings_at_points, summarise
from bmx_grid.analysis.points import declared_points, gains_at_declared_points
from bmx_grid.analysis.questions import analyse_table, to_dict
from bmx_grid.measures.grid import Point

AT = {"fixed": {"lime": Point(0.5, 0.5)}}
GAINS = {("d", pair, "m", "lime"): gain for pair, gain in zip("abcd", (0.1, 0.02, -0.03, 0.01), strict=True)}
SURFACES = {names: peaked(0.5, gain=gain) for names, gain in GAINS.items()}
HOLM = dict(zip(GAINS, (0.01, 0.05, 0.02, 0.051), strict=True))
NAMES = ("d", "a", "m", "lime")


def settings(gains, clusters=None):
    clusters = range(len(gains)) if clusters is None else clusters
    return pd.DataFrame({"cluster": list(map(str, clusters)), "baseline": 0.5, "gain": gains})


def analysis(options=AT, **changes):
    return analyse_table(table(SURFACES), **options, frames={**frames(GAINS, holm=HOLM), **changes})


def test_borders_of_better_and_worse():
    """No gain is worse, as in the paper; 1e-5 is not better; an undefined gain is counted in nothing."""
    gains = {"better": [1.1e-5], "worse": [0.0, -0.0, -1e-9], "unchanged": [1e-5], "undefined": [np.nan]}
    summary = summarise(settings(np.concatenate(list(gains.values()))))
    assert {name: summary[name] for name in gains} == {name: len(values) for name, values in gains.items()}
    assert (summary["n"], summary["positive"]) == (5, 2)


def test_counts_are_tested_by_language_pair_not_by_setting():
    """15 of 18 settings on six language pairs, as the paper counts: the sign test of pairs gives .109, not .004."""
    summary = summarise(settings(np.repeat([0.01] * 5 + [-0.01], 3), np.repeat(list("abcdef"), 3)))
    assert [summary[name] for name in ("better", "n", "clusters", "clusters_better")] == [15, 18, 6, 5]
    assert summary["sign_p"] == pytest.approx(7 / 64)


def test_an_interval_across_settings_needs_three_clusters():
    summaries = [summarise(settings([0.1, 0.2, 0.3, 0.4], names)) for names in ("aabb", "aabc")]
    two, three = ((summary["mean_low"], summary["mean_high"]) for summary in summaries)
    assert np.isnan(two).all()
    reach = 4.302652729911275 * np.sqrt(1.5 * (0.2**2 + 0.05**2 + 0.15**2)) / 4  # residual sums of a, b, c; t of 2
    assert three == pytest.approx((0.25 - reach, 0.25 + reach))


CONTROLS = {
    ("d", "a", "m", "lime"): peaked(-1.0),
    ("d", "a", "m", "random"): peaked(0.5, gain=0.08),
    ("d", "a", "random", "lime"): peaked(-1.0, gain=0.03),
    ("d", "a", "random", "random"): peaked(1.5),
}


def test_controls_are_read_at_the_points_of_real_explainers_and_never_at_their_own():
    analysed = analyse_table(table(CONTROLS))
    controls = to_dict(analysed)["controls"]
    means = {control: {name: row["mean_gain"] for name, row in rows.items()} for control, rows in controls.items()}
    assert means == {
        "random explainer": {"lime": pytest.approx(0.08 - 0.15)},  # 15 steps of 0.01 from its best
        "best of the grid": {"lime": pytest.approx(0.1), "random": pytest.approx(0.08)},  # without the random metric
        "random metric": {"lime": pytest.approx(0.03)},
    }
    assert controls["random explainer"]["lime"]["better"] == 0
    assert [shown.stem for shown in question.tables(analysed.compute_once(question.compute))][-1] == "controls"


def test_gain_against_baseline_is_scipys_and_the_uncoupled_one_is_of_gain_and_mean():
    some = table(random_surfaces(2, pairs=("a", "b", "c"), explainers=("lime", "shap")))
    analysed = analyse_table(some, fixed={name: Point(0.5, 0.5) for name in ("lime", "shap")})
    real, result = analysed.compute_once(gains_without_controls), analysed.compute_once(question.compute)
    for name, rows in {"all": real, "shap": real[real["explainer"] == "shap"]}.items():
        gain, baseline = rows["gain"].to_numpy(), rows["baseline"].to_numpy()
        assert result["gain_baseline_pearson"][name] == pytest.approx(pearsonr(gain, baseline)[0], abs=1e-12)
        mean = baseline + gain / 2
        assert result["gain_baseline_oldham"][name] == pytest.approx(pearsonr(gain, mean)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("gain", "holm", "survives"),
    [
        pytest.param(0.1, 0.05, True, id="at the limit"),
        pytest.param(0.1, 0.0501, False, id="above the limit"),
        pytest.param(-0.1, 0.001, False, id="a loss is no gain"),
        pytest.param(0.0, 0.001, False, id="no gain"),
        pytest.param(0.1, np.nan, False, id="an undefined test"),
    ],
)
def test_a_gain_survives_at_a_corrected_p_of_5_percent(gain, holm, survives):
    analysed = analyse_table(table({NAMES: peaked(0.5, gain=gain)}), **AT, frames=frames({NAMES: gain}, holm=holm))
    (row,) = each_row(analysed.compute_once(gains_at_declared_points))
    assert row.survives == survives
    assert to_dict(analysed)["single_gains"] == {"tested": 1, "survive": survives}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"level": "system"}, id="of systems"),
        pytest.param({"grouping": "item"}, id="of groups"),
        pytest.param({"point": "best"}, id="at another point"),
        pytest.param({"statistic": "kendall"}, id="of another statistic than the grid's, which gains as much"),
        pytest.param({"statistic": "spearman", "difference": 0.2}, id="of another statistic, which gains more"),
        pytest.param({"against": "other"}, id="against another metric"),
    ],
)
def test_other_tests_are_not_those_of_the_gain(change):
    of_setting = some_settings({"metric": "m", "explainer": "lime"}).assign(language_pair="a")
    some = {**frames({NAMES: 0.1}, half=0.02), "settings": of_setting}
    another = some["tests"].assign(low=-9.0, high=9.0, **change)
    for both in ([another, some["tests"]], [some["tests"], another]):
        row = next(each_row(declared_points(SweepTables({**some, "tests": pd.concat(both)}))))
        assert (row.point, row.test) == ("published", "perm_inputs")
        assert (row.low, row.high) == pytest.approx((0.08, 0.12))
    assert declared_points(SweepTables({**some, "tests": another}))["low"].isna().all()
    analysed = analyse_table(table({NAMES: peaked(0.5)}), **AT, frames={**some, "tests": another})
    assert to_dict(analysed)["single_gains"] == {"tested": 0, "survive": 0}
    twice = pd.concat([some["points"], some["points"].assign(gain=9.0)])  # by the primary judgement and another one
    assert declared_points(SweepTables({**some, "points": twice}))["gain"].max() == 0.1


def test_a_gain_and_its_test_are_joined_by_key_however_far_their_digits_are_apart():
    """A table of tests without a table of settings has one statistic: that of the grid."""
    some = frames({NAMES: 0.1}, half=0.02)
    rounded = some["tests"].assign(difference=some["tests"]["difference"] + 1e-5)
    (row, _) = each_row(declared_points(SweepTables({**some, "tests": rounded})))
    assert (row.gain, row.low) == pytest.approx((0.1, 0.08))
    other = rounded.assign(statistic="kendall")
    (row, _) = each_row(declared_points(SweepTables({**some, "tests": pd.concat([rounded, other])})))
    assert np.isnan(row.low), "of two statistics it is not known which is the grid's"


def test_the_gain_of_a_setting_is_that_of_its_declared_point_to_the_last_digit():
    some = frames({NAMES: 0.1})
    exact = np.nextafter(0.1, 1)
    some["points"]["gain"] = some["points"]["gain"].replace(0.1, exact)
    (gain,) = analyse_table(table({NAMES: peaked(0.5)}), **AT, frames=some).compute_once(settings_at_points)[
        "fixed_gain"
    ]
    assert gain == exact
    another = analyse_table(table({NAMES: peaked(0.5)}), fixed={"lime": Point(0.6, 0.5)}, frames=some)
    (gain,) = another.compute_once(settings_at_points)["fixed_gain"]
    assert gain == pytest.approx(0.09), "at another point it is that of the grid"


def test_intervals_at_the_fixed_points_are_those_of_the_same_point_only():
    same, other = analysis(), analysis({"fixed": {"lime": Point(0.6, 0.5)}})
    assert same.compute_once(settings_at_points)["fixed_gain_low"].notna().all()
    assert (
        other.compute_once(settings_at_points)["fixed_gain_low"].isna().all()
        and not other.compute_once(settings_at_points)["survives"].any()
    )
    numbers = to_dict(same)["settings"]["d · a · m · lime"]
    assert (numbers["fixed_gain_low"], numbers["fixed_gain_high"]) == pytest.approx((0.09, 0.11))
    assert (numbers["fixed_gain_p"], numbers["fixed_gain_p_holm"]) == pytest.approx((0.001, 0.01))


def test_the_power_matters_unless_it_is_the_metric_alone():
    points = frames(GAINS)["points"].assign(p=-7.0)
    for w, same in ((1.0, True), (0.5, False)):
        analysed = analysis({"fixed": {"lime": Point(0.5, 1.0)}}, points=points.assign(w=w))
        assert analysed.compute_once(settings_at_points)["fixed_gain_low"].notna().tolist() == [same] * len(GAINS)


def rows_of(analysis, stem):
    (shown_table,) = [shown for shown in analysis.tables() if shown.stem == stem]
    assert any("survives Holm's" in note for note in shown_table.notes)
    return [dict(zip(shown_table.header, row, strict=True)) for row in shown_table.rows]


def test_only_gains_that_survive_are_marked_and_undefined_ones_left_out():
    some = frames(GAINS, holm=HOLM)
    some["points"].loc[some["points"]["language_pair"] == "d", "gain"] = np.nan
    analysis = analyse_table(table(SURFACES), **AT, frames=some)
    tested = [
        (row["language pair"].value, row["gain at the point"].marked) for row in rows_of(analysis, "tested_gains")
    ]
    assert tested == [("a", True), ("b", True), ("c", False)]
    assert [row["gain at published point"].marked for row in rows_of(analysis, "settings")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_spread_over_seeds_stands_beside_the_interval():
    known = {"dataset": "d", "metric": "m", "explainer": "lime"}
    rows = [
        {**known, "language_pair": pair, "seed": seed, "point": point, "gain": gain if point == "published" else 9.0}
        for pair, gains in (("a", (0.09, 0.10, 0.11)), ("b", (0.02, 0.02, 0.05)))
        for seed, gain in enumerate(gains)
        for point in ("published", "best")
    ]
    beside = frames(GAINS, holm=HOLM)
    analysis = analyse_table(table(SURFACES), **AT, frames={**beside, "seeds": pd.DataFrame(rows)})
    shown = {
        row["language pair"].value: [row[name].display_text for name in ("lowest", "highest")]
        for row in rows_of(analysis, "tested_gains")
    }
    assert shown["b"] == ["+0.0200", "+0.0500"] and shown["c"] == ["n/a"] * 2
