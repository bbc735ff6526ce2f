"""A user's own option files (--config-dir), read for Hydra: every file is checked before Hydra sees it."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from bmx_grid.commands.checks import several
from bmx_grid.commands.user_yaml import read_yaml
from bmx_grid.configure import options
from bmx_grid.errors import ConfigError

KEY = re.compile(r"\$\{[^${}:]+\}")  # a reference to another key; with a colon it calls a resolver, such as oc.env


class OptionFiles(ConfigSource):
    """Where Hydra finds the files of one folder, during a composition.

    folder: the folder, or None; read: the files read by this composition, each with its keys from the root.
    """

    folder: ClassVar[Path | None] = None
    read: ClassVar[dict[Path, Mapping[str, Any]]] = {}

    @staticmethod
    def scheme() -> str:
        return "options"

    def load_config(self, config_path: str) -> ConfigResult:
        file = self._place(self._normalize_file_name(config_path))
        keys, text = read_yaml(file)
        group, _, name = config_path.removesuffix(".yaml").rpartition("/")
        try:
            header = self._get_header_dict(text[:512])
        except ValueError as error:
            raise ConfigError(f"{file}: {str(error).rstrip('.')}; a sweep begins with # @package _global_.") from error
        _check_file(file, keys)
        if group in several() and not header.get("package"):
            _check_option(file, keys, name)
        self.read[file] = {group: keys} if group and not header.get("package") else keys
        return ConfigResult(self.provider, str(self.folder), OmegaConf.create(keys), header)

    def _place(self, path: str) -> Path:
        assert self.folder is not None
        return self.folder / path

    def available(self) -> bool:
        return True

    def is_group(self, config_path: str) -> bool:
        return self._place(config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        return self._place(self._normalize_file_name(config_path)).is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> builtins.list[str]:
        found: list[str] = []
        for file in self._place(config_path).iterdir():
            self._list_add_result(found, str(Path(config_path, file.name)), file.name, results_filter)
        return sorted(set(found))


class OptionPath(SearchPathPlugin):
    """Adds the folder of `OptionFiles` to where Hydra looks for options."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if OptionFiles.folder is not None:
            search_path.append("options of the user", f"{OptionFiles.scheme()}://")


@contextmanager
def options_of(folder: Path | None) -> Iterator[None]:
    """Hydra finds the options of a folder in this block."""
    for plugin in (OptionFiles, OptionPath):
        Plugins.instance().register(plugin)
    OptionFiles.folder, OptionFiles.read = folder, {}
    try:
        yield
    finally:
        OptionFiles.folder = None


def names(group: str, folder: Path | None) -> list[str]:
    """The options of a group, those in the user's folder among them."""
    return sorted({*options(group), *(options(group, folder) if folder is not None else ())})


def located(message: str) -> str:
    """A message that begins with a key, after the last file read that has it; as it is where none has."""
    key = re.split(r"[: ]", message)[0].split(".")
    files = [
        file for file, keys in OptionFiles.read.items() if _has(keys, key) and (key[1:] or key[0] not in several())
    ]
    return f"{files[-1]}: {message}" if files else message


def _has(node: Any, key: list[str]) -> bool:
    for part in key:
        if not isinstance(node, Mapping) or part not in node:
            return False
        node = node[part]
    return True


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


def _check_file(file: Path, keys: Mapping[str, Any]) -> None:
    """Refuse what would configure Hydra itself, or read the environment. Raises ConfigError."""
    defaults = keys.get("defaults", [])
    if not isinstance(defaults, list):
        raise ConfigError(f"{file}: defaults must be a list, as '- override /metric: [chrf]'; write it so.")
    if "hydra" in keys or any("hydra" in str(entry) for entry in defaults):
        raise ConfigError(
            f"{file}: hydra: files of options cannot configure Hydra, which could run code; leave it out."
        )
    check_references(keys, str(file))


def _check_option(file: Path, keys: Mapping[str, Any], name: str) -> None:
    """An option of a group that takes several holds one key, its file's name. Raises ConfigError."""
    others = [key for key in keys if key != "defaults"]
    if others != [name] and (others or not keys.get("defaults")):
        held = f"the keys {', '.join(others)}" if len(others) > 1 else f"the key '{others[0]}'" if others else "no key"
        raise ConfigError(f"{file}: holds {held}; an option's settings belong below its file's name, '{name}:'.")
