"""Error spans of predictions: runs of words to which an explainer gives the weights of errors."""

import json
from types import SimpleNamespace

import numpy as np

from bmx_grid.attribution.explain import Explanation
from bmx_grid.commands.predictions import predictions
from bmx_grid.datasets.nested import Output
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.perturbation import Item

TEXT = "a bad word and a very bad end"
# One minor error of two words, a word without, and a major error of the last three words.
WEIGHTS = np.array([0.0, -0.5, -0.5, 0.0, 0.0, -5 / 3, -5 / 3, -5 / 3])


def test_neighbouring_words_are_one_span_as_heavy_as_they_are_together():
    output = Output(1, "i", "en-de", "news", "d", "A", "source", "reference", TEXT)
    explanation = Explanation("key", 0.5, Item(hypothesis=TEXT, reference="reference"), {"hypothesis": WEIGHTS})
    scored = SimpleNamespace(scores=np.array([0.5]), explanations=[explanation])
    scorer = SimpleNamespace(reads=("hypothesis", "reference"), metric=Chrf(), explain=lambda **_: scored)
    (line,) = predictions(
        [output], {"hypotheses": ["h"], "references": ["r"]}, scorer, with_spans=True, error_free_from=None
    )
    spans = json.loads(line)["task1_pred"]["A"]["errors"]
    assert [(TEXT[span["start"] : span["end"]], span["severity"]) for span in spans] == [
        ("bad word", "minor"),
        ("very bad end", "major"),
    ]
