"""Compare error spans with human spans, and detect error-free segments: WMT25's task 2, MPP, and WMT26's task 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError, DataMissingError, unknown
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints, Labels, Ragged
from bmx_grid.datasets.rows_of_files import Ratings
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.span_files import TextSpans
from bmx_grid.evaluations.base import MOST_RESAMPLES, OF_PAIR, Estimate, Evaluation, ScoredSetting
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.guests.spans.span_rows import ErrorFreeRow, SpanRow
from bmx_grid.guests.spans.span_scores import read_ratings
from bmx_grid.measures.span_agreement import agreement_with_interval, character_sums, span_sums
from bmx_grid.measures.word_measures import label_measures, statistics
from bmx_grid.measures.word_thresholds import cross_fitted_labels

SEVERE = ("major", "critical")
CHARACTERS = "characters"
MPP = "MPP"
NO_SPAN = "no span"  # the point of an explainer that detects error-free segments itself
FOLDS = 10


@dataclass(frozen=True, kw_only=True)
class SpansEvaluation(Evaluation):
    """Measure how files of error spans agree with human spans, compared with the agreement of people.

    gold: name -> file of human spans. Explanations are compared with each; so is every other one. The annotators of a
    file are compared with each other: the human ceiling. A segment is compared as often as it was judged. TextSpans of
    severity neutral, and those without extent, are in neither.

    A segment is error-free if its human score is at least `error_free_least` and nobody marked an error, including
    omissions (WMT26, task 3). error_free_human: the name of that score; null is the first that begins with "esa". A
    metric, or a boost of it, calls a segment error-free at the threshold that is best on the other folds of the
    language pair; an explainer, if it marks nothing. MCC is undefined if no segment is error-free, or all.

    extra: as of `FileSource`. resamples, seed: of whole clusters, for intervals. Raises ConfigError for a human score
    that is missing.
    """

    SECONDS: ClassVar[float] = 3e-3
    SCOPE: ClassVar[tuple[str, ...]] = OF_PAIR
    QUESTIONS: ClassVar[tuple[str, ...]] = ("bmx_grid.guests.spans.error_spans",)
    ROWS: ClassVar[Mapping[str, type]] = {"spans": SpanRow, "error_free": ErrorFreeRow}

    gold: Mapping[str, str] = identity()
    extra: Literal["refuse", "ignore"] = identity("refuse")
    error_free_human: str | None = identity(None)
    error_free_least: float = identity(85.0)
    resamples: int = identity(1000, least=40, most=MOST_RESAMPLES)
    seed: int = identity(0)

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        if self.gold:
            return ""
        return "compares spans with those of evaluation.spans.gold, which names no file"

    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> list[dict[str, Any]]:
        """Agreement of each explainer in its first setting, of people in the first of all; detection in each."""
        results: list[dict[str, Any]] = [{"spans": [], "error_free": []} for _ in settings]
        first = settings[0]
        golds = {}
        for name, path in self.gold.items():
            ratings = self._read_ratings(name, path, first.segments)
            if ratings is not None:
                golds[name] = ratings
        explained = _ratings_by_place(settings)
        for name, gold in golds.items():
            for place, ratings in explained.items():
                setting = settings[place]
                rows = self._rows(setting, name, setting.explainer_name, "explainer", ratings, gold)
                results[place]["spans"] += rows
            for other, ratings in golds.items():
                results[0]["spans"] += self._rows(first, name, other, "human", ratings, gold)
            for place, setting in enumerate(settings):
                results[place]["error_free"] += self._error_free(setting, name, gold, explained.get(place))
        return results

    def _read_ratings(self, name: str, path: str, segments: SegmentSet) -> Ratings | None:
        """The spans of a file; None if it has none of the language pair."""
        try:
            return read_ratings(name, path, segments, self.extra)
        except DataMissingError:
            return None

    def _rows(
        self, setting: ScoredSetting, gold_name: str, judge: str, kind: str, judged: Ratings, gold: Ratings
    ) -> Iterator[SpanRow]:
        """A row per measure; none if no segment was judged by both. A file with itself: its annotators."""
        characters: list[Floats] = []
        matches: list[Floats] = []
        places = []
        for place, segment in enumerate(setting.segments.segments):
            n_characters = len(segment.hypothesis)
            for rater, predicted_spans in judged[place]:
                predicted = _array(predicted_spans)
                for other, true_spans in gold[place]:
                    # An annotator is not compared with their own spans.
                    if judged is gold and rater == other:
                        continue
                    true = _array(true_spans)
                    characters.append(character_sums(n_characters, predicted, true))
                    matches.append(span_sums(predicted, true))
                    places.append(place)
        if not places:
            return
        clusters = np.asarray(setting.clusters)[places]
        n_segments = len(set(places))
        for measure, sums in ((CHARACTERS, characters), (MPP, matches)):
            values, (low, high) = agreement_with_interval(
                np.array(sums), clusters, resamples=self.resamples, seed=self.seed
            )
            precision, recall, f1 = values.tolist()
            yield SpanRow(
                metric="none",
                explainer=judge,
                gold=gold_name,
                kind=kind,
                measure=measure,
                f1=Estimate(f1, low, high),
                precision=precision,
                recall=recall,
                n_segments=n_segments,
                n_comparisons=len(places),
            )

    def _error_free(
        self, setting: ScoredSetting, name: str, gold: Ratings, spans: Ratings | None
    ) -> Iterator[ErrorFreeRow]:
        """A row per point of the metric, and of the explainer; none without a score of the whole segment."""
        human_name = self._human(setting)
        if human_name is None:
            return
        human = setting.segments.judgements.scores[human_name]
        clusters = np.asarray(setting.clusters)
        judged = np.isfinite(human) & _is_judged(gold)
        is_free = judged & ~_is_marked(gold) & (human >= self.error_free_least)
        is_bad = ~is_free
        for point, scores in setting.points.items():
            known = judged & np.isfinite(scores)
            # Words of one per text: the measures of words are then measures of segments.
            truth = _labels(is_bad[known])
            rows = Ragged.from_rows(setting.direction * scores[known][:, None])
            called, labelled = cross_fitted_labels(truth, rows, clusters[known], folds=FOLDS, seed=self.seed)
            yield self._error_free_row(name, human_name, point, truth.bad, called.bad, labelled, clusters[known])
        if spans is not None:
            known = judged & _is_judged(spans)
            called_bad = _is_marked(spans)[known]
            # Spans need no threshold: no segment is without a label.
            labelled = np.ones(len(called_bad), dtype=np.bool_)
            yield self._error_free_row(name, human_name, NO_SPAN, is_bad[known], called_bad, labelled, clusters[known])

    def _error_free_row(
        self, gold: str, human_name: str, point: str, bad: Flags, called: Flags, labelled: Flags, cluster: Any
    ) -> ErrorFreeRow:
        sums = statistics(_labels(bad[labelled]), _labels(called[labelled]))
        measures = label_measures(sums, cluster[labelled], resamples=self.resamples, seed=self.seed)
        mcc, low, high, *_ = measures["mcc"]
        return ErrorFreeRow(
            gold=gold,
            human_name=human_name,
            point=point,
            mcc=Estimate(mcc, low, high),
            n_segments=len(bad),
            n_error_free=int((~bad).sum()),
            n_unlabelled=int((~labelled).sum()),
        )

    def _human(self, setting: ScoredSetting) -> str | None:
        """The name of the human score that defines error-free segments; None if missing."""
        names = setting.segments.judgements.aspects
        if self.error_free_human is None:
            return next((name for name in names if name.lower().startswith("esa")), None)
        if self.error_free_human not in names:
            wrong = unknown("human score", self.error_free_human, names)
            raise ConfigError(f"evaluation.spans.error_free_human: {setting.segments.language_pair}: {wrong}")
        return self.error_free_human


def _ratings_by_place(settings: Sequence[ScoredSetting]) -> dict[int, Ratings]:
    """The first place of each explainer that is a file of spans, and its spans."""
    explained: dict[int, Ratings] = {}
    seen: set[str] = set()
    for place, setting in enumerate(settings):
        if isinstance(setting.explainer, Imported) and setting.explainer_name not in seen:
            seen.add(setting.explainer_name)
            ratings = setting.explainer.ratings(setting.segments)
            if ratings is not None:
                explained[place] = ratings
    return explained


def _array(spans: TextSpans) -> Ints:
    """int64[n, 3] start, end and whether it is severe, of spans that are not neutral."""
    rows = []
    for span in spans:
        if span.severity != "neutral":
            rows.append((span.start, span.end, span.severity in SEVERE))
    # Without spans, too, there are three columns.
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _is_judged(ratings: Ratings) -> Flags:
    """bool[N] whether anybody judged a segment."""
    return np.array([len(raters) > 0 for raters in ratings], dtype=np.bool_)


def _is_marked(ratings: Ratings) -> Flags:
    """bool[N] whether anybody marked a span in a segment."""
    is_marked = np.zeros(len(ratings), dtype=np.bool_)
    for segment, raters in enumerate(ratings):
        is_marked[segment] = any(spans for _, spans in raters)
    return is_marked


def _labels(bad: Flags) -> Labels:
    """A label per text."""
    offsets = np.arange(len(bad) + 1, dtype=np.int64)
    return Labels(bad, offsets)
