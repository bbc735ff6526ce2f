"""From configuration to objects: where options are found, what may be built, and whether values are valid.

Options name their class in `_target_`. Only classes of this package are built, and of packages that
the environment variable BMX_ALLOWED_PACKAGES names (comma-separated): a configuration file alone can
never make other code run (`file_keys` lists the keys that it may set). An installed package
on the list may bring options of its own: an entry point of the group `bmx_grid.options` names the
package, whose folder `configs` holds them.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import importlib.util
import os
import re
import stat
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from bmx_grid.core.errors import (
    ALLOWED_PACKAGES,
    ComponentError,
    ConfigError,
    component_error,
    component_errors,
    quote_value,
    unknown,
)
from bmx_grid.core.identity import IDENTITY, Component
from bmx_grid.core.storage import Place, check_name, place
from bmx_grid.core.wording import find_option

_PACKAGE = Path(__file__).resolve().parents[1]
# Inside an installed package, next to it in a checkout.
CONFIGS = _PACKAGE / "configs"
if not (CONFIGS / "config.yaml").is_file():
    CONFIGS = _PACKAGE.parent / "configs"
ENTRY_POINTS = "bmx_grid.options"
GROUPS_OF_PACKAGES = ("dataset", "explainer", "metric")  # in which installed packages may have options
SEED = "${seed}"  # in a YAML file: the seed of whatever the option is part of
MOST_SEED = 2**63 - 1  # tables hold seeds in 64 bits
LARGEST_COUNT = 1_000_000  # of resamples, splits, samples and other numbers that set the amount of work

Built = TypeVar("Built")


@functools.cache
def groups() -> tuple[str, ...]:
    """The names of the groups that have options, sorted."""
    return tuple(sorted({path.parent.name for path in CONFIGS.glob("*/*.yaml")}))


def options(group: str, folder: Path | None = None) -> list[str]:
    """The names of a group's options, sorted: ours and those of installed packages, or those in a folder."""
    if folder is not None:
        return sorted(path.stem for path in (folder / group).glob("*.yaml"))
    installed = [name for group_of_option, name in installed_options() if group_of_option == group]
    return sorted({*options(group, CONFIGS), *installed})


def installed_options() -> Mapping[tuple[str, str], Path]:
    """(group, name) -> file, of the options that allowed installed packages bring.

    Raises ConfigError for a name that is taken.
    """
    # Kept by the value of the environment variable, which may change in one process.
    allowed_besides_ours = _allowed_packages()[1:]
    return _installed_options(tuple(allowed_besides_ours))


@functools.lru_cache(maxsize=8)
def _installed_options(allowed: tuple[str, ...]) -> Mapping[tuple[str, str], Path]:
    if not allowed:  # to look through all that is installed takes time
        return {}
    files: dict[tuple[str, str], Path] = {}
    for package in _registered_packages() & set(allowed):
        for group, file in _files_of_package(package):
            name = file.stem
            if name in options(group, CONFIGS) or (group, name) in files:
                raise ConfigError(f"{file}: {group}={name} is taken; leave {package} out of {ALLOWED_PACKAGES}.")
            files[group, name] = file
    return files


def _registered_packages() -> set[str]:
    """The packages that an entry point registers."""
    from importlib.metadata import entry_points

    return {entry.module.partition(".")[0] for entry in entry_points(group=ENTRY_POINTS)}


def _files_of_package(package: str) -> Iterator[tuple[str, Path]]:
    """The group and the file of each option in a package, which is not imported."""
    spec = importlib.util.find_spec(package)
    # A package may be registered and not importable, or be a single module, which has no folder.
    if spec is None or spec.submodule_search_locations is None:
        return
    for folder in spec.submodule_search_locations:
        for group in GROUPS_OF_PACKAGES:
            for file in sorted(Path(folder, "configs", group).glob("*.yaml")):
                yield group, file


