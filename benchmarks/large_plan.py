"""The plan of a sweep of 100,000 settings: seconds, and twice as many for twice the settings.

A generated table of --pairs language pairs with five segments each, ten variants of chrF and ten of LIME, as a dry run
with an empty cache; a half and a quarter of the pairs beside it, after one that pays for all imports. And one setting
for each of the pairs.
"""

from __future__ import annotations

import contextlib
import io
import resource
import sys
import tempfile
import time
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase

from harness import Bench

# isort: split
from fakes import composed

from bmx_grid.api.sweep import run_sweep
from bmx_grid.core.configure import load_option

SECONDS, SECONDS_OF_PAIRS = 20.0, 1.5
PER_DOUBLING, VARIANTS, SEGMENTS = 2.4, 10, 5


def planned(pairs: int, folder: Path, variants: int = VARIANTS) -> float:
    """CPU-seconds of the dry run."""
    file = folder / f"{pairs}.tsv"
    names = islice(("".join(four[:2]) + "-" + "".join(four[2:]) for four in product(ascii_lowercase, repeat=4)), pairs)
    rows = [
        f"{number}\t{name}\ts {name} {number}\tthe reference {name} {number}\tthe hypothesis {number}\t{number % 3}"
        for name in names
        for number in range(SEGMENTS)
    ]
    file.write_text("id\tlanguage_pair\tsource\treference\thypothesis\tscore\n" + "\n".join(rows), encoding="utf-8")
    config = composed(
        *("dataset=[tabular]", f"dataset.tabular.path={file}", "evaluation=[grid]", "tracking=none", "dry_run=true"),
        *(f"cache_dir={folder}/cache", f"output_dir={folder}/out"),
    )
    config["metric"] = {f"chrf{n}": {**load_option("metric", "chrf"), "beta": n + 1} for n in range(variants)}
    lime = load_option("explainer", "lime", 0)
    config["explainer"] = {f"lime{n}": {**lime, "num_samples": 50 + n} for n in range(variants)}
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        run_sweep(config)
    return time.process_time() - began


bench = Bench(__doc__, rounds=1, pairs={"type": int, "default": 1000})
before = 0.0
with tempfile.TemporaryDirectory() as own:
    planned(1, Path(own))
    for part in (4, 2, 1):
        pairs = max(bench.options.pairs // part, 1)
        seconds = planned(pairs, Path(own))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        count = pairs * VARIANTS**2
        told = f"{count:>9,} settings: {seconds:.1f} CPU-seconds, {peak:.2f} GiB"
        bench.row(f"seconds of {count}", told, seconds, SECONDS, most=True)
        if before:
            ratio = seconds / before
            bench.row(f"ratio to {count}", f"{'':>9} {ratio:.2f}x the half", ratio, PER_DOUBLING, most=True)
        before = seconds
    seconds = planned(bench.options.pairs, Path(own), variants=1)
    told = f"{bench.options.pairs:>9,} pairs, a setting each: {seconds:.2f} CPU-seconds"
    bench.row("seconds of pairs", told, seconds, SECONDS_OF_PAIRS, most=True)
sys.exit(bench.finish())
