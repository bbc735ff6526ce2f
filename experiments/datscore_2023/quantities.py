"""What the DATScore slides' numbers are held against: the parts of `python experiments/compare.py datscore_2023`.

paper    GRID: of a sweep over WMT17. For each published number, the correlation of the metric of that name with the
         slides' models where the grid has it, else what it needs; and the averages that the slides print against the
         means of their rows, corrected where they are known to be wrong (`erratum`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from compare import Check, settings_of

from bmx_grid.analysis.base import GridTable

METRICS = {
    "BERTScore": "bertscore",
    "DATScore, M2M-100 418M": "datscore",
}  # options whose defaults are the slides' models


def paper(tables: list[GridTable], expected: Mapping[str, Any]) -> Iterator[Check]:
    """All numbers of the two tables and of the ablations."""
    for dataset in ("wmt17", "wmt18"):
        section = expected[dataset]
        for row in section["rows"]:
            for place, side in enumerate(("into", "from")):
                pairs = section[f"{side}_english"]
                for pair, published in zip(pairs, row[side], strict=True):
                    ours = _ours(tables, dataset, pair, METRICS.get(row["name"])) if side == "into" else None
                    name = f"{dataset} {row['name']}, {pair}"
                    yield Check(name, section["at"], published, ours, expected["tolerance"], f"needs {row['needs']}")
                printed = row["average"][place]
                right = row.get("erratum", row["average"])[place]
                told = f"{dataset} mean of {row['name']}, {side} English"
                note = f" (printed {printed})" if right != printed else ""
                yield Check(told + note, section["at"], right, float(np.mean(row[side])), expected["tolerance"])
    section = expected["ablations"]
    for row in section["rows"]:
        for side, published in zip(("to", "from"), row["published"], strict=True):
            name = f"wmt18 {row['name']}, {side} English"
            yield Check(name, section["at"], published, None, 0.0, f"needs {section['needs']}")


def _ours(tables: list[GridTable], dataset: str, pair: str, metric: str | None) -> float | None:
    """|Pearson's r| of the metric alone, times 100; None where no table has it."""
    for table in tables if metric is not None else ():
        part = settings_of(table, dataset=dataset, language_pair=pair, metric=metric)
        if len(part):
            return 100 * abs(float(part.baseline[0]))
    return None


PARTS = {"paper": paper}
