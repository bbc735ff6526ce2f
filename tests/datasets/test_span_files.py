"""Files of error spans: each format is recognised, read to half-open characters, and refused where a span is wrong."""

import csv
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bmx_grid.commands.data import main
from bmx_grid.core.errors import DataError
from bmx_grid.datasets.rows_of_files import ratings_of
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.datasets.span_files import read_spans
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.words.tags import ErrorSpan

TEXT = "el 59,2% de la gente"
ESA = ["anna", "wmt23.A", "7", "TGT", "eng", "deu", "80", "doc#A", "False", "[]", "1.0", "2.0"]
MQM = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment\n"
QE = "lp\tgold\tsid\tmt\tstart_id\tend_id\terror\n"
BIO = {"source": "s", "target": TEXT, "SEG_ID": "2", "MT_Engine": "A", "Annotator_ID": "anna", "DOC_ID": "doc"}


def esa(**changed):
    places = {"kind": 3, "document": 7, "item": 2, "spans": 9, "score": 6, "rater": 0}
    fields = list(ESA)
    for name, value in changed.items():
        fields[places[name]] = json.dumps(value) if name == "spans" else value
    return fields


def bio(severity="Minor", **error):
    known = {"term": "59,2%", "startIndex": 3, "endIndex": 7, "error_category": "Number", "severity": severity}
    return json.dumps([{**BIO, "target_errors": [{**known, **error}], "source_errors": []}])


def rating(*spans):
    return json.dumps({"errors": [dict(zip(("start", "end", "severity"), span, strict=True)) for span in spans]})


