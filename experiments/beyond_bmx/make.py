"""The tables of this experiment: what boosts gain on other segments, beside length, other attributions and averages.

python experiments/beyond_bmx/make.py                      run the sweeps of SWEEPS, then print their tables
python experiments/beyond_bmx/make.py OUTPUT_DIR…          print the tables of finished sweeps

Data sets are read below BMX_DATA_DIR (`python -m bmx_grid data` fetches them), results go to outputs/. A table has one
row for each metric, explainer and boost: differences of Pearson's r, averaged over the language pairs. Each boost is
chosen on the other pairs without their shared references. With three language pairs or more the intervals are those of
Student's t over the pairs, which speak of further pairs and which the verdict rests on, with p values corrected by Holm
for the boosts of a metric and explainer. Beside them stand those of a bootstrap of clusters of segments, drawn together
in all pairs, which speak of these pairs. With fewer pairs, each has its rows, with intervals of clusters of segments.
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

from bmx_grid.errors import BmxError, DataError  # noqa: E402
from bmx_grid.wording import number, setting_label, with_interval  # noqa: E402

SWEEPS = ("beyond_wmt17", "beyond_neural", "beyond_mqm", "beyond_mlqe_pe")
ALL, POINT = "all", "elsewhere"
TABLES = ("boosts.parquet", "boost_verdicts.parquet")
HEADER = (
    *("metric", "explainer", "boost", "gain", "by clusters", "pairs above 0", "beyond length", "by clusters"),
    *("over the metrics", "verdict", "p (Holm)"),
)
NONE = " | –"


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
            print("\n".join(table(folder)))
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def table(folder: Path) -> Iterator[str]:
    """The lines of a sweep's table in Markdown. Raises DataError for a folder without the tables of boosts."""
    import pandas as pd

    missing = [name for name in TABLES if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder}: {' and '.join(missing)} missing; run a sweep with boosts in evaluation first.")
    boosts, verdicts = (pd.read_parquet(folder / name) for name in TABLES)
    for dataset in sorted(set(verdicts["dataset"]) - {ALL}):
        own = verdicts[(verdicts["dataset"] == dataset) & (verdicts["point"] == POINT)]
        wide = own[own["language_pair"] == ALL]
        rows = (wide if len(wide) else own).to_dict("records")
        alone = boosts[(boosts["dataset"] == dataset) & (boosts["point"] == POINT) & (boosts["language_pair"] != ALL)]
        pairs = sorted(set(alone["language_pair"]))
        yield f"\n**{dataset}**, {len(pairs)} language pairs ({', '.join(pairs)})\n"
        yield f"| {' | '.join(HEADER)} |"
        yield f"|{'---|' * len(HEADER)}"
        for name in ("length", "combined"):
            for metric in sorted({row["metric"] for row in rows}):
                (first, *_) = [row for row in rows if row["metric"] == metric]
                if math.isnan(first[f"{name}_gain"]):  # of a single metric there is no average
                    continue
                above = _above(alone, {**first, "boost": name})
                shown = with_interval(first[f"{name}_gain"], first[f"{name}_low"], first[f"{name}_high"])
                what = "length alone" if name == "length" else "average of the metrics"
                yield f"| {metric} | – | {what} | {shown}{NONE} | {above}{NONE * 5} |"
        for row in rows:
            cells = (
                with_interval(row["gain"], row["gain_low"], row["gain_high"]),
                _ends(row["joint_low"], row["joint_high"]),
                _above(alone, row),
                with_interval(row["beyond_length_gain"], row["beyond_length_low"], row["beyond_length_high"]),
                _ends(row["beyond_length_joint_low"], row["beyond_length_joint_high"]),
                with_interval(row["over_combined"], row["over_combined_low"], row["over_combined_high"]),
                f"{row['verdict']}" + (f" ({row['language_pair']})" if row["language_pair"] != ALL else ""),
                "<0.001" if row["beyond_length_p_holm"] < 0.0005 else number(row["beyond_length_p_holm"], ".3f"),
            )
            yield f"| {row['metric']} | {row['explainer']} | {row['boost']} | {' | '.join(cells)} |"


def _ends(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"[{number(low, '+.4f')}, {number(high, '+.4f')}]"


def _above(alone: Any, row: Mapping[str, Any]) -> str:
    """In how many language pairs the boost gains, of those with a defined gain."""
    own = alone[(alone["against"] == "metric") & (alone["boost"] == row["boost"])]
    own = own[(own["metric"] == row["metric"]) & (own["explainer"] == row["explainer"])]
    gains = own["gain"].dropna()
    if not len(gains):
        return f"– ({setting_label(row['metric'], row['explainer'])})"
    return f"{int((gains > 0).sum())} of {len(gains)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
