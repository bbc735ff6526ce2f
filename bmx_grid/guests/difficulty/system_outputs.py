"""What the systems of a data set made of its segments, and which systems are best."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest
from bmx_grid.core.wording import counted, named

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


@dataclass(frozen=True)
class SystemOutputs:
    """What S systems made of n segments; equal where the digest is.

    systems: their names, in alphabetical order. references: n. outputs: n rows of S texts, None for a system without
    one. best_first: positions of the systems from the best to the worst by human score; empty where that is not asked
    for. digest: of all of it, the order of segments left out.
    """

    digest: str
    systems: tuple[str, ...] = field(default=(), compare=False)
    references: tuple[str, ...] = field(default=(), compare=False)
    outputs: tuple[tuple[str | None, ...], ...] = field(default=(), compare=False)
    best_first: tuple[int, ...] = field(default=(), compare=False)


def outputs_of(segments: SegmentSet, *, ranked: bool = False) -> SystemOutputs:
    """The outputs of the systems of a set. ranked: with their order by human score.

    Raises ConfigError where there are fewer than two systems, or where they are to be ranked and people did not score
    them. Warns of segments that fewer than two translated.
    """
    where = f"{segments.dataset} {segments.language_pair}"
    systems = sorted(segments.systems)
    if len(systems) < 2:
        has = named(systems) if systems else "no named system"
        raise ConfigError(
            f"the metric is fitted on the outputs of several systems for the same segments, and there is {has} in "
            f"{where}; take a data set with several systems, or more of them."
        )
    at = {name: position for position, name in enumerate(systems)}
    outputs: dict[tuple[str, str], list[str | None]] = {}
    for segment in segments.segments:
        row = outputs.setdefault((segment.id, segment.reference or ""), [None] * len(systems))
        if segment.system in at:
            row[at[segment.system]] = segment.hypothesis
    few = sum(len(row) - row.count(None) < 2 for row in outputs.values())
    if few:
        warnings.warn(
            f"{few:,} of {counted(len(outputs), 'segment')} of {where} were translated by fewer than two of the "
            "systems that difficulty is fitted on; the difficulty of their tokens rests on one output, or on none "
            "(then it is 1).",
            stacklevel=2,
        )
    references = tuple(reference for _, reference in outputs)
    rows = tuple(map(tuple, outputs.values()))
    best_first = tuple(at[name] for name in _best_first(segments)) if ranked else ()
    told = sorted(((reference, row, ()) for reference, row in zip(references, rows, strict=True)), key=repr)
    return SystemOutputs(digest([systems, best_first, told])[:16], tuple(systems), references, rows, best_first)


def _best_first(segments: SegmentSet) -> list[str]:
    """The systems from the best to the worst by primary human score, published or the mean over their segments.

    Of equal ones that which the set has first.
    """
    judged = segments.judgements
    of_system: Mapping[str, float] = judged.systems.get(judged.primary) or {}
    if not of_system:
        names = np.array([segment.system for segment in segments.segments], dtype=object)
        rated = {name: np.isfinite(segments.human_scores) & (names == name) for name in segments.systems}
        of_system = {name: float(segments.human_scores[rows].mean()) for name, rows in rated.items() if rows.any()}
    lacking = [name for name in segments.systems if name not in of_system]
    if lacking:
        raise ConfigError(
            f"best: people did not score {named(lacking)} in {segments.dataset} {segments.language_pair}, so that the "
            "best systems are not known; leave out best, or these systems."
        )
    return sorted(segments.systems, key=lambda name: -of_system[name])
