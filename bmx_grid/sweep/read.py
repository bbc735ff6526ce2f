"""The first move of a plan: data sets are read; what cannot be read fails its own settings only."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bmx_grid.core.errors import BmxError, DataMissingError, component_errors
from bmx_grid.core.wording import counted, setting_label, shortened
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.sweep.settings import PlanOptions, Refused
from bmx_grid.words.segmentation import PairWords


@dataclass(frozen=True, eq=False)
class Read:
    """What was read of the data sets.

    sets: of all language pairs that can be read; failed: the pairs and data sets that cannot. words: by language pair,
    how its texts are segmented. clusters: by data set and language pair, N labels of its segments.
    """

    sets: Sequence[SegmentSet]
    failed: Sequence[Refused]
    words: Mapping[str, PairWords]
    clusters: Mapping[tuple[str, str], Sequence[str]]


def read(datasets: Mapping[str, DatasetReader], options: PlanOptions) -> Read:
    """The segments of all data sets, and what is known of them before a metric or an explainer is."""
    sets: list[SegmentSet] = []
    failed: list[Refused] = []
    for name, reader in datasets.items():
        readable, refused = _language_pairs(name, reader, options)
        sets += readable
        failed += refused
    pairs = dict.fromkeys(segments.language_pair for segments in sets)
    words = {pair: PairWords.of_pair(options.words, pair) for pair in pairs}
    return Read(sets, failed, words, _clusters(sets))


def _language_pairs(name: str, reader: DatasetReader, options: PlanOptions) -> tuple[list[SegmentSet], list[Refused]]:
    """What can be read of a data set, and what cannot; a data set that is missing as a whole is named once."""
    try:
        with component_errors():
            pairs = reader.pairs(options.data_dir)
    except BmxError as error:
        return [], [Refused(name, str(error), error)]
    if not pairs:
        return [], [Refused(name, f"no language pair is chosen; write dataset.{name}.language_pairs=[PAIR,…].")]
    sets: list[SegmentSet] = []
    errors: dict[str, BmxError] = {}
    for pair in pairs:
        try:
            with component_errors():
                segments = reader.read(options.data_dir, pair).head(options.limit)
            _warn_of_empty_texts(segments)
            sets.append(replace(segments, constructed=reader.constructed))
        except BmxError as error:
            errors[pair] = error
    is_missing = all(isinstance(error, DataMissingError) for error in errors.values())
    if len(errors) > 1 and not sets and is_missing:
        first_error = next(iter(errors.values()))
        return [], [Refused(f"{name} (all {len(errors)} language pairs)", str(first_error))]
    refused = [Refused(setting_label(name, pair), str(error), error) for pair, error in errors.items()]
    return sets, refused


def _warn_of_empty_texts(segments: SegmentSet) -> None:
    empty = segments.empty_texts()
    if empty:
        origin = segments.origin or segments.dataset
        n_empty = counted(len(empty), "segment")
        ids = shortened(", ".join(empty), 60)
        warnings.warn(
            f"{origin}: {n_empty} of {len(segments)} with an empty text (segment {ids}); metrics give empty text its "
            "stated score, and an empty side has no attributions.",
            stacklevel=2,
        )


def _clusters(sets: Sequence[SegmentSet]) -> dict[tuple[str, str], Sequence[str]]:
    """The labels of each set's segments, which may be shared across the language pairs of a data set."""
    labels: dict[tuple[str, str], Sequence[str]] = {}
    for name in {segments.dataset for segments in sets}:
        of_name = [segments for segments in sets if segments.dataset == name]
        for segments, of_set in zip(of_name, clusters(of_name), strict=True):
            labels[name, segments.language_pair] = of_set.tolist()
    return labels
