"""Compare sweeps: the gains of both in each setting, and whether they differ.

Read from the scores.parquet of each sweep: two runs of one setting are compared on the segments that both have, drawn
together in clusters, so that the interval is of the difference and not of two gains.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import FACTORS, Column, Table
from bmx_grid.core.configure import convert
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, quote_value
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.storage import is_folder
from bmx_grid.core.wording import correlation_in_words, distinct_names
from bmx_grid.evaluations.base import BASE, SettingNames
from bmx_grid.evaluations.base import ColumnKind as Holds
from bmx_grid.evaluations.stored_tables import Tables, as_frame, check_columns, read_arrow
from bmx_grid.measures.correlation import Kind, check_kind, correlate
from bmx_grid.measures.correlations_of_resamples import resampled_correlations
from bmx_grid.measures.resampling import codes, interval, number_of
from bmx_grid.sweep.folder import table_files, table_path
from bmx_grid.sweep.tables import SettingsRow

if TYPE_CHECKING:
    import pandas as pd


PREFIX = "boosted_"  # of the columns of scores.parquet that hold a point
SEGMENT = ["id", "system"]
HUMAN = "human"
CLUSTER = "cluster"
BASELINE = "baseline"  # a point in the frames of users
SIGNED = ("gain_a", "gain_b", "difference", "low", "high")
DROPPABLE = ("correlation", "n_only_b", "n_only_a", "n_clusters", "n_segments", "gain_b", "gain_a", "r_b", "r_a")
FORMS = {"r_a": ".4f", "r_b": ".4f", **dict.fromkeys(SIGNED, "+.4f")}
NOTE = (
    "gain: over the baseline of the same run; difference: gain of b minus gain of a (of the baseline: r of b "
    "minus r of a) on the segments that both runs rated and scored, with its 95 % interval by a bootstrap of clusters."
)


def table_of(frame: pd.DataFrame) -> Table:
    """The rows of `compare_sweeps` as a table that can be written in any format."""
    kind = correlation_in_words(frame["correlation"].iloc[0])
    columns = [Column(name, name, FORMS.get(name, "")) for name in map(str, frame)]
    title = f"Comparison of sweeps: differences of {kind}"
    runs = frame[["run_a", "run_b"]].drop_duplicates()
    if len(runs) == 1:
        title += f", a: {runs['run_a'].iloc[0]}, b: {runs['run_b'].iloc[0]}"
    table = Table.from_rows("side_by_side", title, frame, columns, [NOTE], names=len(FACTORS) + 3)
    # The difference and its interval stay.
    return replace(table, droppable=tuple(name for name in DROPPABLE if name in frame))


def compare_sweeps(
    folders: Sequence[Path], *, correlation: Kind | None = None, resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Compare every two of several finished sweeps: a row per setting and declared point that both have.

    folders: output folders; runs have their names, shortened to the parts that differ. correlation: None for that of
    the sweeps, Pearson's r if they have none.
    Raises ConfigError for fewer than two folders or a repeated one, and for sweeps of different correlations if none is
    named; DataMissingError for a folder without scores.parquet, DataError if a segment has different human scores, or
    no setting is in two runs.
    """
    import pandas as pd

    if correlation is not None:
        check_kind(correlation)
    if len(folders) < 2:
        raise ConfigError("give two or more sweeps to compare: analyse FOLDER FOLDER.")
    for folder in folders:
        if not is_folder(folder):
            raise DataMissingError(f"folder {quote_value(str(folder))} not found; give the output folder of a sweep.")
    resolved = [folder.resolve() for folder in folders]
    if len(set(resolved)) < len(resolved):
        raise ConfigError("results: a folder is repeated; give two different sweeps, or one.")
    names = distinct_names(resolved)
    kind = correlation or _shared_correlation(dict(zip(names, folders, strict=True)))
    runs = {name: _scores(folder) for name, folder in zip(names, folders, strict=True)}
    compared: list[ComparedPoint] = []
    for names_of_pair in itertools.combinations(names, 2):
        a, b = (runs[name] for name in names_of_pair)
        shared = sorted(a.keys() & b.keys())
        for setting in shared:
            both = (a[setting], b[setting])
            compared += _compare_points(setting, names_of_pair, both, kind, resamples, seed)
    if not compared:
        raise DataError(
            f"{' and '.join(names)} have no setting in common: data set, language pair, metric and explainer must have "
            "the same names in both."
        )
    return pd.DataFrame(compared)


