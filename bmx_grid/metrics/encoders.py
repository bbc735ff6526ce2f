"""Metrics on a pretrained encoder: their base, tokens of two sides matched, BERTScore, sentence embeddings."""

from __future__ import annotations

import dataclasses
import functools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.metrics._idf import digest_of_texts, idf_of_texts, texts_of_set
from bmx_grid.metrics.base import Cost, GroundTruth, Metric, MultiReferenceMetric, text_pairs
from bmx_grid.models.encoding import (
    HeldStates,
    TokenIds,
    hidden_states,
    lengths_of,
    run_batches,
    tensors,
    to_device,
    token_budget,
    tokenize,
    windows,
)
from bmx_grid.models.files import check_model, model_identity
from bmx_grid.models.loading import Device, LoadedModel, ModelKind, Precision, fastest_precision, load_model
from bmx_grid.models.model_cards import model_languages
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

Pair = tuple[str, str]
PADDING = -1  # the token id of padding in `TokenVectors`
_WINDOW = 8  # budgets' worth of tokens that are held: wide enough that batches fill up with texts of one length
_SPACE_FIRST = ("roberta", "gpt2")  # bert-score has their byte-level tokens begin with a blank


# B texts as tensors: float32[B, L, D] unit vectors, bool[B, L] True for tokens, int64[B, L] token ids
TokenVectors = tuple[Any, Any, Any]
# int64[B] positions of pairs, with their ground truths and hypotheses
Take = Callable[[Ints, TokenVectors, TokenVectors], None]


def process_token_pairs(
    loaded: LoadedModel,
    pairs: Sequence[Pair],
    tokens: Callable[[list[str]], TokenIds],
    take: Take,
    batch_tokens: int | None,
) -> None:
    """Hand n pairs of texts to `take`, in batches, each pair once; `tokens` makes the tokens of distinct texts.

    Pairs that share a text are in a window together, whose texts are embedded once and held.
    """
    import torch

    texts, truths, hypotheses = distinct_texts(pairs)
    ids = tokens(texts)
    sides = np.array([truths, hypotheses], dtype=np.int64).reshape(2, -1)
    uses = np.bincount(sides.ravel(), minlength=len(ids))
    truth_uses, hypothesis_uses = uses[sides]
    # the text of a pair that more pairs have
    shared = np.where(hypothesis_uses > truth_uses, sides[1], sides[0])
    lengths_of_texts = lengths_of(ids)
    lengths = lengths_of_texts[sides].sum(axis=0)
    # A shared text is held once for all its pairs: its tokens count for the first pair only.
    _, first_pairs = np.unique(shared, return_index=True)
    is_held_already = np.ones(len(shared), dtype=np.bool_)
    is_held_already[first_pairs] = False
    held_lengths = lengths - is_held_already * lengths_of_texts[shared]

    def encode(texts_of_batch: TokenIds) -> tuple[Any, Any]:
        states, mask = hidden_states(loaded, texts_of_batch)
        return torch.nn.functional.normalize(states, dim=-1), mask

    def take_window(window: Ints) -> None:
        in_use, rows = np.unique(sides[:, window], return_inverse=True)
        rows = rows.reshape(2, -1)
        held = HeldStates(loaded, [ids[text] for text in in_use], encode, batch_tokens)

        def compare(batch: Ints) -> None:
            vectors = []
            for side in rows[:, batch]:
                side_ids = [ids[text] for text in in_use[side]]
                padded_ids, _ = tensors(loaded, side_ids, PADDING)
                vectors.append((*held.take(side), padded_ids))
            take(window[batch], *vectors)

        run_batches(compare, lengths[window], loaded, batch_tokens)

    limit = _WINDOW * token_budget(loaded, batch_tokens)
    order = np.argsort(shared, kind="stable")  # pairs that share a text are neighbours
    for window in windows(order, held_lengths, limit):
        # a function, so that one window's vectors are freed before the next one's are made
        take_window(window)


