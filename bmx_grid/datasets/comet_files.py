"""Scores as the command comet-score of COMET writes them: its text, and its --to_json.

The text has a line per segment and file of translations, `FILE\tSegment 0\tscore: 0.8123`, then one per file,
`FILE\tscore: 0.8`. The JSON has a list of objects per file, whose field COMET is the score. Segments count from 0 in
the order of the sources. A file of translations is called as its system, SYSTEM.txt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import escape_unprintable, first_line, override
from bmx_grid.datasets.file_source import FileSource

if TYPE_CHECKING:
    import pandas as pd

SCORE_LINE = re.compile(
    r"(?P<file>[^\t]*)\t(?:Segment (?P<segment>\d{1,9})\t)?score: (?P<value>[^\t]*)(?:\tvariance: [^\t]*)?"
)
FIELD = "COMET"
# How the names of files of texts end: .txt, .de; a number belongs to the name of a system.
ENDING = re.compile(r"\.[A-Za-z]{1,5}")


def is_comet_text(lines: Sequence[str]) -> bool:
    """Whether the first line is one of comet-score."""
    return SCORE_LINE.fullmatch(lines[0]) is not None


def comet_rows(lines: Sequence[str], path: Path) -> tuple[pd.DataFrame, bool]:
    """The scores as text, in the order of the sources, and whether they are of systems, as with --quiet.

    Raises DataError naming the line for one of another form, or a segment that is missing.
    """
    segments = []
    systems = []
    n_segments: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        match = SCORE_LINE.fullmatch(line)
        if match is None:
            raise DataError(
                f"{path}, line {number}: {line[:60]!r} is no line of comet-score; delete it, or name a table of scores."
            )
        file = match["file"]
        row = {"system": file, "value": match["value"], "place": f"line {number}"}
        if match["segment"] is None:
            systems.append(row)
            continue
        expected = n_segments.get(file, 0)
        if int(match["segment"]) != expected:
            raise DataError(
                f"{path}, line {number}: expected segment {expected} of {escape_unprintable(file)[:60]}, got "
                f"{match['segment']}; keep all lines of comet-score in their order."
            )
        n_segments[file] = expected + 1
        segments.append(row)
    if segments:
        return _name_systems(segments), False
    return _name_systems(systems, keeps_one=True), True


def comet_json_rows(path: Path, raw: str, option: FileSource) -> pd.DataFrame:
    """The scores of --to_json, in the order of the sources.

    Raises DataError naming file and segment for another layout.
    """
    field = option.columns.get("score") or FIELD
    try:
        files = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: not JSON ({first_line(error)}); write it again with comet-score --to_json."
        ) from error
    if not isinstance(files, Mapping) or not files:
        raise DataError(f"{path}: no lists of scores by file; write it with comet-score --to_json, or use .jsonl.")
    rows = []
    for file, records in files.items():
        if not isinstance(records, list):
            raise DataError(
                f"{path}: {escape_unprintable(file)[:60]!r} holds no list of segments; write it with comet-score "
                "--to_json."
            )
        for number, record in enumerate(records):
            place = f"{escape_unprintable(file)[:60]}, segment {number}"
            if not isinstance(record, Mapping) or field not in record:
                proposed = override(f"{option.KEY}.columns.score", "NAME")
                raise DataError(f"{path}, {place}: no field {field!r}; name the field of the scores: {proposed}")
            rows.append({"system": file, "value": record[field], "place": place})
    return _name_systems(rows)


def _name_systems(rows: Sequence[Mapping[str, Any]], *, keeps_one: bool = False) -> pd.DataFrame:
    """Rows with the system of each file; without the column if there is one file, which may be called anything."""
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=["system", "value", "place"]).astype(object)
    if frame.system.nunique() == 1 and not keeps_one:
        return frame.drop(columns="system")
    files = map(PurePosixPath, frame.system)
    return frame.assign(system=[file.stem if ENDING.fullmatch(file.suffix) else file.name for file in files])
