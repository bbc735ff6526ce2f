"""What was run: data sets, settings, grid, and which parts of a table are not analysed (paper Table 1, appendix B)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import Given, SegmentCounts
from bmx_grid.analysis.table import GridTable, LeftOut

Row = tuple[Cell, ...]


@dataclass(frozen=True)
class GridAxes:
    """p from p_first to p_last in n_p values; w; whose words were aggregated."""

    p_first: float
    p_last: float
    n_p: int
    w: Sequence[float]
    side: str


@dataclass(frozen=True, eq=False)
class Overview:
    """Counts of a table; correlations are those with w other than 1, n_undefined of them NaN."""

    n_settings: int
    n_correlations: int
    n_settings_without_controls: int
    n_undefined: int
    left_out: Sequence[LeftOut]
    grid: GridAxes
    table: GridTable = working()
    segments: SegmentCounts | None = working()


def compute(given: Given) -> Overview:
    """The counts of the whole table, controls included."""
    table = given.table
    return Overview(
        n_settings=len(table),
        n_correlations=table.n_boosted,
        n_settings_without_controls=len(given.real),
        n_undefined=int(np.isnan(table.correlation[:, :, table.boosted]).sum()),
        left_out=table.left_out,
        grid=GridAxes(float(table.p[0]), float(table.p[-1]), len(table.p), table.w.tolist(), table.side),
        table=table,
        segments=given.options.segments,
    )


def tables(result: Overview) -> Sequence[Table]:
    """Data sets with their language pairs and segments; settings and correlations of each data set."""
    return _datasets(result.table, result.segments), _counts(result.table)


def _datasets(table: GridTable, segments: SegmentCounts | None) -> Table:
    sets = table.factor_levels("dataset")
    pairs = {name: table.take(table.where(dataset=name)).factor_levels("language_pair") for name in sets}
    body = []
    for at in range(max(map(len, pairs.values()))):
        found = [pairs[name][at] if at < len(pairs[name]) else None for name in sets]
        body.append((Cell("language pairs" if at == 0 else ""), *map(Cell, found)))
    below: list[Row] = [(Cell("settings"), *(Cell(int(table.where(dataset=name).sum()), ",") for name in sets))]
    times = Counter(pair for found in pairs.values() for pair in found)
    several = sorted(pair for pair, count in times.items() if count > 1)
    notes = [f"In several data sets: {', '.join(several)}."] if several else []
    if segments is None:
        notes.append("A results table does not hold the number of segments it rests on.")
    else:
        counts = {name: [segments.get((name, pair)) for pair in pairs[name]] for name in sets}
        below.append((Cell("segments per pair"), *(Cell(_range(counts[name])) for name in sets)))
        below.append((Cell("segments"), *(_total(counts[name]) for name in sets)))
    # The first column has no name: its cells say what a row holds.
    return Table("datasets", "Data sets", ("", *sets), (tuple(body), tuple(below)), tuple(notes))


def _range(counts: list[int | None]) -> str:
    known = sorted({one for one in counts if one is not None})
    if not known:
        return "not known"
    text = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
    missing = counts.count(None)
    return text if missing == 0 else f"{text}, {missing} not known"


def _total(counts: list[int | None]) -> Cell:
    known = [one for one in counts if one is not None]
    return Cell(sum(known), ",") if len(known) == len(counts) else Cell("not known")


def _counts(table: GridTable) -> Table:
    sets = table.factor_levels("dataset")
    rows = [(Cell(name), *_numbers(table.take(table.where(dataset=name)))) for name in sets]
    notes = [
        "Controls (random metric, random explainer) included. A setting is a data set, language pair, metric and "
        "explainer that was run; correlations: settings times p times w other than 1, undefined ones included."
    ]
    notes += [f"Left out: {one}." for one in table.left_out]
    header = ("data set", "metrics", "explainers", "language pairs", "settings", "p", "w below 1", "correlations")
    total = (Cell("all"), *_numbers(table))
    return Table("counts", "Number of correlations", header, (tuple(rows), (total,)), tuple(notes))


def _numbers(part: GridTable) -> Row:
    levels = [len(part.factor_levels(factor)) for factor in ("metric", "explainer", "language_pair")]
    numbers = [*levels, len(part), len(part.p), int(part.boosted.sum()), part.n_boosted]
    return tuple(Cell(one, ",") for one in numbers)
