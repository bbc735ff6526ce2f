"""The answer of a sweep on a terminal: the conclusion, a table of verdicts for each question, and a line for each fact.

A narrow terminal drops columns in this order: p (Holm), n, partial r, length alone, r → boosted.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from bmx_grid.analysis import answers, headline, marked_words, metrics_and_people
from bmx_grid.analysis.base import Cell, SweepTables, Table, each_group, each_row
from bmx_grid.analysis.paper_numbers import compare_with_paper, describe_shifted_points
from bmx_grid.analysis.verdict_table import verdict_table
from bmx_grid.core.wording import P_VALUE, correlation_in_words, join_names, number
from bmx_grid.evaluations.boost_evidence import PUBLISHED
from bmx_grid.evaluations.verdicts import HELPS, HURTS, LEGEND
from bmx_grid.report.table import COUNT, GAP, tables_as_text, wrap_text

MOST_ROWS = 24  # of a question
NAMES = ("verdict", "metric", "explainer", "boost", "human", "data")
NUMBERS = ("r → boosted", "gain", "95 % CI", "length", "partial r", "n", "p (Holm)")
DROPPED = ("p (Holm)", "n", "partial r", "length", "r → boosted")  # the first is dropped first
NOT_BOOSTED = "not boosted"
MARK = "*"
MARKED = "the interval leaves 0 out, but not after Holm's correction"
COLOURS: Mapping[str, str] = {HELPS: "\x1b[32m", HURTS: "\x1b[31m"}  # green, red
PLAIN = "\x1b[0m"
FIRST_WORD = re.compile(rf"^({HELPS}|{HURTS})\b", re.MULTILINE)


def answer_text(tables: SweepTables, width: int) -> str:
    """Everything that a sweep found about its boosts, in lines of at most `width` characters; "" without verdicts."""
    if not tables.has_verdicts:
        return ""
    of_boosts = tables.compute_once(answers.compute)
    verdicts = tables.compute_once(verdict_table)
    first = filter(None, [of_boosts["conclusion"], *headline.describe_constructed_data(tables)])
    parts = ["\n".join(wrap_text(sentence, width) for sentence in first)]
    parts.append(tables_as_text(verdict_tables(tables), width, MOST_ROWS).rstrip())
    parts.append("\n".join(_legend(verdicts, width)))
    facts = [
        *of_boosts["not_judged"],
        *headline.describe_undefined_correlations(tables),
        *tables.compute_once(metrics_and_people.describe_unbeaten_placebos),
        *compare_with_paper(tables),
        *describe_shifted_points(tables),
        *filter(None, [of_boosts["families"], of_boosts["unnamed"], of_boosts["next_steps"]]),
        *tables.compute_once(marked_words.compute)["words_in_words"],
        *tables.compute_once(marked_words.compute)["plausibility_in_words"],
    ]
    parts.append("\n".join(wrap_text(line, width, "  ") for line in facts))
    return "\n\n".join(filter(None, parts))


def colour_verdicts(text: str) -> str:
    """The text with "helps" and "hurts" in colour if a line begins with them: on a terminal without NO_COLOR."""
    if not shows_colours():
        return text
    return FIRST_WORD.sub(lambda found: f"{COLOURS[found[0]]}{found[0]}{PLAIN}", text)


def shows_colours() -> bool:
    """Whether standard output is a terminal, without NO_COLOR (https://no-color.org)."""
    # Somebody's metric may have closed it.
    return not getattr(sys.stdout, "closed", False) and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def title_of_question(question: str, rows: Any) -> str:
    """The title of a question: the data on which its boosts were chosen."""
    chosen_on = list(dict.fromkeys(rows["chosen_on"]))
    if question == PUBLISHED:
        # On the data sets of the paper it is in-sample, on others not.
        return f"Boosts at the published point{''.join(place.removeprefix(PUBLISHED) for place in chosen_on)}"
    return f"Boosts chosen on {join_names(chosen_on, separator=' or ')}"


def verdict_tables(tables: SweepTables) -> Iterator[Table]:
    """A table for each question: a row per verdict, what helps first."""
    unit = f"gain in {correlation_in_words(tables.correlation)} over the baseline"
    for question, rows in each_group(tables.compute_once(verdict_table), "question"):
        title = f"{title_of_question(question, rows)}: {unit}"
        cells = tuple(map(_cells, each_row(rows)))
        header = (*NAMES, *NUMBERS)
        yield Table(f"verdicts_{question}", title, header, (cells,), (), names=len(NAMES), droppable=DROPPED)


def _cells(row: Any) -> tuple[Cell, ...]:
    """The cells of a verdict in the order of the columns; empty if undefined."""
    correlations = ""
    if math.isfinite(row.boosted):
        correlations = f"{row.baseline:.3f} → {row.boosted:.3f}"
    interval = (
        f"[{_format_signed(row.gain_low)}, {_format_signed(row.gain_high)}]" if math.isfinite(row.gain_low) else ""
    )
    return (
        *(Cell(str(getattr(row, name))) for name in NAMES),
        Cell(None, words=correlations),
        Cell(row.gain, words=_format_signed(row.gain)),
        Cell(None, words=NOT_BOOSTED if row.not_boosted else interval + (MARK if row.doubted else " ")),
        Cell(row.length_gain, words=_format_signed(row.length_gain)),
        Cell(row.partial_r, words=_format_signed(row.partial_r)),
        Cell(row.n, COUNT),
        Cell(row.p_gain_holm, words="" if math.isnan(row.p_gain_holm) else number(row.p_gain_holm, P_VALUE)),
    )


def _format_signed(value: float) -> str:
    """Three decimals with a sign, or the first one that is not 0; empty if undefined."""
    return "" if math.isnan(value) else number(value, "+.3f")


def _legend(verdicts: Any, width: int) -> Iterator[str]:
    """A line for each verdict that occurs, and for the mark."""
    meanings: dict[str, str] = {
        label: meaning for label, meaning in LEGEND.items() if label in set(verdicts["verdict"])
    }
    if verdicts["doubted"].any():
        meanings[MARK] = MARKED
    widest = max(map(len, meanings), default=0)
    for label, meaning in meanings.items():
        yield wrap_text(f"{label:<{widest}}{GAP}{meaning}", width, " " * (widest + len(GAP)))
