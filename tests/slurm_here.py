"""A SLURM controller for tests: the one that is set up here, or one of this machine alone, started for them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fakes import ROOT

ASKED = "BMX_SLURM"  # set to 1: install SLURM by apt where it is missing, and start a controller
PATHS = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
# Arguments of dask_jobqueue.SLURMCluster.
KEYS = {
    **{"cores": 1, "memory": "1GB", "walltime": "00:10:00", "job_name": "bmx_grid-here"},
    "job_script_prologue": [f"export PYTHONPATH={PATHS}"],
}
PACKAGES = ("slurm-wlm", "munge")
CONFIGURATION = """
ClusterName=bmx
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={next_port}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
KillWait=5
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory} Gres=gpu:1
PartitionName=main Nodes={host} Default=YES State=UP
"""


def answers() -> bool:
    """Whether a controller answers."""
    with suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(["sinfo", "--noheader"], capture_output=True, timeout=20).returncode == 0
    return False


def why_not() -> str:
    """Why there is no SLURM here and none may be set up; "" where there is one, or one may be."""
    if answers() or (os.environ.get(ASKED) == "1" and os.geteuid() == 0):
        return ""
    return f"no SLURM controller answers here; {ASKED}=1 sets one up for the tests, as root"


@contextmanager
def controller(folder: Path) -> Iterator[dict[str, object]]:
    """Options of the cluster of executor=slurm for the controller here; one is started in `folder` if none answers."""
    if answers():
        yield KEYS
        return
    if shutil.which("slurmctld") is None or shutil.which("munged") is None:
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES], check=True)
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(_configured(folder))
    pids = [folder / "slurmd.pid", folder / "slurmctld.pid"]
    try:
        # It stays: controllers that other processes of the tests started need it, too.
        if subprocess.run(["munge", "-n"], capture_output=True).returncode != 0:
            Path("/run/munge").mkdir(exist_ok=True)
            shutil.chown("/run/munge", "munge", "munge")
            subprocess.run(["runuser", "-u", "munge", "--", "/usr/sbin/munged", "--force"], check=True)
        for daemon in ("slurmctld", "slurmd"):
            subprocess.run([daemon], check=True)
        end = time.monotonic() + 60
        while not _is_idle():
            assert time.monotonic() < end, (folder / "slurmctld.log").read_text()
            time.sleep(0.2)
        yield {**KEYS, "interface": "lo"}
    finally:
        for file in pids:
            with suppress(OSError, ValueError):
                os.kill(int(file.read_text()), signal.SIGTERM)
        if before is None:
            os.environ.pop("SLURM_CONF")
        else:
            os.environ["SLURM_CONF"] = before


def _configured(folder: Path) -> Path:
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    ports = []
    for _ in range(2):
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            ports.append(listening.getsockname()[1])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    text = CONFIGURATION.format(
        folder=folder,
        host=socket.gethostname(),
        port=ports[0],
        next_port=ports[1],
        cores=os.cpu_count(),
        memory=memory * 3 // 4,
    )
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")
    (folder / "slurm.conf").write_text(text)
    return folder / "slurm.conf"


def _is_idle() -> bool:
    shown = subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True)
    return shown.stdout.strip() == "idle"
