"""The weight of each token of a reference: how hard it is for the systems that translated it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

import numpy as np

from bmx_grid.core.ragged import Floats, Ints

Repeated = Literal["running", "mean"]


class Match(NamedTuple):
    """The tokens of a pair of texts, and their best cosines with tokens of the other text; without special tokens.

    float64[L] and int64[L] of the ground truth, float64[M] and int64[M] of the hypothesis; cosines are 0 if the other
    text has no token.
    """

    truth_cosines: Floats
    hypothesis_cosines: Floats
    truth_tokens: Ints
    hypothesis_tokens: Ints


@dataclass(frozen=True, eq=False)
class TokenWeights:
    """The weights of a reference of L tokens under F fits.

    tokens: int64[L]. weights: float64[F, L] of each place. repeated: how a token of several places is weighted.
    """

    tokens: Ints
    weights: Floats
    repeated: Repeated

    @functools.cached_property
    def weights_by_token(self) -> dict[int, Floats]:
        """float64[F] by token, as a hypothesis looks it up.

        "running": the mean of what there is and the next place, from the first on; "mean": of all places.
        """
        weights: dict[int, Floats] = {}
        for token in dict.fromkeys(self.tokens.tolist()):
            place_weights = self.weights[:, self.tokens == token].T
            if self.repeated == "mean":
                weights[token] = place_weights.mean(axis=0)
                continue
            running = place_weights[0]
            for further in place_weights[1:]:
                running = (running + further) / 2
            weights[token] = running
        return weights

    def look_up(self, tokens: Ints) -> Floats:
        """float64[F, M] weights of other tokens: those of the same token in the reference, else 1."""
        weights = np.ones((len(self.weights), len(tokens)))
        for place, token in enumerate(tokens.tolist()):
            weights[:, place] = self.weights_by_token.get(token, 1.0)
        return weights

    def align(self, tokens: Ints) -> TokenWeights:
        """The weights of a perturbed reference.

        Tokens that the reference still has in its order keep the weight of their place; others have the weight of the
        same token in the reference, or 1.
        """
        if np.array_equal(tokens, self.tokens):
            return self
        weights = self.look_up(tokens)
        # autojunk would ignore the frequent tokens of texts of 200 tokens or more.
        matcher = SequenceMatcher(None, self.tokens.tolist(), tokens.tolist(), autojunk=False)
        for place, new_place, size in matcher.get_matching_blocks():
            weights[:, new_place : new_place + size] = self.weights[:, place : place + size]
        return TokenWeights(tokens, weights, self.repeated)


def mean_of_rows(values: Floats) -> Floats:
    """float64[F] means of rows; 0 of none."""
    count = max(values.shape[1], 1)
    return np.asarray(values.sum(axis=1) / count)
