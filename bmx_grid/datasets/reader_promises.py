"""Promises of every data set, checked by `bmx-grid check` and the tests.

A promise takes the reader, the folder of data and a language pair, and raises DataError or ComponentError if it is
broken. It returns why the reader does not make it; "" if it is kept. Its docstring is the promise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bmx_grid.core.errors import ComponentError, DataMissingError
from bmx_grid.datasets.base import DatasetReader


def reads_segments(reader: DatasetReader, data_dir: Path, language_pair: str) -> str:
    """It reads segments of its own name and pair, each known by id and system, with texts and human scores."""
    segments = reader.load_segments(data_dir, language_pair)
    names = (segments.dataset, segments.language_pair)
    _require(names == (reader.name, language_pair), reader, f"read: the segments are of {' '.join(names)}")
    keys = [(segment.id, segment.system) for segment in segments.segments]
    _require(
        len(set(keys)) == len(keys) > 0, reader, f"read: {len(keys):,} segments, {len(set(keys)):,} with own names"
    )
    has_truth = segments.has("source") or segments.has("reference")
    _require(has_truth, reader, "read: some sources and some references are missing")
    _require(any(segments.texts("hypothesis")), reader, "read: no hypothesis has a text")
    return ""


def has_human_scores(reader: DatasetReader, data_dir: Path, language_pair: str) -> str:
    """Human scores are float64, one per segment, and the means of their raters; NaN where nobody rated."""
    segments = reader.load_segments(data_dir, language_pair)
    judgements = segments.judgements
    scores = segments.human_scores
    is_whole = scores.dtype == np.float64 and scores.shape == (len(segments),)
    _require(is_whole, reader, f"read: human scores of type {scores.dtype} and shape {scores.shape}")
    n_systems = len(judgements.systems.get(judgements.primary, {}))
    _require(segments.n_rated > 0 or n_systems > 0, reader, "read: nobody rated a segment or a system")
    for name, raters in judgements.raters.items():
        are_means = np.allclose(np.nanmean(raters, axis=1), judgements.scores[name], atol=1e-6, equal_nan=True)
        _require(are_means, reader, f"read: the scores {name} are not the means of their raters")
    return ""


def reads_the_same_again(reader: DatasetReader, data_dir: Path, language_pair: str) -> str:
    """Read again, the segments are the same."""
    prints = {reader.load_segments(data_dir, language_pair).fingerprint() for _ in range(2)}
    _require(len(prints) == 1, reader, "read: other segments when read again")
    return ""


def names_missing_files(reader: DatasetReader, data_dir: Path, language_pair: str) -> str:
    """Files that are missing are named."""
    needed = reader.needs(language_pair)
    if not needed:
        return "it needs no files below data_dir"
    with tempfile.TemporaryDirectory() as folder:
        try:
            reader.load_segments(Path(folder), language_pair)
        except DataMissingError as error:
            _require(needed[0] in str(error), reader, f"read: the error without files does not name {needed[0]}")
            return ""
    raise ComponentError(f"{reader.name}: read: expected DataMissingError without {needed[0]}; use `self.require`.")


def _require(is_kept: bool, reader: DatasetReader, fault: str) -> None:
    if not is_kept:
        raise ComponentError(f"{reader.name}: {fault}.")


OF_DATASETS: tuple[Callable[[DatasetReader, Path, str], str], ...] = (
    reads_segments,
    has_human_scores,
    reads_the_same_again,
    names_missing_files,
)
