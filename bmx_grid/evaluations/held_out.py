"""Boosts fitted on some segments and applied to others: other folds, other language pairs, other data sets."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.boosts.base import Candidate, Fitted, Part
from bmx_grid.evaluations.base import Floats
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grid_resampling import FOLDS as FOLDS_PLACE
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, dealt, number_of

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FOLDS = 10


@dataclass(frozen=True, eq=False)
class Rated:
    """The n judged of N segments of a language pair.

    base, human: float64[n], finite; log_words: float64[n, k] of the texts that are read; clusters: int64[n] codes,
    the same for a cluster in every language pair that chooses together with this one; items: int64[n] codes of the
    segment ids, which translations of one source share; fold_of: int64[n]; used: bool[N] which segments these are.
    """

    base: Floats
    human: Floats
    log_words: Floats
    clusters: Ints
    items: Ints
    fold_of: Ints
    used: Flags


def rated_of(
    kind: Kind,
    base: Floats,
    human: Floats,
    log_words: Floats,
    clusters: NDArray[Any],
    items: NDArray[Any],
    used: Flags,
    seed: int,
) -> Rated:
    """The segments where bool[N] `used` is true, of arrays of N; clusters, items: labels. seed: of ten folds."""
    base, human, unit = base[used], human[used], codes(clusters[used])
    return Rated(base, human, log_words[used], unit, codes(items[used]), folds_of(kind, base, human, unit, seed), used)


def folds_of(kind: Kind, base: Floats, human: Floats, unit: Ints, seed: int) -> Ints:
    """int64[n] which of ten folds each segment is in, those of the grid; 0 where nothing is cross-fitted."""
    if number_of(unit) < FEWEST_CLUSTERS or math.isnan(correlate(kind, base, human)):
        return np.zeros(len(base), dtype=np.int64)
    return dealt(unit, FOLDS, np.random.default_rng([seed, FOLDS_PLACE]))


def free_of_each(clusters: Sequence[Sequence[str]]) -> list[dict[int, Flags]]:
    """For each of L language pairs the others by number: bool[N] which of their segments are in none of its clusters.

    clusters: N labels of each language pair.
    """
    labels, known = [np.asarray(own, dtype=np.str_) for own in clusters], [list(set(own)) for own in clusters]
    return [
        {other: ~np.isin(of, own) for other, of in enumerate(labels) if other != at} for at, own in enumerate(known)
    ]


def other_folds(count: int) -> str:
    """Where the point of each of so many folds was chosen, in words."""
    count = max(count, 1)
    return f"the other {count - 1} of {count} folds"


@dataclass(frozen=True, eq=False)
class Held:
    """scores: float64[n] boosted, NaN where nothing was chosen; fitted: what was chosen, one for each part of the
    segments; chosen_on: in words."""

    scores: Floats
    fitted: tuple[Fitted, ...]
    chosen_on: str

    @property
    def abstained(self) -> float:
        """The share of choices that are "do not boost"; NaN without one."""
        return float(np.mean([fitted.abstains for fitted in self.fitted])) if self.fitted else math.nan

    @property
    def constants(self) -> str:
        """The numbers of a single choice as JSON; "" where several parts have their own."""
        return json.dumps(self.fitted[0].constants(), allow_nan=False) if len(self.fitted) == 1 else ""


def chosen(kind: Kind, candidate: Candidate, selection: Sequence[tuple[Rated, Floats, Flags]]) -> Fitted:
    """What is best on some segments of language pairs, which count the same.

    selection: each with its features float64[n, k], and bool[n] which of its segments choose. Pairs on which the
    correlation of the metric is undefined have no say.
    """
    parts = [
        Part(rated.base[rows], features if rows.all() else features[rows], rated.human[rows], rated.clusters[rows])
        for rated, features, rows in selection
    ]
    return candidate.fit(kind, [part for part in parts if part.decides and np.ptp(part.base) > 0])


def cross_fitted(kind: Kind, candidate: Candidate, rated: Rated, features: Floats) -> Held:
    """Each segment with what is best on the folds it is not in; with one fold nothing is defined.

    Scores of a fold are brought to the mean and spread of the metric alone, so that folds are comparable.
    """
    scores, fitted, count = np.full(len(rated.base), np.nan), [], number_of(rated.fold_of)
    for fold in range(count) if count > 1 else ():
        inside = rated.fold_of == fold
        fitted.append(chosen(kind, candidate, [(rated, features, ~inside)]))
        scores[inside] = to_scale(fitted[-1].scores(rated.base, features), rated.base)[inside]
    return Held(scores, tuple(fitted), other_folds(count))


def on_others(
    kind: Kind,
    candidate: Candidate,
    names: Sequence[str],
    rated: Sequence[Rated],
    features: Sequence[Floats],
    free: Sequence[Mapping[int, Flags]],
) -> list[Held | None]:
    """Each of L language pairs with what is best on others, without its clusters.

    names, rated, features: of the pairs; free: for each pair, by the number of those that choose for it, bool[N] which
    of their segments do. None where no other pair has a defined correlation.
    """
    made: list[Held | None] = []
    for judged, own, choosing in zip(rated, features, free, strict=True):
        others = {at: rows[rated[at].used] for at, rows in choosing.items()}
        known = [
            at
            for at, rows in others.items()
            if math.isfinite(correlate(kind, rated[at].base[rows], rated[at].human[rows]))
        ]
        if not known:
            made.append(None)
            continue
        fitted = chosen(kind, candidate, [(rated[at], features[at], others[at]) for at in known])
        words = f"{', '.join(names[at] for at in known)} without shared clusters"
        made.append(Held(fitted.scores(judged.base, own), (fitted,), words))
    return made


def to_scale(scores: Floats, like: Floats) -> Floats:
    """Scores with the mean and spread of `like`; unchanged where either has no spread."""
    spread, wanted = float(scores.std()), float(like.std())
    if not (spread > 0 and wanted > 0):
        return scores
    found: Floats = (scores - scores.mean()) * (wanted / spread) + like.mean()
    return found
