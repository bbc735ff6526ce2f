"""What each part of a weighted sum contributes, as in DATScore: alone, left out, and under each way of weighting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import ConfigError
from bmx_grid.guests.datscore.combined import one_vs_rest, weighted_sums
from bmx_grid.measures.correlation import Kind, correlate

Floats = NDArray[np.float64]
WHOLE, ALONE, LEFT_OUT, WEIGHTING = "whole", "alone", "left out", "weighting"


@dataclass(frozen=True)
class Ablation:
    """One variant: what it is, of which part or weighting, its correlation with the human scores, and the weight.

    difference: from the whole. weight: of a part in the whole; NaN for other rows.
    """

    kind: str
    name: str
    correlation: float
    difference: float
    weight: float = float("nan")


def ablations(
    variants: Mapping[str, Floats], names: Sequence[str], human: Floats, correlation: Kind = "pearson"
) -> list[Ablation]:
    """The whole (one-vs-rest over the first variant), each part alone, each left out, and variant x weighting.

    variants: float64[N, k] scores of the k parts by the name of their term weights ("entropy", "uniform"), the one that
    the whole uses first. A part that is left out has no say in the others' weights. NaN where weights are undefined.
    """
    first = next(iter(variants.values()))
    weights = one_vs_rest(first, names)[0]
    whole = correlate(correlation, weighted_sums(first, weights), human)
    rows = [Ablation(WHOLE, "all", whole, 0.0)]
    for column, name in enumerate(names):
        alone = correlate(correlation, first[:, column], human)
        rows.append(Ablation(ALONE, name, alone, alone - whole, float(weights[column])))
    for column, name in enumerate(names) if len(names) > 1 else ():
        rest = _whole(np.delete(first, column, axis=1), [one for one in names if one != name], human, correlation)
        rows.append(Ablation(LEFT_OUT, name, rest, rest - whole, float(weights[column])))
    for term, scores in variants.items():
        for rule in ("one_vs_rest", "equal"):
            found = (
                _whole(scores, names, human, correlation)
                if rule == "one_vs_rest"
                else correlate(correlation, scores.mean(axis=1), human)
            )
            rows.append(Ablation(WEIGHTING, f"{term}, {rule}", found, found - whole))
    return rows


def _whole(scores: Floats, names: Sequence[str], human: Floats, correlation: Kind) -> float:
    try:
        return correlate(correlation, weighted_sums(scores, one_vs_rest(scores, names)[0]), human)
    except ConfigError:  # what is left does not correlate at all: there is no such combination
        return float("nan")


def mean_of(pairs: Sequence[Sequence[Ablation]]) -> list[Ablation]:
    """The mean of each row over language pairs, for the rows that all pairs have; weights likewise."""
    found = []
    for row in pairs[0]:
        same = [[one for one in other if (one.kind, one.name) == (row.kind, row.name)] for other in pairs]
        if all(same):
            ones = [own[0] for own in same]
            means = (
                float(np.mean([getattr(one, key) for one in ones])) for key in ("correlation", "difference", "weight")
            )
            found.append(Ablation(row.kind, row.name, *means))
    return found
