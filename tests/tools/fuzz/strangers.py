"""Files of a stranger, made from a seed: options and sweeps, output folders, caches and MLflow databases.

    for shown, work in inputs(seed=0, count=100, folder=tmp_path):
        work()          # the refusal, "" where the command did what it was told

A case is a folder with `work`, where the command runs, and `outside`, where the user's own files are. Whatever the files
say, nothing outside is changed, no code of theirs runs, nobody is called, and a cache or a stamp changes no number.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pyarrow.parquet as pq
import yaml

from bmx_grid.core.configure import CONFIGS
from bmx_grid.core.terminal import command

SMALL = (
    *("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=4", "metric=[chrf]", "explainer=[erasure]"),
    *("evaluation=[grid]", "grid.p.step=10", "grid.w=[0,1]", "executor=sequential", "analysis=false"),
)
MINE = "words of my own\n"
HOSTILE = "from pathlib import Path\nPath({!r}).write_text('')\nclass Thing:\n    def __init__(self, **_): pass\n"
# Keys that say where texts go and what runs: whatever a file says there, it is refused.
OF_USERS = (
    *("executor.dask.address", "executor.dask.cache_dir", "executor.slurm.prologue", "executor.slurm.python"),
    *("executor.slurm.directives", "executor.slurm.queue", "executor.slurm.account", "executor.slurm.gpu_queue"),
    *("executor.slurm.gpu_type", "executor.slurm.interface", "tracking.mlflow.uri", "metric.judge.base_url"),
    *("metric.judge.key_variable", "metric.comet.model", "metric.transquest.model"),
)
# A folder of this machine may be named, an address may not.
FOLDERS = ("cache_dir", "output_dir", "data_dir", "executor.slurm.log_dir", "metric.judge.answers")
GROUPS = ("dataset", "metric", "explainer", "boost", "evaluation")  # whose parts are below the option's name


class Listener:
    """A server on this machine that nobody may call; `calls` counts who did."""

    def __init__(self) -> None:
        self.calls = 0
        outer = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                outer.calls += 1

        self.server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Watch:
    """What this process does that nobody may make it do: connections, and commands that name the stranger's mark."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.is_on = False
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            self.seen.append(f"connected to {arguments[1]}")
        elif event == "socket.getaddrinfo" and arguments[0] not in (None, "localhost", "127.0.0.1"):
            self.seen.append(f"asked for {arguments[0]}")
        elif event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn") and "RAN" in repr(arguments):
            self.seen.append(f"{event} {arguments!r:.200}")


_listener: list[Listener] = []
_watch: list[Watch] = []


