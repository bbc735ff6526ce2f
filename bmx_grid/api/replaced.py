"""What a sweep's file sets for options that the user replaced by others: it is deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from fnmatch import fnmatchcase
from typing import Any

from bmx_grid.api.user_files import GROUPS_OF_SEVERAL, Folder, option_names

PATTERN = ("dataset", "language_pair", "metric", "explainer")  # the parts of a pattern of leave_out


def delete_settings_of_replaced(
    config: dict[str, Any], chosen: Mapping[str, Any], keys: Iterable[str], folder: Folder
) -> None:
    """Delete a sweep's settings for options that the command line replaced.

    chosen: key or group of each override -> its value. keys: all that the user has set, whose options stay.
    """
    options_of_keys = {".".join(key.split(".")[:2]) for key in keys}
    for group in chosen.keys() & set(GROUPS_OF_SEVERAL):
        nodes = config.get(group) or {}
        known = set(option_names(group, folder))
        for name in known.intersection(nodes).difference(chosen[group] or ()):
            # What has a target is an option that is chosen, not a setting for one.
            if "_target_" not in nodes[name] and f"{group}.{name}" not in options_of_keys:
                del nodes[name]


def delete_patterns_of_replaced(
    config: dict[str, Any], chosen: Mapping[str, Any], keys: Set[str], folder: Folder
) -> None:
    """Delete a sweep's patterns of `leave_out` that name options, or language pairs, that the user replaced.

    chosen, keys: as of `delete_settings_of_replaced`. The user's own patterns stay, whatever they match.
    """
    if any(key.split(".")[0] == "leave_out" for key in keys):
        return
    replaced: dict[str, list[str]] = {}
    for group in chosen.keys() & set(PATTERN):
        replaced[group] = [name for name in option_names(group, folder) if name not in (config.get(group) or {})]
    pairs = _pairs_of_user(config, keys)
    for pattern in [*(config.get("leave_out") or ())]:
        # A pattern of another form is refused later.
        parts = dict(zip(PATTERN, str(pattern).split("/"), strict=False))
        is_of_replaced = bool(pairs) and not _fits(parts.get("language_pair", "*"), pairs)
        for group, names in replaced.items():
            part = parts.get(group, "*")
            is_of_replaced |= _fits(part, names) and not _fits(part, config.get(group) or {})
        if is_of_replaced:
            config["leave_out"].remove(pattern)


def _fits(part: str, names: Iterable[str]) -> bool:
    """Whether a part of a pattern matches any of these names."""
    return any(fnmatchcase(name, part) for name in names)


def _pairs_of_user(config: Mapping[str, Any], keys: Set[str]) -> list[str]:
    """The language pairs of all data sets, if the user chose those of each; else none."""
    pairs: list[str] = []
    for name, node in (config.get("dataset") or {}).items():
        if f"dataset.{name}.language_pairs" not in keys:
            return []
        pairs += node.get("language_pairs") or ()
    return pairs
