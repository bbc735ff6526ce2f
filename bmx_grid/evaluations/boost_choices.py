"""Each boost on all segments of a metric and explainer, with what such a choice gains elsewhere: for recipes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.chosen import Chosen
from bmx_grid.boosts.recipe import ChosenOn
from bmx_grid.evaluations.base import Finished
from bmx_grid.evaluations.boost_judging import (
    CROSS_FITTED,
    ELSEWHERE,
    JOINT,
    LENGTH,
    METRIC,
    OTHER_DATASETS,
    PAIRS,
    Line,
)
from bmx_grid.evaluations.boost_members import Member
from bmx_grid.evaluations.held_out import Entry, chosen
from bmx_grid.evaluations.verdicts import Estimate
from bmx_grid.measures.cluster_means import interval_kind
from bmx_grid.measures.correlation import Kind


def choices(
    kind: Kind,
    boosts: Mapping[str, Boost],
    settings: Sequence[Finished],
    members: Sequence[Member],
    lines: Sequence[Line],
) -> tuple[Chosen, ...]:
    """lines: what boosts gain on these settings, of one metric and explainer, and over them."""
    chosen_on = tuple(
        ChosenOn(*one.pair, len(of.labels), len(set(of.labels)), one.segments.judgements.primary)
        for one, of in zip(settings, members, strict=True)
    )
    found = []
    for name, boost in boosts.items():
        made = [of for of in members if name in of.features]
        if not made:
            continue
        selection = [
            (of.rated, Entry(boost, of.features[name]), np.ones(len(of.labels), dtype=np.bool_)) for of in made
        ]
        (gain, beyond), how = _held_out(name, lines)
        found.append(
            Chosen(
                boost_name=name,
                boost=boost,
                fitted=chosen(kind, selection).fitted,
                chosen_on=chosen_on,
                gain=gain,
                beyond_length=beyond,
                how=how,
                correlation=kind,
            )
        )
    return tuple(found)


def _held_out(boost: str, lines: Sequence[Line]) -> tuple[tuple[Estimate, Estimate], str]:
    """Gain and gain beyond length where they say most: on the most language pairs, chosen furthest away; in words."""
    best: tuple[tuple[int, int, int], Line] | None = None
    distance = (CROSS_FITTED, ELSEWHERE, OTHER_DATASETS)
    for line in lines:
        if (line.boost, line.against) == (boost, METRIC) and line.point in distance:
            rank = line.pairs, distance.index(line.point), int(line.interval != JOINT)
            if math.isfinite(line.gain.value) and (best is None or rank > best[0]):
                best = rank, line
    if best is None:
        return (Estimate(), Estimate()), "not judged: no gain is defined on segments that did not choose"
    found = best[1]
    same = (found.dataset, found.language_pair, found.point, found.interval)
    beyond = next(
        (
            line.gain
            for line in lines
            if (line.boost, line.against) == (boost, LENGTH)
            and (line.dataset, line.language_pair, line.point, line.interval) == same
        ),
        Estimate(),
    )
    over = (
        f"the mean over {found.pairs} language pairs" if found.pairs > 1 else f"{found.dataset} {found.language_pair}"
    )
    kind = {PAIRS: f"{interval_kind(found.pairs)} over language pairs", JOINT: "bootstrap of the clusters of all pairs"}
    interval = kind.get(found.interval, "bootstrap of clusters")
    return (found.gain, beyond), f"{over}, each chosen on {found.chosen_on}; interval: {interval}"
