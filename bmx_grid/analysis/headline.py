"""What was found: the answer, then counts in a few sentences, a small table and about ten numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import best, fixed, plausibility, single_gains, tested, transfer, verdicts, words
from bmx_grid.analysis.base import Cell, Table, point_cells, working, written
from bmx_grid.analysis.fixed import Fixed
from bmx_grid.analysis.gains import CLUSTERED, COUNTED, COUNTS, SURE, GainSummary, share, summarise
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.transfer import Transfers
from bmx_grid.measures.best import better
from bmx_grid.measures.cluster_means import MeanOfClusters
from bmx_grid.wording import counted, factor_in_words, named, number, with_interval

SHARE = "Share better: of the settings with a defined gain."


@dataclass(frozen=True, eq=False)
class Headline:
    """counts: sentences on the gains at one (w, p) per explainer; headline_numbers: NaN where undefined.

    leads: the answer, as it is said everywhere. better: by explainer, and "all", the share of settings that get better.
    """

    headline_numbers: Mapping[str, float]
    counts: Sequence[str] = written("headline")
    leads: Sequence[str] = working()
    better: Mapping[str, MeanOfClusters] = working()
    fixed: Fixed = working()
    transfers: Transfers = working()


def compute(given: Given) -> Headline:
    """The headline of the settings that are not controls."""
    at, transfers, tied = given.ask(fixed.compute), given.ask(transfer.compute), given.ask(best.compute)
    n_tied, counted_gains = tied.n_tied_with_baseline, given.ask(single_gains.compute).single_gains
    shares = _shares(given, at)
    counts = _sentences(given, at, transfers, shares["all"])
    numbers = _numbers(given, at, transfers, n_tied, counted_gains)
    return Headline(numbers, counts, answer(given), shares, at, transfers)


def answer(given: Given, most: int | None = None) -> list[str]:
    """The answer, said with the same words everywhere: verdicts, what they mean, what to do next, then words.

    most: verdicts that are said; all of them for None.
    """
    found = given.ask(verdicts.compute)
    more = 0 if most is None else len(found.answers) - most
    lines = [*found.answers[:most], *([f"{more} more in report.html"] if more > 0 else [])]
    lines += [*found.not_judged, *found.legend, *([found.next_steps] if found.next_steps else [])]
    of_words = *given.ask(words.compute).words_in_words, *given.ask(plausibility.compute).plausibility_in_words
    return [*lines, *of_words]


def tables(result: Headline) -> Sequence[Table]:
    """Per explainer its point, what it gains there, and the mean gain when points come from elsewhere in the table."""
    found = result.fixed.evaluation
    if not found.used and not result.fixed.fixed:
        return ()
    factor = result.transfers.factor
    rows = []
    for name, one in result.fixed.fixed.items():
        cells = (Cell(name), *point_cells(one.used_w, one.used_p), *one.gains.cells)
        moved = _transfer_cells(result.transfers, factor, name)
        rows.append((*cells, *one.gains.sure, *_share_cells(result.better[name]), *moved))
    total = (
        Cell("all"),
        Cell(None),
        Cell(None),
        *found.all.cells,
        *found.all.sure,
        *_share_cells(result.better["all"]),
        *([Cell(None)] * (0 if factor is None else 2)),
    )
    notes = [COUNTED, CLUSTERED, f"{SHARE} In brackets: intervals of the same kind.", result.fixed.points.in_words()]
    if factor is not None:
        notes.append(
            f"Transfer: at the median point of the settings of the other {factor_in_words(factor)}s; in-sample: of all "
            "settings of the explainer, judged on the same."
        )
    last = () if factor is None else ("in-sample mean gain", "transfer mean gain")
    header, groups = ("explainer", "w", "p", *COUNTS, *SURE, "share better", *last), (tuple(rows), (total,))
    return (Table("overview", "Gains at one (w, p) per explainer", header, groups, tuple(notes), brief=True),)


def _transfer_cells(transfers: Transfers, factor: str | None, explainer: str) -> tuple[Cell, ...]:
    if factor is None:
        return ()
    one = transfers.leave_one_out[factor][explainer]
    return tuple(
        Cell(each.mean_gain, "+.5f", words=with_interval(each.mean_gain, each.mean_low, each.mean_high))
        for each in (one.in_sample, one.summary)
    )


def _shares(given: Given, at: Fixed) -> dict[str, MeanOfClusters]:
    """By explainer, and for all, the share of settings that get better."""
    real, gain, seed = given.real, at.evaluation.gain, given.options.seed
    rows = {name: real.where(explainer=name) for name in real.factor_levels("explainer")}
    rows["all"] = np.ones(len(real), dtype=np.bool_)
    return {
        name: share(better(gain[own]), np.isfinite(gain[own]), real.clusters[own], seed) for name, own in rows.items()
    }


def _share_cells(found: MeanOfClusters) -> tuple[Cell]:
    return (Cell(found.mean, ".0%", words=with_interval(found.mean, found.low, found.high, ".0%")),)


def _sentences(given: Given, at: Fixed, transfers: Transfers, shown: MeanOfClusters) -> list[str]:
    all_of = at.evaluation.all
    if len(given.real) == 0:
        return ["The table holds control settings only (random metric or explainer): there is nothing to conclude."]
    origins = "; ".join(sorted(set(at.points.origins.values())))
    between = f", {all_of.unchanged} gain no more than 0.00001" if all_of.unchanged else ""
    found = [
        f"At one (w, p) per explainer, {origins}: {all_of.better} of {counted(all_of.n, 'setting')} are better, "
        f"{all_of.worse} equal or worse{between}{_share(shown)}. Their mean gain in correlation is "
        f"{number(all_of.mean_gain, '+.5f')}{_interval(all_of)}. {_by_pair(all_of)}"
    ]
    if math.isfinite(all_of.max_gain):
        found.append(_largest(given, at))
    if all_of.undefined:
        labels = [
            one.label for one, gain in zip(given.real.settings, at.evaluation.gain, strict=True) if math.isnan(gain)
        ]
        found.append(f"The gain of {counted(all_of.undefined, 'further setting')} is undefined there: {named(labels)}.")
    if transfers.factor is not None:
        moved = [
            f"{name} {_mean(one.summary)} (in-sample {_mean(one.in_sample)})"
            for name, one in transfers.leave_one_out[transfers.factor].items()
            if one.by_fold
        ]
        found.append(
            f"Across {factor_in_words(transfers.factor)}s (transfer: the {factor_in_words(transfers.factor)} judged on "
            f"takes no part in choosing the medians), mean gains are {'; '.join(moved)}."
        )
    best_of = given.ask(best.compute).real
    tied = share(best_of.ties_baseline, np.isfinite(given.real.baseline), given.real.clusters, given.options.seed)
    found.append(
        f"For {int(best_of.ties_baseline.sum())} of {counted(tied.n, 'setting')} the best is the metric alone: no (w, "
        f"p) with w other than 1 improves them{_share(tied)}."
    )
    return found


def _largest(given: Given, at: Fixed) -> str:
    """The largest gain with its own interval, where it was tested, and its baseline."""
    row, of_tests = int(np.nanargmax(at.evaluation.gain)), given.ask(tested.at_fixed)
    gain, low, high = at.evaluation.gain[row], of_tests.low[row], of_tests.high[row]
    baseline = f"comes from a baseline of {number(given.real.baseline[row], '.4f')}"
    if math.isnan(low):
        return f"The largest gain, {number(gain, '+.4f')}, {baseline}."
    count = at.evaluation.all.n
    among = f"; its interval takes no account of its being the largest of {count}" if count > 1 else ""
    return f"The largest gain, {with_interval(gain, low, high)}, {baseline}{among}."


def _mean(gains: GainSummary) -> str:
    return with_interval(gains.mean_gain, gains.mean_low, gains.mean_high, "+.5f")


def _share(found: MeanOfClusters) -> str:
    """The interval of a count as a share; nothing with fewer than 3 clusters."""
    if math.isnan(found.low):
        return ""
    return f" ({with_interval(found.mean, found.low, found.high, '.0%')})"


def _interval(gains: GainSummary) -> str:
    if math.isnan(gains.mean_low):
        return ", without an interval: it needs 3 language pairs"
    return _mean(gains).removeprefix(number(gains.mean_gain, "+.5f"))


def _by_pair(gains: GainSummary) -> str:
    """Settings of a language pair share its segments: the sign test counts pairs."""
    return (
        f"Settings of one language pair share its segments: {gains.clusters_better} of "
        f"{counted(gains.clusters, 'language pair')} have a mean gain above 0 (one-sided sign test p = "
        f"{number(gains.sign_p, '.3g')})."
    )


def _numbers(given: Given, at: Fixed, transfers: Transfers, n_tied: int, gains: Mapping[str, int]) -> dict[str, float]:
    all_of = at.evaluation.all
    found = {
        "settings": float(len(given.table)),
        "settings_without_controls": float(len(given.real)),
        "tied_with_metric_alone": float(n_tied),
        "fixed/better": float(all_of.better),
        "fixed/equal_or_worse": float(all_of.worse),
        "fixed/mean_gain": all_of.mean_gain,
        "fixed/largest_gain": all_of.max_gain,
        "tested/gains": float(gains["tested"]) if gains["tested"] else math.nan,
        "tested/survive": float(gains["survive"]) if gains["tested"] else math.nan,
    }
    if transfers.factor is not None:
        real, moved = given.real, transfers.leave_one_out[transfers.factor]
        parts = [summarise(one.gain, real.baseline[real.where(explainer=name)]) for name, one in moved.items()]
        n = sum(part.n for part in parts)
        total = sum(part.mean_gain * part.n for part in parts if part.n > 0)
        found["transfer/better"] = float(sum(part.better for part in parts))
        found["transfer/mean_gain"] = total / n if n > 0 else math.nan
    return found
