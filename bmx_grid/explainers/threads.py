"""One thread for linear algebra, so that the number of threads cannot change the last bits of a result."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which NumPy and SciPy solve and multiply on one thread (6 us to enter and leave).

    From about 100 unknowns on, OpenBLAS factorises in an order that depends on its threads, and workers
    have fewer of them the more workers there are.
    """
    # SciPy brings a BLAS of its own; one that is loaded later has to be found anew.
    controller: Any = _controller("scipy.linalg" in sys.modules)
    return controller.limit(limits=1)  # type: ignore[no-any-return]


@lru_cache(maxsize=2)
def _controller(scipy_is_loaded: bool) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
