"""Lists of texts -> items: the input of a scorer from Python."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from typing import Any

from bmx_grid.core.errors import DataError, quote_value
from bmx_grid.words.perturbation import Item, Role

PLURAL: Mapping[Role, str] = {"source": "sources", "reference": "references", "hypothesis": "hypotheses"}
SURROGATE = re.compile("[\ud800-\udfff]")  # half of a character: no UTF-8 file holds it, and no model reads it
Texts = Sequence[Any]  # a text for each segment; of references also a list of texts for each


def call_of(reads: Sequence[Role]) -> str:
    """The arguments of `score` for a metric, as text to paste."""
    arguments = ["hypotheses"]
    arguments += [f"{PLURAL[role]}={PLURAL[role]}" for role in reads if role != "hypothesis"]
    return f"score({', '.join(arguments)})"


def texts_by_position(reads: Sequence[Role], lists: Sequence[Texts], *, is_named: bool) -> dict[Role, Texts | None]:
    """Lists by position, in the order of release 0.2, for one release: the hypotheses came last.

    is_named: whether other lists were named. Raises DataError for other lists than those that the metric reads.
    """
    if is_named or len(lists) != len(reads):
        raise DataError(
            f"only the hypotheses are given by position, and {len(lists)} lists were. Name the others: "
            f"{call_of(reads)}."
        )
    warnings.warn(
        f"{len(lists)} lists by position are read in the order of release 0.2: {', '.join(reads)}. "
        f"Name them, as the next release reads no list but the hypotheses by position: {call_of(reads)}.",
        FutureWarning,
        stacklevel=3,
    )
    return dict(zip(reads, lists, strict=True))


def items_of(
    reads: Sequence[Role], texts_of_roles: Mapping[Role, Texts | None], *, all_references: bool = False
) -> list[Item]:
    """The items of lists of texts by role. Raises DataError for missing, unread, odd or uneven input.

    all_references: a segment may have a list of references in place of one.
    """
    missing = [PLURAL[role] for role in reads if texts_of_roles.get(role) is None]
    unread = [PLURAL[role] for role, texts in texts_of_roles.items() if texts is not None and role not in reads]
    if missing or unread:
        mistakes = [f"{name} are missing" for name in missing]
        mistakes += [f"{name} are not read" for name in unread]
        raise DataError(f"this metric reads {', '.join(reads)}: {', '.join(mistakes)}. Call {call_of(reads)}.")
    columns: dict[str, list[tuple[str, ...]]] = {}
    for role in reads:
        texts: Any = texts_of_roles[role]
        # The items of an Arrow array are no texts of Python's.
        if hasattr(texts, "to_pylist"):
            texts = texts.to_pylist()
        is_collection = isinstance(texts, Sized) and isinstance(texts, Iterable)
        # a set has no order of segments
        if not is_collection or isinstance(texts, str | Set | Mapping):
            raise DataError(f"{PLURAL[role]}: expected a list of texts, got {quote_value(texts, 60)}.")
        may_be_several = all_references and role == "reference"
        column: list[tuple[str, ...]] = []
        for texts_of_segment in texts:
            if may_be_several and isinstance(texts_of_segment, list | tuple) and texts_of_segment:
                column.append(tuple(texts_of_segment))
            else:
                column.append((texts_of_segment,))
        columns[role] = column
        for number, segment_texts in enumerate(column, start=1):
            for text in segment_texts:
                if not isinstance(text, str):
                    raise DataError(
                        f"{PLURAL[role]}: segment {number} is {quote_value(text, 60)}, not a text (it may be empty)."
                    )
                if SURROGATE.search(text):
                    raise DataError(
                        f"{PLURAL[role]}: segment {number} holds half of a character (a lone surrogate) in "
                        f"{text[:60]!a}; replace it, or read the text with the encoding it was written in."
                    )
    lengths = [len(column) for column in columns.values()]
    if len(set(lengths)) > 1:
        counts = [f"{length:,} {PLURAL[role]}" for role, length in zip(reads, lengths, strict=True)]
        raise DataError(f"{', '.join(counts)}; every segment needs one of each.")
    items = []
    for row in zip(*columns.values(), strict=True):
        texts_of_role = dict(zip(columns, row, strict=True))
        first_texts = {role: role_texts[0] for role, role_texts in texts_of_role.items()}
        references = texts_of_role.get("reference", ())
        items.append(Item(**first_texts, further_references=references[1:]))
    return items
