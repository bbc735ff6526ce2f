"""XMoverScore without cross-lingual mapping (Zhao et al., 2020; paper, section 3.2 and appendix A)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity
from bmx_grid.metrics._matching import TokenVectors, score_token_pairs
from bmx_grid.metrics._neural import NeuralMetric, distinct_texts
from bmx_grid.models.encoding import Ints, in_batches, padded, token_budget, tokenize
from bmx_grid.models.files import check_model, model_identity
from bmx_grid.models.loading import LoadedModel, load_model
from bmx_grid.words.perturbation import Item

_LOGITS = 8  # a token's logits are that many times larger than its hidden states, or more


def normalised_likelihood(loaded: LoadedModel, texts: Sequence[str], batch_tokens: int | None) -> NDArray[np.float64]:
    """float64[n] in [0, 1]: exp(l)^(1/n), where l is the mean log-probability of each of the n tokens but the first.

    That is one over the perplexity, drawn to 1 by the length, as the authors of BMX add it to XMoverScore (the
    original XMoverScore adds l itself). A text of less than two tokens scores 0, as there.
    """
    import torch

    ids = tokenize(loaded, texts, None, specials=False)
    lengths = np.array([len(one) for one in ids], dtype=np.int64)
    scored = np.flatnonzero(lengths >= 2)
    found = np.zeros(len(texts))

    def score(batch: Ints) -> None:
        rows, mask = padded([ids[row] for row in scored[batch]], 0)
        tokens = torch.from_numpy(rows).to(loaded.device)
        there = torch.from_numpy(mask).to(loaded.device)
        with torch.inference_mode():
            logits = loaded.network(input_ids=tokens, attention_mask=there.long()).logits[:, :-1].float()
        likely = logits.gather(2, tokens[:, 1:, None])[:, :, 0] - logits.logsumexp(dim=2)
        total = (likely.double() * there[:, 1:]).sum(dim=1).cpu().numpy()
        mean = total / (lengths[scored[batch]] - 1)
        found[scored[batch]] = np.exp(mean / lengths[scored[batch]])

    in_batches(score, lengths[scored], loaded, max(token_budget(loaded, batch_tokens) // _LOGITS, 1))
    return found


@dataclass(frozen=True, kw_only=True)
class XMoverScore(NeuralMetric):
    """1 minus the earth mover's distance between the token embeddings (unigrams) of both texts.

    Every token, special ones included, weighs the same; the cost is the Euclidean distance of unit vectors.
    layer: the hidden layer whose output is compared.
    flow_dropout: of the flows that are not 0, that share is left out of the sum, the smallest ones, but never
        flows as large as the largest of that share (so with equal weights and sizes nothing is left out).
    language_model: adds `language_model_weight` times `normalised_likelihood` of the hypothesis; None for none,
        as in the paper's text. The authors' code adds 0.1 times that of GPT-2.
    The empty text consists of its two special tokens. Texts are read unchanged.

    The authors' code does more than the paper says: it detokenises both texts, restores the case of the hypothesis,
    and leaves out flows by the rounding of its solver, also some of those that are equal in exact numbers (up to
    .19 per pair). `AuthorsXMoverScore` (option xmoverscore_authors) does the same.
    """

    VERSION = 2

    layer: int = identity()
    flow_dropout: float = identity(0.3)
    language_model: str | None = identity(None)
    language_model_revision: str | None = identity(None)
    language_model_weight: float = identity(0.1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layer < 1:
            raise ConfigError(f"layer={self.layer}: hidden layers are counted from 1.")
        if not 0 <= self.flow_dropout < 1:
            raise ConfigError(f"flow_dropout={self.flow_dropout:g}: must be a share of at least 0 and below 1.")
        if not math.isfinite(self.language_model_weight):
            raise ConfigError(f"language_model_weight={self.language_model_weight:g}: must be a number, as 0.1.")

    def _layers(self) -> int | None:
        return self.layer

    def fingerprint(self) -> dict[str, object]:
        """Settings, with the commits of hub models and the contents of local ones."""
        found = super().fingerprint()
        if self.language_model is not None:
            named = model_identity(self.language_model, self.language_model_revision)
            found |= {f"language_model_{key}": value for key, value in named.items()}
        return found

    def check(self) -> None:
        super().check()
        if self.language_model is not None:
            check_model(self.language_model, self.language_model_revision)

    def score(self, items: Sequence[Item]) -> NDArray[np.float64]:
        if not items:
            return np.empty(0)
        loaded = self._loaded()
        language_model = None
        if self.language_model is not None:  # loaded first: if it cannot be, nothing is scored in vain
            language_model = load_model(
                "causal_lm", self.language_model, self.language_model_revision, dtype=self.dtype, device=self.device
            )
        texts, truths, hypotheses = distinct_texts(items, self.ground_truth)
        ids = tokenize(loaded, texts, self.max_length)
        scores = score_token_pairs(loaded, ids, truths, hypotheses, self._compare, self.batch_tokens)
        if language_model is not None:
            said = sorted(set(hypotheses))
            likely = np.zeros(len(texts))
            likely[said] = normalised_likelihood(language_model, [texts[row] for row in said], self.batch_tokens)
            scores += self.language_model_weight * likely[hypotheses]
        return scores

    def _compare(self, truth: TokenVectors, hypothesis: TokenVectors) -> NDArray[np.float64]:
        """float64[B] scores of B pairs, without the language model."""
        import torch

        # the faster way through a matrix product is off by 1e-4 where two vectors are the same
        mode = "donot_use_mm_for_euclid_dist"
        costs = torch.cdist(truth.vectors, hypothesis.vectors, compute_mode=mode).cpu().numpy()
        sizes = [side.mask.sum(dim=1).tolist() for side in (truth, hypothesis)]
        found = [
            1 - moved_distance(cost[:rows, :columns].astype(np.float64), self.flow_dropout)
            for cost, rows, columns in zip(costs, *sizes, strict=True)
        ]
        return np.array(found)


def moved_distance(cost: NDArray[np.float64], dropout: float) -> float:
    """What it costs to move n equal piles onto m equal piles, without the smallest flows.

    cost: float64[n, m]. Both sides have mass 1. Of the k flows that are not 0, those below the
    max(int(dropout * k), 1)-th smallest are left out. 0 when both sides are empty, and 2, the largest distance of
    unit vectors, when one is. Among optimal flows of the same cost, POT's choice decides what is left out.
    """
    import ot

    rows, columns = cost.shape
    if rows == 0 or columns == 0:
        return 0.0 if rows == columns else 2.0  # POT fails on empty problems
    # n piles of m and m piles of n: whole numbers, so that an optimal flow is whole too and ties are exact
    flow = np.rint(ot.emd(np.full(rows, float(columns)), np.full(columns, float(rows)), cost))
    moved = np.sort(flow[flow > 0])
    if dropout > 0:
        flow[flow < moved[max(int(len(moved) * dropout), 1) - 1]] = 0
    return float((flow * cost).sum() / (rows * columns))
