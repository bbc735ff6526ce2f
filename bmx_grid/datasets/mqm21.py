"""newstest2021 with expert MQM scores, en-de and zh-en: published segment scores joined with texts and errors.

Freitag et al.: Experts, Errors, and Context, TACL 2021. The scores lie in one repository and the texts in another,
under segment numbers that were corrected in between: within a document both count in the same order, from different
starts. So each document has one shift; the right one is where the points summed from the annotations equal the
published averages of all systems, and no extra file is needed.

Annotations have one row per error, marked by <v> and </v> in the source or in the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bmx_grid.core.identity import identity
from bmx_grid.datasets.base import Published
from bmx_grid.datasets.lines import read_archive, read_lines, text_rows
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.words.perturbation import Role, split_words
from bmx_grid.words.tags import ErrorSpan, WordTags, align, tags_of_spans

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "ref-A"
TABLE_DECIMALS = 4  # averages are published with six decimals, points are sums of tenths
AGREEING_SHARE = 0.9  # share of a document's scores that must agree at its shift
MQM_COLUMNS = ["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"]
OPEN = "<v>"
CLOSE = "</v>"
NO_ERROR = "No-error"
Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Mqm21(Published):
    """Human scores (`mqm`) are the published averages: minus the error points, 0 best, -25 worst.

    human_systems: whether the human translations (ref-A to ref-D in en-de, ref-A and ref-B in zh-en)
        are judged systems, as in the BMX paper. Without them metrics that read a reference read ref-A; with
        them segments have no reference, because one that is itself among the hypotheses would score itself.

    Segment ids are the published numbers. Of en-de's 1002 and zh-en's 1948 segments 527 and 650 were
    annotated; the others (score `None`) have no texts and are left out. One rater judged each translation,
    so there are no individual raters beside the score. Words of source and translation that an error was marked in have
    its tag, with category and severity.
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

    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """6,851 (en-de) or 8,450 (zh-en) segments of 13 systems; 8,959 or 9,750 with the human translations."""
        scores, archive = self.require(data_dir, self.needs(language_pair))
        published = _published(scores)
        member = f"mqm-newstest2021_{language_pair.replace('-', '')}.tsv"
        texts = annotated(read_archive(archive, [member])[member])
        rows = _numbered(texts, published)
        references: dict[tuple[str, str], str] = {}
        if not self.human_systems:
            of_reference = texts[texts.system == REFERENCE]
            places = zip(of_reference.document, of_reference.source, strict=True)
            references = dict(zip(places, of_reference.target, strict=True))
            rows = rows[~rows.system.str.startswith("ref-")]
        of_rows = [references.get(place) for place in zip(rows.document, rows.source, strict=True)]
        columns = (rows.number.astype(str), rows.target, rows.source, of_rows, rows.system, rows.document, rows.rater)
        segments = tuple(
            Segment(number, target, source, reference, system, document, rater=rater)
            for number, target, source, reference, system, document, rater in zip(*columns, strict=True)
        )
        averages: Any = published.loc[list(zip(rows.system, rows.number, strict=True))]
        judgements = Judgements({"mqm": averages.to_numpy()}, tags=_tags(rows))
        everyone = tuple(texts.system.unique())
        return SegmentSet(self.name, language_pair, segments, judgements, str(scores), all_systems=everyone)


def _tags(rows: Any) -> dict[Role, WordTags]:
    sides: dict[Role, str] = {"source": "source", "hypothesis": "target"}
    tags = {}
    for role, side in sides.items():
        of_side = [spans[side] for spans in rows.spans]
        tags[role] = tags_of_spans(rows[side], of_side, list(map(split_words, rows[side])))[0]
    return tags


def _published(path: Path) -> pd.Series[float]:
    """Averages by system and number (NaN where they are `None`), of rows `system TAB score BLANK number`."""
    lines = [line.replace("\t", " ") for line in read_lines(path)[1:]]
    rows = text_rows(lines, ["system", "score", "number"], str(path), 2, " ")
    scores = rows.score.replace("None", "nan").astype(float) + 0.0  # the published -0.000000 is 0
    return rows.assign(score=scores, number=rows.number.astype(int)).set_index(["system", "number"]).score


