"""Bad test sets in the layout of mt-metrics-eval, made from a good one by a seed: read or answered with one sentence.

    for reason, path in inputs(seed=0, count=100, folder=tmp_path):
        answer(path)

A path is the folder that holds the test set `toy`, whose metric scores are read, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from score_trees import TREE
from tools.fuzz.tables import (
    SCORES,
    TEXTS,
    encoded,
    flipped,
    inserted,
    nothing,
    other_line_ends,
    pick,
    piece_twice,
    truncated,
    without_a_piece,
    zipped,
)

from bmx_grid.core.errors import BmxError, DataMissingError
from bmx_grid.datasets.mt_metrics_eval import MtMetricsEval
from bmx_grid.metrics.imported import Imported

Random = np.random.Generator
Files = dict[str, bytes]
BYTES = [truncated, flipped, inserted, without_a_piece, piece_twice, encoded, other_line_ends, zipped, nothing]
ALSO = ["dataset.mt_metrics_eval", "toy"]  # what a refusal may name instead of a file
# fmt: off
NAMES = [
    "refB", "refA", "refC", "all", "sysA", "x.y", "s p", "語", "\x1b[2J", ".hidden", "", "a" * 120, "refA.x", "seg",
]
# fmt: on


# What is done to the files of a good tree.
def damaged(files: Files, rng: Random) -> Files:
    name = pick(rng, [name for name, raw in files.items() if raw] or list(files))
    files[name] = pick(rng, BYTES)(files[name] or b"\n", rng)
    return files


def missing(files: Files, rng: Random) -> Files:
    del files[pick(rng, list(files))]
    return files


def folder_missing(files: Files, rng: Random) -> Files:
    gone = pick(rng, ["sources", "references", "system-outputs", "human-scores", "metric-scores", "documents"])
    return {name: raw for name, raw in files.items() if not name.startswith(gone)}


def all_none(files: Files, rng: Random) -> Files:
    kind = pick(rng, ["human-scores", "metric-scores"])
    for name, raw in files.items():
        if name.startswith(kind) and name.endswith(("seg.score", "sys.score")):
            systems = [line.split()[0] for line in raw.splitlines() if line.strip()]
            files[name] = b"".join(system + b" None\n" for system in systems)
    return files


def crlf(files: Files, rng: Random) -> Files:
    return {name: raw.replace(b"\n", b"\r\n") for name, raw in files.items()}


def another_count(files: Files, rng: Random) -> Files:
    name = pick(rng, [name for name, raw in files.items() if raw] or list(files))
    lines = files[name].splitlines(keepends=True)
    files[name] = b"".join(pick(rng, [lines[:-1], [*lines, *lines[:1]], [*lines, b"\n"], lines * 2]))
    return files


def odd_value(files: Files, rng: Random) -> Files:
    name = pick(rng, [name for name in files if name.endswith((".seg.score", ".sys.score"))] or list(files))
    lines = files[name].decode(errors="replace").splitlines() or ["sysA 1"]
    place = int(rng.integers(len(lines)))
    fields = lines[place].split() or [""]
    fields[int(rng.integers(len(fields)))] = pick(rng, [*SCORES, *TEXTS[:8], "1e308", "sysC", "sysa"])
    lines[place] = "\t".join(fields)
    files[name] = "".join(f"{line}\n" for line in lines).encode(errors="surrogatepass")
    return files


def renamed(files: Files, rng: Random) -> Files:
    old = pick(rng, list(files))
    before, _, after = old.rpartition(pick(rng, ["refA", "sysA", "en-de", "mqm", "seg", "COMET"]))
    if before or after:
        files[f"{before}{pick(rng, NAMES)}{after}".replace("\0", "")[:200]] = files.pop(old)
    return files


def other_references(files: Files, rng: Random) -> Files:
    """As later test sets name them: no refA, several, one that is an output as well."""
    new = pick(rng, [{"refA": "refB1", "refB": "refC"}, {"refA": "refC"}, {"refA": "Human-A.0", "refB": "Human-B.0"}])
    found = {}
    for name, raw in files.items():
        for old, other in new.items():
            name = name.replace(f"{old}.txt", f"{other}.txt")
            raw = raw.replace(f"{old} ".encode(), f"{other} ".encode()) if ".score" in name else raw
        found[name] = raw
    return found


def no_translation(files: Files, rng: Random) -> Files:
    name = pick(rng, [name for name in files if name.startswith(("system-outputs", "references"))] or list(files))
    lines = files[name].splitlines() or [b""]
    for place in range(len(lines)) if rng.random() < 0.4 else [0]:
        lines[place] = b"[No translation supplied]"
    files[name] = b"".join(line + b"\n" for line in lines)
    return files


def a_folder_for_a_file(files: Files, rng: Random) -> Files:
    name = pick(rng, list(files))
    files[f"{name}/inside"] = files.pop(name)
    return files


def unchanged(files: Files, rng: Random) -> Files:
    return files


# fmt: off
CHANGES = [
    damaged, damaged, damaged, missing, folder_missing, all_none, crlf, another_count, another_count, odd_value,
    odd_value, renamed, renamed, other_references, no_translation, a_folder_for_a_file, unchanged,
]
# fmt: on


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """`count` folders in `folder`, each with the reason its test set may be bad. The same for one seed."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        files = {name: text.encode() for name, text in TREE.items()}
        changes = [pick(rng, CHANGES) for _ in range(int(rng.integers(1, 3)))]
        for change in changes:
            if files:
                files = change(files, rng)
        path = folder / f"{seed}-{number}"
        for name, raw in files.items():
            try:
                (path / "toy" / name).parent.mkdir(parents=True, exist_ok=True)
                (path / "toy" / name).write_bytes(raw)
            except OSError:  # a name that is a folder already, or too long for the file system
                continue
        path.mkdir(exist_ok=True)
        yield ", ".join(change.__name__ for change in changes), path


def answer(path: Path) -> str:
    """The sentence that a user reads about this tree, "" where all its pairs and metrics are read."""
    rng = np.random.default_rng(list(path.name.encode()))
    settings: dict[str, Any] = {}
    if rng.random() < 0.3:
        settings["reference"] = pick(rng, ["refA", "refB", "all", "nobody", {"en-de": "refB"}, {"en-fr": "refA"}])
    if rng.random() < 0.2:
        settings["human"] = pick(rng, ["mqm", "wmt-z", "nothing"])
    settings["human_systems"] = bool(rng.random() < 0.3)
    reader = MtMetricsEval(name="mt_metrics_eval", folder=str(path), test_set="toy", **settings)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sets = [reader.load_segments(path, pair) for pair in reader.pairs(path)]
            for name, member in Imported(file=str(path / "toy")).expand("imported", sets).items():
                for one in sets:
                    try:
                        found = member.fit(one).load_scores(one)
                    except DataMissingError as error:  # the pair is left out, with this reason
                        if not str(error).isprintable():
                            raise AssertionError(f"left out, but: {error}") from error
                        continue
                    if found.base_scores.shape != (len(one),) or np.isinf(found.base_scores).any():
                        raise AssertionError(f"{name}: the scores are {found.base_scores}")
    except BmxError as error:
        return str(error)
    return ""
