"""Log-probabilities and translations of tiny models of each family, against transformers' own loss and labels."""

import json
import shutil

import numpy as np
import pytest

from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.guests.datscore import translation
from bmx_grid.guests.datscore.language_codes import languages_of, load_translator, use
from bmx_grid.guests.datscore.translation import target_log_probabilities, token_sums, translate

CODES = {  # as the family writes German to English, and the tokens that the labels of "" consist of
    "m2m100": ("de", "en", ["__en__", "</s>"]),
    "nllb": ("deu_Latn", "eng_Latn", ["eng_Latn", "</s>"]),
    "mbart": ("de_DE", "en_XX", ["</s>", "en_XX"]),
    "mbart50": ("de_DE", "en_XX", ["en_XX", "</s>"]),
    "bart": (None, None, ["<s>", "</s>"]),
}
PAIRS = [
    ("Die Katze saß auf der Matte .", "The cat sat on the mat ."),
    ("Ein Hund lief über die Straße , und niemand sah ihn .", "A dog ran across the road , and nobody saw it ."),
    ("Er zahlte gestern 3,5 Euro für das Buch .", ""),
    ("", "The weather will be fine tomorrow ."),
    ("Die Katze saß auf der Matte .", "He paid 3.5 euros for the book yesterday ."),
    ("猫坐在垫子上。", "cat"),
]
SOURCES, TARGETS = (list(side) for side in zip(*PAIRS, strict=True))
pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens:UserWarning")


@pytest.fixture(scope="module", params=CODES)
def model(request, tiny_model):
    loaded = load_translator(tiny_model(request.param), None, "float32", "cpu")
    return request.param, loaded, languages_of(loaded, "en" if request.param == "bart" else "de", "en")


