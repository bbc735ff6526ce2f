"""Log-probabilities and translations of tiny models of each family, against transformers' own loss and labels."""

import json
import shutil

import numpy as np
import pytest

from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.models import generation, translation
from bmx_grid.models.generation import translate
from bmx_grid.models.languages import languages_of, load_translator, use
from bmx_grid.models.translation import forced

FAMILIES = ["m2m100", "nllb", "mbart", "mbart50", "marian", "bart"]
CODES = {  # as the family writes German to English, and the tokens that the labels of "" consist of
    "m2m100": ("de", "en", ["__en__", "</s>"]),
    "nllb": ("deu_Latn", "eng_Latn", ["eng_Latn", "</s>"]),
    "mbart": ("de_DE", "en_XX", ["</s>", "en_XX"]),
    "mbart50": ("de_DE", "en_XX", ["en_XX", "</s>"]),
    "marian": ("de", "en", ["</s>"]),
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
pytestmark = pytest.mark.filterwarnings("ignore:.*sacremoses:UserWarning", "ignore:model '.*tokens:UserWarning")


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tiny_model):
    loaded = load_translator(tiny_model(request.param), None, "float32", "cpu")
    source = "en" if request.param == "bart" else "de"
    return request.param, loaded, languages_of(loaded, source, "en")


