"""Microseconds a text: masks scored without writing texts, against sacreBLEU text by text.

    python benchmarks/bleu.py [--data-dir DIR] [--segments 140] [--rounds 5]

The masks are those that LIME (100 a side), SHAP (up to 500 a side) and Erasure plan for WMT17 segments of
all language pairs, or for the embedded sample where the data are not there. sacreBLEU is called as a script
would call it, on a sample of the written texts, in turns with the masked way; what is printed are medians
over rounds, from one process and one run, and how many of the sampled scores are equal bit for bit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sacrebleu

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bmx_grid.configure import build, load_option  # noqa: E402
from bmx_grid.datasets.base import DatasetReader  # noqa: E402
from bmx_grid.explainers.base import Explainer  # noqa: E402
from bmx_grid.explainers.erasure import Erasure  # noqa: E402
from bmx_grid.explainers.lime import Lime  # noqa: E402
from bmx_grid.explainers.shap import Shap  # noqa: E402
from bmx_grid.metrics.base import Metric, Pair  # noqa: E402
from bmx_grid.metrics.chrf import Chrf  # noqa: E402
from bmx_grid.metrics.sentence_bleu import SentenceBleu  # noqa: E402
from bmx_grid.perturbation import Request  # noqa: E402
from bmx_grid.text import split_words  # noqa: E402

LIBRARY_TEXTS = 1500  # texts a round that sacreBLEU scores, spread over all requests


def read_pairs(data_dir: Path, count: int) -> tuple[str, list[Pair]]:
    """A name and `count` (reference, hypothesis) pairs, taken evenly from all language pairs."""
    name = "wmt17" if (data_dir / "ACL20-Reference-Free-MT-Evaluation").is_dir() else "sample"
    reader = build(load_option("dataset", name), DatasetReader, f"dataset.{name}")
    sets = [reader.read(data_dir, language_pair) for language_pair in reader.pairs(data_dir)]
    pairs = [pair for one in sets for pair in zip(one.texts("reference"), one.texts("hypothesis"), strict=True)]
    chosen = np.linspace(0, len(pairs) - 1, min(count, len(pairs))).astype(int)
    return name, [pairs[row] for row in chosen]


def plan(explainer: Explainer, pairs: list[Pair]) -> list[Request]:
    """Both sides of every pair, as the explainer wants them scored."""
    rng = np.random.Generator(np.random.PCG64(0))
    requests = []
    for reference, hypothesis in pairs:
        requests.append(Request(explainer.plan(split_words(reference), rng), "ground_truth", hypothesis))
        requests.append(Request(explainer.plan(split_words(hypothesis), rng), "hypothesis", reference))
    return requests


def bleu_library(pair: Pair) -> float:
    """sacreBLEU's own function on one text."""
    return float(
        sacrebleu.sentence_bleu(pair[1], [pair[0]], smooth_method="add-k", smooth_value=1, tokenize="13a").score / 100
    )


def chrf_library(pair: Pair) -> float:
    """sacreBLEU's own function on one text."""
    return float(sacrebleu.sentence_chrf(pair[1], [pair[0]]).score / 100)


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(metric: Metric, library: Callable[[Pair], float], requests: list[Request], rounds: int) -> str:
    """One line of the table."""
    masked = metric.score_masked(requests)
    if masked is None:
        raise SystemExit(f"{metric.signature} has no short cut for masks")
    scores = np.concatenate(masked)
    step = max(1, len(scores) // LIBRARY_TEXTS)
    sampled = [pair for request in requests for pair in request.pairs()][::step]
    equal = sum(library(pair) == score for pair, score in zip(sampled, scores[::step].tolist(), strict=True))
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(seconds(lambda: metric.score_masked(requests)) / len(scores) * 1e6)
        theirs.append(seconds(lambda: [library(pair) for pair in sampled]) / len(sampled) * 1e6)
    mine, other = statistics.median(ours), statistics.median(theirs)
    return f"{len(scores):>9,}  {mine:>9.2f}  {other:>9.1f}  {other / mine:>6.0f}x  {equal:,} of {len(sampled):,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data"
    parser.add_argument("--data-dir", type=Path, default=Path(default))
    parser.add_argument("--segments", type=int, default=140)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    name, pairs = read_pairs(arguments.data_dir, arguments.segments)
    words = np.mean([len(split_words(text)) for pair in pairs for text in pair])
    print(
        f"{len(pairs)} segments of {name}, {words:.0f} words a side; microseconds a text, medians of {arguments.rounds}"
    )
    print(f"{'':22}{'texts':>9}  {'masked':>9}  {'sacreBLEU':>9}  {'ratio':>7}  equal bit for bit")
    for metric, library in ((SentenceBleu(), bleu_library), (Chrf(), chrf_library)):
        for explainer in (Lime(), Shap(), Erasure()):
            label = f"{type(metric).__name__} {type(explainer).__name__}"
            print(f"{label:22}" + compare(metric, library, plan(explainer, pairs), arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
