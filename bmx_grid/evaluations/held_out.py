"""Boosts fitted on some segments and applied to others: judged segments, folds, reassigned attributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.boosts.base import Fit, Fitted, Part
from bmx_grid.core.identity import digest
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.datasets.segments import Segment
from bmx_grid.measures.correlation import Coefficient, Kind, correlate
from bmx_grid.measures.grid_resampling import FOLDS_PLACE, to_scale
from bmx_grid.measures.kernel_ridge import Nuisance, standardise
from bmx_grid.measures.nuisance import donors
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, dealt, number_of
from bmx_grid.words.segmentation import log_words as log_words_of
from bmx_grid.words.segmentation import text_statistics

FOLDS = 10
REASSIGNED_PLACE = 2  # in the seed
KEPT_TEXT_CELLS = 2**23  # texts x statistics that are kept: 64 MiB
TIED_DIGITS = 9  # of score and lengths; closer ones are equal
# Outputs are compared within sources if so many sources have several, which are at least this share of the segments;
# within documents if most segments share theirs.
FEWEST_SOURCES = 30
LEAST_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Rated:
    """The n judged of N segments of a language pair.

    base, human: float64[n], finite; log_words: float64[n, k] of the texts that are read; clusters: int64[n] codes,
    the same for a cluster in every language pair that chooses together with this one; items: int64[n] codes of the
    segment ids, which translations of one source share; nuisance: what may explain human scores and is no explanation;
    fold_of: int64[n]; used: bool[N] which segments these are.
    """

    base: Floats
    human: Floats
    log_words: Floats
    clusters: Ints
    items: Ints
    nuisance: Nuisance
    fold_of: Ints
    used: Flags


def rated_of(
    kind: Coefficient,
    base: Floats,
    human: Floats,
    log_words: Floats,
    clusters: NDArray[Any],
    nuisance: Nuisance,
    used: Flags,
    seed: int,
    items: NDArray[Any] | None = None,
    kind_of: Any = Rated,
    **more: Any,
) -> Any:
    """The segments where bool[N] `used` is true, of arrays of N; labels of clusters and items.

    seed: of folds, which are dealt among the same segments. items: each segment its own if None. kind_of: a class of
    `Rated`, and more: its further fields.
    """
    clusters_of_used = codes(clusters[used])
    items = np.arange(len(base)) if items is None else items
    return kind_of(
        base=base[used],
        human=human[used],
        log_words=log_words[used],
        clusters=clusters_of_used,
        items=codes(items[used]),
        nuisance=nuisance.take(np.flatnonzero(used)),
        fold_of=folds_of(kind, base[used], human[used], clusters_of_used, seed),
        used=used,
        **more,
    )


def nuisance_of(
    base: Floats,
    log_words: Floats,
    texts: Sequence[Sequence[Sequence[str]]],
    groups: Sequence[NDArray[Any]],
    clusters: NDArray[Any],
    strata: Ints | None = None,
    unread: Sequence[Sequence[Sequence[str]]] = (),
) -> Nuisance:
    """What may explain human scores and is no explanation, of all N segments.

    base: float64[N], NaN where the metric has no score; log_words: float64[N, k] of the texts that are read, the
    hypothesis last; texts, unread: of each text that the metric reads, and of the others, N rows of words; groups: N
    names each, of systems, raters or domains; clusters: N labels; strata: int64[N] (`strata_of`).
    """
    score = np.full(len(base), np.nan)
    known = np.isfinite(base)
    if known.any():
        score[known] = standardise(base[known, None])[:, 0]
    inputs = [score, *log_words.T]
    # The ratio of lengths is a direction of its own to a learner that sees distances along the axes.
    for other in log_words.T[:-1]:
        inputs.append(log_words[:, -1] - other)
    # Rounding must not decide which of two equal inputs is larger.
    core = np.round(np.column_stack(inputs), TIED_DIGITS)
    cluster_codes = codes(clusters)
    statistics = [_statistics_of(rows, cluster_codes) for rows in (*texts, *unread)]
    for rows in unread:
        statistics.append(log_words_of(np.array([len(words) for words in rows])))
    # `column_stack` cannot make an array of no columns.
    columns = np.column_stack([np.empty((len(base), 0)), *statistics])
    group_codes = tuple(codes(names) for names in groups if has_groups(names))
    return Nuisance(core, columns, group_codes, strata)


_kept_statistics: dict[str, Floats] = {}


def _statistics_of(rows: Sequence[Sequence[str]], clusters: Ints) -> Floats:
    """`text_statistics`; those of the last texts are kept, for the metrics, explainers and boosts that follow."""
    key = digest([ascii(rows), clusters.tolist()])
    if key not in _kept_statistics:
        _kept_statistics[key] = text_statistics(rows, clusters)
        # Dictionaries keep their order: the oldest goes first, but never the newest.
        while len(_kept_statistics) > 1 and sum(kept.size for kept in _kept_statistics.values()) > KEPT_TEXT_CELLS:
            del _kept_statistics[next(iter(_kept_statistics))]
    return _kept_statistics[key]


def has_groups(names: NDArray[Any]) -> bool:
    """Whether most segments share their system, rater, domain or document with another one, and not all one."""
    _, sizes = np.unique(names, return_counts=True)
    return len(sizes) > 1 and 2 * sizes[sizes > 1].sum() >= len(names)


def strata_of(segments: Sequence[Segment], clusters: NDArray[Any], used: Flags) -> Ints | None:
    """int64[N] codes of the sources or documents within which scores are compared; None to compare all segments.

    Sources, if enough of the used segments are outputs for a source that has several: else what attributions know of
    the difficulty of a source would count as knowledge of its outputs. Else documents, if most segments share theirs.
    clusters: N labels.
    """
    names = [segment.id for segment in segments]
    # Rows of a table may be numbered: then outputs for one source have its text in common.
    if len(set(names)) == len(names):
        names = [segment.source or segment.id for segment in segments]
    # A stratum lies in one cluster: an id, or a text of one word, may occur in several.
    sources = np.array([f"{cluster} {name}" for cluster, name in zip(clusters, names, strict=True)])
    sizes = np.bincount(codes(sources[used]))
    several = sizes[sizes > 1]
    if len(several) >= FEWEST_SOURCES and several.sum() >= LEAST_SHARE * sizes.sum():
        return codes(sources)
    documents = np.array([segment.document or f"\0{row}" for row, segment in enumerate(segments)])
    if used.any() and has_groups(documents[used]):
        return codes(documents)
    return None


def folds_of(kind: Coefficient, base: Floats, human: Floats, unit: Ints, seed: int) -> Ints:
    """int64[n] which of ten folds each segment is in, those of the grid; 0 where nothing is cross-fitted."""
    if number_of(unit) < FEWEST_CLUSTERS or math.isnan(correlate(kind, base, human)):
        return np.zeros(len(base), dtype=np.int64)
    generator = np.random.default_rng([seed, FOLDS_PLACE])
    return dealt(unit, FOLDS, generator)


def free_of_each(clusters: Sequence[Sequence[str]]) -> list[dict[int, Flags]]:
    """For each of L language pairs the others by number: bool[N] which of their segments are in none of its clusters.

    clusters: N labels of each language pair.
    """
    labels = [np.asarray(names, dtype=np.str_) for names in clusters]
    free: list[dict[int, Flags]] = []
    for names in clusters:
        # Each name once: `isin` sorts what it looks for.
        known = list(set(names))
        place = len(free)
        free.append({other: ~np.isin(labels[other], known) for other in range(len(labels)) if other != place})
    return free


def chosen(kind: Kind, fit: Fit, selection: Sequence[tuple[Rated, Floats, Flags]]) -> Fitted:
    """What is best on some segments of language pairs, which count the same.

    selection: each with its features float64[n, k], and bool[n] which of its segments choose. Pairs on which the
    correlation of the metric is undefined have no say.
    """
    parts = []
    for rated, features, rows in selection:
        base = rated.base[rows]
        human = rated.human[rows]
        clusters = rated.clusters[rows]
        # Features are large: no copy where all choose.
        columns = features if rows.all() else features[rows]
        part = Part(base, columns, human, clusters)
        if part.decides and np.ptp(part.base) > 0:
            parts.append(part)
    return fit(kind, parts)


def cross_fitted(kind: Kind, fit: Fit, rated: Rated, features: Floats) -> Floats:
    """float64[n] each segment with what is best on the folds it is not in; NaN with one fold.

    Scores of a fold are brought to the mean and spread of the metric alone, so that folds are comparable.
    """
    scores = np.full(len(rated.base), np.nan)
    n_folds = number_of(rated.fold_of)
    # One fold stands for none: nothing is cross-fitted there.
    if n_folds < 2:
        return scores
    for fold in range(n_folds):
        inside = rated.fold_of == fold
        fitted = chosen(kind, fit, [(rated, features, ~inside)])
        boosted = fitted.scores(rated.base, features)
        # The scale is that of all segments: a fold alone may have another mean and spread.
        scaled = to_scale(boosted, rated.base)
        scores[inside] = scaled[inside]
    return scores


def reassignments(n_words: Ints, clusters: Ints, draws: int, seed: int) -> tuple[Ints, ...]:
    """int64[n] for each draw, which of n judged segments each gets its attributions from (`nuisance.donors`).

    n_words: int64[n]; clusters: int64[n] codes from 0. Drawn from the seed and from these, so that the same segments
    have the same ones in every sweep and in `bmx_grid.boost`.
    """
    # A seed of the content alone, whatever else is in the sweep: 64 bits of its digest.
    content = digest([n_words.tolist(), clusters.tolist()])
    seed_of_content = int(content[:16], 16)
    drawn = []
    for draw in range(draws):
        generator = np.random.default_rng([seed, seed_of_content, REASSIGNED_PLACE, draw])
        drawn.append(donors(n_words, clusters, generator))
    return tuple(drawn)
