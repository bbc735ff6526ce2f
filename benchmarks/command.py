"""Scores of a program in another process (metric=[command]) beside the same metric in this process.

The program runs the metric of this package, so that both do the same work; its CPU seconds count. A neural metric costs
milliseconds per text, the library sacrebleu a tenth of one, and the way to another process some hundredths.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from harness import Bench

# isort: split
from bmx_grid.core.configure import build, load_option
from bmx_grid.datasets.tabular import Sample
from bmx_grid.guests.command import program
from bmx_grid.guests.command.metric import CommandMetric
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item

READS = ("reference", "hypothesis")
TICKS = os.sysconf("SC_CLK_TCK")
SERVE = """
import json, os, sys
from sacrebleu.metrics import BLEU
from bmx_grid.core.configure import build, load_option
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item
name = sys.argv[1]
bleu = BLEU(effective_order=True)
metric = None if name == "sacrebleu" else build(load_option("metric", name), Metric, "metric")
print(json.dumps({"name": name, "version": "1", "model": "none"}), flush=True)
batch = []
for line in sys.stdin:
    if line.strip():
        row = json.loads(line)
        batch.append(Item(reference=row["references"][0], hypothesis=row["hypothesis"]))
        continue
    if metric is None:
        scores = [bleu.sentence_score(item.hypothesis, [item.reference]).score for item in batch]
    else:
        scores = metric.score(batch).tolist()
    print("\\n".join(map(repr, scores)), flush=True)
    batch = []
"""


def main() -> int:
    bench = Bench(__doc__, rounds=5)
    segments = Sample(name="sample").load_segments(Path(), "de-en")
    items = segments.items(READS)
    # as explainers ask: each text without some of its words
    masked = []
    for item in items:
        words = item.text("hypothesis").split()
        for hidden in range(min(len(words), 8)):
            masked.append(item._replace(hypothesis=" ".join(words[:hidden] + words[hidden + 1 :])))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "serve.py"
        file.write_text("import sys\nsys.path[:0] = " + repr([path for path in sys.path if path]) + SERVE)
        for name, floor in (("minilm_sbert", 0.9), ("sacrebleu", None), ("sentence_bleu", None)):
            compare(bench, name, floor, masked, file)
    program._stop_all()
    return bench.finish()


def compare(bench: Bench, name: str, floor: float | None, items: Sequence[Item], file: Path) -> None:
    """A row: the CPU seconds of both processes through the command, and of this one without it."""
    command = CommandMetric(command=(sys.executable, str(file), name), texts=READS, batch_size=256)
    if name == "sacrebleu":
        from sacrebleu.metrics import BLEU

        bleu = BLEU(effective_order=True)

        def here() -> object:
            return [bleu.sentence_score(item.text("hypothesis"), [item.text("reference")]).score for item in items]
    else:
        metric = build(load_option("metric", name), Metric, "metric")

        def here() -> object:
            return metric.score(items)

    command.check()
    (running,) = [one for one in program._running.values() if name in one.command.words]

    def seconds() -> float:
        fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / TICKS

    ways = {"command": lambda: command.score(items), "here": here}
    bench.compare(name, ways, floor=floor, per=len(items) / 1000, unit=" per 1,000 texts", clock=seconds)


if __name__ == "__main__":
    sys.exit(main())
