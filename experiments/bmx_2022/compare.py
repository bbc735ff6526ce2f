"""Hold results against published values. Prints published / ours / difference / verdict.

python experiments/bmx_2022/compare.py --paper TABLE [HELD_OUT_TABLE ...]
    TABLE: the authors' published grid, or the grid.parquet of +sweep=paper: every number of the paper's section 4.
    HELD_OUT_TABLE: grids of +sweep=wmt22 and +sweep=mqm21, evaluated at the medians of TABLE.

python experiments/bmx_2022/compare.py GRID [AUTHORS_GRID]
    GRID: the grid.parquet of a sweep over WMT17 with sentence_bleu and chrf: baselines; with AUTHORS_GRID, the
    authors' published grid, whole grids point by point.

Exit status 1 when a value is out of tolerance, 2 for a mistake in the command or in a table.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that a checkout needs no installation

from bmx_grid.analysis.as_json import plain
from bmx_grid.analysis.given import Options
from bmx_grid.analysis.load import load_table
from bmx_grid.analysis.run import analyse
from bmx_grid.analysis.table import FACTORS, GridTable
from bmx_grid.errors import BmxError

EXACT = 1e-9  # of the differences themselves: 0.7072 against 0.7073 is a difference of 1e-4, not a little more
AGREES, DIFFERS, ABSENT = "agrees", "DIFFERS", "not here"


def main(arguments: list[str]) -> int:
    """Print the comparison; the exit status."""
    paper = arguments[:1] == ["--paper"]
    paths = [Path(argument) for argument in arguments[paper:]]
    if not paths or (not paper and len(paths) > 2) or any(str(path).startswith("-") for path in paths):
        print(__doc__, file=sys.stderr)
        return 2
    expected = yaml.safe_load((Path(__file__).parent / "expected.yaml").read_text(encoding="utf-8"))
    try:
        tables = [load_table(path) for path in paths]
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if paper:
        missed = compare_paper(tables[0], tables[1:], expected["paper"])
    else:
        missed = compare_baselines(tables[0], expected["baselines"])
        if len(tables) == 2:
            missed += compare_grids(tables[0], tables[1], expected["authors_grid"])
    return 1 if missed else 0


def compare_paper(main_table: GridTable, held_out: list[GridTable], expected: dict[str, Any]) -> int:
    """Every number of the paper that a table of grids gives; the number of values out of tolerance."""
    found = plain(analyse(main_table))
    others = {}
    for table in held_out:
        result = plain(analyse(table, Options(select_from=main_table)))
        others.update(dict.fromkeys(table.factor_levels("dataset"), result))
    print(f"{'value':<49}{'at':<23}{'published':>10}{'ours':>12}{'difference':>12}  verdict")
    verdicts = Counter(_row(one, found, expected["tolerance"]) for one in expected["values"])
    for one in expected["held_out"]:
        if one["dataset"] in others:
            verdicts[_row(one, others[one["dataset"]], expected["tolerance"])] += 1
        else:
            verdicts[ABSENT] += 1
            needs = expected["needs"][one["dataset"]]
            print(f"{_head(one)}{'':>24}  {ABSENT}: needs {needs}")
    print(f"\n{', '.join(f'{count} {verdict}' for verdict, count in verdicts.items())}")
    return verdicts[DIFFERS]


def _row(one: dict[str, Any], found: Any, tolerance: float) -> str:
    """Print one value; the verdict."""
    ours, published = found, one["published"]
    for part in one["key"].split("/"):
        ours = ours.get(part) if isinstance(ours, dict) else None
    if ours is None:
        print(f"{_head(one)}{'':>24}  {ABSENT}: not in this table")
        return ABSENT
    difference = ours - published
    verdict = AGREES if abs(difference) <= one.get("tolerance", tolerance) + EXACT else DIFFERS
    print(f"{_head(one)}{_number(ours):>12}{difference:>+12.5f}  {verdict}")
    return verdict


def _head(one: dict[str, Any]) -> str:
    return f"{one['name']:<49}{one['at']:<23}{_number(one['published']):>10}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.5f}"


def compare_baselines(ours: GridTable, expected: dict[str, Any]) -> int:
    """The metric alone (w = 1) on each language pair."""
    alone = {one[:3]: value for one, value in zip(ours.settings, ours.baseline.tolist(), strict=True)}
    missed = 0
    print(f"{'baseline':<32}{'published':>10}{'ours':>10}{'difference':>12}  verdict")
    for metric, pairs in expected["wmt17"].items():
        for pair, published in pairs.items():
            value = alone.get(("wmt17", pair, metric), float("nan"))
            good = abs(value - published) <= expected["tolerance"]
            verdict = "agrees" if good else "not in this sweep" if np.isnan(value) else "DIFFERS"
            missed += verdict == "DIFFERS"
            label = f"wmt17 {pair} {metric}"
            print(f"{label:<32}{published:>10.4f}{value:>10.4f}{value - published:>12.4f}  {verdict}")
    return missed


def compare_grids(ours: GridTable, theirs: GridTable, expected: dict[str, Any]) -> int:
    """Whole grids, point by point."""
    missed = 0
    same = np.array_equal(ours.p, theirs.p) and np.array_equal(ours.w, theirs.w)
    print(f"\n{'grid':<46}{'correlation':>12}{'baseline: theirs':>18}{'ours':>9}  verdict")
    for setting in expected["settings"]:
        names = {factor: setting[factor] for factor in FACTORS}
        one, other = (table.take(table.where(**names)) for table in (ours, theirs))
        label = " ".join(names.values())
        if not len(one) or not len(other):
            print(f"{label:<46}  not in {'this sweep' if len(other) else 'the published grid'}")
            continue
        points = [table.correlation.ravel() for table in (one, other)]
        agreement = float(np.corrcoef(*points)[0, 1]) if same else float("nan")
        baselines = [float(table.baseline[0]) for table in (other, one)]
        good = agreement > expected["least_correlation"]
        good = good and abs(baselines[0] - baselines[1]) <= expected["baseline_within"]
        missed += not good
        verdict = "agrees" if good else "DIFFERS" if same else "DIFFERS: not the same p and w"
        print(f"{label:<46}{agreement:>12.5f}{baselines[0]:>18.4f}{baselines[1]:>9.4f}  {verdict}")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
