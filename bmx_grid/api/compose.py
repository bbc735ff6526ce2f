"""A sweep's configuration: Hydra composes the chosen options and each KEY=VALUE; unknown names are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.api.replaced import delete_patterns_of_replaced, delete_settings_of_replaced
from bmx_grid.api.user_files import (
    GROUPS_OF_SEVERAL,
    KEY_REFERENCE,
    POWERS,
    WHOLE_GROUPS,
    Folder,
    option_names,
    options_folder,
    user_files_of,
)
from bmx_grid.core.configure import CONFIGS, groups, load_option, options, way_to_option
from bmx_grid.core.errors import BmxError, ConfigError, StoreError, unknown
from bmx_grid.core.file_keys import check_keys_of_files
from bmx_grid.core.secrets import mask_address, mask_argument
from bmx_grid.core.wording import find_option, quote_for_hydra, quote_for_shell, shorten

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

# A value with = that has no signs of Hydra's own: the name of a file or folder.
PATH_WITH_EQUALS = re.compile(r"[\w./~+-][\w./~+ -]*=[\w./~+= -]*")
# Values that a shell passes on as they are.
PLAIN_LIST = re.compile(r"[\w.,:/+-]*")
TEXTS = ("name", "data_dir", "cache_dir", "output_dir")  # keys whose values are texts, whatever they look like
FIGURES, WHICH_FIGURES = "figures", "figures.which"
MOST_SUGGESTED = 4  # places of a key that is written without one
MISSING = "???"  # as OmegaConf writes a mandatory value
MISSING_VALUE = re.compile(r"[Mm]issing (?:mandatory )?value: ([\w.]+)")
# OmegaConf's message for a reference to a missing key.
ABSENT_KEY = re.compile(r"Interpolation key '(?P<key>(?P<group>\w+)\.(?P<name>[^.']+)[^']*)' not found")


def compose_config(
    lines: Sequence[str], folder: str | Path | None = None, values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The configuration of a sweep as these overrides compose it, checked, with values in place of ${…}.

    folder: options of the user's own, as --config-dir names them. values: further keys, set after the overrides.
    Hydra's state is as before. Raises ConfigError.
    """
    place = None if folder is None else options_folder(str(folder))
    further = {}
    for key, value in (values or {}).items():
        name = WHICH_FIGURES if key == FIGURES and isinstance(value, str) else _key_with_option_names(key, place)
        further[name] = value
    overrides = [parse_one(line) for line in lines]
    overrides = [parse_one(line) for line in hydra_lines(overrides, place)]
    return resolve_and_check(_compose_with_hydra(overrides, place, further), overrides, place, further)


