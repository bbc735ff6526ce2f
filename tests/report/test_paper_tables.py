"""Tables: their contents against hand values, and the ways they are written, names of every kind included."""

import csv
import dataclasses
import io
import math
import re

import numpy as np
import pytest
from some_results import GRID, make_result
from some_tables import P, flat, peaked, random_surfaces, table

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.questions import analyse, signature
from bmx_grid.analysis.table import Options
from bmx_grid.measures.grid import Point
from bmx_grid.report.analysis_files import analyse_sweep
from bmx_grid.report.table import (
    FORMATS,
    as_csv,
    as_latex,
    as_markdown,
    as_text,
    columns_of,
    latex,
    markdown,
    write_table,
)
from bmx_grid.sweep.settings import SweepPlan

HERE = Options(fixed={"lime": Point(0.5, 0.5), "shap": Point(0.5, 0.5)})
# At (0.5, 0.5) the gains are lime +0.1 and -0.2, shap +0.05 and +0.02.
SURFACES = {
    ("d", "a", "m", "lime"): peaked(0.5, gain=0.1, baseline=0.5),
    ("d", "b", "m", "lime"): flat(0.4, 0.2),
    ("d", "a", "m", "shap"): peaked(0.5, gain=0.05, baseline=0.5),
    ("d", "b", "m", "shap"): peaked(0.5, gain=0.02, baseline=0.4),
}
SMALL = Table(
    "a_stem",
    "Title, 50 % of my_set",
    ("name", "r"),
    (
        ((Cell("my_metric|x"), Cell(1 / 3, ".4f")), (Cell("b"), Cell(-0.25, ".4f"))),
        ((Cell("c"), Cell(math.nan, ".4f")), (Cell("d"), Cell(None)), (Cell("e"), Cell(2.0, words="-two"))),
    ),
    ("A note with 5 %.", "sig|a_b"),
)


def shown(found):
    return [[cell.shown for cell in row] for row in found.rows]


def named(analysis, stem):
    (found,) = [one for one in analysis.tables() if one.stem == stem]
    return found


def test_text():
    assert as_text(SMALL).splitlines() == [
        "Title, 50 % of my_set",
        "name" + " " * 15 + "r",
        "-" * 20,
        "my_metric|x   0.3333",
        "b" + " " * 12 + "-0.2500",
        "-" * 20,
        "c" + " " * 16 + "n/a",
        "d",
        "e" + " " * 15 + "-two",
        "-" * 20,
        "A note with 5 %.",
        "sig|a_b",
    ]


def test_text_that_is_too_wide_is_written_in_blocks_of_columns():
    numbers = tuple(Cell(value, ".4f") for value in (0.1, 0.2, 0.3))
    total = (Cell("all"), Cell(None), Cell(None), Cell(0.3, ".4f"))
    made = Table("s", "t", ("name", "one", "two", "three"), (((Cell("a"), *numbers),), (total,)), ("note",))
    assert as_text(made, width=20).splitlines() == [
        *("t", "name     one     two", "-" * 20, "a     0.1000  0.2000", "-" * 20),
        *("name   three", "-" * 12, "a     0.3000", "-" * 12, "all   0.3000", "-" * 12),
        "note",
    ]
    assert as_text(made, width=5) == as_text(made, width=1)  # a block has one column at least


def test_columns_line_up_where_signs_are_wide():
    made = Table("s", "t", ("name", "r"), (((Cell("数据"), Cell(1)), (Cell("abcd"), Cell(2))),), ())
    assert {columns_of(line) for line in as_text(made).splitlines()[1:]} == {7}


def test_markdown():
    assert as_markdown(SMALL).splitlines() == [
        r"**Title, 50 % of my\_set**",
        "",
        "| name | r |",
        "| --- | ---: |",
        r"| my\_metric\|x | 0.3333 |",
        "| b | -0.2500 |",
        "| c | n/a |",
        "| d |  |",
        "| e | -two |",
        "",
        "A note with 5 %.",
        "",
        r"sig\|a\_b",
    ]


