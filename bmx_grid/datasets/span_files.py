"""Error spans that people or models marked, as their files hold them: a row per judgement of a text.

| file | rows | ends are | how rows find their segments |
|---|---|---|---|
| .seg.rating (mt-metrics-eval) | SYSTEM, JSON `errors` or None, perhaps rater | excluded | order of the sources |
| .csv of the annotation tool (ESA), no header | annotator, system, item, TGT or BAD, …, JSON | excluded | document |
| .tsv with system, seg_id, rater, target (MQM) | one per error, between <v> and </v> | marked | id, system |
| .tsv with start_id or `error start id` (WMT QE, task 2) | a text, starts, ends and severities | excluded | id |
| .json with target_errors (bio-mqm) | a text; term, startIndex, endIndex, severity | included | DOC_ID:SEG_ID, system |
| .jsonl of WMT26 and WMT25 (`datasets.nested`) | an object per source | excluded; `end_i` included | id, system |
| .jsonl, .parquet with spans | `spans: [{start, end, severity}]`, id, system, rater | excluded | id, system |

Inside, ends are excluded. An omission is a span without extent; an error that is marked in the source is one as well,
since the hypothesis has nothing that it could be marked on.
"""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.core.errors import DataError, unknown
from bmx_grid.core.wording import counted, first_line
from bmx_grid.datasets.lines import read_crlf_lines
from bmx_grid.datasets.scores_of_files import ImportedFile
from bmx_grid.datasets.tables import open_table
from bmx_grid.words.tags import WEIGHTS, ErrorSpan

if TYPE_CHECKING:
    pass

TextSpans = tuple[ErrorSpan, ...]
RATING = "ratings of mt-metrics-eval"
ESA = "an export of the annotation tool (ESA)"
MQM = "an MQM table"
QE = "spans of WMT's quality estimation, task 2"
BIO = "bio-mqm"
NESTED = "errors of WMT25 or WMT26"
JSONL = "spans"
NO_PLACE = "missing"  # the place of an omission in ESA
OPEN = "<v>"
CLOSE = "</v>"
ESA_FIELDS = 12
ESA_KINDS = ("TGT", "BAD", "REF", "CHK")
SEVERITIES = {"undecided": "neutral", "trivial": "neutral"}  # names that publishers have beside those of WEIGHTS
WITHOUT_ERROR = ("no-error", "no_error")
_ISO_639 = "eng en deu de ces cs jpn ja zho zh spa es hin hi isl is rus ru ukr uk heb he est et kor ko arz ar ita it"
TWO_LETTERS = dict(zip(_ISO_639.split()[::2], _ISO_639.split()[1::2], strict=True))  # as the tool names them
# Published by mistake, line 3349 of hallucinations_gold_T2_header.tsv: 1154 for a word that ends at 154.
CORRECTED = {("zh-en", "1450", "143", "1154"): "154"}
QE_COLUMNS = {
    "start": ("start_id", "error start id", "error_start_id", "start_indices"),
    "end": ("end_id", "error end id", "error_end_id", "end_indices"),
    "severity": ("error", "error type", "error_type", "error_types"),
    "text": ("mt", "target", "translation"),
    "id": ("sid", "seg_id", "id", "segment_id"),
    "language_pair": ("lp", "language_pair"),
    "system": ("mt_model", "system"),
    "rater": ("annotator_id", "rater"),
}


def span_format(path: Path) -> str | None:
    """Which of the formats a file has, by its name and first line; None for files without spans."""
    name = path.name.lower()
    if name.endswith(".seg.rating"):
        return RATING
    if not path.is_file() or not name.endswith((".csv", ".tsv", ".json", ".jsonl", ".jsonl.gz", ".parquet")):
        return None
    if name.endswith(".json"):
        with path.open(encoding="utf-8", errors="replace") as content:
            return BIO if '"target_errors"' in content.read(2**16) else None
    if name.endswith((".jsonl", ".jsonl.gz", ".parquet")):
        table = open_table(path)
        if any(output.marked for output in table.outputs):
            return NESTED
        return JSONL if "spans" in table.names else None
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as content:
        first = next(csv.reader(content, delimiter="\t" if name.endswith(".tsv") else ","), [])
    if len(first) == ESA_FIELDS and first[3] in ESA_KINDS:
        return ESA
    names = {field.strip().lower() for field in first}
    if {"system", "seg_id", "rater", "target", "severity"} <= names:
        return MQM
    return QE if names & set(QE_COLUMNS["start"]) and names & set(QE_COLUMNS["end"]) else None


