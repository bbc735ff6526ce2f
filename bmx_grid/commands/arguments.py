"""The arguments of a sweep."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bmx_grid.configure import folder_path, groups, options
from bmx_grid.errors import ConfigError, unknown

FLAGS = ("--help", "--cfg", "--package", "--resolve", "--config-dir", "--config-name", "--multirun")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; `bmx-grid run --help` lists what can be given.")


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags and the overrides. Raises ConfigError for flags that do not exist, or not together."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--cfg", "-c", choices=["job"])
    parser.add_argument("--package", "-p")
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("--config-name", "-cn", default="config")
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("overrides", nargs="*")
    given, others = parser.parse_known_intermixed_args(list(arguments))
    for flag in others:
        raise ConfigError(f"{unknown('option', flag.partition('=')[0], FLAGS)} Keys have no dashes: KEY=VALUE.")
    if given.multirun and given.cfg:
        raise ConfigError("--multirun and --cfg exclude each other; choose one.")
    if (given.resolve or given.package) and not given.cfg:
        raise ConfigError("--resolve and --package say how --cfg shows the configuration; add --cfg job.")
    if not given.config_name:
        raise ConfigError("--config-name is empty; leave it out, or name a file in --config-dir.")
    return given


def config_dir(given: str | None) -> Path | None:
    """The folder of the user's own options. Raises ConfigError when it is not there, or an option would be ignored."""
    if given is None:
        return None
    folder = folder_path(given, "--config-dir")
    if not os.path.isdir(folder):
        raise ConfigError(f"--config-dir {given}: there is no such folder (looked at {folder.absolute()}); name yours.")
    for group in groups():
        for name in sorted(set(options(group)) & set(options(group, folder))):
            raise ConfigError(
                f"{folder / group / name}.yaml: an option {group}={name} comes with bmx_grid and would be used "
                "instead; give yours another name."
            )
    return folder.absolute()
