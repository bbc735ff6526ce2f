"""Tokens of two sides matched by their similarity: what BERTScore and its variants with weights are made of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.metrics.base import Floats
from bmx_grid.models.encoding import (
    HeldStates,
    Ints,
    TokenIds,
    hidden_states,
    in_batches,
    lengths_of,
    tensors,
    token_budget,
    tokenize,
    windows,
)
from bmx_grid.models.loading import LoadedModel

Pair = tuple[str, str]
_WINDOW = 8  # budgets' worth of kept tokens: wide enough that batches fill up with texts of one length


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """B texts as tensors: float32[B, L, D] unit vectors, bool[B, L] where there is a token, int64[B, L] token ids."""

    vectors: Any
    mask: Any
    ids: Any


# int64[B] positions of pairs, with their ground truths and hypotheses
Take = Callable[[Ints, TokenVectors, TokenVectors], None]


class _Held(HeldStates):
    """Unit vectors of the tokens of some texts."""

    def __init__(self, loaded: LoadedModel, ids: TokenIds, texts: Ints, batch_tokens: int | None) -> None:
        import torch

        def encode(some: TokenIds) -> tuple[Any, Any]:
            states, mask = hidden_states(loaded, some)
            return torch.nn.functional.normalize(states, dim=-1), mask

        self.texts = texts
        width = loaded.network.config.hidden_size
        super().__init__(loaded, [ids[text] for text in texts], encode, batch_tokens, width=width, dtype=torch.float32)

    def rows(self, texts: Ints) -> Ints:
        """The position of each text in here, -1 for one that is not."""
        order = np.argsort(self.texts)
        found = order[np.searchsorted(self.texts, texts, sorter=order).clip(max=len(order) - 1)]
        rows: Ints = np.where(self.texts[found] == texts, found, -1)
        return rows

    def vectors(self, rows: Ints) -> TokenVectors:
        """The texts in `rows`, padded to one length."""
        vectors, mask = self.take(rows)
        ids, _ = tensors(self._loaded, [self._ids[row] for row in rows], PADDING)
        return TokenVectors(vectors, mask, ids)


def for_token_pairs(
    loaded: LoadedModel,
    pairs: Sequence[Pair],
    tokens: Callable[[list[str]], TokenIds],
    take: Take,
    batch_tokens: int | None,
) -> None:
    """Hand n pairs of texts to `take`, in batches, each pair once; `tokens` makes the tokens of distinct texts.

    A text is embedded once, unless it is kept in more than one window.
    """
    texts, truths, hypotheses = distinct_texts(pairs)
    ids = tokens(texts)
    both = np.array([truths, hypotheses], dtype=np.int64).reshape(2, -1)
    uses = np.bincount(both.ravel(), minlength=len(ids))
    kept_side = (uses[both[1]] > uses[both[0]]).astype(np.int64)  # the side that more pairs share
    every = np.arange(both.shape[1])
    kept, passing = both[kept_side, every], both[1 - kept_side, every]
    lengths = lengths_of(ids)

    def compare_held(chosen: Ints, left: _Held, right: _Held) -> None:
        """Hand on pairs whose kept texts are in `left` and whose other texts are in `right`."""
        left_rows, right_rows = left.rows(kept[chosen]), right.rows(passing[chosen])
        for side in (0, 1):
            same = np.flatnonzero(kept_side[chosen] == side)

            def work(batch: Ints, same: Ints = same, side: int = side) -> None:
                one, other = left.vectors(left_rows[same[batch]]), right.vectors(right_rows[same[batch]])
                take(chosen[same[batch]], *((one, other) if side == 0 else (other, one)))

            in_batches(work, (lengths[kept] + lengths[passing])[chosen[same]], loaded, batch_tokens)

    def take_window(window: Ints) -> None:
        held = _Held(loaded, ids, np.unique(kept[window]), batch_tokens)
        here = held.rows(passing[window]) >= 0
        compare_held(window[here], held, held)
        rest = window[~here]
        texts, text_of_pair = np.unique(passing[rest], return_inverse=True)

        def pass_by(batch: Ints) -> None:
            chosen = rest[np.isin(text_of_pair, batch)]
            compare_held(chosen, held, _Held(loaded, ids, texts[batch], batch_tokens))

        in_batches(pass_by, lengths[texts], loaded, batch_tokens)

    in_use = np.array(list(dict.fromkeys(kept.tolist())), dtype=np.int64)  # what belongs to a segment stays together
    for texts_kept in windows(in_use, lengths, _WINDOW * token_budget(loaded, batch_tokens)):
        # a function, so that one window's vectors are freed before the next one's are made
        take_window(np.flatnonzero(np.isin(kept, texts_kept)))


_SPACE_FIRST = ("roberta", "gpt2")  # bert-score has their byte-level tokens begin with a blank
PADDING = -1  # the token id of padding in `TokenVectors`


def bert_score_tokens(loaded: LoadedModel, texts: Sequence[str], max_length: int | None) -> TokenIds:
    """Token ids of each text with special tokens, blanks at both ends removed; warns as `tokenize` does."""
    before = " " if loaded.network.config.model_type in _SPACE_FIRST else ""
    stripped = [text.strip() for text in texts]
    return tokenize(loaded, [before + text if text else "" for text in stripped], max_length)


def special_ids(loaded: LoadedModel) -> list[int]:
    """The ids of tokens that do not count: of the begin and the end of a text, and of padding."""
    return [loaded.tokenizer.cls_token_id, loaded.tokenizer.sep_token_id, PADDING]


def best_matches(
    truth: TokenVectors, hypothesis: TokenVectors, special: Sequence[int], *, match_specials: bool = True
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """For the ground truths and for the hypotheses of B pairs: float32[B, L] and bool[B, L] tensors.

    The first has the highest cosine of each token with a token of the other side, -2 where there is none; the second
    is True for tokens that count: neither special nor padding. special: as `special_ids`; match_specials: whether these
    may be a best match.
    """
    import torch

    specials = torch.tensor(special, device=truth.ids.device)
    of_truth, of_hypothesis = (~torch.isin(side.ids, specials) for side in (truth, hypothesis))
    rows, columns = (truth.mask, hypothesis.mask) if match_specials else (of_truth, of_hypothesis)
    similar = truth.vectors @ hypothesis.vectors.transpose(1, 2)
    # below every cosine, so that padding is never the best match
    similar = similar.masked_fill(~(rows[:, :, None] & columns[:, None, :]), -2.0)
    return (similar.amax(dim=2), of_truth), (similar.amax(dim=1), of_hypothesis)


def distinct_texts(pairs: Iterable[Pair]) -> tuple[list[str], list[int], list[int]]:
    """The different texts of all pairs, and the positions in them of each ground truth and each hypothesis."""
    rows: dict[str, int] = {}
    places = [tuple(rows.setdefault(text, len(rows)) for text in pair) for pair in pairs]
    return list(rows), [truth for truth, _ in places], [hypothesis for _, hypothesis in places]


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A pair of texts, special tokens left out.

    truth: float64[L] the best cosine of each token of the ground truth, 0 where the hypothesis has no token;
    hypothesis: float64[M] the reverse. truth_tokens: int64[L]; hypothesis_tokens: int64[M].
    """

    truth: Floats
    hypothesis: Floats
    truth_tokens: Ints
    hypothesis_tokens: Ints


