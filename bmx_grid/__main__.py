"""`python -m bmx_grid`, also installed as `bmx-grid`: a sweep, or one of the other commands by its name."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = ("score", "analyse", "data")  # modules of bmx_grid.commands; anything else is a sweep's configuration


def main() -> None:
    """The command line; leaves with the exit status of the command."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in COMMANDS:
        sys.exit(import_module(f"bmx_grid.commands.{name}").main(sys.argv[2:]))
    if "--version" in sys.argv[1:]:
        from bmx_grid import __version__

        print(f"bmx-grid {__version__}")
        return
    from bmx_grid.commands.compose import main as sweep

    sweep()


if __name__ == "__main__":
    main()
