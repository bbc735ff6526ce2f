"""The command line: mistakes get one clear sentence and status 2, never a traceback; multirun works."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from fakes import ROOT, composed

from bmx_grid.__main__ import _run
from bmx_grid.commands.run import compose_and_run
from bmx_grid.commands.sweep import run
from bmx_grid.errors import BmxError
from bmx_grid.storage import files
from bmx_grid.terminal import command as answered

pytestmark = pytest.mark.usefixtures("blank_figures")

SAMPLE = (
    "executor=sequential",
    "tracking=none",
    "analysis=false",
    "evaluation=[grid]",
    "dataset.sample.language_pairs=[de-en]",
    "limit=4",
)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param(["limit=0"], "limit must be at least 1", id="limit"),
        pytest.param(["seed=-1"], "seed must be 0 or more, got -1", id="seed"),
        pytest.param([f"seed={2**63}"], "seed must be at most 9,223,372,036,854,775,807", id="large seed"),
        pytest.param(["evaluation.grid.seed=-1"], "grid.seed must be 0 or more, got -1", id="an evaluation's seed"),
        pytest.param(
            ["questions=[bmx.q]"], "questions are answered by the analysis, and analysis=false", id="question"
        ),
        pytest.param(["questions=x"], "questions: expected a list, got 'x'", id="questions"),
        pytest.param(["seed=x"], "seed: expected a whole number, got 'x'", id="text for a number"),
        pytest.param(["grid.w=[0,2]"], "w = 2.0 is outside \\[0, 1\\]", id="w"),
        pytest.param(["grid.w=[]"], "the grid has no w", id="no w"),
        pytest.param(["grid.p.stop=-30"], "is empty", id="empty p grid"),
        pytest.param(["grid.p.step=0"], "step must be above 0", id="step"),
        pytest.param(["grid.correlation=peerson"], "unknown value 'peerson'.*pearson", id="correlation"),
        pytest.param(["explainer.lime.num_samples=1"], "num_samples", id="LIME without samples"),
        pytest.param(["explainer.lime.num_samples=many"], "explainer.lime.num_samples: expected", id="not a number"),
        pytest.param(["executor.chunk_texts=0"], "chunk_texts must be at least 1", id="chunks"),
        pytest.param(["on_error=ignore"], "unknown value 'ignore'", id="on_error"),
        pytest.param(["dataset.sample.language_pairs=[de-fr]"], "unknown language pair 'de-fr'", id="language pair"),
        pytest.param(["+metric.chrf={}"], "expected an option with a `_target_`", id="no target"),
        pytest.param(["~metric.sentence_bleu"], "metric: choose at least one", id="no metric"),
        pytest.param(["metric=[]"], "metric: choose at least one", id="an empty list"),
        pytest.param(["grid.p=null"], "grid.p: expected keys below it \\(start, stop, step\\), got None", id="no p"),
        pytest.param(["grid.p=3"], "grid.p: expected keys below it \\(start.*got 3", id="a number for p"),
        pytest.param(["~grid.p.step"], "grid.p: step must be given, as grid.p.step=VALUE", id="no step"),
        pytest.param(
            ["grid.p.step=1e-10"], "600,000,000,000 points, more than 1,000,000.*grid.max_points", id="tiny step"
        ),
        pytest.param(["grid.p.stop=1e300"], "more than 10\\^301 points", id="a huge stop"),
        pytest.param([f"grid.w=[{','.join(f'{n}e-4' for n in range(2000))}]"], "1,200,000 points", id="2,000 w"),
        pytest.param(["grid.max_points=3599"], r"3,600 points \(600 p x 6 w\), more than 3,599", id="a lower limit"),
        pytest.param(["grid.max_points=0"], "grid.max_points must be at least 1", id="no points"),
        pytest.param(["grid.fixed.lime.w=2"], "grid.fixed.lime: weight w = 2.0 is outside", id="a fixed w"),
        pytest.param(["grid.fixed.lime.p=nan"], "grid.fixed.lime: a p of the grid is NaN", id="a fixed p"),
        pytest.param(["~grid.fixed.lime.p"], "grid.fixed.lime: p must be given", id="half a fixed point"),
        pytest.param([f"output_dir={'x/' * 3000}"], "output_dir: the path .* is too long", id="a long path"),
        pytest.param([f"cache_dir={'x' * 300}"], "cache_dir: the path .* is too long", id="a long name"),
        pytest.param(["data_dir=''"], "data_dir: '' is not a path; write data_dir=FOLDER", id="an empty path"),
        pytest.param(
            ["metric.sentence_bleu._target_=bmx_grid.metrics.base.Metric"], "is abstract", id="abstract class"
        ),
        pytest.param(
            ["dataset=[sample,tabular]", "dataset.tabular.name=sample"],
            "datasets sample and tabular are both named 'sample'.*dataset.tabular.name=NAME",
            id="two data sets of one name",
        ),
        pytest.param(["~executor"], "executor: expected an option with a `_target_`, got None", id="no executor"),
        pytest.param(
            ["metric=[chrf]", "explainer=[]", "evaluation=[boosts]"],
            "would write nothing: boosts: needs an explainer, or several metrics to average. Add grid or levels",
            id="boosts of nothing",
        ),
        pytest.param(
            ["metric=[chrf]", "explainer=[]", "evaluation=[significance]"],
            "would write nothing: significance: .* there is one metric alone",
            id="tests of one metric",
        ),
    ],
)
def test_values_that_cannot_be_are_refused_before_anything_is_written(overrides, message, tmp_path):
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}"]
    with pytest.raises(BmxError, match=message):
        run(composed(*SAMPLE, *folders, *overrides))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        pytest.param("~grid", "options of grid are chosen by name, not deleted", id="no grid"),
        pytest.param("~aggregation", "options of aggregation are chosen by name, not deleted", id="no aggregation"),
        pytest.param("~grid.p", "grid.p: the key is missing", id="no p at all"),
        pytest.param("+grid.corelation=kendall", "unknown key 'corelation'.*'correlation'", id="a typo below grid"),
        pytest.param("grid.p=[1,2]", "grid.p: expected keys below it", id="a list for keys"),
        pytest.param("name=../../elsewhere", "cannot name a sweep", id="a name that is a path"),
    ],
)
def test_what_is_missing_or_unknown_is_found_while_composing(argument, message):
    with pytest.raises(BmxError, match=message):
        compose_and_run([*SAMPLE, "dry_run=true", argument])


@pytest.mark.parametrize("given", ["analyze", "scores", "sweep"])
def test_a_command_that_does_not_exist_is_answered_with_those_that_do(given, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bmx-grid", given])
    assert answered(lambda: _run(given)) == 2
    assert "Available: analyse, compare, data, run, score" in capsys.readouterr().err


def test_one_segment_too_long_for_shap_leaves_the_others_explained(tmp_path):
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}"]
    table = own_table(tmp_path, [*GOOD, f"a\tb\t{'word ' * 260}end\t1"])
    quiet = [
        "executor=sequential",
        "tracking=none",
        "analysis=false",
        "evaluation=[grid]",
        "metric=[chrf]",
        "explainer=[shap]",
    ]
    with pytest.warns(UserWarning, match="not explained: segment '7': .* takes at least 523 scores"):
        assert run(composed(*table, *quiet, *folders)) == 0


def own_table(folder: Path, rows: list[str], header: str = "source\treference\thypothesis\tscore") -> list[str]:
    path = folder / "mine.tsv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return ["dataset=[tabular]", f"dataset.tabular.path={path}", "dataset.tabular.language_pairs=[de-en]"]


GOOD = [f"quelle {n}\treference {n} words\thypothesis {n % 3} words\t{n}" for n in range(6)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([*GOOD, "nur\tdrei\tfelder"], "mine.tsv", id="a ragged row"),
        pytest.param([*GOOD, "a\tb\tc\tgood"], "'good'", id="a score that is text"),
    ],
)
def test_data_that_cannot_be_used_fail_with_the_place_and_the_way_out(rows, message, tmp_path, capsys):
    chosen = [
        "executor=sequential",
        "tracking=none",
        "analysis=false",
        "evaluation=[grid]",
        "metric=[chrf]",
        "explainer=[shap]",
    ]
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}"]
    assert run(composed(*chosen, *folders, *own_table(tmp_path, rows))) == 1
    shown = capsys.readouterr()
    assert message in shown.out + shown.err
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        pytest.param({"hypothesis": "a \ud800 b"}, "lone surrogate", id="half a character"),
        pytest.param({"score": 10**400}, "not a finite number", id="a number beyond float64"),
        pytest.param({"language_pair": "../../../x"}, "cannot be part of file names", id="a path for a language pair"),
        pytest.param({"language_pair": "/etc/x"}, "cannot be part of file names", id="an absolute path"),
        pytest.param({"language_pair": "de/en"}, "cannot be part of file names", id="a slash"),
        pytest.param({"language_pair": "x" * 300}, "give it a shorter name", id="a name of 300 characters"),
        pytest.param({"language_pair": ""}, "cannot be part of file names", id="an empty name"),
    ],
)
def test_hostile_records_are_refused_by_name_and_write_nothing(record, message, tmp_path, capsys):
    rows = [{"source": f"s {n}", "hypothesis": f"h {n}", "score": n, "language_pair": "de-en"} for n in range(4)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps(row | record) for row in rows), encoding="utf-8")
    chosen = ["executor=sequential", "tracking=none", "analysis=false", "metric=[random]", "dataset=[tabular]"]
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}", f"dataset.tabular.path={path}"]
    assert run(composed(*chosen, *folders)) == 1
    shown = capsys.readouterr()
    assert message in " ".join((shown.out + shown.err).split())
    assert sorted(found.name for found in tmp_path.iterdir()) == ["mine.jsonl"]


@pytest.mark.parametrize(
    ("rows", "n_rated", "defined"),
    [
        pytest.param([*GOOD, "a\tb\tc\t", "d\te\tf\tnan"], 6, True, id="unrated segments are left out"),
        pytest.param([*GOOD, "wort\tword\tword\t3"], 7, True, id="one-word segments"),
        pytest.param([*GOOD, "wort\tword\t\t3"], 7, True, id="an empty hypothesis"),
        pytest.param(GOOD[:2], 2, False, id="two segments"),
        pytest.param([row.rsplit("\t", 1)[0] + "\t5" for row in GOOD], 6, False, id="constant scores"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*ha(s|ve) an empty text")
def test_unusual_data_give_results_with_what_is_undefined_counted(rows, n_rated, defined, tmp_path):
    chosen = [
        "executor=sequential",
        "tracking=none",
        "analysis=false",
        "metric=[chrf]",
        "explainer=[lime,shap,erasure,random]",
        *("evaluation.levels.resamples=40", "evaluation.boosts.resamples=40"),
        *("evaluation.significance.resamples=40", "evaluation.significance.splits=40"),
    ]
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}"]
    assert run(composed(*chosen, *folders, *own_table(tmp_path, rows))) == 0
    for row in pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").to_pylist():
        assert row["n_rated"] == n_rated
        assert math.isfinite(row["baseline"]) is defined
        assert (row["n_undefined"] < 3600) is defined


def test_an_empty_text_is_warned_of(tmp_path):
    chosen = [
        "executor=sequential",
        "tracking=none",
        "analysis=false",
        "evaluation=[grid]",
        "metric=[chrf]",
        "explainer=[erasure]",
    ]
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}"]
    with pytest.warns(UserWarning, match="1 of 7 segments has an empty text"):
        run(composed(*chosen, *folders, *own_table(tmp_path, [*GOOD, "wort\tword\t\t3"])))


def test_an_output_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "out").write_text("a file where the folder should be")
    with pytest.raises(BmxError, match=r"output_dir: '.*' is a file; name a folder"):
        run(composed(*SAMPLE, f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}"))


def test_a_full_disk_fails_the_setting_and_keeps_what_was_finished(tmp_path, monkeypatch, capsys):
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}", "explainer=[erasure,lime]"]
    assert run(composed(*SAMPLE, *folders, "explainer=[erasure]")) == 0
    kept = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.parquet")}
    real = os.replace

    def full(source, target):
        if "cache" in str(target):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(files.os, "replace", full)
    assert run(composed(*SAMPLE, *folders)) == 1
    shown = capsys.readouterr().out
    assert "No space left on device" in shown
    assert "Free some space" in shown
    assert {path: path.read_bytes() for path in kept} == kept
    assert not list((tmp_path / "cache").rglob("*.part"))


QUIET = ("executor=sequential", "tracking=none", "analysis=false", "evaluation=[grid]")
QUICK = ("+sweep=quickstart", "metric=[chrf]", "explainer=[erasure]", "dataset.sample.language_pairs=[de-en]", *QUIET)


def command(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-m", "bmx_grid", *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


MISTAKES = [
    pytest.param(["metric=[chfr]"], 2, id="unknown metric"),
    pytest.param(["+sweep=quickstart", "limit=0"], 2, id="bad value"),
    pytest.param(["+sweep=wmt17", "data_dir=nowhere", "tracking=none"], 1, id="missing data"),
    pytest.param(["grid.q=1"], 2, id="unknown key below a group"),
    pytest.param(["data_dir=${oc.env:NO_SUCH_VARIABLE}"], 2, id="an interpolation that leads nowhere"),
]


@pytest.mark.parametrize(("arguments", "status"), MISTAKES)
def test_mistakes_end_with_a_status_and_without_traceback(arguments, status, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bmx-grid", *arguments])
    assert _run(arguments[0]) == status
    shown = "".join(capsys.readouterr())
    assert shown and "Traceback" not in shown


@pytest.mark.parametrize(("arguments", "status"), [MISTAKES[0], MISTAKES[2]])
def test_the_status_is_that_of_the_process(arguments, status, tmp_path):
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == status
    assert done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("more", [["dry_run=true"], ["limit=3"], ["--help"]], ids=["dry run", "sweep", "help"])
def test_a_reader_that_stops_reading_is_no_error(more, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(
        [sys.executable, "-u", "-m", "bmx_grid", *QUICK, *more],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.stdout.close()
    errors = started.stderr.read()
    assert started.wait(180) in (0, -signal.SIGPIPE)
    assert "Traceback" not in errors
    assert (tmp_path / "outputs" / "quickstart" / "tables" / "grid.parquet").is_file() == (more == ["limit=3"])


def test_an_output_without_unicode_is_no_obstacle(tmp_path):
    done = command(*QUICK, "limit=3", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


def test_files_that_a_killed_run_left_are_removed(tmp_path):
    finished = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    out = tmp_path / "out"
    out.mkdir()
    left = [out / f".grid.parquet.{files._HOST}.{int(finished.stdout)}.0.part", out / ".mine.other-host.1.0.part"]
    for path in left:
        path.write_text("half")
    assert run(composed(*SAMPLE, f"output_dir={out}", f"cache_dir={tmp_path / 'cache'}")) == 0
    assert [path.exists() for path in left] == [False, True]


def test_a_multirun_gives_every_job_its_own_folder(tmp_path):
    chosen = ["metric=[chrf]", "explainer=[lime]", "limit=3", *QUIET, "dataset.sample.language_pairs=[de-en]"]
    done = command("--multirun", "+sweep=quickstart", *chosen, "explainer.lime.num_samples=20,30", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = sorted(path.parent.parent.name for path in (tmp_path / "outputs").glob("*/tables/grid.parquet"))
    assert found == [f"quickstart,explainer.lime.num_samples={number}" for number in (20, 30)]
    gathered = pd.read_csv(tmp_path / "outputs" / "quickstart" / "multirun.csv")
    assert gathered["explainer.lime.num_samples"].tolist() == [20, 30]
    for row, name in zip(gathered.to_dict("records"), found, strict=True):
        own = pd.read_csv(tmp_path / "outputs" / name / "settings.csv")
        assert (row["status"], row["settings"], row["failed"]) == ("done", 1, 0)
        assert row["baseline"] == own["baseline"][0] and row["mean gain"] == own["fixed_gain"][0]
        assert (tmp_path / "outputs" / "quickstart" / row["folder"]).resolve() == tmp_path / "outputs" / name
    assert "2 sweeps of a multirun\nnum_samples  status" in done.stdout
    again = command("analyse", "outputs/quickstart", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "2 sweeps of a multirun\nnum_samples  status" in again.stdout
    again = command("analyse", "outputs/quickstart", "output_dir=beside", "format=csv", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    beside = pd.read_csv(tmp_path / "beside" / "tables" / "side_by_side.csv")
    assert (beside["run_a"] + " " + beside["run_b"]).unique().tolist() == [" ".join(found)]


def test_a_failed_job_of_a_multirun_leaves_the_others_and_a_status(tmp_path):
    chosen = ["metric=[chrf]", "explainer=[erasure]", *QUIET, "dataset.sample.language_pairs=[de-en]"]
    done = command("--multirun", "+sweep=quickstart", *chosen, "limit=0,3", cwd=tmp_path)
    assert done.returncode == 1
    assert "limit must be at least 1" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "outputs" / "quickstart,limit=3" / "tables" / "grid.parquet").is_file()
    gathered = pd.read_csv(tmp_path / "outputs" / "quickstart" / "multirun.csv")
    assert list(zip(gathered["limit"], gathered["status"], strict=True)) == [(0, "not started"), (3, "done")]
    (tmp_path / "outputs" / "quickstart,limit=3").rename(tmp_path / "elsewhere")
    lost = command("analyse", "outputs/quickstart", cwd=tmp_path)
    assert lost.returncode == 2 and "none of its 2 folders is there any more" in lost.stderr


def test_parameters_in_the_results_are_readable(tmp_path):
    assert run(composed(*SAMPLE, f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")) == 0
    row = pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").to_pylist()[0]
    assert json.loads(row["parameters"])["explainer.num_samples"] == 100
    assert row["signature"].startswith("BLEU|nrefs:1|case:mixed|eff:yes|tok:13a|smooth:add-k[1.00]|version:")
