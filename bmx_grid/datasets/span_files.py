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

Inside, ends are excluded. An omission is a span without extent; an error that is marked in the source becomes an
omission, since the hypothesis has no characters for it.
"""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import DataError
from bmx_grid.core.storage import is_file
from bmx_grid.core.wording import first_line, pluralize
from bmx_grid.datasets.file_source import ImportedFile
from bmx_grid.datasets.lines import read_lines
from bmx_grid.datasets.tables import open_table
from bmx_grid.words.tags import ErrorSpan, checked_span

TextSpans = tuple[ErrorSpan, ...]
RATING = "ratings of mt-metrics-eval"
ESA = "an export of the annotation tool (ESA)"
MQM = "an MQM table"
QE = "spans of WMT's quality estimation, task 2"
BIO = "bio-mqm"
NESTED = "errors of WMT25 or WMT26"
JSONL = "spans"
# The place of an omission in ESA.
NO_PLACE = "missing"
OPENING = "<v>"
CLOSE = "</v>"
ESA_FIELDS = 12
ESA_KINDS = ("TGT", "BAD", "REF", "CHK")
MQM_FIELDS = {"system", "seg_id", "rater", "target", "severity"}
WITHOUT_ERROR = ("no-error", "no_error")
# Three letters, as the tool names languages, and two.
_ISO_639 = "eng en deu de ces cs jpn ja zho zh spa es hin hi isl is rus ru ukr uk heb he est et kor ko arz ar ita it"
_CODES = _ISO_639.split()
TWO_LETTERS = dict(zip(_CODES[::2], _CODES[1::2], strict=True))
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
    if not is_file(path):
        return None
    if name.endswith(".json"):
        with path.open(encoding="utf-8", errors="replace") as content:
            # The first record names the fields; a corpus may be large.
            return BIO if '"target_errors"' in content.read(2**16) else None
    if name.endswith((".jsonl", ".jsonl.gz", ".parquet")):
        return _format_of_table(path)
    if name.endswith((".csv", ".tsv")):
        return _format_of_header(path, "\t" if name.endswith(".tsv") else ",")
    return None


def _format_of_table(path: Path) -> str | None:
    table = open_table(path)
    if any(output.marked for output in table.outputs):
        return NESTED
    return JSONL if "spans" in table.names else None


def _format_of_header(path: Path, separator: str) -> str | None:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as content:
        first = next(csv.reader(content, delimiter=separator), [])
    # An export of the tool has no header: its first line is a row.
    if len(first) == ESA_FIELDS and first[3] in ESA_KINDS:
        return ESA
    names = {field.strip().lower() for field in first}
    if names >= MQM_FIELDS:
        return MQM
    has_start = not names.isdisjoint(QE_COLUMNS["start"])
    has_end = not names.isdisjoint(QE_COLUMNS["end"])
    return QE if has_start and has_end else None


def read_spans(path: Path) -> ImportedFile:
    """The spans of a file: `value` is a tuple of spans per row, or None for a text that nobody judged.

    Further columns are `place` and those of id, system, language_pair, rater, text, document, run and score that the
    format has. Raises DataError naming file, row and value for spans that end before they start or beyond their text,
    unknown severities, and everything else that violates the format.
    """
    import pandas as pd

    kind = span_format(path)
    readers = {RATING: _ratings, ESA: _esa, MQM: _mqm, QE: _qe, BIO: _bio, NESTED: _read_nested, JSONL: _jsonl}
    if kind is None:
        raise DataError(f"{path}: unknown format of error spans. docs/reference/formats.md lists the known ones.")
    try:
        rows = pd.DataFrame(list(readers[kind](path)))
    except (KeyError, TypeError, ValueError, AttributeError, csv.Error) as error:
        described = f"{kind} as docs/reference/formats.md describes it"
        raise DataError(f"{path}: not {described} ({first_line(error)}).") from error
    if rows.empty:
        raise DataError(f"{path}: holds no judged text; name a file with error spans.")
    return ImportedFile(path, rows.astype(object))


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"{where}: not JSON ({error}): {text[:60]!r}.") from error


def _parse_span_list(objects: Any, keys: tuple[str, str], where: str, text: str | None = None) -> TextSpans:
    """The spans of a list of objects; keys: of start and end."""
    # Anything but a list is reported as its first span.
    errors = objects if isinstance(objects, list) else [None]
    spans = []
    for number, error in enumerate(errors, start=1):
        place = f"{where}, span {number}"
        is_span = isinstance(error, dict) and {*keys, "severity"} <= error.keys()
        if not is_span:
            raise DataError(
                f"{place}: expected an object with {', '.join(keys)} and severity, got {str(error)[:60]!r}."
            )
        start, end = (error[key] for key in keys)
        category = error.get("category") or error.get("error_type") or ""
        if NO_PLACE in (start, end) or error.get("is_source_error") or error.get("omission"):
            start = 0
            end = 0
            category = category or "omission"
        spans.append(checked_span(start, end, error["severity"], place, text, category))
    return tuple(spans)


def _ratings(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}, line {number}"
        system, _, rest = line.partition("\t")
        written, _, rater = rest.partition("\t")
        value = None
        if written.strip() != "None":
            rating = _parse_json(written, where)
            errors = rating.get("errors") if isinstance(rating, dict) else None
            value = _parse_span_list(errors, ("start", "end"), where)
        yield {"system": system, "rater": rater, "place": f"line {number}", "value": value}


def _esa(path: Path) -> Iterator[dict[str, Any]]:
    """Rows in the order of items, in runs of consecutive ones: each run is a document, or a part of one.

    Attention checks (BAD) and the tutorial, which names no system, are left out.
    """
    rows = list(_esa_rows(path))
    rows.sort(key=lambda row: (row["rater"], row["system"], row["document"], row["item"]))
    run = 0
    expected = None
    for row in rows:
        judged = (row["rater"], row["system"], row["document"])
        item = row["item"]
        if (*judged, item) != expected:
            run += 1
        expected = (*judged, item + 1)
        # The tool adds the system behind a #.
        document, _, _ = row["document"].partition("#")
        yield row | {"run": run, "document": document}


def _esa_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of an export in its order, each a judged segment."""
    lines = csv.reader(f"{line}\n" for line in read_lines(path))
    for fields in lines:
        where = f"{path}, line {lines.line_num}"
        if len(fields) != ESA_FIELDS or not fields[2].isdecimal():
            raise DataError(f"{where}: expected {ESA_FIELDS} fields, the third a number, got {str(fields)[:80]}.")
        rater, system, item, kind, source, target, score, document, _, spans, *_ = fields
        if kind != "TGT" or document == system:
            continue
        # An empty field is one without spans.
        objects = _parse_json(spans or "[]", where)
        source_code = TWO_LETTERS.get(source, source)
        target_code = TWO_LETTERS.get(target, target)
        yield {
            "system": re.sub(r"^wmt\d\d\.", "", system),
            "rater": rater,
            "language_pair": f"{source_code}-{target_code}",
            "value": _parse_span_list(objects, ("start_i", "end_i"), where),
            "document": document,
            "item": int(item),
            "score": float(score),
            "place": f"line {lines.line_num}",
        }


