"""How Hydra reads the YAML files of users: none before it is checked, whatever names it.

Hydra composes several times in a process. What it reads of us and of itself, and each argument that it parses, is read
once; copies are unpickled, which takes a fifth of the time of a deep copy.
"""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra._internal import defaults_list
from hydra._internal.core_plugins import (
    file_config_source,
    importlib_resources_config_source,
    structured_config_source,
)
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import MissingConfigException
from hydra.plugins.config_source import ConfigResult
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from bmx_grid.api.user_files import PRIMARY, WHOLE_GROUPS, user_option
from bmx_grid.core.configure import CONFIGS, groups, installed_options
from bmx_grid.core.errors import ConfigError

_READ: dict[tuple[str, str, int], bytes] = {}  # pickled, by folder, option, and when it changed

_parse_rule = OverridesParser.parse_rule
_interpolation_map = defaults_list._create_interpolation_map


def _read_once(path: str, option: str, changed: int, read: Callable[[str], ConfigResult]) -> ConfigResult:
    """A copy of what `read` says of the option: Hydra changes what it gets."""
    key = (path, option, changed)
    if key not in _READ:
        result = read(option)
        try:
            _READ[key] = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        except pickle.PicklingError:
            # Hydra imports modules of its plugins again, whose classes are then not those of their names.
            return result
    copied: ConfigResult = pickle.loads(_READ[key])
    return copied


class FileConfigSource(file_config_source.FileConfigSource):
    """A folder of options: built-in files are read unchanged, users' files are checked by `user_option`.

    It has the name of Hydra's own class: in the processes of launchers, Hydra keeps a registered source of that name.
    """

    def load_config(self, config_path: str) -> ConfigResult:
        """What Hydra gets to see of a file. Raises ConfigError for one that it may not see."""
        group, _, name = config_path.strip("/").removesuffix(".yaml").rpartition("/")
        if group.split("/")[0] == "hydra" and Path(self.path) != CONFIGS:
            raise ConfigError(f"{self.path}/{config_path}: hydra: files of options cannot configure Hydra; delete it.")
        if ".." in config_path or group not in (PRIMARY, *groups()) or not self._may_have(group, name):
            # A path leads to any YAML file of this machine.
            raise MissingConfigException(f"option not found: {config_path}", config_path)
        if Path(self.path) == CONFIGS:
            return self._own(config_path)
        keys = user_option(group, name, Path(self.path, group, f"{name}.yaml"))
        package = "_global_" if group in (PRIMARY, *WHOLE_GROUPS) else None
        return ConfigResult(self.provider, self.full_path(), OmegaConf.create(keys), {"package": package})

    def _own(self, config_path: str) -> ConfigResult:
        """One of our files: YAML takes Hydra longest."""
        changed = Path(self.path, self._normalize_file_name(config_path)).stat().st_mtime_ns
        return _read_once(self.path, config_path, changed, super().load_config)

    def _may_have(self, group: str, name: str) -> bool:
        """Whether a folder may have this option: an installed package has no sweeps."""
        return Path(self.path) not in _folders_of_packages() or (group, name) in installed_options()


class StructuredConfigSource(structured_config_source.StructuredConfigSource):
    """Hydra's own options. It has the name of Hydra's own class, which Hydra asks for."""

    def __deepcopy__(self, memo: dict[int, object]) -> StructuredConfigSource:
        """Itself: Hydra copies it with all its options each time it composes, and changes nothing in it."""
        return self

    def load_config(self, config_path: str) -> ConfigResult:
        """What is stored. Hydra's own options stay as they are; those of plugins may be stored anew."""
        stored = self.store._load(self._normalize_file_name(config_path))
        if stored.provider != "hydra":
            return super().load_config(config_path)
        return _read_once(f"structured://{self.path}", config_path, id(stored), super().load_config)


class ImportlibResourcesConfigSource(importlib_resources_config_source.ImportlibResourcesConfigSource):
    """Options in packages, of which Hydra's own stay as they are. It has the name of Hydra's own class."""

    def load_config(self, config_path: str) -> ConfigResult:
        """What is in the package."""
        if self.path != "hydra.conf":
            return super().load_config(config_path)
        return _read_once(f"pkg://{self.path}", config_path, 0, super().load_config)


class InstalledOptions(SearchPathPlugin):
    """Hydra looks for options in installed packages, too, wherever it looks for ours."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the folders of packages."""
        if any(entry.path.removeprefix("file://") == str(CONFIGS) for entry in search_path.get_path()):
            for folder in _folders_of_packages():
                search_path.append("installed packages", f"file://{folder}")


def _folders_of_packages() -> list[Path]:
    return sorted({file.parents[1] for file in installed_options().values()})


def parse_override(line: str) -> Override:
    """An argument as Hydra reads it. Raises as Hydra does."""
    parsed: Override = _parse_once(_parser(), line, "override")
    return parsed


def _parse_once(parser: OverridesParser, text: str, rule: str) -> Any:
    """`OverridesParser.parse_rule`: arguments are parsed by us and then by Hydra, several times in a composition."""
    if rule != "override" or "(" in text:  # shuffle(1,2,3) is another order each time
        return _parse_rule(parser, text, rule)
    return copy.copy(_override(text))


@functools.lru_cache(maxsize=1000)
def _override(text: str) -> Any:
    return _parse_rule(_parser(), text, "override")


@functools.cache
def _parser() -> OverridesParser:
    return OverridesParser.create()


def _map_if_needed(overrides: Any, defaults: Any, self_added: bool) -> Any:
    """Hydra makes a tree of all choices for each file; only references in a list of defaults are looked up in it."""
    if any("${" in str(vars(default)) for default in defaults):
        return _interpolation_map(overrides, defaults, self_added)
    return OmegaConf.create()


@contextmanager
def checked_files() -> Iterator[None]:
    """Hydra reads options by our sources in this block, and nothing twice."""
    Plugins.instance().register(InstalledOptions)  # the first call enters Hydra's own way to read files
    ways = SourcesRegistry.instance().types
    before = dict(ways)
    ways["file"] = FileConfigSource
    ways["structured"] = StructuredConfigSource
    ways["pkg"] = ImportlibResourcesConfigSource
    OverridesParser.parse_rule = _parse_once  # type: ignore[method-assign, assignment]
    defaults_list._create_interpolation_map = _map_if_needed  # type: ignore[assignment]
    try:
        yield
    finally:
        ways.update(before)
        OverridesParser.parse_rule = _parse_rule  # type: ignore[method-assign]
        defaults_list._create_interpolation_map = _interpolation_map
