"""Every figure of an analysis, from the published grid and from tables that hold little."""

import dataclasses
import io
import math
import re
import warnings
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from some_frames import frames, verdicts
from some_tables import P, W, flat, peaked, random_surfaces, settings_of, table

from bmx_grid.analysis.names import WRITTEN, label, written
from bmx_grid.analysis.points import gains_at
from bmx_grid.analysis.questions import analyse, signature
from bmx_grid.analysis.table import Options, Setting
from bmx_grid.core.errors import StoreError
from bmx_grid.measures.grid import Point
from bmx_grid.report.analysis_files import further_figures, page_figures
from bmx_grid.report.figures.canvas import BLUE, COLUMN, PAGE, save, style
from bmx_grid.report.figures.forest import LENGTH, MOST_BOOSTS, MOST_ROWS, REASSIGNED, boosts, declared_gains
from bmx_grid.report.figures.gains import FEWEST, gains_by
from bmx_grid.report.figures.grid import correlation_over_p, curves_of_row, heat_map, setting_drawing
from bmx_grid.report.figures.selection import best_boxes, better_and_worse, ridge_bars

HOSTILE = "</text><script>alert(1)</script>\n../..\u202e$\\frac{1}\"'&"
SMALL = random_surfaces(0, datasets=("d1", "d2"), explainers=("lime", "random", "shap"), metrics=("m1", "m2", "random"))
HOLES = {names: np.where(np.arange(len(P))[:, None] % 7 == 3, np.nan, surface) for names, surface in SMALL.items()}
ALWAYS = {"gain_density_by_explainer"}
REAL = ALWAYS | {
    "best_w_and_p_by_explainer",
    "better_and_worse_by_explainer",
    "better_and_worse_left_out",
    "ridge_all",
}


def many_pairs():
    return random_surfaces(1, pairs=tuple("abcdefgh"), datasets=("d1",), metrics=("m1", "m2", "m3"))


def words(drawing):
    """All that a figure says, in the drawing and beside it."""
    with style():
        figure = drawing.draw()
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    found += [axes.get_title(loc="left") for axes in figure.axes]
    for legend in [axes.get_legend() for axes in figure.axes if axes.get_legend()] + figure.legends:
        found += [text.get_text() for text in legend.get_texts()]
    found += [*(text.get_text() for text in figure.texts), drawing.title, drawing.caption]
    return " ".join(found).replace("\xa0", " ")


@pytest.mark.parametrize(
    ("surfaces", "expected"),
    [
        pytest.param(SMALL, REAL, id="several of everything"),
        pytest.param(HOLES, REAL, id="undefined points"),
        pytest.param(many_pairs(), REAL, id="more pairs than lines fit in a frame"),
        pytest.param({("d", "a", "m", "lime"): peaked(0.5)}, REAL, id="one setting"),
        pytest.param({("d", "a", "m", "lime"): flat()}, REAL, id="one setting that nothing improves"),
        pytest.param({("d", "a", "m_1 (a, b)", "my_x+"): peaked(0.5)}, REAL, id="names with signs"),
        pytest.param(
            {**SMALL, ("d2", "a", "m3", "lime"): np.full((len(P), len(W)), np.nan)}, REAL, id="one wholly undefined"
        ),
        pytest.param({("d", "a", "m", "random"): peaked(0.5)}, ALWAYS, id="controls only"),
    ],
)
def test_every_figure_is_drawn_at_a_column_or_page_width_and_nothing_leaves_it(surfaces, expected):
    analysis = analyse(table(surfaces), Options())
    stems = set()
    settings = [one.stem for one in drawings(analysis) if one.stem.startswith("correlation_over_p")]
    for one in drawings(analysis):
        if one.stem in settings[3:]:
            continue  # as those before it
        with style():
            figure = one.draw()
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
        stems.add(one.stem)
        assert one.caption.endswith(signature(analysis)), one.stem
        assert figure.get_figwidth() in (COLUMN, PAGE)
        assert not any(signature(analysis)[:20] in text.get_text() for text in figure.texts)  # no caption in it
        places = (box.x0, box.y0, figure.get_figwidth() - box.x1, figure.get_figheight() - box.y1)
        assert min(places) >= -0.01, (one.stem, places)
    assert expected <= stems


