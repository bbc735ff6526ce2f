"""Downloading a data set: only checked files arrive, each in its place; interruptions are tried again."""

import gzip
import os
import socket
import tarfile

import pytest
from packed import pack

from bmx_grid.core.errors import BmxError, ConfigError, DataError, DataMissingError
from bmx_grid.datasets import download as module
from bmx_grid.datasets.download import download, fetch, file_states

TOP = "wmt-qe-2022-data-0123456789"
FOLDER = "wmt-qe-2022-data/test_data-gold_labels/task1_da/km-en"
MT = f"{FOLDER}/test.2022.mt"
FILES = {
    f"{FOLDER}/test.2022.src": "ប្រភព\n".encode(),
    MT: b"hypothesis\n",
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


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(module, "WAIT_S", 0.001)


@pytest.fixture
def get(km_en, tmp_path):
    return lambda: download([km_en], tmp_path / "data")


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_only_what_is_needed_arrives_and_what_differs_is_replaced(km_en, publisher, tmp_path):
    publisher.content = pack({f"{TOP}/LICENSE": "no one asked", **in_archive(FILES)})
    assert download([km_en, km_en], tmp_path / "data") == 3
    assert files_below(tmp_path / "data") == sorted(FILES)
    assert km_en.load_segments(tmp_path / "data", "km-en").segments[0].source == "ប្រភព"
    assert download([km_en], tmp_path / "data") == 0, "verified files are not fetched again"
    assert publisher.requests == 1, "nor is an archive that two data sets share"
    (tmp_path / "data" / MT).write_bytes(b"hypothesiz\n")
    assert [entry.path for entry, state in file_states(km_en, tmp_path / "data").items() if state == "differs"] == [MT]
    assert download([km_en], tmp_path / "data") == 1
    assert (tmp_path / "data" / MT).read_bytes() == FILES[MT]


@pytest.mark.parametrize("changed", [b"hypothesiz\n", b"hypothesis \n"], ids=["same-size", "other-size"])
def test_another_file_than_the_published_one_is_not_kept(get, publisher, tmp_path, changed):
    publisher.content = pack(in_archive({**FILES, MT: changed}))
    with pytest.raises(DataError, match=rf"test\.2022\.mt' has {len(changed)} bytes and the SHA-256 .* was not kept"):
        get()
    assert MT not in files_below(tmp_path / "data")
    assert not [name for name in files_below(tmp_path / "data") if "part" in name or "tar.gz" in name]
    publisher.content = pack(in_archive(FILES))
    get()
    assert files_below(tmp_path / "data") == sorted(FILES), "the next attempt starts afresh"


WANTED = f"{TOP}/{MT.partition('/')[2]}"


def member(kind, target="", name=WANTED):
    member_of_archive = tarfile.TarInfo(name)
    member_of_archive.type, member_of_archive.linkname = kind, target
    return member_of_archive


@pytest.mark.parametrize(
    ("files", "others", "reason"),
    [
        pytest.param({f"{TOP}/../../evil": "x"}, (), "outside of its folder", id="climbs-out"),
        pytest.param({"/tmp/bmx-evil": "x"}, (), "outside of its folder", id="absolute"),
        pytest.param({}, (member(tarfile.SYMTYPE, "/etc/passwd"),), "link or a device", id="symlink"),
        pytest.param({}, (member(tarfile.CHRTYPE),), "link or a device", id="device"),
    ],
)
def test_an_archive_that_tries_to_escape_is_refused(get, publisher, tmp_path, files, others, reason):
    publisher.content = pack({**files, **in_archive(FILES)}, others)
    with pytest.raises(DataError, match=reason):
        get()
    assert files_below(tmp_path) == ["manifest.tsv"]


def test_links_that_nobody_wants_are_not_made(get, publisher, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    # A folder link first, then a file through it: the classic way out.
    link = member(tarfile.SYMTYPE, str(outside), f"{TOP}/test_data-gold_labels")
    publisher.content = pack(in_archive(FILES), (link,))
    get()
    assert not list(outside.iterdir())
    assert files_below(tmp_path / "data") == sorted(FILES)


def test_archives_that_lack_or_damage_files_are_refused(get, reader, publisher, checksums, tmp_path):
    raw = pack(in_archive(FILES))
    for publisher.content in (raw[: len(raw) // 2], b"<html>rate limit</html>"):
        with pytest.raises(DataError, match="damaged|lacks"):
            get()
    publisher.content = pack(in_archive(dict([*FILES.items()][:1])))
    with pytest.raises(DataError, match="lacks 2 of 3"):
        get()
    other_reader = reader("wmt22_qe", language_pairs=["km-en"], sources=[{"repository": "a/b", "revision": "1"}])
    with pytest.raises(DataError, match=r"dataset\.wmt22_qe\.sources"):
        download([other_reader], tmp_path)
    checksums({})
    with pytest.raises(DataError, match="no checksum is known"):
        download([reader("mlqe_pe")], tmp_path)


@pytest.mark.parametrize(
    ("repository", "revision"),
    [("a/..", "1"), ("../../a", "1"), ("a", "1"), ("a/b", "../../evil"), ("a/b", "x" * 300), ("a/b", "1\0")],
    ids=["climbs", "three-parts", "no-owner", "revision-climbs", "long-revision", "nul"],
)
def test_sources_that_cannot_be_are_refused_when_the_option_is_built(reader, repository, revision):
    with pytest.raises(ConfigError, match="names no file; write owner/name"):
        reader("wmt22_qe", language_pairs=["km-en"], sources=[{"repository": repository, "revision": revision}])


def test_bombs_are_not_unpacked_to_their_end(get, publisher, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "REPOSITORY_BYTES", 1_000_000)
    publisher.content = pack({f"{TOP}/zeros": bytes(3_000_000), **in_archive(FILES)})
    with pytest.raises(DataError, match="refused, the archive unpacks to more than 1,000,000 bytes"):
        get()
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 5_000_000
    publisher.content = gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + b"1" * 5_000_000, 1)
    with pytest.raises(DataError, match="refused, a header of more than 1,048,576 bytes"):
        get()
    assert files_below(tmp_path / "data") == []


@pytest.mark.parametrize("place", ["data", "data/wmt-qe-2022-data"])
def test_a_place_that_cannot_be_written_is_named(get, publisher, tmp_path, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("a file where a folder should be")
    publisher.content = pack(in_archive(FILES))
    with pytest.raises(BmxError, match="cannot write .*data_dir="):
        get()


@pytest.mark.parametrize("chunked", [False, True], ids=["with-length", "length-not-told"])
@pytest.mark.parametrize("faults", [["drop", "cut"], [503, 429]], ids=str)
def test_fetching_tries_again_after_a_fault(publisher, tmp_path, faults, chunked):
    publisher.content = os.urandom(300_000)
    publisher.faults, publisher.chunked = list(faults), chunked
    fetch(publisher.address, tmp_path / "a.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == publisher.content
    assert publisher.requests == len(faults) + 1


def test_a_refusal_is_final(publisher, tmp_path):
    for status in (403, 404):
        publisher.faults, publisher.requests = [status], 0
        with pytest.raises(DataMissingError, match=rf"archive\.tar\.gz: the server answers {status}"):
            fetch(publisher.address, tmp_path / "a.tar.gz")
        assert publisher.requests == 1


def test_a_server_that_is_down_is_asked_five_times(tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataMissingError, match="offline"):
        fetch(f"http://127.0.0.1:{port}/a", tmp_path / "a.tar.gz")
    assert capsys.readouterr().err.count("trying again") == 4


@pytest.mark.parametrize("location", ["http://[::1", "file:///etc/passwd", "http:///nowhere"])
def test_a_redirection_to_what_is_no_address_is_not_followed(publisher, tmp_path, location):
    publisher.redirect = location
    with pytest.raises(DataMissingError):
        fetch(publisher.address, tmp_path / "a.tar.gz")
    assert not (tmp_path / "a.tar.gz").exists()
