"""Machine translations of texts, greedy and in batches. A text's translation is its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bmx_grid.models.encoding import Ints, in_batches, lengths_of, tensors, tokenize
from bmx_grid.models.languages import Languages, known_languages, use
from bmx_grid.models.loading import LoadedModel
from bmx_grid.models.translation import source_tokens

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
    ids = source_tokens(loaded, [texts[row] for row in rows], languages, max_length)

    def work(batch: Ints) -> None:
        for at, text in zip(batch, _generate(loaded, [ids[at] for at in batch], languages), strict=True):
            translations[rows[at]] = text

    in_batches(work, 3 * lengths_of(ids), loaded, batch_tokens)  # source, and a target up to twice as long
    return translations


def _generate(loaded: LoadedModel, ids: Sequence[Any], languages: Languages) -> list[str]:
    import torch
    from transformers import LogitsProcessorList

    network, tokenizer = loaded.network, loaded.tokenizer
    tokens, there = tensors(loaded, ids)
    use(tokenizer, languages)
    empty = tokenize(loaded, [""], None, target=True)[0]
    first: dict[str, int | None] = {"forced_bos_token_id": languages.code}
    if languages.code is not None and network.config.model_type == "mbart" and empty[-1] == languages.code:
        first = {"decoder_start_token_id": languages.code, "forced_bos_token_id": None}
    limits = [int(_LONGER * len(one)) + _MORE for one in ids]
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
            **options,
            **first,
        )
    marks = set(known_languages(tokenizer).values())  # M2M-100's tokenizer does not count them as special ones
    kept = [[token for token in row if token not in marks] for row in made.tolist()]
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
