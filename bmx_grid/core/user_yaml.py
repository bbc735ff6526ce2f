"""YAML that a user wrote: YAML 1.2's plain values, texts as keys, no anchors, aliases, tags or environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bmx_grid.core.errors import ConfigError

CORE = "tag:yaml.org,2002:"
# The core schema of YAML 1.2: no octal 010, no base 60 as in 1:30, no 1_000, no yes and no, no dates.
VALUES = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
KEY = re.compile(r"\$\{[^${}:]+\}")  # a reference to another key; with a colon it calls a resolver, such as oc.env


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _mistake("anchors (&NAME) and aliases (*NAME) are not read; write the value at each place", event)
        if getattr(event, "tag", None) is not None:
            raise _mistake(f"the tag {event.tag} is not read; leave it out", event)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _mistake(f"the key {key!r} is not a text; write it in quotes", key_node)
            if not key.isprintable() or key != key.strip() or not key:
                raise _mistake(f"the key {key!a} has invisible characters, or none; type it anew", key_node)
            if key in values:
                raise _mistake(f"the key '{key}' is there twice; keep one", key_node)
            values[key] = self.construct_object(value_node, deep=True)
        return values

    def whole_number(self, node: Any) -> int:
        text = node.value
        try:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        except ValueError as error:
            raise _mistake("a number of so many digits is not read; write a smaller one", node) from error


for name, pattern in VALUES.items():
    _Loader.add_implicit_resolver(f"{CORE}{name}", re.compile(f"(?:{pattern})$"), None)
_Loader.add_constructor(f"{CORE}int", _Loader.whole_number)


def _mistake(problem: str, where: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=where.start_mark)


def parse_yaml(text: str, where: str) -> Any:
    """The value of one YAML text; `where` names it in messages. Raises ConfigError."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise ConfigError(f"{where}{place}: this is not YAML: {error.problem or error.context}; correct it.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: this is not YAML: {' '.join(str(error).split())}; correct it.") from error
    except RecursionError as error:
        raise ConfigError(f"{where}: nested too deeply; write less in one value.") from error


def read_yaml(file: Path) -> dict[str, Any]:
    """The keys of a YAML file, none where it is empty. Raises ConfigError naming file, line and key."""
    try:
        raw = file.read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError(f"{file}, line {line}: this is not UTF-8 ({error.reason}); save it as UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}; check its name and permissions.") from error
    keys = parse_yaml(text, str(file))
    if keys is not None and not isinstance(keys, dict):
        raise ConfigError(f"{file}: expected keys with values, as 'KEY: VALUE' lines, got {str(keys)[:60]!r}.")
    return keys or {}


def check_references(value: Any, where: str) -> None:
    """Refuse ${…} that reads anything but keys of the configuration. Raises ConfigError."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            check_references(inner, f"{where}: {key}" if ":" not in where else f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for inner in value:
            check_references(inner, where)
    elif isinstance(value, str) and "${" in KEY.sub("", value):
        raise ConfigError(
            f"{where}: {value[:60]!r} may refer to keys, as ${{data_dir}}, and to nothing else, such as the "
            "environment; write the value."
        )
