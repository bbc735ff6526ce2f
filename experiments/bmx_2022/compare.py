"""Hold a sweep's grid against published values: python experiments/bmx_2022/compare.py GRID [AUTHORS_GRID].

GRID is the grid.parquet of a sweep over WMT17 with sentence_bleu and chrf; AUTHORS_GRID the authors' published grid
in the same schema. Prints published / ours / difference / verdict; exit status 1 when a value is out of tolerance.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

NAMES = ["dataset", "language_pair", "metric", "explainer"]


def main(arguments: list[str]) -> int:
    """Print the comparison; the number of values out of tolerance."""
    if not 1 <= len(arguments) <= 2 or not all(Path(path).is_file() for path in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    expected = yaml.safe_load((Path(__file__).parent / "expected.yaml").read_text())
    ours = pd.read_parquet(arguments[0])
    missed = compare_baselines(ours, expected["baselines"])
    if len(arguments) == 2:
        missed += compare_grids(ours, pd.read_parquet(arguments[1]), expected["authors_grid"])
    return 1 if missed else 0


def compare_baselines(ours: pd.DataFrame, expected: dict) -> int:
    """The metric alone (w = 1) on each language pair."""
    alone = ours[ours.w == 1].groupby(NAMES[:3], observed=True).correlation.first()
    missed = 0
    print(f"{'baseline':<32}{'published':>10}{'ours':>10}{'difference':>12}  verdict")
    for metric, pairs in expected["wmt17"].items():
        for pair, published in pairs.items():
            value = alone.get(("wmt17", pair, metric), np.nan)
            good = abs(value - published) <= expected["tolerance"]
            verdict = "agrees" if good else "not in this sweep" if np.isnan(value) else "DIFFERS"
            missed += verdict == "DIFFERS"
            label = f"wmt17 {pair} {metric}"
            print(f"{label:<32}{published:>10.4f}{value:>10.4f}{value - published:>12.4f}  {verdict}")
    return missed


def compare_grids(ours: pd.DataFrame, theirs: pd.DataFrame, expected: dict) -> int:
    """Whole grids, point by point."""
    missed = 0
    print(f"\n{'grid':<46}{'correlation':>12}{'baseline: theirs':>18}{'ours':>9}  verdict")
    for setting in expected["settings"]:
        one, other = (
            table[np.logical_and.reduce([table[name] == setting[name] for name in NAMES])].set_index(["p", "w"])
            for table in (ours, theirs)
        )
        label = " ".join(setting[name] for name in NAMES)
        if one.empty:
            print(f"{label:<46}  not in this sweep")
            continue
        both = one.join(other.correlation.rename("correlation_theirs"), how="inner")
        agreement = np.corrcoef(both.correlation, both.correlation_theirs)[0, 1]
        baselines = [table.xs(1.0, level="w").correlation.iloc[0] for table in (other, one)]
        good = len(both) == len(other) == len(one) and agreement > expected["least_correlation"]
        good = good and abs(baselines[0] - baselines[1]) <= expected["baseline_within"]
        missed += not good
        verdict = "agrees" if good else "DIFFERS"
        print(f"{label:<46}{agreement:>12.5f}{baselines[0]:>18.4f}{baselines[1]:>9.4f}  {verdict}")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
