"""Bad archives, made from a good one by a seed: every one must be read or answered with one sentence.

    for reason, path in inputs(seed=0, count=100, folder=tmp_path):
        answer(path)

The files have the layout of MLQE-PE (`mlqe_pe`, en-de), each below a data_dir of its own.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tools.fuzz.tables import bomb, encoded, flipped, inserted, pick, piece_twice, same, truncated, without_a_piece

from bmx_grid.core.errors import BmxError
from bmx_grid.datasets.mlqe_pe import MlqePe

PLACE = "mlqe-pe/data/direct-assessments/test/en-de-test.tar.gz"
MEMBER = "en-de/test20.ende.df.short.tsv"
HEADER = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores\n"
ROW = '{0}\t"source {0}\thypothesis ü {0}\t[90, 80]\t85\t[0.5, -0.5]\t0.0\t-0.7\n'
Random = np.random.Generator


def text(rng: Random) -> bytes:
    """The table of direct assessments, with a value or a row that may be wrong."""
    lines = [HEADER, *(ROW.format(number) for number in range(5))]
    place = int(rng.integers(len(lines)))
    odd = pick(
        rng, ["nan", "inf", "[nan]", "[1, inf]", "[", "", "1e999", "\t", "\n", "x" * 1000, "\0", "\x1b[2J", "[" * 999]
    )
    fields = lines[place].split("\t")
    fields[int(rng.integers(len(fields)))] = odd
    if rng.random() < 0.7:
        lines[place] = "\t".join(fields)
    if rng.random() < 0.1:
        lines.append(lines[-1])
    return "".join(lines).encode()


NAMES = ["a", "../a", "/etc/passwd", "en-de/._test20.ende.df.short.tsv", "x" * 300, "ü" * 60, MEMBER]
# fmt: off
KINDS = [
    tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"S", b"Z",
]
# fmt: on


def archive(rng: Random, content: bytes) -> bytes:
    """A tar with the text, and other members before it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=pick(rng, [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])) as made:
        for _ in range(int(rng.integers(3))):
            other = tarfile.TarInfo(pick(rng, NAMES))
            other.type, other.linkname = pick(rng, KINDS), pick(rng, ["", "a", "/etc/passwd", "../../x", MEMBER])
            made.addfile(other)
        member = tarfile.TarInfo(MEMBER)
        member.size = len(content)
        made.addfile(member, io.BytesIO(content))
    raw = buffer.getvalue()
    if rng.random() < 0.3:  # a header that does not say the truth
        changed = bytearray(raw)
        for place in rng.integers(512, size=3).tolist():
            changed[place] = int(rng.integers(256))
        raw = bytes(changed)
    return raw


def header_bomb(raw: bytes, rng: Random) -> bytes:
    """A header of two million bytes, which a reader that trusts it would take into memory."""
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = pick(rng, [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME]), 2_000_000
    return header.tobuf(tarfile.USTAR_FORMAT) + b"1" * 2_000_000 + raw


TAR = [truncated, flipped, inserted, without_a_piece, piece_twice, header_bomb, same, same, same]
PACKED = [truncated, flipped, inserted, without_a_piece, piece_twice, bomb, same, same, same, same]
TEXT = [truncated, flipped, inserted, without_a_piece, piece_twice, encoded, same, same, same]


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """`count` archives below folders of their own in `folder`, each with the reason it may be bad."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        changes = [pick(rng, TEXT), pick(rng, TAR), pick(rng, PACKED)]
        raw = archive(rng, changes[0](text(rng), rng))
        packed = changes[2](gzip.compress(changes[1](raw, rng), mtime=0), rng)
        path = folder / f"{seed}-{number}" / PLACE
        path.parent.mkdir(parents=True)
        path.write_bytes(packed)
        yield ", ".join(change.__name__ for change in changes), path


def answer(path: Path) -> str:
    """The sentence that a user reads about this archive, "" where its segments are read."""
    data_dir = path.parents[len(Path(PLACE).parts) - 1]
    try:
        MlqePe(name="mlqe_pe", language_pairs=("en-de",)).load_segments(data_dir, "en-de").fingerprint()
    except BmxError as error:
        return str(error)
    return ""
