"""The sentences that say what is established."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bmx_grid.analysis import judged
from bmx_grid.analysis.beside import PLACEBOS, MeanGain
from bmx_grid.measures.cluster_means import interval_kind
from bmx_grid.measures.resampling import FEWEST_CLUSTERS
from bmx_grid.wording import counted, named, number, point_in_words, with_interval

if TYPE_CHECKING:
    from bmx_grid.analysis.established import OfExplainer

NEEDS = {"tests": "significance", "selection": "significance", "placebos": "placebos"}
SWITCHED_ON = "evaluation=[grid,levels,significance,placebos]"
IN_WORDS = {"published": "as published", "elsewhere": "chosen on the other language pairs", "": "as fixed here"}
AT_POINT = {"published": "at this point", "elsewhere": "at these points", judged.CROSS_FITTED: "at cross-fitted points"}
MOST_SINGLES = 4
SAID = {kind: PLACEBOS[kind] for kind in ("length", "reassigned")}  # the strongest; the tables have all


def sentence(name: str, one: OfExplainer, test: str) -> str:
    """What is established of an explainer; test: by which single gains were tested, "" for none."""
    verdict = f"verdict {AT_POINT[one.verdict_point]}: {judged.in_words(one.verdicts)}; " if one.verdicts else ""
    parts = [f"{name} ({_where(one)}): {verdict}{_gain(one, test)}"]
    if one.undefined:
        parts.append(f"undefined for {counted(len(one.undefined), 'further setting')}: {named(one.undefined)}")
    if one.n_tested and one.gains.n > 1:
        lost = f" (and {counted(one.lost, 'loss', 'losses')})" if one.lost else ""
        parts.append(f"{one.survive} of {one.n_tested} single gains{lost} survive Holm's correction ({test})")
    if len(one.singles) > 1:
        each = [f"{single.label} {with_interval(single.gain, single.low, single.high)}" for single in one.singles]
        parts.append(f"single gains: {named(each, MOST_SINGLES)}")
    reached = [f"{words} {_mean(one.placebos[kind], one)}" for kind, words in SAID.items() if kind in one.placebos]
    if reached:
        parts.append(f"placebos gain: {', '.join(reached)}")
    if one.beyond_length is not None:
        parts.append(f"beyond length {_mean(one.beyond_length, one)}")
    if one.n_seeds > 1:
        parts.append(f"over {one.n_seeds} seeds a single gain deviates by {number(one.seed_deviation, '.3g')}")
    if one.hidden is not None:
        best, split = (number(gain, "+.4f") for gain in (one.best_gain, one.best_gain - one.hidden.mean))
        parts.append(
            f"the best of the grid gains {best} on the segments it is chosen on, and chosen on half of the clusters "
            f"{split} on the other half: selection hides {_mean(one.hidden, one)}"
        )
    return "; ".join(parts) + "."


def not_tested(missing: Sequence[str]) -> str:
    """What is not known, and which evaluations write it; missing: of the tables in NEEDS."""
    if len(missing) == len(NEEDS):
        return (
            "Nothing was tested: no interval or test of a single gain, no placebo, no correction for selection. A "
            f"sweep with {SWITCHED_ON} writes them beside its grid, and the analysis of its folder shows them."
        )
    evaluations = " and ".join(sorted({NEEDS[table] for table in missing}))
    files = " and ".join(f"{table}.parquet" for table in missing)
    return f"Not known here: {files} is not beside the grid; a sweep with the evaluation {evaluations} writes it."


def _where(one: OfExplainer) -> str:
    inside = f", in-sample on {named(one.in_sample_on)}" if one.in_sample_on else ""
    if one.point and math.isnan(one.w):
        return f"at points {IN_WORDS[one.point]}{inside}"
    return f"at {point_in_words(one.w, one.p)}, {IN_WORDS[one.point]}{inside}"


def _gain(one: OfExplainer, test: str) -> str:
    """The mean gain with its interval, or why there is none; of a single setting its own gain and test."""
    gain, clusters = one.gain, one.gains.clusters
    if gain.n == 0:
        return "no gain is defined"
    if gain.n == 1:
        shown = with_interval(gain.mean, gain.low, gain.high, without="(no interval: not tested, or too few clusters)")
        survives = "survives" if one.survive + one.lost else "does not survive"
        return f"the gain of its one setting is {shown}" + (
            f" ({test} p = {number(one.singles[0].p, '.2g')}; it {survives} Holm's correction)" if one.n_tested else ""
        )
    said = f"the mean gain over {counted(gain.n, 'setting')} is "
    if math.isfinite(gain.low):
        shown = with_interval(gain.mean, gain.low, gain.high)
        kind = interval_kind(clusters)
        return f"{said}{shown} on {counted(clusters, 'cluster')} (data set x language pair; {kind})"
    return (
        f"{said}{number(gain.mean, '+.4f')}, means without an interval: they rest on "
        f"{counted(clusters, 'cluster')} (data set x language pair), and it needs {FEWEST_CLUSTERS}; add language pairs"
    )


def _mean(mean: MeanGain, one: OfExplainer) -> str:
    """A mean with its interval, and over how many settings where these are not those of the gain."""
    fewer = f" ({counted(mean.n, 'setting')})" if mean.n != one.gain.n else ""
    return f"{with_interval(mean.mean, mean.low, mean.high)}{fewer}"
