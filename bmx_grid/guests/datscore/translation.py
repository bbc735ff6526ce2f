"""How likely a translation model finds a given target (teacher-forced log-probabilities), and its own translations.

Sources are encoded first, then targets decoded, each in batches of like lengths; the states at the targets' tokens wait
until there are enough of them for the output layer (`likelihoods`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bmx_grid.core.ragged import Flags, Floats, Ints, Ragged
from bmx_grid.guests.datscore.languages import Languages, known_languages, use
from bmx_grid.models.encoding import HeldStates, TokenIds, in_batches, lengths_of, tensors, tokenize, windows
from bmx_grid.models.loading import LoadedModel

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
    weight = network.lm_head.weight
    bias = getattr(network, "final_logits_bias", None)
    width = max((_CPU_BLOCK if device.type == "cpu" else _GPU_BLOCK) // len(states), 64)
    # Wanted tokens in the order of the vocabulary: those of a block are one slice.
    order = np.argsort(wanted, kind="stable")
    edges = np.searchsorted(wanted[order], np.arange(0, len(weight) + width, width))
    row_of, token, to = (torch.from_numpy(part).to(device) for part in (rows[order], wanted[order], order))
    chosen = torch.empty(len(wanted), dtype=torch.float32, device=device)
    top = torch.full((len(states), 1), _LOWEST, device=device)
    total = torch.zeros(len(states), dtype=precise, device=device)
    mixed = torch.zeros_like(total)  # sum of exp(logit - top) * (logit - top)
    for number, start in enumerate(range(0, len(weight), width)):
        logits = torch.nn.functional.linear(states, weight[start : start + width]).float()
        if bias is not None:
            logits += bias[0, start : start + width]
        here = slice(edges[number], edges[number + 1])
        chosen[to[here]] = logits[row_of[here], token[here] - start]
        # Where a block has a higher maximum, what was summed below the old one is scaled down to it.
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


_HELD = 2**26  # numbers of the encoder's states that are held at once: 256 MiB of float32


def forced(
    loaded: LoadedModel,
    sources: Sequence[str],
    targets: Sequence[str],
    languages: Languages,
    *,
    batch_tokens: int | None = None,
    max_length: int | None = None,
    with_entropies: bool = True,
) -> tuple[Ragged, Ragged, Flags]:
    """How likely n targets are given n sources, each token after the true ones before it; the same in any batch.

    Returns natural logarithms of probabilities, entropies of the model's distribution at each token in nats (eq. 4 of
    DATScore), and whether a token, flat as their values, is the code of the target's language, which is given to the
    model. Rows are tokens as the model's labels have them, special ones included.

    max_length: the most tokens per text, special tokens included; None for the model's own limit. Truncated texts
    are counted (`encoding.truncated`). with_entropies: else they are NaN, and not computed.

    Each source is encoded once. Targets of a source that begin alike ask the same question at their common tokens,
    which goes through the output layer once; a target that is another's beginning goes through nothing.
    """
    import torch

    network = loaded.network
    numbers: dict[str, int] = {}
    source_of = np.array([numbers.setdefault(text, len(numbers)) for text in sources], dtype=np.int64)
    use(loaded.tokenizer, languages)
    source_ids = tokenize(loaded, list(numbers), max_length)
    labels = tokenize(loaded, targets, max_length, target=True)
    lengths = lengths_of(labels)
    source_lengths = lengths_of(source_ids)
    flat = np.concatenate([*labels, np.empty(0, dtype=np.int32)]).astype(np.int64)
    fixed = None if network.config.model_type == "mbart" else network.config.decoder_start_token_id
    starts = [tokens[-1] if fixed is None else fixed for tokens in labels]  # as `shift_tokens_right` of the families
    entered = [[int(start), *tokens[:-1].tolist()] for start, tokens in zip(starts, labels, strict=True)]
    questions = _Questions(network, source_of, entered, flat, with_entropies)

    def score_window(window: Ints) -> None:
        held = _encoded(loaded, [source_ids[source] for source in window], batch_tokens)
        place = np.full(len(source_ids), -1)
        place[window] = np.arange(len(window))
        chosen = questions.rows[place[source_of[questions.rows]] >= 0]

        def decode(batch: Ints) -> None:
            states, there = held.take(place[source_of[chosen[batch]]])
            tokens, mask = tensors(loaded, [entered[row] for row in chosen[batch]])
            encoded = {"encoder_hidden_states": states, "encoder_attention_mask": there.long()}
            with torch.inference_mode():
                decoded = network.base_model.decoder(input_ids=tokens, use_cache=False, **encoded)[0][mask]
            questions.take(chosen[batch], decoded)

        # a source's token costs a decoder two of the sixteen matrices that a target's token costs
        in_batches(decode, (lengths + source_lengths[source_of] // 8)[chosen], loaded, batch_tokens)
        questions.answer()

    for window in windows(np.argsort(-source_lengths, kind="stable"), source_lengths, _HELD // network.config.d_model):
        score_window(window)
    is_code = np.zeros(len(flat), dtype=np.bool_) if languages.code is None else flat == languages.code
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Ragged(questions.likely, offsets), Ragged(questions.entropies[questions.of_token], offsets), is_code


def token_sums(likely: Ragged, entropies: Ragged, counted: Flags) -> Floats:
    """float64[n, 4]: tokens, sum of log-probabilities, sum of entropy x log-probability, sum of entropies.

    likely, entropies: of n targets (`forced`). counted: bool, flat, the tokens that count.
    """
    logs = likely.values
    entropy = entropies.values
    row = np.repeat(np.arange(len(likely)), likely.lengths)
    columns = (counted, counted * logs, counted * entropy * logs, counted * entropy)
    return np.stack([np.bincount(row, values, len(likely)) for values in columns], axis=1)


def _encoded(loaded: LoadedModel, ids: TokenIds, batch_tokens: int | None) -> HeldStates:
    """The encoder's states of some sources."""
    import torch

    def encode(some: TokenIds) -> tuple[Any, Any]:
        tokens, there = tensors(loaded, some)
        with torch.inference_mode():
            return loaded.network.base_model.encoder(input_ids=tokens, attention_mask=there.long())[0], there

    return HeldStates(loaded, ids, encode, batch_tokens)


