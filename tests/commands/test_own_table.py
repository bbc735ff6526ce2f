"""A table of a user's own: what is recognised, what is said of the rest, and the command that runs."""

import json
import re
import shlex
import subprocess

import pytest
from fakes import composed
from score_trees import TREE, plant

from bmx_grid.api import compose
from bmx_grid.commands.data import main
from bmx_grid.core.configure import build
from bmx_grid.datasets.column_roles import COLUMN_ROLES, usual_columns
from bmx_grid.datasets.mt_metrics_eval import MtMetricsEval
from bmx_grid.datasets.tabular import Tabular


@pytest.fixture
def show(capsys, tmp_path, monkeypatch):
    """show(name, header, *rows, more): (exit status, standard output, standard error) of `data show`."""
    monkeypatch.chdir(tmp_path)

    def call(name, header, *rows, more=()):
        (tmp_path / name).write_text("".join("\t".join(line.split("|")) + "\n" for line in (header, *rows)))
        status = main(["show", name, "limit=0", *more])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


# Headers as publishers write them, and what each role's column is.
HEADERS = {
    "WMT direct assessments": ("lp|src|mt|ref|score|raw|annotators|year", "src ref mt score lp - - - - -"),
    "MLQE-PE": ("index|original|translation|scores|z_mean", "original - translation z_mean - index - - - -"),
    "MQM ratings": (
        "system|doc|doc_id|seg_id|rater|source|target|mqm",
        "source - target mqm - seg_id system doc - rater",
    ),
    "capitals, blanks and dashes": (
        "Language-Pair|Sys|Seg ID|Source Text|Human Reference|MT output|DA score",
        "Source Text|Human Reference|MT output|DA score|Language-Pair|Seg ID|Sys|-|-|-",
    ),
    "German": (
        "Satz-ID|Systemname|Quelle|Referenz|Übersetzung|Bewertung|Sprachpaar|Annotator|Dokument",
        "Quelle Referenz Übersetzung Bewertung Sprachpaar Satz-ID Systemname Dokument - Annotator",
    ),
    "German in ASCII": (
        "SegmentID|System-ID|Quelltext|Musteruebersetzung|MT-Uebersetzung|Qualitaet|Sprachrichtung|Domaene",
        "Quelltext Musteruebersetzung MT-Uebersetzung Qualitaet Sprachrichtung SegmentID System-ID - Domaene -",
    ),
    "letters and digits count": ("(src)|MtOutput|Seg. ID|Score", "(src)|-|MtOutput|Score|-|Seg. ID|-|-|-|-"),
    "a role's own name comes first": ("src|source|mt|score|da", "source - mt score - - - - - -"),
}


@pytest.mark.parametrize("habit", HEADERS)
def test_usual_names_are_recognised(habit):
    header, columns = HEADERS[habit]
    split = columns.split("|") if "|" in columns else columns.split()
    expected = {role: name for role, name in zip(COLUMN_ROLES, split, strict=True) if name != "-"}
    assert usual_columns(header.split("|"), {}) == expected


def test_what_is_recognised_unused_and_to_be_run_is_shown(show):
    status, out, err = show("my own.tsv", "lp|src|mt output|DA|notes", *(f"de-en|q{n}|w {n}|{n}|x" for n in range(4)))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:6] == [
        "my own.tsv: 4 rows",
        "  source         src",
        "  hypothesis     mt output",
        "  score          DA",
        "  language pair  lp",
        "  unused         notes",
    ]
    assert "4 segments in 4 clusters, 4 rated" in lines[6]


@pytest.mark.parametrize(
    ("name", "header", "row", "more"),
    [
        pytest.param("my own's.tsv", "lp|src|mt output|ref|Human Rating", "de-en|q|w|r|1", [], id="quotes and blanks"),
        pytest.param("my.tsv", "src|hyp|ref|null", "q|w|r|1", ["columns.score='null'"], id="null"),
        pytest.param("1.tsv", "sys|seg_id|src|hyp|ref|[da]", "A|1|q|w|r|1", ["columns.score='[da]'"], id="a list"),
        pytest.param(
            "my.tsv", r"src|hyp|ref|b\c|da", "q|w|r|s|1", [r"columns.reference=[ref,'b\c']"], id="two references"
        ),
    ],
)
def test_the_command_that_is_shown_reads_the_table(name, header, row, more, show, tmp_path):
    status, out, err = show(name, header, row, row.replace("1", "2"), more=more)
    assert status == 0, err
    words = shlex.split(out.split("to run it:\n")[1].replace("\\\n", " "))
    assert words[:2] == ["bmx-grid", "run"]
    config = composed(*words[2:])
    assert set(config["metric"]) == {"chrf", "sentence_bleu"}
    reader = build(config["dataset"]["tabular"], Tabular, "dataset.tabular")
    (pair,) = reader.pairs(tmp_path)
    segments = reader.load_segments(tmp_path, pair).segments
    assert len(segments) == 2 and (segments[0].further_references == ("s",)) == ("b\\c" in header)


def test_signs_that_no_terminal_shows_pass_a_shell(show):
    name = "a\x1b[31m\u202e'"
    _, out, _ = show("my.tsv", f"src|hyp|ref|{name}", "q|w|r|1", more=["--columns", f"score={name}"])
    printed = out.split("to run it:\n")[1].removeprefix("bmx-grid")
    assert printed.replace("\n", "").isprintable()
    passed = subprocess.run(["bash", "-c", f"printf '%s\\0' {printed}"], capture_output=True, text=True, check=True)
    config = composed(*passed.stdout.split("\0")[1:-1])
    assert config["dataset"]["tabular"]["columns"]["score"] == name


