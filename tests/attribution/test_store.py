"""The attribution store: content decides, damage is noticed, nothing is lost or doubled."""

import dataclasses
import json
import multiprocessing
import random
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bmx_grid.attribution import store, stored_tables
from bmx_grid.attribution.explain import Explanation, item_key
from bmx_grid.core.errors import StoreError
from bmx_grid.words.perturbation import Item

IDENTITY = {"metric": {"type": "M", "version": 1}, "explainer": {"type": "E", "version": 1}, "seed": 0}

READS = ("reference", "hypothesis")


def explanation(number: int) -> Explanation:
    texts = (f"grund {number}", f"hypothesis {number} ü \N{ZERO WIDTH SPACE}")
    values = np.random.Generator(np.random.PCG64(number)).normal(size=number % 5 + 2)
    item = Item(reference=texts[0], hypothesis=texts[1])
    return Explanation(item_key(item), number / 7, item, {"reference": values[:2], "hypothesis": values[2:]})


ROWS = [explanation(number) for number in range(40)]
KEYS = [row.key for row in ROWS]


def fill(folder: Path, chunks: list[list[int]]) -> store.Slot:
    place = store.slot_of(folder, ("m", "e"), IDENTITY, ("data", "de-en"), READS)
    for chunk in chunks:
        place.add([ROWS[index] for index in chunk])
    place.merge()
    return place


def file_of(place: store.Slot) -> Path:
    """The one file of a slot that was merged."""
    (only,) = place.parts.glob("*.parquet")
    return only


@pytest.fixture
def place(tmp_path) -> store.Slot:
    """A slot that is empty."""
    return store.slot_of(tmp_path, ("m", "e"), IDENTITY, ("data", "de-en"), READS)


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> bytes:
    return file_of(fill(tmp_path_factory.mktemp("reference"), [list(range(40))])).read_bytes()


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([list(range(20)), list(range(20, 40))], id="two chunks"),
        pytest.param([[index] for index in range(40)], id="chunks of one"),
        pytest.param([list(range(39, -1, -1))], id="other order"),
        pytest.param([list(range(30)), list(range(10, 40))], id="chunks that overlap"),
    ],
)
def test_the_file_does_not_depend_on_how_it_came_about(chunks, reference, tmp_path):
    place = fill(tmp_path, chunks)
    assert file_of(place).read_bytes() == reference


@pytest.mark.parametrize("group_rows", [8, 1000], ids=["five row groups", "one"])
def test_rows_come_back_exactly_in_any_order_and_repeated(tmp_path, monkeypatch, group_rows):
    monkeypatch.setattr(stored_tables, "GROUP_ROWS", group_rows)
    place = fill(tmp_path, [list(range(40))])
    assert place.missing(KEYS) == []
    asked = [7, 3, 3, 39, *range(40)]
    loaded = place.load([KEYS[index] for index in asked])
    assert loaded.base_scores.tolist() == [ROWS[index].base_score for index in asked]
    for row, index in enumerate(asked):
        assert loaded.ground_truth[row].tobytes() == ROWS[index].attributions["reference"].tobytes()
        assert loaded.hypothesis[row].tobytes() == ROWS[index].attributions["hypothesis"].tobytes()


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_scores_alone_have_an_empty_row_of_attributions_each(count):
    found = store.AttributionSet(np.ones(count), {})
    for side in (found.hypothesis, found.ground_truth):
        assert side.lengths.tolist() == [0] * count


def test_repeated_keys_are_missing_once(place):
    assert place.missing([KEYS[0], KEYS[1], KEYS[0]]) == [0, 1]


def test_another_identity_has_another_folder(tmp_path):
    one = store.slot_of(tmp_path, ("m", "e"), IDENTITY, ("data", "de-en"), READS)
    other = store.slot_of(tmp_path, ("m", "e"), {**IDENTITY, "seed": None}, ("data", "de-en"), READS)
    assert one.parts.parent != other.parts.parent


