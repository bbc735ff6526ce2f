"""Boosts fitted on some segments and applied to others: other folds, other language pairs, other data sets, halves."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bmx_grid.boosts.base import Candidate, Fitted, Part
from bmx_grid.evaluations.base import Floats
from bmx_grid.evaluations.chosen import Flags, other_folds, outside_folds
from bmx_grid.evaluations.gained import Pair
from bmx_grid.evaluations.placebo_points import to_scale
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.placebos import Selected, WithTerm, fit_term
from bmx_grid.measures.resampling import number_of

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rated:
    """The n judged of N segments of a language pair.

    base, human: float64[n], finite; clusters: int64[n] codes, the same for a cluster in every language pair that
    chooses together with this one; used: bool[N] which segments these are.
    """

    base: Floats
    human: Floats
    clusters: Ints
    used: Flags


@dataclass(frozen=True, eq=False)
class Entry:
    """What is chosen on a language pair: a candidate with its features float64[n, k].

    before: float64[n, m] a linear term that is fitted first, on the same segments, and belongs to the metric that the
    gain is measured from; None for the metric alone.
    """

    candidate: Candidate
    features: Floats
    before: Floats | None = None


@dataclass(frozen=True, eq=False)
class Held(Pair):
    """fitted: what was chosen, one for each part of the segments."""

    fitted: tuple[Fitted, ...]

    @property
    def abstained(self) -> float:
        """The share of choices that are "do not boost"; NaN without one."""
        return float(np.mean([one.abstains for one in self.fitted])) if self.fitted else math.nan

    @property
    def constants(self) -> str:
        """The numbers of a single choice as JSON; "" where several parts have their own."""
        return json.dumps(self.fitted[0].constants(), allow_nan=False) if len(self.fitted) == 1 else ""


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen on some segments: the term before, and the boost over the metric with it."""

    before: WithTerm | None
    fitted: Fitted

    def scores(self, rated: Rated, entry: Entry) -> tuple[Floats, Floats]:
        """float64[n] boosted scores, and those of what they are compared with."""
        metric = _metric(self.before, rated, entry)
        return self.fitted.scores(metric, entry.features), metric


Selection = Sequence[tuple[Rated, Entry, Flags]]  # language pairs with bool[n], which of their segments choose


def chosen(kind: Kind, selection: Selection) -> Choice:
    """What is best on these segments; language pairs count the same.

    Pairs on which the correlation of the metric is undefined have no say.
    """
    terms = [
        Selected(_taken(one.base, rows), _taken(entry.before, rows), _taken(one.human, rows))
        for one, entry, rows in selection
        if entry.before is not None
    ]
    before = fit_term(kind, terms) if terms else None
    parts = []
    for one, entry, rows in selection:
        metric = _metric(before, one, entry)
        base, features, human = (_taken(values, rows) for values in (metric, entry.features, one.human))
        parts.append(Part(base, features, human, one.clusters[rows]))
    used = [part for part in parts if _says_something(part)]
    return Choice(before, selection[0][1].candidate.fit(kind, used))


def in_sample(kind: Kind, rated: Rated, entry: Entry) -> Held:
    """Chosen on the segments it is judged on: what selection makes of it."""
    found = chosen(kind, [(rated, entry, np.ones(len(rated.base), dtype=np.bool_))])
    return Held(*found.scores(rated, entry), "the segments it is judged on", (found.fitted,))


def cross_fitted(kind: Kind, rated: Rated, entry: Entry, fold_of: Ints) -> Held:
    """Each segment with what is best on the folds it is not in, as `placebo_points.cross_fitted` does it.

    fold_of: int64[n]; with one fold nothing is defined. Scores are brought to the mean and spread of the metric alone.
    """
    boosted, against = np.full(len(rated.base), np.nan), np.full(len(rated.base), np.nan)
    fitted = []
    for rows in outside_folds(fold_of):
        found = chosen(kind, [(rated, entry, rows)])
        scores, metric = found.scores(rated, entry)
        boosted[~rows] = to_scale(scores, rated.base)[~rows]
        against[~rows] = to_scale(metric, rated.base)[~rows]
        fitted.append(found.fitted)
    return Held(
        boosted, rated.base if entry.before is None else against, other_folds(number_of(fold_of)), tuple(fitted)
    )


