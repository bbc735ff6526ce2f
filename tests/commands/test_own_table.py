"""A table of a user's own: what is recognised, what is said of the rest, and the command that runs."""

import re
import shlex

import pytest
from fakes import composed

from bmx_grid.commands.data import main
from bmx_grid.datasets.tables import ROLES, usual_columns
from bmx_grid.datasets.tabular import Tabular


@pytest.fixture
def show(capsys, tmp_path, monkeypatch):
    """show(name, header, *rows, more): (exit status, standard output, standard error) of `data show`."""
    monkeypatch.chdir(tmp_path)

    def call(name, header, *rows, more=(), separator="\t"):
        lines = [header, *rows]
        (tmp_path / name).write_text("\n".join(separator.join(line.split("|")) for line in lines) + "\n")
        status = main(["show", name, "limit=0", *more])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


# Headers as publishers write them, and what each role's column is.
HEADERS = {
    "WMT direct assessments": ("lp|src|mt|ref|score|raw|annotators|year", "src ref mt score lp - - -"),
    "MLQE-PE": ("index|original|translation|scores|z_mean", "original - translation z_mean - index - -"),
    "MQM ratings": ("system|doc|doc_id|seg_id|source|target|mqm", "source - target mqm - seg_id system doc"),
    "capitals, blanks and dashes": (
        "Language-Pair|Sys|Seg ID|Source Text|Human Reference|MT output|DA score",
        "Source Text|Human Reference|MT output|DA score|Language-Pair|Seg ID|Sys|-",
    ),
    "a role's own name comes first": ("src|source|mt|score|da", "source - mt score - - - -"),
}


@pytest.mark.parametrize("habit", HEADERS)
def test_usual_names_are_recognised(habit):
    header, columns = HEADERS[habit]
    split = columns.split("|") if "|" in columns else columns.split()
    expected = {role: name for role, name in zip(ROLES, split, strict=True) if name != "-"}
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
    ("name", "separator", "header", "row"),
    [
        pytest.param(
            "my own's.tsv", "\t", "lp|src|mt output|ref|Human Rating", "de-en|q|w|r|1", id="quotes and blanks"
        ),
        pytest.param("1.tsv", "\t", "sys|seg_id|src|hyp|ref|[da]", "A|1|q|w|r|1", id="names that YAML reads otherwise"),
    ],
)
def test_the_command_that_is_shown_reads_the_table(name, separator, header, row, show, tmp_path):
    more = ["columns.score='[da]'"] if "[da]" in header else []
    status, out, err = show(name, header, row, row.replace("1", "2"), more=more, separator=separator)
    assert status == 0, err
    command = out.split("to run it:\n")[1].replace("\\\n", " ")
    words = shlex.split(command)
    assert words[:2] == ["bmx-grid", "run"]
    config = composed(*words[2:])
    assert set(config["metric"]) == {"chrf", "sentence_bleu"}
    options = config["dataset"]["tabular"]
    reader = Tabular(**{key: value for key, value in options.items() if key != "_target_"})
    (pair,) = reader.pairs(tmp_path)
    assert len(reader.read(tmp_path, pair)) == 2


def test_several_columns_of_a_role_are_in_the_command_whatever_their_names(show):
    status, out, err = show("my.tsv", "src|hyp|ref|b\\c|da", "q|w|r|s|1", more=[r"columns.reference=[ref,'b\c']"])
    assert status == 0, err
    words = shlex.split(out.split("to run it:\n")[1].replace("\\\n", " "))
    assert composed(*words[2:])["dataset"]["tabular"]["columns"]["reference"] == ["ref", "b\\c"]


def test_all_missing_roles_are_said_at_once_with_the_columns_there_are(show):
    status, _, err = show("my.tsv", "a|b|c", "x|y|1")
    assert status == 2
    assert "my.tsv has no column for hypothesis, score, source or reference among a, b, c" in err
    assert "bmx-grid data show my.tsv columns.hypothesis=NAME" in err


def test_named_columns_go_before_recognised_ones(show):
    _, out, _ = show("my.tsv", "src|hyp|ref|da|mqm", "q|w|r|1|2", more=["columns.score=mqm"])
    assert "  score          mqm\n" in out and "  unused         da\n" in out
    status, _, err = show("my.tsv", "src|hyp|ref|da", "q|w|r|1", more=["columns.score=dda"])
    assert status == 2 and "score: unknown column 'dda'. Did you mean 'da'" in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("none.tsv", "there is no file none.tsv", id="no such file"),
        pytest.param("table.xlsx", "the name must end in .tsv, .csv, .jsonl, .parquet", id="another kind of file"),
        pytest.param("./", "unknown data set './'.* a file that ends in .tsv, .csv", id="a folder"),
        pytest.param("wmt_17", "unknown data set 'wmt_17'. Did you mean 'wmt17'", id="no data set"),
    ],
)
def test_what_is_no_table_is_one_sentence(name, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    assert main(["show", name]) == 2
    err = capsys.readouterr().err
    assert re.search(said, err) and err.count("\n") == 1


def test_ids_that_do_not_tell_segments_apart_are_not_taken(show):
    _, out, _ = show("my.tsv", "index|src|hyp|ref|da", "1|q|w|r|1", "1|q|v|r|2")
    assert "  id             the number of the row: index repeats within a pair\n" in out
    assert "columns.id" not in out