def bert_score_tokens(loaded: LoadedModel, texts: Sequence[str], max_length: int | None) -> TokenIds:
    """Token ids of each text with special tokens, blanks at both ends removed; warns as `tokenize` does."""
    before = " " if loaded.network.config.model_type in _SPACE_FIRST else ""
    stripped = [text.strip() for text in texts]
    # as in bert-score, which reads the empty text as its special tokens only
    prepared = [before + text if text else "" for text in stripped]
    return tokenize(loaded, prepared, max_length)


def special_ids(loaded: LoadedModel) -> list[int]:
    """The ids of tokens that do not count: of the begin and the end of a text, and of padding."""
    return [loaded.tokenizer.cls_token_id, loaded.tokenizer.sep_token_id, PADDING]


def best_matches(
    truth: TokenVectors, hypothesis: TokenVectors, special: Sequence[int], *, match_specials: bool = True
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """For the ground truths and for the hypotheses of B pairs: float32[B, L] and bool[B, L] tensors.

    The first has the highest cosine of each token with a token of the other side, -2 without one; the second
    is True for tokens that count: neither special nor padding. special: as `special_ids`; match_specials: whether they
    may be a best match.
    """
    import torch

    truth_vectors, truth_mask, truth_ids = truth
    hypothesis_vectors, hypothesis_mask, hypothesis_ids = hypothesis
    specials = torch.tensor(special, device=truth_ids.device)
    truth_counts = ~torch.isin(truth_ids, specials)
    hypothesis_counts = ~torch.isin(hypothesis_ids, specials)
    if not match_specials:
        truth_mask = truth_counts
        hypothesis_mask = hypothesis_counts
    can_match = truth_mask[:, :, None] & hypothesis_mask[:, None, :]
    similar = truth_vectors @ hypothesis_vectors.transpose(1, 2)
    # below every cosine, so that padding is never the best match
    similar = similar.masked_fill(~can_match, -2.0)
    return (similar.amax(dim=2), truth_counts), (similar.amax(dim=1), hypothesis_counts)


def distinct_texts(pairs: Iterable[Pair]) -> tuple[list[str], list[int], list[int]]:
    """The different texts of all pairs, and the positions in them of each ground truth and each hypothesis."""
    rows: dict[str, int] = {}
    truths = []
    hypotheses = []
    for truth, hypothesis in pairs:
        truths.append(rows.setdefault(truth, len(rows)))
        hypotheses.append(rows.setdefault(hypothesis, len(rows)))
    return list(rows), truths, hypotheses


@dataclass(frozen=True, kw_only=True)
class ModelMetric(Metric):
    """A metric on one pretrained model, which its identity names by its content."""

    cost: ClassVar[Cost] = "model"

    model: str = identity()
    revision: str | None = identity(None)

    @property
    def signature(self) -> str:
        values = self.fingerprint()
        parts = [values.pop("type").lower()]
        for key, value in values.items():
            if value is not None:
                parts.append(f"{key}:{value}")
        return "|".join(parts)

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        return ((self.model, self.revision),)

    def known_languages(self, role: Role) -> frozenset[str] | None:
        return model_languages(self.pretrained_models())

    def fingerprint(self) -> dict[str, Any]:
        """Settings, with the commit of a hub model and the content of a local one."""
        settings = super().fingerprint()
        return settings | model_identity(self.model, self.revision)


@dataclass(frozen=True, kw_only=True)
class NeuralMetric(ModelMetric):
    """A metric on one pretrained network: an encoder unless KIND names another.

    model: a hub id, a folder, or package:NAME/FOLDER (bmx_grid.models.files). revision: of a hub model.
    ground_truth: which text it reads.
    dtype: bfloat16 is faster if the processor computes in it, and changes scores: on MiniLM by 0.0003 (BERTScore)
        and 0.0005 (sentence embeddings) on average, 0.0012 and 0.0022 at most, over the 144 pairs of the sample that
        are English on both sides; LIME's attributions by 0.0001 and 0.0002, with a spread of 0.04 and 0.06. tf32
        has weights in float32, and products in TF32 on a GPU. auto takes bfloat16 if the processor or the GPU
        computes in it, else float32: its choice is part of the identity.
    max_length: the most tokens per text, special tokens included; None for the model's own limit.
    device: auto takes a GPU if PyTorch sees one. batch_tokens: padded tokens per batch; None chooses by the device.
    shuffled: seed of a permutation of the network's weights, which makes a placebo of the metric; None for none.
    """

    KIND: ClassVar[ModelKind] = "encoder"

    ground_truth: GroundTruth = identity("source")
    dtype: Precision | Literal["auto"] = identity("float32")
    max_length: int | None = identity(None, least=3)
    device: Device = runtime("auto")
    batch_tokens: int | None = runtime(None, least=1)
    shuffled: int | None = identity(None, added_later=True, least=0, most=2**63 - 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype == "auto":
            # written out, so that the identity names the precision that was taken
            object.__setattr__(self, "dtype", fastest_precision(self.device))

    @property
    def reads(self) -> tuple[Role, ...]:
        return (self.ground_truth, "hypothesis")

    def check(self) -> None:
        check_model(self.model, self.revision, self._layers)

    def shuffle_weights(self, seed: int) -> Self:
        return dataclasses.replace(self, shuffled=seed)

    @property
    def _layers(self) -> int | None:
        """The number of hidden layers used, from the field `layer` if the class has it; None for all."""
        return getattr(self, "layer", None)

    @property
    def precision(self) -> Precision:
        """The number format that the network computes in."""
        assert self.dtype != "auto", "it was chosen as the metric was made"
        return self.dtype

    def _load_model(self) -> LoadedModel:
        return load_model(
            self.KIND,
            self.model,
            self.revision,
            layers=self._layers,
            dtype=self.precision,
            device=self.device,
            shuffled=self.shuffled,
        )


@dataclass(frozen=True, kw_only=True)
class NearestReference(MultiReferenceMetric, NeuralMetric):
    """A metric on an encoder that scores pairs of texts (`score_pairs`); of several references the best counts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.references == "all" and "reference" not in self.reads:
            raise ConfigError(
                f"{type(self).__name__}: references=all, but it reads {' and '.join(self.reads)}; set "
                "ground_truth=reference, or references=first."
            )

    @property
    def signature(self) -> str:
        signature = super().signature
        if self.references == "first":
            return signature
        return f"{signature}|nrefs:{self.nrefs}"

    def score(self, items: Sequence[Item]) -> Floats:
        return self.best_reference_rows(items, self.score_pairs, lambda scores: scores)

    @abstractmethod
    def score_pairs(self, items: Sequence[Item]) -> Floats:
        """float64[n] of items, by their first reference only."""


@dataclass(frozen=True, kw_only=True)
class SentenceEmbedding(NearestReference):
    """Cosine between the embeddings of both texts, as in sentence-transformers (Reimers and Gurevych, 2020).

    references: of several references the nearest one counts.
    pooling: mean over all tokens, special ones included, or the first token (cls).
    The empty text is embedded by its special tokens. Blanks at both ends are removed.
    """

    pooling: Literal["mean", "cls"] = identity("mean")

    def score_pairs(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        texts, truths, hypotheses = distinct_texts(text_pairs(items, self.ground_truth))
        embeddings = self.embed_texts(texts)
        embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
        cosines = np.einsum("nd,nd->n", embeddings[truths], embeddings[hypotheses])
        return np.asarray(cosines)

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """float64[n, d] sentence vectors."""
        import torch

        loaded = self._load_model()
        stripped = [text.strip() for text in texts]
        ids = tokenize(loaded, stripped, self.max_length)
        shape = len(texts), loaded.network.config.hidden_size
        embeddings = torch.empty(shape, dtype=torch.float32, device=loaded.device)

        def embed(batch: Ints) -> None:
            states, mask = hidden_states(loaded, [ids[row] for row in batch])
            if self.pooling == "cls":
                pooled = states[:, 0]
            else:
                summed = (states * mask[:, :, None]).sum(dim=1)  # padding has states, too
                pooled = summed / mask.sum(dim=1, keepdim=True)
            embeddings[to_device(loaded, batch)] = pooled

        run_batches(embed, lengths_of(ids), loaded, self.batch_tokens)
        return np.asarray(embeddings.cpu().numpy(), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class BertScore(NearestReference):
    """BERTScore as bert-score computes it (Zhang et al., 2020): F1 of greedy matching.

    Contextual token embeddings are matched by cosine.

    idf: tokens weigh by their inverse document frequency among the ground truths of the set, every text of an id once.
        `fit` gives it these texts; outside a sweep set idf_texts.
    baseline: of bert-score's table for the language, model and layer: F1 becomes (F1 - baseline) / (1 - baseline).

    references: of several references the best score counts, as in bert-score.
    layer: the hidden layer whose output is compared; later layers are not computed.
    Special tokens can be matched, but do not count in precision and recall themselves. A text without any other
    token (the empty text) scores 0, as in bert-score. Blanks at both ends are removed.
    A score equals bert-score's of a single pair: in a batch bert-score lets a shorter text's padding be matched, with
    cosine 0, if every real cosine is below that.
    """

    layer: int = identity(least=1)
    idf: bool = identity(False, added_later=True)
    baseline: float = identity(0.0, added_later=True, below=1)  # below the F1 of equal texts
    idf_texts: tuple[str, ...] = runtime(())  # the identity holds their digest

    def fingerprint(self) -> dict[str, Any]:
        """Settings and model, and the texts that idf weights are from."""
        values = super().fingerprint()
        if self.idf:
            values["idf_of"] = digest_of_texts(self.idf_texts)
        return values

    def fit(self, segments: SegmentSet) -> Self:
        fitted = super().fit(segments)
        if not self.idf or self.idf_texts:
            return fitted
        items = self.items(segments)
        texts = [(item.text(self.ground_truth), *item.further_references) for item in items]
        return dataclasses.replace(fitted, idf_texts=texts_of_set(segments, texts))

    def score_pairs(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        import torch

        loaded = self._load_model()
        tokens = functools.partial(bert_score_tokens, loaded, max_length=self.max_length)
        special = special_ids(loaded)
        weight_of_token = None
        if self.idf:
            weights_of_tokens = idf_of_texts(loaded, self.idf_texts, self.max_length, tokens)
            weight_of_token = torch.tensor(weights_of_tokens, dtype=torch.float32, device=loaded.device)
        # of each pair the sums of recall and precision, and the weights that they are of: on the device until the end,
        # since each number that is fetched from a GPU is waited for
        sums = torch.empty((len(items), 4), dtype=torch.float32, device=loaded.device)

        def take(batch: Ints, truth: TokenVectors, hypothesis: TokenVectors) -> None:
            columns = []
            sides = best_matches(truth, hypothesis, special)
            for (cosines, counts), (_, _, ids) in zip(sides, (truth, hypothesis), strict=True):
                weights = counts.float()
                if weight_of_token is not None:
                    # padding, whose id is below 0, does not count
                    weights = weights * weight_of_token[ids.clamp(min=0)]
                columns.append((cosines * weights).sum(dim=1))
                columns.append(weights.sum(dim=1))
            sums[to_device(loaded, batch)] = torch.stack(columns, dim=1)

        process_token_pairs(loaded, text_pairs(items, self.ground_truth), tokens, take, self.batch_tokens)
        rows = sums.cpu().numpy().astype(np.float64)
        truth_cosines, truth_weights, hypothesis_cosines, hypothesis_weights = rows.T
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = truth_cosines / truth_weights
            precision = hypothesis_cosines / hypothesis_weights
            f1 = 2 * precision * recall / (precision + recall)
        # 0 / 0 for a text without tokens that count, or whose tokens are in every text
        scores = np.nan_to_num(f1, nan=0.0)
        return np.asarray((scores - self.baseline) / (1 - self.baseline))
