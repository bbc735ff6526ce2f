"""What the BMX paper's numbers are held against: the parts of `python experiments/compare.py bmx_2022`.

paper            TABLE [HELD_OUT_TABLE ...]: the grid the authors published, or that of +sweep=paper: every number of
                 section 4. HELD_OUT_TABLE: grids of +sweep=wmt22 and +sweep=mqm21, at the medians of TABLE.
wmt17            GRID [AUTHORS_GRID]: a sweep over WMT17 with sentence_bleu and chrf, texts unescaped (the default):
                 baselines; with the authors' grid, whole grids point by point.
wmt17_escaped    the same with dataset.wmt17.unescape=false: the texts as they were published.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from compare import Check, analysis_of, settings_of, values_of

from bmx_grid.analysis.base import GridTable
from bmx_grid.core.errors import ConfigError


def paper(tables: list[GridTable], expected: Mapping[str, Any]) -> Iterator[Check]:
    """Every number of the paper that tables of grids give."""
    main, *others = tables
    expected = expected["paper"]
    yield from values_of(analysis_of(main), expected["values"], expected["tolerance"])
    found: dict[str, Any] = {}
    for table in others:
        found.update(dict.fromkeys(table.factor_levels("dataset"), analysis_of(table, select_from=main)))
    for one in expected["held_out"]:
        if one["dataset"] in found:
            yield from values_of(found[one["dataset"]], [one], expected["tolerance"])
        else:
            needs = f"needs {expected['needs'][one['dataset']]}"
            yield Check(one["name"], one["at"], one["published"], None, 0.0, needs)


def wmt17(tables: list[GridTable], expected: Mapping[str, Any], *, texts: str) -> Iterator[Check]:
    """Baselines of lexical metrics on WMT17, and whole grids against the authors'."""
    if len(tables) > 2:
        raise ConfigError(f"expected a grid, and the authors' grid or none, got {len(tables)} tables.")
    ours, *theirs = tables
    expected = expected["wmt17"][texts]
    for metric, pairs in expected["baselines"].items():
        for pair, measured in pairs.items():
            part = settings_of(ours, dataset="wmt17", language_pair=pair, metric=metric)
            value = float(part.baseline[0]) if len(part) else None
            name = f"baseline, {metric} {pair}"
            yield Check(name, "README", measured, value, expected["tolerance"], "not in this sweep")
    for pair, measured in expected["grids"].items() if theirs else ():
        names = {"dataset": "wmt17", "language_pair": pair, "metric": "sentence_bleu", "explainer": "erasure"}
        value = agreement(*(settings_of(table, **names) for table in (ours, theirs[0])))
        name = f"grids point by point, BLEU Erasure {pair}"
        yield Check(name, "README", measured, value, expected["grid_tolerance"], "not in both tables")


def agreement(ours: GridTable, theirs: GridTable) -> float | None:
    """Pearson's r of two grids over all their points; None where one has no setting, NaN where p or w differ."""
    if not len(ours) or not len(theirs):
        return None
    if not (np.array_equal(ours.p, theirs.p) and np.array_equal(ours.w, theirs.w)):
        return math.nan
    return float(np.corrcoef(ours.correlation[0].ravel(), theirs.correlation[0].ravel())[0, 1])


PARTS = {
    "paper": paper,
    "wmt17": partial(wmt17, texts="unescaped"),
    "wmt17_escaped": partial(wmt17, texts="escaped"),
}
