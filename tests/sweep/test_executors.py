"""What each executor does in its own way: devices, the environment of workers, what a Dask cluster may lose."""

import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import jobs
import pytest
from fakes import ROOT, HashMetric

from bmx_grid.api.inputs import function_metric
from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.datasets.tabular import Sample
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.models import loading
from bmx_grid.models.loading import _chosen_device
from bmx_grid.sweep.executors import local
from bmx_grid.sweep.executors.base import AHEAD, Job, Lane, Workers, results
from bmx_grid.sweep.executors.dask import Dask
from bmx_grid.sweep.executors.local import Loky, Sequential
from bmx_grid.sweep.judge import map_parallel
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.scoring import _needs_device, run_plan
from bmx_grid.sweep.settings import NotRun, PlanOptions

TWO = ("cuda:0", "cuda:1")


def test_loky_runs_one_process_for_each_device_and_the_light_jobs_beside_them():
    mixed = [Job(partial(jobs.where, number), needs_device=number % 2 == 0) for number in range(12)]
    results = list(Loky(n_jobs=1, devices=TWO).run(mixed))
    assert sorted(number for number, *_ in results) == list(range(12))
    assert {device for number, _, device in results if number % 2} == {None}
    of_device = {device: {process for _, process, place in results if place == device} for device in TWO}
    assert [len(processes) for processes in of_device.values()] == [1, 1]
    assert {device for number, _, device in results if number % 2 == 0} == set(TWO)
    assert of_device["cuda:0"] != of_device["cuda:1"]
    without = list(Loky(n_jobs=2, devices=()).run(mixed[:4]))
    assert {device for *_, device in without} == {None}, "without devices the need of one changes nothing"


def test_sequential_gives_its_device_to_this_process_for_each_job():
    some = [Job(partial(jobs.where, number)) for number in range(2)]
    assert [device for *_, device in Sequential(devices=("cuda:1",)).run(some)] == ["cuda:1", "cuda:1"]
    assert loading.assigned_device() is None
    with pytest.raises(ConfigError, match=r"executor=sequential uses one device"):
        Sequential(devices=TWO)
    with pytest.raises(ConfigError, match="executor.n_jobs must be at least 1, or -1"):
        Loky(n_jobs=0)


SEEN = {
    # CUDA_VISIBLE_DEVICES, cards of the driver, whether PyTorch knows CUDA -> devices
    "no driver": (None, 0, True, ()),
    "two cards": (None, 2, True, TWO),
    "one of two": ("1", 2, True, ("cuda:0",)),
    "named by id": ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 2, True, ("cuda:0",)),
    "hidden by an empty list": ("", 2, True, ()),
    "hidden by -1": ("-1", 2, True, ()),
    "a PyTorch for processors only": (None, 2, False, ()),
}


@pytest.mark.parametrize(("visible", "cards", "cuda", "expected"), SEEN.values(), ids=SEEN.keys())
def test_devices_are_found_as_cuda_shows_them(monkeypatch, tmp_path, visible, cards, cuda, expected):
    for number in range(cards):
        (tmp_path / f"0000:0{number}:00.0").mkdir()
    monkeypatch.setattr(loading, "_NVIDIA", tmp_path if cards else tmp_path / "none")
    monkeypatch.setattr(loading, "_torch_knows_cuda", lambda: cuda)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert loading.cuda_devices() == expected


def test_looking_for_devices_does_not_import_torch_and_is_right_about_it():
    import torch

    code = "import sys; from bmx_grid.models.loading import cuda_devices; cuda_devices(); print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout == "False\n"
    assert loading._torch_knows_cuda() is (torch.version.cuda is not None)


CHOICES = {
    # assigned, asked for -> chosen, of a machine with two CUDA devices
    "its own": ("cuda:1", "auto", "cuda:1"),
    "its own among cuda": ("cuda:1", "cuda", "cuda:1"),
    "the processor when asked for": ("cuda:1", "cpu", "cpu"),
    "none given": (None, "auto", "cuda"),
    "a kind alone": ("cuda", "auto", "cuda"),
}


@pytest.mark.parametrize(("assigned", "asked", "chosen"), CHOICES.values(), ids=CHOICES.keys())
def test_a_model_goes_to_the_device_of_its_worker(monkeypatch, assigned, asked, chosen):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with loading.assign_device(assigned):
        assert _chosen_device(asked) == chosen
    for absent in ("cuda:2", "cuda:x", "gpu"):
        with (
            loading.assign_device(absent),
            pytest.raises(UnavailableError, match=f"{absent} is assigned to this worker"),
        ):
            _chosen_device("auto")


