"""Reference-free metrics through their authors' own libraries: COMET and MonoTransQuest; optional extras."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.metrics.base import Cost, Metric, text_pairs
from bmx_grid.models.files import check_revision
from bmx_grid.words.perturbation import Item, Role


@dataclass(frozen=True, kw_only=True)
class _OfLibrary(Metric):
    """A model that rates a translation from its source, as a library predicts it.

    Batches and truncation are the library's; the empty text has the model's own score.
    """

    LIBRARY: ClassVar[str]
    PACKAGE: ClassVar[str]
    LIMITS: ClassVar[str]  # of the library's last release, in a sentence

    cost: ClassVar[Cost] = "model"
    reads: ClassVar[tuple[Role, ...]] = ("source", "hypothesis")

    model: str = identity()

    @property
    def signature(self) -> str:
        return f"{self.LIBRARY}|model:{self.model}|reads:source|version:{self.VERSION}"

    def check(self) -> None:
        if importlib.util.find_spec(self.LIBRARY) is None:
            raise UnavailableError(
                f"metric '{self.LIBRARY}' needs {self.PACKAGE}: `pip install {self.PACKAGE}`. {self.LIMITS}"
            )

    def score(self, items: Sequence[Item]) -> Floats:
        self.check()
        if not items:
            return np.empty(0)
        pairs = text_pairs(items, "source")
        return np.array(self._predict(pairs), dtype=np.float64).reshape(-1)

    @abstractmethod
    def _predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """A score per pair of source and translation."""


@dataclass(frozen=True, kw_only=True)
class Comet(_OfLibrary):
    """A COMET model (Rei et al., 2020). Its checkpoints are pickled: load only models whose publisher you trust.

    revision: of the model on the hub; None for its newest.
    """

    LIBRARY: ClassVar[str] = "comet"
    PACKAGE: ClassVar[str] = "unbabel-comet"
    LIMITS: ClassVar[str] = (
        "Its release 2.2.7 requires numpy<2 and transformers<5, older than bmx_grid's: run it in an "
        "environment of its own with metric=[command] (docs/how-to/explain_and_boost_comet.md)."
    )

    model: str = identity("Unbabel/wmt20-comet-qe-da")
    revision: str | None = identity(None, added_later=True)
    batch_size: int = runtime(32, least=1)
    gpus: int = runtime(0, least=0)

    @property
    def signature(self) -> str:
        signature = super().signature
        if self.revision is None:
            return signature
        return f"{signature}|revision:{self.revision}"

    def check(self) -> None:
        check_revision(self.model, self.revision)
        super().check()

    def _predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        rows = [{"src": source, "mt": hypothesis} for source, hypothesis in pairs]
        model = _comet(self.model, self.revision)
        return model.predict(rows, batch_size=self.batch_size, gpus=self.gpus, progress_bar=False).scores


@dataclass(frozen=True, kw_only=True)
class TransQuest(_OfLibrary):
    """A MonoTransQuest model (Ranasinghe et al., 2020)."""

    LIBRARY: ClassVar[str] = "transquest"
    PACKAGE: ClassVar[str] = "transquest"
    LIMITS: ClassVar[str] = (
        "Its release 1.1.1 is for transformers 4, older than bmx_grid's: if it does not run, score in an "
        "environment of its own, and read the scores with metric=[imported]."
    )

    model: str = identity("TransQuest/monotransquest-da-multilingual")
    cuda: bool = runtime(False)

    def _predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        rows = [list(pair) for pair in pairs]
        return _transquest(self.model, self.cuda).predict(rows)[0]


@functools.lru_cache(maxsize=1)
def _comet(model: str, revision: str | None) -> Any:
    import comet
    from huggingface_hub import snapshot_download

    if revision is None:
        return comet.load_from_checkpoint(comet.download_model(model))
    # as download_model, which takes no revision
    folder = Path(snapshot_download(model, revision=revision))
    checkpoint = folder / "checkpoints" / "model.ckpt"
    return comet.load_from_checkpoint(str(checkpoint))


@functools.lru_cache(maxsize=1)
def _transquest(model: str, cuda: bool) -> Any:
    module = importlib.import_module("transquest.algo.sentence_level.monotransquest.run_model")
    return module.MonoTransQuestModel("xlmroberta", model, num_labels=1, use_cuda=cuda)
