"""What a composed configuration may hold: only known keys, and classes only in our own groups.

Hydra builds objects from its own node (callbacks, launcher, sweeper, logging) before the program runs, so that
`_target_` in a sweep file could run anything. Here that node is checked as it is written: interpolations are not
followed, but refused wherever they could name a class.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from bmx_grid.commands.own_yaml import parse_own
from bmx_grid.configure import CONFIGS, field_names, groups, options
from bmx_grid.errors import unknown

Path = tuple[str, ...]
LAUNCHERS = (
    "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
    "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher",
)
SWEEPERS = ("hydra._internal.core_plugins.basic_sweeper.BasicSweeper",)
HANDLERS = ("logging.StreamHandler", "logging.FileHandler", "logging.NullHandler")
STREAMS = ("ext://sys.stdout", "ext://sys.stderr")
OUTPUT = "${hydra.runtime.output_dir}/"  # how Hydra's own logging names its file: an absolute path, never a class
NO_CODE = "only the options of bmx_grid's own groups may name a class to build; leave it out"


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A key of the composed configuration that cannot stay. path: its keys from the root; reason: a sentence."""

    path: Path
    reason: str


@cache
def defaults() -> dict[str, Any]:
    """The top-level keys with their defaults, as configs/config.yaml writes them."""
    found = parse_own((CONFIGS / "config.yaml").read_text(encoding="utf-8"))
    return {str(key): value for key, value in found.items() if key not in ("defaults", "hydra")}


@cache
def chosen() -> dict[str, Any]:
    """The groups of the defaults list with the options they choose: a list where several can be chosen."""
    found = parse_own((CONFIGS / "config.yaml").read_text(encoding="utf-8"))["defaults"]
    pairs = {key: value for entry in found if isinstance(entry, dict) for key, value in entry.items()}
    return {key: value for key, value in pairs.items() if not key.startswith("override ")}


@cache
def grid_defaults() -> dict[str, tuple[str, str]]:
    """The keys below `grid`: each with its default as it is written in an argument, and what it is for."""
    import yaml

    text = (CONFIGS / "grid" / f"{chosen()['grid']}.yaml").read_text(encoding="utf-8")
    meanings = dict(re.findall(r"^(\w+):.*?\s# (.*)$", text, re.MULTILINE))
    return {
        str(key): (yaml.safe_dump(value, default_flow_style=True, width=1_000).split("\n")[0], meanings[str(key)])
        for key, value in parse_own(text).items()
    }


def refusals(config: Mapping[str, Any], explainers: list[str]) -> Iterator[Refusal]:
    """What cannot stay in a composed configuration, the most serious first.

    config: plain values, interpolations as they are written; explainers: the options of that group.
    """
    yield from hydra_refusals(config.get("hydra"))
    yield from _top_level(config)
    if isinstance(config.get("grid"), Mapping):
        from bmx_grid.evaluations.grid import GridKeys

        yield from _unknown_fields(config["grid"], GridKeys, ("grid",))
        for key, (default, meaning) in grid_defaults().items():
            if key not in config["grid"]:
                yield Refusal(
                    ("grid", key),
                    f"the key 'grid.{key}' is needed ({meaning}); leave out what deletes it, or write "
                    f"+grid.{key}={default}",
                )
    yield from _fixed(config, explainers)
    yield from _components(config)


def hydra_refusals(hydra: Any) -> Iterator[Refusal]:
    """What cannot stay in Hydra's own node, the most serious first."""
    if not isinstance(hydra, Mapping):
        yield Refusal(("hydra",), f"expected keys below it, got {hydra!r}")
        return
    yield from _code(hydra)
    from hydra.conf import HydraConf

    yield from _unknown_fields(hydra, HydraConf, ("hydra",))
    verbose = hydra.get("verbose")
    if not isinstance(verbose, bool | str) and not (
        isinstance(verbose, list) and all(isinstance(one, str) for one in verbose)
    ):
        yield Refusal(("hydra", "verbose"), f"expected true, false or names of loggers, got {verbose!r}")


def _top_level(config: Mapping[str, Any]) -> Iterator[Refusal]:
    known = {*defaults(), *groups()} - {"sweep"}
    for key in config:
        if key == "sweep":
            yield Refusal(
                (key,), "a sweep's file begins with the line '# @package _global_', which this one lacks; add it"
            )
        elif key not in known | {"hydra"}:
            yield Refusal((str(key),), unknown("key", str(key), known))
    for key, value in defaults().items():
        if key not in config:
            shown = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            yield Refusal((key,), f"the key '{key}' is missing; leave out what deletes it, or write +{key}={shown}")
    for group, option in chosen().items():
        if group not in config and not isinstance(option, list):  # a list may be empty: the sweep checks what it needs
            yield Refusal((group,), f"the group '{group}' is missing; leave out what deletes it (default: {option})")


