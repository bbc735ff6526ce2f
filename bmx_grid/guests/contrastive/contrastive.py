"""Is the better output for a source scored above the worse one: accuracy by phenomenon, contrastive.parquet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    BASE,
    MOST_RESAMPLES,
    NOTHING,
    OF_PAIRS,
    Estimate,
    Evaluation,
    ScoredSetting,
    SettingRow,
)
from bmx_grid.evaluations.word_level import tagged_sides
from bmx_grid.guests.contrastive.aces_score import AcesRow, aces_rows, is_of_aces
from bmx_grid.measures.resampling import CONFIDENCE, codes, interval, number_of, ratio, resampled_sums, sums_by
from bmx_grid.measures.word_measures import mean_over_segments, rank_words

ALL = "all"  # in place of a language pair or a phenomenon: all of them together
TARGET = "target"


@dataclass(frozen=True)
class ContrastiveRow(SettingRow):
    """One row of contrastive.parquet: how often a point scores the better of two outputs for one source higher.

    language_pair, phenomenon: "all" for all together; the phenomenon is the domain of segments. accuracy: the share of
    pairs of outputs, of which people (or the data) prefer one; equal scores count as wrong, as in ACES, where tau is
    twice the accuracy minus 1. Its interval is Wilson's, in which every cluster counts once. gain: above the metric
    alone, its interval by a bootstrap of clusters; NaN for the metric alone. auc: of the words that are marked as wrong
    (`words`), a mean over outputs, the same at every point; NaN without tags or an explanation; n_tagged: outputs
    that it is of. ties: equal scores; n_undefined: pairs without a score.
    """

    KEY = ("language_pair", "phenomenon", "point")

    language_pair: str
    phenomenon: str
    point: str
    accuracy: Estimate
    gain: Estimate
    auc: Estimate
    n_pairs: int
    n_clusters: int
    ties: int
    n_undefined: int
    n_tagged: int


@dataclass(frozen=True, eq=False)
class Contrasts:
    """N pairs of outputs of one setting.

    differences: by point float64[N] the score of the better output minus that of the worse one, higher is better.
    phenomena, clusters: of each pair. auc: float64[M] of outputs with tags, and their phenomena and clusters.
    """

    language_pair: str
    differences: dict[str, Floats]
    phenomena: NDArray[np.object_]
    clusters: NDArray[np.object_]
    auc: Floats
    auc_phenomena: NDArray[np.object_]
    auc_clusters: NDArray[np.object_]


@dataclass(frozen=True, kw_only=True)
class ContrastiveEvaluation(Evaluation):
    """Accuracy of a metric and of each boosted point on pairs of outputs for one source, by phenomenon (`domain`).

    Pairs are those outputs of one id whose primary human scores differ; in ACES the good and the incorrect translation.
    If all phenomena are those of ACES, the ACES-Score has a table of its own.
    resamples, seed: of the intervals of gains and of AUC, which draw clusters of segments.
    Raises ConfigError for a negative number of resamples.
    """

    SECONDS: ClassVar[float] = 1e-4
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIRS
    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.contrastive.phenomena",)
    ROWS: ClassVar[dict[str, type]] = {"contrastive": ContrastiveRow, "aces_score": AcesRow}

    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if any(len(_pairs(segments)) for segments in sets):
            return ""
        return "compares two outputs for one source of which one is better, and no data set has such a pair"

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[dict[str, Any]]:
        """The rows of each language pair, and in the first setting those of all together, if there are several."""
        contrasts = [_contrasts(setting) for setting in settings]
        results: list[dict[str, Any]] = []
        for contrast in contrasts:
            results.append({"contrastive": list(self._rows([contrast], contrast.language_pair))})
        if len(settings) > 1:
            results[0]["contrastive"] = [*self._rows(contrasts, ALL), *results[0]["contrastive"]]
        all_pairs = ALL if len(settings) > 1 else contrasts[0].language_pair
        results[0]["aces_score"] = list(self._aces_rows(contrasts, all_pairs))
        return results

    def _aces_rows(self, contrasts: Sequence[Contrasts], language_pair: str) -> Iterator[AcesRow]:
        """ACES-Score of each point, of all language pairs together; none of other phenomena than those of ACES."""
        phenomena = np.concatenate([contrast.phenomena for contrast in contrasts])
        if not is_of_aces(phenomena.tolist()):
            return
        clusters = np.concatenate([contrast.clusters for contrast in contrasts])
        for point in _shared_points(contrasts):
            difference = np.concatenate([contrast.differences[point] for contrast in contrasts])
            known = np.isfinite(difference)
            if not known.any():
                continue
            yield from aces_rows(
                difference[known] > 0,
                phenomena[known],
                codes(clusters[known]),
                (language_pair, point),
                self.resamples,
                self.seed,
            )

    def _rows(self, contrasts: Sequence[Contrasts], language_pair: str) -> Iterator[ContrastiveRow]:
        """The rows of all phenomena together, then of each."""
        phenomena = np.concatenate([contrast.phenomena for contrast in contrasts])
        named = sorted({name for name in phenomena.tolist() if name is not None})
        if not len(phenomena):
            return
        for phenomenon in [ALL, *named]:
            for point in _shared_points(contrasts):
                yield self._row(contrasts, language_pair, phenomenon, point)

    def _row(self, contrasts: Sequence[Contrasts], language_pair: str, phenomenon: str, point: str) -> ContrastiveRow:
        differences = []
        base = []
        labels = []
        auc = []
        auc_labels = []
        for contrast in contrasts:
            of_pairs = _phenomenon_mask(contrast.phenomena, phenomenon)
            of_words = _phenomenon_mask(contrast.auc_phenomena, phenomenon)
            differences.append(contrast.differences[point][of_pairs])
            base.append(contrast.differences[BASE][of_pairs])
            labels += contrast.clusters[of_pairs].tolist()
            auc.append(contrast.auc[of_words])
            auc_labels += contrast.auc_clusters[of_words].tolist()
        difference = np.concatenate(differences)
        difference_of_base = np.concatenate(base)
        known = np.isfinite(difference) & np.isfinite(difference_of_base)
        clusters = codes(np.array(labels, dtype=object)[known])
        right = (difference[known] > 0).astype(np.float64)
        n_clusters = number_of(clusters)
        accuracy = NOTHING
        if len(right):
            accuracy = Estimate(float(right.mean()), *wilson(float(right.mean()), n_clusters))
        gain = NOTHING
        if point != BASE and len(right):
            gain = self._gain(right - (difference_of_base[known] > 0), clusters)
        values = np.concatenate(auc)
        words = mean_over_segments(values, auc_labels, resamples=self.resamples, seed=self.seed)
        return ContrastiveRow(
            language_pair=language_pair,
            phenomenon=phenomenon,
            point=point,
            accuracy=accuracy,
            gain=gain,
            auc=Estimate(words.value, words.low, words.high),
            n_pairs=len(right),
            n_clusters=n_clusters,
            ties=int((difference[known] == 0).sum()),
            n_undefined=len(known) - len(right),
            n_tagged=words.n_segments,
        )

    def _gain(self, gained: Floats, clusters: Ints) -> Estimate:
        """The mean of float64[N] 1, 0 or -1 with its interval."""
        terms: Floats = np.column_stack([gained, np.ones(len(gained))])
        sums = sums_by(clusters, terms)
        samples = resampled_sums(_means, sums, self.resamples, self.seed)
        return Estimate(float(gained.mean()), *interval(samples, len(sums)))


def _shared_points(contrasts: Sequence[Contrasts]) -> list[str]:
    """The points of all language pairs: not every one need have every point."""
    return [name for name in contrasts[0].differences if all(name in other.differences for other in contrasts)]


def _means(sums: Floats) -> Floats:
    return ratio(sums[:, 0], sums[:, 1])


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of n (Wilson 1927), which stays within 0 and 1 and has a width at both ends."""
    from scipy.special import ndtri

    if n < 1:
        return math.nan, math.nan
    z = float(ndtri((1 + CONFIDENCE) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def _phenomenon_mask(phenomena: NDArray[np.object_], name: str) -> NDArray[np.bool_]:
    """bool[N] which are of this phenomenon."""
    if name == ALL:
        return np.ones(len(phenomena), dtype=np.bool_)
    return np.asarray(phenomena == name, dtype=np.bool_)


def _pairs(segments: SegmentSet) -> list[tuple[int, int]]:
    """The rows of the better and the worse of two outputs of one id."""
    rows_of: dict[str, list[int]] = {}
    for row, segment in enumerate(segments.segments):
        rows_of.setdefault(segment.id, []).append(row)
    human = segments.human_scores
    pairs = []
    for rows in rows_of.values():
        for first, second in combinations(rows, 2):
            if human[first] > human[second]:
                pairs.append((first, second))
            elif human[second] > human[first]:
                pairs.append((second, first))
    return pairs


def _contrasts(setting: ScoredSetting) -> Contrasts:
    """The pairs of a setting, and the AUC of its outputs with tags."""
    pairs = np.array(_pairs(setting.segments), dtype=np.int64).reshape(-1, 2)
    better, worse = pairs.T
    differences = {}
    for point, scores in setting.points.items():
        differences[point] = setting.direction * (scores[better] - scores[worse])
    phenomena = np.full(len(setting.segments), None, dtype=object)
    phenomena[:] = [segment.domain for segment in setting.segments.segments]
    clusters = np.full(len(setting.segments), "", dtype=object)
    clusters[:] = list(setting.clusters)
    auc = np.full(len(setting.segments), np.nan)
    for tagged in tagged_sides(setting):
        if tagged.fit.side == TARGET and tagged.scores is not None:
            auc = rank_words(tagged.gold, tagged.scores, "expected")["auc"]
    has_auc = np.isfinite(auc)
    return Contrasts(
        language_pair=setting.segments.language_pair,
        differences=differences,
        phenomena=phenomena[better],
        clusters=clusters[better],
        auc=auc[has_auc],
        auc_phenomena=phenomena[has_auc],
        auc_clusters=clusters[has_auc],
    )
