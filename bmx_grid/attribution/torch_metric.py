"""A scorer as a metric of torchmetrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torchmetrics import Metric as TorchMetric

from bmx_grid.attribution.texts import PLURAL
from bmx_grid.core.errors import DataError
from bmx_grid.words.perturbation import Role


class SystemScore(TorchMetric):
    """The score of a system from batches of its segments, for training loops: `update`, then `compute`.

    It is made of summed statistics if the metric has them (BLEU, chrF, TER), else the mean of the segments. A batch is
    scored on arrival, and the states are rows of sums, which processes gather.
    """

    is_differentiable = False
    full_state_update = False
    sums: Any

    def __init__(self, scorer: Any, **options: Any) -> None:  # a Scorer, whose module imports this one
        super().__init__(**options)
        self.scorer = scorer
        # rows of all processes in one list, which `compute` sums
        self.add_state("sums", default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # torchmetrics declares a class attribute
        """Whether a higher score is a better one; False for error rates (TER, WER, PER), whose best score is 0."""
        return bool(self.scorer.metric.higher_is_better)

    def update(self, preds: Sequence[str], target: Sequence[Any], sources: Sequence[str] | None = None) -> None:
        """Score a batch: hypotheses, and the references, or the sources for a metric that reads no reference.

        sources: for a metric that reads both. Raises as `Scorer.score`.
        """
        reads = self.scorer.reads
        texts: dict[Role, Any] = {"hypothesis": preds, "reference": target, "source": sources}
        if "reference" not in reads:
            texts["source"] = target
        elif "source" in reads and sources is None:
            raise DataError("this metric reads source and reference: update(hypotheses, references, sources).")
        lists = {PLURAL[role]: texts[role] for role in reads}
        sums = self.scorer.statistics(**lists).sum(axis=0)
        row = torch.tensor(sums[None], dtype=torch.float64, device=self.device)
        self.sums.append(row)

    def compute(self) -> torch.Tensor:
        """float64 scalar; NaN without a segment."""
        if not len(self.sums):
            return torch.tensor(float("nan"), dtype=torch.float64, device=self.device)
        # torchmetrics has joined the rows that it gathered from other processes
        rows = self.sums if isinstance(self.sums, torch.Tensor) else torch.cat(self.sums)
        score = self.scorer.combine(rows.sum(dim=0).cpu().numpy())
        return torch.tensor(score, dtype=torch.float64, device=self.device)
