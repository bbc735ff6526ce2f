"""What is established of a gain: beyond length, length, selection, or nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bmx_grid.measures.best import better
from bmx_grid.measures.cluster_means import cluster_mean
from bmx_grid.measures.multiplicity import holm
from bmx_grid.measures.resampling import FEWEST_CLUSTERS
from bmx_grid.wording import number

Label = Literal["beyond length", "length", "selection", "nothing established"]
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A gain, or a difference of gains, with its 95 % interval; NaN where undefined.

    p: two-sided, of 0: from resamples, or for a mean over language pairs of Student's t.
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan

    @property
    def established(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    def __str__(self) -> str:
        ends = f" [{number(self.low, '+.4f')}, {number(self.high, '+.4f')}]" if math.isfinite(self.low) else ""
        return f"{number(self.value, '+.4f')}{ends}"


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, at one point.

    gain: of the boost over the metric alone; best: of the best point of the grid, on the segments it is chosen on.
    beyond_length: of the boost over the metric with the length term; length: of that term over the metric alone.
    reassigned, random: of the boost made of such attributions; over_reassigned: gain less that of reassigned ones, a
    paired difference.
    """

    gain: Estimate
    best: float
    beyond_length: Estimate
    over_reassigned: Estimate
    length: Estimate
    reassigned: Estimate
    random: Estimate


@dataclass(frozen=True)
class Corrected:
    """p values of one of several candidates, before and after Holm's correction for their number.

    gain: of the gain; beyond_length: the larger one of the gain beyond length and over reassigned attributions, since
    the verdict asks for both. tried: how many candidates there are.
    """

    gain: float
    gain_holm: float
    beyond_length: float
    beyond_length_holm: float
    tried: int

    def survives(self, p_holm: float) -> bool:
        """Whether it does; a single candidate is not corrected."""
        return self.tried < 2 or p_holm <= 1 - CONFIDENCE

    def in_words(self, p_holm: float) -> str:
        """What does not survive."""
        return f"p {number(p_holm, '.3f')} by Holm over {self.tried} boosts"


@dataclass(frozen=True)
class Verdict:
    """One of four labels, and the numbers behind it in a sentence."""

    label: Label
    because: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A verdict at a point, on a scope: the names of data set and language pair ("all" for several), and its pairs.

    n: segments of all pairs; clusters: those that pairs share are counted once.
    """

    dataset: str
    language_pair: str
    point: str
    pairs: int
    n: int
    clusters: int
    evidence: Evidence
    verdict: Verdict


def corrected(found: Sequence[Evidence]) -> list[Corrected]:
    """Holm's correction over candidates that were tried on the same segments, one each."""
    gains = [one.gain.p for one in found]
    both = [_p_of_both(one.beyond_length, one.over_reassigned) for one in found]
    return [
        Corrected(gain, float(gain_holm), beyond, float(beyond_holm), len(found))
        for gain, gain_holm, beyond, beyond_holm in zip(gains, holm(gains), both, holm(both), strict=True)
    ]


def _p_of_both(one: Estimate, other: Estimate) -> float:
    """The p value of "not both are above 0": 1 where one is not."""
    if math.isnan(one.p) or math.isnan(other.p):
        return math.nan
    return max(one.p, other.p) if min(one.value, other.value) > 0 else 1.0


def verdict(found: Evidence, of_several: Corrected | None = None) -> Verdict:
    """The verdict on a gain, from 95 % intervals; "above 0" says that a whole interval is.

    of_several: of one of several candidates, what is above 0 survives Holm's correction for their number as well.

    - beyond length: the gain over the metric with the length term is above 0, and so is what the gain has more than
      that of attributions reassigned from other segments.
    - length: not so, but the gain over the metric alone is above 0. What follows from the number of words, or from
      attributions of other segments, may explain it.
    - selection: not so either; the best point of the grid gains more than 1e-5 on the segments it is chosen on, and
      the interval of the gain lies below that. What is seen at the best point is what looking at the whole grid finds.
    - nothing established: otherwise. The interval holds 0 and gains as large as the best point's, or there is none.

    A verdict says what these segments establish. "length" and "nothing established" are no proof that there is
    nothing more: with few segments or language pairs intervals are wide.
    """
    gain, beyond, over = found.gain, found.beyond_length, found.over_reassigned
    both = beyond.established and over.established
    if both and (of_several is None or of_several.survives(of_several.beyond_length_holm)):
        said = f"gain beyond length {beyond}, over reassigned attributions {over}"
        return Verdict("beyond length", said)
    if gain.established and (of_several is None or of_several.survives(of_several.gain_holm)):
        missing = f"beyond length {beyond}" if not beyond.established else f"over reassigned attributions {over}"
        if both and of_several is not None:
            missing = f"{missing}, beyond length {beyond}: {of_several.in_words(of_several.beyond_length_holm)}"
        return Verdict("length", f"gain {gain}, but {missing}; the length term alone gains {found.length}")
    lost = ""
    if gain.established and of_several is not None:
        lost = f", {of_several.in_words(of_several.gain_holm)}"
    if better(np.array(found.best)) and gain.high < found.best:
        said = f"gain {gain}{lost}; the best point gains {number(found.best, '+.4f')}, on the segments it is chosen on"
        return Verdict("selection", said)
    if math.isnan(gain.value):
        return Verdict("nothing established", "no gain is defined on these segments")
    if math.isnan(gain.low):
        return Verdict("nothing established", f"gain {gain}, on too few clusters for an interval")
    return Verdict("nothing established", f"gain {gain}{lost}; the best point gains {number(found.best, '+.4f')}")


def over_pairs(found: Sequence[Evidence]) -> Evidence:
    """The evidence of several language pairs as one: means over pairs, each counted once.

    Intervals are those of `cluster_mean`, the pairs being the clusters. Pairs without a defined value are
    left out of a mean.
    """
    names = ("gain", "beyond_length", "over_reassigned", "length", "reassigned", "random")
    means = {name: mean_of_pairs([getattr(one, name).value for one in found]) for name in names}
    return Evidence(best=mean_of_pairs([one.best for one in found]).value, **means)


def mean_of_pairs(values: Sequence[float]) -> Estimate:
    """The mean of one value per language pair with its interval (`cluster_mean`); NaN values are left out.

    p: of Student's t test of the mean.
    """
    from scipy.special import stdtr

    found = cluster_mean(list(values), list(range(len(values))))
    known = np.array([value for value in values if math.isfinite(value)])
    if len(known) < FEWEST_CLUSTERS:
        return Estimate(found.mean, found.low, found.high)
    error = float(known.std(ddof=1)) / math.sqrt(len(known))
    statistic = abs(found.mean) / error if error > 0 else math.inf if found.mean else 0.0
    return Estimate(found.mean, found.low, found.high, float(2 * stdtr(len(known) - 1, -statistic)))


def distinct_clusters(of: Iterable[tuple[str, Iterable[str]]]) -> int:
    """How many clusters several settings have together, those that language pairs share counted once.

    of: the data set of each setting, and the labels of its clusters, which are names within the data set.
    """
    return len({(dataset, label) for dataset, labels in of for label in labels})
