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
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid_resampling import FOLDS_PLACE, to_scale
from bmx_grid.measures.nuisance import PER_TERM, donors, levels
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, dealt, number_of
from bmx_grid.words.statistics import text_statistics

FOLDS = 10
# What a boost is made of in place of the attributions, to see what it gains then.
REASSIGNED = "reassigned"
SHUFFLED = "shuffled"
REASSIGNED_PLACE = 2  # in the seed


@dataclass(frozen=True, eq=False)
class Rated:
    """The n judged of N segments of a language pair.

    base, human: float64[n], finite; log_words: float64[n, k] of the texts that are read; clusters: int64[n] codes,
    the same for a cluster in every language pair that chooses together with this one; items: int64[n] codes of the
    segment ids, which translations of one source share; terms: float64[n, t] what else is no explanation, such as the
    level of a system or the frequency of words; fold_of: int64[n]; used: bool[N] which segments these are.
    """

    base: Floats
    human: Floats
    log_words: Floats
    clusters: Ints
    items: Ints
    terms: Floats
    fold_of: Ints
    used: Flags


def rated_of(
    kind: Kind,
    base: Floats,
    human: Floats,
    log_words: Floats,
    clusters: NDArray[Any],
    items: NDArray[Any],
    terms: Floats,
    used: Flags,
    seed: int,
) -> Rated:
    """The segments where bool[N] `used` is true, of arrays of N; labels of clusters and items.

    seed: of folds, which are dealt among the same segments.
    """
    clusters_of_used = codes(clusters[used])
    return Rated(
        base=base[used],
        human=human[used],
        log_words=log_words[used],
        clusters=clusters_of_used,
        items=codes(items[used]),
        terms=terms[used],
        fold_of=folds_of(kind, base[used], human[used], clusters_of_used, seed),
        used=used,
    )


def terms_of(
    groups: Sequence[NDArray[Any]], texts: Sequence[Sequence[Sequence[str]]], clusters: NDArray[Any]
) -> Floats:
    """float64[N, t] terms for what is no explanation: levels of named groups, and what the texts are like.

    groups: N names each, of systems, raters or domains; texts: of each side N rows of words; clusters: N labels.
    Each PER_TERM clusters allow one term of the texts, those of all sides in turn.
    """
    cluster_codes = codes(clusters)
    columns_of_groups = [levels(names) for names in groups]
    columns_of_sides = [text_statistics(rows, cluster_codes).T for rows in texts]
    # In turn, so that few clusters leave terms of every side.
    in_turn: list[Floats] = []
    for columns in zip(*columns_of_sides, strict=True):
        in_turn += columns
    most_terms = number_of(cluster_codes) // PER_TERM
    # `column_stack` cannot make an array of no columns.
    no_columns = np.empty((len(clusters), 0))
    return np.column_stack([no_columns, *columns_of_groups, *in_turn[:most_terms]])


def folds_of(kind: Kind, base: Floats, human: Floats, unit: Ints, seed: int) -> Ints:
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
    # Each name once: `isin` sorts what it looks for.
    known = [list(set(names)) for names in clusters]
    free = []
    for place, names in enumerate(known):
        free_of_names = {}
        for other, labels_of_other in enumerate(labels):
            if other != place:
                shared = np.isin(labels_of_other, names)
                free_of_names[other] = ~shared
        free.append(free_of_names)
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
