"""Bad files of scores made elsewhere, made from good ones by a seed: each is read or answered with one sentence.

    for reason, path in inputs(seed=0, count=100, folder=tmp_path):
        answer(path)

Tables, score files of mt-metrics-eval, submissions (predictions.txt, sentence.submission) and plain columns, of four
segments that two systems translated, in two language pairs.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tools.fuzz.tables import (
    SCORES,
    TEXTS,
    as_csv,
    as_jsonl,
    as_parquet,
    as_tsv,
    bomb,
    encoded,
    flipped,
    inserted,
    nothing,
    odd_parquet,
    other_json,
    other_line_ends,
    other_separator,
    pick,
    piece_twice,
    repeated_rows,
    same,
    truncated,
    unchanged,
    without_a_piece,
    zipped,
)

from bmx_grid.core.errors import BmxError, DataMissingError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.metrics.imported import Imported

Random = np.random.Generator
Rows = list[dict[str, Any]]
IDS, SYSTEMS, PAIRS = ("0", "1", "2", "3"), ("A", "B"), ("de-en", "cs-en")
NUMBERS = ["1e308", "-1e308", "5e-324", "-0", "None", "NA", "1e-400", "0.1000000000000000055511151231257827"]
ROLES = ("id", "system", "language_pair", "score")


def segments(pair: str, systems: tuple[str | None, ...]) -> SegmentSet:
    """Four segments per system."""
    made = tuple(Segment(one, "h", "s", system=system) for system in systems for one in IDS)
    return SegmentSet("some", pair, made, Judgements({"da": np.zeros(len(made))}))


def records(rng: Random) -> Rows:
    """One row per segment, system and language pair."""
    return [
        {"language_pair": pair, "id": one, "system": system, "score": float(rng.integers(-100, 100)) / 8}
        for pair in PAIRS
        for system in SYSTEMS
        for one in IDS
    ]


# What is done to the rows of a good file.
def odd_score(rows: Rows, rng: Random) -> Rows:
    for row in rows if rng.random() < 0.3 else [pick(rng, rows)]:
        row["score"] = pick(rng, [*SCORES, *NUMBERS, *TEXTS[:8]])
    return rows


def odd_name(rows: Rows, rng: Random) -> Rows:
    pick(rng, rows)[pick(rng, ROLES[:3])] = pick(rng, [*TEXTS, "1.0", "01", " 1", "1e0", "a", "C", "de_en"])
    return rows


def unknown_names(rows: Rows, rng: Random) -> Rows:
    role = pick(rng, ROLES[:3])
    for row in rows:
        row[role] = f"{row[role]}x"
    return rows


def row_missing(rows: Rows, rng: Random) -> Rows:
    rows.pop(int(rng.integers(len(rows))))
    return rows


def system_missing(rows: Rows, rng: Random) -> Rows:
    return [row for row in rows if row["system"] != "A"]


def pair_missing(rows: Rows, rng: Random) -> Rows:
    return [row for row in rows if row["language_pair"] != "de-en"]


def column_missing(rows: Rows, rng: Random) -> Rows:
    gone = pick(rng, ROLES)
    return [{name: value for name, value in row.items() if name != gone} for row in rows]


def column_renamed(rows: Rows, rng: Random) -> Rows:
    old, new = pick(rng, ROLES), pick(rng, ["segment_id", "Score", "sys", "lp", "mine", "", "score", " score"])
    return [{new if name == old else name: value for name, value in row.items()} for row in rows]


def no_score_at_all(rows: Rows, rng: Random) -> Rows:
    return [{**row, "score": pick(rng, [None, "nan", "None"])} for row in rows]


def shuffled(rows: Rows, rng: Random) -> Rows:
    return [rows[place] for place in rng.permutation(len(rows)).tolist()]


def of_systems(rows: Rows, rng: Random) -> Rows:
    return [{name: row[name] for name in ("language_pair", "system", "score")} for row in rows if row["id"] == "0"]


# fmt: off
ROWS = [
    odd_score, odd_score, odd_name, odd_name, unknown_names, repeated_rows, row_missing, system_missing, pair_missing,
    column_missing, column_renamed, no_score_at_all, shuffled, of_systems, unchanged, unchanged,
]
BYTES = [
    truncated, flipped, inserted, without_a_piece, piece_twice, encoded, other_line_ends, zipped, bomb, other_separator,
    nothing, *[same] * 16,
]
# fmt: on


def _one_pair(rows: Rows) -> Rows:
    return [row for row in rows if row.get("language_pair", "de-en") == "de-en"]


def as_blocks(rows: Rows) -> bytes:
    """mt-metrics-eval: SYSTEM SCORE."""
    lines = [f"{row.get('system', '')}\t{row.get('score', '')}\n" for row in _one_pair(rows)]
    return "".join(lines).encode(errors="surrogatepass")


def as_system_blocks(rows: Rows) -> bytes:
    """mt-metrics-eval: one score per system."""
    return as_blocks([row for row in rows if row.get("id", "0") == "0"])


def as_submission(rows: Rows) -> bytes:
    """WMT22: three lines, then language pair, method, id and score."""
    own = [row for row in rows if row.get("system", "A") == "A"]
    lines = [
        "\t".join(str(row.get(name, "")) if name != "method" else "mine" for name in ("language_pair", "method", *ends))
        for row in own
        for ends in [("id", "score")]
    ]
    return ("22\n5\n1\n" + "".join(f"{line}\n" for line in lines)).encode(errors="surrogatepass")


def as_column(rows: Rows) -> bytes:
    """One score per line."""
    own = [row for row in _one_pair(rows) if row.get("system", "A") == "A"]
    return "".join(f"{row.get('score', '')}\n" for row in own).encode(errors="surrogatepass")


def as_rows(rows: Rows) -> bytes:
    """One score per row of the data set, system by system."""
    own = sorted(_one_pair(rows), key=lambda row: str(row.get("system", "")))
    return "".join(f"{row.get('score', '')}\n" for row in own).encode(errors="surrogatepass")


def as_comet(rows: Rows) -> bytes:
    """comet-score: all files of a segment, then the next one, then the means."""
    own = sorted(_one_pair(rows), key=lambda row: str(row.get("id", "")))
    lines = []
    for row in own:
        score = row.get("score", "")
        shown = f"{score:.4f}" if isinstance(score, float) else score
        lines.append(f"out/{row.get('system', '')}.txt\tSegment {row.get('id', '')}\tscore: {shown}\n")
    for system in SYSTEMS:
        lines.append(f"out/{system}.txt\tscore: 0.5000\n")
    return "".join(lines).encode(errors="surrogatepass")


def as_comet_json(rows: Rows) -> bytes:
    """comet-score --to_json."""
    files: dict[str, list[dict[str, Any]]] = {}
    for row in _one_pair(rows):
        files.setdefault(f"{row.get('system', '')}.txt", []).append({"mt": "h", "COMET": row.get("score")})
    return json.dumps(files, indent=4).encode()


LAYOUTS: dict[str, Callable[[Rows], bytes]] = {
    ".tsv": as_tsv,
    ".csv": as_csv,
    ".jsonl": as_jsonl,
    ".parquet": as_parquet,
    ".seg.score": as_blocks,
    ".sys.score": as_system_blocks,
    "-predictions.txt": as_submission,
    "-sentence.submission": as_submission,
    ".scores": as_column,
    "-rows": as_rows,
    "-comet.out": as_comet,
    "-comet.json": as_comet_json,
}
ODD_NAMES = [*LAYOUTS, ".domain.score", ".txt", ".tsv.gz", ".seg.score.gz", ".score", ""]


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """`count` files (some of them folders) in `folder`, each with the reason it may be bad; the same for one seed."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        suffix, row_change, byte_change = pick(rng, list(LAYOUTS)), pick(rng, ROWS), pick(rng, BYTES)
        reason = f"{row_change.__name__}, {byte_change.__name__}, {suffix}"
        try:
            raw = LAYOUTS[suffix](row_change(records(rng), rng))
            if suffix == ".parquet" and rng.random() < 0.3:
                named = [{**row, "source": "", "reference": "", "hypothesis": ""} for row in records(rng)]
                reason, raw = "odd_parquet", odd_parquet(named, rng)
        except (TypeError, ValueError, UnicodeError, OverflowError, LookupError):  # what this layout cannot hold
            reason, raw = f"{byte_change.__name__}, {suffix}", LAYOUTS[suffix](records(rng))
        if suffix == ".jsonl" and rng.random() < 0.2:
            reason, raw = f"other_json, {suffix}", other_json(raw, rng)
        raw = byte_change(raw, rng) if raw else raw
        if rng.random() < 0.1:
            suffix = pick(rng, ODD_NAMES)
            reason += f" called {suffix}"
        path = folder / f"{seed}-{number}{suffix}"
        if rng.random() < 0.02:
            reason = "a folder"
            path.mkdir()
            if rng.random() < 0.5:
                (path / "metric-scores").mkdir()
        else:
            path.write_bytes(raw)
        yield reason, path


