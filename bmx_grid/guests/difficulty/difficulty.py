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
from bmx_grid.evaluations.base import Evaluation, Finished
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.guests.difficulty.difficulty_rows import BinRow, WordRow

SECONDS_PER_TEXT = 3e-3  # MiniLM on one core, of so many outputs per reference:
SYSTEMS = 20
BINS = 20  # of width .05 from 0 to 1
Difficulties = tuple[list[str], Floats]  # of a reference: its tokens, and float64[fits, tokens]


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

    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.difficulty.best_systems",)
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
        references = self._some(metric.outputs.references)
        try:
            metric.check()
            difficulties = metric.difficulty(references)
        except UnavailableError as error:
            warnings.warn(f"{' · '.join(setting.names[:3])}: no table of difficulty: {error}", stacklevel=2)
            return [{}]
        ids = {segment.reference or "": segment.id for segment in reversed(setting.segments.segments)}
        fits = self._fits(metric)
        bins: list[BinRow] = []
        for n_systems, fit in fits.items():
            bins += bins_of(n_systems, [weights[fit] for _, weights in difficulties])
        words: list[WordRow] = []
        for row in self._hardest(difficulties):
            tokens, weights = difficulties[row]
            segment = ids.get(references[row], "")
            for n_systems, fit in fits.items():
                for place, token in enumerate(tokens):
                    words.append(WordRow(segment, place, token, n_systems, float(weights[fit, place])))
        return [{"difficulty": bins, "difficult_words": words}]

    def _some(self, references: Sequence[str]) -> list[str]:
        """As many distinct references as are asked for, spread evenly."""
        distinct = list(dict.fromkeys(references))
        count = min(self.references, len(distinct))
        rows = np.unique(np.linspace(0, len(distinct) - 1, count).astype(np.int64))
        return [distinct[row] for row in rows.tolist()]

    def _hardest(self, difficulties: Sequence[Difficulties]) -> list[int]:
        """Positions, ascending, of the references whose mean difficulty under all systems is largest."""

        def mean(row: int) -> float:
            tokens, weights = difficulties[row]
            return float(np.mean(weights[0])) if tokens else 0.0

        hardest_first = sorted(range(len(difficulties)), key=mean, reverse=True)
        return sorted(hardest_first[: self.sentences])

    def _fits(self, metric: DifficultyBertScore) -> dict[int, int]:
        """Numbers of systems, and which row of the difficulties is of so many."""
        assert metric.outputs is not None
        count = len(metric.outputs.systems)
        fits = {count: 0}
        sizes = list(metric.columns_of_best())
        if self.top is not None:
            size = how_many(self.top, count, "evaluation.difficulty.top")
            if size in sizes:
                fits[size] = 1 + sizes.index(size)
        return fits


def bins_of(systems: int, weights: Sequence[Floats]) -> list[BinRow]:
    """The rows of the difficulties of references, one array each, that were fitted on so many systems."""
    values = np.concatenate(weights) if weights else np.empty(0)
    edges = np.arange(BINS + 1) / BINS
    counts = np.bincount((values * BINS).astype(np.int64).clip(0, BINS - 1), minlength=BINS)
    mean = float(values.mean()) if len(values) else float("nan")
    zero = sum(len(of_reference) > 0 and not of_reference.any() for of_reference in weights)
    shares = counts / max(len(values), 1)
    rows: list[BinRow] = []
    for low, high, share in zip(edges[:-1].tolist(), edges[1:].tolist(), shares.tolist(), strict=True):
        rows.append(BinRow(systems, low, high, share, len(values), mean, len(weights), zero))
    return rows
