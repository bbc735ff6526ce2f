"""Who marked which error spans in which segment: the rows of a file of spans, joined with a data set."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.core.errors import DataError, close_match
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import counted
from bmx_grid.datasets.scores_of_files import FromFile, ImportedFile, with_ids
from bmx_grid.datasets.span_files import TextSpans, check_within

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

Ratings = list[list[tuple[str, TextSpans]]]  # of N segments, who marked what; an empty list: nobody judged the segment


def ratings_of(file: ImportedFile, segments: SegmentSet, option: FromFile) -> Ratings:
    """Who marked which spans in each of N segments.

    Raises DataError naming file, row and value for unknown ids and systems, a rater who judges a segment twice, another
    text than the segment's, and spans beyond their text; where option.extra is "ignore", such rows are left out.
    """
    rows = option.rows(file, segments.language_pair)
    if "run" in rows:
        rows = _with_document_ids(rows, segments, file.path)
    elif "id" not in rows:
        rows = with_ids(file.path, rows, segments.all_ids, f"{segments.dataset} {segments.language_pair}")
    place_of: dict[tuple[str, str | None], int] = {}
    has_systems = "system" in rows and bool(segments.systems)
    for place, segment in enumerate(segments.segments):
        place_of[segment.id, segment.system if has_systems else None] = place
    ratings: Ratings = [[] for _ in segments.segments]
    beyond = 0
    for row in rows.to_dict("records"):
        where = f"{file.path}, {row['place']}"
        system = row["system"] if has_systems else None
        for role, name, known in (("id", row["id"], segments.all_ids), ("system", system, segments.all_systems)):
            if name is not None and name not in known and option.extra == "refuse":
                raise DataError(
                    f"{where}: the {role} {str(name)[:60]!r} is none of {segments.dataset} {segments.language_pair}"
                    f"{close_match(str(name), known)}; correct it, or set {option.KEY}.extra=ignore."
                )
        place = place_of.get((row["id"], system), -1)
        if place < 0 or row["value"] is None:
            continue
        text = segments.segments[place].hypothesis
        if isinstance(row.get("text"), str) and row["text"] != text:  # predictions may stand without their texts
            raise DataError(f"{where}: the text {row['text'][:60]!r} is not that of the segment, {text[:60]!r}.")
        value = _after_text(row["value"], text) if "run" in row else row["value"]
        if option.extra == "ignore" and any(span.end > len(text) for span in value):
            beyond += 1
            continue
        for span in value:
            check_within(span.end, text, where)
        rater = str(row.get("rater") or "")
        if "run" not in row and rater in dict(ratings[place]):
            raise DataError(f"{where}: {rater or 'the file'} has judged segment {row['id']!r} already; keep one row.")
        ratings[place].append((rater, value))
    if beyond:
        warnings.warn(f"{file.path}: {counted(beyond, 'row')} with spans beyond the text left out.", stacklevel=2)
    if not any(ratings):
        raise DataError(f"{file.path}: no judged segment of {segments.dataset} {segments.language_pair}.")
    return ratings


def _after_text(spans: TextSpans, text: str) -> TextSpans:
    """The spans of the annotation tool: what is marked after the text is its word MISSING there, an omission."""
    last = len(text)
    return tuple(replace(span, start=last, end=last) if span.start >= last else span for span in spans)


def _with_document_ids(rows: Any, segments: SegmentSet, path: Path) -> Any:
    """Rows of the annotation tool with ids: those of the document's segments, in order, where a run has all of them.

    Where a part of the document was judged, a human score of the data set says which: of all human scores the one that
    most runs have. Runs that it has not, or at several places, are left out; a warning counts them.
    """
    import pandas as pd

    places_of: dict[tuple[str | None, str | None], list[int]] = {}
    for place, segment in enumerate(segments.segments):
        places_of.setdefault((segment.system, segment.document), []).append(place)
    runs = []
    for _, run in rows.groupby("run", sort=False):
        places = places_of.get((run.system.iloc[0], run.document.iloc[0]), [])
        if places:
            runs.append((run, np.array(places, dtype=np.int64)))
    choices = []
    for human in segments.judgements.scores.values():
        choices.append([_rated_as(run.score.to_numpy(dtype=np.float64), places, human) for run, places in runs])
    chosen = max(choices, key=lambda choice: sum(map(len, choice)))
    kept = []
    for (run, _), judged in zip(runs, chosen, strict=True):
        if len(judged):
            kept.append(run.assign(id=[segments.segments[place].id for place in judged.tolist()]))
    if len(kept) < len(runs):
        warnings.warn(
            f"{path}: {counted(len(runs) - len(kept), 'document')} judged in part left out, since no human score of "
            f"{segments.dataset} says which part.",
            stacklevel=2,
        )
    return pd.concat(kept) if kept else rows.iloc[:0].assign(id="")


def _rated_as(scores: Floats, places: Ints, human: Floats) -> Ints:
    """The segments that were judged: all, where there are as many; else those rated so, one after the other.

    None unless that is at one place.
    """
    if len(places) == len(scores):
        return places
    rated = places[np.isfinite(human[places])]
    starts = range(len(rated) - len(scores) + 1)
    parts = [rated[start : start + len(scores)] for start in starts]
    fitting = [part for part in parts if np.array_equal(human[part], scores)]
    return fitting[0] if len(fitting) == 1 else places[:0]