def drawings(analysis):
    return [*page_figures(analysis), *further_figures(analysis)]


def test_a_figure_is_a_file_with_its_words_and_the_same_for_the_same_analysis(tmp_path):
    analysis = analyse(table({("d", "a", "m", "lime"): peaked(0.5, gain=0.1)}))
    drawing = better_and_worse(analysis)
    first, second = (save(drawing, tmp_path / name) for name in "ab")
    assert first == tmp_path / "a" / "better_and_worse_by_explainer.svg"
    assert first.read_bytes() == second.read_bytes()
    found = ElementTree.parse(first)
    assert drawing.caption in "".join(found.getroot().itertext())
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        save(drawing, tmp_path / "file")


def test_the_published_grid_gives_the_papers_figures(authors_analysis):
    analysis = authors_analysis
    made = {one.stem: one for one in drawings(analysis)}
    assert {
        "correlation_over_p_eval4nlp21.et-en.xbertscore.lime",
        "ridge_3_largest_and_smallest",
        "gain_by_dataset_lime",
        "gain_by_language_pair_lime",
        "gain_by_language_pair_lime_all",
        "gain_by_metric_lime",
    } | REAL <= set(made)
    metrics, boxes, counts, ridge = (
        words(made[stem])
        for stem in ("gain_by_metric_lime", "best_w_and_p_by_explainer", "better_and_worse_by_explainer", "ridge_all")
    )
    for baseline in ("0.768", "0.479", "0.532", "0.466", "0.307"):
        assert f"metric alone {baseline}" in metrics
    assert {"BERTScore:", "XMoverScore:", "XLMR-SBERT:"} <= set(metrics.split())
    for median in ("Md 0.4", "Md −1.4", "Md −13.1", "Md −0.95"):
        assert median in boxes
    assert "18 21 40 36" in counts
    assert "50 42 27 31" in counts
    for value in ("+0.0126", "−0.0109", "intercept −0.0018"):
        assert value in ridge
    few = made["gain_by_language_pair_lime"].caption
    assert all(f"{pair}: " in few for pair in ("et-en", "ro-en", "ru-en"))


OTHER = random_surfaces(7, datasets=("d7",), explainers=("lime", "shap"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param(Options(), "in-sample (chosen where it is judged)", id="this-table"),
        pytest.param(Options(fixed={"lime": Point(0.5, 0.5)}), "given (what it was chosen on is not known", id="given"),
        pytest.param(
            Options(fixed={"lime": Point(p=-1.4, w=0.4)}), "as published (in-sample on wmt17; else", id="published"
        ),
        pytest.param(Options(select_from=table(OTHER)), "held out (no data set and language pair in", id="elsewhere"),
    ],
)
def test_where_points_come_from_is_said_and_only_other_segments_are_held_out(options, told):
    surfaces = random_surfaces(0, datasets=("wmt17", "d2"), explainers=("lime", "shap"))
    made = drawings(analyse(table(surfaces), options))
    captions = [one.caption for one in made if one.stem in ("better_and_worse_by_explainer", "gain_by_dataset_lime")]
    assert captions
    assert any(told in one for one in captions)
    assert any("held out" in one for one in captions) == (options.select_from is not None)


def test_a_point_that_does_not_boost_is_called_the_metric_alone():
    analysis = analyse(table({("d", "a", "m", "lime"): peaked(0.5)}), Options(fixed={"lime": Point(p=0.5, w=1.0)}))
    caption = setting_drawing(analysis, 0).caption.replace("\xa0", " ")
    assert "Fixed point: 0.5000 (metric alone), gain 0.0000." in caption
    assert "LIME metric alone" in better_and_worse(analysis).caption


@pytest.mark.parametrize(
    ("n", "kind"),
    [pytest.param(FEWEST - 1, "One mark per setting", id="few"), pytest.param(FEWEST, "density", id="many")],
)
def test_few_gains_are_drawn_one_by_one(n, kind):
    surfaces = random_surfaces(3, datasets=("d1", "d2"), pairs=[f"p{at}" for at in range(n)], metrics=("m1",))
    drawing = gains_by(analyse(table(surfaces)), "lime", "dataset")
    assert kind in drawing.caption
    with style():
        (axes,) = drawing.draw().axes
    marks = sum(len(one.get_offsets()) for one in axes.collections)
    assert marks == (2 * n + 2 if n < FEWEST else 0)  # and the two means


