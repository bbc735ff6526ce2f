"""Metrics beside further human scores: the ceiling is drawn, at the highest of them."""

import pandas as pd
import pytest

from bmx_grid.report.canvas import style
from bmx_grid.report.figures import human_ceilings


def row(metric, r, pdp=0.1, pair="en-de"):
    names = {"dataset": "wmt", "language_pair": pair, "metric": metric}
    return {**names, "segment r": r, "PDP": pdp, "segment r_low": r - 0.1, "segment r_high": r + 0.1}


def figures(*rows):
    return list(human_ceilings(pd.DataFrame(rows)))


def test_a_language_pair_with_other_human_scores_has_a_figure():
    rows = [
        row("chrf", 0.2),
        row("ter", -0.5),
        row("human_esa", 0.3),
        row("human_mqm", 0.4),
        row("chrf", 0.1, pair="x"),
    ]
    (drawing,) = figures(*rows)
    assert drawing.stem == "people_and_metrics_wmt_en-de"
    with style():
        figure = drawing.draw()
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.texts]
    assert names == ["TER", "human_mqm", "human_esa", "chrF"], "the strongest first, whatever its sign"
    (ceiling,) = [line for line in axes.lines if line.get_linestyle() not in ("-", "None")]
    assert list(ceiling.get_xdata()) == pytest.approx([0.4, 0.4])


def test_metrics_without_people_have_none():
    assert figures(row("chrf", 0.2)) == []


def test_a_metric_of_systems_alone_is_no_bar():
    of_systems = {"dataset": "wmt", "language_pair": "en-de", "metric": "bleu", "system r": 0.9}
    assert figures(of_systems) == []
    (drawing,) = figures(row("chrf", 0.2), of_systems, row("human_mqm", 0.4))
    with style():
        (axes,) = drawing.draw().axes
    assert [text.get_text() for text in axes.texts] == ["human_mqm", "chrF"]
