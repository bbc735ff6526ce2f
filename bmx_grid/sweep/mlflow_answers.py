"""Answers of an MLflow server, which may be of any length, packed, or without an end: read so far and no longer.

Its client limits the wait for each piece of an answer only, and unpacks whatever comes. What is bounded here are the
requests that are made within a block, of any library: the client offers no place for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from bmx_grid.core.errors import StoreError

MOST_BYTES = 250_000_000  # unpacked; ten thousand runs of a sweep have 200 MB
UPLOAD_SECONDS = 3600.0  # for a request that sends a file, whose bytes take their time


@contextmanager
def bounded_answers(seconds: float) -> Iterator[None]:
    """Requests within take so many seconds at most, retries included, and read MOST_BYTES of an answer.

    They raise TimeoutError, and StoreError for a longer answer. One that has no end is left to a thread of its own.
    """
    adapters = import_module("requests.adapters")  # MLflow's client and what that reads with, which come with it
    responses = import_module("urllib3.response")
    send = adapters.HTTPAdapter.send
    drain = responses.HTTPResponse.drain_conn

    def bounded_send(adapter: Any, request: Any, *given: Any, **options: Any) -> Any:
        sends_file = not isinstance(request.body, str | bytes | None)
        longest = UPLOAD_SECONDS if sends_file else seconds
        return _in_time(lambda: _read(send(adapter, request, *given, **options)), longest)

    adapters.HTTPAdapter.send = bounded_send
    responses.HTTPResponse.drain_conn = responses.HTTPResponse.close  # it reads what a retry has no use for
    try:
        yield
    finally:
        adapters.HTTPAdapter.send = send
        responses.HTTPResponse.drain_conn = drain


def _read(response: Any) -> Any:
    """The response, whose content is read."""
    response.raw = _Limited(response.raw)
    response.content  # noqa: B018  (the response keeps it)
    return response


def _in_time(work: Any, seconds: float) -> Any:
    """What the work returns or raises. Raises TimeoutError where it is not done by then."""
    results: list[Any] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised where it is waited for
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not results:
        raise TimeoutError(f"no whole answer within {seconds:g} s")
    return results[0]


class _Limited:
    """A raw response that ends with StoreError after MOST_BYTES."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, *given: Any, **options: Any) -> Iterator[bytes]:
        """The pieces, unpacked."""
        size = 0
        for piece in self._raw.stream(*given, **options):
            size += len(piece)
            if size > MOST_BYTES:
                self._raw.close()
                raise StoreError(f"its answer is longer than {MOST_BYTES:,} bytes: it is no MLflow server")
            yield piece
