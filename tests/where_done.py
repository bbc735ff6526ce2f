"""A metric and an evaluation for tests that note which process does their work, and on which device."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from fakes import HashMetric

from bmx_grid.core.devices import assigned
from bmx_grid.core.identity import runtime
from bmx_grid.evaluations.base import Finished
from bmx_grid.evaluations.levels import LevelsEvaluation
from bmx_grid.metrics.base import Cost
from bmx_grid.models.loading import _chosen_device
from bmx_grid.words.perturbation import Item

TORCH = SimpleNamespace(  # all that is asked of it; loading PyTorch takes seconds in each process
    cuda=SimpleNamespace(is_available=lambda: True, device_count=lambda: 2),
    backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: False)),
)


@dataclass(frozen=True)
class DeviceMetric(HashMetric):
    """A hash that says it is a large model, on a machine with two CUDA devices; notes which it is given, and where."""

    folder: str = runtime("")
    device: str = runtime("auto")

    @property
    def cost(self) -> Cost:
        return "model"

    def score(self, items: Sequence[Item]) -> np.ndarray:
        time.sleep(0.2)  # so that every process gets some
        with patch.dict(sys.modules, torch=TORCH):
            noted(self.folder, "score", _chosen_device("auto"))
        return super().score(items)


@dataclass(frozen=True)
class NotingEvaluation(LevelsEvaluation):
    """Agreement at segment level; notes where it is computed."""

    folder: str = runtime("")

    def cost(self, n_segments: int) -> float:
        return 1_000.0  # worth workers

    def of_scope(self, settings: Sequence[Finished]) -> Any:
        noted(self.folder, "evaluate", str(assigned()))
        return super().of_scope(settings)


def noted(folder: str, what: str, device: str) -> None:
    """Note what is done in this process, and on which device."""
    (Path(folder) / f"{what} {os.getpid()} {device}").touch()
