"""What models made once, kept in an object store: every part an object of its own, never changed."""

import uuid

import fsspec
import pytest

from bmx_grid.models import kept
from bmx_grid.models.kept import Kept
from bmx_grid.storage.addresses import Address, listed

IDENTITY = '{"model":"x"}'


@pytest.fixture
def path() -> Address:
    return Address(f"memory://{uuid.uuid4().hex}") / "translations" / "abc.parquet"


def objects(path: Address) -> list:
    return listed(path.with_suffix(".parts"), ".parquet")


def made(log: list):
    def make(keys):
        log.append(list(keys))
        yield {key: key.upper() for key in keys}

    return make


def test_another_process_finds_what_was_made_and_makes_the_rest(path):
    log: list = []
    assert Kept(path, IDENTITY).filled(["a", "b", "a"], made(log)) == {"a": "A", "b": "B"}
    again = Kept(path, IDENTITY)
    assert again.filled(["b", "c"], made(log)) == {"b": "B", "c": "C"}
    assert log == [["a", "b"], ["c"]]
    assert len(objects(path)) == 2, "the values of the first part are not written again"
    assert again.known(["a", "x"]) == {"a": "A"}


def test_what_another_process_adds_is_found(path):
    one, other, log = Kept(path, IDENTITY), Kept(path, IDENTITY), []
    one.filled(["a"], made(log))
    other.filled(["b"], made(log))
    assert one.filled(["a", "b"], made(log)) == {"a": "A", "b": "B"}
    assert log == [["a"], ["b"]]


def test_what_was_made_before_an_error_is_kept(path, monkeypatch):
    monkeypatch.setattr(kept, "_WRITE_EVERY_S", -1)

    def make(keys):
        yield {"a": (1.0, 2.5)}
        yield {"b": (3.0,)}
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        Kept(path, IDENTITY).filled(["a", "b", "c"], make)
    assert Kept(path, IDENTITY).known(["a", "b", "c"]) == {"a": (1.0, 2.5), "b": (3.0,)}
    assert len(objects(path)) == 2


def test_a_damaged_object_is_made_again(path):
    Kept(path, IDENTITY).filled(["a"], made([]))
    memory = fsspec.filesystem("memory")
    (one,) = objects(path)
    memory.pipe_file(one.url, memory.cat_file(one.url)[:-9])
    log: list = []
    with pytest.warns(UserWarning, match=r"memory://.* is damaged .* what it held is made again"):
        assert Kept(path, IDENTITY).filled(["a"], made(log)) == {"a": "A"}
    assert log == [["a"]]
