"""What a masked language model would write in place of a word."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import UnavailableError
from bmx_grid.models.encoding import Ints, in_batches, padded
from bmx_grid.models.loading import Device, Dtype, LoadedModel, load_model
from bmx_grid.models.truncation import note
from bmx_grid.wording import counted
from bmx_grid.words.text import join_words


@dataclass(frozen=True, eq=False)
class Proposals:
    """What the model would write at m places: `count` texts each, most probable first.

    texts: m lists of `count` texts.
    probabilities: float64[m, count], of the whole vocabulary, not renormalised.
    """

    texts: list[list[str]]
    probabilities: NDArray[np.float64]


@dataclass(eq=False)
class MaskedLM:
    """A masked language model and its tokenizer, as loaded.

    max_tokens: the most that the model reads, its special tokens included. Of a longer text it reads the
        window of so many tokens that has the masked word in its middle (at an end of the text, near that end).
        Such texts are counted (`models.truncation`), once for each masked word.
    """

    loaded: LoadedModel
    max_tokens: int

    def propose(self, words: tuple[str, ...], places: Sequence[int], count: int, batch_tokens: int) -> Proposals:
        """Candidates for each of m `places`, with the word there masked and all others unchanged.

        One forward pass over all m texts together, or as many as keep each below `batch_tokens` tokens. Texts of
        other sides never share a pass: matrix products of another shape round otherwise (measured: 1e-7 to 2e-6
        here, from one row to twelve), which could move a candidate over a threshold.
        """
        import torch

        ids, masks = self._encode(words, places)
        rows, attended = padded(ids, self.loaded.tokenizer.pad_token_id)
        passes = []

        def work(batch: Ints) -> None:
            chosen = torch.from_numpy(rows[batch]), torch.from_numpy(attended[batch]).long()
            passes.append(self._best(*chosen, np.array(masks)[batch], count))

        with torch.inference_mode():  # every row is as wide as the widest: they come in order
            in_batches(work, np.full(len(ids), rows.shape[1]), self.loaded, batch_tokens)
        best = [token for tokens, _ in passes for token in tokens.tolist()]
        texts = [[self._texts[token] for token in row] for row in best]
        return Proposals(texts, np.concatenate([probabilities for _, probabilities in passes]))

    def _best(self, ids: Any, attended: Any, masks: Ints, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The `count` likeliest candidates of each row at its mask, and their probabilities."""
        import torch

        network, device = self.loaded.network, self.loaded.device
        inputs = {"input_ids": ids.to(device), "attention_mask": attended.to(device)}
        rows = torch.arange(len(ids), device=device)
        places = torch.from_numpy(masks).to(device)
        # The head is by far the widest layer (120,000 outputs per token): only where a word is masked.
        head = getattr(network, "cls", None) or getattr(network, "lm_head", None)
        if head is None:
            logits = network(**inputs).logits[rows, places].float()
        else:
            logits = head(network.base_model(**inputs)[0][rows, places]).float()
        total = torch.logsumexp(logits, dim=-1, keepdim=True)
        possible = self._possible.to(device)[: logits.shape[1]]
        count = min(count, int(possible.sum()))
        found = logits[:, : len(possible)].masked_fill(~possible, -torch.inf).topk(count, dim=-1)
        probabilities = torch.exp(found.values - total).cpu().numpy().astype(np.float64)
        return found.indices.cpu().numpy(), probabilities

    def _encode(self, words: tuple[str, ...], places: Sequence[int]) -> tuple[list[list[int]], list[int]]:
        """For each place, the token ids of the side with the word there masked, and the mask's position in them."""
        tokenizer = self.loaded.tokenizer
        mask = tokenizer.mask_token
        texts = [join_words([*words[:place], mask, *words[place + 1 :]]) for place in places]
        starts = [len(join_words([*words[:place], ""])) for place in places]
        encoded = tokenizer(texts, truncation=False, padding=False, verbose=False).encodings
        rows, masks, too_long = [], [], 0
        for one, start in zip(encoded, starts, strict=True):
            # The text may hold the mask's own spelling: ours is the first mask that does not end before the word.
            at = next(
                index
                for index, (token, (_, end)) in enumerate(zip(one.ids, one.offsets, strict=True))
                if token == tokenizer.mask_token_id and end > start
            )
            too_long += len(one.ids) > self.max_tokens
            row, at = window(one.ids, [place is None for place in one.sequence_ids], at, self.max_tokens)
            rows.append(row)
            masks.append(at)
        if note(too_long, f"{self.loaded.name} (windows around masked words)"):
            warnings.warn(
                f"model '{self.loaded.name}': a side of {counted(len(words), 'word')} has more than {self.max_tokens} "
                "tokens; of such sides it reads the part around each masked word. This is reported once per model.",
                stacklevel=2,
            )
        return rows, masks

    @cached_property
    def _texts(self) -> list[str]:
        """The text of every token of the vocabulary, "" for those that are not candidates.

        Without blanks around it and without the sign of a piece inside a word ("##ing" is written "ing").
        Special tokens, [UNK] among them, and tokens that are not text by themselves are not candidates.
        """
        tokenizer = self.loaded.tokenizer
        special = set(tokenizer.all_special_ids)
        decoded = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
        piece = getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None) or ""
        texts = [text.strip().removeprefix(piece) for text in decoded]
        return ["" if token in special or "\ufffd" in text else text for token, text in enumerate(texts)]

    @cached_property
    def _possible(self) -> Any:
        """bool[V] tensor, True for candidates."""
        import torch

        return torch.tensor([bool(text) for text in self._texts])


@lru_cache(maxsize=1)
def load_masked_lm(model: str, revision: str | None, dtype: Dtype, device: Device, max_length: int) -> MaskedLM:
    """The model, loaded once per process, reading at most `max_length` tokens or as many as it can.

    Raises UnavailableError when it is unavailable, or is not a masked language model.
    """
    loaded = load_model("masked_lm", model, revision, dtype=dtype, device=device)
    if loaded.tokenizer.mask_token_id is None or not loaded.tokenizer.is_fast:
        raise UnavailableError(
            f"model '{model}': its tokenizer has no mask token, or does not say where its tokens are in the text; "
            "name a masked language model with a tokenizer.json."
        )
    return MaskedLM(loaded, min(max_length, loaded.max_length))


def window(ids: list[int], special: list[bool], at: int, max_tokens: int) -> tuple[list[int], int]:
    """At most `max_tokens` of `ids` around position `at`, and its position among them.

    The special tokens at both ends stay; of the others those nearest to `at`.
    """
    if len(ids) <= max_tokens:
        return ids, at
    before = special.index(False)
    after = special[::-1].index(False)
    room = max_tokens - before - after
    first = min(max(at - room // 2, before), len(ids) - after - room)
    return [*ids[:before], *ids[first : first + room], *ids[len(ids) - after :]], at - first + before