@dataclass
class Place:
    """The folders of a case."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    def make(self) -> None:
        (self.outside / "home").mkdir(parents=True)
        self.work.mkdir()
        for name in ("mine.txt", "home/.bashrc", "home/.netrc", "config.yaml", "settings.parquet"):
            (self.outside / name).write_text(MINE)

    def state(self) -> dict[str, bytes]:
        """Every file outside, and its content."""
        return {
            str(path.relative_to(self.outside)): path.read_bytes()
            for path in sorted(self.outside.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """`count` of (what the stranger did, the work), the same for one seed."""
    if not _watch:
        _watch.append(Watch())
        _listener.append(Listener())
    kinds: list[Callable[[random.Random, Place, Path], tuple[str, Callable[[], str]]]]
    kinds = [_configured, _configured, _configured, _swept_into, _swept_into, _cached, _tracked]
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        place = Place(folder / f"case{number}")
        place.make()
        kind = rng.choice(kinds)
        shown, work = kind(rng, place, folder)
        yield f"{kind.__name__}: {shown}", lambda work=work, place=place: _guarded(work, place)
        shutil.rmtree(place.root, ignore_errors=True)


def _guarded(work: Callable[[], str], place: Place) -> str:
    """The refusal of the work. Raises AssertionError for whatever it did outside."""
    watch, listener = _watch[0], _listener[0]
    before, calls = place.state(), listener.calls
    environment, folder, path = dict(os.environ), Path.cwd(), list(sys.path)
    os.environ |= {"HOME": str(place.outside / "home"), "MLFLOW_TRACKING_TOKEN": "s3cret", "PYTHONPATH": ""}
    os.chdir(place.work)
    sys.path.insert(0, str(place.work))
    watch.seen.clear()
    watch.is_on = True
    try:
        said = work()
    finally:
        watch.is_on = False
        os.chdir(folder)
        sys.path[:] = path
        os.environ.clear()
        os.environ |= environment
        sys.modules.pop("hostile", None)
    after = place.state()
    changed = [name for name, raw in before.items() if after.get(name) != raw]
    # Libraries keep what they found out about this machine in the home folder.
    new = [name for name in after.keys() - before.keys() if not name.startswith(("home/", "theirs/"))]
    wrong = [f"changed outside: {changed}"] if changed else []
    wrong += [f"new outside: {new}"] if new else []
    wrong += watch.seen
    wrong += ["the listener was called"] if listener.calls > calls else []
    wrong += ["foreign code ran"] if (place.root / "RAN").exists() or (place.work / "RAN").exists() else []
    if wrong:
        raise AssertionError("; ".join(wrong) + f" ({said or 'accepted'})")
    return said


def commanded(work: Callable[[], int]) -> str:
    """The refusal of a command, "" where it did its work. Raises AssertionError for anything else."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command(work)
    said = err.buffer.getvalue().decode()
    printed = out.buffer.getvalue().decode()
    if "Traceback" in said + printed or status not in (0, 1, 2) or "\x1b" in said + printed:
        raise AssertionError(f"status {status}: {said[-1500:]}{printed[-500:]}")
    if status == 0:
        return ""
    refusal = said.partition("error: ")[2].removesuffix("\n")
    if status == 2:
        return refusal
    # Settings that failed are named with their reasons.
    lines = [line for line in (said + printed).splitlines() if "fail" in line.lower() or "error" in line.lower()]
    if not lines:
        raise AssertionError(f"status 1 without a reason: {said}{printed[-800:]}")
    return lines[0].strip() + " Check log.txt."


def swept(*overrides: str) -> str:
    from bmx_grid.commands.run import compose_and_run

    return commanded(lambda: compose_and_run(overrides))


def _addresses(place: Place) -> list[Any]:
    port = _listener[0].port
    return [
        f"http://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}", f"http://192.0.2.7:{port}/v1", "s3://stranger/x",
        "gs://stranger/x", f"mlflow-artifacts://127.0.0.1:{port}/x", f"postgresql://127.0.0.1:{port}/x",
        f"http://localhost:{port}", "HTTP://stranger.invalid", "//stranger.invalid/x", "hdfs://stranger.invalid/x",
        f"http+unix://{place.outside}", f"https://u:p@127.0.0.1:{port}/", "databricks", "memory://x",
        f"http://[::1]:{port}", f"http://0x7f000001:{port}", f"github://a:b@c/{port}",
    ]  # fmt: skip


def _odd(rng: random.Random, place: Place) -> Any:
    """A value that a stranger might write."""
    ran = place.root / "RAN"
    return rng.choice(
        [
            *rng.sample(_addresses(place), 6),
            f"touch {ran}", [f"touch {ran}"], f"$(touch {ran})", f"x\ntouch {ran}", f"/bin/sh -c 'touch {ran}'",
            "../outside/mine.txt", str(place.outside / "mine.txt"), f"sqlite:///{place.outside}/mine.txt", "~/.netrc",
            f"file://{place.outside}/mine.txt", "/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/environ",
            "${oc.env:MLFLOW_TRACKING_TOKEN}", "${oc.env:NOWHERE,http://stranger.invalid}", "${oc.decode:'1'}",
            "${oc.create:{_target_: os.system}}", "${hydra:runtime.cwd}", "${cache_dir}", "${metric}", "${nope}",
            {"_target_": "os.system", "command": f"touch {ran}"}, {"_target_": "hostile.Thing"},
            {"_target_": "builtins.eval", "_args_": [f"open({str(ran)!r}, 'w')"]},
            {"_target_": "bmx_grid.metrics.libraries.Comet", "model": str(place.outside / "mine.txt")},
            {"_target_": "bmx_grid.core.terminal.command"}, {"_partial_": True, "_target_": "os.system"},
            "\x1b[31mred", "a\0b", "x" * 5000, 10**30, -1, 0, float("nan"), None, True, [], {}, "", " ", [[]],
        ]
    )  # fmt: skip


