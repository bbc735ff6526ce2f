"""Files of scores made elsewhere: what they may look like, and how their rows find their segments."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.metrics.imported import Imported

pytestmark = pytest.mark.filterwarnings("ignore:.*segments have no score")


def a_set(*names, pair="en-de", **settings):
    """One segment per "ID" or "ID:SYSTEM"."""
    segments = tuple(Segment(name.partition(":")[0], "h", "s", system=name.partition(":")[2] or None) for name in names)
    return SegmentSet("some", pair, segments, Judgements({"da": np.zeros(len(names))}), **settings)


PLAIN = a_set("0", "1", "2")
SYSTEMS = a_set("1:A", "2:A", "1:B", "2:B")


def scores_given(path, segments=PLAIN, pairs=("en-de",), **settings):
    return Imported(name="mine", file=str(path), language_pairs=pairs, **settings).load_scores(segments)


def matched(path, segments=PLAIN, **settings):
    return scores_given(path, segments, **settings).base_scores.tolist()


def table(rows):
    """A TSV of rows "1 A 0.5|2 A 0.6"."""
    return rows.replace(" ", "\t").replace("|", "\n") + "\n"


def jsonl(*rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


SUBMISSION = "22\n5\n1\n" + "".join(f"en-de\tTeam X\t{row}\t0.{row}\n" for row in range(3))


# As comet-score prints them: all files of a segment, then the next segment, then the means.
COMET_ONE = "".join(
    f"hyp.de\tSegment {row}\tscore: {score}\n" for row, score in enumerate(["0.1000", "0.3000", "-0.2500"])
)
COMET_ONE += "hyp.de\tscore: 0.0500\n"
COMET_TWO = (
    "out/A.txt\tSegment 0\tscore: 0.1000\nout/B.txt\tSegment 0\tscore: 0.2000\n"
    "out/A.txt\tSegment 1\tscore: 0.3000\nout/B.txt\tSegment 1\tscore: 0.4000\n"
    "out/A.txt\tscore: 0.2000\nout/B.txt\tscore: 0.3000\n"
)


LAYOUTS = {
    "tsv-in-any-order": ("x.tsv", table("id score|2 .2|0 .0|1 .1"), PLAIN, [0, 0.1, 0.2]),
    "jsonl-numbers-as-ids-and-null": (
        "x.jsonl",
        jsonl({"id": 0, "score": 0}, {"id": "1", "score": "0.1"}, {"id": 2, "score": None}),
        PLAIN,
        [0, 0.1, math.nan],
    ),
    "column-of-the-metric": ("x.tsv", table("id mine other|0 1 9|1 2 9|2 3 9"), PLAIN, [1, 2, 3]),
    "no-ids-in-the-order-of-the-sources": ("x.tsv", table("score|1|2|3"), PLAIN, [1, 2, 3]),
    "ids-and-systems": ("x.tsv", table("system id score|B 2 4|B 1 3|A 2 2|A 1 1"), SYSTEMS, [1, 2, 3, 4]),
    "system-not-needed": ("x.tsv", table("id system score|0 A 1|1 A 2|2 A 3"), PLAIN, [1, 2, 3]),
    "mt-metrics-eval-and-none": ("x.seg.score", "B 3\nB None\nA\t1\nA\t2\n", SYSTEMS, [1, 2, 3, math.nan]),
    "one-system-that-the-data-do-not-name": ("x.seg.score", "any 1\nany 2\nany 3\n", PLAIN, [1, 2, 3]),
    "submission": ("predictions.txt", SUBMISSION, PLAIN, [0, 0.1, 0.2]),
    "one-score-per-line": ("sentence.submission", "2.9e-06\r\n-1 \r\n3\r\n", PLAIN, [2.9e-06, -1, 3]),
    "submission-numbered-from-0": ("predictions.txt", SUBMISSION, a_set("1", "2", "3"), [0, 0.1, 0.2]),
    "submission-of-other-ids": ("predictions.txt", SUBMISSION, a_set("x", "y", "z"), [0, 0.1, 0.2]),
    "one-score-per-row-of-the-table": ("x.txt", "1\n2\n3\n4\n", SYSTEMS, [1, 2, 3, 4]),
    "one-score-per-row-in-a-table": ("x.tsv", table("score|1|2|3|4"), SYSTEMS, [1, 2, 3, 4]),
    "comet-score": ("x.txt", COMET_ONE, PLAIN, [0.1, 0.3, -0.25]),
    "comet-score-of-two-systems": ("x.out", COMET_TWO, SYSTEMS, [0.1, 0.3, 0.2, 0.4]),
    "comet-score-with-mc-dropout": (
        "x.txt",
        COMET_ONE.replace("\n", "\tvariance: 0.0100\n", 3),
        PLAIN,
        [0.1, 0.3, -0.25],
    ),
    "comet-json": ("x.json", json.dumps({"hyp.de": [{"mt": "h", "COMET": s} for s in (1, 2, 3)]}), PLAIN, [1, 2, 3]),
    "comet-json-of-two-systems": (
        "x.json",
        json.dumps({f"out/{name}.txt": [{"COMET": base}, {"COMET": base + 1}] for name, base in (("B", 3), ("A", 1))}),
        SYSTEMS,
        [1, 2, 3, 4],
    ),
    "an-empty-line-at-the-end": ("x.txt", "1\n2\n3\n\n", PLAIN, [1, 2, 3]),
}


@pytest.mark.parametrize(("name", "content", "segments", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_gives_the_scores_of_its_segments(write, name, content, segments, expected):
    np.testing.assert_array_equal(matched(write(name, content), segments), expected)


@pytest.mark.parametrize(("name", "content", "segments", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_may_end_its_lines_in_crlf(write, name, content, segments, expected):
    crlf = content.replace("\r\n", "\n").replace("\n", "\r\n")
    np.testing.assert_array_equal(matched(write(name, crlf), segments), expected)


def test_tables_of_other_kinds_and_columns(write, tmp_path):
    table = pa.table({"id": [1.0, 2.0, 0.0], "score": [1.5, None, math.nan]})
    parquet.write_table(table, tmp_path / "x.parquet")
    np.testing.assert_array_equal(matched(tmp_path / "x.parquet"), [math.nan, 1.5, math.nan])
    path = write("x.csv", "seg;lp;COMET\n0;en-de;1\n1;en-de;2\n2;en-de;3\n")
    assert matched(path, columns={"id": "seg", "score": "COMET", "language_pair": "lp"}) == [1, 2, 3]


COMMAS = {
    "table": ("x.csv", "id;score\n0;0,5\n1;1\n2;-2,25\n", PLAIN),
    "one-score-per-line": ("x.txt", "0,5\n1\n-2,25\n", PLAIN),
    "mt-metrics-eval": ("x.seg.score", "A 0,5\nA 1\nA -2,25\n", PLAIN),
    "submission": ("predictions.txt", "22\n5\n1\nen-de\tX\t0\t0,5\nen-de\tX\t1\t1\nen-de\tX\t2\t-2,25\n", PLAIN),
}


@pytest.mark.parametrize(("name", "content", "segments"), COMMAS.values(), ids=COMMAS)
def test_decimal_commas_are_read_in_every_layout(write, name, content, segments):
    assert matched(write(name, content), segments, decimal=",") == [0.5, 1.0, -2.25]


MISTAKES = {
    "empty-scores": ("x.seg.score", "", PLAIN, ["empty"]),
    "no-header": ("x.tsv", table("0 .1|1 .2|2 .3"), PLAIN, ["no columns for score among 0, .1"]),
    "proposed": ("x.tsv", table("id COMET|0 1"), PLAIN, ["metric.imported.columns.score=COMET"]),
    "two-it-could-be": ("x.tsv", table("id a b|0 1 2"), PLAIN, ["columns.score=NAME", "id, a, b"]),
    "decimal-comma": (
        "x.tsv",
        table("id score|0 1|1 1,5|2 3"),
        PLAIN,
        ["line 3", "'1,5'; if its comma is a decimal comma, add metric.imported.decimal=, to"],
    ),
    "missing": ("x.tsv", table("id score|0 1|1 2"), PLAIN, ["no score for segment '2'", "write None"]),
    "another-id": ("x.tsv", table("id score|0 1|1 2|03 3"), PLAIN, ["no score for segment '2'", "4 has segment '03'"]),
    "an-id-twice": ("x.tsv", table("id score|0 1|1 2|1 3|2 3"), PLAIN, ["line 4", "'1'", "in line 3"]),
    "unknown-id": (
        "x.tsv",
        table("id score|0 1|1 2|2 3|7 4|8 4"),
        PLAIN,
        ["line 5", "id '7'", "metric.imported.extra=ignore"],
    ),
    "unknown-system": ("x.tsv", table("id system score|1 A 1|2 A 1|1 B 1|2 B 1|1 C 1"), SYSTEMS, ["line 6", "'C'"]),
    "a-system-written-otherwise": (
        "x.tsv",
        table("id system score|1 A 1|2 A 1|1 b 1|2 b 1"),
        SYSTEMS,
        ["no score for segment '1:B'", "line 4 has segment '1:b'"],
    ),
    "systems-not-named": ("x.tsv", table("id score|1 1|2 2"), SYSTEMS, ["names no systems", "(A, B)"]),
    "no-score-at-all": ("x.tsv", "id\tscore\n0\t\n1\t\n2\tNA\n", PLAIN, ["all are missing"]),
    "no-id": ("x.jsonl", jsonl({"id": None, "score": 1}), PLAIN, ["line 1", "'id'", "'None'"]),
    "latin-1": ("x.txt", b"1\n\xff\n", PLAIN, ["line 2", "not UTF-8"]),
    "neither-per-source-nor-per-row": (
        "x.txt",
        "1\n2\n3\n",
        SYSTEMS,
        ["3 scores", "2 segments; write one per source", "or give 4 scores, one per output in the order of"],
    ),
    "per-source-of-several-systems": ("x.txt", "1\n2\n", SYSTEMS, ["add a column system, or give 4 scores"]),
    "submission-of-another-set": ("predictions.txt", SUBMISSION, a_set("1", "2"), ["id '0'"]),
    "comet-segment-missing": (
        "x.txt",
        COMET_ONE.replace("Segment 1", "Segment 2"),
        PLAIN,
        ["line 2: expected segment 1 of hyp.de, got 2"],
    ),
    "comet-and-other-lines": ("x.txt", COMET_ONE + "done\n", PLAIN, ["line 5", "'done' is no line of comet-score"]),
    "comet-json-array": ("x.json", "[]", PLAIN, ["no lists of scores by file"]),
    "comet-json-without-scores": ("x.json", '{"a": [{"mt": "h"}]}', PLAIN, ["a, segment 0: no field 'COMET'"]),
    "too-few-lines": ("x.txt", "1\n2\n", PLAIN, ["2 scores", "3 segments"]),
    "an-empty-line-between": ("x.txt", "1\n\n3\n4\n", PLAIN, ["line 2", "no score"]),
    "a-word": ("x.txt", "1\ntwo\n3\n", PLAIN, ["line 2", "'two'"]),
    "short-block": ("x.seg.score", "A 1\nA 2\nB 3\n", SYSTEMS, ["1 score for", "'B' (first in line 3)"]),
    "block-of-a-stranger": ("x.seg.score", "A 1\nA 2\nB 1\nB 2\nC 1\nC 1\n", SYSTEMS, ["line 5", "system 'C'"]),
    "three-fields": ("x.seg.score", "A 1\nA 2 3\n", SYSTEMS, ["line 2", "'A 2 3'"]),
    "systems-of-no-use": ("x.seg.score", "A 1\nA 1\nA 1\nB 1\nB 1\nB 1\n", PLAIN, ["name no systems"]),
    "system-missing": ("x.sys.score", "A 1\n", SYSTEMS, ["no score for system 'B'"]),
    "system-twice": ("x.sys.score", "A 1\nA 2\nB 3\n", SYSTEMS, ["line 2", "'A'", "in line 1"]),
    "system-unknown": ("x.sys.score", "A 1\nB 2\nC 3\n", SYSTEMS, ["line 3", "'C'"]),
    "system-scores-without-systems": ("x.sys.score", "A 1\n", PLAIN, ["name no systems"]),
    "table-called-txt": ("x.txt", table("id lp x score|0 a b 1"), PLAIN, ["line 1", "let its name end in .tsv"]),
}


@pytest.mark.parametrize(("name", "content", "segments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_name_file_and_row(write, name, content, segments, words):
    with pytest.raises(DataError) as raised:
        matched(write(name, content), segments)
    assert not isinstance(raised.value, DataMissingError), "that would be left out, not failed"
    assert all(word in str(raised.value) for word in [name, *words]), raised.value


def test_rows_of_another_language_pair_are_not_taken(write):
    path = write("predictions.txt", SUBMISSION.replace("en-de", "en-zh", 1))
    for pairs in ((), ("en-de",)):
        with pytest.raises(DataError, match=r"no score for segment '0'"):
            matched(path, pairs=pairs)
    with pytest.raises(DataMissingError, match=r"predictions\.txt has no row of cs-uk, only of en-zh, en-de"):
        matched(path, a_set("0", pair="cs-uk"), pairs=())
    assert matched(path, a_set("1", "2"), pairs=()) == [0.1, 0.2]
    with pytest.raises(DataError, match=r"has no row of en-de, only of en-zh; correct them") as raised:
        matched(write("predictions.txt", SUBMISSION.replace("en-de", "en-zh")))
    assert not isinstance(raised.value, DataMissingError), "that would be left out, not failed"


def test_rows_of_what_was_left_out_of_the_set_are_no_mistake(write):
    all_segments = a_set("1:A", "2:A", "1:B", "2:B", all_systems=("A", "B", "refA"))
    path = write("x.seg.score", "A 1\nA 2\nB 3\nB 4\nrefA 5\nrefA 6\n")
    assert matched(path, all_segments.head(1)) == [1, 3], "limit=1"
    path = write("x.tsv", table("id system score|1 A 1|1 B 1|1 refA 1|2 A 2|2 B 2|2 refA 2"))
    assert matched(path, all_segments.head(1)) == [1, 1]
    assert matched(write("z.txt", "1\n2\n3\n4\n"), all_segments.head(1)) == [1, 3], "one per row of the whole set"
    path = write("y.tsv", table("id score|0 1|1 2|2 3|7 4"))
    assert matched(path, extra="ignore") == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("x.sys.score", "B None\nA 1\n", id="mt-metrics-eval"),
        pytest.param("x.tsv", "system\tscore\nB\t\nA\t1\n", id="a-table-without-ids"),
        pytest.param("x.txt", "A.txt\tscore: 1.0000\nB.txt\tscore: nan\n", id="comet-score --quiet"),
        pytest.param("x.tsv", table("system language_pair score|B en-de |A en-de 1|A en-zh 9"), id="of-several-pairs"),
    ],
)
def test_files_of_system_scores_leave_segments_without_one(write, name, content):
    scores = scores_given(write(name, content), SYSTEMS, () if "en-zh" in content else ("en-de",))
    np.testing.assert_equal(dict(scores.systems), {"A": 1.0, "B": math.nan})
    assert np.isnan(scores.base_scores).all()


ROWS = a_set("1", "2", "3")


def test_ids_of_rows_counted_from_0_are_read_with_a_warning(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(table("id score|2 .2|0 .0|1 .1"))
    with pytest.warns(UserWarning, match="x.tsv: the ids 0 to 2 are read as the rows 1 to 3 of some en-de"):
        assert matched(path, ROWS) == [0, 0.1, 0.2]


@pytest.mark.parametrize(
    ("rows", "segments"),
    [
        pytest.param("id score|0 .0|1 .1", ROWS, id="one short: perhaps row 3 is missing, and 0 is another"),
        pytest.param("id score|0 .0|1 .1|5 .2", ROWS, id="not the numbers of the rows"),
        pytest.param("id score|0 .0|1 .1|2 .2", a_set("7", "8", "9"), id="ids that are no numbers of rows"),
    ],
)
def test_other_ids_are_not_shifted(rows, segments, tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(table(rows))
    with pytest.raises(DataError, match="no score for"):
        matched(path, segments)
