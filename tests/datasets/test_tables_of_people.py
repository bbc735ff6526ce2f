"""Tables as people have them: ratings in rows, empty rows, titles, workbooks, encodings, columns per system."""

import gzip
import json
import math

import numpy as np
import pandas as pd
import polars
import pytest

import bmx_grid as bmx
from bmx_grid.api.frames import frame_rows, frame_table, roles_of
from bmx_grid.commands.data import main
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.datasets.tables import open_table
from bmx_grid.measures.annotators import reliability

NEEDED = ("hypothesis", "score")


@pytest.fixture
def read(write, reader):
    """read(content, name, pair, **settings): the segments of a file with this content."""

    def run(content, name="my.tsv", pair="none", **settings):
        path = write(name, content)
        return reader("tabular", path=str(path), **settings).load_segments(path.parent, pair)

    return run


@pytest.fixture
def show(capsys, write, tmp_path, monkeypatch):
    """show(content, name, *more): (exit status, standard output, standard error) of `data show`."""
    monkeypatch.chdir(tmp_path)

    def call(content, *more, name="my.tsv"):
        write(name, content)
        status = main(["show", name, "limit=0", *more])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def tsv(header, *rows):
    """A TSV of lines whose fields are parted by |."""
    return "".join(line.replace("|", "\t") + "\n" for line in (header, *rows))


def in_frame(frame, **columns):
    """The segments of a frame, as `bmx.grid` reads them."""
    table, _ = frame_table(frame)
    rows = frame_rows(table, roles_of(table, columns, NEEDED), None)
    (pair,) = rows.by_pair
    return rows.segments("frame", pair)


# Two systems, two sources, three raters; ben did not judge everything.
LONG = tsv(
    "id|system|rater|source|hypothesis|score",
    *("1|A|anna|Q1|x|60", "1|A|ben|Q1|x|70", "2|A|anna|Q2|y|50"),
    *("1|B|ben|Q1|z|90", "1|B|anna|Q1|z|80", "1|B|cleo|Q1|z|", "2|B|cleo|Q2|w|"),
)
# Means by hand: (60 + 70) / 2, 50, (80 + 90) / 2, none.
MEANS = [65.0, 50.0, 85.0, math.nan]
# The ratings of each output in the order in which raters appear: anna, ben, cleo.
RATINGS = [[60, 70, math.nan], [50, math.nan, math.nan], [80, 90, math.nan], [math.nan] * 3]
NO_ID = LONG.replace("id\t", "unit\t", 1)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        pytest.param(LONG, ["1:A", "2:A", "1:B", "2:B"], id="ids"),
        pytest.param(LONG.replace("id\t", "Seg ID\t", 1), ["1:A", "2:A", "1:B", "2:B"], id="ids of a usual name"),
        pytest.param(NO_ID, ["1:A", "3:A", "4:B", "7:B"], id="no ids: by texts"),
    ],
)
def test_ratings_in_rows_are_one_segment_per_output_wherever_they_are_read(read, show, content, names):
    with pytest.warns(UserWarning, match="7 ratings of 4 outputs; the human score is their mean"):
        segments = read(content)
    assert [segment.name for segment in segments.segments] == names
    assert [segment.rater for segment in segments.segments] == [None, "anna", None, "cleo"]
    np.testing.assert_array_equal(segments.human_scores, MEANS)
    np.testing.assert_array_equal(segments.judgements.raters["score"], RATINGS)
    frame = pd.DataFrame(
        [line.split("\t") for line in content.splitlines()[1:]], columns=content.split("\n")[0].split("\t")
    )
    with pytest.warns(UserWarning, match="7 ratings of 4 outputs"):
        assert in_frame(frame).judgements.fingerprint() == segments.judgements.fingerprint()
    status, out, err = show(content)
    assert status == 0 and "4 segments of 2 systems" in out and "of 5 ratings" in out, err
    assert "7 ratings of 4 outputs" in err


def test_the_reliability_of_ratings_in_rows_is_that_of_their_matrix(read):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 3)) + rng.normal(size=(30, 1))
    rows = [f"{i}|{'abc'[j]}|s{i}|h{i}|{float(matrix[i, j])!r}" for j in range(3) for i in range(30)]
    with pytest.warns(UserWarning, match="90 ratings of 30 outputs"):
        judgements = read(tsv("id|rater|source|hypothesis|da", *rows)).judgements
    np.testing.assert_array_equal(judgements.raters["da"], matrix)
    np.testing.assert_allclose(judgements.scores["da"], matrix.mean(axis=1), rtol=1e-14)
    assert reliability(judgements.raters["da"]) == reliability(matrix)


