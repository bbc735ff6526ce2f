"""bmx-grid: boost translation metrics with explanations, and test the gains.

usage: bmx-grid COMMAND ...          (also python -m bmx_grid COMMAND ...)

  run        a sweep: data sets x language pairs x metrics x explainers, scored
             and boosted over a p x w grid; may be left out (bmx-grid +sweep=A)
  score      translations in files: scores of segments and systems, with tests
  compare    columns of scores in a table: which agrees best with human ones
  analyse    finished sweeps: their conclusions, or several compared
  data       list, download, verify and show data sets, and read tables of yours
  check      test your own metric, explainer or data set against its contract

  bmx-grid COMMAND --help    arguments and examples of a command
  bmx-grid --version

exit status: 0 done; 1 something failed; 2 a mistake in the command; 130 Ctrl-C

examples:
  bmx-grid run +sweep=quickstart       part of the embedded sample: 30 seconds
  bmx-grid data show my.tsv            the columns recognised in your table
"""

from __future__ import annotations

import os
import sys
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

# `main` handles Ctrl-C before slow imports: other modules are imported in functions, and signal, which imports enum, is
# not used. Only Ctrl-C during Python's own start ends in a traceback.
KEEPS_NOTHING = ("score", "compare", "analyse")  # commands that start again after Ctrl-C


def main() -> None:
    """Run the command line and exit with the status of the command."""
    if getsignal(SIGINT) is default_int_handler:  # it may be ignored, as by nohup
        signal(SIGINT, _leave)
    from bmx_grid.core.stopping import run_process
    from bmx_grid.core.terminal import RESUMES, command

    name = sys.argv[1] if len(sys.argv) > 1 else ""
    interrupted = "Interrupted." if name in KEEPS_NOTHING else RESUMES
    run_process(lambda: command(lambda: _run(name), interrupted), interrupted)


def _leave(signum: int, frame: object) -> None:
    """End the process at once: nothing has begun. An exception would end in a traceback of the import it meets."""
    os.write(2, b"\nInterrupted.\n")
    os._exit(128 + signum)


def _run(name: str) -> int:
    from importlib import import_module

    from bmx_grid.commands import COMMANDS
    from bmx_grid.core.errors import ConfigError, unknown

    if "--version" in sys.argv[1:]:
        from importlib.metadata import version

        from bmx_grid import __version__

        print(f"bmx-grid {__version__}\nHydra {version('hydra-core')}")
        return 0
    if not name or sys.argv[1:] in (["--help"], ["-h"], ["help"]):
        print(str(__doc__).rstrip())
        return 0 if name else 2
    if name in COMMANDS:
        status: int = import_module(COMMANDS[name]).main(sys.argv[2:])
        return status
    if name and "=" not in name and not name.startswith(("-", "+", "~")):
        raise ConfigError(f"{unknown('command', name, COMMANDS)} A sweep is run as bmx-grid +sweep=NAME.")
    from bmx_grid.commands.run import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    main()
