"""The ways a table is written, names of every kind included, and the tables of the published grid."""

import csv
import io
import math
import re
from dataclasses import replace

import pytest
from some_tables import random_surfaces, table

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.questions import analyse_table, signature
from bmx_grid.report.table import (
    FORMATS,
    as_csv,
    as_latex,
    as_text,
    latex,
    markdown,
    tables_as_text,
    width_of,
    write_table,
)

SMALL = Table(
    "a_stem",
    "Title, 50 % of my_set",
    ("name", "r"),
    (
        ((Cell("my_metric|x"), Cell(1 / 3, ".4f")), (Cell("b"), Cell(0.25, "+.4f", marked=True))),
        ((Cell("c"), Cell(math.nan, ".4f")), (Cell("d"), Cell(None)), (Cell("e"), Cell(-2.0, words="-two"))),
    ),
    ("A note with 5 %.", "sig|a_b"),
)
TEXT = """\
Title, 50 % of my_set

name                r
---------------------
my_metric|x   0.3333
b            +0.2500†
---------------------
c                n/a
d
e               -two

A note with 5 %.
sig|a_b
"""
MARKDOWN = r"""**Title, 50 % of my\_set**

| name | r |
| --- | ---: |
| my\_metric\|x | 0.3333 |
| b | **+0.2500** |
| c | n/a |
| d |  |
| e | -two |

A note with 5 %.

sig\|a\_b
"""
LATEX = r"""% sig|a_b
% needs \usepackage{booktabs,graphicx} and the T1 font encoding
\begin{table}
\centering\small
\begin{tabular}{lr}
\toprule
name & r \\
\midrule
my\_metric\textbar{}x & 0.3333 \\
b & $\mathbf{+0.2500}$ \\
\midrule
c & n/a \\
d &  \\
e & -two \\
\bottomrule
\end{tabular}
\caption{Title, 50 \% of my\_set. A note with 5 \%.}
\label{tab:a_stem}
\end{table}
"""
CSV = f"name,r\nmy_metric|x,{1 / 3!r}\nb,0.25\nc,\nd,\ne,-2.0\n"


@pytest.mark.parametrize(
    ("form", "text"), {"text": TEXT, "markdown": MARKDOWN, "latex": LATEX, "csv": CSV}.items(), ids=FORMATS
)
def test_a_table_is_written_in_each_format(form, text):
    assert FORMATS[form](SMALL) == text


NUMBERS = tuple(Cell(value, ".4f") for value in (0.1, 0.2, 0.3))


def wide(*names, **more):
    """A table with a row for each name: a name, one that all share, three numbers and a count that all share."""
    rows = tuple((Cell(name), Cell("shared"), *NUMBERS, Cell(48)) for name in names)
    header = ("name", "data", "one", "two", "three", "pairs")
    return Table("s", "t", header, (rows,), ("note",), names=2, **more)


@pytest.mark.parametrize(
    ("width", "droppable", "header", "end"),
    [
        pytest.param(80, (), "name     one     two   three", "", id="all fit"),
        pytest.param(24, (), "name     one     two", "Not shown at 24 columns:\nthree.", id="from the right"),
        pytest.param(24, ("one",), "name     two   three", "Not shown at 24 columns:\none.", id="in the stated order"),
        pytest.param(13, (), "name     one", "Not shown at\n13 columns:\nthree, two.", id="the first number stays"),
        pytest.param(4, (), "name", "Not\nshown\nat 4\ncolumns:\nthree,\ntwo,\none.", id="only names"),
    ],
)
def test_what_does_not_fit_goes_and_is_named(width, droppable, header, end):
    lines = as_text(wide("a", "b", droppable=droppable), width).splitlines()
    assert header in lines
    below = "\n".join(lines)
    assert below.endswith(f"note\n{end}" if end else "note")
    assert "(shared, pairs=48)" in " ".join(below.split()), "what all rows share is in the title"
    assert max(map(width_of, lines)) <= max(width, len("pairs=48)"))


def test_names_are_cut_where_dropping_columns_does_not_suffice():
    long = wide("a name of thirty characters ok", "日本語の名前です")
    assert max(map(width_of, as_text(replace(long, notes=()), 26).splitlines()[2:5])) <= 26
    assert "a name of…" in as_text(long, 18) and "…" not in as_text(long)


def test_a_table_in_full_has_every_column():
    assert "name  data       one     two   three  pairs" in as_text(wide("a", "b")).splitlines()


def test_rows_beyond_those_that_are_shown_are_counted():
    text = tables_as_text([wide("a", "b", "c")], 80, most=2)
    assert "\n1 more in report.html\n" in text and "\nc " not in text


def test_a_rule_separates_groups_but_not_single_rows():
    rows = [(Cell(name), Cell(1)) for name in "abcde"]
    groups = (tuple(rows[:2]), (rows[2],), (rows[3],), (rows[4],))
    lines = as_text(Table("s", "t", ("name", "n"), groups, ())).splitlines()
    assert [line[0] for line in lines[3:]] == ["-", "a", "b", "-", "c", "d", "e"]


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


def test_no_sign_of_a_format_is_left_alone():
    for sign in r"\{}_%&#$^~|<>[]*":
        assert re.fullmatch(r"a(?:\\(?:[{}_%&#$]|text[a-z]+\{\})|\{.\})b", latex(f"a{sign}b")), sign
    for sign in "\\`*_[]|~$#<>&":
        assert markdown(f"a{sign}b") in (f"a\\{sign}b", "a&lt;b", "a&gt;b", "a&amp;b"), sign
    assert as_csv(Table("s", "t", ("n",), (((Cell(-0.5),),),), (), names=0)) == "n\n-0.5\n", "a number is no formula"


def test_a_row_of_other_length_or_a_column_given_twice_is_refused():
    with pytest.raises(ValueError, match="x: 1 cells for 2 columns"):
        Table("x", "t", ("a", "b"), (((Cell("one"),),),), ())
    with pytest.raises(ValueError, match="x: repeated column name"):
        Table("x", "t", ("a", "a"), (), ())


def test_every_table_is_written_and_signed(tmp_path):
    analysis = analyse_table(table(random_surfaces(0, explainers=("lime", "random"))))
    paths = [write_table(shown, tmp_path, form) for shown in analysis.tables() for form in ("latex", "text")]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    assert all(signature(analysis) in path.read_text() for path in paths)


@pytest.mark.parametrize(
    ("cell", "tex"),
    [
        pytest.param(Cell(-0.1, ".1f"), "$-0.1$", id="a number"),
        pytest.param(Cell(-0.1, words="-0.1 [-0.3, +.2]"), "$-$0.1 {[}$-$0.3, +.2{]}", id="a hyphen is no minus"),
        pytest.param(Cell(0.1, words="1e-05"), "1e-05", id="an exponent"),
        pytest.param(Cell("newstest-21"), "newstest-21", id="a name"),
    ],
)
def test_latex_writes_minus_signs(cell, tex):
    table = Table("t", "T", ("c",), (((cell,),),), ())
    assert f"\n{tex} \\\\\n" in as_latex(table)
