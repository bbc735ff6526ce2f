"""Answers to questions that rest on others: controls, densities, settings and the headline, against hand values."""

import numpy as np
import pytest
from some_tables import flat, peaked, random_surfaces, table

from bmx_grid.analysis import (
    baseline,
    best,
    controls,
    density,
    fixed,
    headline,
    medians,
    overview,
    regression,
    results,
    settings,
    transfer,
)
from bmx_grid.analysis.as_json import numbers
from bmx_grid.analysis.gains import share
from bmx_grid.analysis.given import Given, Options, Point
from bmx_grid.analysis.run import analyse

SURFACES = {
    ("d", "a", "m", "lime"): peaked(-1.0),
    ("d", "a", "m", "random"): peaked(0.5, gain=0.02),
    ("d", "a", "random", "lime"): peaked(-1.0, gain=0.03),
    ("d", "a", "random", "random"): peaked(1.5),
}


def test_the_parts_of_an_analysis_are_what_its_questions_found():
    found = analyse(table(SURFACES))
    assert found.best is found.ask(best.compute).points
    assert found.n_tied == found.ask(best.compute).n_tied_with_baseline
    assert found.medians is found.ask(medians.compute).medians
    assert found.fixed is found.ask(fixed.compute).evaluation
    assert found.best_explainer == found.ask(fixed.compute).best_explainer == "lime"
    assert found.averages is found.ask(results.compute).averages
    assert found.ridge is found.ask(regression.compute).ridge
    assert found.gain_baseline is found.ask(baseline.compute).correlations
    assert found.densities is found.ask(density.compute).densities
    assert found.leave_one_out is found.ask(transfer.compute).leave_one_out
    assert found.nested is found.ask(transfer.compute).nested
    assert found.controls is found.ask(controls.compute)


def test_controls_are_read_at_the_points_of_real_explainers_and_never_at_their_own():
    found = analyse(table({**SURFACES, ("d", "a", "m", "random"): peaked(0.5, gain=0.08)})).ask(controls.compute)
    explainer, metric = found.controls["random_explainer"], found.controls["random_metric"]
    assert explainer.used == {"lime": Point(-1.0, 0.5)}
    at = explainer.by_explainer["lime"]
    assert (at.n, at.better, at.mean_gain) == (1, 0, pytest.approx(0.08 - 0.15))  # 15 steps of 0.01 from its best
    best = {name: one.mean_gain for name, one in explainer.best_of_grid.items()}
    assert best == pytest.approx({"lime": 0.1, "random": 0.08})  # without the random metric
    assert metric.used == {"lime": Point(-1.0, 0.5)}
    assert (metric.gains.n, metric.gains.mean_gain) == (1, pytest.approx(0.03))
    made, of_best = controls.tables(found)
    assert [[cell.shown for cell in row[:3]] for row in made.rows] == [
        ["random explainer", "lime", "w 0.5, p -1"],
        ["random metric", "lime", "w 0.5, p -1"],
    ]
    assert [row[0].shown for row in of_best.rows] == ["lime", "random"]


def test_random_attributions_alone_are_not_read_at_points_of_their_own():
    found = analyse(table({("d", "a", "m", "random"): peaked(0.5)})).ask(controls.compute)
    assert found.controls["random_explainer"].by_explainer == {}
    assert [one.stem for one in controls.tables(found)] == ["controls_best"]


def test_data_sets_are_shown_with_their_pairs_segments_and_settings():
    surfaces = {("d", pair, "m", "lime"): flat() for pair in ("a", "b", "c")} | {("e", "a", "m", "lime"): flat()}
    counted = {("d", "a"): 1000, ("d", "c"): 2000, ("e", "a"): 30}
    for segments, below in (
        (None, []),
        (counted, [["segments per pair", "1,000 to 2,000, 1 not known", "30"], ["segments", "not known", "30"]]),
        (
            {("d", "a"): 1000, ("d", "b"): 1000, ("d", "c"): 1000},
            [["segments per pair", "1,000", "not known"], ["segments", "3,000", "not known"]],
        ),
        (counted | {("d", "b"): 5}, [["segments per pair", "5 to 2,000", "30"], ["segments", "3,005", "30"]]),
    ):
        datasets, counts = overview.tables(overview.compute(Given(table(surfaces), Options(segments=segments))))
        assert datasets.header == ("", "d", "e")
        assert [[cell.shown for cell in row] for row in datasets.rows] == [
            *[["language pairs", "a", "a"], ["", "b", ""], ["", "c", ""], ["settings", "3", "1"]],
            *below,
        ]
        assert datasets.notes[0] == "In several data sets: a."
        assert any("does not hold the number of segments" in note for note in datasets.notes) == (segments is None)
    assert [[cell.shown for cell in row] for row in counts.rows] == [
        ["d", "1", "1", "3", "3", "40", "2", "240"],
        ["e", "1", "1", "1", "1", "40", "2", "80"],
        ["all", "1", "1", "3", "4", "40", "2", "320"],
    ]


