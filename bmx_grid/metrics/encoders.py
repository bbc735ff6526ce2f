"""Metrics on a pretrained encoder: what they share, BERTScore, and the cosine of sentence embeddings."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity, runtime
from bmx_grid.metrics._matching import (
    TokenVectors,
    bert_score_tokens,
    best_matches,
    distinct_texts,
    for_token_pairs,
    special_ids,
)
from bmx_grid.metrics.base import Cost, Floats, GroundTruth, Metric, OfReferences, best, pairs_of, reads_one
from bmx_grid.models.encoding import Ints, hidden_states, in_batches, lengths_of, tokenize
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
    max_length: int | None = identity(None, least=3)
    device: Device = runtime("auto")
    batch_tokens: int | None = runtime(None, least=1)

    @property
    def reads(self) -> tuple[Role, ...]:
        return reads_one(self.ground_truth)

    def check(self) -> None:
        check_model(self.model, self.revision, self.layers)

    @property
    def layers(self) -> int | None:
        """How many of the model's hidden layers are used, where a field `layer` says so; None for all."""
        layer: int | None = getattr(self, "layer", None)
        return layer

    def _loaded(self) -> LoadedModel:
        return load_model(
            "encoder", self.model, self.revision, layers=self.layers, dtype=self.dtype, device=self.device
        )


@dataclass(frozen=True, kw_only=True)
class NearestReference(OfReferences, NeuralMetric):
    """A metric on an encoder that scores pairs of texts (`of_pairs`); of several references the nearest one counts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.references == "all" and "reference" not in self.reads:
            raise ConfigError(
                f"{type(self).__name__}: references=all, but it reads {' and '.join(self.reads)}; set "
                "ground_truth=reference, or references=first."
            )

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


@dataclass(frozen=True, kw_only=True)
class SentenceEmbedding(NearestReference):
    """Cosine between the embeddings of both texts, as in sentence-transformers (Reimers and Gurevych, 2020).

    references: of several references the nearest one counts.
    pooling: mean over all tokens, special ones included, or the first token (cls).
    The empty text is embedded by its special tokens alone. Blanks at both ends are removed.
    """

    pooling: Literal["mean", "cls"] = identity("mean")

    def of_pairs(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        texts, truths, hypotheses = distinct_texts(pairs_of(items, self.ground_truth))
        embeddings = self.embedded(texts)
        embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
        scores: Floats = np.einsum("nd,nd->n", embeddings[truths], embeddings[hypotheses])
        return scores

    def embedded(self, texts: Sequence[str]) -> Floats:
        """float64[n, d] sentence vectors."""
        loaded = self._loaded()
        ids = tokenize(loaded, [text.strip() for text in texts], self.max_length)
        embeddings = np.empty((len(texts), loaded.network.config.hidden_size))

        def embed(batch: Ints) -> None:
            states, mask = hidden_states(loaded, [ids[row] for row in batch])
            if self.pooling == "cls":
                pooled = states[:, 0]
            else:
                pooled = (states * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
            embeddings[batch] = pooled.double().cpu().numpy()

        in_batches(embed, lengths_of(ids), loaded, self.batch_tokens)
        return embeddings


@dataclass(frozen=True, kw_only=True)
class BertScore(NearestReference):
    """BERTScore as bert-score computes it (Zhang et al., 2020): F1 of greedy matching, without idf and rescaling.

    Contextual token embeddings are matched by cosine.

    references: of several references the best score counts, as in bert-score.
    layer: the hidden layer whose output is compared; later layers are not computed.
    Special tokens can be matched, but do not count in precision and recall themselves. A text without any other
    token (the empty text) scores 0, as in bert-score. Blanks at both ends are removed.
    A score is what bert-score gives the pair alone: in a batch it lets a shorter text's padding be matched, with
    cosine 0, where every real cosine is below that.
    """

    layer: int = identity(least=1)

    def of_pairs(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        loaded, scores = self._loaded(), np.empty(len(items))

        def take(batch: Ints, truth: TokenVectors, hypothesis: TokenVectors) -> None:
            recall, precision = (
                ((best * counted).sum(dim=1).double() / counted.sum(dim=1)).cpu().numpy()
                for best, counted in best_matches(truth, hypothesis, special_ids(loaded))
            )
            with np.errstate(invalid="ignore", divide="ignore"):
                scores[batch] = np.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0)

        tokens = functools.partial(bert_score_tokens, loaded, max_length=self.max_length)
        for_token_pairs(loaded, pairs_of(items, self.ground_truth), tokens, take, self.batch_tokens)
        return scores
