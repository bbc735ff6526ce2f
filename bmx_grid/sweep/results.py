"""The result of one setting, and the tables of a sweep: settings, scores per segment, evaluations, ceilings."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid._version import __version__
from bmx_grid.core.identity import canonical_json
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import replacing
from bmx_grid.core.wording import setting_label, visible
from bmx_grid.evaluations.base import NAMES, ColumnValues, Evaluation, Finished, SettingRow, columns_of
from bmx_grid.evaluations.grid_surface import NO_POINT, GridOfSetting, PointRow
from bmx_grid.measures.annotators import reliability
from bmx_grid.measures.grid import GridResult, GridSpec
from bmx_grid.words.perturbation import ROLES

if TYPE_CHECKING:
    import pyarrow as pa

    from bmx_grid.datasets.segments import SegmentSet

VERSION_KEY = b"bmx_grid"  # in the metadata of a table: the version that wrote it


@dataclass(frozen=True)
class Spent:
    """What a run spent. n_texts: those sent to the metric; n_truncated: those of them longer than a model reads;
    unread: answers of a model that could not be read."""

    seconds: float = 0.0
    n_texts: int = 0
    n_truncated: int = 0
    unread: tuple[str, ...] = ()

    def __add__(self, other: Spent) -> Spent:
        return Spent(*map(operator.add, astuple(self), astuple(other)))


@dataclass(frozen=True, eq=False)
class SettingResult:
    """Everything known about one finished setting.

    evaluated: what each evaluation of the sweep found, by its key.
    scores: the columns of the table of scores, one value per segment; none before `outcomes.complete`.
    n_segments: segments of the setting; n_rated: those with a human score; n_unexplained: those without
        attributions, because the explainer refuses them or the metric gives no score for one of their texts.
    repeat_deviation: the standard deviation of a judge's correlation over its repeated scores.
    constructed: whether the segments were made up.
    correlation: of the numbers of the sweep, "pearson", "spearman" or "kendall"; "" where nothing rests on one.
    words: by role, the mean number of words per text of those that the metric reads or an explanation is of.
    signature: metric, explainer and seed in one line, to travel with the numbers.
    parameters: the readable settings behind the result.
    fingerprint: SHA-256 of all that the result depends on.
    spent, cached: what this run did for it. Not part of the result.

    The properties below read the evaluation "grid"; numbers are NaN in a sweep without it, and for a metric alone all
    but the baseline.
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    evaluated: Mapping[str, Any]
    n_segments: int
    n_rated: int
    signature: str
    parameters: Mapping[str, Any]
    fingerprint: str
    spent: Spent
    cached: bool
    n_unexplained: int = 0
    repeat_deviation: float = math.nan
    constructed: bool = False
    correlation: str = ""
    words: Mapping[str, float] = field(default_factory=dict)
    scores: ColumnValues = field(default_factory=dict)

    @property
    def _of_grid(self) -> GridOfSetting | None:
        return self.evaluated.get("grid")

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Data set, language pair, metric, explainer: what tells settings apart."""
        return self.dataset, self.language_pair, self.metric, self.explainer

    @property
    def label(self) -> str:
        """The names in one readable line."""
        return setting_label(*self.names)

    @property
    def grid(self) -> GridResult:
        """The correlations float64[P, W] and what follows from them; all undefined in a sweep without the grid."""
        nothing = GridResult(np.empty((0, 1)), math.nan, self.n_segments, n_rated=0, n_used=0)
        return nothing if self._of_grid is None else self._of_grid.grid

    @property
    def has_grid(self) -> bool:
        """Whether there is a point to show: not for a metric alone, nor in a sweep without the grid."""
        return self.grid.correlation.size > 0

    @property
    def spec(self) -> GridSpec | None:
        """The powers, the weights and what else the grid was computed with."""
        return None if self._of_grid is None else self._of_grid.spec

    @property
    def published(self) -> PointRow:
        """The grid point at which the published point is evaluated, and the correlation there."""
        return NO_POINT if self._of_grid is None else self._of_grid.published

    @property
    def boosted(self) -> Mapping[str, Floats]:
        """float64[N] scores at each declared point of the grid."""
        return {} if self._of_grid is None else self._of_grid.boosted

    @property
    def gain(self) -> float:
        """Best correlation above the baseline; NaN when either is undefined."""
        return self.grid.best - self.grid.baseline


@dataclass(frozen=True)
class SettingsRow(SettingRow):
    """What questions read of settings.parquet. n_used: the segments that its correlations rest on."""

    KEY = ()

    aggregation: str
    correlation: str
    baseline: float
    n_used: int
    repeat_deviation: float
    constructed: bool


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

    done = [result for result in in_order(results) if evaluation.key in result.evaluated]
    columns = [evaluation.columns(result.evaluated[evaluation.key]) for result in done]
    tables = {}
    for table, row_class in evaluation.ROWS.items():
        parts = [of_setting[table] for of_setting in columns]
        sizes = [len(next(iter(part.values()))) for part in parts]
        names = {}
        for name in NAMES:
            names[name] = repeated([getattr(result, name) for result in done], sizes)
        columns_here = {}
        for name, kind in columns_of(row_class).items():
            columns_here[name] = _column(kind, [part[name] for part in parts])
        tables[table] = pa.table({**names, **columns_here})
    return tables


def _row(result: SettingResult) -> dict[str, Any]:
    """The columns of settings.csv."""
    grid = result.grid
    point = result.published
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
        "n_segments": result.n_segments,
        "n_rated": result.n_rated,
        "n_used": grid.n_used,
        "n_unexplained": result.n_unexplained,
        "repeat_deviation": result.repeat_deviation,
        "constructed": result.constructed,
        **{f"words_{role}": result.words.get(role) for role in ROLES},
        "n_undefined": grid.n_undefined,
        "share_shifted": grid.share_shifted,
        "length_control": grid.length_control,
        "signature": result.signature,
        "parameters": canonical_json(dict(result.parameters)),
        "fingerprint": result.fingerprint,
    }


def settings_table(results: Iterable[SettingResult]) -> pa.Table:
    """One row per setting with every number of its result, in the order of `evaluation_tables`.

    What a run spent (seconds, texts) is left out, so that the same sweep writes the same file again.
    """
    import pyarrow as pa

    rows = [_row(result) for result in in_order(results)]
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
    return f"bmx-grid {visible(version)}"


def write_csv(table: pa.Table, path: Path) -> None:
    """Write a table as CSV in one step; floats in full, undefined ones as nan. Raises StoreError."""
    from pyarrow import csv

    with replacing(path) as part:
        csv.write_csv(table, part)


def in_order(results: Iterable[SettingResult]) -> list[SettingResult]:
    """Results in the order of every table: by data set, explainer, metric and language pair."""
    return sorted(results, key=lambda result: (result.dataset, result.explainer, result.metric, result.language_pair))


def _column(kind: str, parts: Sequence[Any]) -> Any:
    import pyarrow as pa

    if kind == "text":
        return repeated(list(map(str, itertools.chain.from_iterable(parts))))
    kinds: dict[str, Any] = {"number": np.float64, "count": np.int64, "flag": np.bool_}
    arrays = [np.asarray(part, kinds[kind]) for part in parts]
    return pa.array(np.concatenate([np.empty(0, kinds[kind]), *arrays]))


def repeated(names: Sequence[str], sizes: Sequence[int] | int = 1) -> pa.DictionaryArray:
    """Each name as often as its setting has rows, dictionary-encoded with sorted names."""
    import pyarrow as pa

    known, codes = np.unique(np.array(names, dtype=object), return_inverse=True)
    kind = np.int8 if len(known) <= 128 else np.int32
    indices = np.repeat(codes, sizes).astype(kind)
    return pa.DictionaryArray.from_arrays(indices, pa.array(known.tolist(), pa.string()))


def segment_rows(setting: Finished, evaluated: Iterable[ColumnValues]) -> dict[str, Any]:
    """The columns of one setting, N values each: who, human scores, base score, words per text, then `evaluated`.

    evaluated: what evaluations say of segments. words_ROLE is null for a text that is neither read by the metric nor
    explained. Human scores are NaN for unrated segments; those beside the primary one are named human.ASPECT.
    """
    segments = setting.segments
    judged = setting.segments.judgements
    columns: dict[str, Any] = {
        "id": [segment.id for segment in segments.segments],
        "system": [segment.system for segment in segments.segments],
        "cluster": list(setting.clusters),
        "human": segments.human_scores,
        "human_name": [judged.primary] * len(segments),
        **{f"human.{name}": judged.scores[name] for name in judged.aspects[1:]},
        "base": setting.scores.base_scores,
    }
    for role in ROLES:
        if role in setting.worded:
            columns[f"words_{role}"] = setting.word_counts(role)
        else:
            columns[f"words_{role}"] = [None] * len(setting.items)
    for of_evaluation in evaluated:
        columns |= of_evaluation
    return columns


def scores_table(results: Iterable[SettingResult]) -> pa.Table:
    """NAMES, then the columns of all settings; null where a setting does not have a column that another has."""
    import pyarrow as pa

    # of the core, whose types are known even where all values are null
    kinds = dict.fromkeys(("id", "system", "cluster", "human_name"), pa.string())
    kinds |= {f"words_{role}": pa.int32() for role in ROLES}
    done = in_order(results)
    parts = []
    for result in done:
        columns = {name: pa.array(values, kinds.get(name)) for name, values in result.scores.items()}
        parts.append(pa.table(columns))
    table = pa.concat_tables(parts, promote_options="default").combine_chunks()
    sizes = list(map(len, parts))
    names = {}
    for name in NAMES:
        names[name] = repeated([getattr(result, name) for result in done], sizes)
    return pa.table({**names, **{name: table.column(name) for name in table.column_names}})


def ceilings_table(sets: Iterable[SegmentSet]) -> pa.Table | None:
    """One row per data set, language pair and judgement whose raters are published, the primary judgement first.

    raters: ratings per segment, their harmonic mean; reliability: ICC(1,k) of the mean of these; ceiling: its square
    root. NaN where they are undefined (see measures.reliability). None where no raters are published.
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
