"""Cosine of sentence embeddings, as in sentence-transformers (Reimers and Gurevych, 2020; paper, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.identity import identity
from bmx_grid.metrics._neural import NearestReference, distinct_texts
from bmx_grid.models.encoding import Ints, hidden_states, in_batches, tokenize
from bmx_grid.words.perturbation import Item


@dataclass(frozen=True, kw_only=True)
class SentenceEmbedding(NearestReference):
    """Cosine between the embeddings of both texts.

    references: of several references the nearest one counts.
    pooling: mean over all tokens, special ones included, or the first token (cls).
    The empty text is embedded by its special tokens alone. Blanks at both ends are removed.
    """

    pooling: Literal["mean", "cls"] = identity("mean")

    def of_pairs(self, items: Sequence[Item]) -> NDArray[np.float64]:
        if not items:
            return np.empty(0)
        loaded = self._loaded()
        texts, truths, hypotheses = distinct_texts(items, self.ground_truth)
        ids = tokenize(loaded, [text.strip() for text in texts], self.max_length)
        embeddings = np.empty((len(texts), loaded.network.config.hidden_size))

        def embed(batch: Ints) -> None:
            states, mask = hidden_states(loaded, [ids[row] for row in batch])
            if self.pooling == "cls":
                pooled = states[:, 0]
            else:
                pooled = (states * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
            embeddings[batch] = pooled.double().cpu().numpy()

        in_batches(embed, np.array([len(one) for one in ids], dtype=np.int64), loaded, self.batch_tokens)
        embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
        scores: NDArray[np.float64] = np.einsum("nd,nd->n", embeddings[truths], embeddings[hypotheses])
        return scores
