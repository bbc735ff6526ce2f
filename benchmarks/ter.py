"""TER and LIME x TER: the compiled search of shifts against sacreBLEU's, which computes the same edits.

    python benchmarks/ter.py [--pairs 60] [--rounds 3]

Pairs are those of WMT17 de-en. sacreBLEU takes them one by one, as its `sentence_score` does; with LIME on some of them
each perturbed text is one more.
"""

from __future__ import annotations

import sys

from harness import Bench

# isort: split
from bmx_grid.attribution.explain import explain_items
from bmx_grid.core.configure import build, load_option
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.explainers.lime import Lime
from bmx_grid.metrics.words import Ter
from bmx_grid.words.perturbation import Item

FLOOR = 20.0


class Negated(Ter):
    """TER whose higher scores are better, as explainers want it."""

    def combine(self, sums):
        return -super().combine(sums)


class OfSacrebleu(Negated):
    """The same by sacreBLEU."""

    def statistics(self, items):
        import numpy as np
        from sacrebleu.metrics.lib_ter import translation_edit_rate

        from bmx_grid.metrics.words import _tercom_words

        split = _tercom_words(*self.library_settings().values())
        pairs = [(split(item.text("hypothesis")), split(item.text("reference"))) for item in items]
        return np.array([translation_edit_rate(*pair) for pair in pairs], dtype=np.float64)


bench = Bench(__doc__, rounds=3, pairs={"type": int, "default": 60})
reader = build(load_option("dataset", "wmt17"), DatasetReader, "dataset.wmt17")
segments = reader.load_segments(bench.options.data, "de-en").segments[: bench.options.pairs]
items = [Item(reference=segment.reference, hypothesis=segment.hypothesis) for segment in segments]
ours, theirs = Negated(), OfSacrebleu()
assert ours.score(items).tolist() == theirs.score(items).tolist()
bench.compare("TER", {"ours": lambda: ours.score(items), "sacreBLEU": lambda: theirs.score(items)}, floor=FLOOR)
few = items[: max(len(items) // 20, 1)]
bench.compare(
    f"LIME of {len(few)} segments",
    {
        "ours": lambda: explain_items(ours, Lime(), few, seed=0),
        "sacreBLEU": lambda: explain_items(theirs, Lime(), few, seed=0),
    },
)
sys.exit(bench.finish())
