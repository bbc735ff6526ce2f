"""The tables of a sweep: settings, scores per segment, evaluations, seeds, ceilings."""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid._version import __version__
from bmx_grid.core.identity import canonical_json
from bmx_grid.core.storage import replacing
from bmx_grid.core.wording import escape_unprintable
from bmx_grid.evaluations.base import NAMES, Evaluation, ScoredSetting, SettingRow, columns_of
from bmx_grid.evaluations.boost_evidence import estimate_gain
from bmx_grid.measures.annotators import reliability
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.sweep.judge import SettingResult, grid_evaluation, judge_sweep
from bmx_grid.words.perturbation import ROLES

if TYPE_CHECKING:
    import pyarrow as pa

    from bmx_grid.datasets.segments import SegmentSet

BEST = "best"  # the best point of each seed's own grid
VERSION_KEY = b"bmx_grid"  # in the metadata of a table: the version that wrote it


@dataclass(frozen=True)
class SettingsRow(SettingRow):
    """What questions read of settings.parquet. n_used: the segments that its correlations rest on."""

    KEY = ()
    LATER = ("share_shifted",)

    aggregation: str
    correlation: str
    baseline: float
    n_used: int
    repeat_deviation: float
    constructed: bool
    share_shifted: float


@dataclass(frozen=True)
class SeedRow(SettingRow):
    """One row of seeds.parquet: the gain of a setting at a point with one seed of its explainer."""

    seed: int
    point: str
    gain: float


@dataclass(frozen=True)
class CeilingRow:
    """One row of ceilings.parquet (`ceilings_table`)."""

    dataset: str
    language_pair: str
    human: str
    raters: float
    reliability: float
    ceiling: float


def evaluation_tables(evaluation: Evaluation, results: Iterable[SettingResult]) -> dict[str, pa.Table]:
    """The tables of one evaluation from all results: NAMES, then their columns; texts are dictionary-encoded.

    A setting without a result of this evaluation has no rows.
    Settings are sorted by data set, explainer, metric and language pair, in whatever order they finished. For the grid
    these are, in this order, the columns and rows of the paper's published one.
    """
    import pyarrow as pa

    done = [result for result in sort_results(results) if evaluation.key in result.evaluated]
    columns = [evaluation.columns(result.evaluated[evaluation.key]) for result in done]
    tables = {}
    for table, row_class in evaluation.ROWS.items():
        parts = [of_setting[table] for of_setting in columns]
        sizes = [len(next(iter(part.values()))) for part in parts]
        names = {}
        for name in NAMES:
            names[name] = repeat_names([getattr(result, name) for result in done], sizes)
        columns_here = {}
        for name, kind in columns_of(row_class).items():
            columns_here[name] = _column(kind, [part[name] for part in parts])
        tables[table] = pa.table({**names, **columns_here})
    return tables


def _row(result: SettingResult) -> dict[str, Any]:
    """The columns of settings.csv.

    words_ROLE: the mean number of words of the texts that the metric reads or an explanation is of. n_unexplained: the
    segments without attributions, because the explainer refuses them or the metric has no score for one of their texts.
    """
    finished = result.finished
    segments = finished.segments
    words: dict[str, float] = {}
    for role in finished.text_roles if len(segments) else ():
        words[role] = finished.word_counts(role).sum() / len(segments)
    grid = result.grid
    point = result.published_row
    spec = result.spec
    return {
        **dict(zip(NAMES, result.names, strict=True)),
        "side": "" if spec is None else spec.side,
        "aggregation": "" if spec is None else type(spec.aggregation).__name__,
        "correlation": result.correlation,
        "baseline": grid.baseline,
        "best": grid.best,
        "best_w": grid.best_w,
        "best_p": grid.best_p,
        "plateau": grid.plateau,
        "fixed_w": point.w,
        "fixed_p": point.p,
        "fixed": point.correlation,
        "n_segments": len(segments),
        "n_rated": segments.n_rated,
        "n_used": grid.n_used,
        "n_unexplained": finished.scores.n_unexplained,
        "repeat_deviation": repeat_deviation(finished, result.correlation or "pearson"),
        "constructed": segments.constructed,
        **{f"words_{role}": words.get(role) for role in ROLES},
        "n_undefined": grid.n_undefined,
        "share_shifted": grid.share_shifted,
        "length_control": grid.length_control,
        "signature": result.signature,
        "parameters": canonical_json(dict(result.parameters)),
        "fingerprint": result.fingerprint,
    }


