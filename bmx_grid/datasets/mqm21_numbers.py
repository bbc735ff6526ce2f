"""Two numberings of the newstest2021 segments, brought together by the scores.

Within a document the annotated texts and the published averages count in the same order, from
different starts. So each document has one shift; the right one is where the points summed from the
annotations equal the published averages of all systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import DataError

TOLERANCE = 1e-4  # averages are published with six decimals, points are sums of tenths
AGREEMENT = 0.9  # share of a document's scores that must agree at its shift
Place = tuple[str, str]  # document, source text: the key that all systems share


@dataclass(eq=False, slots=True)
class Judged:
    """One system's translation of one segment, with the points of its annotated errors."""

    system: str
    document: str
    number: int
    source: str
    target: str
    points: float = 0.0

    @property
    def place(self) -> Place:
        """Document and source text."""
        return self.document, self.source


def published_numbers(
    judged: Sequence[Judged], published: Mapping[tuple[str, int], float], where: str
) -> dict[Place, int]:
    """The published number of every place that machine systems were judged on.

    judged: the annotations; published: (system, published number) -> average, NaN if not rated.
    Some human translations are numbered in a third way (ref-C and ref-D of en-de) and cover more
    documents: they are joined through the source text, and what the machines lack is left out.
    Raises DataError when a document finds no shift, or two, or shares numbers with another one.
    """
    systems = sorted({one.system for one in judged})
    column = {system: index for index, system in enumerate(systems)}
    size = max((number for _, number in published), default=0) + 1
    averages = np.full((size, len(systems)), np.nan)
    for (system, number), score in published.items():
        if system in column:
            averages[number, column[system]] = score

    documents: dict[str, dict[str, int]] = {}  # document -> source -> number in the annotations
    for one in judged:
        if not one.system.startswith("ref-"):
            known = documents.setdefault(one.document, {}).setdefault(one.source, one.number)
            if known != one.number:
                raise DataError(f"{where}: {one.document} has one source text as segments {known} and {one.number}.")
    points: dict[str, dict[tuple[int, int], float]] = {document: {} for document in documents}
    for one in judged:
        sources = documents.get(one.document, {})
        if one.source in sources:
            points[one.document][sources[one.source], column[one.system]] = one.points

    found: dict[Place, int] = {}
    for document, sources in documents.items():
        shift = _shift(points[document], averages, f"{where}: document {document}")
        found.update({(document, source): number + shift for source, number in sources.items()})
    if len(set(found.values())) != len(found):
        raise DataError(f"{where}: two segments would have the same published number.")
    return found


def _shift(points: Mapping[tuple[int, int], float], averages: NDArray[np.float64], where: str) -> int:
    """What to add to the numbers of one document, `points` being (number, system) -> points."""
    numbers = np.array([number for number, _ in points])
    columns = np.array([column for _, column in points])
    wanted = -np.array(list(points.values()))
    shifts = np.arange(-numbers.min(), len(averages) - numbers.max())
    agree = np.abs(averages[numbers + shifts[:, None], columns] - wanted) < TOLERANCE
    share = agree.mean(axis=1) if len(shifts) else np.zeros(1)
    best = np.flatnonzero(share == share.max())
    if share.max() < AGREEMENT or len(best) != 1:
        raise DataError(
            f"{where}: at best {share.max():.0%} of the scores agree with the published averages, "
            f"in {len(best)} places; the two files are not of the same evaluation."
        )
    return int(shifts[best[0]])
