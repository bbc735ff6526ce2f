"""Finished settings made up for tests of evaluations."""

from __future__ import annotations

import numpy as np
from fakes import HashMetric

from bmx_grid.attribution.explain import explain_items
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.evaluations.base import Finished
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.judgements import Judgements
from bmx_grid.ragged import Ragged
from bmx_grid.segments import Segment, SegmentSet, clusters

ERASURE = Erasure()
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "then", "it", "slept"]


def finished(n=30, human=None, explainer=ERASURE, rng=None):
    """A setting of a hash metric on n made-up segments of two systems."""
    rng = np.random.default_rng(3) if rng is None else rng
    texts = [" ".join(rng.choice(WORDS, size=1 + row % 9)) for row in range(n)]
    segments = tuple(
        Segment(str(row // 2), text, source=f"quelle {row // 2}", system="ab"[row % 2])
        for row, text in enumerate(texts)
    )
    human = rng.normal(size=n) if human is None else human
    found = SegmentSet("toy", "de-en", segments, Judgements({"da": np.asarray(human, dtype=float)}))
    items = found.items(("source", "hypothesis"))
    explained = explain_items(HashMetric(), explainer, items, seed=0)
    roles = () if explainer is None else ("source", "hypothesis")
    rows = {role: Ragged.from_rows(one.attributions[role] for one in explained) for role in roles}
    scores = AttributionSet(np.array([one.base_score for one in explained]), rows)
    name = "none" if explainer is None else "erasure"
    boosted = {} if explainer is None else {"published": scores.base_scores + rng.normal(size=n)}
    labels = clusters([found])[0].tolist()
    return Finished(found, "hash", name, HashMetric(), explainer, items, scores, labels, boosted)
