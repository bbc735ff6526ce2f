"""Texts through a model: tokens, batches filled by a budget of padded tokens, hidden states, likelihoods of tokens."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.models.loading import LoadedModel

TokenIds = list[NDArray[np.int32]]
CPU_BATCH_TOKENS = 2_048  # on a CPU larger batches are slower: their activations exceed the cache
GPU_BATCH_TOKENS = 32_768
_LOGITS = 8  # a token's logits are that many times larger than its hidden states, or more
_TEXTS_AT_ONCE = 256  # through the tokenizer, whose own records are many times larger than the ids


def token_budget(loaded: LoadedModel, batch_tokens: int | None) -> int:
    """Padded tokens per batch: as configured, or what suits the device; never more than is known to fit."""
    if batch_tokens is None:
        batch_tokens = CPU_BATCH_TOKENS if str(loaded.device) == "cpu" else GPU_BATCH_TOKENS
    return batch_tokens if loaded.most_tokens is None else min(batch_tokens, loaded.most_tokens)


def tokenize(
    loaded: LoadedModel, texts: Sequence[str], max_length: int | None, *, specials: bool = True, target: bool = False
) -> TokenIds:
    """int32[L] token ids of each text, truncated to `max_length` tokens (None or above the model's limit: that limit).

    target: as the target of a translation model, whose tokens may be other ones than those of a source.
    Truncated texts are counted (`count_truncated`); the first ones of a model are warned of.
    """
    limit = loaded.max_length if max_length is None else min(max_length, loaded.max_length)
    tokens = token_ids(loaded, texts, specials=specials, target=target, truncation=True, max_length=limit)
    # Only texts that fill the limit can be longer: they are tokenized once more, as a whole.
    full = [text for text, ids in zip(texts, tokens, strict=True) if len(ids) == limit]
    too_long = sum(len(ids) > limit for ids in token_ids(loaded, full, specials=specials, target=target))
    if note_truncated(too_long, loaded.name):
        warnings.warn(
            f"model '{loaded.name}': {too_long} of {len(texts)} texts have more than {limit} tokens and are truncated, "
            "as in the published metric. This is reported once per model; the results count all such texts.",
            stacklevel=2,
        )
    return tokens


def token_ids(
    loaded: LoadedModel, texts: Sequence[str], *, specials: bool, target: bool = False, **options: Any
) -> TokenIds:
    """int32[L] token ids of each whole text; `options` are further ones of its tokenizer."""
    side = "text_target" if target else "text"
    tokens: TokenIds = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        encoded = loaded.tokenizer(
            **{side: list(texts[start : start + _TEXTS_AT_ONCE])},
            add_special_tokens=specials,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
            **options,
        )
        tokens += [np.array(ids, dtype=np.int32) for ids in encoded["input_ids"]]
    return tokens


def run_batches(work: Callable[[Ints], None], lengths: Ints, loaded: LoadedModel, batch_tokens: int | None) -> None:
    """Call `work` with positions of items until all were worked on, as many at once as the token budget holds.

    lengths: int64[n] tokens of each item. Items come sorted, the longest first, so that a batch is padded little
    and memory that is too small shows at once: then the budget is halved, for this model and from now on, and the
    same items are tried again. A batch that is a quarter full ends before items that are an eighth shorter: where
    lengths are far apart, padding costs more than a smaller batch. Raises torch.OutOfMemoryError when not even one
    item fits.
    """
    import torch

    order = np.argsort(-lengths, kind="stable")
    descending = -lengths[order]
    start = 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        most = max(token_budget(loaded, batch_tokens) // longest, 1)
        alike = int(np.searchsorted(descending[start:], -longest * 7 / 8, side="right"))
        batch = order[start : start + min(most, max(alike, most // 4, 1))]
        try:
            work(batch)
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            loaded.most_tokens = len(batch) * longest // 2
            # the failed batch is freed only when its error is: go on after the handler
        else:
            start += len(batch)
            continue
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def lengths_of(ids: Sequence[Sequence[int]] | TokenIds) -> Ints:
    """int64[n] tokens of each text."""
    return np.array([len(text) for text in ids], dtype=np.int64)


def pad(ids: Sequence[Sequence[int]] | TokenIds, fill: int) -> tuple[Ints, Flags]:
    """int64[B, L] ids, filled up, and bool[B, L], True for tokens; L is at least 1."""
    lengths = lengths_of(ids)
    mask = np.arange(max(int(lengths.max(initial=0)), 1)) < lengths[:, None]
    rows = np.full(mask.shape, fill, dtype=np.int64)
    rows[mask] = np.concatenate([np.asarray(text, dtype=np.int64) for text in ids]) if len(ids) else []
    return rows, mask


def tensors(loaded: LoadedModel, ids: Sequence[Sequence[int]] | TokenIds, fill: int | None = None) -> tuple[Any, Any]:
    """`pad` as tensors on the device, filled up with the model's padding token unless `fill` is set."""
    rows, mask = pad(ids, loaded.tokenizer.pad_token_id if fill is None else fill)
    return to_device(loaded, rows), to_device(loaded, mask)


def to_device(loaded: LoadedModel, values: NDArray[Any]) -> Any:
    """A tensor on the model's device. The copy to a GPU does not block the processor."""
    import torch

    tensor = torch.from_numpy(values)
    if loaded.device.type == "cuda":
        return tensor.pin_memory().to(loaded.device, non_blocking=True)
    return tensor.to(loaded.device)


@contextmanager
def products(loaded: LoadedModel) -> Iterator[None]:
    """In this block products of matrices have the precision of the model's `tf32`; afterwards the former one."""
    import torch

    settings = torch.backends.cuda.matmul
    before = settings.allow_tf32
    settings.allow_tf32 = loaded.tf32
    try:
        yield
    finally:
        settings.allow_tf32 = before


def hidden_states(loaded: LoadedModel, ids: Sequence[Sequence[int]] | TokenIds) -> tuple[Any, Any]:
    """Tensors float32[B, L, D], the last layer's output, and bool[B, L], True for tokens, on the device."""
    import torch

    tokens, there = tensors(loaded, ids)
    with torch.inference_mode(), products(loaded):
        output = loaded.network(input_ids=tokens, attention_mask=there.long()).last_hidden_state
    return output.float(), there


def log_likelihoods(loaded: LoadedModel, ids: TokenIds, first: Ints, batch_tokens: int | None) -> Floats:
    """float64[n]: for each text the sum of log P(token | tokens before it), natural logarithms, from one token on.

    first: int64[n] positions of the first tokens that count, 1 or more, since nothing is before a text's first token.
    A text without a counted token sums to 0.
    """
    import torch

    sums = np.zeros(len(ids))
    lengths = lengths_of(ids)
    scored = np.flatnonzero(lengths > first)

    def score(batch: Ints) -> None:
        """Write the sums of a batch, positions in `scored`, to `sums`."""
        rows = scored[batch]
        # Any token may fill up: it is not counted.
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
    run_batches(score, lengths[scored], loaded, budget)
    return sums


class HeldStates:
    """Vectors of the tokens of n texts, one text after the other in one tensor.

    encode: from the ids of B texts to tensors [B, L, D] and bool[B, L].
    """

    def __init__(
        self,
        loaded: LoadedModel,
        ids: TokenIds,
        encode: Callable[[TokenIds], tuple[Any, Any]],
        batch_tokens: int | None,
    ) -> None:
        self.flat: Any = None
        self._lengths = lengths_of(ids)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._loaded = loaded

        def fill(batch: Ints) -> None:
            """Write the states of a batch, positions in `ids`, to their places in `flat`."""
            states, _ = encode([ids[row] for row in batch])
            if self.flat is None:
                self.flat = states.new_empty((int(self._lengths.sum()), states.shape[-1]))
            # Places as numbers, which the processor knows: a mask on a GPU would be waited for, to count its values.
            rows, columns = np.nonzero(self._there(batch))
            width = states.shape[1]
            of_batch = states.reshape(-1, states.shape[-1])[to_device(loaded, rows * width + columns)]
            self.flat[to_device(loaded, self._starts[batch][rows] + columns)] = of_batch

        run_batches(fill, self._lengths, loaded, batch_tokens)

    def _there(self, rows: Ints) -> Flags:
        """bool[B, L], True for tokens of the texts at `rows`."""
        columns = np.arange(max(int(self._lengths[rows].max(initial=0)), 1))
        return np.asarray(columns < self._lengths[rows][:, None])

    def take(self, rows: Ints) -> tuple[Any, Any]:
        """Tensors [B, L, D] and bool[B, L] of some of the texts, padded to one length."""
        there = self._there(rows)
        # any vector will do for a missing token, as the mask leaves it out: the first one
        places = np.where(there, self._starts[rows][:, None] + np.arange(there.shape[1]), 0)
        return self.flat[to_device(self._loaded, places)], to_device(self._loaded, there)


def windows(order: Ints, lengths: Ints, limit: int) -> list[Ints]:
    """`order` in parts of `limit` tokens together, or of one text more. lengths: int64[n] of all texts."""
    number = (np.cumsum(lengths[order]) - 1) // max(limit, 1)
    return np.split(order, np.flatnonzero(np.diff(number)) + 1) if len(order) else []


_LOCK = threading.Lock()
_TRUNCATED: Counter[str] = Counter()  # texts that models of this process have read in part, by model


def note_truncated(count: int, model: str) -> bool:
    """Add `count` texts that `model` has read in part. True if they are its first: then it warns, once."""
    with _LOCK:
        first = count > 0 and _TRUNCATED[model] == 0
        _TRUNCATED[model] += count
    return first


def count_truncated() -> int:
    """How many texts models of this process have read in part so far; two readings differ by the texts between them.

    A text counts each time it is read, by each model that reads it: the encoder of a metric, its language model,
    and the masked language model of an explainer, which reads the part around a masked word.
    """
    with _LOCK:
        return _TRUNCATED.total()
