"""How many threads linear algebra runs on."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which NumPy and SciPy solve and multiply on one thread (6 us to enter and leave).

    So that the number of threads cannot change the last bits of a result: from about 100 unknowns on, OpenBLAS
    factorises in an order that depends on its threads, and workers have fewer of them the more workers there are. If
    other programs hold the cores, its threads also wait for each other most of the time.

    SciPy brings a BLAS of its own: import scipy.linalg before this block, if it is used there.
    """
    # SciPy's libraries are known to a controller only if they were loaded before it.
    controller: Any = _controller("scipy.linalg" in sys.modules)
    return controller.limit(limits=1)  # type: ignore[no-any-return]


@lru_cache(maxsize=2)
def _controller(scipy_is_loaded: bool) -> Any:
    """The BLAS libraries that are loaded; one that is loaded later has to be found anew."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