def way_to_option(group: str, name: str) -> str:
    """The end of a message on an unknown option: the installed package that brings it; "" if none does."""
    for package in sorted(_registered_packages()):
        for group_of_option, file in _files_of_package(package):
            if group_of_option == group and file.stem == name:
                return f" The installed package {package} has it: set {ALLOWED_PACKAGES}={package} if you trust it."
    return ""


def option_file(group: str, name: str) -> Path:
    """The YAML file of an option. Raises ConfigError with the closest name if the option does not exist."""
    names = options(group)
    name = find_option(name, names)
    if name not in names:
        raise ConfigError(unknown(group, name, names) + way_to_option(group, name))
    file_of_ours = CONFIGS / group / f"{name}.yaml"
    return installed_options().get((group, name), file_of_ours)


def load_option(group: str, name: str, seed: Any = SEED) -> dict[str, Any]:
    """The settings of one option as plain values, read from its YAML file, with `seed` in place of `${seed}`.

    Values that an option takes from the grid of a sweep are those of the paper.
    Raises ConfigError with the closest name if the option does not exist.
    """
    import yaml

    text = option_file(group, name).read_text(encoding="utf-8")
    settings = yaml.safe_load(text)
    # Options of a group of which a sweep may have several are nested below their names.
    if set(settings) == {find_option(name, options(group))}:
        (settings,) = settings.values()
    return {key: _outside_a_sweep(value, seed) for key, value in settings.items()}


def option_class(group: str, name: str) -> type:
    """The class of an option. Raises ConfigError if it does not exist or cannot be imported."""
    target = targets(option_file(group, name))[0]
    return allowed_class(target, f"{group}.{name}")


def targets(file: Path) -> list[str]:
    """The paths of the classes that the file of an option names, its own first."""
    return re.findall(r"_target_: (\S+)", file.read_text(encoding="utf-8"))


def _outside_a_sweep(value: Any, seed: Any) -> Any:
    """A value of a YAML file, without a sweep whose keys it could refer to: its grid is that of the paper."""
    if not isinstance(value, str) or not value.startswith("${"):
        return value
    key = value.removeprefix("${").partition("}")[0]
    if key.startswith("grid."):
        return load_option("grid", "paper")[key.removeprefix("grid.")]
    if key == "aggregation":
        return load_option("aggregation", "power_mean")
    return seed if key == "seed" else None


def build(node: Any, expected: type[Built], where: str) -> Built:
    """The object that `node` (a mapping with `_target_`) describes, its values checked against its fields.

    An object of this kind is returned as it is. Raises ConfigError naming the key (below `where`), the value and what
    is expected.
    """
    if isinstance(node, expected):
        return node
    cls = class_of(node, where)
    key_of_class = f"{where}._target_"
    if not (issubclass(cls, expected) and dataclasses.is_dataclass(cls)):
        kind = expected.__name__
        raise ConfigError(f"{key_of_class}: {cls.__name__} is not a dataclass made of {kind}; name one that is.")
    missing = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
    if missing:
        names = ", ".join(missing)
        raise ConfigError(
            f"{key_of_class}: {cls.__name__} is abstract: it does not define {names}. Define them in the class, or "
            "name a class that does."
        )
    values = {key: value for key, value in node.items() if key != "_target_"}
    return typing.cast(Built, _fill(cls, values, where))


def class_of(node: Any, where: str) -> type:
    """The class of the option that `node` describes, which is not built. Raises ConfigError as `build`."""
    if not isinstance(node, Mapping) or "_target_" not in node:
        raise ConfigError(f"{where}: expected an option with a `_target_`, got {quote_value(node)}.")
    return allowed_class(str(node["_target_"]), where)


def build_options(config: Mapping[str, Any], group: str, expected: type[Built], least: int = 1) -> dict[str, Built]:
    """The chosen options of a group by name, built, in order. Raises ConfigError when there are fewer than `least`."""
    chosen = config.get(group)
    if chosen is None and least == 0:
        return {}
    if not isinstance(chosen, Mapping) or len(chosen) < least:
        raise ConfigError(f"{group}: choose at least one, as {group}=[NAME,…].")
    built = {}
    for name, node in chosen.items():
        where = f"{group}.{name}"
        check_name(group, str(name), where)
        # The grid's keys are at the top of the configuration, and errors name them so.
        if where == "evaluation.grid":
            where = "grid"
        built[str(name)] = build(node, expected, where)
    return built


