"""How much a verdict depends on the seed: labels of the same sweep with ten seeds, on WMT17.

BMX_DATA_DIR=DIR python benchmarks/verdict_seeds.py [--seeds N]     10 seeds, 4 CPU-minutes with cached scores

The seed draws the random divisions that a partial correlation is extrapolated from, the resamples of intervals and the
folds. Sentence BLEU, Erasure and three boosts; the rows are verdicts over all seven language pairs.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from tempfile import TemporaryDirectory

import harness  # noqa: F401  (one thread, and the paths below)

import bmx_grid as bmx

BOOSTS = ["power_mean_grid", "share_negative", "mean"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    partial: dict[str, list[float]] = defaultdict(list)
    with TemporaryDirectory() as folder:
        for seed in range(options.seeds):
            run = bmx.run(
                None,
                dataset=["wmt17"],
                metric=["sentence_bleu"],
                explainer=["erasure"],
                boost=BOOSTS,
                evaluation=["grid", "boosts"],
                seed=seed,
                data_dir=os.environ["BMX_DATA_DIR"],
                cache_dir=f"{folder}/cache",
                output_dir=f"{folder}/{seed}",
                tracking="none",
                quiet=True,
            )
            verdicts = run.table("verdicts")
            declared = verdicts[(verdicts["language_pair"] == "all") & (verdicts["point"] == "elsewhere")]
            for row in declared.itertuples():
                labels[row.boost][row.verdict] += 1
                partial[row.boost].append(row.partial_r)
    print("| boost | verdicts | partial r, from to |\n|---|---|---|")
    for boost, counts in labels.items():
        shown = ", ".join(f"{label} {count}" for label, count in counts.most_common())
        print(f"| {boost} | {shown} | {min(partial[boost]):.3f} {max(partial[boost]):.3f} |")


if __name__ == "__main__":
    main()