def test_without_ids_a_rater_who_judges_the_same_texts_again_judges_another_output(read):
    rows = ["A|anna|Ja|Yes|1", "A|ben|Ja|Yes|3", "A|anna|Ja|Yes|5", "A|ben|Ja|Yes|9"]
    with pytest.warns(UserWarning, match="4 ratings of 2 outputs"):
        segments = read(tsv("system|rater|source|hypothesis|score", *rows))
    assert segments.human_scores.tolist() == [2.0, 7.0]


RATERS = "id|system|rater|source|hypothesis|score"
CONTRADICTIONS = {
    "twice": (
        ["1|A|anna|Q|x|1", "1|A|anna|Q|x|2"],
        ["line 3: the rater 'anna' judged '1:A' in line 2, too", "line 2", "keep one row"],
    ),
    "unnamed": (["1|A||Q|x|1", "1|A||Q|x|2"], ["line 3: a rater without a name judged '1:A'"]),
    "text": (["1|A|anna|Q|x|1", "1|A|ben|Q|y|2"], ["line 3: the hypothesis of '1:A' is not that in", "line 2"]),
}


@pytest.mark.parametrize(("rows", "words"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_ratings_that_contradict_each_other_are_named(read, rows, words):
    with pytest.raises(DataError) as error:
        read(tsv(RATERS, *rows))
    assert all(word in str(error.value) for word in words), error.value


def test_ids_that_repeat_without_raters_name_the_way_out(read):
    with pytest.raises(DataError, match=r"both '1:A'.*ratings of one output need a column rater"):
        read(tsv("id|system|source|hypothesis|score", "1|A|Q|x|1", "1|A|Q|x|2"))


WIDE = tsv("source|hypothesis|anna|ben|mqm", "Q1|x|1|2|9", "Q2|y|4||8", "Q3|z|||7")


@pytest.mark.parametrize(
    ("columns", "name", "expected"),
    [
        pytest.param({"rater": ["anna", "ben"], "score": None}, "score", [1.5, 4, math.nan], id="their mean"),
        pytest.param({"rater": ["anna", "ben"], "score": "mqm"}, "mqm", [9, 8, 7], id="a column of the score"),
    ],
)
def test_columns_of_raters(read, columns, name, expected):
    content = WIDE if columns["score"] else WIDE.replace("mqm", "x1")
    segments = read(content, columns=columns)
    assert segments.judgements.aspects == (name,)
    np.testing.assert_array_equal(segments.human_scores, expected)
    ratings = [[1, 2], [4, math.nan], [math.nan, math.nan]]
    np.testing.assert_array_equal(segments.judgements.raters[name], ratings)


def test_it_is_said_whether_several_columns_are_scores_or_raters(show):
    _, out, _ = show(WIDE, "columns.score=[anna,ben]")
    assert "anna (primary): 1 to 4" in out and "  ben: 2 to 2" in out
    assert """if they are ratings of one score by several people: 'columns.rater=["anna","ben"]'""" in out
    status, out, err = show(WIDE, 'columns.rater=["anna","ben"]')
    assert status == 0 and "mqm: 7 to 9, mean 8.0000, of 3 ratings" in out, err


SEMICOLONS = "id;system;source;reference;hypothesis;score\n"
FILLED = ["1;A;ein Haus;a house;a house;90\n", "2;A;ein Hund;a dog;the dog;70\n"]
EMPTY = {
    "at the end": ("my.csv", SEMICOLONS + "".join(FILLED) + ";;;;;\n", 1),
    "two at the end": ("my.csv", SEMICOLONS + "".join(FILLED) + ";;;;;\n;;;;;\n", 2),
    "between, of blanks and of another length": ("my.csv", SEMICOLONS + "\n ; ;;;;\n;;\n".join(FILLED), 3),
    "above the header": ("my.csv", ";;;;;\n" + SEMICOLONS + "".join(FILLED), 1),
    "tsv": ("my.tsv", (SEMICOLONS + "\n;;;;;\n".join(FILLED)).replace(";", "\t"), 2),
}


@pytest.mark.parametrize(("name", "content", "count"), EMPTY.values(), ids=EMPTY)
def test_empty_rows_are_skipped_and_counted(read, name, content, count):
    with pytest.warns(UserWarning, match=rf"my\.\w+: {count} empty rows? skipped"):
        segments = read(content, name)
    assert [segment.name for segment in segments.segments] == ["1:A", "2:A"]
    assert segments.human_scores.tolist() == [90, 70]


def test_empty_rows_of_formats_without_lines_are_skipped(tmp_path, reader):
    rows = {
        "source": ["a", None, "c", "e"],
        "hypothesis": ["b", None, "d", "f"],
        "score": [1.0, None, 2.0, 3.0],
        "notes": ["", "x", "", ""],
    }
    path = tmp_path / "my.parquet"
    pd.DataFrame(rows).to_parquet(path)
    for segments in (lambda: reader("tabular", path=str(path)).load_segments(tmp_path, "none"), lambda: in_frame(rows)):
        with pytest.warns(UserWarning, match="1 empty row skipped"):
            assert segments().texts("hypothesis") == ["b", "d", "f"]


def test_line_numbers_count_empty_and_skipped_lines(read):
    content = "Ratings\n\n" + SEMICOLONS + FILLED[0] + ";;;;;\n" + FILLED[1].replace("70", "good")
    with pytest.raises(DataError, match=r"my\.csv, line 6: the score in column 'score' is not a finite number: 'good'"):
        read(content, "my.csv", skip_rows=2)


def test_an_empty_id_is_named_and_no_column_of_ids(read):
    with pytest.raises(DataError, match=r"line 3: the column 'id' holds nothing; write the id of every row"):
        read(tsv("id|source|hypothesis|score", "1|a|b|1", "|c|d|2"))
    assert [s.id for s in read(tsv("Nr|source|hypothesis|score", "7|a|b|1", "|c|d|2")).segments] == ["1", "2"]


HEADED = tsv("src|mt|DA", "a|b|1", "c|d|2")
TITLES = {
    "one cell": ("my.tsv", "Ratings of May\n" + HEADED, 1),
    "a cell and separators": ("my.csv", "Ratings;;\n" + HEADED.replace("\t", ";"), 1),
    "a comma in it": ("my.csv", "Ratings, 2023\n" + HEADED.replace("\t", ";"), 1),
    "two lines and an empty one": ("my.tsv", "Ratings\t\t\nMay\t\t\n\t\t\n" + HEADED, 2),
    "separator of Excel": ("my.csv", "sep=;\n" + HEADED.replace("\t", ";"), 1),
}


@pytest.mark.parametrize(("name", "content", "skipped"), TITLES.values(), ids=TITLES)
def test_a_title_above_the_header_is_named_and_skipped(read, name, content, skipped):
    with pytest.raises(DataError) as error:
        read(content, name)
    way_out = f"delete the lines above the header, or skip them: dataset.tabular.skip_rows={skipped}."
    assert "line 1 holds no column names" in str(error.value) and way_out in str(error.value), error.value
    with pytest.warns(UserWarning, match="columns recognised by their names: source src, hypothesis mt, score DA"):
        assert read(content, name, skip_rows=skipped).human_scores.tolist() == [1, 2]


@pytest.mark.parametrize(
    "content", [",score\n0,1\n1,2\n", "id,score,,,,\n0,1,,,,\n1,2,,,,\n"], ids=["index", "trailing"]
)
def test_columns_without_a_name_are_no_title(write, content):
    assert len(open_table(write("my.csv", content))) == 2


TEXTS = tsv("source|hypothesis|score", "Größe|œuvre €|1", "x|y|2")
ENCODED = {
    "utf-8 with a mark": (TEXTS.encode("utf-8-sig"), None),
    "utf-16 with a mark": (TEXTS.encode("utf-16"), None),
    "utf-16 big-endian with a mark": (b"\xfe\xff" + TEXTS.encode("utf-16-be"), None),
    "utf-32 with a mark": (TEXTS.encode("utf-32"), None),
    "utf-16 with a mark, packed": (gzip.compress(TEXTS.encode("utf-16")), None),
    "a mark goes before the option": (TEXTS.encode("utf-8-sig"), "cp1252"),
    "cp1252": (TEXTS.encode("cp1252"), "cp1252"),
    "utf-16 without a mark": (TEXTS.encode("utf-16-le"), "utf-16-le"),
}


@pytest.mark.parametrize(("raw", "encoding"), ENCODED.values(), ids=ENCODED)
def test_encodings(read, raw, encoding):
    segment = read(raw, encoding=encoding).segments[0]
    assert (segment.source, segment.hypothesis) == ("Größe", "œuvre €")


SYSTEMS = tsv("source|A|B|h_A|h_B|mt", "Q1|a1|b1|1|2|x", "Q2|a2||3||x", "Q3|a3|b3||6|x")


def test_a_column_per_system(read, show):
    columns = {"hypothesis": ["A", "B"], "score": ["h_A", "h_B"]}
    segments = read(SYSTEMS, columns=columns)
    assert [segment.name for segment in segments.segments] == ["1:A", "1:B", "2:A", "2:B", "3:A", "3:B"]
    assert segments.texts("hypothesis") == ["a1", "b1", "a2", "", "a3", "b3"]
    assert segments.texts("source") == ["Q1", "Q1", "Q2", "Q2", "Q3", "Q3"]
    np.testing.assert_array_equal(segments.human_scores, [1, 2, 3, math.nan, math.nan, 6])
    status, out, err = show(SYSTEMS, "columns.hypothesis=[A,B]", "columns.score=[h_A,h_B]")
    assert status == 0 and "6 segments of 2 systems" in out, err
    assert """'dataset.tabular.columns.hypothesis=["A","B"]'""" in out


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        pytest.param({"score": "h_A"}, r"hypothesis has 2 columns \(A, B\) and score 1 .*pandas\.melt\(", id="a score"),
        pytest.param({"score": ["h_A", "h_B"], "system": "mt"}, "name the systems, and so does system", id="system"),
        pytest.param({"score": ["h_A", "h_B"], "rater": ["h_A", "h_B"]}, "both hypothesis and rater", id="raters"),
    ],
)
def test_columns_per_system_that_contradict_others(read, columns, reason):
    with pytest.raises(ConfigError, match=reason):
        read(SYSTEMS, columns={"hypothesis": ["A", "B"], **columns})


