"""HTML for people: the templates and the look that pages and notebooks share, without a script or a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import MINUS, display_name, escape_unprintable, typeset_number

SHARED = Path(__file__).parent / "page"
Side = tuple[str, Sequence[str], Floats, Sequence[bool]]  # its name, words, their attributions, what people marked


@cache
def environment(folder: Path = SHARED) -> Any:
    """The templates of a folder, and those that all share."""
    from jinja2 import Environment, FileSystemLoader

    # Names come from data: everything that is not marked as safe is escaped.
    templates = Environment(
        loader=FileSystemLoader([folder, SHARED]), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {
        "typeset_number": typeset_number,
        "thousandths": _thousandths,
        "display_name": display_name,
        "escape_unprintable": escape_unprintable,
        "typeset_minus": _typeset_minus,
    }
    return templates


def printable(page: str) -> str:
    """The page with surrogates of broken input, which have no UTF-8, as the replacement character."""
    return page.encode("utf-8", "replace").decode("utf-8")


def render_in_notebook(template: str, folder: Path = SHARED, **values: Any) -> str:
    """A template as HTML for a notebook, in the look of the pages, which affects nothing else in the notebook."""
    templates = environment(folder)
    body = templates.get_template(template).render(values)
    return printable(templates.get_template("notebook.jinja").render(body=body))


def texts_in_notebook(heading: str, segments: Iterable[tuple[str, Sequence[Side]]]) -> str:
    """Labelled segments with coloured words, as HTML for a notebook."""
    shown = [(name, coloured_sides(sides)) for name, sides in segments]
    return render_in_notebook("texts.jinja", heading=heading, segments=shown)


def coloured_sides(sides: Sequence[Side]) -> list[Mapping[str, Any]]:
    """The sides of a segment for the template of words: each word with its attribution, strength and mark."""
    shares = strengths([attributions for _, _, attributions, _ in sides])
    coloured: list[Mapping[str, Any]] = []
    for (name, words, attributions, marked), shares_of_side in zip(sides, shares, strict=True):
        tokens = zip(words, attributions.tolist(), shares_of_side, marked, strict=True)
        coloured.append({"name": name, "words": list(tokens)})
    return coloured


def strengths(attributions: Sequence[Floats]) -> list[Floats]:
    """float64[n] for each side, |attribution| relative to the largest of all sides; 0 where undefined or all are 0."""
    # One scale for all sides: a reader compares the colours of source, reference and hypothesis.
    sizes = [np.where(np.isfinite(values), np.abs(values), 0.0) for values in attributions]
    largest = 0.0
    for values in sizes:
        largest = max(largest, float(values.max(initial=0.0)))
    if largest == 0:
        return sizes
    return [values / largest for values in sizes]


def _thousandths(value: float, form: str = "+.3f") -> str:
    """A correlation or gain with three decimals and no more: 0.000 has no sign."""
    return typeset_number(round(value, 3), form)


def _typeset_minus(sentence: str) -> str:
    """A sentence with true minus signs. Signatures, whose numbers no blank precedes, stay as they are, to be copied."""
    return re.sub(r"(?<=[ (\[])-(?=\d)", MINUS, sentence)
