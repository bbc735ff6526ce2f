"""newstest2021 with expert MQM scores, en-de and zh-en: published segment scores joined with texts and errors.

Freitag et al.: Experts, Errors, and Context, TACL 2021. The scores are in one repository and the texts in another,
under segment numbers that were corrected in between: within a document both count in the same order, from different
starts. So each document has one shift; with the right one the points summed from the annotations equal the
published averages of all systems, and no extra file is needed.

Annotations have one row per error, marked by <v> and </v> in the source or in the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bmx_grid.core.identity import identity
from bmx_grid.datasets.archives import read_archive
from bmx_grid.datasets.base import Published
from bmx_grid.datasets.lines import read_lines, text_rows
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.datasets.span_files import CLOSE, OPENING, strip_marks
from bmx_grid.words.alignment import align
from bmx_grid.words.perturbation import Role
from bmx_grid.words.segmentation import split_words
from bmx_grid.words.tags import ErrorSpan, WordTags, tags_of_spans

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "ref-A"
# Averages are published with six decimals, points are sums of tenths.
TABLE_DECIMALS = 4
# Share of a document's scores that must agree at its shift.
AGREEING_SHARE = 0.9
MQM_COLUMNS = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]
NO_ERROR = "No-error"
Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Mqm21(Published):
    """Human scores (`mqm`) are the published averages: minus the error points, 0 best, -25 worst.

    human_systems: whether the human translations (ref-A to ref-D in en-de, ref-A and ref-B in zh-en)
        are judged systems, as in the BMX paper. Without them metrics that read a reference read ref-A; with
        them segments have no reference, because a hypothesis would score itself.

    Segment ids are the published numbers. Of en-de's 1002 and zh-en's 1948 segments 527 and 650 were
    annotated; the others (score `None`) have no texts and are left out. One rater judged each translation,
    so individual raters are missing. Words of source and translation in which an error was marked have its tag, with
    category and severity.
    """

    VERSION: ClassVar[int] = 2  # ids are numbers, without the system

    PAIRS: ClassVar[tuple[str, ...]] = ("en-de", "zh-en")

    human_systems: bool = identity(False)

    def needs(self, language_pair: str) -> list[str]:
        """The published scores, and the archive with the annotated texts."""
        pair = language_pair.replace("-", "")
        train = "wmt-qe-2022-data/train-dev_data/task1_word-level/train"
        return [
            f"wmt-mqm-human-evaluation/newstest2021/{pair}/mqm_newstest2021_{pair}.avg_seg_scores.tsv",
            f"{train}/{language_pair}_mqm/{language_pair}-train-2021-news.tar.gz",
        ]

    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """6,851 (en-de) or 8,450 (zh-en) segments of 13 systems; 8,959 or 9,750 with the human translations."""
        scores, archive = self.require(data_dir, self.needs(language_pair))
        published = _published_scores(scores)
        pair = language_pair.replace("-", "")
        member = f"mqm-newstest2021_{pair}.tsv"
        texts = parse_annotations(read_archive(archive, [member])[member])
        rows = _assign_numbers(texts, published)
        reference_of: dict[tuple[str, str], str] = {}
        if not self.human_systems:
            reference_of = _references(texts)
            rows = rows[~rows.system.str.startswith("ref-")]
        # By the source, as the numbers of the human translations are others.
        references = [reference_of.get(place) for place in zip(rows.document, rows.source, strict=True)]
        segments = []
        for row, reference in zip(rows.itertuples(), references, strict=True):
            segments.append(
                Segment(str(row.number), row.target, row.source, reference, row.system, row.document, rater=row.rater)
            )
        keys = list(zip(rows.system, rows.number, strict=True))
        averages: Any = published.loc[keys]
        judgements = Judgements({"mqm": averages.to_numpy()}, tags=_tags(rows))
        everyone = tuple(texts.system.unique())
        return SegmentSet(self.name, language_pair, tuple(segments), judgements, str(scores), all_systems=everyone)


def _references(texts: pd.DataFrame) -> dict[tuple[str, str], str]:
    """The reference that metrics read, by document and source."""
    rows = texts[texts.system == REFERENCE]
    places = zip(rows.document, rows.source, strict=True)
    return dict(zip(places, rows.target, strict=True))


def _tags(rows: Any) -> dict[Role, WordTags]:
    columns: dict[Role, str] = {"source": "source", "hypothesis": "target"}
    tags = {}
    for role, column in columns.items():
        texts = rows[column]
        spans = [spans_of_text[column] for spans_of_text in rows.spans]
        words = [split_words(text) for text in texts]
        tags[role], _ = tags_of_spans(texts, spans, words)
    return tags


def _published_scores(path: Path) -> pd.Series[float]:
    """Averages by system and number (NaN for `None`), of rows `system TAB score BLANK number`."""
    lines = [line.replace("\t", " ") for line in read_lines(path)[1:]]
    rows = text_rows(lines, ["system", "score", "number"], str(path), 2, " ")
    # + 0.0, as the published -0.000000 is 0.
    scores = rows.score.replace("None", "nan").astype(float) + 0.0
    rows = rows.assign(score=scores, number=rows.number.astype(int))
    return rows.set_index(["system", "number"]).score


def _assign_numbers(judged: pd.DataFrame, published: pd.Series[float]) -> Any:
    """The annotated texts of all places that machine systems were judged on, under their published numbers.

    Some human translations are numbered in a third way (ref-C and ref-D of en-de) and cover more
    documents: they are joined through the source text, and documents without machine outputs are left out.
    Raises ValueError when a document finds no shift, or two, or shares numbers with another one.
    """
    place = ["document", "source"]
    machine_rows = judged[~judged.system.str.startswith("ref-")]
    places = machine_rows[[*place, "number"]].drop_duplicates()
    rows = judged.drop(columns="number").merge(places, on=place, validate="many_to_one")
    shifts = _shifts(rows, published)
    rows["number"] += rows.document.map(shifts)
    if rows.drop_duplicates(place).number.duplicated().any():
        raise ValueError("two segments have the same published number")
    return rows


def _shifts(rows: Any, published: pd.Series[float]) -> dict[Any, int]:
    """By document, the published numbers minus those of the annotations. Raises ValueError for none, or several."""
    averages = published.dropna().round(TABLE_DECIMALS).reset_index()
    # Without the texts: the pairs of a score that many translations have are as many as all others.
    rounded = rows[["system", "document", "number"]].assign(score=-rows.points.round(TABLE_DECIMALS))
    # If the points of a text are a published average of its system, its document may have that shift.
    agreeing = rounded.merge(averages, on=["system", "score"])
    # x is the number in the annotations, y the published one.
    shift_of_row = agreeing.number_y - agreeing.number_x
    counts: Any = shift_of_row.groupby(agreeing.document).value_counts()
    shifts: dict[Any, int] = {}
    for document, size in rows.groupby("document").size().items():
        agreed = counts[document] if document in counts else counts.iloc[:0]
        best = agreed[agreed == agreed.max()]
        if len(best) != 1 or best.iloc[0] < AGREEING_SHARE * size:
            raise ValueError(f"document {document} agrees with the published averages in {len(best)} places")
        shifts[document] = best.index[0]
    return shifts


def parse_annotations(lines: Sequence[str]) -> pd.DataFrame:
    """The annotated translations of a TSV with the columns of MQM, in order of first appearance: a row for each.

    lines: with that of the column names, which is not read. A translation is known by system, document and number,
    and was judged by one rater.

    Its columns: system, document, number, rater; source and target, without marks and without blanks at the edges;
    points, of all errors; spans, by side those that are marked.
    Systems are named as the published scores name them, severities in lower case. Some texts differ between the rows of
    a segment, mostly in blanks: the first row's text is taken and the spans of the others are carried to it by the
    characters that both have.
    Raises ValueError for a row of too few columns, a mark that is closed before it is opened, more than one mark, or a
    text that shares less than half of its characters with the segment's first row.
    """
    import pandas as pd

    texts: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in lines[1:]:
        # A last column, of comments, may be left out.
        fields = line.split("\t")[: len(MQM_COLUMNS)]
        system, document, _, number, rater, source, target, category, severity = fields
        source_text, source_span = _parse_marks(source)
        target_text, target_span = _parse_marks(target)
        text = texts.get((system, document, number))
        if text is None:
            text = {
                "system": system.removeprefix("hyp.").replace("ref.", "ref-"),
                "document": document,
                "number": int(number),
                "rater": rater,
                "source": source_text,
                "target": target_text,
                "points": 0.0,
                "spans": {"source": [], "target": []},
            }
            texts[system, document, number] = text
        text["points"] += error_points(category, severity)
        if severity == NO_ERROR:
            continue
        for side, bare, span in (("source", source_text, source_span), ("target", target_text, target_span)):
            if span is not None:
                start, end = _project_span(bare, span, text[side])
                error = ErrorSpan(start, end, severity.strip().lower(), category)
                text["spans"][side].append(error)
    return pd.DataFrame(texts.values())


def error_points(category: str, severity: str) -> float:
    """Points of one error (Freitag et al. 2021, section 3): 25, 5, 1 or 0.1."""
    if severity == NO_ERROR:
        return 0.0
    if category.startswith("Non_translation"):
        return 25.0
    if severity == "Major":
        return 5.0
    return 0.1 if category == "Fluency/Punctuation" else 1.0


def _parse_marks(text: str) -> tuple[str, Span | None]:
    """A text without marks and blanks at its edges, and the marked span; to the end if the mark is not closed."""
    bare, span = strip_marks(text)
    if OPENING in bare or CLOSE in bare:
        raise ValueError(f"more than one {OPENING} and {CLOSE} in {text[:80]!r}")
    stripped = bare.strip(" ")
    if span is None:
        return stripped, None
    # Counted in the stripped text; of blanks that were marked at an edge nothing is left.
    blanks = len(bare) - len(bare.lstrip(" "))
    start, end = (min(max(place - blanks, 0), len(stripped)) for place in span)
    return stripped, (start, end)


def _project_span(text: str, span: Span, first: str) -> Span:
    """The span of a text in the text of the segment's first row."""
    if text == first:
        return span
    start, end = span
    # Character by character: each is a token of its own.
    links = align(list(text), list(first))
    if links.differing + 2 * links.replaced > 2 * len(links.token):
        raise ValueError(f"the text {text[:60]!r} is not that of the segment's first row, {first[:60]!r}")
    inside = links.word[(start <= links.token) & (links.token < end)]
    if len(inside):
        return int(inside.min()), int(inside.max()) + 1
    # The first text has nothing of the span: its place is behind the text before it.
    before = links.word[links.token < start]
    place = int(max(before + 1, default=0))
    return place, place
