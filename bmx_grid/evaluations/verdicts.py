"""Verdicts on gains: one per boost, from its gain and its partial correlation.

A sweep gives a verdict for each scope and boost at its declared point, and further ones at published points and other
data sets: each question is a family of its own.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import p_in_words, pluralize
from bmx_grid.evaluations.base import NOTHING, Estimate, ScoredSetting, SettingRow
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
    RESIDUALS,
    SCORE_AND_TEXT,
    BoostRow,
    KeptCorrelations,
    Key,
    build_contrasts,
    contrast_rows,
    original_of,
)
from bmx_grid.evaluations.held_out import RatedSegments, has_groups
from bmx_grid.measures.correlation import TIE, Coefficient
from bmx_grid.measures.multiple_tests import holm
from bmx_grid.measures.partial_correlation import FEWEST_OF_PARTIAL
from bmx_grid.measures.resampling import CONFIDENCE, interval_kind

Label = Literal["helps", "informative", "redundant", "open", "confounded", "hurts", "no gain shown", "too little data"]
HELPS: Label = "helps"
INFORMATIVE: Label = "informative"
REDUNDANT: Label = "redundant"
OPEN: Label = "open"
CONFOUNDED: Label = "confounded"
HURTS: Label = "hurts"
NO_GAIN: Label = "no gain shown"
TOO_LITTLE: Label = "too little data"
LEGEND = {
    HELPS: "significant gain on held-out segments, and significant beyond score, length, text and named groups",
    INFORMATIVE: "significant beyond score, length, text and named groups; the gain itself is not significant yet",
    REDUNDANT: "helps, but adds nothing significant to the other metrics of this sweep",
    OPEN: "significant gain; whether score, length, text or groups explain it is not decided",
    CONFOUNDED: "significant gain; too little of it can be left after controlling for score, length, text and groups",
    HURTS: "significant loss",
    NO_GAIN: "not significant after Holm's correction, or too small to matter",
    TOO_LITTLE: "too few clusters, or too wide an interval",
}


def legend(labels: Container[str]) -> list[str]:
    """Explain the labels that occur, one line each, in the order of LEGEND; every output shows these lines."""
    return [f"{label}: {sentence}." for label, sentence in LEGEND.items() if label in labels]


# Clusters of segments, or language pairs if several are averaged: fewer never give a positive verdict.
FEWEST_UNITS = 4
FEW = 6  # a verdict on fewer has a note
WIDE = 0.05  # half-width of an interval: a wider one covers both a large gain and a large loss
SMALLEST_GAIN = 0.005

# Names in place of the metric, in the rows of a boost at the point of the verdict.
MEASURED = {"gain": METRIC, "partial_r": SCORE_AND_TEXT, "over_metrics": METRICS}
# In the rows of other candidates.
BESIDE = {
    "length_gain": (LENGTH, METRIC),
    "curve_gain": (CURVE, METRIC),
    "combined_gain": (COMBINED, METRIC),
    "combined_partial_r": (COMBINED, SCORE_AND_TEXT),
}
DISTANCE = {CROSS_FITTED: "other folds", ELSEWHERE: "other language pairs", OTHER_DATASETS: "other data sets"}
NOT_JUDGED = "none"  # in place of a point


@dataclass(frozen=True)
class Verdict(SettingRow):
    """A verdict on a boost and its numbers, on segments that did not choose the boost: one row of verdicts.parquet.

    A published point may have been chosen on these segments, by its paper. Estimates are NaN if unknown.

    Attributes:
        dataset: Data set; "all" for several.
        language_pair: Language pair; "all" for several.
        metric: Metric that is boosted.
        explainer: Explainer whose attributions boost it.
        boost: Kind of boost.
        point: Point of the boost: chosen on held-out data, or published.
        verdict: Verdict, such as "helps" or "no gain shown".
        because: Numbers behind the verdict, in a sentence.
        gain: Gain of the boost over the unboosted metric.
        partial_r: Partial correlation of the boost with the human scores, controlling for score, lengths, texts and
            named groups; within sources or documents if they have several segments each.
        left: Highest gain that is left after these controls: at the upper end of the interval of partial_r, or of the
            correlation of the residuals that it is extrapolated from, if that is higher.
        over_metrics: As partial_r, controlling also for the other metrics of the sweep.
        length_gain: Gain of the placebo `length`, which sees only text lengths.
        curve_gain: Gain of the placebo `curve`, a curve of the score.
        combined_gain: Gain of the placebo `combined`, the average of up to three metrics.
        combined_partial_r: As partial_r, for `combined`.
        metrics: Other metrics of the sweep.
        named: Groups that the data name: systems, documents, raters, domains.
        reassigned_gain: Mean gain of boosts from attributions of other segments.
        best_gain: Optimistic gain: chosen on the segments that judge it.
        p_gain_holm: Two-sided p-value of the gain, corrected for `tried` verdicts.
        p_partial_holm: Two-sided p-value of partial_r, corrected for `tried` verdicts.
        tried: Number of verdicts of the family, which the correction is for.
        pairs: Number of language pairs.
        n: Number of segments.
        clusters: Number of clusters of segments.
        human: Human score that judges; "" for the primary one, which chooses.
        baseline: Correlation of the unboosted metric on the same segments.
    """

    LATER = ("baseline",)

    dataset: str = ""
    language_pair: str = ""
    metric: str = ""
    explainer: str = ""
    boost: str = ""
    point: str = ""
    verdict: Label = TOO_LITTLE
    because: str = ""
    gain: Estimate = NOTHING
    partial_r: Estimate = NOTHING
    left: float = math.nan
    over_metrics: Estimate = NOTHING
    length_gain: Estimate = NOTHING
    curve_gain: Estimate = NOTHING
    combined_gain: Estimate = NOTHING
    combined_partial_r: Estimate = NOTHING
    metrics: str = ""
    named: str = ""
    reassigned_gain: float = math.nan
    best_gain: float = math.nan
    p_gain_holm: float = math.nan
    p_partial_holm: float = math.nan
    tried: int = 1
    pairs: int = 1
    n: int = 0
    clusters: int = 0
    human: str = ""
    baseline: float = math.nan

    @property
    def label(self) -> str:
        """The verdict, one of LEGEND."""
        return self.verdict

    @property
    def family(self) -> tuple[str, str]:
        """The family of tests for the correction: verdicts on pairs, on data sets or on all, at points of one kind."""
        level = "pair"
        if self.pairs != 1:
            level = "all" if self.dataset == ALL else "data set"
        # "Does it help" is one question per boost, at any origin of its choice.
        question = self.point if self.point in (PUBLISHED, OTHER_DATASETS) else "declared"
        return level, question

    @property
    def units(self) -> tuple[int, str]:
        """How many intervals rest on, and of what."""
        return (self.clusters, "cluster") if self.pairs == 1 else (self.pairs, "language pair")

    def how(self) -> str:
        """The segments of the verdict, in words."""
        over = f"{self.dataset} {self.language_pair}"
        interval = "bootstrap of clusters"
        if self.pairs > 1:
            over = f"the mean over {self.pairs} language pairs"
            interval = f"the wider of {interval_kind(self.pairs)} over language pairs and the bootstrap of clusters"
        chosen_on = DISTANCE.get(self.point, self.point)
        return f"{over}, each chosen on {chosen_on}; interval: {interval}"


def label_gains(evidence: Sequence[Verdict], smallest_gain: float = SMALLEST_GAIN) -> list[Verdict]:
    """The verdicts on some evidence, each corrected over the family of all that answer the same question.

    Significant is a gain or a partial correlation whose 95 % interval lies above 0 and whose p value is at most .05
    after Holm's correction within the family. The first that applies: too little data without a gain, an interval or
    FEWEST_UNITS; hurts, with a significant loss; a significant gain below smallest_gain is not one; a significant gain
    is confounded if less than smallest_gain is left, else helps (or is redundant) with a significant partial
    correlation, else is open; a gain of smallest_gain that is not significant is informative with a significant partial
    correlation and smallest_gain left; too little data if the interval of the gain is wider than +-WIDE; else no gain
    is shown.
    """
    import pandas as pd

    if not evidence:
        return []
    p_partial = [row.partial_r.p for row in evidence]
    p_gain = [row.gain.p for row in evidence]
    families = [" ".join(row.family) for row in evidence]
    # Holm's correction within each question, of gain and of partial correlation apart.
    by_family = pd.DataFrame({"partial": p_partial, "gain": p_gain}).groupby(families)
    corrected = by_family.transform(holm)
    sizes = by_family["gain"].transform("size")
    verdicts = []
    for row, partial, gain, size in zip(evidence, corrected["partial"], corrected["gain"], sizes, strict=True):
        row = replace(row, p_partial_holm=partial, p_gain_holm=gain, tried=int(size))
        label, because = _choose_label(row, smallest_gain)
        # So few make a verdict, and a reader should know that they do.
        if FEWEST_UNITS <= row.units[0] < FEW:
            because += f"; it rests on {pluralize(*row.units)} only"
        verdicts.append(replace(row, verdict=label, because=because))
    return verdicts


def _choose_label(row: Verdict, smallest: float) -> tuple[Label, str]:
    """The label, and why; the p values of the row are corrected."""
    gain = row.gain
    alpha = 1 - CONFIDENCE
    shown = f"gain {gain}"
    if math.isnan(gain.value):
        return TOO_LITTLE, "no gain is defined on these segments"
    if row.units[0] < FEWEST_UNITS:
        units = pluralize(*row.units)
        return TOO_LITTLE, f"{shown}: {units}, a verdict needs {FEWEST_UNITS}"
    if math.isnan(gain.low):
        return TOO_LITTLE, f"{shown}: its interval is undefined"
    corrected = row.p_gain_holm <= alpha
    # A loss needs no partial correlation.
    if gain.high < 0 and corrected:
        return HURTS, shown
    # Undefined is not significant. In large data an effect that is worth nothing is significant.
    adds = row.partial_r.significant and row.partial_r.value > TIE and row.p_partial_holm <= alpha
    adds &= row.left >= smallest
    with_partial = f"{shown}, partial r {row.partial_r}"
    if gain.significant and corrected:
        if gain.value < smallest:
            return NO_GAIN, f"{shown}: no gain worth having, which begins at {smallest:g}"
        if row.left < smallest:
            return CONFOUNDED, f"{with_partial}: a gain of at most {row.left:.4f} is left"
        if not adds:
            return OPEN, f"{with_partial}{_why_open(row)}"
        if math.isfinite(row.over_metrics.value) and not row.over_metrics.significant:
            return REDUNDANT, f"{with_partial}; given {row.metrics} as well {row.over_metrics}"
        return HELPS, with_partial
    if adds and gain.value >= smallest:
        return INFORMATIVE, f"{with_partial}{_correction(gain, row.p_gain_holm, row.tried)}"
    if (gain.high - gain.low) / 2 > WIDE:
        return TOO_LITTLE, f"{shown}: an interval wider than +-{WIDE:g}"
    return NO_GAIN, f"{shown}{_correction(gain, row.p_gain_holm, row.tried)}"


def _why_open(row: Verdict) -> str:
    """Why a significant gain is neither confounded nor more than an effect of the controls."""
    if math.isnan(row.partial_r.value) and row.pairs == 1 and row.clusters < FEWEST_OF_PARTIAL:
        return f": it needs {FEWEST_OF_PARTIAL} clusters"
    if row.partial_r.significant:
        return _correction(row.partial_r, row.p_partial_holm, row.tried)
    return "" if math.isnan(row.left) else f": a gain of up to {row.left:.4f} may be left"


def _correction(estimate: Estimate, p: float, verdicts: int) -> str:
    """Why an estimate whose interval leaves 0 out is not significant; "" for others."""
    if not (estimate.significant or estimate.high < 0):
        return ""
    return f": not significant after the correction for {pluralize(verdicts, 'verdict')} ({p_in_words(p)} by Holm)"


def collect_evidence(lines: Iterable[BoostRow], boosts: Iterable[str]) -> Iterator[Verdict]:
    """The evidence that verdicts are requested, from the lines of one metric and explainer on one scope or several.

    The declared point of a boost is where other language pairs chose, if all pairs of the scope have it, else where
    other folds did, else a recipe. A mean over 2 or 3 language pairs has no verdict: each pair has its own.
    """
    scopes: dict[Any, dict[Key, BoostRow]] = {}
    for line in lines:
        scope = (line.dataset, line.language_pair, line.human)
        scopes.setdefault(scope, {})[line.key] = line
    for by_key in scopes.values():
        for boost in boosts:
            of_boost = [line for line in by_key.values() if line.boost == boost and line.against == METRIC]
            gains = {line.point: line for line in of_boost}
            most_pairs = max((line.pairs for line in gains.values()), default=0)
            declared = FIXED if FIXED in gains else CROSS_FITTED
            # A point is declared for the scope only if all pairs have it.
            if ELSEWHERE in gains and gains[ELSEWHERE].pairs == most_pairs:
                declared = ELSEWHERE
            for point in (declared, PUBLISHED, OTHER_DATASETS):
                if point in gains and not 1 < gains[point].pairs < FEWEST_UNITS:
                    # Only the boost has a published point: its placebos length and curve have the declared one.
                    beside = declared if point == PUBLISHED else point
                    yield _evidence(gains[point], beside, by_key)


def _evidence(gain: BoostRow, beside: str, by_key: Mapping[Key, BoostRow]) -> Verdict:
    """Collect the evidence for a verdict on a gain, from all rows of its scope.

    beside: the point of the placebos.
    """
    rows: dict[str, BoostRow | None] = {}
    for column, against in MEASURED.items():
        rows[column] = by_key.get((gain.boost, against, gain.point, gain.human))
    for column, (candidate, against) in BESIDE.items():
        rows[column] = by_key.get((candidate, against, beside, gain.human))
    estimates: dict[str, Any] = {column: NOTHING if row is None else row.gain for column, row in rows.items()}
    reassigned = []
    for row in by_key.values():
        # The rows of a scope are judged by one human score.
        if original_of(row.boost) == gain.boost and (row.against, row.point) == (METRIC, gain.point):
            reassigned.append(row.gain.value)
    partial = rows["partial_r"]
    highest = math.nan
    if partial is not None:
        of_residuals = by_key[gain.boost, RESIDUALS, gain.point, gain.human]
        # The extrapolated one leans low, that of residuals high.
        highest = max(partial.gain.high, of_residuals.gain.high)
    return Verdict(
        dataset=gain.dataset,
        language_pair=gain.language_pair,
        metric=gain.metric,
        explainer=gain.explainer,
        boost=gain.boost,
        point=gain.point,
        **estimates,
        left=math.nan if partial is None else _gain_left(highest, partial.explained),
        reassigned_gain=float(np.mean(reassigned)) if reassigned else math.nan,
        pairs=gain.pairs,
        n=gain.n,
        clusters=gain.clusters,
        human=gain.human,
        baseline=gain.baseline,
    )


def _gain_left(partial_r: float, explained: float) -> float:
    """The correlation that a score with this partial correlation adds to the best prediction without it.

    explained: R squared of that prediction. It becomes R^2 + r^2 (1 - R^2).
    """
    if math.isnan(partial_r) or math.isnan(explained):
        return math.nan
    without = min(max(explained, 0.0), 1.0)
    adds = min(max(partial_r, 0.0), 1.0) ** 2 * (1 - without)
    return math.sqrt(without + adds) - math.sqrt(without)


def evidence_on(
    kind: Coefficient,
    rated: RatedSegments,
    scores: Sequence[Floats],
    resamples: int,
    seed: int,
    *,
    has_lengths: bool = True,
    kept: KeptCorrelations | None = None,
) -> list[Verdict]:
    """The evidence for several float64[n] scores over the metric's, for `label_gains`.

    The scores were not chosen on these segments. The controls are learned once for all scores. has_lengths: else no
    partial correlation is computed, as one without lengths is not the one of its name. kept: filled with correlations
    of resamples, for further evidence on the same segments with the same seed.
    """
    names = [str(place) for place in range(len(scores))]
    held_out = {(name, CROSS_FITTED): column for name, column in zip(names, scores, strict=True)}
    not_judged = frozenset() if has_lengths else held_out.keys()
    gains = build_contrasts(kind, rated, held_out, seed, not_judged=not_judged, kept=kept)
    nameless = ("", "", "", "")
    found = collect_evidence(contrast_rows(nameless, rated, gains, resamples, seed), names)
    return [replace(evidence, boost="") for evidence in found]


def add_context(row: Verdict, settings: Sequence[ScoredSetting], best: Sequence[Mapping[str, float]]) -> Verdict:
    """Add to the evidence the named groups, the other metrics and the in-sample gain.

    named: the groups (systems, raters, domains, documents) in all data of the verdict, which are controlled for.
    best: for each setting the in-sample gain of each boost; empty if another human score judges than the one that
    chooses.
    """
    primary = settings[0].segments.judgements.primary
    levels = []
    gains = []
    metrics: set[str] = set()
    for setting, best_of_setting in zip(settings, best, strict=True):
        metrics.update(setting.others)
        dataset, language_pair = setting.pair
        if row.dataset not in (ALL, dataset) or row.language_pair not in (ALL, language_pair):
            continue
        documents = [segment.document or f"\0{number}" for number, segment in enumerate(setting.segments.segments)]
        groups = {**setting.segments.groups, "document": np.array(documents)}
        levels.append({kind for kind, names in groups.items() if has_groups(names)})
        if row.human in ("", primary) and row.boost in best_of_setting:
            gains.append(best_of_setting[row.boost])
    return replace(
        row,
        named=", ".join(sorted(set.intersection(*levels))),
        # Metrics are named only if a gain over them is known.
        metrics=", ".join(sorted(metrics)) if math.isfinite(row.over_metrics.value) else "",
        # NumPy warns of the mean of nothing.
        best_gain=float(np.mean(gains)) if gains else math.nan,
    )
