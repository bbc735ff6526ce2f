"""The user's own table: every format gives the same segments, every mistake is named with file, row and value."""

import gzip
import json
import math
import shlex
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from pyarrow import parquet

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.datasets.columns import setting

RECORDS = [
    {"id": "a", "language_pair": "de-en", "source": '"Hallo', "reference": "hello", "hypothesis": "hi", "score": "0.5"},
    {"id": "b", "language_pair": "cs-en", "source": "Ahoj", "reference": "hi", "hypothesis": 'ah "x', "score": "-1"},
    {"id": "a", "language_pair": "cs-en", "source": "A\u2028B", "reference": "", "hypothesis": "a b", "score": ""},
    {"id": "c", "language_pair": "de-en", "source": "Welt", "reference": "world", "hypothesis": "w", "score": "0"},
]
NAMES = list(RECORDS[0])


def tsv(records=RECORDS, end="\n"):
    return end.join(["\t".join(records[0]), *("\t".join(record.values()) for record in records)]) + end


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def as_csv(end="\n"):
    return end.join([",".join(NAMES), *(",".join(map(quoted, record.values())) for record in RECORDS)]) + end


def as_jsonl():
    scores = [0.5, -1, None, 0]
    return "".join(json.dumps({**r, "score": s}) + "\n" for r, s in zip(RECORDS, scores, strict=True))


def as_parquet(path):
    columns = {name: [record[name] for record in RECORDS] for name in NAMES}
    columns["score"] = [0.5, -1.0, None, 0.0]
    parquet.write_table(pa.table(columns), path)


@pytest.fixture
def read(write, reader):
    """read(content, pair): the segments of a TSV with this content (or of another file name)."""

    def run(content, pair="de-en", name="my.tsv", **settings):
        path = write(name, content)
        return reader("tabular", path=str(path), **settings).read(path.parent, pair)

    return run


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("my.tsv", tsv(), id="tsv"),
        pytest.param("my.tsv", tsv(end="\r\n"), id="tsv-crlf"),
        pytest.param("my.tsv", "\ufeff" + tsv() + "\n\n", id="tsv-byte-order-mark-and-blank-end"),
        pytest.param("my.TSV.gz", gzip.compress(tsv().encode()), id="tsv-gz"),
        pytest.param("my.tsv", gzip.compress(tsv().encode()), id="gzip-is-recognised-by-its-content"),
        pytest.param("my.csv", as_csv(), id="csv"),
        pytest.param("my.csv", as_csv("\r\n"), id="csv-crlf"),
        pytest.param("my.jsonl", as_jsonl(), id="jsonl"),
        pytest.param("my.jsonl.gz", gzip.compress(as_jsonl().encode()), id="jsonl-gz"),
        pytest.param("my.parquet", None, id="parquet"),
    ],
)
def test_formats_agree(write, reader, tmp_path, name, content):
    if content is None:
        as_parquet(tmp_path / name)
    else:
        write(name, content)
    made = reader("tabular", path=str(tmp_path / name))
    assert made.pairs(tmp_path) == ("de-en", "cs-en")
    german, czech = (made.read(tmp_path, pair) for pair in made.pairs(tmp_path))
    assert [(s.id, s.source, s.reference, s.hypothesis) for s in german.segments] == [
        ("a", '"Hallo', "hello", "hi"),
        ("c", "Welt", "world", "w"),
    ]
    assert [(s.id, s.source, s.hypothesis) for s in czech.segments] == [
        ("b", "Ahoj", 'ah "x'),
        ("a", "A\u2028B", "a b"),
    ]
    assert german.human_scores.tolist() == [0.5, 0.0]
    assert czech.human_scores[0] == -1.0
    assert math.isnan(czech.human_scores[1])
    assert (czech.rated, len(czech)) == (1, 2)
    assert czech.empty_texts() == ["a"]


@pytest.mark.parametrize("blank", ["\ufeff", "\u200b", "\xa0", " "], ids=["bom", "zero-width", "no-break", "blank"])
def test_invisible_signs_around_column_names_do_not_count(read, blank):
    found = read(f"{blank}source{blank}\thypothesis\t{blank}score\na\tb\t1\n", language_pairs=["de-en"])
    assert (found.human_name, found.human_scores.tolist()) == ("score", [1.0])


