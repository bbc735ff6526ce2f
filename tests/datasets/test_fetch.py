"""Fetching over HTTP: interruptions are tried again, and a refusal is said once and plainly."""

import os
import socket

import pytest

from bmx_grid.core.errors import DataMissingError
from bmx_grid.datasets import download
from bmx_grid.datasets.download import fetch

CONTENT = os.urandom(300_000)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "a.tar.gz"


@pytest.fixture(autouse=True)
def content(publisher, monkeypatch):
    publisher.content = CONTENT
    monkeypatch.setattr(download, "WAIT_S", 0.001)


@pytest.mark.parametrize("chunked", [False, True], ids=["with-length", "length-not-told"])
@pytest.mark.parametrize("faults", [["cut"], ["drop", "cut"], [503, 429]], ids=str)
def test_tries_again_after(publisher, target, faults, chunked):
    publisher.faults, publisher.chunked = list(faults), chunked
    fetch(publisher.address, target)
    assert target.read_bytes() == CONTENT
    assert publisher.requests == len(faults) + 1


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_final(publisher, target, status):
    publisher.faults = [status]
    with pytest.raises(DataMissingError, match=rf"archive\.tar\.gz: the server answers {status}"):
        fetch(publisher.address, target)
    assert publisher.requests == 1


def test_server_down(target, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataMissingError, match="offline"):
        fetch(f"http://127.0.0.1:{port}/a", target)
    assert capsys.readouterr().err.count("trying again") == 4


@pytest.mark.parametrize(
    "location",
    ["http://[::1", "file:///etc/passwd", "http:///nowhere", "http://\u00fc.example\x00/"],
    ids=["half-an-address", "a-file", "no-host", "control-character"],
)
def test_a_redirection_to_what_is_no_address(publisher, target, location):
    publisher.redirect = location
    with pytest.raises(DataMissingError):
        fetch(publisher.address, target)
    assert not target.exists()
