"""How many tokens a text of a model may have: as many as its network runs with, and no more than its files say."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmx_grid.core.errors import UnavailableError
from bmx_grid.models.files import check_model
from bmx_grid.models.limits import NO_LIMIT, token_limit

NO_LIMIT_OF_TOKENIZERS = int(1e30)  # as transformers writes it
SMALL = {"vocab_size": 50, "pad_token_id": 1}
BERT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}
BART = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
BART |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
# class, shape, and the tokens that a text may have where the tokenizer names no limit
ARCHITECTURES = [
    pytest.param("BertModel", BERT | {"max_position_embeddings": 20}, 20, id="bert: positions from 0"),
    pytest.param("RobertaModel", BERT | {"max_position_embeddings": 20}, 18, id="roberta: positions after padding's"),
    pytest.param("MPNetModel", BERT | {"max_position_embeddings": 20}, 18, id="mpnet: the same"),
    pytest.param("EsmModel", BERT | {"max_position_embeddings": 20}, 18, id="esm: the same"),
    pytest.param("IBertModel", BERT | {"max_position_embeddings": 20}, 18, id="ibert: a table of its own class"),
    pytest.param("BartModel", BART | {"max_position_embeddings": 20}, 20, id="bart: two rows before the first"),
    pytest.param("GPT2Model", {"n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 20}, 20, id="gpt2: n_positions"),
    pytest.param("MptModel", {"d_model": 32, "n_layers": 1, "n_heads": 4, "max_seq_len": 20}, 20, id="mpt: biases"),
    pytest.param("BloomModel", {"hidden_size": 32, "n_layer": 1, "n_head": 4}, NO_LIMIT, id="bloom: biases, no limit"),
    pytest.param("BloomModel", {"hidden_size": 32, "n_layer": 1, "n_head": 4, "seq_length": 20}, 20, id="bloom: named"),
    pytest.param("MambaModel", {"hidden_size": 32, "num_hidden_layers": 1, "state_size": 4}, NO_LIMIT, id="mamba"),
    pytest.param("XLNetModel", {"d_model": 32, "n_layer": 1, "n_head": 4, "d_inner": 32}, NO_LIMIT, id="xlnet: -1"),
]


@pytest.mark.parametrize(("kind", "shape", "expected"), ARCHITECTURES)
def test_the_limit_is_the_longest_text_that_the_network_reads(kind, shape, expected):
    import torch
    import transformers

    architecture = getattr(transformers, kind)
    network = architecture(architecture.config_class(**SMALL | shape)).eval()
    limit = token_limit(SimpleNamespace(model_max_length=NO_LIMIT_OF_TOKENIZERS), network)
    assert limit == expected
    assert token_limit(SimpleNamespace(model_max_length=9), network) == 9, "the smaller one of the tokenizer"

    def run(n_tokens):
        with torch.inference_mode():
            network(input_ids=torch.full((1, n_tokens), 5))

    run(min(limit, 64))
    # Of a seq_length, as of rotary positions, the network itself has no end.
    if limit != NO_LIMIT and "seq_length" not in shape:
        with pytest.raises((RuntimeError, IndexError)):
            run(limit + 1)


# file, key, value; a limit of that many tokens leaves no room for a text
NONSENSE = [
    pytest.param("tokenizer_config.json", "model_max_length", 0, id="none at all"),
    pytest.param("tokenizer_config.json", "model_max_length", 2, id="only begin and end"),
    pytest.param("tokenizer_config.json", "model_max_length", -1, id="negative"),
    pytest.param("tokenizer_config.json", "model_max_length", "64", id="text"),
    pytest.param("tokenizer_config.json", "model_max_length", 64.5, id="half a token"),
    pytest.param("tokenizer_config.json", "model_max_length", True, id="a truth value"),
    pytest.param("config.json", "max_position_embeddings", 0, id="no positions"),
    pytest.param("config.json", "max_position_embeddings", "64", id="positions as text"),
    pytest.param("config.json", "seq_length", [64], id="a list"),
]


@pytest.mark.parametrize(("file", "key", "value"), NONSENSE)
def test_a_limit_that_cannot_be_one_is_named_with_its_file_before_loading(tiny_model, tmp_path, file, key, value):
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(UnavailableError) as caught:
        check_model(str(folder))
    for part in (str(path), key, repr(value), "a whole number of tokens"):
        assert part in str(caught.value)


@pytest.mark.parametrize("value", [1e30, 64.0, NO_LIMIT_OF_TOKENIZERS, None], ids=str)
def test_a_limit_may_be_written_as_a_float_or_be_none(tiny_model, tmp_path, value):
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": value}))
    check_model(str(folder))
