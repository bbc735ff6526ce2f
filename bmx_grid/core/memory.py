"""Memory that is no longer used goes back to the system."""

from __future__ import annotations

import ctypes
import os
import sys

# A function of glibc; other C libraries have none.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


def give_back_memory() -> None:
    """Give back what Arrow and the C library keep for later.

    Arrow keeps half a gigabyte after a million explanations, and glibc over 100 MB after a minute of a small encoder.
    """
    # Arrow's pool is empty if it was not loaded.
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    if _trim is not None:
        _trim(0)
