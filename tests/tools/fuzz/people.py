"""Tables as people have them, made from a seed: ratings in rows, titles, encodings, a column per system, and the like.

    for reason, path in inputs(seed=0, count=100, folder=tmp_path):
        answer(path)

Half of them are undamaged: they must be read to the segments they were made of, with the mean of their ratings. The
others are read or answered with one sentence. `data show` answers every one as a sweep does.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tools.fuzz.tables import (
    as_parquet,
    flipped,
    inserted,
    odd_score,
    odd_text,
    other_line_ends,
    pick,
    piece_twice,
    repeated_rows,
    truncated,
    without_a_piece,
)

from bmx_grid.commands.data import main
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import BmxError
from bmx_grid.datasets.base import DatasetReader

Random = np.random.Generator
Record = dict[str, Any]
SYSTEMS = ("A", "B", "C")
RATERS = ("anna", "ben", "cleo")
# Role -> names that its column may have.
NAMES = {
    "id": ["id", "Seg ID", "Nr", "unit"],
    "system": ["system", "Anbieter", "vendor", "MT model"],
    "rater": ["rater", "annotator", "Bewerter"],
    "source": ["source", "src", "Quelle"],
    "reference": ["reference", "ref", "Referenz"],
    "hypothesis": ["hypothesis", "mt", "Übersetzung"],
    "score": ["score", "DA", "Bewertung"],
}
TITLES = ["Ratings of May", "WMT, first round", "Bewertung 2026; Teil 1", "sep=;"]
EMPTY = ["", ";;;;", " ", ";", ";;;;;;;;;"]


@dataclass
class Case:
    """A file: what it is, its name and bytes, the settings that read it, and, if it is undamaged, its outputs."""

    reason: str
    name: str
    raw: bytes
    settings: dict[str, Any] = field(default_factory=dict)
    outputs: Counter[tuple[Any, ...]] | None = None


def outputs_of(rng: Random) -> list[Record]:
    """Three or four sources that two or three systems translated, with up to three ratings each."""
    outputs = []
    systems = SYSTEMS[: int(rng.integers(2, 4))]
    for row in range(int(rng.integers(3, 5))):
        for system in systems:
            ratings = {rater: float(rng.integers(0, 400)) / 4 for rater in RATERS if rng.random() < 0.7}
            outputs.append(
                {
                    "id": f"s{row}",
                    "system": system,
                    "source": pick(rng, [f"Größe {row}", f'er sagt "ja" {row}', f"Quelle {row} €"]),
                    "reference": f"reference {row}",
                    "hypothesis": pick(rng, [f"output {row} {system}", f'{system} says "yes" {row}']),
                    "ratings": ratings,
                }
            )
    sources = {}
    for output in outputs:
        # The outputs of an id have one source.
        output["source"] = sources.setdefault(output["id"], output["source"])
    return outputs


def key_of(source: Any, reference: Any, hypothesis: Any, score: float) -> tuple[Any, ...]:
    return source, reference, hypothesis, "none" if math.isnan(score) else round(score, 9)


def mean_of(output: Record) -> float:
    ratings = output["ratings"].values()
    return sum(ratings) / len(ratings) if ratings else math.nan


# What a table has: (outputs, rng) -> its rows and the settings that it needs.
def one_row_each(outputs: list[Record], rng: Random) -> tuple[list[Record], dict[str, Any]]:
    rows = []
    for output in outputs:
        score = mean_of(output)
        row = {name: value for name, value in output.items() if name != "ratings"}
        rows.append(row | {"score": "" if math.isnan(score) else score})
    return rows, {}


def long_ratings(outputs: list[Record], rng: Random) -> tuple[list[Record], dict[str, Any]]:
    rows = []
    for output in outputs:
        ratings = output["ratings"] or {"anna": ""}
        for rater, score in ratings.items():
            rows.append({**{name: output[name] for name in NAMES if name in output}, "rater": rater, "score": score})
    order = rng.permutation(len(rows)) if rng.random() < 0.5 else range(len(rows))
    return [rows[place] for place in order], {}


def wide_ratings(outputs: list[Record], rng: Random) -> tuple[list[Record], dict[str, Any]]:
    rows = []
    for output in outputs:
        row = {name: value for name, value in output.items() if name != "ratings"}
        rows.append(row | {f"r_{rater}": output["ratings"].get(rater, "") for rater in RATERS})
    return rows, {"columns": {"rater": [f"r_{rater}" for rater in RATERS]}}


def a_column_per_system(outputs: list[Record], rng: Random) -> tuple[list[Record], dict[str, Any]]:
    by_id: dict[str, Record] = {}
    systems = list(dict.fromkeys(output["system"] for output in outputs))
    for output in outputs:
        row = by_id.setdefault(output["id"], {name: output[name] for name in ("id", "source", "reference")})
        score = mean_of(output)
        row[f"out {output['system']}"] = output["hypothesis"]
        row[f"h_{output['system']}"] = "" if math.isnan(score) else score
    columns = {"hypothesis": [f"out {name}" for name in systems], "score": [f"h_{name}" for name in systems]}
    return list(by_id.values()), {"columns": columns}


SHAPES = [one_row_each, long_ratings, long_ratings, wide_ratings, a_column_per_system]


def renamed(rows: list[Record], settings: dict[str, Any], rng: Random) -> list[Record]:
    """Columns of usual names; of an unusual one the settings say the role."""
    names = {name: name for name in rows[0]}
    for role, usual in NAMES.items():
        if role in names and rng.random() < 0.5:
            names[role] = pick(rng, usual)
            if names[role] == "unit":
                settings.setdefault("columns", {})["id"] = "unit"
    return [{names[name]: value for name, value in row.items()} for row in rows]


def as_text(rows: list[Record], separator: str, rng: Random, settings: dict[str, Any]) -> str:
    """Lines, perhaps with a title above and empty ones between; a CSV is quoted where it must be."""
    written = io.StringIO()
    if separator == "\t":
        for row in (list(rows[0]), *(row.values() for row in rows)):
            written.write("\t".join(map(str, row)) + "\n")
    else:
        writer = csv.writer(written, delimiter=separator, lineterminator="\n")
        writer.writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    lines = written.getvalue().split("\n")[:-1]
    for _ in range(int(rng.integers(3))):
        lines.insert(int(rng.integers(1, len(lines) + 1)), pick(rng, EMPTY).replace(";", separator))
    if rng.random() < 0.3:
        titles = [pick(rng, TITLES) for _ in range(int(rng.integers(1, 3)))]
        lines = [*titles, *lines]
        settings["skip_rows"] = len(titles)
    return "\n".join(lines) + pick(rng, ["\n", "", "\n\n"])


def encoded(text: str, rng: Random, settings: dict[str, Any]) -> bytes:
    encoding = pick(rng, ["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le"])
    if encoding in ("cp1252", "utf-16-le"):
        settings["encoding"] = encoding
    return text.encode(encoding, errors="replace")


def as_nested_jsonl(rows: list[Record], settings: dict[str, Any]) -> bytes:
    """Texts in an object, as data sets of Hugging Face have them."""
    lines = []
    for row in rows:
        texts = {name: row[name] for name in ("source", "reference") if name in row}
        rest = {name: value for name, value in row.items() if name not in texts}
        lines.append(json.dumps({**rest, "translation": texts}) + "\n")
    settings.setdefault("columns", {}).update(source="translation.source", reference="translation.reference")
    return "".join(lines).encode()


def as_quoted_tsv(rows: list[Record]) -> bytes:
    """As pandas writes a TSV: texts with quotation marks between quotation marks, which are read as they are."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter="\t", lineterminator="\n")
    writer.writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    return written.getvalue().encode()


