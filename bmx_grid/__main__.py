"""`python -m bmx_grid`, also installed as `bmx-grid`: a sweep, or one of the other commands by its name."""

from __future__ import annotations

import sys
from importlib import import_module

from bmx_grid.commands import COMMANDS
from bmx_grid.errors import ConfigError, unknown
from bmx_grid.stopping import run_process
from bmx_grid.terminal import RESUMES, command


def main() -> None:
    """Run the command line and exit with the status of the command."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    interrupted = "Interrupted." if name in ("score", "analyse") else RESUMES
    run_process(lambda: command(lambda: _run(name), interrupted), interrupted)


def _run(name: str) -> int:
    if name in COMMANDS:
        status: int = import_module(f"bmx_grid.commands.{name}").main(sys.argv[2:])
        return status
    if "--version" in sys.argv[1:]:
        from bmx_grid import __version__

        print(f"bmx-grid {__version__}")
        return 0
    if name and "=" not in name and not name.startswith(("-", "+", "~")):
        raise ConfigError(unknown("command", name, COMMANDS) + " A sweep is given as KEY=VALUE, +sweep=NAME.")
    from bmx_grid.commands.compose import main as sweep

    sweep()
    return 0


if __name__ == "__main__":
    main()
