"""Agreement of two sets of error spans in a text: by characters (WMT25, task 2) and by spans (MPP).

Both are sums over texts, so that texts can be drawn with replacement without looking at a span again:
`agreement(sums.sum(axis=0))`. A span is a row of int64[n, 3]: start, end (excluded), and 1 for a major or critical
error, 0 for a minor one. Spans without extent have no characters, and count in neither.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.resampling import codes, interval, resampled_sums, sums_by

Credits = tuple[float, float]  # of predicted and of true spans
# by the used true spans among those still needed
Matchings = dict[frozenset[int], list[Credits]]
PARTIAL_CREDIT = 0.5  # of a character with an error of another severity (WMT25, task 2)
MOST_MATCHINGS = 4096  # of a text that are kept; a rater's spans seldom overlap, and most texts have one or two


def character_sums(length: int, predicted: Ints, gold: Ints, partial_credit: float = PARTIAL_CREDIT) -> Floats:
    """Count the characters of a text on which two sets of error spans agree.

    A character counts once per span that covers it. It earns full credit for an error of the same severity on both
    sides, and partial credit for one of the other severity (Lavie et al. 2025, WMT25 task 2).

    Args:
        length: Number of characters of the text.
        predicted: int64[n, 3], predicted spans: start, end (exclusive), and severity, 1 for major and 0 for minor.
        gold: int64[m, 3], true spans.
        partial_credit: Credit for a character with an error of the other severity, from 0 to 1. Default: 0.5.

    Returns:
        float64[4]: Credit, number of predicted characters, credit, number of true characters. Sums over texts give
            precision, recall and F1 (see `agreement_with_interval`).

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import character_sums
        >>> character_sums(10, np.array([[0, 4, 1]]), np.array([[2, 6, 1]]))
        array([2., 4., 2., 4.])
        >>> character_sums(10, np.array([[0, 4, 1]]), np.array([[2, 6, 0]]))
        array([1., 4., 1., 4.])
    """
    of_predicted = _coverage(length, predicted)
    of_gold = _coverage(length, gold)
    both = np.minimum(of_predicted, of_gold)
    # Positions left on both sides have another severity on the other side, else they would be in `both`.
    left_of_predicted = (of_predicted - both).sum(axis=0)
    left_of_gold = (of_gold - both).sum(axis=0)
    left = np.minimum(left_of_predicted, left_of_gold)
    credit = both.sum() + partial_credit * left.sum()
    return np.array([credit, of_predicted.sum(), credit, of_gold.sum()])


def _coverage(length: int, spans: Ints) -> Floats:
    """float64[2, length] how many minor and major spans cover each character."""
    # +1 at the start of a span and -1 behind its end: the running sum counts the open spans
    changes = np.zeros((2, length + 1))
    start, end, severity = spans.T
    np.add.at(changes, (severity, start), 1.0)
    np.add.at(changes, (severity, end), -1.0)
    open_spans = np.cumsum(changes, axis=1)
    return open_spans[:, :length]


def span_sums(predicted: Ints, gold: Ints) -> Floats:
    """Match predicted and true error spans of a text, with credit for overlap (MPP).

    MPP is "match with partial overlap and partial credit" (Perrella et al. 2026, arXiv 2603.19921). Spans are matched
    one to one for the highest F1 of the text, then the highest precision plus recall. A matched span earns the share of
    its characters that overlap. Severities are ignored.

    Args:
        predicted: int64[n, 3], predicted spans: start, end (exclusive) and severity. Empty spans are ignored.
        gold: int64[m, 3], true spans.

    Returns:
        float64[4]: Credit and number of predicted spans, credit and number of true spans. Sums over texts give
            precision, recall and F1 (see `agreement_with_interval`).

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import span_sums
        >>> span_sums(np.array([[0, 4, 1]]), np.array([[2, 6, 0], [8, 9, 0]]))
        array([0.5, 1. , 0.5, 2. ])
    """
    # Omissions have no characters that could overlap.
    predicted = predicted[predicted[:, 1] > predicted[:, 0]]
    gold = gold[gold[:, 1] > gold[:, 0]]
    starts = np.maximum(predicted[:, None, 0], gold[None, :, 0])
    ends = np.minimum(predicted[:, None, 1], gold[None, :, 1])
    overlap = np.maximum(ends - starts, 0).astype(np.float64)
    of_predicted = overlap / np.diff(predicted[:, :2])
    of_gold = overlap / np.diff(gold[:, :2]).T
    predicted_credit, gold_credit = _best_matching(of_predicted, of_gold)
    return np.array([predicted_credit, len(predicted), gold_credit, len(gold)])


def _best_matching(of_predicted: Floats, of_gold: Floats) -> Credits:
    """The summed credits of both sides, float64[m, n] of each pair, in the matching with the highest F1.

    Predicted spans are taken one after the other. Of partial matchings that leave the same true spans to those that
    follow, one that is behind another in both credits cannot win.
    """
    m, n = of_predicted.shape
    matchings: Matchings = {frozenset(): [(0.0, 0.0)]}
    for row in range(m):
        extended: Matchings = {}
        # true spans that a later predicted span overlaps: whether another one is taken makes no difference any more
        overlapped_later = (of_predicted[row + 1 :] > 0).any(axis=0)
        needed = frozenset(np.flatnonzero(overlapped_later).tolist())
        partners = np.flatnonzero(of_predicted[row]).tolist()
        for used, credits in matchings.items():
            # the predicted span may stay without a partner
            extended.setdefault(used & needed, []).extend(credits)
            for column in partners:
                if column in used:
                    continue
                gained_predicted = float(of_predicted[row, column])
                gained_gold = float(of_gold[row, column])
                matched = [(predicted + gained_predicted, gold + gained_gold) for predicted, gold in credits]
                now_used = (used | {column}) & needed
                extended.setdefault(now_used, []).extend(matched)
        undominated = {used: _pareto_front(credits) for used, credits in extended.items()}
        matchings = _limit_matchings(undominated, m, n)
    complete = itertools.chain.from_iterable(matchings.values())
    return max(complete, key=lambda credits: _worth(credits, m, n))


def _pareto_front(credits: list[Credits]) -> list[Credits]:
    """The credits that no other one equals or exceeds on both sides."""
    kept: list[Credits] = []
    # From the highest credit of predicted spans on, only a higher credit of true spans than any so far can win.
    most = -math.inf
    for candidate in sorted(credits, reverse=True):
        of_gold = candidate[1]
        if of_gold > most:
            kept.append(candidate)
            most = of_gold
    return kept


def _limit_matchings(matchings: Matchings, m: int, n: int) -> Matchings:
    """The matchings; those of the highest F1 so far if there are too many."""
    if sum(map(len, matchings.values())) <= MOST_MATCHINGS:
        return matchings
    ranked: list[tuple[Credits, frozenset[int]]] = []
    for used, credits_of_used in matchings.items():
        ranked += [(credits, used) for credits in credits_of_used]

    def worth_key(matching: tuple[Credits, frozenset[int]]) -> tuple[tuple[float, float, float], list[int]]:
        credits, used = matching
        # by the true spans, too, so that the order of a dictionary of sets decides nothing
        return _worth(credits, m, n), sorted(used)

    ranked.sort(key=worth_key, reverse=True)
    kept: Matchings = {}
    for credits, used in ranked[:MOST_MATCHINGS]:
        kept.setdefault(used, []).append(credits)
    return kept


def _worth(credits: Credits, m: int, n: int) -> tuple[float, float, float]:
    """F1, precision plus recall, and precision of a text; rounded, so that ties are ties."""
    precision = credits[0] / max(m, 1)
    recall = credits[1] / max(n, 1)
    both = precision + recall
    f1 = 0.0
    if both > 0:
        f1 = 2 * precision * recall / both
    return round(f1, 12), round(both, 12), round(precision, 12)


def agreement(sums: Floats) -> Floats:
    """float64[..., 3] precision, recall and F1 of float64[..., 4] sums.

    Undefined (NaN): precision without predicted spans, recall without true ones, F1 without either. F1 is 0 if one
    side has spans, and no credit.
    """
    credit_predicted, n_predicted, credit_gold, n_gold = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = credit_predicted / n_predicted
        recall = credit_gold / n_gold
        f1 = 2 * precision * recall / (precision + recall)
    # 0 / 0 is undefined, but spans on one side and no credit at all are an F1 of 0.
    has_spans = n_predicted + n_gold > 0
    has_credit = credit_predicted + credit_gold > 0
    f1 = np.where(has_spans & ~has_credit, 0.0, f1)
    return np.stack([precision, recall, f1], axis=-1)


def agreement_with_interval(
    sums: Floats, cluster: ArrayLike, *, resamples: int = 1000, seed: int = 0
) -> tuple[Floats, tuple[float, float]]:
    """Compute precision, recall and F1 of error spans over texts.

    Args:
        sums: float64[N, 4], one row per text from `character_sums` or `span_sums`.
        cluster: N labels of texts that are resampled together.
        resamples: Number of bootstrap resamples of clusters.
        seed: Seed of the resampling.

    Returns:
        tuple[float64[3], tuple[float, float]]: Precision, recall and F1 over all texts, and the 95 % interval of F1.
            NaN: precision without predicted spans, recall without true spans, F1 without either, and the interval with
            fewer than 3 clusters.

    Example:
        >>> import numpy as np
        >>> from bmx_grid.measures import agreement_with_interval
        >>> sums = np.array([[2.0, 4.0, 2.0, 4.0], [3.0, 4.0, 3.0, 8.0]])
        >>> values, (low, high) = agreement_with_interval(sums, ["a", "b"])
        >>> values.round(3), low, high
        (array([0.625, 0.417, 0.5  ]), nan, nan)
    """
    by_cluster = sums_by(codes(cluster), sums)
    samples = resampled_sums(agreement, by_cluster, resamples, seed)
    f1_samples = samples[:, 2]
    return agreement(sums.sum(axis=0)), interval(f1_samples, len(by_cluster))
