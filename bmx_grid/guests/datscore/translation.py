"""Teacher-forced log-probabilities of targets under a translation model, and the model's own translations.

Sources are encoded first, then targets decoded, each in batches of like lengths; the states at the targets' tokens wait
until they fill a batch of the output layer (`likelihoods`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bmx_grid.core.ragged import Flags, Floats, Ints, Ragged
from bmx_grid.guests.datscore.language_codes import Languages, known_languages, use
from bmx_grid.models.encoding import HeldStates, TokenIds, lengths_of, run_batches, tensors, tokenize, windows
from bmx_grid.models.loading import LoadedModel

STATES_AT_ONCE = 2_048  # enough for the processor's full rate of matrix products
_CPU_BLOCK = 2**21  # logits at once: 8 MiB of float32
_GPU_BLOCK = 2**26
_LOWEST = -1e30  # in place of -inf, whose difference from itself is NaN
_HELD = 2**26  # numbers of the encoder's states that are held at once: 256 MiB of float32
_LONGER = 2.0  # times the source's tokens, and a few more, that a translation may have
_MORE = 10


def likelihoods(network: Any, states: Any, rows: Ints, wanted: Ints, *, entropies: bool) -> tuple[Floats, Floats]:
    """Log-probabilities of tokens, and the entropies of the distributions they are drawn from.

    states: tensor [R, D], the decoder's last. rows: int64[T], which state each token follows. wanted: int64[T] tokens.
    Returns float64[T] natural logarithms, and float64[R] entropies in nats, NaN unless requested. Exponentials are of
    float32 logits less their running maximum (Milakov & Gimelshein, 2018); their sums are in float32 within a block of
    the vocabulary and in float64 across blocks.
    """
    import torch

    device = states.device
    precise = torch.float32 if device.type == "mps" else torch.float64
    weight = network.lm_head.weight
    bias = getattr(network, "final_logits_bias", None)
    block_size = _CPU_BLOCK if device.type == "cpu" else _GPU_BLOCK
    width = max(block_size // len(states), 64)
    # Wanted tokens in the order of the vocabulary: those of a block are one slice.
    order = np.argsort(wanted, kind="stable")
    starts = np.arange(0, len(weight) + width, width)
    edges = np.searchsorted(wanted[order], starts)
    ordered_rows = torch.from_numpy(rows[order]).to(device)
    ordered_tokens = torch.from_numpy(wanted[order]).to(device)
    ordered_places = torch.from_numpy(order).to(device)
    wanted_logits = torch.empty(len(wanted), dtype=torch.float32, device=device)
    top = torch.full((len(states), 1), _LOWEST, device=device)
    total = torch.zeros(len(states), dtype=precise, device=device)  # sum of exp(logit - top)
    mixed = torch.zeros_like(total)  # sum of exp(logit - top) * (logit - top)
    for number, start in enumerate(range(0, len(weight), width)):
        block = slice(start, start + width)
        logits = torch.nn.functional.linear(states, weight[block]).float()
        if bias is not None:
            logits += bias[0, block]
        in_block = slice(edges[number], edges[number + 1])
        places = ordered_places[in_block]
        columns = ordered_tokens[in_block] - start
        wanted_logits[places] = logits[ordered_rows[in_block], columns]
        # If a block has a higher maximum, the earlier sum is scaled down to it.
        higher = torch.maximum(top, logits.amax(dim=1, keepdim=True))
        lowered = (top - higher)[:, 0].to(precise)
        scale = lowered.exp()
        mixed = (mixed + total * lowered) * scale
        total *= scale
        top = higher
        logits -= top
        shares = logits.exp()
        if entropies:
            # A token of probability 0 has the logit -inf, and 0 * -inf is NaN, not 0.
            mixed += (shares * logits.clamp_(min=_LOWEST)).sum(dim=1)
        total += shares.sum(dim=1)
    log_normalizer = top[:, 0].to(precise) + total.log()
    state_of_token = torch.from_numpy(rows).to(device)
    likely = wanted_logits.to(precise) - log_normalizer[state_of_token]
    entropy = torch.full_like(total, torch.nan)
    if entropies:
        # -sum of p log p, with log p = (logit - top) - log total
        entropy = total.log() - mixed / total
    return likely.cpu().double().numpy(), entropy.cpu().double().numpy()


def target_log_probabilities(
    loaded: LoadedModel,
    sources: Sequence[str],
    targets: Sequence[str],
    languages: Languages,
    *,
    batch_tokens: int | None = None,
    max_length: int | None = None,
    with_entropies: bool = True,
) -> tuple[Ragged, Ragged, Flags]:
    """Log-probabilities of n targets conditional on n sources, teacher-forced; equal at every batch size.

    Returns natural logarithms of probabilities, entropies of the model's distribution at each token in nats (eq. 4 of
    DATScore), and whether a token, flat as their values, is the code of the target's language, an input of the model.
    Rows are tokens as the model's labels have them, special ones included.

    max_length: the most tokens per text, special tokens included; None for the model's own limit. Truncated texts are
    counted (`encoding.count_truncated`). with_entropies: else they are NaN, and not computed.

    The tokenizer is set to the languages. Each source is encoded once. Targets of a source with common first tokens
    share predictions, which are computed once; a target that is another's beginning needs no computation of its own.
    """
    source_numbers: dict[str, int] = {}
    source_of = []
    for text in sources:
        source_of.append(source_numbers.setdefault(text, len(source_numbers)))
    use(loaded.tokenizer, languages)
    source_ids = tokenize(loaded, list(source_numbers), max_length)
    labels = tokenize(loaded, targets, max_length, target=True)
    # `concatenate` needs an array, even without targets.
    nothing = np.empty(0, dtype=np.int32)
    flat_labels = np.concatenate([*labels, nothing]).astype(np.int64)
    inputs = _decoder_inputs(loaded.network, labels)
    questions = _Questions(loaded.network, source_of, inputs, flat_labels, with_entropies)
    source_lengths = lengths_of(source_ids)
    longest_first = np.argsort(-source_lengths, kind="stable")
    for window in windows(longest_first, source_lengths, _HELD // loaded.network.config.d_model):
        _answer_window(loaded, questions, source_ids, window, batch_tokens)
    is_code = np.zeros(len(flat_labels), dtype=np.bool_)
    if languages.code is not None:
        is_code = flat_labels == languages.code
    offsets = np.concatenate([[0], np.cumsum(lengths_of(labels))])
    likely = Ragged(questions.likely, offsets)
    entropies = Ragged(questions.entropies[questions.of_token], offsets)
    return likely, entropies, is_code


def token_sums(likely: Ragged, entropies: Ragged, counted: Flags) -> Floats:
    """float64[n, 4]: tokens, sum of log-probabilities, sum of entropy x log-probability, sum of entropies.

    likely, entropies: of n targets (`target_log_probabilities`). counted: bool, flat, the tokens that count.
    """
    n_targets = len(likely)
    logs = likely.values
    entropy = entropies.values
    row = np.repeat(np.arange(n_targets), likely.lengths)
    counted_entropy = counted * entropy
    columns = (counted, counted * logs, counted_entropy * logs, counted_entropy)
    sums = [np.bincount(row, values, n_targets) for values in columns]
    return np.stack(sums, axis=1)


def _decoder_inputs(network: Any, labels: TokenIds) -> list[list[int]]:
    """The decoder's input for each target: a first token, then the target's tokens except the last.

    As `shift_tokens_right` of the families: mBART begins with the last token, others with the one of their config.
    """
    is_mbart = network.config.model_type == "mbart"
    inputs = []
    for tokens in labels:
        start = tokens[-1] if is_mbart else network.config.decoder_start_token_id
        inputs.append([int(start), *tokens[:-1].tolist()])
    return inputs


class _Questions:
    """Predictions that targets share: the token after a source and the first tokens of a target; Q distinct ones.

    source_of: the number of each target's source; inputs: the decoder's input for it. wanted: int64[T] target tokens,
    flat.
    rows: int64[n'], the targets that cover all predictions. of_token: int64[T], the prediction of each target token,
    flat.
    likely: float64[T], entropies: float64[Q]: the results.
    """

    def __init__(
        self, network: Any, source_of: list[int], inputs: list[list[int]], wanted: Ints, with_entropies: bool
    ) -> None:
        self.source_of = np.array(source_of, dtype=np.int64)
        self.inputs = inputs
        self._network = network
        self._wanted = wanted
        self._with_entropies = with_entropies
        # Keyed by prefix and next token. The prefix of the first token is a source, as a negative number.
        numbers: dict[tuple[int, int], int] = {}
        of_token = []
        for source, tokens in zip(source_of, inputs, strict=True):
            question = -1 - source
            for token in tokens:
                question = numbers.setdefault((question, token), len(numbers))
                of_token.append(question)
        self.of_token = np.array(of_token, dtype=np.int64)
        ends = np.cumsum([len(tokens) for tokens in inputs])
        self._of_target = np.split(self.of_token, ends)[:-1]
        # All predictions of a target that is another's beginning are covered by the longer one.
        is_last = np.ones(len(numbers), dtype=np.bool_)
        is_last[[before for before, _ in numbers if before >= 0]] = False
        last_questions = np.array([questions[-1] for questions in self._of_target], dtype=np.int64)
        distinct, first_rows = np.unique(last_questions, return_index=True)
        self.rows = np.sort(first_rows[is_last[distinct]])
        self.likely = np.full(len(of_token), np.nan)
        self.entropies = np.full(len(numbers), np.nan)
        self._seen = np.zeros(len(numbers), dtype=np.bool_)
        self._waiting: list[tuple[Ints, Any]] = []  # questions, and the decoder's states at them

    def take(self, rows: Ints, states: Any) -> None:
        """Store the decoder's states at the tokens of the targets `rows`, flat. Predicts when they fill a batch."""
        import torch

        questions = np.concatenate([self._of_target[row] for row in rows])
        # Targets share the state of a shared prediction: the first one is stored.
        asked, first = np.unique(questions, return_index=True)
        is_new = ~self._seen[asked]
        places = torch.from_numpy(first[is_new]).to(states.device)
        self._waiting.append((asked[is_new], states[places]))
        self._seen[asked] = True
        n_waiting = sum(len(waiting) for waiting, _ in self._waiting)
        if n_waiting >= STATES_AT_ONCE:
            self.answer()

    def answer(self) -> None:
        """Put the states that wait through the output layer."""
        import torch

        if not self._waiting:
            return
        questions, states = zip(*self._waiting, strict=True)
        self._waiting = []
        asked = np.concatenate(questions)
        # The place of a prediction's state, which all tokens of the prediction share.
        state_of_question = np.full(len(self._seen), -1)
        state_of_question[asked] = np.arange(len(asked))
        state_of_token = state_of_question[self.of_token]
        tokens = np.flatnonzero(state_of_token >= 0)
        rows = state_of_token[tokens]
        wanted = self._wanted[tokens]
        with torch.inference_mode():
            likely, entropies = likelihoods(
                self._network, torch.cat(states), rows, wanted, entropies=self._with_entropies
            )
        self.likely[tokens] = likely
        self.entropies[asked] = entropies


def _answer_window(
    loaded: LoadedModel, questions: _Questions, source_ids: TokenIds, window: Ints, batch_tokens: int | None
) -> None:
    """Answer the questions of the sources in a window, whose states are held meanwhile."""
    import torch

    def encode(batch_ids: TokenIds) -> tuple[Any, Any]:
        tokens, mask = tensors(loaded, batch_ids)
        with torch.inference_mode():
            output = loaded.network.base_model.encoder(input_ids=tokens, attention_mask=mask.long())
        return output[0], mask

    held = HeldStates(loaded, [source_ids[source] for source in window], encode, batch_tokens)
    held_place = np.full(len(source_ids), -1)
    held_place[window] = np.arange(len(window))
    source_places = held_place[questions.source_of[questions.rows]]
    rows = questions.rows[source_places >= 0]
    source_places = source_places[source_places >= 0]

    def decode(batch: Ints) -> None:
        states, source_mask = held.take(source_places[batch])
        tokens, mask = tensors(loaded, [questions.inputs[row] for row in rows[batch]])
        with torch.inference_mode():
            output = loaded.network.base_model.decoder(
                input_ids=tokens,
                use_cache=False,
                encoder_hidden_states=states,
                encoder_attention_mask=source_mask.long(),
            )
            states_of_tokens = output[0][mask]
        questions.take(rows[batch], states_of_tokens)

    # A source's token costs a decoder two of the sixteen matrices that a target's token costs.
    target_lengths = lengths_of([questions.inputs[row] for row in rows])
    source_lengths = lengths_of([source_ids[source] for source in questions.source_of[rows]])
    run_batches(decode, target_lengths + source_lengths // 8, loaded, batch_tokens)
    questions.answer()


def translate(
    loaded: LoadedModel,
    texts: Sequence[str],
    languages: Languages,
    max_length: int | None = None,
    batch_tokens: int | None = None,
) -> list[str]:
    """The translation of each text: the likeliest token at each step. The tokenizer is set to the languages.

    It ends at twice its source's tokens and ten more, if the model has not ended it before. max_length: the most tokens
    per text; None for the model's own limit.

    A text without anything but blanks is its own translation: models make up one. A batch that does not fit into memory
    is halved; raises torch.OutOfMemoryError when not even one text fits.
    """
    translations = list(texts)
    rows = [row for row, text in enumerate(texts) if text.strip()]
    use(loaded.tokenizer, languages)
    ids = tokenize(loaded, [texts[row] for row in rows], max_length)

    def translate_batch(batch: Ints) -> None:
        batch_translations = _generate(loaded, [ids[position] for position in batch], languages)
        for position, text in zip(batch, batch_translations, strict=True):
            translations[rows[position]] = text

    # A batch holds sources, and targets that are up to twice as long.
    run_batches(translate_batch, 3 * lengths_of(ids), loaded, batch_tokens)
    return translations


def _generate(loaded: LoadedModel, ids: Sequence[Any], languages: Languages) -> list[str]:
    """Translate a batch of texts, each one the ids of its tokens."""
    import torch
    from transformers import LogitsProcessorList

    tokenizer = loaded.tokenizer
    tokens, mask = tensors(loaded, ids)
    start = {"forced_bos_token_id": languages.code}
    # mBART puts its code behind a text, also behind an empty one, and the decoder starts with it.
    (empty_target,) = tokenize(loaded, [""], None, target=True)
    if empty_target[-1] == languages.code:
        start = {"decoder_start_token_id": languages.code, "forced_bos_token_id": None}
    limits = [int(_LONGER * len(source)) + _MORE for source in ids]
    end = int(tokenizer.eos_token_id)
    pad = int(tokenizer.pad_token_id)
    ends = _ends(np.array(limits), end, pad)
    with torch.inference_mode():
        generated = loaded.network.generate(
            input_ids=tokens,
            attention_mask=mask.long(),
            logits_processor=LogitsProcessorList([ends]),
            max_new_tokens=min(max(limits), loaded.max_length - 2),
            max_length=None,
            early_stopping=False,
            pad_token_id=pad,
            eos_token_id=end,
            num_beams=1,
            do_sample=False,
            no_repeat_ngram_size=0,
            length_penalty=None,
            min_length=0,
            **start,
        )
    # M2M-100's tokenizer does not count the codes of languages as special tokens.
    codes = set(known_languages(tokenizer).values())
    rows = []
    for row in generated.tolist():
        rows.append([token for token in row if token not in codes])
    texts = tokenizer.batch_decode(rows, skip_special_tokens=True)
    return [text.strip() for text in texts]


def _ends(limits: Ints, end: int, pad: int) -> Any:
    """A processor of logits: keeps padding out, and ends each text at its own limit, whatever the batch it is in."""
    import torch

    def process(tokens: Any, scores: Any) -> Any:
        scores = scores.float()
        scores[:, pad] = -torch.inf
        is_full = torch.from_numpy(tokens.shape[1] >= limits).to(scores.device)
        only_end = torch.full_like(scores, -torch.inf)
        only_end[:, end] = 0.0
        return torch.where(is_full[:, None], only_end, scores)

    return process