def read_spans(path: Path) -> ImportedFile:
    """The spans of a file: `value` is a tuple of spans per row, or None for a text that nobody judged.

    Beside `place` there are the columns id, system, language_pair, rater, text, document, run and score that the format
    has. Raises DataError naming file, row and value for spans that end before they start or beyond their text, unknown
    severities, and whatever else is not as the format promises.
    """
    import pandas as pd

    kind = span_format(path)
    readers = {RATING: _ratings, ESA: _esa, MQM: _mqm, QE: _qe, BIO: _bio, NESTED: _nested, JSONL: _jsonl}
    if kind is None:
        raise DataError(f"{path}: not a format of error spans that is known here; docs/data.md lists them.")
    try:
        rows = pd.DataFrame(list(readers[kind](path)))
    except (KeyError, TypeError, ValueError, AttributeError, csv.Error) as error:
        raise DataError(f"{path}: not {kind} as docs/data.md describes it ({first_line(error)}).") from error
    if rows.empty:
        raise DataError(f"{path}: holds no judged text; name a file with error spans.")
    return ImportedFile(path, rows.astype(object))


def _span(start: Any, end: Any, severity: Any, where: str, text: str | None = None, category: Any = "") -> ErrorSpan:
    """One checked span. Raises DataError naming the row and the value."""
    name = str(severity).strip().lower()
    name = SEVERITIES.get(name, name)
    if name not in WEIGHTS:
        raise DataError(f"{where}: " + unknown("severity", str(severity)[:40], list(WEIGHTS)))
    try:
        first = int(str(start))
        last = int(str(end))
    except ValueError as error:
        raise DataError(
            f"{where}: the span {start!r} to {end!r} has no whole numbers; count characters from 0."
        ) from error
    if not 0 <= first <= last:
        raise DataError(f"{where}: a span from {first} to {last}; its start must be 0 or more, and not after its end.")
    check_within(last, text, where)
    return ErrorSpan(first, last, name, "" if category is None else str(category))


def check_within(end: int, text: str | None, where: str) -> None:
    if text is not None and end > len(text):
        raise DataError(
            f"{where}: a span ends at {end}, but the text has {counted(len(text), 'character')}: {text[:60]!r}; "
            "correct it, name the file of these texts, or leave such rows out: extra=ignore."
        )


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"{where}: not JSON ({error}): {text[:60]!r}.") from error


def _of_objects(objects: Any, keys: tuple[str, str], where: str, text: str | None = None) -> TextSpans:
    """The spans of a list of objects; keys: of start and end."""
    spans = []
    for number, error in enumerate(objects if isinstance(objects, list) else [None], start=1):
        place = f"{where}, span {number}"
        if not isinstance(error, dict) or not {*keys, "severity"} <= error.keys():
            raise DataError(
                f"{place}: expected an object with {', '.join(keys)} and severity, got {str(error)[:60]!r}."
            )
        start, end = (error[key] for key in keys)
        omitted = NO_PLACE in (start, end) or error.get("is_source_error") or error.get("omission")
        if omitted:
            start = 0
            end = 0
        category = error.get("category") or error.get("error_type") or ("omission" if omitted else "")
        spans.append(_span(start, end, error["severity"], place, text, category))
    return tuple(spans)


