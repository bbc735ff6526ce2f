"""Verdicts as they are shown: a row of verdicts.parquet, and the names of what it speaks of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bmx_grid.analysis.beside import Reached
from bmx_grid.analysis.names import written
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.verdicts import ESTIMATES, HELPS, NO_GAIN
from bmx_grid.measures.resampling import CONFIDENCE
from bmx_grid.segments import NO_PAIR

PAPERS_BOOST = "power_mean_grid"


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict with the numbers behind it, NaN where undefined; columns of verdicts.parquet.

    dataset, language_pair: "all" where it speaks of several. estimates: gains by name, with their intervals.
    """

    dataset: str
    language_pair: str
    metric: str
    explainer: str
    boost: str
    point: str
    verdict: str
    because: str
    estimates: Mapping[str, Reached]
    reassigned_gain: float
    best_gain: float
    p_gain_holm: float
    p_helps_holm: float
    tried: int
    pairs: int
    n: int
    clusters: int

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> ShownVerdict:
        """From a row of the table."""
        estimates = {name: Reached(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in ESTIMATES}
        return cls(estimates=estimates, **{one.name: row[one.name] for one in fields(cls) if one.name != "estimates"})

    @property
    def gain(self) -> Reached:
        """Over the metric alone."""
        return self.estimates["gain"]

    @property
    def helps(self) -> bool:
        """Whether that is the verdict."""
        return self.verdict == HELPS

    @property
    def label(self) -> str:
        """The verdict, with the reason where no gain is defined."""
        return f"{self.verdict}: {self.because}" if math.isnan(self.gain.gain) else self.verdict

    @property
    def doubt(self) -> str:
        """Why a gain whose interval is above 0 is not shown; "" where it needs no reason."""
        if self.verdict != NO_GAIN or not self.gain.low > 0:
            return ""
        tested = self.p_gain_holm <= 1 - CONFIDENCE
        return "too small" if tested else f"not after the correction for {self.tried} verdicts"


def what_of(row: ShownVerdict, among: Sequence[ShownVerdict]) -> str:
    """Explainer and metric, with the boost where there is another than the paper's."""
    boost = f" ({row.boost})" if any(one.boost != PAPERS_BOOST for one in among) else ""
    return f"{written(row.explainer)} on {written(row.metric)}{boost}"


def place_of(row: ShownVerdict, among: Sequence[ShownVerdict]) -> str:
    """The language pair, with its data set where there are several."""
    several = len({one.dataset for one in among}) > 1 or row.language_pair == ALL
    pair = "" if row.language_pair in (ALL, NO_PAIR) else row.language_pair
    return " ".join(part for part in (written(row.dataset) if several else "", pair) if part)


def grouped(rows: Sequence[ShownVerdict], *names: str) -> Iterable[list[ShownVerdict]]:
    """Rows that agree in these attributes, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[ShownVerdict]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return groups.values()
