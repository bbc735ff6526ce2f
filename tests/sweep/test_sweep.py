"""Whole sweeps: what is written, what is reused, what failure and killing leave behind."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from fakes import ROOT, AbsentMetric, HashMetric, composed

from bmx_grid.api.sweep import run_sweep
from bmx_grid.core.configure import load_option
from bmx_grid.core.errors import ConfigError, UnavailableError

SMALL = (
    "+sweep=quickstart",
    "metric=[sentence_bleu,random]",
    "explainer=[erasure,lime,random]",
    "executor=sequential",
    "tracking=none",
    "analysis=false",
    "evaluation=[grid]",
    "dataset.sample.language_pairs=[de-en]",
    "grid.p.step=5",
)
PAPERS_GRID = "grid.p.step=0.1"
TABLE = ("explainer=[erasure]", "evaluation=[grid]")


def attribution_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def grid_rows(folder: Path) -> list[tuple]:
    """Every row of the grid, its number as written: NaN is equal to NaN."""
    table = pq.read_table(folder / "out" / "tables" / "grid.parquet")
    assert table.column_names[:4] == ["dataset", "language_pair", "metric", "explainer"]
    return [tuple(map(str, row.values())) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The folders out and cache of a sweep in one process and large chunks; only read."""
    folder = tmp_path_factory.mktemp("whole")
    folders = (f"output_dir={folder / 'out'}", f"cache_dir={folder / 'cache'}")
    assert run_sweep(composed(*SMALL, PAPERS_GRID, *folders, "limit=8")).n_failed == 0
    return folder


def test_a_sweep_writes_the_published_schema_one_row_a_grid_point(whole, authors_grid):
    ours = pq.read_table(whole / "out" / "tables" / "grid.parquet")
    published = pq.read_schema(authors_grid)
    assert [(field.name, field.type) for field in ours.schema] == [(field.name, field.type) for field in published]
    assert ours.num_rows == 2 * 3 * 3600
    assert {path.name for path in (whole / "out").iterdir()} == {
        *("config.yaml", "log.txt", "settings.csv", "tables", ".sweep.json", ".sweep.lock")
    }
    assert {path.name for path in (whole / "out" / "tables").iterdir()} == {
        *("grid.parquet", "points.parquet", "scores.parquet", "settings.parquet")
    }


def test_a_sweep_ends_with_its_analysis(sweep, tmp_path, capsys):
    assert sweep("limit=6", "analysis=true", "metric=[sentence_bleu,chrf]", "explainer=[erasure,lime]") == 0
    answer = [line for line in capsys.readouterr().out.splitlines() if " on chrF" in line or line.startswith("LIME")]
    assert answer and all(line in (tmp_path / "out" / "log.txt").read_text() for line in answer)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert len(names) <= 8 and {"report.html", "tables"} < names


def test_another_run_scores_only_what_is_new(sweep, tmp_path, capsys):
    calls, grid = tmp_path / "calls", tmp_path / "out" / "tables" / "grid.parquet"
    few = ("explainer=[erasure,lime]",)
    metrics = {"hash": {"_target_": "fakes.HashMetric", "log": str(calls)}}
    assert sweep("limit=6", *few, metrics=metrics) == 0
    first = calls.read_text(), grid.read_bytes()
    assert sweep("limit=6", *few, "evaluation=[grid,levels]", metrics=metrics) == 0
    assert (calls.read_text(), grid.read_bytes()) == first
    assert "0 texts scored" in capsys.readouterr().out
    assert sweep("limit=7", *few, metrics=metrics) == 0
    n_before = sum(map(int, first[0].split()))
    n_after = sum(map(int, calls.read_text().split()))
    assert n_before < n_after < 2 * n_before


def test_an_unchanged_sweep_draws_and_writes_nothing_and_says_the_same(sweep, tmp_path, capsys, monkeypatch):
    some = ("limit=6", "analysis=true", "metric=[sentence_bleu,chrf]", "explainer=[erasure,lime]")
    assert sweep(*some) == 0
    states = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    with monkeypatch.context() as patch:
        for name in ("grid_of", "nearest_point"):
            patch.setattr(f"bmx_grid.evaluations.grid_surface.{name}", None)  # nothing is computed
        for more in ([], ["on_error=stop", f"data_dir={tmp_path / 'elsewhere'}"]):
            capsys.readouterr()
            assert sweep(*some, *more) == 0
            assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == states
            assert "is up to date" in capsys.readouterr().out
    (tmp_path / "out" / "tables" / "grid.parquet").unlink()
    assert sweep(*some) == 0
    assert (tmp_path / "out" / "tables" / "grid.parquet").is_file()


