"""What stands at the end of a sweep: the answer, and what failed, in lines that fit a terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

from bmx_grid.report.table import wrapped
from bmx_grid.sweep.settings import Refused

WIDEST = 120  # characters per line, on however wide a terminal
NARROWEST = 40
MOST_ANSWERS = 12  # metrics and explainers that have a line


def terminal_width(width: int | None = None) -> int:
    """Characters per line: `width`, or those of the terminal, but not too few and not too many to be read."""
    wide = shutil.get_terminal_size((80, 24)).columns if width is None else width
    return max(min(wide, WIDEST), NARROWEST)


def fitted(text: str, width: int | None = None) -> str:
    """A sentence in lines that fit the terminal."""
    return wrapped(text, terminal_width(width), "  ")


def sentences(lines: Iterable[str], width: int | None = None) -> str:
    """Sentences that begin on a line each."""
    return "\n".join(fitted(line, width) for line in lines)


def failures(failed: Sequence[Refused], width: int | None = None) -> str:
    """How many settings failed, then a line for all that failed for the same reason; "" where none did."""
    if not failed:
        return ""
    by_reason: dict[str, list[str]] = {}
    for one in failed:
        by_reason.setdefault(one.reason, []).append(one.label)
    lines = [
        f"  {'; '.join(labels[:3])}{f' and {len(labels) - 3} more' if len(labels) > 3 else ''}: {reason}"
        for reason, labels in by_reason.items()
    ]
    return "\n".join([f"failed: {len(failed)}", *(wrapped(line, terminal_width(width), "    ") for line in lines)])
