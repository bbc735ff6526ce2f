"""executor=dask with a class of clusters: one of this machine, and the scripts that batch systems would get."""

import importlib.util
import re
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import jobs
import pytest
from clusters import begun, ended, tables

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.sweep.executors.base import Executor, Job
from bmx_grid.sweep.executors.dask import Cluster, Dask

pytest.importorskip("distributed", reason='pip install ".[dask]"')

LOCAL = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
KEYS = ("n_workers=2", "threads_per_worker=1", "dashboard_address=null")


@pytest.mark.processes
@pytest.mark.usefixtures("fakes_everywhere")
def test_a_sweep_on_a_cluster_of_this_machine_has_the_tables_of_one_process(forks, tmp_path, by_one_process):
    options = [f"executor.cluster_options.{key}" for key in KEYS]
    chosen = ["executor=dask", "executor.cluster=distributed.LocalCluster", "executor.timeout=60", *options]
    status, out, err = ended(begun(tmp_path, *chosen, seconds=0, forks=forks))
    assert status == 0, out + err
    assert tables(tmp_path) == by_one_process[0]


@pytest.mark.processes
def test_a_worker_that_is_lost_is_replaced(tmp_path):
    one = {**LOCAL, "n_workers": 1}  # nobody else could do the work
    executor = Dask(cluster="distributed.LocalCluster", cluster_options=one, timeout=60)
    some = [Job(partial(jobs.killed_once, tmp_path / "mark")), *(Job(partial(jobs.square, n)) for n in range(4))]
    assert sorted(map(str, executor.run(some))) == ["0", "1", "4", "9", "done"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "options", "lines"),
    [
        pytest.param(
            "dask_jobqueue.SLURMCluster",
            {"cores": 4, "processes": 4, "memory": "16GB", "queue": "cpu", "walltime": "04:00:00"},
            ["#SBATCH -p cpu", "#SBATCH --cpus-per-task=4", "#SBATCH -t 04:00:00", "--nworkers 4"],
            id="SLURM",
        ),
        pytest.param(
            "dask_jobqueue.PBSCluster",
            {"cores": 2, "memory": "4GB", "job_script_prologue": ["module load x"]},
            ["#PBS -l select=1:ncpus=2:mem=", "module load x"],
            id="PBS",
        ),
    ],
)
def test_a_batch_system_gets_what_its_class_writes(name, options, lines, monkeypatch):
    pytest.importorskip("dask_jobqueue", reason='pip install ".[slurm]"')
    from dask_jobqueue.core import JobQueueCluster

    asked = []
    monkeypatch.setattr(JobQueueCluster, "adapt", lambda cluster, **numbers: asked.append(numbers))
    monkeypatch.setattr(JobQueueCluster, "_correct_state", unsubmitted)
    with Dask(cluster=name, cluster_options={**options, "interface": "lo"}, jobs=3).own_cluster() as cluster:
        script = cluster.job_script()
    assert asked == [{"minimum_jobs": 3, "maximum_jobs": 3}]
    for line in [*lines, 'export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"']:
        assert line in script


async def unsubmitted(cluster: object) -> None:
    """Nothing is submitted."""


@pytest.mark.processes
def test_a_job_with_a_device_has_one_process_and_its_own_options(monkeypatch):
    pytest.importorskip("dask_jobqueue", reason='pip install ".[slurm]"')
    from dask_jobqueue.core import JobQueueCluster

    monkeypatch.setattr(JobQueueCluster, "adapt", lambda cluster, **numbers: None)
    monkeypatch.setattr(JobQueueCluster, "_correct_state", unsubmitted)
    chosen = {"cluster_options": {"cores": 4, "memory": "4GB", "interface": "lo", "queue": "cpu"}, "device_jobs": 1}
    executor = build({**load_option("executor", "slurm"), **chosen, "log_dir": None}, Executor, "executor")
    with executor.own_cluster(has_device=True) as cluster:
        script = cluster.job_script()
    for line in ("#SBATCH -p cpu", "#SBATCH --gres=gpu:1", "export BMX_DEVICE=cuda:0", "--resources device=1"):
        assert line in script
    assert re.findall(r"--nthreads (\d+)", script)[-1] == "1" and "--nworkers" not in script
    assert 'export OMP_NUM_THREADS="${OMP_NUM_THREADS:-4}"' in script