def _mqm(path: Path) -> Iterator[dict[str, Any]]:
    """A row per text and rater, of rows with one error each."""
    lines = read_lines(path)
    names = [name.strip().lower() for name in lines[0].split("\t")]
    texts: dict[tuple[str, ...], dict[str, Any]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        where = f"{path}, line {number}"
        # Not strict: only the columns of MQM_FIELDS are needed.
        fields = dict(zip(names, line.split("\t"), strict=False))
        if not fields.keys() >= MQM_FIELDS:
            raise DataError(
                f"{where}: {pluralize(len(fields), 'field')}, but there are {len(names)} columns: {line[:60]!r}."
            )
        text, marked = strip_marks(fields["target"])
        system = fields["system"]
        segment = fields["seg_id"]
        rater = fields["rater"]
        # A rater may have marked errors in a text that was edited in between: a row of its own.
        key = (system, fields.get("doc", ""), segment, rater, text)
        if key not in texts:
            texts[key] = {
                "system": system,
                "id": segment,
                "rater": rater,
                "text": text,
                "place": f"line {number}",
                "value": (),
            }
        severity = fields["severity"]
        if severity.strip().lower() in WITHOUT_ERROR:
            continue
        # An omission, or an error of the source, has no extent.
        start, end = marked or (0, 0)
        span = checked_span(start, end, severity, where, text, fields.get("category"))
        texts[key]["value"] = (*texts[key]["value"], span)
    yield from texts.values()


def strip_marks(text: str) -> tuple[str, tuple[int, int] | None]:
    """A text of MQM without marks, and the span between them, to the end if they are not closed; None without marks."""
    before, opened, rest = text.partition(OPENING)
    inside, _, after = rest.partition(CLOSE)
    start = len(before)
    span = (start, start + len(inside)) if opened else None
    return before + inside + after, span


def _qe(path: Path) -> Iterator[dict[str, Any]]:
    """A row per text, whose starts, ends and severities are separated by blanks."""
    table = open_table(path)
    columns = _qe_columns(table.names, path)
    values = table.take(columns.values())
    for number in range(len(table)):
        row = {role: str(values[name][number]) for role, name in columns.items()}
        starts = row.pop("start").split()
        ends = row.pop("end").split()
        severities = row.pop("severity").split()
        where = table.where(number)
        if not len(starts) == len(ends) == len(severities):
            raise DataError(f"{where}: {len(starts)} starts, {len(ends)} ends and {len(severities)} severities.")
        spans = []
        for start, end, severity in zip(starts, ends, severities, strict=True):
            if severity.lower() in WITHOUT_ERROR:
                continue
            published = (row.get("language_pair", ""), row["id"], start, end)
            corrected_end = CORRECTED.get(published, end)
            spans.append(checked_span(start, corrected_end, severity, where, row["text"]))
        yield row | {"value": tuple(spans), "place": table.place(number)}


def _qe_columns(names: Sequence[str], path: Path) -> dict[str, str]:
    """role -> its column, the first usual name that exists. Raises DataError for a needed role without one."""
    in_any_case = {name.lower(): name for name in names}
    columns = {}
    for role, usual in QE_COLUMNS.items():
        there = [in_any_case[name] for name in usual if name in in_any_case]
        if there:
            columns[role] = there[0]
    for role in ("start", "end", "severity", "text", "id"):
        if role not in columns:
            raise DataError(f"{path}: no column of the {role}, such as {QE_COLUMNS[role][0]!r}.")
    return columns


def _bio(path: Path) -> Iterator[dict[str, Any]]:
    """Ends are included. A term that is not at its place is searched; found once, it gives the span.

    Other terms have no extent; a warning counts them: texts were edited after they were annotated.
    """
    records = _parse_json("\n".join(read_lines(path)), str(path))
    lost = 0
    for number, record in enumerate(records, start=1):
        where = f"{path}, record {number}"
        text = record["target"]
        spans = []
        for error in record["target_errors"]:
            excluded_end = int(error["endIndex"]) + 1
            span = checked_span(error["startIndex"], excluded_end, error["severity"], where)
            start = span.start
            end = span.end
            term = str(error["term"])
            if text[start:end] != term:
                start = 0
                end = 0
                if term and text.count(term) == 1:
                    start = text.index(term)
                    end = start + len(term)
                else:
                    lost += 1
            category = str(error.get("error_category", ""))
            spans.append(ErrorSpan(start, end, span.severity, category))
        for error in record["source_errors"]:
            category = error.get("error_category")
            spans.append(checked_span(0, 0, error["severity"], where, category=category))
        yield {
            "id": f"{record['DOC_ID']}:{record['SEG_ID']}",
            "system": record["MT_Engine"],
            "rater": record["Annotator_ID"],
            "text": text,
            "place": f"record {number}",
            "value": tuple(spans),
        }
    if lost:
        warnings.warn(f"{path}: {pluralize(lost, 'term')} not found at their place count without one.", stacklevel=4)


def _read_nested(path: Path) -> Iterator[dict[str, Any]]:
    table = open_table(path)
    for number, output in enumerate(table.outputs):
        where = table.where(number)
        for marked in output.marked:
            errors = None
            if isinstance(marked.errors, list):
                errors = [_exclude_end(error) for error in marked.errors]
            spans = _parse_span_list(errors, ("start", "end"), where, output.hypothesis)
            if marked.omission is not None:
                omission = checked_span(0, 0, marked.omission, where, category="omission")
                spans = (*spans, omission)
            yield {
                "id": output.id,
                "system": output.system,
                "language_pair": output.language_pair,
                "rater": marked.rater,
                "text": output.hypothesis,
                "place": table.place(number),
                "value": spans,
            }


def _exclude_end(error: Any) -> Any:
    """An error whose ends are `start_i` and `end_i`, the last one included, with `start` and `end`."""
    if not isinstance(error, dict) or not {"start_i", "end_i"} <= error.keys():
        return error
    end = error["end_i"]
    # An end that is no number is left as it is, and refused as the end of a span.
    if isinstance(end, int):
        end = end + 1
    return error | {"start": error["start_i"], "end": end}


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    table = open_table(path)
    names = [name for name in ("id", "system", "language_pair", "rater", "hypothesis") if name in table.names]
    values = table.take([*names, "spans"])
    for number in range(len(table)):
        row: dict[str, Any] = {}
        for name in names:
            value = values[name][number]
            role = "text" if name == "hypothesis" else name
            row[role] = None if value is None else str(value)
        objects = values["spans"][number]
        row["value"] = None
        if objects is not None:
            row["value"] = _parse_span_list(objects, ("start", "end"), table.where(number), row.get("text"))
        row["place"] = table.place(number)
        yield row
