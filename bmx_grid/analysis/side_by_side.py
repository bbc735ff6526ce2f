"""Sweeps beside each other: of each setting the gains of both, and whether they differ.

Read from the scores.parquet of each sweep: two runs of one setting are compared on the segments that both have, drawn
together in clusters, so that the interval is of the difference and not of two gains.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.frames import read_frame
from bmx_grid.analysis.table import FACTORS
from bmx_grid.errors import ConfigError, DataError, DataMissingError
from bmx_grid.measures.correlation import Kind, check_kind
from bmx_grid.measures.resampling import (
    codes,
    interval,
    number_of,
    resampled_correlations,
    weighted_correlations,
)
from bmx_grid.sweep.output import table_path
from bmx_grid.wording import counted, telling_apart

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

PREFIX = "boosted_"  # of the columns of scores.parquet that hold a point
BASE = "metric alone"
SEGMENT = ["id", "system"]
NUMBERS = ("r_a", "r_b", "gain_a", "gain_b", "difference", "low", "high")
NOTE = (
    "gain: over the metric alone of the same run; difference: gain of b minus gain of a (of the metric alone: r of b "
    "minus r of a) on the segments that both runs rated and scored, with its 95 % interval by a bootstrap of clusters."
)


@dataclass(frozen=True, eq=False)
class SideBySide:
    """frame: one row per setting, point and pair of runs. only: by run how many settings no other run has."""

    frame: pd.DataFrame
    only: dict[str, int]

    def table(self) -> Table:
        """The rows as a table that can be written in any format."""
        header = tuple(self.frame.columns)
        rows = tuple(
            tuple(
                Cell(value if isinstance(value, str) else float(value), "+.4f" if name in NUMBERS[2:] else ".4f")
                if name in NUMBERS or isinstance(value, str)
                else Cell(int(value))
                for name, value in zip(header, row, strict=True)
            )
            for row in self.frame.itertuples(index=False)
        )
        notes = (
            NOTE,
            *(f"{name}: {counted(n, 'setting')} that no other run has." for name, n in self.only.items() if n),
        )
        return Table("side_by_side", "Sweeps beside each other", header, (rows,), notes, names=len(FACTORS) + 3)


def side_by_side(
    folders: Sequence[Path], *, correlation: Kind = "pearson", resamples: int = 1000, seed: int = 0
) -> SideBySide:
    """Two or more finished sweeps compared, each pair of them, at every declared point that both have.

    folders: output folders; runs are named by them, shortened to what tells them apart.
    Raises ConfigError for fewer than two folders or one given twice, DataMissingError for a folder without
    scores.parquet, DataError where a segment has different human scores, or no setting is in two runs.
    """
    check_kind(correlation)
    if len(folders) < 2:
        raise ConfigError("give two or more sweeps to compare: analyse FOLDER FOLDER.")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError("results: the same folder is given twice.")
    names = telling_apart([folder.resolve() for folder in folders])
    read = {name: _scores(folder) for name, folder in zip(names, folders, strict=True)}
    rows: list[dict[str, Any]] = []
    shared: dict[str, set[Any]] = {name: set() for name in names}
    for a, b in itertools.combinations(names, 2):
        both = [key for key in read[a] if key in read[b]]
        for name in (a, b):
            shared[name] |= set(both)
        for key in both:
            rows += _compared(
                dict(zip(FACTORS, key, strict=True)), (a, b), (read[a][key], read[b][key]), correlation, resamples, seed
            )
    if not rows:
        raise DataError(
            f"{' and '.join(names)} have no setting in common: data set, language pair, metric and explainer must have "
            "the same names in both."
        )
    import pandas as pd

    return SideBySide(pd.DataFrame(rows), {name: len(read[name]) - len(shared[name]) for name in names})


def _scores(folder: Path) -> dict[tuple[str, ...], pd.DataFrame]:
    """The scores of each setting, by its names."""
    path = table_path(folder, "scores")
    if not path.is_file():
        raise DataMissingError(f"there is no {path}; give the output folder of a finished sweep.")
    table = read_frame(path)
    missing = [name for name in (*FACTORS, *SEGMENT, "cluster", "human", "base") if name not in table]
    if missing:
        raise DataError(f"{path}: no column {', '.join(missing)}; it is not the table of scores of a sweep.")
    return {
        tuple(map(str, key)): own for key, own in table.groupby(list(FACTORS), sort=False, observed=True) if len(own)
    }


def _compared(
    setting: dict[str, str],
    names: tuple[str, str],
    own: tuple[pd.DataFrame, pd.DataFrame],
    kind: Kind,
    resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    known = [{str(name) for name in one.columns[one.notna().any()]} for one in own]
    points = [str(name) for name in own[0] if str(name).startswith(PREFIX) and known[0] & known[1] >= {str(name)}]
    left, right = (one.fillna({"system": ""}).set_index(SEGMENT) for one in own)
    both = left.merge(right, left_index=True, right_index=True, suffixes=(" a", " b"))
    judged = both["human a"].notna() & both["human b"].notna()
    differing = judged & (both["human a"] != both["human b"])
    if differing.any():
        at = both.index[differing][0]
        raise DataError(
            f"{' · '.join(setting.values())}: segment '{':'.join(filter(None, map(str, at)))}' has the human score "
            f"{both['human a'][differing].iloc[0]:g} in {names[0]} and {both['human b'][differing].iloc[0]:g} in "
            f"{names[1]}; compare runs on the same judgements."
        )
    rows = []
    for point in ("", *points):
        columns = ["base a", "base b", *([f"{point} a", f"{point} b"] if point else [])]
        used = both[judged & both[columns].notna().all(axis=1)]
        values, human = used[columns].to_numpy(np.float64), used["human a"].to_numpy(np.float64)
        found, low, high, clusters = _difference(
            values, human, codes(used["cluster a"].astype(str)), kind, resamples, seed
        )
        last = found[-2:]
        gains = last - found[:2] if point else np.array([np.nan, np.nan])
        rows.append(
            {
                **setting,
                "point": point.removeprefix(PREFIX) or BASE,
                **{"run_a": names[0], "run_b": names[1], "r_a": last[0], "r_b": last[1]},
                **{"gain_a": gains[0], "gain_b": gains[1]},
                "difference": float(gains[1] - gains[0] if point else last[1] - last[0]),
                **{"low": low, "high": high, "n_segments": len(used), "n_clusters": clusters},
                **{"n_only_a": len(left) - len(both), "n_only_b": len(right) - len(both)},
            }
        )
    return rows


def _difference(
    values: Floats, human: Floats, cluster: NDArray[np.int64], kind: Kind, resamples: int, seed: int
) -> tuple[Floats, float, float, int]:
    """float64[K] correlations of the columns, the interval of the difference, and the number of clusters.

    values: float64[n, K], the metric alone in a and in b; with K = 4 then a point in a and in b, whose gains differ.
    """
    n_columns = values.shape[1]
    signs = np.array([-1.0, 1.0] if n_columns == 2 else [1.0, -1.0, -1.0, 1.0])
    count = number_of(cluster)
    if not len(human):
        return np.full(n_columns, np.nan), np.nan, np.nan, count
    found = weighted_correlations(kind, values, human, np.ones((len(human), 1)))[:, 0]
    samples = resampled_correlations(kind, values, human, cluster, resamples if np.isfinite(found).all() else 0, seed)
    return found, *interval(signs @ samples, count), count
