"""What each executor does in its own way: devices, the environment of workers, what a Dask cluster may lose."""

import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import jobs
import pytest
from fakes import ROOT
from started import wait_for

from bmx_grid.core import devices
from bmx_grid.core.configure import build
from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.models.loading import _chosen_device
from bmx_grid.sweep.executors.base import AHEAD, Executor, Job, Lane, results
from bmx_grid.sweep.executors.dask import Dask, workers_of
from bmx_grid.sweep.executors.local import Loky, Sequential
from bmx_grid.sweep.runner import _needs_device

TWO = ("cuda:0", "cuda:1")


def mixed(count: int) -> list[Job]:
    """Jobs by turns with and without the need of a device."""
    return [Job(partial(jobs.where, number), needs_device=number % 2 == 0) for number in range(count)]


def check_devices(found: list[tuple[int, int, str | None]], *, plain_elsewhere: bool = True) -> None:
    """Every device has one process, and all jobs that need a device ran on one of them."""
    processes: dict[str, set[int]] = {}
    for number, process, device in found:
        if number % 2 == 0:
            assert device in TWO
        elif plain_elsewhere:
            assert device is None
        if device is not None:
            processes.setdefault(device, set()).add(process)
    assert set(processes) == set(TWO)
    assert all(len(ids) == 1 for ids in processes.values())
    assert processes["cuda:0"] != processes["cuda:1"]


def test_loky_runs_one_process_for_each_device_and_the_light_jobs_beside_them():
    executor = Loky(n_jobs=1, devices=TWO)
    found = list(executor.run(mixed(12)))
    assert sorted(number for number, *_ in found) == list(range(12))
    check_devices(found)


def test_without_devices_the_need_of_one_changes_nothing():
    found = list(Loky(n_jobs=2, devices=()).run(mixed(6)))
    assert {device for *_, device in found} == {None}


@pytest.mark.parametrize(
    ("number", "said"),
    [
        pytest.param(0, "from 1 to 1,024, or -1 for one per processor; got 0", id="none"),
        pytest.param(-5, "from 1 to 1,024, or -1 for one per processor; got -5", id="all-but-four-of-joblib"),
        pytest.param(10**9, "from 1 to 1,024, .*; got 1000000000", id="a-billion"),
        pytest.param(10**400, "from 1 to 1,024, .*; got 10000000000000000000", id="400-digits"),
        pytest.param(1e9, "expected a whole number, got 1000000000.0", id="1e9"),
        pytest.param("x", "expected a whole number, got 'x'", id="text"),
        pytest.param(True, "expected a whole number, got True", id="truth"),
    ],
)
def test_numbers_of_processes_that_cannot_be_are_refused(number, said):
    with pytest.raises(ConfigError, match=rf"executor\.n_jobs.* {said}"):
        build({"_target_": "bmx_grid.sweep.executors.local.Loky", "n_jobs": number}, Executor, "executor")


def test_sequential_gives_its_device_to_this_process_for_each_job():
    assert [device for *_, device in Sequential(devices=("cuda:1",)).run(mixed(2))] == ["cuda:1", "cuda:1"]
    assert devices.assigned() is None
    with pytest.raises(ConfigError, match=r"cuda:0, cuda:1 is more than one, and executor=sequential runs one job"):
        Sequential(devices=TWO)


SEEN = {
    # CUDA_VISIBLE_DEVICES, cards of the driver, whether PyTorch knows CUDA -> devices
    "no driver": (None, 0, True, ()),
    "two cards": (None, 2, True, TWO),
    "one of two": ("1", 2, True, ("cuda:0",)),
    "both named": ("0,1", 2, True, TWO),
    "named by id": ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 2, True, ("cuda:0",)),
    "hidden by an empty list": ("", 2, True, ()),
    "hidden by -1": ("-1", 2, True, ()),
    "all after -1 hidden": ("0,-1,1", 2, True, ("cuda:0",)),
    "a PyTorch for processors only": (None, 2, False, ()),
}


