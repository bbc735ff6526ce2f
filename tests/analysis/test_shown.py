"""What figures and page show of an analysis, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from some_tables import flat, peaked, table

from bmx_grid.analysis import shown, verdicts
from bmx_grid.analysis.given import Options, Point
from bmx_grid.analysis.run import analyse

# Rows of the table, which is sorted: 0 lime a, 1 lime b, 2 random explainer, 3 shap a.
SURFACES = {
    ("d", "a", "m", "lime"): peaked(-1.0),
    ("d", "b", "m", "lime"): peaked(-1.0, gain=0.2),
    ("d", "a", "m", "random"): peaked(0.5, gain=0.3),
    ("d", "a", "m", "shap"): flat(),
}


@pytest.fixture(scope="module")
def analysis():
    return analyse(table(SURFACES))


def test_best_points_and_the_metric_alone(analysis):
    best = shown.best_of(analysis, 0)
    assert (best.point, best.is_alone) == (Point(-1.0, 0.5), False)
    assert (best.correlation, best.gain) == (pytest.approx(0.6), pytest.approx(0.1))
    alone = shown.best_of(analysis, 3)
    assert (alone.point, alone.is_alone, alone.gain) == (None, True, 0)


def test_fixed_points_and_controls(analysis):
    fixed = shown.fixed_of(analysis, 1)
    assert (fixed.point, fixed.correlation) == (Point(-1.0, 0.5), pytest.approx(0.7))
    assert fixed.origin == analysis.origins["lime"]
    control = shown.fixed_of(analysis, 2)
    assert (control.point, control.origin) == (None, "a control") and np.isnan(control.correlation)


def test_the_setting_that_gains_most_is_shown_first(analysis):
    assert shown.first_to_show(analysis) == 1


def test_what_questions_found_is_shown_as_they_found_it(analysis):
    assert shown.verdicts_of(analysis) is analysis.ask(verdicts.compute).verdicts
    assert np.isnan(shown.ceiling_of(analysis, 0))
    known = pd.DataFrame([{"dataset": "d", "language_pair": "b", "human": "da"}])
    known = known.assign(raters=3, reliability=0.5625, ceiling=0.75)
    with_ceilings = analyse(table(SURFACES), frames={"ceilings": known})
    ceilings = [shown.ceiling_of(with_ceilings, row) for row in range(4)]
    assert ceilings == pytest.approx([np.nan, 0.75, np.nan, np.nan], nan_ok=True)


def test_means_by_a_name_have_intervals_from_three_clusters_on():
    gains = dict(zip("abcde", (0.01, 0.03, 0.02, 0.06, 0.05), strict=True))
    surfaces = {("d", pair, "m" if pair < "d" else "n", "lime"): peaked(0.5, gain=gain) for pair, gain in gains.items()}
    made = analyse(table(surfaces), Options(fixed={"lime": Point(0.5, 0.5)}))
    found = shown.mean_intervals(made, "lime", "metric")
    assert set(found) == {"m", "n"}
    own = (0.01, 0.03, 0.02)
    assert found["m"] == pytest.approx(stats.t.interval(0.95, 2, np.mean(own), stats.sem(own)))
    assert np.isnan(found["n"]).all()


def test_a_control_is_shown_first_only_where_there_is_nothing_else():
    control, real = ("d", "a", "m", "random"), ("d", "a", "m", "shap")
    assert shown.first_to_show(analyse(table({control: flat(), real: flat()}))) == 1
    assert shown.first_to_show(analyse(table({control: peaked(0.5), real: flat()}))) == 1
    assert shown.first_to_show(analyse(table({control: flat()}))) == 0


def test_gains_at_the_fixed_points(analysis):
    assert shown.gains_of(analysis, "lime", "language_pair")["b"].tolist() == pytest.approx([0.2])
    assert shown.gains_of(analysis, "lime", "dataset")["d"].tolist() == pytest.approx([0.1, 0.2])
    assert shown.undefined_gains(analysis, "lime") == 0
    beside = analyse(table(SURFACES), Options(fixed={"lime": Point(-9.0, 0.5)}))
    assert shown.undefined_gains(beside, "lime") == 2


def test_pairs_to_compare_are_the_shared_ones_then_the_ends():
    gains = {"a": 0.1, "b": 0.2, "c": 0.15, "e": 0.05}
    surfaces = {("d", pair, "m", "lime"): peaked(-1.0, gain=gain) for pair, gain in gains.items()}
    surfaces["other", "c", "m", "lime"] = peaked(-1.0)
    analysis = analyse(table(surfaces))
    assert shown.pairs_to_compare(analysis, "lime", most=1) == ["c"]
    assert shown.pairs_to_compare(analysis, "lime", most=2) == ["b", "c"]
    assert shown.pairs_to_compare(analysis, "lime", most=3) == ["b", "c", "e"]
    assert shown.pairs_to_compare(analysis, "lime") == ["a", "b", "c", "e"]