def test_an_unchanged_sweep_fails_again_where_data_are_absent(swept, tmp_path, capsys):
    absent = ("dataset=[sample,wmt17]", f"data_dir={tmp_path}", "limit=4", "metric=[chrf]", *TABLE, "grid.p.step=5")
    assert [swept(*absent) for _ in range(2)] == [1, 1]
    assert "is up to date" in capsys.readouterr().out


def test_a_folder_never_holds_tables_of_one_run_and_the_configuration_of_another(sweep, tmp_path, capsys):
    assert sweep("limit=4", "metric=[chrf]", "explainer=[erasure]") == 0
    broken = {"broken": {"_target_": "fakes.BrokenMetric"}}
    assert sweep("limit=4", "explainer=[erasure]", metrics=broken) == 1
    out = tmp_path / "out"
    assert "broken" in (out / "config.yaml").read_text()
    assert not (out / "tables" / "grid.parquet").exists() and not (out / "settings.csv").exists()
    aside = [path.name for path in (out / "previous").rglob("*") if path.is_file()]
    assert {"grid.parquet", "settings.parquet", "scores.parquet", "settings.csv"} <= set(aside)
    assert "of an earlier run moved to" in capsys.readouterr().out


def test_segments_that_cannot_be_explained_are_left_out_counted_and_named(swept_table, tmp_path, capsys):
    rows = [f"the ref {n}\t{'word ' * (300 if n == 4 else 3)}{n}\t{n % 5}" for n in range(12)]
    boosted_metric = {"boosted": load_option("metric", "boosted", 0) | {"metric": "chrf", "max_texts": 500}}
    with pytest.warns(UserWarning, match=r"not explained: segment '5': .* above max_texts = 500"):
        assert swept_table(["reference\thypothesis\tscore", *rows], *TABLE, metric=boosted_metric) == 0
    assert "1 segment not explained" in capsys.readouterr().out
    row = pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").to_pylist()[0]
    assert (row["n_segments"], row["n_unexplained"], row["n_used"]) == (12, 1, 11)
    scores = pq.read_table(tmp_path / "out" / "tables" / "scores.parquet").to_pylist()
    assert np.isfinite([row["base"] for row in scores]).all()
    assert [row["id"] for row in scores if np.isnan(row["boosted_published"])] == ["5"]


def test_other_judgements_of_the_same_texts_are_evaluated_anew(swept_table, tmp_path, capsys):
    baselines = []
    for sign in (1, -1):
        rows = [f"the cat {n} sat\tthe cat {n % 3}\t{sign * (n % 4)}" for n in range(8)]
        assert swept_table(["reference\thypothesis\tscore", *rows], *TABLE) == 0
        (row,) = pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").to_pylist()
        baselines.append(row["baseline"])
    assert "0 texts scored" in capsys.readouterr().out
    assert baselines[1] == pytest.approx(-baselines[0]) != 0


def test_reference_based_metrics_are_left_out_where_there_are_no_references(swept_table, capsys):
    rows = [f"quelle {n}\thypothesis {n % 3}\t{n}" for n in range(5)]
    assert swept_table(["source\thypothesis\tscore", *rows], *TABLE, "metric=[chrf,random]") == 0
    sentence = "left out: tabular · chrf: the metric reads the reference, which tabular does not have for every segment"
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_texts_longer_than_the_model_are_counted_beside_their_setting(swept_table, tmp_path, capsys, tiny_model):
    rows = [f"{'cat ' * (100 if n == 2 else 5)}{n}\tdog {n}\t{n}" for n in range(5)]
    model = shutil.copytree(tiny_model("roberta"), tmp_path / "model")  # the warning is said once for a model
    keys = {"model": model, "revision": "null", "layer": 1}
    bertscore = ("metric=[bertscore]", *(f"metric.bertscore.{key}={value}" for key, value in keys.items()))
    assert swept_table(["reference\thypothesis\tscore", *rows], *TABLE, *bertscore) == 0
    printed = capsys.readouterr()
    # the long one, and a word less
    assert re.search(r"10[12] of 150 texts truncated,\s", printed.out), printed.out
    assert printed.err.count("have more than 64 tokens") == 1 and "UserWarning" not in printed.err


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param(("executor.chunk_texts=50",), id="small chunks"),
        pytest.param(("executor=loky", "executor.n_jobs=2", "executor.chunk_texts=300"), id="two workers"),
    ],
)
def test_chunks_and_workers_do_not_change_a_byte(whole, sweep, tmp_path, overrides):
    expected = attribution_files(whole / "cache")
    grid = (whole / "out" / "tables" / "grid.parquet").read_bytes()
    shutil.copytree(whole / "out", tmp_path / "out")  # with the figures, which are as they should be
    (tmp_path / "out" / "tables" / "grid.parquet").unlink()
    assert sweep("limit=8", PAPERS_GRID, *overrides) == 0
    assert attribution_files(tmp_path / "cache") == expected
    assert (tmp_path / "out" / "tables" / "grid.parquet").read_bytes() == grid