def _ratings(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_crlf_lines(path), start=1):
        where = f"{path}, line {number}"
        system, _, rest = line.partition("\t")
        written, _, rater = rest.partition("\t")
        row: dict[str, Any] = {"system": system, "rater": rater, "place": f"line {number}", "value": None}
        if written.strip() != "None":
            rating = _parsed(written, where)
            errors = rating.get("errors") if isinstance(rating, dict) else None
            row["value"] = _of_objects(errors, ("start", "end"), where)
        yield row


def _esa(path: Path) -> Iterator[dict[str, Any]]:
    """Rows in the order of items, in runs of consecutive ones: each run is a document, or a part of one.

    Attention checks (BAD) and the tutorial, which names no system, are left out.
    """
    lines = csv.reader(f"{line}\n" for line in read_crlf_lines(path))
    rows: list[dict[str, Any]] = []
    for fields in lines:
        where = f"{path}, line {lines.line_num}"
        if len(fields) != ESA_FIELDS or not fields[2].isdecimal():
            raise DataError(f"{where}: expected {ESA_FIELDS} fields, the third a number, got {str(fields)[:80]}.")
        rater, system, item, kind, source, target, score, document, _, spans, *_ = fields
        if kind != "TGT" or document == system:
            continue
        value = _of_objects(_parsed(spans or "[]", where), ("start_i", "end_i"), where)
        languages = "-".join(TWO_LETTERS.get(language, language) for language in (source, target))
        row: dict[str, Any] = {
            "system": re.sub(r"^wmt\d\d\.", "", system),
            "rater": rater,
            "language_pair": languages,
            "value": value,
        }
        known = {"document": document, "item": int(item), "score": float(score), "place": f"line {lines.line_num}"}
        rows.append(row | known)
    rows.sort(key=lambda row: (row["rater"], row["system"], row["document"], row["item"]))
    run = 0
    for before, row in zip([None, *rows], rows, strict=False):
        same = before is not None and all(before[key] == row[key] for key in ("rater", "system", "document"))
        run += not (same and before is not None and before["item"] + 1 == row["item"])
        yield row | {"run": run, "document": row["document"].partition("#")[0]}


