"""Linear layers by oneDNN: the same products, chosen by a measurement, and ordinary layers again for any other use."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import tiny_roberta

from bmx_grid.metrics.encoders import BertScore
from bmx_grid.models import loading, onednn
from bmx_grid.models.onednn import SWITCH, PackedLinear, pack_layers
from bmx_grid.words.perturbation import Item

needs_onednn = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this PyTorch has no oneDNN")
USUAL_IS_QUICKER = (1.0, 2.0)
ALIKE = (0.95, 1.0)


def a_layer(*, bias: bool = True, dtype: torch.dtype = torch.float32) -> torch.nn.Linear:
    torch.manual_seed(0)
    return torch.nn.Linear(384, 200, bias=bias, dtype=dtype).requires_grad_(False)


def a_network(layer: torch.nn.Module) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Embedding(10, 384), layer).eval().requires_grad_(False)


@pytest.fixture
def measured(monkeypatch):
    """measured(usual, packed): seconds that are measured from now on."""
    monkeypatch.delenv(SWITCH, raising=False)
    return lambda *seconds: monkeypatch.setattr(onednn, "_seconds", lambda layer: seconds)


@needs_onednn
@pytest.mark.parametrize("shape", [(1, 384), (3, 7, 384), (0, 384), (300, 384)], ids=str)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_products_are_those_of_numpy(shape, bias):
    layer = a_layer(bias=bias)
    rows = torch.randn(shape)
    with torch.inference_mode():
        packed = PackedLinear(layer)(rows)
    expected = rows.numpy().astype(np.float64) @ layer.weight.numpy().astype(np.float64).T
    if bias:
        expected = expected + layer.bias.numpy()
    # sums of 384 products in float32
    np.testing.assert_allclose(packed.numpy(), expected, atol=1e-5)


@needs_onednn
@pytest.mark.parametrize(
    ("seconds", "switch", "is_packed", "told"),
    [
        pytest.param((2.0, 1.0), None, True, "oneDNN", id="quicker"),
        pytest.param(ALIKE, None, True, "oneDNN", id="alike-so-that-a-slow-call-does-not-decide"),
        pytest.param(USUAL_IS_QUICKER, None, False, "usual way, which is quicker here", id="slower"),
        pytest.param(USUAL_IS_QUICKER, "1", True, "oneDNN", id="switched-on"),
        pytest.param((2.0, 1.0), "0", False, "", id="switched-off"),
    ],
)
def test_what_is_measured_decides_unless_the_environment_does(measured, monkeypatch, seconds, switch, is_packed, told):
    measured(*seconds)
    if switch is not None:
        monkeypatch.setenv(SWITCH, switch)
    network = a_network(a_layer())
    chosen = pack_layers(network)
    assert told in chosen
    assert bool(chosen) == bool(told)
    assert isinstance(network[1], PackedLinear) == is_packed


@needs_onednn
@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(lambda: a_layer(dtype=torch.bfloat16), id="bfloat16"),
        pytest.param(lambda: a_layer(dtype=torch.float64), id="float64"),
        pytest.param(lambda: a_layer().to("meta"), id="another-device"),
        pytest.param(lambda: torch.nn.Linear(32, 32), id="too-small"),
        pytest.param(lambda: torch.nn.modules.linear.NonDynamicallyQuantizableLinear(384, 200), id="a-kind-of-its-own"),
        pytest.param(lambda: torch.nn.Conv1d(384, 200, 1), id="no-linear-layer"),
    ],
)
def test_other_layers_stay_as_they_are(measured, layer):
    measured(2.0, 1.0)
    network = a_network(layer())
    kind = type(network[1])
    assert pack_layers(network) == ""
    assert type(network[1]) is kind


@needs_onednn
def test_a_layer_that_shares_its_weights_stays_as_it_is(measured):
    measured(2.0, 1.0)
    head = torch.nn.Linear(384, 200)
    network = torch.nn.Sequential(torch.nn.Embedding(200, 384), a_layer(), head)
    head.weight = network[0].weight
    assert pack_layers(network) == "oneDNN"
    assert (type(network[1]), type(network[2])) == (PackedLinear, torch.nn.Linear)


@pytest.mark.parametrize(
    "error", [AttributeError("'_OpNamespace' 'mkldnn' has no attribute"), RuntimeError("schema"), NotImplementedError()]
)
@pytest.mark.parametrize("switch", [None, "1"])
def test_a_pytorch_without_the_operator_computes_as_ever_and_says_so(monkeypatch, error, switch):
    def fail(layer):
        raise error

    monkeypatch.setattr(onednn, "_pack", fail)
    if switch is not None:
        monkeypatch.setenv(SWITCH, switch)
    network = a_network(a_layer())
    assert pack_layers(network) == f"PyTorch's usual way, as oneDNN cannot be called ({type(error).__name__})"
    assert type(network[1]) is torch.nn.Linear


@needs_onednn
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda network: network, id="forward-pass"),
        pytest.param(lambda network: pickle.loads(pickle.dumps(network)), id="pickled"),
        pytest.param(copy.deepcopy, id="copied"),
        pytest.param(lambda network: network.train(), id="training"),
        pytest.param(lambda network: network.double().float(), id="moved"),
        pytest.param(lambda network: (network.state_dict(), network)[1], id="saved"),
        pytest.param(lambda network: (network.load_state_dict(network.state_dict()), network)[1], id="loaded"),
        pytest.param(lambda network: (network[1].weight, network)[1], id="weights-read"),
    ],
)
def test_any_other_use_makes_an_ordinary_layer_with_the_same_weights(measured, use):
    measured(2.0, 1.0)
    network = a_network(a_layer())
    tokens = torch.arange(10)
    with torch.inference_mode():
        expected = network(tokens)
        pack_layers(network)
        assert "weight" not in dict(network[1].named_parameters())  # held once
        used = use(network)
        # the same products in another order
        torch.testing.assert_close(used(tokens), expected, atol=1e-5, rtol=0)
    assert torch.equal(used[1].weight, a_layer().weight)
    assert "weight" in dict(used[1].named_parameters())


@needs_onednn
def test_a_pass_with_gradients_has_them(measured):
    measured(2.0, 1.0)
    network = a_network(a_layer())
    pack_layers(network)
    rows = torch.ones(2, 384, requires_grad=True)
    network[1](rows).sum().backward()
    torch.testing.assert_close(rows.grad[0], a_layer().weight.sum(dim=0))


@needs_onednn
def test_scores_of_a_network_are_the_same_alone_in_a_batch_and_in_a_copy_of_the_metric(tmp_path, monkeypatch):
    shape = {"hidden_size": 256, "intermediate_size": 512}
    model = str(tiny_roberta(tmp_path, **shape))
    metric = BertScore(model=model, layer=1, ground_truth="reference")
    items = [Item(reference="cat " * n_words, hypothesis="the dog " * (n_words // 2)) for n_words in range(1, 20)]
    monkeypatch.setenv(SWITCH, "0")
    expected = metric.score(items)
    assert not packed_of(metric)
    loading._load.cache_clear()
    monkeypatch.setenv(SWITCH, "1")
    assert len(packed_of(metric)) == 7  # query, key, value and output of attention, two of the layer, the pooler
    alone = np.concatenate([metric.score([item]) for item in items])
    np.testing.assert_allclose(metric.score(items), expected, atol=1e-6)
    np.testing.assert_allclose(alone, expected, atol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(metric)).score(items), metric.score(items))
    assert len(packed_of(metric)) == 7  # nothing of this reads a weight
    assert loading.linear_layers([model, "another"]) == (f"{model}: oneDNN",)
    loading._load.cache_clear()


def packed_of(metric):
    return [layer for layer in metric._load_model().network.modules() if isinstance(layer, PackedLinear)]


@needs_onednn
@pytest.mark.skipif(not Path("/proc/self/smaps").is_file(), reason="only Linux tells what of a file is in memory")
def test_weights_are_in_memory_once(tmp_path, monkeypatch):
    model = tiny_roberta(tmp_path, hidden_size=256, intermediate_size=4096, num_hidden_layers=4)
    resident = {}
    for switch in ("0", "1"):
        monkeypatch.setenv(SWITCH, switch)
        loading._load.cache_clear()
        loaded = loading.load_model("encoder", str(model))
        with torch.inference_mode():
            loaded.network(input_ids=torch.zeros((1, 5), dtype=torch.long))
        resident[switch] = resident_of(model / "model.safetensors")
    loading._load.cache_clear()
    # 8 matrices of 256 x 4,096 float32 numbers take 32 MiB, which are read from the file unless they are packed
    assert resident["0"] > 32 * 2**20
    assert resident["1"] < 8 * 2**20


@needs_onednn
@pytest.mark.parametrize("is_of_file", [True, False])
def test_weights_that_somebody_still_holds_are_not_lost(is_of_file, tmp_path, monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    values = torch.rand(256, 1024)
    layer = torch.nn.Linear(1024, 256)
    if is_of_file:
        values.numpy().tofile(tmp_path / "weights")
        values = torch.from_file(str(tmp_path / "weights"), shared=False, size=256 * 1024).reshape(256, 1024)
    layer.weight = torch.nn.Parameter(values, requires_grad=False)
    held = layer.weight
    expected = held.clone()
    assert pack_layers(torch.nn.Sequential(layer)) == "oneDNN"
    assert torch.equal(held, expected)


BATCHES_OF_ALL_SIZES = """
import torch
from bmx_grid.models.onednn import pack_layers

