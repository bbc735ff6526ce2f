"""How Hydra reads the YAML files of users: none before it is checked, whatever names it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hydra._internal.core_plugins import file_config_source, structured_config_source
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.errors import MissingConfigException
from hydra.plugins.config_source import ConfigResult
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from bmx_grid.api.user_files import PRIMARY, WHOLE_GROUPS, user_option
from bmx_grid.core.configure import CONFIGS, groups, installed_options
from bmx_grid.core.errors import ConfigError

_OWN: dict[tuple[str, str, int], ConfigResult] = {}


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
        """One of our files. Hydra composes several times in a process, and takes longest over reading YAML."""
        changed = Path(self.path, self._normalize_file_name(config_path)).stat().st_mtime_ns
        key = (self.path, config_path, changed)
        if key not in _OWN:
            _OWN[key] = super().load_config(config_path)
        # Hydra changes its arguments.
        return copy.deepcopy(_OWN[key])

    def _may_have(self, group: str, name: str) -> bool:
        """Whether a folder may have this option: an installed package has no sweeps."""
        return Path(self.path) not in _folders_of_packages() or (group, name) in installed_options()


class StructuredConfigSource(structured_config_source.StructuredConfigSource):
    """Hydra's own options. It has the name of Hydra's own class, which Hydra asks for."""

    def __deepcopy__(self, memo: dict[int, object]) -> StructuredConfigSource:
        """Itself: Hydra copies it with all its options each time it composes, and changes nothing in it."""
        return self


class InstalledOptions(SearchPathPlugin):
    """Hydra looks for options in installed packages, too, wherever it looks for ours."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the folders of packages."""
        if any(entry.path.removeprefix("file://") == str(CONFIGS) for entry in search_path.get_path()):
            for folder in _folders_of_packages():
                search_path.append("installed packages", f"file://{folder}")


def _folders_of_packages() -> list[Path]:
    return sorted({file.parents[1] for file in installed_options().values()})


@contextmanager
def checked_files() -> Iterator[None]:
    """Hydra reads options by our `FileConfigSource` and `StructuredConfigSource` in this block."""
    Plugins.instance().register(InstalledOptions)  # the first call enters Hydra's own way to read files
    ways = SourcesRegistry.instance().types
    before = dict(ways)
    ways["file"] = FileConfigSource
    ways["structured"] = StructuredConfigSource
    try:
        yield
    finally:
        ways.update(before)