def test_a_dask_scheduler_that_does_not_answer_is_named(sweep):
    with pytest.raises(UnavailableError, match=r"executor\.address=tcp://127\.0\.0\.1:9: no Dask scheduler answers"):
        sweep("limit=3", "executor=dask", "executor.address=tcp://127.0.0.1:9", "executor.timeout=1")


def test_a_metric_that_fails_leaves_the_others_their_results(sweep, tmp_path, capsys):
    metrics = {
        "broken": {"_target_": "fakes.BrokenMetric"},
        "absent": {"_target_": "fakes.AbsentMetric"},
        "hash": {"_target_": "fakes.HashMetric"},
    }
    assert sweep("limit=4", "explainer=[erasure,random]", metrics=metrics) == 4
    shown = " ".join(capsys.readouterr().out.split())
    failures = shown.partition("failed: 4 ")[2]
    assert re.search(r"sample · de-en · broken · \w+ and 1 more: ValueError: boom", failures)
    assert re.search(r"sample · de-en · absent · \w+ and 1 more: the model 'x' is not here: get it with y", failures)
    assert "absent · random: failed: for the same reason" in shown
    assert "Traceback" not in shown
    assert "ValueError: boom" in (tmp_path / "out" / "log.txt").read_text()
    assert set(pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").column("metric").to_pylist()) == {"hash"}


def test_what_is_cached_needs_no_model(sweep, monkeypatch):
    few, metrics = ("limit=4", "explainer=[erasure]"), {"hash": {"_target_": "fakes.HashMetric"}}
    assert sweep(*few, metrics=metrics) == 0
    monkeypatch.setattr(HashMetric, "check", AbsentMetric.check)
    assert sweep(*few, "grid.p.step=1.0", metrics=metrics) == 0
    assert sweep("limit=5", *few[1:], metrics=metrics) == 1, "a further segment needs it"


def test_on_error_stop_starts_nothing_after_the_first_failure(sweep, tmp_path):
    metrics = {"broken": {"_target_": "fakes.BrokenMetric"}, "hash": {"_target_": "fakes.HashMetric"}}
    assert sweep("limit=4", "explainer=[erasure]", "on_error=stop", metrics=metrics) == 1
    assert not (tmp_path / "out" / "tables" / "grid.parquet").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("KillerMetric", "a worker process was killed", id="killed"),
        pytest.param("ExitingMetric", "SystemExit: 0", id="exits"),
        pytest.param("UnpicklableMetric", "cannot be sent to another process: ", id="cannot be sent"),
    ],
)
def test_what_ends_its_worker_or_cannot_reach_it_fails_its_settings_alone(name, reason, sweep, tmp_path, capsys):
    metrics = {"bad": {"_target_": f"fakes.{name}"}, "hash": {"_target_": "fakes.HashMetric"}}
    assert sweep("limit=4", "executor=loky", "executor.n_jobs=2", "explainer=[erasure]", metrics=metrics) == 1
    assert f"de-en · bad · erasure: {reason}" in " ".join(capsys.readouterr().out.split())
    assert pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").column("metric").to_pylist() == ["hash"]


def test_settings_that_are_not_wanted_are_left_out_with_their_number(sweep, tmp_path, capsys):
    pairs = "dataset.sample.language_pairs=[de-en,en-de]"
    patterns = "leave_out=[*/en-de/chr?/*,*/*/*/erasure,no_such/*/*/*,*/*/ter/*]"
    assert sweep("limit=4", pairs, "metric=[chrf,random,ter]", "explainer=[erasure,random]", patterns) == 0
    rows = pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").to_pylist()
    assert {(row["language_pair"], row["metric"], row["explainer"]) for row in rows} == {
        ("de-en", "chrf", "random"),
        ("de-en", "random", "random"),
        ("en-de", "random", "random"),
    }
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(r"left out: sample · \S+ · \w+ · \w+ and 8 more: not wanted in this sweep \(leave_out\) ", printed)
    assert "left out: no_such/*/*/*: no setting fits this pattern of leave_out; correct or delete it " in printed
    assert "*/en-de/chr?/*" not in printed
    assert "ter is a metric whose lower" not in printed, "what is not wanted is not said to be impossible as well"


def test_what_names_no_setting_is_refused_or_fails(sweep, capsys):
    with pytest.raises(ConfigError, match=r"'\*/\\r' names no setting; write DATASET/LANGUAGE_PAIR/METRIC/EXPLAINER"):
        sweep('leave_out=["*/\\r"]')
    assert sweep("dataset.sample.language_pairs=[]", "leave_out=[]") == 1
    assert "sample: no language pair is chosen" in capsys.readouterr().out


