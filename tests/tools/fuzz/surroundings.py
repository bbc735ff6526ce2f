"""A small sweep in odd surroundings, made from a seed: variables, locales, terminals, limits, folders, two at once.

    for shown, work in inputs(seed=0, count=100, folder=tmp_path):
        work()          # the refusal, "" where the sweep was done

Whatever surrounds it, the sweep has the numbers that it has elsewhere, or ends with one sentence.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
from tools.fuzz.watched import SMALL

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 55
COMMAND = [sys.executable, "-m", "bmx_grid", "run", *SMALL, "tracking=none", "output_dir=out", "cache_dir=cache"]
UNSET = None
# Variables and the values that people's machines have, or that somebody mistyped.
VARIABLES: dict[str, list[str | None]] = {
    "BMX_DATA_DIR": ["", "/nowhere", "s3://x", "a\nb", "${x}", "~", "é", "/dev/null"],
    "BMX_CACHE_DIR": ["", "/dev/null", "http://x", "a b", "~/x", "${oc.env:HOME}", "/proc/1/x"],
    "BMX_ALLOWED_PACKAGES": ["", ",,", "os", "../x", "a b", "nowhere", "é", "bmx_grid"],
    "BMX_JUDGE_ALLOW": ["", "*", "http://", ",", "a b"],
    "BMX_DEVICE": ["", "nope", "cuda:9", "cpu"],
    "HOME": [UNSET, "", "/nowhere", "/dev/null", "/proc"],
    "USER": [UNSET, ""],
    "TMPDIR": ["", "/nowhere", "/dev/null"],
    "PATH": [UNSET, "", "/nowhere"],
    "LC_ALL": ["C", "POSIX", "tr_TR.UTF-8", "nope", "de_DE.ISO-8859-1", ""],
    "LANG": ["C", "nope", UNSET],
    "PYTHONIOENCODING": ["ascii", "cp1252", "utf-16", "ascii:strict", "latin-1"],
    "PYTHONUTF8": ["0", "1"],
    "PYTHONCOERCECLOCALE": ["0"],
    "PYTHONWARNINGS": ["error", "ignore", "always", "nonsense", "error::UserWarning"],
    "PYTHONOPTIMIZE": ["1", "2"],
    "PYTHONHASHSEED": ["0", "1", "random"],
    "PYTHONDEVMODE": ["1"],
    "PYTHONUNBUFFERED": ["1"],
    "PYTHONDONTWRITEBYTECODE": ["1"],
    "PYTHONSAFEPATH": ["1"],
    "PYTHONINTMAXSTRDIGITS": ["0", "640"],
    "COLUMNS": ["1", "0", "-5", "x", "100000", ""],
    "LINES": ["0", "x"],
    "TERM": ["dumb", "", UNSET, "nope"],
    "NO_COLOR": ["1", ""],
    "FORCE_COLOR": ["1", "3"],
    "OMP_NUM_THREADS": ["0", "-1", "x", "", "3", "1,2"],
    "MKL_NUM_THREADS": ["x", "3"],
    "LOKY_MAX_CPU_COUNT": ["1", "x", "0"],
    "JOBLIB_MULTIPROCESSING": ["0"],
    "MPLBACKEND": ["nope", "TkAgg", "", "module://nope"],
    "MPLCONFIGDIR": ["/nowhere", "/dev/null", ""],
    "HF_HOME": ["/dev/null", "", "/nowhere"],
    "HF_HUB_OFFLINE": ["0", "x", UNSET],
    "CUDA_VISIBLE_DEVICES": ["", "-1", "99", "x"],
    "MLFLOW_TRACKING_URI": ["http://127.0.0.1:9", "nope", ""],
    "HTTPS_PROXY": ["http://127.0.0.1:9", "nope"],
    "TZ": ["nope", "", "Asia/Kathmandu", ":/dev/null"],
    "SOURCE_DATE_EPOCH": ["0", "x", "-1", "9" * 30],
    "TQDM_DISABLE": ["1", "x"],
    "TQDM_MININTERVAL": ["x", "-1"],
    "PYARROW_IGNORE_TIMEZONE": ["1"],
    "ARROW_DEFAULT_MEMORY_POOL": ["nope", "system"],
    "OMP_STACKSIZE": ["x"],
    "HYDRA_FULL_ERROR": ["1", "x"],
    "SACREBLEU": ["/dev/null", ""],
    "TRANSFORMERS_VERBOSITY": ["nope"],
    "NUMEXPR_MAX_THREADS": ["x"],
}
# Lines of the shell that run the command "$@".
SHELL = {
    "a closed pipe": '"$@" | head -c 5',
    "standard output closed": 'exec "$@" >&-',
    "standard error closed": 'exec "$@" 2>&-',
    "standard input closed": 'exec "$@" <&-',
    "all three closed": 'exec "$@" <&- >&- 2>&-',
    "a full disk behind standard output": '"$@" >/dev/full',
    "a full disk behind standard error": '"$@" 2>/dev/full',
    "a folder that is gone": 'mkdir gone; cd gone; rmdir ../gone; exec "$@"',
    "a folder with odd signs": 'mkdir "a ${x} = é #%"; cd "a ${x} = é #%"; exec "$@"',
    "a folder whose name is no UTF-8": "d=$(printf 'a\\377b'); mkdir \"$d\"; cd \"$d\"; exec \"$@\"",
    "a nice process": 'exec nice -n 5 "$@"',
    "no core files": 'ulimit -c 0; exec "$@"',
    "an umask that forbids all": 'umask 777; exec "$@"',
    "signals ignored": "trap '' HUP INT TERM PIPE; exec \"$@\"",
    "a file in place of out": ': > out; exec "$@"',
    "a file in place of the cache": ': > cache; exec "$@"',
    "a folder in place of a table": 'mkdir -p out/tables/settings.parquet; exec "$@"',
    "a link that leads nowhere": 'ln -s /nowhere/at/all out; exec "$@"',
    "a link to a folder": 'mkdir real; ln -s real out; exec "$@"',
    "a circle": 'ln -s out out; exec "$@"',
    "a pipe in place of out": 'mkfifo out; exec "$@"',
    "a pipe in place of the log": 'mkdir out; mkfifo out/log.txt; exec "$@"',
    "a package of this name": 'mkdir bmx_grid_x configs; echo "limit: x" > configs/config.yaml; exec "$@"',
    "a pyproject and a setup.cfg": 'echo "[" > pyproject.toml; echo "[" > setup.cfg; exec "$@"',
    "a .env": 'echo "BMX_CACHE_DIR=/nowhere" > .env; exec "$@"',
    "two at once": '"$@" & "$@"; s=$?; wait $!; t=$?; [ $s -ge $t ] && exit $s; exit $t',
    "twice": '"$@" && "$@"',
    "twice, and the first is killed": 'timeout -s KILL 2 "$@"; "$@"',
}  # fmt: skip
LIMITS = {
    "16 open files": (resource.RLIMIT_NOFILE, 16),
    "40 open files": (resource.RLIMIT_NOFILE, 40),
    "files of 4 KiB": (resource.RLIMIT_FSIZE, 4096),
    "files of 0 bytes": (resource.RLIMIT_FSIZE, 0),
    "a stack of 1 MiB": (resource.RLIMIT_STACK, 2**20),
    "files of 40 KB": (resource.RLIMIT_FSIZE, 40_000),
}
# What Python itself says of these, before a line of ours runs, is no sentence of ours.
OF_PYTHON = ("PYTHONIOENCODING", "PYTHONHASHSEED", "TMPDIR", "PYTHONSAFEPATH")
# The program cannot say anything, or is told to say it nowhere.
SILENT = ("standard error closed", "all three closed", "a full disk behind standard error")
MAY_END = ("16 open files",)  # the interpreter needs as many to start


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """`count` of (what surrounds the sweep, the work), the same for one seed."""
    clean: dict[str, list[str]] = {}
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        variables: dict[str, str | None] = {}
        shell, limit = 'exec "$@"', ""
        names = []
        kind = rng.random()
        if kind < 0.6:
            for name in rng.sample(list(VARIABLES), rng.choice((1, 1, 2, 4))):
                variables[name] = rng.choice(VARIABLES[name])
            names = [f"{name}={value!r}" for name, value in variables.items()]
        elif kind < 0.9:
            name = rng.choice(list(SHELL))
            shell, names = SHELL[name], [name]
        else:
            limit = rng.choice(list(LIMITS))
            names = [limit]
        own = folder / str(number)
        own.mkdir()

        def work(own: Path = own, variables: dict[str, str | None] = variables, shell: str = shell, limit: str = limit,
                 names: list[str] = names) -> str:  # fmt: skip
            if not clean:
                first = folder / "clean"
                first.mkdir()
                said = _run(first, {}, 'exec "$@"', "", [])
                if said:
                    raise AssertionError(f"the good sweep: {said}")
                clean.update(_tables(first))
            said = _run(own, variables, shell, limit, names)
            if not said:
                found = _tables(own)
                # The cache may be elsewhere, but the tables are here.
                wrong = [name for name, rows in clean.items() if found.get(name) != rows]
                if wrong and names[0] not in ("a closed pipe",):
                    raise AssertionError(f"done, but other numbers, or none, in {wrong}")
            return said

        yield ", ".join(names), work
        shutil.rmtree(own, ignore_errors=True)


def _tables(folder: Path) -> dict[str, list[str]]:
    """The rows of two tables, wherever below the folder the sweep ran."""
    found = {}
    for name in ("settings", "grid"):
        for path in folder.rglob(f"out/tables/{name}.parquet"):
            table = pq.read_table(path)
            kept = [column for column in table.column_names if column != "fingerprint"]
            found[name] = [repr(row) for row in table.select(kept).to_pylist()]
    return found


def _run(folder: Path, variables: dict[str, str | None], shell: str, limit: str, names: list[str]) -> str:
    """The refusal of the sweep. Raises AssertionError for anything but its end or one sentence."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    for name, value in variables.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value

    def limited() -> None:
        if limit:
            kind, most = LIMITS[limit]
            resource.setrlimit(kind, (most, most))

    running = subprocess.Popen(
        ["/bin/bash", "-c", shell, "bash", *COMMAND], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=limited,
    )  # fmt: skip
    try:
        out, err = running.communicate(timeout=PATIENCE)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, 9)
            running.communicate()
    said = (err + out).decode(errors="replace")
    status = running.returncode
    if status == 0:
        if "Traceback" in said:
            raise AssertionError(f"done, with a traceback: {said[-1500:]}")
        return ""
    if limit in MAY_END or (any(name in variables for name in OF_PYTHON) and "bmx_grid" not in said):
        return f"status {status} of Python itself; correct it"
    sentences = [line for line in said.splitlines() if line.startswith("error: ")]
    if names and names[0] in SILENT and status in (1, 2):
        return "nothing can be said; open standard error"
    if "Traceback" in said or status not in (1, 2) or (status == 2 and not sentences):
        raise AssertionError(f"status {status}: {said[-1500:]}")
    if sentences:
        return sentences[-1].removeprefix("error: ")
    reasons = [line for line in said.splitlines() if "failed" in line or "cannot" in line]
    if not reasons:
        raise AssertionError(f"status {status} without a reason: {said[-800:]}")
    return f"{reasons[0]} Check log.txt."
