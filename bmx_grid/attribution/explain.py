"""Items + metric + explainer -> attributions (paper, section 2.1)."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bmx_grid.attribution.contracts import (
    attributions_of,
    checked_scores,
    combined,
    explained,
    plans_of,
    real_numbers,
    statistics_of,
    whole_number,
)
from bmx_grid.core.errors import ComponentError, ExplainError
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.ragged import Floats
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item, Plan, Request, Role, split_words
from bmx_grid.words.segmentation import WHITESPACE, PairWords

NOT_ASKED = "the metric has no weights that this explainer could shuffle"


def asked_of(explainer: Explainer, metric: Metric) -> Metric | None:
    """The metric that an explainer asks: the explained one, or that with shuffled weights; None if it has none."""
    seed = explainer.shuffles_with
    return metric if seed is None else metric.with_shuffled_weights(seed)


def texts_at_once(metric: Metric, most: int) -> int:
    """How many texts to score before progress is reported and results are saved; `most` for a light metric.

    A tenth of them is enough work for a large model.
    """
    return most if metric.cost == "light" else max(most // 10, 1)


def in_parts(sizes: Iterable[tuple[Item, int]], most: int) -> Iterator[tuple[list[Item], int]]:
    """Items in parts of at most `most` texts (but at least one item), and how many texts each part needs.

    sizes: items, and how many texts each needs. An item's explanation is the same in any part. Texts that items of one
    part share are scored once.
    """
    part: list[Item] = []
    total = 0
    for item, size in sizes:
        if part and total + size > most:
            yield part, total
            part = []
            total = 0
        part.append(item)
        total += size
    if part:
        yield part, total


def score_items(metric: Metric, items: Sequence[Item]) -> Floats:
    """float64[n] scores of n items; repeated items are scored once.

    Raises ComponentError unless the metric returns one real number per item, none of them NaN.
    """
    rows: dict[Item, int] = {}
    order = np.fromiter((rows.setdefault(item, len(rows)) for item in items), dtype=np.intp, count=len(items))
    if not rows:
        return np.empty(0)
    return checked_scores(metric, metric.score(list(rows)), list(rows))[order]


def score_requests(metric: Metric, requests: Sequence[Request]) -> list[Floats]:
    """float64[K] scores for each request, by the metric's `score_masked` where it has one.

    Short cuts for masks know words between single spaces only: with other gaps all texts are written out.
    """
    scores = [np.empty(0)] * len(requests)
    asked = [index for index, request in enumerate(requests) if len(request.plan) > 0]
    if not asked:
        return scores
    written_out = any(requests[index].plan.gaps is not None for index in asked)
    scored = None if written_out else metric.score_masked([requests[index] for index in asked])
    if scored is None:
        rendered = [requests[index].items() for index in asked]
        flat = score_items(metric, list(itertools.chain.from_iterable(rendered)))
        scored = np.split(flat, np.cumsum([len(items) for items in rendered])[:-1])
    if len(scored) != len(asked):
        raise ComponentError(f"{metric.signature}: score_masked: expected {len(asked)} arrays, got {len(scored)}.")
    for index, values in zip(asked, scored, strict=True):
        scores[index] = real_numbers(metric, "scores", values, len(requests[index].plan))
    return scores


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explained item: its base score and, by role, one attribution for each word of every text that was read.

    attributions: float64[words] by role of the sides that are explained; NaN for all words of an item that the
        explainer cannot explain, and no roles at all where there is no explainer.
    n_texts: how many texts the metric was asked to score for it, repeats included.
    statistics: float64[k] of the metric (`Metric.statistics`), of which the score of a system is made; None for a
        metric whose system score is the mean.
    """

    key: str
    base_score: float
    item: Item
    attributions: Mapping[Role, Floats]
    n_texts: int = 0
    statistics: Floats | None = None


def explanation_identity(
    metric: Metric, explainer: Explainer | None, seed: int, words: PairWords = WHITESPACE
) -> dict[str, object]:
    """All that an explanation depends on besides the texts; the seed only where something is random.

    The segmentation is named where there is an explainer and it is not the paper's.
    """
    segmented = None if explainer is None else words.fingerprint()
    return {
        "metric": metric.fingerprint(),
        "explainer": None if explainer is None else explainer.fingerprint(),
        "seed": drawn_with(explainer, seed),
        **({} if segmented is None else {"words": segmented}),
    }


def drawn_with(explainer: Explainer | None, seed: int) -> int | None:
    """The seed where something is random, else None: part of every identity and signature."""
    return seed if explainer is not None and explainer.stochastic else None


def item_key(item: Item) -> str:
    """32 hexadecimal digits naming the texts that an explanation depends on."""
    texts = list(item.texts().values())
    return digest([texts, item.further_references] if item.further_references else texts)[:32]


def _generator(seed: int, explainer: str, item: Item, role: Role) -> np.random.Generator:
    """The generator of the draws for one text, made from seed, explainer, all texts of the item and the role."""
    texts = item.texts()
    # The only ground truth of an item is called by that name, whichever it is: attributions that were cached when
    # metrics read exactly two texts are found again.
    name = "ground_truth" if role != "hypothesis" and len(texts) == 2 else role
    content = canonical_json([seed, explainer, *texts.values(), name]).encode()
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(content).digest()[:16], "little")))


