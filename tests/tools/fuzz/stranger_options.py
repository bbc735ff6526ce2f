"""Options and sweeps of a stranger that set one key, made from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from tools.fuzz.watched import Place, listening_port, swept

from bmx_grid.core.configure import CONFIGS

HOSTILE = "from pathlib import Path\nPath({!r}).write_text('')\nclass Thing:\n    def __init__(self, **_): pass\n"
# Keys that say where texts go and what runs: whatever a file says there, it is refused.
OF_USERS = (
    *("executor.dask.address", "executor.dask.cache_dir", "executor.dask.cluster", "executor.slurm.cluster_options"),
    *("executor.slurm.device_options", "tracking.mlflow.uri", "metric.judge.base_url"),
    *("metric.judge.key_variable", "metric.comet.model", "metric.transquest.model"),
)
# A folder of this machine may be named, an address may not.
FOLDERS = ("cache_dir", "output_dir", "data_dir", "executor.slurm.log_dir", "metric.judge.answers")
GROUPS = ("dataset", "metric", "explainer", "boost", "evaluation")  # whose parts are below the option's name


def addresses(place: Place) -> list[Any]:
    port = listening_port()
    return [
        f"http://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}", f"http://192.0.2.7:{port}/v1", "s3://stranger/x",
        "gs://stranger/x", f"mlflow-artifacts://127.0.0.1:{port}/x", f"postgresql://127.0.0.1:{port}/x",
        f"http://localhost:{port}", "HTTP://stranger.invalid", "//stranger.invalid/x", "hdfs://stranger.invalid/x",
        f"http+unix://{place.outside}", f"https://u:p@127.0.0.1:{port}/", "databricks", "memory://x",
        f"http://[::1]:{port}", f"http://0x7f000001:{port}", f"github://a:b@c/{port}",
    ]  # fmt: skip


def odd_value(rng: random.Random, place: Place) -> Any:
    """A value that a stranger might write."""
    ran = place.root / "RAN"
    return rng.choice(
        [
            *rng.sample(addresses(place), 6),
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


def configured(rng: random.Random, place: Place, folder: Path) -> tuple[str, Callable[[], str]]:
    """A sweep or an option of a stranger that sets one key."""
    pool = rng.choice([_keys(), OF_USERS, OF_USERS, FOLDERS, HYDRA])
    key = rng.choice(pool)
    value = odd_value(rng, place)
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
            write_yaml(place.work / "mine" / group / "theirs.yaml", {"theirs": inner} if is_part else inner)
        changed = _nested([group, *(rest if is_part else rest[1:])], value)
    else:
        changed = _nested(key.split("."), value)
    content = {
        "defaults": [{f"override /{name}": yaml.safe_load(option)} for name, option in chosen.items()],
        "name": "theirs", "limit": 4, "analysis": False, "grid": {"p": {"step": 10}},
    }  # fmt: skip
    content = {**content, **({} if as_option else changed)}
    write_yaml(place.work / "mine" / "sweep" / "theirs.yaml", content, "# @package _global_\n")
    dry = () if rng.random() < 0.4 else ("dry_run=true",)

    def work() -> str:
        said = swept("--config-dir", "mine", "+sweep=theirs", *dry)
        # A value that is none says nothing; our own are those of the package.
        says_something = value not in (None, [], "${cache_dir}") and value is not None
        if not said and key in OF_USERS and says_something:
            raise AssertionError(f"a file may not set {key}")
        if not said and key in FOLDERS and value in addresses(place):
            raise AssertionError(f"a file may not name the address {value} as {key}")
        return said

    return f"{key}={value!r:.80}{' in an option' * as_option}{' dry' * bool(dry)}", work


def write_yaml(path: Path, content: Any, first: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(first + yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