def _numbered(judged: pd.DataFrame, published: pd.Series[float]) -> Any:
    """The annotated texts of all places that machine systems were judged on, under their published numbers.

    Some human translations are numbered in a third way (ref-C and ref-D of en-de) and cover more
    documents: they are joined through the source text, and what the machines lack is left out.
    Raises ValueError when a document finds no shift, or two, or shares numbers with another one.
    """
    place = ["document", "source"]
    places = judged[~judged.system.str.startswith("ref-")][[*place, "number"]].drop_duplicates()
    rows = judged.drop(columns="number").merge(places, on=place, validate="many_to_one")
    # Where the points of a text are a published average of its system, its document may have that shift.
    averages = published.dropna().round(TABLE_DECIMALS).reset_index()
    agreeing = rows.assign(score=-rows.points.round(TABLE_DECIMALS)).merge(averages, on=["system", "score"])
    counts: Any = (agreeing.number_y - agreeing.number_x).groupby(agreeing.document).value_counts()
    shifts: dict[Any, int] = {}
    for document, size in rows.groupby("document").size().items():
        agreed = counts[document] if document in counts else counts.iloc[:0]
        best = agreed[agreed == agreed.max()]
        if len(best) != 1 or best.iloc[0] < AGREEING_SHARE * size:
            raise ValueError(f"document {document} agrees with the published averages in {len(best)} places")
        shifts[document] = best.index[0]
    rows["number"] += rows.document.map(shifts)
    if rows.drop_duplicates(place).number.duplicated().any():
        raise ValueError("two segments have the same published number")
    return rows


def annotated(lines: Sequence[str]) -> pd.DataFrame:
    """The annotated translations of a TSV with the columns of MQM, in order of first appearance: a row for each.

    Its columns: system, document, number, rater; source and target, without marks and without blanks at the edges;
    points, of all errors; spans, by side those that are marked.
    Systems are named as the published scores name them, severities in lower case. Some texts differ between the rows of
    a segment, mostly in blanks: the first row's text is taken and the spans of the others are carried to it by the
    characters that both have.
    Raises ValueError for a mark that is closed before it is opened, more than one mark, or a text that shares less than
    half of its characters with the segment's first row.
    """
    import pandas as pd

    texts: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in lines[1:]:  # a last column, of comments, may be left out
        system, document, _, number, rater, source, target, category, severity = line.split("\t")[: len(MQM_COLUMNS)]
        marked = {"source": _marked(source), "target": _marked(target)}
        first = {side: bare for side, (bare, _) in marked.items()}
        name = system.removeprefix("hyp.").replace("ref.", "ref-")
        new = {"system": name, "document": document, "number": int(number), "rater": rater, **first, "points": 0.0}
        text = texts.setdefault((system, document, number), new | {"spans": {"source": [], "target": []}})
        text["points"] += error_points(category, severity)
        for side, (bare, span) in marked.items():
            if span is not None and severity != NO_ERROR:
                start, end = _carried(bare, span, text[side])
                text["spans"][side].append(ErrorSpan(start, end, severity.strip().lower(), category))
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


def _marked(text: str) -> tuple[str, Span | None]:
    """A text without marks and blanks at its edges, and what was marked; to the end where the mark is not closed."""
    before, opened, rest = text.partition(OPEN)
    inside, _, after = rest.partition(CLOSE)
    bare = before + inside + after
    if OPEN in bare or CLOSE in bare:
        raise ValueError(f"more than one {OPEN} and {CLOSE} in {text[:80]!r}")
    kept = bare.strip(" ")
    blanks = len(bare) - len(bare.lstrip(" "))
    start, end = np.clip([len(before) - blanks, len(before + inside) - blanks], 0, len(kept)).tolist()
    return kept, (start, end) if opened else None


def _carried(text: str, span: Span, first: str) -> Span:
    """The span of a text in the text of the segment's first row."""
    if text == first:
        return span
    links = align(list(text), list(first))
    if links.differing + 2 * links.replaced > 2 * len(links.token):
        raise ValueError(f"the text {text[:60]!r} is not that of the segment's first row, {first[:60]!r}")
    inside = links.word[(span[0] <= links.token) & (links.token < span[1])]
    if len(inside):
        return int(inside.min()), int(inside.max()) + 1
    place = int(max(links.word[links.token < span[0]] + 1, default=0))
    return place, place
