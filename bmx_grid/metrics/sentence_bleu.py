"""Sentence BLEU as sacreBLEU computes it (Post, 2018; Papineni et al., 2002), in [0, 1]."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.core.identity import file_digest, identity
from bmx_grid.core.ragged import Flags, Floats
from bmx_grid.metrics._ngrams import NgramTrie, add_lengths, count_ngrams, ngrams_of
from bmx_grid.metrics._pair_counts import count_pairs
from bmx_grid.metrics._sides import (
    Indices,
    SideTokens,
    Tokenizer,
    fixed_text,
    sides_of_request,
    tokens_of_words,
)
from bmx_grid.metrics.base import Counted
from bmx_grid.words.perturbation import Item, Request

Bits = NDArray[np.uint64]

FLORES = ("flores101", "flores200")  # tokenizers of spBLEU, whose sub-word models are files in sacreBLEU's folder
_ORDERS = 4
_SMOOTH_VALUES = {"add-k": 1.0, "floor": 0.1}
_LOG_OF_ZERO = -9999999999.0  # sacrebleu.utils.my_log

# Tokenizers that do the same word by word as on the whole text. 13a pads the text with blanks, so that its
# rules see the same at a word's edges as inside a text. intl and zh do not: they treat the ends of a text
# in their own way ("5." keeps its full stop at the end only).
_BY_WORD = ("13a", "none", "char")


@dataclass(frozen=True)
class SentenceBleu(Counted):
    """sacreBLEU's sentence BLEU of the hypothesis, divided by 100, bit for bit.

    Of several references each n-gram counts as often as the one that has it most, and the length is that of the
    reference nearest in length, the shorter of two (Papineni et al., 2002).

    The defaults are the paper's SentenceBLEU: 13a tokens, orders 2 to 4 smoothed by adding 1.
    tokenize: flores101 and flores200 make it spBLEU (Goyal et al., 2022), whose sub-word model is a file of sacreBLEU.
    smooth_value: None means the default of the method (1 for add-k, 0.1 for floor); for no smoothing choose none.
    effective_order: leave out orders that are longer than the hypothesis, as sacrebleu.sentence_bleu does.
    An empty hypothesis or reference scores 0.
    """

    SCALE: ClassVar[int] = 100

    tokenize: Literal["13a", "intl", "none", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200"] = identity(
        "13a"
    )
    smooth_method: Literal["add-k", "exp", "floor", "none"] = identity("add-k")
    smooth_value: float | None = identity(None, above=0)
    lowercase: bool = identity(False)
    effective_order: bool = identity(True)

    def __post_init__(self) -> None:
        super().__post_init__()
        default = _SMOOTH_VALUES.get(self.smooth_method)
        if self.smooth_value is None:
            # written out, so that the default given and the default left out are one identity
            object.__setattr__(self, "smooth_value", default)
        elif default is None:
            raise ConfigError(
                f"smooth_value={self.smooth_value:g}: smoothing '{self.smooth_method}' takes no value; "
                "leave smooth_value out (null), or choose smooth_method=add-k or floor."
            )

    @property
    def signature(self) -> str:
        from sacrebleu import BLEU

        self.check()
        return self.sacrebleu_signature(BLEU(**self.library_settings()))

    def check(self) -> None:
        _library_tokenizer(self.tokenize)

    def fingerprint(self) -> dict[str, Any]:
        """As of every component; of spBLEU with the content of its sub-word model."""
        values = super().fingerprint()
        if self.tokenize in FLORES:
            values["tokenizer"] = content_of_model(self.tokenize)
        return values

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 10]: tokens of hypothesis and reference, then matches and n-grams of the four orders."""
        tokenizer = _tokenizer(self.tokenize, self.lowercase)
        if not self.reads_several(items):
            return _statistics(count_pairs(tokenizer.pairs(items), _ORDERS))
        from sacrebleu import BLEU

        # Only counts are taken from it: `combine` smooths them.
        library = BLEU(**self.library_settings() | {"smooth_method": "none", "smooth_value": None})
        library.effective_order = True  # else it advises, text by text
        rows = []
        for item in items:
            score = library.sentence_score(item.text("hypothesis"), self.references_of(item))
            rows.append([score.sys_len, score.ref_len, *score.counts, *score.totals])
        return np.array(rows, dtype=np.float64)

    def combine(self, sums: Floats) -> Floats:
        """sacrebleu.BLEU's corpus score, with this option's smoothing, of summed statistics, divided by 100."""
        sums = np.asarray(sums, dtype=np.float64)
        rows = sums.reshape(-1, sums.shape[-1])
        return self._bleu(rows).reshape(sums.shape[:-1])

    def score_masked(self, requests: Sequence[Request]) -> list[Floats] | None:
        if self.tokenize not in _BY_WORD or self.reads_several(request.item for request in requests):
            return None
        tokenizer = _tokenizer(self.tokenize, self.lowercase)
        by_bits: list[int] = []
        walked: list[int] = []
        bit_sides: list[_BitSide] = []
        for row, request in enumerate(requests):
            side = _bit_side(request, tokenizer)
            if side is None:
                walked.append(row)
            else:
                by_bits.append(row)
                bit_sides.append(side)
        # a generator: the masks of a long text are made part by part, as they are counted
        masked = chain.from_iterable(sides_of_request(requests[row], tokenizer, _ORDERS) for row in walked)
        counts = [_count(bit_sides, _ORDERS), count_ngrams(masked, _ORDERS)]
        distinct, place = _distinct(np.concatenate(counts, axis=1))
        scores = self.combine(_statistics(distinct))[place]
        order = by_bits + walked
        ends = np.cumsum([len(requests[row].plan) for row in order], dtype=np.intp)
        parts = np.split(scores, ends[:-1])
        scores_of_row = dict(zip(order, parts, strict=False))  # of no requests there is one part all the same
        return [scores_of_row[row] for row in range(len(requests))]

    def _bleu(self, sums: Floats) -> Floats:
        """float64[P] scores, by the floating-point operations of sacrebleu.BLEU.compute_bleu in their order.

        sums: float64[P, 10] of `statistics`.
        Logarithms, exponentials and sums are Python's own, as in the library: NumPy's may differ in the last bit.
        """
        hypothesis = sums[:, 0]
        reference = sums[:, 1]
        correct = sums[:, 2 : 2 + _ORDERS].copy()
        total = sums[:, 2 + _ORDERS :].copy()
        matched = correct.any(axis=1)
        value = 0.0 if self.smooth_value is None else self.smooth_value
        if self.smooth_method == "add-k":
            correct[:, 1:] += value
            total[:, 1:] += value
        missed = (total > 0) & (correct == 0)
        correct *= 100.0
        if self.smooth_method == "floor":
            correct[missed] = 100.0 * value
        elif self.smooth_method == "exp":
            # the first order without a match has half a match, the next one a quarter, and so on
            correct[missed] = 100.0
            n_missed = np.cumsum(missed, axis=1)[missed]
            total[missed] *= 2.0**n_missed
        seen = (total > 0) & (correct > 0)
        precisions = np.divide(correct, total, out=np.ones_like(correct), where=seen)
        logs = _each_distinct(math.log, precisions)
        logs[~seen] = _LOG_OF_ZERO
        orders = np.full(len(total), _ORDERS)
        if self.effective_order:
            orders = (total > 0).sum(axis=1).clip(min=1)  # at least 1: it divides
        left_out = np.arange(_ORDERS) >= orders[:, None]
        logs[left_out] = 0.0
        columns = [column.tolist() for column in logs.T]
        added = _each(sum, zip(*columns, strict=True), len(logs))
        short = (hypothesis > 0) & (hypothesis < reference)
        ratio = np.divide(reference, hypothesis, out=np.ones(len(logs)), where=short)
        brevity = _each_distinct(math.exp, 1 - ratio)
        means = (added / orders).tolist()
        scores = brevity * _each(math.exp, means, len(logs))
        scores[~matched] = 0.0
        return np.asarray(scores / 100, dtype=np.float64)


