"""The command line: one file per command."""

# Name -> its module, whose `main(arguments)` returns the exit status; arguments of no command are those of a run.
COMMANDS = {
    "run": "bmx_grid.commands.run",
    "score": "bmx_grid.commands.score",
    "compare": "bmx_grid.commands.compare",
    "analyse": "bmx_grid.commands.analyse",
    "data": "bmx_grid.commands.data",
    "check": "bmx_grid.commands.check",
}
