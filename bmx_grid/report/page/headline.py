"""What an analysis is about and what it found, in a few sentences and a small table."""

from __future__ import annotations

import math

from bmx_grid.analysis import shown
from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.basis import Basis
from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.run import Analysis
from bmx_grid.report.figures.words import chosen_in_words, number, point
from bmx_grid.report.names import correlation_in_words, factor_in_words, label

COUNTS = ("settings", "better", "worse", "within 1e-5", "mean gain", "largest gain")
MEANING = "Better: gain above 1e-5; worse: gain of 0 or less. There are no intervals: single gains may be chance."
GIVEN = "Points of the BMX paper are in-sample on WMT17, Eval4NLP 2021 and MLQE-PE: they were chosen there."


def introduction(analysis: Analysis, basis: Basis) -> list[str]:
    """What BMX, w and p are, which correlation is shown, and over how many segments."""
    p, w = analysis.table.p, analysis.table.w
    mean, names = "the power mean with exponent p", " (p = 1 is the arithmetic mean, 0 the geometric, −1 the harmonic)"
    if basis.aggregation not in (None, "PowerMean"):
        mean, names = f"{basis.aggregation} with the parameter p", ""
    return [
        "BMX boosts a metric with an explanation of its own scores. An explainer gives every word an attribution, what "
        f"it contributes to the score s; M is {mean} of the attributions of a segment{names}. The boosted metric is "
        "w · s + (1 − w) · M: w is the weight of the metric itself, and w = 1 is the metric alone.",
        f"Here p runs from {number(float(p[0]), 'g')} to {number(float(p[-1]), 'g')} ({len(p):,} values) and w is "
        f"{', '.join(number(one, 'g') for one in w.tolist())}. {_rests_on(analysis, basis)} A gain is the correlation "
        "of the boosted metric minus that of the metric alone.",
    ]


def _rests_on(analysis: Analysis, basis: Basis) -> str:
    pairs = sorted({(one.dataset, one.language_pair) for one in analysis.table.settings})
    kind = correlation_in_words(basis.correlation)
    said = f"Every number is {kind} with human scores, segment by segment" if basis.correlation else ""
    said = said or "Every number is a correlation with human scores, segment by segment (the table does not say which)"
    sizes = [basis.segments[pair] for pair in pairs if pair in basis.segments]
    if len(sizes) < len(pairs):
        return f"{said}; the table does not say over how many segments."
    if len(pairs) == 1:
        return f"{said}, over {sizes[0]:,} segments."
    each = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    return f"{said}, over {each} segments per language pair ({sum(sizes):,} in {len(pairs)} language pairs)."


def headline(analysis: Analysis) -> list[str]:
    """What was found, in a few sentences."""
    total = shown.all_counts(analysis)
    little = f", {total.unchanged} gain no more than 0.00001" if total.unchanged else ""
    sentences = [
        f"At one fixed (w, p) per explainer, {chosen_in_words(analysis)}, {total.better} of {total.n} settings get "
        f"better and {total.worse} worse{little}. The mean gain is {number(total.mean_gain, '+.5f')}."
    ]
    if shown.chosen(analysis) in ("given", "mixed"):
        sentences.append(GIVEN)
    if total.undefined:
        sentences.append(f"The gain of {total.undefined} further settings is undefined there.")
    factor = shown.left_out_factor(analysis)
    if factor is not None:
        told = [
            f"{label(name)} {number(one.in_sample.mean_gain, '+.5f')} and {number(one.summary.mean_gain, '+.5f')}"
            for name, one in shown.left_out(analysis)[factor].items()
            if one.folds
        ]
        sentences.append(
            f"Mean gain at the medians of all settings of this table, and at medians chosen without the "
            f"{factor_in_words(factor)} judged on: {'; '.join(told)}."
        )
    sentences.append(_improved(analysis.n_tied, len(analysis.real)))
    return sentences


def _improved(none: int, total: int) -> str:
    inside = "a point chosen on the segments it is judged on (in-sample)"
    if none == 0:
        return f"Each of the {total} settings is improved by some (w, p), {inside}."
    some = f"{total - none} of the {total} settings are improved by some (w, p), {inside}"
    return f"{some}; of {none} the metric alone is best."


def overview(analysis: Analysis) -> Table:
    """For each explainer the point it is evaluated at, what it gains there, and at points chosen elsewhere."""
    factor = shown.left_out_factor(analysis)
    held = () if factor is None else ("mean gain, chosen on all", "mean gain, chosen on others", "better, on others")
    rows = []
    for name, found in shown.counts(analysis).items():
        used = shown.used_point(analysis, name)
        at = (math.nan, math.nan) if used is None else (used.w, used.p)
        cells = [Cell(label(name)), *(Cell(one, "g") for one in at), Cell(_origin(analysis, name)), *_counts(found)]
        if factor is not None:
            one = shown.left_out(analysis)[factor][name]
            cells += [Cell(one.in_sample.mean_gain, "+.5f"), Cell(one.summary.mean_gain, "+.5f")]
            cells.append(Cell(one.summary.better))
        rows.append(tuple(cells))
    total = (Cell("all"), *[Cell(None)] * 3, *_counts(shown.all_counts(analysis)), *[Cell(None)] * len(held))
    notes = [MEANING]
    if factor is not None:
        notes.append(
            "Chosen on all: at the median of the best points of all settings of the explainer; on others: of those of "
            f"the other {factor_in_words(factor)}s."
        )
    header = ("explainer", "w", "p", "where (w, p) comes from", *COUNTS, *held)
    return Table("overview", "Gains at fixed (w, p)", header, (tuple(rows), (total,)), tuple(notes))


def _origin(analysis: Analysis, explainer: str) -> str:
    """Where its point comes from, and what was asked for when the nearest grid point is another."""
    origin = shown.origins(analysis)[explainer]
    asked, used = shown.asked_point(analysis, explainer), shown.used_point(analysis, explainer)
    if asked is None or used is None or (asked.p, asked.w) == (used.p, used.w):
        return origin
    return f"{origin}: {point(asked)}; nearest grid point taken"


def _counts(found: GainSummary) -> tuple[Cell, ...]:
    counts = (found.n, found.better, found.worse, found.unchanged)
    return (*map(Cell, counts), Cell(found.mean_gain, "+.5f"), Cell(found.max_gain, "+.4f"))
