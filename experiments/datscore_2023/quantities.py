"""What the DATScore slides' numbers are held against: the parts of `python experiments/compare.py datscore_2023`.

paper    GRID: of a sweep over WMT17. For each published number, the correlation of the metric of that name with the
         slides' models where the grid has it, else what it needs; and the averages that the slides print against the
         means of their rows, corrected where they are known to be wrong (`erratum`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from compare import Check, settings_of

from bmx_grid.analysis.base import GridTable
from bmx_grid.core.configure import load_option

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
                    ours, model = None, ""
                    if side == "into" and row["name"] in METRICS:
                        ours, model = _ours(tables, dataset, pair, METRICS[row["name"]])
                    name = f"{dataset} {row['name']}, {pair}"
                    reason = f"needs {row['needs']}" + (f"; this run's model is {model}" if model else "")
                    yield Check(name, section["at"], published, ours, expected["tolerance"], reason, row["needs"])
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


def _ours(tables: list[GridTable], dataset: str, pair: str, metric: str) -> tuple[float | None, str]:
    """|Pearson's r| of the metric alone, times 100, and "".

    None where no table has it, or where the sweep says that it is of another model than the slides', which is named.
    """
    for table in tables:
        part = settings_of(table, dataset=dataset, language_pair=pair, metric=metric)
        if not len(part):
            continue
        slides = str(load_option("metric", metric)["model"])
        signature = _signature(Path(table.origin), dataset, pair, metric)
        if signature and f"model:{slides}|" not in signature:
            return None, signature.partition("model:")[2].partition("|")[0]
        return 100 * abs(float(part.baseline[0])), ""
    return None, ""


def _signature(grid: Path, dataset: str, pair: str, metric: str) -> str:
    """The signature of the metric in the table of settings beside a grid, or of a sweep; "" where there is none."""
    settings = (grid / "tables" if grid.is_dir() else grid.parent) / "settings.parquet"
    if not settings.is_file():
        return ""
    frame = pd.read_parquet(settings, columns=["dataset", "language_pair", "metric", "signature"])
    found = frame[(frame["dataset"] == dataset) & (frame["language_pair"] == pair) & (frame["metric"] == metric)]
    return str(found["signature"].iloc[0]) if len(found) else ""


PARTS = {"paper": paper}
