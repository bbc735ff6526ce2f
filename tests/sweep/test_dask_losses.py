"""Sweeps on a Dask cluster that others own, whose workers and scheduler are lost in the middle.

BMX_KILLS=10 tries each loss at ten random moments.
"""

import io
import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout

import pytest
from clusters import PATHS, begun, chunks, command, ended, planned, tables
from started import start, wait_for, wait_until_alone

from bmx_grid.commands.run import compose_and_run

pytest.importorskip("distributed", reason='pip install "bmx-grid[dask]"')
pytestmark = pytest.mark.processes
MOMENTS = int(os.environ.get("BMX_KILLS", "1"))
LONG = pytest.mark.skipif("BMX_KILLS" not in os.environ, reason="BMX_KILLS=10 tries this, too")
LONGEST = 8.0  # seconds; the sweep takes a little more with two workers


@pytest.fixture(autouse=True)
def _fakes(monkeypatch):
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", "fakes")
    monkeypatch.setenv("PYTHONPATH", PATHS)


@contextmanager
def dask(folder, *arguments: str) -> Iterator[subprocess.Popen]:
    """A command of Dask's, in a group of its own; nothing of it is left at the end."""
    import sys

    running = start([sys.executable, "-m", *arguments], folder)
    try:
        yield running
    finally:
        if wait_until_alone(running.pid, 0.1):
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


@contextmanager
def cluster(folder) -> Iterator[tuple[str, subprocess.Popen, list[subprocess.Popen]]]:
    """Address and process of a scheduler, and its two workers."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    listens = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with ExitStack() as stack:
        scheduler = stack.enter_context(dask(folder, "distributed.cli.dask_scheduler", *listens))
        wait_for(lambda: file.exists() and file.read_text() != "")
        address = json.loads(file.read_text())["address"]
        plain = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "10")
        workers = [stack.enter_context(dask(folder, *plain)) for _ in range(2)]
        yield address, scheduler, workers


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The tables of executor=sequential, and how many texts it planned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BMX_ALLOWED_PACKAGES", "fakes")
        patch.setenv("PYTHONPATH", PATHS)
        folder = tmp_path_factory.mktemp("whole")
        out = here(folder)
    return tables(folder), planned(out)


def here(folder) -> str:
    """The sweep in this process, without a cluster; what it says."""
    with redirect_stdout(io.StringIO()) as said:
        assert compose_and_run(command(folder, "executor=sequential", seconds=0)[3:]) == 0
    return said.getvalue()


def killed(process: subprocess.Popen) -> None:
    """A process with all that it started, as when its machine is gone."""
    os.killpg(process.pid, signal.SIGKILL)


def pre_empted(process: subprocess.Popen) -> None:
    """As a batch system ends a job: first it asks."""
    os.kill(process.pid, signal.SIGTERM)


def at_a_moment(folder, address: str, draw: random.Random) -> tuple[subprocess.Popen, float]:
    """The sweep on this cluster, running, and the seconds since its first chunk, which are drawn."""
    running = begun(folder, "executor=dask", f"executor.address={address}", "executor.timeout=60")
    wait_for(lambda: chunks(folder) >= 1 or running.poll() is not None)
    moment = draw.uniform(0, LONGEST / 2)
    time.sleep(moment)
    return running, moment


@pytest.mark.parametrize(
    "lose", [pytest.param(killed, id="killed"), pytest.param(pre_empted, id="pre-empted", marks=LONG)]
)
def test_the_sweep_goes_on_without_a_lost_worker(tmp_path, whole, lose):
    draw = random.Random(3)
    for number in range(MOMENTS):
        folder = tmp_path / str(number)
        with cluster(folder) as (address, _, workers):
            running, moment = at_a_moment(folder, address, draw)
            lose(workers[0])
            status, out, err = ended(running)
            print(f"{lose.__name__} {moment:.1f} s after the first chunk: status {status}", flush=True)
            assert (status, err) == (0, ""), out
            assert wait_until_alone(running.pid) == []
        assert tables(folder) == whole[0]


def test_a_lost_scheduler_ends_the_sweep_in_a_sentence_and_the_same_command_goes_on(tmp_path, whole):
    draw, interrupted = random.Random(4), 0
    for number in range(MOMENTS):
        folder = tmp_path / str(number)
        with cluster(folder) as (address, scheduler, workers):
            running, moment = at_a_moment(folder, address, draw)
            os.kill(scheduler.pid, signal.SIGKILL)
            status, _, err = ended(running)
            print(f"scheduler killed {moment:.1f} s after the first chunk: status {status}", flush=True)
            assert wait_until_alone(running.pid) == []
            if status != 0:
                interrupted += 1
                assert (status, len(err.splitlines())) == (2, 1), err
                assert re.match(
                    rf"error: the connection to the Dask scheduler at {address} was lost\. Finished work is kept: "
                    "start the scheduler and its workers again, and run the same command",
                    err,
                ), err
            for worker in workers:  # they end by themselves
                assert wait_until_alone(worker.pid, 60) == []
        with cluster(folder) as (address, _, _):
            again = begun(folder, "executor=dask", f"executor.address={address}", "executor.timeout=60", seconds=0)
            status, out, err = ended(again)
        assert (status, err) == (0, ""), out
        assert planned(out) < whole[1]
        assert tables(folder) == whole[0]
    assert interrupted > 0


@LONG
def test_workers_that_all_go_away_are_missed_in_a_sentence(tmp_path, whole):
    with cluster(tmp_path) as (address, _, workers):
        running = begun(tmp_path, "executor=dask", f"executor.address={address}", "executor.timeout=5")
        wait_for(lambda: chunks(tmp_path) >= 2)
        for worker in workers:
            killed(worker)
        status, out, err = ended(running)
    assert (status, len(err.splitlines())) == (2, 1), out + err
    assert "has had no worker for 5 seconds. Finished work is kept: start workers (dask worker tcp://" in err
    assert wait_until_alone(running.pid) == []
    assert planned(here(tmp_path)) < whole[1]
    assert tables(tmp_path) == whole[0]