def test_a_listed_column_without_any_score_is_refused(read):
    with pytest.raises(DataError, match=r"my\.tsv: the column 'rater2' holds no score .*tabular\.columns\.score"):
        read(
            "source\thypothesis\trater1\trater2\na\tb\t1\t\n",
            columns={"score": ["rater1", "rater2"]},
            language_pairs=["de-en"],
        )


def test_some_of_the_pairs(write, reader, tmp_path):
    path = write("my.tsv", tsv())
    made = reader("tabular", path=str(path), language_pairs=["cs-en"])
    assert made.pairs(tmp_path) == ("cs-en",)
    with pytest.raises(ConfigError, match="unknown language pair 'de-en'"):
        made.read(tmp_path, "de-en")
    with pytest.raises(ConfigError, match=r"unknown language pair 'de-fr'\. Did you mean 'de-en'"):
        reader("tabular", path=str(path), language_pairs=["de-fr"]).pairs(tmp_path)


@pytest.mark.parametrize("text", ["", " ", "NA", "n/a", "NaN", "None", "null"])
def test_unrated(read, text):
    found = read(f"source\thypothesis\tscore\na\tb\t{text}\nc\td\t0\n", language_pairs=["de-en"])
    assert (len(found), found.rated) == (2, 1)


HEAD = "language_pair\tsource\thypothesis\tscore\n"
TSV, CSV = "source\thypothesis\tscore\n", "source,hypothesis,score\n"


def record(**fields):
    """A line of JSONL with these fields in place of its own."""
    return json.dumps({"source": "a", "hypothesis": "b", "score": 1, **fields}) + "\n"