@pytest.mark.parametrize("name", ["${x}", "${", "${oc.env:HOME}", "a\0b"])
def test_a_column_that_no_command_can_name_is_to_be_renamed(name, tmp_path, capsys):
    table = tmp_path / "my.jsonl"
    table.write_text(json.dumps({"src": "q", "hyp": "w", "ref": "r", name: 1}))
    assert main(["show", str(table), "--columns", f"score={name}"]) == 2
    sentence = f"error: {table}: {name!r} cannot be part of a command; rename it without ${{ and NUL.\n"
    assert capsys.readouterr().err == sentence


def test_a_decimal_comma_is_named_and_read(show, tmp_path):
    table = ("my.tsv", "src|hyp|ref|Note", "q|w|r|96,0", "s|t|u|-0,5", "v|w|x|")
    status, _, err = show(*table)
    assert status == 2 and "my.tsv, line 2: the score in column 'Note' is not a finite number: '96,0'" in err
    assert err.endswith("if its comma is a decimal comma, add dataset.tabular.decimal=, to the arguments.\n")
    status, out, err = show(*table, more=["decimal=,"])
    assert status == 0 and "Note: -0.5 to 96, mean 47.7500" in out, err
    words = shlex.split(out.split("to run it:\n")[1].replace("\\\n", " "))
    reader = build(compose.compose_config(words[2:])["dataset"]["tabular"], Tabular, "dataset.tabular")
    assert reader.load_segments(tmp_path, "none").human_scores[:2].tolist() == [96.0, -0.5]
    status, _, err = show("my.tsv", "src|hyp|ref|Note", "q|w|r|1.096,5", more=["decimal=,"])
    assert status == 2 and "'1.096,5'; with dataset.tabular.decimal=, write a number like -0,25, without a point" in err
    status, _, err = show(*table, more=["decimal=comma"])
    assert status == 2 and "dataset.tabular.decimal: unknown value 'comma'" in err


def test_named_columns_go_before_recognised_ones_and_ids_must_tell_segments_apart(show):
    rows = ("1|q|w|r|1|2", "1|q|v|r|2|3")
    _, out, _ = show("my.tsv", "index|src|hyp|ref|da|mqm", *rows, more=["columns.score=mqm"])
    assert "  score          mqm\n" in out and "  unused         index, da\n" in out
    assert "  id             the number of the row, as index repeats within a pair, '1' in line 2 and line 3\n" in out
    assert "columns.id" not in out


def test_a_folder_of_mt_metrics_eval_is_shown_as_a_table_is(tmp_path, capsys):
    plant(tmp_path / "toy", TREE)
    assert main(["show", str(tmp_path / "toy"), "limit=1", "language_pair=en-de"]) == 0
    out = capsys.readouterr().out
    words = shlex.split(out.split("to run it:\n")[1].replace("\\\n", " "))
    settings = compose.compose_config(words[2:])["dataset"]["mt_metrics_eval"]
    reader = build(settings, MtMetricsEval, "dataset.mt_metrics_eval")
    count = len(reader.load_segments(tmp_path, "en-de"))
    assert f"mt_metrics_eval en-de: {count} segments" in out
    assert main(["show", str(tmp_path)]) == 2
    assert f"show one: bmx-grid data show {tmp_path / 'toy'}\n" in capsys.readouterr().err


def test_a_folder_of_a_published_data_set_names_it(tmp_path, capsys):
    file = tmp_path / "SharedTask2021/data/test21/ro-en-test21.tar.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    for folder in (tmp_path, tmp_path / "SharedTask2021"):
        assert main(["show", str(folder)]) == 2
        way_out = f"show one: bmx-grid data show eval4nlp21 data_dir={tmp_path}\n"
        assert capsys.readouterr().err.endswith(way_out)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("abc.tsv", "no column for hypothesis, score, source or reference.*=NAME", id="roles"),
        pytest.param("none.tsv", "file not found: none.tsv", id="no such file"),
        pytest.param(
            "table.doc", "the name must end in .tsv, .csv, .jsonl, .parquet, .xlsx", id="another kind of file"
        ),
        pytest.param("./", "./: the folder holds no known data set: .* a file that ends in .tsv", id="a folder"),
        pytest.param("wmt_17", "unknown data set 'wmt_17'. Did you mean 'wmt17'", id="no data set"),
    ],
)
def test_what_is_no_table_is_one_sentence(name, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.doc").write_bytes(b"PK")
    (tmp_path / "abc.tsv").write_text("a\tb\tc\nx\ty\t1\n")
    assert main(["show", name]) == 2
    err = capsys.readouterr().err
    assert re.search(message, err) and err.count("\n") == 1


def test_a_reference_that_is_the_source_and_one_language_are_said(show):
    header = "source|reference|hypothesis|score"
    status, out, _ = show("mine.tsv", header, "a b|a b|a|1", "c d|c d|c|2", "e|e|e|3")
    assert status == 0 and "with source and reference, which are the same in every row" in " ".join(out.split())
    assert "none: one language, or name the pair with language_pair=de-en" in out
    _, out, _ = show("other.tsv", header, "a b|a b|a|1", "c d|c e|c|2", "e|e|e|3")
    assert "the same" not in out
