"""What a sweep tested at declared points: which gains survive, with which interval, and the table of them."""

import numpy as np
import pandas as pd
import pytest
from some_frames import frames
from some_tables import peaked, table

from bmx_grid.analysis import ceiling, settings, single_gains, tested
from bmx_grid.analysis.as_json import plain
from bmx_grid.analysis.given import Given, Options, Point
from bmx_grid.analysis.run import analyse

AT = Options(fixed={"lime": Point(0.5, 0.5)})
GAINS = {("d", pair, "m", "lime"): gain for pair, gain in zip("abcd", (0.1, 0.02, -0.03, 0.01), strict=True)}
SURFACES = {names: peaked(0.5, gain=gain) for names, gain in GAINS.items()}
HOLM = dict(zip(GAINS, (0.01, 0.05, 0.02, 0.051), strict=True))
NAMES = ("d", "a", "m", "lime")


def analysis(options=AT, **changes):
    return analyse(table(SURFACES), options, frames={**frames(GAINS, holm=HOLM), **changes})


def named(made, stem):
    (found,) = [one for one in made if one.stem == stem]
    return found


def cells(made):
    return [dict(zip(made.header, row, strict=True)) for row in made.rows]


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
    given = Given(table({NAMES: peaked(0.5, gain=gain)}), AT, frames=frames({NAMES: gain}, holm=holm))
    found = given.ask(tested.declared)
    assert (found.survives.tolist(), found.lost.tolist()) == ([survives], [lost])
    one = tested.gains_with_intervals(given.frames)[NAMES]
    assert (one.survives, one.lost) == (survives, lost)
    counts = given.ask(single_gains.compute).single_gains
    assert (counts["survive"], counts["lost"]) == (survives, lost)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"level": "system"}, id="of systems"),
        pytest.param({"grouping": "item"}, id="of groups"),
        pytest.param({"point": "best"}, id="at another point"),
        pytest.param({"difference": 0.2}, id="of another statistic than the grid's"),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_other_tests_are_not_those_of_the_gain(change, first):
    some = frames({NAMES: 0.1}, half=0.02)
    another = some["tests"].assign(low=-9.0, high=9.0, **change)
    both = [another, some["tests"]] if first else [some["tests"], another]
    found = tested.gains_with_intervals({**some, "tests": pd.concat(both)})[NAMES]
    assert (found.low, found.high) == pytest.approx((0.08, 0.12))
    assert NAMES not in tested.gains_with_intervals({**some, "tests": another})


def test_intervals_at_the_fixed_points_are_those_of_the_same_point_only():
    same, other = analysis(), analysis(Options(fixed={"lime": Point(0.6, 0.5)}))
    assert np.isfinite(same.ask(tested.at_fixed).low).all()
    assert np.isnan(other.ask(tested.at_fixed).low).all()
    assert not other.ask(settings.compute).survives.any()
    numbers = plain(same)["settings"]["d · a · m · lime"]
    assert (numbers["fixed_gain_low"], numbers["fixed_gain_high"]) == pytest.approx((0.09, 0.11))
    assert (numbers["fixed_gain_p"], numbers["fixed_gain_p_holm"]) == pytest.approx((0.001, 0.01))


@pytest.mark.parametrize(("w", "same"), [(1.0, True), (0.5, False)], ids=["the metric alone", "boosted"])
def test_the_power_matters_unless_it_is_the_metric_alone(w, same):
    some = frames(GAINS)
    found = analysis(Options(fixed={"lime": Point(0.5, 1.0)}), points=some["points"].assign(w=w, p=-7.0))
    assert np.isfinite(found.ask(tested.at_fixed).gain).tolist() == [same] * len(GAINS)


def test_only_gains_that_survive_are_marked_and_undefined_ones_left_out():
    some = frames(GAINS)
    some["points"].loc[some["points"]["language_pair"] == "d", "gain"] = np.nan
    made = analysis(points=some["points"]).tables()
    found = cells(named(made, "tested_gains"))
    assert [(row["language pair"].value, row["gain"].marked) for row in found] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    marked = [
        row["language pair"].shown for row in cells(named(made, "results_d")) if any(c.marked for c in row.values())
    ]
    assert marked == ["a", "b"]
    assert all(
        any("survives Holm's" in note for note in named(made, stem).notes) for stem in ("results_d", "tested_gains")
    )


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_largest_of_several_gains_is_said_to_be_that(count):
    gains = {name: GAINS[name] for name in list(GAINS)[:count]}
    found = analyse(table({name: SURFACES[name] for name in gains}), AT, frames=frames(gains))
    told = " ".join(plain(found)["headline"])
    assert "The largest gain, +0.1000 [+0.0900, +0.1100], comes from a baseline of 0.5000" in told
    assert (f"of its being the largest of {count}." in told) is (count > 1)


def test_the_spread_over_seeds_stands_beside_the_interval():
    known = {"dataset": "d", "metric": "m", "explainer": "lime"}
    rows = [
        {**known, "language_pair": pair, "seed": seed, "point": point, "gain": gain if point == "published" else 9.0}
        for pair, gains in (("a", (0.09, 0.10, 0.11)), ("b", (0.02, 0.02, 0.05)))
        for seed, gain in enumerate(gains)
        for point in ("published", "best")
    ]
    made = named(analysis(seeds=pd.DataFrame(rows)).tables(), "tested_gains")
    shown = {
        row["language pair"].value: [row[name].shown for name in ("seeds", "lowest", "highest")] for row in cells(made)
    }
    assert shown["b"] == ["3", "+0.0200", "+0.0500"] and shown["c"] == ["0", "", ""]
    for seeds in (0, 1):
        some = pd.DataFrame([row for row in rows if row["seed"] < seeds], columns=list(rows[0]))
        assert "seeds" not in named(analysis(seeds=some).tables(), "tested_gains").header


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
    without = analyse(table(SURFACES), AT).tables()
    assert "ceiling" not in named(without, "results_d").header
    assert "ceilings" not in [one.stem for one in without]