# What is wrong: the file, its content, and what the sentence names.
MISTAKES = {
    "score-is-text": ("my.tsv", HEAD + "de-en\ta\tb\t1\nde-en\ta\tb\tabc\n", ["line 3", "'abc'", "'score'"]),
    "decimal-comma": ("my.tsv", HEAD + "de-en\ta\tb\t0,5\n", ["line 2", "'0,5'"]),
    "underscore": ("my.tsv", HEAD + "de-en\ta\tb\t1_000\n", ["line 2", "'1_000'"]),
    "infinite": ("my.tsv", HEAD + "de-en\ta\tb\tinf\n", ["line 2", "'inf'"]),
    "no square": ("my.tsv", HEAD + "de-en\ta\tb\t-1e151\n", ["line 2", "beyond", "'-1e151'"]),
    "row-too-short": ("my.tsv", HEAD + "de-en\ta\tb\n", ["line 2", "3 fields", "header has 4"]),
    "row-too-long": ("my.tsv", HEAD + "de-en\ta\tb\tc\t1\n", ["line 2", "5 fields"]),
    "blank-line-inside": ("my.tsv", HEAD + "de-en\ta\tb\t1\n\nde-en\ta\tb\t1\n", ["line 3", "1 fields"]),
    "header-only": ("my.tsv", HEAD, ["no rows"]),
    "empty-file": ("my.tsv", "", ["empty"]),
    "needed-column-twice": ("my.tsv", TSV[:-1] + "\tscore\na\tb\t1\t2\n", ["'score' is there 2 times"]),
    "no-hypothesis": ("my.tsv", "source\tscore\na\t1\n", ["no column for hypothesis", "source, score"]),
    "no-score": ("my.tsv", "source\thypothesis\ta\na\tb\t1\n", ["no column for score", "columns.score="]),
    "no-ground-truth": ("my.tsv", "hypothesis\tscore\na\t1\n", ["no column for source or reference"]),
    "id-twice": ("my.tsv", f"id\t{TSV}" + "x\ta\tb\t1\ny\ta\tb\t1\nx\ta\tb\t1\n", ["segments 1 and 3 are both 'x'"]),
    "id-twice-and-a-column-that-may-be-the-system": (
        "my.tsv",
        f"id\tsys\t{TSV}" + "1\tA\ts\th\t1\n1\tB\ts\th\t2\n",
        ["1 and 2 are both '1'; every segment needs"],
    ),
    "not-utf8": ("my.tsv", TSV.encode() + b"M\xfcller\tb\t1\n", ["line 2", "0xfc"]),
    "csv-open-quote": ("my.csv", CSV + '"a,b,1\n', ["line 2"]),
    "csv-bare-comma": ("my.csv", CSV + "a,b,c,1\n", ["line 2", "4 fields"]),
    "csv-huge-field": ("my.csv", CSV + "a" * 200_000 + ",b,1\n", ["line 2", "131072"]),
    "csv-cr-in-a-field": ("my.csv", CSV + "a\rb,c,1\n", ["line 2", "new-line character"]),
    "csv-old-mac": ("my.csv", as_csv("\r"), ["CR alone"]),
    "jsonl-called-csv": ("my.csv", as_jsonl(), ["line 1", "JSON", ".jsonl"]),
    "xlsx-called-csv": ("my.csv", b"PK\x03\x04rest", ["an Excel workbook"]),
    "jsonl-broken": ("my.jsonl", '{"source": "a"\n', ["line 1", "not JSON"]),
    "jsonl-no-object": ("my.jsonl", '{"a": 1}\n[1]\n', ["line 2", "[1]"]),
    "jsonl-field-missing": ("my.jsonl", record() + '{"source": "a", "score": 1}', ["line 2", "'hypothesis' is"]),
    "jsonl-field-twice": ("my.jsonl", '{"a": "a", "a": "b"}\n', ["line 1", "'a' is there several times"]),
    "json-array": ("my.jsonl", f"[{record()[:-1]}]\n", ["line 1", "an object", "one object per line"]),
    "json-array-spread": ("my.jsonl", f"[\n  {record()}]\n", ["line 1", "one object per line"]),
    "a-truth-value-as-id": ("my.jsonl", record(id=True), ["line 1", "'True' (a truth value)", "write a text"]),
    "a-list-as-text": ("my.jsonl", record(source=["a"]), ["line 1", "'source'", "(a list)"]),
    "half-a-character": ("my.jsonl", record(source="a\ud800"), ["line 1", "'source' holds half of a character"]),
    "null-text": ("my.jsonl", record(source=None), ["line 1", "'source'", "None"]),
    "truth-for-score": ("my.jsonl", record(score=True), ["line 1", "True"]),
    "list-for-score": ("my.jsonl", record(score=[1]), ["line 1", "[1]"]),
    "jsonl-old-mac": ("my.jsonl", as_jsonl().replace("\n", "\r"), ["CR alone"]),
    "tsv-called-jsonl": ("my.jsonl", tsv(), ["line 1", "not JSON", ".tsv or .csv"]),
    "tsv-of-commas": ("my.tsv", CSV + "a,b,1\n", ["line 1", "commas", ".csv"]),
    "tsv-old-mac": ("my.tsv", tsv(end="\r"), ["CR alone", "old Macs"]),
    "utf-16": ("my.tsv", tsv().encode("utf-16"), ["UTF-16", "save it as UTF-8"]),
    "utf-16-be": ("my.csv", b"\xfe\xff" + as_csv().encode("utf-16-be"), ["UTF-16"]),
    "utf-32": ("my.jsonl", as_jsonl().encode("utf-32"), ["UTF-32"]),
    "utf-16-without-a-mark": ("my.tsv", tsv().encode("utf-16-le"), ["line 1", "NUL byte", "UTF-16"]),
    "nul": ("my.tsv", tsv().replace("hi", "h\0i"), ["line 2", "NUL byte"]),
    "empty-after-unpacking": ("my.tsv.gz", gzip.compress(b""), ["is empty"]),
    "gz-in-name-only": ("my.tsv.gz", b"not gzip", ["not compressed with gzip"]),
    "gz-cut-short": ("my.tsv.gz", gzip.compress(tsv().encode() * 99)[:60], ["damaged gzip"]),
    "parquet-called-tsv": ("my.tsv", b"PAR1\x15\x04PAR1", ["a Parquet file", ".parquet"]),
    "empty-parquet": ("my.parquet", b"", ["not a readable Parquet file"]),
    "tsv-called-parquet": ("my.parquet", tsv(), ["not a readable Parquet file"]),
    "parquet-damaged": ("my.parquet", b"PAR1 not really", ["not a readable Parquet"]),
}