def explain_items(
    metric: Metric,
    explainer: Explainer | None,
    items: Sequence[Item],
    seed: int,
    *,
    skip_refused: bool = False,
    words: PairWords = WHITESPACE,
) -> list[Explanation]:
    """Explain items: plan every text that the metric reads, score all texts together, attribute.

    An item's explanation is the same alone, in any order and in any batch, as far as the metric's scores are (those of
    float32: to about 1e-6). Without an explainer there is only the base score.
    skip_refused: an item that the explainer refuses gets its base score and NaN attributions instead of an error.
    words: how texts are segmented.
    Raises UnavailableError (metric, segmentation), ExplainError (explainer), and ComponentError for scores and
    attributions that are not one real number per item and per word.
    """
    if not items:
        return []
    statistics = statistics_of(metric, items) if metric.has_statistics else None
    of_items: Sequence[Floats | None] = [None] * len(items) if statistics is None else list(statistics)
    if explainer is None:
        scored = score_items(metric, items) if statistics is None else combined(metric, statistics)
        base = checked_scores(metric, scored, items).tolist()
        alone = zip(items, base, of_items, strict=True)
        return [Explanation(item_key(item), score, item, {}, 1, of_item) for item, score, of_item in alone]
    # An explainer that reads texts itself needs no score but that of the item.
    read = explainer.explain(items, words)
    if read is not None:
        scored_items = explain_items(metric, None, items, seed)
        checked = explained(explainer, items, read, words)
        return [replace(item, attributions=by_role) for item, by_role in zip(scored_items, checked, strict=True)]
    # All others plan texts. Those of all items are scored together, and shared out again by row.
    refused = {row for row, item in enumerate(items) if skip_refused and _is_refused(metric, explainer, item, words)}
    rows, requests = _requests(explainer, items, refused, seed, words)
    unperturbed = [_unperturbed(item) for item in items]
    scorer = asked_of(explainer, metric)
    if scorer is None:
        raise ExplainError(f"{NOT_ASKED}: {metric.signature}.")
    if scorer is metric:
        # The unchanged items are scored with their perturbations, most of which contain them: they are scored once.
        scores = score_requests(metric, [*unperturbed, *requests])
    else:
        scores = [*score_requests(metric, unperturbed), *score_requests(scorer, requests)]
    asked = list(zip(rows, requests, scores[len(items) :], strict=True))
    undefined = refused | {row for row, _, score in asked if np.isnan(score).any()}  # a text without a score
    counts = [1] * len(items)
    attributions: list[dict[Role, Floats]] = [
        dict.fromkeys(explainer.roles(tuple(item.texts())), np.empty(0)) for item in items
    ]
    for row in undefined:
        for role, size in _explained(explainer, items[row], words).items():
            attributions[row][role] = np.full(size, np.nan)
    for row, request, score in asked:
        counts[row] += len(request.plan)
        if row not in undefined:
            attributions[row][request.role] = attributions_of(explainer, request, score)
    return [
        Explanation(item_key(item), float(scores[row][0]), item, attributions[row], counts[row], of_items[row])
        for row, item in enumerate(items)
    ]


def _requests(
    explainer: Explainer, items: Sequence[Item], refused: set[int], seed: int, words: PairWords
) -> tuple[list[int], list[Request]]:
    """What is to be scored for each text with words, of items that are not refused, and the rows of these."""
    sides = []
    for row, item in enumerate(items):
        if row in refused:
            continue
        for role, text in item.texts().items():
            if role in explainer.roles((role,)):
                sides.append((row, role, *words.of(role).segment(text)))
    sides = [side for side in sides if side[2]]
    # Of another backend or side it is the same explainer to the draws, so that results can be compared.
    identity = canonical_json(explainer.draws_as.fingerprint())
    rngs = [_generator(seed, identity, items[row], role) for row, role, *_ in sides]
    plans = plans_of(explainer, [side_words for _, _, side_words, _ in sides], rngs)
    if not words.plain:
        plans = [replace(plan, gaps=gaps) for plan, (*_, gaps) in zip(plans, sides, strict=True)]
    requests = [Request(plan, role, items[row]) for plan, (row, role, *_) in zip(plans, sides, strict=True)]
    return [row for row, *_ in sides], requests


def _unperturbed(item: Item) -> Request:
    # With every word kept, whichever text it is of, the request is the item itself.
    role: Role = next(reversed(item.texts()))
    words = split_words(item.text(role))
    return Request(Plan(words, keep=np.ones((1, len(words)), dtype=np.bool_)), role, item)


def _is_refused(metric: Metric, explainer: Explainer, item: Item, words: PairWords) -> bool:
    try:
        count_texts(metric, explainer, item, words=words)
    except ExplainError:
        return True
    return False


def count_texts(
    metric: Metric,
    explainer: Explainer | None,
    item: Item,
    copies: int = 1,
    words: PairWords = WHITESPACE,
    sizes: Sequence[int] | None = None,
) -> int:
    """The most texts for explaining `copies` versions of an item: each version, and the plans of its texts.

    sizes: the number of words of each text, where it is known (`word_counts`).
    Raises ExplainError when the explainer cannot explain the item or the metric refuses that many texts.
    """
    if explainer is not None:
        counts = _explained(explainer, item, words, sizes).values()
        copies *= 1 + sum(whole_number(explainer, explainer.count_texts(size)) for size in counts if size > 0)
    return whole_number(metric, metric.count_texts(item, copies))


def _explained(
    explainer: Explainer, item: Item, words: PairWords = WHITESPACE, sizes: Sequence[int] | None = None
) -> dict[Role, int]:
    """The number of words of each text of an item that is explained; sizes: of all its texts, where known."""
    roles = tuple(item.texts())
    of_role = dict(zip(roles, word_counts(item, words) if sizes is None else sizes, strict=True))
    return {role: of_role[role] for role in explainer.roles(roles)}


def word_counts(item: Item, words: PairWords = WHITESPACE) -> tuple[int, ...]:
    """The number of words of each text of an item."""
    return tuple(len(words.words(role, text)) for role, text in item.texts().items())
