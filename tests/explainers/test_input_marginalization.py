"""Input marginalization on small models: by hand where the probabilities are set, else against a plain loop."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explaining import explained, generator, hash_scores
from tiny_models import MAX_LENGTH, tiny_bert, tiny_gpt2, tiny_roberta, tiny_xlm_roberta

from bmx_grid.core.errors import UnavailableError
from bmx_grid.explainers import input_marginalization as module
from bmx_grid.explainers.input_marginalization import InputMarginalization, load_masked_lm, propose, window
from bmx_grid.models.encoding import count_truncated

SENTENCE = ("The", "cat", "sat", "on", "the", "mat", "yesterday", ".")
SIDES = [
    pytest.param(SENTENCE, id="a sentence"),
    pytest.param(("no", "no", "no"), id="repeated words"),
    pytest.param(("unforeseeable", "Katzenjammer", "x"), id="words of several pieces"),
    pytest.param(("Кошка", "猫坐在垫子上。", "é"), id="other scripts"),
]


def saved(folder: Path, original: Path, change: Callable[[Any], None]) -> Path:
    """A copy of the model in `original` with its network changed."""
    from transformers import AutoModelForMaskedLM

    network = AutoModelForMaskedLM.from_pretrained(original)
    change(network)
    shutil.copytree(original, folder)
    network.save_pretrained(folder)
    return folder


def sharpened(network: Any) -> None:
    """Untrained networks find all tokens alike: here some become likely, by what stands around the mask."""
    for name, weights in network.named_parameters():
        if "attention" in name and ("value.weight" in name or "output.dense.weight" in name):
            weights.data *= 12
        elif "transform.LayerNorm.weight" in name or "lm_head.layer_norm.weight" in name:
            weights.data *= 40


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("bert")
    return saved(root / "sharp", tiny_bert(root / "flat"), sharpened)


@pytest.fixture(scope="module", params=["bert", "roberta", "xlm_roberta"])
def any_model(request, bert, tmp_path_factory) -> Path:
    if request.param == "bert":
        return bert
    make = {"roberta": tiny_roberta, "xlm_roberta": tiny_xlm_roberta}[request.param]
    root = tmp_path_factory.mktemp(request.param)
    return saved(root / "sharp", make(root / "flat"), sharpened)


def marginalization(model: Path, **settings: Any) -> InputMarginalization:
    return InputMarginalization(model=str(model), revision=None, device="cpu", **settings)


def by_the_loop(model: Path, words: tuple[str, ...], delta: float, weights: str, no_candidate: str) -> np.ndarray:
    """Appendix D word by word, the whole model for each, with transformers alone."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModelForMaskedLM.from_pretrained(model).eval()
    attributions = []
    for place in range(len(words)):
        text = " ".join([*words[:place], tokenizer.mask_token, *words[place + 1 :]])
        encoded = tokenizer(text, return_tensors="pt")
        mask = encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.no_grad():
            likely = network(**encoded).logits[0, mask].double().softmax(-1).numpy()
        candidates = []
        for token in np.argsort(-likely):
            name = tokenizer.decode([int(token)]).strip().removeprefix("##")
            if int(token) in tokenizer.all_special_ids or not name or "\ufffd" in name:
                continue
            if likely[token] > delta or (no_candidate == "best" and not candidates):
                candidates.append((name, likely[token]))
            else:
                break
        probabilities = np.array([probability for _, probability in candidates])
        if weights == "paper_code" and candidates:
            probabilities = np.exp(probabilities) / np.exp(probabilities).sum()
        scores = hash_scores(" ".join([*words[:place], name, *words[place + 1 :]]) for name, _ in candidates)
        attributions.append(hash_scores([" ".join(words)])[0] - float(probabilities @ scores))
    return np.array(attributions)


@pytest.mark.parametrize("weights", ["appendix", "paper_code"])
@pytest.mark.parametrize("words", SIDES)
def test_it_agrees_with_a_plain_loop(any_model, words, weights):
    explainer = marginalization(any_model, weights=weights)
    _, attributions = explained(explainer, words)
    assert np.abs(attributions - by_the_loop(any_model, words, 0.05, weights, "best")).max() <= 5e-6