class _Questions:
    """What the decoder is asked: the token that follows a source and the first tokens of a target; Q distinct ones.

    rows: int64[n], the targets that together ask all questions. of_token: int64[T], the question of each target token,
    flat. likely: float64[T], entropies: float64[Q]: the answers.
    """

    def __init__(
        self, network: Any, source_of: Ints, entered: list[list[int]], wanted: Ints, with_entropies: bool
    ) -> None:
        numbers: dict[tuple[int, int], int] = {}  # of (question before, token), the first before which is a source
        of_token = []
        for source, tokens in zip(source_of.tolist(), entered, strict=True):
            question = -1 - source
            for token in tokens:
                question = numbers.setdefault((question, token), len(numbers))
                of_token.append(question)
        is_last = np.ones(len(numbers), dtype=np.bool_)  # no longer target asks it, too
        is_last[[before for before, _ in numbers if before >= 0]] = False
        self.of_token = np.array(of_token, dtype=np.int64)
        self._of_target = np.split(self.of_token, np.cumsum([len(tokens) for tokens in entered]))[:-1]
        last, first = np.unique([questions[-1] for questions in self._of_target], return_index=True)
        self.rows = np.sort(first[is_last[last.astype(np.int64)]])
        self.likely = np.full(len(of_token), np.nan)
        self.entropies = np.full(len(numbers), np.nan)
        self._network = network
        self._wanted = wanted
        self._with_entropies = with_entropies
        self._seen = np.zeros(len(numbers), dtype=np.bool_)
        self._waiting: list[tuple[Ints, Any]] = []  # questions, and the decoder's states at them

    def take(self, rows: Ints, states: Any) -> None:
        """The decoder's states at the tokens of these targets, flat. Answers when there are enough of them."""
        import torch

        asked, first = np.unique(np.concatenate([self._of_target[row] for row in rows]), return_index=True)
        new = ~self._seen[asked]
        self._waiting.append((asked[new], states[torch.from_numpy(first[new]).to(states.device)]))
        self._seen[asked] = True
        if sum(len(questions) for questions, _ in self._waiting) >= STATES_AT_ONCE:
            self.answer()

    def answer(self) -> None:
        """Put the states that wait through the output layer."""
        import torch

        if not self._waiting:
            return
        questions, states = zip(*self._waiting, strict=True)
        self._waiting = []
        asked = np.concatenate(questions)
        place = np.full(len(self._seen), -1)
        place[asked] = np.arange(len(asked))
        tokens = np.flatnonzero(place[self.of_token] >= 0)
        rows = place[self.of_token[tokens]]
        wanted = self._wanted[tokens]
        with torch.inference_mode():
            self.likely[tokens], self.entropies[asked] = likelihoods(
                self._network, torch.cat(states), rows, wanted, entropies=self._with_entropies
            )


