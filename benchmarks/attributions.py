"""LIME x BLEU and SHAP x BLEU attributions of WMT17, whole: ours against the libraries called segment by segment.

    python benchmarks/attributions.py [--data DIR] [--rounds 3] [--plain-segments 21]

Ours: `explain_pairs` over every segment of all seven language pairs (the embedded sample where WMT17 is not there), one
process. The plain way: for each side of a segment, lime's or shap's explainer calling `sacrebleu.sentence_bleu` for
each text it asks for; it runs on the first segments of each pair in turn and is scaled by segments. Medians of rounds
in which both ways take turns, in one run; ours knows no word from the round before, as sacreBLEU knows none from the
text before. Exit status 1 when a floor is missed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # ratios are those of one core

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bmx_grid.attribution.explain import explain_pairs  # noqa: E402
from bmx_grid.configure import build, load_option  # noqa: E402
from bmx_grid.datasets.base import DatasetReader  # noqa: E402
from bmx_grid.errors import DataMissingError  # noqa: E402
from bmx_grid.explainers.base import Explainer  # noqa: E402
from bmx_grid.metrics import sentence_bleu  # noqa: E402
from bmx_grid.metrics.base import Pair  # noqa: E402
from bmx_grid.metrics.sentence_bleu import SentenceBleu  # noqa: E402

FLOORS = {"lime": 30, "shap": 150}
CHUNK = 64  # segments handed over at once, about what a sweep's chunk of 10,000 texts holds


def load_pairs(data_dir: Path) -> tuple[str, list[list[Pair]]]:
    """(reference, hypothesis) pairs of each language pair."""
    for name in ("wmt17", "sample"):
        reader = build(load_option("dataset", name), DatasetReader, f"dataset.{name}")
        try:
            sets = [reader.read(data_dir, pair) for pair in reader.pairs(data_dir)]
        except DataMissingError:
            continue
        return name, [list(zip(one.texts("reference"), one.texts("hypothesis"), strict=True)) for one in sets]
    raise SystemExit("neither WMT17 nor the embedded sample can be read")


def ours(explainer: Explainer, pairs: Sequence[Pair]) -> None:
    metric = SentenceBleu()
    sentence_bleu._tokenizer.cache_clear()
    for start in range(0, len(pairs), CHUNK):
        explain_pairs(metric, explainer, pairs[start : start + CHUNK], seed=0)


def bleu(truth: str, hypothesis: str) -> float:
    from sacrebleu import sentence_bleu

    return sentence_bleu(hypothesis, [truth], smooth_method="add-k", smooth_value=1).score / 100


def plain_lime(pair: Pair) -> None:
    from lime.lime_text import LimeTextExplainer

    for side in (0, 1):

        def scores(texts: list[str], side: int = side) -> np.ndarray:
            found = [bleu(text, pair[1]) if side == 0 else bleu(pair[0], text) for text in texts]
            return np.array(found)[:, None]

        explainer = LimeTextExplainer(split_expression=" ", bow=False, class_names=["score"], random_state=0)
        words = len(pair[side].split(" "))
        explainer.explain_instance(pair[side], scores, labels=(0,), num_features=words, num_samples=100)


def plain_shap(pair: Pair) -> None:
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


def timed(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    """Print one row an explainer; 1 when a floor is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared/data")
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plain-segments", type=int, default=21)
    arguments = parser.parse_args()
    name, sets = load_pairs(arguments.data)
    pairs = [pair for one in sets for pair in one]
    few = [pair for row in zip(*sets, strict=False) for pair in row][: arguments.plain_segments]
    print(
        f"{name}: {len(pairs):,} segments; the plain way on {len(few)} of them, scaled by segments; CPU time, one core"
    )
    print(f"{'work':<14}{'ours ms/segment':>17}{'plain ms/segment':>18}{'ours, whole':>13}{'ratio':>8}  floor")
    held = True
    for explainer_name, plain in (("lime", plain_lime), ("shap", plain_shap)):
        explainer = build(load_option("explainer", explainer_name), Explainer, "explainer")
        ours(explainer, few)
        plain(few[0])
        quick, slow = [], []
        for _ in range(arguments.rounds):
            quick.append(timed(lambda explainer=explainer: ours(explainer, pairs)))
            slow.append(timed(lambda plain=plain: [plain(pair) for pair in few]))
        mine, theirs = statistics.median(quick) / len(pairs), statistics.median(slow) / len(few)
        floor = FLOORS[explainer_name]
        held &= theirs / mine >= floor
        missed = "" if theirs / mine >= floor else "  MISSED"
        print(
            f"{explainer_name + ' x BLEU':<14}{mine * 1e3:>17.3f}{theirs * 1e3:>18.1f}"
            f"{statistics.median(quick):>11.2f} s{theirs / mine:>7.0f}x  {floor}x{missed}",
            flush=True,
        )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
