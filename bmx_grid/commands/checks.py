"""What a composed configuration may hold: known keys at every depth, and all those that are needed."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from bmx_grid.configure import CONFIGS, field_types, groups, load_option, options
from bmx_grid.errors import ConfigError, unknown


@cache
def _root() -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load((CONFIGS / "config.yaml").read_text(encoding="utf-8"))
    return found


def top_keys() -> list[str]:
    """The keys at the top of a configuration that belong to no group."""
    return [key for key in _root() if key != "defaults"]


def choices() -> dict[str, Any]:
    """The groups that always have an option, with the one chosen by default: a list where several can be chosen."""
    pairs = {key: value for entry in _root()["defaults"] if isinstance(entry, dict) for key, value in entry.items()}
    return {group: pairs[group] for group in groups() if group in pairs}


def several() -> list[str]:
    """The groups of which several options can be chosen."""
    return [group for group, chosen in choices().items() if isinstance(chosen, list)]


def needed_keys() -> list[str]:
    """The keys that every configuration has, those of the grid with a dot."""
    single = [group for group in choices() if group not in several()]
    return [*top_keys(), *single, *(f"grid.{key}" for key in load_option("grid", choices()["grid"]))]


def check(config: Mapping[str, Any], explainers: Collection[str]) -> None:
    """Raise ConfigError, beginning with the key, for an unknown or a missing one.

    config: plain values, interpolations as they are written; explainers: the options of that group.
    """
    _check_top(config)
    for group in groups():
        node = config.get(group)
        if isinstance(node, Mapping) and "_target_" in node:
            _check_keys(node, field_types(node, group), group)
        elif isinstance(node, Mapping) and group in several():
            for name, option in node.items():
                _check_option(option, group, str(name))
    grid = config.get("grid")
    if isinstance(grid, Mapping):
        _check_grid(grid, {*explainers, *(config.get("explainer") or {})})


def _check_top(config: Mapping[str, Any]) -> None:
    known = {*top_keys(), *groups()} - {"sweep"}
    if "sweep" in config:
        raise ConfigError(
            "sweep: a sweep's file begins with the line '# @package _global_', which this one lacks; add it."
        )
    for key in config:
        if key not in known:
            raise ConfigError(f"{key}: {unknown('key', key, known)}")
    grid = config.get("grid")
    present = {*config, *(f"grid.{key}" for key in grid)} if isinstance(grid, Mapping) else {*config}
    for key in needed_keys():
        if key not in present:
            raise ConfigError(f"{key}: the key is missing; leave out what deletes it, or add +{key}=VALUE.")


def _check_option(option: Any, group: str, name: str) -> None:
    where = f"{group}.{name}"
    if not isinstance(option, Mapping):
        return  # refused where it is built
    if "_target_" not in option and name in options(group):
        raise ConfigError(f"{where}: {name} is not chosen, so it has no keys yet; choose it: {group}=[{name}].")
    _check_keys(option, field_types(option, where), where)


def _check_grid(grid: Mapping[str, Any], explainers: set[str]) -> None:
    from bmx_grid.evaluations.grid import GridKeys

    _check_keys(grid, typing.get_type_hints(GridKeys), "grid")
    for name in grid["fixed"] if isinstance(grid["fixed"], Mapping) else ():
        if name not in explainers:
            raise ConfigError(f"grid.fixed.{name}: {unknown('explainer', str(name), explainers)}")


def _check_keys(node: Mapping[str, Any], fields: Mapping[str, Any], where: str) -> None:
    """Keys that a class does not have, nor the classes of its fields; what else is wrong is found when it is built."""
    for key, value in node.items() if fields else ():
        if key != "_target_" and key not in fields:
            raise ConfigError(f"{where}.{key}: {unknown('key', str(key), fields)}")
        if isinstance(value, Mapping):
            inner = f"{where}.{key}"
            hint = fields[key]
            below = field_types(value, inner) if "_target_" in value else {}
            _check_keys(value, typing.get_type_hints(hint) if dataclasses.is_dataclass(hint) else below, inner)
