"""The command line: mistakes get one clear sentence and status 2, never a traceback; multirun works."""

import math
import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from fakes import ROOT

from bmx_grid.api.compose import compose_config
from bmx_grid.core import storage
from bmx_grid.core.errors import BmxError, ConfigError

pytestmark = pytest.mark.usefixtures("blank_figures")

QUIET = ("executor=sequential", "tracking=none", "analysis=false", "evaluation=[grid]")
SAMPLE = (*QUIET, "dataset.sample.language_pairs=[de-en]", "limit=4")
PIPES = {"capture_output": True, "text": True}
GOOD = [f"quelle {n}\treference {n} words\thypothesis {n % 3} words\t{n}" for n in range(6)]


@pytest.fixture
def sweep_rows(swept_table):
    """sweep_rows(rows, *overrides): the exit status of a sweep of a table of these rows, with chrF by Erasure."""
    header, chosen = "source\treference\thypothesis\tscore", ("metric=[chrf]", "explainer=[erasure]", *QUIET)
    return lambda rows, *overrides: swept_table([header, *rows], *chosen, *overrides)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param(["limit=0"], "limit must be at least 1", id="limit"),
        pytest.param(["seed=-1"], "seed must be 0 or more, .* got -1", id="seed"),
        pytest.param(["evaluation.grid.seed=-1"], "grid.seed must be 0 or more, .* got -1", id="an evaluation's seed"),
        pytest.param(["questions=[bmx.q]"], "questions require the analysis, but analysis=false", id="question"),
        pytest.param(["grid.w=[0,2]"], "w = 2.0 is outside \\[0, 1\\]", id="w"),
        pytest.param(["dataset.sample.language_pairs=[de-fr]"], "unknown language pair 'de-fr'", id="language pair"),
        pytest.param(["~metric.sentence_bleu"], "metric: choose at least one", id="no metric"),
        pytest.param(["~grid.p.step"], "grid.p: step must be given, as grid.p.step=VALUE", id="no step"),
        pytest.param([f"grid.w=[{','.join(f'{n}e-4' for n in range(2000))}]"], "1,200,600 points", id="2,000 w"),
        pytest.param(["grid.fixed.lime.w=2"], "grid.fixed.lime: weight w = 2.0 is outside", id="a fixed w"),
        pytest.param(["output_dir=s3://bucket/x"], "output_dir: 's3://bucket/x' .* an address; write", id="an address"),
        pytest.param(["output_dir=/dev/null"], "output_dir: '/dev/null' is a file; name a folder", id="a device"),
        pytest.param(["data_dir=''"], "data_dir: '' is not a path: it is empty", id="an empty path"),
        pytest.param(
            ["metric.sentence_bleu._target_=bmx_grid.metrics.base.Metric"], "is abstract", id="abstract class"
        ),
        pytest.param(
            ["dataset=[sample,tabular]", "dataset.tabular.name=sample"],
            "datasets sample and tabular are both named 'sample'; give one another name",
            id="two data sets of one name",
        ),
        pytest.param(["~executor"], "executor: expected an option with a `_target_`, got None", id="no executor"),
        pytest.param(
            ["metric=[chrf]", "explainer=[]", "evaluation=[significance]"],
            "would write nothing: significance: one metric without boosts has nothing to compare",
            id="tests of one metric",
        ),
    ],
)
def test_values_that_cannot_be_are_refused_before_anything_is_written(overrides, message, swept, tmp_path):
    with pytest.raises(BmxError, match=message):
        swept(*SAMPLE, *overrides)
    assert not list(tmp_path.iterdir())


def test_a_point_as_the_paper_writes_it_is_a_grid_with_the_metric_alone(call, tmp_path):
    """A list in place of the range of p; the weight 1, which gains are relative to, is added."""
    point = ["grid.p=[-1.4]", "grid.w=[0.4]"]
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
    assert call("+sweep=quickstart", *SAMPLE, *folders, "metric=[chrf]", "explainer=[lime]", *point)[0] == 0
    grid = pq.read_table(tmp_path / "out" / "tables" / "grid.parquet").to_pydict()
    assert set(zip(grid["w"], grid["p"], strict=True)) == {(0.4, -1.4), (1.0, -1.4)}