_LONGER = 2.0  # times the source's tokens, and a few more, that a translation may have
_MORE = 10


def translate(
    loaded: LoadedModel,
    texts: Sequence[str],
    languages: Languages,
    max_length: int | None = None,
    batch_tokens: int | None = None,
) -> list[str]:
    """The translation of each text: the likeliest token at each step.

    It ends at twice its source's tokens and ten more, where the model has not ended it before. max_length: the most
    tokens per text; None for the model's own limit.

    A text without anything but blanks is its own translation: models make up one. A batch that does not fit into memory
    is halved; raises torch.OutOfMemoryError when not even one text fits.
    """
    translations = list(texts)
    rows = [row for row, text in enumerate(texts) if text.strip()]
    use(loaded.tokenizer, languages)
    ids = tokenize(loaded, [texts[row] for row in rows], max_length)

    def work(batch: Ints) -> None:
        made = _generate(loaded, [ids[row] for row in batch], languages)
        for row, text in zip(batch, made, strict=True):
            translations[rows[row]] = text

    in_batches(work, 3 * lengths_of(ids), loaded, batch_tokens)  # source, and a target up to twice as long
    return translations


def _generate(loaded: LoadedModel, ids: Sequence[Any], languages: Languages) -> list[str]:
    import torch
    from transformers import LogitsProcessorList

    network = loaded.network
    tokenizer = loaded.tokenizer
    tokens, there = tensors(loaded, ids)
    first = {"forced_bos_token_id": languages.code}
    if tokenize(loaded, [""], None, target=True)[0][-1] == languages.code:  # mBART's stands behind a text
        first = {"decoder_start_token_id": languages.code, "forced_bos_token_id": None}
    limits = [int(_LONGER * len(source)) + _MORE for source in ids]
    ends = _ends(np.array(limits), int(tokenizer.eos_token_id), int(tokenizer.pad_token_id))
    options = {"num_beams": 1, "do_sample": False, "no_repeat_ngram_size": 0, "length_penalty": None, "min_length": 0}
    with torch.inference_mode():
        made = network.generate(
            input_ids=tokens,
            attention_mask=there.long(),
            logits_processor=LogitsProcessorList([ends]),
            max_new_tokens=min(max(limits), loaded.max_length - 2),
            max_length=None,
            early_stopping=False,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **first,
            **options,
        )
    marks = set(known_languages(tokenizer).values())  # M2M-100's tokenizer does not count them as special ones
    kept = []
    for row in made.tolist():
        kept.append([token for token in row if token not in marks])
    return [text.strip() for text in tokenizer.batch_decode(kept, skip_special_tokens=True)]


def _ends(limits: Ints, end: int, pad: int) -> Any:
    """Keeps padding out, and ends each text at its own limit, whatever the batch it is in."""
    import torch

    def step(tokens: Any, scores: Any) -> Any:
        scores = scores.float()
        scores[:, pad] = -torch.inf
        full = torch.from_numpy(tokens.shape[1] >= limits).to(scores.device)
        ended = torch.full_like(scores, -torch.inf)
        ended[:, end] = 0.0
        return torch.where(full[:, None], ended, scores)

    return step
