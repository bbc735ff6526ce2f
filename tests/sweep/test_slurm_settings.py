"""Settings of executor=slurm that need no SLURM: what is refused, what is planned, what is submitted."""

import dataclasses
import re
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from fakes import composed

from bmx_grid.commands.sweep import run
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.sweep.executors import slurm
from bmx_grid.sweep.executors.base import Executor, Job, Lane, results
from bmx_grid.sweep.executors.dask import Cluster, Dask
from bmx_grid.sweep.executors.slurm import Slurm


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """SLURM's commands, as far as they are looked for."""
    for name in slurm.COMMANDS:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


REFUSED = {
    "no job": ({"jobs": 0}, r"executor\.jobs and executor\.gpus are both 0; ask for one job"),
    "too many jobs": ({"jobs": 10**6}, r"executor\.jobs must be from 0 to 1,000, got 1000000"),
    "no core": ({"cores": 0}, r"executor\.cores must be from 1 to 1,000, got 0"),
    "memory without a unit": ({"memory": "16"}, r"executor\.memory: '16' is not an amount .* as 500MB, 16GB"),
    "memory in words": ({"memory": "plenty"}, r"executor\.memory: 'plenty' is not an amount of memory"),
    "no memory": ({"memory": "0GB"}, r"executor\.memory: '0GB' is not"),
    "a number for a time": ({"walltime": 3600}, r"executor\.walltime: expected a text, got 3600"),
    "devices": ({"devices": ["cuda:0"]}, r"executor\.devices: SLURM hands out devices; write executor\.gpus=N"),
    "a name of its own": ({"directives": ["--job-name=x"]}, r"the sweep names its jobs, and finds them by it"),
    "no time to wait": ({"timeout": 0}, r"executor\.timeout must be above 0 seconds and at most 2\.592e\+06, got 0"),
}


@pytest.mark.parametrize(("values", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_values_that_slurm_cannot_take_are_refused_before_anything_runs(values, said):
    with pytest.raises(ConfigError, match=said):
        build({**load_option("executor", "slurm"), **values}, Executor, "executor")


@pytest.mark.parametrize("walltime", ["90", "30:00", "02:30:00", "1-12", "1-12:30", "7-00:00:00"])
@pytest.mark.parametrize("memory", ["500MB", "16GB", "7.5GiB", "64 GB", "1T"])
def test_times_and_amounts_as_slurm_has_them_are_taken(walltime, memory):
    assert Slurm(walltime=walltime, memory=memory).walltime == walltime


def test_without_slurm_s_commands_the_way_out_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"the command sbatch is not found here; run this on a machine from"):
        Slurm().check()


@pytest.mark.parametrize(("option", "values"), [("slurm", {}), ("dask", {"address": "tcp://host:8786"})])
def test_a_missing_package_is_named_with_its_extra(commands, monkeypatch, option, values):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match=rf'pip install "bmx-grid\[{option}\]"'):
        build({**load_option("executor", option), **values}, Executor, "executor").check()


@pytest.mark.parametrize("executor", [Slurm, partial(Dask, address="tcp://127.0.0.1:9")], ids=["slurm", "dask"])
def test_a_cache_of_its_own_for_each_machine_is_refused(commands, executor):
    pytest.importorskip("dask_jobqueue", reason='pip install "bmx-grid[slurm]"')
    with pytest.raises(ConfigError, match=r"cache_dir=bmx_cache: workers on other .* cache_dir=/.*/bmx_cache\."):
        executor(cache_dir="bmx_cache").check()
    executor(cache_dir="/shared/cache").check()
    executor(cache_dir="s3://bucket/cache").check()


def test_an_interface_that_is_not_here_is_named(commands):
    pytest.importorskip("dask_jobqueue", reason='pip install "bmx-grid[slurm]"')
    with pytest.raises(ConfigError, match=r"executor\.interface: 'ib9' is not a valid network interface"):
        list(Slurm(interface="ib9").run([Job(abs)]))