@pytest.mark.parametrize(("name", "content", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named_with_file_row_and_value(read, name, content, words):
    with pytest.raises(DataError) as error:
        read(content, name=name, language_pairs=["de-en"])
    assert all(word in str(error.value) for word in [name, *words]), error.value


def test_a_line_feed_inside_a_quoted_field(read):
    found = read('source,hypothesis,score\n"a\nb",c,1\n', name="my.csv", language_pairs=["de-en"])
    assert found.segments[0].source == "a\nb"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"language_pairs": ["de-en", "cs-en"]}, "no language_pair column", id="two-pairs-told"),
        pytest.param({"path": None}, r"dataset\.tabular\.path is not set", id="no-path"),
        pytest.param({"path": "my.xlsx"}, "must end in", id="another-format"),
        pytest.param({"columns": {"scores": "a"}}, "unknown role 'scores'. Did you mean 'score'", id="unknown-role"),
        pytest.param({"columns": {"score": 3}}, "columns", id="column-not-a-name"),
    ],
)
def test_settings_that_cannot_be(write, reader, tmp_path, monkeypatch, settings, reason):
    monkeypatch.chdir(tmp_path)
    for name in ("my.tsv", "my.xlsx"):
        write(name, "source\thypothesis\tscore\na\tb\t1\n")
    with pytest.raises(ConfigError, match=reason):
        reader("tabular", **{"path": "my.tsv", **settings}).pairs(tmp_path)


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_the_separator_is_the_one_that_the_header_has_most_of(read, sign):
    text = sign.join(["source", "hypothesis", "score, of ours\na,b", "c", "1\n"])
    found = read(text, name="my.csv", language_pairs=["de-en"], columns={"score": "score, of ours"})
    assert (found.segments[0].source, found.human_scores.tolist()) == ("a,b", [1.0])


def test_a_folder_is_no_file(reader, tmp_path):
    (tmp_path / "my.tsv").mkdir()
    with pytest.raises(DataError, match=r"my\.tsv: is a folder; name a file"):
        reader("tabular", path=str(tmp_path / "my.tsv")).pairs(tmp_path)


@pytest.mark.parametrize("path", ["my.tsv", "a\0b.tsv", "x" * 5000 + ".tsv"], ids=["not-there", "nul", "too-long"])
def test_a_path_that_names_no_file(reader, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataMissingError, match=rf"no file {path[:1]}.*{tmp_path}"):
        reader("tabular", path=path).pairs(tmp_path)


@pytest.fixture
def limited(monkeypatch):
    monkeypatch.setattr("bmx_grid.datasets.tables.MAX_BYTES", 1_000_000)


