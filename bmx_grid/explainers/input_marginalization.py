"""Input marginalization: the score minus the expected score with likely other words (paper, appendix D).

A masked language model reads the side with one word masked. The tokens that it finds more likely than
`delta` are the candidates for that place, and

    attribution = score of the side - sum over candidates of weight x score of the side with the candidate.

After Kim et al., 2020 (Interpretation of NLP models through input marginalization).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import digest, identity, runtime
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.core.wording import pluralize
from bmx_grid.explainers.base import Explainer
from bmx_grid.models.encoding import note_truncated, pad, run_batches
from bmx_grid.models.files import check_model, model_identity
from bmx_grid.models.loading import Device, Dtype, LoadedModel, load_model
from bmx_grid.words.perturbation import Plan, join_words


@dataclass(frozen=True)
class InputMarginalization(Explainer):
    """Attribution of word i = score of the side - weighted scores of the side with word i replaced.

    A candidate is one token of the model's vocabulary, written as text in the word's place (a piece "##ing" as
    "ing"); special tokens, including [UNK], are never candidates; the word itself may be. An empty word (between two
    spaces) has nothing to mask: its attribution is 0.

    model, revision: a masked language model, by the name or the folder that `transformers` loads.
    dtype: of its numbers.
    max_length: the most tokens that it reads; of a longer side, those around the masked word.
    delta: a candidate is more likely than this.
    weights: "appendix": the probabilities as they are, so that they need not add up to 1;
        "paper_code": a softmax over the candidates' probabilities.
    no_candidate: if no token is likely enough. "best": the most likely token is the candidate, weighted like
        any other (its probability, or 1 for "paper_code"); "zero": the sum is 0, as in the paper's code, so that
        the attribution is the score of the side.
    device: of the model. batch_tokens: tokens per forward pass, padding included.
    """

    writes_texts: ClassVar[bool] = True
    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"max_words": None}

    model: str = identity("bert-base-multilingual-cased")
    revision: str | None = identity("3f076fdb1ab68d5b2880cb87a0886f315b8146f8")
    dtype: Dtype = identity("float32")
    max_length: int = identity(512, least=5)
    delta: float = identity(0.05, above=0, below=1)
    weights: Literal["appendix", "paper_code"] = identity("appendix")
    no_candidate: Literal["best", "zero"] = identity("best")
    device: Device = runtime("auto")
    batch_tokens: int = runtime(8192, least=1)

    def check(self) -> None:
        """Raise UnavailableError, with the remedy, when the masked language model is unavailable."""
        check_model(self.model, self.revision)

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        return ((self.model, self.revision),)

    def fingerprint(self) -> dict[str, Any]:
        """Settings, with the commit of a hub model and the content of a local one."""
        settings = super().fingerprint()
        return settings | model_identity(self.model, self.revision)

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """The unchanged side, then for each word in turn the side with every candidate, most likely first.

        Nothing is random. Raises UnavailableError without the model.
        """
        return _plan(self, words, digest(self.fingerprint()))

    def attribute(self, plan: Plan, scores: Floats) -> Floats:
        """float64[n] falls of the score, from the float64[K] scores of the plan."""
        places, weights = plan.design
        weighted = weights * scores[1:]
        expected = np.bincount(places, weights=weighted, minlength=len(plan.words))
        return np.asarray(scores[0] - expected, dtype=np.float64)

    def count_texts(self, n_words: int) -> int:
        """At most: the side itself, and for each word fewer candidates than 1 / delta, or one."""
        return 1 + n_words * self.most_candidates

    @property
    def most_candidates(self) -> int:
        """The most candidates of a word."""
        return max(1, math.ceil(1 / self.delta) - 1)


@lru_cache(maxsize=1024)  # equal sides are planned once: systems share sources and references
def _plan(explainer: InputMarginalization, words: tuple[str, ...], _fingerprint: str) -> Plan:
    """`InputMarginalization.plan`; its design is the place and the weight of each text but the first.

    Plans are kept by the fingerprint, too: the model's folder may be overwritten.
    """
    loaded = load_masked_lm(
        explainer.model, explainer.revision, explainer.dtype, explainer.device, explainer.max_length
    )
    masked = [place for place, word in enumerate(words) if word]
    proposals: dict[int, tuple[list[str], Floats]] = {}
    if masked:
        fillings, probabilities = propose(loaded, words, masked, explainer.most_candidates, explainer.batch_tokens)
        for place, candidates, likely in zip(masked, fillings, probabilities, strict=True):
            proposals[place] = (candidates, likely)
    texts = [join_words(words)]
    places = []
    weights = []
    for place in range(len(words)):
        candidates, likely = proposals.get(place, ([""], np.ones(1)))  # an empty word replaces itself
        # Candidates, most probable first: those above the threshold; without one, the best if the setting allows it.
        count = int(np.count_nonzero(likely > explainer.delta))
        if count == 0 and explainer.no_candidate == "best":
            count = 1
        shares = likely[:count]
        if explainer.weights == "paper_code":
            exponentials = np.exp(shares)
            shares = exponentials / exponentials.sum()
        for text in candidates[:count]:
            texts.append(_replace_word(words, place, text))
        places += [place] * count
        weights.append(shares)
    design = np.array(places, dtype=np.intp), np.concatenate(weights)
    return Plan(words, texts=texts, design=design)


def _replace_word(words: tuple[str, ...], place: int, word: str) -> str:
    before = words[:place]
    after = words[place + 1 :]
    return join_words([*before, word, *after])


def propose(
    loaded: LoadedModel, words: tuple[str, ...], places: Sequence[int], count: int, batch_tokens: int
) -> tuple[list[list[str]], Floats]:
    """Candidates for each of m `places`, with the word in it masked and all others unchanged, most probable first.

    m lists of `count` texts; float64[m, count] probabilities, of the whole vocabulary, not renormalised.

    One forward pass over all m texts together, or as many as keep each below `batch_tokens` tokens. Texts of
    other sides never share a pass: matrix products of another shape round otherwise (measured: 1e-7 to 2e-6,
    from one row to twelve), which could move a candidate over a threshold.
    """
    import torch

    ids, masks = _encode(loaded, words, places)
    rows, attended = pad(ids, loaded.tokenizer.pad_token_id)
    mask_of_row = np.array(masks)
    best = []
    probabilities = []

    def work(batch: Ints) -> None:
        batch_ids = torch.from_numpy(rows[batch])
        batch_attended = torch.from_numpy(attended[batch]).long()
        tokens, likely = _best(loaded, batch_ids, batch_attended, mask_of_row[batch], count)
        best.append(tokens)
        probabilities.append(likely)

    # every row is as wide as the widest: they come in order
    widths = np.full(len(ids), rows.shape[1])
    with torch.inference_mode():
        run_batches(work, widths, loaded, batch_tokens)
    texts, _ = _candidates(loaded)
    fillings = []
    for row in np.concatenate(best).tolist():
        fillings.append([texts[token] for token in row])
    return fillings, np.concatenate(probabilities)


def _best(loaded: LoadedModel, ids: Any, attended: Any, masks: Ints, count: int) -> tuple[Ints, Floats]:
    """The `count` likeliest candidates of each row at its mask, and their probabilities among all tokens.

    int64 ids and float64, with a row per text, the likeliest first; fewer if the vocabulary has fewer candidates.
    """
    import torch

    network = loaded.network
    device = loaded.device
    inputs = {"input_ids": ids.to(device), "attention_mask": attended.to(device)}
    rows = torch.arange(len(ids), device=device)
    places = torch.from_numpy(masks).to(device)
    # The head is by far the widest layer (120,000 outputs per token): computed for masked words only.
    head = getattr(network, "cls", None) or getattr(network, "lm_head", None)
    if head is None:
        logits = network(**inputs).logits[rows, places].float()
    else:
        states = network.base_model(**inputs)[0]
        logits = head(states[rows, places]).float()
    total = torch.logsumexp(logits, dim=-1, keepdim=True)
    _, is_candidate = _candidates(loaded)
    # a head may have fewer outputs than the tokenizer has tokens, or more
    possible = torch.from_numpy(is_candidate[: logits.shape[1]]).to(device)
    candidate_logits = logits[:, : len(possible)].masked_fill(~possible, -torch.inf)
    count = min(count, int(possible.sum()))
    likeliest = candidate_logits.topk(count, dim=-1)
    likely = torch.exp(likeliest.values - total)
    probabilities = likely.cpu().numpy().astype(np.float64)
    return likeliest.indices.cpu().numpy(), probabilities


def _encode(loaded: LoadedModel, words: tuple[str, ...], places: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """For each place, the token ids of the side with its word masked, and the mask's position in them."""
    tokenizer = loaded.tokenizer
    texts = []
    starts = []
    for place in places:
        texts.append(_replace_word(words, place, tokenizer.mask_token))
        # the empty word in its place leaves the text before it, with the space between
        before = join_words([*words[:place], ""])
        starts.append(len(before))
    encoded = tokenizer(texts, truncation=False, padding=False, verbose=False).encodings
    rows = []
    masks = []
    too_long = 0
    for encoding, start in zip(encoded, starts, strict=True):
        # The text may hold the mask's own spelling: ours is the first mask that does not end before the word.
        position = next(
            index
            for index, (token, (_, end)) in enumerate(zip(encoding.ids, encoding.offsets, strict=True))
            if token == tokenizer.mask_token_id and end > start
        )
        too_long += len(encoding.ids) > loaded.max_length
        is_special = [sequence is None for sequence in encoding.sequence_ids]
        row, position = window(encoding.ids, is_special, position, loaded.max_length)
        rows.append(row)
        masks.append(position)
    if note_truncated(too_long, f"{loaded.name} (windows around masked words)"):
        warnings.warn(
            f"model '{loaded.name}': a side of {pluralize(len(words), 'word')} has more than {loaded.max_length} "
            "tokens; of such sides it reads the part around each masked word. This is reported once per model.",
            stacklevel=2,
        )
    return rows, masks