def test_densities_are_of_the_gains_at_the_fixed_points():
    analysis = analyse(table({**SURFACES, ("d", "b", "m", "lime"): peaked(-1.0, gain=0.2)}))
    found = analysis.densities.fixed["lime"]["dataset"]["d"]
    assert (found.n, found.mean) == (2, pytest.approx(0.15))


def test_every_setting_has_its_numbers():
    surfaces = random_surfaces(3, pairs=("a",), metrics=("m", "random"))
    analysis = analyse(table(surfaces))
    found = analysis.ask(settings.compute)
    moved = analysis.leave_one_out["dataset"]["lime"]
    real = [one for one in found.settings.values() if not one.control]
    assert found.transfer_factor == "dataset"
    assert [one.transfer_gain for one in real] == moved.gain.tolist()
    assert [one.fixed for one in real] == analysis.fixed.correlation.tolist()
    for one in real:
        assert one.fixed_gain == one.fixed - one.baseline
        assert Point(one.fixed_p, one.fixed_w) == analysis.fixed.used["lime"]
    for one in found.settings.values():
        if one.control:
            assert np.isnan([one.fixed, one.fixed_gain, one.transfer_gain, one.fixed_w]).all()
        assert one.best == pytest.approx(surfaces[one.dataset, "a", one.metric, "lime"].max())


def test_headline_numbers_pool_the_settings_of_all_explainers():
    surfaces = {(name, "a", "m", "lime"): peaked(p) for name, p in (("x", -1.0), ("y", -0.5), ("z", 0.0))}
    surfaces |= {(name, "a", "m", "shap"): peaked(p) for name, p in (("x", -1.0), ("y", -1.0))}
    analysis = analyse(table(surfaces))
    found = analysis.ask(headline.compute).headline_numbers
    gains = np.concatenate([one.gain for one in analysis.leave_one_out["dataset"].values()])
    assert len(gains) == 5
    assert found["transfer/mean_gain"] == pytest.approx(gains.mean())
    assert found["transfer/better"] == (gains > 1e-5).sum()
    assert found["fixed/mean_gain"] == pytest.approx(analysis.fixed.gain.mean())
    assert (found["fixed/better"], found["settings"], found["tied_with_metric_alone"]) == (5.0, 5.0, 0.0)


@pytest.mark.parametrize("better", [8, 1])
def test_the_interval_of_a_share_ends_at_0_and_at_1(better):
    found = share(np.arange(9) < better, np.ones(9, dtype=bool), np.arange(9))
    assert found.mean == pytest.approx(better / 9)
    reach = 2.306 * np.sqrt(8 / 81 / 8)  # Student's t of 8 degrees
    expected = max(better / 9 - reach, 0), min(better / 9 + reach, 1)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-3)


def test_ridge_names_that_two_factors_share_are_told_apart():
    analysis = analyse(table({("d", "same", "m", "same"): peaked(-1.0), ("d", "b", "m", "same"): flat()}))
    assert set(analysis.ridge.named) == {"d", "language_pair:same", "b", "m", "explainer:same"}
    assert list(analysis.ridge.named.values()) == list(analysis.ridge.coefficients.values())


def test_numbers_for_a_tracking_server_are_few_and_those_that_sweeps_are_compared_by():
    found = numbers(analyse(table(SURFACES)))
    assert (found["medians/lime/p"], found["medians/lime/n"]) == (-1.0, 1.0)
    assert found["fixed/lime/mean_gain"] == pytest.approx(0.1)
    groups = {name.split("/")[0] for name in found}
    assert {"medians", "fixed"} <= groups <= {"medians", "ridge", "gain_baseline_pearson", "fixed", "single_gains"}
    assert len(found) < 60
