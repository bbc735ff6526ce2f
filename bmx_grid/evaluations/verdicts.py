"""What is established of a gain: it helps, length or score explains it, none is shown, it hurts, or too little data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bmx_grid.evaluations.intervals import CONFIDENCE, Estimate
from bmx_grid.measures.multiplicity import holm
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
    NO_GAIN: "the gain is not established after correction, or too small to matter",
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
