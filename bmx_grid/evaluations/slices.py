"""Parts of a language pair by a column: correlations and gains of each domain, system, length or level of a score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.evaluations.base import BASE, NOTHING, Estimate, ScoredSetting, SettingRow
from bmx_grid.measures.correlation import FEWEST, correlate
from bmx_grid.measures.correlations_of_resamples import resampled_correlations
from bmx_grid.measures.multiple_tests import LEVEL, holm, seed_of_repeats, select_repeats
from bmx_grid.measures.paired_tests import compare
from bmx_grid.measures.resampling import codes, interval, number_of
from bmx_grid.words.perturbation import Role

NAMED = ("domain", "system", "document", "rater")  # of a segment
LENGTHS: Mapping[str, Role] = {"length": "hypothesis", "source_length": "source"}
LENGTH_BINS = 4
SCORE_BINS = 3
MOST_VALUES = 10  # most values of a score that is sliced by value
Verdict = Literal["gain", "loss", "no gain shown", "undefined", "baseline"]
Labels = NDArray[np.object_]


@dataclass(frozen=True)
class SliceRow(SettingRow):
    """One row of slices.parquet: a point on the segments that share a value of a column.

    by: the column; slice: the value. point: "base" or the name of a boosted point; human: the primary human score.
    value: Pearson's r, with the metric's own sign; gain: above the baseline, turned so that more is better, on the
    segments that have both; NaN for the baseline. p: two-sided, of a permutation of clusters between both; p_holm:
    corrected for all gains of slices of the sweep, which are one family. verdict: "gain" or "loss" at p_holm of .05,
    else "no gain shown"; "baseline" for the baseline.
    n_segments, n_clusters: numbers of segments with both scores, and of their clusters; n_unnamed: rated segments of
    the language pair in no slice.
    """

    KEY = ("by", "slice", "point", "human")

    by: str
    slice: str
    point: str
    human: str
    value: Estimate
    gain: Estimate
    n_segments: int
    n_clusters: int
    n_unnamed: int
    p: float = math.nan
    p_holm: float = math.nan
    verdict: Verdict = "undefined"


@dataclass(frozen=True, eq=False)
class Slice:
    """The segments of a setting that share a value; rows: their positions."""

    setting: ScoredSetting = field(repr=False)
    by: str
    name: str
    rows: NDArray[np.int64]
    n_unnamed: int

    def row(self, point: str, drawn: Mapping[str, int]) -> SliceRow:
        """The row of a point, without a correction."""
        scores, human, clusters = self._select_rows(self.setting.points[point])
        used = np.isfinite(scores) & np.isfinite(human)
        labels = codes(clusters[used])
        value = NOTHING
        if used.sum() >= FEWEST:
            value = _correlation(scores[used], human[used], labels, drawn)
        row = SliceRow(
            by=self.by,
            slice=self.name,
            point=point,
            human=self.setting.segments.judgements.primary,
            value=value,
            gain=NOTHING,
            n_segments=int(used.sum()),
            n_clusters=number_of(labels),
            n_unnamed=self.n_unnamed,
        )
        if point == BASE:
            return replace(row, verdict="baseline")
        if row.n_segments < FEWEST:
            return row
        found = self.compare_point(point, **drawn)
        p = found.p if drawn["resamples"] else math.nan
        return replace(row, gain=Estimate(found.difference, found.low, found.high), p=p)

    def compare_point(self, point: str, **drawn: Any) -> Any:
        """A point against the baseline (`paired_tests.compare`)."""
        direction = self.setting.direction
        boosted, human, clusters = self._select_rows(self.setting.points[point])
        base, _, _ = self._select_rows(self.setting.points[BASE])
        return compare(direction * boosted, direction * base, human, clusters, **drawn)

    def _select_rows(self, scores: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Scores, human scores and clusters of the segments."""
        human = self.setting.segments.human_scores
        return scores[self.rows], human[self.rows], self.setting.codes.clusters[self.rows]


def check_columns(by: Sequence[str], sets: Sequence[SegmentSet]) -> None:
    """Raise ConfigError for a column that no data set has, or that is the human score which judges."""
    for name in by:
        if all(name == segments.judgements.primary for segments in sets):
            raise ConfigError(
                f"evaluation.levels.by: '{name}' is the human score that judges metrics, so its slices would select "
                "on the outcome; name another column."
            )
        if not any(name in columns_of_set(segments) for segments in sets):
            known = sorted({column for segments in sets for column in columns_of_set(segments)})
            raise ConfigError("evaluation.levels.by: " + unknown("column", name, known))


