"""Files of a stranger, made from a seed: options and sweeps, output folders, caches and MLflow databases.

    for shown, work in inputs(seed=0, count=100, folder=tmp_path):
        work()          # the refusal, "" where the command did what it was told

A case is a folder with `work`, where the command runs, and `outside`,
where the user's own files are. Whatever the files
say, nothing outside is changed, no code of theirs runs, nobody is called, and a cache or a stamp changes no number.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml
from tools.fuzz.stranger_options import addresses, configured, odd_value, write_yaml
from tools.fuzz.watched import SMALL, Place, commanded, guarded, start_watch, swept


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """`count` of (what the stranger did, the work), the same for one seed."""
    start_watch()
    kinds: list[Callable[[random.Random, Place, Path], tuple[str, Callable[[], str]]]]
    kinds = [configured, configured, configured, _swept_into, _swept_into, _cached, _tracked]
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        place = Place(folder / f"case{number}")
        place.make()
        kind = rng.choice(kinds)
        shown, work = kind(rng, place, folder)
        yield f"{kind.__name__}: {shown}", lambda work=work, place=place: guarded(work, place)
        shutil.rmtree(place.root, ignore_errors=True)


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


# A few aliases that stand for 9 ** 12 values.
BOMB = "a0: &a0 [x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 13)
)


def _reconfigured(rng: random.Random, out: Path, place: Place) -> str:
    config = out / "config.yaml"
    node = yaml.safe_load(config.read_text())
    if rng.random() < 0.3:
        text = rng.choice(
            [
                f"a: !!python/object/apply:os.system ['touch {place.root / 'RAN'}']\n", "a: &a [*a]\n",
                "", "[]", "5", "{",
BOMB, "[" * 5000, "\xff", "a: [1",
            ]
        )  # fmt: skip
        config.write_text(text)
        return f"config.yaml is {text[:40]!r}"
    inner = node
    key = rng.choice(list(inner))
    while isinstance(inner[key], dict) and inner[key] and rng.random() < 0.8:
        inner = inner[key]
        key = rng.choice(list(inner))
    inner[key] = odd_value(rng, place)
    write_yaml(config, node)
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
                *addresses(place),
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
