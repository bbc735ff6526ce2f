"""Several references: what metrics on references share that can read all that a segment has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity, runtime
from bmx_grid.metrics.base import Floats, Metric, reads_one
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.segments import SegmentSet

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class OfReferences(Metric):
    """A metric that compares a hypothesis with the first reference of a segment, or with all of them.

    references: first, or all. A set without further references has the metric of the first one, with its identity.
    nrefs: how many references the segments have, as signatures say it; set by `fitted`.

    An explainer perturbs the first reference alone; the others stay as they are.
    """

    # Options that came after results had been stored: at these values they are no part of the identity.
    LATER: ClassVar[dict[str, Any]] = {"references": "first"}

    references: Literal["first", "all"] = identity("first")
    nrefs: str = runtime("1")

    @property
    def reads_all_references(self) -> bool:
        return self.references == "all"

    def fitted(self, segments: SegmentSet) -> Self:
        found = cast(Self, super().fitted(segments))
        if self.references == "first":
            return found
        counts = {1 + len(one.further_references) for one in segments.segments}
        if counts <= {1}:
            return dataclasses.replace(found, references="first")
        return dataclasses.replace(found, nrefs=str(counts.pop()) if len(counts) == 1 else "var")

    def fingerprint(self) -> dict[str, Any]:
        found = super().fingerprint()
        return {key: value for key, value in found.items() if key not in self.LATER or value != self.LATER[key]}

    def references_of(self, item: Item) -> list[str]:
        """The references of an item that are read, the first one first."""
        return [item.text("reference"), *(item.further_references if self.references == "all" else ())]

    def reads_several(self, items: Iterable[Item]) -> bool:
        """Whether any item has several references that are read."""
        return self.references == "all" and any(item.further_references for item in items)

    def one_by_one(self, items: Sequence[Item]) -> tuple[list[Item], Ints]:
        """Each item once for each of its references, and int64[n]: where those of each item begin."""
        found = [
            [item._replace(reference=text, further_references=()) for text in self.references_of(item)]
            for item in items
        ]
        starts = np.cumsum([0, *map(len, found)], dtype=np.int64)[:-1]
        return [one for own in found for one in own], starts

    def library_settings(self) -> dict[str, Any]:
        """The identity fields that sacreBLEU knows."""
        return {key: value for key, value in self.settings().items() if key not in self.LATER}

    def signed(self, signature: str) -> str:
        """A signature that says how many references there are."""
        return signature.replace("nrefs:1", f"nrefs:{self.nrefs}", 1)

    def check_references(self) -> None:
        """Raise ConfigError for all references of a metric that reads none."""
        if self.references == "all" and "reference" not in self.reads:
            raise ConfigError(
                f"{type(self).__name__}: references=all, but it reads {' and '.join(self.reads)}; set "
                "ground_truth=reference, or references=first."
            )


@dataclass(frozen=True, kw_only=True)
class Counted(OfReferences):
    """A metric on references whose score is `combine` of what `statistics` counts."""

    @property
    def reads(self) -> tuple[Role, ...]:
        return reads_one("reference")

    def score(self, items: Sequence[Item]) -> Floats:
        return self.combine(self.statistics(items))


def best(scores: Floats, starts: Ints, *, higher: bool = True) -> Ints:
    """int64[n]: which of `scores`, given where those of each item begin, is its best; the first of equal ones."""
    if not len(starts):
        return np.empty(0, dtype=np.int64)
    turned = scores if higher else -scores
    sizes = np.diff(starts, append=len(turned))
    hits = np.flatnonzero(turned == np.repeat(np.maximum.reduceat(turned, starts), sizes))
    _, first = np.unique(np.repeat(np.arange(len(starts)), sizes)[hits], return_index=True)
    return hits[first]
