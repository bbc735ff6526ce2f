"""Fetch one file over HTTP; an interrupted download is resumed."""

from __future__ import annotations

import http.client
import os
import re
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from bmx_grid._version import __version__
from bmx_grid.datasets.base import check_address
from bmx_grid.errors import DataError, DataMissingError
from bmx_grid.progress import BYTES, Progress

CHUNK = 1 << 16
FINAL = (400, 401, 403, 404, 405, 410)  # status codes for which retrying is useless


class _Interrupted(Exception):
    """The connection failed, or ended before the file did."""


@dataclass(frozen=True)
class Retry:
    """attempts: how many in a row may fail without a new byte; the wait doubles after each, from wait_s seconds."""

    attempts: int = 5
    wait_s: float = 1.0
    timeout_s: float = 30.0


def fetch(address: str, target: Path, retry: Retry | None = None) -> None:
    """Download `address` to `target`, going on from `target`.part where the server allows it.

    A part is continued only while the server says that its file is unchanged (If-Range with the ETag
    or the date that came with the part); otherwise the download starts again. `target` appears in
    one step when complete. Raises ConfigError for an address that is malformed or not http(s),
    DataMissingError when the server refuses, cannot be reached or redirects to an invalid address,
    DataError when `target` cannot be written.
    """
    check_address(address, "the archive")
    retry = retry or Retry()
    part = target.with_name(target.name + ".part")
    failures = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            before = _size(part)
            try:
                _fetch_rest(address, part, retry.timeout_s)
                break
            except _Interrupted as error:
                failures = 1 if _size(part) > before else failures + 1
                if failures >= retry.attempts:
                    raise DataMissingError(_unreachable(address, str(error), part)) from error
                wait = retry.wait_s * 2 ** (failures - 1)
                print(f"  {error}; trying again in {wait:g} s", file=sys.stderr, flush=True)
                time.sleep(wait)
        os.replace(part, target)
        _validator(part).unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot write {target}: {error.strerror or error}; choose another data_dir=DIR.") from error


def _fetch_rest(address: str, part: Path, timeout_s: float) -> None:
    """One request for what `part` still lacks."""
    have, validator = _size(part), _validator(part)
    headers = {"User-Agent": f"bmx-grid/{__version__}", "Accept-Encoding": "identity"}
    known = validator.read_text(encoding="latin-1") if validator.is_file() else ""
    if have and _fits_header(known):
        headers |= {"Range": f"bytes={have}-", "If-Range": known}
    try:
        response = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=timeout_s)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in FINAL:
            raise DataMissingError(f"{address}: the server answers {error.code} {error.reason}.") from error
        if error.code == 416:  # the part is longer than the file, so it is of another version
            part.unlink(missing_ok=True)
        raise _Interrupted(f"the server answers {error.code} {error.reason}") from error
    except ValueError as error:  # the target of a redirect: the address itself was checked
        raise DataMissingError(f"{address}: the server redirects to an invalid address ({error}).") from error
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        raise _Interrupted(f"no connection ({getattr(error, 'reason', error)})") from error

    with response:
        start, total = _extent(response)
        if start not in (0, have):
            part.unlink(missing_ok=True)
            raise _Interrupted(f"the server sent bytes from {start}, not from {have}")
        if start == 0:
            known = response.headers.get("ETag", "")
            # A weak ETag promises no equal bytes; without a promise a part cannot be continued.
            known = response.headers.get("Last-Modified", "") if not known or known.startswith("W/") else known
            validator.unlink(missing_ok=True)
            if _fits_header(known):
                validator.write_text(known, encoding="ascii")
        shown = Progress(total, f"  fetching {part.stem}", BYTES, start)
        with part.open("ab" if start else "wb") as out, shown as progress:
            while True:
                try:
                    chunk = response.read1(CHUNK)
                except (http.client.HTTPException, OSError) as error:
                    raise _Interrupted(f"the connection broke ({error})") from error
                if not chunk:
                    break
                out.write(chunk)
                progress.advance(len(chunk))
    if total is not None and _size(part) != total:
        raise _Interrupted(f"the connection ended after {_size(part):,} of {total:,} bytes")


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """(first byte of the answer, size of the whole file or None where the server does not say)."""
    length = response.headers.get("Content-Length")
    if response.status != 206:
        return 0, int(length) if length and re.fullmatch(r"[0-9]{1,18}", length) else None
    match = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)", response.headers.get("Content-Range", ""))
    if match is None:
        return -1, None
    return int(match[1]), None if match[2] == "*" else int(match[2])


def _fits_header(validator: str) -> bool:
    """Whether an ETag or a date can be sent back; a damaged or foreign one cannot."""
    return validator != "" and validator.isascii() and validator.isprintable()


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _validator(part: Path) -> Path:
    """Where the ETag or date of a part is kept."""
    return part.with_name(part.name + ".validator")


def _unreachable(address: str, reason: str, part: Path) -> str:
    kept = f" The received part is kept in {part}; the same command resumes from there." if _size(part) else ""
    return (
        f"{address} could not be fetched: {reason}. Is this machine offline, or behind a proxy "
        f"(HTTPS_PROXY)?{kept} The archive can also be fetched elsewhere and unpacked below data_dir, "
        "one folder per repository without the revision in its name."
    )