def _fill(cls: type, node: Mapping[str, Any], where: str) -> Any:
    """An instance of the dataclass `cls` with the values of `node`, each checked against its field."""
    hints = typing.get_type_hints(cls)
    fields = {item.name: item for item in dataclasses.fields(cls) if item.init}
    values = {}
    for key, node_value in node.items():
        if key not in fields:
            raise ConfigError(f"{where}: {unknown('key', str(key), fields)}")
        where_value = f"{where}.{key}"
        value = convert(node_value, hints[key], where_value, node.get("seed", SEED))
        values[key] = value
        if not isinstance(value, int):
            continue
        changes_results = fields[key].metadata.get("role") == IDENTITY
        if key == "seed":
            check_seed(value, where_value)
        elif changes_results and value > LARGEST_COUNT:
            raise ConfigError(
                f"{where_value} must be at most {LARGEST_COUNT:,}, got {quote_value(value)}; write a smaller one."
            )
    without_default = [item.name for item in fields.values() if item.default is item.default_factory]
    required = [name for name in without_default if name not in values]
    if required:
        raise ConfigError(f"{where}: {', '.join(required)} must be given, as {where}.{required[0]}=VALUE.")
    try:
        with component_errors():
            return cls(**values)
    except ComponentError as error:
        raise ConfigError(f"{where}: {cls.__name__} cannot be built: {error}") from error
    except ConfigError as error:  # options of several names share a class, which knows its fields only
        # A message of a class begins with its field and a sign (one of = : . and [).
        first_word = re.split(r"[=:.\[]", str(error))[0]
        if first_word in fields:
            raise ConfigError(f"{where}.{error}") from error
        raise


def folder_path(value: Any, where: str) -> Path:
    """`value` as the path of a folder (`storage.place`). Raises ConfigError for text that cannot be one, and a file."""
    text = convert(value, str, where)
    path = place(text, where)
    if not isinstance(path, Path):
        raise ConfigError(f"{where}: {quote_value(text)} is not a path: it is an address; write {where}=FOLDER.")
    try:
        if not text.strip():
            raise ValueError("it is empty")
        if not stat.S_ISDIR(path.stat().st_mode):
            raise ConfigError(f"{where}: {text!r} is a file; name a folder.")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # it will be made
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{where}: {quote_value(text)} is not a path: {error!s:.80}; write {where}=FOLDER."
        ) from error
    return path


def check_seed(seed: int, where: str = "seed") -> int:
    """The seed. Raises ConfigError for one that nothing can be drawn from, or that no table can hold."""
    if not 0 <= seed <= MOST_SEED:
        raise ConfigError(f"{where} must be 0 or more, and at most {MOST_SEED:,}, which tables can hold; got {seed}.")
    return seed


def _allowed_packages() -> list[str]:
    """The packages whose classes may be built, ours first."""
    return ["bmx_grid", *filter(None, os.environ.get(ALLOWED_PACKAGES, "").split(","))]


def allowed_class(target: str, where: str) -> type:
    """The class of this path. Raises ConfigError unless its package is allowed, and has it."""
    module_name, _, class_name = target.rpartition(".")
    package = module_name.split(".")[0]
    allowed = _allowed_packages()
    key = f"{where}._target_"
    if package not in allowed:
        raise ConfigError(
            f"{key}: {quote_value(target)} is outside the packages {', '.join(allowed)}; "
            f"name its package in the environment variable {ALLOWED_PACKAGES} if you trust it."
        )
    try:
        module = importlib.import_module(module_name)
        cls = getattr(module, class_name, None)
    except ModuleNotFoundError as error:
        way_out = _way_out(class_name)
        raise ConfigError(f"{key}: module '{error.name}' of '{target}' not found{way_out}.") from error
    except (Exception, SystemExit) as error:  # importing a module of another package may raise anything
        raise ConfigError(f"{key}: importing '{module_name}' fails: {component_error(error)}") from error
    if not isinstance(cls, type):
        raise ConfigError(f"{key}: class '{class_name}' not found in {module_name}.")
    return cls


