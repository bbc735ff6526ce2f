"""Pieces of work that run in the workers of an executor where that is quicker than here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from bmx_grid.errors import BmxError, exception_line
from bmx_grid.sweep.executors.base import Executor, Job, WorkerLost
from bmx_grid.terminal import plain_warnings

WORTH_WORKERS = 10.0  # seconds of work on one core; processes take some two seconds to start


def results(executor: Executor, jobs: Iterable[Job]) -> Iterator[Any]:
    """What jobs return, as `Executor.run`. Raises WorkerLost, too, where one cannot be sent or received."""
    try:
        yield from executor.run(jobs)
    except BmxError:
        raise
    except Exception as error:  # of whatever cannot be pickled, in the words of whatever pickles it
        raise WorkerLost(
            f"cannot be sent to another process: {exception_line(error)}. Write it so that pickle can, or use "
            "executor=sequential."
        ) from error


def wherever_quicker(works: Sequence[Callable[[], Any]], executor: Executor, cost: float) -> Iterator[tuple[int, Any]]:
    """What each work returns, with its number: from the workers where that takes longer than they start.

    cost: seconds of all of it on one core. A lost worker loses nothing: what is left is done here.
    """
    left = dict(enumerate(works))
    if cost > WORTH_WORKERS and len(works) > 1:
        try:
            jobs = (Job(partial(_numbered, number, work)) for number, work in enumerate(works))
            for number, found in results(executor, jobs):
                del left[number]
                yield number, found
        except WorkerLost:
            pass
    for number, work in left.items():
        yield number, work()


def each(executor: Executor, cost: float, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """What a function returns for each item, in their order; arguments as of `wherever_quicker`."""
    found = dict(wherever_quicker([partial(function, item) for item in items], executor, cost))
    return [found[place] for place in range(len(items))]


def _numbered(number: int, work: Callable[[], Any]) -> tuple[int, Any]:
    """One piece of work, in a worker."""
    with plain_warnings():
        return number, work()
