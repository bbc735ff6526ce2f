"""Every figure of the paper, from the published grid and from tables that hold little."""

import dataclasses

import numpy as np
import pytest
from PIL import Image
from some_tables import P, W, flat, peaked, random_surfaces, table

from bmx_grid.analysis.given import Options, Point
from bmx_grid.analysis.load import load_table
from bmx_grid.analysis.run import analyse
from bmx_grid.analysis.signature import signature
from bmx_grid.errors import ConfigError
from bmx_grid.report.figures.all import draw_all, paper_figures
from bmx_grid.report.figures.densities import gains_by, pairs_to_compare
from bmx_grid.report.figures.grids import correlation_over_p, rows_to_draw
from bmx_grid.report.figures.page import WIDTH, broken, style
from bmx_grid.report.figures.selection import best_boxes, better_and_worse, ridge_bars

SMALL = random_surfaces(0, datasets=("d1", "d2"), explainers=("lime", "random", "shap"), metrics=("m1", "m2", "random"))
HOLES = {names: np.where(np.arange(len(P))[:, None] % 7 == 3, np.nan, surface) for names, surface in SMALL.items()}
ALWAYS = {"fig4_gain_density_by_explainer"}
REAL = ALWAYS | {
    "fig5_best_w_and_p_by_explainer",
    "fig6_better_and_worse_by_explainer",
    "better_and_worse_left_out",
    "fig8_ridge_3_largest_and_smallest",
    "fig8_ridge_all",
}
BY_FACTOR = {"by_dataset", "by_language_pair", "by_metric"}


def many_pairs():
    return random_surfaces(1, pairs=tuple("abcdefgh"), datasets=("d1",), metrics=("m1", "m2", "m3"))


def unbroken(text):
    return "".join((text if isinstance(text, str) else text.get_text()).split())


def words(figure):
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    found += [axes.get_title(loc="left") for axes in figure.axes]
    for axes in figure.axes:
        legend = axes.get_legend()
        found += [text.get_text() for text in legend.get_texts()] if legend else []
    return " ".join([*found, *(text.get_text() for text in figure.texts)]).replace("\n", " ").replace("\xa0", " ")


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
def test_every_figure_is_drawn_and_nothing_leaves_the_page(surfaces, expected):
    analysis = analyse(table(surfaces), Options(tie="mildest"))
    stems = set()
    with style():
        for stem, draw in paper_figures(analysis):
            figure = draw()
            stems.add(stem)
            assert unbroken(figure.texts[0]).endswith(unbroken(signature(analysis))), stem
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
            places = (box.x0, box.y0, WIDTH - box.x1, figure.get_figheight() - box.y1)
            assert min(places) >= -0.01, (stem, places)
    assert expected <= stems


def test_each_figure_is_a_pdf_and_a_png_the_same_for_the_same_analysis(tmp_path):
    analysis = analyse(table({("d", "a", "m", "lime"): peaked(0.5)}))
    first, second = (draw_all(analysis, tmp_path / name) for name in ("first", "second"))
    stems = [stem for stem, _ in paper_figures(analysis)]
    assert [path.name for path in first] == [f"{stem}{end}" for stem in stems for end in (".pdf", ".png")]
    for path in first[::2]:
        assert path.read_bytes()[:4] == b"%PDF"
        assert b"%%EOF" in path.read_bytes()[-10:]
    for path in first[1::2]:
        with Image.open(path) as image:
            image.verify()
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_published_grid_gives_the_papers_figures(authors_grid):
    analysis = analyse(load_table(authors_grid))
    stems = {stem for stem, _ in paper_figures(analysis, ["eval4nlp21 · et-en · xbertscore · lime"])}
    assert {
        "fig3_correlation_over_p_eval4nlp21_et-en_xbertscore_lime",
        "fig7_lime_gain_density_by_dataset",
        "fig12_lime_gain_density_by_language_pair",
        "fig12_lime_gain_density_by_language_pair_all",
        "fig13_lime_gain_density_by_metric",
    } | REAL <= stems
    with style():
        metrics = words(gains_by(analysis, "lime", "metric"))
        boxes, counts, ridge = (words(draw(analysis)) for draw in (best_boxes, better_and_worse, ridge_bars))
    for baseline in ("0.768", "0.479", "0.532", "0.466", "0.307"):
        assert f"baseline {baseline}" in metrics
    for median in ("Md 0.4", "Md -1.4", "Md -13.1", "Md -0.95"):
        assert median in boxes
    assert "18 21 40 36" in counts
    assert "50 42 27 31" in counts
    for value in ("+0.0126", "-0.0109", "intercept -0.0018"):
        assert value in ridge
    assert {"et-en", "ro-en", "ru-en"} < set(pairs_to_compare(analysis, "lime"))