def resolve_and_check(
    tree: dict[str, Any], overrides: Sequence[Override], folder: Folder, values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Check Hydra's composition of the overrides, with values in place of ${…} and without Hydra's own part.

    tree: plain values, ${…} as it is written. Raises ConfigError for unknown and missing keys, and for forbidden keys
    of a file.
    """
    further = dict(values or {})
    chosen = dict(_values(overrides))
    keys = {*chosen, *further}
    delete_settings_of_replaced(tree, chosen, keys, folder)
    delete_patterns_of_replaced(tree, chosen, keys, folder)
    _check(tree, folder)
    for key, value in _leaves(tree, "", lists=True):
        if value == MISSING:
            raise ConfigError(_missing(key))
    config = _resolve_references(tree)
    keys_of_user = set[str]()
    for key, value in [*_values(overrides), *further.items()]:
        # Mappings of the command line are merged into those of files.
        keys_of_user.update(leaf for leaf, _ in _leaves(value, key))
    check_keys_of_files(config, _add_copied_keys(keys_of_user, tree))
    return config


def hydra_lines(overrides: Sequence[Override], folder: Folder) -> list[str]:
    """The overrides as Hydra takes them: a plus or a quotation mark may be left out, and papers' names are read."""
    lines = list[str]()
    for override in overrides:
        lines.extend(_lines(parse(_replace_option_names(override, folder))))
    return lines


def _replace_option_names(override: Override, folder: Folder) -> str:
    """Replace the names that papers write by names of options, in an override's key and value."""
    line = override.input_line or ""
    key, sign, text = line.partition("=")
    line = f"{_key_with_option_names(key, folder)}{sign}{text}"
    group = key.lstrip("+")
    if not sign or group not in groups() or override.is_sweep_override():
        return line
    value = override.value()
    known = option_names(group, folder)
    if isinstance(value, list):
        names = [find_option(str(name), known) for name in value]
        return line if names == value else f"{key}=[{','.join(names)}]"
    name = find_option(str(value), known)
    return line if name == value or value is None else f"{key}={name}"


def _key_with_option_names(key: str, folder: Folder) -> str:
    """A key below an option, or below `grid.fixed`, with the name of the option in place of that of papers."""
    parts = key.split(".")
    group = parts[0].lstrip("+~")
    place = 1
    if parts[:2] == ["grid", "fixed"]:
        group = "explainer"
        place = 2
    if group in GROUPS_OF_SEVERAL and len(parts) > place:
        parts[place] = find_option(parts[place], option_names(group, folder))
    return ".".join(parts)


def _values(overrides: Sequence[Override]) -> list[tuple[str, Any]]:
    """The key, or the group, and the value of each override."""
    return [(override.key_or_group, override.value()) for override in overrides]


def _leaves(node: Any, key: str, *, lists: bool = False) -> Iterator[tuple[str, Any]]:
    """The keys and the plain values in a value; lists: of lists, too, else these are values."""
    if isinstance(node, Mapping) or (lists and isinstance(node, list)):
        items = node.items() if isinstance(node, Mapping) else enumerate(node)
        for name, inner in items:
            yield from _leaves(inner, f"{key}.{name}" if key else str(name), lists=lists)
    else:
        yield key, node


def _add_copied_keys(keys: set[str], tree: Mapping[str, Any]) -> set[str]:
    """Add the keys of parts copied by reference: ${metric.judge} has the user's settings of judge.

    tree: ${…} as it is written.
    """
    all_keys = set(keys)
    for place_of_copy, value in _leaves(tree, ""):
        if not isinstance(value, str) or not KEY_REFERENCE.fullmatch(value):
            continue
        reference = value.removeprefix("${").removesuffix("}")
        for key in keys:
            if key.startswith(f"{reference}."):
                all_keys.add(place_of_copy + key.removeprefix(reference))
    return all_keys


# A name with letters or brackets that Hydra reads between quotation marks only.
SHORT_TEXT = re.compile(r"[^\W\d_\[{][^\[\]{}$'\"\\=,]{0,60}")


def parse(line: str) -> Override:
    """An override as Hydra understands it. Raises ConfigError."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    # As in decimal=,: Hydra looks for values before and after a comma.
    if line.endswith("=,"):
        line = f"{line[:-1]}','"
    # As in path=lang=de/my.tsv: Hydra takes a second = only between quotation marks.
    key_of_path, _, path = line.partition("=")
    if PATH_WITH_EQUALS.fullmatch(path):
        line = f'{key_of_path}="{path}"'
    parser = OverridesParser.create()
    try:
        override: Override = parser.parse_override(line)
        # A folder may be named true, or 2024, which Hydra takes for a flag, or a number.
        if override.key_or_group in TEXTS and isinstance(override.value(), bool | int | float):
            key, _, text = line.partition("=")
            override = parser.parse_override(f"{key}='{text}'")
    except (HydraException, ValueError, RecursionError) as error:
        way_out = "quote a value with special characters: KEY='\"VALUE\"'"
        key, _, value = line.partition("=")
        if SHORT_TEXT.fullmatch(value):
            key, _, value = mask_argument(line).partition("=")
            way_out = f"write {quote_for_shell(f'{key}={quote_for_hydra(value)}')}"
        if value.startswith("["):
            way_out = f'quote a list and its values: \'{key}=["A B","C"]\''
        if "=" not in line:
            way_out = "write KEY=VALUE, a sweep as +sweep=NAME"
        raise ConfigError(f"{quote_argument(line)} cannot be read as KEY=VALUE; {way_out}.") from error
    return override


def parse_one(line: str) -> Override:
    """`parse`, of one value. Raises ConfigError for several."""
    override = parse(line)
    if override.is_sweep_override():
        key, _, text = mask_argument(line).partition("=")
        listed = f"{key}=[{text}]"
        # A blank parts arguments.
        if not PLAIN_LIST.fullmatch(text):
            listed = quote_for_shell(listed)
        raise ConfigError(f"{quote_argument(line)}: several values; write {listed} for a list, or add --multirun.")
    return override


def quote_argument(line: str) -> str:
    """An argument as messages show it: without passwords, and shortened."""
    return repr(shorten(mask_argument(line), 100))


def _compose_with_hydra(overrides: Sequence[Override], folder: Folder, values: Mapping[str, Any]) -> dict[str, Any]:
    """What Hydra composes, as plain values with ${…} as it is written. Raises ConfigError."""
    from hydra import compose
    from omegaconf import OmegaConf

    with mistakes(overrides, folder), _hydra():
        lines = [override.input_line or "" for override in overrides]
        if folder is not None:
            escaped = str(folder).replace("\\", "\\\\").replace("'", "\\'")
            lines.append(f"hydra.searchpath=['file://{escaped}']")
        tree = compose("config", overrides=lines)
        for key, value in values.items():
            OmegaConf.update(tree, key, value, merge=isinstance(value, Mapping), force_add=True)
        config: Any = OmegaConf.to_container(tree)
    return {str(key): value for key, value in config.items()}


@contextmanager
def mistakes(overrides: Sequence[Override], folder: Folder) -> Iterator[None]:
    """What Hydra and OmegaConf raise in this block becomes a ConfigError with the way out."""
    from hydra.errors import MissingConfigException
    from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue

    try:
        yield
    except BmxError:
        raise
    except (MissingMandatoryValue, InterpolationToMissingValueError) as error:
        key = MISSING_VALUE.search(str(error))
        raise ConfigError(_missing(key[1] if key else "a key")) from error
    except MissingConfigException as error:
        group, _, name = str(error.missing_cfg_file).partition("/")
        if group not in groups():
            # Hydra lists the options, then the searched folders.
            said = " ".join(str(error).partition("Config search path:")[0].split())
            raise ConfigError(f"{_sweep_file_prefix(overrides, folder)}{said}") from error
        there_is_none = unknown(group, name, option_names(group, folder)) + way_to_option(group, name)
        raise ConfigError(_sweep_file_prefix(overrides, folder) + there_is_none) from error
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}; choose another output_dir.") from error
    # Hydra raises a dozen unrelated types (AttributeError and TypeError among them) for mistakes of users, and this
    # block
    # runs no other code: each error is a mistake in the configuration.
    except Exception as error:
        inner: BaseException | None = error
        while inner is not None:
            # Of a resolver of ours.
            if isinstance(inner, BmxError):
                raise inner from error
            inner = inner.__cause__ or inner.__context__
        arguments = ", ".join(quote_argument(override.input_line or "") for override in overrides)
        reason = f"{_reason(error)}."
        # Errors in options of the command itself name them.
        if arguments and "--" not in reason:
            reason = f"{arguments} cannot be composed: {_reason(error)}; correct them, or leave them out."
        raise ConfigError(_sweep_file_prefix(overrides, folder) + reason) from error


def _lines(override: Override) -> Iterator[str]:
    """An override that chooses options of a group, and sets existing or new keys."""
    line = override.input_line or ""
    key = override.key_or_group
    # As in figures=all: the other key, the formats, stays.
    if key == FIGURES and "={" not in line:
        line = line.replace(key, WHICH_FIGURES, 1)
    if override.is_delete() or re.split(r"[./]", key)[0] == "hydra":
        yield line
        return
    if key == POWERS and isinstance(override.value(), list):
        # Hydra cannot replace a range by a list.
        yield f"~{POWERS}"
    sign = "++"
    if key in WHOLE_GROUPS:
        sign = "+"
    elif key in groups():
        sign = ""
    yield sign + line.lstrip("+")


@contextmanager
def _hydra() -> Iterator[None]:
    """Hydra composes from our options in this block; its state is then as before."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    from bmx_grid.api.hydra_files import checked_files

    hydra = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with checked_files(), initialize_config_dir(str(CONFIGS), version_base="1.3"):
            yield
    finally:
        # `GlobalHydra.instance()` is another one by now.
        GlobalHydra.instance().hydra = hydra


def _sweep_file_prefix(overrides: Sequence[Override], folder: Folder) -> str:
    """The beginning of a message on a choice in a user's sweep: its file."""
    chosen = _values(overrides)
    for group, name, file in user_files_of(folder):
        if group in WHOLE_GROUPS and (group, name) in chosen:
            return f"{file}: "
    return ""


def _check(config: Mapping[str, Any], folder: Folder) -> None:
    """Raise ConfigError, beginning with the key, for an unknown one; those of components are checked as they are built.

    config: plain values, ${…} as it is written.
    """
    text = (CONFIGS / "config.yaml").read_text(encoding="utf-8")
    keys = set(re.findall(r"^(\w+):", text, re.MULTILINE)) - {"defaults", "hydra"}
    known = keys.union(groups()).difference(WHOLE_GROUPS)
    for key in config:
        paths = list(_paths_to(key, config)) if key not in known else []
        if paths:
            # The shortest ones: the grid has keys in several places.
            paths.sort(key=lambda path: path.count("."))
            raise ConfigError(f"{key}: unknown key '{key}'. Did you mean {' or '.join(paths[:MOST_SUGGESTED])}?")
    _check_keys(config, known, "")
    for key in sorted({*keys, "grid"} - config.keys()):
        raise ConfigError(f"{key} cannot be deleted; write {key}=VALUE.")
    for group in GROUPS_OF_SEVERAL:
        nodes = config.get(group)
        if not isinstance(nodes, Mapping):
            continue
        for name, option in nodes.items():
            if isinstance(option, Mapping) and "_target_" not in option and name in options(group):
                raise ConfigError(
                    f"{group}.{name} has no effect because {name} is not in this sweep. Add it: {group}=[{name}]."
                )
    grid = config["grid"]
    if not isinstance(grid, Mapping):
        return
    _check_keys(grid, load_option("grid", "paper"), "grid.")
    fixed = grid.get("fixed")
    if isinstance(fixed, Mapping):
        explainers = {*option_names("explainer", folder), *(config.get("explainer") or {})}
        _check_keys(fixed, explainers, "grid.fixed.", "explainer")


def _paths_to(key: str, node: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The full names of keys of this name below the keys of a node."""
    for name, value in node.items():
        if isinstance(value, Mapping):
            if key in value:
                yield f"{above}{name}.{key}"
            yield from _paths_to(key, value, f"{above}{name}.")


def _check_keys(node: Mapping[str, Any], known: Any, above: str, kind: str = "key") -> None:
    for key in node:
        if key not in known:
            raise ConfigError(f"{above}{key}: {unknown(kind, str(key), known)}")


def _missing(key: str) -> str:
    return f"{key}: {MISSING} is the mark of a missing value; write {key}=VALUE."


def _resolve_references(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with values in place of ${…}. Raises ConfigError."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        plain: Any = OmegaConf.to_container(OmegaConf.create(dict(config)), resolve=True)
    except (OmegaConfBaseException, RecursionError) as error:
        key = getattr(error, "full_key", None) or "the configuration"
        absent = ABSENT_KEY.search(str(error))
        if absent is not None and absent["group"] in GROUPS_OF_SEVERAL:
            missing = f"the {absent['group']} '{absent['name']}'"
            raise ConfigError(
                f"{key} refers to {absent['key']}, but {missing} is not in this sweep. Add it, or write {key}=VALUE."
            ) from error
        raise ConfigError(f"{key}: cannot be resolved: {_reason(error)}; write a value in its place.") from error
    return {str(key): value for key, value in plain.items()}


def _reason(error: BaseException) -> str:
    """The first line of a message of Hydra or OmegaConf."""
    if isinstance(error, RecursionError):
        return "keys or files refer to each other in a circle, or are nested too deeply"
    first_line, *_ = str(error.__cause__ or error).split("\n")
    reason = first_line[:300].strip().rstrip(".")
    return mask_address(reason) or type(error).__name__
