"""Do the words an explanation blames coincide with those people marked: words.parquet, and what it means for boosts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import (
    MOST_RESAMPLES,
    Estimate,
    Evaluation,
    Finished,
    Floats,
    Measured,
)
from bmx_grid.measures.correlation import Kind as Correlation
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.resampling import Ints, codes, interval, number_of, resampled_correlations
from bmx_grid.measures.word_labels import WordMeasure, label_measures, mean_over_segments, statistics
from bmx_grid.measures.word_scores import Ranking, Ties, cross_fitted_labels, rank_words
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import (
    EOS,
    Alignment,
    Carried,
    Labels,
    Rows,
    WordScores,
    WordTags,
    align,
    carry_labels,
    carry_scores,
    carry_tags,
    sums_by_text,
)

Eos = Literal["keep", "drop"]
Side = Literal["target", "source"]
Flags = NDArray[np.bool_]
SIDES: dict[Role, Side] = {"hypothesis": "target", "source": "source"}  # references have no tags


@dataclass(frozen=True)
class TagsRow:
    """One row of word_tags.parquet: how the tags of one side fit the words that an explanation speaks of.

    n_tags: published tags that count; n_compared: words with a tag and something said of them; n_lost: tags on words
    that share no character with any word of the explanation; n_untagged: words of the explanation without a tag;
    n_differing: segments whose characters are not the same on both sides; differing: the first of these, by name.
    n_all_ok, n_all_bad, n_empty, n_undefined: segments without a ranking of their words, and why (`Ranking`).
    """

    side: str
    n_tags: int
    n_compared: int
    n_lost: int
    n_untagged: int
    n_differing: int
    differing: str
    n_all_ok: int = 0
    n_all_bad: int = 0
    n_empty: int = 0
    n_undefined: int = 0

    def ranked(self, ranking: Ranking) -> TagsRow:
        """With the segments that have no ranking."""
        counts = {f"n_{name}": getattr(ranking, name) for name in ("all_ok", "all_bad", "empty", "undefined")}
        return replace(self, **counts)


@dataclass(frozen=True, eq=False)
class TaggedSide:
    """Tags of one side of N segments, and what is said of these words.

    gold: the tags; scores: of the same words, low for a suspected error, None where labels were given; predicted:
    these labels, None for scores. sums: float64[N] of all scores of a text, those of words without a tag among them.
    fit: how the tags fit.
    """

    side: Side
    gold: Labels
    scores: Ragged | None
    predicted: Labels | None
    sums: Floats
    fit: TagsRow


def tagged_sides(setting: Finished, eos: Eos) -> list[TaggedSide]:
    """The sides of a setting that have tags and an explanation, the target first.

    An explanation made elsewhere is compared on the tags' own words, to which it is carried where its words are
    others; attributions on the words that were scored, to which the tags are carried. `<EOS>` counts where both have
    it and `eos` keeps it.
    """
    found = []
    for role, side in SIDES.items():
        tags = setting.segments.judgements.tags.get(role)
        if tags is None:
            continue
        if role in setting.words:
            found.append(_of_words(setting, tags, setting.words[role], side, eos))
        elif role in setting.scores.by_role:
            found.append(_of_attributions(setting, tags, role, side))
    return found


def _of_attributions(setting: Finished, tags: WordTags, role: Role, side: Side) -> TaggedSide:
    # What a metric gives a low score for the better is turned: a low attribution is a suspected error.
    attributions = setting.scores.by_role[role]
    turned = Ragged(setting.direction * attributions.values, attributions.offsets)
    own = _without_end(tags, [True] * len(tags.words))
    carried = _carried(own.words, own.labels.bad.tobytes(), setting.words_of(role))
    gold, scores = carried.only_known(turned)
    fit = _fit(setting, side, own, gold, len(carried.lost), len(carried.untagged), carried.differing)
    return TaggedSide(side, gold, scores, None, _sums(turned), fit)


def _fit(
    setting: Finished, side: str, tags: WordTags, gold: Labels, lost: int, untagged: int, differing: Sequence[int]
) -> TagsRow:
    names = ", ".join(setting.segments.segments[row].name for row in differing[:3])
    return TagsRow(side, len(tags.labels.bad), len(gold.bad), lost, untagged, len(differing), names)


@functools.lru_cache(maxsize=4)  # the same for every metric and explainer
def _carried(words: Rows, bad: bytes, scored: Rows) -> Carried:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in words])]).astype(np.int64)
    return carry_tags(WordTags(words, Labels(np.frombuffer(bad, dtype=np.bool_), offsets)), scored)


def _of_words(setting: Finished, tags: WordTags, given: WordScores, side: Side, eos: Eos) -> TaggedSide:
    ends = zip(map(_ends, given.words), map(_ends, tags.words), strict=True)
    dropped = [not (eos == "keep" and one and other) for one, other in ends]
    words, scored = _cut(given.words, given.values.rows(), dropped)
    own, said = _without_end(tags, dropped), WordScores(words, Ragged.from_rows(scored), given.are_labels)
    alignments = [None if one == other else align(one, other) for one, other in zip(said.words, own.words, strict=True)]
    gold, scores, predicted = [], [], []
    for row, alignment in enumerate(alignments):
        known, values, bad = _on_tagged(said, row, alignment)
        gold.append(own.labels[row][known])
        scores.append(values[known])
        predicted.append(bad[known])
    differing = [row for row, one in enumerate(alignments) if one is not None and not one.exact]
    compared = Labels.from_rows(gold)
    untagged = sum(len(one.tokens_without) for one in alignments if one is not None)
    fit = _fit(setting, side, own, compared, len(own.labels.bad) - len(compared.bad), untagged, differing)
    if given.are_labels:
        return TaggedSide(side, compared, None, Labels.from_rows(predicted), _sums(given.values), fit)
    return TaggedSide(side, compared, Ragged.from_rows(scores), None, _sums(given.values), fit)


def _on_tagged(given: WordScores, row: int, alignment: Alignment | None) -> tuple[Flags, Floats, Flags]:
    """For the n tagged words of a text whether anything is said of them, their scores, and whether they are BAD."""
    values = given.values[row]
    if alignment is None:
        return np.ones(len(values), dtype=np.bool_), values, values < 0
    bad, known = carry_labels(alignment, values < 0)
    return known, carry_scores(alignment, values), bad


def _without_end(tags: WordTags, dropped: Sequence[bool]) -> WordTags:
    """The tags without those of `<EOS>`, of the texts where it is dropped."""
    words, bad = _cut(tags.words, tags.labels.rows(), dropped)
    return WordTags(words, Labels.from_rows(bad))


def _cut(words: Rows, values: Iterable[Any], dropped: Sequence[bool]) -> tuple[Rows, list[Any]]:
    """The words and their values, those of a text that ends with `<EOS>` without it where it is dropped."""
    ends = [len(row) - (drop and _ends(row)) for row, drop in zip(words, dropped, strict=True)]
    cut = zip(words, values, ends, strict=True)
    both = [(row[:end], of_words[:end]) for row, of_words, end in cut]
    return tuple(row for row, _ in both), [of_words for _, of_words in both]


def _ends(words: Sequence[str]) -> bool:
    return bool(words) and words[-1] == EOS


def _sums(scores: Ragged) -> Floats:
    """float64[N]; NaN for a text without words."""
    text = np.repeat(np.arange(len(scores)), scores.lengths)
    return np.where(scores.lengths > 0, sums_by_text(scores.values, text, len(scores)), np.nan)


SUM = "spearman_sum"  # the measure that asks people's scores instead of their tags


@dataclass(frozen=True)
class Row:
    """One row of words.parquet: a measure of one side with its 95 % interval."""

    side: str
    measure: str
    value: Measured
    n_segments: int
    n_left_out: int


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
    difference: Measured
    n_right: int
    n_wrong: int
    n_left_out: int


@dataclass(frozen=True, kw_only=True)
class WordsEvaluation(Evaluation):
    """How well explanations find the words that people marked as errors, on each side that has tags.

    Attributions and word scores: AUC, average precision and recall at top K, means over the segments that have both OK
    and BAD words, and `spearman_sum`, the rank correlation of a text's summed scores with its human score. Labels, or
    scores cut at a threshold: F1 of OK, of BAD and their product, MCC, phrase F1, SeqCor and the highest SeqCor that
    could be reached. Intervals draw clusters of segments. A low score is a suspected error; the attributions of a
    metric whose lower scores are better are turned. Settings without tags or without an explanation have no rows.

    ties: what recall at top K makes of equal scores (`measures.word_scores`). eos: whether `<EOS>` counts where tags
    and explanation have it, as in the tables of WMT22. Scores are cut where MCC is best on the other folds of clusters.
    correlation: of the gains in word_boosts.parquet. resamples: of each interval; folds: of clusters; seed: of all
    draws. Raises ConfigError for a negative number of resamples, or fewer than 2 folds.
    """

    SECONDS: ClassVar[float] = 3e-4
    ROWS: ClassVar[Mapping[str, type]] = {"words": Row, "word_tags": TagsRow, "word_boosts": PartRow}

    ties: Ties = identity("expected")
    eos: Eos = identity("keep")
    folds: int = identity(10, least=2, most=1000)
    correlation: Correlation = identity("pearson")
    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if not n_explainers:
            return "compares explanations with word tags, and there is no explainer"
        return "" if any(one.judgements.tags for one in sets) else "no data set of this sweep has word tags"

    def of_scope(self, settings: Sequence[Finished]) -> list[dict[str, Any]]:
        """The measures of each side with tags, and the gains where the explanation is right or wrong.

        Beside the tables `rankings`: by side the measures of single segments, of scores.
        """
        (setting,) = settings
        rows: list[Row] = []
        tags: list[TagsRow] = []
        parts: list[PartRow] = []
        rankings: dict[str, Ranking] = {}
        for one in tagged_sides(setting, self.eos):
            ranking = None if one.scores is None else rank_words(one.gold, one.scores, self.ties)
            rows += self._of_scores(setting, one, ranking)
            rows += self._of_labels(setting, one, *self._labels(setting, one))
            tags.append(one.fit if ranking is None else one.fit.ranked(ranking))
            if ranking is not None:
                rankings[one.side] = ranking
                parts += self._of_parts(setting, one.side, ranking)
        return [{"words": rows, "word_tags": tags, "word_boosts": parts, "rankings": rankings}]

    def _labels(self, setting: Finished, one: TaggedSide) -> tuple[Labels, Flags | None]:
        """The labels of a side, as given or cut from its scores; bool[N] the texts that have any, None for all."""
        if one.scores is None:
            assert one.predicted is not None
            return one.predicted, None
        return cross_fitted_labels(one.gold, one.scores, list(setting.clusters), folds=self.folds, seed=self.seed)

    def _of_scores(self, setting: Finished, one: TaggedSide, ranking: Ranking | None) -> list[Row]:
        drawn = {"resamples": self.resamples, "seed": self.seed}
        measures = {} if ranking is None else ranking.measures()
        rows = [
            _row(one.side, name, mean_over_segments(values, setting.codes.clusters, **drawn))
            for name, values in measures.items()
        ]
        human = setting.segments.human_scores
        used = np.isfinite(human) & np.isfinite(one.sums)
        sums, group = one.sums[used], codes(setting.codes.clusters[used])
        value = correlate("spearman", sums, human[used])
        resamples = self.resamples if math.isfinite(value) else 0
        (samples,) = resampled_correlations("spearman", sums[:, None], human[used], group, resamples, self.seed)
        n = int(used.sum())
        return [*rows, Row(one.side, SUM, Estimate(value, *interval(samples, number_of(group))), n, len(used) - n)]

    def _of_parts(self, setting: Finished, side: str, ranking: Ranking) -> Iterator[PartRow]:
        """A row for each point and each way to decide what is right."""
        base, human = setting.scores.base_scores, setting.segments.human_scores
        cluster = setting.codes.clusters
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
                counts = (int(rows.sum()) for rows in (right, wrong, ~right & ~wrong))
                yield PartRow(side, point, name, of_right, of_wrong, between, *counts)

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


def _row(side: str, measure: str, found: WordMeasure) -> Row:
    return Row(side, measure, Estimate(found.value, found.low, found.high), found.n_segments, found.n_left_out)
