"""Log-probabilities of tokens from a decoder's hidden states, without the logits of the whole vocabulary in memory.

The output layer is by far the widest (128,112 columns in M2M-100). It is computed in blocks of columns, whose
exponentials are summed while they are in the processor's cache, for as many states at once as there are: its weights,
525 MB of float32, are then read once for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.models.encoding import Ints

Floats = NDArray[np.float64]
STATES_AT_ONCE = 2_048  # enough for the processor's full rate of matrix products
_CPU_BLOCK = 2**21  # logits at once: 8 MiB of float32
_GPU_BLOCK = 2**26
_LOWEST = -1e30
_SAFE = (1e-20, 1e30)  # sums of exponentials that float32 holds: what underflows is less than 1e-12 of them


def likelihoods(network: Any, states: Any, rows: Ints, wanted: Ints, *, entropies: bool) -> tuple[Floats, Floats]:
    """Log-probabilities of tokens, and the entropies of the distributions they are drawn from.

    states: tensor [R, D], the decoder's last. rows: int64[T], which state each token follows. wanted: int64[T] tokens.
    Returns float64[T] natural logarithms, and float64[R] entropies in nats, NaN unless asked for. Exponentials are of
    float32 numbers; their sums are in float32 within a block and in float64 across blocks.
    """
    likely, entropy = np.empty(len(wanted)), np.full(len(states), np.nan)

    def fill(part: Ints, shifted: bool) -> Ints:
        """Compute these states and their tokens; those of them whose sums are not safe."""
        place = np.full(len(states), -1)
        place[part] = np.arange(len(part))
        tokens = np.flatnonzero(place[rows] >= 0)
        found = _of(network, states[part], place[rows[tokens]], wanted[tokens], shifted, entropies)
        likely[tokens], entropy[part] = found[:2]
        return part[~found[2]]

    for start in range(0, len(states), 2 * STATES_AT_ONCE):
        part = np.arange(start, min(start + 2 * STATES_AT_ONCE, len(states)))
        # Entropies need the shift for their precision. Log-probabilities rarely do, and it takes a tenth of the time.
        unsafe = fill(part, entropies)
        if len(unsafe) and not entropies:
            fill(unsafe, True)
    return likely, entropy


def _of(
    network: Any, states: Any, rows: Ints, wanted: Ints, shifted: bool, entropies: bool
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Log-probabilities, entropies, and which states have safe sums.

    shifted: exponentials are of logits less their running maximum (Milakov & Gimelshein, 2018).
    """
    import torch

    device = states.device
    precise = torch.float32 if device.type == "mps" else torch.float64
    weight, bias = network.lm_head.weight, _bias(network)
    width = max((_CPU_BLOCK if device.type == "cpu" else _GPU_BLOCK) // len(states), 64)
    order = np.argsort(wanted, kind="stable")
    edges = np.searchsorted(wanted[order], np.arange(0, len(weight) + width, width))
    row_of, token, to = (torch.from_numpy(one).to(device) for one in (rows[order], wanted[order], order))
    chosen = torch.empty(len(wanted), dtype=torch.float32, device=device)
    top = torch.full((len(states), 1), _LOWEST if shifted else 0.0, device=device)
    total = torch.zeros(len(states), dtype=precise, device=device)
    mixed = torch.zeros_like(total)  # sum of exp(logit - top) * (logit - top)
    for number, start in enumerate(range(0, len(weight), width)):
        logits = torch.nn.functional.linear(states, weight[start : start + width]).float()
        if bias is not None:
            logits += bias[start : start + width]
        here = slice(edges[number], edges[number + 1])
        chosen[to[here]] = logits[row_of[here], token[here] - start]
        if shifted:
            higher = torch.maximum(top, logits.amax(dim=1, keepdim=True))
            lowered = (top - higher)[:, 0].to(precise)
            mixed = (mixed + total * lowered) * lowered.exp()
            total *= lowered.exp()
            top = higher
            logits -= top
        if entropies:
            shares = logits.exp()
            mixed += (shares * logits.clamp_(min=_LOWEST)).sum(dim=1)  # 0 * -inf is 0: a token that never comes
        else:
            shares = logits.exp_()
        total += shares.sum(dim=1)
    every = top[:, 0].to(precise) + total.log()
    likely = chosen.to(precise) - every[torch.from_numpy(rows).to(device)]
    entropy = total.log() - mixed / total if entropies else torch.full_like(total, torch.nan)
    safe = (total > _SAFE[0]) & (total < _SAFE[1])
    return likely.cpu().double().numpy(), entropy.cpu().double().numpy(), safe.cpu().numpy()


def _bias(network: Any) -> Any:
    """The sum of the output layer's biases, float32[vocabulary]; None where it is 0."""
    found = [getattr(network, "final_logits_bias", None), network.lm_head.bias]
    biases = [one.float().flatten() for one in found if one is not None and bool(one.any())]
    return sum(biases[1:], biases[0]) if biases else None