def test_held_out_figures_carry_the_numbers_of_the_papers():
    points = {"lime": Point(0.5, 0.5), "shap": Point(0.5, 0.5)}
    stems = {stem for stem, _ in paper_figures(analyse(table(SMALL), Options(fixed=points)))}
    assert any(stem.startswith("fig11_") for stem in stems)
    assert "fig10_better_and_worse_by_explainer" in stems
    assert any(stem.startswith("fig9_") and stem.endswith("by_metric") for stem in stems)
    assert not any(stem.startswith(("fig3_", "fig6_", "fig13_")) for stem in stems)


def test_the_largest_and_smallest_gain_are_drawn_then_what_is_asked_for():
    surfaces = {
        ("d", "a", "m", "lime"): peaked(0.5, gain=0.1),
        ("d", "b", "m", "lime"): peaked(0.5, gain=0.3),
        ("d", "c", "m", "lime"): peaked(0.5, gain=0.2),
        ("d", "e", "m", "random"): peaked(0.5, gain=0.4),
    }
    analysis = analyse(table(surfaces))
    asked = ["d · c · m · lime", "d · b · m · lime"]
    labels = [analysis.table.settings[row].label for row in rows_to_draw(analysis, asked)]
    assert labels == ["d · b · m · lime", "d · a · m · lime", "d · c · m · lime"]


def test_of_settings_that_nothing_improves_the_one_that_loses_most_is_drawn():
    surfaces = {
        ("d", "a", "m", "lime"): peaked(0.5, gain=0.1),
        ("d", "b", "m", "lime"): flat(0.5, 0.3),
        ("d", "c", "m", "lime"): flat(0.5, 0.1),
        ("d", "f", "m", "lime"): flat(0.5, 0.4),
    }
    analysis = analyse(table(surfaces), Options(fixed={"lime": Point(0.5, 0.5)}))
    assert [analysis.table.settings[row].language_pair for row in rows_to_draw(analysis)] == ["a", "c"]


def test_an_unknown_setting_is_refused():
    with pytest.raises(ConfigError, match="unknown setting 'd1 · a · m1 · lima'. Did you mean 'd1 · a · m1 · lime'"):
        rows_to_draw(analyse(table(SMALL)), ["d1 · a · m1 · lima"])


def test_undefined_values_are_said():
    whole, holed = peaked(0.5), peaked(0.5)
    holed[P == 0.5, 1] = np.nan
    surfaces = {("d", "a", "m", "lime"): holed, ("d", "b", "m", "lime"): whole}
    analysis = analyse(table(surfaces), Options(fixed={"lime": Point(0.5, 0.5)}))
    with style():
        assert "1 points undefined" in words(correlation_over_p(analysis, 0))
        assert "1 settings undefined" in words(better_and_worse(analysis))
        assert "1 undefined gains left out" in words(gains_by(analysis, "lime", "dataset"))
        assert "No density of fewer than 2 values that differ: d." in words(gains_by(analysis, "lime", "dataset"))


def test_lines_differ_without_colour():
    with style():
        lines = gains_by(analyse(table(many_pairs())), "lime", "metric").axes[0].get_lines()
    drawn = [line for line in lines if not line.get_label().startswith("_")]
    assert len({line.get_marker() for line in drawn}) == len(drawn) == 3


def test_the_signature_tells_tables_of_one_name_apart():
    one, other = (analyse(table({("d", "a", "m", "lime"): peaked(0.5, gain=gain)})) for gain in (0.1, 0.2))
    assert signature(one) != signature(other)
    assert signature(one) == signature(analyse(dataclasses.replace(one.table)))
    assert "settings:1|p:-2:1.9:40|w:0,0.5,1|side:both|tie:first|points:lime(w0.5,p0.5)" in signature(one)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("lime", "lime", id="short"),
        pytest.param("input_marginalization", "input_\nmarginalization", id="at an underscore"),
        pytest.param("averyveryverylongname", "averyveryverylongname", id="nowhere to break"),
    ],
)
def test_long_names_are_broken(name, expected):
    assert broken(name) == expected