def by_labels(loaded, languages, source: str, target: str):
    """Log-probabilities and entropies of one pair from the logits of `model(labels=…)`, and its loss."""
    import torch

    tokenizer = loaded.tokenizer
    if languages.source is not None:
        tokenizer.src_lang, tokenizer.tgt_lang = languages.source, languages.target
    entered = tokenizer(languages.before + source, return_tensors="pt")
    labels = tokenizer(text_target=target, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        output = loaded.network(input_ids=entered["input_ids"], attention_mask=entered["attention_mask"], labels=labels)
    logs = output.logits[0].double().log_softmax(dim=-1)
    return logs.gather(1, labels[0][:, None])[:, 0].numpy(), -(logs.exp() * logs).sum(dim=1).numpy(), float(output.loss)


@pytest.mark.parametrize("batch_tokens", [1, 60, 100_000])
def test_equal_to_the_models_own_labels_and_loss_in_any_batch(model, batch_tokens):
    _, loaded, languages = model
    found = forced(loaded, SOURCES, TARGETS, languages, batch_tokens=batch_tokens)
    for row, (source, target) in enumerate(PAIRS):
        likely, entropy, loss = by_labels(loaded, languages, source, target)
        assert found.log_probabilities[row].tolist() == pytest.approx(likely.tolist(), abs=1e-6)
        assert found.entropies[row].tolist() == pytest.approx(entropy.tolist(), abs=1e-6)
        assert -found.log_probabilities[row].mean() == pytest.approx(loss, abs=2e-6)  # a float32


@pytest.mark.parametrize("with_entropies", [True, False])
@pytest.mark.parametrize(
    "shift",
    [pytest.param(0.0, id="as-it-is"), pytest.param(300.0, id="overflow"), pytest.param(-300.0, id="underflow")],
)
def test_logits_of_any_size_have_their_log_probabilities(model, with_entropies, shift, monkeypatch):
    import torch

    _, loaded, languages = model
    alone = [by_labels(loaded, languages, *pair)[:2] for pair in PAIRS]
    own = translation._bias(loaded.network)
    bias = torch.full((loaded.network.config.vocab_size,), shift) + (
        0 if own is None else own
    )  # changes no probability
    monkeypatch.setattr(translation, "_bias", lambda network: bias)
    found = forced(loaded, SOURCES, TARGETS, languages, with_entropies=with_entropies)
    for row, (likely, entropy) in enumerate(alone):
        assert found.log_probabilities[row].tolist() == pytest.approx(likely.tolist(), abs=1e-4 if shift else 1e-6)
        if with_entropies:
            assert found.entropies[row].tolist() == pytest.approx(entropy.tolist(), abs=1e-4 if shift else 1e-6)
        else:
            assert np.isnan(found.entropies[row]).all()


def test_a_common_beginning_goes_through_the_output_layer_once(tiny_model, monkeypatch):
    loaded = load_translator(tiny_model("m2m100"), None, "float32", "cpu")
    languages = languages_of(loaded, "de", "en")
    asked, likelihoods = [], translation.likelihoods

    def counting(network, states, *rest, **options):
        asked.append(len(states))
        return likelihoods(network, states, *rest, **options)

    monkeypatch.setattr(translation, "likelihoods", counting)
    targets = ["The cat sat on the mat .", "The cat sat on the road .", "The cat sat on the mat ."]
    use(loaded.tokenizer, languages)
    labels = [loaded.tokenizer(text_target=text)["input_ids"] for text in targets]
    same = next(at for at, (one, other) in enumerate(zip(*labels[:2], strict=False)) if one != other) + 1
    assert same > 3
    source = SOURCES[0]
    alone = [forced(loaded, [source], [text], languages).log_probabilities[0] for text in targets]
    asked.clear()
    together = forced(loaded, [source] * 3, targets, languages)
    assert sum(asked) == len(labels[0]) + len(labels[1]) - same
    for row, one in enumerate(alone):
        assert together.log_probabilities[row].tolist() == pytest.approx(one.tolist(), abs=1e-6)
    asked.clear()
    forced(loaded, SOURCES[:2], targets[:2], languages)
    assert sum(asked) == len(labels[0]) + len(labels[1]), "another source, another question"


@pytest.mark.parametrize("states", [1, 5, 40])
@pytest.mark.parametrize("block", [1, 2**9, 2**20])
def test_answers_do_not_depend_on_blocks(model, states, block, monkeypatch):
    _, loaded, languages = model
    whole = forced(loaded, SOURCES, TARGETS, languages)
    monkeypatch.setattr(translation, "_CPU_BLOCK", block)
    monkeypatch.setattr(translation, "STATES_AT_ONCE", states)
    monkeypatch.setattr(translation, "_HELD", 32 * 20)  # a window of a source or two
    parts = forced(loaded, SOURCES, TARGETS, languages)
    assert parts.log_probabilities.values.tolist() == pytest.approx(whole.log_probabilities.values.tolist(), abs=1e-6)
    assert parts.entropies.values.tolist() == pytest.approx(whole.entropies.values.tolist(), abs=1e-6)
    assert len(parts.is_code) == len(whole.is_code)


def test_codes_are_the_familys_and_count_only_where_asked(model):
    name, loaded, languages = model
    source, target, empty = CODES[name]
    assert (languages.source, languages.target) == ((source, target) if name != "marian" else ("de", "en"))
    found = forced(loaded, ["Katze"], [""], languages)
    with_codes, without = found.sums(codes=True)[0], found.sums(codes=False)[0]
    assert with_codes[0] == len(empty)
    assert without[0] == len([token for token in empty if token not in ("__en__", "eng_Latn", "en_XX")])
    likely, entropy = found.log_probabilities.values, found.entropies.values
    assert with_codes[1:].tolist() == pytest.approx([likely.sum(), (likely * entropy).sum(), entropy.sum()], abs=1e-12)


def test_no_pairs_no_numbers(model):
    _, loaded, languages = model
    found = forced(loaded, [], [], languages)
    assert len(found.log_probabilities) == 0
    assert found.sums(codes=True).shape == (0, 4)


def test_a_translation_is_the_same_in_any_batch(model, monkeypatch):
    """Of texts that end soon, each at a limit of its own: a random model ends none before."""
    _, loaded, languages = model
    monkeypatch.setattr(generation, "_LONGER", 0.5)
    monkeypatch.setattr(generation, "_MORE", 3)

    found = translate(loaded, SOURCES, languages)
    assert found == [translate(loaded, [source], languages)[0] for source in SOURCES]
    assert found[SOURCES.index("")] == ""
    assert not any(code in text for text in found for code in ("__", "_Latn", "_XX"))


def test_greedy_equals_generate_for_one_text(model):
    name, loaded, languages = model
    tokenizer = loaded.tokenizer
    if languages.source is not None:
        tokenizer.src_lang, tokenizer.tgt_lang = languages.source, languages.target
    entered = tokenizer(SOURCES[1], return_tensors="pt")
    start = {"decoder_start_token_id": languages.code} if name == "mbart" else {"forced_bos_token_id": languages.code}
    texts = {name: entered[name] for name in ("input_ids", "attention_mask")}
    made = loaded.network.generate(**texts, max_new_tokens=10, num_beams=1, **start)
    (found,) = translate(loaded, SOURCES[1:2], languages)
    expected = [token for token in made[0].tolist() if token != languages.code]
    assert found.startswith(tokenizer.decode(expected, skip_special_tokens=True).strip()[:6])


def test_a_batch_that_does_not_fit_is_halved(tiny_model, monkeypatch):
    import torch

    loaded = load_translator(tiny_model("m2m100"), None, "float32", "cpu")
    languages = languages_of(loaded, "de", "en")
    generate, sizes = generation._generate, []

    def of_two(loaded, ids, *rest):
        sizes.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError("no room")
        return generate(loaded, ids, *rest)

    monkeypatch.setattr(generation, "_generate", of_two)
    monkeypatch.setattr(loaded, "most_tokens", None)
    alike = [SOURCES[0]] * 5
    assert len(set(translate(loaded, alike, languages))) == 1
    assert sizes == [5, 2, 2, 1]


@pytest.mark.parametrize(
    ("family", "pair", "message"),
    [
        pytest.param("m2m100", ("de", "xq"), "unknown language 'xq'", id="M2M-100"),
        pytest.param("nllb", ("dau", "en"), "unknown language 'dau'", id="NLLB"),
        pytest.param("mbart", ("si", "gl"), "unknown language 'gl'", id="mBART"),
        pytest.param("marian", ("de", "fr"), "translates de to en, not de to fr", id="Marian"),
        pytest.param("bart", ("de", "en"), "reads and writes one language, not de and en", id="BART"),
        pytest.param("m2m100", (None, "en"), "give source_language", id="no language"),
    ],
)
def test_a_pair_that_a_model_does_not_know_is_named(tiny_model, family, pair, message):
    loaded = load_translator(tiny_model(family), None, "float32", "cpu")
    with pytest.raises(ConfigError, match=message):
        languages_of(loaded, *pair)


def test_the_models_own_code_names_a_language(tiny_model):
    loaded = load_translator(tiny_model("nllb"), None, "float32", "cpu")
    assert languages_of(loaded, "ace_Arab", "zh").source == "ace_Arab"


def test_a_marian_of_several_targets_marks_its_sources(tmp_path):
    from tiny_models import tiny_marian

    loaded = load_translator(str(tiny_marian(tmp_path / "m", targets=("fr", "es"))), None, "float32", "cpu")
    languages = languages_of(loaded, "de", "fr")
    assert languages.before == ">>fr<< "
    found = forced(loaded, SOURCES[:1], TARGETS[:1], languages)
    likely, _, _ = by_labels(loaded, languages, SOURCES[0], TARGETS[0])
    assert found.log_probabilities[0].tolist() == pytest.approx(likely.tolist(), abs=1e-6)
    with pytest.raises(ConfigError, match="unknown target language 'it'"):
        languages_of(loaded, "de", "it")
    with pytest.raises(ConfigError, match="translates from de, not from nl"):
        languages_of(loaded, "nl", "fr")


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_model_of_another_kind_is_named_before_it_is_loaded(tiny_model, name):
    with pytest.raises(UnavailableError, match=f"is a {name}, without an encoder"):
        load_translator(tiny_model(name), None, "float32", "cpu")


def test_a_family_without_known_codes_is_refused(tiny_model, tmp_path):
    folder = tmp_path / "t5"
    shutil.copytree(tiny_model("bart"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "t5"}))
    with pytest.raises(UnavailableError, match="is a t5, whose language codes are not known here"):
        load_translator(str(folder), None, "float32", "cpu")
