"""MonoTransQuest through its own library (Ranasinghe et al., 2020); an optional extra."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.errors import UnavailableError
from bmx_grid.identity import identity, runtime
from bmx_grid.metrics.base import Cost, Floats, Metric, pairs_of, reads_one
from bmx_grid.words.perturbation import Item, Role


@dataclass(frozen=True, kw_only=True)
class TransQuest(Metric):
    """A MonoTransQuest model that rates a translation from its source, as the library `transquest` predicts it.

    Batches and truncation are the library's; the empty text scores what the model gives it.
    """

    model: str = identity("TransQuest/monotransquest-da-multilingual")
    cuda: bool = runtime(False)

    @property
    def reads(self) -> tuple[Role, ...]:
        return reads_one("source")

    @property
    def cost(self) -> Cost:
        return "model"

    @property
    def signature(self) -> str:
        return f"transquest|model:{self.model}|reads:source|version:{self.VERSION}"

    def check(self) -> None:
        if importlib.util.find_spec("transquest") is None:
            raise UnavailableError(
                "metric 'transquest' needs the library transquest: `pip install transquest`. Its release 1.1.1 was "
                "written for transformers 4, while this package needs transformers 5: it may install and still not run."
            )

    def score(self, items: Sequence[Item]) -> Floats:
        self.check()
        if not items:
            return np.empty(0)
        found, _ = _loaded(self.model, self.cuda).predict([list(pair) for pair in pairs_of(items, "source")])
        return np.array(found, dtype=np.float64).reshape(-1)


@functools.lru_cache(maxsize=1)
def _loaded(model: str, cuda: bool) -> Any:
    name = "transquest.algo.sentence_level.monotransquest.run_model"
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise UnavailableError(
            f"metric 'transquest': {name} does not load beside the libraries here: {error}"
        ) from error
    return module.MonoTransQuestModel("xlmroberta", model, num_labels=1, use_cuda=cuda)