network = torch.nn.Sequential(torch.nn.Linear(384, 1536)).eval().requires_grad_(False)
resident = lambda: int(open("/proc/self/statm").read().split()[1])
with torch.inference_mode():
    print(pack_layers(network))
    network(torch.zeros(900, 384))
    before = resident()
    for tokens in range(300, 900, 2):
        network(torch.zeros(tokens, 384))
    print(resident() - before)
"""


@needs_onednn
@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_products_of_further_sizes_take_no_further_memory():
    """oneDNN's own default would keep the 300 products: a gigabyte."""
    # Other tests of this process have packed layers, and so set the caches' variables.
    inherited = {name: value for name, value in os.environ.items() if name not in onednn._CACHES}
    environment = {**inherited, SWITCH: "1"}
    command = [sys.executable, "-c", BATCHES_OF_ALL_SIZES]
    chosen, pages = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert chosen == "oneDNN"
    assert int(pages) * os.sysconf("SC_PAGE_SIZE") < 200e6


def resident_of(file: Path) -> int:
    """Bytes of a mapped file that are in the memory of this process."""
    is_file = False
    kilobytes = 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, _, rest = line.partition(" ")
        if not first.endswith(":"):
            is_file = line.endswith(str(file))
        elif is_file and first == "Rss:":
            kilobytes += int(rest.split()[0])
    return kilobytes * 1024


@needs_onednn
def test_a_sweep_says_in_its_log_what_computed_linear_layers(tmp_path, swept, monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    model = tiny_roberta(tmp_path / "model", hidden_size=256)
    chosen = ["metric=[bertscore]", f"metric.bertscore.model={model}", "metric.bertscore.revision=null"]
    chosen += ["metric.bertscore.layer=1", "limit=2", "evaluation=[grid]", "grid.p.step=1.0"]
    chosen += ["explainer=[erasure]", "dataset.sample.language_pairs=[de-en]"]
    assert swept(*chosen) == 0
    lines = (tmp_path / "out" / "log.txt").read_text().splitlines()
    assert lines.count(f"linear layers of {model}: oneDNN") == 1
