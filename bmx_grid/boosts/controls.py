"""Controls, which need no explanation: lengths, a curve of the metric's own score, an average of metrics."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmx_grid.boosts.base import FittedBoost, Part
from bmx_grid.boosts.feature_mix import column_sds
from bmx_grid.boosts.learned import Linear
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.averages import BestAverages, best_averages
from bmx_grid.measures.correlation import Kind, beats, correlate
from bmx_grid.measures.nuisance import CurveTerms, fit_term
from bmx_grid.measures.resampling import codes, number_of


def fit_length(roles: Sequence[str], kind: Kind, parts: Sequence[Part]) -> Linear:
    """A linear term in the log words of some texts, fitted by `measures.nuisance.fit_term`."""
    alone = Linear.alone([f"log_words {role}" for role in roles])
    if not parts:
        return alone
    terms = [(part.base, part.features, part.human) for part in parts]
    own, weights = fit_term(kind, terms)
    return replace(alone, own=own, weights=tuple(weights.tolist()))


@dataclass(frozen=True, eq=False)
class OnCurve(FittedBoost):
    """Scores on a smooth curve of base score and log words."""

    curve: CurveTerms
    own: float
    weights: Floats

    @property
    def keeps_base_scores(self) -> bool:
        return False

    def _boost_scores(self, base: Floats, features: Floats) -> Floats:
        # The first column is the base once more, standardised: `own` is its weight.
        curve = self.curve.columns(base, features)[:, 1:]
        return np.asarray(self.own * base + curve @ self.weights)

    def constants(self) -> dict[str, Any]:
        return {"own": self.own, "weights": self.weights.tolist()}


def fit_curve(kind: Kind, parts: Sequence[Part]) -> FittedBoost:
    """A smooth curve of the metric's own score and of log words (`measures.nuisance`), fitted by `fit_term`."""
    alone = Linear.alone(())
    if not parts:
        return alone
    base = np.concatenate([part.base for part in parts])
    words = np.concatenate([part.features for part in parts])
    clusters = np.concatenate([part.clusters for part in parts])
    curve = CurveTerms.from_scores(base, words, number_of(codes(clusters)))
    terms = []
    for part in parts:
        columns = curve.columns(part.base, part.features)
        terms.append((part.base, columns[:, 1:], part.human))
    own, weights = fit_term(kind, terms)
    if not weights.any():
        return alone
    return OnCurve(curve, own, weights)


@dataclass(frozen=True, eq=False)
class _Averages:
    """The best averages of m metrics on some parts. means, sds: float64[m]; varying: int64, the metrics that vary."""

    means: Floats
    sds: Floats
    varying: Ints
    best: BestAverages


KnownAverages = dict[str, Any]  # earlier results, by a digest of everything they depend on


def fit_average(
    metrics: tuple[str, ...],
    kind: Kind,
    parts: Sequence[Part],
    own: str = "",
    known: KnownAverages | None = None,
) -> Linear:
    """The mean of the z scores of at most three available metrics, the best of all subsets.

    metrics: the names of the others; their scores are the features, higher is better. The metric of the base is
    a candidate, too, and need not be chosen; without others it is "no boost". Of equal subsets the first counts,
    smaller ones before larger ones, in the order of the names with the own one first.
    own: the name of the metric of the base. known: is read and filled, so that metrics which choose among each other
    on the same segments find the best averages once.
    """
    deciding = [part for part in parts if part.decides]
    alone = Linear.alone(metrics)
    if not deciding or not metrics:
        return alone
    # In the same order, whichever metric chooses.
    order = np.argsort([own, *metrics], kind="stable")
    tables = [np.column_stack([part.base, part.features])[:, order] for part in deciding]
    averages = _averages(kind, tables, [part.human for part in deciding], {} if known is None else known)
    # By number of a metric, that of the base first.
    means = averages.means[np.argsort(order)]
    sds = averages.sds[np.argsort(order)]
    if not sds[0] > 0:
        return alone
    baseline = np.mean([correlate(kind, part.base, part.human) for part in deciding])
    for places, correlations in zip(averages.best.members, averages.best.correlations, strict=True):
        numbers = np.sort(order[averages.varying[places]], axis=1)
        # The metric of the base without others is "no boost".
        others = (numbers != 0).any(axis=1)
        if not others.any():
            continue
        in_order = np.lexsort(numbers[others].T[::-1])
        chosen = numbers[others][in_order[0]].tolist()
        if beats(correlations[others][in_order[0]] - baseline):
            return _rescale_average(metrics, chosen, means, sds)
        break
    return alone


def _averages(kind: Kind, tables: Sequence[Floats], human: Sequence[Floats], known: KnownAverages) -> _Averages:
    """The best averages of the columns of float64[n, m] tables, one per part."""
    content = hashlib.sha256(kind.encode())
    for values in (*tables, *human):
        content.update(str(values.shape).encode())
        content.update(np.ascontiguousarray(values).data)
    key = content.hexdigest()
    if key not in known:
        means = np.mean([table.mean(axis=0) for table in tables], axis=0)
        sds = column_sds(tables)
        # A metric that is constant in all parts is in no subset.
        varying = np.flatnonzero(sds > 0)
        standard = [(table[:, varying] - means[varying]) / sds[varying] for table in tables]
        known[key] = _Averages(means, sds, varying, best_averages(kind, standard, human))
    averages: _Averages = known[key]
    return averages


def _rescale_average(metrics: tuple[str, ...], chosen: Sequence[int], means: Floats, sds: Floats) -> Linear:
    """The average of the chosen metrics, by number; the standard deviation of the base takes the place of their own."""
    own = 1 / len(chosen) if 0 in chosen else 0.0
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
