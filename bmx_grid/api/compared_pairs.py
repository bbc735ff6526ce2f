"""The verdict on each pair of compared metrics: is the better one's lead shown, beyond score, length and text?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.api.compared import MOST_JUDGED, SHOWN_ESTIMATES, Grouping, Level
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.evaluations.base import NOTHING, Finished
from bmx_grid.evaluations.held_out import nuisance_of, rated_of, strata_of
from bmx_grid.evaluations.significance import SignificanceEvaluation
from bmx_grid.evaluations.verdicts import Verdict, evidence_on, judged
from bmx_grid.measures.correlation import Coefficient, correlate
from bmx_grid.measures.drawn_units import Unit
from bmx_grid.measures.kernel_ridge import scattered
from bmx_grid.measures.paired_tests import Alternative
from bmx_grid.measures.resampling import CONFIDENCE, number_of
from bmx_grid.words.perturbation import ROLES, Role

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
PairOfMetrics = tuple[str, frozenset[str]]  # language pair, the names of two metrics


@dataclass(frozen=True)
class ComparisonOptions:
    """How metrics are compared: the arguments of `compare` of these names, checked."""

    by: Grouping
    level: Level
    statistic: Coefficient
    resamples: int
    seed: int
    unit: Unit
    alternative: Alternative
    confidence: float

    @property
    def draws(self) -> dict[str, Any]:
        """What intervals and tests are drawn by."""
        return {"resamples": self.resamples, "seed": self.seed}

    @property
    def conclusion(self) -> dict[str, Any]:
        """What differences are concluded from: draws, side and confidence."""
        return {**self.draws, "alternative": self.alternative, "confidence": self.confidence}


@dataclass(frozen=True, kw_only=True)
class TestsOfColumns(SignificanceEvaluation):
    """Tests of columns of scores, of one side as well. Their ranking is that of two-sided tests only."""

    alternative: Alternative = identity("two-sided")
    confidence: float = identity(CONFIDENCE)

    @property
    def draws(self) -> dict[str, Any]:
        return {**super().draws, "alternative": self.alternative, "confidence": self.confidence}


@dataclass(frozen=True, eq=False)
class ScoredColumn(Finished):
    """A finished setting of a column of scores. log_words: float64[N, k], None if unknown; has_texts: its words too."""

    log_words: Floats | None = None
    has_texts: bool = False


ScoredColumns = Sequence[ScoredColumn]


def metric_pairs(settings: ScoredColumns) -> Iterator[tuple[ScoredColumn, ScoredColumn]]:
    """Every two metrics of a language pair."""
    for left, right in itertools.combinations(settings, 2):
        if left.pair == right.pair:
            yield left, right


def verdicts_of(
    settings: ScoredColumns, options: ComparisonOptions, better_metrics: Mapping[PairOfMetrics, str]
) -> list[Row]:
    """A row per two metrics, on the segments that both score; all are one family of tests.

    better_metrics: of each pair whose difference is defined, so that tests and verdicts have one direction. Of two
    metrics without it the one that has a correlation is the better one. Two that have none have no verdict.
    """
    rows = []
    evidence = []
    for left, right in metric_pairs(settings):
        used = _scored_by_both(left, right)
        better, other = left, right
        pair_of_metrics = (left.segments.language_pair, frozenset((left.metric_name, right.metric_name)))
        better_name = better_metrics.get(pair_of_metrics)
        if better_name is None:
            has_correlation = [_has_correlation(setting, used, options.statistic) for setting in (left, right)]
            if not any(has_correlation):
                continue
            better_name = left.metric_name if has_correlation[0] else right.metric_name
        if better_name == right.metric_name:
            better, other = right, left
        names = {"compared": better.metric_name, "against": other.metric_name}
        rows.append({"language_pair": other.segments.language_pair, **names})
        evidence.append(_evidence(better, other, used, options))
    for row, verdict in zip(rows, judged(evidence), strict=True):
        row |= {"verdict": verdict.verdict, "because": verdict.because}
        for name in SHOWN_ESTIMATES:
            estimate = getattr(verdict, name)
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return rows


def _has_correlation(setting: ScoredColumn, used: Flags, statistic: Coefficient) -> bool:
    """Whether the metric has a correlation with the human scores on these segments."""
    correlation = correlate(statistic, setting.scores.base_scores[used], setting.segments.human_scores[used])
    return not math.isnan(correlation)


def _scored_by_both(left: ScoredColumn, right: ScoredColumn) -> Flags:
    """bool[N] which segments are rated, scored by both metrics and of known length, where lengths are known at all."""
    scores = [left.segments.human_scores, left.scores.base_scores, right.scores.base_scores]
    used = np.asarray(np.isfinite(scores).all(axis=0))
    if left.log_words is None:
        return used
    return used & np.isfinite(left.log_words).all(axis=1)


def _evidence(better: ScoredColumn, other: ScoredColumn, used: Flags, options: ComparisonOptions) -> Verdict:
    """What speaks for the better metric on the used segments, the other one in the place of a metric alone."""
    segment_codes = other.codes
    read = _judged_rows(used, segment_codes.items)
    roles = other.worded if other.has_texts else ()
    texts = [_words(other, role, read) for role in roles]
    unread = []
    for role in ROLES:
        # Without a column of hypotheses they are empty.
        if role not in (*roles, "hypothesis") and other.segments.has(role):
            unread.append(_words(other, role, read))
    groups = [group[read] for group in other.segments.groups.values()]
    base = other.scores.base_scores[read]
    clusters = np.asarray(other.clusters)[read]
    # The same of each segment, which explains nothing.
    no_lengths = np.zeros((len(read), 1))
    log_words = no_lengths if other.log_words is None else other.log_words[read]
    strata = strata_of([other.segments.segments[row] for row in read], clusters, used[read])
    rated = rated_of(
        kind=options.statistic,
        base=base,
        human=other.segments.human_scores[read],
        log_words=log_words,
        clusters=segment_codes.clusters[read],
        nuisance=nuisance_of(base, log_words, texts, groups, clusters, strata, unread),
        used=used[read],
        seed=options.seed,
        items=segment_codes.items[read],
    )
    scores = better.scores.base_scores[read][used[read]]
    evidence = evidence_on(options.statistic, rated, scores, **options.draws)
    if other.log_words is None:
        # Without words what is beyond the score alone is not what its name says.
        return replace(evidence, partial_r=NOTHING, left=math.nan)
    return evidence


def _words(setting: ScoredColumn, role: Role, rows: Ints) -> list[tuple[str, ...]]:
    """The words of a text of some segments."""
    texts = list(setting.segments.texts(role))
    return [setting.segmented.words(role, texts[row]) for row in rows]


def _judged_rows(used: Flags, items: Ints) -> Ints:
    """The rows that a verdict reads: all, or of more than MOST_JUDGED those of so many, whole items, spread evenly.

    used: bool[N] which rows are judged; items: int64[N] codes.
    """
    if used.sum() <= MOST_JUDGED:
        return np.arange(len(used))
    sizes = np.bincount(items[used], minlength=number_of(items))
    order = scattered(len(sizes))
    # An item is kept if fewer than MOST_JUDGED rows come before it.
    before = np.cumsum(sizes[order]) - sizes[order]
    kept = np.zeros(len(sizes), dtype=np.bool_)
    kept[order[before < MOST_JUDGED]] = True
    return np.flatnonzero(used & kept[items])


def in_order(tests: pd.DataFrame, options: ComparisonOptions) -> pd.DataFrame:
    """Two-sided tests with the better metric in front, those of one side with the metric named first."""
    tests = tests.assign(alternative=options.alternative)
    return better_first(tests) if options.alternative == "two-sided" else tests


def better_first(tests: pd.DataFrame) -> pd.DataFrame:
    """Two-sided tests with the better metric of each pair in front, as in the verdicts: no difference is below 0."""
    turned = tests["difference"] < 0
    columns = {
        "compared": tests["compared"].where(~turned, tests["against"]),
        "against": tests["against"].where(~turned, tests["compared"]),
        "difference": tests["difference"].abs(),
        "low": tests["low"].where(~turned, -tests["high"]),
        "high": tests["high"].where(~turned, -tests["low"]),
    }
    return tests.assign(**columns)
