"""What the numbers of Zhan et al. (2021) are held against: `python experiments/compare.py difficulty_aware_2021 DIR…`.

DIR: outputs of +sweep=wmt19_difficulty, one per language pair where the pairs need other models. Of several with the
same metric and pair the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from compare import Check

from bmx_grid.analysis.base import SweepTables
from bmx_grid.core.errors import DataError
from bmx_grid.guests.difficulty import best_systems
from bmx_grid.sweep.folder import table_path

TABLES = ("top_systems", "ranks")
SHOWN = {"pearson": "r", "kendall": "tau", "spearman": "rho"}
NAMES = {
    "sentence_bleu": "BLEU",
    "ter": "TER",
    "meteor": "METEOR",
    "bertscore": "BERTScore",
    "difficulty_bertscore": "DA-BERTScore",
}
TOP = 30


def read(folder: Path) -> dict[str, Any]:
    """What a sweep found. Raises DataError for a folder without the tables."""
    import pandas as pd

    frames = {}
    for name in TABLES:
        path = table_path(folder, name)
        if not path.is_file():
            raise DataError(f"{path} is missing; give the output folder of +sweep=wmt19_difficulty.")
        frames[name] = pd.read_parquet(path)
    return best_systems.compute(SweepTables(frames))


def paper(found: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> Iterator[Check]:
    """Tables 1 and 2."""
    yield from _table1(found, expected)
    yield from _table2(found, expected)


def _table1(found: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> Iterator[Check]:
    for pair, parts in expected["table1"]["values"].items():
        for part, metrics in parts.items():
            for metric, values in metrics.items():
                ours = _last(found, "top_systems", pair, metric, whole=part == "all")
                for (statistic, shown), published in zip(SHOWN.items(), values, strict=True):
                    value = next((abs(row.value) for row in ours if row.statistic == statistic), None)
                    name = f"{NAMES[metric]} {pair} {part}, {shown}"
                    yield Check(
                        name, "Table 1", published, value, expected["table1"]["tolerance"], _needs(expected, metric)
                    )


def _table2(found: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> Iterator[Check]:
    table = expected["table2"]
    rows = {metric: _last(found, "ranks", table["language_pair"], metric, whole=False) for metric in NAMES}
    for metric, published in table["rank_differences"].items():
        moved = [abs(row.human_rank - row.rank) for row in rows[metric]]
        value = sum(moved) if moved else None
        yield Check(
            f"{NAMES[metric]}, sum of rank differences", "Table 2", published, value, 0.0, _needs(expected, metric)
        )
    for metric, scores in table["scores"].items():
        of = {row.system: row.score for row in rows[metric]}
        for system, published in zip(table["systems"], scores, strict=True):
            value = of.get(system)
            name = f"{NAMES[metric]}, {system.removeprefix('Microsoft-WMT19-')}"
            yield Check(name, "Table 2", published, value, table["tolerance"], _needs(expected, metric))


def _last(found: Sequence[Mapping[str, Any]], name: str, pair: str, metric: str, *, whole: bool) -> list[Any]:
    """The rows of the last result on a metric and all systems of a pair, or the best 30 percent; none without any."""
    for tables in reversed(found):
        rows = [row for row in tables[name].itertuples() if row[1:4] == ("wmt19", pair, metric)]
        if rows:
            most = max(row.systems for row in rows)
            return [row for row in rows if row.systems == (most if whole else most * TOP // 100)]
    return []


def _needs(expected: Mapping[str, Any], metric: str) -> str:
    return f"needs {expected['needs'][metric]}"


PARTS = {"paper": paper}
