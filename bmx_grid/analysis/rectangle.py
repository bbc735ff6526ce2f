"""Which rectangle of p and w the settings of a table share, and which settings do not fill it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from bmx_grid.analysis.table import Flags, Floats, LeftOut, Setting, left_out
from bmx_grid.errors import DataError
from bmx_grid.wording import counted


def common_grid(
    settings: tuple[Setting, ...], p: Floats, w: Floats, cube: Floats, present: Flags, origin: str
) -> tuple[tuple[Setting, ...], Floats, Floats, Floats, list[LeftOut]]:
    """The settings, p, w and correlations on the grid of most settings, and the record of what does not fit.

    cube: float64[S, P, W]; present: bool[S, P, W] which points the table holds. The grid is the rectangle, w = 1
    included, that most settings fill exactly; ties go to the larger one. Settings that lack a point of it are left
    out; points beside it are. Raises DataError when no setting fills a rectangle.
    """
    alone = w == 1
    if not alone.any():
        return settings, p, w, cube, []  # GridTable reports what is wrong
    fitting: list[tuple[int, int, Flags, Flags]] = []
    for pattern, count in Counter(np.packbits(one).tobytes() for one in present).items():
        flat = np.unpackbits(np.frombuffer(pattern, dtype=np.uint8), count=len(p) * len(w)).astype(np.bool_)
        points = flat.reshape(len(p), len(w))
        rows: Flags = np.asarray(points.any(axis=1))
        columns: Flags = np.asarray(points.any(axis=0))
        if points.sum() == rows.sum() * columns.sum() and columns[alone].all():
            fitting.append((count, int(points.sum()), rows, columns))
    if not fitting:
        told = "; ".join(f"{one.label}: {_missing(has, p, w)}" for one, has in zip(settings[:3], present, strict=False))
        raise DataError(
            f"{origin}: none of {counted(len(settings), 'setting')} has all points of its p x w grid, w = 1 among "
            f"them ({told})."
        )
    _, _, rows, columns = max(fitting, key=lambda one: one[:2])
    inside = present[:, rows][:, :, columns]
    whole: Flags = np.asarray(inside.all(axis=(1, 2)))
    without = ~present[:, :, alone].any(axis=(1, 2))
    beside = np.where(whole, present.sum(axis=(1, 2)) - inside.sum(axis=(1, 2)), 0)
    records = []
    for reason, flags in (
        ("no rows with w = 1, the metric alone", without),
        ("holes in the p x w grid that most settings fill", ~whole & ~without),
    ):
        if flags.any():
            told_of = [
                f"{settings[one].label}: {_missing(inside[one], p[rows], w[columns])}" for one in np.flatnonzero(flags)
            ]
            records.append(left_out(reason, "setting", told_of))
    if beside.any():
        examples = tuple(f"{settings[one].label}: {beside[one]:,}" for one in np.flatnonzero(beside)[:3])
        records.append(LeftOut("beside the grid that most settings share", int(beside.sum()), "point", examples))
    kept = tuple(one for one, good in zip(settings, whole, strict=True) if good)
    return kept, p[rows], w[columns], cube[whole][:, rows][:, :, columns], records


def _missing(points: Flags, p: Floats, w: Floats) -> str:
    row, column = np.argwhere(~points)[0]
    return f"{int((~points).sum()):,} of {points.size:,} points missing, first w = {w[column]:g}, p = {p[row]:g}"
