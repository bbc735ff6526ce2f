"""Human scores of error spans: the segments of another data set, judged by the points of the errors in a file.

The weights and the mean over raters are those of mt-metrics-eval (converters/score_mqm.py): major 5, minor 1, neutral
0, a non-translation 25, and a minor error of punctuation 0.1 (Freitag et al. 2021); since WMT23 also 0 for an issue of
the source and for a creative reinterpretation. A rule of WMT26 is not known to this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.identity import RUNTIME, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.long_ratings import mean_ratings
from bmx_grid.datasets.rows_of_files import Ratings, ratings_of
from bmx_grid.datasets.segments import Judgements, SegmentSet
from bmx_grid.datasets.span_files import read_spans
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.words.tags import ErrorSpan

# severity[/category[/subcategory]] -> points; the most specific counts.
OFFICIAL = {
    "major": 5.0,
    "minor": 1.0,
    "neutral": 0.0,
    "major/non-translation": 25.0,
    "minor/fluency/punctuation": 0.1,
    "major/source-issue": 0.0,
    "minor/source-issue": 0.0,
    "major/accuracy/creative-reinterpretation": 0.0,
    "minor/accuracy/creative-reinterpretation": 0.0,
}


@dataclass(frozen=True, kw_only=True)
class SpanScores(DatasetReader):
    """The segments of another data set, whose primary human score is minus the points of the errors that people marked.

    dataset: the name of its option, or {NAME: {key: value}} for other settings. file: of error spans, as `explainer
    imported` reads them; {language_pair} is the pair. aspect: the name of the score. A segment without an error has 0,
    one that nobody judged NaN; of several raters the score is the mean, and each is kept. Other human scores are
    further aspects.
    weights: severity, severity/category or severity/category/subcategory -> points, in addition to the official ones
    or in their place, as {critical: 25}. extra: as of `FileSource`.

    Raises ConfigError for a missing data set or file, and for a weight that is no number of 0 or more.
    """

    dataset: Any = runtime(None)
    file: str | None = runtime(None)
    aspect: str = runtime("mqm")
    weights: Mapping[str, float] = field(default_factory=dict, metadata={"role": RUNTIME})
    extra: Literal["refuse", "ignore"] = runtime("refuse")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, weight in self.weights.items():
            if not 0 <= weight < np.inf:
                raise ConfigError(f"weights.{name} is {weight}; write a number of 0 or more.")

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        return self.language_pairs or self._reader().pairs(data_dir)

    def needs(self, language_pair: str) -> list[str]:
        return self._reader().needs(language_pair) if self.dataset else []

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The segments of the other data set, under the name of this one."""
        segments = replace(self._reader().load_segments(data_dir, language_pair), dataset=self.name)
        if self.file is None:
            raise ConfigError(f"dataset.{self.name}: no file of error spans is named; write dataset.{self.name}.file.")
        ratings = read_ratings(self.name, self.file, segments, self.extra)
        by_rater = self._points_per_rater(ratings, self.file)
        judgements = segments.judgements
        scores = {name: values for name, values in judgements.scores.items() if name != self.aspect}
        raters = {name: values for name, values in judgements.raters.items() if name != self.aspect}
        systems = {name: values for name, values in judgements.systems.items() if name != self.aspect}
        judged = Judgements(
            {self.aspect: mean_ratings(by_rater), **scores},
            {self.aspect: by_rater, **raters} if by_rater.shape[1] > 1 else raters,
            systems,
            judgements.tags,
        )
        return replace(segments, judgements=judged)

    def _reader(self) -> DatasetReader:
        """The reader of the other data set."""
        where = f"dataset.{self.name}.dataset"
        entry = self.dataset if isinstance(self.dataset, Mapping) else {self.dataset: {}}
        if not self.dataset or len(entry) != 1:
            raise ConfigError(
                f"{where}: no data set is named; write the name of an option, or {{NAME: {{key: value}}}}, as "
                f"{where}={{tabular:{{path:my.tsv}}}}."
            )
        ((name, settings),) = entry.items()
        return build({**load_option("dataset", str(name)), **(settings or {})}, DatasetReader, where)

    def _points_per_rater(self, ratings: Ratings, path: str) -> Floats:
        """float64[N, raters] minus the points of each rater, in the order of their first segment; NaN if unjudged."""
        weights = {**OFFICIAL, **{_normal(name): weight for name, weight in self.weights.items()}}
        places: dict[tuple[str, int], int] = {}
        rows = []
        for judged in ratings:
            row: dict[int, float] = {}
            times = Counter[str]()
            for rater, spans in judged:
                # Somebody who judged a text twice has two columns.
                place = places.setdefault((rater, times[rater]), len(places))
                times[rater] += 1
                row[place] = 0.0 - sum(self._points(span, weights, path) for span in spans)
            rows.append(row)
        scores = np.full((len(ratings), len(places)), np.nan)
        for number, row in enumerate(rows):
            for place, score in row.items():
                scores[number, place] = score
        return scores

    def _points(self, span: ErrorSpan, weights: Mapping[str, float], path: str) -> float:
        """The points of an error: of the most specific weight. Raises DataError for a severity without one."""
        parts = _normal(f"{span.severity}/{span.category}").split("/")
        for count in range(len(parts), 0, -1):
            weight = weights.get("/".join(parts[:count]))
            if weight is not None:
                return weight
        raise DataError(
            f"{path}: the severity {span.severity!r} has no official weight; write "
            f"dataset.{self.name}.weights={{{span.severity}: POINTS}}."
        )


def read_ratings(name: str, path: str, segments: SegmentSet, extra: Literal["refuse", "ignore"]) -> Ratings:
    """The spans of a file by segment and rater.

    name: of the option, for messages. Raises DataMissingError if the file has none of the language pair.
    """
    option = Imported(name=name, file=path, language_pairs=(segments.language_pair,), extra=extra)
    (path_found,) = option.paths(segments).values()
    file = read_spans(path_found)
    # A file that names the language pair of its rows may contain further pairs.
    if "language_pair" in file.rows:
        option = replace(option, language_pairs=())
    return ratings_of(file, segments, option)


def _normal(category: str) -> str:
    """A category as all files write it: some have Non_translation!, others non-translation."""
    return category.lower().replace("_", "-").rstrip("!/ ").replace(" ", "-")
