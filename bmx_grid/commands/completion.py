"""Completion in the shell: commands and their flags, and what Hydra suggests for a run."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.commands import COMMANDS
from bmx_grid.configure import groups, options
from bmx_grid.errors import BmxError, ConfigError, unknown

if TYPE_CHECKING:
    from hydra._internal.hydra import Hydra

REQUESTS = ("install", "uninstall", "query")
NAME = "bmx-grid"
# Hydra's own hooks complete no file names in fish, need a module of zsh that is not loaded, and hook python itself.
INSTALL = {
    "bash": """_bmx_grid() {
  COMPREPLY=($(COMP_LINE="${COMP_LINE:0:$COMP_POINT}" bmx-grid -sc query=bash 2>/dev/null))
}
complete -o nospace -o default -F _bmx_grid bmx-grid
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}""",
    "zsh": """(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }
_bmx_grid() {
  local -a found
  found=(${=$(COMP_LINE="${(j: :)words[1,CURRENT]}" bmx-grid -sc query=zsh 2>/dev/null)})
  if (( $#found )); then compadd -Q -S '' -- $found; else _files; fi
}
compdef _bmx_grid bmx-grid""",
    "fish": """function _bmx_grid
    set -lx COMP_LINE (commandline -cp)
    bmx-grid -sc query=fish 2>/dev/null
end
complete -c bmx-grid -a '(_bmx_grid)'""",
}
UNINSTALL = {
    "bash": "complete -r bmx-grid; unset -f _bmx_grid",
    "zsh": "compdef -d bmx-grid; unfunction _bmx_grid",
    "fish": "complete -e -c bmx-grid; functions -e _bmx_grid",
}
SHOWN_FLAG = re.compile(r"^  .*?(--[a-z-]+)", re.MULTILINE)  # of a help text


def complete(hydra: Hydra, arguments: list[str]) -> int:
    """Answer `-sc install=SHELL`, `uninstall=SHELL` or `query=SHELL`; the exit status.

    A query prints suggestions for the line in COMP_LINE, and nothing where there are none: it runs while
    the user types. Raises ConfigError for another request.
    """
    requests = [one.partition("=") for one in arguments]
    if len(requests) != 1 or requests[0][0] not in REQUESTS:
        raise ConfigError(f"-sc {' '.join(arguments)}: write -sc install=SHELL with one of {', '.join(INSTALL)}.")
    request, _, shell = requests[0]
    if shell not in INSTALL:
        raise ConfigError(unknown("shell", shell, INSTALL))
    if request == "query":
        print("\n".join(_suggested(hydra, os.environ.get("COMP_LINE", ""))))
    elif Path(sys.argv[0]).suffix == ".py":  # python -m: a shell completes programs, not modules
        raise ConfigError(f'completion is for the installed command: eval "$({NAME} -sc {request}={shell})"')
    else:
        print((INSTALL if request == "install" else UNINSTALL)[shell])
    return 0


def _suggested(hydra: Hydra, line: str) -> list[str]:
    """What may stand in place of the last word of a line; nothing where the shell completes file names by itself."""
    typed = line.split()[1:]
    word = "" if line.endswith(" ") or not typed else typed.pop()
    if typed and typed[0] in COMMANDS and typed[0] != "run":
        return _of_command(typed[0], typed[-1], word)
    if not typed and not word:
        return list(COMMANDS)
    if word.startswith("-"):
        return []
    listed = re.fullmatch(r"(\w+)=\[((?:\w+,)*)(\w*)", word)
    if listed is not None and listed.group(1) in groups():
        group, before, begun = listed.groups()
        return [f"{group}=[{before}{one}" for one in options(group) if one.startswith(begun)]
    if not typed and any(one.startswith(word) for one in COMMANDS):
        return [one for one in COMMANDS if one.startswith(word)]
    return _of_hydra(hydra, " ".join([NAME, *(typed[1:] if typed[:1] == ["run"] else typed), word]))


def _of_command(name: str, before: str, word: str) -> list[str]:
    """Flags of a command, and the names that its flag takes."""
    from importlib import import_module

    flag = before.removeprefix("--")
    if flag in ("metric", "explainer"):
        return [one for one in options(flag) if one.startswith(word)]
    if not word.startswith("-"):
        return []
    shown = io.StringIO()
    try:
        with redirect_stdout(shown), redirect_stderr(io.StringIO()):
            import_module(COMMANDS[name]).main(["--help"])
    except SystemExit:  # how argparse ends after its help
        pass
    return sorted({flag for flag in SHOWN_FLAG.findall(shown.getvalue()) if flag.startswith(word)})


def _of_hydra(hydra: Hydra, line: str) -> list[str]:
    """What Hydra suggests for the overrides of a line."""
    plugin = hydra.get_shell_to_plugin_map(hydra.config_loader)["bash"][0]
    shown, before = io.StringIO(), os.environ.get("COMP_LINE")
    os.environ["COMP_LINE"] = line  # where Hydra reads it
    try:
        with redirect_stdout(shown), redirect_stderr(io.StringIO()):
            plugin.query(config_name="config")
    except (BmxError, SystemExit):
        return []  # the part typed so far is not a configuration
    finally:
        os.environ.pop("COMP_LINE") if before is None else os.environ.update(COMP_LINE=before)
    return shown.getvalue().split()
