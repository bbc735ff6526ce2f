"""Metrics and boosts against placebos, as the page shows them."""

import numpy as np
import pytest
from some_frames import as_table

from bmx_grid.analysis.base import SweepTables
from bmx_grid.analysis.metrics_and_people import compute, tables
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.significance import TestRow as Comparison

PAIR = {"dataset": "d", "language_pair": "de-en"}


def row_of(compared, against, difference, p, test="perm_inputs", family="segment: metric against placebo"):
    explainer = "lime" if " at " in compared else "none"
    names = {**PAIR, "compared": compared, "explainer": explainer, "against": against, "point": ""}
    kind = {"level": "segment", "grouping": "none", "statistic": "pearson", "test": test, "family": family}
    numbers = {"difference": Estimate(difference, -1.0, 1.0), "p": p, "p_holm": p}
    counts = {"n": 9, "clusters": 9, "resamples": 99, "seed": 0}
    return Comparison(**names, **kind, **numbers, **counts)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([("chrf", "sentinel_source", 0.2, 0.01)], [], id="beaten"),
        pytest.param(
            [("chrf", "sentinel_source", 0.2, 0.06), ("chrf", "random", 0.3, 0.01)],
            ["Not shown to beat a placebo: chrF (sentinel_source)."],
            id="not after the correction",
        ),
        pytest.param(
            [("chrf at elsewhere", "random", -0.2, 0.001)],
            ["Not shown to beat a placebo: LIME on chrF at the point elsewhere (random)."],
            id="a boost that a placebo beats",
        ),
        pytest.param([("chrf", "random", np.nan, np.nan)], [], id="undefined"),
    ],
)
def test_what_beats_no_placebo_is_named(rows, message):
    others = [row_of("chrf", "bleu", -0.1, 0.9, family="segment: metric against metric")]
    tests = [*(row_of(*row) for row in rows), *(row_of(*row, test="williams") for row in rows), *others]
    answer = compute(SweepTables({"tests": as_table(tests)}))
    assert answer["unbeaten"] == message
    (table,) = tables(answer)
    assert len(table.rows) == len(rows)


def test_tables_of_a_sweep_without_these_evaluations_are_none():
    assert list(tables(compute(SweepTables({})))) == []