def test_marks_of_equal_gains_do_not_hide_each_other():
    gains = (0.0, 0.0, 0.0, 0.3)
    surfaces = {("d", f"p{at}", "m", "lime"): peaked(0.5, gain=gain) for at, gain in enumerate(gains)}
    analysis = analyse(table(surfaces), Options(fixed={"lime": Point(0.5, 0.5)}))
    with style():
        (axes,) = gains_by(analysis, "lime", "dataset").draw().axes
    marks = axes.collections[0].get_offsets()
    assert len({tuple(mark) for mark in marks.tolist()}) == len(gains)
    assert marks[0][1] == marks[-1][1] == 0


def test_hostile_names_stay_text_in_every_file_and_never_form_a_path(tmp_path):
    names = [Setting(HOSTILE, HOSTILE, name, HOSTILE) for name in ("m", HOSTILE)] + [
        Setting("日本語" * 40, "a", "m", HOSTILE)
    ]
    found = table({("d", pair, "m", "x"): peaked(0.5) for pair in "abc"})
    analysis = analyse(dataclasses.replace(found, settings=tuple(names)))  # as no table that is read can be
    folder = tmp_path / "deep" / "figures"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no complaint about letters that the font lacks
        files = [save(one, folder) for one in drawings(analysis)]
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(files)
    assert {path.parent for path in files} == {folder}
    assert all(re.fullmatch(r"[\w+.,() -]+", path.name) and len(path.name.encode()) < 255 for path in files)
    for path in files:
        tags = {one.tag.rpartition("}")[2] for one in ElementTree.parse(path).iter()}
        assert "script" not in tags
        assert "text" in tags


def test_names_are_written_as_the_field_writes_them():
    assert len(set(WRITTEN.values())) == len(WRITTEN)
    assert [written(name) for name in ("chrf", "bertscore", "my_metric")] == ["chrF", "BERTScore", "my_metric"]
    assert label("a\n\u202eb") == r"a\n\u202eb"
    assert len(label("x" * 500)) == 44


def test_undefined_values_are_said():
    whole, holed = peaked(0.5), peaked(0.5)
    holed[P == 0.5, 1] = np.nan
    surfaces = {("d", "a", "m", "lime"): holed, ("d", "b", "m", "lime"): whole}
    analysis = analyse(table(surfaces), Options(fixed={"lime": Point(0.5, 0.5)}))
    assert "1 point undefined" in words(setting_drawing(analysis, 0))
    assert "1 setting undefined" in words(better_and_worse(analysis))
    assert "1 undefined gains left out" in words(gains_by(analysis, "lime", "dataset"))


def test_a_setting_that_nothing_improves_has_no_best_point_but_the_metric_alone():
    drawing = setting_drawing(analyse(table({("d", "a", "m", "lime"): flat()})), 0)
    assert "Best of all points: the metric alone." in drawing.caption
    assert "best (w, p)" not in words(drawing)


def test_the_correlation_is_named_where_it_is_known():
    of_grid = table(SMALL)
    with style():
        known, unknown = (
            setting_drawing(analyse(of_grid, frames=frames), 0).draw().axes[0].get_ylabel()
            for frames in ({"settings": settings_of(of_grid, correlation="kendall")}, {})
        )
    assert (known, unknown) == ("Kendall's τ with human scores", "Correlation with human scores")


def test_lines_differ_without_colour():
    pairs = [f"p{at}" for at in range(FEWEST)]
    surfaces = random_surfaces(1, pairs=pairs, datasets=("d1",), metrics=("m1", "m2", "m3"))
    with style():
        lines = gains_by(analyse(table(surfaces)), "lime", "metric").draw().axes[0].get_lines()
    drawn = [line for line in lines if not line.get_label().startswith("_")]
    assert len({line.get_marker() for line in drawn}) == len(drawn) == 3


def test_captions_say_how_much_is_shown():
    analysis = analyse(table(SMALL))
    assert "Md " in words(best_boxes(analysis))
    assert "all." in ridge_bars(analysis).caption
    assert "6 of" in ridge_bars(analysis, 3).caption


