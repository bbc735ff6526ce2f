"""Sweeps through a real SLURM controller: the same results, and what happens when jobs are lost.

BMX_SLURM=1 sets a controller up for these tests where none answers, as root; see tests/slurm_here.py.
"""

import json
import os
import signal
import subprocess
from functools import partial

import jobs
import pytest
from clusters import begun, chunks, ended, planned, tables
from started import wait_for, wait_until_alone

from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.core.terminal import RESUMES
from bmx_grid.sweep.executors.base import Job
from bmx_grid.sweep.executors.dask import Dask

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("fakes_everywhere")]


@pytest.fixture(scope="module")
def keys(slurm) -> tuple[str, ...]:
    """Overrides that choose SLURM, with two jobs."""
    options = [f"executor.cluster_options.{key}={json.dumps(value)}" for key, value in slurm.items()]
    return ("executor=slurm", "executor.jobs=2", *options)


def in_queue() -> list[str]:
    """The numbers of our jobs that wait or run."""
    shown = subprocess.run(["squeue", "--noheader", "--format=%i %j %T"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in shown.stdout.splitlines()]
    return [number for number, name, state in rows if name.startswith("bmx_grid-") and state != "COMPLETING"]


def test_the_tables_are_those_of_one_process_and_no_job_is_left(tmp_path, keys, by_one_process):
    status, out, err = ended(begun(tmp_path, *keys, seconds=0))
    assert status == 0, out + err
    assert tables(tmp_path) == by_one_process[0]
    assert in_queue() == []
    assert len(list((tmp_path / "out" / "jobs").glob("bmx_grid-*.err"))) == 2  # the logs stay


@pytest.mark.parametrize("number", [1, 2], ids=["one of two", "all"])
def test_a_job_that_is_cancelled_costs_nothing(tmp_path, keys, by_one_process, number):
    running = begun(tmp_path, *keys)
    wait_for(lambda: chunks(tmp_path) >= 3)
    queued = in_queue()
    assert len(queued) == 2
    subprocess.run(["scancel", *queued[:number]], check=True)
    status, out, err = ended(running)
    assert status == 0, out + err
    assert tables(tmp_path) == by_one_process[0]
    assert in_queue() == []
    if number == 2:  # submitted again, or nobody would have finished
        assert len(list((tmp_path / "out" / "jobs").glob("*.err"))) > 2


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupt_leaves_no_job_and_the_same_command_goes_on(tmp_path, keys, by_one_process, signum):
    running = begun(tmp_path, *keys)
    wait_for(lambda: chunks(tmp_path) >= 3)
    (os.killpg if signum == signal.SIGINT else os.kill)(running.pid, signum)
    status, out, err = ended(running)
    assert (status, err.splitlines()) == (128 + signum, ["", RESUMES])
    assert in_queue() == []
    assert wait_until_alone(running.pid) == []
    status, out, err = ended(begun(tmp_path, *keys, seconds=0))
    assert status == 0, out + err
    assert tables(tmp_path) == by_one_process[0]
    assert 0 < planned(out) < by_one_process[1]


def test_jobs_end_by_themselves_when_the_sweep_is_killed(tmp_path, keys, by_one_process):
    running = begun(tmp_path, *keys)
    wait_for(lambda: chunks(tmp_path) >= 3)
    os.kill(running.pid, signal.SIGKILL)
    ended(running)
    wait_for(lambda: in_queue() == [], seconds=180)
    status, out, err = ended(begun(tmp_path, "executor=sequential", seconds=0))
    assert status == 0, out + err
    assert tables(tmp_path) == by_one_process[0]


def executor_of(folder, options: dict, **settings: object) -> Dask:
    """executor=slurm with its logs in the folder of the test."""
    own = {"cluster": "dask_jobqueue.SLURMCluster", "cluster_options": options, "log_dir": str(folder), "timeout": 60.0}
    return Dask(**own | settings)


REFUSED = {
    "an unknown partition": ({"queue": "nosuch"}, "invalid partition.*correct executor.cluster_options"),
    "an option that sbatch lacks": ({"job_extra_directives": ["--nonsense=1"]}, "unrecognized option.*correct"),
    "jobs that end at once": ({"python": "/no/python"}, "has had no worker for 5 seconds.*see why in its queue"),
}


@pytest.mark.parametrize(("more", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_slurm_refuses_and_cannot_run_is_said(slurm, tmp_path, more, message):
    with pytest.raises((ConfigError, UnavailableError), match=message):
        list(executor_of(tmp_path, {**slurm, **more}, timeout=5.0).run([Job(partial(jobs.square, 2))]))
    assert in_queue() == []


def test_a_job_with_a_gpu_does_the_work_that_needs_one(slurm, tmp_path):
    shown = subprocess.run(["sinfo", "--noheader", "--format=%G"], capture_output=True, text=True, check=True)
    if "gpu" not in shown.stdout:
        pytest.skip("the nodes of this SLURM have no GPU")
    device = {"job_extra_directives": ["--gres=gpu:1"]}
    executor = executor_of(tmp_path, slurm, device_jobs=1, device_options=device)
    results = list(executor.run([Job(partial(jobs.where, n), needs_device=n % 2 == 0) for n in range(8)]))
    assert {device for number, _, device in results if number % 2 == 0} == {"cuda:0"}
    assert {device for number, _, device in results if number % 2 == 1} == {None}
