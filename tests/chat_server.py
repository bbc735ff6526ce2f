"""An OpenAI-compatible server on loopback that answers as a test says: with scores or faults, at once or slowly."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# The text of an answer, or status, headers and body, which is sent in pieces if it is no bytes.
Reply = str | tuple[int, dict[str, str], bytes | Iterable[bytes]]


def score_text(body: dict[str, Any]) -> str:
    """A number from 0 to 100, of a hash of the last message."""
    return str(hashlib.sha256(body["messages"][-1]["content"].encode()).digest()[0] % 101)


def completion(
    text: str | None, tokens: list[list[tuple[str, float]]] | None = None, finish_reason: str = "stop"
) -> bytes:
    """A chat completion, with the most probable tokens of each place, that of the text first."""
    places = [
        {"token": top[0][0], "logprob": top[0][1], "top_logprobs": [{"token": a, "logprob": b} for a, b in top]}
        for top in tokens or []
    ]
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    choice["logprobs"] = {"content": places} if tokens else None
    return json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "model": "m"}).encode()


@dataclass
class ChatServer:
    """answer: what to reply to a request, given its body and how often that body came before. seen: all bodies.

    models: what to reply to a request for the list of models.
    """

    answer: Callable[[dict[str, Any], int], Reply] = field(default=lambda body, turn: score_text(body))
    models: Reply = '{"object": "list", "data": [{"id": "m", "object": "model"}]}'
    delay: float = 0.0
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    url: str = ""
    most_at_once: int = 0
    n_bytes: int = 0  # sent in pieces

    @contextlib.contextmanager
    def running(self) -> Iterator[ChatServer]:
        server = _Listening(("127.0.0.1", 0), _handler(self))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


class _Listening(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def _handler(chat: ChatServer) -> type[BaseHTTPRequestHandler]:
    lock, at_once = threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            chat.keys.add(self.headers.get("Authorization"))
            self._send(*((200, {}, chat.models.encode()) if isinstance(chat.models, str) else chat.models))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(raw)
            with lock:
                before = sum(earlier == body for earlier in chat.seen) if len(chat.seen) < 1000 else 0
                chat.seen.append(body)
                chat.keys.add(self.headers.get("Authorization"))
                at_once[0] += 1
                chat.most_at_once = max(chat.most_at_once, at_once[0])
            try:
                time.sleep(chat.delay)
                reply = chat.answer(body, before)
                self._send(*((200, {}, completion(reply)) if isinstance(reply, str) else reply))
            finally:
                with lock:
                    at_once[0] -= 1

        def _send(self, status: int, headers: dict[str, str], body: bytes | Iterable[bytes]) -> None:
            with contextlib.suppress(OSError):
                self.send_response(status)
                if not isinstance(body, bytes):
                    self._send_pieces(headers, body)
                    return
                length = headers.pop("Content-Length", str(len(body)))
                for name, value in {"Content-Type": "application/json", "Content-Length": length, **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                if int(length) > len(body):
                    self.close_connection = True
                    self.connection.shutdown(2)

        def _send_pieces(self, headers: dict[str, str], body: Iterable[bytes]) -> None:
            for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in body:
                chat.n_bytes += len(piece)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

    return Handler
