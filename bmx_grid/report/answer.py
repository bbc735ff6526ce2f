"""The answer of a sweep on a terminal: the conclusion, a table of verdicts for each question, and a line for each fact.

A row never wraps. What does not fit goes in this order: p (Holm), segments, partial r, length alone, boosted, r alone;
then long names are cut. From 120 columns on they are cut first, so that all numbers are there.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmx_grid.analysis import answers, headline, marked_words, metrics_and_people
from bmx_grid.analysis.base import Given, each_group, each_row
from bmx_grid.analysis.paper_numbers import papers_numbers, shifted_in_words
from bmx_grid.analysis.verdict_table import verdict_table
from bmx_grid.core.wording import P_VALUE, correlation_in_words, named, number, visible
from bmx_grid.evaluations.boost_evidence import PUBLISHED
from bmx_grid.evaluations.verdicts import HELPS, HURTS, LEGEND
from bmx_grid.report.table import GAP, WIDTH, filled_up, width_of, wrapped

MOST_ROWS = 24  # of a question
LEFT = ("verdict", "metric", "explainer", "boost", "human", "data")  # aligned at the left; numbers at the right
SHARED = ("explainer", "boost", "human", "data", "segments")  # said in the title if all rows have one value
DROPPED = ("p (Holm)", "segments", "partial r", "length", "boosted", "r alone")  # the first goes first
CUT = ("boost", "metric", "explainer", "data")  # names that a narrow table may cut
SHORTEST_NAME = 8  # characters
MOST_CUT = 12  # characters of all names, before a column goes
NOT_BOOSTED = "not boosted"
MARK = "*"
MARKED = "the interval leaves 0 out, but not after Holm's correction"
COLOURS: Mapping[str, str] = {HELPS: "\x1b[32m", HURTS: "\x1b[31m"}  # green, red
PLAIN = "\x1b[0m"
FIRST_WORD = re.compile(rf"^({HELPS}|{HURTS})\b", re.MULTILINE)

Row = Mapping[str, str]  # a cell of each column


def answer_text(given: Given, width: int) -> str:
    """Everything that a sweep found about its boosts, in lines of at most `width` characters; "" without verdicts."""
    if not given.judged:
        return ""
    of_boosts = given.ask(answers.compute)
    verdicts = given.ask(verdict_table)
    first = filter(None, [of_boosts["conclusion"], *headline.not_evidence(given)])
    parts = ["\n".join(wrapped(sentence, width) for sentence in first)]
    unit = f"gain in {correlation_in_words(given.correlation)} over the baseline"
    for question, rows in each_group(verdicts, "question"):
        parts.append("\n".join(_table(title_of_question(question, rows), unit, rows, width)))
    parts.append("\n".join(_legend(verdicts, width)))
    facts = [
        *of_boosts["not_judged"],
        *headline.without_correlation(given),
        *given.ask(metrics_and_people.unbeaten),
        *papers_numbers(given),
        *shifted_in_words(given),
        *filter(None, [of_boosts["families"], of_boosts["unnamed"], of_boosts["next_steps"]]),
        *given.ask(marked_words.compute)["words_in_words"],
        *given.ask(marked_words.compute)["plausibility_in_words"],
    ]
    parts.append("\n".join(wrapped(line, width, "  ") for line in facts))
    return "\n\n".join(filter(None, parts))


def coloured(text: str) -> str:
    """The text with "helps" and "hurts" in colour where a line begins with them: on a terminal without NO_COLOR."""
    # Somebody's metric may have closed it. NO_COLOR: https://no-color.org
    if getattr(sys.stdout, "closed", False) or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return FIRST_WORD.sub(lambda found: f"{COLOURS[found[0]]}{found[0]}{PLAIN}", text)


def title_of_question(question: str, rows: Any) -> str:
    """What a question is about: on which data its boosts were chosen."""
    chosen_on = list(dict.fromkeys(rows["chosen_on"]))
    if question == PUBLISHED:
        # On the data sets of the paper it is in-sample, on others not.
        return f"Boosts at the published point{''.join(place.removeprefix(PUBLISHED) for place in chosen_on)}"
    return f"Boosts chosen on {named(chosen_on, separator=' or ')}"


def _table(title: str, unit: str, rows: Any, width: int) -> Iterator[str]:
    """The lines of one question's table, under its title. unit: what its numbers are."""
    shown = [_cells(row) for row in each_row(rows.head(MOST_ROWS))]
    names = [name for name in shown[0] if any(cells[name] for cells in shown)]
    shared = [name for name in SHARED if name in names and len({cells[name] for cells in shown}) == 1]
    if len(shown) > 1:
        said = [f"{shown[0][name]} segments" if name == "segments" else shown[0][name] for name in shared]
        title += f" ({', '.join(said)})" if said else ""
        names = [name for name in names if name not in shared]
    for dropped in ("", *DROPPED):
        names = [name for name in names if name != dropped]
        too_wide = sum(_widths(shown, names)) + len(GAP) * (len(names) - 1) - width
        if too_wide <= (MOST_CUT if width >= WIDTH else 0):
            break
    for name in CUT:
        if too_wide > 0 and name in names:
            column = max(width_of(cells[name]) for cells in shown)
            kept = max(column - too_wide, SHORTEST_NAME)
            shown = [{**cells, name: _cut(cells[name], kept)} for cells in shown]
            too_wide -= column - kept
    widths = _widths(shown, names)
    yield wrapped(f"{title}: {unit}", width)
    yield ""
    yield _line({name: name for name in names}, names, widths)
    yield "-" * (sum(widths) + len(GAP) * (len(names) - 1))
    for cells in shown:
        yield _line(cells, names, widths)
    if len(rows) > MOST_ROWS:
        yield f"{len(rows) - MOST_ROWS} more in report.html"


