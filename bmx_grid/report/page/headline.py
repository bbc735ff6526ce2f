"""What an analysis found, in a few sentences and two small tables."""

from __future__ import annotations

import math

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.run import Analysis

COUNTS = ("settings", "better", "worse", "within 1e-5", "mean gain", "largest gain")
MEANING = "Better: gain above 1e-5; worse: gain of 0 or less."


def headline(analysis: Analysis) -> list[str]:
    """What was found, in a few sentences."""
    real, fixed = analysis.real, analysis.fixed.all
    little = f", {fixed.unchanged} gain no more than 0.00001" if fixed.unchanged else ""
    sentences = [
        f"At one fixed (w, p) for each explainer ({'; '.join(sorted(set(analysis.origins.values())))}) {fixed.better} "
        f"of {fixed.n} settings get better and {fixed.worse} worse{little}. The mean gain is "
        f"{signed(fixed.mean_gain, 5)}."
    ]
    if fixed.undefined:
        sentences.append(f"The gain of {fixed.undefined} further settings is undefined there.")
    factor = held_out_factor(analysis)
    if factor is not None:
        held = [
            f"{name} {signed(one.in_sample.mean_gain, 5)} in-sample, {signed(one.summary.mean_gain, 5)} held-out"
            for name, one in analysis.leave_one_out[factor].items()
            if one.folds
        ]
        sentences.append(
            f"Mean gain at medians of this table, and when the {spelled(factor)} judged on takes no part in choosing "
            f"them: {'; '.join(held)}."
        )
    sentences.append(
        f"No (w, p) with w other than 1 improves {analysis.n_tied} of the {len(real)} settings: their best is the "
        "metric alone (w = 1)."
    )
    return sentences


def held_out_factor(analysis: Analysis) -> str | None:
    """The factor whose held-out gains stand for all: the first that has several names; None without one."""
    found = analysis.leave_one_out.items()
    return next((factor for factor, held in found if any(one.folds for one in held.values())), None)


def overview(analysis: Analysis) -> Table:
    """For each explainer the point it is evaluated at, what it gains there, and what it gains held out."""
    factor = held_out_factor(analysis)
    held = () if factor is None else ("in-sample mean gain", "held-out mean gain", "held-out better")
    rows = []
    for name, found in analysis.fixed.by["explainer"].items():
        used = analysis.fixed.used.get(name)
        point = (math.nan, math.nan) if used is None else (used.w, used.p)
        cells = [Cell(name), *(Cell(one, "g") for one in point), Cell(_origin(analysis, name)), *_counts(found)]
        if factor is not None:
            one = analysis.leave_one_out[factor][name]
            cells += [Cell(one.in_sample.mean_gain, "+.5f"), Cell(one.summary.mean_gain, "+.5f")]
            cells.append(Cell(one.summary.better))
        rows.append(tuple(cells))
    total = (Cell("all"), *[Cell(None)] * 3, *_counts(analysis.fixed.all), *[Cell(None)] * len(held))
    notes = [MEANING]
    if factor is not None:
        notes.append(
            "In-sample: at the median of all settings of the explainer; held-out: at the median of those of the other "
            f"{spelled(factor)}s."
        )
    header = ("explainer", "w", "p", "where (w, p) comes from", *COUNTS, *held)
    return Table("overview", "Gains at fixed (w, p)", header, (tuple(rows), (total,)), tuple(notes))


def controls(analysis: Analysis) -> Table | None:
    """What settings without meaning gain; None when the table has no such settings."""
    found = (("random explainer", analysis.controls.explainer), ("random metric", analysis.controls.metric))
    rows = tuple((Cell(name), *_counts(one.all)) for name, one in found if one is not None)
    note = "What is gained by chance: left out of everything above."
    return Table("controls", "Controls", ("control", *COUNTS), (rows,), (note,)) if rows else None


def _origin(analysis: Analysis, explainer: str) -> str:
    """Where its point comes from, and what was asked for when the nearest grid point is another."""
    asked, used = analysis.fixed.points.get(explainer), analysis.fixed.used.get(explainer)
    moved = asked is not None and used is not None and not math.isnan(used.p) and (asked.p, asked.w) != (used.p, used.w)
    told = f": w {value(asked.w)}, p {value(asked.p)}; nearest grid point taken" if asked is not None and moved else ""
    return analysis.origins[explainer] + told


def _counts(found: GainSummary) -> tuple[Cell, ...]:
    counts = (found.n, found.better, found.worse, found.unchanged)
    return (*map(Cell, counts), Cell(found.mean_gain, "+.5f"), Cell(found.max_gain, "+.4f"))


def spelled(factor: str) -> str:
    """The name of a factor in a sentence."""
    return {"dataset": "data set", "language_pair": "language pair"}.get(factor, factor)


def number(given: float, digits: int) -> str:
    """A number with that many decimals and a true minus sign, or n/a."""
    return f"{given:.{digits}f}".replace("-", "−") if math.isfinite(given) else "n/a"


def signed(given: float, digits: int) -> str:
    """As `number`, with its sign."""
    return f"{given:+.{digits}f}".replace("-", "−") if math.isfinite(given) else "n/a"


def value(given: float) -> str:
    """A p or w as short as it can be, or n/a."""
    return f"{given:g}".replace("-", "−") if math.isfinite(given) else "n/a"
