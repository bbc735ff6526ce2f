"""A casing that nothing states is found before a model is loaded; SentencePiece files are read."""

import json
import shutil
from pathlib import Path

import pytest
from tiny_models import SENTENCES

from bmx_grid.core.errors import UnavailableError
from bmx_grid.models.files import LOWER_CASED_BY_DEFAULT, check_model
from bmx_grid.models.loading import load_model

COMMIT = "a" * 40
CASED = {"type": "BertNormalizer", "lowercase": False}
LOWER_CASED = {"type": "BertNormalizer", "lowercase": True}
IN_A_ROW = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}


def test_a_tokenizer_of_one_sentencepiece_file_is_read(tiny_model):
    import sentencepiece

    folder = tiny_model("sentence_piece")
    check_model(folder)
    tokenizer = load_model("encoder", folder, device="cpu").tokenizer
    plain = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/sentencepiece.bpe.model")
    assert [tokenizer.tokenize(text) for text in SENTENCES] == [plain.encode(text, out_type=str) for text in SENTENCES]


@pytest.fixture
def vocabulary_only(tiny_model, tmp_path) -> Path:
    """A cased BERT as its authors published it: the words of its tokenizer in vocab.txt, and nothing else."""
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "vocab.txt").write_text("\n".join(sorted(words, key=words.get)) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    return folder


@pytest.mark.parametrize(
    ("settings", "cased"),
    [
        pytest.param(None, None, id="no tokenizer_config.json"),
        pytest.param({"model_max_length": 64}, None, id="one that does not say"),
        pytest.param({"model_max_length": 64, "do_lower_case": False}, True, id="one that says cased"),
        pytest.param({"model_max_length": 64, "do_lower_case": True}, False, id="one that says lower-cased"),
    ],
)
def test_a_bert_that_does_not_say_whether_it_is_cased_is_refused(vocabulary_only, settings, cased):
    if settings is not None:
        (vocabulary_only / "tokenizer_config.json").write_text(json.dumps(settings))
    if cased is None:
        with pytest.raises(UnavailableError, match=r'"do_lower_case": false.*tokenizer_config\.json') as caught:
            check_model(str(vocabulary_only))
        assert str(vocabulary_only) in str(caught.value)
    else:
        check_model(str(vocabulary_only))
        tokenizer = load_model("encoder", str(vocabulary_only), device="cpu").tokenizer
        assert (tokenizer.tokenize("Katze") == ["Katze"]) is cased


@pytest.mark.parametrize(
    ("normalizer", "settings", "refused"),
    [
        pytest.param(CASED, None, True, id="cased, no settings"),
        pytest.param(CASED, "BertTokenizer", True, id="cased, for BERT's class"),
        pytest.param(CASED, "TokenizersBackend", False, id="cased, read whole"),
        pytest.param(None, None, True, id="nothing said"),
        pytest.param(LOWER_CASED, None, False, id="lower-cased"),
        pytest.param(IN_A_ROW, None, False, id="in a row"),
    ],
)
def test_a_tokenizer_json_counts_as_far_as_transformers_follows_it(tiny_model, tmp_path, normalizer, settings, refused):
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    if normalizer is not None and normalizer["type"] == "BertNormalizer":
        normalizer = {**tokenizer["normalizer"], **normalizer}
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "normalizer": normalizer}))
    (folder / "tokenizer_config.json").unlink()
    if settings is not None:
        stated = {"tokenizer_class": settings, "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
        (folder / "tokenizer_config.json").write_text(json.dumps(stated))
    if refused:
        with pytest.raises(UnavailableError, match="transformers would lower-case its *texts"):
            check_model(str(folder))
        return
    lowers = normalizer.get("lowercase", True)
    assert (load_model("encoder", str(folder), device="cpu").tokenizer.tokenize("Katze") == ["Katze"]) is not lowers


def test_a_cached_hub_model_is_held_to_the_same(vocabulary_only, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    repository = tmp_path / "cache" / "models--acme--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    shutil.copytree(vocabulary_only, repository / "snapshots" / COMMIT)
    with pytest.raises(UnavailableError, match="does not say whether it is cased"):
        check_model("acme/tiny")


def test_the_architectures_are_those_that_transformers_lower_cases():
    import inspect

    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name

    classes = {name: tokenizer_class_from_name(TOKENIZER_MAPPING_NAMES[name]) for name in LOWER_CASED_BY_DEFAULT}
    makers = [next(one for one in made.__mro__ if "__init__" in vars(one)) for made in classes.values()]
    assert all(inspect.signature(made).parameters["do_lower_case"].default is True for made in makers)
