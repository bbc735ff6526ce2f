"""Bad tables, made from good ones by a seed: every one must be read or answered with one sentence.

for reason, path in inputs(seed=0, count=500, folder=tmp_path):
    answer(path)          # the refusal, or "" where the file was read; anything else than a BmxError comes through
"""

from __future__ import annotations

import gzip
import io
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.core.errors import BmxError, ConfigError
from bmx_grid.datasets.tabular import Tabular

Record = dict[str, Any]
Random = np.random.Generator
HEADER = ["language_pair", "id", "system", "source", "reference", "hypothesis", "score"]
PAIRS = ("de-en", "cs-en")
MAX_BYTES = 2_000_000  # of a table here, so that a bomb is small enough to make

# fmt: off
TEXTS = [
    "", " ", '"', '"a', 'a"b', "a\u2028b", "\ufeff", "\u200b", "\x85", "\x1b[31m", "=1+1", "<script>", "x" * 200_000,
    "a\rb", "a\nb", "a\tb", "a,b", "a;b", "\\", "'", "NaN", "null", "ｆ", "𝕏", "\u0000", "../../x", "%00", "語" * 90,
]
SCORES = [
    "nan", "inf", "-inf", "1e999", "0,5", "1_000", "0x10", "", " ", "--1", "1.5.2", "١", "½", "True", "1e", "9" * 400,
]
JSON_VALUES = [
    "null", "true", "[]", "{}", "[1]", '{"a": 1}', "NaN", "-Infinity", "1e999", "9" * 400, "9" * 5000,
    '"\\ud800"', "-0", '""', '"\\u0000"', "1.5", "[" * 3000 + "]" * 3000,
]
ENCODINGS = [
    "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "utf-8-sig", "latin-1", "cp1252", "shift-jis", "cp037",
]
# fmt: on
SUFFIXES = [".tsv", ".csv", ".jsonl", ".parquet", ".tsv.gz", ".jsonl.gz"]


