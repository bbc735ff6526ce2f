"""Controls, which need no explanation: lengths, a curve of the metric's own score, an average of metrics."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmx_grid.boosts.base import Fitted, Part
from bmx_grid.boosts.feature_mix import within_sd
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
    own, weights = fit_term(kind, [(part.base, part.features, part.human) for part in parts])
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
        return np.asarray(self.own * base + self.curve.columns(base, features)[:, 1:] @ self.weights)

    def constants(self) -> dict[str, Any]:
        return {"own": self.own, "weights": self.weights.tolist()}


def fit_curve(kind: Kind, parts: Sequence[Part]) -> Fitted:
    """A smooth curve of the metric's own score and of log words (`measures.nuisance`), fitted by `fit_term`."""
    alone = Linear.alone(())
    if not parts:
        return alone
    base, words, clusters = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("base", "features", "clusters")
    )
    curve = CurveTerms.of(base, words, number_of(codes(clusters)))
    terms = [(part.base, curve.columns(part.base, part.features)[:, 1:], part.human) for part in parts]
    own, weights = fit_term(kind, terms)
    return OnCurve(curve, own, weights) if weights.any() else alone


def fit_average(metrics: tuple[str, ...], kind: Kind, parts: Sequence[Part]) -> Linear:
    """The mean of the z scores of at most three of the metrics at hand, the best of all subsets.

    metrics: the names of the others; their scores are the features, higher is better. The metric of the base is one
    of those to choose from, and need not be chosen; alone it is "no boost". Of equal subsets the first counts, smaller
    ones before larger ones, in the order of the names with the own one first.
    """
    used = [part for part in parts if part.decides]
    alone = Linear.alone(metrics)
    if not used or not metrics:
        return alone
    columns = [np.column_stack([part.base, part.features]) for part in used]
    means = np.mean([scores.mean(axis=0) for scores in columns], axis=0)
    sds = np.empty(columns[0].shape[1])
    for metric in range(len(sds)):
        sds[metric] = within_sd([scores[:, metric] for scores in columns])
    sizes = range(1, min(MOST_METRICS, len(sds)) + 1)
    every = itertools.chain.from_iterable(itertools.combinations(range(len(sds)), size) for size in sizes)
    subsets = [some for some in every if (sds[list(some)] > 0).all() and some != (0,)]
    if not (sds[0] > 0 and subsets):
        return alone
    gains = np.zeros(len(subsets))
    for part, raw in zip(used, columns, strict=True):
        standard = np.divide(raw - means, sds, out=np.zeros_like(raw), where=sds > 0)
        averages = (standard[:, list(some)].mean(axis=1) for some in subsets)
        gains += [correlate(kind, average, part.human) for average in averages]
        gains -= correlate(kind, part.base, part.human)
    gains /= len(used)
    best = int(first_within_rounding(gains[None, :, None])[0])
    if best < 0 or not beats(gains[best]):
        return alone
    chosen = subsets[best]
    share = float(sds[0]) / len(chosen)  # on the scale of the base
    weights = tuple(share if metric in chosen else 0.0 for metric in range(1, len(sds)))
    own = 1 / len(chosen) if 0 in chosen else 0.0
    spreads = tuple(float(sd) if sd > 0 else 1.0 for sd in sds[1:])
    return Linear(metrics, own, float(means[0]), weights, tuple(means[1:].tolist()), spreads)