def test_latex():
    assert as_latex(SMALL).splitlines() == [
        "% sig|a_b",
        r"% needs \usepackage{booktabs,graphicx} and the T1 font encoding",
        r"\begin{table}",
        r"\centering\small",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"name & r \\",
        r"\midrule",
        r"my\_metric\textbar{}x & 0.3333 \\",
        r"b & $-0.2500$ \\",
        r"\midrule",
        r"c & n/a \\",
        r"d &  \\",
        r"e & -two \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{Title, 50 \% of my\_set. A note with 5 \%.}",
        r"\label{tab:a_stem}",
        r"\end{table}",
    ]


def test_a_marked_number_is_bold_and_in_plain_text_followed_by_a_dagger():
    rows = ((Cell("a"), Cell(0.25, "+.2f", marked=True)), (Cell("b"), Cell(0.5, ".2f", marked=True)))
    made = Table("s", "t", ("name", "gain"), ((*rows, (Cell("c"), Cell(-0.125, "+.3f"))),), ("note",))
    assert as_text(made).splitlines()[3:6] == ["a      +0.25†", "b       0.50†", "c     -0.125"]
    assert as_markdown(made).splitlines()[4:7] == ["| a | **+0.25** |", "| b | **0.50** |", "| c | -0.125 |"]
    lines = as_latex(made).splitlines()
    assert r"a & $\mathbf{+0.25}$ \\" in lines and r"b & \textbf{0.50} \\" in lines and r"c & $-0.125$ \\" in lines
    assert as_csv(made).splitlines() == ["name,gain", "a,0.25", "b,0.5", "c,-0.125"]


def test_csv_holds_numbers_in_full_and_undefined_ones_empty():
    rows = list(csv.reader(io.StringIO(as_csv(SMALL))))
    assert rows == [["name", "r"], ["my_metric|x", repr(1 / 3)], ["b", "-0.25"], ["c", ""], ["d", ""], ["e", "2.0"]]


HOSTILE = {
    "a line of LaTeX": "x\n\\input{/etc/passwd}\n",
    "the end of a row": "x \\\\ \\end{tabular} & y",
    "an argument of a row end": "[5cm] *",
    "the end of a pipe row": "a | b\n\n# heading [link](javascript:alert(1)) `code` $x$ *b* _i_ ~s~",
    "a tag": "<script>alert(1)</script>&lt;",
    "a formula": '=HYPERLINK("x")',
    "other formulas": "@SUM(1)",
    "a minus": "-1+cmd",
    "a plus": "+1",
    "a tab": "\t=1",
    "a terminal command": "\x1b]0;title\x07\x1b[2J",
    "a turned line": "\u202egnp.exe",
    "half a character": "file\udc80",
}


def hostile(name):
    return Table("a_stem", name, ("name", f"{name} fixed"), (((Cell(name), Cell(0.5, ".2f")),),), (name, f"sig:{name}"))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_stays_a_name_in_every_format(form, name, tmp_path):
    text, plain_text = FORMATS[form](hostile(name)), FORMATS[form](hostile("x"))
    assert text.count("\n") == plain_text.count("\n")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    text.encode("utf-8")
    if form == "latex":
        for line in text.splitlines():
            assert line.startswith(("%", "\\")) or line.endswith(r"\\"), line
        body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
        assert set(re.findall(r"\\[a-zA-Z]+", body)) <= {
            *re.findall(r"\\[a-zA-Z]+", as_latex(hostile("x"))),
            *(r"\textbackslash", r"\textbar", r"\textless", r"\textgreater", r"\textasciitilde", r"\textquotedbl"),
        }
        (row,) = [line for line in body.splitlines() if line.endswith(r"\\") and "0.50" in line]
        assert len(re.findall(r"(?<!\\)&", row)) == 1
    elif form == "csv":
        for row in csv.reader(io.StringIO(text)):
            assert len(row) == 2
            assert not row[0].startswith(("=", "+", "-", "@", "\t", "\r"))
    elif form == "markdown":
        assert "<" not in text
        assert len(re.findall(r"(?<!\\)\|", text.splitlines()[4])) == 3
        assert not re.search(r"(?<!\\)[`\[\]$~#]", text)


