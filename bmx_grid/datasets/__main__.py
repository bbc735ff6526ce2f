"""The old name of `python -m bmx_grid data`, kept for scripts."""

import sys

from bmx_grid.commands.data import main

if __name__ == "__main__":
    sys.exit(main())
