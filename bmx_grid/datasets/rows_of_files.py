"""Rows of external files (scores, words' values or error spans) matched with segments.

Rows are found by (id, system), or by the order of the sources.

Nothing is dropped and nothing is shifted.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.core.errors import DataError, DataMissingError, close_match
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import join_names, pluralize
from bmx_grid.datasets.column_roles import first_few
from bmx_grid.datasets.file_source import FileSource, ImportedFile
from bmx_grid.datasets.lines import refuse
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.span_files import TextSpans
from bmx_grid.words.tags import check_within

if TYPE_CHECKING:
    import pandas as pd

# Of N segments, who marked what; an empty list: nobody judged the segment.
Ratings = list[list[tuple[str, TextSpans]]]


def file_rows(file: ImportedFile, segments: SegmentSet, option: FileSource) -> pd.DataFrame:
    """The file's row of each of the N segments.

    Raises DataError naming the file and a row, or a segment without one: for a score that is missing or repeated,
    another number of scores than the test set has segments, and rows of unknown ids or systems. Raises
    DataMissingError when the file has no row of the language pair.
    """
    import pandas as pd

    rows = option.rows(file, segments.language_pair)
    if "id" not in rows:
        rows = _assign_ids(file, rows, segments)
        if "system" in rows and rows.system.nunique() > 1:
            _check_systems(file, segments)
    elif file.is_numbered:
        rows = _replace_numbers(rows, segments.all_ids)
    elif segments.all_ids == tuple(str(number) for number in range(1, len(segments.all_ids) + 1)):
        # pandas counts rows from 0, and a table without ids counts them from 1
        as_written = rows
        rows = _replace_numbers(as_written, segments.all_ids)
        if rows is not as_written:
            warnings.warn(
                f"{file.path}: the ids 0 to {len(segments.all_ids) - 1} are read as the rows 1 to "
                f"{len(segments.all_ids)} of {segments.name}.",
                stacklevel=2,
            )
    names = [(segment.id, segment.system) for segment in segments.segments]
    wanted = pd.DataFrame(names, columns=["id", "system"], dtype=object)
    # If one side names no systems, rows are matched by ids only.
    if "system" not in rows or not segments.systems:
        wanted = wanted[["id"]]
    if wanted.duplicated().any():
        raise DataError(
            f"{file.path}: names no systems, but segments of {segments.name} have outputs of several "
            f"({first_few(segments.systems)}); add a column system{_or_per_row(segments)}."
        )
    return _match_rows(file, rows, wanted, segments, option)


def _assign_ids(file: ImportedFile, rows: pd.DataFrame, segments: SegmentSet) -> pd.DataFrame:
    """Rows without ids get those of the sources, or of the data set's rows if they are as many."""
    outputs = segments.all_outputs
    if "system" not in rows and len(rows) == len(outputs) != len(segments.all_ids):
        ids, systems = zip(*outputs, strict=True)
        return rows.assign(id=list(ids), system=list(systems))
    return add_source_ids(file.path, rows, segments.all_ids, segments.name, _or_per_row(segments))


def _or_per_row(segments: SegmentSet) -> str:
    """The other reading of scores without ids, if there are several outputs per source."""
    n_outputs = len(segments.all_outputs)
    if n_outputs <= len(segments.all_ids):
        return ""
    return f", or give {pluralize(n_outputs, 'score')}, one per output in the order of the data set's rows"


