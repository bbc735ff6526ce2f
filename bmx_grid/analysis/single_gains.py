"""Every gain at a declared point with its interval and test, and its spread over seeds of the explainer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import beside, tested
from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import Floats, GridTable
from bmx_grid.analysis.tested import MARKED, Tested


@dataclass(frozen=True, eq=False)
class SingleGains:
    """single_gains: how many were tested, and how many gains and losses survive Holm's correction.

    tested: all settings at their declared points; seeds: float64[S, R] their gains there with each of R seeds.
    """

    single_gains: dict[str, int]
    tested: Tested = working()
    seeds: Floats = working()
    real: GridTable = working()


def compute(given: Given) -> SingleGains:
    """The settings that are not controls at their declared points."""
    at = given.ask(tested.declared)
    counts = {
        "tested": int(np.isfinite(at.p_holm).sum()),
        "survive": int(at.survives.sum()),
        "lost": int(at.lost.sum()),
    }
    return SingleGains(counts, at, beside.at_seeds(given, given.real, at.points), given.real)


def tables(result: SingleGains) -> Sequence[Table]:
    """One row per setting; no table where nothing was tested."""
    at, seeds = result.tested, result.seeds
    if not at.test:
        return ()
    several = seeds.shape[1] > 1
    rows = []
    for row, setting in enumerate(result.real.settings):
        if math.isnan(at.gain[row]):
            continue
        cells = (Cell(float(at.baseline[row]), ".4f"), Cell(float(at.gain[row]), "+.4f", marked=bool(at.survives[row])))
        ends = (Cell(float(at.low[row]), "+.4f"), Cell(float(at.high[row]), "+.4f"))
        tests = (Cell(float(at.p_value[row]), ".3g"), Cell(float(at.p_holm[row]), ".3g"))
        sizes = tuple(
            Cell(int(one), ",") if math.isfinite(one) else Cell(None) for one in (at.n[row], at.clusters[row])
        )
        own = seeds[row][np.isfinite(seeds[row])]
        reached = [Cell(float(own.min()), "+.4f"), Cell(float(own.max()), "+.4f")] if len(own) else [Cell(None)] * 2
        spread = [Cell(len(own)), *reached] if several else []
        rows.append((*map(Cell, setting), Cell(at.points[row]), *cells, *ends, *tests, *sizes, *spread))
    header = ("data set", "language pair", "metric", "explainer", "point", "baseline", "gain", "low", "high")
    notes = (
        f"Gain at the declared point with its 95 % interval by a bootstrap of clusters of segments; p of the test "
        f"{at.test}, and corrected by Holm within its family ({at.family}).",
        MARKED,
        *(["Seeds: the gain with other draws of the explainer, which the interval does not contain."] * several),
    )
    return (
        Table(
            "tested_gains",
            "Gains at declared points, with intervals and tests",
            (*header, "p", "p (Holm)", "segments", "clusters", *(("seeds", "lowest", "highest") if several else ())),
            (tuple(rows),),
            notes,
            names=5,
        ),
    )
