"""What is established of a gain: it helps, length or score explains it, none is shown, it hurts, or too little data.

A sweep gives a verdict for each scope and boost at its declared point, and further ones at published points and other
data sets: each question is a family of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from typing import Any, Literal

from bmx_grid.evaluations.base import NAMES, Floats
from bmx_grid.evaluations.boost_evidence import (
    ALL,
    COMBINED,
    CROSS_FITTED,
    CURVE,
    ELSEWHERE,
    FIXED,
    LENGTH,
    METRIC,
    METRICS,
    OTHER_DATASETS,
    PUBLISHED,
    REASSIGNED,
    SCORE_AND_LENGTH,
    WITHIN,
    Key,
    Line,
    contrasts,
    lines_of,
)
from bmx_grid.evaluations.held_out import Held, Rated
from bmx_grid.evaluations.intervals import Estimate
from bmx_grid.measures.cluster_means import interval_kind
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.multiplicity import holm
from bmx_grid.measures.resampling import CONFIDENCE
from bmx_grid.wording import counted, number

Label = Literal["helps", "explained by length or score", "no gain shown", "too little data", "hurts"]
HELPS: Label = "helps"
EXPLAINED: Label = "explained by length or score"
NO_GAIN: Label = "no gain shown"
TOO_LITTLE: Label = "too little data"
HURTS: Label = "hurts"
LEGEND = {
    HELPS: "an established gain, also over score, length and attributions of other segments",
    EXPLAINED: "an established gain that needs no explanation",
    NO_GAIN: "no gain or loss is established after correction, or the gain is too small to matter",
    TOO_LITTLE: "too few segments, or too wide an interval",
    HURTS: "the loss is established",
}
FEWEST = 4  # clusters of segments, or language pairs where several are averaged: fewer never give a positive verdict
FEW = 6  # a verdict on fewer says so
WIDE = 0.05  # half of an interval: a wider one does not tell a large gain from a large loss
SMALLEST_GAIN = 0.005


NOTHING = Estimate()


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, on segments that the boost was not chosen on.

    gain: of the boost over the metric alone. beyond: of the boost over the metric, both with a smooth curve of score
    and lengths fitted to the judged segments (`measures.nuisance`). over_reassigned: the gain minus that of the same
    boost made of attributions of other segments; None where no attributions are known. within_source: the gain among
    the translations of one source, where there are several systems. units: how many clusters of segments, or language
    pairs, intervals rest on; unit: which.
    """

    gain: Estimate
    beyond: Estimate
    over_reassigned: Estimate | None
    units: int
    unit: str = "cluster"
    within_source: Estimate = NOTHING

    @property
    def p_helps(self) -> float:
        """The p value of "not all three are above 0": 1 where one is not, NaN where one is undefined."""
        parts = [part for part in (self.gain, self.beyond, self.over_reassigned) if part is not None]
        if any(math.isnan(part.p) for part in parts):
            return math.nan
        return max(part.p for part in parts) if min(part.value for part in parts) > 0 else 1.0


@dataclass(frozen=True)
class Verdict:
    """label, with the numbers behind it in a sentence; p_helps, p_gain: corrected for the `tried` verdicts of a family.

    p_gain is two-sided: of a gain, or of a loss.
    """

    label: Label
    because: str
    p_helps: float = math.nan
    p_gain: float = math.nan
    tried: int = 1


def verdict(evidence: Evidence, smallest_gain: float = SMALLEST_GAIN) -> Verdict:
    """The verdict on a single boost."""
    return verdicts([evidence], smallest_gain)[0]


def verdicts(family: Sequence[Evidence], smallest_gain: float = SMALLEST_GAIN) -> list[Verdict]:
    """The verdict on each of a family, which are all that one report answers one question with.

    Established is what has a 95 % interval that leaves 0 out and a p value that survives Holm's correction within the
    family, at .05. In this order: fewer than FEWEST clusters, or no interval, is too little data; an established loss
    hurts; what is established as a gain, beyond score and length and over reassigned attributions, and at least
    smallest_gain as such and beyond, helps; an established gain of at least smallest_gain is explained by length or
    score; of the others an interval of more than +-WIDE is too little data, and no gain is shown otherwise.
    """
    p_helps = holm([evidence.p_helps for evidence in family]).tolist()
    p_gain = holm([evidence.gain.p for evidence in family]).tolist()
    return [
        _verdict(evidence, helps, gain, len(family), smallest_gain)
        for evidence, helps, gain in zip(family, p_helps, p_gain, strict=True)
    ]