def test_a_plan_says_what_slurm_is_asked_for(commands, tmp_path, capsys):
    pytest.importorskip("dask_jobqueue", reason='pip install "bmx-grid[slurm]"')
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
    chosen = ("executor=slurm", "executor.jobs=3", "executor.cores=4", "executor.queue=long", "executor.gpus=1")
    config = composed("limit=3", "metric=[chrf]", "explainer=[erasure]", "dry_run=true", *chosen, *folders)
    assert config["executor"]["log_dir"] == str(tmp_path / "out" / "slurm")
    assert run(config) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == ("SLURM: 3 jobs in long and 1 job with a GPU in long, of 4 cores, 4GB and 01:00:00 each: 13 workers")
    assert not (tmp_path / "out").exists()


def test_each_job_says_what_its_workers_are_for(tmp_path):
    pytest.importorskip("dask_jobqueue", reason='pip install "bmx-grid[slurm]"')
    executor = Slurm(jobs=2, cores=4, gpus=1, gpu_queue="gpu", gpu_type="a100", account="mt", queue="cpu")
    executor = dataclasses.replace(executor, directives=("--qos=long",), prologue=("module load x",))
    scripts = {
        name: job["cls"]("tcp://1.2.3.4:5", name=name, **job["options"]).job_script()
        for name, job in executor._jobs("bmx_grid-1").items()
    }
    assert list(scripts) == ["job-1", "job-2", "gpu-1"]
    plain, device = scripts["job-2"], scripts["gpu-1"]
    for line in ("-p cpu", "-A mt", "--cpus-per-task=4", "--mem=4G", "-t 01:00:00", "--qos=long", "-J bmx_grid-1"):
        assert f"#SBATCH {line}" in plain
    assert "--nworkers 4" in plain and "--resources processor=1" in plain and "gres" not in plain
    assert 'export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"' in plain and "module load x" in plain
    assert "#SBATCH -p gpu" in device and "#SBATCH --gres=gpu:a100:1" in device and "#SBATCH --qos=long" in device
    assert "export BMX_DEVICE=cuda:0" in device and "--resources device=1" in device
    assert re.findall(r"--nthreads (\d+)", device)[-1] == "1" and "--nworkers" not in device


def test_ctrl_c_is_answered_as_before_when_dask_jobqueue_has_been_loaded():
    """It installs a handler of its own when it is imported, which ends the process as if all were well."""
    import subprocess
    import sys

    pytest.importorskip("dask_jobqueue", reason='pip install "bmx-grid[slurm]"')
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT); "
        "from bmx_grid.sweep.executors.slurm import _job_class; _job_class(); "
        "print(signal.getsignal(signal.SIGINT) is before, signal.signal.__module__)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "True signal\n"
    assert signal.getsignal(signal.SIGINT) is not None


SAID = {
    "of dask-jobqueue": (
        "Command exited with non-zero exit code.\nCommand:\nsbatch x\nstdout:\n\nstderr:\nsbatch: error: Batch job "
        "submission failed: Invalid account or account/partition combination specified\n\n",
        "Invalid account or account/partition combination specified",
    ),
    "of sbatch": ("allocation failure: Invalid partition name specified\n", "Invalid partition name specified"),
    "a hint at the end": ("sbatch: unrecognized option '--x'\nTry \"sbatch --help\"", "unrecognized option '--x'"),
    "nothing": ("", "it gave no reason"),
}


@pytest.mark.parametrize(("text", "said"), SAID.values(), ids=SAID.keys())
def test_what_slurm_says_is_repeated_without_its_commands(text, said):
    assert slurm._said(text).endswith(said)


class Submissions:
    """A cluster of dask-jobqueue, as far as `_Queue` looks at it: jobs are numbered as they are submitted."""

    def __init__(self, names: list[str]) -> None:
        self.worker_spec = dict.fromkeys(names)
        self.workers: dict[str, Slurm] = {}
        self.n_submitted = 0

    def _correct_state(self) -> None:
        for name in set(self.worker_spec) - set(self.workers):
            self.n_submitted += 1
            self.workers[name] = type("Job", (), {"job_id": str(self.n_submitted)})()

    def sync(self, work):
        return work()


