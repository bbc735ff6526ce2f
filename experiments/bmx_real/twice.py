"""The table of the second iteration (appendix E) in README.md, of grids of +sweep=eval4nlp21_twice.

python experiments/bmx_real/twice.py RESULTS...
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that a checkout needs no installation

from bmx_grid.analysis.base import GridTable
from bmx_grid.analysis.load import load_table
from bmx_grid.core.errors import BmxError

BOOSTED = "_boosted"  # ends the name of a metric after the first iteration
HEAD = """\
| pair | metric | alone | first at (.6, −.3) | best of first | best of second | difference, at most | r of the grids |
|---|---|---:|---:|---:|---:|---:|---:|"""


def main(arguments: list[str]) -> int:
    """Print the table; the exit status."""
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        tables = [load_table(Path(argument)) for argument in arguments]
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join([HEAD, *(row for table in tables for row in rows(table))]))
    return 0


def rows(table: GridTable) -> list[str]:
    """A row per setting that has both iterations.

    The largest absolute difference of the two grids, and Pearson's r between them, are over all points with w < 1.
    """
    place = {setting: row for row, setting in enumerate(table.settings)}
    made = []
    for setting, first in place.items():
        second = place.get(setting._replace(metric=f"{setting.metric}{BOOSTED}"))
        if second is None:
            continue
        once, twice = (table.correlation[row][:, table.is_boosted].ravel() for row in (first, second))
        alone = table.baseline[[first, second]]  # of the metric, and of it boosted at one point
        best = table.correlation[first].max(), table.correlation[second].max()
        numbers = (*alone, *best, np.abs(twice - once).max(), np.corrcoef(once, twice)[0, 1])
        cells = " | ".join(f"{number:.4f}" for number in numbers)
        made.append(f"| {setting.dataset} {setting.language_pair} | {setting.metric} | {cells} |")
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