@pytest.mark.parametrize("name", ["my.tsv", "my.tsv.gz"])
def test_a_bomb_is_refused_in_little_memory_with_the_way_out(limited, write, reader, tmp_path, name):
    bomb = write(name, gzip.compress(b"source\thypothesis\tscore\n" + b"a" * 100_000_000, compresslevel=1))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"unpack to more than 1,000,000; split it, or leave out columns"):
        reader("tabular", path=str(bomb)).pairs(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_a_large_table_is_refused(limited, write, reader, tmp_path):
    with pytest.raises(DataError, match=r"has 1,000,001 bytes, more than 1,000,000; split it"):
        reader("tabular", path=str(write("my.tsv", "a" * 1_000_001))).pairs(tmp_path)


def test_a_parquet_bomb_is_refused(limited, reader, tmp_path):
    text = pa.array(["a" * 100_000]).take(pa.array([0] * 1000))
    parquet.write_table(pa.table({"source": text, "hypothesis": text, "score": [1.0] * 1000}), tmp_path / "my.parquet")
    assert (tmp_path / "my.parquet").stat().st_size < 1_000_000
    made = reader("tabular", path=str(tmp_path / "my.parquet"), language_pairs=["de-en"])
    with pytest.raises(DataError, match="unpacks to more than 1,000,000 bytes"):
        made.pairs(tmp_path)


def test_several_systems_per_id(read):
    content = "id\tsystem\tdocument\tsource\thypothesis\tscore\n1\tA\td\ts\th\t1\n1\tB\t\ts\th\t2\n1\t\t\ts\th\t3\n"
    found = read(content, language_pairs=["de-en"])
    assert [(s.name, s.document) for s in found.segments] == [("1:A", "d"), ("1:B", None), ("1", None)]
    assert len(found.head(1)) == 3
    with pytest.raises(DataError, match="segments 2 and 4 are both '1:B'"):
        read(content + "1\tB\t\ts\th\t4\n", language_pairs=["de-en"])


HEADERS = {
    "src\tmt\tDA\tlp": [
        "no column for hypothesis, score, source or reference among src, mt, DA, lp.",
        *(f"dataset.tabular.columns.{way}" for way in ("source=src", "hypothesis=mt", "score=DA", "language_pair=lp")),
    ],
    "source\thyp\tKaffee": ["dataset.tabular.columns.hypothesis=hyp", "dataset.tabular.columns.score=NAME"],
    "Source\tHypothesis\tScore ": ["columns.source=Source", "dataset.tabular.columns.score=Score"],
    "ref\tmt\tmqm": ["columns.reference=ref", "columns.hypothesis=mt", "columns.score=mqm"],
}


@pytest.mark.parametrize(("header", "words"), HEADERS.items(), ids=["usual", "one-unknown", "other-case", "reference"])
def test_all_missing_roles_in_one_message(read, header, words):
    with pytest.raises(DataError) as error:
        read(f"{header}\n" + "x\t" * header.count("\t") + "1\n", language_pairs=["de-en"])
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize("name", ["it's", 'a"b', "a b", "a\\b", "ü", "=x", "[1]"])
def test_a_proposed_setting_can_be_typed_as_it_stands(name):
    (word,) = shlex.split(setting("dataset.tabular", "score", name))
    (override,) = OverridesParser.create().parse_overrides([word])
    assert override.value() == name


def test_a_language_pair_that_cannot_name_files_is_refused_with_its_row(read):
    with pytest.raises(DataError, match=r"my\.tsv, line 3: the language pair 'a/\.\.' cannot be part of file names"):
        read(HEAD + "de-en\ta\tb\t1\na/..\ta\tb\t1\n")


def parquet_with(path, **columns):
    whole = {"source": pa.array(["a", "b"]), "hypothesis": pa.array(["c", "d"]), "score": pa.array([1.0, None])}
    parquet.write_table(pa.table({**whole, **columns}), path)


def invalid_utf8():
    return pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")]
    )


def bad_columns():
    return {
        "time-zone": pa.array([0, 1], pa.timestamp("us", tz="Nowhere/Nothing")),
        "not-utf8": invalid_utf8(),
        "nested": pa.array([[{"a": 1}], None]),
        "binary": pa.array([b"\xff", b"a"]),
    }


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("time-zone", "'hypothesis' holds timestamp"),
        ("not-utf8", "'hypothesis' cannot be read"),
        ("nested", "'hypothesis' holds list"),
        ("binary", "'hypothesis' holds binary"),
    ],
)
def test_a_parquet_column_that_cannot_be_decoded_matters_where_it_is_needed(reader, tmp_path, kind, said):
    made = reader("tabular", path=str(tmp_path / "my.parquet"), language_pairs=["de-en"])
    parquet_with(tmp_path / "my.parquet", other=bad_columns()[kind])
    found = made.read(tmp_path, "de-en")
    assert [(s.source, s.hypothesis) for s in found.segments] == [("a", "c"), ("b", "d")]
    parquet_with(tmp_path / "my.parquet", hypothesis=bad_columns()[kind])
    with pytest.raises(DataError, match=rf"my\.parquet.*{said}"):
        made.read(tmp_path, "de-en")