@dataclass(frozen=True, eq=False)
class ScoredSegments:
    """N segments of a setting, by id and system, with their clusters.

    human: float64[N] scores of people; points: float64[N] scores by column, those of the baseline first.
    """

    segments: Sequence[tuple[str, ...]]
    clusters: NDArray[Any]
    human: Floats
    points: Mapping[str, Floats]

    def select(self, segments: Iterable[tuple[str, ...]]) -> ScoredSegments:
        """These segments, in this order."""
        places = {segment: place for place, segment in enumerate(self.segments)}
        rows = [places[segment] for segment in segments]
        return ScoredSegments(
            segments=[self.segments[row] for row in rows],
            clusters=self.clusters[rows],
            human=self.human[rows],
            points={name: scores[rows] for name, scores in self.points.items()},
        )


@dataclass(frozen=True)
class ComparedPoint:
    """A setting at a point of two runs, a and b, on the n_segments that both rated and scored.

    r: correlations, of the kind `correlation`; gain: over the baseline of the same run; difference: of the gains, of
    the baseline of the correlations, with its 95 % interval by a bootstrap of clusters. n_only: segments of one run
    only.
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    point: str
    run_a: str
    run_b: str
    r_a: float
    r_b: float
    gain_a: float
    gain_b: float
    difference: float
    low: float
    high: float
    n_segments: int
    n_clusters: int
    n_only_a: int
    n_only_b: int
    correlation: Kind


def _shared_correlation(folders: Mapping[str, Path]) -> Kind:
    """The correlation of all sweeps (folders by name); Pearson's r if no sweep has one.

    Raises ConfigError for different ones.
    """
    run_of_kind: dict[str, str] = {}
    for name, folder in folders.items():
        tables = Tables(table_files(folder))
        for kind in tables.checked_table("settings", SettingsRow)["correlation"].unique():
            # Metrics without an explainer may have none.
            if kind:
                run_of_kind.setdefault(kind, name)
    if len(run_of_kind) > 1:
        (one, run), (other, other_run), *_ = run_of_kind.items()
        raise ConfigError(
            f"{run} has gains in {correlation_in_words(one)}, {other_run} in {correlation_in_words(other)}. "
            f"Compare both in one: add correlation={one}, or correlation={other}."
        )
    shared: Kind = convert(next(iter(run_of_kind), "pearson"), Kind, "correlation")
    return shared


def _scores(folder: Path) -> dict[Any, ScoredSegments]:
    """The scores of every segment of each setting."""
    path = table_path(folder, "scores")
    if not path.is_file():
        raise DataMissingError(f"{path} not found; give the output folder of a finished sweep.")
    scores = read_arrow(path)
    texts = (*FACTORS, *SEGMENT, CLUSTER)
    points = [BASE, *(name for name in scores.column_names if name.startswith(PREFIX))]
    kinds: dict[str, Holds] = {}
    kinds |= dict.fromkeys(texts, "text")
    kinds |= dict.fromkeys((HUMAN, *points), "number")
    check_columns(scores, kinds, path, empty=["system"])
    # An output without a named system is still matched, by its segment.
    table = as_frame(scores, path).fillna({"system": ""}).astype(dict.fromkeys(texts, str))
    by_setting = {}
    for setting, rows in table.groupby(list(FACTORS)):
        by_setting[setting] = ScoredSegments(
            segments=list(rows[SEGMENT].itertuples(index=False, name=None)),
            clusters=rows[CLUSTER].to_numpy(),
            human=rows[HUMAN].to_numpy(np.float64),
            points={name: rows[name].to_numpy(np.float64) for name in points},
        )
    return by_setting


def _compare_points(
    setting: SettingNames,
    names: tuple[str, str],
    runs: tuple[ScoredSegments, ScoredSegments],
    kind: Kind,
    resamples: int,
    seed: int,
) -> Iterator[ComparedPoint]:
    """The baseline, and each point that both runs have, on the segments of both; nothing without any."""
    run_a, run_b = runs
    shared = sorted(set(run_a.segments) & set(run_b.segments))
    if not shared:
        return
    a = run_a.select(shared)
    b = run_b.select(shared)
    _check_judgements(setting, names, a, b)
    judged = ~np.isnan(a.human) & ~np.isnan(b.human)
    for point in a.points:
        columns = [a.points[BASE], b.points[BASE]]
        if point != BASE:
            undefined = np.full(len(shared), np.nan)
            boosted_a = a.points[point]
            boosted_b = b.points.get(point, undefined)
            if np.isnan(boosted_a).all() or np.isnan(boosted_b).all():
                continue
            columns += [boosted_a, boosted_b]
        values = np.stack(columns, axis=1)
        # All correlations on the same segments: the difference is not one of samples.
        used = judged & ~np.isnan(values).any(axis=1)
        clusters = codes(a.clusters[used])
        r, low, high, n_clusters = _difference(values[used], a.human[used], clusters, kind, resamples, seed)
        name = BASELINE
        gains = np.full(2, np.nan)
        difference = r[1] - r[0]
        if point != BASE:
            name = point.removeprefix(PREFIX)
            gains = r[2:] - r[:2]
            difference = gains[1] - gains[0]
        yield ComparedPoint(
            *setting,
            name,
            *names,
            r_a=r[-2],
            r_b=r[-1],
            gain_a=gains[0],
            gain_b=gains[1],
            difference=float(difference),
            low=low,
            high=high,
            n_segments=int(used.sum()),
            n_clusters=n_clusters,
            n_only_a=len(run_a.segments) - len(shared),
            n_only_b=len(run_b.segments) - len(shared),
            correlation=kind,
        )


def _check_judgements(setting: SettingNames, names: tuple[str, str], a: ScoredSegments, b: ScoredSegments) -> None:
    """Raise DataError if the human scores of a segment differ between two runs."""
    judged = ~np.isnan(a.human) & ~np.isnan(b.human)
    contradicting = np.flatnonzero(judged & (a.human != b.human))
    if len(contradicting):
        # The first is enough to find the cause by.
        row = contradicting[0]
        segment = ":".join(filter(None, a.segments[row]))
        raise DataError(
            f"{' · '.join(setting)}: segment '{segment}' has the human score "
            f"{a.human[row]:g} in {names[0]} and {b.human[row]:g} in {names[1]}; compare runs on the same judgements."
        )


def _difference(
    values: Floats, human: Floats, cluster: Ints, kind: Kind, resamples: int, seed: int
) -> tuple[Floats, float, float, int]:
    """float64[K] correlations of the columns, the interval of the difference, and the number of clusters.

    values: float64[n, K], the baseline in a and in b; with K = 4 then a point in a and in b, whose gains differ.
    """
    n_columns = values.shape[1]
    n_clusters = number_of(cluster)
    # b minus a; of points gain of b minus gain of a: (b - base of b) - (a - base of a).
    signs = [-1.0, 1.0]
    if n_columns == 4:
        signs = [1.0, -1.0, -1.0, 1.0]
    if not len(human):
        return np.full(n_columns, np.nan), np.nan, np.nan, n_clusters
    # As the sweeps compute them, to the last bit.
    r = np.array([correlate(kind, column, human) for column in values.T])
    # Nothing is drawn for an undefined correlation: the interval is NaN in any case.
    drawn = resamples if np.isfinite(r).all() else 0
    samples = resampled_correlations(kind, values, human, cluster, drawn, seed)
    low, high = interval(np.array(signs) @ samples, n_clusters)
    return r, low, high, n_clusters
