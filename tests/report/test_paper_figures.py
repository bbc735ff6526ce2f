"""Every figure of an analysis, from the published grid and from tables that hold little."""

import dataclasses
import math
import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from some_frames import frames, verdicts
from some_tables import P, W, flat, peaked, random_surfaces, table

from bmx_grid.analysis.base import SettingKey
from bmx_grid.analysis.points import gains_at
from bmx_grid.analysis.questions import analyse_table, signature
from bmx_grid.core.errors import StoreError
from bmx_grid.core.wording import WRITTEN, display_name, label
from bmx_grid.measures.grid import Point
from bmx_grid.report.analysis_files import further_figures, page_figures
from bmx_grid.report.canvas import BLUE, COLUMN, PAGE, save, style
from bmx_grid.report.figures import (
    LENGTH_MARK,
    MOST_GAINS,
    REASSIGNED_MARK,
    boosts,
    gains_with_intervals,
    setting_drawing,
)
from bmx_grid.report.paper_figures import better_and_worse, gains_by

HOSTILE = "</text><script>alert(1)</script>\n../..\u202e$\\frac{1}\"'&"
SMALL = random_surfaces(0, datasets=("d1", "d2"), explainers=("lime", "random"), metrics=("m1", "random"))
HOLES = {names: np.where(np.arange(len(P))[:, None] % 7 == 3, np.nan, surface) for names, surface in SMALL.items()}
UNDEFINED = np.full((len(P), len(W)), np.nan)
ALWAYS = {"gain_density_by_explainer"}
REAL = ALWAYS | {"best_w_and_p_by_explainer", "better_and_worse_by_explainer"}
AT = {"fixed": {"lime": Point(0.5, 0.5)}}


def drawings(analysis):
    return [*page_figures(analysis), *further_figures(analysis)]


def drawn(drawing):
    with style():
        return drawing.draw()


def words(drawing):
    """All that a figure says, in the drawing and beside it."""
    figure = drawn(drawing)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    for legend in [axes.get_legend() for axes in figure.axes if axes.get_legend()] + figure.legends:
        texts += [text.get_text() for text in legend.get_texts()]
    texts += [*(text.get_text() for text in figure.texts), drawing.title, drawing.caption]
    return " ".join(texts).replace("\xa0", " ")


@pytest.mark.parametrize(
    ("surfaces", "expected"),
    [
        pytest.param({("d", "a", "m", "lime"): flat()}, REAL, id="one setting that nothing improves"),
        pytest.param({**HOLES, ("d2", "a", "m3", "lime"): UNDEFINED}, REAL, id="undefined points, and no other"),
        pytest.param(random_surfaces(1), REAL | {"ridge"}, id="more settings than coefficients"),
        pytest.param({("d", "a", "m", "random"): peaked(0.5)}, ALWAYS, id="controls only"),
    ],
)
def test_every_figure_is_drawn_at_a_column_or_page_width_and_nothing_leaves_it(surfaces, expected):
    analysis = analyse_table(table(surfaces))
    settings = [drawing.stem for drawing in drawings(analysis) if drawing.stem.startswith("correlation_over_p")]
    stems = set()
    for drawing in drawings(analysis):
        if drawing.stem in settings[2:]:
            continue  # as those before it
        with style():
            figure = drawing.draw()
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
        stems.add(drawing.stem)
        assert drawing.signature == signature(analysis) and "sha256" not in drawing.caption, drawing.stem
        assert figure.get_figwidth() in (COLUMN, PAGE)
        assert not any(signature(analysis)[:20] in text.get_text() for text in figure.texts)  # no caption in it
        places = (box.x0, box.y0, figure.get_figwidth() - box.x1, figure.get_figheight() - box.y1)
        assert min(places) >= -0.01, (drawing.stem, places)
    assert expected <= stems and ("ridge" in stems) == ("ridge" in expected)


