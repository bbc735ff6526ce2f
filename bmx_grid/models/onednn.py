"""Linear layers by oneDNN, with weights in its own layout, unless PyTorch's usual way is quicker on this processor.

PyTorch multiplies float32 matrices by MKL, which takes narrower instructions on processors of other makers than Intel.
oneDNN is part of PyTorch, too; scores differ by some 1e-7.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

SWITCH = "BMX_ONEDNN"  # environment variable: 0 never, 1 wherever it runs, unset if it is not slower
_LEAST_WEIGHTS = 2**16  # of a layer: in smaller ones the call takes longer than the product
_ROWS = 256  # tokens of a measured call
_CALLS = 7  # measured of each way, in turns: the quickest counts, since other programs only slow calls down
# The usual way stays if it takes less than this share of oneDNN's time. It took .81 to 1.35 of it on one AMD processor
# (Zen 3), 1.05 to 1.7 on another (Zen 4), 1.9 on a third: the limit is far from all, so that all processes of a machine
# choose alike, however busy it is.
_CLEARLY_QUICKER = 0.7
# Environment variables that oneDNN and PyTorch's caller of it read at their first product. Both keep the last 1,024
# products with their buffers, one for each number of tokens: after a minute of batches of all sizes, hundreds of
# megabytes. A batch needs one for each shape of its weights.
_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
_KEPT_PRODUCTS = "8"


class PackedLinear(torch.nn.Linear):  # type: ignore[misc]  # torch is untyped
    """A linear layer for forward passes without gradients, whose weights are kept in oneDNN's layout only.

    Any other use (training, moving, saving, reading its weights) first makes it an ordinary layer again, for good.
    """

    def __init__(self, layer: torch.nn.Linear) -> None:
        torch.nn.Module.__init__(self)
        self.in_features = layer.in_features
        self.out_features = layer.out_features
        self.bias = layer.bias
        self._packed: torch.Tensor | None = _pack(layer)
        self.eval()

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if self._packed is None or torch.is_grad_enabled():
            return super().forward(input)
        return _product(input, self._packed, self.bias)

    def unpack(self) -> None:
        """Make it an ordinary layer, with the weights bit for bit."""
        if self._packed is not None:
            weight = self._packed.to_dense()
            self._packed = None
            self.weight = torch.nn.Parameter(weight, requires_grad=False)

    def __getattr__(self, name: str) -> Any:
        # called for missing attributes
        if name == "weight":
            self.unpack()
        return super().__getattr__(name)

    def __getstate__(self) -> dict[str, Any]:
        self.unpack()  # oneDNN's layout cannot be pickled
        return dict(self.__dict__)

    def train(self, mode: bool = True) -> Any:
        if mode:
            self.unpack()
        return super().train(mode)

    def _apply(self, *args: Any, **options: Any) -> Any:
        self.unpack()
        return super()._apply(*args, **options)

    def _save_to_state_dict(self, *args: Any) -> None:
        self.unpack()
        super()._save_to_state_dict(*args)

    def _load_from_state_dict(self, *args: Any) -> None:
        self.unpack()
        super()._load_from_state_dict(*args)


def pack_layers(network: Any) -> str:
    """Pack the linear layers of a network in float32 on the CPU, unless that is slower; return the engine's name.

    Layers that share their weights, such as the head of a language model, stay as they are. "" if there is no choice.
    In either case, oneDNN keeps fewer products than by default in this process.
    """
    for cache in _CACHES:
        os.environ.setdefault(cache, _KEPT_PRODUCTS)
    names = _names_of_layers(network)
    if not names or os.environ.get(SWITCH) == "0":
        return ""
    largest = max(names, key=lambda name: network.get_submodule(name).weight.numel())
    try:
        with torch.inference_mode():
            usual, packed = _seconds(network.get_submodule(largest))
    # the operators are PyTorch's private ones: a version may lack them, or give them other arguments
    except (AttributeError, RuntimeError) as error:
        return f"PyTorch's usual way, as oneDNN cannot be called ({type(error).__name__})"
    if usual < _CLEARLY_QUICKER * packed and os.environ.get(SWITCH) != "1":
        return "PyTorch's usual way, which is quicker here than oneDNN"
    weights = []
    for name in names:
        layer = network.get_submodule(name)
        network.set_submodule(name, PackedLinear(layer))
        weights.append(layer.weight)
    _discard(weights)
    return "oneDNN"


def _names_of_layers(network: Any) -> list[str]:
    owners: dict[int, int] = {}
    for module in network.modules():
        for parameter in module.parameters(recurse=False):
            place = parameter.untyped_storage().data_ptr()
            owners[place] = owners.get(place, 0) + 1
    names = []
    for name, module in network.named_modules():
        if type(module) is not torch.nn.Linear or module.weight.numel() < _LEAST_WEIGHTS:
            continue
        weight = module.weight
        is_plain = weight.device.type == "cpu" and weight.dtype == torch.float32
        if is_plain and owners[weight.untyped_storage().data_ptr()] == 1:
            names.append(name)
    return names


def _seconds(layer: torch.nn.Linear) -> tuple[float, float]:
    """The least seconds of processor time of a product on one thread, the usual way and packed."""
    rows = torch.ones(_ROWS, layer.in_features)
    packed = _pack(layer)
    usual_times = []
    packed_times = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in range(_CALLS):
            usual_times.append(_time(lambda: torch.nn.functional.linear(rows, layer.weight, layer.bias)))
            packed_times.append(_time(lambda: _product(rows, packed, layer.bias)))
    finally:
        torch.set_num_threads(threads)
    return min(usual_times), min(packed_times)


def _discard(weights: Sequence[torch.Tensor]) -> None:
    """Give the memory of weights that are not used any more back to the system, on Linux.

    They are a part of the mapped file of the model, which stays in memory as long as any weight of it is used. Whoever
    reads them all the same gets them from the file. Weights of no file are freed with the layer.
    """
    if sys.platform != "linux":
        return
    files = _mapped_files()
    for weight in weights:
        start = weight.data_ptr()
        # whole pages, which hold no other weights
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (start + weight.numel() * weight.element_size()) // mmap.PAGESIZE * mmap.PAGESIZE
        if first < end and any(low <= first and end <= high for low, high in files):
            ctypes.CDLL(None).madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), mmap.MADV_DONTNEED)


def _mapped_files() -> list[tuple[int, int]]:
    """The addresses at which files are mapped into this process."""
    places = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, _, _, _, inode, *_ = line.split(maxsplit=5)
        if inode != "0":
            low, _, high = addresses.partition("-")
            places.append((int(low, 16), int(high, 16)))
    return places


def _time(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def _pack(layer: torch.nn.Linear) -> torch.Tensor:
    packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach())
    return packed


def _product(rows: torch.Tensor, packed: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
    return result
