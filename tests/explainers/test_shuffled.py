"""The randomised-model check: attributions of a metric with shuffled weights."""

import numpy as np
import pytest
from fakes import HashMetric
from pairs import explain, score, truth_of

from bmx_grid.core.errors import ConfigError, ExplainError
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shuffled import ShuffledModel
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.encoders import BertScore
from bmx_grid.models.loading import load_model

PAIRS = [("a small house", "a little house stands"), ("no", "yes no"), ("", "empty before")]


def test_weights_keep_their_values_and_lose_their_places(tiny_model):
    folder = tiny_model("bert")
    plain, first, again, other = (load_model("encoder", folder, shuffled=seed) for seed in (None, 0, 0, 1))
    assert first is again
    moved = 0
    for (name, weights), (_, shuffled), (_, of_other) in zip(
        *(model.network.named_parameters() for model in (plain, first, other)), strict=True
    ):
        if name.startswith("pooler"):  # not read by any metric here, and not among the weights of the file
            continue
        assert sorted(weights.flatten().tolist()) == sorted(shuffled.flatten().tolist()), name
        moved += not weights.equal(shuffled) and not shuffled.equal(of_other)
    assert moved > 5, "matrices; vectors of ones or zeros look the same in any order"


def test_a_shuffled_metric_is_another_one_and_the_plain_one_stays_as_it_was(tiny_model):
    plain = BertScore(model=tiny_model("bert"), layer=1, device="cpu")
    shuffled = plain.shuffle_weights(3)
    assert "shuffled" not in plain.fingerprint()
    assert shuffled.fingerprint() == {**plain.fingerprint(), "shuffled": 3}
    before = score(plain, PAIRS)
    assert not np.allclose(score(shuffled, PAIRS), before)
    assert score(plain, PAIRS).tolist() == before.tolist()


@pytest.mark.parametrize("inner", [Erasure(), Lime(num_samples=20)], ids=["erasure", "lime"])
def test_attributions_are_those_of_the_shuffled_metric_and_scores_those_of_the_plain_one(inner):
    metric, explainer = HashMetric(), ShuffledModel(explainer=inner, seed=5)
    assert (explainer.stochastic, explainer.count_texts(4)) == (inner.stochastic, inner.count_texts(4))
    explanations = explain(metric, explainer, PAIRS, seed=2)
    assert [explanation.base_score for explanation in explanations] == score(metric, PAIRS).tolist()
    if not inner.stochastic:  # else the draws are made from the explainer's identity as well
        expected = explain(metric.shuffle_weights(5), inner, PAIRS, seed=2)
        for explanation, of_inner in zip(explanations, expected, strict=True):
            assert truth_of(explanation).tolist() == truth_of(of_inner).tolist()
            assert explanation.attributions["hypothesis"].tolist() == of_inner.attributions["hypothesis"].tolist()


def test_a_metric_without_a_model_is_refused():
    with pytest.raises(ExplainError, match="has no weights that this explainer could shuffle"):
        explain(Chrf(), ShuffledModel(explainer=Erasure()), PAIRS, seed=0)


def test_explanations_from_a_file_are_refused():
    with pytest.raises(ConfigError, match="Imported does not call the metric; choose another"):
        ShuffledModel(explainer=Imported(file="words.jsonl"))
