"""The table of ceilings: how reliable the human scores are, and what correlation with them can be expected at most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bmx_grid.measures.annotators import reliability

if TYPE_CHECKING:
    import pyarrow as pa

    from bmx_grid.segments import SegmentSet


def ceilings_table(sets: Iterable[SegmentSet]) -> pa.Table | None:
    """One row per data set, language pair and judgement whose raters are published, the primary judgement first.

    raters: ratings per segment, their harmonic mean; reliability: ICC(1,k) of the mean of these; ceiling: its square
    root. NaN where they are undefined (see measures.reliability). None where no raters are published.
    """
    import pyarrow as pa

    rows: dict[tuple[str, str, str], tuple[float, float, float]] = {}
    for segments in sets:
        judged = segments.judgements
        for human in judged.aspects:
            key = (segments.dataset, segments.language_pair, human)
            if human in judged.raters and key not in rows:
                found = reliability(judged.raters[human])
                rows[key] = found.k, found.icc_k, found.ceiling
    if not rows:
        return None
    names = {name: [key[at] for key in rows] for at, name in enumerate(("dataset", "language_pair", "human"))}
    numbers = {name: [one[at] for one in rows.values()] for at, name in enumerate(("raters", "reliability", "ceiling"))}
    return pa.table({**names, **numbers})
