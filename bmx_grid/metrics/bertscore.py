"""BERTScore as bert-score computes it (Zhang et al., 2020; paper, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity
from bmx_grid.metrics._matching import TokenVectors, bert_score_tokens, best_matches, score_token_pairs, special_ids
from bmx_grid.metrics._neural import NearestReference, distinct_texts
from bmx_grid.words.perturbation import Item


@dataclass(frozen=True, kw_only=True)
class BertScore(NearestReference):
    """F1 of greedy matching between contextual token embeddings by cosine, without idf and without rescaling.

    references: of several references the best score counts, as in bert-score.
    layer: the hidden layer whose output is compared; later layers are not computed.
    Special tokens can be matched, but do not count in precision and recall themselves. A text without any other
    token (the empty text) scores 0, as in bert-score. Blanks at both ends are removed.
    A score is what bert-score gives the pair alone: in a batch it lets a shorter text's padding be matched, with
    cosine 0, where every real cosine is below that.
    """

    layer: int = identity()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layer < 1:
            raise ConfigError(f"layer={self.layer}: hidden layers are counted from 1.")

    def _layers(self) -> int | None:
        return self.layer

    def of_pairs(self, items: Sequence[Item]) -> NDArray[np.float64]:
        import torch

        if not items:
            return np.empty(0)
        loaded = self._loaded()
        texts, truths, hypotheses = distinct_texts(items, self.ground_truth)
        ids = bert_score_tokens(loaded, texts, self.max_length)
        specials = torch.tensor(special_ids(loaded), device=loaded.device)

        def compare(truth: TokenVectors, hypothesis: TokenVectors) -> NDArray[np.float64]:
            found = best_matches(truth, hypothesis, specials)
            sides = ((found.truth, found.of_truth), (found.hypothesis, found.of_hypothesis))
            recall, precision = (
                ((best * counted).sum(dim=1).double() / counted.sum(dim=1)).cpu().numpy() for best, counted in sides
            )
            with np.errstate(invalid="ignore", divide="ignore"):
                f_scores: NDArray[np.float64] = 2 * precision * recall / (precision + recall)
            return np.nan_to_num(f_scores, nan=0.0)

        return score_token_pairs(loaded, ids, truths, hypotheses, compare, self.batch_tokens)
