"""Overrides (KEY=VALUE, GROUP=NAME): read by Hydra's parser, and refused with the way out if they name nothing."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, OverrideType, Sweep, ValueType
from hydra.errors import HydraException

from bmx_grid.commands.checks import choices, several, top_keys
from bmx_grid.commands.option_files import check_references, names
from bmx_grid.configure import field_types, groups
from bmx_grid.errors import ConfigError, unknown
from bmx_grid.masking import masked_argument

MAX_JOBS = 10_000  # of a multirun, all of which are composed before the first one starts


def parse(line: str) -> Override:
    """An override as Hydra understands it. Raises ConfigError."""
    try:
        override: Override = OverridesParser.create().parse_override(line)
    except HydraException as error:
        raise ConfigError(
            f"{shown(line)} cannot be read as KEY=VALUE; put a value with spaces, commas, brackets, quotes or letters "
            "beyond ASCII in quotes of its own: KEY='\"VALUE\"'."
        ) from error
    except RecursionError as error:
        raise ConfigError(f"{shown(line)} is nested too deeply to be a value; give a shorter one.") from error
    if any(isinstance(value, Sweep) for value in getattr(override.value(), "list", ())):
        raise ConfigError(f"{shown(line)}: a range cannot be one of several values; list them all.")
    return override


def shown(line: str) -> str:
    """An argument as it is shown: without passwords, and shortened."""
    text = masked_argument(line)
    return repr(text if len(text) <= 100 else f"{text[:97]}…")


def is_choice(override: Override) -> bool:
    """Whether an override chooses options of a group, rather than sets a key."""
    return override.key_or_group in groups()


def chosen_names(override: Override) -> list[Any]:
    """The options that an override of a group names."""
    value = override.value()
    return value if isinstance(value, list) else [value]


def combinations(lines: Sequence[str], folder: Path | None) -> list[tuple[list[str], list[str]]]:
    """The overrides of each job of a multirun, and those of them that differ between jobs.

    Raises ConfigError for what has no list of values, and for too many jobs.
    """
    values = [_values(parse(line), folder) for line in lines]
    n_jobs = math.prod(map(len, values))
    if n_jobs > MAX_JOBS:
        varied = ", ".join(shown(line) for line, texts in zip(lines, values, strict=True) if len(texts) > 1)
        raise ConfigError(f"the values of {varied} make more than {MAX_JOBS:,} jobs; name fewer.")
    several = [parse(line).is_sweep_override() for line in lines]
    return [(list(job), list(itertools.compress(job, several))) for job in itertools.product(*values)]


def _values(override: Override, folder: Path | None) -> list[str]:
    """An override with one value for each of its values."""
    line = override.input_line or ""
    if not override.is_sweep_override():
        return [line]
    if override.is_interval_sweep():
        raise ConfigError(f"{shown(line)}: an interval has no list of values; name them, as KEY=1,2,3.")
    value = override.value()
    texts = (
        value.filter(names(override.key_or_group, folder))
        if isinstance(value, Glob)
        else override.sweep_string_iterator()
    )
    found = [f"{override.get_key_element()}={text}" for text in itertools.islice(texts, MAX_JOBS + 1)]
    if not found:
        raise ConfigError(f"{shown(line)}: no value is left to run; name at least one.")
    return found


def check_override(override: Override, folder: Path | None) -> None:
    """Refuse options and keys that do not exist, with the closest name. Raises ConfigError."""
    key, line = override.key_or_group, shown(override.input_line or "")
    root = re.split(r"[./\[]", key)[0]
    if root == "hydra":
        raise ConfigError(
            f"{line}: Hydra itself is not configured here, because it could run code; leave it out (options of your "
            "own: --config-dir DIR)."
        )
    if override.is_sweep_override():
        _refuse_several_values(override, line)
    check_references(override.value(), line)
    if override.package is not None:
        raise ConfigError(f"{line}: options have one place; leave out @{override.package}.")
    if root not in {*top_keys(), *groups()}:
        raise ConfigError(f"{line}: {unknown('key', root, {*top_keys(), *groups()})}")
    if key in groups():
        _check_choice(override, line, names(key, folder))


def _check_choice(override: Override, line: str, known: Sequence[str]) -> None:
    group, value = override.key_or_group, override.value()
    if override.is_delete():
        raise ConfigError(
            f"{line}: options of {group} are chosen, not deleted; write "
            f"{group}={'[NAME,…]' if group in several() else 'NAME'}."
        )
    if group == "sweep" and override.type == OverrideType.CHANGE:
        raise ConfigError(f"write +{masked_argument(override.input_line or '')}: a sweep is added, it is not a key.")
    if isinstance(value, Mapping):
        raise ConfigError(f"{line}: name options of {group}; set the keys below them one by one.")
    for name in chosen_names(override):
        if name not in known:
            raise ConfigError(unknown(group, "null" if name is None else name, known))
    if override.is_force_add() or (override.is_add() and group in choices()):
        raise ConfigError(f"{line}: {group} is chosen already; leave out the + in front of it.")


def _refuse_several_values(override: Override, line: str) -> None:
    key, value = override.get_key_element(), masked_argument((override.input_line or "").partition("=")[2])
    if override.value_type == ValueType.SIMPLE_CHOICE_SWEEP:
        raise ConfigError(
            f"{line}: several values; write {key}=[{value}] for a list, {key}='\"{value}\"' for a text with "
            "commas, or add --multirun to run one sweep per value."
        )
    raise ConfigError(f"{line}: several values; add --multirun to run one sweep per value.")


def misfit(override: Override, config: Mapping[str, Any], folder: Path | None, reason: str) -> str:
    """The sentence for an override that cannot be applied to a configuration of plain values.

    reason: what Hydra says, for what is not found here.
    """
    key, line = override.key_or_group, shown(override.input_line or "")
    missing = missing_part(config, key, folder)
    if missing and not (override.is_add() and missing.endswith("=VALUE.")):
        return missing
    if override.is_add():
        return f"{line}: {key} is in the configuration already; leave out the + in front of it."
    if override.is_delete() and override.value() is not None:
        return f"{line}: it has another value; leave out what follows the name."
    if isinstance(override.value(), list | dict):
        form = "keys below it; set them one by one" if isinstance(override.value(), list) else "a list; write [A,B]"
        return f"{line}: {key} holds {form}."
    return f"{line}: {reason}; correct it, or leave it out."


def missing_part(config: Mapping[str, Any], key: str, folder: Path | None) -> str:
    """The sentence about the first part of a dotted `key` that `config` does not have; "" where it has all of it."""
    node: Any = config
    above = ""
    for part in re.split(r"[.\[]", key.replace("]", "")):
        if isinstance(node, list):
            if not part.isdigit() or int(part) >= len(node):
                return f"{key}: {above} is a list of {len(node)} without an entry '{part}'; write {above}=[…] in whole."
            node = node[int(part)]
        elif isinstance(node, Mapping):
            if part not in node:
                return _unknown_part(node, above, part, key, folder)
            node = node[part]
        else:
            return f"{key}: {above} is the value {node!r}, so there is no key '{part}' below it; write {above}=VALUE."
        above = f"{above}.{part}" if above else part
    return ""


def _unknown_part(node: Mapping[str, Any], above: str, part: str, key: str, folder: Path | None) -> str:
    if above in several() and part in names(above, folder):
        return f"{key}: {part} is not chosen, so it has no keys yet; choose it: {above}=[{part}]."
    fields = field_types(node, above) if "_target_" in node else {}
    if part in fields:
        return f"{above}.{part} is not in the configuration yet; write +{key}=VALUE."
    return f"{above + ': ' if above else ''}{unknown('key', part, {*node, *fields} - {'_target_'})}"
