"""Does boosting help where the explanation is right: gains on segments whose errors it finds, and on the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations.base import BASE, Finished, Floats
from bmx_grid.evaluations.intervals import estimate, under
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, number_of, seeded_draws
from bmx_grid.measures.words.scores import Ranking

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class OfPart:
    """Gains of a point on the segments where the explanation is right and where it is wrong.

    right: how that is decided: "auc", the segment's AUC is above .5 (wrong: below), or "recall", more of the K marked
    words are among its K lowest than a random order has on average (wrong: fewer).
    A gain is the correlation with the human scores on these segments alone, above that of the metric on the same ones;
    difference, low, high: of the two gains, with its interval. Intervals draw clusters, the same for both parts. NaN
    where undefined. n_left_out: segments without an AUC, a human score or a boosted score, and those that are neither.
    """

    side: str
    point: str
    right: str
    gain_right: float
    gain_right_low: float
    gain_right_high: float
    gain_wrong: float
    gain_wrong_low: float
    gain_wrong_high: float
    difference: float
    low: float
    high: float
    n_right: int
    n_wrong: int
    n_left_out: int


def parts_of_segments(
    setting: Finished,
    side: str,
    ranking: Ranking,
    points: Sequence[str],
    kind: Kind,
    *,
    resamples: int,
    seed: int,
) -> list[OfPart]:
    """One entry for each point and each way to decide what is right."""
    base, human = setting.scores.base_scores, setting.segments.human_scores
    cluster = codes(np.asarray(list(setting.clusters), dtype=np.str_))
    above_chance = {"auc": ranking.auc - 0.5, "recall": ranking.recall_at_k - ranking.share_bad}
    found = []
    for point in points:
        boosted = setting.points[point]
        known = np.isfinite(base) & np.isfinite(human) & np.isfinite(boosted)
        for name, above in above_chance.items():
            parts = known & (above > 0), known & (above < 0)
            gains = [_gain(kind, base, boosted, human, part) for part in parts]
            samples = _samples(kind, base, boosted, human, parts, cluster, resamples, seed)
            (right_low, right_high), (wrong_low, wrong_high), (low, high) = (
                _ends(value, one, cluster)
                for value, one in zip(
                    (*gains, gains[0] - gains[1]),
                    (*samples, samples[0] - samples[1]),
                    strict=True,
                )
            )
            n_right, n_wrong = (int(part.sum()) for part in parts)
            found.append(
                OfPart(
                    side=side,
                    point=point,
                    right=name,
                    gain_right=gains[0],
                    gain_right_low=right_low,
                    gain_right_high=right_high,
                    gain_wrong=gains[1],
                    gain_wrong_low=wrong_low,
                    gain_wrong_high=wrong_high,
                    difference=gains[0] - gains[1],
                    low=low,
                    high=high,
                    n_right=n_right,
                    n_wrong=n_wrong,
                    n_left_out=len(base) - n_right - n_wrong,
                )
            )
    return found


def _gain(kind: Kind, base: Floats, boosted: Floats, human: Floats, part: Flags) -> float:
    return correlate(kind, boosted[part], human[part]) - correlate(kind, base[part], human[part])


def _samples(
    kind: Kind,
    base: Floats,
    boosted: Floats,
    human: Floats,
    parts: tuple[Flags, Flags],
    cluster: NDArray[np.int64],
    resamples: int,
    seed: int,
) -> list[Floats]:
    """float64[R] gains on each part, under the same resamples of all clusters; none with fewer than 3 clusters."""
    clusters = number_of(cluster)
    if clusters < FEWEST_CLUSTERS or resamples < 1:
        return [np.empty(0), np.empty(0)]
    made = []
    for part in parts:
        scores = {BASE: base[part], "boosted": boosted[part]}
        times = (drawn[cluster[part]] for drawn in seeded_draws(clusters, resamples, seed, len(human)))
        of = under(kind, scores, human[part], times)
        made.append(np.asarray(of["boosted"] - of[BASE]))
    return made


def _ends(value: float, samples: Floats, cluster: NDArray[np.int64]) -> tuple[float, float]:
    if not len(samples) or np.isnan(value):
        return float("nan"), float("nan")
    found = estimate(value, samples, number_of(cluster))
    return found.low, found.high
