"""Corpus chrF of pairs of texts: n-grams of many pairs counted at once, against sacreBLEU and compiled packages.

    python benchmarks/corpus_chrf.py [--rounds 5]

Pairs are those of all language pairs of WMT17 (the embedded sample where WMT17 is missing). The system's score and each
segment's are equal to sacreBLEU's bit for bit. Packages that are not installed are left out: fastchrf (Rust, segments
only) and sacrebleu-mojo (Mojo, Python 3.12 or later).
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from harness import Bench

# isort: split
import sacrebleu
from settings import items, reference_pairs

from bmx_grid.metrics.chrf import Chrf

FLOOR = 8.0  # of sacreBLEU's seconds to ours
PEER_FLOOR = 1.0  # of a compiled package's


def installed(name: str) -> ModuleType | None:
    """A package, or None, which is told."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed")
        return None


bench = Bench(__doc__, rounds=5)
name, sets = reference_pairs(bench.options.data)
pairs = [pair for one in sets for pair in one]
texts = items(pairs)
references = [reference for reference, _ in pairs]
hypotheses = [hypothesis for _, hypothesis in pairs]
metric = Chrf()


def ours() -> float:
    """The score of all segments as one system, in percent."""
    return 100 * float(metric.combine(metric.statistics(texts).sum(axis=0)))


def library() -> float:
    """The same by sacreBLEU."""
    return float(sacrebleu.corpus_chrf(hypotheses, [references]).score)


assert ours() == library()
print(f"{len(pairs):,} pairs of {name}")
per_pair = {"per": len(pairs), "unit": " per pair"}
mojo = installed("sacrebleu_mojo")
fastchrf = installed("fastchrf")
if mojo is not None:

    def by_mojo() -> float:
        """The same by sacrebleu-mojo."""
        return float(mojo.corpus_chrf(hypotheses, [references]).score)

    assert abs(by_mojo() - ours()) < 1e-9
    bench.compare("a system", {"ours": ours, "sacrebleu-mojo": by_mojo}, floor=PEER_FLOOR, **per_pair)
bench.compare("a system", {"ours": ours, "sacreBLEU": library}, floor=FLOOR, **per_pair)
if fastchrf is not None:
    single = [[reference] for reference in references], [[hypothesis] for hypothesis in hypotheses]

    def by_fastchrf() -> object:
        """Each segment's score by fastchrf."""
        return fastchrf.pairwise_chrf(single[1], single[0])

    ways = {"ours": lambda: metric.score(texts), "fastchrf": by_fastchrf}
    bench.compare("segments", ways, floor=PEER_FLOOR, **per_pair)
sys.exit(bench.finish())
