"""GPTScore: the mean log-likelihood of a hypothesis after a prompt, by any causal language model."""

import numpy as np
import pytest
from neural import EMPTY, PAIRS
from pairs import score

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.likelihood import Likelihood
from bmx_grid.models.loading import load_model

SHORT = [pair for pair in PAIRS if len(pair[0]) < 40]


def plain_score(loaded, prompt: str, hypothesis: str) -> float:
    """The network's own loss of the tokens of the hypothesis, the blank before it included, negated."""
    import torch

    before = loaded.tokenizer(prompt.rstrip(" "), add_special_tokens=False)["input_ids"]
    blanks = prompt[len(prompt.rstrip(" ")) :]
    after = loaded.tokenizer(blanks + hypothesis, add_special_tokens=False)["input_ids"]
    ids = torch.tensor([[loaded.tokenizer.eos_token_id, *before, *after]])
    labels = ids.clone()
    labels[:, : 1 + len(before)] = -100  # the loss leaves these out
    with torch.inference_mode():
        return -float(loaded.network(ids, labels=labels).loss)


@pytest.mark.parametrize("name", ["gpt2", "chat"])
@pytest.mark.parametrize("prompt", ["Source: {text}\nTranslation: ", "{text} =", "{text}\n"])
def test_equals_the_loss_of_the_network(tiny_model, name, prompt):
    model = load_model("causal_lm", tiny_model(name), device="cpu")
    beside_source = [plain_score(model, prompt.replace("{text}", source), hypothesis) for source, hypothesis in SHORT]
    blank = " " if prompt.endswith(" ") else ""
    alone = [plain_score(model, blank, hypothesis) for _, hypothesis in SHORT]
    metric = Likelihood(model=tiny_model(name), prompt=prompt, device="cpu", batch_tokens=300)
    assert score(metric, SHORT).tolist() == pytest.approx(beside_source, abs=1e-5)
    without = Likelihood(model=tiny_model(name), prompt=prompt, minus_prior=True, device="cpu")
    assert score(without, SHORT).tolist() == pytest.approx((np.array(beside_source) - alone).tolist(), abs=1e-5)


@pytest.mark.parametrize(("minus_prior", "nothing"), [(False, lambda size: -np.log(size)), (True, lambda size: 0.0)])
def test_a_hypothesis_without_tokens_scores_what_a_model_knows_that_knows_nothing(tiny_model, minus_prior, nothing):
    model = load_model("causal_lm", tiny_model("gpt2"), device="cpu")
    metric = Likelihood(model=tiny_model("gpt2"), minus_prior=minus_prior, device="cpu")
    empty = [pair for pair in EMPTY if not pair[1]]
    assert score(metric, empty).tolist() == [nothing(model.network.config.vocab_size)] * len(empty)


@pytest.mark.usefixtures("no_text_truncated")
def test_the_end_of_what_is_too_long_is_left_out(tiny_model):
    metric = Likelihood(model=tiny_model("gpt2"), prompt="{text}:", device="cpu")
    words = "cat " * 200
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 63 tokens"):
        long = score(metric, [("mat", words)])
    assert np.isfinite(long).all() and long < 0


@pytest.mark.parametrize("prompt", ["no place", "{text} {text}"])
def test_a_prompt_without_one_place_for_the_text_is_refused(prompt):
    with pytest.raises(ConfigError, match=r"^metric\.likelihood\.prompt: .*\{text\} [02] times; write it once"):
        build(load_option("metric", "likelihood") | {"prompt": prompt}, Metric, "metric.likelihood")


def test_a_model_has_to_be_named_and_to_predict_the_next_token(tiny_model):
    for ask in (Likelihood().check, lambda: score(Likelihood(), PAIRS)):
        with pytest.raises(UnavailableError, match=r"has no model: .*metric\.likelihood\.model=gpt2"):
            ask()
    with pytest.raises(UnavailableError, match="a BertForMaskedLM does not predict a token from those before it"):
        score(Likelihood(model=tiny_model("bert")), PAIRS[:1])


def test_the_prompt_is_part_of_one_line_of_settings(tiny_model):
    signature = Likelihood(model=tiny_model("gpt2")).signature
    assert "prompt:Source: {text}\\nTranslation: |" in signature and "\n" not in signature