NEEDS = {
    "a light metric": ([{}], False),
    "a metric that says it runs a model": ([{"cost": "model"}], True),
    "a model that is kept on the processor": ([{"cost": "model", "device": "cpu"}, {}], False),
    "one on the processor, one not": ([{"cost": "model", "device": "cpu"}, {"device": "cuda"}], True),
}


@pytest.mark.parametrize(("parts", "expected"), NEEDS.values(), ids=NEEDS.keys())
def test_jobs_with_a_large_model_need_a_device(parts, expected):
    assert _needs_device(*(type("Part", (), fields)() for fields in parts)) is expected


@pytest.mark.parametrize(("threads_set", "expected"), [(None, "1"), ("3", "3")], ids=["a fair share", "the user's own"])
def test_workers_share_the_processors(monkeypatch, threads_set, expected):
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if threads_set is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", threads_set)
    assert list(Loky(n_jobs=2, devices=()).run([Job(jobs.threads)])) == [expected]


def test_an_evaluation_in_this_process_has_one_blas_thread():
    """As in a worker: the number of threads changes the last bits of a result."""
    from threadpoolctl import threadpool_info, threadpool_limits

    def blas_threads(_=None):
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        assert map_parallel(Sequential(), 0.0, blas_threads, [None]) == [{1}]
        assert blas_threads() == {2}


def test_loky_s_warning_of_a_replaced_worker_is_not_shown(capsys):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        list(Loky(n_jobs=1, devices=()).run([Job(partial(jobs.square, 2))]))
        warnings.warn("A worker stopped while some jobs were given to the executor. This can …", stacklevel=1)
        warnings.warn("another", stacklevel=1)
    assert [str(warning.message) for warning in shown] == ["another"]


def test_a_busy_kind_of_worker_does_not_keep_the_other_idle():
    order, quick_are_here = [], threading.Event()

    def when_quick_are_here(number: int) -> int:
        assert quick_are_here.wait(60)
        return number**2

    with ThreadPoolExecutor(1) as device, ThreadPoolExecutor(1) as plain:
        lanes = [Lane(plain.submit, 1), Lane(device.submit, 1, has_device=True)]
        slow = [Job(partial(when_quick_are_here, number), needs_device=True) for number in range(5)]
        quick = [Job(partial(jobs.square, number)) for number in range(100, 110)]
        for result in results(Workers(lanes), [*slow, *quick]):
            order.append(result)
            if len(order) == len(quick):
                quick_are_here.set()
    assert sorted(order[:10]) == [number**2 for number in range(100, 110)]
    assert sorted(order[10:]) == [0, 1, 4, 9, 16]


def test_workers_have_jobs_waiting_while_the_one_who_asks_is_busy_and_are_looked_at_meanwhile():
    submitted, looks = [], []
    with ThreadPoolExecutor(1) as pool:

        def submit(work):
            submitted.append(work)
            return pool.submit(work)

        workers = Workers([Lane(submit, 1)])
        workers.look = lambda: looks.append(len(looks))
        arriving = results(workers, [Job(partial(jobs.square, number, 0.15)) for number in range(15)])
        next(arriving)
        assert len(submitted) == 1 + AHEAD
        assert len(list(arriving)) == 14
    assert len(looks) >= 2, "a lost job of a cluster is noticed although the others are busy"


def test_a_lane_that_is_expected_holds_its_jobs():
    """Jobs for a GPU wait until SLURM has started its job, and the others go on meanwhile."""
    order = []
    with ThreadPoolExecutor(1) as pool:
        workers = Workers([Lane(pool.submit, 1), Lane(pool.submit, 0, has_device=True, expected=True)])

        def arrive():
            assert workers.lanes[1].n_workers or workers.lanes[1].held == 2
            workers.lanes[1].n_workers = 1

        workers.look = arrive
        some = [Job(partial(abs, -number), needs_device=number < 2) for number in range(4)]
        for result in results(workers, some):
            order.append(result)
    assert sorted(order[:2]) == [2, 3] and sorted(order[2:]) == [0, 1]


def test_dask_without_an_address_or_with_devices_names_the_way_out():
    with pytest.raises(ConfigError, match=r"BMX_DEVICE=cuda:0 dask worker tcp://host:8786"):
        Dask(address="tcp://host:8786", devices=("cuda:0",))
    with pytest.raises(ConfigError, match=r"executor\.address=tcp://HOST:8786.*executor=loky"):
        Dask().check()