@pytest.fixture
def queue(monkeypatch, tmp_path):
    """Queue, cluster, and what SLURM lists: by number, state and reason; None for no answer."""
    monkeypatch.setattr(slurm, "ASK_SECONDS", 0.0)
    listed: dict = {"now": {}}
    monkeypatch.setattr(slurm, "_listed", lambda name: listed["now"])
    cluster = Submissions(["job-1", "job-2"])
    found = slurm._Queue(cluster, "bmx_grid-1", str(tmp_path))
    found.submit()
    return found, cluster, listed


RUNNING = ("RUNNING", "None")


def test_a_job_that_ended_is_submitted_again_and_one_that_waits_is_not(queue):
    found, cluster, listed = queue
    listed["now"] = {"1": RUNNING, "2": ("PENDING", "Resources")}
    found.look({"tcp://a": {}}, 0)
    assert cluster.n_submitted == 2
    listed["now"] = {"1": RUNNING}
    found.look({"tcp://a": {}}, 1)
    assert (cluster.n_submitted, {job.job_id for job in cluster.workers.values()}) == (3, {"1", "3"})


def test_a_slurm_that_does_not_answer_is_asked_again(queue):
    found, cluster, listed = queue
    listed["now"] = None
    found.look({}, 0)
    assert cluster.n_submitted == 2


def test_jobs_that_end_with_nothing_done_are_given_up_and_progress_starts_anew(queue, tmp_path):
    found, cluster, _ = queue
    for n_done in (1, 2, 3, 4, 5):  # each time something was done in between
        found.look({}, n_done)
    assert cluster.n_submitted == 12
    for _ in range(2):
        found.look({}, 5)
    with pytest.raises(UnavailableError, match=r"again 3 times, and ended before .*log_dir"):
        found.look({}, 5)


def test_what_is_waited_for_is_said_once(queue):
    found, _, listed = queue
    listed["now"] = {"1": ("PENDING", "Resources"), "2": ("PENDING", "Priority")}
    with pytest.warns(UserWarning, match=r"no job is running: 1 job pending, Resources; 1 job pending, Priority"):
        found.look({}, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.look({}, 0)


class Scheduler:
    """A client of Dask, as far as `Cluster` looks at it."""

    address = "tcp://here"
    identity = None

    def __init__(self) -> None:
        self.scheduler = self
        self.found: dict[str, dict] = {}

    def sync(self, _):
        return {"workers": self.found}


def test_work_that_needs_a_device_waits_for_the_job_that_will_have_one():
    client = Scheduler()
    client.found = {"tcp://a": {"resources": {"processor": 1}, "nthreads": 1}}
    cluster = Cluster(client, 0.0, lambda has: UnavailableError(f"device {has}"), kinds=(False, True))
    plain, device = cluster.lanes
    assert (plain.n_workers, device.n_workers, device.expected) == (1, 0, True)
    cluster.look()  # nothing waits for a device: its absence is no matter
    device.held = 1
    with pytest.raises(UnavailableError, match="device True"):
        cluster.look()


def test_a_lane_that_is_expected_holds_its_jobs():
    """Jobs for a GPU wait until SLURM has started its job, and the others go on meanwhile."""
    order = []
    with ThreadPoolExecutor(1) as pool:
        lanes = [Lane(pool.submit, 1), Lane(pool.submit, 0, has_device=True, expected=True)]

        def arrive():
            assert lanes[1].held == 2
            lanes[1].n_workers = 1

        some = [Job(partial(abs, -number), needs_device=number < 2) for number in range(4)]
        for result in results(lanes, some, look=arrive):
            order.append(result)
    assert sorted(order[:2]) == [2, 3] and sorted(order[2:]) == [0, 1]
