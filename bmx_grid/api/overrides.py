"""Values of Python as overrides of the configuration: lists, numbers and texts as the command line would write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bmx_grid.api.given import plain
from bmx_grid.datasets.columns import quoted
from bmx_grid.errors import ConfigError, unknown


def override_value(value: Any) -> str:
    """A value as an override writes it. Raises ConfigError for one that no configuration can hold."""
    value = plain(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return quoted(str(value), "'")
    if isinstance(value, Sequence | set | frozenset):
        return "[" + ",".join(map(override_value, value)) + "]"
    raise ConfigError(f"{value!r:.60} is no value of a configuration; give text, numbers, true, false, None or lists.")


def place(config: dict[str, Any], key: str, value: Mapping[str, Any]) -> None:
    """Put a mapping, whose keys may be of any letters, where a configuration has one. Raises ConfigError."""
    *parents, last = key.split(".")
    node: Any = config
    for parent in parents:
        node = node.get(parent) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        raise ConfigError(f"{key}: " + unknown("key", last, node if isinstance(node, dict) else ()))
    node[last] = dict(value)