def test_texts_of_what_fails_are_neither_done_nor_left(tmp_path):
    """One metric fails in its second chunk, one is unavailable: what is done and dropped is all that there was."""
    data = {"sample": Sample(name="sample", language_pairs=("de-en",))}
    scope = PlanOptions(data_dir=tmp_path, cache_dir=tmp_path / "cache", limit=10)
    calls = []

    def fails_later(hypotheses, references):
        calls.append(len(hypotheses))
        return [1 / (2 - len(calls)) for _ in hypotheses]

    class Absent(Chrf):
        def check(self):
            raise UnavailableError("there is no such library")

    metrics = {"chrf": Chrf(), "later": function_metric(fails_later, "later"), "absent": Absent(word_order=1)}
    plan = make_plan(data, metrics, {"erasure": Erasure()}, scope)
    done, dropped = [], []
    executor = Sequential(chunk_texts=20)
    options = {"executor": executor, "stop_on_error": False, "progress": done.append}
    options["drop"] = lambda metric, n_texts: dropped.append(n_texts)
    failed = [part for part in run_plan(plan, {}, **options) if isinstance(part, NotRun)]
    reasons = {part.label.split(" · ")[2]: part.reason for part in failed}
    assert reasons["absent"] == "there is no such library" and "ZeroDivisionError" in reasons["later"]
    by_metric = {setting.metric_name: setting.n_texts for setting in plan.settings}
    assert plan.n_texts == sum(by_metric.values()) > plan.n_texts_here == by_metric["chrf"] + by_metric["later"]
    assert sum(part.n_texts for part in done) + sum(dropped) == plan.n_texts_here
    assert plan.texts_here == {"chrf": by_metric["chrf"], "later": by_metric["later"]}
    assert {part.metric for part in done} == {"chrf", "later"}
    assert 0 < sum(dropped) < by_metric["later"]


@pytest.mark.parametrize(
    ("chunk_texts", "metrics", "starts"),
    [
        pytest.param(10_000, {"chrf": Chrf()}, False, id="few texts of a light metric"),
        pytest.param(20, {"chrf": Chrf()}, True, id="several jobs"),
        pytest.param(10_000, {"chrf": Chrf(), "hash": HashMetric()}, True, id="a metric of somebody else"),
    ],
)
def test_processes_start_for_what_needs_them(chunk_texts, metrics, starts, tmp_path, monkeypatch):
    data = {"sample": Sample(name="sample", language_pairs=("de-en",))}
    scope = PlanOptions(data_dir=tmp_path, cache_dir=tmp_path / "cache", limit=10)
    plan = make_plan(data, metrics, {"erasure": Erasure()}, scope)

    def refuse(*arguments):
        raise UnavailableError("a process starts")

    monkeypatch.setattr(local, "processes", refuse)
    executor = Loky(n_jobs=2, devices=(), chunk_texts=chunk_texts)
    with pytest.raises(UnavailableError, match="a process") if starts else nullcontext():
        ended = list(run_plan(plan, {}, executor=executor, stop_on_error=True, progress=lambda done: None))
        assert [setting.names[2] for setting in ended] == ["chrf"]


@pytest.mark.parametrize("chunk_texts", [20, 10_000])
def test_what_a_setting_spent_is_the_sum_of_its_chunks(tmp_path, chunk_texts):
    data = {"sample": Sample(name="sample", language_pairs=("de-en",))}
    scope = PlanOptions(data_dir=tmp_path, cache_dir=tmp_path / "cache", limit=10)
    plan = make_plan(data, {"chrf": Chrf()}, {"erasure": Erasure()}, scope)
    executor, sizes = Sequential(chunk_texts=chunk_texts), []
    (result,) = run_plan(plan, {}, executor=executor, stop_on_error=True, progress=sizes.append)
    assert (len(sizes) > 3) is (chunk_texts == 20)
    assert result.spent.n_texts == sum(part.n_texts for part in sizes) > 100
    assert result.spent.seconds > 0


@pytest.mark.parametrize("fails", [False, True])
def test_after_each_job_free_memory_goes_back_to_the_system(fails, monkeypatch):
    done = []
    monkeypatch.setattr(local, "give_back_memory", lambda: done.append("given back"))

    def work():
        done.append("work")
        if fails:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        local._work_and_give_back(work)
    assert done == ["work", "given back"]
