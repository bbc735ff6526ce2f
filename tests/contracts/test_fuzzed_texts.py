"""Every explainer with every lexical metric on nasty texts: a finite result of the right shape, or one sentence.

FUZZ_COUNT pairs per combination (40 in the quick tests, where the explainer with a model meets one metric).
"""

import os

import numpy as np
import pytest
from pairs import explain
from tools.fuzz import texts

from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import ExplainError
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import split_words

LEXICAL = ["sentence_bleu", "chrf", "chrf_plus_plus", "random"]
COUNT = int(os.environ.get("FUZZ_COUNT", "40"))
QUICKER = {"lime": {"num_samples": 20}, "shap": {"max_evals": 501}}
pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens")


def option(group: str, name: str, kind: type, **changes: object) -> object:
    node = {key: 0 if value == "${seed}" else value for key, value in load_option(group, name).items()}
    return build(node | changes, kind, f"{group}.{name}")


@pytest.fixture(scope="module", params=[name for name in options("explainer") if name not in ("imported", "spans")])
def explainer(request, tiny_model) -> Explainer:
    changes = dict(QUICKER.get(request.param, {}))
    if "model" in load_option("explainer", request.param):
        changes |= {"model": tiny_model("bert"), "revision": None}
    return option("explainer", request.param, Explainer, **changes)


@pytest.mark.parametrize("name", LEXICAL)
def test_each_pair_is_explained_or_refused_with_a_sentence(explainer, name):
    if COUNT <= 40 and hasattr(explainer, "model") and name != "random":
        pytest.skip("what it plans does not depend on the metric: all metrics with FUZZ_COUNT above 40")
    metric = option("metric", name, Metric)
    refused = []
    for pair in texts.inputs(seed=7, count=COUNT):
        if max(map(len, pair)) > (1_000 if hasattr(explainer, "model") else 10_000) and name != "sentence_bleu":
            continue  # the widest texts through one metric: they are tried for the explainer's sake
        try:
            found = explain(metric, explainer, [pair], seed=0)[0]
        except ExplainError as error:
            refused.append(str(error))
            continue
        for text, attributions in zip(pair, found.attributions.values(), strict=True):
            assert attributions.shape == (len(split_words(text)),), text
            assert np.isfinite(attributions).all(), text
        assert np.isfinite(found.base_score), pair
    assert all("\n" not in sentence and "explainer." in sentence for sentence in refused), refused
    assert len(refused) <= COUNT // 5
