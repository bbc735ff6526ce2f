"""Word-level measures: pairs of labellings tested in at most 30 s; sampling at least 20,000 times the plain way.

As many words as WMT22's en-mr, drawn at random: 1,000 texts, 19,000 words, 11 % BAD, five labellings.

Approximate randomisation: ten pairs, six measures, 1,000 rounds, the statistics of the labellings included. The loop
is that of the tests: labels are exchanged, and both corpora measured anew, for one pair and 3 rounds; its seconds are
multiplied to ten pairs and 1,000 rounds. With --submissions 17, as in the paper, there are 136 pairs.

Repeated sampling: 10,000 corpora for each of five thresholds, one of 1,000 repetitions; the plain way draws the same
sequences, puts 2 x 5 corpora together and measures each: multiplied to 10,000. One repetition is 2 CPU-seconds at most.
"""

from __future__ import annotations

import sys
import time

from harness import Bench

# isort: split
import numpy as np
from plain_sampling import measures_of, plain_values
from randomisation import approximate_randomisation
from sampling import erring_sequences, errors_at, sampled_sums

from bmx_grid.core.ragged import Labels
from bmx_grid.measures.resampling import swaps
from bmx_grid.measures.word_measures import THE_SIX, measures, statistics

ROUNDS, TIMED = 1000, 3
SAMPLES, PLAIN_SAMPLES = 10_000, 2
SHARES = (10, 10.01, 10.05, 10.1, 10.2)

bench = Bench(__doc__, rounds=3, submissions={"type": int, "default": 5})
count = bench.options.submissions
rng = np.random.default_rng(0)
lengths = rng.integers(4, 35, 1000)
gold = Labels.from_rows(rng.random(length) < 0.11 for length in lengths)
labellings = [
    Labels(gold.bad ^ (rng.random(len(gold.bad)) < rate), gold.offsets) for rate in np.linspace(0.1, 0.2, count)
]
pairs = count * (count - 1) // 2


def ours() -> object:
    return approximate_randomisation([statistics(gold, one) for one in labellings], rounds=ROUNDS)


def loop() -> object:
    """`slow_randomisation` of the tests, of the first pair."""

    def six(one: Labels) -> np.ndarray:
        found = measures_of(gold, one)
        return np.array([found[name] for name in THE_SIX])

    first, second = labellings[:2]
    observed, extreme = six(first) - six(second), np.zeros(len(THE_SIX))
    for exchanged in swaps(np.random.default_rng(0), len(gold), TIMED):
        rows = [(b, a) if swap else (a, b) for a, b, swap in zip(first.rows(), second.rows(), exchanged, strict=True)]
        one, other = (Labels.from_rows(row[side] for row in rows) for side in (0, 1))
        extreme += np.abs(six(one) - six(other)) >= np.abs(observed) - 1e-12
    return extreme


pool = erring_sequences(gold, labellings)
errors = errors_at(pool, SHARES)


def sampled() -> object:
    return measures(sampled_sums(pool, errors, SAMPLES, np.random.default_rng(0)))


def plain() -> object:
    return plain_values(gold, labellings, errors, PLAIN_SAMPLES, np.random.default_rng(0))


share = {"loop (extrapolated)": ROUNDS / TIMED * pairs}
bench.compare(f"randomisation, {pairs} pairs", {"ours": ours, "loop (extrapolated)": loop}, share=share, floor=2000)
start = time.perf_counter()
ours()
taken = time.perf_counter() - start
bench.row("seconds", f"randomisation, {pairs} pairs: {taken:.1f} seconds by the clock", taken, 30.0, most=True)
share = {"plain (extrapolated)": SAMPLES / PLAIN_SAMPLES}
ways = {"ours": sampled, "plain (extrapolated)": plain}
medians = bench.compare("sampling, 5 x 10,000 corpora", ways, share=share, floor=20_000)
bench.row("CPU-seconds", f"one repetition: {medians['ours']:.2f} CPU-seconds", medians["ours"], 2.0, most=True)
sys.exit(bench.finish())
