"""One word and one sentence per verdict, the same in every output."""

import dataclasses
import html
import json
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from some_frames import verdicts
from some_tables import random_surfaces, table

import bmx_grid as bmx
from bmx_grid.analysis import headline
from bmx_grid.analysis.questions import analyse_table, to_json
from bmx_grid.evaluations.verdicts import LEGEND, Label
from bmx_grid.report.html import write_report
from bmx_grid.report.table import markdown

# As docs/explanation/verdicts.md has them.
LABELS = ["helps", "informative", "redundant", "open", "confounded", "hurts", "no gain shown", "too little data"]


def analysis():
    """A sweep in which each label occurs once."""
    rows = [{"metric": "m1", "boost": f"b{place}", "verdict": label} for place, label in enumerate(LEGEND)]
    return analyse_table(table(random_surfaces(0)), frames={"verdicts": verdicts(*rows)})


def in_terminal(folder: Path) -> str:
    return "\n".join(headline.summary_lines(analysis()))


def on_page(folder: Path) -> str:
    result = analysis()
    write_report(result, folder / "report.html", figures=[], tables=result.tables())
    return html.unescape((folder / "report.html").read_text(encoding="utf-8"))


def in_note(folder: Path) -> str:
    """As the note of a tracked sweep has the answer; `test_tracking` reads one from a store."""
    return "\n".join(markdown(line) for line in headline.summary_lines(analysis()))


def in_json(folder: Path) -> str:
    return "\n".join(json.loads(to_json(analysis()))["legend"])


def below_tables(folder: Path) -> str:
    (of_verdicts,) = (shown for shown in analysis().tables() if shown.stem == "verdicts")
    return "\n".join(of_verdicts.notes)


def in_comparison(folder: Path) -> str:
    scores = {"mqm": [1.0, 2.0, 3.0, 5.0], "a": [1.0, 2.0, 4.0, 3.0], "b": [2.0, 1.0, 3.0, 4.0]}
    compared = bmx.compare(pd.DataFrame(scores), ["a", "b"], human="mqm", resamples=40)
    each = compared.verdicts.merge(pd.DataFrame({"verdict": list(LEGEND)}), how="cross", suffixes=("_before", ""))
    return " ".join(dataclasses.replace(compared, verdicts=each).summary().split())


def test_labels_are_those_of_the_type_in_the_order_in_which_they_are_shown():
    assert list(LEGEND) == list(get_args(Label)) == LABELS
    assert len(set(LEGEND.values())) == len(LEGEND)


@pytest.mark.parametrize(
    "output", [in_terminal, on_page, in_note, in_json, below_tables, in_comparison], ids=lambda output: output.__name__
)
def test_each_label_has_its_sentence(output, tmp_path):
    shown = output(tmp_path)
    for label, sentence in LEGEND.items():
        assert shown.count(f"{label}: {sentence}.") >= 1, label