DAMAGE = [truncated, flipped, inserted, without_a_piece, piece_twice, other_line_ends]


def case(seed: int, number: int) -> Case:
    """The file of a seed and a number."""
    rng = np.random.default_rng([seed, number, 51])
    outputs = outputs_of(rng)
    shape = pick(rng, SHAPES)
    rows, settings = shape(outputs, rng)
    reason = shape.__name__
    is_damaged = bool(rng.random() < 0.5)
    if is_damaged and rng.random() < 0.5 and "hypothesis" in rows[0] and "score" in rows[0]:
        # `odd_text` knows these columns.
        change = pick(rng, [odd_text, odd_score, repeated_rows])
        rows = change([{"language_pair": "de-en", **row} for row in rows], rng)
        reason += f", {change.__name__}"
    suffix = pick(rng, [".tsv", ".csv", ".jsonl", ".parquet", "-quoted.tsv"])
    if suffix in (".tsv", ".csv"):
        rows = renamed(rows, settings, rng)
        separator = "\t" if suffix == ".tsv" else pick(rng, [",", ";"])
        raw = encoded(as_text(rows, separator, rng, settings), rng, settings)
    elif suffix == ".jsonl":
        raw = as_nested_jsonl(rows, settings)
    elif suffix == "-quoted.tsv":
        raw = as_quoted_tsv(rows)
        reason += ", quoted"
    else:
        try:
            raw = as_parquet(renamed(rows, settings, rng))
        # Types that Parquet does not mix, a score and an empty text among them.
        except (TypeError, ValueError, OverflowError):
            texts = [{name: str(value) for name, value in row.items()} for row in rows]
            raw = as_parquet(
                [{name: text.encode(errors="replace").decode() for name, text in row.items()} for row in texts]
            )
            settings.get("columns", {}).pop("id", None)
    if is_damaged and raw:
        change = pick(rng, DAMAGE)
        raw = change(raw, rng)
        reason += f", {change.__name__}"
    folder = pick(rng, ["", "lang=de/", "a b=c/"])
    truth = None
    if not is_damaged and suffix != "-quoted.tsv":
        truth = Counter(key_of(o["source"], o["reference"], o["hypothesis"], mean_of(o)) for o in outputs)
    return Case(f"{reason}, {suffix}, {settings}", f"{folder}{seed}-{number}{suffix}", raw, settings, truth)


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """`count` files in `folder`, each with what it is. The same for one seed."""
    for number in range(count):
        made = case(seed, number)
        path = folder / made.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(made.raw)
        yield made.reason, path


