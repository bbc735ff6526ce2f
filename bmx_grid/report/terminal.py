"""The table at the end of a sweep, as plain text for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from bmx_grid.sweep.plan import Refused
from bmx_grid.sweep.results import SettingResult

WIDTH = 120  # characters a line
NAMES = ("pair", "metric", "explainer")
NUMBERS = ("baseline", "best", "w", "p", "gain", "fixed", "gain", "shifted", "plateau")
GAP = "  "


def sweep_table(results: Iterable[SettingResult], failed: Sequence[Refused]) -> str:
    """One table a data set, then what failed and why.

    A row is a setting: correlation of the metric alone (baseline), the best grid point and its gain, the
    correlation at the fixed (w, p) of the explainer and its gain, the share of segments whose attributions
    were shifted, and how many points share the best correlation when there are several.
    """
    ordered = sorted(
        results, key=lambda result: (result.dataset, result.metric, result.explainer, result.language_pair)
    )
    parts = [
        _dataset_table(name, [result for result in ordered if result.dataset == name])
        for name in dict.fromkeys(result.dataset for result in ordered)
    ]
    if ordered:
        parts.append(_notes(ordered))
    if failed:
        parts.append("\n".join([f"failed: {len(failed)}", *_failures(failed)]))
    return "\n\n".join(parts) or "no setting was run"


def _failures(failed: Sequence[Refused]) -> list[str]:
    """A line each, or one for all that failed for the same reason."""
    by_reason: dict[str, list[str]] = {}
    for one in failed:
        by_reason.setdefault(one.reason, []).append(one.label)
    return [
        f"  {'; '.join(labels[:3])}{f' and {len(labels) - 3} more' if len(labels) > 3 else ''}: {reason}"
        for reason, labels in by_reason.items()
    ]


def _dataset_table(name: str, results: Sequence[SettingResult]) -> str:
    first = results[0]
    words = "words of both sides" if first.side == "both" else "words of the hypothesis"
    rows = [(*NAMES, *NUMBERS), *((*result.names[1:], *_numbers(result)) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = WIDTH - sum(widths[3:]) - len(GAP) * (len(widths) - 1)
    while sum(widths[:3]) > room:
        widths[widths.index(max(widths[:3]))] -= 1
    lines = [GAP.join(_cell(row[column], width, column < 3) for column, width in enumerate(widths)) for row in rows]
    title = f"{name}: {first.correlation.capitalize()} correlation with human scores, {first.aggregation} of {words}"
    return "\n".join(line.rstrip() for line in (title, lines[0], "-" * len(lines[0]), *lines[1:]))


def _numbers(result: SettingResult) -> tuple[str, ...]:
    grid = result.grid
    return (
        _number(grid.baseline, ".4f"),
        _number(grid.best, ".4f"),
        _decimal(grid.best_w),
        _decimal(grid.best_p),
        _number(result.gain, "+.4f"),
        _number(result.fixed, ".4f"),
        _number(result.fixed_gain, "+.4f"),
        _number(grid.share_shifted, ".0%"),
        f"{grid.plateau:,}" if grid.plateau > 1 else "",
    )


def _notes(results: Sequence[SettingResult]) -> str:
    """What the columns mean, and what was undefined: said once, below all tables."""
    points = {result.explainer: (result.fixed_w, result.fixed_p) for result in results if math.isfinite(result.fixed_p)}
    lines = ["best: the highest of all (w, p); with w = 1, the metric alone, among them its gain cannot be below 0"]
    if points:
        told = ", ".join(f"{name} ({w:g}, {p:g})" for name, (w, p) in points.items())
        lines.append(f"fixed: at the (w, p) given for the explainer: {told}")
    lines.append("shifted: segments with an attribution <= 0; for p <= -1 their mean says little beyond the word count")
    if any(result.grid.plateau > 1 for result in results):
        lines.append("plateau: how many grid points share the best correlation (to 1e-12); the first of them is shown")
    undefined = [result for result in results if result.grid.n_undefined > 0]
    if undefined:
        total = sum(result.grid.n_undefined for result in undefined)
        lines.append(f"undefined: {total:,} grid points, in {len(undefined)} of {len(results)} settings")
    if any(not math.isfinite(result.fixed_p) for result in results):
        lines.append("n/a: undefined, or no fixed (w, p) is given for the explainer")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def _cell(text: str, width: int, left: bool) -> str:
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.ljust(width) if left else text.rjust(width)


def _number(value: float, form: str) -> str:
    if not math.isfinite(value):
        return "n/a"
    text = format(value, form)
    return text.replace("-", "+") if text.startswith("-0.") and float(text) == 0 else text


def _decimal(value: float) -> str:
    """A grid value with its decimals, whole numbers with one, so that a column of tenths lines up."""
    text = f"{value:g}"
    return f"{text}.0" if text.lstrip("-").isdigit() else text.replace("nan", "n/a")
