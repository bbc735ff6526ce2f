"""An analysis in words and small tables, for a terminal."""

from __future__ import annotations

import shutil
from dataclasses import replace

from bmx_grid.analysis.headline import compute
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.report.table import as_text, wrapped
from bmx_grid.wording import counted

WIDEST = 120  # characters: longer lines of words are hard to read


def summary(analysis: Analysis, width: int | None = None) -> str:
    """What was read, the headline, and the tables that are brief; numbers in full are in analysis.json.

    width: characters per line; as wide as the terminal for None.
    """
    width = min(width or shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)
    table = analysis.table
    read = [
        f"{table.origin}: {counted(len(table), 'setting')}, {table.n_boosted:,} correlations with w other than 1; "
        f"{counted(len(analysis.real), 'setting')} without the random metric and explainer; ties are broken by the "
        f"rule '{analysis.options.tie}'",
        *(f"left out: {one}" for one in table.left_out),
    ]
    parts = ["\n".join(wrapped(line, width, "  ") for line in read)]
    parts.append("\n".join(wrapped(sentence, width) for sentence in analysis.ask(compute).headline))
    unsigned = (replace(one, notes=one.notes[:-1]) for one in analysis.tables() if one.brief)
    parts += [as_text(one, width).rstrip() for one in unsigned]
    parts.append(signature(analysis))
    return "\n\n".join(parts)