def answer(path: Path) -> str:
    """The sentence that a user reads about this file, "" where all its segments are read.

    Raises AssertionError for an undamaged file with other segments, and where `data show` disagrees.
    """
    seed, _, rest = path.name.partition("-")
    made = case(int(seed), int(rest.partition(".")[0].partition("-")[0]))
    reader = build({**load_option("dataset", "tabular"), "path": str(path), **made.settings}, DatasetReader, "dataset")
    said = ""
    found: Counter[tuple[Any, ...]] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for pair in reader.pairs(path.parent):
                segments = reader.load_segments(path.parent, pair)
                segments.fingerprint()
                for one, score in zip(segments.segments, segments.human_scores.tolist(), strict=True):
                    found[key_of(one.source, one.reference, one.hypothesis, score)] += 1
        except BmxError as error:
            said = str(error)
        shown = _shown(path, made.settings)
    if made.outputs is not None and (said or found != made.outputs):
        raise AssertionError(f"an undamaged table: {said or found - made.outputs}")
    if shown.startswith("error: ") != bool(said) or (not said and f" {found.total()} segment" not in shown):
        raise AssertionError(f"data show says {shown[:300]!r}, a sweep {said or found.total()!r}")
    return said


def _shown(path: Path, settings: dict[str, Any]) -> str:
    """What `data show` prints of the file: its error, or its counts of all pairs together."""
    arguments = ["show", str(path), "limit=0"]
    for key, value in settings.items():
        if key == "columns":
            arguments += [f"columns.{role}={json.dumps(names, ensure_ascii=False)}" for role, names in value.items()]
        else:
            arguments.append(f"{key}={value}")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(arguments)
    if status:
        return "error: " + err.getvalue().partition("error: ")[2]
    counts = [
        line.split(": ")[1].split(" segment")[0] for line in out.getvalue().split("\n") if line.startswith("tabular ")
    ]
    total = sum(int(count.replace(",", "")) for count in counts)
    return f"all together {total} segments"