def test_the_signature_tells_tables_of_one_name_apart():
    one, other = (analyse(table({("d", "a", "m", "lime"): peaked(0.5, gain=gain)})) for gain in (0.1, 0.2))
    assert signature(one) != signature(other)
    assert signature(one) == signature(analyse(dataclasses.replace(one.table)))
    assert "settings:1|p:-2:1.9:40|w:0,0.5,1|side:both|points:lime(w0.5,p0.5)" in signature(one)


def with_tests(n_metrics=2, **options):
    surfaces = random_surfaces(
        3, datasets=("d1", "d2"), pairs=("a", "b", "c"), metrics=tuple(f"m{at}" for at in range(n_metrics))
    )
    made = table(surfaces)
    gains = {one: float(gain) for one, gain in zip(made.settings, gains_at(made, Point(0.5, 0.5)), strict=True)}
    return analyse(made, Options(fixed={"lime": Point(0.5, 0.5)}), frames=frames(gains, **options)), gains


def test_a_forest_has_every_gain_with_its_interval():
    analysis, gains = with_tests(half=0.02)
    (drawing,) = declared_gains(analysis)
    assert drawing.stem == "gains_with_intervals_lime"
    assert drawings(analysis)[0].stem == drawing.stem
    with style():
        (axes,) = drawing.draw().axes
    spans = [
        tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.4
    ]
    ordered = sorted(gains.values(), reverse=True)
    np.testing.assert_allclose(spans, [(gain - 0.02, gain + 0.02) for gain in ordered])
    assert "Filled: gains that survive Holm's correction" in drawing.caption


def test_only_gains_that_survive_are_filled():
    analysis, gains = with_tests()
    first = max(gains, key=gains.__getitem__)
    analysis, _ = with_tests(holm={names: 0.01 if names == first else 0.5 for names in gains})
    with style():
        (axes,) = declared_gains(analysis)[0].draw().axes
    filled = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert [colour == BLUE for colour in filled] == [True] + [False] * (len(gains) - 1)


def test_many_settings_are_shown_as_means_with_intervals_by_language_pair():
    analysis, gains = with_tests(n_metrics=9)
    assert len(gains) > MOST_ROWS
    (drawing,) = declared_gains(analysis)
    with style():
        (axes,) = drawing.draw().axes
    drawn = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    means = {}
    for names, gain in gains.items():
        means.setdefault((names[0], names[2]), []).append(gain)
    assert drawn == pytest.approx(sorted((np.mean(own) for own in means.values()), reverse=True))
    assert len(drawn) == 18 and "Filled" not in drawing.caption


@pytest.mark.parametrize("figures", [declared_gains, boosts], ids=["no tests", "no verdicts"])
def test_without_what_it_shows_there_is_no_figure(figures):
    assert figures(analyse(table(SMALL))) == []


def with_boosts(*rows):
    return analyse(table(SMALL), frames={"verdicts": verdicts(*({"metric": "m1", **row} for row in rows))})


def test_a_figure_of_boosts_has_their_gains_beside_length_alone_and_only_those_that_help_filled():
    analysis = with_boosts(
        {"gain": 0.05, "length_gain": 0.02, "reassigned_gain": 0.004, "verdict": "helps"},
        {"gain": 0.07, "length_gain": 0.06, "reassigned_gain": 0.005, "boost": "share_negative"},
        {"gain": (0.02, math.nan, math.nan), "length_gain": 0.0, "metric": "m2", "pairs": 1, "language_pair": "de-en"},
        {"gain": math.nan, "explainer": "shap"},
    )
    (drawing,) = boosts(analysis)
    assert drawing.stem == "boosts" == drawings(analysis)[0].stem
    with style():
        figure = drawing.draw()
    (axes,) = figure.axes
    drawn = {marker: [line for line in axes.lines if line.get_marker() == marker] for marker in "o^x"}
    expected = {"o": [0.07, 0.05, 0.02], "^": [0.06, 0.02, 0.0], "x": [0.005, 0.004, 0.001]}
    for marker, values in expected.items():
        assert [line.get_xdata()[0] for line in drawn[marker]] == values
    assert [line.get_markerfacecolor() == BLUE for line in drawn["o"]] == [False, True, False]
    spans = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 1.4]
    np.testing.assert_allclose(spans, [(0.06, 0.08), (0.04, 0.06)])
    names = ["m1 · LIME · share negative", "m1 · LIME · learned", "m2 · LIME · learned · d de-en"]
    assert [text.get_text() for text in axes.texts] == names
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["gain", LENGTH, REASSIGNED]
    assert "correlation, boosted minus metric alone" in drawing.caption
    assert "it helps, 1 of 3" in drawing.caption


