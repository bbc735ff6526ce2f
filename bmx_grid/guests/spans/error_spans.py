"""Do explainers mark the errors that people mark, and how well do they detect error-free segments?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import PAIR, Column, SweepTables, Table, each_group, first_row
from bmx_grid.core.wording import display_name, format_interval, pluralize, setting_label
from bmx_grid.guests.spans.span_rows import ErrorFreeRow, SpanRow

if TYPE_CHECKING:
    import pandas as pd

HUMAN = "human"
ENDS = ("low", "high")
OF_SPANS = (
    "Characters: F1 of characters in spans, half a point for another severity (WMT25, task 2; its script prints "
    "average precision and recall exchanged). MPP: F1 of spans that are matched one to one, each worth the share "
    "of its characters that overlap (Perrella et al. 2026). In brackets: 95 % intervals over clusters "
    "of segments. Rows of kind human are the ceiling."
)
OF_ERROR_FREE = (
    "Error-free: no span and a human score as high as evaluation.spans.error_free_least. MCC with a threshold that is "
    "chosen on other segments of the pair; n/a if no segment is error-free, or all are."
)


def compute(tables: SweepTables) -> dict[str, Any]:
    """Read the tables of spans.

    spans, error_free: as their evaluation wrote them, None if a sweep has no such table.
    spans_in_words: a sentence per language pair, gold and measure on the best explainer and the best person.
    undefined_pairs: how many language pairs have no error-free segment, or no other.
    """
    spans = tables.frame("spans", SpanRow)
    error_free = tables.frame("error_free", ErrorFreeRow)
    counts = error_free["n_error_free"]
    undefined = error_free[(counts == 0) | (counts == error_free["n_segments"])]
    has_error_free = "error_free" in tables.frames
    return {
        "spans": spans if "spans" in tables.frames else None,
        "spans_in_words": list(_describe_agreement(spans)),
        "error_free": error_free if has_error_free else None,
        "undefined_pairs": len(undefined.drop_duplicates(PAIR)) if has_error_free else None,
    }


def _describe_agreement(spans: pd.DataFrame) -> Iterator[str]:
    for (dataset, language_pair, gold, measure), rows in each_group(spans, *PAIR, "gold", "measure"):
        known = rows[rows["f1"].notna()]
        by_explainers = known[known["kind"] != HUMAN]
        by_people = known[known["kind"] == HUMAN]
        if by_explainers.empty:
            continue
        label = setting_label(dataset, language_pair)
        sentence = f"{label}, {measure} against {display_name(gold)}: the best F1 is {_best_f1(by_explainers)}"
        if len(by_people):
            sentence += f"; people reach {_best_f1(by_people)}"
        yield f"{sentence}."


def _best_f1(spans: pd.DataFrame) -> str:
    """The highest F1 and its explainer or person; the first of equal ones."""
    best = first_row(spans.nlargest(1, "f1"))
    return f"{format_interval(best.f1, best.low, best.high, '.3f')} ({display_name(best.explainer)})"


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Agreement with people per language pair and gold, and error-free segments."""
    spans = result["spans"]
    if spans is not None and len(spans):
        by = [*PAIR, "gold", "measure"]
        rows = spans.assign(order=-spans["f1"]).sort_values([*by, "order"])
        columns = (
            *PAIR,
            "gold",
            "measure",
            Column("explainer", "spans of"),
            "kind",
            Column("f1", "F1", ".3f", ENDS),
            Column("precision", form=".3f"),
            Column("recall", form=".3f"),
            Column("n_segments", "segments"),
        )
        notes = [*result["spans_in_words"], OF_SPANS]
        yield Table.from_rows("spans", "Error spans against people's", rows, columns, notes, by=by, names=6)
    error_free = result["error_free"]
    if error_free is not None and len(error_free):
        columns = (
            *PAIR,
            "gold",
            "metric",
            "explainer",
            "point",
            Column("mcc", "MCC", ".3f", ENDS),
            Column("n_error_free", "error-free"),
            Column("n_segments", "of segments"),
        )
        notes = [OF_ERROR_FREE]
        if result["undefined_pairs"]:
            pairs = pluralize(result["undefined_pairs"], "language pair")
            notes.insert(0, f"Undefined in {pairs}.")
        yield Table.from_rows("error_free", "Error-free segments", error_free, columns, notes, by=PAIR, names=6)
