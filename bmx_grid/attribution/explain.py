"""Items + metric + explainer -> attributions (paper, section 2.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bmx_grid.attribution.contracts import (
    attributions_of,
    check_explanations,
    check_scores,
    combine_statistics,
    plan_of,
    real_numbers,
    statistics_of,
    whole_number,
)
from bmx_grid.core.errors import ComponentError, ExplainError
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import pluralize
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.resampling import fitting, ranges
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item, Plan, Request, Role
from bmx_grid.words.segmentation import WHITESPACE, PairWords, split_words

MOST_CELLS = 2**29  # words of all perturbed texts of a side: a byte in a mask for each
MOST_CHARACTERS = 2**26  # of perturbed texts that are written out at a time
NOT_ASKED = "the metric has no weights that this explainer could shuffle"


def scoring_metric(explainer: Explainer, metric: Metric) -> Metric | None:
    """The metric that an explainer calls: the explained one, or that with shuffled weights; None without a model."""
    seed = explainer.weight_shuffle_seed
    return metric if seed is None else metric.shuffle_weights(seed)


def texts_at_once(metric: Metric, most: int) -> int:
    """How many texts to score before progress is reported and results are saved: of a large model a tenth of `most`."""
    return most if metric.cost == "light" else max(most // 10, 1)


def split_into_parts(sizes: Iterable[tuple[Item, int]], most: int) -> Iterator[tuple[list[Item], int]]:
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
    if not items:
        return np.empty(0)
    rows: dict[Item, int] = {}
    order = [rows.setdefault(item, len(rows)) for item in items]
    distinct = list(rows)
    scores = check_scores(metric, metric.score(distinct), distinct)
    return scores[order]


def score_requests(metric: Metric, requests: Sequence[Request]) -> list[Floats]:
    """float64[K] scores for each request, by the metric's `score_masked` if it has one.

    Short cuts for masks know words between single spaces only: with other gaps all texts are written out.
    """
    asked = [request for request in requests if len(request.plan) > 0]
    if not asked:
        return [np.empty(0)] * len(requests)
    scored = None
    if all(request.plan.gaps is None for request in asked):
        scored = metric.score_masked(asked)
    if scored is None:
        # the texts of all requests in one call, so that those they share are scored once
        flat = [score_items(metric, items) for items in _batch_items(asked)]
        ends = np.cumsum([len(request.plan) for request in asked])
        scored = np.split(np.concatenate(flat), ends[:-1])
    if len(scored) != len(asked):
        raise ComponentError(f"{metric.signature}: score_masked: expected {len(asked)} arrays, got {len(scored)}.")
    scores = []
    remaining = iter(scored)
    for request in requests:
        n_texts = len(request.plan)
        if n_texts == 0:
            scores.append(np.empty(0))
        else:
            scores.append(real_numbers(metric, "scores", next(remaining), n_texts))
    return scores


def _batch_items(requests: Sequence[Request]) -> Iterator[list[Item]]:
    """The items of all requests, in one list, or in several where their texts have more than MOST_CHARACTERS."""
    items: list[Item] = []
    room = MOST_CHARACTERS
    for request in requests:
        each = 1 + len(request.item.text(request.role))
        for some in ranges(len(request.plan), fitting(MOST_CHARACTERS, each)):
            needed = each * (some.stop - some.start)
            if items and needed > room:
                yield items
                items = []
                room = MOST_CHARACTERS
            items += request.items(some)
            room -= needed
    yield items


@dataclass(frozen=True, eq=False)
class Explanation:
    """An explained segment: its base score, and one attribution per word of every text that was read.

    Attributes:
        key: Identity of the explanation in the cache.
        base_score: Score of the unperturbed texts by the unboosted metric.
        item: The texts of the segment by role.
        attributions: float64[words] by role of the explained sides. NaN for all words of a segment that the explainer
            cannot explain; no roles without an explainer.
        n_texts: Number of texts that the metric scored for the explanation, repeats included.
        statistics: float64[k], statistics of the metric for corpus scores; None for a metric that averages scores.
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
    """Everything that an explanation depends on besides the texts; the seed only if something is random.

    The segmentation is named with an explainer and if it is not the paper's.
    """
    identity: dict[str, object] = {
        "metric": metric.fingerprint(),
        "explainer": None if explainer is None else explainer.fingerprint(),
        "seed": effective_seed(explainer, seed),
    }
    if explainer is not None:
        segmentation = words.fingerprint()
        # left out if it is the paper's, so that results cached before others existed are found again
        if segmentation is not None:
            identity["words"] = segmentation
    return identity


