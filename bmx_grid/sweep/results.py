"""The result of one setting, and results as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.evaluations.base import NAMES, Columns, Evaluation, columns_of
from bmx_grid.evaluations.grid import GridOfSetting, not_evaluated
from bmx_grid.identity import canonical_json
from bmx_grid.measures.grid import GridResult
from bmx_grid.storage.files import replacing
from bmx_grid.wording import file_stem, setting_label
from bmx_grid.words.perturbation import ROLES

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class SettingResult:
    """Everything known about one finished setting.

    evaluated: what each evaluation of the sweep found, by its key.
    scores: the columns of the table of scores, one value per segment; none before `complete.complete`.
    n_segments: segments of the setting; n_rated: those with a human score; n_unexplained: those that the explainer
        refused, which have a score and no attributions.
    words: by role, the mean number of words per text of those that the metric reads or an explanation is of.
    signature: metric, explainer and seed in one line, to travel with the numbers.
    parameters: the readable settings behind the result.
    fingerprint: SHA-256 of all that the result depends on.
    seconds, n_texts, cached: what this run spent on it; n_truncated: of these texts, those that were truncated because
        they are longer than a model reads. Not part of the result.

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
    seconds: float
    n_texts: int
    cached: bool
    n_truncated: int = 0
    n_unexplained: int = 0
    words: Mapping[str, float] = field(default_factory=dict)
    scores: Columns = field(default_factory=dict)

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
    def file_stem(self) -> str:
        """The names as a file name without suffix."""
        return file_stem(*self.names)

    @property
    def grid(self) -> GridResult:
        """The correlations float64[P, W] and what follows from them."""
        return not_evaluated(self.n_segments) if self._of_grid is None else self._of_grid.grid

    @property
    def has_grid(self) -> bool:
        """Whether there is a point to show: not for a metric alone, nor in a sweep without the grid."""
        return self.grid.correlation.size > 0

    @property
    def p(self) -> Sequence[float]:
        """P powers, ascending; none for a metric alone."""
        return self._of_grid.spec.p if self._of_grid is not None and self.has_grid else ()

    @property
    def w(self) -> Sequence[float]:
        """W weights, ascending."""
        return () if self._of_grid is None else self._of_grid.spec.w

    @property
    def side(self) -> str:
        """Whose words are aggregated: "both" or "hypothesis"."""
        return "" if self._of_grid is None else self._of_grid.spec.side

    @property
    def correlation(self) -> str:
        """The correlation of the grid: "pearson", "spearman" or "kendall"."""
        return "" if self._of_grid is None else self._of_grid.spec.correlation

    @property
    def aggregation(self) -> str:
        """The name of the mean."""
        return "" if self._of_grid is None else type(self._of_grid.spec.aggregation).__name__

    @property
    def baseline(self) -> float:
        """Correlation of the metric alone."""
        return self.grid.baseline

    @property
    def fixed_p(self) -> float:
        """p of the grid point at which the published point is evaluated."""
        return math.nan if self._of_grid is None or self._of_grid.used is None else self._of_grid.used.p

    @property
    def fixed_w(self) -> float:
        """w of that grid point."""
        return math.nan if self._of_grid is None or self._of_grid.used is None else self._of_grid.used.w

    @property
    def fixed(self) -> float:
        """Correlation there."""
        return math.nan if self._of_grid is None else self._of_grid.published

    @property
    def gain(self) -> float:
        """Best correlation above the baseline; NaN when either is undefined."""
        return self.grid.best - self.grid.baseline

    @property
    def fixed_gain(self) -> float:
        """Correlation at the published point above the baseline; NaN when either is undefined."""
        return self.fixed - self.baseline


