"""Small made-up files in the publishers' layouts, and a local publisher that can be made to fail."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bmx_grid.core.configure import build, load_option
from bmx_grid.datasets import base
from bmx_grid.datasets.base import DatasetReader


@pytest.fixture
def reader() -> Callable[..., DatasetReader]:
    """reader("wmt17", unescape=True): the data set of that name, as its YAML and these settings say."""

    def make(name: str, **settings: object) -> DatasetReader:
        return build({**load_option("dataset", name), **settings}, DatasetReader, f"dataset.{name}")

    return make


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file below tmp_path, exactly these characters."""

    def put(relative: str, content: str | bytes) -> Path:
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


@pytest.fixture
def checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, bytes]], None]]:
    """Let the manifest hold exactly these files."""

    def use(files: dict[str, bytes]) -> None:
        rows = [f"{path}\t{len(raw)}\t{hashlib.sha256(raw).hexdigest()}" for path, raw in files.items()]
        path = tmp_path / "manifest.tsv"
        path.write_text("\n".join(["path\tbytes\tsha256", *rows, ""]))
        monkeypatch.setattr(base, "MANIFEST", path)
        base.manifest.cache_clear()

    yield use
    base.manifest.cache_clear()


class Publisher:
    """A local web server with one file, `content`; redirect: where every request is sent on to.

    faults: what goes wrong, one for each request until used up: a status, "cut" (half of the file is sent) or "drop".
    requests: how many there were. chunked: whether the length is not told.
    """

    def __init__(self) -> None:
        self.content = b""
        self.chunked = False
        self.redirect: str | None = None
        self.faults: list[int | str] = []
        self.requests = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/archive.tar.gz"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        self.requests += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault == "drop":
            return
        if isinstance(fault, int):
            handler.send_error(fault)
            return
        handler.send_response(200 if self.redirect is None else 302)
        if self.redirect is not None:
            handler.send_header("Location", self.redirect)
            handler.end_headers()
            return
        length = ("Transfer-Encoding", "chunked") if self.chunked else ("Content-Length", str(len(self.content)))
        handler.send_header(*length)
        handler.end_headers()
        sent = self.content[: len(self.content) // 2] if fault == "cut" else self.content
        if self.chunked:
            sent = b"%x\r\n%s\r\n" % (len(sent), sent) + (b"" if fault == "cut" else b"0\r\n\r\n")
        handler.wfile.write(sent)


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A publisher that all archives come from."""
    server = Publisher()
    monkeypatch.setattr(base, "ARCHIVE", server.address)
    yield server
    server.server.shutdown()
    server.server.server_close()
