"""Summaries of gains: how many settings gain, and the mean over language pairs.

Settings of one data set and language pair share segments and human scores: intervals and tests count these clusters,
not settings. 15 of 18 settings on six language pairs are 5 of 6 pairs; the sign test gives p = .109, not .004.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bmx_grid.analysis.base import Column, SettingKey, rows_by
from bmx_grid.core.wording import P_VALUE
from bmx_grid.evaluations.base import Estimate
from bmx_grid.measures.correlation import better, worse
from bmx_grid.measures.resampling import BOOTSTRAPPED, cluster_mean

COUNTED = "Better: gain above 1e-5; equal or worse: gain of 0 or less; between: a gain up to 1e-5."
CLUSTERED = (
    "In brackets: 95 % interval of the mean gain over the language pairs of all data sets: by Student's t, from "
    f"{BOOTSTRAPPED} pairs on by a bootstrap of them (none with fewer than 3)."
)
SIGN_TEST = "Above 0: pairs whose mean gain is; sign test p: one-sided, of these counts."
SUMMARY_COLUMNS = (
    "n",
    "better",
    Column("worse", "equal or worse"),
    Column("unchanged", "between"),
    "undefined",
    Column("mean_gain", "mean gain", "+.5f", ("mean_low", "mean_high")),
    Column("clusters", "pairs"),
    Column("clusters_better", "above 0"),
    Column("sign_p", "sign test p", P_VALUE),
)


class Gain(NamedTuple):
    """A gain of a setting, NaN where undefined, above the correlation of the metric alone."""

    setting: SettingKey
    baseline: float
    gain: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What some settings gain.

    n: settings with a defined gain; undefined: the others, counted in nothing else. better, worse: as in `correlation`,
    a gain above 1e-5, and one of 0 or less; unchanged: the rest; positive: better and unchanged.
    max_gain, mean_gain, mean_baseline: over the n settings; NaN if there are none.
    mean_low, mean_high: 95 % interval of the mean gain over clusters (`cluster_mean`), NaN with fewer than 3. clusters:
    how many there are; clusters_better: those with a mean gain above 0; sign_p: the one-sided sign test of these.
    """

    n: int
    better: int
    worse: int
    unchanged: int
    undefined: int
    positive: int
    max_gain: float
    mean_gain: float
    mean_baseline: float
    mean_low: float
    mean_high: float
    clusters: int
    clusters_better: int
    sign_p: float

    @property
    def mean(self) -> Estimate:
        """The mean gain."""
        return Estimate(self.mean_gain, self.mean_low, self.mean_high)


def summarise(settings: Sequence[Gain], seed: int = 0) -> Summary:
    """The summary of the gains of some settings. seed: of the bootstrap."""
    defined = [row for row in settings if not math.isnan(row.gain)]
    gains = np.array([row.gain for row in defined])
    n = len(gains)
    n_better = int(better(gains).sum())
    n_worse = int(worse(gains).sum())
    # Language pairs are what could be drawn again, not settings, which share segments.
    clusters = [row.setting.cluster for row in defined]
    mean = cluster_mean(gains, clusters, seed=seed)
    baselines = [row.baseline for row in defined]
    return Summary(
        n=n,
        better=n_better,
        worse=n_worse,
        unchanged=n - n_better - n_worse,
        undefined=len(settings) - n,
        positive=n - n_worse,
        max_gain=max(gains.tolist(), default=math.nan),
        mean_gain=mean.mean,
        mean_baseline=float(np.mean(baselines)) if n else math.nan,
        mean_low=mean.low,
        mean_high=mean.high,
        clusters=mean.clusters,
        clusters_better=mean.positive,
        sign_p=mean.p,
    )


def summaries(settings: Sequence[Gain], factor: str, seed: int) -> dict[str, Summary]:
    """A summary of the settings of each name of a factor."""
    groups = rows_by(settings, lambda row: getattr(row.setting, factor))
    return {name: summarise(rows, seed) for name, rows in sorted(groups.items())}
