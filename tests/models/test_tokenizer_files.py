"""A casing that nothing states is found before a model is loaded."""

import json
import shutil
from pathlib import Path

import pytest

from bmx_grid.core.errors import UnavailableError
from bmx_grid.models.files import LOWER_CASED_BY_DEFAULT, check_model
from bmx_grid.models.loading import load_model

VOCABULARY = "only vocab.txt"  # as BERT's authors published it
CASED = {"type": "BertNormalizer", "lowercase": False}
LOWER_CASED = {"type": "BertNormalizer", "lowercase": True}
IN_A_ROW = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
SPECIALS = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def write_tokenizer(folder: Path, described: object, settings: dict | None) -> None:
    """The words of a tokenizer alone, or its tokenizer.json with another normalizer; and what its settings say."""
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    if described == VOCABULARY:
        words = tokenizer["model"]["vocab"]
        (folder / "vocab.txt").write_text("\n".join(sorted(words, key=words.get)) + "\n", encoding="utf-8")
        path.unlink()
    else:
        if described in (CASED, LOWER_CASED):
            described = {**tokenizer["normalizer"], **described}
        path.write_text(json.dumps({**tokenizer, "normalizer": described}))
    (folder / "tokenizer_config.json").unlink()
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))


@pytest.mark.parametrize(
    ("described", "settings", "cased"),
    [
        pytest.param(VOCABULARY, None, None, id="a vocabulary, no settings"),
        pytest.param(VOCABULARY, {"model_max_length": 64}, None, id="settings that do not say"),
        pytest.param(VOCABULARY, {"model_max_length": 64, "do_lower_case": False}, True, id="settings say cased"),
        pytest.param(VOCABULARY, {"model_max_length": 64, "do_lower_case": True}, False, id="settings say lower-cased"),
        pytest.param(CASED, None, None, id="cased, no settings"),
        pytest.param(CASED, {"tokenizer_class": "BertTokenizer", **SPECIALS}, None, id="cased, for BERT's class"),
        pytest.param(CASED, {"tokenizer_class": "TokenizersBackend", **SPECIALS}, True, id="cased, read whole"),
        pytest.param(None, None, None, id="nothing said"),
        pytest.param(LOWER_CASED, None, False, id="lower-cased"),
        pytest.param(IN_A_ROW, None, False, id="in a row"),
    ],
)
def test_a_bert_that_does_not_say_whether_it_is_cased_is_refused(tiny_model, tmp_path, described, settings, cased):
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))
    write_tokenizer(folder, described, settings)
    if cased is None:
        with pytest.raises(UnavailableError, match=r'"do_lower_case": false.*tokenizer_config\.json') as caught:
            check_model(str(folder))
        assert str(folder) in str(caught.value)
        return
    check_model(str(folder))
    tokenizer = load_model("encoder", str(folder), device="cpu").tokenizer
    assert (tokenizer.tokenize("Katze") == ["Katze"]) is cased


def test_a_cached_hub_model_is_held_to_the_same(tiny_model, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--acme--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    write_tokenizer(Path(shutil.copytree(tiny_model("bert"), repository / "snapshots" / ("a" * 40))), VOCABULARY, None)
    with pytest.raises(UnavailableError, match="does not say whether it is cased"):
        check_model("acme/tiny")


def test_the_architectures_are_those_that_transformers_lower_cases():
    import inspect

    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name

    classes = {name: tokenizer_class_from_name(TOKENIZER_MAPPING_NAMES[name]) for name in LOWER_CASED_BY_DEFAULT}
    makers = [next(one for one in made.__mro__ if "__init__" in vars(one)) for made in classes.values()]
    assert all(inspect.signature(made).parameters["do_lower_case"].default is True for made in makers)