def matches_of(
    loaded: LoadedModel,
    pairs: Sequence[Pair],
    max_length: int | None,
    batch_tokens: int | None,
    *,
    match_specials: bool,
) -> dict[Pair, Match]:
    """The matches of distinct pairs.

    match_specials: whether the begin and the end of a text may be a token's best match.
    """
    made: dict[Pair, Match] = {}
    special = special_ids(loaded)

    def take(batch: Ints, truth: TokenVectors, hypothesis: TokenVectors) -> None:
        sides = best_matches(truth, hypothesis, special, match_specials=match_specials)
        best = [side.double().cpu().numpy() for side, _ in sides]
        used = [counts.cpu().numpy() for _, counts in sides]
        ids = [side.ids.cpu().numpy() for side in (truth, hypothesis)]
        for row, number in enumerate(batch.tolist()):
            cosines = [values[row, counts[row]] for values, counts in zip(best, used, strict=True)]
            tokens = [values[row, counts[row]] for values, counts in zip(ids, used, strict=True)]
            if not all(map(len, tokens)):
                cosines = [np.zeros(len(side)) for side in tokens]
            made[pairs[number]] = Match(*cosines, *tokens)

    tokens = functools.partial(bert_score_tokens, loaded, max_length=max_length)
    for_token_pairs(loaded, pairs, tokens, take, batch_tokens)
    return made
