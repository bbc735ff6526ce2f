"""How likely a text is to a causal language model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bmx_grid.models.encoding import Ints, in_batches, padded, token_budget, tokenize
from bmx_grid.models.loading import LoadedModel

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