def test_parquet_categories_decimals_and_whole_numbers(reader, tmp_path):
    path = tmp_path / "my.parquet"
    decimals = pa.array(["1.5", None]).cast(pa.decimal128(3, 1))
    parquet_with(path, system=pa.array(["X", "X"]).dictionary_encode(), id=pa.array([7, 8]), score=decimals)
    found = reader("tabular", path=str(path), language_pairs=["de-en"]).read(tmp_path, "de-en")
    assert [s.name for s in found.segments] == ["7:X", "8:X"]
    assert found.human_scores[0] == 1.5 and math.isnan(found.human_scores[1])


def test_a_changed_file_is_read_again(write, reader, tmp_path):
    made = reader("tabular", path=str(write("my.tsv", HEAD + "de-en\ta\tb\t1\ncs-en\ta\tb\t1\n")))
    assert made.pairs(tmp_path) == ("de-en", "cs-en")
    write("my.tsv", HEAD + "fr-en\ta\tb\t1\n")
    assert made.pairs(tmp_path) == ("fr-en",)


def test_a_column_that_has_a_role_is_not_proposed_for_another(read):
    with pytest.raises(DataError, match=r"no column for hypothesis among .* Name them: .*\.hypothesis=NAME") as error:
        read("source\tmt\ta\n1\t2\t3\n", columns={"score": "mt"}, language_pairs=["de-en"])
    assert "hypothesis=mt" not in str(error.value)


WMT = "id\tsystem\tdocument\tsource\tref_a\tref_b\thypothesis\tda\tmqm\n"
WMT_ROWS = "1\tA\td\ts\tra\trb\th\t.5\t-1\n1\tB\td\ts\tra\t\th\t\t-2\n"


def test_a_wmt_style_table_with_several_human_scores_and_references(read):
    columns = {"score": ["mqm", "da"], "reference": ["ref_a", "ref_b"]}
    found = read(WMT + WMT_ROWS, columns=columns, language_pairs=["de-en"])
    assert [one.name for one in found.segments] == ["1:A", "1:B"]
    assert [(one.reference, one.further_references) for one in found.segments] == [("ra", ("rb",)), ("ra", ())]
    assert (found.human_name, found.judgements.aspects) == ("mqm", ("mqm", "da"))
    np.testing.assert_array_equal(found.judgements.scores["da"], [0.5, np.nan])


COLUMNS = {
    "role-of-one-column": ({"system": ["a", "b"]}, "only score and reference may have several columns, not system"),
    "no-column": ({"score": []}, r"score is \[\]; name one or more"),
    "one-twice": ({"score": ["da", "da"]}, r"score is \[da, da\].* each once"),
    "not-there": ({"score": ["mqm", "daa"]}, "score: unknown column 'daa'. Did you mean 'da'"),
    "id-not-there": ({"id": "ids", "score": "da"}, "id: unknown column 'ids'. Did you mean 'id'"),
}


@pytest.mark.parametrize(("columns", "reason"), COLUMNS.values(), ids=COLUMNS)
def test_lists_of_columns_that_cannot_be(read, columns, reason):
    with pytest.raises(ConfigError, match=reason):
        read(WMT + WMT_ROWS, columns=columns, language_pairs=["de-en"])


@pytest.mark.parametrize(
    ("header", "pairs", "expected"),
    [
        pytest.param("source", [], ("none",), id="nothing names it"),
        pytest.param("source", ["de-en"], ("de-en",), id="told"),
        pytest.param("lp\tsource", [], "which column names it: .*columns.language_pair=lp", id="a column may name it"),
    ],
)
def test_a_file_without_a_language_pair(write, reader, tmp_path, header, pairs, expected):
    path = write("my.tsv", f"{header}\thypothesis\tscore\n" + "\t".join("ab"[: header.count("\t") + 1]) + "\tb\t1\n")
    table = reader("tabular", path=str(path), language_pairs=pairs)
    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=f"(?i){expected}"):
            table.pairs(tmp_path)
    else:
        assert table.pairs(tmp_path) == expected and len(table.read(tmp_path, *expected)) == 1
