"""How difficult the tokens of references are: difficulty.parquet and difficult_words.parquet (Zhan et al. 2021, 4)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.base import how_many
from bmx_grid.evaluations.base import Evaluation, Finished, SettingRow
from bmx_grid.metrics.difficulty_bertscore import DifficultyBertScore

SECONDS_PER_TEXT = 3e-3  # MiniLM on one core, of so many outputs per reference:
SYSTEMS = 20
BINS = 20  # of width .05 from 0 to 1


@dataclass(frozen=True)
class BinRow(SettingRow):
    """One row of difficulty.parquet: the share of reference tokens whose difficulty is from `low` to below `high`.

    systems: how many the weights were fitted on. The first bin has what is below it as well, the last what is above.
    mean: of all tokens; zero: how many of the references have no weight above 0, and so score 0.
    """

    systems: int
    low: float
    high: float
    share: float
    tokens: int
    mean: float
    references: int
    zero: int


@dataclass(frozen=True)
class WordRow(SettingRow):
    """One row of difficult_words.parquet: a token of a reference, and its difficulty."""

    id: str
    place: int
    token: str
    systems: int
    difficulty: float


@dataclass(frozen=True, kw_only=True)
class DifficultyEvaluation(Evaluation):
    """The distribution of difficulties, and the tokens of some references with theirs, of a metric that was fitted.

    This evaluation, alone among all, asks the metric, for the weights of a part of the references: where its model is
    unavailable (a cached sweep elsewhere) there are no rows, and a warning. Weights are not stored, since they are a
    number for each token of each reference under each of a dozen fits, and these tables need a hundred references.
    references: how many, spread evenly over the set. sentences: of how many of them all tokens are listed: those in
    which difficulty is largest. top: a second fit, as "top:30%", where the metric has it (`best`); null for none.
    Raises ConfigError for numbers below 1, and another `top`.
    """

    ROWS: ClassVar[Mapping[str, type]] = {"difficulty": BinRow, "difficult_words": WordRow}

    references: int = identity(100, least=1)
    sentences: int = identity(5, least=1)
    top: str | None = identity("top:30%")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top is not None:
            how_many(self.top, 100, "evaluation.difficulty.top")

    def cost(self, n_segments: int) -> float:
        return min(n_segments, self.references * SYSTEMS) * SECONDS_PER_TEXT

    def of_scope(self, settings: Sequence[Finished]) -> Sequence[Mapping[str, Sequence[Any]]]:
        """The rows; none for another metric than a fitted `DifficultyBertScore`."""
        (setting,) = settings
        metric = setting.metric
        if not isinstance(metric, DifficultyBertScore) or metric.outputs is None:
            return [{}]
        ids = {segment.reference or "": segment.id for segment in reversed(setting.segments.segments)}
        known = list(dict.fromkeys(metric.outputs.references))
        some = np.unique(np.linspace(0, len(known) - 1, min(self.references, len(known))).astype(np.int64))
        references = [known[at] for at in some.tolist()]
        try:
            metric.check()
            found = metric.difficulty(references)
        except UnavailableError as error:
            warnings.warn(f"{' · '.join(setting.names[:3])}: no table of difficulty: {error}", stacklevel=2)
            return [{}]
        fits = self._fits(metric)
        bins = [row for size, at in fits.items() for row in bins_of(size, [weights[at] for _, weights in found])]
        hardest = sorted(range(len(found)), key=lambda at: -float(np.mean(found[at][1][0])) if found[at][0] else 0.0)
        words = [
            WordRow(ids.get(references[row], ""), place, token, size, float(found[row][1][at, place]))
            for row in sorted(hardest[: self.sentences])
            for size, at in fits.items()
            for place, token in enumerate(found[row][0])
        ]
        return [{"difficulty": bins, "difficult_words": words}]

    def _fits(self, metric: DifficultyBertScore) -> dict[int, int]:
        """Numbers of systems, and which row of the difficulties is of so many."""
        assert metric.outputs is not None
        count = len(metric.outputs.systems)
        found = {count: 0}
        sizes = list(metric.columns_of_best())
        if self.top is not None and (size := how_many(self.top, count, "evaluation.difficulty.top")) in sizes:
            found[size] = 1 + sizes.index(size)
        return found


def bins_of(systems: int, weights: Sequence[Floats]) -> list[BinRow]:
    """The rows of the difficulties of references, one array each, that were fitted on so many systems."""
    values = np.concatenate(weights) if weights else np.empty(0)
    edges = np.arange(BINS + 1) / BINS
    counts = np.bincount((values * BINS).astype(np.int64).clip(0, BINS - 1), minlength=BINS)
    mean = float(values.mean()) if len(values) else float("nan")
    zero = sum(len(one) > 0 and not one.any() for one in weights)
    shares = counts / max(len(values), 1)
    return [
        BinRow(
            systems, float(edges[at]), float(edges[at + 1]), float(shares[at]), len(values), mean, len(weights), zero
        )
        for at in range(BINS)
    ]
