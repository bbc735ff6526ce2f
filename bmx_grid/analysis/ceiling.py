"""What any metric can reach: the ceiling that the reliability of the human scores sets to correlations.

Where single raters are published, the reliability of their mean is the one-way intraclass correlation ICC(1,k) (Shrout
and Fleiss 1979; annotator columns are no consistent persons, so that raters are nested in segments), and the square
root of it is the correlation that the true scores themselves would have with the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bmx_grid.analysis.base import Cell, Table, working
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.tested import rows_of


@dataclass(frozen=True)
class Ceiling:
    """human: which judgement; raters: on average per segment; reliability: ICC(1,k); ceiling: its square root."""

    human: str
    raters: float
    reliability: float
    ceiling: float


@dataclass(frozen=True, eq=False)
class Ceilings:
    """ceilings: by data set, language pair and judgement; empty where no raters are published or known.

    ceilings_by_pair: of the first judgement of each data set and language pair, the primary one.
    """

    ceilings: Mapping[tuple[str, str, str], Ceiling]
    ceilings_by_pair: Mapping[tuple[str, str], float] = working()


def compute(given: Given) -> Ceilings:
    """The ceilings of the data sets and language pairs of the table."""
    known = {(one.dataset, one.language_pair) for one in given.table.settings}
    found: dict[tuple[str, str, str], Ceiling] = {}
    by_pair: dict[tuple[str, str], float] = {}
    for row in rows_of(given.frames.get("ceilings")):
        pair, human = (str(row["dataset"]), str(row["language_pair"])), str(row["human"])
        if pair in known and (*pair, human) not in found:
            numbers = (float(row[name]) for name in ("raters", "reliability", "ceiling"))
            one = found[(*pair, human)] = Ceiling(human, *numbers)
            by_pair.setdefault(pair, one.ceiling)
    return Ceilings(found, by_pair)


def tables(result: Ceilings) -> Sequence[Table]:
    """One row per data set, language pair and judgement; no table where no raters are published."""
    if not result.ceilings:
        return ()
    rows = tuple(
        (*map(Cell, key), Cell(one.raters, ".3g"), Cell(one.reliability, ".3f"), Cell(one.ceiling, ".3f"))
        for key, one in result.ceilings.items()
    )
    table = Table(
        "ceilings",
        "What any metric can reach",
        ("data set", "language pair", "human score", "raters per segment", "reliability ICC(1,k)", "ceiling"),
        (rows,),
        (
            "Ceiling: the square root of the reliability of the mean human score. A metric that knew the true quality "
            "of every segment would be expected to correlate so highly with it, and no higher.",
        ),
        names=3,
    )
    return (table,)
