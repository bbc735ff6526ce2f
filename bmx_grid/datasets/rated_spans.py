"""Who marked which error spans in which segment: the rows of a file of spans, joined with a data set."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.core.errors import DataError, close_match
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import counted, named
from bmx_grid.datasets.file_source import FileSource, ImportedFile
from bmx_grid.datasets.scores_of_files import with_ids
from bmx_grid.datasets.span_files import TextSpans
from bmx_grid.words.tags import check_within

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

# Of N segments, who marked what; an empty list: nobody judged the segment.
Ratings = list[list[tuple[str, TextSpans]]]


def ratings_of(file: ImportedFile, segments: SegmentSet, option: FileSource) -> Ratings:
    """Who marked which spans in each of N segments.

    Raises DataError naming file, row and value for unknown ids and systems, a rater who judges a segment twice, another
    text than the segment's, and spans beyond their text; if option.extra is "ignore", such rows are left out, and a
    warning counts and names them.
    """
    rows = option.rows(file, segments.language_pair)
    # Only the annotation tool's rows have runs: they are documents, and may judge a segment again.
    has_runs = "run" in rows
    if has_runs:
        rows = _with_document_ids(rows, segments, file.path)
    elif "id" not in rows:
        rows = with_ids(file.path, rows, segments.all_ids, segments.name)
    has_systems = "system" in rows and bool(segments.systems)
    place_of: dict[tuple[str, str | None], int] = {}
    for place, segment in enumerate(segments.segments):
        system = segment.system if has_systems else None
        place_of[segment.id, system] = place
    ratings: Ratings = [[] for _ in segments.segments]
    # Places of rows that are left out, by the reason.
    left_out: dict[str, list[str]] = {}
    for row in rows.to_dict("records"):
        where = f"{file.path}, {row['place']}"
        segment_id = row["id"]
        system = row["system"] if has_systems else None
        if option.extra == "refuse":
            _check_known(segments, segment_id, system, where, option)
        place = place_of.get((segment_id, system), -1)
        spans = row["value"]
        if place < 0 or spans is None:
            continue
        text = segments.segments[place].hypothesis
        # Predictions may have no texts.
        is_other_text = isinstance(row.get("text"), str) and row["text"] != text
        if is_other_text and option.extra == "refuse":
            raise DataError(
                f"{where}: the text {row['text'][:60]!r} is not that of the segment, {text[:60]!r}; correct it, or "
                f"leave such rows out: {option.KEY}.extra=ignore"
            )
        if is_other_text:
            left_out.setdefault("of another text than the segment's", []).append(row["place"])
            continue
        if has_runs:
            spans = _after_text(spans, text)
        is_beyond = any(span.end > len(text) for span in spans)
        if is_beyond and option.extra == "ignore":
            left_out.setdefault("with spans beyond the text", []).append(row["place"])
            continue
        for span in spans:
            check_within(span.end, text, where)
        rater = str(row.get("rater") or "")
        if not has_runs and rater in dict(ratings[place]):
            raise DataError(f"{where}: {rater or 'the file'} has judged segment {segment_id!r} already; keep one row.")
        ratings[place].append((rater, spans))
    for reason, places in left_out.items():
        warnings.warn(f"{file.path}: {counted(len(places), 'row')} {reason} left out: {named(places)}.", stacklevel=2)
    if not any(ratings):
        raise DataError(f"{file.path}: no judged segment of {segments.name}.")
    return ratings


def _check_known(segments: SegmentSet, segment_id: Any, system: Any, where: str, option: FileSource) -> None:
    """Raise DataError for an id or a system that the whole test set does not have."""
    for role, name, known in (("id", segment_id, segments.all_ids), ("system", system, segments.all_systems)):
        if name is not None and name not in known:
            raise DataError(
                f"{where}: the {role} {str(name)[:60]!r} is none of {segments.name}{close_match(str(name), known)}; "
                f"correct it, or set {option.KEY}.extra=ignore."
            )


def _after_text(spans: TextSpans, text: str) -> TextSpans:
    """The spans of the annotation tool: what is marked after the text is its word MISSING there, an omission."""
    last = len(text)
    moved = []
    for span in spans:
        if span.start >= last:
            span = replace(span, start=last, end=last)
        moved.append(span)
    return tuple(moved)


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
        document = (run.system.iloc[0], run.document.iloc[0])
        # Documents of other test sets are passed over: an export may hold several.
        if document in places_of:
            runs.append((run, np.array(places_of[document], dtype=np.int64)))
    judged = _judged_places(runs, segments)
    kept = []
    for (run, _), places in zip(runs, judged, strict=True):
        if len(places):
            ids = [segments.segments[place].id for place in places.tolist()]
            kept.append(run.assign(id=ids))
    if len(kept) < len(runs):
        warnings.warn(
            f"{path}: {counted(len(runs) - len(kept), 'document')} judged in part left out, since no human score of "
            f"{segments.dataset} says which part.",
            stacklevel=2,
        )
    return pd.concat(kept) if kept else rows.iloc[:0].assign(id="")


def _judged_places(runs: Sequence[tuple[Any, Ints]], segments: SegmentSet) -> list[Ints]:
    """The places that were judged in each run, of the human score that explains most; none where it does not say.

    runs: the rows of each, and the places of all segments of its document.
    """
    choices = []
    for human in segments.judgements.scores.values():
        judged = []
        for run, places in runs:
            scores = run.score.to_numpy(dtype=np.float64)
            judged.append(_rated_as(scores, places, human))
        choices.append(judged)
    # Of as many places, the first human score.
    return max(choices, key=lambda judged: sum(map(len, judged)))


def _rated_as(scores: Floats, places: Ints, human: Floats) -> Ints:
    """The segments that were judged: all, where there are as many; else those rated so, one after the other.

    None unless that is at one place.
    """
    if len(places) == len(scores):
        return places
    rated = places[np.isfinite(human[places])]
    fitting = []
    for start in range(len(rated) - len(scores) + 1):
        part = rated[start : start + len(scores)]
        if np.array_equal(human[part], scores):
            fitting.append(part)
    if len(fitting) == 1:
        return fitting[0]
    return places[:0]
