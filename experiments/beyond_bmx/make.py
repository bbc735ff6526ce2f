"""The tables of this experiment: what boosts gain on other segments, with their verdicts.

python experiments/beyond_bmx/make.py                      run the sweeps of SWEEPS, then print their tables
python experiments/beyond_bmx/make.py OUTPUT_DIR…          print the tables of finished sweeps

Data sets are read below BMX_DATA_DIR (`python -m bmx_grid data` fetches them), results go to outputs/. A table has one
row for each metric, explainer and boost, on the widest scope: gains in Pearson's r and partial r, 95 % intervals.
docs/explanation/verdicts.md explains the columns and verdicts.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that a checkout needs no installation

from bmx_grid.core.errors import BmxError, DataError  # noqa: E402
from bmx_grid.core.wording import format_interval  # noqa: E402
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS, PUBLISHED  # noqa: E402
from bmx_grid.evaluations.verdicts import NOT_JUDGED  # noqa: E402
from bmx_grid.sweep.folder import table_path  # noqa: E402

SWEEPS = ("beyond_wmt17", "beyond_neural", "beyond_mqm", "beyond_mlqe_pe")
COLUMNS = {"gain": "gain", "partial_r": "partial r", "over_metrics": "partial r given metrics"}
CORRECTED = {"p_gain_holm": "p gain (Holm)", "p_partial_holm": "p partial (Holm)"}
BESIDE = {"length_gain": "length", "curve_gain": "curve of score and length", "combined_gain": "average of the metrics"}


def main(arguments: list[str]) -> int:
    """Print the tables; the exit status."""
    if any(one.startswith("-") for one in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    folders = [Path(one) for one in arguments] or [ROOT / "outputs" / name for name in SWEEPS]
    if not arguments:
        for name in SWEEPS:
            status = subprocess.run([sys.executable, "-m", "bmx_grid", f"+sweep={name}"], cwd=ROOT, check=False)
            if status.returncode:
                return status.returncode
    try:
        for folder in folders:
            print("\n".join(tables(folder)))
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def tables(folder: Path) -> Iterator[str]:
    """The lines of a sweep's tables in Markdown. Raises DataError for a folder without verdicts."""
    import pandas as pd

    path = table_path(folder, "verdicts")
    if not path.is_file():
        raise DataError(f"{path} is missing; run a sweep with boosts in evaluation first.")
    frame = pd.read_parquet(path)
    declared = widest(frame[~frame["point"].isin((NOT_JUDGED, PUBLISHED, OTHER_DATASETS))])
    several = declared["language_pair"].nunique() > 1
    pair = ("language_pair",) if several else ()
    names = (*pair, "metric", "explainer", "boost")
    judged = (*COLUMNS.values(), "verdict", *CORRECTED.values(), "corrected for")
    yield from _lines((*names, *judged), [_judged(row, names) for row in _rows(declared)])
    yield from _lines((*names[:-2], *BESIDE.values()), _beside(declared, names[:-2]))
    published = widest(frame[frame["point"] == PUBLISHED])
    if len(published):
        yield "\nAt the published points:"
        shown = [_judged(row, names[:-1]) for row in _rows(published)]
        yield from _lines((*names[:-1], *judged), shown)


def widest(frame: Any) -> Any:
    """The verdicts of each metric, explainer and boost on the widest scope that has any."""
    width = (frame["dataset"] == ALL).astype(int) + (frame["language_pair"] == ALL)
    of_boost = [frame[name] for name in ("metric", "explainer", "boost")]
    return frame[width == width.groupby(of_boost).transform("max")]


def _rows(frame: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frame.sort_values(["metric", "explainer"], kind="stable").to_dict("records")
    return found


def _judged(row: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    estimates = [_interval(row, name) for name in COLUMNS]
    corrected = [_p(row[name]) for name in CORRECTED]
    return [*(str(row[name]) for name in names), *estimates, row["verdict"], *corrected, str(row["tried"])]


def _p(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "<.001" if value < 0.0005 else f"{value:.3f}".removeprefix("0")


def _beside(frame: Any, names: tuple[str, ...]) -> list[list[str]]:
    """What needs no explanation gains, once per metric."""
    first = frame.drop_duplicates(list(names))
    return [[*(str(row[name]) for name in names), *(_interval(row, name) for name in BESIDE)] for row in _rows(first)]


def _interval(row: Mapping[str, Any], name: str) -> str:
    return format_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], minus="−")


def _lines(header: tuple[str, ...], rows: list[list[str]]) -> Iterator[str]:
    yield f"\n| {' | '.join(name.replace('_', ' ') for name in header)} |"
    yield f"|{'---|' * len(header)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
