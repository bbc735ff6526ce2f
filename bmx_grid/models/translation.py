"""How likely a translation model finds a given target: teacher-forced log-probabilities, in batches.

Sources are encoded first, then targets decoded, each in batches of like lengths; the states at the targets' tokens wait
until there are enough of them for the output layer (`models.output_layer`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Ragged
from bmx_grid.models.encoding import HeldStates, Ints, TokenIds, in_batches, lengths_of, tensors, tokenize, windows
from bmx_grid.models.languages import Languages, use
from bmx_grid.models.loading import LoadedModel

Floats = NDArray[np.float64]
STATES_AT_ONCE = 2_048  # enough for the processor's full rate of matrix products
_CPU_BLOCK = 2**21  # logits at once: 8 MiB of float32
_GPU_BLOCK = 2**26
_LOWEST = -1e30


def likelihoods(network: Any, states: Any, rows: Ints, wanted: Ints, *, entropies: bool) -> tuple[Floats, Floats]:
    """Log-probabilities of tokens, and the entropies of the distributions they are drawn from.

    states: tensor [R, D], the decoder's last. rows: int64[T], which state each token follows. wanted: int64[T] tokens.
    Returns float64[T] natural logarithms, and float64[R] entropies in nats, NaN unless asked for. Exponentials are of
    float32 logits less their running maximum (Milakov & Gimelshein, 2018); their sums are in float32 within a block of
    the vocabulary and in float64 across blocks.
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
    top = torch.full((len(states), 1), _LOWEST, device=device)
    total = torch.zeros(len(states), dtype=precise, device=device)
    mixed = torch.zeros_like(total)  # sum of exp(logit - top) * (logit - top)
    for number, start in enumerate(range(0, len(weight), width)):
        logits = torch.nn.functional.linear(states, weight[start : start + width]).float()
        if bias is not None:
            logits += bias[start : start + width]
        here = slice(edges[number], edges[number + 1])
        chosen[to[here]] = logits[row_of[here], token[here] - start]
        higher = torch.maximum(top, logits.amax(dim=1, keepdim=True))
        lowered = (top - higher)[:, 0].to(precise)
        mixed = (mixed + total * lowered) * lowered.exp()
        total *= lowered.exp()
        top = higher
        logits -= top
        shares = logits.exp()
        if entropies:
            mixed += (shares * logits.clamp_(min=_LOWEST)).sum(dim=1)  # 0 * -inf is 0: a token that never comes
        total += shares.sum(dim=1)
    every = top[:, 0].to(precise) + total.log()
    likely = chosen.to(precise) - every[torch.from_numpy(rows).to(device)]
    entropy = total.log() - mixed / total if entropies else torch.full_like(total, torch.nan)
    return likely.cpu().double().numpy(), entropy.cpu().double().numpy()


def _bias(network: Any) -> Any:
    """The sum of the output layer's biases, float32[vocabulary]; None where it is 0."""
    found = [getattr(network, "final_logits_bias", None), network.lm_head.bias]
    biases = [one.float().flatten() for one in found if one is not None and bool(one.any())]
    return sum(biases[1:], biases[0]) if biases else None


_HELD = 2**26  # numbers of the encoder's states that are held at once: 256 MiB of float32


@dataclass(frozen=True, eq=False)
class Forced:
    """n targets, each token scored after the true ones before it.

    log_probabilities: natural logarithms; entropies: of the model's distribution at each token, in nats (eq. 4 of
    DATScore). Rows are the target's tokens as the model's labels have them, end and other special tokens included.
    is_code: bool, flat as the values: the token is the code of the target's language, which is given to the model.
    """

    log_probabilities: Ragged
    entropies: Ragged
    is_code: NDArray[np.bool_]

    def sums(self, *, codes: bool) -> Floats:
        """float64[n, 4]: tokens, sum of log-probabilities, sum of entropy x log-probability, sum of entropies.

        codes: whether the language's code counts as a token.
        """
        counts = np.ones(len(self.is_code)) if codes else (~self.is_code).astype(np.float64)
        likely, entropy = self.log_probabilities.values, self.entropies.values
        row = np.repeat(np.arange(len(self.log_probabilities)), self.log_probabilities.lengths)
        columns = (counts, counts * likely, counts * entropy * likely, counts * entropy)
        return np.stack([np.bincount(row, one, len(self.log_probabilities)) for one in columns], axis=1)


