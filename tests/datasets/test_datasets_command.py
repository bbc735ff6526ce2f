"""python -m bmx_grid data: what it prints, and its exit status."""

import re

import pytest
from packed import pack

from bmx_grid.commands.data import main

FOLDER = "wmt-qe-2022-data/test_data-gold_labels/task1_da/km-en"
FILES = {
    f"{FOLDER}/test.2022.src": b"s\n",
    f"{FOLDER}/test.2022.mt": b"h\n",
    f"{FOLDER}/test2022.km-en.da_score": b"1\n",
}


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """run(*arguments): (exit status, standard output, standard error), in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BMX_DATA_DIR", raising=False)
    monkeypatch.setattr("bmx_grid.datasets.download.WAIT_S", 0.001)

    def call(*arguments):
        status = main(arguments)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_list_names_every_data_set_and_counts_missing_files(run):
    status, out, _ = run("list")
    assert status == 0
    for name in ("wmt17", "eval4nlp21", "mlqe_pe", "wmt22_qe", "mqm21", "tabular"):
        assert f"\n{name} " in out
    assert "80 missing: python -m bmx_grid data download wmt17 data_dir=data" in out


def test_verify_fails_and_names_the_download_of_what_is_missing(run):
    status, out, _ = run("verify", "mlqe_pe", "language_pair=ro-en", "data_dir=here")
    assert status == 1
    assert "2 missing: python -m bmx_grid data download mlqe_pe data_dir=here" in out


def test_show_counts_segments_and_prints_some_of_them(run, data_dir):
    status, out, _ = run("show", "wmt17", "language_pair=cs-en,zh-en", "limit=2", f"data_dir={data_dir}")
    assert status == 0
    assert "wmt17 cs-en: 560 segments of 12 systems in 524 clusters, 560 rated, with source and reference" in out
    assert "  [33:online-A.0] da 0.492423\n" in out
    assert out.count("hypothesis ") == 4
    _, out, _ = run("show", "mlqe_pe", "language_pair=ru-en", "limit=1", f"data_dir={data_dir}")
    assert re.search(r"^  z_mean \(primary\): .* to .*, mean .*$", out, re.M)
    assert re.search(r"^  mean: .*$", out, re.M)
    assert re.search(r"^  \[9965\] z_mean 0.749183, mean 90$", out, re.M)


@pytest.mark.parametrize("column", [("columns.score='my da [0,1]'",), ("--columns", "score=my da [0,1]")])
def test_show_takes_settings_of_a_table(run, write, column):
    write("my.tsv", "source\thypothesis\tmy da [0,1]\nHallo\thello\t1\nWelt\tworld\tNA\n")
    status, out, _ = run("show", "language_pair=de-en", "tabular", "path=my.tsv", *column)
    assert status == 0
    assert "2 segments in 2 clusters, 1 rated, with source" in out
    assert "  my da [0,1]: 1 to 1, mean 1.0000\n" in out
    assert "[2] my da [0,1] not rated" in out


def test_escapes_of_a_table_do_not_reach_the_terminal(run, write):
    write("t.tsv", "id\tsource\thypothesis\tscore\x1b[2J\na\x1b[1m\tb\x1b[31m\tc\x9b\t1\n")
    status, out, err = run("show", "t.tsv", "columns.score='score\x1b[2J'")
    assert (status, err) == (0, "")
    assert out.replace("\n", "").isprintable()
    assert "b\\x1b[31m" in out and "[a\\x1b[1m]" in out


def test_download_verify_show(run, publisher, checksums, tmp_path):
    checksums(FILES)
    publisher.content = pack({path.replace("wmt-qe-2022-data", "top"): raw for path, raw in FILES.items()})
    status, out, _ = run("download", "wmt22_qe", "language_pair=km-en")
    assert status == 0
    assert "3 files written below data" in out
    assert run("verify", "wmt22_qe", "language_pair=km-en")[0] == 0
    assert "1 segment in 1 cluster, 1 rated" in run("show", "wmt22_qe", "language_pair=km-en")[1]
    (tmp_path / "data" / FOLDER / "test.2022.mt").write_bytes(b"x\n")
    status, out, _ = run("verify", "wmt22_qe", "language_pair=km-en")
    assert status == 1
    assert "differs from the published file: data/" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["show", "wmt117"], "Did you mean 'wmt17'?", id="name"),
        pytest.param(["show"], "name a data set", id="no-name"),
        pytest.param(["show", "wmt17", "language_pair=en-cs"], "unknown language pair 'en-cs'", id="pair"),
        pytest.param(["show", "wmt17", "unescape=[1"], "cannot be read as KEY=VALUE", id="half-a-list"),
        pytest.param(
            ["show", "my.tsv", "columns.score=Wärme (1)"], """write 'columns.score="Wärme (1)"'""", id="letters"
        ),
        pytest.param(["show", "wmt17"], "download wmt17", id="no-data"),
        pytest.param(["show", "my.tsv", "columns.rating=da"], "unknown role 'rating'", id="another-role"),
    ],
)
def test_mistakes_have_status_2_and_name_the_way_out(run, write, arguments, words):
    write("my.tsv", "source\thypothesis\tda\na\tb\t1\n")
    status, _, err = run(*arguments)
    assert status == 2
    assert words in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["mine.tsv", "mi{ne.tsv"], ids=["plain", "a brace"])
def test_columns_that_are_not_recognised_are_asked_for_in_one_command(run, write, name):
    path = str(write(name, "x\ty\n1\t2\n"))
    status, _, err = run("show", path)
    assert status == 2
    assert err.count("bmx-grid data show") == 1
    assert err.rstrip().endswith("columns.hypothesis=NAME columns.score=NAME columns.source=NAME")


def test_an_identifier_that_is_no_text_is_named(run, tmp_path):
    row = '{"seg_id": [1], "source": "a", "reference": "b", "hypothesis": "c", "score": 1}\n'
    (tmp_path / "mine.jsonl").write_text(row)
    status, _, err = run("show", "mine.jsonl")
    assert status == 2 and "line 1: the column 'seg_id' holds '[1]' (list), not text" in err
