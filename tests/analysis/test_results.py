"""What was run and reached: counts, averages over language pairs, tested gains, ceilings, and the headline."""

import numpy as np
import pandas as pd
import pytest
from some_frames import frames
from some_tables import flat, peaked, table

from bmx_grid.analysis.questions import analyse, plain
from bmx_grid.analysis.table import Options
from bmx_grid.measures.grid import Point

AT = Options(fixed={"lime": Point(0.5, 0.5), "shap": Point(0.5, 0.5)})
GAINS = {("d", pair, "m", "lime"): gain for pair, gain in zip("abcd", (0.1, 0.02, -0.03, 0.01), strict=True)}
SURFACES = {names: peaked(0.5, gain=gain) for names, gain in GAINS.items()}
HOLM = dict(zip(GAINS, (0.01, 0.05, 0.02, 0.051), strict=True))


def tables_of(analysis):
    return {made.stem: made for made in analysis.tables()}


def cells(made):
    return [dict(zip(made.header, row, strict=True)) for row in made.rows]


def test_averages_are_taken_over_the_pairs_of_a_data_set_and_metric():
    surfaces = {
        ("d", "a", "m", "lime"): peaked(0.5, gain=0.1, baseline=0.5),
        ("d", "b", "m", "lime"): peaked(0.5, gain=0.3, baseline=0.4),
        ("d", "a", "m", "shap"): peaked(0.5, gain=0.2, baseline=0.7),
    }
    made = tables_of(analyse(table(surfaces), AT))["results_d"]
    *_, mean = cells(made)
    assert mean["language pair"].value == "average"
    assert mean["baseline"].value == pytest.approx(0.45)  # of each pair the first explainer's
    assert mean["lime fixed"].value == pytest.approx((0.6 + 0.7) / 2)
    assert mean["lime gain"].value == pytest.approx(0.2)
    assert np.isnan(mean["shap fixed"].value), "it did not run on every pair"


def test_an_undefined_pair_leaves_no_average():
    surfaces = {**SURFACES, ("d", "a", "m", "lime"): np.where(np.arange(3) == 1, np.nan, flat())}
    *_, mean = cells(tables_of(analyse(table(surfaces), AT))["results_d"])
    assert np.isnan([mean["lime fixed"].value, mean["lime gain"].value]).all()


def test_only_gains_that_survive_are_marked_and_undefined_ones_left_out():
    some = frames(GAINS, holm=HOLM)
    some["points"].loc[some["points"]["language_pair"] == "d", "gain"] = np.nan
    made = tables_of(analyse(table(SURFACES), AT, frames=some))
    found = cells(made["tested_gains"])
    assert [(row["language pair"].value, row["gain"].marked) for row in found] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    marked = [row["language pair"].shown for row in cells(made["results_d"]) if any(c.marked for c in row.values())]
    assert marked == ["a", "b"]
    assert all(any("survives Holm's" in note for note in made[stem].notes) for stem in ("results_d", "tested_gains"))


def test_the_spread_over_seeds_stands_beside_the_interval():
    known = {"dataset": "d", "metric": "m", "explainer": "lime"}
    rows = [
        {**known, "language_pair": pair, "seed": seed, "point": point, "gain": gain if point == "published" else 9.0}
        for pair, gains in (("a", (0.09, 0.10, 0.11)), ("b", (0.02, 0.02, 0.05)))
        for seed, gain in enumerate(gains)
        for point in ("published", "best")
    ]
    beside = frames(GAINS, holm=HOLM)
    made = tables_of(analyse(table(SURFACES), AT, frames={**beside, "seeds": pd.DataFrame(rows)}))["tested_gains"]
    shown = {
        row["language pair"].value: [row[name].shown for name in ("seeds", "lowest", "highest")] for row in cells(made)
    }
    assert shown["b"] == ["3", "+0.0200", "+0.0500"] and shown["c"] == ["n/a"] * 3
    for seeds in (0, 1):
        some = pd.DataFrame([row for row in rows if row["seed"] < seeds], columns=list(rows[0]))
        fewer = analyse(table(SURFACES), AT, frames={**beside, "seeds": some})
        assert "seeds" not in tables_of(fewer)["tested_gains"].header


def test_the_ceiling_is_shown_beside_correlations_where_raters_are_published():
    known = pd.DataFrame(
        {
            **{"dataset": ["d", "d"], "language_pair": ["a", "a"], "human": ["z_mean", "hter"]},
            **{"raters": [3.0, 1.0], "reliability": [0.64, 0.25], "ceiling": [0.8, 0.5]},
        }
    )
    made = tables_of(analyse(table(SURFACES), AT, frames={"ceilings": known}))
    assert [row["ceiling"].shown for row in cells(made["results_d"])] == ["0.8000", *["n/a"] * 4]
    assert [row["reliability ICC(1,k)"].shown for row in cells(made["ceilings"])] == ["0.640", "0.250"]
    without = tables_of(analyse(table(SURFACES), AT))
    assert "ceiling" not in without["results_d"].header and "ceilings" not in without


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_largest_of_several_gains_is_said_to_be_that(count):
    gains = {name: GAINS[name] for name in list(GAINS)[:count]}
    found = analyse(table({name: SURFACES[name] for name in gains}), AT, frames=frames(gains))
    told = " ".join(plain(found)["headline"])
    assert "The largest gain, +0.1000 [+0.0900, +0.1100], comes from a baseline of 0.5000" in told
    assert (f"of its being the largest of {count}." in told) is (count > 1)
