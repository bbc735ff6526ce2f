"""Settings of executor=slurm that need no SLURM: what is refused, what is submitted."""

import re
import signal
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import pytest

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.sweep.executors import slurm
from bmx_grid.sweep.executors.base import Executor, Job
from bmx_grid.sweep.executors.dask import Cluster, Dask
from bmx_grid.sweep.executors.slurm import Slurm

pytest.importorskip("dask_jobqueue", reason='pip install ".[slurm]"')


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """SLURM's commands, as far as they are looked for."""
    for name in slurm.SLURM_COMMANDS:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


REFUSED = {
    "no job": ({"jobs": 0}, r"executor\.jobs and executor\.gpus are both 0; ask for one job"),
    "memory without a unit": ({"memory": "16"}, r"executor\.memory: '16' is not an amount .* as 500MB, 16GB"),
    "devices": ({"devices": ["cuda:0"]}, r"executor\.devices: SLURM hands out devices; write executor\.gpus=N"),
    "a folder with a command": ({"log_dir": "x\ntouch RAN"}, r"executor\.log_dir: 'x\\ntouch RAN' is not one line"),
    "a walltime with a command": ({"walltime": "01:00\rx"}, r"executor\.walltime: .* is not one line"),
    "a directive with a command": ({"directives": ["--qos=x", "-o x\nx"]}, r"executor\.directives: .* is not one line"),
    "a name of its own": ({"directives": ["--job-name=x"]}, r"the sweep names its jobs, and finds them by it"),
}


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_values_that_slurm_cannot_take_are_refused_before_anything_runs(values, message):
    with pytest.raises(ConfigError, match=message):
        build({**load_option("executor", "slurm"), **values}, Executor, "executor")
    for memory in ("500MB", "7.5GiB", "64 GB", "1T"):
        assert Slurm(memory=memory).memory == memory


@pytest.mark.parametrize(("option", "values"), [("slurm", {}), ("dask", {"address": "tcp://host:8786"})])
def test_what_is_missing_is_named_with_the_way_out(commands, monkeypatch, tmp_path, option, values):
    executor = build({**load_option("executor", option), **values}, Executor, "executor")
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(UnavailableError, match=rf"pip install '\.\[{option}\]'"):
            executor.check()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(UnavailableError, match=r"the command sbatch is not found here; run this on a machine from"):
        Slurm().check()


@pytest.mark.parametrize("executor", [Slurm, partial(Dask, address="tcp://127.0.0.1:9")], ids=["slurm", "dask"])
def test_a_cache_of_its_own_for_each_machine_is_refused(commands, executor):
    with pytest.raises(ConfigError, match=r"cache_dir=bmx_cache: workers on other .* cache_dir=/.*/bmx_cache\."):
        executor(cache_dir="bmx_cache").check()
    executor(cache_dir="/shared/cache").check()
    executor(cache_dir="s3://bucket/cache").check()


def test_an_interface_that_is_not_here_is_named(commands):
    with pytest.raises(ConfigError, match=r"executor\.interface: 'ib9' is not a valid network interface"):
        list(Slurm(interface="ib9").run([Job(abs)]))


@pytest.mark.processes
def test_each_job_says_what_its_workers_are_for():
    executor = Slurm(
        jobs=2, cores=4, gpus=1, gpu_queue="gpu", gpu_type="a100", account="mt", queue="cpu",
        directives=("--qos=long",), prologue=("module load x",),
    )  # fmt: skip
    scripts = []
    for has_device in (False, True):
        with executor.cluster("bmx_grid-1", has_device=has_device) as cluster:
            scripts.append(cluster.job_script())
    plain, device = scripts
    for line in ("-p cpu", "-A mt", "--cpus-per-task=4", "--mem=4G", "-t 01:00:00", "--qos=long", "-J bmx_grid-1"):
        assert f"#SBATCH {line}" in plain
    assert "--nworkers 4" in plain and "--resources" not in plain and "gres" not in plain
    assert 'export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"' in plain and "module load x" in plain
    assert "#SBATCH -p gpu" in device and "#SBATCH --gres=gpu:a100:1" in device and "#SBATCH --qos=long" in device
    assert "export BMX_DEVICE=cuda:0" in device and "--resources device=1" in device
    assert re.findall(r"--nthreads (\d+)", device)[-1] == "1" and "--nworkers" not in device


def test_ctrl_c_is_answered_as_before_when_dask_jobqueue_has_been_loaded():
    """It installs a handler of its own when it is imported, which ends the process as if all were well."""
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT); "
        "from bmx_grid.sweep.executors.dask import cluster_class; cluster_class('dask_jobqueue.SLURMCluster'); "
        "print(signal.getsignal(signal.SIGINT) is before, signal.signal.__module__)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "True signal\n"
    assert signal.getsignal(signal.SIGINT) is not None


class Submissions:
    """A cluster of dask-jobqueue, as far as it is looked at: jobs are numbered as they are submitted."""

    def __init__(self) -> None:
        self.worker_spec: dict[str, None] = {}
        self.workers: dict[str, SimpleNamespace] = {}
        self.n_submitted = 0

    def new_worker_spec(self) -> dict[str, None]:
        return {f"job-{len(self.worker_spec)}": None}

    def _correct_state(self) -> None:
        for name in set(self.worker_spec) - set(self.workers):
            self.n_submitted += 1
            self.workers[name] = SimpleNamespace(job_id=str(self.n_submitted))

    def sync(self, work):
        return work()


def client(workers: dict) -> SimpleNamespace:
    """A client of Dask, as far as workers are looked at."""
    scheduler = SimpleNamespace(identity=None)
    return SimpleNamespace(scheduler=scheduler, sync=lambda _: {"workers": workers}, submit=print)


RUNNING = {"tcp://a": {"resources": {}, "nthreads": 1}}


def test_a_job_that_ended_is_submitted_again_until_they_all_end_with_nothing_done(monkeypatch):
    monkeypatch.setattr(slurm, "ASK_SECONDS", 0.0)
    listed: dict = {"now": {"1", "2"}}
    monkeypatch.setattr(slurm, "_listed", lambda name: listed["now"])
    cluster = Submissions()
    jobs = slurm._Jobs("bmx_grid-1", Slurm(jobs=2, log_dir="logs"), {False: cluster}, {False: client(RUNNING)})
    jobs.submit()
    jobs.look()
    assert cluster.n_submitted == 2
    listed["now"] = {"1"}
    jobs.look()
    assert (cluster.n_submitted, {job.job_id for job in cluster.workers.values()}) == (3, {"1", "3"})
    listed["now"] = None  # SLURM does not answer
    jobs.look()
    assert cluster.n_submitted == 3
    listed["now"] = set()
    for _ in range(4):
        jobs.lanes[0].done += 1  # each time something was done in between
        jobs.look()
    for _ in range(2):
        jobs.look()
    with pytest.raises(UnavailableError, match=r"again 3 times, and ended before .*log_dir \(logs\)"):
        jobs.look()


def test_work_that_needs_a_device_waits_for_the_job_that_will_have_one():
    clients = {False: client(RUNNING), True: client({})}
    cluster = Cluster(clients, 0.0, "SLURM", "wait", expected=True)
    plain, device = cluster.lanes
    assert (plain.n_workers, device.n_workers, device.expected) == (1, 0, True)
    cluster.look()  # nothing waits for a device: its absence is no matter
    device.held = 1
    with pytest.raises(UnavailableError, match="SLURM has had no worker that holds a device for 0 seconds.*: wait"):
        cluster.look()