def test_hostile_names_never_reach_a_path(tmp_path):
    """Names are checked where tables enter; a table's stem is made of checked names only."""
    awkward = "数" * 16
    analysis = analyse(table({(awkward, "a b", awkward, awkward): peaked(0.5), (awkward, "b", "m", "x"): flat()}))
    paths = [write_table(one, tmp_path / "tables", "csv") for one in analysis.tables()]
    assert {path.parent for path in paths} == {tmp_path / "tables"}
    assert all(len(path.name.encode()) < 180 for path in paths)
    assert any(awkward[:20] in path.name for path in paths)


def test_numbers_are_no_formulas():
    made = Table("s", "t", ("n",), (((Cell(-0.5),), (Cell(-3),)),), (), names=0)
    assert as_csv(made) == "n\n-0.5\n-3\n"


@pytest.mark.parametrize("sign", list(r"\{}_%&#$^~|<>[]*"))
def test_no_sign_of_latex_is_left_alone(sign):
    escaped = latex(f"a{sign}b")
    assert escaped != f"a{sign}b"
    assert re.fullmatch(r"a(?:\\(?:[{}_%&#$]|text[a-z]+\{\})|\{.\})b", escaped)


@pytest.mark.parametrize("sign", list("\\`*_[]|~$#<>&"))
def test_no_sign_of_markdown_is_left_alone(sign):
    assert markdown(f"a{sign}b") in (f"a\\{sign}b", "a&lt;b", "a&gt;b", "a&amp;b")


def test_a_row_of_other_length_is_refused():
    with pytest.raises(ValueError, match="x: 1 cells for 2 columns"):
        Table("x", "t", ("a", "b"), (((Cell("one"),),),), ())


def test_results_by_hand():
    found = named(analyse(table(SURFACES), HERE), "results_d")
    of_each = (f"{name} {value}" for name in ("lime", "shap") for value in ("fixed", "gain", "best"))
    assert found.header == ("metric", "language pair", "baseline", *of_each)
    assert shown(found) == [
        ["m", "a", "0.5000", "0.6000", "+0.1000", "0.6000", "0.5500", "+0.0500", "0.5500"],
        ["m", "b", "0.4000", "0.2000", "-0.2000", "0.4000", "0.4200", "+0.0200", "0.4200"],
        ["m", "average", "0.4500", "0.4000", "-0.0500", "0.5000", "0.4850", "+0.0350", "0.4850"],
    ]


def test_a_setting_that_was_not_run_leaves_a_gap_and_no_average():
    analysis = analyse(table({names: one for names, one in SURFACES.items() if names != ("d", "b", "m", "lime")}), HERE)
    found = named(analysis, "results_d")
    assert [row[3] for row in shown(found)] == ["0.6000", "n/a", "n/a"]
    assert [row[6] for row in shown(found)] == ["0.5500", "0.4200", "0.4850"]


@pytest.mark.parametrize("form", FORMATS)
def test_without_an_interval_nothing_is_set_in_bold_or_marked(form):
    for made in analyse(table(SURFACES), HERE).tables():
        text = FORMATS[form](made)
        assert not re.search(r"textbf|mathbf|textsuperscript\{\+\}|\d[+*]|\d\*\*", text), made.stem


def test_medians_by_hand():
    found = named(analyse(table(SURFACES), HERE), "selection_by_explainer")
    # lime's second setting is a tie of w = 1: its first point is p = -2, so that the median of p is -0.75.
    assert shown(found) == [
        ["lime", "0.75", "-0.75", "2", "0.5", "0.5", "1"],
        ["shap", "0.5", "0.5", "2", "0.5", "0.5", "2"],
    ]


def test_overview_by_hand():
    analysis = analyse(table(SURFACES), HERE)
    found = named(analysis, "overview")
    cells = [dict(zip(found.header, row, strict=True)) for row in shown(found)]
    assert [row["explainer"] for row in cells] == ["lime", "shap", "all"]
    assert [[row[key] for key in ("better", "equal or worse", "mean gain", "share better")] for row in cells] == [
        ["1", "1", "-0.05000", "50%"],
        ["2", "0", "+0.03500", "100%"],
        ["3", "1", "-0.00750", "75%"],
    ]


