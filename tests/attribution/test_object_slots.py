"""The attribution store in a folder and in an object store (fsspec's in memory): no lock, and nothing is lost."""

import threading
import uuid
from pathlib import Path

import fsspec
import numpy as np
import pytest
from test_store import IDENTITY, KEYS, READS, ROWS, file_of, fill

from bmx_grid.attribution import store
from bmx_grid.core.errors import StoreError
from bmx_grid.core.storage import Address


@pytest.fixture(params=["folder", "objects"])
def place(request, tmp_path) -> store.Slot:
    where = tmp_path / "cache" if request.param == "folder" else Address(f"memory://{uuid.uuid4().hex}")
    return store.slot_of(where, ("m", "e"), IDENTITY, ("data", "de-en"), READS)


def add(to: store.Slot, rows) -> None:
    to.add([ROWS[index] for index in rows])


def objects(of: store.Slot) -> list[str]:
    return [one.name for one in store.listed(of.parts, ".parquet")]


def content(one) -> bytes:
    return one.read_bytes() if isinstance(one, Path) else fsspec.filesystem("memory").cat_file(one.url)


def change(one, content: bytes) -> None:
    if isinstance(one, Path):
        one.write_bytes(content)
    else:
        fsspec.filesystem("memory").pipe_file(one.url, content)


def test_chunks_become_one_object_with_the_bytes_of_a_local_file(place, tmp_path):
    assert place.missing(KEYS) == list(range(40))
    add(place, range(25))
    assert place.missing(KEYS) == list(range(25, 40))
    add(place, range(20, 40))
    place.merge()
    (only,) = store.listed(place.parts, ".parquet")
    assert content(only) == file_of(fill(tmp_path, [list(range(40))])).read_bytes()
    place.merge()
    assert objects(place) == [only.name]


def test_rows_come_back_exactly_before_and_after_a_merge(place):
    add(place, range(20))
    add(place, range(10, 40))  # some rows twice
    asked = [7, 3, 3, 15, 39]
    for _ in range(2):
        loaded = place.load([KEYS[index] for index in asked])
        for row, index in enumerate(asked):
            assert loaded.base_scores[row] == ROWS[index].base_score
            assert loaded.ground_truth[row].tobytes() == ROWS[index].attributions["reference"].tobytes()
            assert loaded.hypothesis[row].tobytes() == ROWS[index].attributions["hypothesis"].tobytes()
        place.merge()
    with pytest.raises(StoreError, match=r"lacks 1 of 1 explanations"):
        store.slot_of(place.path.parent, ("m", "x"), IDENTITY, ("data", "de-en"), READS).load(KEYS[:1])


def test_who_writes_the_same_rows_writes_the_same_object(place):
    add(place, [3, 1, 2])
    before = content(place.parts / objects(place)[0])
    add(place, [2, 3, 1])
    assert [content(place.parts / name) for name in objects(place)] == [before]


@pytest.mark.parametrize("end", [0, 3, -40], ids=["empty", "3 bytes", "all but the end"])
def test_a_damaged_object_counts_as_missing_and_goes_with_the_next_merge(place, end, tmp_path):
    add(place, range(20))
    add(place, range(20, 40))
    victim = place.parts / objects(place)[0]
    change(victim, content(victim)[:end])
    with pytest.warns(UserWarning, match="is damaged"):
        missing = place.missing(KEYS)
    assert len(missing) == 20
    add(place, missing[:7])
    add(place, missing[7:])
    with pytest.warns(UserWarning, match="is damaged"):
        place.merge()
    (only,) = objects(place)
    assert content(place.parts / only) == file_of(fill(tmp_path, [list(range(40))])).read_bytes()


class Interleaved:
    """Another process that acts in the middle of a merge: before its n-th look at the object store."""

    def __init__(self, monkeypatch, at: int, act) -> None:
        self.count, self._at, self._act = 0, at, act
        for name in ("listed", "remove"):
            monkeypatch.setattr(store, name, self._watched(getattr(store, name)))
        for name in ("read", "write"):
            monkeypatch.setattr(store.stored_tables, name, self._watched(getattr(store.stored_tables, name)))

    def _watched(self, real):
        def watched(*given):
            self.count += 1
            if self.count == self._at:
                self._act()
            return real(*given)

        return watched


@pytest.mark.parametrize("at", range(1, 14))
@pytest.mark.parametrize("other", ["merge", "add and merge", "add"])
def test_no_row_is_lost_whatever_another_process_does_in_the_middle_of_a_merge(place, at, other, monkeypatch):
    for first in range(0, 32, 8):
        add(place, range(first, first + 8))

    def act() -> None:
        if "add" in other:
            add(place, range(30, 40))
        if "merge" in other:
            place.merge()

    one = Interleaved(monkeypatch, at, act)
    place.merge()
    assert place.missing(KEYS[:32]) == []
    if one.count >= at and "add" in other:
        assert place.missing(KEYS) == []
    place.merge()
    assert len(objects(place)) == 1 and place.missing(KEYS[:32]) == []


@pytest.mark.parametrize("at", range(1, 11))
def test_no_row_is_lost_when_a_merge_is_killed(place, at, monkeypatch):
    for first in range(0, 32, 8):
        add(place, range(first, first + 8))

    def kill() -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        Interleaved(patched, at, kill)
        with pytest.raises(SystemExit):
            place.merge()
    assert place.missing(KEYS[:32]) == []
    place.merge()
    assert len(objects(place)) == 1 and place.missing(KEYS[:32]) == []


@pytest.mark.parametrize("at", range(1, 10))
def test_no_row_is_missed_whatever_another_process_merges_while_it_is_read(place, at, monkeypatch):
    for first in range(0, 40, 10):
        add(place, range(first, first + 10))
    Interleaved(monkeypatch, at, place.merge)
    assert place.missing(KEYS) == []


def test_threads_that_add_and_merge_at_once_lose_nothing(place):
    def work(start: int) -> None:
        for index in np.random.default_rng(start).permutation(40)[:30].tolist():
            add(place, [index, (index + 1) % 40])
            if index % 5 == start:
                place.merge()

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = {
        row for start in range(4) for index in np.random.default_rng(start).permutation(40)[:30].tolist()
        for row in (index, (index + 1) % 40)
    }  # fmt: skip
    assert place.missing(KEYS) == [row for row in range(40) if row not in written]
    place.merge()
    assert len(objects(place)) == 1


@pytest.mark.parametrize("place", ["objects"], indirect=True)
def test_an_object_store_that_fails_is_no_damage(place, monkeypatch):
    """Else hours of scores would be computed again because a network was away for a moment."""
    add(place, range(5))
    monkeypatch.setattr(
        type(fsspec.filesystem("memory")), "cat_file", lambda *_: (_ for _ in ()).throw(TimeoutError("no route"))
    )
    with pytest.raises(StoreError, match=r"cannot read memory://.*: no route\. Check the address"):
        place.missing(KEYS)
