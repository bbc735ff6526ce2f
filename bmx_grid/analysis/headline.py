"""What was found: what is established, then counts in a few sentences, one small table and about ten numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bmx_grid.analysis import best, established, fixed, transfer
from bmx_grid.analysis.base import Cell, Table, point_cells, working
from bmx_grid.analysis.established import Established
from bmx_grid.analysis.fixed import Fixed
from bmx_grid.analysis.gains import CLUSTERED, COUNTED, COUNTS, SURE, GainSummary, summarise
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.transfer import Transfers
from bmx_grid.wording import counted, factor_in_words, number


@dataclass(frozen=True, eq=False)
class Headline:
    """headline: sentences, what is established first; headline_numbers: the numbers behind them, NaN where undefined.

    counts: the sentences after those of what is established.
    """

    headline: Sequence[str]
    headline_numbers: Mapping[str, float]
    counts: Sequence[str] = working()
    fixed: Fixed = working()
    transfers: Transfers = working()


def compute(given: Given) -> Headline:
    """The headline of the settings that are not controls."""
    at, transfers, tied = given.ask(fixed.compute), given.ask(transfer.compute), given.ask(best.compute)
    n_tied, found = tied.n_tied_with_baseline, given.ask(established.compute)
    counts = _sentences(given, at, transfers, n_tied)
    numbers = _numbers(given, at, transfers, n_tied, found)
    return Headline([*found.established_in_words, *counts], numbers, counts, at, transfers)


def tables(result: Headline) -> Sequence[Table]:
    """Per explainer its point, what it gains there, and the mean gain when points come from elsewhere in the table."""
    found = result.fixed.evaluation
    if not found.used and not result.fixed.fixed:
        return ()
    factor = result.transfers.factor
    rows = []
    for name, one in result.fixed.fixed.items():
        cells = (Cell(name), *point_cells(one.used_w, one.used_p), *one.gains.cells)
        rows.append((*cells, *one.gains.sure, *_transfer_cells(result.transfers, factor, name)))
    total = (
        Cell("all"),
        Cell(None),
        Cell(None),
        *found.all.cells,
        *found.all.sure,
        *([Cell(None)] * (0 if factor is None else 2)),
    )
    notes = [COUNTED, CLUSTERED, result.fixed.points.in_words()]
    if factor is not None:
        notes.append(
            f"Transfer: at the median point of the settings of the other {factor_in_words(factor)}s; in-sample: of all "
            "settings of the explainer, judged on the same."
        )
    moved = () if factor is None else ("in-sample mean gain", "transfer mean gain")
    header, groups = ("explainer", "w", "p", *COUNTS, *SURE, *moved), (tuple(rows), (total,))
    return (Table("overview", "Gains at one (w, p) per explainer", header, groups, tuple(notes), brief=True),)


def _transfer_cells(transfers: Transfers, factor: str | None, explainer: str) -> tuple[Cell, ...]:
    if factor is None:
        return ()
    one = transfers.leave_one_out[factor][explainer]
    return Cell(one.in_sample.mean_gain, "+.5f"), Cell(one.summary.mean_gain, "+.5f")


def _sentences(given: Given, at: Fixed, transfers: Transfers, n_tied: int) -> list[str]:
    real, all_of = len(given.real), at.evaluation.all
    if real == 0:
        return ["The table holds control settings only (random metric or explainer): there is nothing to conclude."]
    origins = "; ".join(sorted(set(at.points.origins.values())))
    between = f", {all_of.unchanged} gain no more than 0.00001" if all_of.unchanged else ""
    found = [
        f"At one (w, p) per explainer, {origins}: {all_of.better} of {counted(all_of.n, 'setting')} are better, "
        f"{all_of.worse} equal or worse{between}. The mean gain in correlation is "
        f"{number(all_of.mean_gain, '+.5f')}{_interval(all_of)}. {_by_pair(all_of)}"
    ]
    if math.isfinite(all_of.max_gain):
        found.append(
            f"The largest gain, {number(all_of.max_gain, '+.4f')}, comes from a baseline of "
            f"{number(all_of.max_gain_baseline, '.4f')}."
        )
    if all_of.undefined:
        found.append(f"The gain of {counted(all_of.undefined, 'further setting')} is undefined there.")
    if transfers.factor is not None:
        moved = [
            f"{name} {number(one.summary.mean_gain, '+.5f')} (in-sample {number(one.in_sample.mean_gain, '+.5f')})"
            for name, one in transfers.leave_one_out[transfers.factor].items()
            if one.by_fold
        ]
        found.append(
            f"Across {factor_in_words(transfers.factor)}s (transfer: the {factor_in_words(transfers.factor)} judged on "
            f"takes no part in choosing the medians), mean gains are {'; '.join(moved)}."
        )
    found.append(
        f"For {n_tied} of {counted(real, 'setting')} the best is the metric alone: no (w, p) with w other than 1 "
        "improves them."
    )
    return found


def _interval(gains: GainSummary) -> str:
    if math.isnan(gains.mean_low):
        return ", without an interval: it needs 3 clusters, a data set and language pair each"
    return f" [{number(gains.mean_low, '+.5f')}, {number(gains.mean_high, '+.5f')}]"


def _by_pair(gains: GainSummary) -> str:
    """Settings of a language pair share its segments: the sign test counts pairs."""
    return (
        f"Settings of one data set and language pair share its segments: of {counted(gains.clusters, 'such cluster')}, "
        f"{gains.clusters_better} have a mean gain above 0 (one-sided sign test p = {number(gains.sign_p, '.3g')})."
    )


def _numbers(given: Given, at: Fixed, transfers: Transfers, n_tied: int, established: Established) -> dict[str, float]:
    all_of = at.evaluation.all
    tested = [one for one in established.established.values() if one.n_tested]
    found = {
        "settings": float(len(given.table)),
        "settings_without_controls": float(len(given.real)),
        "tied_with_metric_alone": float(n_tied),
        "fixed/better": float(all_of.better),
        "fixed/equal_or_worse": float(all_of.worse),
        "fixed/mean_gain": all_of.mean_gain,
        "fixed/largest_gain": all_of.max_gain,
        "tested/gains": float(sum(one.n_tested for one in tested)) if tested else math.nan,
        "tested/survive": float(sum(one.survive for one in tested)) if tested else math.nan,
    }
    if transfers.factor is not None:
        real, moved = given.real, transfers.leave_one_out[transfers.factor]
        parts = [summarise(one.gain, real.baseline[real.where(explainer=name)]) for name, one in moved.items()]
        n = sum(part.n for part in parts)
        total = sum(part.mean_gain * part.n for part in parts if part.n > 0)
        found["transfer/better"] = float(sum(part.better for part in parts))
        found["transfer/mean_gain"] = total / n if n > 0 else math.nan
    return found