def answer(path: Path) -> str:
    """The sentence that a user reads about this file, "" where the scores of all segments are read."""
    rng = np.random.default_rng(list(path.name.encode()))
    systems: tuple[str | None, ...] = SYSTEMS if rng.random() < 0.8 and "predictions" not in path.name else (None,)
    if path.name.endswith((".submission", ".scores")):
        systems = (None,)
    settings: dict[str, Any] = {"extra": pick(rng, ["refuse", "refuse", "ignore"])}
    if rng.random() < 0.1:
        settings["columns"] = {pick(rng, ROLES): pick(rng, [*ROLES, "none"])}
    if not path.name.endswith((".tsv", ".csv", ".jsonl", ".parquet", ".txt", ".submission", ".gz")):
        settings["language_pairs"] = ("de-en",)
    sets = [segments(pair, systems) for pair in PAIRS[: 1 if settings.get("language_pairs") else 2]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of segments without a score, which are counted
            for name, member in Imported(file=str(path), **settings).expand("imported", sets).items():
                for one in sets:
                    try:
                        fitted = member.fit(one)
                    except DataMissingError as error:  # the pair is left out, with this reason
                        if path.name not in str(error) or not str(error).isprintable():
                            raise AssertionError(f"left out, but: {error}") from error
                        continue
                    found = fitted.load_scores(one)
                    json.dumps([name, fitted.settings()])
                    if (
                        found.base_scores.shape != (len(one),)
                        or not np.isfinite(found.base_scores[found.base_scores == 0]).all()
                    ):
                        raise AssertionError(f"the scores are {found.base_scores}")
                    if np.isinf(found.base_scores).any() or np.isinf(list(found.systems.values())).any():
                        raise AssertionError("an infinite score")
    except BmxError as error:
        return str(error)
    return ""
