"""The old name of `python -m bmx_grid analyse`, kept for scripts."""

import sys

from bmx_grid.commands.analyse import main

if __name__ == "__main__":
    sys.exit(main())