def effective_seed(explainer: Explainer | None, seed: int) -> int | None:
    """The seed where something is random, else None: part of every identity and signature."""
    return seed if explainer is not None and explainer.stochastic else None


def item_key(item: Item) -> str:
    """32 hexadecimal digits naming the texts that an explanation depends on."""
    texts = list(item.texts().values())
    content = [texts, *item.further] if item.further else texts
    return digest(content)[:32]


def _generator(seed: int, explainer: str, item: Item, role: Role) -> np.random.Generator:
    """The generator of the draws for one text, made from seed, explainer, all texts of the item and the role."""
    texts = item.texts()
    # The only ground truth of an item is called by that name, whichever it is: attributions that were cached when
    # metrics read exactly two texts are found again.
    is_only_truth = role != "hypothesis" and len(texts) == 2
    name = "ground_truth" if is_only_truth else role
    content = canonical_json([seed, explainer, *texts.values(), name]).encode()
    number = int.from_bytes(hashlib.sha256(content).digest()[:16], "little")
    return np.random.Generator(np.random.PCG64(number))


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

    An item's explanation is the same in any order and in any batch, as far as the metric's scores are (those of
    float32: to about 1e-6). Without an explainer it has the base score only.
    skip_refused: an item that the explainer refuses gets its base score and NaN attributions instead of an error.
    words: how texts are segmented.
    Raises UnavailableError (metric, segmentation), ExplainError (explainer), and ComponentError for scores and
    attributions that are not one real number per item and per word.
    """
    if not items:
        return []
    if explainer is None:
        return _score_only(metric, items)
    # An explainer that reads texts itself needs no score but that of the item.
    read = explainer.explain(items, words)
    if read is not None:
        explanations = []
        unexplained = _score_only(metric, items)
        for explanation, attributions in zip(
            unexplained, check_explanations(explainer, items, read, words), strict=True
        ):
            explanations.append(replace(explanation, attributions=attributions))
        return explanations
    # All others plan texts.
    refused = _refused_rows(metric, explainer, items, words) if skip_refused else set()
    return _explain_by_scores(metric, explainer, items, refused, seed, words)


def _score_only(metric: Metric, items: Sequence[Item]) -> list[Explanation]:
    statistics: Sequence[Floats | None] = [None] * len(items)
    if metric.has_statistics:
        rows = statistics_of(metric, items)
        scores = combine_statistics(metric, rows)
        statistics = list(rows)
    else:
        scores = score_items(metric, items)
    base_scores = check_scores(metric, scores, items).tolist()
    explanations = []
    for item, base_score, row in zip(items, base_scores, statistics, strict=True):
        explanations.append(Explanation(item_key(item), base_score, item, {}, 1, row))
    return explanations


def _explain_by_scores(
    metric: Metric, explainer: Explainer, items: Sequence[Item], refused: set[int], seed: int, words: PairWords
) -> list[Explanation]:
    """The items explained by an explainer that plans texts: those of all items are scored together.

    refused: rows of items whose attributions are NaN.
    """
    statistics: Sequence[Floats | None] = [None] * len(items)
    if metric.has_statistics:
        statistics = list(statistics_of(metric, items))
    rows, requests = _requests(explainer, items, refused, seed, words)
    unperturbed = [_unperturbed_request(item) for item in items]
    scorer = scoring_metric(explainer, metric)
    if scorer is None:
        raise ExplainError(f"{NOT_ASKED}: {metric.signature}.")
    if scorer is metric:
        # The unchanged items are scored with their perturbations, most of which contain them: they are scored once.
        scores = score_requests(metric, [*unperturbed, *requests])
    else:
        scores = [*score_requests(metric, unperturbed), *score_requests(scorer, requests)]
    # shared out again by row
    request_scores = scores[len(items) :]
    undefined = set(refused)
    for row, values in zip(rows, request_scores, strict=True):
        # one text without a score leaves the whole item without attributions
        if np.isnan(values).any():
            undefined.add(row)
    attributions: list[dict[Role, Floats]] = []
    for row, item in enumerate(items):
        if row in undefined:
            sizes = _word_counts_by_role(explainer, item, words)
            attributions.append({role: np.full(size, np.nan) for role, size in sizes.items()})
        else:
            # a text without words has no request, and keeps none
            roles = explainer.roles(tuple(item.texts()))
            attributions.append(dict.fromkeys(roles, np.empty(0)))
    counts = [1] * len(items)
    for row, request, values in zip(rows, requests, request_scores, strict=True):
        counts[row] += len(request.plan)
        if row not in undefined:
            attributions[row][request.role] = attributions_of(explainer, request, values)
    explanations = []
    for row, item in enumerate(items):
        base_score = float(scores[row][0])
        explanation = Explanation(
            item_key(item), base_score, item, attributions[row], counts[row], statistics=statistics[row]
        )
        explanations.append(explanation)
    return explanations


def _requests(
    explainer: Explainer, items: Sequence[Item], refused: set[int], seed: int, words: PairWords
) -> tuple[list[int], list[Request]]:
    """The requests for each text with words, of items that are not refused, and the items' rows."""
    # Of another backend or side it is the same explainer to the draws, so that results can be compared.
    identity = canonical_json(explainer.draws_as.fingerprint())
    rows: list[int] = []
    requests: list[Request] = []
    for row, item in enumerate(items):
        if row in refused:
            continue
        for role in explainer.roles(tuple(item.texts())):
            side, gaps = words.segmentation_of(role).segment(item.text(role))
            if not side:
                continue
            plan = plan_of(explainer, side, _generator(seed, identity, item, role))
            if not words.plain:
                plan = replace(plan, gaps=gaps)
            rows.append(row)
            requests.append(Request(plan, role, item))
    return rows, requests


