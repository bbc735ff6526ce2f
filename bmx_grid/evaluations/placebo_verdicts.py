"""What placebos reach on a setting, and the verdicts that follow: on it, on a data set's language pairs, on all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bmx_grid.evaluations.verdicts import Estimate, Evidence, Judged, distinct_clusters, over_pairs, verdict
from bmx_grid.measures.resampling import FEWEST_CLUSTERS

ALL = "all"  # in place of a name, where a row speaks of all language pairs, or all data sets
BOOST, RANDOM, REASSIGNED, LENGTH, INDICATOR, BEYOND = (
    "none",
    "random",
    "reassigned",
    "length",
    "indicator",
    "beyond_length",
)
PLACEBOS = (BOOST, RANDOM, REASSIGNED, LENGTH, INDICATOR, BEYOND)
PUBLISHED, ELSEWHERE, CROSS_FITTED, BEST = "published", "elsewhere", "cross_fitted", "best"


@dataclass(frozen=True)
class Reached:
    """What a placebo gains at a point, with a 95 % cluster-bootstrap interval; n segments in so many clusters.

    matched: the share of segments with attributions reassigned from one of exactly as many words; NaN for others.
    """

    placebo: str
    point: str
    gain: Estimate
    n: int
    clusters: int
    chosen_on: str
    matched: float = math.nan


@dataclass(frozen=True, eq=False)
class PlacebosOfSetting:
    """names: of the setting. reached: rows by placebo and point; over: the gain less that of reassigned attributions,
    by point. judged: verdicts on this setting, and in the first setting of its metric and explainer those on all.
    labels: of the clusters that its used segments belong to."""

    names: tuple[str, str, str, str]
    reached: tuple[Reached, ...]
    over: Mapping[str, Estimate]
    judged: tuple[Judged, ...] = ()
    labels: frozenset[str] = frozenset()


def _evidence(result: PlacebosOfSetting, point: str) -> Evidence:
    gains = {one.placebo: one.gain for one in result.reached if one.point == point}
    best = next(one.gain.value for one in result.reached if (one.placebo, one.point) == (BOOST, BEST))
    nothing = Estimate()
    return Evidence(
        gain=gains.get(BOOST, nothing),
        best=best,
        beyond_length=gains.get(BEYOND, nothing),
        over_reassigned=result.over.get(point, nothing),
        length=gains.get(LENGTH, nothing),
        reassigned=gains.get(REASSIGNED, nothing),
        random=gains.get(RANDOM, nothing),
    )


def on_setting(result: PlacebosOfSetting) -> list[Judged]:
    """A verdict on one language pair at each of its points."""
    found = []
    for one in result.reached:
        if one.placebo == BOOST and one.point != BEST:
            evidence = _evidence(result, one.point)
            found.append(
                Judged(
                    dataset=result.names[0],
                    language_pair=result.names[1],
                    point=one.point,
                    pairs=1,
                    n=one.n,
                    clusters=one.clusters,
                    evidence=evidence,
                    verdict=verdict(evidence),
                )
            )
    return found


def with_scopes(results: Sequence[PlacebosOfSetting]) -> list[PlacebosOfSetting]:
    """Verdicts over the language pairs of a data set, and over all data sets, in the first result of each scope.

    A scope of fewer than three language pairs has none but those on each pair, which have an interval.
    """
    completed = list(results)
    scopes: dict[tuple[str, str, str], list[int]] = {}
    for at, result in enumerate(results):
        dataset, _, metric, explainer = result.names
        if result.reached:
            scopes.setdefault((dataset, metric, explainer), []).append(at)
    wide: dict[tuple[str, str, str], list[int]] = {}
    for (_, metric, explainer), members in scopes.items():
        wide.setdefault((ALL, metric, explainer), []).extend(members)
    several = {key: members for key, members in wide.items() if len({results[at].names[0] for at in members}) > 1}
    for (dataset, _, _), members in (*scopes.items(), *several.items()):
        first = members[0]
        for point in dict.fromkeys(one.point for at in members for one in results[at].judged):
            of = [(results[at], one) for at in members for one in results[at].judged if one.point == point]
            own = [one for _, one in of]
            if len(own) < FEWEST_CLUSTERS:
                continue
            evidence = over_pairs([one.evidence for one in own])
            judged = Judged(
                dataset=dataset,
                language_pair=ALL,
                point=point,
                pairs=len(own),
                n=sum(one.n for one in own),
                clusters=distinct_clusters((result.names[0], result.labels) for result, _ in of),
                evidence=evidence,
                verdict=verdict(evidence),
            )
            completed[first] = replace(completed[first], judged=(*completed[first].judged, judged))
    return completed
