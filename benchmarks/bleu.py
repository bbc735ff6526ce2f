"""Masks scored without writing texts: sentence BLEU and chrF against sacreBLEU text by text, equal bit for bit.

The masks are those that LIME (100 per side), SHAP (up to 500 per side) and Erasure plan for WMT17 segments of all
language pairs (the embedded sample where WMT17 is missing). sacreBLEU is called as a script would call it, on a sample
of the written texts. Both are shown per text.
"""

from __future__ import annotations

import sys

from harness import Bench

# isort: split
import numpy as np
import sacrebleu
from settings import Texts, reference_pairs

from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shap import Shap
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.words.perturbation import Item, Request
from bmx_grid.words.segmentation import split_words

LIBRARY_TEXTS = 1500  # texts per round that sacreBLEU scores, spread over all requests


def plan(explainer: Explainer, pairs: list[Texts]) -> list[Request]:
    """Both sides of every pair, as the explainer wants them scored."""
    rng = np.random.Generator(np.random.PCG64(0))
    requests = []
    for reference, hypothesis in pairs:
        item = Item(reference=reference, hypothesis=hypothesis)
        requests.append(Request(explainer.plan(split_words(reference), rng), "reference", item))
        requests.append(Request(explainer.plan(split_words(hypothesis), rng), "hypothesis", item))
    return requests


def pair_of(item: Item) -> Texts:
    """Reference and hypothesis."""
    return item.text("reference"), item.text("hypothesis")


def bleu_library(pair: Texts) -> float:
    """sacreBLEU's own function on one text."""
    return float(
        sacrebleu.sentence_bleu(pair[1], [pair[0]], smooth_method="add-k", smooth_value=1, tokenize="13a").score / 100
    )


def chrf_library(pair: Texts) -> float:
    """sacreBLEU's own function on one text."""
    return float(sacrebleu.sentence_chrf(pair[1], [pair[0]]).score / 100)


bench = Bench(__doc__, rounds=5, segments={"type": int, "default": 140})
name, sets = reference_pairs(bench.options.data)
everything = [pair for one in sets for pair in one]
rows = np.linspace(0, len(everything) - 1, min(bench.options.segments, len(everything))).astype(int)
pairs = [everything[row] for row in rows]
words = np.mean([len(split_words(text)) for pair in pairs for text in pair])
print(f"{len(pairs)} segments of {name}, {words:.0f} words per side")
unequal = 0
for metric, library in ((SentenceBleu(), bleu_library), (Chrf(), chrf_library)):
    for explainer in (Lime(), Shap(), Erasure()):
        requests = plan(explainer, pairs)
        scores = np.concatenate(metric.score_masked(requests))
        step = max(1, len(scores) // LIBRARY_TEXTS)
        sampled = [pair for request in requests for pair in map(pair_of, request.items())][::step]
        equal = sum(library(pair) == score for pair, score in zip(sampled, scores[::step].tolist(), strict=True))
        unequal += len(sampled) - equal
        bench.compare(
            f"{type(metric).__name__}, masks of {type(explainer).__name__}",
            {
                "masked": lambda metric=metric, requests=requests: metric.score_masked(requests),
                "sacreBLEU": lambda library=library, sampled=sampled: [library(pair) for pair in sampled],
            },
            share={"sacreBLEU": len(scores) / len(sampled)},
            per=len(scores),
            unit=" per text",
            note=f"{len(scores):,} texts; {equal:,} of {len(sampled):,} equal bit for bit",
        )
bench.row("scores that differ from sacreBLEU", f"{unequal} scores differ from sacreBLEU", unequal, 0, most=True)
sys.exit(bench.finish())