def _unperturbed_request(item: Item) -> Request:
    # With every word kept, whichever text it is of, the request is the item itself.
    role: Role = next(reversed(item.texts()))
    words = split_words(item.text(role))
    keep = np.ones((1, len(words)), dtype=np.bool_)
    return Request(Plan(words, keep=keep), role, item)


def _refused_rows(metric: Metric, explainer: Explainer, items: Sequence[Item], words: PairWords) -> set[int]:
    """Rows of the items that the explainer cannot explain, or whose many texts the metric refuses."""
    rows = set()
    for row, item in enumerate(items):
        try:
            count_texts(metric, explainer, item, words=words)
        except ExplainError:
            rows.add(row)
    return rows


def count_texts(
    metric: Metric,
    explainer: Explainer | None,
    item: Item,
    copies: int = 1,
    words: PairWords = WHITESPACE,
    sizes: Sequence[int] | None = None,
) -> int:
    """The most texts for explaining `copies` versions of an item: each version, and the plans of its texts.

    sizes: the number of words of each text, if known (`word_counts`).
    Raises ExplainError when the explainer cannot explain the item or the metric refuses that many texts.
    """
    if explainer is not None:
        texts_per_copy = 1
        for role, size in _word_counts_by_role(explainer, item, words, sizes).items():
            # an explainer plans nothing for a text without words
            if size > 0:
                n_texts = whole_number(explainer, explainer.count_texts(size))
                _check_size(explainer, item, role, size, n_texts)
                texts_per_copy += n_texts
        copies *= texts_per_copy
    return whole_number(metric, metric.count_texts(item, copies))


def _check_size(explainer: Explainer, item: Item, role: Role, n_words: int, n_texts: int) -> None:
    """Raise ExplainError for more perturbed texts of a side than there is memory for: nothing is planned before."""
    length = len(item.text(role)) if explainer.writes_texts else n_words
    cells = n_texts * length
    if cells > MOST_CELLS:
        raise ExplainError(
            f"the {role} has {pluralize(n_words, 'word')}, whose {pluralize(n_texts, 'perturbed text')} need "
            f"{cells // 2**20:,} MiB, above {MOST_CELLS // 2**20}: split it, or choose an explainer with fewer texts."
        )


def _word_counts_by_role(
    explainer: Explainer, item: Item, words: PairWords, sizes: Sequence[int] | None = None
) -> dict[Role, int]:
    """The number of words of each text of an item that is explained; sizes: of all its texts, where known."""
    if sizes is None:
        sizes = word_counts(item, words)
    roles = tuple(item.texts())
    size_of_role = dict(zip(roles, sizes, strict=True))
    return {role: size_of_role[role] for role in explainer.roles(roles)}


def word_counts(item: Item, words: PairWords = WHITESPACE) -> tuple[int, ...]:
    """The number of words of each text of an item."""
    counts = []
    for role, text in item.texts().items():
        counts.append(len(words.words(role, text)))
    return tuple(counts)
