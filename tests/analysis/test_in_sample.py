"""A published point was chosen on the data sets of its paper: there its gain is shown as in-sample, everywhere."""

import re

import pytest
from some_frames import frames
from some_frames import verdicts as rows_of
from some_tables import peaked, table

from bmx_grid.analysis.answers import compute as compute_answers
from bmx_grid.analysis.answers import tables as tables_of_answers
from bmx_grid.analysis.headline import compute as compute_headline
from bmx_grid.analysis.headline import tables as tables_of_headline
from bmx_grid.analysis.points import datasets_in_sample, describe_in_sample_gains
from bmx_grid.analysis.questions import analyse_table
from bmx_grid.report.figures import gains_with_intervals
from bmx_grid.report.html import write_report

# The paper's point of LIME is p = -1.4, w = .4 (section 4.2): on this grid w = .5.
LIMES = {"w": 0.5, "p": -1.4}
SENTENCE = "The published point of LIME was chosen on wmt17: gains at it are in-sample there."
BOOST = {"boost": "power_mean_grid", "pairs": 1, "language_pair": "a"}


def analysed(*datasets, explainer="lime", verdicts=(), point=LIMES):
    """An analysis of a setting on each data set, with its published point."""
    names = [(dataset, "a", "m", explainer) for dataset in datasets]
    tested = frames(dict.fromkeys(names, 0.1), **point)
    more = {"verdicts": rows_of(*({**BOOST, "explainer": explainer, **row} for row in verdicts))} if verdicts else {}
    return analyse_table(table({name: peaked(-1.4) for name in names}), frames={**tested, **more})


@pytest.mark.parametrize(
    ("analysis", "expected"),
    [
        pytest.param(analysed("wmt17"), ["wmt17"], id="of the paper"),
        pytest.param(analysed("mqm21", "wmt17"), ["wmt17"], id="of the paper, and others"),
        pytest.param(analysed("mqm21"), [], id="of others"),
        pytest.param(analysed("wmt17", point={"w": 0.5, "p": -1.3}), [], id="of the user (grid.fixed)"),
        pytest.param(analysed("wmt17", point={"w": 1.0, "p": float("nan")}), [], id="the metric alone"),
    ],
)
def test_the_papers_point_is_in_sample_on_its_data_sets(analysis, expected):
    datasets = analysis.table.factor_levels("dataset")
    assert datasets_in_sample(analysis, "lime", datasets) == expected
    assert describe_in_sample_gains(analysis) == (SENTENCE if expected else "")


def test_an_explainer_without_a_published_point_has_none_in_sample():
    analysis = analysed("wmt17", explainer="mine")
    assert (datasets_in_sample(analysis, "mine", ["wmt17"]), describe_in_sample_gains(analysis)) == ([], "")


VERDICTS = [{"dataset": name, "point": point} for name in ("mqm21", "wmt17") for point in ("cross_fitted", "published")]


@pytest.fixture(scope="module")
def judged():
    return analysed("mqm21", "wmt17", verdicts=VERDICTS)


def test_tables_say_so_beside_the_gain_and_in_a_note(judged):
    (verdicts,) = tables_of_answers(judged.compute_once(compute_answers))
    shown = verdicts.frame()
    chosen_on = dict(zip(zip(shown["data set"], shown["chosen on"], strict=True), shown["verdict"], strict=True))
    expected = {(name, "other folds") for name in ("mqm21", "wmt17")}
    expected |= {("mqm21", "published"), ("wmt17", "published (in-sample on wmt17)")}
    assert set(chosen_on) == expected
    assert any(note.startswith("Published: at the point of a paper") for note in verdicts.notes)
    without = analysed("wmt17", verdicts=VERDICTS[2:3])
    (verdicts,) = tables_of_answers(without.compute_once(compute_answers))
    assert not any(note.startswith("Published") for note in verdicts.notes), "no published point is judged"
    (tests,) = [
        shown for shown in tables_of_headline(judged.compute_once(compute_headline)) if shown.stem == "tested_gains"
    ]
    assert SENTENCE in tests.notes


def test_the_page_and_the_figure_say_so(judged, tmp_path):
    write_report(judged, tmp_path / "report.html", figures=[], tables=judged.tables())
    page = re.sub(r"\s+", " ", (tmp_path / "report.html").read_text(encoding="utf-8"))
    assert SENTENCE in page.replace("−", "-")
    assert "Boosts at the published point (in-sample on wmt17)" in page
    (figure,) = gains_with_intervals(judged)
    assert SENTENCE in figure.caption
