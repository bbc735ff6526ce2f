"""Drive a library explainer without a metric: record the masks it asks for, replay it with their scores.

A library calls a prediction function while it explains. A first run on made-up scores records
which masks it asks for; all are scored in one batch; a second run with the same random draws
receives the real scores. Exact for every library whose choice of masks does not
depend on scores, and a clear error for one whose choice does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ExplainError
from bmx_grid.wording import counted

Answer = Callable[[NDArray[np.bool_]], NDArray[np.float64]]  # bool[K, n] masks -> float64[K] scores
Result = TypeVar("Result")
_ONE_AT_A_TIME = threading.Lock()


def record(run: Callable[[Answer], object]) -> NDArray[np.bool_]:
    """bool[K, n]: all masks that `run` asks for, in order, repeats included."""
    asked: list[NDArray[np.bool_]] = []

    def answer(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        asked.append(masks.copy())
        return np.asarray(masks.mean(axis=1))  # made up, but not constant: some solvers stop early on constants

    run(answer)
    return np.concatenate(asked)


def replay(
    run: Callable[[Answer], Result], keep: NDArray[np.bool_], scores: NDArray[np.float64], remedy: str
) -> Result:
    """What `run` returns when every mask of bool[K, n] `keep` has its score of float64[K].

    Raises ExplainError, ending in `remedy`, when `run` asks for a mask that is not in `keep`.
    """
    known = {row.tobytes(): score for row, score in zip(keep, scores.tolist(), strict=True)}

    def answer(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        try:
            return np.array([known[row.tobytes()] for row in masks])
        except KeyError:
            raise ExplainError(
                f"on a side of {counted(keep.shape[1], 'word')} the library asked for a perturbation that it had not "
                f"asked for when its requests were recorded, so its choices depend on scores. {remedy}"
            ) from None

    return run(answer)


@contextmanager
def global_generator(seed: int) -> Iterator[None]:
    """NumPy's global generator, which some libraries draw from, seeded inside the block and restored afterwards.

    One thread at a time, so that threads of one executor do not draw from each other's stream.
    """
    with _ONE_AT_A_TIME:
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