def test_a_figure_is_a_file_with_its_words_and_the_same_for_the_same_analysis(tmp_path):
    drawing = better_and_worse(analyse_table(table({("d", "a", "m", "lime"): peaked(0.5, gain=0.1)})))
    first, second = (save(drawing, tmp_path / name) for name in "ab")
    assert first == tmp_path / "a" / "better_and_worse_by_explainer.svg"
    assert first.read_bytes() == second.read_bytes()
    texts = [*ElementTree.parse(first).getroot().itertext()]  # the metadata, too
    assert drawing.caption in texts and drawing.signature in texts
    with Image.open(save(drawing, tmp_path / "a", "png")) as image:
        assert image.text["Description"] == drawing.caption and image.text["Source"] == drawing.signature
    pdf = save(drawing, tmp_path / "a", "pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and b"CreationDate" not in pdf
    for form in ("png", "pdf"):
        assert (
            save(drawing, tmp_path / "b", form).read_bytes() == (tmp_path / "a" / f"{first.stem}.{form}").read_bytes()
        )
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        save(drawing, tmp_path / "file")


def test_the_published_grid_gives_the_papers_figures(authors_analysis):
    by_stem = {drawing.stem: drawing for drawing in drawings(authors_analysis)}
    by_factor = {f"gain_by_{factor}_lime" for factor in ("dataset", "language_pair", "metric")}
    assert REAL | by_factor | {"correlation_over_p_eval4nlp21.et-en.xbertscore.lime"} <= set(by_stem)
    stems = ("gain_by_metric_lime", "best_w_and_p_by_explainer", "better_and_worse_by_explainer", "ridge")
    metrics, boxes, counts, ridge = (words(by_stem[stem]) for stem in stems)
    for baseline in ("0.768", "0.479", "0.532", "0.466", "0.307"):
        assert f"baseline {baseline}" in metrics
    assert {"BERTScore:", "XMoverScore:", "XLMR-SBERT:"} <= set(metrics.split())
    for median in ("Md 0.4", "Md −1.4", "Md −13.1", "Md −0.95"):
        assert median in boxes
    assert "18 21 40 36" in counts and "50 42 27 31" in counts
    for value in ("+0.0126", "−0.0109", "intercept −0.0018"):
        assert value in ridge


def test_the_captions_of_settings_say_what_is_undefined_and_where_nothing_boosts():
    holed = peaked(0.5)
    holed[P == 0.5, 1] = np.nan
    surfaces = {("d", "a", "m", "lime"): holed, ("d", "b", "m", "lime"): peaked(0.5), ("d", "c", "m", "lime"): flat()}
    analysis = analyse_table(table(surfaces), **AT)
    assert "1 point undefined" in words(setting_drawing(analysis, 0))
    assert "Points, given (chosen on" in words(better_and_worse(analysis))
    assert "1 setting undefined" in words(better_and_worse(analysis))
    assert "1 gain undefined" in words(gains_by(analysis, "lime", "dataset"))
    drawing = setting_drawing(analysis, 2)
    assert "Best of all points: the baseline." in drawing.caption and "best (in-sample)" not in words(drawing)
    alone = setting_drawing(analyse_table(table(surfaces), fixed={"lime": Point(p=0.5, w=1.0)}), 1)
    assert "Published point: 0.5000 (baseline), given" in alone.caption.replace("\xa0", " ")


def test_gains_by_a_factor_have_a_mark_each_their_mean_and_its_interval():
    gains = dict(zip("abcd", (0.0, 0.0, 0.1, 0.3), strict=True))
    surfaces = {("d", pair, "m", "lime"): peaked(0.5, gain=gain) for pair, gain in gains.items()}
    drawing = gains_by(analyse_table(table(surfaces), **AT), "lime", "dataset")
    (axes,) = drawn(drawing).axes
    assert "d: 4 settings, mean +0.1000 [" in drawing.caption
    assert axes.texts[-1].get_text() == "n = 4"
    marks, mean = (collection.get_offsets()[:, 0].tolist() for collection in axes.collections)
    assert (sorted(marks), mean) == (pytest.approx(list(gains.values())), [pytest.approx(0.1)])


def test_hostile_names_stay_text_in_every_file_and_never_form_a_path(tmp_path):
    names = [SettingKey(HOSTILE, HOSTILE, name, HOSTILE) for name in ("m", HOSTILE)]
    names.append(SettingKey("日本語" * 40, "a", "m", HOSTILE))
    results_table = table({("d", pair, "m", "x"): peaked(0.5) for pair in "abc"})
    analysis = analyse_table(
        dataclasses.replace(results_table, settings=tuple(names))
    )  # as no table that is read can be
    folder = tmp_path / "deep" / "figures"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no complaint about letters that the font lacks
        files = [save(drawing, folder) for drawing in drawings(analysis)]
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(files)
    assert {path.parent for path in files} == {folder}
    assert all(re.fullmatch(r"[\w+.,() -]+", path.name) and len(path.name.encode()) < 255 for path in files)
    for path in files:
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(path).iter()}
        assert "script" not in tags and "text" in tags


def test_names_are_written_as_the_field_writes_them():
    assert len(set(WRITTEN.values())) == len(WRITTEN)
    assert [display_name(name) for name in ("chrf", "bertscore", "my_metric")] == ["chrF", "BERTScore", "my_metric"]
    assert label("a\n\u202eb") == r"a\n\u202eb"
    assert len(label("x" * 500)) == 44


def with_tests(n_metrics=2, **options):
    metrics = tuple(f"m{number}" for number in range(n_metrics))
    results_table = table(random_surfaces(3, datasets=("d1", "d2"), pairs=("a", "b", "c"), metrics=metrics))
    gains = dict(zip(results_table.settings, gains_at(results_table, Point(0.5, 0.5)).tolist(), strict=True))
    return analyse_table(results_table, **AT, frames=frames(gains, **options)), gains


def spans(axes):
    """The intervals that are drawn."""
    return [
        line.get_xdata() for line in axes.lines if line.get_linewidth() == 1.4 and np.isfinite(line.get_xdata()).all()
    ]


