"""A sweep's configuration: Hydra composes the chosen options, then each KEY=VALUE is set; unknown names are refused."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.core.configure import CONFIGS, field_types, folder_path, groups, load_option, options
from bmx_grid.core.errors import ConfigError, StoreError, unknown
from bmx_grid.core.masking import masked_address, masked_argument
from bmx_grid.core.user_yaml import check_references, read_yaml

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

SEVERAL = ("dataset", "metric", "explainer", "boost", "evaluation")  # groups of which several options can be chosen
PLUS = "+"  # Hydra's sign for what is added; here a key is set with or without it


def composed(lines: Sequence[str], folder: str | Path | None = None) -> dict[str, Any]:
    """The configuration of a sweep as these overrides compose it, checked, with values in place of ${…}.

    folder: options of the user's own, as --config-dir names them. Hydra's state is as before. Raises ConfigError.
    """
    place = None if folder is None else options_folder(str(folder))
    overrides = [parse(line) for line in lines]
    for override in overrides:
        _check_override(override, place)
    choices = {override.key_or_group: override for override in overrides if override.key_or_group in groups()}
    config = _of_options(choices, place)
    for override in overrides:
        if override.key_or_group not in groups():
            _apply(config, override, place)
    _check(config, place)
    return _resolved(config)


def options_folder(name: str) -> Path:
    """The folder of the user's own options. Raises ConfigError if there is none, or if an option would be ignored."""
    folder = folder_path(name, "--config-dir")
    if not folder.is_dir():
        raise ConfigError(f"--config-dir {name}: there is no such folder (looked at {folder.absolute()}); name yours.")
    for group in groups():
        for option in sorted(set(options(group)) & set(options(group, folder))):
            raise ConfigError(
                f"{folder / group / option}.yaml: an option {group}={option} comes with bmx_grid and would be used "
                "instead; give yours another name."
            )
    return folder.absolute()


def option_names(group: str, folder: Path | None) -> list[str]:
    """The options of a group, those in the user's folder among them."""
    return sorted({*options(group), *(options(group, folder) if folder is not None else ())})


@contextmanager
def naming_files(lines: Sequence[str], folder: Path | None) -> Iterator[None]:
    """Mistakes of this block that begin with a key, begin with the user's file that sets it; lines: overrides."""
    try:
        yield
    except (ConfigError, StoreError) as error:
        key = re.split(r"[: ]", str(error))[0].split(".")
        named = {*re.findall(r"[\w-]+", " ".join(lines)), *key[1:2]}  # options, and the one that the key belongs to
        for group, name, file in _user_files(folder) if not _sets(lines, key) else ():
            path = key if group != "sweep" else [group, *key]
            if name in named and _holds({group: _option(group, name, file)}, path):
                raise type(error)(f"{file}: {error}") from error
        raise


def _sets(lines: Sequence[str], key: Sequence[str]) -> bool:
    return any(line.lstrip("+~").partition("=")[0] == ".".join(key) for line in lines)


def _holds(node: Any, key: Sequence[str]) -> bool:
    return not key or (isinstance(node, Mapping) and key[0] in node and _holds(node[key[0]], key[1:]))


def _user_files(folder: Path | None) -> Iterator[tuple[str, str, Path]]:
    """The group, the name and the file of each of the user's own options."""
    for file in sorted(folder.glob("*/*.yaml")) if folder is not None else ():
        if file.parent.name in groups():
            yield file.parent.name, file.stem, file


def _option(group: str, name: str, file: Path) -> dict[str, Any]:
    """The keys of a user's option, which may neither configure Hydra nor read the environment. Raises ConfigError."""
    keys = read_yaml(file)
    defaults = keys.get("defaults", [])
    if not isinstance(defaults, list):
        raise ConfigError(f"{file}: defaults must be a list, as '- override /metric: [chrf]'; write it so.")
    if "hydra" in keys or any("hydra" in str(entry) for entry in defaults):
        raise ConfigError(
            f"{file}: hydra: files of options cannot configure Hydra, which could run code; leave it out."
        )
    check_references(keys, str(file))
    if group in SEVERAL and (not keys or not {*keys} <= {name, "defaults"}):
        raise ConfigError(f"{file}: an option's settings belong below its file's name, '{name}:'; write them there.")
    return keys


