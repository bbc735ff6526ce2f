"""A good table under another name, in another packing, with other line ends, headers and numbers, made from a seed.

    for shown, work in inputs(seed=0, count=100, folder=tmp_path):
        work()          # the refusal, "" where the table was read

Each way says what must come of it: the same outputs, a refusal, or either of them. `data show` agrees with a sweep.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import threading
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tools.fuzz.people import _shown, key_of
from tools.fuzz.tables import pick

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import BmxError
from bmx_grid.datasets.base import DatasetReader

Random = np.random.Generator
HEADER = ["id", "system", "source", "reference", "hypothesis", "score"]
TEXTS = [
    "a plain text", "שלום עולם", "مرحبا", "e\u0301 and é", "👩‍👩‍👧‍👦 😀", "漢字かな", "a" + "\u0300" * 30,
    "x" * 3000, "=1+1", "@cmd", "+49 30",
    "<b>bold</b>", "50 % & more", "it's", "a\\nb", "a\u00a0b", "NaN", "null", "None", "0", "true", "-", "…",
]  # fmt: skip
NAMES = [
    "table", "a b", "größe 表", "a=b", "a#b", "50%", "a&b", "it's", 'say "x"', "-x", "--help", "CON", "NUL", "aux.old",
    "x" * 200, ".hidden", "a,b", "[a]", "{a}", "${HOME}", "$(x)", "~", "a;b", "*", "?", "a\\b",
    "e\u0301", "😀", "a:b", "'", "a\tb",
    "!x", "(a)", "s3:x", "null", "1", "true", "a|b", "@x", "…",
]  # fmt: skip


@dataclass
class Made:
    """A file that is made: suffix, content, what must come of it, and settings that read it."""

    suffix: str
    raw: bytes
    expected: str = "same"
    settings: dict[str, Any] = field(default_factory=dict)


Rows = list[dict[str, Any]]


def records(rng: Random) -> Rows:
    """Three sources that two systems translated."""
    return [
        {
            "id": f"s{number // 2}", "system": "AB"[number % 2],
            "source": f"{TEXTS[(number // 2) * 7 % len(TEXTS)]} {number // 2}",
            "reference": f"reference {number // 2}", "hypothesis": f"{pick(rng, TEXTS)} {number}",
            "score": float(rng.integers(-400, 400)) / 4,
        }
        for number in range(6)
    ]  # fmt: skip


def tsv(rows: Rows, end: str = "\n") -> str:
    lines = ["\t".join(rows[0])] + ["\t".join(map(str, row.values())) for row in rows]
    return end.join(lines) + end


def as_csv(rows: Rows, separator: str = ",", end: str = "\n", quoting: Any = csv.QUOTE_MINIMAL) -> str:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    return written.getvalue()


def jsonl(rows: Rows, **how: Any) -> str:
    return "".join(json.dumps(row, **how) + "\n" for row in rows)


def _parquet(rows: Rows, compression: str = "zstd", **types: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: pa.array([row[name] for row in rows]) for name in rows[0]}
    for name, kind in types.items():
        columns[name] = columns[name].cast(kind) if kind != "dictionary" else columns[name].dictionary_encode()
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer, compression=compression)
    return buffer.getvalue()


def _scores(change: Callable[[float], Any]) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, "score": change(row["score"])} for row in rows]


def _one_score(value: Any) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, "score": value if number == 2 else row["score"]} for number, row in enumerate(rows)]


def _headers(change: Callable[[str], str]) -> Callable[[Rows], Rows]:
    return lambda rows: [{change(name): value for name, value in row.items()} for row in rows]


def _zip(raw: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("table.tsv", raw)
    return buffer.getvalue()


def _zst(raw: bytes) -> bytes:
    import pyarrow as pa

    return pa.compress(raw, codec="zstd", asbytes=True)  # type: ignore[no-any-return]


def _mixed_ends(rows: Rows) -> str:
    lines = tsv(rows).split("\n")
    return "".join(line + ("\r\n" if number % 2 else "\n") for number, line in enumerate(lines[:-1]))


def _columns(rows: Rows, count: int) -> str:
    """As TSV, with many empty columns more."""
    lines = tsv(rows).split("\n")[:-1]
    more = "\t".join(f"c{number}" for number in range(count))
    return "".join(f"{line}\t{more if not number else chr(9) * (count - 1)}\n" for number, line in enumerate(lines))


def _twice(rows: Rows, name: str) -> str:
    """As TSV, with a column more that holds other scores."""
    lines = tsv(rows).split("\n")[:-1]
    return "".join(f"{line}\t{name if not number else number * 1000}\n" for number, line in enumerate(lines))


PLAIN: dict[str, Callable[[Rows], Made]] = {
    "as it is": lambda rows: Made(".tsv", tsv(rows).encode()),
    "CRLF": lambda rows: Made(".tsv", tsv(rows, "\r\n").encode()),
    "mixed ends": lambda rows: Made(".tsv", _mixed_ends(rows).encode()),
    "no last end": lambda rows: Made(".tsv", tsv(rows).rstrip("\n").encode()),
    "empty lines": lambda rows: Made(".tsv", (tsv(rows) + "\n\n\n").encode()),
    "a mark": lambda rows: Made(".tsv", tsv(rows).encode("utf-8-sig")),
    "a mark, UTF-16": lambda rows: Made(".tsv", tsv(rows).encode("utf-16")),
    "UTF-16 without a mark": lambda rows: Made(".tsv", tsv(rows).encode("utf-16-le"), "refused"),
    "encoding named": lambda rows: Made(".tsv", tsv(rows).encode("utf-16-be"), settings={"encoding": "utf-16-be"}),
    "no such encoding": lambda rows: Made(".tsv", tsv(rows).encode(), "refused", {"encoding": "utf-99"}),
    "an encoding that is none": lambda rows: Made(".tsv", tsv(rows).encode(), "refused", {"encoding": "rot13"}),
    "encoding of bytes": lambda rows: Made(".tsv", tsv(rows).encode(), "refused", {"encoding": "base64"}),
    "gz": lambda rows: Made(".tsv.gz", gzip.compress(tsv(rows).encode())),
    "gz in two": lambda rows: Made(
        ".tsv.gz", gzip.compress(tsv(rows)[:40].encode()) + gzip.compress(tsv(rows)[40:].encode())),
    "gz named tsv": lambda rows: Made(".tsv", gzip.compress(tsv(rows).encode()), "either"),
    "tsv named gz": lambda rows: Made(".tsv.gz", tsv(rows).encode(), "either"),
    "bz2": lambda rows: Made(".tsv.bz2", bz2.compress(tsv(rows).encode()), "either"),
    "xz": lambda rows: Made(".tsv.xz", lzma.compress(tsv(rows).encode()), "either"),
    "zst": lambda rows: Made(".tsv.zst", _zst(tsv(rows).encode()), "either"),
    "zip": lambda rows: Made(".zip", _zip(tsv(rows).encode()), "either"),
    "zip named tsv": lambda rows: Made(".tsv", _zip(tsv(rows).encode()), "refused"),
    "csv": lambda rows: Made(".csv", as_csv(rows).encode()),
    "csv, all quoted": lambda rows: Made(".csv", as_csv(rows, quoting=csv.QUOTE_ALL, end="\r\n").encode()),
    "csv, semicolons": lambda rows: Made(".csv", as_csv(rows, ";").encode()),
    "csv named tsv": lambda rows: Made(".tsv", as_csv(rows).encode(), "either"),
    "tsv named csv": lambda rows: Made(".csv", tsv(rows).encode(), "either"),
    "csv with sep=": lambda rows: Made(".csv", ("sep=;\n" + as_csv(rows, ";")).encode(), "either"),
    "upper-case suffix": lambda rows: Made(".TSV", tsv(rows).encode(), "either"),
    "txt": lambda rows: Made(".txt", tsv(rows).encode(), "either"),
    "no suffix": lambda rows: Made("", tsv(rows).encode(), "either"),
    "html": lambda rows: Made(".tsv", b"<!DOCTYPE html><html><body>Sign in</body></html>\n", "refused"),
    "a pointer of git-lfs": lambda rows: Made(
        ".tsv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "refused"),
    "json": lambda rows: Made(".json", json.dumps(rows).encode(), "either"),
    "json named jsonl": lambda rows: Made(".jsonl", json.dumps(rows, indent=1).encode(), "refused"),
    "jsonl": lambda rows: Made(".jsonl", jsonl(rows).encode()),
    "jsonl as UTF-8": lambda rows: Made(".jsonl", jsonl(rows, ensure_ascii=False).encode()),
    "jsonl with empty lines": lambda rows: Made(".jsonl", jsonl(rows).replace("\n", "\n\n").encode()),
    "jsonl, keys in another order": lambda rows: Made(".jsonl", jsonl(rows, sort_keys=True).encode()),
    "jsonl, a key twice": lambda rows: Made(
        ".jsonl", jsonl(rows).replace('"score"', '"score": 5000, "score"', 1).encode(), "either"),
    "parquet": lambda rows: Made(".parquet", _parquet(rows)),
    "parquet, large strings": lambda rows: Made(
        ".parquet", _parquet(rows, source="large_string", hypothesis="dictionary")),
    "parquet, float32": lambda rows: Made(".parquet", _parquet(rows, "snappy", score="float32")),
    "parquet, decimals": lambda rows: Made(
        ".parquet", _parquet(rows, score=__import__("pyarrow").decimal128(10, 3)), "either"),
    "parquet named tsv": lambda rows: Made(".tsv", _parquet(rows), "refused"),
    "many columns": lambda rows: Made(".tsv", _columns(rows, 100_000).encode(), "either"),
    "some columns": lambda rows: Made(".tsv", _columns(rows, 3_000).encode()),
    "a score column twice": lambda rows: Made(".tsv", _twice(rows, "score").encode(), "refused"),
    "one that differs by a blank": lambda rows: Made(".tsv", _twice(rows, "score ").encode(), "refused"),
    "one that differs in case": lambda rows: Made(".tsv", _twice(rows, "Score").encode(), "either"),
    "one that differs in a sign that is not seen": lambda rows: Made(
        ".tsv", _twice(rows, "score\u200b").encode(), "either"),
    "a column without a name": lambda rows: Made(".tsv", _twice(rows, "").encode(), "either"),
    "a zero byte": lambda rows: Made(".tsv", tsv(rows).replace("reference 1", "refer\0ence 1", 1).encode(), "either"),
    "a DOS end of file": lambda rows: Made(".tsv", (tsv(rows) + "\x1a").encode(), "either"),
    "a short row": lambda rows: Made(".tsv", tsv(rows).replace("\treference 2", "", 1).encode(), "refused"),
    "a long row": lambda rows: Made(".tsv", tsv(rows).replace("reference 2", "reference\t2", 1).encode(), "refused"),
    "an open quotation mark": lambda rows: Made(
        ".csv", as_csv(rows).replace("reference 1", '"reference 1', 1).encode(), "refused"),
    "the header alone": lambda rows: Made(".tsv", ("\t".join(HEADER) + "\n").encode(), "refused"),
    "no header": lambda rows: Made(".tsv", tsv(rows).partition("\n")[2].encode(), "refused"),
    "the header twice": lambda rows: Made(
        ".tsv", (tsv(rows).partition("\n")[0] + "\n" + tsv(rows)).encode(), "refused"),
    "nothing": lambda rows: Made(".tsv", b"", "refused"),
    "one line of one letter": lambda rows: Made(".csv", b"x\n", "refused"),
}  # fmt: skip
# Changes of the rows, written as TSV, CSV or JSON Lines.
CHANGED: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "upper-case headers": (_headers(str.upper), "same"),
    "title headers": (_headers(str.title), "same"),
    "blanks around headers": (_headers(lambda name: f" {name} "), "same"),
    "reversed columns": (lambda rows: [dict(reversed(row.items())) for row in rows], "same"),
    "percent": (_scores(lambda score: f"{score:.2f}%"), "refused"),
    "one percent": (_one_score("50%"), "refused"),
    "decimal commas": (_scores(lambda score: f"{score:.2f}".replace(".", ",")), "refused"),
    "thousands": (_one_score("1,234.50"), "refused"),
    "thousands of others": (_one_score("1.234,50"), "refused"),
    "dates": (_one_score("12.05.2026"), "refused"),
    "a date as Excel makes it": (_one_score("05. Mai"), "refused"),
    "booleans": (_one_score("TRUE"), "refused"),
    "an error of Excel": (_one_score("#DIV/0!"), "refused"),
    "a formula": (_one_score("=A1*2"), "refused"),
    "a hyphen": (_one_score("-"), "refused"),
    "a real minus": (_one_score("−5"), "either"),
    "a word": (_one_score("good"), "refused"),
    "infinity": (_one_score("inf"), "refused"),
    "beyond float64": (_one_score("1e400"), "refused"),
    "huge": (_one_score("1e300"), "either"),
    "hexadecimal": (_one_score("0x10"), "refused"),
    "underscores": (_one_score("1_000"), "refused"),
    "other digits": (_one_score("١٢"), "either"),
    "N/A": (_one_score("N/A"), "either"),
    "numbers with a plus": (_scores(lambda score: f"{score:+}"), "same"),
    "numbers with an exponent": (_scores(lambda score: f"{score:e}"), "same"),
    "blanks around numbers": (_scores(lambda score: f" {score} "), "either"),
    "one row": (lambda rows: rows[:1], "either"),
    "a row twice": (lambda rows: [*rows, rows[0]], "either"),
    "two texts of one output": (lambda rows: [*rows, {**rows[0], "hypothesis": "another"}], "refused"),
    "no score": (lambda rows: [{name: row[name] for name in HEADER[:-1]} for row in rows], "refused"),
    "no hypothesis": (lambda rows: [{n: v for n, v in row.items() if n != "hypothesis"} for row in rows], "refused"),
    "no scores at all": (_scores(lambda score: ""), "either"),
    "ids as floats": (lambda rows: [{**row, "id": f"{number // 2}.0"} for number, row in enumerate(rows)], "same"),
    "ids with zeros": (lambda rows: [{**row, "id": f"00{number // 2}"} for number, row in enumerate(rows)], "same"),
    "one empty id": (lambda rows: [
        {**row, "id": "" if number == 1 else row["id"]} for number, row in enumerate(rows)], "either"),
    "an empty text": (lambda rows: [
        {**row, "hypothesis": ""} if number == 1 else row for number, row in enumerate(rows)], "either"),
    "a giant cell": (lambda rows: [
        {**row, "source": "x " * 700_000} if number < 2 else row for number, row in enumerate(rows)], "either"),
}  # fmt: skip
# Something else under the name of a table.
PLACES = [
    "a folder",
    "a circle",
    "nowhere",
    "a link",
    "a pipe with the table",
    "a device",
    "a socket",
    "a link in a folder",
]


def _placed(kind: str, path: Path, raw: bytes) -> tuple[Path, str]:
    """What is under the name, and what must come of it."""
    if kind == "a folder":
        (path / "inside").mkdir(parents=True)
        return path, "refused"
    if kind == "a circle":
        path.symlink_to(path.name)
        return path, "refused"
    if kind == "nowhere":
        return path, "refused"
    if kind == "a device":
        path.symlink_to("/dev/zero")
        return path, "refused"
    if kind == "a socket":
        import socket

        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
        return path, "refused"
    if kind == "a pipe with the table":
        os.mkfifo(path)

        def write() -> None:
            with path.open("wb") as pipe:
                pipe.write(raw)

        threading.Thread(target=write, daemon=True).start()
        return path, "either"
    real = path.parent / "real" / path.name
    real.parent.mkdir()
    real.write_bytes(raw)
    if kind == "a link":
        path.symlink_to(Path("real") / path.name)
        return path, "same"
    (path.parent / "linked").symlink_to("real")
    return path.parent / "linked" / path.name, "same"


def _case(rng: Random, folder: Path) -> tuple[str, Path, Made, Rows]:
    rows = records(rng)
    name = pick(rng, NAMES) if rng.random() < 0.5 else "table"
    how = rng.random()
    if how < 0.5:
        kind = pick(rng, list(PLAIN))
        if kind == "encoding named" or "UTF-16" in kind:
            name = "table"
        made = PLAIN[kind](rows)
    else:
        kind = pick(rng, list(CHANGED))
        change, expected = CHANGED[kind]
        changed = change(rows)
        suffix = pick(rng, [".tsv", ".csv", ".jsonl"])
        text = {".tsv": tsv, ".csv": as_csv, ".jsonl": jsonl}[suffix](changed)
        made = Made(suffix, text.encode(), expected)
        if kind == "decimal commas" and rng.random() < 0.5:
            made.settings["decimal"] = ","
            made.expected = "same"
        if kind in ("ids as floats", "title headers") and suffix == ".jsonl":
            made.expected = "either"
    folder.mkdir()
    path = folder / f"{name}{made.suffix}"
    shown = f"{kind}, {path.name!r:.60}, {made.settings}"
    if how < 0.5 and rng.random() < 0.25 and made.expected == "same":
        place = pick(rng, PLACES)
        path, made.expected = _placed(place, path, made.raw)
        return f"{place}: {shown}", path, made, rows
    path.write_bytes(made.raw)
    return shown, path, made, rows


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """`count` of (what it is, the work that reads it), the same for one seed."""
    for number in range(count):
        rng = np.random.default_rng([seed, number, 7])
        shown, path, made, rows = _case(rng, folder / str(number))
        yield f"{shown}: {made.expected}", lambda path=path, made=made, rows=rows: _read(path, made, rows)


def _read(path: Path, made: Made, rows: Rows) -> str:
    is_pipe = path.is_fifo() and not path.is_symlink()
    found: Counter[tuple[Any, ...]] = Counter()
    said = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            option = {**load_option("dataset", "tabular"), "path": str(path), **made.settings}
            reader = build(option, DatasetReader, "dataset")
            for pair in reader.pairs(path.parent):
                segments = reader.load_segments(path.parent, pair)
                for one, score in zip(segments.segments, segments.human_scores.tolist(), strict=True):
                    found[key_of(one.source, one.reference, one.hypothesis, score)] += 1
        except BmxError as error:
            said = str(error)
        # A pipe can be read once, and the command that `data show` prints cannot hold every name.
        is_shown = not is_pipe and not path.is_dir() and "${" not in path.name
        shown = _shown(path, made.settings) if is_shown else ""
    disagrees = shown.startswith("error: ") != bool(said) or (not said and f" {found.total()} segment" not in shown)
    if is_shown and disagrees:
        raise AssertionError(f"data show says {shown[:300]!r}, a sweep {said or found.total()!r}")
    right = Counter(key_of(row["source"], row["reference"], row["hypothesis"], row["score"]) for row in rows)
    if made.expected == "refused" and not said:
        raise AssertionError(f"accepted, which must be refused: {list(found)[:3]!r:.300}")
    if made.expected == "same" and (said or found != right):
        raise AssertionError(f"a good table: {said or (found - right)}")
    return said
