"""What is established of a gain: it helps, its cause is not shown, something else explains it, or there is none.

A sweep gives a verdict for each scope and boost at its declared point, and further ones at published points and other
data sets: each question is a family of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import counted, p_in_words
from bmx_grid.evaluations.base import NOTHING, Estimate, SettingRow
from bmx_grid.evaluations.boost_evidence import (
    ALL,
    COMBINED,
    CROSS_FITTED,
    CURVE,
    ELSEWHERE,
    FIXED,
    LENGTH,
    METRICS,
    OTHER_DATASETS,
    PUBLISHED,
    SCORE_AND_TEXT,
    WITHIN,
    BoostRow,
    contrasts,
    lines_of,
)
from bmx_grid.evaluations.gain_estimates import METRIC, Key
from bmx_grid.evaluations.held_out import REASSIGNED, SHUFFLED, Rated
from bmx_grid.measures.correlation import TIE, Kind
from bmx_grid.measures.multiple_tests import holm
from bmx_grid.measures.resampling import CONFIDENCE, interval_kind

Label = Literal[
    "helps",
    "helps, but adds nothing to other metrics",
    "gain, cause not shown",
    "explained by score, length or text",
    "explained by any attributions",
    "no gain shown",
    "too little data",
    "hurts",
]
HELPS: Label = "helps"
ADDS_NOTHING: Label = "helps, but adds nothing to other metrics"
CAUSE_NOT_SHOWN: Label = "gain, cause not shown"
EXPLAINED: Label = "explained by score, length or text"
EXPLAINED_BY_ANY: Label = "explained by any attributions"
NO_GAIN: Label = "no gain shown"
TOO_LITTLE: Label = "too little data"
HURTS: Label = "hurts"
LEGEND = {
    HELPS: "an established gain, also beyond score, length and text, and over attributions of other segments",
    ADDS_NOTHING: "the same, but not over the other metrics of this sweep together",
    CAUSE_NOT_SHOWN: "an established gain that may come from the explanation or from something else",
    EXPLAINED: "an established gain of which too little to matter is left beyond score, length and text",
    EXPLAINED_BY_ANY: "an established gain that attributions of other segments, or of a shuffled model, give as well",
    NO_GAIN: "no gain or loss is established after correction, or the gain is too small to matter",
    TOO_LITTLE: "too few segments, or too wide an interval",
    HURTS: "the loss is established",
}
# Clusters of segments, or language pairs where several are averaged: fewer never give a positive verdict.
FEWEST_UNITS = 4
FEW = 6  # a verdict on fewer says so
WIDE = 0.05  # half of an interval: a wider one does not tell a large gain from a large loss
SMALLEST_GAIN = 0.005

# The gain of a boost over this, at the point of the verdict.
MEASURED = {
    "gain": METRIC,
    "beyond": SCORE_AND_TEXT,
    "over_reassigned": REASSIGNED,
    "over_shuffled": SHUFFLED,
    "within_source": WITHIN,
    "over_metrics": METRICS,
}
# What other candidates gain, over this.
BESIDE = {
    "length_gain": (LENGTH, METRIC),
    "curve_gain": (CURVE, METRIC),
    "combined_gain": (COMBINED, METRIC),
    "combined_beyond": (COMBINED, SCORE_AND_TEXT),
}
ESTIMATES = (*MEASURED, *BESIDE)
DISTANCE = {CROSS_FITTED: "other folds", ELSEWHERE: "other language pairs", OTHER_DATASETS: "other data sets"}
NOT_JUDGED = "none"  # in place of a point


@dataclass(frozen=True)
class Verdict(SettingRow):
    """One row of verdicts.parquet: a verdict, and what it rests on, on segments that the boost was not chosen on.

    A published point may have been chosen on them, by its paper.
    dataset, language_pair: "all" for several. human: the human score that judges, "" for the primary one, which alone
    chooses.
    because: the numbers behind it in a sentence. gain: of the boost over the metric alone. beyond: what the boost adds
    to whatever score and lengths jointly, the texts, and the levels of named systems, raters and domains tell of the
    judged segments (`measures.nuisance`). over_reassigned: the gain minus that of the same boost made of attributions
    of other segments, `reassigned_gain`; None where no attributions are known.
    over_shuffled: the same of attributions of a model with shuffled weights, where the sweep has them.
    within_source: the gain among the outputs for one source (`measures.pairwise`), where most sources have several.
    over_metrics: as beyond, with all other metrics of the sweep, which are `metrics`. named: of systems, documents,
    raters and domains what the data name.
    length_gain, curve_gain, combined_gain: of what stands beside the boosts. best_gain: of what is chosen on the
    segments it is judged on. p_gain_holm (two-sided: of a gain, or of a loss), p_helps_holm: corrected for the `tried`
    verdicts of a family. Estimates are NaN where not known.
    """

    dataset: str = ""
    language_pair: str = ""
    metric: str = ""
    explainer: str = ""
    boost: str = ""
    point: str = ""
    verdict: Label = TOO_LITTLE
    because: str = ""
    gain: Estimate = NOTHING
    beyond: Estimate = NOTHING
    over_reassigned: Estimate | None = NOTHING
    over_shuffled: Estimate = NOTHING
    within_source: Estimate = NOTHING
    over_metrics: Estimate = NOTHING
    length_gain: Estimate = NOTHING
    curve_gain: Estimate = NOTHING
    combined_gain: Estimate = NOTHING
    combined_beyond: Estimate = NOTHING
    metrics: str = ""
    named: str = ""
    reassigned_gain: float = math.nan
    best_gain: float = math.nan
    p_gain_holm: float = math.nan
    p_helps_holm: float = math.nan
    tried: int = 1
    pairs: int = 1
    n: int = 0
    clusters: int = 0
    human: str = ""

    @property
    def label(self) -> str:
        """The verdict, one of LEGEND."""
        return self.verdict

    @property
    def family(self) -> tuple[str, str]:
        """What is corrected together: verdicts on pairs, data sets or all of them, at points of one kind."""
        level = "pair"
        if self.pairs != 1:
            level = "all" if self.dataset == ALL else "data set"
        # One question, "does it help", is asked once of each boost, wherever it was chosen.
        question = self.point if self.point in (PUBLISHED, OTHER_DATASETS) else "declared"
        return level, question

    @property
    def units(self) -> tuple[int, str]:
        """How many intervals rest on, and of what."""
        return (self.clusters, "cluster") if self.pairs == 1 else (self.pairs, "language pair")

    @property
    def p_helps(self) -> float:
        """The p value of "not all of them are above 0": 1 where one is not, NaN where one is undefined.

        The gain itself, beyond score, length and text, over reassigned attributions, and over those of a shuffled model
        and within sources where these are known.
        """
        conditions = [self.gain, self.beyond]
        if self.over_reassigned is not None:
            conditions.append(self.over_reassigned)
        for further in (self.over_shuffled, self.within_source):
            if not math.isnan(further.value):
                conditions.append(further)
        if any(math.isnan(condition.p) for condition in conditions):
            return math.nan
        # Written so that an undefined gain is not above 0.
        if not min(condition.value for condition in conditions) > TIE:
            return 1.0
        # All must hold, each at the level of one test: the largest p value is that of the conjunction.
        return max(condition.p for condition in conditions)

    def how(self) -> str:
        """On which segments it rests, in words."""
        over = f"{self.dataset} {self.language_pair}"
        interval = "bootstrap of clusters"
        if self.pairs > 1:
            over = f"the mean over {self.pairs} language pairs"
            interval = f"the wider of {interval_kind(self.pairs)} over language pairs and the bootstrap of clusters"
        chosen_on = DISTANCE.get(self.point, self.point)
        return f"{over}, each chosen on {chosen_on}; interval: {interval}"


def judged(evidence: Sequence[Verdict], smallest_gain: float = SMALLEST_GAIN) -> list[Verdict]:
    """The verdicts on some evidence, each corrected over the family of all that answer the same question.

    Established is what has a 95 % interval that leaves 0 out and a p value that survives Holm's correction within the
    family, at .05. In this order: fewer than FEWEST clusters, or no interval, is too little data; an established loss
    hurts. An established gain of at least smallest_gain helps where all conditions are established (`Verdict.p_helps`)
    and at least smallest_gain is left beyond score, length and text; unless other metrics of the sweep are known and
    nothing is established over them. One that does not help is explained where an interval lies below smallest_gain
    (the upper one of two one-sided tests of equivalence: a smaller rest needs no explanation either), else its cause is
    not shown. Of all others an interval of more than +-WIDE is too little data, and no gain is shown otherwise.
    """
    import pandas as pd

    if not evidence:
        return []
    p_helps = [row.p_helps for row in evidence]
    p_gain = [row.gain.p for row in evidence]
    families = [" ".join(row.family) for row in evidence]
    # Holm's correction within each question, of gain and of "helps" apart.
    by_family = pd.DataFrame({"helps": p_helps, "gain": p_gain}).groupby(families)
    corrected = by_family.transform(holm)
    sizes = by_family["gain"].transform("size")
    verdicts = []
    for row, helps, gain, size in zip(evidence, corrected["helps"], corrected["gain"], sizes, strict=True):
        row = replace(row, p_helps_holm=helps, p_gain_holm=gain, tried=int(size))
        label, because = _labelled(row, smallest_gain)
        # So few make a verdict, and a reader should know that they do.
        if FEWEST_UNITS <= row.units[0] < FEW:
            because += f"; it rests on {counted(*row.units)} only"
        verdicts.append(replace(row, verdict=label, because=because))
    return verdicts


def _labelled(row: Verdict, smallest: float) -> tuple[Label, str]:
    """The label, and why; the p values of the row are corrected."""
    gain = row.gain
    alpha = 1 - CONFIDENCE
    shown = f"gain {gain}"
    if math.isnan(gain.value):
        return TOO_LITTLE, "no gain is defined on these segments"
    if row.units[0] < FEWEST_UNITS:
        units = counted(*row.units)
        return TOO_LITTLE, f"{shown}: {units}, a verdict needs {FEWEST_UNITS}"
    if math.isnan(gain.low):
        return TOO_LITTLE, f"{shown}: its interval is undefined"
    corrected = row.p_gain_holm <= alpha
    # A loss needs no cause to be believed.
    if gain.high < 0 and corrected:
        return HURTS, shown
    if gain.established and corrected:
        if gain.value < smallest:
            return NO_GAIN, f"{shown}: no gain worth having, which begins at {smallest:g}"
        return _cause(row, smallest)
    if (gain.high - gain.low) / 2 > WIDE:
        return TOO_LITTLE, f"{shown}: an interval wider than +-{WIDE:g}"
    if gain.established or gain.high < 0:
        looks = "a gain" if gain.established else "a loss"
        verdicts = counted(row.tried, "verdict")
        p = f"{p_in_words(row.p_gain_holm)} by Holm"
        shown += f": looks like {looks}, but not after the correction for {verdicts} ({p})"
    return NO_GAIN, shown


def _cause(row: Verdict, smallest: float) -> tuple[Label, str]:
    """What is known of where an established gain comes from."""
    beyond = row.beyond
    over = row.over_reassigned
    shuffled = row.over_shuffled
    within = row.within_source
    shown = f"gain {row.gain}, beyond score, length and text {beyond}"
    if over is not None:
        shown += f", over attributions of other segments {over}"
    if math.isfinite(shuffled.value):
        shown += f", over those of the model with shuffled weights {shuffled}"
    if beyond.high < smallest:
        return EXPLAINED, f"{shown}: beyond score, length and text less than {smallest:g} is left"
    if over is not None and over.high < smallest:
        return EXPLAINED_BY_ANY, f"{shown}: attributions of other segments gain as much, within {smallest:g}"
    if shuffled.high < smallest:
        return EXPLAINED_BY_ANY, f"{shown}: the model with shuffled weights gains as much, within {smallest:g}"
    missing = []
    if not beyond.established:
        missing.append("beyond score, length and text")
    if over is not None and not over.established:
        missing.append("over attributions of other segments")
    if math.isfinite(shuffled.value) and not shuffled.established:
        missing.append("over those of the model with shuffled weights")
    if math.isfinite(within.value) and not within.established:
        missing.append(f"among the outputs for one source ({within})")
    if missing:
        return CAUSE_NOT_SHOWN, f"{shown}: not established {' and '.join(missing)}"
    if not row.p_helps_holm <= 1 - CONFIDENCE:  # undefined is not established
        verdicts = counted(row.tried, "verdict")
        p = f"{p_in_words(row.p_helps_holm)} by Holm"
        return CAUSE_NOT_SHOWN, f"{shown}: not after the correction for {verdicts} ({p})"
    if beyond.value < smallest:
        rest = f"what is left beyond score, length and text is not worth having (below {smallest:g})"
        return CAUSE_NOT_SHOWN, f"{shown}: {rest}"
    if math.isfinite(row.over_metrics.value) and not row.over_metrics.established:
        others = f"over {row.metrics}, in this sweep, {row.over_metrics}"
        return ADDS_NOTHING, f"{shown}; {others}: it adds nothing that is established"
    return HELPS, shown


def asked(lines: Iterable[BoostRow], boosts: Iterable[str]) -> Iterator[Verdict]:
    """The evidence that verdicts are asked for, from the lines of one metric and explainer on one scope or several.

    The declared point of a boost is where other language pairs chose, if all pairs of the scope have it, else where
    other folds did, else a recipe. A mean over 2 or 3 language pairs has no verdict: each pair has its own.
    """
    scopes: dict[Any, dict[Key, BoostRow]] = {}
    for line in lines:
        scope = (line.dataset, line.language_pair, line.human)
        scopes.setdefault(scope, {})[line.key] = line
    for by_key in scopes.values():
        for boost in boosts:
            gains: dict[str, BoostRow] = {}  # over the metric, by point
            for line in by_key.values():
                if line.boost == boost and line.against == METRIC:
                    gains[line.point] = line
            most_pairs = max((line.pairs for line in gains.values()), default=0)
            declared = FIXED if FIXED in gains else CROSS_FITTED
            # A point that some pairs lack is not declared for all of them.
            if ELSEWHERE in gains and gains[ELSEWHERE].pairs == most_pairs:
                declared = ELSEWHERE
            for point in (declared, PUBLISHED, OTHER_DATASETS):
                if point in gains and not 1 < gains[point].pairs < FEWEST_UNITS:
                    # Nothing else has a published point: length and curve beside it are those of the declared one.
                    beside = declared if point == PUBLISHED else point
                    yield _evidence(gains[point], beside, by_key)


def _evidence(gain: BoostRow, beside: str, by_key: Mapping[Key, BoostRow]) -> Verdict:
    """What a verdict on a gain over the metric rests on, from all rows of its scope.

    beside: the point at which other candidates stand beside the boost.
    """
    keys: dict[str, Key] = {}
    for column, against in MEASURED.items():
        keys[column] = (gain.boost, against, gain.point, gain.human)
    for column, (candidate, against) in BESIDE.items():
        keys[column] = (candidate, against, beside, gain.human)
    estimates: dict[str, Any] = {}
    for column, key in keys.items():
        estimates[column] = NOTHING
        if key in by_key:
            estimates[column] = by_key[key].gain
    return Verdict(
        dataset=gain.dataset,
        language_pair=gain.language_pair,
        metric=gain.metric,
        explainer=gain.explainer,
        boost=gain.boost,
        point=gain.point,
        **estimates,
        reassigned_gain=estimates["gain"].value - estimates["over_reassigned"].value,
        pairs=gain.pairs,
        n=gain.n,
        clusters=gain.clusters,
        human=gain.human,
    )


def evidence_on(
    kind: Kind, rated: Rated, scores: Floats, reassigned: Sequence[Floats], resamples: int, seed: int
) -> Verdict:
    """The evidence for float64[n] scores that were not chosen on these segments, over the metric's, to be `judged`.

    reassigned: scores of the same boost made of attributions of other segments, one array for each draw; none where no
    attributions are known.
    """
    held_out = {("", CROSS_FITTED): [scores, *reassigned]}
    attributions = [REASSIGNED] * len(reassigned)
    gains = contrasts(kind, rated, held_out, attributions)
    nameless = ("", "", "", "")
    lines = lines_of(nameless, rated, gains, resamples, seed)
    (evidence,) = asked(lines, [""])
    return evidence if reassigned else replace(evidence, over_reassigned=None)