def parse(line: str) -> Override:
    """An override as Hydra understands it. Raises ConfigError."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Sweep
    from hydra.errors import HydraException

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
    """An argument as messages show it: without passwords, and shortened."""
    text = masked_argument(line)
    return repr(text if len(text) <= 100 else f"{text[:97]}…")


def _check_override(override: Override, folder: Path | None) -> None:
    """Refuse options and keys that do not exist, with the closest name. Raises ConfigError."""
    key, value, line = override.key_or_group, override.value(), shown(override.input_line or "")
    known = {*_top_keys(), *groups()}
    root = re.split(r"[./]", key)[0]
    if root == "hydra":
        raise ConfigError(
            f"{line}: Hydra itself is not configured here, because it could run code; leave it out (options of your "
            "own: --config-dir DIR)."
        )
    if override.is_sweep_override():
        text = masked_argument((override.input_line or "").partition("=")[2])
        raise ConfigError(
            f"{line}: several values; write {key}=[{text}] for a list, {key}='\"{text}\"' for a text with commas, "
            "or add --multirun to run one sweep per value."
        )
    check_references(value, line)
    if override.package is not None:
        raise ConfigError(f"{line}: options have one place; leave out @{override.package}.")
    if root not in known:
        raise ConfigError(f"{line}: {unknown('key', root, known)}")
    if key not in groups():
        return
    if override.is_delete() or isinstance(value, Mapping):
        form = "[NAME,…]" if key in SEVERAL else "NAME"
        raise ConfigError(
            f"{line}: options of {key} are chosen by name, not deleted or set as a whole; write {key}={form}."
        )
    for name in value if isinstance(value, list) else [value]:
        if name not in option_names(key, folder):
            raise ConfigError(unknown(key, "null" if name is None else name, option_names(key, folder)))


def _of_options(choices: Mapping[str, Override], folder: Path | None) -> dict[str, Any]:
    """What Hydra composes of the chosen options, as plain values with ${…} as it is written. Raises ConfigError."""
    from hydra import compose
    from hydra.errors import MissingConfigException
    from omegaconf import OmegaConf

    lines = [
        f"{PLUS if group == 'sweep' else ''}{(override.input_line or '').lstrip(PLUS)}"
        for group, override in choices.items()
    ]
    try:
        with _hydra(folder):
            config: Any = OmegaConf.to_container(compose("config", overrides=lines), resolve=False)
    except MissingConfigException as error:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        if folder is not None and name in options(group, folder):
            _option(group, name, folder / group / f"{name}.yaml")  # raises for what is wrong with it
        raise ConfigError(_of_sweep(choices, folder) + unknown(group, name, option_names(group, folder))) from error
    # Hydra and OmegaConf raise a dozen unrelated types here (AttributeError and TypeError among them) for what a
    # user wrote, and nothing but their own code runs: each is a mistake in the configuration, shown as one.
    except Exception as error:
        reason = f"the options cannot be composed: {_reason(error)}; correct them, or leave them out."
        raise ConfigError(_of_sweep(choices, folder) + reason) from error
    for group in choices.keys() & set(SEVERAL):  # a sweep's settings for options that the command line replaced
        chosen: Any = choices[group].value()
        for name, option in list((config.get(group) or {}).items()):
            if name in option_names(group, folder) and "_target_" not in option and name not in (chosen or ()):
                del config[group][name]
    return {str(key): value for key, value in config.items()}


@contextmanager
def _hydra(folder: Path | None) -> Iterator[None]:
    """Hydra composes from our options and those in the user's folder in this block; its state is then as before."""
    from hydra import initialize_config_dir
    from hydra.core.config_store import ConfigStore
    from hydra.core.global_hydra import GlobalHydra

    hydra = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            store = ConfigStore.instance()
            repo, store.repo = store.repo, copy.deepcopy(store.repo)
            try:
                for group, name, file in _user_files(folder):
                    with suppress(ConfigError):  # raised where this option is chosen
                        store.store(name, _option(group, name, file), group, "_global_" if group == "sweep" else None)
                yield
            finally:
                store.repo = repo
    finally:
        GlobalHydra.instance().hydra = hydra  # another instance by now


