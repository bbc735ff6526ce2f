"""Error spans against people's, and error-free segments told from others: WMT25's task 2, MPP, and WMT26's task 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError, DataMissingError, unknown
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Flags, Floats, Ints, Labels, Ragged
from bmx_grid.datasets.rated_spans import Ratings, ratings_of
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.span_files import TextSpans, read_spans
from bmx_grid.evaluations.base import MOST_RESAMPLES, OF_PAIR, Estimate, Evaluation, Finished
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.guests.spans.span_rows import ErrorFreeRow, SpanRow
from bmx_grid.measures.span_agreement import agreement_with_interval, character_sums, span_sums
from bmx_grid.measures.word_measures import cross_fitted_labels, label_measures, statistics

SEVERE = ("major", "critical")
CHARACTERS = "characters"
MPP = "MPP"
NO_SPAN = "no span"  # the point of an explainer that says by itself which segments are error-free
FOLDS = 10


@dataclass(frozen=True, kw_only=True)
class SpansEvaluation(Evaluation):
    """How explainers that are files of error spans agree with people's spans, beside how people agree.

    gold: name -> file of human spans. Explanations are compared with each; so is every other one, and of a file with
    several annotators each of them with the others: the human ceiling. A segment is compared as often as it was judged.
    TextSpans of severity neutral, and those without extent, are in neither.

    Error-free is a segment with a human score of `error_free_least` or more in which nobody marked an error, an
    omission among them (WMT26, task 3). error_free_human: the name of that score; null is the first that begins with
    "esa". A metric, or a boost of it, calls a segment error-free at the threshold that is best on the other folds of
    the language pair; an explainer, where it marks nothing. MCC is undefined where no segment is error-free, or all.

    extra: as of `FromFile`. resamples, seed: of whole clusters, for intervals. Raises ConfigError for a human
    score that is not there.
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
        return "" if self.gold else "compares spans with those of evaluation.spans.gold, which names no file"

    def of_scope(self, settings: Sequence[Finished]) -> list[dict[str, Any]]:
        """Agreement of each explainer in its first setting, of people in the first of all; detection in each."""
        results: list[dict[str, Any]] = [{"spans": [], "error_free": []} for _ in settings]
        first = settings[0]
        golds = {}
        for name, path in self.gold.items():
            ratings = self._read(name, path, first.segments)
            if ratings is not None:
                golds[name] = ratings
        explained = _explained(settings)
        for name, gold in golds.items():
            for place, ratings in explained.items():
                row = self._rows(settings[place], name, settings[place].explainer_name, "explainer", ratings, gold)
                results[place]["spans"] += row
            for other, ratings in golds.items():
                results[0]["spans"] += self._rows(first, name, other, "human", ratings, gold)
        for name, gold in golds.items():
            for place, setting in enumerate(settings):
                results[place]["error_free"] += self._error_free(setting, name, gold, explained.get(place))
        return results

    def _read(self, name: str, path: str, segments: SegmentSet) -> Ratings | None:
        """The spans of a file; None where it has none of the language pair."""
        option = Imported(name=name, file=path, language_pairs=(segments.language_pair,), extra=self.extra)
        try:
            (found,) = option.paths(segments).values()
            file = read_spans(found)
            if "language_pair" in file.rows:
                option = replace(option, language_pairs=())
            return ratings_of(file, segments, option)
        except DataMissingError:
            return None

    def _rows(
        self, setting: Finished, gold_name: str, judge: str, kind: str, judged: Ratings, gold: Ratings
    ) -> Iterator[SpanRow]:
        """A row per measure; none where no segment was judged by both. A file with itself: its annotators."""
        sums: dict[str, list[Floats]] = {CHARACTERS: [], MPP: []}
        places = []
        for place, segment in enumerate(setting.segments.segments):
            for rater, predicted in judged[place]:
                for other, true in gold[place]:
                    if judged is gold and rater == other:
                        continue
                    both = (_array(predicted), _array(true))
                    sums[CHARACTERS].append(character_sums(len(segment.hypothesis), *both))
                    sums[MPP].append(span_sums(*both))
                    places.append(place)
        if not places:
            return
        clusters = np.asarray(setting.clusters)[places]
        for measure, of_measure in sums.items():
            drawn = {"resamples": self.resamples, "seed": self.seed}
            values, ends = agreement_with_interval(np.array(of_measure), clusters, **drawn)
            precision, recall, f1 = values.tolist()
            names = ("none", judge, gold_name, kind, measure)
            yield SpanRow(*names, Estimate(f1, *ends), precision, recall, len(set(places)), len(places))

    def _error_free(self, setting: Finished, name: str, gold: Ratings, spans: Ratings | None) -> Iterator[ErrorFreeRow]:
        """A row per point of the metric, and of the explainer; none without a score of the whole segment."""
        human_name = self._human(setting)
        if human_name is None:
            return
        human = setting.segments.judgements.scores[human_name]
        unmarked = np.array([not any(marked for _, marked in raters) for raters in gold])
        judged = np.isfinite(human) & np.array([bool(raters) for raters in gold])
        is_free = judged & unmarked & (human >= self.error_free_least)
        for point, scores in setting.points.items():
            known = judged & np.isfinite(scores)
            cluster = np.asarray(setting.clusters)[known]
            truth = _labels(~is_free[known])
            rows = Ragged.from_rows(setting.direction * scores[known][:, None])
            called, labelled = cross_fitted_labels(truth, rows, cluster, folds=FOLDS, seed=self.seed)
            yield self._detected(name, human_name, point, truth.bad, called.bad, labelled, cluster)
        if spans is not None:
            known = judged & np.array([bool(raters) for raters in spans])
            marked = np.array([any(found for _, found in raters) for raters in spans])
            everyone = np.ones(int(known.sum()), dtype=np.bool_)
            cluster = np.asarray(setting.clusters)[known]
            yield self._detected(name, human_name, NO_SPAN, ~is_free[known], marked[known], everyone, cluster)

    def _detected(
        self, gold: str, human_name: str, point: str, bad: Flags, called: Flags, labelled: Flags, cluster: Any
    ) -> ErrorFreeRow:
        sums = statistics(_labels(bad[labelled]), _labels(called[labelled]))
        drawn = {"resamples": self.resamples, "seed": self.seed}
        mcc, low, high, *_ = label_measures(sums, cluster[labelled], **drawn)["mcc"]
        counts = (len(bad), int((~bad).sum()), int((~labelled).sum()))
        return ErrorFreeRow(gold, human_name, point, Estimate(mcc, low, high), *counts)

    def _human(self, setting: Finished) -> str | None:
        names = setting.segments.judgements.aspects
        if self.error_free_human is None:
            return next((name for name in names if name.lower().startswith("esa")), None)
        if self.error_free_human not in names:
            wrong = unknown("human score", self.error_free_human, names)
            raise ConfigError(f"evaluation.spans.error_free_human: {setting.segments.language_pair}: {wrong}")
        return self.error_free_human


def _explained(settings: Sequence[Finished]) -> dict[int, Ratings]:
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
    """int64[n, 3] of `measures.spans`."""
    rows = [(span.start, span.end, span.severity in SEVERE) for span in spans if span.severity != "neutral"]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _labels(bad: Flags) -> Labels:
    """A label per text."""
    return Labels(bad, np.arange(len(bad) + 1, dtype=np.int64))