@pytest.mark.parametrize(
    ("option", "values", "extra"), [("slurm", {}, "slurm"), ("dask", {"address": "tcp://host:8786"}, "dask")]
)
def test_a_package_that_is_missing_is_named_with_the_way_out(monkeypatch, option, values, extra):
    executor = build({**load_option("executor", option), **values}, Executor, "executor")
    here = importlib.util.find_spec
    missing = {"slurm": "dask_jobqueue", "dask": "distributed"}[extra]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else here(name))
    with pytest.raises(UnavailableError, match=rf"{missing} is not installed: .* pip install '\.\[{extra}\]'"):
        executor.check()


@pytest.mark.processes
def test_a_machine_without_slurm_is_named_with_the_way_out(monkeypatch, tmp_path):
    pytest.importorskip("dask_jobqueue", reason='pip install ".[slurm]"')
    monkeypatch.setenv("PATH", str(tmp_path))
    executor = build({**load_option("executor", "slurm"), "log_dir": str(tmp_path)}, Executor, "executor")
    with pytest.raises(UnavailableError, match="command sbatch not found; run this on a machine that"):
        list(executor.run([Job(abs)]))


@pytest.mark.parametrize("where", [{"address": "tcp://127.0.0.1:9"}, {"cluster": "dask_jobqueue.SLURMCluster"}])
def test_a_cache_of_its_own_for_each_machine_is_refused(where):
    with pytest.raises(ConfigError, match=r"cache_dir=bmx_cache: workers on other .* cache_dir=/.*/bmx_cache\."):
        Dask(**where, cache_dir="bmx_cache").check()
    Dask(**where, cache_dir="/shared/cache").check()
    Dask(**where, cache_dir="s3://bucket/cache").check()


def client(workers: dict) -> SimpleNamespace:
    """A client of Dask, as far as workers are looked at."""
    scheduler = SimpleNamespace(identity=None)
    return SimpleNamespace(scheduler=scheduler, sync=lambda _: {"workers": workers}, submit=print)


def test_work_that_needs_a_device_waits_for_the_job_that_will_have_one():
    clients = {False: client({"tcp://a": {"resources": {}, "nthreads": 1}}), True: client({})}
    cluster = Cluster(clients, 0.0, "SLURM", "wait", expected=True)
    plain, device = cluster.lanes
    assert (plain.n_workers, device.n_workers, device.expected) == (1, 0, True)
    cluster.look()  # nothing waits for a device: its absence is no matter
    device.held = 1
    with pytest.raises(UnavailableError, match="SLURM has had no worker that holds a device for 0 seconds.*: wait"):
        cluster.look()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"cluster": "distributed.NoCluster"}, "has no attribute 'NoCluster'; name a class", id="no class"),
        pytest.param({"cluster": "nowhere.Cluster"}, "No module named 'nowhere'", id="no module"),
        pytest.param({"cluster": "Cluster"}, "executor.cluster=Cluster: .*; name a class", id="no full name"),
        pytest.param(
            {"cluster": "distributed.LocalCluster", "cluster_options": {"nonsense": 1}},
            "executor.cluster=distributed.LocalCluster: .*; correct executor.cluster_options",
            id="no argument",
        ),
        pytest.param({"cluster": "x.Y", "jobs": 0}, "are both 0; set executor.jobs=1", id="no job"),
        pytest.param({"cluster": "distributed.LocalCluster", "device_jobs": 1, "jobs": 0}, "has no jobs", id="devices"),
        pytest.param({}, r"needs the address .* or else a class of clusters", id="neither"),
        pytest.param({"address": "tcp://h:1", "cluster": "x.Y"}, r"or else a class of clusters", id="both"),
    ],
)
def test_what_cannot_be_a_cluster_is_refused_with_the_way_out(settings, message):
    with pytest.raises(ConfigError, match=message):
        list(Dask(**settings).run([Job(abs)]))


def test_a_cluster_whose_workers_stay_away_ends_the_run():
    nobody = {**LOCAL, "n_workers": 0}
    with pytest.raises(UnavailableError, match="has had no worker for 1 seconds.*set executor.timeout"):
        list(Dask(cluster="distributed.LocalCluster", cluster_options=nobody, timeout=1).run([Job(abs)]))


def test_ctrl_c_is_answered_as_before_when_dask_jobqueue_has_been_loaded():
    """It installs a handler of its own when it is imported, which ends the process as if all were well."""
    pytest.importorskip("dask_jobqueue", reason='pip install ".[slurm]"')
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT); "
        "from bmx_grid.sweep.executors.dask import cluster_class; cluster_class('dask_jobqueue.SLURMCluster'); "
        "print(signal.getsignal(signal.SIGINT) is before, signal.signal.__module__)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "True signal\n"