def table(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def written(folder, name, content):
    path = folder / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        table(path, content)
    return path


FORMATS = {
    "x.seg.rating": f"A\t{rating((3, 8, 'minor'))}\tanna\nA\tNone\tanna\n",
    "x.csv": [esa(spans=[{"start_i": 3, "end_i": 8, "severity": "minor"}]), esa(kind="BAD"), esa(document="wmt23.A")],
    "mqm.tsv": f"{MQM}A\td\t1\t1\tanna\ts\tel <v>59,2%</v> de la gente\tX\tMinor\t\n",
    "qe.tsv": f"{QE}en-es\tgold\t0\t{TEXT}\t3\t8\tminor\n",
    "bio.json": bio(),
    "mine.jsonl": json.dumps({"id": 1, "hypothesis": TEXT, "spans": [{"start": 3, "end": 8, "severity": "minor"}]}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_recognised_without_options(name, tmp_path, capsys):
    path = written(tmp_path, name, FORMATS[name])
    value = read_spans(path).rows.value[0]
    assert [(span.start, span.end, span.severity) for span in value] == [(3, 8, "minor")]
    assert main(["show", str(path)]) == 0
    assert "1 minor error; 0 omissions" in capsys.readouterr().out


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_may_end_its_lines_in_crlf(name, tmp_path):
    path = written(tmp_path, name, FORMATS[name])
    expected = read_spans(path).rows
    text = path.read_bytes().replace(b"\r\n", b"\n")
    path.write_bytes(text.replace(b"\n", b"\r\n"))
    assert read_spans(path).rows.equals(expected)


def test_a_table_of_rated_segments_with_spans_is_shown_as_both(tmp_path, capsys):
    row = {"id": 1, "hypothesis": TEXT, "reference": TEXT, "score": 3, "spans": []}
    path = written(tmp_path, "mine.jsonl", json.dumps(row))
    assert main(["show", str(path), "language_pair=en-es"]) == 0
    shown = capsys.readouterr().out
    assert "1 judged text of 1" in shown
    assert "1 segment in 1 cluster" in shown


OMISSIONS = {
    "rating, without extent": ("x.seg.rating", f"A\t{rating((3, 3, 'major'))}\n"),
    "rating, in the source": (
        "x.seg.rating",
        'A\t{"errors": [{"start": 90, "end": 99, "severity": "major", "is_source_error": true}]}\n',
    ),
    "ESA, missing": ("x.csv", [esa(spans=[{"start_i": "missing", "end_i": "missing", "severity": "major"}])]),
    "MQM, not marked": ("x.tsv", f"{MQM}A\td\t1\t1\tanna\ts\t{TEXT}\tOmission\tMajor\t\n"),
    "QE": ("x.tsv", f"{QE}en-es\tgold\t0\t{TEXT}\t0\t0\tmajor\n"),
    "bio, a term that is not there": ("x.json", bio("Major", term="no")),
    "JSONL, a flag": ("x.jsonl", '{"spans": [{"start": null, "end": null, "severity": "major", "omission": true}]}'),
}


@pytest.mark.filterwarnings("ignore:.*not found at their place")
@pytest.mark.parametrize("case", OMISSIONS)
def test_an_omission_is_a_span_without_extent(case, tmp_path):
    (span,) = read_spans(written(tmp_path, *OMISSIONS[case])).rows.value[0]
    assert span.start == span.end
    assert span.severity == "major"


WRONG = {
    "start after end": ("x.seg.rating", f"A\t{rating((8, 3, 'minor'))}\n", "line 1, span 1: a span from 8 to 3"),
    "unknown severity": ("x.seg.rating", f"A\t{rating((3, 8, 'majr'))}\n", "unknown severity 'majr'.*major"),
    "beyond the text": ("x.tsv", f"{QE}en-es\tgold\t0\t{TEXT}\t3\t99\tminor\n", "line 2: a span ends at 99, but.* 20 "),
    "no number": ("x.jsonl", '{"spans": [{"start": "a", "end": 3, "severity": "minor"}]}', "line 1, span 1: .*'a'"),
    "no object": ("x.jsonl", '{"spans": [3]}', "line 1, span 1: expected an object.* got '3'"),
    "other counts": ("x.tsv", f"{QE}en-es\tgold\t0\t{TEXT}\t3 4\t8\tminor\n", "line 2: 2 starts, 1 ends"),
    "no JSON": ("x.seg.rating", "A\t{\n", "line 1: not JSON"),
    "a cut row": ("x.csv", [ESA, ESA[:5]], "line 2: expected 12 fields"),
    "a key of bio-mqm": ("x.json", '[{"target_errors": []}]', "x.json: not bio-mqm"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_span_is_refused_with_file_row_and_value(case, tmp_path):
    name, content, message = WRONG[case]
    with pytest.raises(DataError, match=message) as raised:
        read_spans(written(tmp_path, name, content))
    assert name in str(raised.value)


def segments(*texts, scores=None, system="A"):
    rows = tuple(Segment(str(row), text, "s", None, system, "doc") for row, text in enumerate(texts, start=1))
    human = np.arange(len(rows), dtype=np.float64) if scores is None else np.array(scores)
    return SegmentSet("set", "en-de", rows, Judgements({"esa": human}))


def test_several_annotators_judge_a_segment(tmp_path):
    rows = [{"id": 1, "rater": rater, "spans": []} for rater in ("anna", "ben")]
    path = written(tmp_path, "x.jsonl", "\n".join(map(json.dumps, rows)))
    option = Imported(file=str(path), language_pairs=("en-de",))
    assert ratings_of(read_spans(path), segments(TEXT, TEXT), option) == [[("anna", ()), ("ben", ())], []]
    path = written(tmp_path, "twice.jsonl", "\n".join(map(json.dumps, [rows[0], rows[0]])))
    with pytest.raises(DataError, match=r"line 2: anna has judged segment '1' already"):
        ratings_of(read_spans(path), segments(TEXT), option)


def test_a_span_beyond_the_text_of_its_segment_is_refused(tmp_path):
    path = written(tmp_path, "x.seg.rating", FORMATS["x.seg.rating"])
    option = Imported(file=str(path), language_pairs=("en-de",))
    with pytest.raises(DataError, match=r"line 1: a span ends at 8, but the text has 5 characters: 'short'"):
        ratings_of(read_spans(path), segments("short", TEXT), option)


def test_rows_with_spans_beyond_the_text_may_be_left_out(tmp_path):
    spans = [[{"start": 0, "end": 99, "severity": "minor"}], []]
    path = written(tmp_path, "x.jsonl", "\n".join(json.dumps({"id": row, "spans": spans[row - 1]}) for row in (1, 2)))
    option = Imported(file=str(path), language_pairs=("en-de",), extra="ignore")
    with pytest.warns(UserWarning, match="1 row with spans beyond the text left out"):
        assert ratings_of(read_spans(path), segments(TEXT, TEXT), option) == [[], [("", ())]]


def mqm(*rows):
    """An MQM table with a row per (seg_id, rater, target)."""
    return MQM + "".join(f"A\td\t{row}\t{row}\t{rater}\ts\t{target}\tX\tMinor\t\n" for row, rater, target in rows)


EDITED = mqm(
    ("1", "anna", "el <v>59,2%</v> de la gente"),
    # anna corrected the text, then marked what was left: only the first of her rows is of the output.
    ("1", "anna", "el <v>59 %</v> de la gente"),
    ("2", "anna", "<v>el</v> 59,2% de la gente"),
    ("1", "ben", "el 59,2% de la <v>gente corregida</v>"),
)


def test_rows_of_an_edited_text_are_refused_or_left_out_and_named(tmp_path):
    path = written(tmp_path, "x.tsv", EDITED)
    option = Imported(file=str(path), language_pairs=("en-de",))
    with pytest.raises(DataError, match=r"line 3: the text 'el 59 % de .* out: explainer\.imported\.extra=ignore"):
        ratings_of(read_spans(path), segments(TEXT, TEXT), option)
    with pytest.warns(UserWarning, match=r"2 rows of another text than the segment's left out: line 3, line 5\."):
        ratings = ratings_of(read_spans(path), segments(TEXT, TEXT), replace(option, extra="ignore"))
    assert ratings == [
        [("anna", (ErrorSpan(3, 8, "minor", "X"),))],
        [("anna", (ErrorSpan(0, 2, "minor", "X"),))],
    ]


def test_what_the_annotation_tool_has_after_the_text_is_an_omission(tmp_path):
    """The word MISSING stands there, and some annotators marked it as they mark words of the text."""
    path = written(tmp_path, "x.csv", [esa(spans=[{"start_i": 20, "end_i": 27, "severity": "major"}])])
    ((rating,),) = ratings_of(read_spans(path), segments(TEXT), Imported(file=str(path)))
    assert rating == ("anna", (ErrorSpan(20, 20, "major"),))


def test_parts_of_documents_are_found_by_their_scores(tmp_path):
    """A document that was judged as a whole needs none; a part without a score is left out."""
    spans_of_part = [{"start_i": 0, "end_i": 2, "severity": "minor"}]
    rows = [esa(item="9", score="70", spans=spans_of_part), esa(item="8", score="60")]
    path = written(tmp_path, "x.csv", rows)
    option = Imported(file=str(path))
    counts = {}
    for name, scores in {"whole": [0, 0], "part": [60, np.nan, 70]}.items():
        ratings = ratings_of(read_spans(path), segments(*[TEXT] * len(scores), scores=scores), option)
        counts[name] = [[len(spans) for _, spans in row] for row in ratings]
    assert counts == {"whole": [[0], [1]], "part": [[0], [], [1]]}
    with pytest.warns(UserWarning, match="1 document skipped: judged in part"), pytest.raises(DataError):
        ratings_of(read_spans(path), segments(TEXT, TEXT, TEXT), option)


REAL = {
    "mt-metrics-eval-v2/wmt23/human-scores/en-de.mqm.merged.seg.rating": (5980, 19569),
    "esa-wmt23-en-de/240520rc6ESA.scores.csv": (2720, 2747),
    "wmt-mqm-human-evaluation/ted/ende/mqm_ted_ende.tsv": (7406, 4031),
    "wmt-qe-2023-data/gold_labels/hallucinations_gold_T2_header.tsv": (4756, 5463),
    "wmt24-news-systems/humeval/esa_generalMT2024_wave3.csv": (9261, 2682),
}


@pytest.mark.parametrize("name", REAL)
def test_published_files_have_their_texts_and_spans(name, data_dir):
    values = read_spans(data_dir / name).rows.value.dropna()
    assert (len(values), sum(map(len, values))) == REAL[name]


@pytest.mark.filterwarnings("ignore:.*not found at their place")
def test_the_ends_of_bio_mqm_are_included(data_dir):
    rows = read_spans(data_dir / "bio-mqm/v2/en2es/talp_upc_run1.json").rows
    assert len(rows) == 542
    marked = Counter(row["text"][span.start : span.end] for row in rows.to_dict("records") for span in row["value"])
    assert marked["59,2%"] > 0
    assert "59,2" not in marked


def test_parts_are_found_by_the_one_human_score_that_most_of_them_have(tmp_path):
    """A part of one segment has a score that another campaign gave to another segment."""
    rows = [esa(item="1", score="60"), esa(item="2", score="70"), esa(item="1", score="50", rater="ben")]
    path = written(tmp_path, "x.csv", rows)
    three = segments(TEXT, TEXT, TEXT)
    human = Judgements({"other": np.array([50.0, np.nan, np.nan]), "esa": np.array([60.0, 70.0, 50.0])})
    ratings = ratings_of(read_spans(path), replace(three, judgements=human), Imported(file=str(path)))
    assert [[rater for rater, _ in row] for row in ratings] == [["anna"], ["anna"], ["ben"]]