NESTED = [
    {"translation": {"de": "Quelle 1", "en": "reference 1"}, "mt": "output 1", "score": 1, "meta": None},
    {"translation": {"de": "Quelle 2", "en": None}, "mt": "output 2", "score": 2, "meta": {"lp": {"x": "de-en"}}},
    {"translation": {"de": "Quelle 3", "en": ""}, "mt": "output 3", "score": 3, "meta": None},
]
FIELDS = {"source": "translation.de", "reference": "translation.en"}


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "pandas", "polars"])
def test_fields_of_objects_are_columns(write, reader, tmp_path, kind):
    if kind == "jsonl":
        path = write("my.jsonl", "".join(json.dumps(row) + "\n" for row in NESTED))
    elif kind == "parquet":
        path = tmp_path / "my.parquet"
        pd.DataFrame(NESTED).to_parquet(path)
    if kind in ("jsonl", "parquet"):
        segments = reader("tabular", path=str(path), columns=FIELDS).load_segments(tmp_path, "none")
        assert open_table(path).names == ("translation.de", "translation.en", "mt", "score", "meta.lp.x")
    else:
        frame = pd.DataFrame(NESTED) if kind == "pandas" else polars.DataFrame(NESTED)
        segments = in_frame(frame, **FIELDS)
    assert segments.texts("source") == ["Quelle 1", "Quelle 2", "Quelle 3"]
    assert segments.texts("reference") == ["reference 1", "", ""]


