"""The table at the end of a sweep, as plain text that fits a terminal."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis.gains import Clusters, summarise
from bmx_grid.analysis.table import CONTROL
from bmx_grid.analysis.tested import ALPHA, SURVIVES, GainInterval
from bmx_grid.report.table import MARK, columns_of, padded, wrapped
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Refused
from bmx_grid.wording import counted, named, number, point_in_words, setting_label, visible, with_interval

WIDEST = 120  # characters per line, on however wide a terminal
NARROWEST = 40
MOST_ROWS = 20  # settings; more are summed up
ENDS = 5  # settings shown at either end of a summary
MOST_PARTS = 24  # pairs of explainer and metric in a summary
UNTESTED = "better: above 1e-5, worse: 0 or less; nothing was tested"
LEAST_NAME = 8  # characters that a name is shortened to, before a column that is no detail is left out
DETAIL = 3  # columns of this rank and above are details
NAMES = ("data set", "pair", "metric", "explainer")
GAP = "  "
ROOM_FOR_INTERVALS = 70  # characters per line
INTERVAL = "95 % interval"
GainIntervals = Mapping[tuple[str, ...], GainInterval]


@dataclass(frozen=True)
class _Column:
    """A column of numbers; rank: columns of higher rank are left out first where there is no room, 0 never.

    file: where they are in full.
    """

    name: str
    shown: Callable[[SettingResult], str]
    rank: int
    file: str = "settings.csv"


COLUMNS = (
    _Column("baseline", lambda one: number(one.grid.baseline, ".4f"), 0),
    _Column("best", lambda one: number(one.grid.best, ".4f"), 4),
    _Column("at", lambda one: point_in_words(one.grid.best_w, one.grid.best_p), 2),
    _Column("gain", lambda one: number(one.gain, "+.4f"), 1),
    _Column("fixed", lambda one: number(one.fixed, ".4f"), 5),
    _Column("fixed gain", lambda one: number(one.fixed_gain, "+.4f"), 0),
    _Column("shifted", lambda one: number(one.grid.share_shifted, ".0%"), 3),
    _Column("plateau", lambda one: f"{one.grid.plateau:,}" if one.grid.plateau > 1 else "", 6),
)


def sweep_table(
    results: Iterable[SettingResult],
    failed: Sequence[Refused],
    width: int | None = None,
    *,
    tested: GainIntervals | None = None,
) -> str:
    """What a sweep found, then what failed and why.

    Up to 20 settings have a row each: correlation of the metric alone (baseline), the best grid point and its gain, the
    correlation at the fixed (w, p) of the explainer and its gain, the share of segments whose attributions were
    shifted, and how many points are as good as the best. More settings are summed up by explainer and metric: how many,
    their mean gain with its interval, and how many gains and losses survive the correction; then the settings that gain
    most and least, and what controls gain. Where a line has no room, the least important columns are left out.

    width: characters per line; as wide as the terminal for None. tested: by names of settings the intervals of gains at
    fixed points, and whether they survive the correction.
    """
    tested = {} if tested is None else tested
    wide = terminal_width(width)
    ordered = sorted(results, key=lambda one: (one.dataset, one.metric, one.explainer, one.language_pair))
    parts = _rows(ordered, wide, tested) if len(ordered) <= MOST_ROWS else _summed_up(ordered, wide, tested)
    if failed:
        lines = (wrapped(f"  {line}", wide, "    ") for line in _failures(failed))
        parts.append("\n".join([f"failed: {len(failed)}", *lines]))
    return "\n\n".join(parts) or ("" if ordered else "no setting was run")


def terminal_width(width: int | None = None) -> int:
    """Characters per line: `width`, or those of the terminal, but not too few and not too many to be read."""
    wide = shutil.get_terminal_size((80, 24)).columns if width is None else width
    return max(min(wide, WIDEST), NARROWEST)


def fitted(text: str, width: int | None = None) -> str:
    """A sentence in lines that fit the terminal."""
    return wrapped(text, terminal_width(width), "  ")


def in_words(sentences: Sequence[str], width: int | None = None) -> list[str]:
    """The answer, in lines that fit the terminal."""
    return [*(wrapped(one, terminal_width(width), "  ") for one in sentences), ""] if sentences else []


def _rows(results: Sequence[SettingResult], width: int, tested: GainIntervals) -> list[str]:
    if not results:
        return []
    columns = [one for one in COLUMNS if one.name == "baseline"]
    dropped: list[_Column] = []
    if not any(one.has_grid for one in results):
        if not any(math.isfinite(one.baseline) for one in results):
            return []  # a sweep without the grid: other tables say it
    else:
        columns, dropped = _fitting(results, 1, width, tested)
    parts = []
    for dataset in dict.fromkeys(one.dataset for one in results):
        own = [one for one in results if one.dataset == dataset]
        parts.append(_table(_title(own, dataset), own, columns, 1, width))
    notes = _notes(results, columns, dropped, width)
    return [*parts, notes] if notes else parts


def _summed_up(results: Sequence[SettingResult], width: int, tested: GainIntervals) -> list[str]:
    """Counts by explainer and metric, the settings that gain most and least, controls; nothing without a boost."""
    alone = sum(not one.has_grid for one in results)
    rated = any(math.isfinite(one.baseline) for one in results)
    boosted = [one for one in results if one.has_grid]
    if not boosted:  # other tables say how metrics alone agree with people
        return [f"{counted(alone, 'setting')} of metrics alone: settings.csv"] if rated else []
    controls = [one for one in boosted if CONTROL in one.names]
    results = [one for one in boosted if CONTROL not in one.names]
    at_fixed = _any_fixed(results)

    def gain_of(one: SettingResult) -> float:
        """At the fixed point; at the best one in a sweep without fixed points: one or the other for all settings."""
        return one.fixed_gain if at_fixed else one.gain

    datasets = sorted({visible(one.dataset) for one in results})
    at = "the fixed (w, p) of its explainer" if at_fixed else "its best (w, p)"
    sure = f"survives Holm's correction at {ALPHA:g}" if tested and at_fixed else ""
    counts = f"gains, losses: how many single ones {sure.replace('survives', 'survive')}" if sure else UNTESTED
    title = f"{counted(len(results), 'setting')} of {named(datasets)}; gain at {at}; {counts}"
    room = width >= ROOM_FOR_INTERVALS
    rows, without = _by_parts(results, gain_of, tested if sure else {}, room)
    parts = [f"{wrapped(title, width)}\n{_aligned(rows[: MOST_PARTS + 1], 2, width)}"] if len(rows) > 1 else []
    ranked = sorted((one for one in results if math.isfinite(gain_of(one))), key=gain_of, reverse=True)
    columns: list[_Column] = []
    dropped = [] if room else [_Column(f"{INTERVAL} of mean gains", lambda one: "", 0, "tables/gains_by_factor.csv")]
    if len(ranked) > 2 * ENDS:
        first = 1 if len(datasets) == 1 else 0
        columns, more = _fitting([*ranked[:ENDS], *ranked[-ENDS:]], first, width, tested, ends=True)
        dropped += [one for one in more if one.name == INTERVAL]
        parts.append(_table(f"the {ENDS} that gain most", ranked[:ENDS], columns, first, width))
        parts.append(_table(f"the {ENDS} that gain least", ranked[-ENDS:], columns, first, width))
    lines = [_notes(results, columns, dropped, width)]
    if len(rows) > MOST_PARTS + 1:
        lines.insert(0, f"{len(rows) - MOST_PARTS - 1:,} further pairs of explainer and metric: settings.csv")
    if without:
        told = "; ".join(f"{name}: {counted(count, 'setting')}" for name, count in without.items())
        lines.append(
            wrapped(f"not in the first table, no fixed (w, p) is given for the explainer: {told}", width, "  ")
        )
    lines += [wrapped(_controls(controls), width, "  ")] if controls else []
    lines.append(wrapped("all settings, with their best points: settings.csv", width, "  "))
    return [*parts, "\n".join(filter(None, lines))]


def _by_parts(
    results: Sequence[SettingResult], gain_of: Callable[[SettingResult], float], tested: GainIntervals, room: bool
) -> tuple[list[tuple[str, ...]], dict[str, int]]:
    """A row per explainer and metric, below the names of columns; and the settings without a fixed point by explainer.

    tested: counted are gains and losses that survive the correction; without it, gains above 1e-5, and of 0 or less.
    """
    ends = [INTERVAL] if room else []
    counted_as = ("gains", "losses") if tested else ("better", "worse")  # as the tables beside the results name them
    rows: list[tuple[str, ...]] = [("explainer", "metric", "n", "mean gain", *ends, *counted_as)]
    without: dict[str, int] = {}
    at_fixed = _any_fixed(results)
    for explainer, metric in sorted({(one.explainer, one.metric) for one in results}):
        own = [one for one in results if (one.explainer, one.metric) == (explainer, metric)]
        gains = summarise(
            np.array([gain_of(one) for one in own]), np.array([one.grid.baseline for one in own]), _clusters(own)
        )
        if at_fixed and not _any_fixed(own):
            without[explainer] = without.get(explainer, 0) + len(own)
            continue
        better, worse = gains.better, gains.worse
        if tested:
            known = [tested[one.names] for one in own if one.names in tested]
            better, worse = sum(one.survives for one in known), sum(one.lost for one in known)
        interval = [_interval(gains.mean_low, gains.mean_high, "+.4f")] if room else []
        counts = (f"{better:,}", f"{worse:,}")
        rows.append((explainer, metric, f"{gains.n:,}", number(gains.mean_gain, "+.4f"), *interval, *counts))
    return rows, without


def _controls(controls: Sequence[SettingResult]) -> str:
    """What random scores and random attributions gain, in a sentence: by chance alone."""
    fixed = [one for one in controls if math.isfinite(one.fixed_gain)]
    best = [one.gain for one in controls if math.isfinite(one.gain)]
    told = []
    if fixed:
        found = summarise(
            np.array([one.fixed_gain for one in fixed]), np.array([one.baseline for one in fixed]), _clusters(fixed)
        )
        told = [f"{with_interval(found.mean_gain, found.mean_low, found.mean_high)} at fixed points (of {len(fixed)})"]
    told += [f"{number(float(np.mean(best)), '+.4f')} at best points, which is chance"] if best else []
    return f"controls ({CONTROL}): {counted(len(controls), 'setting')}; mean gain {', '.join(told) or number(math.nan)}"


def _any_fixed(results: Sequence[SettingResult]) -> bool:
    return any(math.isfinite(one.fixed_w) for one in results)


def _title(results: Sequence[SettingResult], dataset: str) -> str:
    first = results[0]
    if not first.has_grid:
        return f"{dataset}: {first.correlation.capitalize()} correlation of the metrics alone with human scores"
    words = "words of both sides" if first.side == "both" else "words of the hypothesis"
    mean = "power mean" if first.aggregation == "PowerMean" else first.aggregation
    return f"{dataset}: {first.correlation.capitalize()} correlation with human scores, {mean} of {words}"


def _fitting(
    results: Sequence[SettingResult], first_name: int, width: int, tested: GainIntervals, ends: bool = False
) -> tuple[list[_Column], list[_Column]]:
    """The columns there is room for, and the others that hold anything.

    Details go before names are shortened, the rest only after. ends: of settings that are shown as examples: no more
    than the baseline, the gain that they are ranked by, and its interval.
    """
    at_fixed = _any_fixed(results)
    columns = [one for one in COLUMNS if at_fixed or not one.name.startswith("fixed")]
    if ends:
        columns = [one for one in columns if one.name in ("baseline", "fixed gain" if at_fixed else "gain")]
    if tested:
        at = next((place for place, one in enumerate(columns) if one.name == "shifted"), len(columns))
        columns.insert(at, _Column(INTERVAL, lambda one: _tested(tested.get(one.names)), 1, "tests.parquet"))
    every = list(columns)
    names = [_widest([name, *own]) for name, own in _names(results, first_name)]
    for shortened in (False, True):
        taken = sum(min(LEAST_NAME, one) if shortened else one for one in names) + len(GAP) * len(names)
        while True:
            dropped = max(columns, key=lambda one: one.rank)
            needed = sum(_widest([one.name, *map(one.shown, results)]) + len(GAP) for one in columns) - len(GAP)
            if taken + needed <= width or dropped.rank < (1 if shortened else DETAIL):
                break
            columns.remove(dropped)
    return columns, [one for one in every if one not in columns and any(map(one.shown, results))]


def _table(title: str, results: Sequence[SettingResult], columns: Sequence[_Column], first: int, width: int) -> str:
    """A row per setting: its names from the `first` on, and these columns."""
    rows = [(*NAMES[first:], *(one.name for one in columns))]
    rows += [(*one.names[first:], *(column.shown(one) for column in columns)) for one in results]
    return f"{wrapped(title, width)}\n{_aligned(rows, len(NAMES) - first, width)}"


def _tested(found: GainInterval | None) -> str:
    """The interval of a gain, with the mark of one that survives the correction."""
    return "" if found is None else f"{_interval(found.low, found.high, '+.4f')}{MARK if found.survives else ' '}"


def _interval(low: float, high: float, form: str) -> str:
    return number(math.nan) if math.isnan(low) or math.isnan(high) else f"[{number(low, form)}, {number(high, form)}]"


def _clusters(results: Sequence[SettingResult]) -> Clusters:
    return np.array([setting_label(*one.names[:2]) for one in results], dtype=np.str_)


def _names(results: Sequence[SettingResult], first: int) -> Iterable[tuple[str, list[str]]]:
    for at, name in enumerate(NAMES[first:], start=first):
        yield name, [visible(one.names[at]) for one in results]


def _widest(texts: Iterable[str]) -> int:
    return max(map(columns_of, texts))


def _aligned(rows: Sequence[Sequence[str]], names: int, width: int) -> str:
    """Rows in columns, the names left; names are shortened where a line would not fit."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [_widest(column) for column in zip(*rows, strict=True)]
    room = width - sum(widths[names:]) - len(GAP) * (len(widths) - 1)
    while sum(widths[:names]) > max(room, names):
        widths[widths.index(max(widths[:names]))] -= 1
    lines = [
        GAP.join(
            padded(_shortened(cell, widths[at]), widths[at], left=at < names) for at, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * min(sum(widths) + len(GAP) * (len(widths) - 1), width), *lines[1:]])