def _keys() -> list[str]:
    """Every key of every option, as GROUP.OPTION.KEY, and those at the top."""
    keys = [key for key in yaml.safe_load((CONFIGS / "config.yaml").read_text()) if key != "defaults"]
    for file in sorted(CONFIGS.glob("*/*.yaml")):
        group = file.parent.name
        if group in ("sweep", "tasks", "prompt"):
            continue
        node = yaml.safe_load(file.read_text())
        inner = node.get(file.stem, node) if group in GROUPS else node
        keys += [f"{group}.{file.stem}.{key}" for key in inner if key != "defaults"]
    return keys


HYDRA = (
    *("hydra.searchpath", "hydra.run.dir", "hydra.sweep.dir", "hydra.job.env_set", "hydra.callbacks", "hydra.launcher"),
    *("hydra.sweeper", "hydra.job_logging", "hydra.job.chdir", "hydra.output_subdir", "hydra.runtime.output_dir"),
)


def _nested(parts: Sequence[str], value: Any) -> dict[str, Any]:
    for part in reversed(parts):
        value = {part: value}
    return value


def _configured(rng: random.Random, place: Place, folder: Path) -> tuple[str, Callable[[], str]]:
    """A sweep or an option of a stranger that sets one key."""
    pool = rng.choice([_keys(), OF_USERS, OF_USERS, FOLDERS, HYDRA])
    key = rng.choice(pool)
    value = _odd(rng, place)
    group, *rest = key.split(".")
    (place.work / "hostile.py").write_text(HOSTILE.format(str(place.root / "RAN")))
    chosen = {"dataset": "[sample]", "metric": "[chrf]", "explainer": "[erasure]", "evaluation": "[grid]"}
    chosen |= {"executor": "sequential", "tracking": "none"}
    is_option = len(rest) == 2 and group != "hydra"
    is_part = group in GROUPS
    as_option = is_option and rng.random() < 0.4
    if is_option:
        own = CONFIGS / group / f"{rest[0]}.yaml"
        name = "theirs" if as_option else rest[0]
        chosen[group] = f"[{name}]" if is_part else name
        if as_option:
            node = yaml.safe_load(own.read_text())
            inner = node[rest[0]] if is_part else node
            inner[rest[1]] = value
            _write(place.work / "mine" / group / "theirs.yaml", {"theirs": inner} if is_part else inner)
        changed = _nested([group, *(rest if is_part else rest[1:])], value)
    else:
        changed = _nested(key.split("."), value)
    content = {
        "defaults": [{f"override /{name}": yaml.safe_load(option)} for name, option in chosen.items()],
        "name": "theirs", "limit": 4, "analysis": False, "grid": {"p": {"step": 10}},
    }  # fmt: skip
    content = {**content, **({} if as_option else changed)}
    _write(place.work / "mine" / "sweep" / "theirs.yaml", content, "# @package _global_\n")
    dry = () if rng.random() < 0.4 else ("dry_run=true",)

    def work() -> str:
        said = swept("--config-dir", "mine", "+sweep=theirs", *dry)
        # A value that is none says nothing; our own are those of the package.
        says_something = value not in (None, [], "${cache_dir}") and value is not None
        if not said and key in OF_USERS and says_something:
            raise AssertionError(f"a file may not set {key}")
        if not said and key in FOLDERS and value in _addresses(place):
            raise AssertionError(f"a file may not name the address {value} as {key}")
        return said

    return f"{key}={value!r:.80}{' in an option' * as_option}{' dry' * bool(dry)}", work