def on_others(
    kind: Kind,
    names: Sequence[str],
    rated: Sequence[Rated],
    entries: Sequence[Entry],
    free: Sequence[Mapping[int, Flags]],
) -> list[Held | None]:
    """Each language pair with what is best on others, without its clusters.

    names: of the L pairs; entries: one of each, of one candidate; free: for each pair by the number of those that
    choose for it bool[N], which of their segments do. None where no other pair has a defined correlation.
    """
    made: list[Held | None] = []
    for at, (one, entry) in enumerate(zip(rated, entries, strict=True)):
        others = {other: rows[rated[other].used] for other, rows in free[at].items()}
        said = [names[other] for other, rows in others.items() if _is_defined(kind, rated[other], rows)]
        if not said:
            made.append(None)
            continue
        found = chosen(kind, [(rated[other], entries[other], rows) for other, rows in others.items()])
        words = f"{', '.join(said)} without shared clusters"
        made.append(Held(*found.scores(one, entry), words, (found.fitted,)))
    return made


@dataclass(frozen=True, eq=False)
class Splits:
    """The gain of what is chosen on one half of the clusters, judged on the other, both ways averaged.

    mean; low, high: the range of 95 % of the splits, which is the spread over ways to split these segments, not a
    confidence interval. abstained: share of the halves that chose "do not boost".
    """

    mean: float
    low: float
    high: float
    abstained: float


@dataclass(frozen=True, eq=False)
class Halves:
    """S ways to split the clusters of a language pair, and what its metric reaches on every half."""

    kind: Kind
    rated: Rated
    first: Flags

    @property
    def parts(self) -> Flags:
        """bool[2 S, n]: the first halves, then the second ones."""
        return np.concatenate([self.first, ~self.first])

    @cached_property
    def alone(self) -> Floats:
        """float64[2 S] the correlation of the metric alone on each half."""
        base, human = self.rated.base, self.rated.human
        return np.array([correlate(self.kind, base[rows], human[rows]) for rows in self.parts])

    def gain(self, entry: Entry) -> Splits:
        """What a candidate gains over the metric alone."""
        count, human = len(self.first), self.rated.human
        gains, abstained = np.zeros(2 * count), 0
        for number, (rows, alone) in enumerate(zip(self.parts, np.roll(self.alone, count), strict=True)):
            found = chosen(self.kind, [(self.rated, entry, rows)]).fitted
            abstained += found.abstains
            if found.abstains:
                gains[number] = 0.0 if np.isfinite(alone) else np.nan
            else:
                boosted = found.scores(self.rated.base[~rows], entry.features[~rows])
                gains[number] = correlate(self.kind, boosted, human[~rows]) - alone
        mean = gains.reshape(2, count).mean(axis=0)
        defined = mean[np.isfinite(mean)]
        if not len(defined):
            return Splits(math.nan, math.nan, math.nan, math.nan)
        low, high = np.quantile(defined, [0.025, 0.975])
        return Splits(float(defined.mean()), float(low), float(high), abstained / (2 * count))


def _metric(before: WithTerm | None, rated: Rated, entry: Entry) -> Floats:
    """float64[n] scores of what a gain is measured from."""
    return rated.base if before is None or entry.before is None else before.scores(rated.base, entry.before)


def _taken(values: Floats | None, rows: Flags) -> Floats:
    """The rows; values themselves where these are all: the means of a grid are large."""
    assert values is not None
    return values if rows.all() else values[rows]


def _is_defined(kind: Kind, rated: Rated, rows: Flags) -> bool:
    return bool(np.isfinite(correlate(kind, rated.base[rows], rated.human[rows])))


def _says_something(part: Part) -> bool:
    """Whether a correlation of the base with the human scores is defined."""
    return part.decides and bool(np.ptp(part.base) > 0)
