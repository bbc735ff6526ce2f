"""What every option of configs/executor promises. A new YAML file is covered without a line here."""

import dataclasses
import os
import pickle
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module

import jobs
import pytest
from started import wait_for

from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import ConfigError
from bmx_grid.sweep.executors.base import Executor, Job, WorkerLost
from bmx_grid.sweep.executors.dask import Dask
from bmx_grid.sweep.executors.local import Sequential


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Address of a Dask cluster, started once for all tests that leave it as it is."""
    distributed = pytest.importorskip("distributed", reason='pip install ".[dask]"')
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    yield local.scheduler_address
    with suppress(TimeoutError, ValueError, AssertionError):  # how Dask ends its own cluster is not tested here
        local.close()


def of_a_cluster(name: str) -> bool:
    module, _, cls = load_option("executor", name)["_target_"].rpartition(".")
    return issubclass(getattr(import_module(module), cls), Dask)


PARAMS = [pytest.param(name, marks=pytest.mark.processes if of_a_cluster(name) else ()) for name in options("executor")]


@pytest.fixture(scope="module", params=PARAMS)
def executor(request) -> Executor:
    settings = load_option("executor", request.param)
    if request.param == "dask":
        settings |= {"address": request.getfixturevalue("cluster"), "timeout": 60}
    if request.param == "slurm":
        settings["cluster_options"] |= request.getfixturevalue("slurm")
    return build(settings, Executor, f"executor.{request.param}")


@pytest.fixture
def in_processes(executor) -> Executor:
    """An executor that starts workers of its own; others have none to lose, or not theirs to end."""
    if not hasattr(executor, "n_jobs"):
        pytest.skip("starts no processes of this machine")
    return executor


@pytest.fixture
def alone(in_processes) -> Executor:
    """It with one worker."""
    return dataclasses.replace(in_processes, n_jobs=1)


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_every_job_is_run_once_and_none_is_read_before_there_is_room(executor, tmp_path):
    n_workers = 1 if isinstance(executor, Sequential) else max(os.cpu_count() or 1, 2)
    count, unfinished = 40 + 5 * n_workers, []

    def some():
        for number in range(count):
            unfinished.append(number - len(os.listdir(tmp_path)))
            yield Job(partial(jobs.square_noted, number, tmp_path))

    assert list(executor.run(iter(()))) == []
    assert sorted(executor.run(some())) == [number * number for number in range(count)]
    assert max(unfinished) <= 4 * n_workers


def test_a_job_s_own_error_is_raised_as_it_is(executor):
    with pytest.raises(ValueError, match="boom"):
        list(executor.run([Job(jobs.boom)]))


def test_an_error_of_the_jobs_themselves_is_raised(executor):
    def some():
        for number in range(20):
            if number == 15:
                raise RuntimeError("no more")
            yield Job(partial(jobs.square, number))

    with pytest.raises(RuntimeError, match="no more"):
        list(executor.run(some()))


def test_a_lost_worker_is_its_own_error_with_a_way_out(alone):
    with pytest.raises(WorkerLost, match=r"(killed|lost).*Finished work is kept: run the same command again with"):
        list(alone.run([Job(jobs.killed)]))
    # and the same executor is as good as before
    assert list(alone.run([Job(partial(jobs.square, 3))])) == [9]


def test_closing_ends_the_jobs_that_are_running(in_processes, tmp_path):
    in_processes = dataclasses.replace(in_processes, n_jobs=2)  # one worker waits, the other one works
    mark = tmp_path / "process"
    results = in_processes.run([Job(partial(jobs.process_and_sleep, mark)), Job(partial(jobs.square, 2, 0.5))])
    assert next(results) == 4
    began = time.monotonic()
    wait_for(lambda: mark.exists() and mark.read_text() != "")
    results.close()
    wait_for(partial(is_gone, int(mark.read_text())))
    assert time.monotonic() - began < 120  # the job would have taken ten minutes


def test_kept_it_runs_several_times_and_leaves_no_process(executor):
    with executor.keep_workers() as same:
        runs = [list(same.run(Job(partial(jobs.where, number)) for number in range(4))) for _ in range(2)]
        assert list(same.run([])) == []
    for results in runs:
        assert sorted(number for number, *_ in results) == list(range(4))
    if type(executor).__name__ == "Loky":
        first, second = ({process for _, process, _ in results} for results in runs)
        assert second <= first, "the second run started processes anew"
        wait_for(lambda: all(map(is_gone, first)))


def test_kept_it_is_as_good_as_before_after_a_run_that_failed(alone):
    with alone.keep_workers() as same:
        (first,) = same.run([Job(partial(jobs.where, 0))])
        for wrong, error in ((jobs.boom, ValueError), (jobs.killed, WorkerLost)):
            with pytest.raises(error):
                list(same.run([Job(wrong)]))
        wait_for(partial(is_gone, first[1]))
        assert list(same.run([Job(partial(jobs.square, 3))])) == [9]


def test_it_survives_pickling_and_nothing_about_it_is_part_of_a_result_s_identity(executor):
    assert pickle.loads(pickle.dumps(executor)) == executor
    assert executor.settings() == {}
    assert {"chunk_texts", "devices"} <= set(executor.settings("runtime"))


BAD = {
    "chunk_texts=0": ({"chunk_texts": 0}, "executor.chunk_texts: expected a number at least 1, got 0"),
    "an unknown device": ({"devices": ["gpu0"]}, "executor.devices: 'gpu0' is unknown or repeated"),
    "a device twice": ({"devices": ["cuda:1", "cuda:1"]}, "executor.devices: 'cuda:1' is unknown or repeated"),
}


@pytest.mark.parametrize(("values", "message"), BAD.values(), ids=BAD.keys())
def test_values_that_cannot_be_are_refused_with_the_way_out(executor, values, message):
    target = f"{type(executor).__module__}.{type(executor).__name__}"
    with pytest.raises(ConfigError, match=message):
        build({"_target_": target, **values}, Executor, "executor")