def test_a_list_of_powers_in_a_file_is_told_where_it_goes(tmp_path):
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "mine.yaml").write_text("grid: {p: [-1.4]}\n")
    with pytest.raises(ConfigError, match="mine.yaml: grid.p: a list cannot .* write grid.p="):
        compose_config(["+sweep=mine"], folder=tmp_path)


@pytest.mark.parametrize(("dataset", "status"), [("wmt17", 1), ("sample", 0)])
def test_the_status_says_whether_something_failed(call, tmp_path, dataset, status):
    parts = ("metric=[chrf]", "explainer=[erasure]", f"dataset=[{dataset}]", f"data_dir={tmp_path}")
    assert call("+sweep=quickstart", *parts, "dry_run=true")[0] == status


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        pytest.param(["analyze"], "Available: analyse, check, compare, data, run, score", id="no command"),
        pytest.param(["run", "quickstart"], "write KEY=VALUE, a sweep as +sweep=NAME", id="a sweep's name alone"),
    ],
)
def test_what_cannot_be_run_is_answered_with_what_can(call, arguments, answer):
    status, printed = call(*arguments)
    assert status == 2 and answer in printed


@pytest.mark.parametrize(
    ("row", "message"),
    [
        pytest.param("nur\tdrei\tfelder", "mine.tsv", id="a ragged row"),
        pytest.param("a\tb\tc\tgood", "'good'", id="a score that is text"),
        pytest.param(f"a\tb\tc\t{'9' * 400}", "write a number like", id="a number beyond float64"),
    ],
)
def test_data_that_cannot_be_used_fail_with_the_place_and_the_way_out(row, message, sweep_rows, tmp_path, capsys):
    assert sweep_rows([*GOOD, row]) == 1
    assert message in " ".join("".join(capsys.readouterr()).split())
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("rows", "n_rated", "defined"),
    [
        pytest.param([*GOOD, "a\tb\tc\t", "d\te\tf\tnan"], 6, True, id="unrated segments are left out"),
        pytest.param([*GOOD, "wort\tword\t\t3"], 7, True, id="an empty hypothesis"),
        pytest.param([row.rsplit("\t", 1)[0] + "\t5" for row in GOOD], 6, False, id="constant scores"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*segments have an empty text")
def test_unusual_data_give_results_with_what_is_undefined_counted(rows, n_rated, defined, sweep_rows, tmp_path):
    few = ("levels.resamples", "boosts.resamples", "significance.resamples")
    every = ("explainer=[lime,shap,erasure,random]", "evaluation=[grid,levels,significance,boosts]")
    assert sweep_rows(rows, *every, *(f"evaluation.{key}=40" for key in few)) == 0
    for row in pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").to_pylist():
        assert row["n_rated"] == n_rated
        assert math.isfinite(row["baseline"]) is defined
        assert (row["n_undefined"] < 3600) is defined


def test_a_single_document_is_warned_of(swept_table):
    """It links no segments: they would be one cluster."""
    rows = ["source\treference\thypothesis\tscore\tdocument", *(f"{row}\tnews" for row in GOOD)]
    with pytest.warns(UserWarning, match="all 6 segments are of the document 'news'"):
        swept_table(rows, "metric=[chrf]", "explainer=[erasure]", *QUIET)


def test_an_empty_text_is_warned_of(sweep_rows):
    with pytest.warns(UserWarning, match="1 segment of 7 segments have an empty text"):
        sweep_rows([*GOOD, "wort\tword\t\t3"])


def test_a_full_disk_fails_the_setting_and_keeps_what_was_finished(swept, tmp_path, monkeypatch, capsys):
    assert swept(*SAMPLE, "explainer=[erasure]") == 0
    kept = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.parquet")}
    real = os.replace

    def full(source, target):
        if "cache" in str(target):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(storage.os, "replace", full)
    assert swept(*SAMPLE, "explainer=[erasure,lime]") == 1
    shown = capsys.readouterr().out
    assert "No space left on device" in shown
    assert "Free some space" in shown
    assert {path: path.read_bytes() for path in kept} == kept
    assert not list((tmp_path / "cache").rglob("*.part"))


QUICK = ("+sweep=quickstart", "metric=[chrf]", "explainer=[erasure]", "dataset.sample.language_pairs=[de-en]", *QUIET)


@pytest.mark.parametrize("more", ["limit=3", "--help"])
def test_a_reader_that_stops_reading_is_no_error_nor_an_output_without_unicode(more, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-u", "-m", "bmx_grid", *QUICK, more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes)
    started.stdout.close()
    errors = started.stderr.read()
    assert started.wait(180) in (0, -signal.SIGPIPE)
    assert "Traceback" not in errors
    assert (tmp_path / "outputs" / "quickstart" / "tables" / "grid.parquet").is_file() == (more == "limit=3")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(("arguments", "status"), [("--version", 0), ("data list", 0), ("compare nowhere.tsv", 2)])
def test_a_standard_stream_that_is_closed_is_as_if_nobody_read_it(closed, arguments, status, tmp_path):
    line = f"exec {sys.executable} -m bmx_grid {arguments} {closed}"
    process = subprocess.run(["sh", "-c", line], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, **PIPES)
    printed = process.stdout + process.stderr
    assert process.returncode == status and "Traceback" not in printed
    assert process.stdout == "" or "error" not in process.stdout, "what is wrong is not said on standard output"


@pytest.mark.parametrize(
    ("name", "folder", "message"),
    [
        pytest.param("config.yaml", ".", "config.yaml was not written by bmx_grid", id="a file"),
        pytest.param("tables/grid.parquet", ".", "grid.parquet was not written", id="a table"),
        pytest.param("mine", "mine/out", "mine/out: Not a directory", id="no folder"),
    ],
)
def test_nothing_is_scored_for_a_folder_that_is_somebody_elses(name, folder, message, call, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    status, printed = call(*SAMPLE, "dataset=[sample]", f"output_dir={folder}", "cache_dir=cache")
    assert status == 2 and message in printed
    assert path.read_text() == "mine" and not (tmp_path / "cache").exists()


@pytest.mark.parametrize("suffix", ["tsv", "parquet"])
@pytest.mark.parametrize("kind", ["a pipe", "a device"])
@pytest.mark.parametrize(
    "arguments", ["compare FILE --metrics m", "data show FILE", "score --metric chrf -r FILE -t FILE"]
)
def test_a_file_that_would_never_be_read_is_refused(arguments, kind, suffix, call, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "WAITS_FOR_WRITER", 0.1)
    path = tmp_path / f"mine.{suffix}"
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    status, printed = call(*arguments.replace("FILE", str(path)).split())
    assert status == 2 and "pipe" in printed and str(path) in printed


def test_a_backend_of_figures_that_there_is_not_is_of_no_matter(tmp_path):
    code = "from bmx_grid.report.canvas import canvas, style\nwith style(): canvas(1, 1)[0].savefig('x.svg')"
    environment = {**os.environ, "MPLBACKEND": "nope", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "x.svg").is_file()


def test_files_that_a_killed_run_left_are_removed(swept, tmp_path):
    finished = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    (tmp_path / "out").mkdir()
    names = (f".grid.parquet.{storage._HOST}.{int(finished.stdout)}.0.part", ".mine.other-host.1.0.part")
    left = [tmp_path / "out" / name for name in names]
    for path in left:
        path.write_text("half")
    assert swept(*SAMPLE) == 0
    assert [path.exists() for path in left] == [False, True]


def test_a_multirun_gives_every_job_its_own_folder_and_goes_on_after_a_mistake(call, tmp_path):
    status, printed = call("--multirun", *QUICK, "explainer=[lime]", "limit=3", "explainer.lime.num_samples=20,1,30")
    assert status == 2 and "num_samples" in printed and "Traceback" not in printed
    folders = sorted((tmp_path / "outputs" / "quickstart").glob("*/tables/grid.parquet"))
    folders = [path.parent.parent for path in folders]
    assert [folder.name for folder in folders] == [f"explainer.lime.num_samples={number}" for number in (20, 30)]
    assert call("analyse", *map(str, folders))[0] == 0