def _verdict(found: Evidence, p_helps: float, p_gain: float, tried: int, smallest: float) -> Verdict:
    gain, beyond, over = found.gain, found.beyond, found.over_reassigned
    alpha = 1 - CONFIDENCE

    def judged(label: Label, because: str) -> Verdict:
        if FEWEST <= found.units < FEW:
            because += f"; it rests on {counted(found.units, found.unit)} only"
        return Verdict(label, because, p_helps, p_gain, tried)

    shown = f"gain {gain}"
    corrected = f"does not survive the correction for {tried} verdicts (p {number(p_gain, '.3f')} by Holm)"
    if math.isnan(gain.value):
        return judged(TOO_LITTLE, "no gain is defined on these segments")
    if found.units < FEWEST:
        return judged(TOO_LITTLE, f"{shown}: {counted(found.units, found.unit)}, a verdict needs {FEWEST}")
    if math.isnan(gain.low):
        return judged(TOO_LITTLE, f"{shown}: its interval is undefined")
    if gain.high < 0 and p_gain <= alpha:
        return judged(HURTS, shown)
    if gain.established and p_gain <= alpha:
        if gain.value < smallest:
            return judged(NO_GAIN, f"{shown}: no gain worth having, which begins at {smallest:g}")
        shown += f", beyond score and length {beyond}"
        shown += "" if over is None else f", over attributions of other segments {over}"
        if not (beyond.established and (over is None or over.established)):
            return judged(EXPLAINED, shown)
        if not p_helps <= alpha:  # undefined is not established
            said = f"not after the correction for {tried} verdicts (p {number(p_helps, '.3f')} by Holm)"
            return judged(EXPLAINED, f"{shown}: {said}")
        if beyond.value < smallest:
            return judged(EXPLAINED, f"{shown}: beyond score and length it is not worth having (below {smallest:g})")
        within = found.within_source
        if math.isfinite(within.value) and not within.established:
            shown += f"; not shown among the translations of one source: {within}"
        return judged(HELPS, shown)
    if (gain.high - gain.low) / 2 > WIDE:
        return judged(TOO_LITTLE, f"{shown}: an interval wider than +-{WIDE:g}")
    return judged(NO_GAIN, f"{shown}, {corrected}" if gain.established or gain.high < 0 else shown)


# What a column of verdicts is: the gain of a boost over this, at the point of the verdict.
MEASURED = {
    "gain": METRIC,
    "beyond": SCORE_AND_LENGTH,
    "over_reassigned": REASSIGNED,
    "within_source": WITHIN,
    "over_metrics": METRICS,
}
BESIDE = {f"{name}_gain": name for name in (LENGTH, CURVE, COMBINED)}  # what these gain over the metric
COMBINED_BEYOND = "combined_beyond"  # what the average of metrics gains beyond score and length
ESTIMATES = (*MEASURED, *BESIDE, COMBINED_BEYOND)
DISTANCE = {CROSS_FITTED: "other folds", ELSEWHERE: "other language pairs", OTHER_DATASETS: "other data sets"}

NOT_JUDGED = "none"  # in place of a point
SEGMENTS = "cluster of segments"
UNJUDGED = Verdict(TOO_LITTLE, "")


VerdictRow = make_dataclass(
    "VerdictRow",
    [
        *((name, str) for name in ("dataset", "language_pair", "metric", "explainer")),
        *((name, str) for name in ("boost", "point", "verdict", "because")),
        *((f"{name}{end}", float) for name in ESTIMATES for end in ("", "_low", "_high")),
        *((name, float) for name in ("reassigned_gain", "best_gain", "p_gain_holm", "p_helps_holm")),
        *((name, int) for name in ("tried", "pairs", "n", "clusters")),
    ],
)
VerdictRow.__doc__ = "One row of verdicts.parquet: a verdict (`Judged`) with the numbers behind it, intervals of 95 %."


