"""Work that may never end: done in a separate thread, for a limited time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Abandoned(Exception):
    """The caller has stopped waiting for this action: it must not go on."""


class Unanswered(Exception):
    """An action did not end in its time."""


@dataclass
class _Action:
    work: Callable[[], Any]
    ended: threading.Event = field(default_factory=threading.Event)
    abandoned: bool = False
    answer: Any = None
    error: BaseException | None = None


class Attendant:
    """Does one action after another in a daemon thread.

    A timeout of the socket is not enough: a server that sends one byte from time to time, a name server that does
    not answer, and a library's own retries each outlast it. Ctrl-C and signals reach the caller at once, and never
    interrupt a write to the store.
    """

    def __init__(self) -> None:
        self._actions: SimpleQueue[_Action | None] = SimpleQueue()
        self._current: _Action | None = None
        threading.Thread(target=self._serve, name="tracking", daemon=True).start()

    def run(self, work: Callable[[], Answer], seconds: float) -> Answer:
        """What `work` returns, or the error it raises. Raises Unanswered when it does not end within `seconds`.

        An abandoned action ends at its next `check`.
        """
        action = _Action(work)
        self._actions.put(action)
        try:
            if not action.ended.wait(seconds):
                raise Unanswered
        except BaseException:
            action.abandoned = True
            raise
        if action.error is not None:
            raise action.error
        answer: Answer = action.answer
        return answer

    def check(self) -> None:
        """To be called by an action between its steps. Raises Abandoned when the caller has stopped waiting."""
        if self._current is not None and self._current.abandoned:
            raise Abandoned

    def dismiss(self) -> None:
        """Let the thread end after its current action."""
        self._actions.put(None)

    def _serve(self) -> None:
        while (action := self._actions.get()) is not None:
            if action.abandoned:
                continue
            self._current = action
            try:
                action.answer = action.work()
            except BaseException as error:  # raised again in the thread that waits for the answer
                action.error = error
            action.ended.set()
