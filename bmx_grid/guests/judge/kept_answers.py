"""Answers of a language model: the parts of a reply, the database of stored answers, and exchanges."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from bmx_grid.core.configure import folder_path
from bmx_grid.core.errors import UnavailableError
from bmx_grid.guests.judge.prompts import Answer, Messages
from bmx_grid.words.perturbation import Item

FILE = "answers.sqlite"
REMINDER = "Your answer cannot be read. Answer again, only in the form that was asked for."
MOST_KEPT_CHARACTERS = 1_000_000  # of an answer; what follows is not read
SCHEMA = """PRAGMA journal_mode=WAL;
PRAGMA synchronous=NORMAL; -- an answer survives the end of the process
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL);"""
ReadReply = TypeVar("ReadReply")
ReadAnswer = Callable[[Answer], ReadReply | None]  # reads an answer; None if it is unreadable
ReadOfItem = Callable[[Item, Answer], ReadReply | None]


@contextlib.contextmanager
def answers_database(answers: str | None) -> Iterator[sqlite3.Connection]:
    """The database of answers in a folder, which is made; None keeps none.

    Raises UnavailableError if it cannot be used.
    """
    folder = folder_path(answers or ".", "answers")
    file = ":memory:" if answers is None else folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(file, timeout=60, check_same_thread=False)) as database:
            database.executescript(SCHEMA)
            yield database
    except (OSError, sqlite3.Error) as error:
        raise UnavailableError(f"answers: {folder} cannot be used ({error}); name another folder.") from error


def known_answer(database: sqlite3.Connection, key: str) -> Answer | None:
    """The answer that is kept under a digest of all that it depends on."""
    row = database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    fields = json.loads(row[0])
    return Answer(*fields)


def kept_before(answers: str | None, key: str) -> Answer | None:
    """`kept_before` for a folder that may not exist; it is not created."""
    if answers is None:
        return None
    file = folder_path(answers, "answers") / FILE
    if not file.is_file():
        return None
    with answers_database(answers) as database:
        return known_answer(database, key)


def keep_answer(database: sqlite3.Connection, key: str, answer: Answer) -> None:
    """Keep an answer; it survives the end of the process."""
    # As a transaction, which is written at its end.
    with database:
        database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, json.dumps(answer)))


def answer_in(reply: Any) -> Answer:
    """The first choice of a chat completion. Raises KeyError and its like for anything else."""
    choice = reply["choices"][0]
    text = choice["message"]["content"]
    if text is not None and not isinstance(text, str):
        raise TypeError(f"a {type(text).__name__} for a text")
    tokens: list[Sequence[tuple[str, float]]] = []
    log_probabilities = choice.get("logprobs") or {}
    for place in log_probabilities.get("content") or ():
        # The token of the text is first; some servers repeat it among the most probable ones.
        candidates = [(place["token"], float(place["logprob"]))]
        for top in place["top_logprobs"]:
            if top["token"] != place["token"]:
                candidates.append((top["token"], float(top["logprob"])))
        tokens.append(candidates)
    # JSON can hold half of a surrogate pair, which UTF-8 cannot write.
    readable = (text or "")[:MOST_KEPT_CHARACTERS].encode(errors="replace").decode()
    is_cut = choice.get("finish_reason") == "length"
    return Answer(readable, tokens, is_cut)


class Exchange(NamedTuple, Generic[ReadReply]):
    """answers: about an item, at most two. value: read from the last one; None for an unreadable one."""

    answers: Sequence[Answer]
    value: ReadReply | None


def add_reminder(messages: Messages, answers: Sequence[Answer]) -> Messages:
    """The messages; after an unreadable answer, also the request for another one."""
    if not answers:
        return messages
    unread = answers[0].text or "…"
    return (*messages, ("assistant", unread), ("user", REMINDER))
