"""Hold results against the published values of a paper. Prints published / ours / difference / verdict.

python experiments/compare.py NAME [--part PART] RESULTS...

NAME: a folder next to this file, with
    expected.yaml    every value, where it stands in the paper, its tolerance
    quantities.py    optional: PARTS, by name the functions that make checks of results and of what is expected,
                     (list of GridTable, expected) -> checks; the first part is the default. Its function `read`,
                     if there is one, reads the results in place of tables of grids;
                     RESULTS = False says that it needs none
RESULTS: tables of grids (grid.parquet of a sweep, or its folder), as the part wants them. Without quantities.py one
    table, whose analysis.json is held against the `values` of expected.yaml.

Exit status 1 when a value is out of tolerance, 2 for a mistake in the command or in a table.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that a checkout needs no installation

from bmx_grid.analysis.base import GridTable
from bmx_grid.analysis.load import load_table
from bmx_grid.analysis.questions import analyse_table, to_dict
from bmx_grid.core.errors import BmxError, ConfigError, unknown

HERE = Path(__file__).resolve().parent
EXACT = 1e-9  # of the differences themselves: 0.7072 against 0.7073 is a difference of 1e-4, not a little more
AGREE, DIFFER, ABSENT = "agree", "differ", "not here"
VERDICTS = {AGREE: "agrees", DIFFER: "DIFFERS"}

Part = Callable[[list[GridTable], Mapping[str, Any]], "Iterable[Check]"]


@dataclass(frozen=True)
class Check:
    """A published value and ours, None where there is none, with the reason.

    at: where it stands in the paper; tolerance: the largest difference that agrees; reason: why there is none; needs:
        what it takes to agree, where a table cannot tell.
    """

    name: str
    at: str
    published: float
    ours: float | None
    tolerance: float
    reason: str = "not in this table"
    needs: str = ""

    @property
    def verdict(self) -> str:
        """Whether the two agree. An undefined value of ours differs."""
        if self.ours is None:
            return ABSENT
        return AGREE if abs(self.ours - self.published) <= self.tolerance + EXACT else DIFFER


def main(arguments: list[str]) -> int:
    """Print the comparison; the exit status."""
    try:
        folder, part, paths = _read(arguments)
        expected = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
        read = getattr(_quantities(folder), "read", load_table)
        checks = list(part([read(path) for path in paths], expected))
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return show(checks)


def show(checks: Iterable[Check]) -> int:
    """Print a row per check and the number of each verdict; the exit status."""
    checks = list(checks)
    print("\n".join(lines(checks)))
    return 1 if any(check.verdict == DIFFER for check in checks) else 0


def lines(checks: Iterable[Check]) -> Iterator[str]:
    """A row per check, and the number of each verdict."""
    yield f"{'value':<49}{'at':<23}{'published':>10}{'ours':>12}{'difference':>12}  verdict"
    verdicts = Counter({AGREE: 0, DIFFER: 0})
    for one in checks:
        verdicts[one.verdict] += 1
        head = f"{one.name:<49}{one.at:<23}{_number(one.published):>10}"
        if one.ours is None:
            yield f"{head}{'':>24}  {ABSENT}: {one.reason}"
        else:
            difference = round(one.ours - one.published, 5) + 0.0  # none is printed as -0.00000
            why = f": needs {one.needs}" if one.verdict == DIFFER and one.needs else ""
            yield f"{head}{_number(one.ours):>12}{difference:>+12.5f}  {VERDICTS[one.verdict]}{why}"
    yield ""
    yield ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())


def values_of(found: Mapping[str, Any], values: Iterable[Mapping[str, Any]], tolerance: float) -> Iterator[Check]:
    """Checks of an analysis (`analysis.json` as a mapping); `key` of a value is its path in there."""
    for one in values:
        ours: Any = found
        for part in one["key"].split("/"):
            ours = ours.get(part) if isinstance(ours, Mapping) else None
        yield Check(one["name"], one["at"], one["published"], ours, one.get("tolerance", tolerance))


def analysis_of(table: GridTable, select_from: GridTable | None = None) -> dict[str, Any]:
    """The analysis of a table as in analysis.json, at its own medians or at those of another table."""
    return to_dict(analyse_table(table, select_from=select_from))


def settings_of(table: GridTable, **names: str) -> GridTable:
    """The settings of a table with all these names."""
    return table.take(np.array([names.items() <= setting._asdict().items() for setting in table.settings]))


def analysis_part(tables: list[GridTable], expected: Mapping[str, Any]) -> Iterator[Check]:
    """The part of a paper that has no quantities of its own."""
    if len(tables) != 1:
        raise ConfigError(f"expected one table of results, got {len(tables)}.")
    return values_of(analysis_of(tables[0]), expected["values"], expected["tolerance"])


def _read(arguments: list[str]) -> tuple[Path, Part, list[Path]]:
    """The folder of the paper, the part, the results. Raises ConfigError."""
    papers = sorted(path.parent.name for path in HERE.glob("*/expected.yaml"))
    if not arguments:
        raise ConfigError(
            f"which paper? python experiments/compare.py NAME RESULTS...; there are: {', '.join(papers)}."
        )
    name, rest = arguments[0], arguments[1:]
    if name not in papers:
        raise ConfigError(unknown("paper", name, papers))
    parts = _parts(HERE / name)
    part = next(iter(parts))
    if rest[:1] == ["--part"]:
        part = rest[1] if len(rest) > 1 else ""
        rest = rest[2:]
        if part not in parts:
            raise ConfigError(unknown("part", part, parts))
    options = [one for one in rest if one.startswith("-")]
    if options:
        raise ConfigError(f"unknown option '{options[0]}'; the only one is --part, directly after the paper.")
    if not rest and getattr(_quantities(HERE / name), "RESULTS", True):
        raise ConfigError(f"which results? python experiments/compare.py {name} --part {part} RESULTS...")
    return HERE / name, parts[part], [Path(one) for one in rest]


def _parts(folder: Path) -> Mapping[str, Part]:
    found = _quantities(folder)
    parts: Mapping[str, Part] = {"paper": analysis_part} if found is None else found.PARTS
    return parts


@functools.cache
def _quantities(folder: Path) -> Any:
    """The module quantities.py of a paper; None without it."""
    file = folder / "quantities.py"
    if not file.is_file():
        return None
    # The module may import this one, which runs as __main__.
    sys.modules.setdefault("compare", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location(f"{folder.name}_quantities", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.5f}" if math.isfinite(value) else "undefined"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
