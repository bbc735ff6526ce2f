"""The attribution store in a folder and in an object store (fsspec's in memory): content decides, damage is noticed,
there is no lock, and nothing is lost or doubled."""

import contextlib
import dataclasses
import json
import multiprocessing
import os
import random
import signal
import socket
import uuid
import warnings
from functools import partial
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bmx_grid.attribution import store
from bmx_grid.attribution.explain import Explanation, item_key
from bmx_grid.core.errors import StoreError
from bmx_grid.core.storage import Address, files_of, open_for_arrow, replacing
from bmx_grid.words.perturbation import Item

READS = ("reference", "hypothesis")
IDENTITY = {"metric": {"type": "M", "version": 1}, "explainer": {"type": "E", "version": 1}, "seed": 0}


def explanation(number: int) -> Explanation:
    item = Item(reference=f"grund {number}", hypothesis=f"hypothesis {number} ü \N{ZERO WIDTH SPACE}")
    values = np.random.default_rng(number).normal(size=number % 5 + 2)
    return Explanation(item_key(item), number / 7, item, {"reference": values[:2], "hypothesis": values[2:]})


ROWS = [explanation(number) for number in range(40)]
KEYS = [row.key for row in ROWS]


def slot(where, identity=IDENTITY) -> store.AttributionStore:
    return store.open_store(
        where, ("m", "e"), identity, ("data", "de-en"), READS, READS if identity["explainer"] else ()
    )


def add(to: store.AttributionStore, *chunks) -> None:
    for chunk in chunks:
        to.add([ROWS[index] for index in chunk])


def fill(where, *chunks) -> store.AttributionStore:
    filled = slot(where)
    add(filled, *chunks)
    filled.merge()
    return filled


def files(slot: store.AttributionStore) -> list:
    return files_of(slot.parts, ".parquet")


def content(file) -> bytes:
    with open_for_arrow(file) as source:
        return source.read()


def check_rows(slot: store.AttributionStore, asked: list[int]) -> None:
    """The rows come back exactly, in any order and repeated."""
    loaded = slot.load([KEYS[index] for index in asked])
    assert loaded.base_scores.tolist() == [ROWS[index].base_score for index in asked]
    for row, index in enumerate(asked):
        assert loaded.ground_truth[row].tobytes() == ROWS[index].attributions["reference"].tobytes()
        assert loaded.hypothesis[row].tobytes() == ROWS[index].attributions["hypothesis"].tobytes()


@pytest.fixture(params=["folder", "objects"])
def place(request, tmp_path) -> store.AttributionStore:
    """A slot that is empty."""
    return slot(tmp_path / "cache" if request.param == "folder" else Address(f"memory://{uuid.uuid4().hex}"))


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> bytes:
    """The file of all rows."""
    return content(*files(fill(tmp_path_factory.mktemp("reference"), range(40))))


def test_rows_come_back_before_and_after_a_merge_which_leaves_the_same_file_whatever_was_before(place, reference):
    assert place.missing([*KEYS, KEYS[1]]) == list(range(40))
    add(place, range(25))
    assert place.missing(KEYS) == list(range(25, 40))
    add(place, range(39, 19, -1))
    check_rows(place, [7, 3, 3, 39])
    for _ in range(2):
        place.merge()
        assert [content(file) for file in files(place)] == [reference]
    add(place, range(40))
    assert [content(file) for file in files(place)] == [reference], "who writes the same rows writes the same file"
    check_rows(place, [7, 3, 3, 39, *range(40)])
    with pytest.raises(StoreError, match=r"lacks 40 of 40 explanations"):
        slot(place.parts / "other").load(KEYS)


@contextlib.contextmanager
def within_a_minute():
    """A wait that never ends fails the test."""

    def stop(*_):
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path))


@pytest.mark.parametrize("make", [os.mkfifo, make_socket], ids=["a pipe", "a socket"])
def test_what_is_no_file_among_the_parts_is_damaged_and_never_waited_for(make, tmp_path, monkeypatch):
    """A pipe that nothing writes to held a sweep for ever."""
    filled = fill(tmp_path, range(4))
    monkeypatch.chdir(filled.parts)  # a socket's path may have 108 bytes
    make(Path("x.parquet"))
    with within_a_minute():
        with pytest.warns(UserWarning, match="x.parquet is damaged .*it is not a file"):
            assert filled.missing(KEYS[:5]) == [4]
        with pytest.warns(UserWarning, match="is damaged"):
            filled.load(KEYS[:4])
        with pytest.warns(UserWarning, match="is damaged"):
            filled.merge()
    assert len(files(filled)) == 1 and filled.missing(KEYS[:5]) == [4]


def link(parts, target):
    parts.parent.mkdir(parents=True)
    parts.symlink_to(target, target_is_directory=True)