@pytest.mark.parametrize(("visible", "cards", "cuda", "expected"), SEEN.values(), ids=SEEN.keys())
def test_devices_are_found_as_cuda_shows_them(monkeypatch, tmp_path, visible, cards, cuda, expected):
    for number in range(cards):
        (tmp_path / f"0000:0{number}:00.0").mkdir()
    monkeypatch.setattr(devices, "_NVIDIA", tmp_path if cards else tmp_path / "none")
    monkeypatch.setattr(devices, "_torch_knows_cuda", lambda: cuda)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert devices.present() == expected


def test_looking_for_devices_does_not_import_torch():
    code = "import sys; from bmx_grid.core.devices import present; present(); print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout == "False\n"


def test_what_is_known_of_torch_without_importing_it_is_true():
    import torch

    assert devices._torch_knows_cuda() is (torch.version.cuda is not None)


CHOICES = {
    # assigned, asked for -> chosen, of a machine with two CUDA devices
    "its own": ("cuda:1", "auto", "cuda:1"),
    "its own among cuda": ("cuda:1", "cuda", "cuda:1"),
    "the processor when asked for": ("cuda:1", "cpu", "cpu"),
    "none given": (None, "auto", "cuda"),
    "the processor as a device": ("cpu", "auto", "cpu"),
}


@pytest.mark.parametrize(("own", "asked", "chosen"), CHOICES.values(), ids=CHOICES.keys())
def test_a_model_goes_to_the_device_of_its_worker(monkeypatch, own, asked, chosen):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with devices.assigned_here(own):
        assert _chosen_device(asked) == chosen


