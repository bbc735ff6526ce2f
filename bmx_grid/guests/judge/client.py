"""A client of one OpenAI-compatible server, with a limit on the size of replies."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from bmx_grid.core.errors import UnavailableError, quote_value, unknown
from bmx_grid.core.secrets import is_of_this_machine

Reply = TypeVar("Reply")
MOST_REPLY_BYTES = 8_000_000  # of a reply; the connection is closed where more follows
MALFORMED = 3  # tries, if a server answers with something that is no answer
LIST_RETRIES = 2
REFUSED = (401, 403)  # statuses of a key that is not accepted
NO_REPLY = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # errors of a malformed reply
MOST_PAUSE = 120.0  # seconds that the client waits before it tries again


@dataclass(frozen=True)
class Server:
    """A model of a server, and the requests to it.

    option: its key in the configuration. Other fields as of `ServedModel`.
    """

    option: str
    base_url: str
    model: str
    key_variable: str
    timeout: float
    retries: int

    def client(self) -> Any:
        """An AsyncOpenAI; its requests raise UnavailableError for redirects elsewhere and for replies of any size.

        Raises UnavailableError without its packages, and for a key that no header can hold.
        """
        key = self.key or "none"
        # The key is sent in a header, which holds printable ASCII only.
        if not (key.isascii() and key.isprintable()):
            raise UnavailableError(f"{self.key_variable}: the key holds characters that no key has; set it again.")
        try:
            import openai

            hooks: dict[str, Any] = {"request": [self._check_request], "response": [self._limit_reply]}
            return openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=key,
                timeout=self.timeout,
                max_retries=self.retries,
                http_client=openai.DefaultAioHttpClient(event_hooks=hooks),
                default_headers={"Accept-Encoding": "identity"},
            )
        except (ImportError, AttributeError, RuntimeError) as error:
            raise UnavailableError(
                f"{self.option} needs the package openai with aiohttp: in a checkout, pip install '.[judge]'."
            ) from error

    async def _check_request(self, request: Any) -> None:
        """Redirects are checked as the requests that they make, so that no address is read in two ways."""
        url_type = type(request.url)
        named = _origin(url_type(self.base_url))
        leads_to = _origin(request.url)
        if leads_to != named:
            failure = (
                f"{named} redirects to {leads_to}, which would get the texts and is refused; name it in base_url "
                "if it may"
            )
            raise UnavailableError(self.failure(failure))

    async def _limit_reply(self, response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        # A few bytes of a compressed reply may be of any size.
        if encoding.strip().lower() != "identity":
            raise UnavailableError(self.failure(f"its answer has an unexpected compression ({encoding})"))
        failure = self.failure(f"its answer is longer than {MOST_REPLY_BYTES:,} bytes")
        response.stream = _limit_stream(response, failure)

    async def reply(
        self, client: Any, body: Mapping[str, Any], read: Callable[[Any], Reply], tries: int = MALFORMED
    ) -> Reply:
        """What `read` finds in the reply to a body; it raises KeyError and its like if the reply is not one."""
        import aiohttp
        import openai

        try:
            # The client's own limit is per try; this one includes all tries with their pauses.
            async with asyncio.timeout((self.retries + 1) * (self.timeout + MOST_PAUSE)):
                # The typed method looks at every field of a body, and takes twice the time.
                reply = await client.post("/chat/completions", body=dict(body), cast_to=object)
                return read(reply)
        except (openai.APIError, aiohttp.ClientError, TimeoutError) as error:
            raise UnavailableError(self.failure(self._cause(error))) from None
        except NO_REPLY as error:
            if tries > 1:
                return await self.reply(client, body, read, tries - 1)
            cause = f"its answer is unusable ({type(error).__name__}: {error})"
            raise UnavailableError(self.failure(cause)) from None

    async def served_name(self, body: Mapping[str, Any]) -> str:
        """The name in the server's list of models, or, if models load on demand, in an answer of one token.

        body: of a request.
        """
        import aiohttp
        import openai

        async with self.client() as client:
            quick = client.with_options(max_retries=min(self.retries, LIST_RETRIES))
            try:
                async with asyncio.timeout((LIST_RETRIES + 1) * self.timeout):
                    listed = {model.id: model async for model in quick.models.list()}
            except openai.APIStatusError:
                # A server without such a list may serve the model all the same.
                listed = {}
            except (openai.OpenAIError, aiohttp.ClientError, TimeoutError, *NO_REPLY) as error:
                cause = self._keyless(self._cause(error))
                raise UnavailableError(
                    f"{self.base_url}: the server does not list its models ({cause}). "
                    "Start it, or name its address with base_url=URL (up to /v1)."
                ) from None
            if self.model in listed:
                # vLLM names the weights of a model as its root.
                root = getattr(listed[self.model], "root", None)
                return str(root or self.model)
            one_token = dict(body)
            limit = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
            # A model that thinks may need some tokens more than the one that is wanted.
            if limit in body:
                one_token[limit] = 1
            try:
                return await self.reply(quick, one_token, lambda reply: str(reply["model"]))
            except UnavailableError:
                if not listed:
                    raise
                raise UnavailableError(f"{self.base_url}: {unknown('model', self.model, listed)}") from None

    def failure(self, cause: str) -> str:
        """A failure in words: the server, the model, and the cause without the key."""
        return f"{self.base_url}, model {self.model}: {self._keyless(cause)}. Earlier answers are kept."

    def _cause(self, error: BaseException) -> str:
        """Why a request failed: the client calls every lost connection a time-out, but its cause is more precise."""
        status = getattr(error, "status_code", None)
        # A server's message about a key may contain parts of it.
        if status in REFUSED:
            return f"Error code: {status}, the server does not take the key; set {self.key_variable}"
        return str(error.__cause__ or "") or str(error) or type(error).__name__

    @property
    def key(self) -> str:
        return os.environ.get(self.key_variable, "").strip()

    def _keyless(self, text: str) -> str:
        """A text of the server or the client in one printable line, without the key."""
        return quote_value(self.mask_key(text), 300).strip("'\"")

    def mask_key(self, text: str) -> str:
        key = self.key
        # Every text holds the empty key.
        return text.replace(key, "***") if key else text

    def warn_of_a_visible_key(self) -> None:
        address = urlsplit(self.base_url)
        if self.key and address.scheme == "http" and not is_of_this_machine(address):
            warnings.warn(
                f"{self.base_url}: texts and the key in {self.key_variable} are sent unencrypted to another machine; "
                f"use https, or unset {self.key_variable} if the server needs no key",
                stacklevel=2,
            )


def _origin(url: Any) -> str:
    """Scheme, host and port of an address of the client, without the port that is the scheme's own."""
    return f"{url.scheme}://{url.netloc.decode()}"


def _limit_stream(response: Any, failure: str) -> Any:
    """The stream of a response; after MOST_REPLY_BYTES it raises UnavailableError with the text `failure`."""
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


def run_coroutine(work: Coroutine[Any, Any, Reply]) -> Reply:
    """What some work returns, done in the event loop of this process; an interrupt ends it."""
    future = asyncio.run_coroutine_threadsafe(work, _loop(os.getpid()))
    try:
        return future.result()
    finally:
        # After an interrupt, the work would go on in the thread of the loop.
        future.cancel()