def _statistics(counts: Indices) -> Floats:
    """float64[P, 10] `SentenceBleu.statistics` of int[6, P] counts (`count_ngrams`)."""
    totals = ngrams_of(counts[0], _ORDERS)
    return np.concatenate([counts, totals]).T.astype(np.float64)


def _distinct(counts: Indices) -> tuple[Indices, Indices]:
    """The distinct columns, and int[P] the index of each column among them. Masked texts share most columns."""
    # each column as one number, so that equal ones are found by sorting numbers
    sizes = (counts.max(axis=1, initial=0) + 1).tolist()
    if math.prod(sizes) > np.iinfo(np.int64).max:
        return counts, np.arange(counts.shape[1])
    numbers = np.ravel_multi_index(tuple(counts), sizes)
    keys, place = np.unique(numbers, return_inverse=True)
    return np.stack(np.unravel_index(keys, sizes)), place


def _each(function: Callable[[Any], float], values: Iterable[Any], count: int) -> Floats:
    return np.fromiter(map(function, values), np.float64, count)


def _each_distinct(function: Callable[[float], float], values: Floats) -> Floats:
    distinct, place = np.unique(values, return_inverse=True)
    return _each(function, distinct.tolist(), len(distinct))[place]


def _model_of(name: str) -> tuple[Path, str]:
    """The file of a sub-word model, in sacreBLEU's folder, and the address that sacreBLEU has it from."""
    from sacrebleu import utils
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

    address = SPM_MODELS[name]["url"]
    return Path(utils.SACREBLEU_DIR) / "models" / address.rpartition("/")[2], address