@dataclass(frozen=True)
class Judged:
    """A verdict on a boost at a point, on a scope: the names of data set and language pair ("all" for several).

    estimates: by name of ESTIMATES; NaN where not known. best: the gain of what is chosen on the segments it is judged
    on.
    """

    dataset: str
    language_pair: str
    boost: str
    point: str
    pairs: int
    n: int
    clusters: int
    estimates: Mapping[str, Estimate]
    best: float = math.nan
    verdict: Verdict = UNJUDGED

    @property
    def question(self) -> tuple[str, str]:
        """What is corrected together: verdicts on pairs, data sets or all of them, at points of one kind."""
        level = "pair" if self.pairs == 1 else "all" if self.dataset == ALL else "data set"
        return level, self.point if self.point in (PUBLISHED, OTHER_DATASETS) else "declared"

    @property
    def evidence(self) -> Evidence:
        """What the verdict rests on."""
        unit, units = (SEGMENTS, self.clusters) if self.pairs == 1 else ("language pair", self.pairs)
        names = ("gain", "beyond", "over_reassigned", "within_source")
        return Evidence(**{name: self.estimates[name] for name in names}, units=units, unit=unit)

    def row(self, names: Sequence[str]) -> Any:
        """The row of this verdict; names: of metric and explainer."""
        given = self.verdict
        intervals = [end for of in self.estimates.values() for end in (of.value, of.low, of.high)]
        reassigned = self.estimates["gain"].value - self.estimates["over_reassigned"].value
        numbers = (*intervals, reassigned, self.best, given.p_gain, given.p_helps)
        said = (self.boost, self.point, given.label, given.because)
        sizes = (given.tried, self.pairs, self.n, self.clusters)
        return VerdictRow(self.dataset, self.language_pair, *names, *said, *numbers, *sizes)

    def how(self) -> str:
        """On which segments it rests, in words."""
        over, interval = f"{self.dataset} {self.language_pair}", "bootstrap of clusters"
        if self.pairs > 1:
            over = f"the mean over {self.pairs} language pairs"
            interval = f"the wider of {interval_kind(self.pairs)} over language pairs and the bootstrap of clusters"
        return f"{over}, each chosen on {DISTANCE.get(self.point, self.point)}; interval: {interval}"


def asked(lines: Iterable[Line], boosts: Iterable[str]) -> Iterator[Judged]:
    """What verdicts are asked for, from the lines of one scope, or of one metric and explainer on several scopes.

    The declared point of a boost is where other language pairs chose, if all pairs of the scope have it, else where
    other folds did, else a recipe. A mean over 2 or 3 language pairs has no verdict: each pair has its own.
    """
    scopes: dict[tuple[str, str], dict[Key, Line]] = {}
    for line in lines:
        scopes.setdefault((line.dataset, line.language_pair), {})[line.key] = line
    for scope, found in scopes.items():
        for boost in boosts:
            known = {
                point: line for (name, against, point), line in found.items() if (name, against) == (boost, METRIC)
            }
            pairs = max((line.pairs for line in known.values()), default=0)
            everywhere = ELSEWHERE in known and known[ELSEWHERE].pairs == pairs
            declared = ELSEWHERE if everywhere else FIXED if FIXED in known else CROSS_FITTED
            for point in (declared, PUBLISHED, OTHER_DATASETS):
                if point not in known or 1 < known[point].pairs < FEWEST:
                    continue
                line, beside = known[point], declared if point == PUBLISHED else point
                keys = {column: (boost, against, point) for column, against in MEASURED.items()}
                keys |= {column: (other, METRIC, beside) for column, other in BESIDE.items()}
                keys[COMBINED_BEYOND] = COMBINED, SCORE_AND_LENGTH, beside
                estimates = {column: found[key].estimate if key in found else NOTHING for column, key in keys.items()}
                yield Judged(*scope, boost, point, line.pairs, line.n, line.clusters, estimates)


def judged(family: Sequence[Judged], smallest_gain: float) -> list[Judged]:
    """With their verdicts, each corrected over all that answer the same question."""
    questions: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(family):
        questions.setdefault(one.question, []).append(place)
    found = list(family)
    for places in questions.values():
        given = verdicts([family[place].evidence for place in places], smallest_gain)
        for place, verdict in zip(places, given, strict=True):
            found[place] = replace(family[place], verdict=verdict)
    return found


def not_judged(dataset: str, language_pair: str, boost: str, reason: str) -> Judged:
    """In place of a verdict on a boost that cannot be made."""
    nothing = dict.fromkeys(ESTIMATES, Estimate())
    verdict = Verdict(TOO_LITTLE, f"not judged: {reason}")
    return Judged(dataset, language_pair, boost, NOT_JUDGED, 1, 0, 0, nothing, verdict=verdict)


def evidence_on(
    kind: Kind, rated: Rated, scores: Floats, reassigned: Sequence[Floats], resamples: int, seed: int
) -> Evidence:
    """The evidence for float64[n] scores that were not chosen on these segments, over the metric's.

    reassigned: scores of the same boost made of attributions of other segments, one array for each draw; none where no
    attributions are known.
    """
    held = {("", ""): [Held(values, (), "") for values in (scores, *reassigned)]}
    lines = lines_of(("",) * len(NAMES), rated, contrasts(kind, rated, held), held, resamples, seed)
    found = {line.against: line for line in lines}
    of = {name: found[against].estimate if against in found else NOTHING for name, against in MEASURED.items()}
    return Evidence(
        gain=of["gain"],
        beyond=of["beyond"],
        over_reassigned=of["over_reassigned"] if reassigned else None,
        units=found[METRIC].clusters,
        unit=SEGMENTS,
        within_source=of["within_source"],
    )