def test_a_data_set_of_hugging_face_names_its_way_to_pandas():
    class Dataset:  # as datasets.Dataset, which no test installs
        def to_pandas(self):
            return pd.DataFrame(NESTED)

    with pytest.raises(ConfigError, match=r"got a Dataset; call its \.to_pandas\(\)"):
        bmx.grid(Dataset())


def test_names_and_gaps_have_one_rule_in_files_and_frames(tmp_path, reader):
    columns = {"id": [1.0, 2.0, 3.0], "doc": [7.0, None, 8.0], "source": ["a", "b", "c"], "mt": ["x", None, math.nan]}
    frame = pd.DataFrame({**columns, "score": [1, 2, 3]})
    frame.to_parquet(tmp_path / "my.parquet")
    frame.to_csv(tmp_path / "my.csv", index=False)
    (tmp_path / "my.jsonl").write_text(frame.to_json(orient="records", lines=True))
    for segments in (
        in_frame(frame),
        in_frame({name: list(values) for name, values in columns.items()} | {"score": [1, 2, 3]}),
        reader("tabular", path=str(tmp_path / "my.parquet")).load_segments(tmp_path, "none"),
        reader("tabular", path=str(tmp_path / "my.jsonl")).load_segments(tmp_path, "none"),
    ):
        assert [(s.id, s.document, s.hypothesis) for s in segments.segments] == [
            ("1", "7", "x"),
            ("2", None, ""),
            ("3", "8", ""),
        ]
    # A text file holds texts: its ids are as they are written.
    segments = reader("tabular", path=str(tmp_path / "my.csv")).load_segments(tmp_path, "none")
    assert [(s.id, s.hypothesis) for s in segments.segments] == [("1.0", "x"), ("2.0", ""), ("3.0", "")]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        pytest.param(
            "id", 1.5, "row 1: the column 'id' holds '1.5' (float), not text; write a text or a whole", id="id"
        ),
        pytest.param(
            "mt", 1.5, "row 1: the column 'mt' holds '1.5' (float), not text; write a text (it may be", id="text"
        ),
    ],
)
def test_numbers_that_are_no_names_or_texts_are_refused_in_one_wording(column, value, words):
    frame = {"id": ["1", "2", "3"], "source": ["a", "b", "c"], "mt": ["x", "y", "z"], "score": [1, 2, 3]}
    with pytest.raises(DataError) as error:
        in_frame({**frame, column: [value, "v", "w"]})
    assert words in str(error.value)


