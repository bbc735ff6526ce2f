"""Best points, their medians, and what may be said of the points that are evaluated."""

import dataclasses

import numpy as np
import pytest
from some_tables import P, W, flat, lime, peaked, table

from bmx_grid.analysis import headline
from bmx_grid.analysis.base import SweepTables, each_row
from bmx_grid.analysis.points import (
    PUBLISHED_POINTS,
    best_points,
    check_selection,
    chosen_points,
    gains_at,
    grid_point,
    medians,
    point_name,
    selection,
)
from bmx_grid.analysis.questions import analyse_table, signature
from bmx_grid.core.errors import ConfigError
from bmx_grid.measures.grid import Point


def surface_of(dataset="d", pair="a", metric="m", explainer="lime", p=-1.4, gain=0.1):
    return {(dataset, pair, metric, explainer): peaked(p, gain=gain)}


OF_WMT17 = surface_of("wmt17")
OF_WMT17 = surface_of("wmt17")
AS_PUBLISHED = {"fixed": {"lime": PUBLISHED_POINTS["lime"]}}
OUTSIDE = {"fixed": {"lime": Point(p=-13.1, w=0.4)}}
GIVEN = "given (chosen on unknown data)"
NEAREST, OTHER = "nearest to the published one", "nearest to the given one (chosen on unknown data)"


@pytest.mark.parametrize(
    ("surfaces", "options", "words"),
    [
        pytest.param(surface_of(), {}, "in-sample", id="medians of the table"),
        *[
            pytest.param(surface_of(name), AS_PUBLISHED, f"{NEAREST} (in-sample on {name})", id=f"the paper's {name}")
            for name in ("wmt17", "eval4nlp21", "mlqe_pe")
        ],
        pytest.param({**surface_of("mine"), **OF_WMT17}, AS_PUBLISHED, f"{NEAREST} (in-sample on wmt17)", id="both"),
        pytest.param(surface_of("mqm21"), AS_PUBLISHED, f"{NEAREST} (chosen on other data)", id="on other data"),
        pytest.param(OF_WMT17, {"fixed": {"lime": Point(p=-1.4, w=0.5)}}, GIVEN, id="of the user"),
        pytest.param(OF_WMT17, {"fixed": {"lime": PUBLISHED_POINTS["erasure"]}}, OTHER, id="of another explainer"),
        *[
            pytest.param(OF_WMT17, {"select_from": table(surface_of(name, **changes, p=0.3))}, words, id=reason)
            for name, changes, words, reason in (
                ("x", {}, "held out (no data set and language pair in common)", "chosen on other segments"),
                ("wmt17", {"metric": "n"}, "chosen elsewhere (on the same segments: wmt17 · a)", "chosen on the same"),
                ("x", {"explainer": "shap"}, "none: median of the best points of the table has no lime", "not chosen"),
            )
        ],
        pytest.param(OF_WMT17, OUTSIDE, f"{GIVEN}, p = -13.1, w = 0.4, which is not in this grid", id="outside"),
    ],
)
def test_where_points_come_from(surfaces, options, words):
    analysis = analyse_table(table(surfaces), **options)
    assert analysis.compute_once(chosen_points).loc["lime", "origin"].endswith(words)
    assert words in " ".join(analysis.compute_once(headline.compute)["headline"])
    sentences = " ".join(text for shown in analysis.tables() for text in (shown.title, *shown.notes))
    assert "Points, held out" not in sentences
    assert ("held out (no data set" in sentences) is ("held out (" in words)


def test_a_signature_names_tables_by_file_and_folder_and_tells_their_numbers_apart():
    results_table = dataclasses.replace(table(surface_of("d", "a")), origin="/a/b/c/grid.parquet")
    powers, correlation = results_table.p.copy(), results_table.correlation.copy()
    powers[-1] += 1
    correlation[0, 0, 0] += 1e-12
    others = [
        results_table,
        dataclasses.replace(results_table, p=powers),
        dataclasses.replace(results_table, correlation=correlation),
    ]
    signatures = [signature(SweepTables({}, results_table, select_from=other)) for other in others]
    assert len(set(signatures)) == len({signature(SweepTables({}, other)) for other in others}) == 3
    parts = dict(part.partition(":")[::2] for part in signatures[0].split("|"))
    assert parts["table"] == parts["select.from"].partition("@")[0] == "c/grid.parquet"
    assert len(parts["select.from"].partition("@")[2]) == len(parts["sha256"]) == 12


MAIN = {**surface_of("d", "a"), **surface_of("d", "b", p=0.3), **surface_of("d", "a", metric="random", p=1.0)}


def test_points_are_not_judged_where_they_were_chosen():
    with pytest.raises(ConfigError, match=r"select\.from=the table shares 2 settings .* leave select\.from out"):
        analyse_table(table(MAIN), select_from=table(MAIN))
    other = {**surface_of("d", "b", p=-1.0), **surface_of("x", p=0.9)}
    with pytest.raises(ConfigError, match="shares 1 setting with it: d · b · m · lime"):
        analyse_table(table(MAIN), select_from=table(other))
    check_selection(
        table(MAIN), table({**surface_of("x", p=0.7), **surface_of("d", "a", metric="random", p=1.0)})
    )  # a control


