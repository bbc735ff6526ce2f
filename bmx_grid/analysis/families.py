"""Families of tests: how many comparisons, and in how many of them the difference is real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.given import WithFrames
from bmx_grid.analysis.tested import rows_of
from bmx_grid.measures.multiplicity import partial_conjunction

LEVEL = 0.05


@dataclass(frozen=True)
class Family:
    """n: defined comparisons; above: with p below .05 and a difference above 0; holm, fdr: those that survive Holm's
    correction and Benjamini and Hochberg's; at_least: in how many the difference is above 0, at least, with 95 %
    confidence (partial conjunction by Bonferroni, which needs no independence)."""

    n: int
    above: int
    holm: int
    fdr: int
    at_least: int


@dataclass(frozen=True, eq=False)
class Families:
    """families: by name, which says what is compared, by which statistic and test, and how often."""

    families: Mapping[str, Family]


def compute(given: WithFrames) -> Families:
    """Counts of every family of the table of tests; none without it."""
    members: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(given.frames.get("tests")):
        members.setdefault(str(row["family"]), []).append(row)
    found = {}
    for name, rows in members.items():
        p, difference = (np.array([row[column] for row in rows], dtype=float) for column in ("p", "difference"))
        one_sided = np.array([row["alternative"] == "greater" for row in rows])
        gains = difference > 0
        found[name] = Family(
            n=int(np.isfinite(p).sum()),
            above=int(((p < LEVEL) & gains).sum()),
            holm=int(((np.array([row["p_holm"] for row in rows], dtype=float) < LEVEL) & gains).sum()),
            fdr=int(((np.array([row["p_bh"] for row in rows], dtype=float) < LEVEL) & gains).sum()),
            at_least=partial_conjunction(np.where(one_sided, p, np.where(gains, p / 2, 1 - p / 2))),
        )
    return Families(found)


def tables(result: Families) -> Sequence[Table]:
    """One row per family."""
    if not result.families:
        return ()
    rows = [
        (Cell(name), *(Cell(count, ",") for count in (one.n, one.above, one.holm, one.fdr, one.at_least)))
        for name, one in result.families.items()
    ]
    notes = (
        "Differences above 0 are counted, of p values below .05: uncorrected, after Holm's correction (no false one, "
        "with 95 % confidence) and Benjamini and Hochberg's (at most 5 % false ones, on average).",
        "At least: in so many comparisons the first is really better, with 95 % confidence; it does not say in which "
        "(partial conjunction, Dror et al. 2017, by Bonferroni).",
    )
    header = ("family", "comparisons", "p < .05", "Holm", "BH", "at least")
    return (Table("families", "Families of tests", header, (tuple(rows),), notes),)
