"""What `score` prints of whole systems: their scores with intervals, and paired tests between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bmx_grid.attribution.scorer import Scored, Scorer
from bmx_grid.measures.multiplicity import holm
from bmx_grid.measures.system_scores import PairedScores, SystemScore, by_mean, mean, paired, system_score
from bmx_grid.wording import number, visible
from bmx_grid.words.perturbation import Item

RESAMPLES = 1000
LEVEL = 0.05


@dataclass(frozen=True)
class Test:
    """A paired test of one system against another; p_holm: adjusted for all pairs of the systems given."""

    system: str
    against: str
    found: PairedScores
    p_holm: float


@dataclass(frozen=True)
class Systems:
    """Systems by name with their scores, and every pair's test. kind: "corpus" statistic or "mean" of segment scores.

    clusters: of segments with the same source or reference, which are drawn and swapped together.
    """

    kind: str
    higher_is_better: bool
    clusters: int
    scores: Mapping[str, SystemScore]
    tests: Sequence[Test]

    def lines(self) -> list[str]:
        """As text."""
        names = {name: visible(name) for name in self.scores}
        wide = max(map(len, ["system", *names.values()]))
        what = "corpus score" if self.kind == "corpus" else "mean of segments"
        better = "" if self.higher_is_better else "; lower is better"
        lines = [f"{'system':<{wide}}  {what}, 95 % interval{better}"]
        for name, one in self.scores.items():
            lines.append(f"{names[name]:<{wide}}  {number(one.score, '.6f')} {_interval(one.low, one.high, '.6f')}")
        for test in self.tests:
            found, sign = test.found, "" if test.p_holm < LEVEL else ", not established"
            lines.append(
                f"{names[test.system]} less {names[test.against]}: {number(found.difference, '+.6f')} "
                f"{_interval(found.low, found.high, '+.6f')}, p = {number(found.p, '.4f')}, for all pairs "
                f"{number(test.p_holm, '.4f')}{sign}"
            )
        return lines

    def as_json(self) -> dict[str, Any]:
        """As plain values; None for what is undefined."""
        return {
            "system_score": self.kind,
            "higher_is_better": self.higher_is_better,
            "clusters": self.clusters,
            "systems": {name: _plain(asdict(one)) for name, one in self.scores.items()},
            "tests": [
                {"system": one.system, "against": one.against, **_plain({**asdict(one.found), "p_holm": one.p_holm})}
                for one in self.tests
            ],
        }


def systems_of(scorer: Scorer, scored: Mapping[str, Scored], texts: Mapping[str, list[Item]], seed: int) -> Systems:
    """The systems' scores and tests. texts: by system its items."""
    metric = scorer.metric
    corpus = not scorer.boosts and metric.has_statistics
    of = {name: metric.statistics(items) if corpus else by_mean(scored[name].scores) for name, items in texts.items()}
    combine = metric.combine if corpus else mean
    first = next(iter(texts.values()))
    labels = np.array([repr(item.source or item.reference) for item in first])
    drawn = (labels, RESAMPLES, seed)
    pairs = list(itertools.combinations(of, 2))
    found = [paired(of[one], of[other], combine, *drawn) for one, other in pairs]
    adjusted = holm([one.p for one in found])
    return Systems(
        "corpus" if corpus else "mean",
        metric.higher_is_better,
        len(np.unique(labels)),
        {name: system_score(one, combine, *drawn) for name, one in of.items()},
        [Test(*pair, one, float(p)) for pair, one, p in zip(pairs, found, adjusted, strict=True)],
    )


def _interval(low: float, high: float, form: str) -> str:
    return f"[{number(low, form)}, {number(high, form)}]"


def _plain(values: Mapping[str, float]) -> dict[str, float | None]:
    return {key: None if math.isnan(value) else value for key, value in values.items()}
