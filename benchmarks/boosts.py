"""All boosts of one cached setting of 560 segments, each chosen on ten folds: at most 0.5 s on one core."""

from __future__ import annotations

import sys

import numpy as np
from harness import Bench
from settings import make_setting

from bmx_grid.boosts.base import Boost
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.evaluations.choose import cross_fitted
from bmx_grid.evaluations.held_out import RatedSegments
from bmx_grid.words.segmentation import log_words

MOST = 0.5  # seconds
N, FOLDS = 560, 10

bench = Bench(__doc__, rounds=3)
base, truth, hypothesis, human = make_setting(N, 20, 0)
rows = np.arange(N)
words = log_words(truth.lengths, hypothesis.lengths)
rated = RatedSegments(base, human, words, rows, rows, 0 * rows, rows % FOLDS, np.ones(N, dtype=np.bool_))
names = [name for name in options("boost") if name != "recipe"]  # that one chooses nothing
boosts = {name: build(load_option("boost", name), Boost, f"boost.{name}") for name in names}


def judged(names: list[str]) -> None:
    """Features and choices of some boosts, from the attributions on."""
    for name in names:
        cross_fitted("pearson", boosts[name].fit, rated, boosts[name].features(truth, hypothesis))


taken = bench.measure({name: lambda name=name: judged([name]) for name in boosts} | {"all": lambda: judged([*boosts])})
for name, seconds in taken.items():
    middle = sorted(seconds)[len(seconds) // 2]
    most = MOST if name == "all" else None
    bench.row(name, f"{name:<34} {middle:.2f} s ({min(seconds):.2f} to {max(seconds):.2f})", middle, most, most=True)
sys.exit(bench.finish())