def flips(content: bytes) -> list[int]:
    return random.Random(4).sample(range(len(content)), 120)


def test_a_flipped_bit_never_passes_as_data(place, reference):
    place.path.parent.mkdir(parents=True)
    noticed = 0
    for position in flips(reference):
        damaged = bytearray(reference)
        damaged[position] ^= 1 << (position % 8)
        place.path.write_bytes(bytes(damaged))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            table = next(stored_tables.read(place.path, place.identity, READS), None)
        if table is None:
            noticed += 1
            assert "is damaged" in str(seen[0].message)
        else:  # a byte that carries no value, such as the name of the writing program
            assert table.equals(pq.read_table(pa.BufferReader(reference)))
    assert noticed > 80


@pytest.mark.parametrize("kept", [0, 3, 100, 0.5, -1], ids=["empty", "3 bytes", "100 bytes", "half", "all but one"])
def test_a_truncated_file_is_noticed_and_replaced(kept, reference, tmp_path):
    place = fill(tmp_path, [list(range(40))])
    end = int(len(reference) * kept) if isinstance(kept, float) else kept
    file_of(place).write_bytes(reference[:end])
    with pytest.warns(UserWarning, match="is damaged"):
        assert place.missing(KEYS) == list(range(40))
    place.add(ROWS)
    assert file_of(place).read_bytes() == reference


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (99, r"written by a newer bmx_grid \(store version 99.* Update bmx_grid, or choose another cache_dir"),
        (3, r"written by an earlier bmx_grid \(store version 3.* choose another cache_dir"),
    ],
    ids=["newer", "earlier"],
)
def test_a_file_of_another_version_is_refused_not_replaced(tmp_path, version, said):
    place = fill(tmp_path, [list(range(40))])
    with_header(place, {"version": version})
    file = file_of(place)
    before = file.read_bytes()
    for act in (lambda: place.missing(KEYS), lambda: (place.add(ROWS[:1]), place.merge())):
        with pytest.raises(StoreError, match=said):
            act()
    assert file.read_bytes() == before


def with_header(place: store.Slot, more: dict) -> None:
    """Write the file again with another header."""
    file = file_of(place)
    header = json.loads(pq.ParquetFile(file).metadata.metadata[b"bmx_grid"]) | more
    pq.write_table(pq.read_table(file).replace_schema_metadata({"bmx_grid": json.dumps(header)}), file)


def test_a_folder_that_cannot_be_written_is_named(place, tmp_path):
    (tmp_path / "attributions").write_text("a file in the way")
    with pytest.raises(StoreError, match=r"cannot write .*\.parquet: .* cache_dir="):
        place.add(ROWS[:2])


def test_a_folder_in_the_place_of_a_chunk_or_file_is_named(tmp_path):
    place = fill(tmp_path, [[0]])
    (place.parts / "0.parquet").mkdir(parents=True)
    for act in (place.merge, lambda: place.missing(KEYS)):
        with pytest.raises(StoreError, match="is a folder where a file should be"):
            act()


def test_a_merge_that_cannot_remove_says_so(place, monkeypatch):
    place.add(ROWS[:2])
    place.add(ROWS[2:4])

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(store, "remove", refuse)
    with pytest.raises(StoreError, match=r"cannot remove .*: Read-only file system.* cache_dir"):
        place.merge()


def _fill_in_chunks(folder: str, start: int) -> None:
    for index in range(start, start + 25, 5):
        fill(Path(folder), [list(range(index, index + 5))])


def test_two_processes_on_one_slot_lose_and_double_nothing(place, tmp_path, reference):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill_in_chunks, args=(str(tmp_path), start)) for start in (0, 15)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    place.merge()
    assert file_of(place).read_bytes() == reference