def test_many_boosts_have_a_figure_per_metric():
    many = [{"metric": metric, "boost": f"b{at}"} for metric in ("m1", "m2") for at in range(MOST_BOOSTS // 2)]
    assert [one.stem for one in boosts(with_boosts(*many))] == ["boosts"]
    found = boosts(with_boosts(*many, {"boost": "one more"}))
    assert [one.stem for one in found] == ["boosts_m1", "boosts_m2"]
    assert "of m1 " in found[0].title


def test_the_interval_and_the_ceiling_are_in_the_figure_of_a_setting():
    import pandas as pd

    analysis, gains = with_tests(half=0.02)
    names = analysis.table.settings[0]
    ceilings = [{"dataset": names[0], "language_pair": names[1], "human": "z", "raters": 3.0, "reliability": 0.81}]
    analysis.frames["ceilings"] = pd.DataFrame([{**one, "ceiling": 0.9} for one in ceilings])
    drawing = setting_drawing(analysis, 0)
    with style():
        whole, _ = drawing.draw().axes
    baseline, gain = float(analysis.table.baseline[0]), gains[names]
    upright = [line for line in whole.lines if list(line.get_xdata()) == [0.5, 0.5]]
    assert [list(line.get_ydata()) for line in upright] == [
        pytest.approx([baseline + gain - 0.02, baseline + gain + 0.02])
    ]
    assert 0.9 in [line.get_ydata()[0] for line in whole.lines if line.get_label() == "ceiling"]
    for said in ("the vertical line", "the ceiling"):
        assert said in drawing.caption


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"correlation": np.full((len(P), len(W)), np.nan), "best": None, "fixed": None}, id="undefined"),
        pytest.param({"correlation": np.full((1, len(W)), 0.5), "p": P[:1]}, id="one p"),
        pytest.param({"p": np.array([-np.inf, *P[1:-1], np.inf])}, id="infinite p"),
        pytest.param({"notes": r"$\nonsense{$ " * 300}, id="a long signature, no formula"),
        pytest.param({"fixed": Point(-2.0, 1.0)}, id="the metric alone as fixed point"),
        pytest.param({"names": ("<script>\n$\\frac{\ud800", "x" * 300, "m", "e")}, id="hostile and long names"),
    ],
)
@pytest.mark.parametrize("draw", [correlation_over_p, heat_map])
def test_any_setting_can_be_drawn(change, draw):
    curves = curves_of_row(analyse(table({("d", "a", "m", "lime"): peaked(0.5)})), 0)
    with style():
        figure = draw(dataclasses.replace(curves, **change))
        figure.savefig(io.BytesIO(), format="png")
    assert figure.axes


def test_the_metric_alone_is_black_and_undefined_points_leave_a_gap():
    surface = peaked(0.5)
    surface[10:20, 0] = np.nan
    curves = curves_of_row(analyse(table({("d", "a", "m", "lime"): surface})), 0)
    with style():
        lines = {line.get_label(): line for line in correlation_over_p(curves).axes[0].get_lines()}
    assert lines["metric alone"].get_color() == "#000000"
    assert np.isnan(lines["w = 0"].get_ydata()).sum() == 10


def test_numbers_of_a_ridge_stand_clear_of_names_and_of_each_other():
    """Small coefficients have long numbers, on the bars and on the axis."""
    surfaces = random_surfaces(5, datasets=("d1",), pairs=("fr-en", "de-en", "es-en"), metrics=("m1",))
    drawing = ridge_bars(analyse(table({names: 0.5 + 0.01 * (one - 0.5) for names, one in surfaces.items()})))
    with style():
        figure = drawing.draw()
        figure.canvas.draw()
        (axes,) = figure.axes
        assert min(text.get_window_extent().x0 for text in axes.texts) > axes.get_window_extent().x0
        ticks = [text.get_window_extent() for text in axes.get_xticklabels()]
    assert len(ticks) >= 2 and all(one.x1 < other.x0 for one, other in pairwise(ticks))