def _write(path: Path, content: Any, first: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(first + yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _whole(folder: Path) -> Path:
    """A folder with a finished sweep (out), its cache and its MLflow database, made once."""
    whole = folder / "whole"
    if not whole.is_dir():
        home = Path.cwd()
        whole.mkdir()
        os.chdir(whole)
        try:
            chosen = (*SMALL, "evaluation=[grid,boosts]", "output_dir=out", "cache_dir=cache")
            said = swept(*chosen, "tracking=mlflow", "tracking.uri=sqlite:///tracked.db")
        finally:
            os.chdir(home)
        if said:
            raise AssertionError(f"the good sweep: {said}")
    return whole


PATHS = (
    "../../..",
    "/etc",
    "..",
    ".",
    "",
    "a/b",
    "x" * 400,
    "a\0b",
    "\x1b[2J",
    "..\\..",
    "~",
    "${HOME}",
    "previous/../..",
)


def _replaced(rng: random.Random, path: Path, place: Place) -> str:
    """Something else in place of a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = place.outside / "mine.txt"
    what = rng.choice(
        ["link", "link", "link to a folder", "pipe", "folder", "device", "dangling", "circle", "hard link"]
    )
    if what == "link":
        path.symlink_to(mine)
    elif what == "link to a folder":
        path.symlink_to(place.outside, target_is_directory=True)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        (path / "inside").mkdir(parents=True)
    elif what == "device":
        path.symlink_to(rng.choice(["/dev/zero", "/dev/stdin", "/dev/full"]))
    elif what == "dangling":
        path.symlink_to(place.outside / "new.txt")
    elif what == "circle":
        path.symlink_to(path.name)
    else:
        os.link(mine, path)
    return what


def _stamped(rng: random.Random, out: Path) -> str:
    stamp = json.loads((out / ".sweep.json").read_text())
    value: Any = rng.choice([*PATHS, 1, None, [], {}, "x" * 64, ["../outside/mine.txt"]])
    key = rng.choice(["fingerprint", "of", "configuration", "files", "claimed", "said", "n_failed", "name in files"])
    if key == "name in files":
        name = rng.choice([*PATHS, "../../outside/mine.txt", "../../outside/home/.bashrc", "tables"])
        stamp["files"][name] = rng.choice([[1, 1], [0, 0], [], None, "x", [10**30, -1]])
        value = name
    else:
        stamp[key] = value
    (out / ".sweep.json").write_text(json.dumps(stamp))
    return f"{key} of the stamp is {value!r:.60}"


def _reconfigured(rng: random.Random, out: Path, place: Place) -> str:
    config = out / "config.yaml"
    node = yaml.safe_load(config.read_text())
    if rng.random() < 0.3:
        text = rng.choice(
            [
                f"a: !!python/object/apply:os.system ['touch {place.root / 'RAN'}']\n", "a: &a [*a]\n", "", "[]", "5", "{",
                "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b]\n" * 1, "\xff",
            ]
        )  # fmt: skip
        config.write_text(text)
        return f"config.yaml is {text[:40]!r}"
    inner = node
    key = rng.choice(list(inner))
    while isinstance(inner[key], dict) and inner[key] and rng.random() < 0.8:
        inner = inner[key]
        key = rng.choice(list(inner))
    inner[key] = _odd(rng, place)
    _write(config, node)
    return f"{key} in config.yaml is {inner[key]!r:.60}"


def _swept_into(rng: random.Random, place: Place, folder: Path) -> tuple[str, Callable[[], str]]:
    """An output folder of a stranger, swept into again, analysed, opened."""
    whole = _whole(folder)
    out = place.work / "out"
    shutil.copytree(whole / "out", out)
    shutil.copytree(whole / "cache", place.work / "cache")
    shown = []
    for _ in range(rng.randint(1, 2)):
        how = rng.randrange(4)
        if how == 0 and (out / ".sweep.json").is_file() and not (out / ".sweep.json").is_symlink():
            shown.append(_stamped(rng, out))
        elif how == 1 and (out / "config.yaml").is_file() and not (out / "config.yaml").is_symlink():
            shown.append(_reconfigured(rng, out, place))
        else:
            names = [path for path in sorted(out.rglob("*")) if not path.is_symlink()]
            path = rng.choice([*names, out / "previous", out / "previous" / "older", out / "log.txt", out / "figures"])
            if any(parent.is_symlink() for parent in path.parents) or not path.parent.exists():
                path = out / "log.txt"
            shown.append(f"{path.relative_to(out)}: {_replaced(rng, path, place)}")
    action = rng.choice(["again", "again", "other", "other", "analyse", "open", "recipe"])
    return f"{action} after {', '.join(shown)}", lambda: _acted(action, out)


def _acted(action: str, out: Path) -> str:
    import bmx_grid as bmx

    if action in ("again", "other"):
        other = ("limit=3",) if action == "other" else ()
        chosen = (*SMALL, "evaluation=[grid,boosts]", *other, "output_dir=out", "cache_dir=cache", "tracking=none")
        return swept(*chosen)
    if action == "analyse":
        from bmx_grid.commands.analyse import main

        return commanded(lambda: main(["out", "format=json", "output_dir=analysed"]))
    if action == "recipe":
        from bmx_grid.commands.score import main as score

        for name in ("r.txt", "h.txt"):
            Path(name).write_text("a cat sat\n")
        files = sorted((out / "recipes").glob("*.json")) if (out / "recipes").is_dir() else []
        file = str(files[0]) if files else str(out / "recipes" / "x.json")
        return commanded(lambda: score(["--recipe", file, "--reference", "r.txt", "--hypothesis", "h.txt"]))
    try:
        run = bmx.Run(out)
        repr(run), run.summary
        for name in run.names:
            run.table(name)
        run.words(0)
    except bmx.BmxError as error:
        return str(error)
    return ""


def _cached(rng: random.Random, place: Place, folder: Path) -> tuple[str, Callable[[], str]]:
    """A cache of a stranger: whatever it holds, the numbers are those of a clean sweep."""
    whole = _whole(folder)
    cache = place.work / "cache"
    shutil.copytree(whole / "cache", cache)
    files = [path for path in sorted(cache.rglob("*")) if path.is_file()]
    file = rng.choice(files)
    how = rng.choice(["replaced", "replaced", "folder replaced", "cut", "flipped", "empty", "no rows", "no column"])
    if how == "replaced":
        how = _replaced(rng, file, place)
    elif how == "folder replaced":
        how = _replaced(rng, file.parent, place)
    elif how in ("cut", "flipped", "empty"):
        raw = bytearray(file.read_bytes())
        if how == "flipped":
            raw[rng.randrange(len(raw))] ^= 255
        file.write_bytes(b"" if how == "empty" else raw[: rng.randrange(len(raw))] if how == "cut" else raw)
    elif file.suffix == ".parquet":
        table = pq.read_table(file)
        table = table.slice(0, 0) if how == "no rows" else table.drop_columns([rng.choice(table.column_names)])
        pq.write_table(table, file)

    def work() -> str:
        said = swept(*SMALL, "evaluation=[grid,boosts]", "output_dir=new", "cache_dir=cache", "tracking=none")
        if not said:
            for name in ("settings", "grid", "boosts"):
                found = pq.read_table(f"new/tables/{name}.parquet")
                clean = pq.read_table(whole / "out" / "tables" / f"{name}.parquet")
                different = [one for one in clean.column_names if not _equal(clean[one], found[one])]
                if different:
                    raise AssertionError(f"other numbers in {name}: {different}")
        return said

    return f"{file.relative_to(cache)}: {how}", work


def _equal(left: Any, right: Any) -> bool:
    """Whether columns hold the same; NaN is NaN."""
    return repr(left.to_pylist()) == repr(right.to_pylist())


def _tracked(rng: random.Random, place: Place, folder: Path) -> tuple[str, Callable[[], str]]:
    """An MLflow database of a stranger."""
    whole = _whole(folder)
    database = place.work / "tracked.db"
    shutil.copy(whole / "tracked.db", database)
    shown = "replaced"
    if rng.random() < 0.15:
        shown = _replaced(rng, database, place)
    elif rng.random() < 0.3:
        raw = bytearray(database.read_bytes())
        at = rng.randrange(len(raw))
        raw[at : at + 50] = b"\xff" * 50
        database.write_bytes(raw if rng.random() < 0.7 else raw[:at])
        shown = f"bytes at {at} of {len(raw)}"
    else:
        value = rng.choice(
            [
                *_addresses(place),
                f"{place.outside}",
                f"file://{place.outside}",
                "../outside",
                "mlruns/../../outside",
                "",
                None,
            ]
        )
        column = rng.choice(["experiments.artifact_location", "runs.artifact_uri", "runs.status", "experiments.name",
                             "runs.lifecycle_stage", "runs.start_time", "alembic_version.version_num"])  # fmt: skip
        table, name = column.split(".")
        with contextlib.closing(sqlite3.connect(database)) as connection, contextlib.suppress(sqlite3.Error):
            connection.execute(f"update {table} set {name} = ?", (value,))
            connection.commit()
        shown = f"{column} is {value!r}"
    if rng.random() < 0.2:
        shown += f"; mlruns: {_replaced(rng, place.work / 'mlruns', place)}"
    chosen = (*SMALL, "limit=3", "output_dir=out", f"cache_dir={whole / 'cache'}")
    return shown, lambda: swept(*chosen, "tracking=mlflow", "tracking.uri=sqlite:///tracked.db")