def test_a_sweep_without_a_setting_says_why_before_it_runs_and_when_it_does(sweep, tmp_path, capsys):
    nothing = "dataset.sample.language_pairs=[de-en]", "leave_out=['*/*/*/*']"
    assert sweep(*nothing) == sweep(*nothing, "dry_run=true") == 1
    planned, ran = capsys.readouterr().out.split("nothing to run; failed or skipped: 1\n")[1:]
    assert planned == ran and "left out: not wanted in this sweep (leave_out)" in " ".join(ran.split())
    assert not (tmp_path / "out").exists()


def test_a_slow_metric_gets_small_chunks(sweep, tmp_path):
    calls = {}
    for kind in ("HashMetric", "SlowMetric"):
        log = tmp_path / kind
        metrics = {kind.lower(): {"_target_": f"fakes.{kind}", "log": str(log)}}
        assert sweep("limit=12", "explainer=[erasure]", "executor.chunk_texts=400", metrics=metrics) == 0
        calls[kind] = len(log.read_text().split())
    assert calls["HashMetric"] == 1
    assert calls["SlowMetric"] >= 6


def test_the_paper_is_430_settings_and_1290000_boosted_correlations(data_dir, capsys, swept, tmp_path):
    assert swept("+sweep=paper", "dry_run=true", "limit=5", f"data_dir={data_dir}") == 0
    printed = capsys.readouterr().out
    assert "430 settings (0 cached), 1,548,000 correlations, 1,290,000 of them with w other than 1" in " ".join(
        printed.split()
    )
    for metric in ("bertscore", "xbertscore", "xlmr_sbert", "xmoverscore", "sentence_bleu"):
        assert re.search(rf"^texts to score with {metric}: [\d,]+(; about .+)?$", printed, flags=re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


MOMENTS = int(os.environ.get("BMX_KILLS", "3"))


@pytest.mark.processes
def test_killed_at_random_moments_and_resumed_the_files_are_the_same(whole, tmp_path, blank_figures):
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
    chosen = ("metric=[sentence_bleu]", "explainer=[erasure,lime]", "limit=8", PAPERS_GRID)
    workers = ("executor=loky", "executor.n_jobs=2", "executor.chunk_texts=500")
    command = [sys.executable, "-m", "bmx_grid", *SMALL, *chosen, *workers, *folders]
    quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    draw, moments = random.Random(0), []
    until_work = 0.0  # seconds until something is stored, seen in the first run
    while len(moments) < MOMENTS:
        begin = time.monotonic()
        running = subprocess.Popen(command, start_new_session=True, **quiet)
        while not moments and not (tmp_path / "cache").exists() and time.monotonic() < begin + 120:
            time.sleep(0.01)
        until_work = until_work or time.monotonic() - begin
        moments.append(draw.uniform(0.0 if not moments else 0.3, until_work + 1.0 if moments else 1.0))
        time.sleep(moments[-1])
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert run_sweep(composed(*SMALL, *chosen, *workers, *folders)).n_failed == 0
    rows = [row for row in grid_rows(whole) if row[2] == "sentence_bleu" and row[3] in ("erasure", "lime")]
    assert len(rows) == 2 * 3600
    assert grid_rows(tmp_path) == rows
    stored, expected = attribution_files(tmp_path / "cache"), attribution_files(whole / "cache")
    assert len(stored) == 2
    assert stored == {name: expected[name] for name in stored}
    assert not list(tmp_path.rglob("*.part"))


def test_where_the_grid_reads_one_side_that_one_alone_is_explained(sweep, capsys, tmp_path):
    chosen = ("limit=6", "explainer=[erasure]", "metric=[chrf]", "evaluation=[grid]", "dry_run=true")
    planned_texts = []
    for side in ("both", "hypothesis"):
        assert sweep(*chosen, f"grid.side={side}") == 0
        plan = " ".join(capsys.readouterr().out.split())
        planned_texts.append(int(re.search(r"at most ([\d,]+) texts", plan).group(1).replace(",", "")))
    assert planned_texts[1] < 0.6 * planned_texts[0]
    assert sweep(*chosen[:-1], "grid.side=hypothesis") == 0
    rows = pq.read_table(tmp_path / "out" / "tables" / "scores.parquet").to_pylist()
    assert all(row["words_reference"] > 0 and np.isfinite(row["base"]) for row in rows)
    with pytest.raises(ConfigError, match=r"explainer.erasure.sides=\[hypothesis\], but grid read the words of both"):
        sweep(*chosen, "explainer.erasure.sides=[hypothesis]")
    boosts = ("evaluation=[grid,boosts]", "grid.side=hypothesis", "boost=[learned]")
    assert sweep(*chosen, *boosts) == 0
    plan = " ".join(capsys.readouterr().out.split())
    assert f"at most {planned_texts[0]:,} texts" in plan, "that boost reads both sides"
