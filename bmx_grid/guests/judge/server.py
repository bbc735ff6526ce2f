"""A language model behind an OpenAI-compatible server: requests at once, retries, and every answer kept on disk.

The client is the package `openai`, which tries again after 408, 409, 429, 5xx and lost connections, later each time,
and waits as long as a server requests (Retry-After); over aiohttp it takes the least time of a processor. An answer is
kept as soon as it can be read, under the digest of all that it depends on: a stored answer is never requested again,
however a sweep ends. Unreadable answers are not stored: the next sweep tries again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import sqlite3
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

from bmx_grid.core.errors import ConfigError, UnavailableError, quote_value
from bmx_grid.core.identity import Component, canonical_json, digest, identity, runtime
from bmx_grid.core.secrets import KEY_VARIABLE, UNREAD_ANSWERS, check_address, is_dry
from bmx_grid.core.storage import Address, place
from bmx_grid.guests.judge.client import Server, run_coroutine
from bmx_grid.guests.judge.kept_answers import (
    Exchange,
    ReadAnswer,
    ReadOfItem,
    ReadReply,
    add_reminder,
    answer_in,
    answers_database,
    keep_answer,
    kept_before,
    known_answer,
)
from bmx_grid.guests.judge.prompts import Answer, Messages, Prompt
from bmx_grid.words.perturbation import Item

# Fields of a request that keys of the option set.
OWN_FIELDS = frozenset({"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "seed"})
MOST_UNREAD = 20  # unreadable answers in a row before requests stop
SILENT = 60.0  # seconds for which a server that did not answer is not requested its models again
SEND_TOKENS = "vLLM and llama.cpp's server send them, `transformers serve` does not"


@dataclass(frozen=True, kw_only=True)
class ServedModel(Component):
    """A prompt, and the model and server for it.

    prompt: one of configs/prompt, or a YAML file of the same keys. language_pair: of the items, for prompts that name
    the languages.
    base_url: of the server, up to /v1. model: its name on the server; served: the name that the server reports for it,
    part of the identity. temperature, max_tokens, max_completion_tokens, seed: as the server takes them; None is not
    sent. Models of 2025 and later refuse temperature 0 and max_tokens. extra_body: further fields of a request, by
    name. key_variable: the environment variable with the key; servers without keys get a placeholder.
    concurrency: requests at once, of each worker. timeout: seconds for one request. retries: after the first try.
    max_requests: a sweep that may send more, reminders counted, does not start.
    answers: the folder where answers are kept; null keeps none.
    Raises ConfigError for invalid values.
    """

    device: ClassVar[str] = "cpu"  # of this machine: none of its accelerators is needed
    OPTION: ClassVar[str]  # its key in the configuration, for messages

    prompt: str = runtime("gemba_da")
    language_pair: str = runtime("none")
    base_url: str = runtime("http://localhost:8000/v1")
    model: str = identity("")
    served: str | None = identity(None)
    temperature: float | None = identity(0.0, least=0, most=100)
    max_tokens: int | None = identity(32, least=1, most=1_000_000)
    max_completion_tokens: int | None = identity(None, added_later=True, least=1, most=1_000_000)
    seed: int | None = identity(0)
    extra_body: Mapping[str, Any] | None = identity(None, added_later=True)
    key_variable: str = runtime(KEY_VARIABLE)
    concurrency: int = runtime(32, least=1, most=1024)
    timeout: float = runtime(60.0, least=0.001, most=86_400)
    retries: int = runtime(6, least=0, most=100)
    max_requests: int | None = runtime(None, least=0)
    answers: str | None = runtime(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_address(self.base_url)
        for name in self.extra_body or {}:
            if name in OWN_FIELDS:
                raise ConfigError(f"extra_body: {name} has a key of its own; write {self.OPTION}.{name}=VALUE.")
        if self.answers is not None and isinstance(place(self.answers, "answers"), Address):
            raise ConfigError(f"answers: {self.answers} is no folder of this machine; write answers=FOLDER.")
        self.template.check()

    @functools.cached_property
    def template(self) -> Prompt:
        """The prompt, with the way its answers are read."""
        return Prompt.load(self.prompt)

    @functools.cached_property
    def _server(self) -> Server:
        return Server(self.OPTION, self.base_url, self.model, self.key_variable, self.timeout, self.retries)

    def fingerprint(self) -> dict[str, Any]:
        fingerprint = {**super().fingerprint(), "prompt": self.template.digest}
        if self.template.names_languages:
            fingerprint["language_pair"] = self.language_pair
        return fingerprint

    @functools.cached_property
    def _settings_at_server(self) -> str:
        """The key by which unreadable answers are counted."""
        return f"{self.base_url} {self.signature}"

    @property
    def signature(self) -> str:
        """Model, prompt and sampling."""
        name = type(self).__name__.lower()
        model = self.served or self.model
        prompt = f"{self.template.name}-{self.template.digest[:8]}"
        fields = [f"{key}:{value:g}" for key, value in self._sampling().items()]
        if self.extra_body:
            fields.append(f"extra_body:{canonical_json(self.extra_body)}")
        return "|".join([name, f"model:{model}", f"prompt:{prompt}", *fields, f"version:{self.VERSION}"])

    def request_answers(
        self, items: Sequence[Item], read: ReadOfItem[ReadReply], turn: int = 0
    ) -> list[ReadReply | None]:
        """Request an answer about each item, and read it; None if it is unreadable, also after one reminder.

        Warns of items without a readable answer, with their number and an example. turn: the number of the repetition.
        Raises UnavailableError when the server does not answer, or many answers in a row are unreadable; earlier
        answers are kept.
        """
        exchanges: dict[Item, Exchange[ReadReply]] = {}
        missing: dict[Item, Messages] = {}
        with answers_database(self.answers) as database:
            for item in dict.fromkeys(items):
                messages = self.template.messages(item, self.language_pair)
                exchange = self._stored_exchange(database, messages, turn, partial(read, item))
                if exchange.value is None:
                    missing[item] = messages
                else:
                    exchanges[item] = exchange
            if missing:
                exchanges |= run_coroutine(self._exchange_all(missing, database, turn, read))
        unread = []
        for item in missing:
            exchange = exchanges[item]
            if exchange.value is None:
                unread.append(self._example(exchange.answers[-1]))
        UNREAD_ANSWERS.extend(unread)
        if unread:
            warnings.warn(
                f"{self.model}: {len(unread):,} of {len(items):,} answers are unreadable, for example "
                f"{unread[0]}; their scores are undefined",
                stacklevel=3,
            )
        return [exchanges[item].value for item in items]

    def check(self) -> None:
        """Raise UnavailableError when the server does not answer, and has not answered before."""
        self.named_by_the_server()

    def served_as(self, language_pair: str) -> Self:
        """This prompt with the model's name as the server reports it, if the server is available (see `check`)."""
        served: str | None = None
        with contextlib.suppress(UnavailableError):
            served = self.named_by_the_server()
        return replace(self, served=served, language_pair=language_pair)

    def named_by_the_server(self) -> str:
        """The name under which the server serves the model: that of its weights, if reported (by vLLM).

        One request per process. If the server does not answer, its previous name; in a dry run, without a request, the
        previous name or the model's. Raises UnavailableError if missing, and for a model that is not named or not
        served.
        """
        if not self.model:
            group, _, _ = self.OPTION.partition(".")
            raise UnavailableError(
                f"no model is named: write {self.OPTION}.model=NAME, as the server knows it; in score --set "
                f"{group}.model=NAME."
            )
        if is_dry():
            return self._named_before() or self.model
        self._server.warn_of_a_visible_key()
        place = (self.base_url, self.model, self._server.key)
        if place not in _NAMES or time.monotonic() > _NAMES[place][0]:
            try:
                _NAMES[place] = math.inf, run_coroutine(self._server.served_name(self._body((("user", "1"),))))
            except UnavailableError as error:
                _NAMES[place] = time.monotonic() + SILENT, error
        _, name = _NAMES[place]
        if isinstance(name, str):
            with answers_database(self.answers) as database:
                keep_answer(database, self._place_of_name(), Answer(name))
            return name
        before = self._named_before()
        if before is None:
            raise name
        return before

    def _place_of_name(self) -> str:
        return digest([self.base_url, self.model])

    def _named_before(self) -> str | None:
        """The last name reported by the server; None without one."""
        answer = kept_before(self.answers, self._place_of_name())
        if answer is None:
            return None
        return answer.text

    def budget(self, n_requests: int, n_characters: int) -> str:
        """Requests on so many characters, and their tokens, of four characters each, at most.

        Raises ConfigError when these, and a reminder for each, are more requests than `max_requests`.
        """
        with_reminders = 2 * n_requests
        most = self.max_requests
        if most is not None and with_reminders > most:
            raise ConfigError(
                f"this sweep may send {with_reminders:,} requests to {self.base_url} ({n_requests:,}, and a reminder "
                f"for each unreadable answer), but max_requests is {most:,}: nothing was sent. Raise max_requests, or "
                "reduce the sweep: limit=N, an explainer with fewer texts, fewer data sets."
            )
        characters_of_prompt = len(self.template.system + self.template.user)
        tokens_read = (n_characters + n_requests * characters_of_prompt) // 4
        most_tokens = self._most_tokens
        written = "any number" if most_tokens is None else f"at most {n_requests * most_tokens:,}"
        return (
            f"{n_requests:,} requests and at most as many reminders; without these about {tokens_read:,} tokens read "
            f"and {written} written"
        )

    @property
    def _most_tokens(self) -> int | None:
        """The most tokens of an answer; None without a limit."""
        return self.max_completion_tokens or self.max_tokens

    def _sampling(self) -> dict[str, float]:
        """The sampling fields of a request, in the order of a signature."""
        fields = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "max_completion_tokens": self.max_completion_tokens,
            "seed": self.seed,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _body(self, messages: Messages) -> dict[str, Any]:
        """The body of a request, as the server takes it."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in messages],
            **self._sampling(),
            **(self.extra_body or {}),
        }
        if self.template.score == "expectation":
            body |= {"logprobs": True, "top_logprobs": 20}
        return body

    def _digest_of(self, messages: Messages, turn: int) -> str:
        """The key of the stored answer to these messages."""
        return digest([self.served, self._body(messages), turn])

    def _stored_exchange(
        self, database: sqlite3.Connection, messages: Messages, turn: int, read: ReadAnswer[ReadReply]
    ) -> Exchange[ReadReply]:
        """The readable part of stored answers to messages."""
        answers: list[Answer] = []
        value = None
        # Twice: for the answer, and for that to the reminder.
        for _ in range(2):
            request = self._digest_of(add_reminder(messages, answers), turn)
            answer = known_answer(database, request)
            if answer is None:
                break
            answers.append(answer)
            value = read(answer)
            if value is not None:
                break
        return Exchange(answers, value)

    async def _exchange_all(
        self,
        asked: Mapping[Item, Messages],
        database: sqlite3.Connection,
        turn: int,
        read: ReadOfItem[ReadReply],
    ) -> dict[Item, Exchange[ReadReply]]:
        """Exchange messages about each item. After a failure no further item begins, and begun ones are finished.

        Answers are kept as soon as a value is read. MOST_UNREAD items in a row without one are a failure, too: so many
        are a matter of settings.
        """
        # Backwards, as items are taken from the end.
        waiting = list(asked.items())[::-1]
        exchanges: dict[Item, Exchange[ReadReply]] = {}

        async def ask_in_turn() -> None:
            while waiting:
                item, messages = waiting.pop()
                try:
                    exchange = await self._exchange(client, messages, partial(read, item))
                    exchanges[item] = exchange
                    self._keep(database, messages, turn, exchange)
                except BaseException:
                    # The other askers begin no item after this.
                    waiting.clear()
                    raise

        async with self._server.client() as client:
            n_askers = min(self.concurrency, len(waiting))
            askers = [ask_in_turn() for _ in range(n_askers)]
            # Exceptions are returned, so that all askers have ended when the first one is raised.
            for failure in await asyncio.gather(*askers, return_exceptions=True):
                if failure is not None:
                    raise failure
        return exchanges

    async def _exchange(self, client: Any, messages: Messages, read: ReadAnswer[ReadReply]) -> Exchange[ReadReply]:
        """One item's answers: the first, and if it is unreadable the one after a reminder."""
        first = await self._server.reply(client, self._body(messages), answer_in)
        value = read(first)
        if value is not None:
            return Exchange([first], value)
        reminder = add_reminder(messages, [first])
        second = await self._server.reply(client, self._body(reminder), answer_in)
        return Exchange([first, second], read(second))

    def _keep(self, database: sqlite3.Connection, messages: Messages, turn: int, exchange: Exchange[ReadReply]) -> None:
        """Store answers with a value. Raises UnavailableError if too many in a row were unreadable."""
        place = self._settings_at_server
        if exchange.value is not None:
            _UNREAD_IN_A_ROW[place] = 0
            for number, answer in enumerate(exchange.answers):
                request = add_reminder(messages, exchange.answers[:number])
                keep_answer(database, self._digest_of(request, turn), answer)
            return
        unread = _UNREAD_IN_A_ROW.get(place, 0) + 1
        _UNREAD_IN_A_ROW[place] = unread
        if unread >= MOST_UNREAD:
            # A sweep that is begun again in this process counts anew.
            _UNREAD_IN_A_ROW[place] = 0
            example = self._example(exchange.answers[-1])
            raise UnavailableError(
                f"{self.base_url}, model {self.model}: {MOST_UNREAD} answers in a row are unreadable, "
                f"for example {example}. Raise max_tokens if answers are cut; turn off "
                "the model's thinking, or give it more tokens; score_from=expectation needs a server that sends "
                f"logprobs (token log probabilities): {SEND_TOKENS}. Earlier answers are kept."
            )

    def _example(self, answer: Answer) -> str:
        """An answer that could not be read, in one short line, with what may be the reason."""
        reasons: list[str] = []
        if answer.cut:
            reasons.append(f"cut at max_tokens={self._most_tokens}")
        if self.template.score == "expectation" and not answer.tokens:
            reasons.append(f"without token log probabilities: {SEND_TOKENS}")
        example = quote_value(self._server.mask_key(answer.text))
        if not reasons:
            return example
        return f"{example} ({'; '.join(reasons)})"


# Servers' names for models in this process, by address, model and key: the end of their validity, and the name or the
# reason without one.
_NAMES: dict[tuple[str, str, str], tuple[float, str | UnavailableError]] = {}
# Items whose answers could not be read since one could be, in this process, by server and settings.
_UNREAD_IN_A_ROW: dict[str, int] = {}
