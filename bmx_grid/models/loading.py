"""Loading pretrained models, once per process, and the devices that they run on.

Only weights in the safetensors format are read, since pickled weights can carry code, and code of a model
is never run.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import runpy
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bmx_grid.core.errors import UnavailableError, exception_line
from bmx_grid.models.files import (
    absent,
    check_casing,
    check_files,
    check_model,
    commit,
    fetch_descriptions,
    hub_is_closed,
    model_folder,
    model_identity,
    model_path,
)
from bmx_grid.models.limits import token_limit
from bmx_grid.models.packed import is_packed, unpack

ModelKind = Literal["encoder", "masked_lm", "causal_lm", "seq2seq"]
Dtype = Literal["float32", "bfloat16"]
Precision = Literal["float32", "tf32", "bfloat16"]
Device = Literal["auto", "cpu", "cuda", "mps"]

_CLASSES: dict[ModelKind, str] = {
    "encoder": "AutoModel",
    "masked_lm": "AutoModelForMaskedLM",
    "causal_lm": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}
ASSIGNED = "BMX_DEVICE"  # environment variable: the device of this process and of its child processes
_NVIDIA = Path("/proc/driver/nvidia/gpus")  # NVIDIA's driver on Linux: one folder per card
_PROCESSOR = Path("/proc/cpuinfo")  # on Linux
_LINEAR_LAYERS: dict[str, str] = {}  # by model, what this process chose
_KEPT_LOADED = 4  # models a process holds: a metric's, its language model's, an explainer's, and one more


@dataclass(eq=False)
class LoadedModel:
    """A tokenizer and a network in evaluation mode, on its device, and what this process found out about them.

    max_length: tokens that a text may have at most, special tokens included.
    tf32: whether products of matrices are computed in TF32, on a GPU that does so.
    most_tokens: padded tokens that still fit into memory at once, once that has run out; None before.
    """

    name: str
    tokenizer: Any
    network: Any
    device: Any
    max_length: int
    tf32: bool = False
    most_tokens: int | None = None


def load_model(
    kind: ModelKind,
    model: str,
    revision: str | None = None,
    *,
    layers: int | None = None,
    dtype: Precision = "float32",
    device: Device = "auto",
    shuffled: int | None = None,
) -> LoadedModel:
    """The model, loaded on the first call and kept by its `model_identity`, as results are.

    layers: keep only the first so many hidden layers of an encoder (None keeps all).
    shuffled: seed of a permutation of each weight matrix, which destroys the training; None for none.
    Raises UnavailableError naming model, revision, the place searched and how to get it.
    """
    content = tuple(model_identity(model, revision).values())
    return _load(kind, model, revision, layers, dtype, _chosen_device(device), shuffled, content)


def linear_layers(models: Iterable[str]) -> tuple[str, ...]:
    """What computes the linear layers of models, for those that this process loaded and had to choose for."""
    return tuple(f"{model}: {_LINEAR_LAYERS[model]}" for model in models if model in _LINEAR_LAYERS)


def fastest_precision(device: Device) -> Precision:
    """bfloat16 if the processor, or the GPU that would be taken, computes in it; else float32."""
    if device in ("auto", "cuda") and cuda_devices():
        import torch

        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    if device in ("auto", "cpu") and _PROCESSOR.is_file():
        flags = _PROCESSOR.read_text()
        if "avx512_bf16" in flags or "amx_bf16" in flags:
            return "bfloat16"
    return "float32"


def assigned_device() -> str | None:
    """The device that an executor gave to this process ("cuda:1"); None when it gave none."""
    return os.environ.get(ASSIGNED) or None


@contextmanager
def assign_device(device: str | None) -> Iterator[None]:
    """Give `device` to this process while the block runs; None changes nothing."""
    before = os.environ.get(ASSIGNED, "")
    os.environ[ASSIGNED] = device or before
    try:
        yield
    finally:
        os.environ[ASSIGNED] = before


def cuda_devices() -> tuple[str, ...]:
    """The CUDA devices of this machine that PyTorch would see: ("cuda:0", "cuda:1"), or none.

    Neither imports PyTorch nor starts a process: it reads CUDA_VISIBLE_DEVICES, else counts the driver's cards, and
    looks whether the installed PyTorch was built for CUDA. A card that PyTorch cannot use after all is reported
    when a model is loaded.
    """
    if not _torch_knows_cuda():
        return ()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = 0
    if visible is not None:
        for entry in visible.split(","):
            name = entry.strip()
            # CUDA stops reading at the first entry that names no device, such as -1.
            if not name or name.startswith("-"):
                break
            count += 1
    elif _NVIDIA.is_dir():
        count = len(list(_NVIDIA.iterdir()))
    # PyTorch numbers the devices that it sees, whatever their numbers on the machine
    return tuple(f"cuda:{index}" for index in range(count))


def _torch_knows_cuda() -> bool:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    version = Path(spec.origin).with_name("version.py")  # plain assignments; importing torch itself takes seconds
    if not version.is_file():
        return False
    return runpy.run_path(str(version)).get("cuda") is not None


def _chosen_device(device: Device) -> str:
    """The device assigned to this process if `device` allows it, else `device`, or the choice of auto.

    Raises UnavailableError for a device that PyTorch does not see.
    """
    import torch

    # in the order in which auto takes them
    is_seen = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    worker_device = assigned_device()
    if worker_device is not None:
        kind, _, index = worker_device.partition(":")
        if device in ("auto", kind):
            # People set BMX_DEVICE by hand: it may be any text.
            is_there = is_seen.get(kind, False)
            if kind == "cuda" and is_there and index:
                is_there = index in map(str, range(torch.cuda.device_count()))
            if not is_there:
                raise UnavailableError(
                    f"executor.devices: {worker_device} is assigned to this worker, but PyTorch does not see it; "
                    "name devices that it sees, or none: executor.devices=[]."
                )
            return worker_device
    if device == "auto":
        return next(name for name, seen in is_seen.items() if seen)
    if not is_seen[device]:
        raise UnavailableError(f"device={device}: PyTorch does not see this device; set device=auto or device=cpu.")
    return device


@functools.lru_cache(maxsize=_KEPT_LOADED)
def _load(
    kind: ModelKind,
    model: str,
    revision: str | None,
    layers: int | None,
    dtype: Precision,
    device: str,
    shuffled: int | None,
    content: tuple[str | None, ...],
) -> LoadedModel:
    import torch

    from bmx_grid.models.onednn import pack_layers

    check_model(model, revision, layers)
    path = model_path(model)
    if path is not None and is_packed(path):
        unpack(path)
    folder = model_folder(model)
    if folder is None:
        place = model
        revision = commit(model, revision)  # of the model whose identity is part of the results
    else:
        place = str(folder)
        revision = None
    # from the disk first, so that cached files need no network
    try:
        tokenizer, network = _load_network(kind, model, place, revision, dtype, offline=True)
    except UnavailableError:
        if folder is not None or hub_is_closed():
            raise
        tokenizer, network = _load_network(kind, model, place, revision, dtype, offline=False)
    if folder is not None and tuple(model_identity(model, revision).values()) != content:
        raise UnavailableError(f"model '{model}' was overwritten while it was loaded; run the same command again.")
    if layers is not None:
        _keep_layers(model, network, layers)
    if shuffled is not None:
        _shuffle(network, shuffled)
    network.eval().requires_grad_(False)
    limit = token_limit(tokenizer, network)
    network = network.to(device)
    chosen = pack_layers(network)
    if chosen:
        _LINEAR_LAYERS[model] = chosen
    return LoadedModel(model, tokenizer, network, torch.device(device), limit, tf32=dtype == "tf32")


def _load_network(
    kind: ModelKind, model: str, place: str, revision: str | None, dtype: Precision, *, offline: bool
) -> tuple[Any, Any]:
    """Tokenizer and network, complete: a network whose weights are partly missing would score with random ones."""
    import torch
    import transformers

    options = {"revision": revision, "trust_remote_code": False, "local_files_only": offline}
    # tf32 is a way to multiply: its weights are float32
    weights_dtype = torch.bfloat16 if dtype == "bfloat16" else torch.float32
    with _quiet():
        try:
            if not offline:
                fetch_descriptions(model, revision)
            check_files(model, revision)
            tokenizer = transformers.AutoTokenizer.from_pretrained(place, **options)
            network_class = getattr(transformers, _CLASSES[kind])
            network, report = network_class.from_pretrained(
                place, dtype=weights_dtype, use_safetensors=True, output_loading_info=True, **options
            )
        except UnavailableError:
            raise
        # transformers raises anything for missing files, unknown architectures, missing libraries, broken weights and
        # values of another kind than it expects (TypeError, AttributeError); only code of libraries runs in this block
        except Exception as error:
            why = exception_line(error)
            if place != model or model_folder(model) is not None:
                raise UnavailableError(
                    f"model '{model}' cannot be loaded from {place}: {why.rstrip('.:')}. Download the model "
                    "again, or name another."
                ) from error
            raise UnavailableError(absent(model, revision, why)) from error
    # once more for a hub model: check_model passes files that are still on the hub
    check_casing(model, revision, network.config.model_type)
    _check_kind(kind, model, tokenizer, network)
    missing = report["missing_keys"]
    if kind == "encoder":
        # no metric reads the pooler, the layer above the first token
        missing = [key for key in missing if not key.startswith("pooler.")]
    if missing:
        raise UnavailableError(
            f"model '{model}' is a {network.config.model_type} without the weights that {_CLASSES[kind]} needs "
            f"({len(missing)} missing, {min(missing)} the first): name a model of that architecture."
        )
    return tokenizer, network


def _check_kind(kind: ModelKind, model: str, tokenizer: Any, network: Any) -> None:
    """Refuse models that load, but are of the wrong kind. Raises UnavailableError."""
    config = network.config
    architectures = getattr(config, "architectures", None) or []
    predicts_next = any(name.endswith(("LMHeadModel", "ForCausalLM")) for name in architectures)
    needed = {"seq2seq": ("pad", "eos"), "causal_lm": ()}.get(kind, ("pad", "cls", "sep"))
    lacking = [name for name in needed if getattr(tokenizer, f"{name}_token_id", None) is None]
    n_known = network.get_input_embeddings().num_embeddings
    wrong = ""
    if kind == "causal_lm" and not predicts_next:
        wrong = f"a {', '.join(architectures)} does not predict a token from those before it: name a model such as gpt2"
    elif lacking:
        wrong = f"its tokenizer has no {', '.join(lacking)} token; name a model such as BERT, RoBERTa or XLM-R"
    elif len(tokenizer) > n_known and kind != "seq2seq":
        wrong = (
            f"its tokenizer has {len(tokenizer):,} tokens and its network {n_known:,}: they do not belong together; "
            "get the tokenizer that was published with the weights"
        )
    if wrong:
        raise UnavailableError(f"model '{model}' (a {config.model_type}): {wrong}.")


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no advice from transformers while a model is loaded; restored afterwards."""
    from transformers.utils import logging

    log: Any = logging  # untyped functions
    with ExitStack() as restored:
        restored.callback(log.set_verbosity, log.get_verbosity())
        if log.is_progress_bar_enabled():
            restored.callback(log.enable_progress_bar)
        log.set_verbosity_error()
        log.disable_progress_bar()
        yield


def _keep_layers(model: str, network: Any, layers: int) -> None:
    """Drop the layers after number `layers`, whose output is then the network's."""
    stack = getattr(getattr(network, "encoder", None), "layer", None)
    if stack is None:
        raise UnavailableError(
            f"model '{model}' is a {network.config.model_type}: `layer` requires the architecture of BERT, RoBERTa or "
            "XLM-R. Name a model of one of the three."
        )
    network.encoder.layer = stack[:layers]


def _shuffle(network: Any, seed: int) -> None:
    """Permute the numbers of each parameter among its places: each keeps its mean and spread, and knows nothing."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        # by name, so that a seed means the same whatever order the library lists them in
        for _, weights in sorted(network.named_parameters()):
            order = torch.randperm(weights.numel(), generator=generator)
            shuffled = weights.flatten()[order]
            weights.copy_(shuffled.view_as(weights))
