"""Sentence BLEU on SummEval, cell by cell, in the ways that a paper may have computed it.

python experiments/compare.py summarisation DATA_DIR                        the nearest of the ways below
python experiments/compare.py summarisation --part all_references DATA_DIR  or another: lower_case, spearman, …

Each way differs from the first, sacreBLEU's sentence BLEU of the first reference, with case, by one setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from compare import Check

from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.summeval import ASPECTS, SummEval
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.sentence_bleu import SentenceBleu

WAYS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "first_reference": ("pearson", {}),
    "all_references": ("pearson", {"references": "all"}),
    "lower_case": ("pearson", {"lowercase": True}),
    "without_tokenization": ("pearson", {"tokenize": "none"}),
    "add_one": ("pearson", {"smooth_method": "add-k", "smooth_value": 1.0}),
    "spearman": ("spearman", {}),
    "kendall": ("kendall", {}),
}


def read(data_dir: str) -> SegmentSet:
    """The summaries below a data folder. Raises DataMissingError where they are not there."""
    return SummEval(name="summeval").load_segments(Path(data_dir), "en")


def cells(summaries: SegmentSet, way: str) -> dict[str, float]:
    """Correlation, times 100, by aspect."""
    kind, settings = WAYS[way]
    metric = SentenceBleu(**{"smooth_method": "exp", "smooth_value": None, **settings})
    scores = metric.score(metric.items(summaries))
    return {aspect: 100 * correlate(kind, scores, summaries.judgements.scores[aspect]) for aspect in ASPECTS}


def checks(way: str, results: Sequence[SegmentSet], expected: Mapping[str, Any]) -> Iterator[Check]:
    """The four cells, published and computed in one way."""
    (summaries,) = results
    for aspect, ours in cells(summaries, way).items():
        yield Check(f"{aspect}, {way}", expected["at"], expected["published"][aspect], ours, expected["tolerance"])


PARTS = {way: partial(checks, way) for way in WAYS}