def test_a_device_that_torch_does_not_see_is_named(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with devices.assigned_here("cuda:2"), pytest.raises(UnavailableError, match=r"cuda:2 was given to this worker"):
        _chosen_device("auto")


NEEDS = {
    "a light metric": ([{}], False),
    "a metric that says it runs a model": ([{"cost": "model"}], True),
    "an explainer with a model": ([{}, {"device": "auto"}], True),
    "a model that is kept on the processor": ([{"cost": "model", "device": "cpu"}, {}], False),
    "one on the processor, one not": ([{"cost": "model", "device": "cpu"}, {"device": "cuda"}], True),
}


@pytest.mark.parametrize(("parts", "expected"), NEEDS.values(), ids=NEEDS.keys())
def test_jobs_with_a_large_model_need_a_device(parts, expected):
    assert _needs_device(*(type("Part", (), fields)() for fields in parts)) is expected


@pytest.mark.parametrize(("own", "expected"), [(None, "1"), ("3", "3")], ids=["a fair share", "the user's own"])
def test_workers_share_the_processors(monkeypatch, own, expected):
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if own is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", own)
    assert list(Loky(n_jobs=2, devices=()).run([Job(jobs.threads)])) == [expected]


def test_loky_s_warning_of_a_replaced_worker_is_not_shown(capsys):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        list(Loky(n_jobs=1, devices=()).run([Job(partial(jobs.square, 2))]))
        warnings.warn("A worker stopped while some jobs were given to the executor. This can …", stacklevel=1)
        warnings.warn("another", stacklevel=1)
    assert [str(one.message) for one in shown] == ["another"]


def test_a_busy_kind_of_worker_does_not_keep_the_other_idle():
    order, quick_are_here = [], threading.Event()

    def when_quick_are_here(number: int) -> int:
        assert quick_are_here.wait(60)
        return number**2

    with ThreadPoolExecutor(1) as device, ThreadPoolExecutor(1) as plain:
        lanes = [Lane(plain.submit, 1), Lane(device.submit, 1, has_device=True)]
        slow = [Job(partial(when_quick_are_here, number), needs_device=True) for number in range(5)]
        quick = [Job(partial(jobs.square, number)) for number in range(100, 110)]
        for result in results(lanes, [*slow, *quick]):
            order.append(result)
            if len(order) == len(quick):
                quick_are_here.set()
    assert sorted(order[:10]) == [number**2 for number in range(100, 110)]
    assert sorted(order[10:]) == [0, 1, 4, 9, 16]


def test_workers_have_jobs_waiting_while_the_one_who_asks_is_busy():
    with ThreadPoolExecutor(1) as pool:
        submitted = []

        def submit(work):
            submitted.append(work)
            return pool.submit(work)

        found = results([Lane(submit, 1)], [Job(partial(jobs.square, number)) for number in range(10)])
        next(found)
        assert len(submitted) == 1 + AHEAD
        assert len(list(found)) == 9


def test_workers_are_looked_at_also_while_results_come_in():
    """A lost job of a cluster is noticed although the others are busy."""
    looks = []
    with ThreadPoolExecutor(1) as pool:
        some = [Job(partial(jobs.square, number, 0.1)) for number in range(30)]
        found = list(results([Lane(pool.submit, 1)], some, look=lambda: looks.append(len(looks))))
    assert sorted(found) == [number * number for number in range(30)]
    assert len(looks) >= 2


# A Dask cluster that others own: its scheduler, its workers.

DASK = "distributed.cli.dask_"


@contextmanager
def running(*arguments: str, **environment: str) -> Iterator[subprocess.Popen]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    own = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", **environment}
    process = subprocess.Popen([sys.executable, "-m", *arguments], env=own, cwd=ROOT, **quiet)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def scheduler(tmp_path) -> Iterator[tuple[str, subprocess.Popen]]:
    """Address and process of a Dask scheduler."""
    pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    plain = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with running(f"{DASK}scheduler", *plain) as process:
        wait_for(file.exists)
        yield json.loads(file.read_text())["address"], process


def worker(address: str, *options: str, **environment: str):
    return running(f"{DASK}worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *options, **environment)


def n_workers(address: str) -> int:
    import distributed

    with distributed.Client(address) as client:
        return len(workers_of(client))


@pytest.mark.processes
def test_a_dask_worker_that_holds_a_device_gets_the_jobs_that_need_one(scheduler):
    address, _ = scheduler
    executor = Dask(address=address, timeout=60)
    with worker(address), worker(address, "--resources", "device=1", BMX_DEVICE="cuda:1"):
        wait_for(lambda: n_workers(address) == 2)
        found = list(executor.run(mixed(8)))
    assert {device for number, _, device in found if number % 2 == 0} == {"cuda:1"}


@pytest.mark.processes
def test_a_dask_worker_that_is_lost_costs_nothing_while_another_is_there(scheduler, tmp_path):
    address, _ = scheduler
    executor = Dask(address=address, timeout=60)
    with worker(address), worker(address):
        wait_for(lambda: n_workers(address) == 2)
        some = [Job(partial(jobs.killed_once, tmp_path / "mark")), *(Job(partial(jobs.square, n)) for n in range(6))]
        assert sorted(map(str, executor.run(some))) == sorted(["0", "1", "4", "9", "16", "25", "done"])


@pytest.mark.processes
def test_a_scheduler_without_workers_is_said_after_the_timeout(scheduler):
    address, _ = scheduler
    with pytest.raises(UnavailableError, match=rf"at {address} has had no worker for 2 seconds.*dask worker {address}"):
        list(Dask(address=address, timeout=2).run([Job(partial(jobs.square, 2))]))


@pytest.mark.processes
def test_a_lost_scheduler_is_said_in_a_sentence(scheduler):
    address, process = scheduler
    with worker(address):
        found = Dask(address=address, timeout=60).run([Job(partial(jobs.square, n, 0.1)) for n in range(100)])
        next(found)
        process.kill()
        with pytest.raises(UnavailableError, match=r"connection to the Dask scheduler at .* was lost\. Finished work"):
            list(found)


def test_devices_of_a_scheduler_elsewhere_are_named_where_its_workers_start():
    with pytest.raises(ConfigError, match=r"BMX_DEVICE=cuda:0 dask worker tcp://host:8786"):
        Dask(address="tcp://host:8786", devices=("cuda:0",))


def test_dask_without_an_address_names_the_way_out():
    with pytest.raises(ConfigError, match=r"executor\.address=tcp://HOST:8786.*executor=loky"):
        Dask().check()
