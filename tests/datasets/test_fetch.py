"""Fetching over HTTP: interruptions cost what is missing, and a refusal is said once and plainly."""

import os
import socket

import pytest

from bmx_grid.datasets.download.fetch import Retry, fetch
from bmx_grid.errors import ConfigError, DataError, DataMissingError

QUICK = Retry(attempts=3, wait_s=0.001, timeout_s=5)
CONTENT = os.urandom(300_000)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "archives" / "a.tar.gz"


@pytest.fixture(autouse=True)
def content(publisher):
    publisher.content = CONTENT


def test_whole_file_in_one_request(publisher, target):
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT
    assert publisher.ranges == [None]
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    ("faults", "ranges"),
    [
        pytest.param(["cut"], [None, "bytes=150000-"], id="cut-once"),
        pytest.param(["cut", "cut"], [None, "bytes=150000-", "bytes=225000-"], id="cut-again-while-resuming"),
        pytest.param(["cut", "drop"], [None, "bytes=150000-", "bytes=150000-"], id="cut-then-no-answer"),
        pytest.param([503, 429], [None, None, None], id="busy-server"),
        pytest.param(
            ["cut"] * 6,
            [None, *(f"bytes={size}-" for size in (150000, 225000, 262500, 281250, 290625, 295312))],
            id="more-cuts-than-attempts-but-each-brings-bytes",
        ),
    ],
)
def test_goes_on_after(publisher, target, faults, ranges):
    publisher.faults = list(faults)
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT
    assert publisher.ranges == ranges


@pytest.mark.parametrize("chunked", [False, True], ids=["with-length", "length-not-told"])
@pytest.mark.parametrize(
    ("etag", "resumable"),
    [
        pytest.param('"v1"', False, id="server-ignores-ranges"),
        pytest.param(None, True, id="server-promises-nothing"),
        pytest.param('W/"v1"', True, id="server-promises-too-little"),
    ],
)
def test_starts_again_where_it_cannot_go_on(publisher, target, etag, resumable, chunked):
    publisher.etag, publisher.resumable, publisher.chunked = etag, resumable, chunked
    publisher.faults = ["cut"]
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT


def test_a_cut_is_noticed_when_the_length_is_not_told(publisher, target):
    publisher.chunked = True
    publisher.faults = ["cut"]
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT
    assert publisher.ranges == [None, "bytes=150000-"]


def test_next_command_goes_on_from_the_part(publisher, target):
    publisher.faults = ["cut", "drop", "drop", "drop"]
    with pytest.raises(DataMissingError, match=r"kept in .*\.part"):
        fetch(publisher.address, target, QUICK)
    assert not target.exists()
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT
    assert publisher.ranges[-1] == "bytes=150000-"


def test_a_part_of_an_older_version_is_not_continued(publisher, target):
    publisher.faults = ["cut", "drop", "drop", "drop"]
    with pytest.raises(DataMissingError):
        fetch(publisher.address, target, QUICK)
    publisher.content, publisher.etag = CONTENT[::-1], '"v2"'
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT[::-1]


def test_a_part_longer_than_the_file_is_dropped(publisher, target):
    target.parent.mkdir()
    part = target.with_name("a.tar.gz.part")
    part.write_bytes(b"x" * 400_000)
    part.with_name("a.tar.gz.part.validator").write_text('"v1"')
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_final(publisher, target, status):
    publisher.faults = [status]
    with pytest.raises(DataMissingError, match=rf"archive\.tar\.gz: the server answers {status}"):
        fetch(publisher.address, target, QUICK)
    assert len(publisher.ranges) == 1


def test_server_down(target, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataMissingError, match="offline"):
        fetch(f"http://127.0.0.1:{port}/a", target, QUICK)
    assert capsys.readouterr().err.count("trying again") == 2


def test_only_the_web(target):
    with pytest.raises(ConfigError, match="must start with https://"):
        fetch("file:///etc/passwd", target, QUICK)


@pytest.mark.parametrize("etag", ['"vérsion"', '"\x80\xff"', '"a\tb"'], ids=["accent", "no-characters", "tab"])
def test_an_etag_that_cannot_be_sent_back_is_not_kept(publisher, target, etag):
    publisher.etag = etag
    publisher.faults = ["cut"]
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT
    assert publisher.ranges == [None, None], "without a validator the download starts again"


def test_a_damaged_validator_is_no_reason_to_stop(publisher, target):
    target.parent.mkdir()
    part = target.with_name("a.tar.gz.part")
    part.write_bytes(CONTENT[:100])
    part.with_name("a.tar.gz.part.validator").write_bytes(b"\xff\x00 half\nwritten")
    fetch(publisher.address, target, QUICK)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "location",
    ["http://[::1", "file:///etc/passwd", "http:///nowhere", "http://\u00fc.example\x00/"],
    ids=["half-an-address", "a-file", "no-host", "control-character"],
)
def test_a_redirection_to_what_is_no_address(publisher, target, location):
    publisher.redirect = location
    with pytest.raises(DataMissingError):
        fetch(publisher.address, target, QUICK)
    assert not target.exists()


@pytest.mark.parametrize(
    "address",
    ["http://[::1", "https://", "http:///a", "https://host:port/a", "https://host:99999999/a", "https://a b/c",
     "https://höst/a", "https://host/a\nHeader: x", "ftp://host/a", ""],
)  # fmt: skip
def test_a_malformed_address(target, address):
    with pytest.raises(ConfigError, match="cannot be used"):
        fetch(address, target, QUICK)
    assert not target.parent.exists()


def test_a_place_that_cannot_be_written(publisher, tmp_path):
    (tmp_path / "taken").write_text("a file where a folder should be")
    with pytest.raises(DataError, match="data_dir"):
        fetch(publisher.address, tmp_path / "taken" / "a.tar.gz", QUICK)
