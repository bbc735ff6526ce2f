"""The outputs of a data set's systems on its segments, and the best systems."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest
from bmx_grid.core.wording import join_names, pluralize

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


@dataclass(frozen=True)
class SystemOutputs:
    """What S systems made of n segments; equal if the digest is.

    systems: their names, in alphabetical order. references: n. outputs: n rows of S texts, None for a system without
    one. best_first: positions of the systems from the best to the worst by human score; empty if that is not requested.
    digest: of all of it, the order of segments left out.
    """

    digest: str
    systems: tuple[str, ...] = field(default=(), compare=False)
    references: tuple[str, ...] = field(default=(), compare=False)
    outputs: tuple[tuple[str | None, ...], ...] = field(default=(), compare=False)
    best_first: tuple[int, ...] = field(default=(), compare=False)


def outputs_of(segments: SegmentSet, *, ranked: bool = False) -> SystemOutputs:
    """The outputs of the systems of a set. ranked: with their order by human score.

    Raises ConfigError if there are fewer than two systems, or if they are to be ranked and people did not score them.
    Warns of segments that fewer than two translated.
    """
    where = f"{segments.dataset} {segments.language_pair}"
    systems = sorted(segments.systems)
    if len(systems) < 2:
        has = join_names(systems) if systems else "no named system"
        raise ConfigError(
            f"the metric is fitted on the outputs of several systems for the same segments, but {where} has "
            f"{has}; take a data set with several systems, or include more systems."
        )
    position_of = {name: position for position, name in enumerate(systems)}
    outputs: dict[tuple[str, str], list[str | None]] = {}
    for segment in segments.segments:
        key = (segment.id, segment.reference or "")
        row = outputs.setdefault(key, [None] * len(systems))
        if segment.system in position_of:
            row[position_of[segment.system]] = segment.hypothesis
    few = 0
    for row in outputs.values():
        n_outputs = len(row) - row.count(None)
        if n_outputs < 2:
            few += 1
    if few:
        n_segments = pluralize(len(outputs), "segment")
        warnings.warn(
            f"{few:,} of {n_segments} of {where} were translated by fewer than two of the "
            "systems that difficulty is fitted on; the difficulty of their tokens rests on one output, or on none "
            "(then it is 1).",
            stacklevel=2,
        )
    references = tuple(reference for _, reference in outputs)
    rows = tuple(tuple(row) for row in outputs.values())
    best_first: tuple[int, ...] = ()
    if ranked:
        best_first = tuple(position_of[name] for name in _best_first(segments))
    # Stored scores are found by this digest: without the empty tuple of each segment they would be lost.
    segment_contents = [(reference, row, ()) for reference, row in zip(references, rows, strict=True)]
    segment_contents.sort(key=repr)
    content_digest = digest([systems, best_first, segment_contents])[:16]
    return SystemOutputs(content_digest, tuple(systems), references, rows, best_first)


def _best_first(segments: SegmentSet) -> list[str]:
    """The systems from the best to the worst by primary human score, published or the mean over their segments.

    Of equal ones that which the set has first.
    """
    judgements = segments.judgements
    published = judgements.systems.get(judgements.primary_of_systems)
    human = dict(published) if published else _mean_human_scores(segments)
    lacking = [name for name in segments.systems if name not in human]
    if lacking:
        raise ConfigError(
            f"best: people did not score {join_names(lacking)} in {segments.dataset} {segments.language_pair}, so that "
            "the best systems are not known; leave out best, or these systems."
        )
    return sorted(segments.systems, key=lambda name: -human[name])


def _mean_human_scores(segments: SegmentSet) -> dict[str, float]:
    """The mean human score of each system that has a rated segment."""
    names = np.array([segment.system for segment in segments.segments], dtype=object)
    rated = np.isfinite(segments.human_scores)
    means = {}
    for name in segments.systems:
        rows = rated & (names == name)
        if rows.any():
            means[name] = float(segments.human_scores[rows].mean())
    return means
