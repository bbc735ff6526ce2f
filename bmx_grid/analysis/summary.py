"""An analysis in words and small tables, for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from bmx_grid.analysis.gains import GainSummary
from bmx_grid.analysis.run import Analysis

WIDTH = 120
COUNTS = ("better", "worse", "between", "max", "mean gain")


def summary(analysis: Analysis) -> str:
    """The headline, then a table for each question; numbers in full are in analysis.json."""
    parts = [_head(analysis), _explainers(analysis), _factors(analysis), _held_out(analysis), _ridge(analysis)]
    parts.append(_controls(analysis))
    return "\n\n".join(part for part in parts if part)


def _head(analysis: Analysis) -> str:
    table, real = analysis.table, analysis.real
    lines = [
        f"{table.origin}: {len(table):,} settings, {table.n_boosted:,} correlations with w other than 1; "
        f"{len(real):,} settings without the random metric and explainer",
        f"no (p, w) improves {analysis.n_tied} of these {len(real)}; of several best points the rule "
        f"'{analysis.options.tie}' takes one",
    ]
    lines += [f"left out: {one}" for one in table.left_out]
    return "\n".join(_wrapped(line, "  ") for line in lines)


def _explainers(analysis: Analysis) -> str:
    rows: list[tuple[str, ...]] = [("explainer", "median w", "p", "strict w", "p", "at w", "p", *COUNTS, "r")]
    for name, found in analysis.fixed.by["explainer"].items():
        median, strict = analysis.medians[name], analysis.strict_medians[name]
        point = analysis.fixed.used.get(name)
        at = ("n/a", "n/a") if point is None else (_value(point.w), _value(point.p))
        medians = (_value(median.w), _value(median.p), _value(strict.w), _value(strict.p))
        correlation = _number(analysis.gain_baseline.by_explainer[name], ".4f")
        rows.append((name, *medians, *at, *_counts(found), correlation))
    everything = ("all", "", "", "", "", "", "", *_counts(analysis.fixed.all))
    rows.append((*everything, _number(analysis.gain_baseline.all, ".4f")))
    origins = sorted(set(analysis.origins.values()))
    notes = (
        "strict: medians over the settings that some (p, w) improves; better: gain above 1e-5; worse: 0 or less; max: "
        "the largest gain; r: Pearson correlation of gain and baseline; evaluated at the grid point nearest to: "
        + "; ".join(origins)
    )
    return f"{_table(rows)}\n{_wrapped(notes)}"


def _factors(analysis: Analysis) -> str:
    """Settings with a gain above 0, of how many, for each explainer and each name of the other factors."""
    explainers = list(analysis.fixed.by_explainer)
    rows: list[tuple[str, ...]] = [("gain above 0", *explainers)]
    for factor, groups in analysis.fixed.by.items():
        if factor == "explainer":
            continue
        for name in groups:
            cells = []
            for explainer in explainers:
                found = analysis.fixed.by_explainer[explainer][factor].get(name)
                cells.append("" if found is None else f"{found.positive}/{found.n}")
            rows.append((name, *cells))
    return _table(rows)


def _held_out(analysis: Analysis) -> str:
    head = ("held out", "explainer", "in-sample better", "mean gain", "held-out", "mean gain", "nested", "mean gain")
    rows: list[tuple[str, ...]] = [head]
    for factor, found in analysis.leave_one_out.items():
        for name, one in found.items():
            other = analysis.nested[factor][name]
            if not one.folds:
                continue
            numbers = [str(one.in_sample.better), _number(one.in_sample.mean_gain, "+.5f")]
            for held in (one.summary, other.summary):
                numbers += [f"{held.better}/{held.n}", _number(held.mean_gain, "+.5f")]
            rows.append((factor, name, *numbers))
    if len(rows) == 1:
        return "nothing can be held out: the table has a single data set, language pair and metric"
    note = "nested: the rule of selection is chosen without the held-out settings too"
    return f"{_table(rows)}\n{note}"


def _ridge(analysis: Analysis) -> str:
    fit = analysis.ridge
    named = [f"{name} {value:+.4f}" for (_, name), value in fit.coefficients.items()]
    ends = named if len(named) <= 6 else [*named[:3], "…", *named[-3:]]
    line = f"ridge regression of the gain: {', '.join(ends)}; intercept {_number(fit.intercept, '+.4f')}"
    return _wrapped(f"{line}, R² {_number(fit.r2, '.2f')} over {fit.n} settings")


def _controls(analysis: Analysis) -> str:
    lines = []
    for name, one in (("explainer", analysis.controls.explainer), ("metric", analysis.controls.metric)):
        if one is not None:
            found = one.all
            lines.append(
                f"control, random {name}: {found.better} of {found.n} better, {found.worse} worse, "
                f"max gain {_number(found.max_gain, '+.4f')}, mean {_number(found.mean_gain, '+.5f')}"
            )
    return "\n".join(lines)


def _counts(found: GainSummary) -> tuple[str, ...]:
    counts = (str(found.better), str(found.worse), str(found.unchanged))
    return (*counts, _number(found.max_gain, "+.4f"), _number(found.mean_gain, "+.5f"))


def _wrapped(text: str, indent: str = "") -> str:
    """Lines of at most WIDTH characters; names and paths stay whole, so that they can be copied."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns: the first left, the others right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(len(line) for line in lines), *lines[1:]])


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "n/a"


def _value(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else "n/a"