def test_the_file_of_an_earlier_version_is_read_and_merged(place, reference):
    place.path.parent.mkdir(parents=True)
    place.path.write_bytes(reference)
    assert place.missing(KEYS) == []
    place.add([explanation(40)])
    place.merge()
    assert not place.path.exists()
    assert place.missing([*KEYS, explanation(40).key]) == []


def with_statistics(number: int) -> Explanation:
    return dataclasses.replace(explanation(number), statistics=np.array([number, 2.5, number**2], dtype=float))


def test_statistics_come_back_with_their_segments(place, tmp_path):
    place.add([with_statistics(number) for number in range(10)])
    place.merge()
    found = place.load([KEYS[index] for index in (7, 3, 3)])
    assert found.statistics.tolist() == [[7, 2.5, 49], [3, 2.5, 9], [3, 2.5, 9]]
    assert fill(tmp_path / "without", [[0]]).load(KEYS[:1]).statistics is None


def test_statistics_that_were_changed_on_disk_are_noticed(place):
    place.add([with_statistics(number) for number in range(3)])
    place.merge()
    table = pq.read_table(file_of(place))
    metadata = pq.ParquetFile(file_of(place)).metadata.metadata
    changed = table.set_column(table.column_names.index("statistics"), "statistics", pa.array([[9.0, 9, 9]] * 3))
    pq.write_table(changed.replace_schema_metadata({"bmx_grid": metadata[b"bmx_grid"]}), file_of(place))
    with pytest.warns(UserWarning, match="do not agree with their digest"):
        assert place.missing(KEYS[:3]) == [0, 1, 2]


@pytest.fixture
def grouped(monkeypatch, tmp_path) -> store.Slot:
    """The 40 rows in a file of five row groups."""
    monkeypatch.setattr(stored_tables, "GROUP_ROWS", 8)
    return fill(tmp_path, [list(range(20)), list(range(20, 40))])


def test_a_large_file_has_row_groups_and_does_not_depend_on_how_it_came_about(grouped, tmp_path):
    assert pq.ParquetFile(file_of(grouped)).num_row_groups == 5
    other = fill(tmp_path / "other", [[index] for index in range(39, -1, -1)])
    assert file_of(other).read_bytes() == file_of(grouped).read_bytes()
    half = fill(tmp_path / "half", [list(range(0, 40, 2))])
    assert half.missing(KEYS) == list(range(1, 40, 2))
    assert file_of(fill(tmp_path / "half", [list(range(40))])).read_bytes() == file_of(grouped).read_bytes()


def test_damage_costs_its_row_group_alone(grouped):
    intact = file_of(grouped).read_bytes()
    third = pq.ParquetFile(file_of(grouped)).metadata.row_group(2).column(1)
    damaged = bytearray(intact)
    damaged[third.data_page_offset + third.total_compressed_size - 3] ^= 4
    file_of(grouped).write_bytes(bytes(damaged))
    with pytest.warns(UserWarning, match=r"row group 3 of .* is damaged"):
        missing = grouped.missing(KEYS)
    assert sorted(KEYS[row] for row in missing) == sorted(KEYS)[16:24]
    grouped.add([ROWS[row] for row in missing])
    with pytest.warns(UserWarning, match=r"row group 3 of .* is damaged"):
        grouped.merge()
    assert file_of(grouped).read_bytes() == intact


def test_a_row_group_that_was_exchanged_is_noticed(grouped):
    """Another file's row group is intact as far as Parquet knows."""
    file = pq.ParquetFile(file_of(grouped))
    tables = [file.read_row_group(number) for number in (0, 1, 1, 3, 4)]
    with pq.ParquetWriter(file_of(grouped), tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
        writer.add_key_value_metadata({"bmx_grid": file.metadata.metadata[b"bmx_grid"].decode()})
    with pytest.warns(UserWarning, match="row group 3 of .* do not agree with their digest"):
        assert sorted(KEYS[row] for row in grouped.missing(KEYS)) == sorted(KEYS)[16:24]
