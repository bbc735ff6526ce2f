"""Real segments for all metric tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from bmx_grid.core.configure import build, load_option
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import SegmentSet


@pytest.fixture(scope="session")
def wmt17(data_dir: Path) -> list[SegmentSet]:
    """The seven language pairs of WMT17, in alphabetical order.

    With the entities of the published text, on which the known correlations of sentence BLEU and chrF were measured.
    """
    reader = build({**load_option("dataset", "wmt17"), "unescape": False}, DatasetReader, "dataset.wmt17")
    return [reader.read(data_dir, pair) for pair in reader.pairs(data_dir)]
