"""JSON and YAML that others wrote, read within limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bmx_grid.core.storage import read_file
from bmx_grid.core.wording import first_line

MOST_LEVELS = 100  # of a YAML file
MOST_VALUES = 1_000_000


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises OSError, and ValueError for anything but JSON."""
    try:
        return json.loads(read_file(path).decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parse_yaml(text: str) -> Any:
    """What YAML holds. Raises ValueError for anything but YAML, and for more levels or values than a person writes.

    A few aliases (*NAME) make a value of any size, or one that holds itself.
    """
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(first_line(error)) from error
    n_values = 0
    nodes = [(value, 0)]
    while nodes:
        node, depth = nodes.pop()
        inner = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
        n_values += len(inner)
        if n_values > MOST_VALUES or depth > MOST_LEVELS:
            raise ValueError(f"it has more than {MOST_LEVELS} levels or {MOST_VALUES:,} values")
        for inner_node in inner:
            if isinstance(inner_node, dict | list):
                nodes.append((inner_node, depth + 1))
    return value
