"""Tables: their contents against hand values, and the ways they are written, names of every kind included."""

import csv
import io
import math
import re

import numpy as np
import pytest
from some_tables import P, flat, peaked, random_surfaces, table

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.questions import analyse, signature
from bmx_grid.report.table import (
    FORMATS,
    as_csv,
    as_latex,
    as_markdown,
    as_text,
    latex,
    markdown,
    write_table,
)

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
    "a sign": "-1+cmd",
    "a tab": "\t=1",
    "a terminal command": "\x1b]0;title\x07\x1b[2J",
    "a turned line": "\u202egnp.exe",
    "half a character": "file\udc80",
}


def hostile(name):
    return Table("a_stem", name, ("name", f"{name} fixed"), (((Cell(name), Cell(0.5, ".2f")),),), (name, f"sig:{name}"))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_stays_a_name_in_every_format(form, name):
    text, plain_text = FORMATS[form](hostile(name)), FORMATS[form](hostile("x"))
    assert text.count("\n") == plain_text.count("\n")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    text.encode("utf-8")
    if form == "latex":
        for line in text.splitlines():
            assert line.startswith(("%", "\\")) or line.endswith(r"\\"), line
        body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
        known = set(re.findall(r"\\[a-zA-Z]+", as_latex(hostile("x"))))
        assert {name for name in re.findall(r"\\[a-zA-Z]+", body) if not name.startswith(r"\text")} <= known
        (row,) = [line for line in body.splitlines() if line.endswith(r"\\") and "0.50" in line]
        assert len(re.findall(r"(?<!\\)&", row)) == 1
    elif form == "csv":
        for row in csv.reader(io.StringIO(text)):
            assert len(row) == 2 and not row[0].startswith(("=", "+", "-", "@", "\t", "\r"))
    elif form == "markdown":
        assert "<" not in text and len(re.findall(r"(?<!\\)\|", text.splitlines()[4])) == 3
        assert not re.search(r"(?<!\\)[`\[\]$~#]", text)


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


@pytest.mark.parametrize(
    "surfaces",
    [
        pytest.param(random_surfaces(0, explainers=("lime", "random")), id="several of everything"),
        pytest.param({("d", "a", "m", "random"): peaked(0.5)}, id="controls only"),
        pytest.param({("d", "a", "m", "lime"): np.where(P[:, None] > 0, np.nan, flat())}, id="undefined points"),
    ],
)
def test_every_table_is_written_four_ways_and_signed(surfaces, tmp_path):
    analysis = analyse(table(surfaces))
    paths = [write_table(shown, tmp_path, form) for shown in analysis.tables() for form in FORMATS]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    for path in paths:
        if path.suffix != ".csv":
            assert signature(analysis).translate({ord("|"): None}) in re.sub(r"[|\\]", "", path.read_text())
        else:
            assert len({len(row) for row in csv.reader(io.StringIO(path.read_text()))}) == 1


def test_the_published_grid_gives_the_papers_tables(authors_analysis):
    analysis = authors_analysis
    found = {one.stem: one for one in analysis.tables()}
    assert shown(found["counts"])[-1][4:] == ["430", "600", "5", "1,290,000"]
    rows = {tuple(row[:4]): row[4:] for row in shown(found["settings"])}
    # Baseline, best with its gain and point, at the medians (the paper's Figure 3b).
    et_en = rows["eval4nlp21", "et-en", "xbertscore", "lime"]
    assert (*et_en[:2], *et_en[3:5], et_en[6]) == ("0.7072", "0.7234", "0.4", "-5.2", "0.7206")
    lime = next(row for row in shown(found["selection_by_explainer"]) if row[0] == "lime")
    assert lime[1:] == ["0.4", "-1.4", "68", "0.4", "-0.3", "54"]
    lime = next(row for row in shown(found["overview"]) if row[0] == "lime")
    assert lime[1:7] == ["0.4", "-1.4", "68", "40", "27", "1"]
    moved = next(row for row in shown(found["transfer"]) if row[:2] == ["dataset", "lime"])
    assert (moved[3], moved[5]) == ("40", "33")
    assert shown(found["ridge_coefficients"])[0] == ["language_pair", "de-zh", "+0.01263", "n/a"]
    assert len(found["settings"].frame()) == 430