def _of_sweep(choices: Mapping[str, Override], folder: Path | None) -> str:
    """The beginning of a message on what a user's sweep chooses: its file."""
    files = {name: file for group, name, file in _user_files(folder) if group == "sweep"}
    name = choices["sweep"].value() if "sweep" in choices else None
    return f"{files[name]}: " if isinstance(name, str) and name in files else ""


def _apply(config: dict[str, Any], override: Override, folder: Path | None) -> None:
    """Set or delete the key of an override. Raises ConfigError for one that does not exist."""
    key, value = override.key_or_group, override.value()
    *parts, last = key.split(".")
    node: Any = config
    for depth, part in enumerate([*parts, last]):
        above = ".".join(parts[:depth])
        if not isinstance(node, dict):
            raise ConfigError(f"{key}: {above} is {node!r}, so there is no key '{part}' below it; write {above}=VALUE.")
        if part not in node:
            _check_new(node, above, part, override, folder)
        if depth < len(parts):
            node = node.setdefault(part, {})
    if override.is_delete():
        if len(parts) == 0 or parts == ["grid"]:
            raise ConfigError(f"{key}: the key is missing if it is deleted; write {key}=VALUE.")
        del node[last]
    elif isinstance(value, dict) and isinstance(node.get(last), dict):
        node[last] = _merged(node[last], value)
    else:
        node[last] = value


def _check_new(node: Mapping[str, Any], above: str, part: str, override: Override, folder: Path | None) -> None:
    """Refuse a key that is not below `above` yet, unless it belongs there or is added. Raises ConfigError."""
    if above in SEVERAL and part in option_names(above, folder):
        raise ConfigError(_not_chosen(above, part))
    fields = field_types(node, above) if "_target_" in node else {}
    if override.is_delete() or not (part in fields or override.is_add() or override.is_force_add()):
        raise ConfigError(f"{above}: {unknown('key', part, {*node, *fields} - {'_target_'})}")


def _not_chosen(group: str, name: str) -> str:
    return f"{group}.{name}: {name} is not chosen, so it has no keys yet; choose it: {group}=[{name}]."


def _merged(node: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of both; where both have one, the second's, mappings key by key."""
    merged = dict(node)
    for key, value in values.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _top_keys() -> list[str]:
    """The keys at the top of a configuration that belong to no group."""
    text = (CONFIGS / "config.yaml").read_text(encoding="utf-8")
    return [key for key in re.findall(r"^(\w+):", text, re.MULTILINE) if key != "defaults"]


def _check(config: Mapping[str, Any], folder: Path | None) -> None:
    """Raise ConfigError, beginning with the key, for an unknown one; those of components are checked as they are built.

    config: plain values, ${…} as it is written.
    """
    _check_keys(config, {*_top_keys(), *groups()} - {"sweep"}, "")
    for group in SEVERAL:
        node = config.get(group)
        for name, option in node.items() if isinstance(node, Mapping) else ():
            if isinstance(option, Mapping) and "_target_" not in option and name in options(group):
                raise ConfigError(_not_chosen(group, name))
    grid = config.get("grid")
    if isinstance(grid, Mapping):
        _check_keys(grid, load_option("grid", "paper"), "grid.")
        explainers = {*option_names("explainer", folder), *(config.get("explainer") or {})}
        if isinstance(grid.get("fixed"), Mapping):
            _check_keys(grid["fixed"], explainers, "grid.fixed.", "explainer")


def _check_keys(node: Mapping[str, Any], known: Any, above: str, kind: str = "key") -> None:
    for key in node:
        if key not in known:
            raise ConfigError(f"{above}{key}: {unknown(kind, str(key), known)}")


def _resolved(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with values in place of ${…}. Raises ConfigError."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        plain: Any = OmegaConf.to_container(OmegaConf.create(dict(config)), resolve=True)
    except RecursionError as error:
        raise ConfigError("keys refer to each other in a circle (${...}); write a value in place of one.") from error
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or "the configuration"
        raise ConfigError(f"{key}: it cannot be resolved: {_reason(error)}; write a value in its place.") from error
    return {str(key): value for key, value in plain.items()}


def _reason(error: BaseException) -> str:
    """The first line of what Hydra or OmegaConf says."""
    if isinstance(error, RecursionError):
        return "files name each other in their defaults lists in a circle, or are nested too deeply"
    text = str(error.__cause__ or error)
    return masked_address(text.split("\n")[0][:300].strip().rstrip(".")) or type(error).__name__
