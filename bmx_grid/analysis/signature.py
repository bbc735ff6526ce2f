"""What an analysis rests on, in one line that travels with every figure and table."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bmx_grid.analysis.inputs import Given
from bmx_grid.analysis.points import chosen_points
from bmx_grid.analysis.table import GridTable
from bmx_grid.wording import visible


def signature(given: Given) -> str:
    """table:FILE|sha256:…|settings:430|p:-30:29.9:600|w:0,…,1|side:both|tie:first|points:lime(w0.4,p-1.4),…

    sha256: of the names and correlations as they were read, so that two files of the same name differ.
    points: the grid points that fixed numbers are read at; w1 alone is the metric alone.
    """
    table = given.table
    used = [
        f"{name}(w{w:g})" if w == 1 else f"{name}(w{w:g},p{p:g})"
        for name, w, p, asked in given.ask(chosen_points)[["used_w", "used_p", "w"]].itertuples()
        if asked == asked
    ]
    source = given.options.select_from
    parts = {
        "table": "/".join(Path(table.origin).parts[-2:]),
        "sha256": _digest(table),
        "settings": str(len(table)),
        "p": f"{table.p[0]:g}:{table.p[-1]:g}:{len(table.p)}",
        "w": ",".join(f"{weight:g}" for weight in table.w),
        "side": table.side,
        "tie": given.options.tie,
        "points": ",".join(used) or "none",
        **({} if source is None else {"select.from": f"{'/'.join(Path(source.origin).parts[-2:])}@{_digest(source)}"}),
    }
    return visible("|".join(f"{key}:{value}" for key, value in parts.items()))


def _digest(table: GridTable) -> str:
    digest = hashlib.sha256(repr((table.settings, table.side)).encode())
    for numbers in (table.p, table.w, table.correlation):
        digest.update(numbers.tobytes())
    return digest.hexdigest()[:12]