def changed(p, w, value, surface):
    surface[int(np.argmin(np.abs(P - p))), int(np.argmin(np.abs(W - w)))] = value
    return surface


@pytest.mark.parametrize(
    ("surface", "first", "plateau", "tied"),
    [
        pytest.param(peaked(-1.3), (-1.3, 0.5), 1, False, id="a single peak"),
        pytest.param(flat(), (-2.0, 1.0), 80, True, id="nothing improves: the lowest p"),
        pytest.param(flat(0.5, 0.5), (-2.0, 0.0), 80, True, id="everything equals the baseline"),
        pytest.param(changed(0.3, 0.5, 0.5, flat()), (-2.0, 1.0), 1, True, id="a point as good as the metric"),
        pytest.param(changed(0.3, 0.5, 0.500005, flat()), (0.3, 0.5), 1, False, id="better by less than 1e-5"),
        pytest.param(changed(-1.3, 0.5, np.nan, peaked(-1.3)), (-1.4, 0.5), 2, False, id="undefined"),
    ],
)
def test_of_equal_points_the_first_is_best(surface, first, plateau, tied):
    (best,) = each_row(best_points(lime([surface])))
    assert (best.best_p, best.best_w, best.best) == (*first, np.nanmax(surface))
    assert (best.plateau, best.ties_baseline) == (plateau, tied)


def median(results_table):
    of_lime = medians(best_points(results_table)).loc["lime"]
    return of_lime.p, of_lime.w, of_lime.n


def test_medians_are_written_in_the_digits_of_the_grid():
    """The mean of 0.2 and 0.4 is 0.30000000000000004 in binary."""
    surfaces = {}
    for column, pair in enumerate("ab"):
        surface = np.full((len(P), 3), 0.4)
        surface[:, 2], surface[5 + column, column] = 0.5, 0.6
        surfaces["d", pair, "m", "lime"] = surface
    assert median(table(surfaces, w=np.array([0.2, 0.4, 1.0]))) == (-1.45, 0.3, 2)


def test_the_selection_has_the_medians_and_the_point_that_is_used():
    surfaces = {**surface_of(pair="a", p=-1.0), **surface_of(pair="b", p=0.0, gain=-0.1)}
    (row,) = each_row(analyse_table(table(surfaces), **AS_PUBLISHED).compute_once(selection))
    assert (row.explainer, row.n, row.strict_n) == ("lime", 2, 1), "nothing improves the second setting"
    assert (row.p, row.w) == median(table(surfaces))[:2]
    assert (row.strict_p, row.strict_w) == (-1.0, 0.5)
    used = grid_point(table(surfaces), PUBLISHED_POINTS["lime"])
    assert (row.used_p, row.used_w) == pytest.approx((used.p, used.w), nan_ok=True)
    assert row.origin.startswith(NEAREST)


def test_a_point_of_the_grid_is_as_published():
    peak = np.full((len(P), 3), 0.4)
    surfaces = {("mqm21", "a", "m", "lime"): peak}
    chosen = (
        analyse_table(table(surfaces, w=np.array([0.2, 0.4, 1.0])), **AS_PUBLISHED)
        .compute_once(chosen_points)
        .loc["lime"]
    )
    assert chosen.origin == "published (chosen on other data)"
    assert point_name("lime", chosen.used_w, chosen.used_p) == "the published point"
    assert point_name("lime", 0.5, -1.4) == "w 0.5, p -1.4"


@pytest.mark.parametrize(
    ("p", "w", "used", "gain"),
    [
        pytest.param(-0.95, 0.5, (-1.0, 0.5), 0.1, id="halfway: the lower"),
        pytest.param(-1.0, 0.8, (np.nan, 1.0), 0.0, id="the metric alone, where p means nothing"),
        pytest.param(2.0, 0.5, (np.nan, np.nan), np.nan, id="p beyond the grid"),
        pytest.param(np.nan, 0.5, (np.nan, np.nan), np.nan, id="no p"),
    ],
)
def test_the_nearest_grid_point_is_used(p, w, used, gain):
    results_table = lime([changed(-1.5, 1.0, 0.5 + 3e-7, peaked(-1.0))])  # rows with w = 1 may differ by rounding
    point = grid_point(results_table, Point(p, w))
    assert (point.p, point.w, gains_at(results_table, Point(p, w))[0]) == pytest.approx((*used, gain), nan_ok=True)


def test_the_overview_has_the_points_that_are_used():
    shown = analyse_table(lime([peaked(0.5)]), fixed={"lime": Point(0.52, 0.4)}).tables()
    (overview,) = [shown_table for shown_table in shown if shown_table.stem == "overview"]
    assert [cell.display_text for cell in overview.rows[0][:3]] == ["lime", "0.5", "0.5"]