def repeat_deviation(finished: ScoredSetting, correlation: Kind) -> float:
    """The standard deviation of a judge's correlation over its repeated scores; NaN if none are repeated."""
    statistics = finished.scores.statistics
    human = finished.segments.human_scores
    if statistics is None or getattr(finished.metric, "repeat", 1) < 2:
        return math.nan
    # The first two columns of a judge's statistics are the score and a count; the others are the repetitions.
    repeats = statistics[:, 2:].T
    correlations = [correlate(correlation, scores, human) for scores in repeats]
    return float(np.std(correlations, ddof=1))


def settings_table(results: Iterable[SettingResult]) -> pa.Table:
    """One row per setting with every number of its result, in the order of `evaluation_tables`.

    The work of a run (seconds, texts) is left out, so that a repeated sweep writes an identical file.
    """
    import pyarrow as pa

    rows = [_row(result) for result in sort_results(results)]
    kinds: dict[str, Any] = {}
    for name, value in rows[0].items() if rows else ():
        is_count = name == "plateau" or name.startswith("n_")
        if isinstance(value, str):
            kinds[name] = pa.string()
        elif isinstance(value, bool):
            kinds[name] = pa.bool_()
        else:
            kinds[name] = pa.int64() if is_count else pa.float64()
    columns = {}
    for name, kind in kinds.items():
        columns[name] = pa.array([row[name] for row in rows], kind)
    return pa.table(columns)


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table in one step, compressed, with checksums of its pages and this version. Raises StoreError."""
    import pyarrow.parquet as pq

    table = table.replace_schema_metadata({**(table.schema.metadata or {}), VERSION_KEY: __version__})
    with replacing(path) as part:
        pq.write_table(table, part, compression="zstd", write_page_checksum=True)


def version_of(path: Path) -> str:
    """The version that wrote a table, in words. Raises OSError for a file that cannot be read."""
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata or {}
    if VERSION_KEY not in metadata:
        return "an earlier version"
    version = metadata[VERSION_KEY].decode(errors="replace")
    return f"bmx-grid {escape_unprintable(version)}"


def write_csv(table: pa.Table, path: Path) -> None:
    """Write a table as CSV in one step; floats in full, undefined ones as nan. Raises StoreError."""
    from pyarrow import csv

    with replacing(path) as part:
        csv.write_csv(table, part)


def sort_results(results: Iterable[SettingResult]) -> list[SettingResult]:
    """Results in the order of every table: by data set, explainer, metric and language pair."""
    return sorted(results, key=operator.attrgetter("dataset", "explainer", "metric", "language_pair"))


def _column(kind: str, parts: Sequence[Any]) -> Any:
    import pyarrow as pa

    if kind == "text":
        return repeat_names(list(map(str, itertools.chain.from_iterable(parts))))
    kinds: dict[str, Any] = {"number": np.float64, "count": np.int64, "flag": np.bool_}
    arrays = [np.asarray(part, kinds[kind]) for part in parts]
    return pa.array(np.concatenate([np.empty(0, kinds[kind]), *arrays]))


def repeat_names(names: Sequence[str], sizes: Sequence[int] | int = 1) -> pa.DictionaryArray:
    """Each name as often as its setting has rows, dictionary-encoded with sorted names."""
    import pyarrow as pa

    known, codes = np.unique(np.array(names, dtype=object), return_inverse=True)
    kind = np.int8 if len(known) <= 128 else np.int32
    indices = np.repeat(codes, sizes).astype(kind)
    return pa.DictionaryArray.from_arrays(indices, pa.array(known.tolist(), pa.string()))


def scores_table(results: Iterable[SettingResult]) -> pa.Table:
    """NAMES, then the columns of all settings; null if a setting does not have a column that another has."""
    import pyarrow as pa

    # of the core, whose types are known even if all values are null
    kinds = dict.fromkeys(("id", "system", "cluster", "human_name"), pa.string())
    kinds |= {f"words_{role}": pa.int32() for role in ROLES}
    done = sort_results(results)
    parts = []
    for result in done:
        columns = {name: pa.array(values, kinds.get(name)) for name, values in result.scores.items()}
        parts.append(pa.table(columns))
    table = pa.concat_tables(parts, promote_options="default").combine_chunks()
    sizes = list(map(len, parts))
    names = {}
    for name in NAMES:
        names[name] = repeat_names([getattr(result, name) for result in done], sizes)
    return pa.table({**names, **{name: table.column(name) for name in table.column_names}})


def gains_by_point(result: SettingResult) -> dict[str, float]:
    """The gain at each declared point of a setting, and at the best one of its grid; NaN where undefined."""
    if result.spec is None:  # no evaluation declares points
        return {}
    human = np.asarray(result.scores["human"])
    base = np.asarray(result.scores["base"])
    by_point = {}
    for point, boosted in result.point_scores.items():
        by_point[point] = estimate_gain(result.spec.correlation, base, boosted, human).value
    return {**by_point, BEST: result.gain}


def seeds_table(
    ended: Sequence[SettingResult], results: Iterable[SettingResult], evaluations: Mapping[str, Evaluation]
) -> pa.Table | None:
    """NAMES, seed, point, gain: one row per setting, seed and point; settings in the order of every table.

    ended: all settings of a sweep, also those of further seeds; results: of the settings with the sweep's own seed.
    The folds of cross-fitted points are those of the grid, the same for all seeds. None if nothing was repeated.
    """
    import pyarrow as pa

    grid = grid_evaluation(evaluations)
    at_once = {} if grid is None else {grid.key: grid}
    known = list(results)
    names = {result.names for result in known}
    further = {result.repeated_with for result in ended} - {None}
    for seed in further:
        repeated_settings = [result for result in ended if result.repeated_with == seed]
        known += judge_sweep(repeated_settings, at_once)[0]
    n_seeds = Counter(result.names for result in known)
    repeats = [result for result in known if result.names in names and n_seeds[result.names] > 1]
    if not repeats:
        return None
    repeats.sort(key=lambda result: result.parameters["seed"])
    results = []
    points = []
    gains = []
    for result in sort_results(repeats):
        for point, gain in gains_by_point(result).items():
            results.append(result)
            points.append(point)
            gains.append(gain)
    columns = {}
    for name in NAMES:
        columns[name] = repeat_names([getattr(result, name) for result in results])
    columns["seed"] = pa.array([result.parameters["seed"] for result in results], pa.int64())
    columns["point"] = repeat_names(points)
    columns["gain"] = pa.array(gains, pa.float64())
    return pa.table(columns)


def ceilings_table(sets: Iterable[SegmentSet]) -> pa.Table | None:
    """One row per data set, language pair and judgement whose raters are published, the primary judgement first.

    raters: ratings per segment, their harmonic mean; reliability: ICC(1,k) of their mean; ceiling: its square root. NaN
    if they are undefined (see measures.reliability). None if no raters are published.
    """
    import pyarrow as pa

    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for segments in sets:
        judged = segments.judgements
        for human in judged.aspects:
            key = (segments.dataset, segments.language_pair, human)
            # Settings share their segments: each judgement is looked at once.
            if human in judged.raters and key not in rows:
                agreement = reliability(judged.raters[human])
                rows[key] = {
                    "dataset": segments.dataset,
                    "language_pair": segments.language_pair,
                    "human": human,
                    "raters": agreement["k"],
                    "reliability": agreement["icc_k"],
                    "ceiling": agreement["ceiling"],
                }
    return pa.Table.from_pylist(list(rows.values())) if rows else None
