"""Metrics beside further human scores: the ceiling is drawn, at the highest of them."""

import pytest

from bmx_grid.analysis.correlations import MetricRow
from bmx_grid.evaluations.base import Estimate
from bmx_grid.report.canvas import style
from bmx_grid.report.figures import metrics_and_people


def row(metric, r, pdp=0.1, pair="en-de"):
    return MetricRow("wmt", pair, metric, {"segment r": Estimate(r, r - 0.1, r + 0.1), "PDP": Estimate(pdp)}, {})


def test_a_language_pair_with_other_human_scores_has_a_figure():
    rows = [
        row("chrf", 0.2),
        row("ter", -0.5),
        row("human_esa", 0.3),
        row("human_mqm", 0.4),
        row("chrf", 0.1, pair="x"),
    ]
    (drawing,) = metrics_and_people(rows)
    assert drawing.stem == "people_and_metrics_wmt_en-de"
    with style():
        figure = drawing.draw()
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.texts]
    assert names == ["TER", "human_mqm", "human_esa", "chrF"], "the strongest first, whatever its sign"
    (ceiling,) = [line for line in axes.lines if line.get_linestyle() not in ("-", "None")]
    assert list(ceiling.get_xdata()) == pytest.approx([0.4, 0.4])


def test_metrics_without_people_have_none():
    assert list(metrics_and_people([row("chrf", 0.2)])) == []


def test_a_metric_of_systems_alone_is_no_bar():
    of_systems = MetricRow("wmt", "en-de", "bleu", {"system r": Estimate(0.9)}, {})
    assert list(metrics_and_people([of_systems])) == []
    (drawing,) = metrics_and_people([row("chrf", 0.2), of_systems, row("human_mqm", 0.4)])
    with style():
        (axes,) = drawing.draw().axes
    assert [text.get_text() for text in axes.texts] == ["human_mqm", "chrF"]
