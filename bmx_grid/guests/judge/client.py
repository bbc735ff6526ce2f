"""A client of an OpenAI-compatible server that asks no other one, and reads no more than an answer may have."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from bmx_grid.core.errors import UnavailableError

Reply = TypeVar("Reply")
MOST_REPLY_BYTES = 8_000_000  # of a reply; the connection is closed where more follows


def limited_client(base_url: str, *, key: str, timeout: float, retries: int, in_words: Callable[[str], str]) -> Any:
    """An AsyncOpenAI whose requests raise UnavailableError for redirects to other servers and for replies of any size.

    in_words: the message about what is wrong. Raises ImportError, AttributeError or RuntimeError without the packages.
    """
    import openai

    async def check_request(request: Any) -> None:
        """Redirects are checked as the requests that they make, so that no address is read in two ways."""
        url_type = type(request.url)
        named = _origin(url_type(base_url))
        leads_to = _origin(request.url)
        if leads_to != named:
            failure = (
                f"{named} redirects to {leads_to}, which would get the texts and is refused; name it in base_url "
                "if it may"
            )
            raise UnavailableError(in_words(failure))

    async def limit_reply(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        # A few bytes of a compressed reply may be of any size.
        if encoding.strip().lower() != "identity":
            raise UnavailableError(in_words(f"its answer is compressed ({encoding}), which was not asked for"))
        failure = in_words(f"its answer is longer than {MOST_REPLY_BYTES:,} bytes")
        response.stream = _limited(response, failure)

    hooks: dict[str, Any] = {"request": [check_request], "response": [limit_reply]}
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=key,
        timeout=timeout,
        max_retries=retries,
        http_client=openai.DefaultAioHttpClient(event_hooks=hooks),
        default_headers={"Accept-Encoding": "identity"},
    )


def _origin(url: Any) -> str:
    """Scheme, host and port of an address of the client, without the port that is the scheme's own."""
    return f"{url.scheme}://{url.netloc.decode()}"


def _limited(response: Any, failure: str) -> Any:
    """The stream of a response, which ends with UnavailableError, saying `failure`, after MOST_REPLY_BYTES."""
    # The client's library, httpx or httpx2: a response reads streams of its own library's class only.
    package, _, _ = type(response).__module__.partition(".")
    library = importlib.import_module(package)
    stream = response.stream

    class Limited(library.AsyncByteStream):  # type: ignore[misc, name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in stream:
                size += len(piece)
                if size > MOST_REPLY_BYTES:
                    raise UnavailableError(failure)
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()


@functools.lru_cache(maxsize=1)
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """The event loop of a process's requests, in a thread of its own: the caller's, a notebook's, may have one."""
    # Cached by process: a fork copies the loop, but not the thread that runs it.
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def awaited(work: Coroutine[Any, Any, Reply]) -> Reply:
    """What some work returns, done in the event loop of this process; an interrupt ends it."""
    future = asyncio.run_coroutine_threadsafe(work, _loop(os.getpid()))
    try:
        return future.result()
    finally:
        # After an interrupt, the work would go on in the thread of the loop.
        future.cancel()
