"""Sweeps beside each other: of each setting the gains of both, and whether they differ.

Read from the scores.parquet of each sweep: two runs of one setting are compared on the segments that both have, drawn
together in clusters, so that the interval is of the difference and not of two gains.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import FACTORS, Column, Table
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import METRIC_ALONE, telling_apart
from bmx_grid.evaluations.base import Kind as Holds
from bmx_grid.evaluations.tables import as_frame, check_columns, read_arrow
from bmx_grid.measures.correlation import Kind, check_kind
from bmx_grid.measures.resampling import (
    codes,
    interval,
    number_of,
    resampled_correlations,
    weighted_correlations,
)
from bmx_grid.sweep.output import table_path

if TYPE_CHECKING:
    import pandas as pd


PREFIX = "boosted_"  # of the columns of scores.parquet that hold a point
SEGMENT = ["id", "system"]
SIGNED = ("gain_a", "gain_b", "difference", "low", "high")
FORMS = {"r_a": ".4f", "r_b": ".4f", **dict.fromkeys(SIGNED, "+.4f")}
NOTE = (
    "gain: over the metric alone of the same run; difference: gain of b minus gain of a (of the metric alone: r of b "
    "minus r of a) on the segments that both runs rated and scored, with its 95 % interval by a bootstrap of clusters."
)


def table_of(frame: pd.DataFrame) -> Table:
    """The rows of `side_by_side` as a table that can be written in any format."""
    columns = [Column(name, name, FORMS.get(name, "")) for name in map(str, frame)]
    return Table.of("side_by_side", "Sweeps beside each other", frame, columns, [NOTE], names=len(FACTORS) + 3)


def side_by_side(
    folders: Sequence[Path], *, correlation: Kind = "pearson", resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Two or more finished sweeps compared, each pair of them: a row per setting and declared point that both have.

    folders: output folders; runs are named by them, shortened to what tells them apart.
    Raises ConfigError for fewer than two folders or one given twice, DataMissingError for a folder without
    scores.parquet, DataError where a segment has different human scores, or no setting is in two runs.
    """
    import pandas as pd

    check_kind(correlation)
    if len(folders) < 2:
        raise ConfigError("give two or more sweeps to compare: analyse FOLDER FOLDER.")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError("results: the same folder is given twice.")
    names = telling_apart([folder.resolve() for folder in folders])
    runs = {name: _scores(folder) for name, folder in zip(names, folders, strict=True)}
    compared: list[dict[str, Any]] = []
    for a, b in itertools.combinations(names, 2):
        key, suffixes = [*FACTORS, *SEGMENT], (" a", " b")
        every = runs[a].merge(runs[b], on=key, how="outer", suffixes=suffixes, indicator="in")
        setting: Any
        for setting, rows in every.groupby(list(FACTORS)):
            counts = rows["in"].value_counts()
            if max(counts["left_only"], counts["right_only"]) == len(rows):
                continue
            known = dict(zip(FACTORS, setting, strict=True))
            only = {"n_only_a": counts["left_only"], "n_only_b": counts["right_only"]}
            both = rows[rows["in"] == "both"]
            for row in _compared(setting, (a, b), both, correlation, resamples, seed):
                compared.append({**known, **row, **only})
    if not compared:
        raise DataError(
            f"{' and '.join(names)} have no setting in common: data set, language pair, metric and explainer must have "
            "the same names in both."
        )
    return pd.DataFrame(compared)


def _scores(folder: Path) -> pd.DataFrame:
    """The scores of every segment of each setting."""
    path = table_path(folder, "scores")
    if not path.is_file():
        raise DataMissingError(f"there is no {path}; give the output folder of a finished sweep.")
    scores = read_arrow(path)
    kinds: dict[str, Holds] = dict.fromkeys((*FACTORS, *SEGMENT, "cluster"), "text")
    kinds |= dict.fromkeys(("human", "base"), "number")
    kinds |= dict.fromkeys((name for name in scores.column_names if name.startswith(PREFIX)), "number")
    check_columns(scores, kinds, path, empty=["system"])
    table = as_frame(scores, path)
    return table.fillna({"system": ""}).astype(dict.fromkeys((*FACTORS, *SEGMENT, "cluster"), str))


def _compared(
    setting: Sequence[str], names: tuple[str, str], both: pd.DataFrame, kind: Kind, resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """The metric alone, and each point that both runs have, on the segments of both."""
    judged = both["human a"].notna() & both["human b"].notna()
    differing = both[judged & (both["human a"] != both["human b"])]
    for row in differing.to_dict("records")[:1]:
        raise DataError(
            f"{' · '.join(setting)}: segment '{':'.join(filter(None, (row[name] for name in SEGMENT)))}' has the human "
            f"score {row['human a']:g} in {names[0]} and {row['human b']:g} in {names[1]}; compare runs on the same "
            "judgements."
        )
    known = both.columns[both.notna().any()]
    points = [name.removesuffix(" a") for name in known if name.startswith(PREFIX) and name.endswith(" a")]
    for point in ("base", *(name for name in points if f"{name} b" in known)):
        columns = list(dict.fromkeys(["base a", "base b", f"{point} a", f"{point} b"]))
        used = both[judged & both[columns].notna().all(axis=1)]
        values, human = used[columns].to_numpy(np.float64), used["human a"].to_numpy(np.float64)
        r, low, high, clusters = _difference(values, human, codes(used["cluster a"]), kind, resamples, seed)
        gains = np.full(2, np.nan) if point == "base" else r[2:] - r[:2]
        yield {
            "point": METRIC_ALONE if point == "base" else point.removeprefix(PREFIX),
            **{"run_a": names[0], "run_b": names[1], "r_a": r[-2], "r_b": r[-1]},
            **{"gain_a": gains[0], "gain_b": gains[1]},
            "difference": float(np.diff(r if point == "base" else gains)[0]),
            **{"low": low, "high": high, "n_segments": len(used), "n_clusters": clusters},
        }


def _difference(
    values: Floats, human: Floats, cluster: Ints, kind: Kind, resamples: int, seed: int
) -> tuple[Floats, float, float, int]:
    """float64[K] correlations of the columns, the interval of the difference, and the number of clusters.

    values: float64[n, K], the metric alone in a and in b; with K = 4 then a point in a and in b, whose gains differ.
    """
    n_columns, count = values.shape[1], number_of(cluster)
    signs = np.array([-1.0, 1.0] if n_columns == 2 else [1.0, -1.0, -1.0, 1.0])
    if not len(human):
        return np.full(n_columns, np.nan), np.nan, np.nan, count
    r = weighted_correlations(kind, values, human, np.ones((len(human), 1)))[:, 0]
    samples = resampled_correlations(kind, values, human, cluster, resamples if np.isfinite(r).all() else 0, seed)
    return r, *interval(signs @ samples, count), count
