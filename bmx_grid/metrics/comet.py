"""Reference-free COMET through Unbabel's own library (Rei et al., 2020); an optional extra."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.errors import ConfigError, UnavailableError
from bmx_grid.identity import identity, runtime
from bmx_grid.metrics.base import Cost, Floats, Metric, pairs_of, reads_one
from bmx_grid.words.perturbation import Item, Role


@dataclass(frozen=True, kw_only=True)
class Comet(Metric):
    """A COMET model that rates a translation from its source, as the library `comet` predicts it.

    Model, batches and truncation are the library's; the empty text scores what the model gives it. The library's
    checkpoints are pickled: load only models whose publisher you trust.
    """

    model: str = identity("Unbabel/wmt20-comet-qe-da")
    batch_size: int = runtime(32)
    gpus: int = runtime(0)

    def __post_init__(self) -> None:
        for name, value, least in (("batch_size", self.batch_size, 1), ("gpus", self.gpus, 0)):
            if value < least:
                raise ConfigError(f"{name}={value}: must be at least {least}.")

    @property
    def reads(self) -> tuple[Role, ...]:
        return reads_one("source")

    @property
    def cost(self) -> Cost:
        return "model"

    @property
    def signature(self) -> str:
        return f"comet|model:{self.model}|reads:source|version:{self.VERSION}"

    def check(self) -> None:
        if importlib.util.find_spec("comet") is None:
            raise UnavailableError(
                "metric 'comet' needs the library unbabel-comet: `pip install unbabel-comet`. Its release 2.2.7 asks "
                "for numpy<2 and transformers<5, older than what this package needs, so that both share an "
                "environment only with a release that lifts these bounds."
            )

    def score(self, items: Sequence[Item]) -> Floats:
        self.check()
        if not items:
            return np.empty(0)
        rows = [{"src": source, "mt": hypothesis} for source, hypothesis in pairs_of(items, "source")]
        found = _loaded(self.model).predict(rows, batch_size=self.batch_size, gpus=self.gpus, progress_bar=False)
        return np.array(found.scores, dtype=np.float64)


@functools.lru_cache(maxsize=1)
def _loaded(model: str) -> Any:
    import comet

    return comet.load_from_checkpoint(comet.download_model(model))
