"""Files written in one step, in a folder and in an object store; addresses: what can be used, and what nobody sees."""

import subprocess
import sys
import uuid
from pathlib import Path

import fsspec
import pytest

from bmx_grid.core.configure import convert
from bmx_grid.core.errors import BmxError, ConfigError, StoreError
from bmx_grid.core.storage import Address, Place, check_place, files_of, open_for_arrow, place, remove, replacing


def test_a_place_is_a_path_or_an_address():
    assert place("bmx_cache") == Path("bmx_cache")
    assert place("~/x") == Path.home() / "x"
    assert place("file:///srv/cache") == Path("/srv/cache")
    assert place("s3://bucket/prefix/") == Address("s3://bucket/prefix")


def test_an_address_is_put_together_as_a_path_is_and_masks_its_secrets():
    address = Address("sftp://me:geheim@host/cache") / "attributions" / "data.de-en.parquet"
    assert address.url == "sftp://me:geheim@host/cache/attributions/data.de-en.parquet"
    assert "geheim" not in f"{address} {address!r} {[address]}"
    assert str(address) == "sftp://me:***@host/cache/attributions/data.de-en.parquet"


REFUSED = {
    "an unknown protocol": ("foo://x/y", "Protocol not known: foo.* an address such as s3://"),
    "no bucket": ("s3://", "s3:// names no folder of an object store; write an address such as s3://BUCKET/PREFIX"),
    "a query": ("s3://bucket/x?password=geheim", r"\?password=\*\*\* names no folder of an object store"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_address_is_refused_in_a_sentence(text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        check_place(place(text))
    assert "\n" not in str(caught.value) and "geheim" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)  # of a test before
    with pytest.raises(ConfigError, match=r'Install the package .*pip install "\.\[s3\]"'):
        check_place(place("s3://bucket/x"))


def raising(error: BaseException):
    def act(*_, **__):
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(PermissionError(13, "Access Denied"), "use s3://bucket/x: Access Denied. Check", id="OSError"),
        pytest.param(RuntimeError("two\nlines of s3://a:geheim@b."), "two lines of s3://a:.*@b. Check", id="own error"),
        pytest.param(KeyError(), "use s3://bucket/x: KeyError. Check", id="an error without words"),
    ],
)
def test_an_error_of_a_store_is_one_sentence(error, message, monkeypatch):
    fs = type("FileSystem", (), {"pipe_file": raising(error)})()
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda *_, **__: (fs, "bucket/x"))
    with pytest.raises(StoreError, match=message) as caught:
        check_place(Address("s3://bucket/x"))
    assert "\n" not in str(caught.value) and "geheim" not in str(caught.value)


@pytest.fixture(params=["folder", "address"])
def folder(request, tmp_path):
    return tmp_path / "x" if request.param == "folder" else Address(f"memory://{uuid.uuid4().hex}") / "x"


def test_a_file_is_there_when_its_block_has_succeeded(folder):
    assert files_of(folder, ".parquet") == []
    with replacing(folder / "b.parquet") as part:
        part.write_bytes(b"one")
        assert files_of(folder, ".parquet") == []
    with pytest.raises(StoreError, match="write .*c.parquet: No such file"), replacing(folder / "c.parquet") as part:
        (part.parent / "x" / "y").write_bytes(b"two")
    with replacing(folder / "a.parquet") as part:
        part.write_bytes(b"three")
    assert files_of(folder, ".parquet") == [folder / "a.parquet", folder / "b.parquet"]
    with open_for_arrow(folder / "b.parquet") as source:
        assert source.read() == b"one"
    for _ in range(2):
        remove(folder / "b.parquet")
    with pytest.raises(FileNotFoundError), open_for_arrow(folder / "b.parquet"):
        pass


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"), replacing(tmp_path / "file" / "x") as part:
        part.write_text("")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    address = Address(f"memory://{uuid.uuid4().hex}") / "x"
    monkeypatch.setattr(type(fsspec.filesystem("memory")), "put_file", raising(OSError(28, "quota")))
    with pytest.raises(BmxError, match=r"cannot write memory://.*/x: quota\. Check"), replacing(address) as part:
        part.write_bytes(b"")


def test_a_folder_needs_no_fsspec():
    """Importing it would take a worker longer than the packages that it needs."""
    program = (
        "import sys; from bmx_grid.core.storage import check_place, files_of, place, replacing; "
        "check_place(place('x')); files_of(place('x'), '.y'); sys.exit('fsspec' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


FILES = {
    "file:/srv/cache": "/srv/cache",
    "file:///srv/cache": "/srv/cache",
    "FILE:/srv/a b": "/srv/a b",
    "file://localhost/srv/cache": "/srv/cache",
    "run:1/x": "run:1/x",
    "C:/x": "C:/x",
}


@pytest.mark.parametrize("text", FILES)
def test_a_file_address_is_a_path(text):
    """The forms of RFC 8089, appendix B: with no, an empty and a local authority."""
    assert place(text) == Path(FILES[text])
    assert convert(text, Path, "output_dir") == Path(FILES[text])


@pytest.mark.parametrize(
    "text", ["file:srv", "file:", "file://", "file://host/srv", "file:////host/srv", "s3:/bucket/x"]
)
def test_what_is_half_an_address_makes_no_folder(text):
    with pytest.raises(ConfigError, match=f"^cache_dir: '{text}' is n"):
        convert(text, Place, "cache_dir")
