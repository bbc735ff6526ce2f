"""What is established: each number of the sentences against hand values, and what is said where nothing was tested."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from some_frames import frames
from some_tables import flat, peaked, rows, table

from bmx_grid.analysis import beside, ceiling, established, judged, said, settings, tested
from bmx_grid.analysis.as_json import plain
from bmx_grid.analysis.frames import frames_beside, frames_of
from bmx_grid.analysis.given import Given, Options, Point
from bmx_grid.analysis.load import load_table
from bmx_grid.analysis.run import analyse

AT = Options(fixed={"lime": Point(0.5, 0.5)})
GAINS = {("d", pair, "m", "lime"): gain for pair, gain in zip("abcd", (0.1, 0.02, -0.03, 0.01), strict=True)}
SURFACES = {names: peaked(0.5, gain=gain) for names, gain in GAINS.items()}
HOLM = dict(zip(GAINS, (0.01, 0.05, 0.02, 0.051), strict=True))


def named(made, stem):
    (found,) = [one for one in made if one.stem == stem]
    return found


def cells(made):
    return [dict(zip(made.header, row, strict=True)) for row in made.rows]


def analysis(**changes):
    return analyse(table(SURFACES), AT, frames=frames(GAINS, **{"holm": HOLM, **changes}))


def test_one_sentence_per_explainer_says_what_is_established():
    found = analysis(length=0.08, beyond=0.004).ask(established.compute)
    (sentence,) = found.established_in_words
    one = found.established["lime"]
    assert sentence == (
        "lime (at w 0.5, p 0.5, as published): verdict at this point: length (m); the mean gain over 4 settings is "
        f"+0.0250 [{one.gains.mean_low:+.4f}, {one.gains.mean_high:+.4f}] on 4 clusters (data set x language "
        "pair; Student's t); "
        "2 of 4 single gains (and 1 loss) survive Holm's correction (perm_inputs); "
        "placebos gain: length alone +0.0800 [+0.0800, +0.0800], attributions of another segment +0.0200 [+0.0200, "
        "+0.0200]; beyond length +0.0040 [+0.0040, +0.0040]; "
        "the best of the grid gains +0.0200 on the segments it is chosen on, and chosen on half of the clusters "
        "+0.0010 on the other half: selection hides +0.0190 [+0.0190, +0.0190]."
    )


@pytest.mark.parametrize(
    ("gain", "holm", "survives", "lost"),
    [
        pytest.param(0.1, 0.05, True, False, id="at the limit"),
        pytest.param(0.1, 0.0501, False, False, id="above the limit"),
        pytest.param(-0.1, 0.001, False, True, id="a loss is no gain"),
        pytest.param(0.0, 0.001, False, False, id="no gain"),
        pytest.param(0.1, np.nan, False, False, id="an undefined test"),
    ],
)
def test_what_survives(gain, holm, survives, lost):
    names = ("d", "a", "m", "lime")
    given = Given(table({names: peaked(0.5, gain=gain)}), AT, frames=frames({names: gain}, holm=holm))
    found = given.ask(tested.declared)
    assert (found.survives.tolist(), found.lost.tolist()) == ([survives], [lost])
    one = tested.gains_with_intervals(given.frames)[names]
    assert (one.survives, one.lost) == (survives, lost)


def test_the_interval_of_a_gain_is_that_of_the_published_point_whatever_else_was_tested():
    names = ("d", "a", "m", "lime")
    some = frames({names: 0.1}, half=0.02)
    for frame in (some["tests"], some["tests"].iloc[::-1]):
        found = tested.gains_with_intervals({**some, "tests": frame})[names]
        assert (found.low, found.high) == pytest.approx((0.08, 0.12))


@pytest.mark.parametrize("change", [{"level": "system"}, {"grouping": "item"}, {"point": "best"}], ids=str)
def test_tests_of_systems_of_groups_and_of_other_points_are_not_those_of_the_gain(change):
    names = ("d", "a", "m", "lime")
    some = frames({names: 0.1}, half=0.02)
    another = some["tests"].assign(low=-9.0, high=9.0, **change)
    found = tested.gains_with_intervals({**some, "tests": pd.concat([another, some["tests"]])})[names]
    assert (found.low, found.high) == pytest.approx((0.08, 0.12))


def test_an_interval_of_another_statistic_does_not_stand_beside_the_gain():
    names = ("d", "a", "m", "lime")
    some = frames({names: 0.1}, holm=0.01)
    assert tested.gains_with_intervals(some)[names].survives
    some["tests"]["difference"] = 0.2  # of Pearson's r, where the grid has Kendall's tau
    assert tested.gains_with_intervals(some) == {}
    found = Given(table({names: peaked(0.5, gain=0.1)}), AT, frames=some).ask(tested.declared)
    assert np.isnan([*found.low, *found.p_holm]).all()


def test_the_mean_gain_is_bounded_by_clusters_not_by_settings():
    """Four metrics on three language pairs are three clusters: copies of a setting leave the interval as it is."""
    gains = {("d", pair, "m1", "lime"): gain for pair, gain in zip("abc", (0.01, 0.02, 0.06), strict=True)}
    copied = {(d, pair, metric, e): gain for (d, pair, _, e), gain in gains.items() for metric in ("m1", "m2", "m3")}
    found = []
    for each in (gains, copied):
        surfaces = {names: peaked(0.5, gain=gain) for names, gain in each.items()}
        one = analyse(table(surfaces), AT, frames=frames(each)).ask(established.compute).established["lime"].gains
        assert (one.n, one.clusters) == (len(each), 3)
        found.append((one.mean_gain, one.mean_low, one.mean_high))
    assert found[0] == pytest.approx(found[1])
    assert found[0][1] < 0.03 < found[0][2]


def test_without_tables_the_sentences_say_that_nothing_was_tested_and_what_to_run():
    found = analyse(table(SURFACES), AT).ask(established.compute)
    first, last = found.established_in_words
    assert first.startswith("lime (at w 0.5, p 0.5, as fixed here): the mean gain over 4 settings is +0.0250 [")
    assert last.startswith("Nothing was tested: no interval or test of a single gain")
    assert "evaluation=[grid,levels,significance,placebos]" in last
    (made,) = established.tables(found)
    assert cells(made)[0]["gains"].shown == "not tested"


def test_a_missing_table_is_named_with_its_evaluation():
    some = {name: one for name, one in frames(GAINS).items() if name not in ("placebos", "verdicts")}
    found = analyse(table(SURFACES), AT, frames=some).ask(established.compute)
    assert found.established_in_words[-1] == (
        "Not known here: placebos.parquet is not beside the grid; a sweep with the evaluation placebos writes it."
    )
    assert "placebos gain" not in found.established_in_words[0]


@pytest.mark.parametrize(
    "missing", [pytest.param(("placebos", "verdicts"), id="placebos"), pytest.param(("selection",), id="selection")]
)
def test_placebos_or_selection_are_shown_in_brief_without_the_other(missing):
    some = {name: one for name, one in frames(GAINS).items() if name not in missing}
    made = established.tables(analyse(table(SURFACES), AT, frames=some).ask(established.compute))
    assert named(made, "placebos").brief and named(made, "established").brief


def test_an_explainer_without_a_published_point_is_judged_at_points_chosen_elsewhere():
    some = frames(GAINS)
    for name in ("points", "tests", "placebos"):
        some[name] = some[name][some[name]["point"] == "elsewhere"]
    some["points"]["w"] = [0.0, 0.5, 0.5, 0.5]
    found = analyse(table(SURFACES), frames=some).ask(established.compute)
    assert found.established_in_words[0].startswith("lime (at points chosen on the other language pairs): verdict")
    assert found.established["lime"].gains.mean_gain == pytest.approx(0.024)


@pytest.mark.parametrize(
    ("fixed", "w_of_settings", "shown"),
    [
        pytest.param(AT.fixed, [0.5] * 4, ["0.5", "0.5"], id="one point"),
        pytest.param({}, [0.0, 0.5, 0.5, 0.5], ["varies", "varies"], id="another w for one setting"),
        pytest.param({"lime": Point(9.0, 0.5)}, None, ["no point", "no point"], id="outside the grid"),
    ],
)
def test_the_point_of_an_explainer_is_shown_or_why_there_is_none(fixed, w_of_settings, shown):
    some = {} if w_of_settings is None else frames(GAINS)
    if some:
        some["points"] = some["points"][some["points"]["point"] == "elsewhere"].assign(w=w_of_settings)
    found = analyse(table(SURFACES), Options(fixed=fixed), frames=some).ask(established.compute)
    (row,) = cells(named(established.tables(found), "established"))
    assert [row[name].shown for name in ("w", "p")] == shown


def test_intervals_at_the_fixed_points_are_those_of_the_same_point_only():
    same, other = analysis(), analyse(table(SURFACES), Options(fixed={"lime": Point(0.6, 0.5)}), frames=frames(GAINS))
    assert np.isfinite(same.ask(tested.at_fixed).low).all()
    assert np.isnan(other.ask(tested.at_fixed).low).all()
    assert not other.ask(settings.compute).survives.any()
    numbers = plain(same)["settings"]["d · a · m · lime"]
    assert (numbers["fixed_gain_low"], numbers["fixed_gain_high"]) == pytest.approx((0.09, 0.11))
    assert (numbers["fixed_gain_p"], numbers["fixed_gain_p_holm"]) == pytest.approx((0.001, 0.01))


def test_only_gains_that_survive_are_marked():
    made = analysis().tables()
    marked = [
        (one.stem, row[1].shown if one.stem.startswith("results") else row[1].value, cell.shown)
        for one in made
        for row in one.rows
        for cell in row
        if cell.marked
    ]
    assert sorted(marked) == [
        *[("results_d", "a", "+0.1000 [+0.0900, +0.1100]"), ("results_d", "b", "+0.0200 [+0.0100, +0.0300]")],
        *[("tested_gains", "a", "+0.1000"), ("tested_gains", "b", "+0.0200")],
    ]
    for stem in ("results_d", "tested_gains"):
        assert any("survives Holm's correction" in note for note in named(made, stem).notes)


def test_controls_take_no_part():
    gains = {**GAINS, ("d", "a", "m", "random"): 0.3, ("d", "a", "random", "lime"): 0.3}
    surfaces = {names: peaked(0.5, gain=gain) for names, gain in gains.items()}
    found = analyse(table(surfaces), AT, frames=frames(gains)).ask(established.compute)
    assert set(found.established) == {"lime"}
    assert found.established["lime"].gains.n == 4


def test_selection_compares_the_same_settings():
    some = frames(GAINS, best=0.05, crossed=0.01)
    some["selection"].loc[0, "cross_fitted_gain"] = np.nan
    some["selection"].loc[0, "best_gain"] = 9.0
    found = analyse(table(SURFACES), AT, frames=some).ask(established.compute)
    one = found.established["lime"]
    kept = (one.split_half_gain.n, one.best_gain, one.split_half_gain.mean, one.hidden.mean)
    assert kept == (3, pytest.approx(0.05), pytest.approx(0.01), pytest.approx(0.04))
    assert found.established_in_words[0].endswith(" (3 settings)."), "one setting less than the gain has"


def test_tables_beside_a_grid_are_read_and_those_of_another_grid_are_not(tmp_path):
    pq.write_table(rows(SURFACES), tmp_path / "grid.parquet")
    for name, frame in frames(GAINS).items():
        made = pa.Table.from_pandas(frame)
        column = made.column("dataset").dictionary_encode()
        pq.write_table(made.set_column(0, "dataset", column), tmp_path / f"{name}.parquet")
    (tmp_path / "seeds.parquet").write_bytes(b"PAR1 damaged")
    found = load_table(tmp_path)
    assert frames_beside(found) == {}, "no settings.parquet: nothing says that these files belong together"
    beside = {
        **{name: [one[at] for one in GAINS] for at, name in enumerate(("dataset", "language_pair", "metric"))},
        **{"explainer": ["lime"] * 4, "correlation": ["pearson"] * 4, "aggregation": ["PowerMean"] * 4},
        **{"baseline": [0.5] * 4, "n_segments": [500] * 4, "n_used": [500] * 4},
    }
    pq.write_table(pa.table(beside), tmp_path / "settings.parquet")
    of_pairs = pa.table({name: ["a"] for name in ("dataset", "language_pair", "human")})
    pq.write_table(of_pairs, tmp_path / "ceilings.parquet")
    pq.write_table(of_pairs.select(["dataset", "human"]), tmp_path / "ranks.parquet")
    known = frames_beside(found)
    assert set(known) == {*frames(GAINS), "ceilings"}, "a table of language pairs has no metric"
    assert known["tests"]["dataset"].tolist() == frames(GAINS)["tests"]["dataset"].tolist()
    told = analyse(found, AT, frames=known).ask(established.compute).established_in_words
    assert told == analyse(table(SURFACES), AT, frames=frames(GAINS)).ask(established.compute).established_in_words
    pq.write_table(pa.table({**beside, "baseline": [0.4] * 4}), tmp_path / "settings.parquet")
    assert frames_beside(found) == {}


def test_large_tables_are_left_to_the_user(monkeypatch):
    monkeypatch.setattr("bmx_grid.analysis.frames.MOST_ROWS", 3)
    made = {"points": pa.table({"w": [1.0] * 3}), "scores": pa.table({"base": [1.0] * 4}), "grid": pa.table({"p": [0]})}
    assert set(frames_of(made)) == {"points"}


def test_the_ceiling_is_shown_beside_correlations_where_raters_are_published():
    known = pd.DataFrame(
        {
            **{"dataset": ["d", "d", "other"], "language_pair": ["a", "a", "a"], "human": ["z_mean", "hter", "z"]},
            **{"raters": [3.0, 1.0, 3.0], "reliability": [0.64, 0.25, 0.1], "ceiling": [0.8, 0.5, 0.3]},
        }
    )
    whole = analyse(table(SURFACES), AT, frames={"ceilings": known})
    assert whole.ask(ceiling.compute).ceilings_by_pair == {("d", "a"): 0.8}
    made = whole.tables()
    found = cells(named(made, "results_d"))
    assert [row["ceiling"].shown for row in found] == ["0.8000", "n/a", "n/a", "n/a", ""]
    assert any("ICC(1,k)" in note for note in named(made, "results_d").notes)
    assert [row["reliability ICC(1,k)"].shown for row in cells(named(made, "ceilings"))] == ["0.640", "0.250"]
    assert named(made, "ceilings").names == 3
    without = analyse(table(SURFACES), AT).tables()
    assert "ceiling" not in named(without, "results_d").header
    assert "ceilings" not in [one.stem for one in without]


def test_settings_nothing_improves_have_a_zero_mean_and_no_sign_test():
    found = analyse(table({("d", pair, "m", "lime"): flat() for pair in "abc"}), Options(tie="mildest"))
    gains = found.ask(established.compute).established["lime"].gains
    assert (gains.mean_gain, gains.mean_low, gains.mean_high) == (0.0, 0.0, 0.0)
    assert np.isnan(gains.sign_p)


def test_the_spread_over_seeds_stands_beside_the_interval():
    rows = [
        {"dataset": "d", "language_pair": pair, "metric": "m", "explainer": "lime", "seed": seed, "point": point}
        | {"gain": gain if point == "published" else 9.0}
        for pair, gains in (("a", (0.09, 0.10, 0.11)), ("b", (0.02, 0.02, 0.05)))
        for seed, gain in enumerate(gains)
        for point in ("published", "best")
    ]
    whole = analyse(table(SURFACES), AT, frames={**frames(GAINS), "seeds": pd.DataFrame(rows)})
    found = whole.ask(established.compute)
    one = found.established["lime"]
    assert (one.n_seeds, one.seed_deviation) == (3, pytest.approx((0.01 + 0.03 / np.sqrt(3)) / 2))
    assert "over 3 seeds a single gain deviates by 0.0137" in found.established_in_words[0]
    shown = {row["language pair"].value: row for row in cells(named(whole.tables(), "tested_gains"))}
    assert [shown["b"][name].shown for name in ("seeds", "lowest", "highest")] == ["3", "+0.0200", "+0.0500"]
    assert [shown["c"][name].shown for name in ("seeds", "lowest", "highest")] == ["0", "", ""]
    assert "seeds" not in named(analysis().tables(), "tested_gains").header
    for seeds, shown in ((1, False), (2, True)):
        some = pd.DataFrame([row for row in rows if row["seed"] < seeds])
        made = analyse(table(SURFACES), AT, frames={**frames(GAINS), "seeds": some}).tables()
        assert ("seeds" in named(made, "tested_gains").header) is shown


@pytest.mark.parametrize("asked", ["published", "cross_fitted"])
@pytest.mark.parametrize(
    ("scopes", "kept"),
    [
        pytest.param([("d", "a"), ("d", "b")], [("d", "a"), ("d", "b")], id="too few pairs for more"),
        pytest.param([("d", "a"), ("d", "all"), ("e", "all")], [("d", "all"), ("e", "all")], id="by data set"),
        pytest.param([("d", "a"), ("d", "all"), ("all", "all")], [("all", "all")], id="over all"),
    ],
)
def test_the_verdict_shown_is_that_on_most_language_pairs_at_the_point_of_the_gain(scopes, kept, asked):
    rows = [
        {"dataset": one, "language_pair": pair, "metric": "m", "explainer": "lime", "point": point, "verdict": "length"}
        for one, pair in scopes
        for point in ("published", "cross_fitted")
    ]
    found = judged.widest_verdicts(rows, asked)
    assert [(row["dataset"], row["language_pair"]) for row in found] == kept
    assert {row["point"] for row in found} == {asked}


def verdict_row(verdict, metric="m", pair="all", dataset="d", point="published"):
    return {"dataset": dataset, "language_pair": pair, "metric": metric, "explainer": "lime"} | {
        "point": point,
        "verdict": verdict,
    }


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        pytest.param([verdict_row("length", "m1"), verdict_row("length", "m2")], "length (m1, m2)", id="metrics"),
        pytest.param(
            [verdict_row("length", pair="a"), verdict_row("selection", pair="b")],
            "length (m on a), selection (m on b)",
            id="pairs, too few for a verdict over them",
        ),
        pytest.param(
            [verdict_row("length", dataset="d1"), verdict_row("length", dataset="d2")],
            "length (m on d1, m on d2)",
            id="data sets",
        ),
        pytest.param([verdict_row("length", f"m{at}") for at in range(5)], "length (m0, m1, m2 and 2 more)", id="many"),
        pytest.param([], "not tested", id="none"),
    ],
)
def test_a_verdict_names_what_it_is_given_to(rows, told):
    assert judged.in_words(judged.verdicts_at(rows, "lime", "published")[1]) == told


def test_sentence_and_verdict_speak_of_one_point_or_name_the_other():
    whole = analysis()
    (sentence,) = whole.ask(established.compute).established_in_words
    assert "): verdict at this point: length (m); " in sentence
    shown = [(row["point"].value, row["verdict"].value) for row in cells(named(whole.tables(), "verdicts"))]
    assert shown == [("published", "length"), ("cross-fitted", "selection")]
    some = frames(GAINS)
    some["verdicts"] = some["verdicts"][some["verdicts"]["point"] == "cross_fitted"]
    (sentence,) = analyse(table(SURFACES), AT, frames=some).ask(established.compute).established_in_words
    assert "): verdict at cross-fitted points: selection (m); " in sentence


def test_a_published_point_is_called_in_sample_where_the_paper_chose_it():
    gains = {("wmt17", *names[1:]): gain for names, gain in GAINS.items()}
    surfaces = {names: peaked(0.5, gain=gain) for names, gain in gains.items()}
    (sentence,) = analyse(table(surfaces), AT, frames=frames(gains)).ask(established.compute).established_in_words
    assert sentence.startswith("lime (at w 0.5, p 0.5, as published, in-sample on wmt17): verdict")


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        pytest.param(3, "+0.0200 [+0.0100, +0.0300]", id="the settings of the gain"),
        pytest.param(2, "+0.0200 [+0.0100, +0.0300] (2 settings)", id="fewer"),
        pytest.param(4, "+0.0200 [+0.0100, +0.0300] (4 settings)", id="more"),
    ],
)
def test_a_mean_over_other_settings_than_the_gain_says_over_how_many(n, shown):
    gain = beside.MeanGain(0.1, 0.05, 0.15, 3, 0)
    assert said._mean(beside.MeanGain(0.02, 0.01, 0.03, n, 0), SimpleNamespace(gain=gain)) == shown


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_largest_of_several_gains_is_said_to_be_that(count):
    names = list(SURFACES)[:count]
    gains = {name: GAINS[name] for name in names}
    told = " ".join(
        plain(analyse(table({name: SURFACES[name] for name in names}), AT, frames=frames(gains)))["headline"]
    )
    assert "The largest gain, +0.1000 [+0.0900, +0.1100], comes from a baseline of 0.5000" in told
    assert (f"of its being the largest of {count}." in told) is (count > 1)
    assert ("takes no account" in told) is (count > 1)


def test_of_a_single_setting_gain_placebos_and_selection_have_its_own_intervals():
    names = ("d", "a", "m", "lime")
    some = frames({names: 0.1}, half=0.02, holm=0.01, length=0.08, beyond=0.004)
    found = analyse(table({names: peaked(0.5, gain=0.1)}), AT, frames=some).ask(established.compute)
    elsewhere = found.established["lime"].elsewhere  # 0.001 below, with an interval of its own
    assert (elsewhere.mean, elsewhere.low, elsewhere.high) == pytest.approx((0.099, 0.079, 0.119))
    (sentence,) = found.established_in_words
    assert sentence == (
        "lime (at w 0.5, p 0.5, as published): verdict at this point: length (m); the gain of its one setting is "
        "+0.1000 [+0.0800, +0.1200] (perm_inputs p = 0.001; it survives Holm's correction); "
        "placebos gain: length alone +0.0800 [+0.0600, +0.1000], attributions of another segment +0.0200 [0.0000, "
        "+0.0400]; beyond length +0.0040 [-0.0160, +0.0240]; "
        "the best of the grid gains +0.0200 on the segments it is chosen on, and chosen on half of the clusters "
        "+0.0010 on the other half: selection hides +0.0190."
    )
    (row,) = cells(named(established.tables(found), "established"))
    assert [row[name].shown for name in ("settings", "mean gain", "low", "high")] == [
        *("1", "+0.10000", "+0.08000", "+0.12000")
    ]


@pytest.mark.parametrize(("n_metrics", "more"), [(2, ""), (3, "and 2 more")])
def test_four_single_gains_are_named_and_the_rest_is_counted(n_metrics, more):
    gains = {("d", pair, f"m{number}", "lime"): 0.1 for pair in "ab" for number in range(n_metrics)}
    surfaces = {names: peaked(0.5, gain=0.1) for names in gains}
    (sentence,) = analyse(table(surfaces), AT, frames=frames(gains)).ask(established.compute).established_in_words
    singles = sentence.partition("; single gains: ")[2].partition(";")[0]
    assert singles.count(" on d ") == 4
    assert singles.endswith(more)


def test_fewer_than_three_clusters_have_no_interval_of_the_mean_and_it_is_said_once_with_what_to_do():
    gains = {("d", pair, "m", "lime"): gain for pair, gain in zip("ab", (0.1, 0.02), strict=True)}
    surfaces = {names: peaked(0.5, gain=gain) for names, gain in gains.items()}
    (sentence,) = analyse(table(surfaces), AT, frames=frames(gains)).ask(established.compute).established_in_words
    assert sentence.startswith(
        "lime (at w 0.5, p 0.5, as published): verdict at this point: length (m); the mean gain over 2 settings is "
        "+0.0600, means without an interval: they rest on 2 clusters (data set x language pair), and it needs 3; add "
        "language pairs; 0 of 2 single gains "
        "survive Holm's correction (perm_inputs); single gains: m on d a +0.1000 [+0.0900, +0.1100], m on d b +0.0200 "
        "[+0.0100, +0.0300]; placebos gain: length alone 0.0000, "
    )


def test_settings_without_a_gain_are_counted_apart_and_named():
    some = frames(GAINS)
    of_b = some["points"]["language_pair"] == "b"
    some["points"].loc[of_b, "gain"] = np.nan
    found = analyse(table(SURFACES), AT, frames=some).ask(established.compute)
    (sentence,) = found.established_in_words
    assert "the mean gain over 3 settings is " in sentence
    assert "; undefined for 1 further setting: d · b · m · lime; " in sentence
    (row,) = cells(named(established.tables(found), "established"))
    assert [row[name].value for name in ("settings", "undefined")] == [3, 1]


def test_a_setting_without_a_gain_has_no_row_and_those_after_it_do():
    some = frames(GAINS)
    some["points"].loc[some["points"]["language_pair"] == "b", "gain"] = np.nan
    made = analyse(table(SURFACES), AT, frames=some).tables()
    assert [row[1].value for row in named(made, "tested_gains").rows] == ["a", "c", "d"]


def test_at_w_1_the_power_does_not_matter():
    """A point of the metric alone is the same at every p."""
    fixed = Options(fixed={"lime": Point(0.5, 1.0)})
    some = frames(GAINS)
    some["points"] = some["points"].assign(w=1.0, p=-7.0)
    at = analyse(table(SURFACES), fixed, frames=some).ask(tested.at_fixed)
    assert np.isfinite(at.gain).all()
    some["points"] = some["points"].assign(w=0.5)
    assert np.isnan(analyse(table(SURFACES), fixed, frames=some).ask(tested.at_fixed).gain).all()