@lru_cache(maxsize=1)
def _candidates(loaded: LoadedModel) -> tuple[list[str], Flags]:
    """The text of every token of the vocabulary, "" for those that are not candidates, and bool[V], True for these.

    Texts are without blanks around them and without the sign of a piece inside a word ("##ing" is written "ing").
    Special tokens, [UNK] among them, and tokens that are not text by themselves are not candidates.
    """
    tokenizer = loaded.tokenizer
    special = set(tokenizer.all_special_ids)
    decoded = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    piece = getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None) or ""
    texts = []
    for token, text in enumerate(decoded):
        # the replacement character marks bytes that are only a part of a character
        if token in special or "\ufffd" in text:
            texts.append("")
        else:
            texts.append(text.strip().removeprefix(piece))
    return texts, np.array([bool(text) for text in texts])


def load_masked_lm(model: str, revision: str | None, dtype: Dtype, device: Device, max_length: int) -> LoadedModel:
    """The model as `load_model` keeps it, whose `max_length` is at most this one.

    Of a longer text it reads the window of so many tokens, special ones included, that has the masked word in its
    middle (at an end of the text, near that end). Such texts are counted (`encoding.count_truncated`), once for each
    masked word. Raises UnavailableError when it is unavailable, or is not a masked language model.
    """
    loaded = load_model("masked_lm", model, revision, dtype=dtype, device=device)
    if loaded.tokenizer.mask_token_id is None or not loaded.tokenizer.is_fast:
        raise UnavailableError(
            f"model '{model}': its tokenizer has no mask token, or does not give the places of its tokens in the text; "
            "name a masked language model with a tokenizer.json."
        )
    return _limit_length(loaded, max_length)


@lru_cache(maxsize=1)
def _limit_length(loaded: LoadedModel, max_length: int) -> LoadedModel:
    return replace(loaded, max_length=min(max_length, loaded.max_length))


def window(ids: list[int], special: list[bool], position: int, max_tokens: int) -> tuple[list[int], int]:
    """At most `max_tokens` of `ids` around a position, and where among them it is.

    The special tokens at both ends stay; of the others those nearest to the position.
    """
    if len(ids) <= max_tokens:
        return ids, position
    before = special.index(False)
    after = special[::-1].index(False)
    room = max_tokens - before - after
    # near an end of the text the window ends with it
    earliest = max(position - room // 2, before)
    first = min(earliest, len(ids) - after - room)
    around = ids[first : first + room]
    ending = ids[len(ids) - after :]
    return [*ids[:before], *around, *ending], position - first + before
