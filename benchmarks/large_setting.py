"""One large setting, evaluated as a sweep does: at most 4 GiB, and twice the time for twice the segments.

Grid (600 p x 6 w) and significance (1,000 resamples of the bootstrap and of the selection-adjusted test)
of one setting of made-up segments with 48 words each, nine clusters for ten segments; levels with --levels, whose
Kendall's tau takes n log n steps for each resample. Each size runs in a process of its own, so that its peak memory is
its own. The largest is --segments, the others a half and a quarter of it: python benchmarks/large_setting.py
--segments 100000 is the claim, and takes minutes. The ratio of seconds is allowed 2.4 for each doubling, for caches
that the larger size no longer fits.

--sweep runs the whole command instead: generated segments of --words words (a TSV file), chrF x Erasure, the grid, all
tables. CPU-seconds are those of the command; memory is the growth of its peak per further segment, and is judged from
sizes on whose means are not held.
python benchmarks/large_setting.py --sweep --segments 1000000 --words 5: an hour on a free core (extrapolated).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import ROOT, Bench

# isort: split
import numpy as np
from settings import W, make_setting

from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.evaluations.base import Evaluation, ScoredSetting
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.evaluations.levels import LevelsEvaluation
from bmx_grid.evaluations.significance import SignificanceEvaluation
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.attributions import AttributionSet

WORDS, PER_DOUBLING, GIBIBYTES = 48, 2.4, 4.0
BYTES = 4_000  # per segment, with texts, ids, keys, attributions and what tables hold; its 600 means are 4,800
LARGE = 120_000  # segments whose means are not held
ALONE = "--alone"  # how this file calls itself


def setting_of(n: int) -> ScoredSetting:
    """A finished setting of n made-up segments."""
    base, truth, hypothesis, human = make_setting(n, WORDS, 0)
    segments = tuple(Segment(str(at), f"h{at}", source=f"s{at}", reference=f"r{at}") for at in range(n))
    found = SegmentSet("toy", "de-en", segments, Judgements({"da": human}))
    scores = AttributionSet(base, {"reference": truth, "hypothesis": hypothesis})
    clusters = np.random.default_rng(0).integers(0, int(0.9 * n), n).astype(str).tolist()
    items = found.items(("reference", "hypothesis"))
    return ScoredSetting(found, "chrf", "erasure", Chrf(), Erasure(), items, scores, clusters)


def evaluated(n: int, *, levels: bool) -> dict[str, float]:
    """CPU-seconds of each evaluation, and peak memory in GiB, of this process."""
    w = tuple(map(float, W))
    grid = GridEvaluation(p=PowerRange(-30, 30, 0.1), w=w, fixed={"erasure": Point(w=0.6, p=-0.3)})
    evaluations: dict[str, Evaluation] = {
        "grid": grid,
        **({"levels": LevelsEvaluation()} if levels else {}),
        "significance": SignificanceEvaluation(grid=grid),
    }
    setting, seconds = setting_of(n), {}
    for name, one in evaluations.items():
        began = time.process_time()
        setting = setting.add_points(one.points(one.evaluate([setting])[0]))
        seconds[name] = time.process_time() - began
    return {**seconds, "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def apart(n: int, *, levels: bool) -> dict[str, float]:
    """The same of a new process."""
    command = [sys.executable, __file__, ALONE, str(n), *(["levels"] if levels else [])]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    found: dict[str, float] = json.loads(shown.stdout)
    return found


def write_segments(file: Path, n: int, words: int) -> None:
    """n generated segments: hypotheses that keep a share of the words of the reference, rated by a noisy share."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    known = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 10, 20_000)])
    with file.open("w", encoding="utf-8") as out:
        out.write("id\tsource\treference\thypothesis\tscore\n")
        for number in range(n):
            size, quality = int(rng.integers(words // 2 + 1, 3 * words // 2 + 2)), rng.random()
            reference, other = known[rng.integers(0, len(known), (2, size))]
            hypothesis = np.where(rng.random(size) < quality, reference, other)
            score = quality + 0.2 * rng.normal()
            out.write(f"{number}\ts {number}\t{' '.join(reference)}\t{' '.join(hypothesis)}\t{score:.4f}\n")


def swept(n: int, words: int) -> dict[str, float]:
    """CPU-seconds and peak memory in GiB of the command on n segments."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "segments.tsv"
        write_segments(file, n, words)
        chosen = (
            *("dataset=[tabular]", f"dataset.tabular.path={file}", "dataset.tabular.language_pairs=[de-en]"),
            *("metric=[chrf]", "explainer=[erasure]", "evaluation=[grid]", "executor=sequential", "tracking=none"),
            *(f"cache_dir={folder}/cache", f"output_dir={folder}/out"),
        )
        command = [sys.executable, "-m", "bmx_grid", *chosen]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        running = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment
        )
        _, status, used = os.wait4(running.pid, 0)
    if status != 0:
        raise SystemExit(f"the sweep of {n} segments failed with status {os.waitstatus_to_exitcode(status)}")
    return {"sweep": used.ru_utime + used.ru_stime, "GiB": used.ru_maxrss / 2**20}


if ALONE in sys.argv:
    print(json.dumps(evaluated(int(sys.argv[2]), levels="levels" in sys.argv)))
    sys.exit()
asked = {
    "segments": {"type": int, "default": 4000},
    "levels": {"action": "store_true"},
    "sweep": {"action": "store_true"},
    "words": {"type": int, "default": 16},
}
bench = Bench(__doc__, rounds=1, **asked)
options, before, peak_before, n_before = bench.options, 0.0, 0.0, 0
for part in (4, 2, 1):
    n = options.segments // part
    found = swept(n, options.words) if options.sweep else apart(n, levels=options.levels)
    peak = found.pop("GiB")
    total = sum(found.values())
    told = f"{n:>9,} segments: {total:.1f} CPU-seconds ({', '.join(f'{k} {v:.1f}' for k, v in found.items())})"
    ratio = total / before if before else None
    limit = None if ratio is None else PER_DOUBLING
    bench.row(f"seconds of {n}", told + (f"  {ratio:.2f}x" if ratio else ""), ratio, limit, most=True)
    if options.sweep:
        each = (peak - peak_before) * 2**30 / (n - n_before) if n_before else None
        grown = "" if each is None else f", {each:,.0f} bytes per further segment"
        told = f"{n:>9,} segments: {peak:.2f} GiB{grown}"
        bench.row(f"memory of {n}", told, each, BYTES if n_before > LARGE else None, most=True)
    else:
        bench.row(f"memory of {n}", f"{n:>9,} segments: {peak:.2f} GiB", peak, GIBIBYTES, most=True)
    before, peak_before, n_before = total, peak, n
sys.exit(bench.finish())
