"""Agreement of a metric with people on which of two translations, or of two systems, is better.

In all of them a higher metric score says better: turn the sign of a metric such as TER first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_PAIRS = 1_000_000  # of segments, for the calibration of ties; of more, that many are drawn
PAIRS_AT_ONCE = 500  # of systems, in a permutation test


def pairwise_accuracy(metric: Floats, human: Floats) -> float:
    """Share of the system pairs that metric and people order alike (Kocmi et al. 2021); float64[S] each.

    A pair counts where the signs of both differences are equal: a tie agrees with a tie only. Systems with NaN are left
    out; NaN with fewer than two systems.
    """
    used = np.isfinite(metric) & np.isfinite(human)
    metric, human = metric[used], human[used]
    if len(metric) < 2:
        return math.nan
    first, second = np.triu_indices(len(metric), 1)
    return float((np.sign(metric[first] - metric[second]) == np.sign(human[first] - human[second])).mean())


@dataclass(frozen=True, eq=False)
class TieCalibrated:
    """Pairwise accuracy of segments with ties, at the threshold that makes it largest (Deutsch et al. 2023).

    accuracy: the mean over groups. epsilon: pairs whose metric scores differ by at most this are ties; the smallest
    of the best thresholds, calibrated on the very data of the accuracy. NaN without a pair.
    human_ties: the accuracy of a metric that ties every pair. only_ties: whether the best threshold does no better, so
    that the accuracy is only the share of pairs that people tied.
    by_row: float64[n] the share of the pairs of each segment that agree, NaN for segments without a pair.
    n_groups, n_undefined: groups, and those of them without a pair. n_pairs: pairs used; n_pairs_of: pairs that there
    are, more where the pairs were drawn.
    """

    accuracy: float
    epsilon: float
    human_ties: float
    only_ties: bool
    by_row: Floats
    n_groups: int
    n_undefined: int
    n_pairs: int
    n_pairs_of: int


def acc_eq(metric: Floats, human: Floats, groups: Ints, *, seed: int = 0, max_pairs: int = MAX_PAIRS) -> TieCalibrated:
    """acc_eq with tie calibration of float64[n] scores without NaN; groups: int64[n], pairs are made within a group.

    Equals the search over all thresholds in one pass over the sorted differences. Past max_pairs, so many pairs are
    drawn with replacement (the seed decides), from each group in proportion to its pairs.
    """
    members = members_of(groups)
    pairs_of = np.array([len(rows) * (len(rows) - 1) // 2 for rows in members], dtype=np.int64)
    total, defined = int(pairs_of.sum()), int((pairs_of > 0).sum())
    nothing = np.full(len(metric), np.nan)
    if not total:
        return TieCalibrated(math.nan, math.nan, math.nan, False, nothing, len(members), len(members), 0, 0)
    if total <= max_pairs:
        first, second, group = _all_pairs(members)
    else:
        first, second, group = _drawn_pairs(members, pairs_of, max_pairs, np.random.default_rng(seed))
    weight = (1 / np.bincount(group, minlength=len(members)).clip(min=1) / defined)[group]
    difference = metric[first] - metric[second]
    by_human = np.sign(human[first] - human[second])
    tied = by_human == 0
    concordant = ~tied & (np.sign(difference) == by_human)
    distance = np.abs(difference)
    order = np.argsort(distance, kind="stable")
    ordered = distance[order]
    # Raising the threshold past a pair makes it a tie: right if people tied it, wrong if it was concordant.
    gained = np.cumsum((weight * (tied.astype(np.float64) - concordant))[order])
    ends = np.flatnonzero(np.concatenate([ordered[1:] != ordered[:-1], [True]]))
    thresholds = ordered[ends]
    accuracies = float(weight[concordant].sum()) + gained[ends]
    if thresholds[0] > 0:  # no pair is tied at 0
        thresholds, accuracies = np.append(0.0, thresholds), np.append(weight[concordant].sum(), accuracies)
    best = int(np.argmax(accuracies >= accuracies.max() - 1e-12))  # sums of weights differ by rounding
    epsilon = float(thresholds[best])
    agree = np.where(distance <= epsilon, tied, concordant).astype(np.float64)
    with np.errstate(invalid="ignore"):
        count = np.bincount(first, minlength=len(metric)) + np.bincount(second, minlength=len(metric))
        agreed = np.bincount(first, agree, len(metric)) + np.bincount(second, agree, len(metric))
        by_row = np.asarray(agreed / count, dtype=np.float64)
    return TieCalibrated(
        accuracy=float((weight * agree).sum()),
        epsilon=epsilon,
        human_ties=float(weight[tied].sum()),
        only_ties=float(accuracies[best]) <= float(weight[tied].sum()) + 1e-12,
        by_row=by_row,
        n_groups=len(members),
        n_undefined=len(members) - defined,
        n_pairs=len(first),
        n_pairs_of=total,
    )


def members_of(groups: Ints) -> list[Ints]:
    """The rows of each group, int64[n] numbers, by ascending number."""
    if not len(groups):
        return []
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _all_pairs(members: list[Ints]) -> tuple[Ints, Ints, Ints]:
    """Two rows and the group of every pair; groups of one size together."""
    sizes = np.array([len(rows) for rows in members])
    found: list[tuple[Ints, Ints, Ints]] = []
    for size in np.unique(sizes[sizes > 1]):
        chosen = np.flatnonzero(sizes == size)
        rows = np.stack([members[index] for index in chosen])
        first, second = np.triu_indices(size, 1)
        found.append((rows[:, first].ravel(), rows[:, second].ravel(), np.repeat(chosen, len(first))))
    first, second, group = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return first, second, group


def _drawn_pairs(members: list[Ints], pairs_of: Ints, count: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """About `count` pairs, at least one from each group that has any."""
    drawn = np.where(pairs_of > 0, np.maximum(np.rint(pairs_of * (count / pairs_of.sum())), 1), 0).astype(np.int64)
    group = np.repeat(np.arange(len(members)), drawn)
    sizes = np.array([len(rows) for rows in members])
    starts = np.cumsum(sizes) - sizes
    one = rng.integers(sizes[group])
    other = (one + 1 + rng.integers(sizes[group] - 1)) % sizes[group]
    rows = np.concatenate(members)
    return rows[starts[group] + one], rows[starts[group] + other], group


@dataclass(frozen=True, eq=False)
class SoftAgreement:
    """Soft pairwise accuracy: 1 - mean |p_human - p_metric| over the system pairs (Thompson et al. 2024).

    apart: float64[S, S] the |p_human - p_metric| of each pair, NaN on the diagonal and for pairs without a common
    segment. n_pairs: pairs with both p-values.
    """

    value: float
    apart: Floats
    n_pairs: int


def spa(metric: Floats, human: Floats, *, resamples: int = 1000, seed: int = 0) -> SoftAgreement:
    """Soft pairwise accuracy of float64[items, S] scores of S systems on common items, NaN where there is none.

    p-values are those of one-sided paired permutation tests of the difference of two systems: in each of `resamples`
    permutations the two systems exchange their scores of random items, the same items for metric and people;
    p = (k + 1) / (n + 1). A pair of systems uses the items for which all four scores exist.
    """
    n_items, n_systems = metric.shape
    apart = np.full((n_systems, n_systems), np.nan)
    used = np.isfinite(metric) & np.isfinite(human)
    signs = np.random.default_rng(seed).choice(np.array([-1.0, 1.0]), size=(resamples, n_items))
    first, second = np.triu_indices(n_systems, 1)
    for start in range(0, len(first), PAIRS_AT_ONCE):
        one, other = first[start : start + PAIRS_AT_ONCE], second[start : start + PAIRS_AT_ONCE]
        both = used[:, one] & used[:, other]
        gaps = [np.where(both, scores[:, one] - scores[:, other], 0.0) for scores in (metric, human)]
        p_values = [_one_sided(gap, signs) for gap in gaps]
        far = np.where(both.any(axis=0), np.abs(p_values[0] - p_values[1]), np.nan)
        apart[one, other] = apart[other, one] = far
    pairs = apart[first, second]
    defined = np.isfinite(pairs)
    value = float(1 - pairs[defined].mean()) if defined.any() else math.nan
    return SoftAgreement(value, apart, int(defined.sum()))


def _one_sided(differences: Floats, signs: Floats) -> Floats:
    """float64[pairs] p-values of "the first system is better"; differences: float64[items, pairs]."""
    observed = differences.sum(axis=0)
    near = 1e-9 * np.abs(differences).sum(axis=0)  # sums in another order differ by rounding; equal ones count
    larger: NDArray[np.int64] = (signs @ differences >= observed - near).sum(axis=0)
    return np.asarray((larger + 1) / (len(signs) + 1))
