"""Made-up settings and real pairs of texts that several benchmarks work on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import DataMissingError
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.measures.grid import GridSpec
from bmx_grid.words.perturbation import Item

P, W = np.array(GridSpec().p), np.array(GridSpec().w)
Setting = tuple[np.ndarray, Ragged, Ragged, np.ndarray]
Texts = tuple[str, str]


def make_setting(segments: int, words: float, seed: int) -> Setting:
    """Base scores, attributions of both sides, human scores: lognormal lengths, half of the segments shifted."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=segments)
    human = np.round(quality + rng.normal(size=segments), 2)
    base = 0.4 + 0.1 * quality + rng.normal(0, 0.05, segments)
    shared = np.where(rng.random(segments) < 0.5, 0.5, 0.02)
    sides = []
    for _ in range(2):
        lengths = np.maximum(1, np.round(rng.lognormal(np.log(words / 2) - 0.1, 0.45, segments))).astype(int)
        values = rng.normal(np.repeat(shared + 0.01 * quality, lengths), 0.05)
        sides.append(Ragged(values, np.concatenate([[0], np.cumsum(lengths)])))
    return base, sides[0], sides[1], human


def reference_pairs(data_dir: Path) -> tuple[str, list[list[Texts]]]:
    """WMT17's name and (reference, hypothesis) pairs by language pair; the embedded sample's where WMT17 is missing."""
    for name in ("wmt17", "sample"):
        reader = build(load_option("dataset", name), DatasetReader, f"dataset.{name}")
        try:
            sets = [reader.load_segments(data_dir, pair) for pair in reader.pairs(data_dir)]
        except DataMissingError:
            continue
        return name, [list(zip(one.texts("reference"), one.texts("hypothesis"), strict=True)) for one in sets]
    raise SystemExit("neither WMT17 nor the embedded sample can be read")


def items(pairs: Sequence[Texts]) -> list[Item]:
    """The items of (reference, hypothesis) pairs."""
    return [Item(reference=reference, hypothesis=hypothesis) for reference, hypothesis in pairs]
