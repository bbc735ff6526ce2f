"""Which devices this machine has, and which one this process may use."""

from __future__ import annotations

import importlib.util
import os
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ASSIGNED = "BMX_DEVICE"  # environment variable: the device of this process and of those that it starts
_NVIDIA = Path("/proc/driver/nvidia/gpus")  # NVIDIA's driver on Linux: one folder per card


def assigned() -> str | None:
    """The device that an executor gave to this process ("cuda:1"); None when it gave none."""
    return os.environ.get(ASSIGNED) or None


@contextmanager
def assigned_here(device: str | None) -> Iterator[None]:
    """Give `device` to this process while the block runs; None changes nothing."""
    before = os.environ.get(ASSIGNED, "")
    os.environ[ASSIGNED] = device or before
    try:
        yield
    finally:
        os.environ[ASSIGNED] = before


def present() -> tuple[str, ...]:
    """The CUDA devices of this machine that PyTorch would see: ("cuda:0", "cuda:1"), or none.

    Neither imports PyTorch nor starts a process: it reads CUDA_VISIBLE_DEVICES, else counts the driver's cards, and
    looks whether the installed PyTorch was built for CUDA. A card that PyTorch cannot use after all is reported
    when a model is loaded.
    """
    if not _torch_knows_cuda():
        return ()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        # CUDA stops reading at the first entry that names no device, such as -1.
        names = [name.strip() for name in visible.split(",")]
        count = next((index for index, name in enumerate(names) if not name or name.startswith("-")), len(names))
    else:
        count = sum(1 for _ in _NVIDIA.iterdir()) if _NVIDIA.is_dir() else 0
    return tuple(f"cuda:{index}" for index in range(count))


def _torch_knows_cuda() -> bool:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    version = Path(spec.origin).with_name("version.py")  # plain assignments; importing torch itself takes seconds
    return version.is_file() and runpy.run_path(str(version)).get("cuda") is not None
