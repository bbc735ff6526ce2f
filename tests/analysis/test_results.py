"""What was run and reached: counts, averages over language pairs, tested gains, ceilings, and the headline."""

import numpy as np
import pandas as pd
from some_frames import frames
from some_tables import flat, peaked, table

from bmx_grid.analysis.questions import analyse
from bmx_grid.analysis.table import Options
from bmx_grid.measures.grid import Point

AT = Options(fixed={"lime": Point(0.5, 0.5), "shap": Point(0.5, 0.5)})
GAINS = {("d", pair, "m", "lime"): gain for pair, gain in zip("abcd", (0.1, 0.02, -0.03, 0.01), strict=True)}
SURFACES = {names: peaked(0.5, gain=gain) for names, gain in GAINS.items()}
HOLM = dict(zip(GAINS, (0.01, 0.05, 0.02, 0.051), strict=True))


def tables_of(analysis):
    return {made.stem: made for made in analysis.tables()}


def rows_of(analysis, stem):
    made = tables_of(analysis)[stem]
    return [dict(zip(made.header, row, strict=True)) for row in made.rows]


def test_every_setting_stands_with_its_best_and_its_fixed_point():
    surfaces = {
        ("d", "a", "m", "lime"): peaked(0.5, gain=0.1),
        ("d", "b", "m", "lime"): flat(0.4, 0.2),
        ("d", "a", "random", "lime"): peaked(0.5),
    }
    shown = {
        tuple(row[name].shown for name in ("language pair", "metric")): row
        for row in rows_of(analyse(table(surfaces), AT), "settings")
    }
    values = ("baseline", "best", "gain of best", "w", "p", "plateau", "fixed", "gain of fixed")
    assert [[row[name].shown for name in values] for row in shown.values()] == [
        ["0.5000", "0.6000", "+0.1000", "0.5", "0.5", "1", "0.6000", "+0.1000"],
        ["0.4000", "0.4000", "0.0000", "1", "n/a", "80", "0.2000", "-0.2000"],
        ["0.5000", "0.6000", "+0.1000", "0.5", "0.5", "1", "n/a", "n/a"],
    ]


def test_only_gains_that_survive_are_marked_and_undefined_ones_left_out():
    some = frames(GAINS, holm=HOLM)
    some["points"].loc[some["points"]["language_pair"] == "d", "gain"] = np.nan
    analysis = analyse(table(SURFACES), AT, frames=some)
    tested = [(row["language pair"].value, row["gain"].marked) for row in rows_of(analysis, "tested_gains")]
    assert tested == [("a", True), ("b", True), ("c", False)]
    assert [row["gain of fixed"].marked for row in rows_of(analysis, "settings")] == [True, True, False, False]
    assert all(
        any("survives Holm's" in note for note in tables_of(analysis)[stem].notes)
        for stem in ("settings", "tested_gains")
    )


def test_the_spread_over_seeds_stands_beside_the_interval():
    known = {"dataset": "d", "metric": "m", "explainer": "lime"}
    rows = [
        {**known, "language_pair": pair, "seed": seed, "point": point, "gain": gain if point == "published" else 9.0}
        for pair, gains in (("a", (0.09, 0.10, 0.11)), ("b", (0.02, 0.02, 0.05)))
        for seed, gain in enumerate(gains)
        for point in ("published", "best")
    ]
    beside = frames(GAINS, holm=HOLM)
    analysis = analyse(table(SURFACES), AT, frames={**beside, "seeds": pd.DataFrame(rows)})
    shown = {
        row["language pair"].value: [row[name].shown for name in ("lowest", "highest")]
        for row in rows_of(analysis, "tested_gains")
    }
    assert shown["b"] == ["+0.0200", "+0.0500"] and shown["c"] == ["n/a"] * 2
