"""`python -m bmx_grid`, also installed as `bmx-grid`: one of the commands by its name, a run where there is none."""

from __future__ import annotations

import sys
from importlib import import_module

from bmx_grid.commands import COMMANDS
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.stopping import run_process
from bmx_grid.core.terminal import RESUMES, command

KEEPS_NOTHING = ("score", "compare", "analyse")  # commands that start again after Ctrl-C


def main() -> None:
    """Run the command line and exit with the status of the command."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    interrupted = "Interrupted." if name in KEEPS_NOTHING else RESUMES
    run_process(lambda: command(lambda: _run(name), interrupted), interrupted)


def _run(name: str) -> int:
    if "--version" in sys.argv[1:]:
        from bmx_grid import __version__

        print(f"bmx-grid {__version__}")
        return 0
    if not name or sys.argv[1:] in (["--help"], ["-h"], ["help"]):
        from bmx_grid.commands.help import OVERVIEW

        print(OVERVIEW)
        return 0 if name else 2
    if name in COMMANDS:
        status: int = import_module(COMMANDS[name]).main(sys.argv[2:])
        return status
    if name and "=" not in name and not name.startswith(("-", "+", "~")):
        from bmx_grid.core.configure import options

        given = f"run it as bmx-grid +sweep={name}" if name in options("sweep") else "it is given as +sweep=NAME"
        raise ConfigError(f"{unknown('command', name, COMMANDS)} If a sweep is meant, {given}.")
    from bmx_grid.commands.run import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    main()