def _cells(row: Any) -> dict[str, str]:
    """A verdict as texts, by column, in their order."""
    cells = {name: visible(str(getattr(row, name))) for name in LEFT}
    interval = f"[{_signed(row.gain_low)}, {_signed(row.gain_high)}]" if math.isfinite(row.gain_low) else ""
    return {
        **cells,
        "r alone": _plain(row.baseline),
        "boosted": _plain(row.boosted),
        "gain": _signed(row.gain),
        "95 % CI": NOT_BOOSTED if row.not_boosted else interval + (MARK if row.doubted else " "),
        "length": _signed(row.length_gain),
        "partial r": _signed(row.partial_r),
        "segments": f"{row.n:,.0f}",
        "p (Holm)": "" if math.isnan(row.p_gain_holm) else number(row.p_gain_holm, P_VALUE),
    }


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _signed(value: float) -> str:
    """Three decimals with a sign; 0 has none, and what is undefined is empty."""
    if math.isnan(value):
        return ""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def _plain(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _widths(shown: Sequence[Row], names: Sequence[str]) -> list[int]:
    return [max(width_of(name), *(width_of(cells[name]) for cells in shown)) for name in names]


def _line(cells: Row, names: Sequence[str], widths: Sequence[int]) -> str:
    texts = [filled_up(cells[name], width, left=name in LEFT) for name, width in zip(names, widths, strict=True)]
    return GAP.join(texts).rstrip()


def _legend(verdicts: Any, width: int) -> Iterator[str]:
    """A line for each verdict that occurs, and for the mark."""
    meanings: dict[str, str] = {
        label: meaning for label, meaning in LEGEND.items() if label in set(verdicts["verdict"])
    }
    if verdicts["doubted"].any():
        meanings[MARK] = MARKED
    widest = max(map(len, meanings), default=0)
    for label, meaning in meanings.items():
        yield wrapped(f"{label:<{widest}}{GAP}{meaning}", width, " " * (widest + len(GAP)))
