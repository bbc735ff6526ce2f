"""Overrides (KEY=VALUE, GROUP=NAME): read as Hydra reads them, and refused with our messages if they name nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, Sweep, ValueType
from hydra.errors import OverrideParseException
from hydra.types import RunMode
from omegaconf import OmegaConf

from bmx_grid.commands.checks import chosen, defaults
from bmx_grid.configure import field_names, groups, options
from bmx_grid.errors import ConfigError, unknown
from bmx_grid.masking import masked_address


def parse(overrides: list[str]) -> list[Override]:
    """The overrides as Hydra understands them. Raises ConfigError for one that it does not."""
    parser = OverridesParser.create()
    parsed: list[Override] = []
    for line in overrides:
        try:
            parsed += parser.parse_overrides([line])
        except OverrideParseException as error:
            raise ConfigError(
                f"{shown(line)} cannot be read as KEY=VALUE{_reason(str(error), line)}; put a value with spaces, "
                "commas, brackets, quotes or letters beyond ASCII in quotes of its own: KEY='\"VALUE\"'."
            ) from error
        except RecursionError as error:
            raise ConfigError(f"{shown(line)} is nested too deeply to be a value.") from error
    for override in parsed:
        value = override.value()
        if any(isinstance(one, Sweep) for one in getattr(value, "list", ())):
            raise ConfigError(f"{shown(override.input_line)}: a range cannot be one of several values; list them all.")
    return parsed


def _reason(message: str, line: str) -> str:
    """What Hydra's parser could not read, from its message, in brackets."""
    first, *others = message.split("\nSee https")[0].split("\n")
    if first.startswith("Error parsing override") and others:
        return f" ({others[0].strip()})"
    if first.startswith("LexerNoViableAltException: "):
        at = len(others[-1]) - 1 - len("LexerNoViableAltException: ") if others else 0
        return f" (character {at + 1}: {line[at]!r})" if 0 <= at < len(line) else ""
    found = re.match(r"(?:no viable alternative at|mismatched|extraneous) input '(.*?)'", first)
    return "" if found is None or found.group(1) == "<EOF>" else f" (at {found.group(1)!r})"


def shown(line: str | None) -> str:
    """An argument as it is shown: without passwords, and shortened."""
    text = masked_address(line or "")
    return repr(text if len(text) <= 100 else f"{text[:97]}…")


def unknown_key(config: Any, key: str, options_of: Callable[[str], list[str]] = options) -> str:
    """The sentence about the first part of a dotted `key` that `config` (plain values) does not have.

    options_of: the options of a group, those of the user among them.
    """
    node, above = config, ""
    for part in re.split(r"[.\[]", key.replace("]", "")):
        if isinstance(node, Mapping):
            known = {str(name) for name in node} - {"hydra", "_target_"}
            if part not in node:
                if isinstance(chosen().get(above), list) and part in options_of(above):
                    return f"{key}: {part} is not chosen, so it has no keys yet; choose it: {above}=[{part}]."
                fields = field_names(node, above) if "_target_" in node else []
                if part in fields:
                    return f"{above}.{part} is not in the configuration yet; write +{key}=VALUE."
                if not above:
                    known |= {*defaults(), *groups()}
                return f"{above + ': ' if above else ''}{unknown('key', part, known | set(fields))}"
            node = node[part]
        elif isinstance(node, list):
            if not part.isdigit() or int(part) >= len(node):
                return f"{above} is a list of {len(node)}; there is no entry '{part}' (they are counted from 0)."
            node = node[int(part)]
        else:
            return f"{above} is the value {node!r}, so there is no key '{part}' below it."
        above = f"{above}.{part}" if above else part
    return f"{key} cannot be overridden as a whole; set the keys below it one by one."


def plain_list(node: Any) -> list[str]:
    """The texts of a list node as they are written, interpolations unresolved."""
    plain = OmegaConf.to_container(node, resolve=False)
    assert isinstance(plain, list)
    return [str(one) for one in plain]


def refuse_several_values(parsed: list[Override], run_mode: RunMode) -> None:
    """Refuse KEY=1,2 outside a multirun, and for Hydra's own keys anywhere. Raises ConfigError."""
    for override in parsed:
        if not override.is_sweep_override() or (run_mode == RunMode.MULTIRUN and not override.is_hydra_override()):
            continue
        key, given = override.get_key_element(), shown(override.input_line)
        value = masked_address((override.input_line or "").partition("=")[2])
        if override.is_hydra_override():
            raise ConfigError(f"{given}: several values; those of Hydra's own keys cannot vary, give one.")
        if override.value_type == ValueType.SIMPLE_CHOICE_SWEEP:
            raise ConfigError(
                f"{given}: several values; write {key}=[{value}] for a list, {key}='\"{value}\"' for a text with "
                "commas, or add --multirun to run one sweep per value."
            )
        raise ConfigError(f"{given}: several values; add --multirun to run one sweep per value.")


def is_choice(override: Override) -> bool:
    """Whether an override chooses options of a group, rather than sets a key."""
    key = override.key_or_group
    return key in groups() or "/" in key


def check_choice(override: Override, repository: CachingConfigRepository) -> None:
    """Refuse options and keys that do not exist, with the closest name. Raises ConfigError."""
    key, given = override.key_or_group, shown(override.input_line)
    root = re.split(r"[./\[]", key)[0]
    if key == "hydra":
        raise ConfigError(f"{given}: set Hydra's keys one by one, as hydra.launcher.n_jobs=2.")
    if is_choice(override) and repository.group_exists(key):
        if key == "sweep" and override.type == OverrideType.CHANGE:
            line = masked_address(override.input_line or "")
            raise ConfigError(f"write +{line}: a sweep is added to the configuration, it is not one of its keys.")
        if override.is_delete() and override.value() is not None:
            raise ConfigError(f"{given}: leave out what follows the name {key}.")
        if override.is_delete() or override.value_type == ValueType.GLOB_CHOICE_SWEEP:
            return
        if override.package is not None and root != "hydra":
            raise ConfigError(f"{given}: the options of {key} have one place; leave out @{override.package}.")
        known = repository.get_group_options(key)
        for name in names(override):
            if name not in known:
                hint = (
                    " For it, pip install hydra-joblib-launcher." if (key, name) == ("hydra/launcher", "joblib") else ""
                )
                raise ConfigError(unknown(key, "null" if name is None else str(name), known) + hint)
        if override.is_force_add() or (override.is_add() and key in chosen()):
            raise ConfigError(f"{given}: {key} is chosen already; leave out the + in front of it.")
    elif root != "hydra" and root not in {*defaults(), *groups()} and not repository.group_exists(key):
        raise ConfigError(f"{given}: {unknown('key', root, {*defaults(), *groups()})}")


def names(override: Override) -> list[Any]:
    """The options that an override of a group names, of all its values."""
    value: Any = override.value()
    if override.is_sweep_override():
        values = [Override._convert_value(one) for one in value.list] if hasattr(value, "list") else [value]
    else:
        values = [value]
    return [name for one in values for name in (one if isinstance(one, list) else [one])]