def _way_out(class_name: str) -> str:
    """The options whose class has this name, for a module that was moved; "" if none has."""
    paths: set[str] = set()
    for file in CONFIGS.glob("*/*.yaml"):
        paths.update(path for path in targets(file) if path.endswith(f".{class_name}"))
    return f"; write {' or '.join(sorted(paths))}" if paths else ""


def convert(value: Any, hint: Any, where: str, seed: Any = SEED) -> Any:
    """`value` as the annotated type `hint`, without surprises: 5 fits a float, "5" fits no number.

    A component may be the name of an option; `seed` is then the seed of the part that holds it. A path is a folder.
    Raises ConfigError naming `where`, the value and what is expected.
    """
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    is_class = isinstance(hint, type)
    # Python counts a bool as a number, but `true` in a configuration is no number.
    is_flag = isinstance(value, bool)
    if hint is Any:
        return value
    if origin is typing.Literal:
        # A series or an array compares element by element, and is no value of a Literal.
        if isinstance(value, str | int | float | None) and value in arguments:
            return value
        name = value if isinstance(value, str) else quote_value(value)
        raise ConfigError(f"{where}: {unknown('value', name, map(str, arguments))}")
    if hint in (Path, Place):
        # The address of an object store is a place, and no folder.
        address = None if hint is Path else place(convert(value, str, where), where)
        return folder_path(value, where) if address is None or isinstance(address, Path) else address
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, arguments, where)
    if origin is tuple and isinstance(value, list | tuple):
        inner = arguments[0] if arguments else Any
        return tuple(convert(item, inner, f"{where}[{index}]") for index, item in enumerate(value))
    if is_class and issubclass(hint, Component):
        if isinstance(value, str):  # the name of an option ("lime"), whose group is named like its class
            value = load_option(hint.__name__.lower(), value, seed)
        return build(value, hint, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
        return _fill(hint, value, where)
    if origin in (dict, collections.abc.Mapping):
        if isinstance(value, Mapping):
            inner = arguments[1]
            return {str(key): convert(item, inner, f"{where}.{key}") for key, item in value.items()}
    elif hint is float and isinstance(value, int | float) and not is_flag:
        try:
            return float(value)
        except OverflowError as error:
            raise ConfigError(
                f"{where}: {quote_value(value)} is beyond the largest number; write a smaller one."
            ) from error
    # JSON has no infinite numbers: recipes have them as texts.
    elif hint is float and isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    elif is_class and isinstance(value, hint) and (hint is bool or not is_flag):
        return value
    raise ConfigError(f"{where}: expected {_expected_type(hint)}, got {quote_value(value)}.")


def _convert_union(value: Any, arguments: tuple[Any, ...], where: str) -> Any:
    """The value as the first type that it fits. Raises the last type's error if it fits none."""
    if value is None and type(None) in arguments:
        return None
    kinds = [kind for kind in arguments if kind is not type(None)]
    if isinstance(value, list | tuple):
        # Lists last: of the errors of a list, theirs are to the point. The sort is stable.
        kinds.sort(key=lambda kind: getattr(kind, "__origin__", None) is tuple)
    for kind in kinds[:-1]:
        try:
            return convert(value, kind, where)
        except ConfigError:  # the next type of the union may fit; the error of the last one is raised
            continue
    return convert(value, kinds[-1], where)


def _expected_type(hint: Any) -> str:
    """The expected type, in the words of a message."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        keys = [item.name for item in dataclasses.fields(hint) if item.init]
        return f"keys below it ({', '.join(keys)})"
    names: dict[Any, str] = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        tuple: "a list, as [A,B]",
        dict: "keys below it",
        collections.abc.Mapping: "keys below it",
    }
    # tuple[str, ...] is not tuple, but made of it.
    return names.get(typing.get_origin(hint) or hint, str(hint))