def _replace_numbers(rows: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """Rows whose ids are the numbers of the sources from 0, with the sources' own ids instead."""
    numbers = set(rows.id)
    places = [str(place) for place in range(len(ids))]
    # If some ids are no such numbers, all are the sources' own ids.
    if numbers == set(ids) or numbers != set(places):
        return rows
    id_of_place = dict(zip(places, ids, strict=True))
    return rows.assign(id=rows.id.map(id_of_place))


def file_system_scores(file: ImportedFile, segments: SegmentSet, option: FileSource) -> dict[str, float]:
    """The score of each system of the segments, NaN if the file declares it missing. Raises as `file_rows`."""
    import pandas as pd

    rows = option.rows(file, segments.language_pair)
    _check_systems(file, segments)
    wanted = pd.DataFrame({"system": segments.systems}, dtype=object)
    scores = _match_rows(file, rows, wanted, segments, option).value.tolist()
    return dict(zip(segments.systems, scores, strict=True))


def _match_rows(
    file: ImportedFile, rows: pd.DataFrame, wanted: pd.DataFrame, segments: SegmentSet, option: FileSource
) -> pd.DataFrame:
    """The row of each wanted name. Raises DataError for a repeated or missing one, and for unknown names.

    NaN of systems that neither a metric nor people scored; raises DataMissingError if people did.
    """
    keys = [str(key) for key in wanted]

    def sentence(row: Any) -> str:
        is_same = (rows[keys] == row[keys]).all(axis=1)
        first = rows.place[is_same].iloc[0]
        return (
            f"{file.path}, {row.place}: {_describe_row(row, keys)} was already in {first}; keep one, or name the "
            "column of the systems."
        )

    refuse(rows, rows.duplicated(keys), sentence)
    matched = wanted.merge(rows, how="left", on=keys)
    missing = matched[matched.place.isna()]
    unscored = _unscored_systems(file, rows, segments, option)
    if unscored:
        missing = missing[~missing.system.isin(unscored)]
    if len(missing):
        name = _describe_row(missing.iloc[0], keys)
        hint = ""
        left = rows[~rows.place.isin(matched.place)]
        if len(left):
            # The first unmatched row is perhaps meant for the missing name.
            first = left.iloc[0]
            hint = f"; {first.place} has {_describe_row(first, keys)}"
        raise DataError(
            f"{file.path}: no score for {name} of {segments.name}{hint}. Correct the name, add it, or write None for "
            "what has no score."
        )
    if option.extra == "refuse":
        _refuse_unknown_names(file, rows, segments, option)
    return matched


def _unscored_systems(file: ImportedFile, rows: pd.DataFrame, segments: SegmentSet, option: FileSource) -> set[str]:
    """The systems that neither one of several metrics nor people scored; none of a file that may be damaged.

    Raises DataMissingError for one that people scored.
    """
    # Values of words are objects, which have no NaN.
    if not option.has("metric") or "system" not in rows or rows.value.dtype != np.float64:
        return set()
    unscored = set(segments.systems) - set(rows.system)
    if not set(rows.system) <= set(segments.all_systems):
        return set()
    judgements = segments.judgements
    judged = set(judgements.systems.get(judgements.primary_of_systems, ()))
    for segment, is_rated in zip(segments.segments, np.isfinite(segments.human_scores), strict=True):
        if is_rated and segment.system is not None:
            judged.add(segment.system)
    if unscored & judged:
        raise DataMissingError(f"{file.path} has no scores of the system {min(unscored & judged)[:60]}")
    return unscored


def _refuse_unknown_names(file: ImportedFile, rows: pd.DataFrame, segments: SegmentSet, option: FileSource) -> None:
    """Raise DataError for the first row whose id or system the whole test set does not have."""
    for role, known in (("id", segments.all_ids), ("system", segments.all_systems)):
        # If the data set names no systems, ids are enough.
        if role not in rows or not known:
            continue
        unknown = rows[rows[role].notna() & ~rows[role].isin(known)]
        if len(unknown):
            name = str(unknown[role].iloc[0])
            raise DataError(
                f"{file.path}, {unknown.place.iloc[0]}: the {role} {name[:60]!r} is not in {segments.name}"
                f"{close_match(name, known)}; correct it, remove such rows, or set {option.KEY}.extra=ignore."
            )


def _describe_row(row: Any, keys: Sequence[str]) -> str:
    noun = "system" if keys == ["system"] else "segment"
    name = ":".join(str(row[key]) for key in keys)
    return f"{noun} {name[:60]!r}"


def add_source_ids(
    path: Path, rows: pd.DataFrame, ids: Sequence[str], test_set: str, other_way: str = ""
) -> pd.DataFrame:
    """Rows in the order of the sources, a block per system, with the ids of the sources.

    test_set: its name, for messages. other_way: another way out than a score per source. Raises DataError for a block
    with more or fewer rows.
    """
    blocks: Any = rows.assign(system=rows.get("system", "")).groupby("system", sort=False)
    for system, size in blocks.size().items():
        if size == len(ids):
            continue
        block = ""
        if system:
            first = blocks.place.first()[system]
            block = f" for the system {str(system)[:60]!r} (first in {first})"
        raise DataError(
            f"{path}: {pluralize(size, 'score')}{block}, but {test_set} has {pluralize(len(ids), 'segment')}; write "
            f"one per source in the order of the sources, None if missing, or a table with a column id{other_way}."
        )
    # The rows of a block count from 0, even if rows of other blocks are between them.
    places = blocks.cumcount()
    return rows.assign(id=np.asarray(ids, dtype=object)[places])


def _check_systems(file: ImportedFile, segments: SegmentSet) -> None:
    """Raise DataError for segments that name no systems."""
    if not segments.systems:
        raise DataError(
            f"{file.path}: holds scores of systems, but the segments of {segments.name} name no systems; give the "
            "data set a column for them."
        )


def ratings_of(file: ImportedFile, segments: SegmentSet, option: FileSource) -> Ratings:
    """The spans that every rater marked in N segments.

    Raises DataError naming file, row and value for unknown ids and systems, a rater who judges a segment twice, another
    text than the segment's, and spans beyond their text; if option.extra is "ignore", such rows are left out, and a
    warning counts and names them.
    """
    rows = option.rows(file, segments.language_pair)
    # Only the annotation tool's rows have runs: they are documents, and may judge a segment again.
    has_runs = "run" in rows
    if has_runs:
        rows = _add_document_ids(rows, segments, file.path)
    elif "id" not in rows:
        rows = add_source_ids(file.path, rows, segments.all_ids, segments.name)
    if option.extra == "refuse":
        _refuse_unknown_names(file, rows, segments, option)
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
        warnings.warn(
            f"{file.path}: {pluralize(len(places), 'row')} {reason} left out: {join_names(places)}.", stacklevel=2
        )
    if not any(ratings):
        raise DataError(f"{file.path}: no judged segment of {segments.name}.")
    return ratings


def _after_text(spans: TextSpans, text: str) -> TextSpans:
    """The spans of the annotation tool: a mark after the text is on its extra word MISSING, an omission."""
    last = len(text)
    return tuple(span if span.start < last else replace(span, start=last, end=last) for span in spans)


def _add_document_ids(rows: Any, segments: SegmentSet, path: Path) -> Any:
    """Rows of the annotation tool with ids: those of the document's segments, in order, if a run has all segments.

    If a part of the document was judged, a human score of the data set shows which: of all human scores the one that
    most runs have. Runs without it, or with several matches, are left out; a warning counts them.
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
            f"{path}: {pluralize(len(runs) - len(kept), 'document')} skipped: judged in part, and no human score of "
            f"{segments.dataset} shows which part.",
            stacklevel=2,
        )
    return pd.concat(kept) if kept else rows.iloc[:0].assign(id="")


def _judged_places(runs: Sequence[tuple[Any, Ints]], segments: SegmentSet) -> list[Ints]:
    """The places that were judged in each run, of the human score that explains most; none if it is ambiguous.

    runs: their rows, and the places of all segments of the document.
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
    """The judged segments: all, if the numbers are equal; else the stretch with these ratings.

    None unless exactly one stretch matches.
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