def by_labels(loaded, languages, source: str, target: str):
    """Log-probabilities and entropies of one pair from the logits of `model(labels=…)`, and its loss."""
    import torch

    use(loaded.tokenizer, languages)
    entered = loaded.tokenizer(source, return_tensors="pt")
    labels = loaded.tokenizer(text_target=target, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        output = loaded.network(input_ids=entered["input_ids"], attention_mask=entered["attention_mask"], labels=labels)
    logs = output.logits[0].double().log_softmax(dim=-1)
    return logs.gather(1, labels[0][:, None])[:, 0].numpy(), -(logs.exp() * logs).sum(dim=1).numpy(), float(output.loss)


@pytest.mark.parametrize(
    ("batch_tokens", "block", "states"), [(1, 1, 1), (60, 2**9, 5), (100_000, 2**20, 40)], ids=["least", "some", "most"]
)
def test_equal_to_the_models_own_labels_and_loss_in_any_batch(model, batch_tokens, block, states, monkeypatch):
    _, loaded, languages = model
    monkeypatch.setattr(translation, "_CPU_BLOCK", block)
    monkeypatch.setattr(translation, "STATES_AT_ONCE", states)
    monkeypatch.setattr(translation, "_HELD", 32 * 20 * states)  # at least a window of a source or two
    logs, entropies, _ = target_log_probabilities(loaded, SOURCES, TARGETS, languages, batch_tokens=batch_tokens)
    for row, pair in enumerate(PAIRS):
        likely, entropy, loss = by_labels(loaded, languages, *pair)
        assert logs[row].tolist() == pytest.approx(likely.tolist(), abs=1e-6)
        assert entropies[row].tolist() == pytest.approx(entropy.tolist(), abs=1e-6)
        assert -logs[row].mean() == pytest.approx(loss, abs=2e-6)  # a float32


@pytest.mark.parametrize("shift", [300.0, -300.0], ids=["overflow", "underflow"])
def test_logits_of_any_size_have_their_log_probabilities(tiny_model, shift, monkeypatch):
    loaded = load_translator(tiny_model("bart"), None, "float32", "cpu")
    languages = languages_of(loaded, "en", "en")
    alone = [by_labels(loaded, languages, *pair)[:2] for pair in PAIRS]
    moved = loaded.network.final_logits_bias + shift  # changes no probability
    monkeypatch.setitem(loaded.network._buffers, "final_logits_bias", moved)
    with_entropies = target_log_probabilities(loaded, SOURCES, TARGETS, languages, with_entropies=True)
    without = target_log_probabilities(loaded, SOURCES, TARGETS, languages, with_entropies=False)
    for row, (likely, entropy) in enumerate(alone):
        for result in (with_entropies, without):
            assert result[0][row].tolist() == pytest.approx(likely.tolist(), abs=1e-4)
        assert with_entropies[1][row].tolist() == pytest.approx(entropy.tolist(), abs=1e-4)
        assert np.isnan(without[1][row]).all()


def test_a_common_beginning_goes_through_the_output_layer_once(tiny_model, monkeypatch):
    loaded = load_translator(tiny_model("m2m100"), None, "float32", "cpu")
    languages = languages_of(loaded, "de", "en")
    states_asked, likelihoods = [], translation.likelihoods

    def counting(network, states, *rest, **options):
        states_asked.append(len(states))
        return likelihoods(network, states, *rest, **options)

    monkeypatch.setattr(translation, "likelihoods", counting)
    targets = ["The cat sat on the mat .", "The cat sat on the road .", "The cat sat on the mat ."]
    use(loaded.tokenizer, languages)
    labels = [loaded.tokenizer(text_target=text)["input_ids"] for text in targets]
    same = next(place for place, (first, second) in enumerate(zip(*labels[:2], strict=False)) if first != second) + 1
    assert same > 3
    alone = [target_log_probabilities(loaded, SOURCES[:1], [text], languages)[0][0] for text in targets]
    states_asked.clear()
    together, *_ = target_log_probabilities(loaded, SOURCES[:1] * 3, targets, languages)
    assert sum(states_asked) == len(labels[0]) + len(labels[1]) - same
    for row, likely in enumerate(alone):
        assert together[row].tolist() == pytest.approx(likely.tolist(), abs=1e-6)
    states_asked.clear()
    target_log_probabilities(loaded, SOURCES[:2], targets[:2], languages)
    assert sum(states_asked) == len(labels[0]) + len(labels[1]), "another source, another question"


def test_codes_are_the_familys_and_count_only_where_asked(model):
    name, loaded, languages = model
    source, target, empty = CODES[name]
    assert (languages.source, languages.target) == (source, target)
    logs, entropies, is_code = target_log_probabilities(loaded, ["Katze"], [""], languages)
    with_codes, without = (token_sums(logs, entropies, codes | ~is_code)[0] for codes in (True, False))
    assert (with_codes[0], without[0]) == (len(empty), len([token for token in empty if "en" not in token]))
    likely, entropy = logs.values, entropies.values
    assert with_codes[1:].tolist() == pytest.approx([likely.sum(), (likely * entropy).sum(), entropy.sum()], abs=1e-12)
    assert token_sums(*target_log_probabilities(loaded, [], [], languages)).shape == (0, 4)


def test_a_translation_is_the_same_in_any_batch(model, monkeypatch):
    """Of texts that end soon, each at a limit of its own: a random model ends none before."""
    _, loaded, languages = model
    monkeypatch.setattr(translation, "_LONGER", 0.5)
    monkeypatch.setattr(translation, "_MORE", 3)
    translations = translate(loaded, SOURCES, languages)
    assert translations == [translate(loaded, [source], languages)[0] for source in SOURCES]
    assert translations[SOURCES.index("")] == ""
    assert not any(code in text for text in translations for code in ("__", "_Latn", "_XX"))


def test_greedy_equals_generate_for_one_text(model):
    name, loaded, languages = model
    use(loaded.tokenizer, languages)
    entered = loaded.tokenizer(SOURCES[1], return_tensors="pt")
    texts = {name: entered[name] for name in ("input_ids", "attention_mask")}
    first = "decoder_start_token_id" if name == "mbart" else "forced_bos_token_id"
    generated = loaded.network.generate(**texts, max_new_tokens=10, num_beams=1, **{first: languages.code})
    (translated,) = translate(loaded, SOURCES[1:2], languages)
    expected = [token for token in generated[0].tolist() if token != languages.code]
    assert translated.startswith(loaded.tokenizer.decode(expected, skip_special_tokens=True).strip()[:6])


@pytest.mark.parametrize(
    ("family", "pair", "message"),
    [
        pytest.param("m2m100", ("de", "xq"), "unknown language 'xq'", id="M2M-100"),
        pytest.param("nllb", ("dau", "en"), "unknown language 'dau'", id="NLLB"),
        pytest.param("mbart", ("si", "gl"), "unknown language 'gl'", id="mBART"),
        pytest.param("bart", ("de", "en"), "reads and writes one language, not de and en", id="BART"),
        pytest.param("m2m100", (None, "en"), "give the pair", id="no language"),
    ],
)
def test_a_pair_that_a_model_does_not_know_is_named(tiny_model, family, pair, message):
    loaded = load_translator(tiny_model(family), None, "float32", "cpu")
    with pytest.raises(ConfigError, match=message):
        languages_of(loaded, *pair)


def test_the_models_own_code_names_a_language(tiny_model):
    loaded = load_translator(tiny_model("nllb"), None, "float32", "cpu")
    assert languages_of(loaded, "ace_Arab", "zh").source == "ace_Arab"


def test_a_model_of_another_kind_is_named_before_it_is_loaded(tiny_model, tmp_path):
    with pytest.raises(UnavailableError, match="is a gpt2, without an encoder"):
        load_translator(tiny_model("gpt2"), None, "float32", "cpu")
    folder = tmp_path / "t5"
    shutil.copytree(tiny_model("bart"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "t5"}))
    with pytest.raises(UnavailableError, match="is a t5, with unknown language codes"):
        load_translator(str(folder), None, "float32", "cpu")
