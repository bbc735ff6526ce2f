"""An analysis as tables of text: the headline and the answer to each question, for a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.run import Analysis

COUNTS = ("settings", "better", "worse", "between", "mean gain", "largest gain")
MEANING = "better: gain above 0.00001; worse: 0 or less; between: the rest"


@dataclass(frozen=True)
class Table:
    """A titled table of text; each row starts with what names it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


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


def answers(analysis: Analysis) -> list[Table]:
    """The tables, in the order in which a reader asks."""
    tables = [_explainers(analysis), _held_out(analysis), _factors(analysis), _medians(analysis), _ridge(analysis)]
    tables.append(_controls(analysis))
    return [table for table in tables if table is not None and table.rows]


def _explainers(analysis: Analysis) -> Table:
    rows = []
    for name, found in analysis.fixed.by["explainer"].items():
        point = analysis.fixed.used.get(name)
        at = ("n/a", "n/a") if point is None else (value(point.w), value(point.p))
        correlation = number(analysis.gain_baseline.by_explainer[name], 4)
        rows.append((name, *at, _origin(analysis, name), *_counts(found), correlation))
    total = ("all", "", "", "", *_counts(analysis.fixed.all), number(analysis.gain_baseline.all, 4))
    note = f"{MEANING}; r(gain, baseline): Pearson correlation over settings"
    header = ("explainer", "w", "p", "where (w, p) comes from", *COUNTS, "r(gain, baseline)")
    return Table("Gains at fixed (w, p)", header, (*rows, total), note)


def _origin(analysis: Analysis, explainer: str) -> str:
    """Where its point comes from, and what was asked for when the nearest grid point is another."""
    asked, used = analysis.fixed.points.get(explainer), analysis.fixed.used.get(explainer)
    moved = asked is not None and used is not None and not math.isnan(used.p) and (asked.p, asked.w) != (used.p, used.w)
    told = f": w {value(asked.w)}, p {value(asked.p)}; nearest grid point taken" if asked is not None and moved else ""
    return analysis.origins[explainer] + told


def _held_out(analysis: Analysis) -> Table:
    rows = []
    for factor, found in analysis.leave_one_out.items():
        for name, one in found.items():
            if not one.folds:
                continue
            nested = analysis.nested[factor][name].summary
            held = one.summary
            cells = [f"{one.in_sample.better}/{one.in_sample.n}", signed(one.in_sample.mean_gain, 5)]
            cells += [f"{held.better}/{held.n}", signed(held.mean_gain, 5), signed(one.optimism, 5)]
            cells += [f"{nested.better}/{nested.n}", signed(nested.mean_gain, 5)]
            rows.append((f"{spelled(factor)}, {name}", *cells))
    numbers = (
        "in-sample better",
        "mean gain",
        "held-out better",
        "mean gain",
        "optimism",
        "nested better",
        "mean gain",
    )
    note = (
        "in-sample: all settings choose the (w, p) they are judged at; held-out: the others choose it; optimism: "
        "the difference of the mean gains; nested: the rule of selection is chosen without the held-out settings too"
    )
    return Table("Gains held out", ("held out, explainer", *numbers), tuple(rows), note)


def _factors(analysis: Analysis) -> Table:
    explainers = list(analysis.fixed.by_explainer)
    rows = []
    for factor, groups in analysis.fixed.by.items():
        if factor == "explainer":
            continue
        for name in groups:
            cells = []
            for explainer in explainers:
                one = analysis.fixed.by_explainer[explainer][factor].get(name)
                told = "" if one is None else f"{one.positive}/{one.n} ({signed(one.mean_gain, 4)})"
                cells.append(told)
            rows.append((f"{spelled(factor)} {name}", *cells))
    note = "settings with a gain above 0 at the fixed (w, p), of how many; mean gain"
    return Table("By data set, language pair and metric", ("", *explainers), tuple(rows), note)


def _medians(analysis: Analysis) -> Table:
    rows = []
    for name, one in analysis.medians.items():
        strict = analysis.strict_medians[name]
        cells = (value(one.w), value(one.p), str(one.n), value(strict.w), value(strict.p), str(strict.n))
        rows.append((name, "all", *cells, "", "", ""))
    for (metric, name), one in analysis.metric_medians.items():
        beating = analysis.beating_medians[metric, name]
        cells = (value(one.w), value(one.p), str(one.n), "", "", "")
        rows.append((name, metric, *cells, value(beating.w), value(beating.p), f"{beating.n:,}"))
    header = ("explainer", "metric", "median w", "p", "of", "improved: w", "p", "of", "beating: w", "p", "of points")
    note = (
        "medians of w and of p apart, over the best points of settings; improved: over settings that some (w, p) "
        "improves; beating: over all points that beat a baseline above 0"
    )
    return Table("Median parameters", header, tuple(sorted(rows, key=lambda row: row[:1])), note)


def _ridge(analysis: Analysis) -> Table:
    fit = analysis.ridge
    rows = [(name, spelled(factor), signed(one, 4)) for (factor, name), one in fit.coefficients.items()]
    note = (
        f"alpha {fit.alpha:g}, intercept {signed(fit.intercept, 4)}, R² {number(fit.r2, 2)}, over {fit.n} settings; "
        "what each adds to the gain, largest first"
    )
    return Table("Ridge regression of the gain", ("", "factor", "coefficient"), tuple(rows), note)


def _controls(analysis: Analysis) -> Table:
    found = (("random explainer", analysis.controls.explainer), ("random metric", analysis.controls.metric))
    rows = tuple((name, *_counts(one.all)) for name, one in found if one is not None)
    note = f"what settings without meaning gain by chance: left out of everything above; {MEANING}"
    return Table("Controls", ("control", *COUNTS), rows, note)


def _counts(found: GainSummary) -> tuple[str, ...]:
    counts = (str(found.n), str(found.better), str(found.worse), str(found.unchanged))
    return (*counts, signed(found.mean_gain, 5), signed(found.max_gain, 4))


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


def is_number(text: str) -> bool:
    """Whether a cell holds a number (or fraction, or n/a), to be set right."""
    return text in ("", "n/a") or text.lstrip("+−").replace(".", "").replace(",", "").replace("/", "").isdigit()


def numeric_columns(table: Table) -> Sequence[bool]:
    """Which columns hold nothing but numbers."""
    columns = zip(*table.rows, strict=True)
    return [all(is_number(cell) for cell in column) and any(column) for column in columns]