def forced(
    loaded: LoadedModel,
    sources: Sequence[str],
    targets: Sequence[str],
    languages: Languages,
    *,
    batch_tokens: int | None = None,
    max_length: int | None = None,
    with_entropies: bool = True,
) -> Forced:
    """Score n targets given n sources. The same in any batch, up to the rounding of the model's precision.

    max_length: the most tokens per text, special tokens included; None for the model's own limit. Truncated texts
    are counted (`encoding.truncated`). with_entropies: else they are NaN, and not computed.

    Each source is encoded once. Targets of a source that begin alike ask the same question at their common tokens,
    which goes through the output layer once; a target that is another's beginning goes through nothing.
    """
    numbers: dict[str, int] = {}
    source_of = np.array([numbers.setdefault(text, len(numbers)) for text in sources], dtype=np.int64)
    source_ids = source_tokens(loaded, list(numbers), languages, max_length)
    use(loaded.tokenizer, languages)
    labels = tokenize(loaded, targets, max_length, target=True)
    flat = np.concatenate([*labels, np.empty(0, dtype=np.int32)]).astype(np.int64)
    questions = _Questions(loaded, source_of, labels, flat, with_entropies)
    lengths, source_lengths = lengths_of(labels), lengths_of(source_ids)
    longest_first = np.argsort(-source_lengths, kind="stable")
    for window in windows(longest_first, source_lengths, _HELD // loaded.network.config.d_model):
        held = _Encoded(loaded, [source_ids[one] for one in window], batch_tokens)
        place = np.full(len(source_ids), -1)
        place[window] = np.arange(len(window))
        chosen = questions.rows[place[source_of[questions.rows]] >= 0]

        def answer(batch: Ints, held: _Encoded = held, place: Ints = place, chosen: Ints = chosen) -> None:
            rows = chosen[batch]
            questions.take(rows, held.decoded(place[source_of[rows]], [questions.entered[row] for row in rows]))

        # a source's token costs a decoder two of the sixteen matrices that a target's token costs
        in_batches(answer, (lengths + source_lengths[source_of] // 8)[chosen], loaded, batch_tokens)
        questions.answer()
    is_code = np.zeros(len(flat), dtype=np.bool_) if languages.code is None else flat == languages.code
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    likely, entropies = questions.likely, questions.entropies[questions.of_token]
    return Forced(Ragged(likely, offsets), Ragged(entropies, offsets), is_code)


class _Questions:
    """What the decoder is asked: the token that follows a source and the first tokens of a target; Q distinct ones.

    entered: what the decoder reads of each target. rows: int64[n], the targets that together ask all questions.
    of_token: int64[T], the question of each target token, flat.
    likely: float64[T], entropies: float64[Q]: the answers.
    """

    def __init__(
        self, loaded: LoadedModel, source_of: Ints, labels: TokenIds, wanted: Ints, with_entropies: bool
    ) -> None:
        self.entered = [[decoder_start(loaded, one.tolist()), *one[:-1].tolist()] for one in labels]
        numbers: dict[tuple[int, int], int] = {}  # of (question before, token), the first before which is a source
        found = []
        for source, tokens in zip(source_of.tolist(), self.entered, strict=True):
            at = -1 - source
            for token in tokens:
                at = numbers.setdefault((at, token), len(numbers))
                found.append(at)
        leaf = np.ones(len(numbers), dtype=np.bool_)  # no longer target asks it, too
        leaf[[before for before, _ in numbers if before >= 0]] = False
        self.of_token = np.array(found, dtype=np.int64)
        self.likely, self.entropies = np.full(len(found), np.nan), np.full(len(numbers), np.nan)
        self._network, self._wanted, self._with_entropies = loaded.network, wanted, with_entropies
        self._starts = np.cumsum([0, *(len(one) for one in labels)])
        last, first = np.unique(self.of_token[self._starts[1:] - 1], return_index=True)
        self.rows = np.sort(first[leaf[last]])
        self._seen = np.zeros(len(numbers), dtype=np.bool_)
        self._waiting: list[tuple[Ints, Any]] = []  # questions, and the decoder's states at them

    def take(self, rows: Ints, states: Any) -> None:
        """The decoder's states at the tokens of these targets, flat. Answers when there are enough of them."""
        import torch

        asked, first = np.unique(np.concatenate([self._of(row) for row in rows]), return_index=True)
        new = ~self._seen[asked]
        self._waiting.append((asked[new], states[torch.from_numpy(first[new]).to(states.device)]))
        self._seen[asked] = True
        if sum(len(one) for one, _ in self._waiting) >= STATES_AT_ONCE:
            self.answer()

    def answer(self) -> None:
        """Put the states that wait through the output layer."""
        import torch

        if not self._waiting:
            return
        asked = np.concatenate([one for one, _ in self._waiting])
        place = np.full(len(self._seen), -1)
        place[asked] = np.arange(len(asked))
        tokens = np.flatnonzero(place[self.of_token] >= 0)
        with torch.inference_mode():
            self.likely[tokens], self.entropies[asked] = likelihoods(
                self._network,
                torch.cat([states for _, states in self._waiting]),
                place[self.of_token[tokens]],
                self._wanted[tokens],
                entropies=self._with_entropies,
            )
        self._waiting = []

    def _of(self, row: int) -> Ints:
        return self.of_token[self._starts[row] : self._starts[row + 1]]


class _Encoded(HeldStates):
    """The encoder's states of some sources."""

    def __init__(self, loaded: LoadedModel, ids: TokenIds, batch_tokens: int | None) -> None:
        def encode(some: TokenIds) -> tuple[Any, Any]:
            import torch

            tokens, there = tensors(loaded, some)
            with torch.inference_mode():
                return loaded.network.base_model.encoder(input_ids=tokens, attention_mask=there.long())[0], there

        network = loaded.network
        super().__init__(loaded, ids, encode, batch_tokens, width=network.config.d_model, dtype=network.dtype)

    def decoded(self, sources: Ints, entered: Sequence[Sequence[int]]) -> Any:
        """The decoder's states [T, D] at the tokens of targets, flat."""
        import torch

        states, there = self.take(sources)
        tokens, mask = tensors(self._loaded, entered)
        with torch.inference_mode():
            return self._loaded.network.base_model.decoder(
                input_ids=tokens,
                encoder_hidden_states=states,
                encoder_attention_mask=there.long(),
                use_cache=False,
            )[0][mask]


def source_tokens(loaded: LoadedModel, texts: Sequence[str], languages: Languages, max_length: int | None) -> TokenIds:
    """int32[L] tokens of each source, marked with the pair's languages as the model has them."""
    use(loaded.tokenizer, languages)
    return tokenize(loaded, [languages.before + text for text in texts], max_length)


def decoder_start(loaded: LoadedModel, labels: Sequence[int]) -> int:
    """What the decoder reads first: mBART's reads the last label (the language's code, or the end), others a fixed one.

    As `shift_tokens_right` of the families has it.
    """
    config = loaded.network.config
    return int(labels[-1] if config.model_type == "mbart" else config.decoder_start_token_id)
