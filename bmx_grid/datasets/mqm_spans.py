"""MQM annotations as spans: one row per error, the error marked by <v> and </v> in the source or in the target.

Freitag et al.: Experts, Errors, and Context, TACL 2021: newstest2021 (en-de, zh-en) and the TED talks (en-de).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bmx_grid.datasets.error_spans import ErrorSpan
from bmx_grid.errors import DataError
from bmx_grid.words.alignment import align
from bmx_grid.words.perturbation import Role

COLUMNS = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]
OPEN, CLOSE = "<v>", "</v>"
NO_ERROR = "No-error"
Place = tuple[str, str, str]  # system, document and number of a segment, as the file writes them


@dataclass(eq=False)
class Annotated:
    """One translation and its errors.

    source, target: the texts without marks, and without blanks at the edges. spans: by side. unplaced: categories of
    errors without a mark, which are errors of the whole segment or of no place. unclosed: number of errors whose mark
    is not closed and reaches to the end of the text. altered: errors marked in a text whose characters are not all
    those of the first row.
    """

    source: str
    target: str
    spans: dict[Role, list[ErrorSpan]] = field(default_factory=lambda: {"source": [], "hypothesis": []})
    unplaced: list[str] = field(default_factory=list)
    unclosed: int = 0
    altered: int = 0


def annotated(lines: Sequence[str], where: str) -> dict[Place, Annotated]:
    """The annotated translations of a TSV with the columns of MQM, in order of first appearance.

    Severities are in lower case. Some texts differ between the rows of a segment, mostly in blanks: the first row's
    text is taken and the spans of the others are carried to it by the characters that both have.
    Raises DataError naming the line for other columns, a mark that is closed before it is opened, more than one mark,
    or a text that shares less than half of its characters with the segment's first row.
    """
    if not lines or lines[0].split("\t")[: len(COLUMNS)] != COLUMNS:
        raise DataError(f"{where}, line 1: expected the columns {' '.join(COLUMNS)}.")
    found: dict[Place, Annotated] = {}
    for row, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) not in (len(COLUMNS), len(COLUMNS) + 1):  # a last column, of comments, may be left out
            raise DataError(f"{where}, line {row}: {len(fields)} fields, expected {len(COLUMNS)}: {line[:80]!r}")
        system, document, _, number, _, source, target, category, severity = fields[: len(COLUMNS)]
        place = f"{where}, line {row}"
        texts: dict[Role, _Marked] = {
            "source": _marked(source, f"{place}: the source"),
            "hypothesis": _marked(target, f"{place}: the target"),
        }
        key = (system, document, number)
        if key not in found:
            found[key] = Annotated(texts["source"].text, texts["hypothesis"].text)
        one = found[key]
        if severity == NO_ERROR:
            continue
        marked = [side for side, text in texts.items() if text.start is not None]
        if not marked:
            one.unplaced.append(category)
        for side in marked:
            text = texts[side]
            assert text.start is not None
            own = one.source if side == "source" else one.target
            start, end, altered = _carried(text, own, place)
            one.altered += altered
            one.spans[side].append(ErrorSpan(start, end, severity.strip().lower(), category))
            one.unclosed += text.unclosed
    return found


@dataclass(frozen=True)
class _Marked:
    """A text without marks and blanks at its edges; start and end of what was marked, None for nothing."""

    text: str
    start: int | None
    end: int
    unclosed: bool


def _marked(text: str, what: str) -> _Marked:
    opened, closed = text.count(OPEN), text.count(CLOSE)
    if opened > 1 or closed > opened or (closed and text.find(CLOSE) < text.find(OPEN)):
        raise DataError(f"{what} has {opened} {OPEN} and {closed} {CLOSE}, expected one of each: {text[:80]!r}")
    bare = text.replace(OPEN, "").replace(CLOSE, "")
    kept = bare.strip(" ")
    if not opened:
        return _Marked(kept, None, 0, False)
    start = text.find(OPEN)
    end = text.find(CLOSE) - len(OPEN) if closed else len(bare)
    before = len(bare) - len(bare.lstrip(" "))
    start, end = (min(max(place - before, 0), len(kept)) for place in (start, end))
    return _Marked(kept, start, end, not closed)


def _carried(marked: _Marked, own: str, place: str) -> tuple[int, int, bool]:
    """Start and end of the span in the text of the segment's first row, and whether other characters differ."""
    assert marked.start is not None
    if marked.text == own:
        return marked.start, marked.end, False
    links = align(list(marked.text), list(own))
    if links.differing + 2 * links.replaced > 2 * len(links.token):
        raise DataError(
            f"{place}: the text {marked.text[:60]!r} is not that of the segment's first row, {own[:60]!r}; correct it."
        )
    pairs = list(zip(links.token.tolist(), links.word.tolist(), strict=True))
    inside = [word for sign, word in pairs if marked.start <= sign < marked.end]
    if not inside:
        at = max((word + 1 for sign, word in pairs if sign < marked.start), default=0)
        return at, at, not links.exact
    return min(inside), max(inside) + 1, not links.exact
