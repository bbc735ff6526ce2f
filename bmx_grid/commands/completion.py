"""Completion in the shell: what Hydra suggests for a sweep, and the names of the other commands."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.commands import COMMANDS
from bmx_grid.configure import groups, options
from bmx_grid.errors import BmxError, ConfigError, unknown

if TYPE_CHECKING:
    from hydra._internal.hydra import Hydra
    from hydra.plugins.completion_plugin import CompletionPlugin

REQUESTS = ("install", "uninstall", "query")


def complete(hydra: Hydra, arguments: list[str]) -> int:
    """Answer `-sc install=SHELL`, `uninstall=SHELL` or `query=SHELL`; the exit status.

    A query prints suggestions for the line in COMP_LINE, and nothing where there are none: it runs while
    the user types. Raises ConfigError for another request.
    """
    requests = [one.partition("=") for one in arguments]
    known = sorted(str(shell) for shell in hydra.get_shell_to_plugin_map(hydra.config_loader))
    if len(requests) != 1 or requests[0][0] not in REQUESTS:
        raise ConfigError(f"-sc {' '.join(arguments)}: write -sc install=SHELL with one of {', '.join(known)}.")
    request, _, shell = requests[0]
    if shell not in known:
        raise ConfigError(unknown("shell", shell, known))
    plugin: CompletionPlugin = hydra.get_shell_to_plugin_map(hydra.config_loader)[shell][0]
    if request == "query":
        _query(plugin)
    elif Path(sys.argv[0]).suffix == ".py":  # python -m: Hydra would hook python itself
        raise ConfigError(f'completion is for the installed command: eval "$(bmx-grid -sc {request}={shell})"')
    elif request == "install":
        plugin.install()
    else:
        plugin.uninstall()
    return 0


def _query(plugin: CompletionPlugin) -> None:
    line = os.environ.setdefault("COMP_LINE", "")
    typed = line.split()[1:]
    word = "" if line.endswith(" ") or not typed else typed[-1]
    if (typed and typed[0] in COMMANDS and (len(typed) > 1 or not word)) or word.startswith("-"):
        return  # files, which the shell completes by itself
    listed = re.fullmatch(r"(\w+)=\[((?:\w+,)*)(\w*)", word)
    if listed is not None and listed.group(1) in groups():
        group, before, begun = listed.groups()
        print(" ".join(f"{group}=[{before}{one}" for one in options(group) if one.startswith(begun)))
        return
    if len(typed) <= 1 and word and any(one.startswith(word) for one in COMMANDS):
        print(" ".join(one for one in COMMANDS if one.startswith(word)))
        return
    try:
        with redirect_stderr(io.StringIO()):
            plugin.query(config_name="config")
    except (BmxError, SystemExit):
        return  # the part typed so far is not a configuration
