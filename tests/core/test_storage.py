"""Files and pipes are read; what never ends, or never begins, is refused."""

import os
import socket
import threading
import time

import pytest

from bmx_grid.core import storage
from bmx_grid.core.documents import parse_yaml, read_json
from bmx_grid.core.storage import read_file


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_pipe_is_read_whole_whenever_it_is_written(pipe):
    def write() -> None:
        time.sleep(0.2)
        with pipe.open("wb") as file:
            file.write(b"a" * 100_000)
            file.flush()
            time.sleep(0.2)
            file.write(b"b")

    threading.Thread(target=write).start()
    assert read_file(pipe) == b"a" * 100_000 + b"b"


@pytest.mark.parametrize("change", [("WAITS_FOR_WRITER", 0.2, "nothing writes to"), ("MOST_OF_PIPE", 9, "within 9")])
def test_a_pipe_that_gives_nothing_or_too_much_is_refused(pipe, monkeypatch, change):
    name, value, message = change
    monkeypatch.setattr(storage, name, value)
    monkeypatch.setattr(storage, "PIPE_CHUNK", 1)
    writer = None if name == "WAITS_FOR_WRITER" else os.open(pipe, os.O_RDWR)
    if writer is not None:
        os.write(writer, b"x" * 100)
    with pytest.raises(OSError, match=message):
        read_file(pipe)
    if writer is not None:
        os.close(writer)


def test_devices_and_sockets_are_not_opened(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the paths of sockets are short
        listening.bind("socket")
        for name in ("link", "socket"):
            with pytest.raises(OSError, match="neither a file nor a pipe"):
                read_file(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)


def test_json_that_is_very_deep_is_no_json(tmp_path):
    (tmp_path / "deep").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(tmp_path / "deep")


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)


@pytest.mark.parametrize(
    "text", ["a: &a [*a]\n", "&a {b: *a}\n", BOMB, "[" * 5000, "a: [1", "a: !!python/name:os.system\n"],
    ids=["a list in itself", "a mapping in itself", "a bomb", "deep", "no end", "a tag of Python"],
)  # fmt: skip
def test_yaml_that_no_person_writes_is_refused(text):
    with pytest.raises(ValueError):
        parse_yaml(text)


def test_yaml_with_aliases_is_read():
    assert parse_yaml("a: &a [1, 2]\nb: *a\n") == {"a": [1, 2], "b": [1, 2]}