def test_usual_names_are_recognised_alike_everywhere(read, show):
    rows = ["de-en|1|q|w|r|3|acme", "de-en|2|s|t|u|4|acme", "de-en|3|v|x|y|5|other"]
    content = tsv("lp|Nr|src|mt|ref|DA|Anbieter", *rows)
    with pytest.warns(UserWarning, match="language_pair lp, id Nr, system Anbieter"):
        segments = read(content, pair="de-en")
    status, out, err = show(content)
    assert status == 0 and "3 segments of 2 systems" in out and "Anbieter" in out, err
    frame = pd.DataFrame([row.split("|") for row in rows], columns=["lp", "Nr", "src", "mt", "ref", "DA", "Anbieter"])
    names = [segment.name for segment in segments.segments]
    assert names == ["1:acme", "2:acme", "3:other"] == [segment.name for segment in in_frame(frame).segments]


@pytest.mark.parametrize("name", ["vendor", "Provider", "Anbieter", "Lieferant"])
def test_who_made_a_translation_is_its_system(read, name):
    assert read(tsv(f"src|mt|DA|{name}", "a|b|1|acme"), pair="none").systems == ("acme",)


@pytest.mark.parametrize("name", ["project", "Auftrag", "Projekt"])
def test_what_it_was_made_for_is_its_document(read, name):
    assert read(tsv(f"src|mt|DA|{name}", "a|b|1|k7"), pair="none").segments[0].document == "k7"


def test_quotation_marks_of_pandas_are_named(write, read, tmp_path):
    frame = pd.DataFrame({"source": ["a", "b"], "hypothesis": ['He said "hi"', "c"], "score": [1, 2]})
    frame.to_csv(tmp_path / "my.tsv", sep="\t", index=False)
    content = (tmp_path / "my.tsv").read_text()
    with pytest.warns(UserWarning, match="1 text between quotation marks with doubled ones inside.*as .csv"):
        assert read(content).texts("hypothesis") == ['"He said ""hi"""', "c"]
    frame.to_csv(tmp_path / "my.csv", index=False)
    assert read((tmp_path / "my.csv").read_text(), "my.csv").texts("hypothesis") == ['He said "hi"', "c"]


@pytest.mark.parametrize("folder", ["lang=de", "a b=c=d"])
def test_a_path_that_holds_an_equals_sign(show, reader, tmp_path, folder):
    content = tsv("source|reference|hypothesis|score", "a|b|c|1", "d|e|f|2")
    status, out, err = show(content, name=f"{folder}/my.tsv")
    assert status == 0 and "2 segments" in out, err
    assert main(["show", "lang=fr/none.tsv"]) == 2


