"""Addresses of object stores: what can be used, what is said where one cannot, and what nobody gets to see."""

import subprocess
import sys
import uuid
from pathlib import Path

import fsspec
import pytest

from bmx_grid.core.errors import BmxError, ConfigError, StoreError
from bmx_grid.core.storage import Address, check, listed, opened, place, remove, replacing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("bmx_cache", Path("bmx_cache"), id="a folder"),
        pytest.param("~/x", Path.home() / "x", id="the home folder"),
        pytest.param("file:///srv/cache", Path("/srv/cache"), id="a path written as an address"),
        pytest.param("s3://bucket/prefix/", Address("s3://bucket/prefix"), id="a slash at the end"),
        pytest.param("s3://", Address("s3://"), id="nothing but a protocol"),
    ],
)
def test_a_place_is_a_path_or_an_address(text, expected):
    assert place(text) == expected


def test_an_address_is_put_together_as_a_path_is():
    one = Address("s3://bucket/prefix") / "attributions" / "data.de-en.parquet"
    assert one.url == "s3://bucket/prefix/attributions/data.de-en.parquet"
    assert one.with_suffix(".parts").url == "s3://bucket/prefix/attributions/data.de-en.parts"
    assert (one.name, one.parent.url, one.protocol) == ("data.de-en.parquet", "s3://bucket/prefix/attributions", "s3")


def test_secrets_are_masked_in_whatever_is_printed():
    one = Address("sftp://me:geheim@host/cache") / "x"
    assert "geheim" not in f"{one} {one!r} {[one]}"
    assert str(one) == "sftp://me:***@host/cache/x"


REFUSED = {
    "an unknown protocol": ("foo://x/y", "Protocol not known: foo. Name a folder, or an address such as s3://"),
    "no bucket": ("s3://", "s3:// names no folder of an object store; write an address such as s3://BUCKET/PREFIX"),
    "a query": ("s3://bucket/x?password=geheim", r"\?password=\*\*\* names no folder of an object store"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_address_is_refused_in_a_sentence(text, said):
    with pytest.raises(ConfigError, match=said) as caught:
        check(place(text), writes=True)
    assert "\n" not in str(caught.value) and "geheim" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    known = sys.modules["fsspec.registry"]._registry
    monkeypatch.delitem(known, "s3", raising=False)  # of a test before, in this process
    with pytest.raises(ConfigError, match=r'is not installed: pip install "bmx-grid\[s3\]"'):
        check(place("s3://bucket/x"), writes=True)


class Memory:
    """A file system that answers as the test says; `calls` of `ls` and `pipe_file`."""

    def __init__(self, act) -> None:
        self.calls, self._act = [], act

    def ls(self, path: str, detail: bool):
        self.calls.append("ls")
        return self._act()

    def pipe_file(self, path: str, content: bytes) -> None:
        self.calls.append("pipe_file")
        self._act()


def raising(error: BaseException):
    def act():
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(PermissionError(13, "Access Denied"), "cannot be used: Access Denied. Check", id="no permission"),
        pytest.param(ConnectionRefusedError(111, "refused"), "cannot be used: refused. Check", id="refused"),
        pytest.param(RuntimeError("two\nlines of s3://a:geheim@b."), "two lines of s3://a:.*@b. Check", id="own error"),
        pytest.param(KeyError(), "cannot be used: KeyError. Check", id="an error without words"),
    ],
)  # fmt: skip
def test_an_error_of_a_store_is_one_sentence(error, said, monkeypatch):
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda *_, **__: (Memory(raising(error)), "bucket/x"))
    with pytest.raises(StoreError, match=said) as caught:
        check(Address("s3://bucket/x"), writes=True)
    assert "\n" not in str(caught.value) and "geheim" not in str(caught.value)


def test_a_file_system_that_cannot_be_made_is_one_sentence(monkeypatch):
    """Some connect when they are made."""
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda *_, **__: raising(RuntimeError("no route to host"))())
    with pytest.raises(StoreError, match=r"sftp://me:\*\*\*@host/x cannot be used: no route to host\. Check"):
        check(Address("sftp://me:geheim@host/x"), writes=True)


@pytest.mark.parametrize("writes", [True, False])
def test_a_dry_run_writes_nothing(writes, monkeypatch):
    fs = Memory(lambda: [])
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda *_, **__: (fs, "bucket/x"))
    check(Address("s3://bucket/x"), writes=writes)
    assert fs.calls == (["ls", "pipe_file"] if writes else ["ls"])


@pytest.fixture(params=["folder", "address"])
def folder(request, tmp_path):
    return tmp_path / "x" if request.param == "folder" else Address(f"memory://{uuid.uuid4().hex}") / "x"


def test_a_file_is_there_when_its_block_has_succeeded(folder):
    assert listed(folder, ".parquet") == []
    with replacing(folder / "b.parquet") as part:
        part.write_bytes(b"one")
        assert listed(folder, ".parquet") == []
    with (
        pytest.raises(StoreError, match="write .*c.parquet: No such file"),
        replacing(folder / "c.parquet") as part,
    ):
        (part.parent / "x" / "y").write_bytes(b"two")
    with replacing(folder / "a.parquet") as part:
        part.write_bytes(b"three")
    assert listed(folder, ".parquet") == [folder / "a.parquet", folder / "b.parquet"]
    with opened(folder / "b.parquet") as source:
        assert source.read() == b"one"
    for _ in range(2):
        remove(folder / "b.parquet")
    with pytest.raises(FileNotFoundError), opened(folder / "b.parquet"):
        pass


def test_a_failed_upload_names_the_object(monkeypatch):
    one = Address(f"memory://{uuid.uuid4().hex}") / "x"
    monkeypatch.setattr(type(fsspec.filesystem("memory")), "pipe_file", lambda *_: raising(OSError(28, "quota"))())
    with pytest.raises(BmxError, match=r"cannot write memory://.*/x: quota\. Check"), replacing(one) as part:
        part.write_bytes(b"")


def test_a_folder_needs_no_fsspec():
    """Importing it would take a worker longer than the packages that it needs."""
    program = (
        "import sys; from bmx_grid.core.storage import check, listed, place, replacing; "
        "check(place('x'), writes=True); listed(place('x'), '.y'); sys.exit('fsspec' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