def content_of_model(name: str) -> str | None:
    """16 digits of the SHA-256 of a sub-word model; None without its file."""
    file, _ = _model_of(name)
    if not file.is_file():
        return None
    return file_digest(file)[:16]


def check_flores_model(name: str) -> None:
    """Raise UnavailableError without a sub-word model: sacreBLEU itself would download it in the midst of a sweep."""
    from sentencepiece import SentencePieceProcessor

    file, address = _model_of(name)
    if not file.is_file():
        raise UnavailableError(
            f"sacreBLEU's tokenizer '{name}' needs its sub-word model, but {file} does not exist. Download it: "
            f"curl --create-dirs -L -o {file} {address} (SACREBLEU=FOLDER in the environment names another folder), or "
            "choose another tokenizer (tokenize=13a)."
        )
    try:
        SentencePieceProcessor(model_file=str(file))
    except (RuntimeError, OSError) as error:
        raise UnavailableError(f"{file}: cannot be read as a model of sentencepiece; download it again.") from error


@functools.cache
def _library_tokenizer(name: str) -> Callable[[str], str]:
    """sacreBLEU's tokenizer. Raises UnavailableError when the libraries it needs are missing."""
    from sacrebleu import BLEU

    if name in FLORES:
        check_flores_model(name)
    try:
        tokenizer: Callable[[str], str] = BLEU(tokenize=name).tokenizer
    except RuntimeError as error:  # what sacreBLEU raises for them
        extra = name.removesuffix("-mecab")
        raise UnavailableError(
            f"sacreBLEU's tokenizer '{name}' needs libraries that are not installed: "
            f"pip install 'sacrebleu[{extra}]', or choose another tokenizer (tokenize=13a)."
        ) from error
    return tokenizer


@functools.cache
def _tokenizer(name: str, lowercase: bool) -> Tokenizer:
    library = _library_tokenizer(name)

    def tokens(text: str) -> Sequence[str]:
        text = text.lower() if lowercase else text
        if name == "13a" and text.isalnum():
            return (text,)  # 13a splits words at punctuation only; calling the library for each new word takes longest
        return library(text.rstrip()).split()

    return Tokenizer(tokens, by_word=name in _BY_WORD)


# Number of n-grams that masked texts share with a fixed text if no token moves: each text is one 64-bit integer.
#
# A word that is replaced by tokens that the fixed text does not hold leaves a gap which no shared n-gram spans.
# The n-grams that a masked text shares are then those of the whole text whose tokens all stay. With a bit for
# each token, runs of n tokens that stay are found by shifting, and matches by counting bits, all texts at once.

_WIDTH = 64  # tokens that a text may have


@dataclass(frozen=True, eq=False)
class _BitSide(SideTokens):
    """K masked texts whose n-grams stay in place or vanish. Bit i is token i of the whole text.

    keep: bool[K, tokens]. first: bits of the tokens that begin a word. instead: how many tokens replace a hidden word.
    """

    keep: Flags
    first: int
    instead: int


