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


@dataclass(eq=False)
class Annotated:
    """One system's translation of one segment and its errors.

    source, target: the texts without marks, and without blanks at the edges. points: of all errors. spans: of those
    that are marked, by side.
    """

    system: str
    document: str
    number: int
    source: str
    target: str
    points: float = 0.0
    spans: dict[Role, list[ErrorSpan]] = field(default_factory=lambda: {"source": [], "hypothesis": []})


def annotated(lines: Sequence[str], where: str) -> list[Annotated]:
    """The annotated translations of a TSV with the columns of MQM, in order of first appearance.

    Systems are named as the published scores name them, severities in lower case. Some texts differ between the rows of
    a segment, mostly in blanks: the first row's text is taken and the spans of the others are carried to it by the
    characters that both have.
    Raises DataError naming the line for other columns, a mark that is closed before it is opened, more than one mark,
    or a text that shares less than half of its characters with the segment's first row.
    """
    if not lines or lines[0].split("\t")[: len(COLUMNS)] != COLUMNS:
        raise DataError(f"{where}, line 1: expected the columns {' '.join(COLUMNS)}.")
    texts: dict[tuple[str, str, str], Annotated] = {}
    for row, line in enumerate(lines[1:], start=2):
        place = f"{where}, line {row}"
        fields = line.split("\t")
        if len(fields) not in (len(COLUMNS), len(COLUMNS) + 1):  # a last column, of comments, may be left out
            raise DataError(f"{place}: {len(fields)} fields, expected {len(COLUMNS)}: {line[:80]!r}")
        system, document, _, number, _, source, target, category, severity = fields[: len(COLUMNS)]
        if not number.isdecimal():
            raise DataError(f"{place}: the seg_id {number!r} is not a number.")
        marked: dict[Role, _Marked] = {
            "source": _marked(source, f"{place}: the source"),
            "hypothesis": _marked(target, f"{place}: the target"),
        }
        name = system.removeprefix("hyp.").replace("ref.", "ref-")
        first = Annotated(name, document, int(number), marked["source"].text, marked["hypothesis"].text)
        text = texts.setdefault((system, document, number), first)
        text.points += error_points(category, severity)
        for side, part in marked.items():
            if part.start is not None and severity != NO_ERROR:
                start, end = _carried(part, text.source if side == "source" else text.target, place)
                text.spans[side].append(ErrorSpan(start, end, severity.strip().lower(), category))
    return list(texts.values())


def error_points(category: str, severity: str) -> float:
    """Points of one error (Freitag et al. 2021, section 3): 25, 5, 1 or 0.1."""
    if severity == NO_ERROR:
        return 0.0
    if category.startswith("Non_translation"):
        return 25.0
    if severity == "Major":
        return 5.0
    return 0.1 if category == "Fluency/Punctuation" else 1.0


@dataclass(frozen=True)
class _Marked:
    """A text without marks and blanks at its edges; start and end of what was marked, None for nothing.

    A mark that is not closed reaches to the end of the text.
    """

    text: str
    start: int | None
    end: int


def _marked(text: str, what: str) -> _Marked:
    opened, closed = text.count(OPEN), text.count(CLOSE)
    if opened > 1 or closed > opened or (closed and text.find(CLOSE) < text.find(OPEN)):
        raise DataError(f"{what} has {opened} {OPEN} and {closed} {CLOSE}, expected one of each: {text[:80]!r}")
    bare = text.replace(OPEN, "").replace(CLOSE, "")
    kept = bare.strip(" ")
    if not opened:
        return _Marked(kept, None, 0)
    start = text.find(OPEN)
    end = text.find(CLOSE) - len(OPEN) if closed else len(bare)
    before = len(bare) - len(bare.lstrip(" "))
    start, end = (min(max(place - before, 0), len(kept)) for place in (start, end))
    return _Marked(kept, start, end)


def _carried(marked: _Marked, own: str, place: str) -> tuple[int, int]:
    """Start and end of the span in the text of the segment's first row."""
    assert marked.start is not None
    if marked.text == own:
        return marked.start, marked.end
    links = align(list(marked.text), list(own))
    if links.differing + 2 * links.replaced > 2 * len(links.token):
        raise DataError(
            f"{place}: the text {marked.text[:60]!r} is not that of the segment's first row, {own[:60]!r}; correct it."
        )
    pairs = list(zip(links.token.tolist(), links.word.tolist(), strict=True))
    inside = [word for sign, word in pairs if marked.start <= sign < marked.end]
    if not inside:
        at = max((word + 1 for sign, word in pairs if sign < marked.start), default=0)
        return at, at
    return min(inside), max(inside) + 1
