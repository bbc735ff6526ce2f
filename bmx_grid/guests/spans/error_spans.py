"""Do explainers mark the errors that people mark, as well as people do? Are error-free segments told from others?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import PAIR, Column, Given, Table, highest_first, rows_by
from bmx_grid.core.wording import counted, setting_label, written
from bmx_grid.guests.spans.span_rows import ErrorFreeRow, SpanRow

HUMAN = "human"
OF_SPANS = (
    "Characters: F1 of characters in spans, half a point for another severity (WMT25, task 2; its script prints "
    "average precision and recall exchanged). MPP: F1 of spans that are matched one to one, each worth the share "
    "of its characters that overlap (Perrella et al. 2026). In brackets: 95 % intervals over clusters "
    "of segments. Rows of kind human are the ceiling."
)
OF_ERROR_FREE = (
    "Error-free: no span and a human score as high as evaluation.spans.error_free_least. MCC with a threshold that is "
    "chosen on other segments of the pair; n/a where no segment is error-free, or all are."
)


@dataclass(frozen=True)
class SpanFindings:
    """spans, error_free: as their evaluation wrote them, None where a sweep has no such table.

    spans_in_words: a sentence per language pair, gold and measure on the best explainer and the best person.
    undefined_pairs: how many language pairs have no error-free segment, or no other.
    """

    spans: Sequence[SpanRow] | None
    spans_in_words: Sequence[str]
    error_free: Sequence[ErrorFreeRow] | None
    undefined_pairs: int | None


def compute(given: Given) -> SpanFindings:
    """What the tables of spans say."""
    spans: Sequence[SpanRow] | None = None
    if "spans" in given.frames:
        spans = given.rows("spans", SpanRow)
    error_free: Sequence[ErrorFreeRow] | None = None
    n_undefined: int | None = None
    if "error_free" in given.frames:
        error_free = given.rows("error_free", ErrorFreeRow)
        undefined = {row.pair for row in error_free if row.n_error_free in (0, row.n_segments)}
        n_undefined = len(undefined)
    return SpanFindings(spans, list(_in_words(spans or ())), error_free, n_undefined)


def _in_words(rows: Sequence[SpanRow]) -> Iterator[str]:
    groups = rows_by(rows, lambda row: (*row.pair, row.gold, row.measure))
    for (dataset, language_pair, gold, measure), group in groups.items():
        best = _best([row for row in group if row.kind != HUMAN])
        if best is None:
            continue
        label = setting_label(dataset, language_pair)
        sentence = f"{label}, {measure} against {written(gold)}: the best F1 is {_f1_in_words(best)}"
        best_person = _best([row for row in group if row.kind == HUMAN])
        if best_person is not None:
            sentence += f"; people reach {_f1_in_words(best_person)}"
        yield f"{sentence}."


def _best(rows: Sequence[SpanRow]) -> SpanRow | None:
    """The row with the highest F1, of equal ones the first; None without a defined one."""
    defined = [row for row in rows if math.isfinite(row.f1.value)]
    return max(defined, key=lambda row: row.f1.value, default=None)


def _f1_in_words(row: SpanRow) -> str:
    return f"{row.f1:.3f} ({written(row.explainer)})"


def tables(result: SpanFindings) -> Iterator[Table]:
    """Agreement with people per language pair and gold, and error-free segments."""
    if result.spans:
        rows = sorted(result.spans, key=lambda row: (*row.pair, row.gold, row.measure, highest_first(row.f1.value)))
        columns = (
            *PAIR,
            "gold",
            "measure",
            Column("explainer", "spans of"),
            "kind",
            Column("f1", "F1", ".3f"),
            Column("precision", form=".3f"),
            Column("recall", form=".3f"),
            Column("n_segments", "segments"),
        )
        notes = [*result.spans_in_words, OF_SPANS]
        by = [*PAIR, "gold", "measure"]
        yield Table.of("spans", "Error spans against people's", rows, columns, notes, by=by, names=6)
    if result.error_free:
        columns = (
            *PAIR,
            "gold",
            "metric",
            "explainer",
            "point",
            Column("mcc", "MCC", ".3f"),
            Column("n_error_free", "error-free"),
            Column("n_segments", "of segments"),
        )
        notes = [OF_ERROR_FREE]
        if result.undefined_pairs:
            pairs = counted(result.undefined_pairs, "language pair")
            notes.insert(0, f"Undefined in {pairs}.")
        yield Table.of("error_free", "Error-free segments", result.error_free, columns, notes, by=PAIR, names=6)
