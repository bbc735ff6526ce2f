"""Human judgements of N segments: named scores, and the individual raters behind them where published."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.words.tags import Side, WordTags

LARGEST = 1e150  # of a score: float64 has no room for the square of one that is farther from 0


@dataclass(frozen=True, eq=False)
class Judgements:
    """Human scores of N segments by aspect, higher is better; NaN for unrated segments.

    scores: aspect (`da`, `mqm`, `z_mean`, a column of the user's file) -> float64[N]. The first aspect is the
        primary one, which metrics are correlated with unless another is asked for.
    raters: aspect -> float64[N, R], the R individual ratings that the aspect's score was made from, in the
        published order; NaN where a segment has fewer. A column is one person only where the publisher says so.
    systems: aspect -> system -> published human score of the whole system, where it is no mean of segment scores; an
        aspect that was published for systems only has NaN for every segment. A part of the segments keeps them all.

    tags: role -> published tags of the words of that side, of all N segments.

    Raises DataError for no aspect, an unnamed one, arrays of other shapes, raters or systems of an unknown aspect, tags
    of another number of segments, or a score beyond 1e150.
    """

    scores: Mapping[str, NDArray[np.float64]]
    raters: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    tags: Mapping[Side, WordTags] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scores: dict[str, NDArray[np.float64]] = {name: np.asarray(a, np.float64) for name, a in self.scores.items()}
        raters: dict[str, NDArray[np.float64]] = {name: np.asarray(a, np.float64) for name, a in self.raters.items()}
        if not scores or not all(scores):
            raise DataError("judgements need at least one human score, and every human score needs a name.")
        count = scores[next(iter(scores))].size
        for kind, arrays, dimensions in (("human score", scores, 1), ("raters", raters, 2)):
            for name, values in arrays.items():
                if values.ndim != dimensions or len(values) != count:
                    raise DataError(f"the {kind} '{name}' has the shape {values.shape}, expected {count} rows.")
                beyond = np.argwhere(np.abs(values) > LARGEST)
                if len(beyond):
                    raise DataError(
                        f"the human score '{name}' of segment number {beyond[0][0] + 1} is "
                        f"{values[tuple(beyond[0])]:g}; write a number within ±{LARGEST:g}, or leave it empty for a "
                        "segment that was not rated."
                    )
        for name in (*raters, *self.systems):
            if name not in scores:
                raise DataError(
                    f"there are raters or systems' scores of '{name}', but the human scores are {', '.join(scores)}."
                )
        for side, tags in self.tags.items():
            if len(tags) != count:
                raise DataError(f"there are word tags of {len(tags)} {side} texts, but {count} human scores.")
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "raters", raters)

    def __len__(self) -> int:
        return self.scores[self.primary].size

    @property
    def primary(self) -> str:
        """The name of the first aspect."""
        return next(iter(self.scores))

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of all aspects, the primary one first."""
        return tuple(self.scores)

    def take(self, rows: ArrayLike) -> Judgements:
        """The judgements of these rows: indices, in their order, or a bool mask over the N segments."""
        chosen = np.asarray(rows)
        if chosen.size == 0 and chosen.dtype != np.bool_:
            chosen = chosen.astype(np.intp)
        return Judgements(
            {name: values[chosen] for name, values in self.scores.items()},
            {name: values[chosen] for name, values in self.raters.items()},
            self.systems,
            {side: tags.take(np.arange(len(self))[chosen].tolist()) for side, tags in self.tags.items()},
        )

    def fingerprint(self) -> dict[str, object]:
        """Names, shapes and SHA-256 of all values, in order; all NaN count as one. Systems and tags if any."""
        prints: dict[str, object] = {
            kind: [[name, list(values.shape), _digest(values)] for name, values in arrays.items()]
            for kind, arrays in (("scores", self.scores), ("raters", self.raters))
        }
        if self.systems:
            prints["systems"] = {name: dict(of_systems) for name, of_systems in self.systems.items()}
        if self.tags:
            prints["tags"] = {side: tags.fingerprint() for side, tags in self.tags.items()}
        return prints


def _digest(values: NDArray[np.float64]) -> str:
    same = np.where(np.isnan(values), np.nan, values)  # the bits of NaN vary with how it arose
    return hashlib.sha256(same.astype("<f8").tobytes()).hexdigest()
