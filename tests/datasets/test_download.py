"""Downloading a data set: only checked files arrive, each in its place, nothing outside of it."""

import tarfile

import pytest

from bmx_grid.core.errors import BmxError, ConfigError, DataError
from bmx_grid.datasets.download import check, download

TOP = "wmt-qe-2022-data-0123456789"
FOLDER = "wmt-qe-2022-data/test_data-gold_labels/task1_da/km-en"
FILES = {
    f"{FOLDER}/test.2022.src": "ប្រភព\n".encode(),
    f"{FOLDER}/test.2022.mt": b"hypothesis\n",
    f"{FOLDER}/test2022.km-en.da_score": b"0.5\n",
}


def in_archive(files):
    """Paths below data_dir -> member names, with the top folder that an archive has."""
    return {path.replace("wmt-qe-2022-data", TOP, 1): raw for path, raw in files.items()}


@pytest.fixture
def km_en(reader, publisher, checksums):
    checksums(FILES)
    source = {"repository": "anyone/wmt-qe-2022-data", "revision": "0123456789"}
    return reader("wmt22_qe", language_pairs=["km-en"], sources=[source])


@pytest.fixture
def get(km_en, tmp_path, monkeypatch):
    monkeypatch.setattr("bmx_grid.datasets.download.WAIT_S", 0.001)
    return lambda: download([km_en], tmp_path / "data")


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_only_what_is_needed_arrives(get, publisher, pack, tmp_path, km_en):
    publisher.content = pack({f"{TOP}/LICENSE": "no one asked", **in_archive(FILES)})
    assert get() == 3
    assert files_below(tmp_path / "data") == sorted(FILES)
    assert km_en.read(tmp_path / "data", "km-en").segments[0].source == "ប្រភព"
    assert get() == 0, "verified files are not fetched again"
    assert publisher.requests == 1


def test_an_archive_that_two_data_sets_share_is_fetched_once(km_en, publisher, pack, tmp_path):
    publisher.content = pack(in_archive(FILES))
    assert download([km_en, km_en], tmp_path / "data") == 3
    assert publisher.requests == 1


def test_a_file_that_differs_is_replaced(get, publisher, pack, tmp_path, km_en):
    publisher.content = pack(in_archive(FILES))
    get()
    damaged = tmp_path / "data" / FOLDER / "test.2022.mt"
    damaged.write_bytes(b"hypothesiz\n")
    states = check(km_en, tmp_path / "data")
    assert [entry.path for entry, state in states.items() if state == "differs"] == [f"{FOLDER}/test.2022.mt"]
    assert get() == 1
    assert damaged.read_bytes() == b"hypothesis\n"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param(b"hypothesiz\n", "SHA-256", id="same-size-other-bytes"),
        pytest.param(b"hypothesis \n", "has 12 bytes and .*expected 11", id="other-size"),
    ],
)
def test_wrong_checksum(get, publisher, pack, tmp_path, changed, reason):
    publisher.content = pack(in_archive({**FILES, f"{FOLDER}/test.2022.mt": changed}))
    with pytest.raises(DataError, match=reason) as error:
        get()
    assert "test.2022.mt" in str(error.value)
    assert f"{FOLDER}/test.2022.mt" not in files_below(tmp_path / "data")
    assert not [name for name in files_below(tmp_path / "data") if "part" in name or "tar.gz" in name]
    publisher.content = pack(in_archive(FILES))
    get()
    assert files_below(tmp_path / "data") == sorted(FILES), "the next attempt starts afresh"


