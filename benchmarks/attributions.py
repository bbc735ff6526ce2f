"""Attributions of WMT17, whole: at least 30 (LIME x BLEU) and 150 times (SHAP x BLEU) the libraries segment by segment.

Ours: `explain_items` over every segment of all seven language pairs (the embedded sample where WMT17 is missing). The
plain way: for each side of a segment, lime's or shap's explainer calling `sacrebleu.sentence_bleu` for each text it
asks for, on the first segments of each pair in turn. Both are shown per segment. Ours knows no word from the round
before, as sacreBLEU knows none from the text before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from harness import Bench

# isort: split
import numpy as np
from settings import Texts, items, reference_pairs

from bmx_grid.attribution.explain import explain_items
from bmx_grid.core.configure import build, load_option
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics import sentence_bleu
from bmx_grid.metrics.sentence_bleu import SentenceBleu

FLOORS = {"lime": 30, "shap": 150}
CHUNK = 64  # segments handed over at once, about what a sweep's chunk of 10,000 texts holds


def ours(explainer: Explainer, pairs: Sequence[Texts]) -> None:
    metric = SentenceBleu()
    sentence_bleu._tokenizer.cache_clear()
    for start in range(0, len(pairs), CHUNK):
        explain_items(metric, explainer, items(pairs[start : start + CHUNK]), seed=0)


def bleu(truth: str, hypothesis: str) -> float:
    from sacrebleu import sentence_bleu

    return sentence_bleu(hypothesis, [truth], smooth_method="add-k", smooth_value=1).score / 100


def plain_lime(pair: Texts) -> None:
    from lime.lime_text import LimeTextExplainer

    for side in (0, 1):

        def scores(texts: list[str], side: int = side) -> np.ndarray:
            found = [bleu(text, pair[1]) if side == 0 else bleu(pair[0], text) for text in texts]
            return np.array(found)[:, None]

        explainer = LimeTextExplainer(split_expression=" ", bow=False, class_names=["score"], random_state=0)
        words = len(pair[side].split(" "))
        explainer.explain_instance(pair[side], scores, labels=(0,), num_features=words, num_samples=100)


def plain_shap(pair: Texts) -> None:
    from shap.explainers import Exact, Permutation

    for side in (0, 1):
        words = pair[side].split(" ")

        def masker(mask: np.ndarray, row: np.ndarray, words: list[str] = words) -> tuple[np.ndarray]:
            text = " ".join(word if kept else "UNKWORDZ" for word, kept in zip(words, mask, strict=True))
            return (np.array([text]),)

        def scores(texts: Sequence[str], side: int = side) -> np.ndarray:
            return np.array([bleu(text, pair[1]) if side == 0 else bleu(pair[0], text) for text in texts])

        row = np.ones((1, len(words)))
        if len(words) <= 7:
            Exact(scores, masker)(row, silent=True)
        else:
            Permutation(scores, masker, seed=0)(row, max_evals=500, batch_size=500, silent=True)


bench = Bench(__doc__, rounds=3, plain_segments={"type": int, "default": 21}, segments={"type": int})
name, sets = reference_pairs(bench.options.data)
pairs = [pair for one in sets for pair in one][: bench.options.segments]
few = [pair for row in zip(*sets, strict=False) for pair in row][: bench.options.plain_segments]
print(f"{name}: {len(pairs):,} segments; the plain way on {len(few)} of them")
for explainer_name, plain in (("lime", plain_lime), ("shap", plain_shap)):
    explainer = build(load_option("explainer", explainer_name), Explainer, "explainer")
    bench.compare(
        f"{explainer_name} x BLEU",
        {
            "ours": lambda explainer=explainer: ours(explainer, pairs),
            "plain": lambda plain=plain: [plain(pair) for pair in few],
        },
        share={"plain": len(pairs) / len(few)},
        per=len(pairs),
        unit=" per segment",
        floor=FLOORS[explainer_name],
    )
sys.exit(bench.finish())
