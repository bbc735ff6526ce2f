"""Published data sets as read, shared by the tests of a process; only read."""

from __future__ import annotations

import functools
from pathlib import Path

from bmx_grid.core.configure import build, load_option
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import SegmentSet


@functools.lru_cache(maxsize=32)
def read(data_dir: Path, name: str, pair: str, **settings: object) -> SegmentSet:
    """Segments of a data set as its YAML and these settings say; read once, as several tests look at the same."""
    reader = build({**load_option("dataset", name), **settings}, DatasetReader, f"dataset.{name}")
    return reader.load_segments(data_dir, pair)