def _mqm(path: Path) -> Iterator[dict[str, Any]]:
    """A row per text and rater, of rows with one error each."""
    lines = read_crlf_lines(path)
    names = [name.strip().lower() for name in lines[0].split("\t")]
    texts: dict[tuple[str, ...], dict[str, Any]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        where = f"{path}, line {number}"
        fields = dict(zip(names, line.split("\t"), strict=False))
        if not {"system", "seg_id", "rater", "target", "severity"} <= fields.keys():
            raise DataError(
                f"{where}: {counted(len(fields), 'field')}, but there are {len(names)} columns: {line[:60]!r}."
            )
        before, opened, rest = fields["target"].partition(OPEN)
        inside, _, after = rest.partition(CLOSE)
        text = before + inside + after
        key = (fields["system"], fields.get("doc", ""), fields["seg_id"], fields["rater"])
        row: dict[str, Any] = {
            "system": key[0],
            "id": key[2],
            "rater": key[3],
            "text": text,
            "place": f"line {number}",
            "value": (),
        }
        row = texts.setdefault(key, row)
        if fields["severity"].strip().lower() in WITHOUT_ERROR:
            continue
        start, end = (len(before), len(before + inside)) if opened else (0, 0)
        row["value"] += (_span(start, end, fields["severity"], where, text, fields.get("category")),)
    yield from texts.values()


def _qe(path: Path) -> Iterator[dict[str, Any]]:
    table = open_table(path)
    lower = {name.lower(): name for name in table.names}
    columns = {}
    for role, names in QE_COLUMNS.items():
        there = [lower[name] for name in names if name in lower]
        if there:
            columns[role] = there[0]
    for role in ("start", "end", "severity", "text", "id"):
        if role not in columns:
            raise DataError(f"{path}: no column of the {role}, such as {QE_COLUMNS[role][0]!r}.")
    values = table.take(columns.values())
    for number in range(len(table)):
        row = {role: str(values[name][number]) for role, name in columns.items()}
        starts, ends, severities = (row.pop(role).split() for role in ("start", "end", "severity"))
        where = table.where(number)
        if len({len(starts), len(ends), len(severities)}) > 1:
            raise DataError(f"{where}: {len(starts)} starts, {len(ends)} ends and {len(severities)} severities.")
        spans = []
        for start, end, severity in zip(starts, ends, severities, strict=True):
            if severity.lower() not in WITHOUT_ERROR:
                name = (row.get("language_pair", ""), row["id"], start, end)
                spans.append(_span(start, CORRECTED.get(name, end), severity, where, row["text"]))
        yield row | {"value": tuple(spans), "place": table.place(number)}


def _bio(path: Path) -> Iterator[dict[str, Any]]:
    """Ends are included. Where a term is not at its place, it is looked for; found once, the span is there.

    The others have no extent; a warning counts them: texts were edited after they were annotated.
    """
    records = _parsed("\n".join(read_crlf_lines(path)), str(path))
    lost = 0
    for number, record in enumerate(records, start=1):
        spans = []
        text = record["target"]
        for error in record["target_errors"]:
            where = f"{path}, record {number}"
            span = _span(error["startIndex"], int(error["endIndex"]) + 1, error["severity"], where)
            start = span.start
            end = span.end
            term = str(error["term"])
            if text[start:end] != term:
                found = bool(term) and text.count(term) == 1
                start = text.index(term) if found else 0
                end = start + len(term) if found else 0
                lost += not found
            spans.append(ErrorSpan(start, end, span.severity, str(error.get("error_category", ""))))
        for error in record["source_errors"]:
            severity = error["severity"]
            category = error.get("error_category")
            spans.append(_span(0, 0, severity, f"{path}, record {number}", category=category))
        names = {"id": f"{record['DOC_ID']}:{record['SEG_ID']}", "system": record["MT_Engine"]}
        place = {"rater": record["Annotator_ID"], "text": text, "place": f"record {number}"}
        yield names | place | {"value": tuple(spans)}
    if lost:
        warnings.warn(f"{path}: {counted(lost, 'term')} not found at their place count without one.", stacklevel=4)


def _nested(path: Path) -> Iterator[dict[str, Any]]:
    """A row per output and round of annotation."""
    for output in open_table(path).outputs:
        where = f"{path}, {output.place}"
        for marked in output.marked:
            errors = [_with_excluded_end(error) for error in marked.errors] if isinstance(marked.errors, list) else None
            spans = _of_objects(errors, ("start", "end"), where, output.hypothesis)
            if marked.omission is not None:
                spans = (*spans, _span(0, 0, marked.omission, where, category="omission"))
            names = {"id": output.id, "system": output.system, "language_pair": output.language_pair}
            yield names | {"rater": marked.rater, "text": output.hypothesis, "place": output.place, "value": spans}


def _with_excluded_end(error: Any) -> Any:
    """An error whose ends are `start_i` and `end_i`, the last one included, with `start` and `end`."""
    if not isinstance(error, dict) or not {"start_i", "end_i"} <= error.keys():
        return error
    end = error["end_i"]
    return error | {"start": error["start_i"], "end": end + 1 if isinstance(end, int) else end}


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    table = open_table(path)
    names = [name for name in ("id", "system", "language_pair", "rater", "hypothesis") if name in table.names]
    values = table.take([*names, "spans"])
    for number in range(len(table)):
        row = {("text" if name == "hypothesis" else name): values[name][number] for name in names}
        row = {name: value if value is None else str(value) for name, value in row.items()}
        given = values["spans"][number]
        value = None if given is None else _of_objects(given, ("start", "end"), table.where(number), row.get("text"))
        yield row | {"value": value, "place": table.place(number)}


def severities(spans: Iterable[Sequence[ErrorSpan]]) -> Mapping[str, int]:
    """How many spans of each severity there are, and `omission` those without extent."""
    count: Counter[str] = Counter()
    for span in chain.from_iterable(spans):
        count[span.severity] += 1
        count["omission"] += span.start == span.end
    return count