def evaluation_tables(evaluation: Evaluation, results: Iterable[SettingResult]) -> dict[str, pa.Table]:
    """The tables of one evaluation from all results: NAMES, then their columns; texts are dictionary-encoded.

    Settings are sorted by data set, explainer, metric and language pair, in whatever order they finished. For the grid
    these are, in this order, the columns and rows of the paper's published one.
    """
    import pyarrow as pa

    done = [result for result in in_order(results) if evaluation.key in result.evaluated]
    found = [evaluation.columns(result.evaluated[evaluation.key]) for result in done]
    tables = {}
    for table, row in evaluation.ROWS.items():
        rows = [one[table] for one in found]
        sizes = [len(next(iter(one.values()))) for one in rows]
        made: dict[str, Any] = {name: repeated([getattr(result, name) for result in done], sizes) for name in NAMES}
        for name, kind in columns_of(row).items():
            made[name] = _column(kind, [one[name] for one in rows])
        tables[table] = pa.table(made)
    return tables


def settings_table(results: Iterable[SettingResult]) -> pa.Table:
    """One row per setting with every number of its result, in the order of `evaluation_tables`.

    What a run spent (seconds, texts) is left out, so that the same sweep writes the same file again.
    """
    import pyarrow as pa

    rows = [
        {
            **dict(zip(NAMES, result.names, strict=True)),
            "side": result.side,
            "aggregation": result.aggregation,
            "correlation": result.correlation,
            "baseline": float(result.baseline),
            "best": float(result.grid.best),
            "best_w": float(result.grid.best_w),
            "best_p": float(result.grid.best_p),
            "gain": float(result.gain),
            "plateau": int(result.grid.plateau),
            "fixed_w": float(result.fixed_w),
            "fixed_p": float(result.fixed_p),
            "fixed": float(result.fixed),
            "fixed_gain": float(result.fixed_gain),
            "n_segments": result.n_segments,
            "n_rated": result.n_rated,
            "n_used": int(result.grid.n_used),
            "n_unexplained": result.n_unexplained,
            **{f"words_{role}": result.words.get(role) for role in ROLES},
            "n_undefined": int(result.grid.n_undefined),
            "share_shifted": float(result.grid.share_shifted),
            "length_control": float(result.grid.length_control),
            "signature": result.signature,
            "parameters": canonical_json(dict(result.parameters)),
            "fingerprint": result.fingerprint,
        }
        for result in in_order(results)
    ]
    found = pa.Table.from_pylist(rows)
    for name in [f"words_{role}" for role in ROLES] if rows else ():  # numbers, even where all are null
        place = found.column_names.index(name)
        found = found.set_column(place, name, found.column(name).cast(pa.float64()))
    return found


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table in one step, compressed and with checksums of its pages. Raises StoreError."""
    import pyarrow.parquet as pq

    with replacing(path) as part:
        pq.write_table(table, part, compression="zstd", write_page_checksum=True)


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
        values = [str(value) for part in parts for value in part]
        known = sorted(set(values))
        place = {value: code for code, value in enumerate(known)}
        return _dictionary(np.array([place[value] for value in values], dtype=np.int64), known)
    kinds = {"number": (np.float64, pa.float64()), "count": (np.int64, pa.int64()), "flag": (np.bool_, pa.bool_())}
    numpy_type, arrow_type = kinds[kind]
    found: list[Any] = [np.asarray(part, dtype=numpy_type) for part in parts]
    return pa.array(np.concatenate(found) if found else np.empty(0, numpy_type), arrow_type)


def repeated(names: Sequence[str], sizes: Sequence[int]) -> pa.DictionaryArray:
    """Each name as often as its setting has rows, dictionary-encoded with sorted names."""
    known = sorted(set(names))
    codes = np.array([known.index(name) for name in names], dtype=np.int64)
    return _dictionary(np.repeat(codes, sizes), known)


def _dictionary(codes: Any, known: Sequence[str]) -> pa.DictionaryArray:
    import pyarrow as pa

    kind = np.int8 if len(known) <= 128 else np.int32
    return pa.DictionaryArray.from_arrays(codes.astype(kind), pa.array(known, pa.string()))
