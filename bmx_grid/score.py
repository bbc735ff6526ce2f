"""The old name of `python -m bmx_grid score`, kept for scripts."""

import sys

from bmx_grid.commands.score import main

if __name__ == "__main__":
    sys.exit(main())
