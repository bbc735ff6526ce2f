"""Dask clusters that others own, whose workers and scheduler are lost in the middle.

BMX_KILLS=10 tries each loss of a whole sweep at ten random moments.
"""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import jobs
import pytest
from clusters import begun, chunks, ended, planned, tables
from started import Forked, environment_of, wait_for, wait_until_alone

from bmx_grid.core.errors import UnavailableError
from bmx_grid.sweep.executors.base import Job
from bmx_grid.sweep.executors.dask import Dask, workers_of

pytest.importorskip("distributed", reason='pip install ".[dask]"')
pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("fakes_everywhere")]
MOMENTS = int(os.environ.get("BMX_KILLS", "1"))
LONGEST = 8.0  # seconds; the sweep takes a little more with two workers


@contextmanager
def dask(forks, folder, *arguments: str, **environment: str) -> Iterator[Forked]:
    """A command of Dask's, in a group of its own; nothing of it is left at the end."""
    running = Forked(forks, ["-m", *arguments], folder, environment=environment_of(folder) | environment)
    try:
        yield running
    finally:
        if wait_until_alone(running.pid, 0.1):
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


@contextmanager
def cluster(forks, folder, *devices: str | None) -> Iterator[tuple[str, Forked, list[Forked]]]:
    """Address and process of a scheduler, and a worker for each of the devices, None for one without."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    listens = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with ExitStack() as stack:
        scheduler = stack.enter_context(dask(forks, folder, "distributed.cli.dask_scheduler", *listens))
        wait_for(lambda: file.exists() and file.read_text() != "")
        address = json.loads(file.read_text())["address"]
        # Without a nanny, which would start a Python: test_dask_clusters.py has one replace a worker.
        plain = ("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        plain += ("--death-timeout", "10")
        workers = []
        for device in devices:
            if device is None:
                worker = dask(forks, folder, *plain)
            else:
                worker = dask(forks, folder, *plain, "--resources", "device=1", BMX_DEVICE=device)
            workers.append(stack.enter_context(worker))
        wait_for(lambda: n_workers(address) == len(devices))
        yield address, scheduler, workers


def n_workers(address: str) -> int:
    import distributed

    with distributed.Client(address) as client:
        return len(workers_of(client))


def squares(count: int, seconds: float = 0.0) -> list[Job]:
    return [Job(partial(jobs.square, number, seconds)) for number in range(count)]


def test_devices_lost_workers_and_a_lost_scheduler(forks, tmp_path):
    with cluster(forks, tmp_path, None, "cuda:1") as (address, scheduler, workers):
        executor = Dask(address=address, timeout=60)
        mixed = [Job(partial(jobs.where, number), needs_device=number % 2 == 0) for number in range(8)]
        assert {device for number, _, device in executor.run(mixed) if number % 2 == 0} == {"cuda:1"}
        some = [Job(partial(jobs.killed_once, tmp_path / "mark")), *squares(6)]
        assert sorted(map(str, executor.run(some))) == sorted(["0", "1", "4", "9", "16", "25", "done"])
        results = executor.run(squares(100, 0.1))
        next(results)
        os.kill(scheduler.pid, signal.SIGKILL)
        with pytest.raises(UnavailableError, match=r"connection to the Dask scheduler at .* was lost\. Finished work"):
            list(results)
        for worker in workers:  # they end by themselves
            assert wait_until_alone(worker.pid, 60) == []


def test_a_scheduler_without_workers_is_said_after_the_timeout(forks, tmp_path):
    with cluster(forks, tmp_path) as (address, _, _):
        message = rf"at {address} has had no worker for 2 seconds.*dask worker {address}"
        with pytest.raises(UnavailableError, match=message):
            list(Dask(address=address, timeout=2).run(squares(1)))


def test_a_sweep_goes_on_without_a_lost_worker_and_after_a_lost_scheduler(forks, tmp_path, by_one_process):
    draw = random.Random(3)
    for number in range(MOMENTS):
        folder = tmp_path / str(number)
        with cluster(forks, folder, None, None) as (address, scheduler, workers):
            dask_here = ("executor=dask", f"executor.address={address}", "executor.timeout=60")
            running = begun(folder, *dask_here, forks=forks)
            wait_for(lambda folder=folder, running=running: chunks(folder) or running.poll() is not None)
            os.killpg(workers[0].pid, signal.SIGKILL)
            time.sleep(draw.uniform(0, LONGEST / 3))
            os.kill(scheduler.pid, signal.SIGKILL)
            status, _, err = ended(running)
            assert (status, len(err.splitlines())) == (2, 1), err
            message = f"error: the connection to the Dask scheduler at {address} was lost. Finished work is kept: start"
            assert err.startswith(message)
            assert wait_until_alone(running.pid) == []
        with cluster(forks, folder, None, None) as (address, _, workers):
            dask_here = ("executor=dask", f"executor.address={address}", "executor.timeout=60")
            again = begun(folder, *dask_here, seconds=0.1, forks=forks)
            os.kill(workers[0].pid, signal.SIGTERM)  # as a batch system ends a job: first it asks
            status, out, err = ended(again)
        assert (status, err) == (0, ""), out
        assert planned(out) < by_one_process[1]
        assert tables(folder) == by_one_process[0]