def test_a_forest_has_every_gain_with_its_interval_and_only_those_that_survive_filled():
    _, gains = with_tests()
    best = max(gains, key=gains.__getitem__)
    analysis, _ = with_tests(half=0.02, holm={names: 0.01 if names == best else 0.5 for names in gains})
    (drawing,) = gains_with_intervals(analysis)
    assert drawing.stem == "gains_with_intervals_lime" == drawings(analysis)[0].stem
    (axes,) = drawn(drawing).axes
    ordered = sorted(gains.values(), reverse=True)
    np.testing.assert_allclose(spans(axes), [(gain - 0.02, gain + 0.02) for gain in ordered])
    filled = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert [colour == BLUE for colour in filled] == [True] + [False] * (len(gains) - 1)


def test_many_settings_go_on_in_a_second_figure():
    analysis, gains = with_tests(n_metrics=9)
    first, second = gains_with_intervals(analysis)
    assert (first.stem, second.stem) == ("gains_with_intervals_lime", "gains_with_intervals_lime_2")
    assert second.title.endswith("part 2")
    assert len(spans(drawn(second).axes[0])) == len(gains) - MOST_GAINS


def test_without_tests_and_verdicts_there_is_no_figure_of_the_page():
    assert page_figures(analyse_table(table(SMALL))) == []


@pytest.mark.parametrize(
    ("reassigned", "of_placebos"),
    [
        pytest.param((math.nan, math.nan), [], id="no placebos were asked for"),
        pytest.param((math.nan, 0.005), [REASSIGNED_MARK], id="one boost has them"),
    ],
)
def test_a_figure_of_boosts_has_their_gains_beside_placebos_and_only_those_that_help_filled(reassigned, of_placebos):
    of_learned, of_share = reassigned
    rows = [
        {"gain": 0.05, "length_gain": 0.02, "reassigned_gain": of_learned, "verdict": "helps"},
        {"gain": 0.07, "length_gain": 0.06, "reassigned_gain": of_share, "boost": "share_negative"},
        {"gain": (0.02, math.nan, math.nan), "length_gain": 0.0, "metric": "m2", "pairs": 1, "language_pair": "de-en"},
        {"gain": math.nan, "explainer": "shap"},
    ]
    surfaces = random_surfaces(0, datasets=("d1",), explainers=("lime", "shap"))
    analysis = analyse_table(table(surfaces), frames={"verdicts": verdicts(*({"metric": "m1", **row} for row in rows))})
    (drawing,) = boosts(analysis)
    assert drawing.stem == "boosts" == drawings(analysis)[0].stem
    figure = drawn(drawing)
    (axes,) = figure.axes
    marks = {marker: [line for line in axes.lines if line.get_marker() == marker] for marker in "o^x"}
    expected = {"o": [0.07, 0.05, 0.02], "^": [0.06, 0.02, 0.0], "x": [0.005, math.nan, math.nan]}
    if not of_placebos:
        expected["x"] = []
    for marker, values in expected.items():
        np.testing.assert_array_equal([line.get_xdata()[0] for line in marks[marker]], values)
    assert [line.get_markerfacecolor() == BLUE for line in marks["o"]] == [False, True, False]
    np.testing.assert_allclose(spans(axes), [(0.06, 0.08), (0.04, 0.06)])
    names = ["m1 · LIME · share negative", "m1 · LIME · learned", "m2 · LIME · learned · d de-en"]
    assert [text.get_text() for text in axes.texts] == names
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["gain", LENGTH_MARK, *of_placebos]
    assert (REASSIGNED_MARK in drawing.caption) == bool(of_placebos)
    assert "correlation, boosted minus baseline" in drawing.caption and "it helps, 1 of 3" in drawing.caption


def test_what_hurts_and_too_little_data_are_told_apart_without_colour():
    kinds = {"helps": 0.05, "hurts": -0.05, "too little data": 0.02, "no gain shown": 0.01}
    rows = [{"metric": "m1", "boost": name, "verdict": name, "gain": gain} for name, gain in kinds.items()]
    surfaces = random_surfaces(0, datasets=("d1",), explainers=("lime",))
    (drawing,) = boosts(analyse_table(table(surfaces), frames={"verdicts": verdicts(*rows)}))
    (axes,) = drawn(drawing).axes
    looks = {}
    for line in axes.lines:
        if line.get_marker() in ("o", "D"):
            looks[line.get_xdata()[0]] = (line.get_marker(), line.get_markerfacecolor() == BLUE)
    assert looks == {0.05: ("o", True), -0.05: ("D", True), 0.02: ("o", False), 0.01: ("o", False)}
    broken = [
        list(line.get_xdata()) for line in axes.lines if line.get_linewidth() == 1.4 and line.get_linestyle() == "--"
    ]
    assert broken == [[pytest.approx(0.01), pytest.approx(0.03)]]


def test_the_interval_is_in_the_figure_of_a_setting():
    analysis, gains = with_tests(half=0.02)
    drawing = setting_drawing(analysis, 0)
    curves, _ = drawn(drawing).axes
    baseline, gain = float(analysis.table.baseline[0]), gains[analysis.table.settings[0]]
    upright = [line.get_ydata() for line in curves.lines if list(line.get_xdata()) == [0.5, 0.5]]
    assert [list(ends) for ends in upright] == [pytest.approx([baseline + gain - 0.02, baseline + gain + 0.02])]
    assert "the vertical line" in drawing.caption