def _fixed(config: Mapping[str, Any], explainers: list[str]) -> Iterator[Refusal]:
    grid = config.get("grid")
    fixed = grid.get("fixed") if isinstance(grid, Mapping) else None
    picked = config.get("explainer")
    known = {*explainers, *(picked if isinstance(picked, Mapping) else ())}
    for name in fixed if isinstance(fixed, Mapping) else ():
        if name not in known:
            yield Refusal(("grid", "fixed", str(name)), unknown("explainer", str(name), known))


def _components(config: Mapping[str, Any]) -> Iterator[Refusal]:
    """Keys that the class of an option does not have; what else is wrong with it is found when it is built."""
    for group in groups():
        node = config.get(group)
        if not isinstance(node, Mapping):
            continue
        nodes = {(group,): node} if "_target_" in node else {(group, str(key)): one for key, one in node.items()}
        for path, one in nodes.items():
            if path[1:] and isinstance(one, Mapping) and "_target_" not in one and path[-1] in options(group):
                yield Refusal(path, f"{path[-1]} is not chosen, so it has no keys yet; choose it: {group}=[{path[-1]}]")
            fields = field_names(one, ".".join(path)) if isinstance(one, Mapping) else []
            for key in one if fields else ():
                if key != "_target_" and key not in fields:
                    yield Refusal((*path, str(key)), unknown("key", str(key), fields))


def _code(hydra: Mapping[str, Any]) -> Iterator[Refusal]:
    """Everything in Hydra's node that would run code other than Hydra's own."""
    if hydra.get("callbacks"):
        yield Refusal(("hydra", "callbacks"), f"callbacks run code; {NO_CODE}")
    for key, allowed in (("launcher", LAUNCHERS), ("sweeper", SWEEPERS)):
        yield from _plugin(hydra.get(key), ("hydra", key), allowed)
    for key in ("job_logging", "hydra_logging"):
        yield from _logging(hydra.get(key), ("hydra", key))
    for key in ("env_set", "env_copy"):
        job = hydra.get("job")
        if isinstance(job, Mapping) and job.get(key):
            yield Refusal(
                ("hydra", "job", key),
                "environment variables can change which code runs; set them in the shell instead",
            )
    for path, value in _leaves(hydra, ("hydra",)):
        if path[-1] == "_target_" and path[:2] not in (("hydra", "launcher"), ("hydra", "sweeper")):
            yield Refusal(path, f"'{value}' is not built; {NO_CODE}")


def _plugin(node: Any, where: Path, allowed: tuple[str, ...]) -> Iterator[Refusal]:
    names = " and ".join(target.rpartition(".")[2] for target in allowed)
    if not isinstance(node, Mapping):
        yield Refusal(where, f"expected keys below it, got {node!r}; the {where[-1]}s that can be used: {names}")
        return
    for path, value in _leaves(node, where):
        if path == (*where, "_target_"):
            if value not in allowed:
                yield Refusal(path, f"'{value}' is not built; the {where[-1]}s that can be used: {names}")
        elif path[-1] == "_target_" or path[-1] in ("_args_", "_partial_", "_recursive_", "_convert_"):
            yield Refusal(path, f"'{value}' is not built; {NO_CODE}")
        elif isinstance(value, str) and "${" in value:
            yield Refusal(path, f"'{value}' could name a class; write the value itself")


def _logging(node: Any, where: Path) -> Iterator[Refusal]:
    if isinstance(node, str):
        yield Refusal(where, f"'{node}' could name a class; use {'/'.join(where)}=default, stdout or none")
        return
    for path, value in _leaves(node, where):
        if path[-1] == "class" and value in HANDLERS:
            continue
        if path[-1] in ("()", ".", "class", "factory", "_target_") or set(path) & {"()", "."}:
            yield Refusal(path, f"'{value}' is not built; use one of {', '.join(HANDLERS)}")
        elif isinstance(value, str) and (
            (value.startswith(("ext://", "cfg://")) and value not in STREAMS)
            or ("${" in value and not value.startswith(OUTPUT))
        ):
            yield Refusal(path, f"'{value}' could import a module; of streams only {' and '.join(STREAMS)} can be used")


def _leaves(node: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """(keys from the root, value) of every value below a node, and of every empty mapping or list."""
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from _leaves(value, (*path, str(key)))
    elif isinstance(node, list | tuple) and node:
        for index, value in enumerate(node):
            yield from _leaves(value, (*path, str(index)))
    else:
        yield path, node


def _unknown_fields(node: Mapping[str, Any], cls: type, where: Path) -> Iterator[Refusal]:
    hints = typing.get_type_hints(cls)
    for key, value in node.items():
        if key == "env" and where == ("hydra",):  # a group of Hydra's that its dataclass does not list
            continue
        if key not in hints:
            yield Refusal((*where, str(key)), unknown("key", str(key), hints))
        elif dataclasses.is_dataclass(hints[key]):
            if isinstance(value, Mapping):
                yield from _unknown_fields(value, typing.cast(type, hints[key]), (*where, str(key)))
            else:
                yield Refusal((*where, str(key)), f"expected keys below it, got {value!r}")
