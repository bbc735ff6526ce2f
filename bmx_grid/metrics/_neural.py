"""What all metrics on a pretrained encoder share: which model, in which precision, and where it runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity, runtime
from bmx_grid.metrics._references import OfReferences, best
from bmx_grid.metrics.base import Cost, Floats, GroundTruth, Metric, pairs_of, reads_one
from bmx_grid.models.files import check_model, model_identity
from bmx_grid.models.loading import Device, Dtype, LoadedModel, load_model
from bmx_grid.words.perturbation import Item, Role


@dataclass(frozen=True, kw_only=True)
class ModelMetric(Metric):
    """A metric on one pretrained model, which its identity names by what it holds."""

    model: str = identity()
    revision: str | None = identity(None)

    @property
    def cost(self) -> Cost:
        return "model"

    @property
    def signature(self) -> str:
        values = self.fingerprint()
        name = values.pop("type").lower()
        return "|".join([name, *(f"{key}:{value}" for key, value in values.items() if value is not None)])

    def fingerprint(self) -> dict[str, Any]:
        """Settings, with the commit of a hub model and the content of a local one."""
        return {**super().fingerprint(), **model_identity(self.model, self.revision)}


@dataclass(frozen=True, kw_only=True)
class NeuralMetric(ModelMetric):
    """A metric on one pretrained encoder.

    model: a hub id, a folder, or package:NAME/FOLDER (bmx_grid.models.files). revision: of a hub model.
    ground_truth: which text it reads.
    dtype: bfloat16 is faster where the processor computes in it, and changes scores: on MiniLM by 0.0003 (BERTScore)
        and 0.0005 (sentence embeddings) on average, 0.0012 and 0.0022 at most, over the 144 pairs of the sample that
        are English on both sides; LIME's attributions by 0.0001 and 0.0002, where they spread by 0.04 and 0.06.
    max_length: the most tokens per text, special tokens included; None for the model's own limit.
    device: auto takes a GPU where there is one. batch_tokens: padded tokens per batch; None for what suits the device.
    """

    ground_truth: GroundTruth = identity("source")
    dtype: Dtype = identity("float32")
    max_length: int | None = identity(None)
    device: Device = runtime("auto")
    batch_tokens: int | None = runtime(None)

    def __post_init__(self) -> None:
        for name, value, least in (("max_length", self.max_length, 3), ("batch_tokens", self.batch_tokens, 1)):
            if value is not None and value < least:
                raise ConfigError(f"{name}={value}: must be at least {least}, or null for what suits the model.")

    @property
    def reads(self) -> tuple[Role, ...]:
        return reads_one(self.ground_truth)

    def check(self) -> None:
        check_model(self.model, self.revision, self._layers())

    def _layers(self) -> int | None:
        """How many of the model's hidden layers are used; None for all."""
        return None

    def _loaded(self) -> LoadedModel:
        return load_model(
            "encoder", self.model, self.revision, layers=self._layers(), dtype=self.dtype, device=self.device
        )


@dataclass(frozen=True, kw_only=True)
class NearestReference(OfReferences, NeuralMetric):
    """A metric on an encoder that scores pairs of texts (`of_pairs`); of several references the nearest one counts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_references()

    @property
    def signature(self) -> str:
        return super().signature + (f"|nrefs:{self.nrefs}" if self.references == "all" else "")

    def score(self, items: Sequence[Item]) -> Floats:
        if not self.reads_several(items):
            return self.of_pairs(items)
        single, starts = self.one_by_one(items)
        scores = self.of_pairs(single)
        return scores[best(scores, starts)]

    @abstractmethod
    def of_pairs(self, items: Sequence[Item]) -> Floats:
        """float64[n] of items whose first reference alone is read."""


def distinct_texts(items: Sequence[Item], role: GroundTruth) -> tuple[list[str], list[int], list[int]]:
    """The different texts of all items, and the positions in them of each ground truth and each hypothesis."""
    rows: dict[str, int] = {}
    pairs = pairs_of(items, role)
    truths = [rows.setdefault(truth, len(rows)) for truth, _ in pairs]
    hypotheses = [rows.setdefault(hypothesis, len(rows)) for _, hypothesis in pairs]
    return list(rows), truths, hypotheses
