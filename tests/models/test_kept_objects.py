"""What models made once is kept in parts that are never changed, in an object store and in a folder."""

import uuid

import fsspec
import pytest

from bmx_grid.core.storage import Address, listed
from bmx_grid.models import kept
from bmx_grid.models.kept import Kept

IDENTITY = '{"model":"x"}'


@pytest.fixture
def path() -> Address:
    return Address(f"memory://{uuid.uuid4().hex}") / "translations" / "abc.parquet"


def objects(path: Address) -> list:
    return listed(path.with_suffix(".parts"), ".parquet")


def filled(store: Kept, texts: str, log: list) -> list:
    """What a store has of each letter: itself in upper case, unless it was made before."""

    def make(contents):
        log.append(contents)
        return [text.upper() for text in contents]

    return store.values(list(texts), list(texts), set(texts), make)


def test_another_process_finds_what_was_made_and_makes_the_rest(path):
    log: list = []
    assert filled(Kept(path, IDENTITY), "aba", log) == ["A", "B", "A"]
    assert filled(Kept(path, IDENTITY), "bc", log) == ["B", "C"]
    assert log == [["a", "b"], ["c"]]
    assert len(objects(path)) == 2, "the values of the first part are not written again"


def test_what_another_process_adds_is_found(path):
    one, other, log = Kept(path, IDENTITY), Kept(path, IDENTITY), []
    filled(one, "a", log)
    filled(other, "b", log)
    assert filled(one, "ab", log) == ["A", "B"]
    assert log == [["a"], ["b"]]


def test_what_is_not_to_be_kept_is_made_each_time(path):
    store = Kept(path, IDENTITY)
    for _ in range(2):
        assert store.values(["a"], ["a"], set(), lambda contents: ["A"]) == ["A"]
    assert objects(path) == []


@pytest.mark.parametrize("where", ["store", "folder"])
def test_what_was_made_before_an_error_is_kept(path, tmp_path, monkeypatch, where):
    monkeypatch.setattr(kept, "_WRITE_EVERY_S", -1)
    monkeypatch.setattr(kept, "AT_ONCE", 1)
    place = path if where == "store" else tmp_path / "translations" / "abc.parquet"

    def make(contents):
        if contents == ["c"]:
            raise KeyboardInterrupt
        return [{"a": (1.0, 2.5), "b": (3.0,)}[contents[0]]]

    with pytest.raises(KeyboardInterrupt):
        Kept(place, IDENTITY).values(list("abc"), list("abc"), set("abc"), make)
    assert filled(Kept(place, IDENTITY), "abc", []) == [(1.0, 2.5), (3.0,), "C"]
    assert len(objects(place)) == 3


def test_a_damaged_object_is_made_again(path):
    filled(Kept(path, IDENTITY), "a", [])
    memory = fsspec.filesystem("memory")
    (one,) = objects(path)
    memory.pipe_file(one.url, memory.cat_file(one.url)[:-9])
    log: list = []
    with pytest.warns(UserWarning, match=r"memory://.* is damaged .* what it held is made again"):
        assert filled(Kept(path, IDENTITY), "a", log) == ["A"]
    assert log == [["a"]]


def test_the_one_file_of_earlier_versions_is_read(tmp_path):
    place = tmp_path / "translations" / "abc.parquet"
    filled(Kept(place, IDENTITY), "a", [])
    (part,) = objects(place)
    part.rename(place)
    log: list = []
    assert filled(Kept(place, IDENTITY), "a", log) == ["A"] and not log