@pytest.mark.parametrize("level", [0, 1, 2], ids=["the parts", "the setting", "all attributions"])
def test_a_link_out_of_the_cache_has_no_files_of_another_folder_removed(level, tmp_path):
    """In a cache of somebody else, a merge removed the user's own Parquet files."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.parquet").write_bytes(b"my own")
    cache = tmp_path / "cache"
    link([slot(cache).parts, *slot(cache).parts.parents][level], own)
    with pytest.raises(StoreError, match="leads out of .*cache; choose another folder, or remove the link"):
        fill(cache, range(3), range(3, 6))
    assert [path.name for path in own.rglob("*")] == ["mine.parquet"]


def test_the_cache_itself_may_be_a_link(tmp_path):
    (tmp_path / "large").mkdir()
    link(tmp_path / "here" / "cache", tmp_path / "large")
    assert fill(tmp_path / "here" / "cache", range(3), range(3, 6)).missing(KEYS[:7]) == [6]


@pytest.mark.parametrize("chunks", [[[index] for index in range(40)], [range(30), range(10, 40)]], ids=["one", "twice"])
def test_a_large_file_has_row_groups_and_does_not_depend_on_how_it_came_about(tmp_path, monkeypatch, chunks):
    monkeypatch.setattr(store, "GROUP_ROWS", 8)
    at_once = fill(tmp_path / "whole", range(40))
    assert pq.ParquetFile(*files(at_once)).num_row_groups == 5
    assert content(*files(fill(tmp_path / "other", *chunks))) == content(*files(at_once))
    check_rows(at_once, [7, 3, 3, 39, *range(40)])


def test_scores_alone_have_an_empty_row_of_attributions_each(tmp_path):
    alone = store.AttributionSet(np.ones(3), {})
    for side in (alone.hypothesis, alone.ground_truth):
        assert side.lengths.tolist() == [0] * 3
    assert alone.n_unexplained == 0
    assert slot(tmp_path).parts.parent != slot(tmp_path, {**IDENTITY, "seed": None}).parts.parent, "another identity"


def test_a_flipped_bit_never_passes_as_data(tmp_path, reference):
    (file,) = files(fill(tmp_path, range(40)))
    noticed = 0
    for position in random.Random(4).sample(range(len(reference)), 120):
        damaged = bytearray(reference)
        damaged[position] ^= 1 << (position % 8)
        file.write_bytes(bytes(damaged))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            table = next(slot(tmp_path)._read_tables(file), None)
        if table is None:
            noticed += 1
            assert "is damaged" in str(seen[0].message)
        else:  # a byte that carries no value, such as the name of the writing program
            assert table.equals(pq.read_table(pa.BufferReader(reference)))
    assert noticed > 80


@pytest.mark.parametrize("end", [0, 3, -40, -1], ids=["empty", "3 bytes", "all but the end", "all but one"])
def test_a_damaged_file_counts_as_missing_and_goes_with_the_next_merge(place, end, reference):
    add(place, range(20), range(20, 40))
    damaged = files(place)[0]
    beginning = content(damaged)[:end]
    with replacing(damaged) as part:
        part.write_bytes(beginning)
    with pytest.warns(UserWarning, match="is damaged"):
        missing = place.missing(KEYS)
    assert len(missing) == 20
    add(place, missing[:7], missing[7:])
    with pytest.warns(UserWarning, match="is damaged"):
        place.merge()
    assert [content(file) for file in files(place)] == [reference]


@pytest.mark.parametrize("version", [99, 3], ids=["newer", "earlier"])
def test_a_file_of_another_version_is_refused_not_replaced(tmp_path, version):
    place = fill(tmp_path, range(40))
    (file,) = files(place)
    header = json.loads(pq.ParquetFile(file).metadata.metadata[b"bmx_grid"]) | {"version": version}
    pq.write_table(pq.read_table(file).replace_schema_metadata({"bmx_grid": json.dumps(header)}), file)
    before = file.read_bytes()
    message = rf"written by another bmx_grid \(store version {version}.* choose another cache_dir"
    for act in (lambda: place.missing(KEYS), lambda: (add(place, [0]), place.merge())):
        with pytest.raises(StoreError, match=message):
            act()
    assert file.read_bytes() == before


def test_what_cannot_be_written_read_or_removed_is_named(tmp_path, monkeypatch):
    (tmp_path / "attributions").write_text("a file in the way")
    with pytest.raises(StoreError, match=r"cannot write .*\.parquet: .* cache_dir="):
        add(slot(tmp_path), [0])
    place = fill(tmp_path / "other", [0])
    add(place, [1, 2])

    def refuse(*_, **options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StoreError, match=r"cannot remove .*: Read-only file system.* cache_dir"):
        place.merge()


def _fill_in_chunks(folder: str, start: int) -> None:
    for index in range(start, start + 25, 5):
        fill(Path(folder), range(index, index + 5))


def test_two_processes_on_one_slot_lose_and_double_nothing(tmp_path, reference):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill_in_chunks, args=(str(tmp_path), start)) for start in (0, 15)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert content(*files(fill(tmp_path))) == reference


def interleaved(monkeypatch, turn: int, act) -> list[str]:
    """Act in the middle of a merge, before its n-th look at the store; the looks, as they come."""
    looks: list[str] = []

    def look(name, real, *arguments):
        looks.append(name)
        if len(looks) == turn:
            act()
        return real(*arguments)

    for name in ("files_of", "remove", "open_for_arrow", "replacing"):
        monkeypatch.setattr(store, name, partial(look, name, getattr(store, name)))
    return looks


@pytest.mark.parametrize("turn", range(1, 10))
@pytest.mark.parametrize("other", ["merge", "add and merge", "killed"])
def test_no_row_is_lost_whatever_happens_in_the_middle_of_a_merge(place, turn, other, monkeypatch):
    add(place, *np.split(np.arange(32), 4))

    def act() -> None:
        if other == "killed":
            raise SystemExit
        if "add" in other:
            add(place, range(30, 40))
        place.merge()

    with monkeypatch.context() as patch:
        looks = interleaved(patch, turn, act)
        try:
            place.merge()
        except SystemExit:
            assert other == "killed"
    expected = 40 if len(looks) >= turn and "add" in other else 32
    assert place.missing(KEYS[:expected]) == []
    place.merge()
    assert len(files(place)) == 1 and place.missing(KEYS[:expected]) == []


@pytest.mark.parametrize("turn", range(1, 8))
def test_no_row_is_missed_whatever_another_process_merges_while_it_is_read(place, turn, monkeypatch):
    add(place, *np.split(np.arange(40), 4))
    with monkeypatch.context() as patch:
        interleaved(patch, turn, place.merge)
        assert place.missing(KEYS) == []


@pytest.mark.parametrize("place", ["objects"], indirect=True)
def test_an_object_store_that_fails_is_no_damage(place, monkeypatch):
    """Else hours of scores would be computed again because a network was away for a moment."""
    add(place, range(5))

    def fail(*_):
        raise TimeoutError("no route")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "cat_file", fail)
    with pytest.raises(StoreError, match=r"cannot read memory://.*: no route\. Check the address"):
        place.missing(KEYS)


def test_statistics_come_back_with_their_segments_and_are_noticed_when_they_change(tmp_path):
    statistics = [np.array([number, 2.5, number**2]) for number in range(10)]
    place = slot(tmp_path)
    place.add([dataclasses.replace(row, statistics=of_row) for row, of_row in zip(ROWS[:10], statistics, strict=True)])
    loaded = place.load([KEYS[index] for index in (7, 3, 3)]).statistics
    assert loaded.tolist() == [[7, 2.5, 49], [3, 2.5, 9], [3, 2.5, 9]]
    assert fill(tmp_path / "without", [0]).load(KEYS[:1]).statistics is None
    (file,) = files(place)
    table, metadata = pq.read_table(file), pq.ParquetFile(file).metadata.metadata
    changed = table.set_column(table.column_names.index("statistics"), "statistics", pa.array([[9.0, 9, 9]] * 10))
    pq.write_table(changed.replace_schema_metadata({"bmx_grid": metadata[b"bmx_grid"]}), file)
    with pytest.warns(UserWarning, match="do not agree with their digest"):
        assert place.missing(KEYS[:10]) == list(range(10))


def test_damage_costs_its_row_group_alone_and_one_that_was_exchanged_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "GROUP_ROWS", 8)
    grouped = fill(tmp_path, range(20), range(20, 40))
    (file,) = files(grouped)
    intact, third = file.read_bytes(), pq.ParquetFile(file).metadata.row_group(2).column(1)
    damaged = bytearray(intact)
    damaged[third.data_page_offset + third.total_compressed_size - 3] ^= 4
    file.write_bytes(bytes(damaged))
    with pytest.warns(UserWarning, match=r"row group 3 of .* is damaged"):
        missing = grouped.missing(KEYS)
    assert sorted(KEYS[row] for row in missing) == sorted(KEYS)[16:24]
    add(grouped, missing)
    with pytest.warns(UserWarning, match=r"row group 3 of .* is damaged"):
        grouped.merge()
    assert file.read_bytes() == intact
    parquet = pq.ParquetFile(file)  # another file's row group is intact as far as Parquet knows
    tables = [parquet.read_row_group(number) for number in (0, 1, 1, 3, 4)]
    with pq.ParquetWriter(file, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
        writer.add_key_value_metadata({"bmx_grid": parquet.metadata.metadata[b"bmx_grid"].decode()})
    with pytest.warns(UserWarning, match="row group 3 of .* do not agree with their digest"):
        assert sorted(KEYS[row] for row in grouped.missing(KEYS)) == sorted(KEYS)[16:24]


def test_what_is_discarded_is_missing_and_the_other_rows_stay(place):
    add(place, range(20), range(20, 40))
    place.discard([KEYS[index] for index in (3, 25)])
    assert sorted(place.missing(KEYS)) == [3, 25]
    check_rows(place, [0, 2, 4, 24, 26, 39])
    add(place, (3, 25))
    place.discard([])
    check_rows(place, list(range(40)))
    place.discard(KEYS)
    assert files(place) == [] and len(place.missing(KEYS)) == 40
