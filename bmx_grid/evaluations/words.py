"""Do the words an explanation blames coincide with those people marked: words.parquet, and what it means for boosts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.evaluations.base import (
    MOST_RESAMPLES,
    OF_PAIRS,
    Each,
    Estimate,
    Evaluation,
    Finished,
    Floats,
    check_bounds,
    here,
    in_groups,
    seconds,
)
from bmx_grid.evaluations.held_out import free_of_each
from bmx_grid.evaluations.tagged_words import Eos, Fit, Flags, TaggedSide, tagged_sides
from bmx_grid.identity import identity
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.correlation import correlate, spearman
from bmx_grid.measures.resampling import Ints, codes, interval, number_of, resampled_correlations
from bmx_grid.measures.words.labels import WordMeasure, label_measures, mean_over_segments, statistics
from bmx_grid.measures.words.scores import Ranking, Ties, best_threshold, cross_fitted_labels, labels_at, rank_words
from bmx_grid.segments import SegmentSet
from bmx_grid.words.tags import Labels

SUM = "spearman_sum"  # the measure that asks people's scores instead of their tags
SECONDS_PER_SEGMENT = 3e-4  # with 1,000 resamples
Threshold = Literal["cross_fitted", "elsewhere"]


@dataclass(frozen=True)
class Row:
    """One row of words.parquet: a measure of one side with its 95 % interval."""

    side: str
    measure: str
    value: float
    low: float
    high: float
    n_segments: int
    n_left_out: int


@dataclass(frozen=True)
class TagsRow:
    """One row of word_tags.parquet: how the tags of one side fit the words of the explanation (`Fit`).

    differing: the first texts with other characters; n_all_ok, n_all_bad, n_empty, n_undefined: segments without a
    ranking of their words, and why (`Ranking`).
    """

    side: str
    n_tags: int
    n_compared: int
    n_lost: int
    n_untagged: int
    n_differing: int
    differing: str
    n_all_ok: int
    n_all_bad: int
    n_empty: int
    n_undefined: int


@dataclass(frozen=True)
class PartRow:
    """One row of word_boosts.parquet: gains of a point where the explanation is right and where it is wrong.

    right: how that is decided: "auc", the segment's AUC is above .5 (wrong: below), or "recall", more of the K marked
    words are among its K lowest than a random order has on average (wrong: fewer).
    A gain is the correlation with the human scores on these segments alone, above that of the metric on the same ones;
    difference, low, high: of the two gains, with its interval. Intervals draw clusters, the same for both parts. NaN
    where undefined. n_left_out: segments without an AUC, a human score or a boosted score, and those that are neither.
    """

    side: str
    point: str
    right: str
    gain_right: Estimate
    gain_wrong: Estimate
    difference: float
    low: float
    high: float
    n_right: int
    n_wrong: int
    n_left_out: int


@dataclass(frozen=True)
class WordsOfSetting:
    """What tags say of one setting.

    rows: the measures; fits: by side how the tags fit; rankings: by side the measures of single segments, of scores;
    parts: gains where the explanation is right and where it is wrong.
    """

    rows: tuple[Row, ...] = ()
    fits: tuple[tuple[str, Fit, Ranking | None], ...] = ()
    parts: tuple[PartRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WordsEvaluation(Evaluation):
    """How well explanations find the words that people marked as errors, on each side that has tags.

    Attributions and word scores: AUC, average precision and recall at top K, means over the segments that have both OK
    and BAD words, and `spearman_sum`, the rank correlation of a text's summed scores with its human score. Labels, or
    scores cut at a threshold: F1 of OK, of BAD and their product, MCC, phrase F1, SeqCor and the highest SeqCor that
    could be reached. Intervals draw clusters of segments. A low score is a suspected error; the attributions of a
    metric whose lower scores are better are turned. Settings without tags or without an explanation have no rows.

    ties: what recall at top K makes of equal scores (`measures.words.scores`). eos: whether `<EOS>` counts where tags
    and explanation have it, as in the tables of WMT22. threshold: scores are cut where MCC is best on the other folds
    of clusters, or on the other language pairs of the data set, without segments that share a source or a reference.
    correlation: of the gains in word_boosts.parquet. resamples: of each interval; folds: of clusters; seed: of all
    draws. Raises ConfigError for a negative number of resamples, or fewer than 2 folds.
    """

    ROWS: ClassVar[Mapping[str, type]] = {"words": Row, "word_tags": TagsRow, "word_boosts": PartRow}

    ties: Ties = identity("expected")
    eos: Eos = identity("keep")
    threshold: Threshold = identity("cross_fitted")
    folds: int = identity(10)
    correlation: Correlation = identity("pearson")
    resamples: int = identity(1000)
    seed: int = identity(0)

    def __post_init__(self) -> None:
        check_bounds(self, "evaluation.words", resamples=(0, MOST_RESAMPLES), folds=(2, 1000))

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if not n_explainers:
            return "compares explanations with word tags, and there is no explainer"
        return "" if any(one.judgements.tags for one in sets) else "no data set of this sweep has word tags"

    def cost(self, n_segments: int) -> float:
        return seconds(n_segments, SECONDS_PER_SEGMENT, self.resamples)

    def evaluate(self, settings: Sequence[Finished], each: Each = here) -> list[WordsOfSetting]:
        """The measures of each side with tags, and the gains where the explanation is right or wrong."""
        return in_groups(self._of_pairs, settings, OF_PAIRS, each)

    def _of_pairs(self, settings: Sequence[Finished]) -> list[WordsOfSetting]:
        sides = [tagged_sides(setting, self.eos) for setting in settings]
        free: Sequence[Mapping[int, Flags]] = [{}] * len(settings)
        if self.threshold == "elsewhere":
            free = free_of_each([setting.clusters for setting in settings])
        return [
            self._of_setting(setting, own, [(of, rows) for at, rows in others.items() for of in sides[at]])
            for setting, own, others in zip(settings, sides, free, strict=True)
        ]

    def _of_setting(
        self, setting: Finished, sides: Sequence[TaggedSide], elsewhere: Sequence[tuple[TaggedSide, Flags]]
    ) -> WordsOfSetting:
        """elsewhere: sides of other language pairs, each with bool[N] the texts without a cluster of this setting."""
        rows: list[Row] = []
        parts: list[PartRow] = []
        fits = []
        for one in sides:
            ranking = None if one.scores is None else rank_words(one.gold, one.scores, self.ties)
            fits.append((one.side, one.fit, ranking))
            rows += self._of_scores(setting, one, ranking)
            rows += self._of_labels(setting, one, *self._labels(setting, one, elsewhere))
            if ranking is not None:
                parts += self._of_parts(setting, one.side, ranking)
        return WordsOfSetting(tuple(rows), tuple(fits), tuple(parts))

    def _labels(
        self, setting: Finished, one: TaggedSide, elsewhere: Sequence[tuple[TaggedSide, Flags]]
    ) -> tuple[Labels, Flags | None]:
        """The labels of a side, as given or cut from its scores; bool[N] the texts that have any, None for all."""
        if one.scores is None:
            assert one.predicted is not None
            return one.predicted, None
        if self.threshold == "cross_fitted":
            clusters = list(setting.clusters)
            return cross_fitted_labels(one.gold, one.scores, clusters, folds=self.folds, seed=self.seed)
        gold, scores = [], []
        for of, rows in elsewhere:
            if of.side == one.side and of.scores is not None:
                words = np.repeat(rows, of.gold.lengths)
                gold.append(of.gold.bad[words])
                scores.append(of.scores.values[words])
        best = best_threshold(np.concatenate(gold), np.concatenate(scores)) if gold else math.nan
        return labels_at(one.scores, np.full(len(one.scores), best))

    def _of_scores(self, setting: Finished, one: TaggedSide, ranking: Ranking | None) -> list[Row]:
        drawn = {"resamples": self.resamples, "seed": self.seed}
        clusters = list(setting.clusters)
        measures = {} if ranking is None else ranking.measures()
        rows = [
            _row(one.side, name, mean_over_segments(values, clusters, **drawn)) for name, values in measures.items()
        ]
        human = setting.segments.human_scores
        used = np.isfinite(human) & np.isfinite(one.sums)
        sums, group = one.sums[used], codes(np.asarray(clusters, dtype=np.str_)[used])
        value = spearman(sums, human[used])
        resamples = self.resamples if math.isfinite(value) else 0
        (samples,) = resampled_correlations("spearman", sums[:, None], human[used], group, resamples, self.seed)
        n = int(used.sum())
        return [*rows, Row(one.side, SUM, value, *interval(samples, number_of(group)), n, len(used) - n)]

    def _of_parts(self, setting: Finished, side: str, ranking: Ranking) -> Iterator[PartRow]:
        """A row for each point and each way to decide what is right."""
        base, human = setting.scores.base_scores, setting.segments.human_scores
        cluster = codes(np.asarray(setting.clusters, dtype=np.str_))
        above_chance = {"auc": ranking.auc - 0.5, "recall": ranking.recall_at_k - ranking.share_bad}
        for point, boosted in setting.boosted.items():
            known = np.isfinite(base) & np.isfinite(human) & np.isfinite(boosted)
            for name, above in above_chance.items():
                right, wrong = known & (above > 0), known & (above < 0)
                gains = [self._gain(base[rows], boosted[rows], human[rows]) for rows in (right, wrong)]
                samples = [self._drawn_gains(base, boosted, human, rows, cluster) for rows in (right, wrong)]
                gains, samples = [*gains, gains[0] - gains[1]], [*samples, samples[0] - samples[1]]
                of_right, of_wrong, between = (
                    Estimate(gain, *interval(drawn if math.isfinite(gain) else drawn[:0], number_of(cluster)))
                    for gain, drawn in zip(gains, samples, strict=True)
                )
                difference = between.value, between.low, between.high
                counts = (int(rows.sum()) for rows in (right, wrong, ~right & ~wrong))
                yield PartRow(side, point, name, of_right, of_wrong, *difference, *counts)

    def _gain(self, base: Floats, boosted: Floats, human: Floats) -> float:
        return correlate(self.correlation, boosted, human) - correlate(self.correlation, base, human)

    def _drawn_gains(self, base: Floats, boosted: Floats, human: Floats, rows: Flags, cluster: Ints) -> Floats:
        """float64[R] gains on some rows, under resamples of all clusters."""
        columns, drawn = np.column_stack([boosted, base])[rows], (self.resamples, self.seed, number_of(cluster))
        found = resampled_correlations(self.correlation, columns, human[rows], cluster[rows], *drawn)
        return np.asarray(found[0] - found[1])

    def _of_labels(self, setting: Finished, one: TaggedSide, labels: Labels, defined: Flags | None) -> list[Row]:
        """defined: bool[N] the texts that have labels, None for all; the others are left out."""
        counted = statistics(one.gold, labels)
        if defined is not None:
            counted = np.where(defined[:, None], counted, 0.0)
        found = label_measures(counted, list(setting.clusters), resamples=self.resamples, seed=self.seed)
        return [_row(one.side, name, measure) for name, measure in found.items()]

    def rows(self, result: WordsOfSetting) -> Mapping[str, Sequence[Any]]:
        tags = [_tags_row(*fit) for fit in result.fits]
        return {"words": result.rows, "word_tags": tags, "word_boosts": result.parts}


def _tags_row(side: str, fit: Fit, ranking: Ranking | None) -> TagsRow:
    left = ("all_ok", "all_bad", "empty", "undefined")
    counts = {f"n_{name}": 0 if ranking is None else getattr(ranking, name) for name in left}
    fits = {name: value for name, value in vars(fit).items() if name != "examples"}
    return TagsRow(side=side, differing=", ".join(fit.examples), **fits, **counts)


def _row(side: str, measure: str, found: WordMeasure) -> Row:
    return Row(side, measure, found.value, found.low, found.high, found.n_segments, found.n_left_out)