def columns_of_set(segments: SegmentSet) -> list[str]:
    """The columns by which a set can be sliced."""
    columns = [name for name in NAMED if any(getattr(segment, name) is not None for segment in segments.segments)]
    columns += [name for name, role in LENGTHS.items() if segments.has(role)]
    columns += [name for name in segments.judgements.aspects[1:] if name not in columns]
    return columns


def slices_of(setting: ScoredSetting, by: str) -> Iterator[Slice]:
    """The slices of a column in the order of its values; none if the data have no such column."""
    labels, names = _labels(setting, by)
    rated = np.isfinite(setting.segments.human_scores)
    n_unnamed = int((rated & np.array([label is None for label in labels], dtype=np.bool_)).sum())
    for name in names:
        yield Slice(setting, by, name, np.flatnonzero(labels == name), n_unnamed)


def slice_rows(setting: ScoredSetting, by: Sequence[str], drawn: Mapping[str, int]) -> list[SliceRow]:
    """The rows of all slices and points of a setting, not yet corrected; drawn: resamples and seed."""
    rows = []
    for name in by:
        for part in slices_of(setting, name):
            rows += [part.row(point, drawn) for point in setting.points]
    return rows


def correct_p_values(rows: Sequence[tuple[ScoredSetting, SliceRow]], resamples: int, seed: int) -> Iterator[SliceRow]:
    """The rows of a sweep with p values corrected as one family, and verdicts.

    In a large family, tests near their smallest p are done again with more resamples (`select_repeats`).
    """
    p = np.array([row.p for _, row in rows], dtype=np.float64)
    if resamples:
        repeated, count = select_repeats(p, resamples)
        drawn = {"resamples": count, "seed": seed_of_repeats(seed), "bootstrap": False}
        for place in np.flatnonzero(repeated).tolist():
            setting, row = rows[place]
            (part,) = (found for found in slices_of(setting, row.by) if found.name == row.slice)
            p[place] = part.compare_point(row.point, **drawn).p
    for (_, row), value, adjusted in zip(rows, p.tolist(), holm(p).tolist(), strict=True):
        yield replace(row, p=value, p_holm=adjusted, verdict=_verdict(row, adjusted))


def _verdict(row: SliceRow, p_holm: float) -> Verdict:
    if row.point == BASE:
        return "baseline"
    if math.isnan(p_holm):
        return "undefined"
    if p_holm > LEVEL:
        return "no gain shown"
    return "gain" if row.gain.value > 0 else "loss"


def _correlation(scores: Floats, human: Floats, clusters: Any, drawn: Mapping[str, int]) -> Estimate:
    """Pearson's r with its interval."""
    r = correlate("pearson", scores, human)
    resamples = drawn["resamples"] if math.isfinite(r) else 0
    (samples,) = resampled_correlations("pearson", scores[:, None], human, clusters, resamples, drawn["seed"])
    low, high = interval(samples, number_of(clusters))
    return Estimate(r, low, high)


def _labels(setting: ScoredSetting, by: str) -> tuple[Labels, list[str]]:
    """object[N] the slice of each segment, None for one in no slice; and the slices in order."""
    segments = setting.segments
    if by in LENGTHS:
        if not segments.has(LENGTHS[by]):
            return _none(len(segments)), []
        words = setting.segment_words(LENGTHS[by])
        counts = np.array([len(row) for row in words], dtype=np.float64)
        return _bin_values(counts, LENGTH_BINS, "{} words")
    if by in NAMED:
        labels = np.array([getattr(segment, by) for segment in segments.segments] or [None], dtype=object)
        labels = labels[: len(segments)]
        return labels, _sorted_labels(labels.tolist())
    scores = segments.judgements.scores.get(by)
    if scores is None or by == segments.judgements.primary:
        return _none(len(segments)), []
    return _bin_values(scores, SCORE_BINS, "{}")


def _none(count: int) -> Labels:
    return np.full(count, None, dtype=object)


def _sorted_labels(labels: Iterable[str | None]) -> list[str]:
    return sorted({label for label in labels if label is not None})


def _bin_values(values: Floats, bins: int, form: str) -> tuple[Labels, list[str]]:
    """The range of each value among so many of nearly equal sizes; a few values are a slice each. NaN is in none."""
    known = values[np.isfinite(values)]
    distinct = np.unique(known)
    labels = _none(len(values))
    names = []
    edges = distinct
    if len(distinct) > MOST_VALUES:
        # The first value of each bin; equal values are never divided.
        shares = np.arange(bins) / bins
        edges = np.unique(np.quantile(known, shares, method="higher"))
    for low, high in zip(edges, [*edges[1:], math.inf], strict=True):
        inside = (values >= low) & (values < high)
        last = values[inside].max()
        name = form.format(f"{low:g}" if low == last else f"{low:g} to {last:g}")
        labels[inside] = name
        names.append(name)
    return labels, names
