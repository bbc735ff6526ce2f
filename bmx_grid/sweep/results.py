"""The result of one setting, and results as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.files import replacing
from bmx_grid.identity import canonical_json
from bmx_grid.measures.grid import GridResult
from bmx_grid.wording import file_stem, setting_label

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class SettingResult:
    """Everything known of one finished setting.

    grid: the correlations float64[P, W] and what follows from them; p: P powers, w: W weights, both ascending.
    correlation: "pearson", "spearman" or "kendall"; aggregation: the name of the mean; side: whose words it takes.
    fixed: correlation at (fixed_p, fixed_w), the paper's medians of the explainer; all NaN where it has none.
    signature: metric, explainer and seed in one line, to travel with the numbers.
    parameters: the readable settings behind the result.
    fingerprint: SHA-256 of all that the result depends on.
    seconds, n_texts, cached: what this run spent on it; texts_cut: of these texts, those that were longer than the
        metric's model reads, and were scored without their end. No part of the result.
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    grid: GridResult
    p: Sequence[float]
    w: Sequence[float]
    side: str
    correlation: str
    aggregation: str
    fixed_p: float
    fixed_w: float
    fixed: float
    signature: str
    parameters: Mapping[str, Any]
    fingerprint: str
    seconds: float
    n_texts: int
    cached: bool
    texts_cut: int = 0

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
    def gain(self) -> float:
        """Best correlation above the baseline; NaN when either is undefined."""
        return self.grid.best - self.grid.baseline

    @property
    def fixed_gain(self) -> float:
        """Correlation at the fixed point above the baseline; NaN when either is undefined."""
        return self.fixed - self.grid.baseline


def grid_table(results: Iterable[SettingResult]) -> pa.Table:
    """All grid points of all results, one a row: names, side, w, p, correlation (NaN where undefined).

    Settings are sorted by data set, explainer, metric and language pair, whatever order they ended in; inside a
    setting p ascends and w runs fastest, the order of the paper's published grid.
    """
    import pyarrow as pa

    ordered = _ordered(results)
    sizes = [len(result.p) * len(result.w) for result in ordered]
    columns: dict[str, Any] = {
        name: _repeated([getattr(result, name) for result in ordered], sizes)
        for name in ("dataset", "language_pair", "metric", "explainer", "side")
    }
    columns["w"] = _joined(np.tile(result.w, len(result.p)) for result in ordered)
    columns["p"] = _joined(np.repeat(result.p, len(result.w)) for result in ordered)
    columns["correlation"] = _joined(result.grid.correlation.ravel() for result in ordered)
    return pa.table(columns)


def settings_table(results: Iterable[SettingResult]) -> pa.Table:
    """One row a setting with every number of its result, in the order of `grid_table`.

    What a run spent (seconds, texts) is left out, so that the same sweep writes the same file again.
    """
    import pyarrow as pa

    rows = [
        {
            **dict(zip(("dataset", "language_pair", "metric", "explainer"), result.names, strict=True)),
            "side": result.side,
            "aggregation": result.aggregation,
            "correlation": result.correlation,
            "baseline": float(result.grid.baseline),
            "best": float(result.grid.best),
            "best_w": float(result.grid.best_w),
            "best_p": float(result.grid.best_p),
            "gain": float(result.gain),
            "plateau": int(result.grid.plateau),
            "fixed_w": float(result.fixed_w),
            "fixed_p": float(result.fixed_p),
            "fixed": float(result.fixed),
            "fixed_gain": float(result.fixed_gain),
            "n_segments": int(result.grid.n_segments),
            "n_rated": int(result.grid.n_rated),
            "n_used": int(result.grid.n_used),
            "n_undefined": int(result.grid.n_undefined),
            "share_shifted": float(result.grid.share_shifted),
            "length_control": float(result.grid.length_control),
            "signature": result.signature,
            "parameters": canonical_json(dict(result.parameters)),
            "fingerprint": result.fingerprint,
        }
        for result in _ordered(results)
    ]
    return pa.Table.from_pylist(rows)


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


def _ordered(results: Iterable[SettingResult]) -> list[SettingResult]:
    return sorted(results, key=lambda result: (result.dataset, result.explainer, result.metric, result.language_pair))


def _joined(parts: Iterable[Any]) -> Any:
    found = [np.asarray(part, dtype=np.float64) for part in parts]
    return np.concatenate(found) if found else np.empty(0)


def _repeated(names: Sequence[str], sizes: Sequence[int]) -> pa.DictionaryArray:
    """Each name as often as its setting has points, dictionary-encoded with sorted names."""
    import pyarrow as pa

    known = sorted(set(names))
    kind = np.int8 if len(known) <= 128 else np.int32
    codes = np.array([known.index(name) for name in names], dtype=kind)
    return pa.DictionaryArray.from_arrays(np.repeat(codes, sizes), pa.array(known, pa.string()))