def test_counts():
    found = named(analyse(table(random_surfaces(0, explainers=("lime", "random")))), "counts")
    # 3 data sets of 2 pairs, 2 metrics, 2 explainers; 40 p and 2 w below 1.
    assert shown(found)[0] == ["d1", "2", "2", "2", "8", "", "40", "2", "640"]
    assert shown(found)[-1] == ["all", "2", "2", "2", "24", "", "40", "2", "1,920"]


@pytest.mark.parametrize(
    ("surfaces", "expected"),
    [
        pytest.param(random_surfaces(0, explainers=("lime", "random")), 11, id="several of everything"),
        pytest.param({("d", "a", "m", "lime"): peaked(0.5)}, 7, id="one setting: nothing to leave out"),
        pytest.param({("d", "a", "m", "random"): peaked(0.5)}, 2, id="controls only"),
        pytest.param({("d", "a", "m", "lime"): np.where(P[:, None] > 0, np.nan, flat())}, 7, id="undefined points"),
    ],
)
def test_every_table_is_written_four_ways_and_signed(surfaces, expected, tmp_path):
    analysis = analyse(table(surfaces))
    tables = analysis.tables()
    paths = [write_table(one, tmp_path, form) for one in tables for form in FORMATS]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    assert [one.stem for one in tables if one.data] == ["settings"] and len(tables) == expected + 1
    for path in paths:
        if path.stem == "settings":  # data, unsigned
            continue
        if path.suffix != ".csv":
            assert signature(analysis).translate({ord("|"): None}) in re.sub(r"[|\\]", "", path.read_text())
        else:
            lengths = {len(row) for row in csv.reader(io.StringIO(path.read_text()))}
            assert len(lengths) == 1


@pytest.mark.parametrize(("dataset", "told"), [("wmt17", "in-sample: the paper chose it"), ("mine", "on other data")])
def test_a_sweep_at_the_papers_points_is_as_published_and_never_held_out(dataset, told, tmp_path, monkeypatch):
    monkeypatch.setattr("bmx_grid.report.analysis_files.page_figures", lambda *_: [])
    results = [make_result(seed, dataset=dataset, language_pair=pair) for seed, pair in enumerate(("cs-en", "de-en"))]
    grid = dataclasses.replace(GRID, fixed={"lime": Point(w=0.4, p=-1.4)})
    found = analyse_sweep(results, SweepPlan((), (), (), {}), grid, tmp_path)
    assert found.analysis is not None
    texts = {one.stem: as_text(one) for one in found.analysis.tables()}
    assert told in texts[f"results_{dataset}"]
    assert [stem for stem, text in texts.items() if "held out" in text] in ([], ["transfer"])  # which says it is not


def test_the_published_grid_gives_the_papers_tables(authors_analysis):
    analysis = authors_analysis
    found = {one.stem: one for one in analysis.tables()}
    assert shown(found["counts"])[-1][4:] == ["430", "", "600", "5", "1,290,000"]
    rows = {tuple(row[:2]): row[2:] for row in shown(found["results_eval4nlp21"])}
    # Baseline, then lime at its medians and at its best (the paper's Figure 3b).
    et_en = rows["xbertscore", "et-en"]
    assert (et_en[0], et_en[7], et_en[9]) == ("0.7072", "0.7206", "0.7234")
    lime = next(row for row in shown(found["selection_by_explainer"]) if row[0] == "lime")
    assert lime[1:] == ["0.4", "-1.4", "68", "0.4", "-0.3", "54"]
    lime = next(row for row in shown(found["overview"]) if row[0] == "lime")
    assert lime[1:7] == ["0.4", "-1.4", "68", "40", "27", "1"]
    moved = next(row for row in shown(found["transfer"]) if row[:2] == ["dataset", "lime"])
    assert (moved[3], moved[5]) == ("40", "33")
    assert shown(found["ridge_coefficients"])[0] == ["language_pair", "de-zh", "+0.01263", "n/a"]
    assert len(found["settings"].frame()) == 430