def _shortened(text: str, width: int) -> str:
    if columns_of(text) <= width:
        return text
    while columns_of(text) > width - 1 and text:
        text = text[:-1]
    return f"{text}…"


def _notes(results: Sequence[SettingResult], columns: Sequence[_Column], dropped: Sequence[_Column], width: int) -> str:
    """What the columns mean, what was undefined, and where the columns are that had no room: below all tables."""
    shown = {one.name for one in columns}
    points = {one.explainer: (one.fixed_w, one.fixed_p) for one in results if math.isfinite(one.fixed_w)}
    lines = []
    of_best = [name for name in ("best", "at", "gain") if name in shown]
    if of_best:
        lines.append(
            f"{', '.join(of_best)}: the best (w, p), chosen where it is judged; the metric alone is among them, so "
            "that no gain is below 0"
        )
    if points:
        told = "; ".join(f"{name} {point_in_words(w, p)}" for name, (w, p) in points.items())
        lines.append(f"fixed: at the (w, p) given for the explainer: {told}")
    if INTERVAL in shown:
        lines.append(f"{INTERVAL}: of the fixed gain, by a bootstrap of clusters of segments; {MARK}: {SURVIVES}")
    if "shifted" in shown:
        lines.append(
            "shifted: segments with an attribution <= 0; for p <= -1 their mean says little but the word count"
        )
    if "plateau" in shown and any(one.grid.plateau > 1 for one in results):
        lines.append("plateau: points with w other than 1 within 1e-5 of the highest of these")
    undefined = [one for one in results if one.grid.n_undefined > 0]
    if undefined:
        total = sum(one.grid.n_undefined for one in undefined)
        among = f"in {len(undefined)} of {counted(len(results), 'setting')}"
        lines.append(f"undefined: {counted(total, 'grid point')}, {among}")
    nowhere = [one.label for one in results if math.isfinite(one.fixed_w) and not math.isfinite(one.fixed_gain)]
    if nowhere:
        lines.append(f"no fixed gain is defined for {counted(len(nowhere), 'setting')}: {named(nowhere)}")
    if dropped:
        by_file: dict[str, list[str]] = {}
        for column in dropped:
            by_file.setdefault(column.file, []).append(column.name)
        told = "; ".join(f"{', '.join(names)} ({file})" for file, names in by_file.items())
        lines.append(f"no room here for {told}; a wider terminal shows them")
    if any(not math.isfinite(one.fixed_w) and one.has_grid for one in results):
        lines.append("n/a: undefined, or no fixed (w, p) is given for the explainer")
    return "\n".join(wrapped(line, width, "  ") for line in lines)


def _failures(failed: Sequence[Refused]) -> list[str]:
    """A line each, or one for all that failed for the same reason."""
    by_reason: dict[str, list[str]] = {}
    for one in failed:
        by_reason.setdefault(one.reason, []).append(one.label)
    return [
        f"{'; '.join(labels[:3])}{f' and {len(labels) - 3} more' if len(labels) > 3 else ''}: {reason}"
        for reason, labels in by_reason.items()
    ]
