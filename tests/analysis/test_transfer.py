"""Transfer across data sets, pairs and metrics, against selection written out by hand."""

import numpy as np
import pytest
from some_tables import P, W, flat, lime, peaked, random_surfaces, table

from bmx_grid.analysis.best import best_points
from bmx_grid.analysis.gains import CLUSTERED
from bmx_grid.analysis.given import Given, Options
from bmx_grid.analysis.rules import RULES, Candidates
from bmx_grid.analysis.transfer import compute, leave_one_out, nested, tables


def best_by_hand(surface):
    row, column = np.unravel_index(np.argmax(surface), surface.shape)
    return P[row], W[column]


def nearest_below(values, wanted):
    return int(
        np.argmin(np.abs(values - wanted) - 1e-9 * (np.arange(len(values)) == 0) + 1e-7 * np.arange(len(values)))
    )


@pytest.mark.parametrize(("factor", "position"), [("dataset", 0), ("language_pair", 1), ("metric", 2)])
def test_parameters_come_from_the_others_only(factor, position):
    surfaces = random_surfaces(4, pairs=("a", "b", "c"))
    found = table(surfaces)
    expected = {}
    for held in {names[position] for names in surfaces}:
        others = [best_by_hand(one) for names, one in surfaces.items() if names[position] != held]
        p, w = np.median(others, axis=0)
        for names, one in surfaces.items():
            if names[position] == held:
                expected[names] = one[nearest_below(P, p), nearest_below(W, w)] - one[0, -1]
    out = leave_one_out(found, best_points(found), factor)["lime"]
    assert out.gain.tolist() == pytest.approx([expected[tuple(one)] for one in found.settings], abs=1e-15)
    assert {fold.name: fold.gains.n for fold in out.folds} == {
        name: sum(names[position] == name for names in surfaces) for name in {names[position] for names in surfaces}
    }
    assert out.optimism == pytest.approx(out.in_sample.mean_gain - np.mean(list(expected.values())))


def test_a_change_of_what_is_left_out_never_changes_its_parameters():
    surfaces = random_surfaces(5)
    changed = {names: peaked(1.7) if names[0] == "d2" else one for names, one in surfaces.items()}
    for method in (leave_one_out, nested):
        points = []
        for one in (surfaces, changed):
            some = table(one)
            folds = method(some, best_points(some), "dataset")["lime"].folds
            points.append({fold.name: (fold.point, fold.rule) for fold in folds})
        assert points[0]["d2"][0].p == points[1]["d2"][0].p
        assert points[0]["d2"][1] == points[1]["d2"][1]
        assert points[0]["d1"] != points[1]["d1"]


def test_selection_in_sample_is_rosier_than_transfer():
    # Each language pair has its own best p: what suits the others does not suit it.
    out = leave_one_out(*_with_best(lime([peaked(p) for p in (-1.8, -0.6, 0.6, 1.8)])), "language_pair")["lime"]
    assert (out.in_sample.mean_gain, out.summary.mean_gain) == pytest.approx((-0.02, -0.08))
    assert out.optimism == pytest.approx(0.06)
    assert [fold.point.p for fold in out.folds] == pytest.approx([0.6, 0.6, -0.6, -0.6])


def _with_best(some):
    return some, best_points(some)


def test_a_single_name_cannot_be_left_out():
    out = leave_one_out(*_with_best(lime([peaked(-1.0), peaked(-0.5)])), "dataset")["lime"]
    assert out.folds == ()
    assert (out.summary.n, out.summary.undefined) == (0, 2)
    assert np.isnan(out.optimism)
    assert out.in_sample.better == 2


def test_nested_takes_the_rule_that_works_among_the_others():
    # Medians of single high points lie where every setting loses; the point of the highest mean gain suits all.
    surfaces = [np.maximum(peaked(1.0, gain=0.05), flat(0.5, 0.3)) for _ in range(5)]
    for at, one in enumerate(surfaces):
        one[at**2, 0] = 0.9  # a single high point of each, at a p of its own
    out = nested(*_with_best(lime(surfaces)), "language_pair")["lime"]
    assert {fold.rule for fold in out.folds} == {"highest_mean_gain"}
    assert {(fold.point.p, fold.point.w) for fold in out.folds} == {(1.0, 0.5)}
    assert out.summary.better == 5
    assert leave_one_out(*_with_best(lime(surfaces)), "language_pair")["lime"].summary.better == 0


def test_factors_with_one_name_are_named_below_the_table_and_have_no_rows():
    for surfaces, alone in (
        (random_surfaces(5), None),
        (random_surfaces(5, metrics=("m",)), "metric"),
        (random_surfaces(5, datasets=("d",), metrics=("m",)), "data set, metric"),
    ):
        summary, folds = tables(compute(Given(table(surfaces), Options())))
        known = {row[0].value for row in summary.rows}
        assert known == {row[0].value for row in folds.rows}
        said = [note for note in summary.notes if note.startswith("Nothing to leave out")]
        assert said == ([] if alone is None else [f"Nothing to leave out, only one name: {alone}."])
        assert len(known) == 3 - (0 if alone is None else len(alone.split(", ")))
        assert all(len(group) for group in (*summary.groups, *folds.groups))
        assert (summary.names, folds.names) == (3, 3)
        assert any(note and CLUSTERED.startswith(note) for note in summary.notes)