def records(rng: Random) -> list[Record]:
    """A good table: three to eight rows of two language pairs and two systems."""
    return [
        {
            "language_pair": PAIRS[row % 2],
            "id": str(row // 4),
            "system": "AB"[row // 2 % 2],
            "source": f"Quelle {row} ü",
            "reference": f"reference {row}",
            "hypothesis": f"hypothesis {row} 語",
            "score": float(rng.integers(-100, 100)) / 4,
        }
        for row in range(int(rng.integers(3, 9)))
    ]


def as_tsv(rows: list[Record], separator: str = "\t") -> bytes:
    """Rows as they stand, never quoted."""
    lines = [separator.join(rows[0])] + [separator.join(map(str, row.values())) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode(errors="surrogatepass")


def as_csv(rows: list[Record]) -> bytes:
    """Every field in quotation marks."""
    quoted = [
        ['"' + str(value).replace('"', '""') + '"' for value in (*row,)] for row in (rows[0], *map(dict.values, rows))
    ]
    return "".join(",".join(row) + "\r\n" for row in quoted).encode(errors="surrogatepass")


def as_jsonl(rows: list[Record]) -> bytes:
    """One object per line."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(rows: list[Record]) -> bytes:
    """One column per field, types as they come."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in rows[0]})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression=None)
    return buffer.getvalue()


FORMATS: dict[str, Callable[[list[Record]], bytes]] = {
    ".tsv": as_tsv,
    ".csv": as_csv,
    ".jsonl": as_jsonl,
    ".parquet": as_parquet,
}


def pick(rng: Random, values: Any) -> Any:
    """One of the values, as it is."""
    return values[int(rng.integers(len(values)))]


# What is done to the rows: (rows, rng) -> rows.
def odd_text(rows: list[Record], rng: Random) -> list[Record]:
    pick(rng, rows)[pick(rng, HEADER[:-1])] = pick(rng, TEXTS)
    return rows


def odd_score(rows: list[Record], rng: Random) -> list[Record]:
    score = pick(rng, SCORES)
    for row in rows if rng.random() < 0.5 else [pick(rng, rows)]:
        row["score"] = score
    if rng.random() < 0.5:  # a column of one type, which Parquet can hold
        for row in rows:
            row["score"] = str(row["score"])
    return rows


def odd_pair(rows: list[Record], rng: Random) -> list[Record]:
    pick(rng, rows)["language_pair"] = pick(
        rng, ["", "../x", "a/b", "a\nb", "x" * 200, "語" * 30, " de-en", "de-en ", "\0", ".", "-"]
    )
    return rows


def without_columns(rows: list[Record], rng: Random) -> list[Record]:
    gone = set(rng.choice(HEADER, size=int(rng.integers(1, 5)), replace=False).tolist())
    return [{name: value for name, value in row.items() if name not in gone} or {"a": 1} for row in rows]


def renamed_columns(rows: list[Record], rng: Random) -> list[Record]:
    names = {
        name: pick(rng, [name, name.upper(), name[:3], f" {name}", "", "mt", "src", "DA", "=x", "a b", "語" * 40])
        for name in HEADER
    }
    return [{names[name]: value for name, value in row.items()} for row in rows]


def repeated_rows(rows: list[Record], rng: Random) -> list[Record]:
    return [*rows, dict(pick(rng, rows))]


def many_columns(rows: list[Record], rng: Random) -> list[Record]:
    return [{**row, **{f"x{number}": "" for number in range(3000)}} for row in rows]


def no_rows(rows: list[Record], rng: Random) -> list[Record]:
    return [dict.fromkeys(HEADER, "")]


def unchanged(rows: list[Record], rng: Random) -> list[Record]:
    return rows


# fmt: off
ROWS = [
    odd_text, odd_score, odd_pair, without_columns, renamed_columns, repeated_rows, many_columns, no_rows, unchanged,
]
# fmt: on


# What is done to the bytes: (raw, rng) -> raw.
def truncated(raw: bytes, rng: Random) -> bytes:
    return raw[: int(rng.integers(len(raw)))]


def flipped(raw: bytes, rng: Random) -> bytes:
    changed = bytearray(raw)
    for place in rng.integers(len(raw), size=int(rng.integers(1, 6))).tolist():
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


# fmt: off
PIECES = [
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\n\n", b'"', b"\t", b",", b"\x1a", b"\x1f\x8b",
    b"{", b"]",
]
NOTHING = [
    b"", b"\n", b" ", b"\xef\xbb\xbf", b"\0" * 100, b"\r\n\r\n", b"PAR1", b"PAR1PAR1", b"{}", b"[]", b"{}\n{}",
    b"PK\x03\x04",
]
# fmt: on


def inserted(raw: bytes, rng: Random) -> bytes:
    place = int(rng.integers(len(raw)))
    return raw[:place] + pick(rng, PIECES) + raw[place:]


def without_a_piece(raw: bytes, rng: Random) -> bytes:
    first, last = sorted(rng.integers(len(raw), size=2).tolist())
    return raw[:first] + raw[last:]


def piece_twice(raw: bytes, rng: Random) -> bytes:
    first, last = sorted(rng.integers(len(raw), size=2).tolist())
    return raw[:last] + raw[first:]


def encoded(raw: bytes, rng: Random) -> bytes:
    return raw.decode(errors="replace").encode(pick(rng, ENCODINGS), errors="replace")


def other_line_ends(raw: bytes, rng: Random) -> bytes:
    return raw.replace(b"\r\n", b"\n").replace(
        b"\n", pick(rng, [b"\r", b"\r\n", b"\n\r", b"\n\n", "\u2028".encode(), b"\x0b"])
    )


def zipped(raw: bytes, rng: Random) -> bytes:
    packed = gzip.compress(raw, mtime=0)
    return pick(
        rng, [packed, gzip.compress(packed, mtime=0), packed + b"rest", packed + packed, packed[:-4], packed[:10]]
    )


def bomb(raw: bytes, rng: Random) -> bytes:
    return gzip.compress(raw + b"a" * (2 * MAX_BYTES), mtime=0)


def other_separator(raw: bytes, rng: Random) -> bytes:
    return raw.replace(b"\t", pick(rng, [b";", b"|", b" ", b","])).replace(b'","', b'";"')


def other_json(raw: bytes, rng: Random) -> bytes:
    values = raw.split(b", ")
    values[int(rng.integers(len(values)))] = f'"{pick(rng, HEADER)}": {pick(rng, JSON_VALUES)}'.encode()
    return b", ".join(values)


def as_array(raw: bytes, rng: Random) -> bytes:
    return b"[" + raw.rstrip().replace(b"\n", b",\n") + pick(rng, [b"]", b"\n]", b""])


def nothing(raw: bytes, rng: Random) -> bytes:
    return pick(rng, NOTHING)


def same(raw: bytes, rng: Random) -> bytes:
    return raw


# fmt: off
BYTES = [
    truncated, flipped, inserted, without_a_piece, piece_twice, encoded, other_line_ends, zipped, bomb, other_separator,
    other_json, as_array, nothing, same, same, same, same, same, same,
]
# fmt: on


def odd_parquet(rows: list[Record], rng: Random) -> bytes:
    """A column of a type that texts and scores do not have, needed or not."""
    import pyarrow as pa
    from pyarrow import parquet

    count = len(rows)
    offsets = pa.array(list(range(count + 1)), pa.int32()).buffers()[1]
    kinds = {
        "time zone": lambda: pa.array(range(count), pa.timestamp("us", tz="Nowhere/Nothing")),
        "not UTF-8": lambda: pa.Array.from_buffers(pa.string(), count, [None, offsets, pa.py_buffer(b"\xff" * count)]),
        "list": lambda: pa.array([[1]] * count),
        "struct": lambda: pa.array([{"a": 1}] * count),
        "map": lambda: pa.array([[("a", 1)]] * count, pa.map_(pa.string(), pa.int8())),
        "binary": lambda: pa.array([b"\xff"] * count),
        "decimal": lambda: pa.array(["1.5"] * count).cast(pa.decimal128(5, 1)),
        "category": lambda: pa.array(["1.5"] * count).dictionary_encode(),
        "null": lambda: pa.nulls(count),
        "bool": lambda: pa.array([True] * count),
        "infinite": lambda: pa.array([float("inf")] * count),
        "half": lambda: pa.array(np.ones(count, np.float16)),
        "unsigned": lambda: pa.array([2**64 - 1] * count, pa.uint64()),
        "date": lambda: pa.array([2**31 - 1] * count, pa.date32()),
        "duration": lambda: pa.array([2**62] * count, pa.duration("s")),
        "large": lambda: pa.array(["x"] * count, pa.large_string()),
        "repeated large value": lambda: pa.array(["x" * 100_000]).take(pa.array([0] * count)),
    }
    columns = {name: pa.array([row[name] for row in rows]) for name in HEADER}
    arrays, names = list(columns.values()), list(columns)
    name = pick(rng, [*HEADER, "other"])
    made = kinds[pick(rng, list(kinds))]()
    if rng.random() < 0.2:  # the same name twice
        arrays.append(made)
        names.append(name)
    elif name in names:
        arrays[names.index(name)] = made
    else:
        arrays.append(made)
        names.append(name)
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names), buffer, row_group_size=int(rng.integers(1, 9)))
    return buffer.getvalue()


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """`count` files in `folder`, each with the reason it may be bad. The same seed gives the same files."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        rows, suffix = records(rng), pick(rng, list(FORMATS))
        row_change, byte_change = pick(rng, ROWS), pick(rng, BYTES)
        reason = f"{row_change.__name__}, {byte_change.__name__}, {suffix}"
        try:
            if suffix == ".parquet" and rng.random() < 0.5:
                reason, raw = f"odd_parquet, {byte_change.__name__}, {suffix}", odd_parquet(rows, rng)
            else:
                raw = FORMATS[suffix](row_change(rows, rng))
        except (
            TypeError,
            ValueError,
            UnicodeError,
            OverflowError,
        ):  # types that Parquet does not mix: without the change
            reason, raw = f"{byte_change.__name__}, {suffix}", FORMATS[suffix](records(rng))
        raw = byte_change(raw, rng) if raw else raw
        if rng.random() < 0.1:
            suffix = pick(rng, SUFFIXES)
            reason += f" called {suffix}"
        path = folder / f"{seed}-{number}{suffix}"
        path.write_bytes(raw)
        yield reason, path


def answer(path: Path) -> str:
    """The sentence that a user reads about this file, "" where all its segments are read."""
    for pairs in ((), ("de-en",)):
        reader = Tabular(name="tabular", path=str(path), language_pairs=pairs)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of columns, ratings and empty rows, which are counted
                for pair in reader.pairs(path.parent):
                    reader.load_segments(path.parent, pair).fingerprint()
            return ""
        except ConfigError as error:
            if "no column 'language_pair'" not in str(error) or pairs:
                return str(error)
        except BmxError as error:
            return str(error)
    return ""
