"""How likely a causal language model finds the tokens of texts."""

from __future__ import annotations

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.models.encoding import TokenIds, in_batches, lengths_of, products, tensors, token_budget
from bmx_grid.models.loading import LoadedModel

_LOGITS = 8  # a token's logits are that many times larger than its hidden states, or more


def log_likelihoods(loaded: LoadedModel, ids: TokenIds, first: Ints, batch_tokens: int | None) -> Floats:
    """float64[n]: for each text the sum of log P(token | tokens before it), natural logarithms, from one token on.

    first: int64[n] positions of the first tokens that count, 1 or more, since nothing is before a text's first token.
    A text without a token there sums to 0.
    """
    import torch

    sums = np.zeros(len(ids))
    lengths = lengths_of(ids)
    scored = np.flatnonzero(lengths > first)

    def score(batch: Ints) -> None:
        rows = scored[batch]
        tokens, there = tensors(loaded, [ids[row] for row in rows], 0)
        with torch.inference_mode(), products(loaded):
            logits = loaded.network(input_ids=tokens, attention_mask=there.long()).logits[:, :-1].float()
        likely = logits.gather(2, tokens[:, 1:, None])[:, :, 0] - logits.logsumexp(dim=2)
        starts = torch.from_numpy(first[rows]).to(loaded.device)
        positions = torch.arange(1, tokens.shape[1], device=loaded.device)
        counted = there[:, 1:] & (positions >= starts[:, None])
        sums[rows] = (likely.double() * counted).sum(dim=1).cpu().numpy()

    in_batches(score, lengths[scored], loaded, max(token_budget(loaded, batch_tokens) // _LOGITS, 1))
    return sums