def test_a_rule_whose_points_are_undefined_among_the_others_is_not_chosen():
    # Each setting is best at a p of its own; between these, where medians lie, nothing is defined but w = 1.
    own = (-1.7, -0.6, 0.4, 1.9)
    surfaces = []
    for best in own:
        surface = np.full((len(P), len(W)), np.nan)
        surface[:, -1] = 0.5
        for p, gain in (*((p, 0.0) for p in own), (1.0, 0.05), (best, 0.09)):
            surface[int(np.argmin(np.abs(P - p))), 1] = 0.5 + gain
        surfaces.append(surface)
    out = nested(*_with_best(lime(surfaces)), "language_pair")["lime"]
    assert {fold.rule for fold in out.folds} == {"highest_mean_gain"}
    assert out.gain.tolist() == pytest.approx([0.05] * 4)


def test_rules_against_their_definition():
    some = table(random_surfaces(6, pairs=("a", "b", "c")))
    candidates = Candidates(some, best_points(some))
    rows = np.arange(len(some)) % 3 != 0
    gains = some.gains[rows][:, :, some.boosted]
    for rule, surface in (("highest_mean_gain", gains.mean(axis=0)), ("most_improved", (gains > 1e-5).sum(axis=0))):
        point = RULES[rule](candidates, rows)
        value = surface[int(np.flatnonzero(some.p == point.p)[0]), int(np.flatnonzero(some.w == point.w)[0])]
        assert value == pytest.approx(surface.max(), abs=1e-15)


def test_undefined_points_are_not_chosen():
    one, other = peaked(-1.0), peaked(-1.0)
    one[int(np.argmin(np.abs(P + 1))), 1] = np.nan
    some = lime([one, other])
    candidates = Candidates(some, best_points(some))
    both, second = np.array([True, True]), np.array([False, True])
    assert RULES["highest_mean_gain"](candidates, both).p == -1.1
    assert RULES["highest_mean_gain"](candidates, second).p == -1.0
    assert RULES["most_improved"](candidates, both).p == -1.1


def hurting(p):
    """A surface on which boosting loses everywhere, least at p."""
    return peaked(p, gain=-0.05)


def test_rules_can_decline_to_boost():
    candidates = Candidates(*_with_best(lime([hurting(-1.0), hurting(0.5), flat()])))
    everyone = np.ones(3, dtype=bool)
    for name in ("strict_median", "highest_mean_gain", "most_improved"):
        point = RULES[name](candidates, everyone)
        assert (point.w, point.words) == (1.0, "metric alone"), name
    mildest = Candidates(candidates.table, best_points(candidates.table, "mildest"))
    assert RULES["median"](mildest, everyone).words == "metric alone"


def test_a_fold_that_declines_gains_nothing_and_is_defined():
    # Only the first pair can be improved: without it there is nothing to choose.
    some = lime([peaked(-1.0), hurting(-0.5), hurting(0.5)])
    out = leave_one_out(some, best_points(some, "mildest"), "language_pair")["lime"]
    declined = out.by_fold["a"]
    assert (declined.point.words, declined.gains.mean_gain, declined.gains.undefined) == ("metric alone", 0.0, 0)
    assert out.gain[0] == 0.0
    assert out.summary.undefined == 0


def test_optimism_is_of_the_same_settings_and_of_the_numbers_shown():
    surfaces = [peaked(p) for p in (-1.8, -0.6, 0.6, 1.8)]
    found = lime(surfaces)
    outside = leave_one_out(*_with_best(found), "language_pair")["lime"].folds[0].point
    surfaces[0][int(np.flatnonzero(outside.p == P)[0]), 1] = np.nan  # undefined where the others' point lies
    out = leave_one_out(*_with_best(lime(surfaces)), "language_pair")["lime"]
    assert np.isnan(out.gain[0])
    assert out.in_sample.n == out.summary.n == 3
    assert out.optimism == out.in_sample.mean_gain - out.summary.mean_gain
    summary, _ = tables(compute(Given(lime(surfaces), Options())))
    shown = [dict(zip(summary.header, (cell.value for cell in row), strict=True)) for row in summary.rows]
    assert len(shown) == 2  # the median rule, and the chosen one
    for row in shown:
        assert row["optimism"] == row["in-sample mean gain"] - row["transfer mean gain"]


def test_it_is_called_transfer_and_not_held_out():
    summary, folds = tables(compute(Given(table(random_surfaces(4, pairs=("a", "b", "c"))), Options())))
    assert (summary.stem, folds.stem) == ("transfer", "transfer_folds")
    told = " ".join([summary.title, *summary.header, *summary.notes, folds.title, *folds.header, *folds.notes])
    assert (
        "Not held out: metrics share all segments and human scores, language pairs share sources or references (492"
        in told
    )
    assert "a results table has no segments that could be taken out of the other pairs" in told
    assert "held-out" not in told
    assert "leakage" not in told