def _bit_side(request: Request, tokenizer: Tokenizer) -> _BitSide | None:
    """The masked texts of a request. None if n-grams may move, and for more tokens than bits."""
    keep = request.plan.keep
    known = tokens_of_words(request.plan, tokenizer)
    if keep is None or known is None:
        return None
    tokens_by_word, instead = known
    tokens = tuple(chain.from_iterable(tokens_by_word))
    if len(tokens) > _WIDTH:
        return None
    fixed = tokenizer.text(fixed_text(request))
    # in place of a word without tokens a replacement would part its neighbours, or match if the fixed text holds it
    in_place = all(tokens_by_word) and instead and set(instead).isdisjoint(fixed)
    if not (in_place or keep.all()):
        return None
    first = (1 << len(tokens)) - 1
    if any(len(word_tokens) != 1 for word_tokens in tokens_by_word):
        word_of_token: list[int] = []
        first = 0
        for word, word_tokens in enumerate(tokens_by_word):
            if word_tokens:
                first |= 1 << len(word_of_token)
            word_of_token += [word] * len(word_tokens)
        keep = keep.take(np.array(word_of_token, np.intp), axis=1)
    is_hypothesis = request.role == "hypothesis"
    return _BitSide(tokens, fixed, is_hypothesis, keep, first, len(instead))


def _count(sides: Sequence[_BitSide], orders: int) -> Indices:
    if not sides:
        return np.empty((2 + orders, 0), np.intp)
    n_texts = np.array([len(side.keep) for side in sides], np.intp)
    ends = np.cumsum(n_texts)
    starts = ends - n_texts
    rows = list(map(slice, starts.tolist(), ends.tolist()))
    kept = _pack(sides, rows)
    matches = np.zeros((orders, len(kept)), np.intp)
    runs = kept
    for order, (known, clipped) in enumerate(_shared_ngrams(sides, orders)):
        if order:
            # one token longer: bit i stays where also the run that begins at token i + 1 is whole
            runs = runs & (runs >> np.uint64(1))
        matches[order] = np.bitwise_count(runs & np.repeat(known, n_texts))
        for side, bits, limit in clipped:
            texts = rows[side]
            shared = np.bitwise_count(runs[texts] & bits)
            matches[order, texts] -= np.maximum(shared, limit) - limit
    first = np.array([side.first for side in sides], np.uint64)
    instead = np.array([side.instead for side in sides], np.intp)
    n_words = np.repeat(np.bitwise_count(first), n_texts)
    n_shown = np.bitwise_count(kept & np.repeat(first, n_texts))
    hidden = n_words - n_shown
    masked = np.bitwise_count(kept) + np.repeat(instead, n_texts) * hidden
    return add_lengths(sides, n_texts, masked, matches)


def _pack(sides: Sequence[_BitSide], rows: Sequence[slice]) -> Bits:
    """uint64[P], bit i: whether token i stays."""
    spaced = np.zeros((rows[-1].stop, _WIDTH), np.bool_)
    for side, texts in zip(sides, rows, strict=True):
        spaced[texts, : len(side.tokens)] = side.keep
    packed = np.packbits(spaced.ravel(), bitorder="little")
    # eight bytes are one number, the same on a machine of any byte order
    return packed.view("<u8").astype(np.uint64, copy=False)


# An n-gram that a whole text holds more often than its fixed text: its side, the bits of the tokens that begin it, and
# how often the fixed text holds it.
_TooOften = tuple[int, np.uint64, int]


def _shared_ngrams(sides: Sequence[_BitSide], orders: int) -> Iterator[tuple[Bits, list[_TooOften]]]:
    """Order by order: where each whole text holds n-grams of its fixed text, and those it holds too often.

    The first are bits of the tokens that begin an n-gram, uint64[sides].
    """
    trie = NgramTrie.from_sides(sides)
    sizes = [len(side.tokens) + 1 for side in sides]
    side_of_place = np.repeat(np.arange(len(sides)), sizes)
    starts = np.cumsum(sizes) - sizes
    token_of_place = np.arange(len(side_of_place)) - starts.take(side_of_place)
    bit_of_place = np.uint64(1) << token_of_place.astype(np.uint64)
    walk = np.maximum(trie.tokens, 0)  # stops end n-grams
    for places, nodes, limits, owner in trie.walk(walk, orders):
        bits = bit_of_place.take(places)
        known = np.zeros(len(sides), np.uint64)
        np.add.at(known, side_of_place.take(places), bits)
        too_often = np.bincount(nodes, minlength=len(limits)) > limits
        per_node = np.zeros(len(limits), np.uint64)
        clipped = too_often.take(nodes)
        np.add.at(per_node, nodes[clipped], bits[clipped])
        often = too_often.nonzero()[0]
        owners = owner.take(often).tolist()
        most = limits.take(often).tolist()
        yield known, list(zip(owners, per_node.take(often), most, strict=True))