@pytest.mark.parametrize("no_candidate", ["best", "zero"])
@pytest.mark.parametrize("delta", [1e-4, 0.2, 0.999], ids=["nearly all tokens", "few candidates", "hardly ever one"])
def test_it_agrees_with_a_plain_loop_at_any_threshold(bert, delta, no_candidate):
    explainer = marginalization(bert, delta=delta, no_candidate=no_candidate)
    plan, attributions = explained(explainer, SENTENCE)
    assert np.abs(attributions - by_the_loop(bert, SENTENCE, delta, "appendix", no_candidate)).max() <= 5e-6
    assert len(plan) <= explainer.count_texts(len(SENTENCE))


def test_an_empty_word_is_not_masked_and_its_attribution_is_zero(bert):
    plan, attributions = explained(marginalization(bert), ("two", "", "cat"))
    assert attributions[1] == 0.0
    assert attributions[0] != 0.0
    assert attributions[2] != 0.0
    assert all("  " in text for text in plan.texts)


@pytest.mark.parametrize("words", [("[MASK]", "cat", "x[MASK]y"), ("x[MASK]y", "[MASK]", "[MASK]")])
def test_the_masks_own_spelling_in_the_text_is_not_taken_for_the_mask(bert, words):
    """Asked for through places: the n-th mask of the text is the masked word's."""
    import torch

    lm = load_masked_lm(str(bert), None, "float32", "cpu", 512)
    proposals = propose(lm, words, range(len(words)), 3, 8192)
    for place in range(len(words)):
        text = " ".join([*words[:place], "[MASK]", *words[place + 1 :]])
        before = " ".join(words[:place]).count("[MASK]")
        encoded = lm.tokenizer(text, return_tensors="pt")
        mask = [i for i, token in enumerate(encoded["input_ids"][0].tolist()) if token == 4][before]
        likely = lm.network(**encoded).logits[0, mask].softmax(-1)
        expected = torch.topk(likely[5:], 3).values
        assert proposals[1][place] == pytest.approx(expected.tolist(), abs=1e-6)


def test_equal_sides_are_read_once(bert, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "propose", lambda lm, words, *rest: asked.append(words) or propose(lm, words, *rest))
    plans = [marginalization(bert, delta=0.06).plan(side, generator(0)) for side in (("a", "b"), ("c",), ("a", "b"))]
    assert asked == [("a", "b"), ("c",)]
    assert plans[0].texts == plans[2].texts


@pytest.mark.parametrize(
    ("mask", "kept", "then"),
    [
        pytest.param(1, [0, 1, 2, 3, 4, 9], 1, id="at the start"),
        pytest.param(5, [0, 3, 4, 5, 6, 9], 3, id="in the middle"),
        pytest.param(8, [0, 5, 6, 7, 8, 9], 4, id="at the end"),
    ],
)
def test_the_window_holds_the_mask_and_the_special_tokens(mask, kept, then):
    special = [True, *[False] * 8, True]
    assert window(list(range(10)), special, mask, 6) == (kept, then)
    assert window(list(range(10)), special, mask, 10) == (list(range(10)), mask)


def test_sides_longer_than_the_model_are_read_in_windows_and_counted(bert, no_text_truncated):
    words = ("cat",) * (2 * MAX_LENGTH)
    with pytest.warns(UserWarning, match=f"128 words has more than {MAX_LENGTH} tokens"):
        _, attributions = explained(marginalization(bert), words)
    assert np.isfinite(attributions).all()
    lm = load_masked_lm(str(bert), None, "float32", "cpu", 512)
    assert count_truncated() == len(words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explained(marginalization(bert), words)
    # Far from both ends, every window looks the same.
    proposals = propose(lm, words, [60, 70], 3, 8192)
    assert proposals[0][0] == proposals[0][1]


@pytest.mark.parametrize(
    ("delta", "most"),
    [
        pytest.param(0.05, 19, id="19 tokens of more than .05, never 20"),
        pytest.param(0.5, 1, id="one"),
        pytest.param(0.3, 3, id="three"),
        pytest.param(0.999, 1, id="the best at least"),
    ],
)
def test_the_number_of_texts_is_known_before(delta, most):
    assert InputMarginalization(delta=delta).count_texts(10) == 1 + 10 * most


def test_a_model_that_masks_nothing_is_refused(tmp_path):
    with pytest.raises(UnavailableError, match="gpt2"):
        marginalization(tiny_gpt2(tmp_path / "gpt2")).plan(("a",), generator(0))
