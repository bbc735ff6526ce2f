"""Do the words an explanation blames coincide with those people marked: words.parquet and word_tags.parquet."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Labels, Ragged, sums_by_text
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import MOST_RESAMPLES, Estimate, Evaluation, Measured, ScoredSetting, SettingRow
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.correlations_of_resamples import resampled_correlations
from bmx_grid.measures.resampling import codes, interval, number_of
from bmx_grid.measures.word_measures import (
    Ties,
    WordMeasure,
    label_measures,
    mean_over_segments,
    rank_words,
    statistics,
)
from bmx_grid.measures.word_thresholds import cross_fitted_labels
from bmx_grid.words.alignment import Alignment, Carried, align, carry_labels, carry_scores, carry_tags
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Rows, WordScores, WordTags

TaggedText = Literal["target", "source"]
SIDE_OF_ROLE: dict[Role, TaggedText] = {"hypothesis": "target", "source": "source"}  # references have no tags
SUM = "spearman_sum"  # compares with human scores of words in place of tags


@dataclass(frozen=True)
class WordsRow(SettingRow):
    """One row of words.parquet: a measure of one side with its 95 % interval."""

    side: str
    measure: str
    value: Measured
    n_segments: int
    n_left_out: int


@dataclass(frozen=True)
class TagsRow(SettingRow):
    """One row of word_tags.parquet: how the tags of one side align with the words of an explanation.

    n_tags: published tags that count; n_compared: words with a tag and an attribution or label; n_lost: tags on words
    without a common character with the explanation's words; n_untagged: words of the explanation without a tag.
    """

    side: str
    n_tags: int
    n_compared: int
    n_lost: int
    n_untagged: int


@dataclass(frozen=True, eq=False)
class TaggedSide:
    """The tags of one side of N segments, with the explanation of the tagged words.

    gold: the tags; scores: of the same words, low for a suspected error, None for labels; predicted: the labels, None
    for scores. sums: float64[N] of all scores of a text, including words without a tag. fit: how the tags align.
    """

    gold: Labels
    scores: Ragged | None
    predicted: Labels | None
    sums: Floats
    fit: TagsRow


def tagged_sides(setting: ScoredSetting) -> list[TaggedSide]:
    """The sides of a setting that have tags and an explanation, the target first.

    An explanation made elsewhere is compared on the tags' own words, to which it is carried where its words are others;
    attributions on the words that were scored, to which the tags are carried. `<EOS>` counts if both have it, as in the
    tables of WMT22.
    """
    sides = []
    for role, side in SIDE_OF_ROLE.items():
        tags = setting.segments.judgements.tags.get(role)
        if tags is None:
            continue
        if role in setting.scores.words:
            sides.append(_tagged_words(tags, setting.scores.words[role], side))
        elif role in setting.scores.by_role:
            sides.append(_tagged_attributions(setting, tags, role, side))
    return sides


def _tagged_attributions(setting: ScoredSetting, tags: WordTags, role: Role, side: TaggedText) -> TaggedSide:
    # If lower metric scores are better, attributions are negated: a low attribution is a suspected error.
    attributions = setting.scores.by_role[role]
    values = setting.direction * attributions.values
    turned = Ragged(values, attributions.offsets)
    every_text = [True] * len(tags.words)
    tags = _drop_end_tags(tags, every_text)
    # Bytes, as an array has no hash.
    bad = tags.labels.bad.tobytes()
    carried = _project_tags(tags.words, bad, setting.words(role))
    gold, scores = carried.only_known(turned)
    fit = TagsRow(
        side=side,
        n_tags=len(tags.labels.bad),
        n_compared=len(gold.bad),
        n_lost=len(carried.lost),
        n_untagged=len(carried.untagged),
    )
    return TaggedSide(gold=gold, scores=scores, predicted=None, sums=_sums(turned), fit=fit)


@functools.lru_cache(maxsize=4)  # the same for every metric and explainer
def _project_tags(words: Rows, bad: bytes, scored: Rows) -> Carried:
    """The tags of some words, bad as bytes of bool, on the words that were scored."""
    ends = np.cumsum([len(row) for row in words])
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    labels = Labels(np.frombuffer(bad, dtype=np.bool_), offsets)
    tags = WordTags(words, labels)
    return carry_tags(tags, scored)


def _tagged_words(tags: WordTags, explained: WordScores, side: TaggedText) -> TaggedSide:
    # `<EOS>` is removed from texts in which only one side has it.
    only_one = []
    for words_of_text, tagged_words in zip(explained.words, tags.words, strict=True):
        both = _ends(words_of_text) and _ends(tagged_words)
        only_one.append(not both)
    rows_of_values = explained.values.rows()
    words, values = _trim_words(explained.words, rows_of_values, only_one)
    tags = _drop_end_tags(tags, only_one)
    gold = []
    scores = []
    predicted = []
    n_untagged = 0
    for row, (words_of_text, tagged_words) in enumerate(zip(words, tags.words, strict=True)):
        # Most explanations are of the words that are tagged: aligning is slow.
        alignment = None
        if words_of_text != tagged_words:
            alignment = align(words_of_text, tagged_words)
            n_untagged += len(alignment.tokens_without)
        known, on_tags, bad = _project_scores(values[row], alignment)
        gold.append(tags.labels[row][known])
        scores.append(on_tags[known])
        predicted.append(bad[known])
    compared = Labels.from_rows(gold)
    sums = _sums(explained.values)
    n_tags = len(tags.labels.bad)
    n_compared = len(compared.bad)
    n_lost = n_tags - n_compared
    fit = TagsRow(side, n_tags, n_compared, n_lost, n_untagged)
    if explained.are_labels:
        labels = Labels.from_rows(predicted)
        return TaggedSide(gold=compared, scores=None, predicted=labels, sums=sums, fit=fit)
    ragged = Ragged.from_rows(scores)
    return TaggedSide(gold=compared, scores=ragged, predicted=None, sums=sums, fit=fit)


def _project_scores(values: Floats, alignment: Alignment | None) -> tuple[Flags, Floats, Flags]:
    """For n tagged words: whether they have an attribution, their scores, and whether they are BAD."""
    bad = values < 0
    if alignment is None:
        every_word = np.ones(len(values), dtype=np.bool_)
        return every_word, values, bad
    carried, known = carry_labels(alignment, bad)
    return known, carry_scores(alignment, values), carried


def _drop_end_tags(tags: WordTags, dropped: Sequence[bool]) -> WordTags:
    """The tags, without those of `<EOS>` in texts in which it is dropped."""
    words, bad = _trim_words(tags.words, tags.labels.rows(), dropped)
    return WordTags(words, Labels.from_rows(bad))


def _trim_words(words: Rows, values: Iterable[Any], dropped: Sequence[bool]) -> tuple[Rows, list[Any]]:
    """The words and their values, without `<EOS>` at the end of texts in which it is dropped."""
    cut_words = []
    cut_values = []
    for words_of_text, values_of_text, drop in zip(words, values, dropped, strict=True):
        end = len(words_of_text)
        if drop and _ends(words_of_text):
            end -= 1
        cut_words.append(words_of_text[:end])
        cut_values.append(values_of_text[:end])
    return tuple(cut_words), cut_values


def _ends(words: Sequence[str]) -> bool:
    """Whether a text ends with `<EOS>`."""
    return bool(words) and words[-1] == EOS


def _sums(scores: Ragged) -> Floats:
    """float64[N]; NaN for a text without words."""
    n_texts = len(scores)
    text = np.repeat(np.arange(n_texts), scores.lengths)
    sums = sums_by_text(scores.values, text, n_texts)
    return np.where(scores.lengths > 0, sums, np.nan)


@dataclass(frozen=True, kw_only=True)
class WordsEvaluation(Evaluation):
    """How well explanations find the words that people marked as errors, on each side that has tags.

    Attributions and word scores: AUC, average precision and recall at top K, means over the segments that have both OK
    and BAD words, and `spearman_sum`, the rank correlation of a text's summed scores with its human score. Labels, or
    scores cut at a threshold: F1 of OK, of BAD and their product, MCC, phrase F1, SeqCor and the highest SeqCor that
    could be reached. Intervals draw clusters of segments. A low score is a suspected error; the attributions of a
    metric whose lower scores are better are turned. Settings without tags or without an explanation have no rows.

    ties: what recall at top K makes of equal scores (`measures.word_measures`). Scores are cut where MCC is best on the
    other folds of clusters. resamples: of each interval; folds: of clusters; seed: of all draws.
    Raises ConfigError for a negative number of resamples, or fewer than 2 folds.
    """

    SECONDS: ClassVar[float] = 3e-4
    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"eos": "keep", "correlation": "pearson"}
    ROWS: ClassVar[Mapping[str, type]] = {"words": WordsRow, "word_tags": TagsRow}

    ties: Ties = identity("expected")
    folds: int = identity(10, least=2, most=1000)
    resamples: int = identity(1000, least=0, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if not n_explainers:
            return "nothing is there to compare with word tags: there is no explainer"
        if not any(segments.judgements.tags for segments in sets):
            return "no data set of this sweep has word tags"
        return ""

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[dict[str, Any]]:
        """The measures of each side with tags."""
        (setting,) = settings
        sides = tagged_sides(setting)
        rows: list[WordsRow] = []
        for tagged in sides:
            rows += self._ranking_rows(setting, tagged)
            rows += self._label_rows(setting, tagged)
        fits = [tagged.fit for tagged in sides]
        return [{"words": rows, "word_tags": fits}]

    def _ranking_rows(self, setting: ScoredSetting, tagged: TaggedSide) -> list[WordsRow]:
        """Measure how well scores rank words, and the correlation of summed scores or labels with human scores."""
        clusters = setting.codes.clusters
        side = tagged.fit.side
        rows = []
        if tagged.scores is not None:
            measures = rank_words(tagged.gold, tagged.scores, self.ties)
            for name, values in measures.items():
                mean = mean_over_segments(values, clusters, resamples=self.resamples, seed=self.seed)
                rows.append(_row(side, name, mean))
        human = setting.segments.human_scores
        used = np.isfinite(human) & np.isfinite(tagged.sums)
        sums = tagged.sums[used]
        human = human[used]
        clusters = codes(clusters[used])
        value = correlate("spearman", sums, human)
        # Nothing is drawn for an undefined correlation: its interval is NaN in any case.
        resamples = self.resamples if math.isfinite(value) else 0
        column = sums[:, None]
        (samples,) = resampled_correlations("spearman", column, human, clusters, resamples, self.seed)
        low, high = interval(samples, number_of(clusters))
        n_used = len(human)
        of_sums = WordsRow(
            side=side, measure=SUM, value=Estimate(value, low, high), n_segments=n_used, n_left_out=len(used) - n_used
        )
        return [*rows, of_sums]

    def _label_rows(self, setting: ScoredSetting, tagged: TaggedSide) -> list[WordsRow]:
        """Measure the agreement of labels, imported or cut from scores; texts without labels are left out."""
        clusters = list(setting.clusters)
        if tagged.scores is not None:
            labels, defined = cross_fitted_labels(
                tagged.gold, tagged.scores, clusters, folds=self.folds, seed=self.seed
            )
            counts = statistics(tagged.gold, labels)
            # Counts of 0 leave a text out of every sum.
            counts = np.where(defined[:, None], counts, 0.0)
        else:
            assert tagged.predicted is not None
            counts = statistics(tagged.gold, tagged.predicted)
        measures = label_measures(counts, clusters, resamples=self.resamples, seed=self.seed)
        side = tagged.fit.side
        return [_row(side, name, measure) for name, measure in measures.items()]


def _row(side: str, name: str, measure: WordMeasure) -> WordsRow:
    value, low, high, n_segments, n_left_out = measure
    return WordsRow(side, name, Estimate(value, low, high), n_segments, n_left_out)
