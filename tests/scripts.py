"""Scripts of experiments/ and benchmarks/, which belong to no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from fakes import ROOT


@contextmanager
def script(path: Path) -> Iterator[ModuleType]:
    """The module of a script; its neighbours, and experiments/compare.py, are importable as long as the block runs."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module, before = importlib.util.module_from_spec(spec), sys.path[:]
    sys.path[:0] = [str(path.parent), str(ROOT / "experiments")]
    sys.modules[spec.name] = module  # where dataclasses look for their module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path[:] = before
        del sys.modules[spec.name]
