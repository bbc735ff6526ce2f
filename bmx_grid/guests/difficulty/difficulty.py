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
from bmx_grid.evaluations.base import Evaluation, ScoredSetting
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.guests.difficulty.difficulty_rows import BinRow, WordRow

SECONDS_PER_TEXT = 3e-3  # MiniLM on one core, of so many outputs per reference:
SYSTEMS = 20
BINS = 20  # of width .05 from 0 to 1
Difficulties = tuple[list[str], Floats]  # of a reference: its tokens, and float64[fits, tokens]


@dataclass(frozen=True, kw_only=True)
class DifficultyEvaluation(Evaluation):
    """The distribution of difficulties, and the tokens of some references with theirs, of a metric that was fitted.

    Only this evaluation calls the metric, for the weights of a part of the references: without its model (a cached
    sweep on another machine) it warns and has no rows. Weights are not stored, since they are a number for each token
    of each reference under each of a dozen fits, and these tables need a hundred references. references: how many,
    spread evenly over the set. sentences: number of references whose tokens are all listed: those with the largest
    difficulty. top: a second fit, as "top:30%", if the metric has it (`best`); null for none. Raises ConfigError for
    numbers below 1, and another `top`.
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

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> Sequence[Mapping[str, Sequence[Any]]]:
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
            names = " · ".join(setting.names[:3])
            warnings.warn(f"{names}: no table of difficulty: {error}", stacklevel=2)
            return [{}]
        fits = self._fits(metric)
        bins: list[BinRow] = []
        for n_systems, fit in fits.items():
            fit_weights = [weights[fit] for _, weights in difficulties]
            bins += bins_of(n_systems, fit_weights)
        ids: dict[str, str] = {}
        for segment in setting.segments.segments:
            # Of several segments with one reference, the first gives its name.
            ids.setdefault(segment.reference or "", segment.id)
        words: list[WordRow] = []
        for row in self._hardest(difficulties):
            tokens, weights = difficulties[row]
            segment_id = ids.get(references[row], "")
            for n_systems, fit in fits.items():
                for place, token in enumerate(tokens):
                    difficulty = float(weights[fit, place])
                    words.append(WordRow(segment_id, place, token, n_systems, difficulty))
        return [{"difficulty": bins, "difficult_words": words}]

    def _some(self, references: Sequence[str]) -> list[str]:
        """The requested number of distinct references, spread evenly."""
        distinct = list(dict.fromkeys(references))
        count = min(self.references, len(distinct))
        spread = np.linspace(0, len(distinct) - 1, count)
        rows = np.unique(spread.astype(np.int64))
        return [distinct[row] for row in rows.tolist()]

    def _hardest(self, difficulties: Sequence[Difficulties]) -> list[int]:
        """Positions, ascending, of the references whose mean difficulty under all systems is largest."""
        means = {}
        for row, (tokens, weights) in enumerate(difficulties):
            means[row] = float(np.mean(weights[0])) if tokens else 0.0
        hardest_first = sorted(means, key=lambda row: means[row], reverse=True)
        return sorted(hardest_first[: self.sentences])

    def _fits(self, metric: DifficultyBertScore) -> dict[int, int]:
        """The row of the difficulties for each number of systems: all systems, and the best of `top`."""
        assert metric.outputs is not None
        count = len(metric.outputs.systems)
        fits = {count: 0}
        if self.top is not None:
            sizes = list(metric.columns_of_best())
            size = how_many(self.top, count, "evaluation.difficulty.top")
            if size in sizes:
                fits[size] = 1 + sizes.index(size)
        return fits


def bins_of(systems: int, weights: Sequence[Floats]) -> list[BinRow]:
    """The rows of the difficulties of references, one array each, that were fitted on so many systems."""
    values = np.concatenate([np.empty(0), *weights])
    n_tokens = len(values)
    mean = float(values.mean()) if n_tokens else float("nan")
    zero = 0
    for of_reference in weights:
        if len(of_reference) > 0 and not of_reference.any():
            zero += 1
    # A mean cosine below the baseline is a difficulty above 1: clip counts it in the last bin.
    bins = (values * BINS).astype(np.int64).clip(0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    shares = counts / max(n_tokens, 1)
    rows: list[BinRow] = []
    for number, share in enumerate(shares.tolist()):
        row = BinRow(
            systems=systems,
            low=number / BINS,
            high=(number + 1) / BINS,
            share=share,
            tokens=n_tokens,
            mean=mean,
            references=len(weights),
            zero=zero,
        )
        rows.append(row)
    return rows
