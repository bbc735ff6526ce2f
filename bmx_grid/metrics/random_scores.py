"""Control: random scores, which show the level of chance."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.metrics.base import GroundTruth, Metric, text_pairs
from bmx_grid.words.perturbation import Item, Role


@dataclass(frozen=True)
class RandomMetric(Metric):
    """Uniform scores in [0, 1), a pure function of (seed, ground truth, hypothesis).

    A hash takes the place of a random generator, so that order, batch and number of workers cannot change a score.
    ground_truth: which text it reads; "source" is what every data set has.
    """

    is_placebo: ClassVar[bool] = True

    seed: int = identity(0)
    ground_truth: GroundTruth = identity("source")

    @property
    def reads(self) -> tuple[Role, ...]:
        return (self.ground_truth, "hypothesis")

    @property
    def signature(self) -> str:
        return f"random|seed:{self.seed}|reads:{self.ground_truth}|version:{self.VERSION}"

    def score(self, items: Sequence[Item]) -> Floats:
        pairs = text_pairs(items, self.ground_truth)
        words = []
        for ground_truth, hypothesis in pairs:
            # The length keeps ("ab", "c") and ("a", "bc") apart.
            text = f"{self.seed} {len(ground_truth)} {ground_truth}{hypothesis}"
            words.append(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        # The highest 53 of 64 bits: as many as a float64 holds exactly, so that the scores stay below 1.
        bits = np.frombuffer(b"".join(words), dtype="<u8") >> np.uint64(11)
        return bits.astype(np.float64) * 2.0**-53