LISTS = [
    pytest.param(["columns.score=mqm,da score"], """write 'columns.score=[mqm,da score]' for a list""", id="no list"),
    pytest.param(["columns.score=[mqm,da"], """quote a list and its values: 'columns.score=["A B","C"]'""", id="split"),
    pytest.param(['columns.score="[mqm,da score]"'], """is written 'columns.score=["mqm","da score"]'""", id="a text"),
    pytest.param(['columns.score=["mqm","da score"]'], "", id="as printed"),
    pytest.param(["columns.score=[mqm,da score]"], "", id="without inner marks"),
    pytest.param(["--columns", "score=mqm", "score=da score"], "", id="twice"),
]


@pytest.mark.parametrize(("more", "message"), LISTS)
def test_two_scores_of_which_one_name_has_a_blank(show, more, message):
    content = tsv("source|reference|hypothesis|mqm|da score", "a|b|c|1|2", "d|e|f|2|3")
    status, out, err = show(content, *more)
    assert (status, message in err) == (2 if message else 0, True), err
    if not message:
        assert "  mqm (primary)" in out and "  da score: 2 to 3" in out
    _, out, _ = show(content)
    assert """'columns.score=["mqm","da score"]'""" in out


def test_the_first_sheet_of_a_workbook(tmp_path, reader):
    pytest.importorskip("openpyxl", reason="reading .xlsx needs the extra excel")
    rows = [
        ["Ratings", None, None, None],
        [None] * 4,
        ["Nr", "src", "mt", "Note"],
        [1, "Q", "x", 90.5],
        [None] * 4,
        [2, "R", 7, None],
    ]
    path = tmp_path / "my.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame(rows).to_excel(book, header=False, index=False)
        pd.DataFrame([["other"]]).to_excel(book, sheet_name="second")
    with pytest.raises(DataError, match=r"line 1 holds no column names.*skip them: dataset\.tabular\.skip_rows=1\."):
        reader("tabular", path=str(path)).load_segments(tmp_path, "none")
    with pytest.warns(UserWarning, match="1 empty row skipped"):
        segments = reader("tabular", path=str(path), skip_rows=2).load_segments(tmp_path, "none")
    assert [(s.id, s.source, s.hypothesis) for s in segments.segments] == [("1", "Q", "x"), ("2", "R", "7")]
    np.testing.assert_array_equal(segments.human_scores, [90.5, math.nan])


def test_a_damaged_or_too_large_workbook_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl", reason="reading .xlsx needs the extra excel")
    (tmp_path / "my.xlsx").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(DataError, match=r"my\.xlsx: not a readable workbook .*; save it again, or as \.csv"):
        open_table(tmp_path / "my.xlsx")
    pd.DataFrame({"a": ["x" * 99] * 99}).to_excel(tmp_path / "large.xlsx")
    monkeypatch.setattr("bmx_grid.datasets.tables.LARGEST_TABLE", 3_000)
    with pytest.raises(DataError, match=r"large\.xlsx: unpacks to .* bytes, more than 3,000; split it"):
        open_table(tmp_path / "large.xlsx")


def test_without_openpyxl_a_workbook_names_the_extra(tmp_path, monkeypatch, write):
    def missing(*arguments, **settings):
        raise ImportError("Missing optional dependency 'openpyxl'.")

    monkeypatch.setattr(pd, "ExcelFile", missing)
    monkeypatch.setattr("bmx_grid.datasets.binary_tables._check_size", lambda path, limit: None)
    with pytest.raises(ConfigError, match=r"requires openpyxl, the extra excel: pip install openpyxl, or save .*\.csv"):
        open_table(write("my.xlsx", b"PK"))


def test_a_metric_has_one_score_for_all_raters_of_an_output():
    ratings = {
        "id": [1, 1, 2, 2, 3, 3],
        "rater": ["a", "b"] * 3,
        "score": [1, 3, 2, 4, 5, 9],
        "chrf": [1, 1, 5, 5, 6, 6],
    }
    with pytest.warns(UserWarning, match="6 ratings of 3 outputs"):
        compared = bmx.compare(ratings, "chrf", resamples=50)
    # Pearson's r of the means (2, 3, 7) and (1, 5, 6), by hand: 11 / sqrt(14 * 14).
    pearson = list(compared.correlations["statistic"]).index("pearson")
    assert compared.correlations["value"][pearson] == pytest.approx(11 / 14)
    ratings["chrf"] = [1, 2, 5, 5, 6, 6]
    with (
        pytest.warns(UserWarning, match="6 ratings"),
        pytest.raises(DataError, match="row 2: the column 'chrf' is 2, but 1 in row 1"),
    ):
        bmx.compare(ratings, "chrf", resamples=50)
