"""The command line: one file per command."""

COMMANDS = ("score", "analyse", "data")  # modules of this package; anything else is a sweep's configuration
