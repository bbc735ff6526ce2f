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
        """Write the sums of a batch, positions in `scored`, to `sums`."""
        rows = scored[batch]
        # Any token fills up: none of those counts.
        tokens, is_token = tensors(loaded, [ids[row] for row in rows], fill=0)
        with torch.inference_mode(), products(loaded):
            # the logits at a token are of the next one: those of the last token are of none
            logits = loaded.network(input_ids=tokens, attention_mask=is_token.long()).logits[:, :-1].float()
        next_tokens = tokens[:, 1:, None]
        logits_of_next = logits.gather(2, next_tokens)[:, :, 0]
        likely = logits_of_next - logits.logsumexp(dim=2)
        starts = torch.from_numpy(first[rows]).to(loaded.device)
        positions = torch.arange(1, tokens.shape[1], device=loaded.device)
        is_counted = is_token[:, 1:] & (positions >= starts[:, None])
        sums_of_batch = (likely.double() * is_counted).sum(dim=1)
        sums[rows] = sums_of_batch.cpu().numpy()

    budget = max(token_budget(loaded, batch_tokens) // _LOGITS, 1)
    in_batches(score, lengths[scored], loaded, budget)
    return sums
