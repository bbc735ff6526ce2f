"""Significance of one setting, 560 segments x 3,600 points: at most 1 CPU-second, at least 500 times loops.

Ours: everything a sweep computes and more, 1,000 bootstrap resamples of every point's correlation and gain, 1,000
resamples of the selection-adjusted test on the whole grid, 10 folds.

The loops are those of nlpstats 0.0.1, written out: `scipy.stats.pearsonr` once for each resample of a bootstrap and
twice for each of a permutation test, at one point of the grid. They are timed for 20 resamples and multiplied by 50
(1,000 resamples) and by 3,600 (points): extrapolated, since the whole would take about half an hour. They have no
gains and no whole-grid test, so the ratio is to fewer numbers than ours. nlpstats resamples matrices of
systems and inputs; here there is one system.

`compare` is one pair of metrics, 1,000 bootstrap and 1,000 permutation resamples, against the same loops at one point.
`acc_eq`, `spa`, `pairwise_accuracy`: tests of agreement with 1,000 permutations, 13 systems x 500 segments, of all 66
pairs of 12 metrics in at most 20 CPU-seconds (one pair, times 66). The loop evaluates acc_eq anew after each swap.
With --segments 100000 the first row shows time and memory of a large setting (no floor; no loops).
"""

from __future__ import annotations

import functools
import resource
import sys
from collections.abc import Callable

from harness import Bench

# isort: split
import numpy as np
from settings import P, W, make_setting

from bmx_grid.measures.agreement import SegmentPairs
from bmx_grid.measures.agreement_tests import Scores, compare_agreement
from bmx_grid.measures.grid import GridSpec, grid_inputs
from bmx_grid.measures.grid_resampling import GridSample, cross_fit, selection_adjusted
from bmx_grid.measures.paired_tests import compare

RESAMPLES = 1000
TIMED = 20
SYSTEMS, ITEMS, PAIRS = 13, 500, 66


def bootstrap_loop(x: np.ndarray, human: np.ndarray, resamples: int) -> np.ndarray:
    """nlpstats.correlations.bootstrap, resampling inputs of one system."""
    from scipy.stats import pearsonr

    rng, found = np.random.default_rng(0), []
    for _ in range(resamples):
        rows = rng.choice(len(x), len(x), replace=True)
        found.append(pearsonr(x[rows], human[rows])[0])
    return np.percentile(found, [2.5, 97.5])


def permutation_loop(x: np.ndarray, y: np.ndarray, human: np.ndarray, resamples: int) -> float:
    """nlpstats.correlations.permutation_test, permuting inputs of one system."""
    from scipy.stats import pearsonr

    rng, count = np.random.default_rng(0), 0
    x, y, human = ((a - a.mean()) / a.std() for a in (x, y, human))
    observed = pearsonr(x, human)[0] - pearsonr(y, human)[0]
    for _ in range(resamples):
        swap = rng.random(len(x)) > 0.5
        a, b = np.where(swap, y, x), np.where(swap, x, y)
        count += abs(pearsonr(a, human)[0] - pearsonr(b, human)[0]) >= abs(observed)
    return count / resamples


bench = Bench(__doc__, rounds=3, segments={"type": int, "default": 560})
segments = bench.options.segments
base, truth, hypothesis, human = make_setting(segments, 48, 0)
given = grid_inputs(GridSpec(), base, truth, hypothesis, human)
cluster = np.random.default_rng(0).integers(0, int(0.9 * segments), segments)
boosted = 0.8 * given.base + 0.2 * given.means[:, len(P) // 2]


def ours() -> object:
    sample = GridSample(given.means, given.base, given.human, W, cluster)
    return selection_adjusted(sample, RESAMPLES), cross_fit(sample)


def ours_once() -> object:
    return compare(boosted, given.base, given.human, cluster, resamples=RESAMPLES)


def loops() -> None:
    bootstrap_loop(boosted, given.human, TIMED)
    permutation_loop(boosted, given.base, given.human, TIMED)


def judged_systems() -> tuple[np.ndarray, ...]:
    """Two metrics and people, who tie every fifth pair, on each item of each system; items and systems."""
    rng = np.random.default_rng(0)
    item, system = np.repeat(np.arange(ITEMS), SYSTEMS), np.tile(np.arange(SYSTEMS), ITEMS)
    human = np.round(rng.normal(size=SYSTEMS)[system] / 2 + 1.5 * rng.normal(size=item.size))
    x, y = (human + 2 * rng.normal(size=item.size) for _ in range(2))
    return x, y, human, item, system


def agreement_loop(x: np.ndarray, y: np.ndarray, human: np.ndarray, item: np.ndarray, system: np.ndarray) -> None:
    """acc_eq of both metrics after each of a few swaps of items, calibrated anew."""
    rng, pairs = np.random.default_rng(0), SegmentPairs.from_groups(human, item)
    for _ in range(TIMED):
        swap = (rng.random(ITEMS) > 0.5)[item]
        for scores in (np.where(swap, y, x), np.where(swap, x, y)):
            pairs.calibrate(scores)


ways: dict[str, Callable[[], object]] = {"ours": ours}
floor = None
if segments <= 2000:
    ways, floor = {"ours": ours, "loops (extrapolated)": loops}, 500.0
share = {"loops (extrapolated)": RESAMPLES / TIMED * len(P) * len(W)}
medians = bench.compare(f"one setting of {segments:,}", ways, share=share, floor=floor)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
if floor is not None:
    bench.row("CPU-seconds", f"one setting: {medians['ours']:.2f} CPU-seconds", medians["ours"], 1.0, most=True)
    ways = {"ours": ours_once, "loops": loops}
    bench.compare("one pair of metrics", ways, share={"loops": RESAMPLES / TIMED})
    scores = judged_systems()
    for statistic in ("acc_eq", "spa", "pairwise_accuracy"):
        given_scores = Scores(*scores[:3], cluster=scores[3], system=scores[4], item=scores[3])
        how = {"unit": "both", "bootstrap": False}
        ways = {statistic: functools.partial(compare_agreement, statistic, given_scores, **how)}
        ways |= {"loop": functools.partial(agreement_loop, *scores)} if statistic == "acc_eq" else {}
        medians = bench.compare(f"permutations of {statistic}", ways, share={"loop": RESAMPLES / TIMED})
        seconds = PAIRS * medians[statistic]
        bench.row("CPU-seconds", f"{PAIRS} pairs by {statistic}: {seconds:.1f} CPU-seconds", seconds, 20.0, most=True)
bench.row("memory", f"peak memory of the process: {peak:.2f} GiB", peak, 4.0, most=True)
sys.exit(bench.finish())