def member(name, kind, target=""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


@pytest.mark.parametrize(
    ("files", "others", "reason"),
    [
        pytest.param({f"{TOP}/../../evil": "x"}, (), "outside of its folder", id="climbs-out"),
        pytest.param({"/tmp/bmx-evil": "x"}, (), "outside of its folder", id="absolute"),
        pytest.param({f"{TOP}/a/../b": "x"}, (), "outside of its folder", id="dots-inside"),
        pytest.param(
            {},
            (member(f"{TOP}/test_data-gold_labels/task1_da/km-en/test.2022.mt", tarfile.SYMTYPE, "/etc/passwd"),),
            "link or a device",
            id="symlink-for-a-wanted-file",
        ),
        pytest.param(
            {},
            (member(f"{TOP}/test_data-gold_labels/task1_da/km-en/test.2022.mt", tarfile.LNKTYPE, f"{TOP}/LICENSE"),),
            "link or a device",
            id="hard-link-for-a-wanted-file",
        ),
        pytest.param(
            {},
            (member(f"{TOP}/test_data-gold_labels/task1_da/km-en/test.2022.mt", tarfile.CHRTYPE),),
            "link or a device",
            id="device-for-a-wanted-file",
        ),
    ],
)
def test_an_archive_that_tries_to_escape(get, publisher, pack, tmp_path, files, others, reason):
    publisher.content = pack({**files, **in_archive(FILES)}, others)
    with pytest.raises(DataError, match=reason):
        get()
    assert files_below(tmp_path) == ["manifest.tsv"]


def test_links_that_nobody_wants_are_not_made(get, publisher, pack, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    # A folder link first, then a file through it: the classic way out.
    link = member(f"{TOP}/test_data-gold_labels", tarfile.SYMTYPE, str(outside))
    publisher.content = pack(in_archive(FILES), (link,))
    get()
    assert not list(outside.iterdir())
    assert files_below(tmp_path / "data") == sorted(FILES)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(lambda raw: raw[: len(raw) // 2], "damaged|lacks", id="truncated"),
        pytest.param(lambda raw: b"<html>rate limit</html>", "damaged", id="a-web-page-instead"),
        pytest.param(lambda raw: raw[:40] + bytes([raw[40] ^ 255]) + raw[41:], "damaged|SHA-256", id="flipped-bits"),
    ],
)
def test_damaged_archive(get, publisher, pack, spoil, reason):
    publisher.content = spoil(pack(in_archive(FILES)))
    with pytest.raises(DataError, match=reason):
        get()


def test_archive_without_a_wanted_file(get, publisher, pack):
    publisher.content = pack(in_archive({f"{FOLDER}/test.2022.src": FILES[f"{FOLDER}/test.2022.src"]}))
    with pytest.raises(DataError, match="lacks 2 of 3"):
        get()


def test_a_file_without_a_known_checksum(reader, checksums, tmp_path):
    checksums({})
    with pytest.raises(DataError, match="no checksum is known"):
        download([reader("mlqe_pe")], tmp_path)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param({"repository": "a/..", "revision": "1"}, "write owner/name", id="repository-climbs"),
        pytest.param({"repository": "../../a", "revision": "1"}, "write owner/name", id="repository-of-three"),
        pytest.param({"repository": "a", "revision": "1"}, "write owner/name", id="no-owner"),
        pytest.param({"repository": "a/.hidden", "revision": "1"}, "write owner/name", id="hidden"),
        pytest.param({"repository": "a/b", "revision": "../../evil"}, "names no file", id="revision-climbs"),
        pytest.param({"repository": "a/b", "revision": "/etc/passwd"}, "names no file", id="absolute-revision"),
        pytest.param({"repository": "a/b", "revision": "x" * 300}, "names no file", id="long-revision"),
        pytest.param({"repository": "a/b", "revision": ""}, "names no file", id="empty-revision"),
        pytest.param({"repository": "a/b", "revision": "1\0"}, "names no file", id="nul"),
    ],
)
def test_sources_that_cannot_be_are_refused_when_the_option_is_built(reader, tmp_path, source, reason):
    with pytest.raises(ConfigError, match=reason):
        reader("wmt22_qe", language_pairs=["km-en"], sources=[source])


def test_a_bomb_among_the_members_is_not_unpacked_to_its_end(get, publisher, pack, monkeypatch, tmp_path):
    monkeypatch.setattr("bmx_grid.datasets.download.ARCHIVE_BYTES", 10_000_000)
    publisher.content = pack({f"{TOP}/zeros": bytes(30_000_000), **in_archive(FILES)})
    with pytest.raises(DataError, match="refused, the archive unpacks to more than 10,000,000 bytes"):
        get()
    assert files_below(tmp_path / "data") == []


def test_a_header_that_would_fill_the_memory_is_refused(get, publisher):
    import gzip

    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 50_000_000
    publisher.content = gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + b"1" * 50_000_000, 1)
    with pytest.raises(DataError, match="refused, a header of more than 1,048,576 bytes"):
        get()


def test_a_file_that_no_source_holds(reader, checksums, tmp_path):
    checksums(FILES)
    other = reader("wmt22_qe", language_pairs=["km-en"], sources=[{"repository": "a/b", "revision": "1"}])
    with pytest.raises(DataError, match=r"dataset\.wmt22_qe\.sources"):
        download([other], tmp_path)


@pytest.mark.parametrize("place", ["data", "data/wmt-qe-2022-data"])
def test_a_place_that_cannot_be_written(get, publisher, pack, tmp_path, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("a file where a folder should be")
    publisher.content = pack(in_archive(FILES))
    with pytest.raises(BmxError, match="cannot write .*data_dir="):
        get()
