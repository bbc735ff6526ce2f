"""Controls, which need no explanation: lengths, a curve of the metric's own score, an average of metrics."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Fitted, Part
from bmx_grid.boosts.feature_mix import within_sds
from bmx_grid.boosts.learned import Linear
from bmx_grid.core.ragged import Floats
from bmx_grid.measures.correlation import Kind, beats, correlate, first_within_rounding
from bmx_grid.measures.nuisance import CurveTerms, fit_term
from bmx_grid.measures.resampling import codes, number_of

MOST_METRICS = 3  # metrics in an average


def fit_length(roles: Sequence[str], kind: Kind, parts: Sequence[Part]) -> Linear:
    """A linear term in the log words of some texts, fitted by `measures.nuisance.fit_term`."""
    alone = Linear.alone([f"log_words {role}" for role in roles])
    if not parts:
        return alone
    terms = [(part.base, part.features, part.human) for part in parts]
    own, weights = fit_term(kind, terms)
    return replace(alone, own=own, weights=tuple(weights.tolist()))


@dataclass(frozen=True, eq=False)
class OnCurve(Fitted):
    """Scores on a smooth curve of base score and log words."""

    curve: CurveTerms
    own: float
    weights: Floats

    @property
    def abstains(self) -> bool:
        return False

    def _boosted(self, base: Floats, features: Floats) -> Floats:
        # The first column is the base once more, standardised: `own` is its weight.
        curve = self.curve.columns(base, features)[:, 1:]
        return np.asarray(self.own * base + curve @ self.weights)

    def constants(self) -> dict[str, Any]:
        return {"own": self.own, "weights": self.weights.tolist()}


def fit_curve(kind: Kind, parts: Sequence[Part]) -> Fitted:
    """A smooth curve of the metric's own score and of log words (`measures.nuisance`), fitted by `fit_term`."""
    alone = Linear.alone(())
    if not parts:
        return alone
    base = np.concatenate([part.base for part in parts])
    words = np.concatenate([part.features for part in parts])
    clusters = np.concatenate([part.clusters for part in parts])
    curve = CurveTerms.of(base, words, number_of(codes(clusters)))
    terms = []
    for part in parts:
        columns = curve.columns(part.base, part.features)
        terms.append((part.base, columns[:, 1:], part.human))
    own, weights = fit_term(kind, terms)
    if not weights.any():
        return alone
    return OnCurve(curve, own, weights)


def fit_average(metrics: tuple[str, ...], kind: Kind, parts: Sequence[Part]) -> Linear:
    """The mean of the z scores of at most three of the metrics at hand, the best of all subsets.

    metrics: the names of the others; their scores are the features, higher is better. The metric of the base is one
    of those to choose from, and need not be chosen; alone it is "no boost". Of equal subsets the first counts, smaller
    ones before larger ones, in the order of the names with the own one first.
    """
    deciding = [part for part in parts if part.decides]
    alone = Linear.alone(metrics)
    if not deciding or not metrics:
        return alone
    # By part, a column per metric, that of the base first.
    scores = [np.column_stack([part.base, part.features]) for part in deciding]
    means = np.mean([columns.mean(axis=0) for columns in scores], axis=0)
    sds = within_sds(scores)
    subsets = _subsets(sds)
    if not (sds[0] > 0 and subsets):
        return alone
    gains = np.zeros(len(subsets))
    for part, columns in zip(deciding, scores, strict=True):
        # A metric that is constant in all parts is in no subset.
        standard = np.divide(columns - means, sds, out=np.zeros_like(columns), where=sds > 0)
        for number, subset in enumerate(subsets):
            average = standard[:, list(subset)].mean(axis=1)
            gains[number] += correlate(kind, average, part.human)
        gains -= correlate(kind, part.base, part.human)
    gains /= len(deciding)
    best = int(first_within_rounding(gains[None, :, None])[0])
    if best < 0 or not beats(gains[best]):
        return alone
    chosen = subsets[best]
    own = 1 / len(chosen) if 0 in chosen else 0.0
    # On the scale of the base: its standard deviation takes the place of each metric's own.
    share = float(sds[0]) / len(chosen)
    weights = tuple(share if metric in chosen else 0.0 for metric in range(1, len(sds)))
    feature_sds = np.where(sds > 0, sds, 1.0)[1:]
    return Linear(
        metrics,
        own,
        base_mean=float(means[0]),
        weights=weights,
        means=tuple(means[1:].tolist()),
        sds=tuple(feature_sds.tolist()),
    )


def _subsets(sds: Floats) -> list[tuple[int, ...]]:
    """Sets of at most three metrics that vary, smaller ones first, but for the one of the base alone."""
    varying = np.flatnonzero(sds > 0).tolist()
    subsets: list[tuple[int, ...]] = []
    for size in range(1, MOST_METRICS + 1):
        subsets += itertools.combinations(varying, size)
    # The metric of the base alone is "no boost".
    return [subset for subset in subsets if subset != (0,)]
