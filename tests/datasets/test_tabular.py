"""The user's own table: every format gives the same segments, every mistake is named with file, row and value."""

import gzip
import io
import json
import math
import os
import subprocess

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from pyarrow import parquet

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.wording import override
from bmx_grid.datasets import tabular

RECORDS = [
    {"id": "a", "language_pair": "de-en", "source": '"Hallo', "reference": "hello", "hypothesis": "hi", "score": "0.5"},
    {"id": "b", "language_pair": "cs-en", "source": "Ahoj", "reference": "hi", "hypothesis": 'ah "x', "score": "-1"},
    {"id": "a", "language_pair": "cs-en", "source": "A\u2028B", "reference": "", "hypothesis": "a b", "score": ""},
    {"id": "c", "language_pair": "de-en", "source": "Welt", "reference": "world", "hypothesis": "w", "score": "0"},
]
TYPED = [record | {"score": score} for record, score in zip(RECORDS, [0.5, -1, None, 0], strict=True)]


def tsv(end="\n", separator="\t", written=str):
    rows = [RECORDS[0], *(record.values() for record in RECORDS)]
    return "".join(separator.join(map(written, row)) + end for row in rows)


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@pytest.fixture
def read(write, reader):
    """read(content, pair): the segments of a TSV with this content (or of another file name)."""

    def run(content, pair="de-en", name="my.tsv", **settings):
        path = write(name, content)
        return reader("tabular", path=str(path), **settings).load_segments(path.parent, pair)

    return run


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("my.tsv", tsv(), id="tsv"),
        pytest.param("my.tsv", tsv(end="\r\n"), id="tsv-crlf"),
        pytest.param("my.tsv", "\ufeff" + tsv() + "\n\n", id="tsv-byte-order-mark-and-blank-end"),
        pytest.param("my.TSV.gz", gzip.compress(tsv().encode()), id="tsv-gz"),
        pytest.param("my.tsv", gzip.compress(tsv().encode()), id="gzip-is-recognised-by-its-content"),
        pytest.param("my.csv", tsv(separator=",", written=quoted), id="csv"),
        pytest.param("my.csv", tsv(end="\r\n", separator=",", written=quoted), id="csv-crlf"),
        pytest.param("my.jsonl", "".join(f"{json.dumps(record)}\n" for record in TYPED), id="jsonl"),
        pytest.param("my.jsonl", "".join(f"{json.dumps(record)}\r\n" for record in TYPED), id="jsonl-crlf"),
        pytest.param("my.parquet", None, id="parquet"),
    ],
)
def test_every_format_gives_the_same_segments(write, reader, tmp_path, name, content):
    if content is None:
        parquet.write_table(pa.Table.from_pylist(TYPED), tmp_path / name)
    else:
        write(name, content)
    table = reader("tabular", path=str(tmp_path / name))
    assert table.pairs(tmp_path) == ("de-en", "cs-en")
    german, czech = (table.load_segments(tmp_path, pair) for pair in table.pairs(tmp_path))
    assert [(s.id, s.source, s.reference, s.hypothesis) for s in german.segments] == [
        ("a", '"Hallo', "hello", "hi"),
        ("c", "Welt", "world", "w"),
    ]
    assert [(s.id, s.source, s.hypothesis) for s in czech.segments] == [
        ("b", "Ahoj", 'ah "x'),
        ("a", "A\u2028B", "a b"),
    ]
    assert german.human_scores.tolist() == [0.5, 0.0]
    np.testing.assert_array_equal(czech.human_scores, [-1.0, math.nan])
    assert czech.empty_texts() == ["a"]


def test_invisible_signs_around_column_names_do_not_count(read):
    segments = read("\ufeffsource\xa0\thypothesis\u200b\t score\na\tb\t1\n", language_pairs=["de-en"])
    assert (segments.judgements.primary, segments.human_scores.tolist()) == ("score", [1.0])


def test_chosen_language_pairs_are_read_and_unknown_ones_refused(write, reader, tmp_path):
    path = write("my.tsv", tsv())
    table = reader("tabular", path=str(path), language_pairs=["cs-en"])
    assert table.pairs(tmp_path) == ("cs-en",)
    with pytest.raises(ConfigError, match="unknown language pair 'de-en'"):
        table.load_segments(tmp_path, "de-en")
    with pytest.raises(ConfigError, match=r"unknown language pair 'de-fr'\. Did you mean 'de-en'"):
        reader("tabular", path=str(path), language_pairs=["de-fr"]).pairs(tmp_path)


def test_words_for_no_score_leave_a_segment_unrated(read):
    rows = [f"a\tb\t{text}\n" for text in ("", " ", "NA", "n/a", "NaN", "None", "null", "0")]
    segments = read("source\thypothesis\tscore\n" + "".join(rows), language_pairs=["de-en"])
    assert (len(segments), segments.n_rated) == (8, 1)


TSV = "source\thypothesis\tscore\n"
CSV = "source,hypothesis,score\n"
HEAD = "language_pair\tsource\thypothesis\tscore\n"


def record(**changed):
    return json.dumps({"source": "a", "hypothesis": "b", "score": 1, **changed}) + "\n"


# file name, content, what the message must name
MISTAKES = {
    "score-is-text": ("my.tsv", HEAD + "de-en\ta\tb\tgood\n", ["line 2", "'score'", "'good'"]),
    "underscore": ("my.tsv", HEAD + "de-en\ta\tb\t1_000\n", ["line 2", "'1_000'"]),
    "truth-for-score": ("my.jsonl", record(score=True), ["line 1", "True"]),
    "decimal-comma": ("my.tsv", HEAD + "de-en\ta\tb\t,5\n", ["line 2", "',5'", "add dataset.tabular.decimal=, to"]),
    "thousands": ("my.tsv", HEAD + "de-en\ta\tb\t1,000.5\n", ["line 2", "'1,000.5'; write a number like -0.25"]),
    "infinity": ("my.tsv", HEAD + "de-en\ta\tb\t1\nde-en\ta\tb\tinf\n", ["line 3", "'inf'"]),
    "beyond-1e150": ("my.tsv", HEAD + "de-en\ta\tb\t2e150\n", ["line 2", "beyond ±1e+150", "'2e150'"]),
    "row-cut-short": ("my.tsv", HEAD + "de-en\ta\tb\t1\n\nde-en\ta\tb\n", ["line 4", "expected 4 fields, got 3"]),
    "needed-column-twice": ("my.tsv", TSV[:-1] + "\tscore\na\tb\t1\t2\n", ["'score' occurs 2 times"]),
    "no-ground-truth": ("my.tsv", "hypothesis\tscore\na\t1\n", ["no column for source or reference"]),
    "no-score-in-a-list": ("my.tsv", TSV[:-1] + "\tmqm\na\tb\t1\t\n", ["'mqm' holds no score", "remove it"]),
    "id-twice": ("my.tsv", f"id\t{TSV}" + "x\ta\tb\t1\n" * 2, ["segments 1 and 2 are both 'x'; every segment needs"]),
    "pair-that-names-no-file": ("my.tsv", HEAD + "a/..\ta\tb\t1\n", ["line 2", "'a/..' cannot be part"]),
    "not-utf8": ("my.tsv", TSV.encode() + b"M\xfcller\tb\t1\n", ["line 2", "0xfc", "dataset.tabular.encoding=cp1252"]),
    "not-utf8-behind-a-mark": ("my.tsv", b"\xef\xbb\xbf" + TSV.encode() + b"M\xfcller\tb\t1\n", ["line 2", "0xfc"]),
    "csv-open-quote": ("my.csv", CSV + '"a,b,1\n', ["line 2"]),
    "jsonl-broken": ("my.jsonl", '{"source": "a"\n', ["line 1", "not a JSON object"]),
    "jsonl-field-missing": ("my.jsonl", record() + '{"source": "a", "score": 1}', ["line 2", "'hypothesis' is"]),
    "jsonl-field-twice": ("my.jsonl", '{"a": "a", "a": "b"}\n', ["line 1", "'a' occurs several times"]),
    "json-array": ("my.jsonl", f"[\n  {record()}]\n", ["line 1", "write one per line"]),
    "a-truth-value-as-id": ("my.jsonl", record(id=True), ["line 1", "'True' (bool)", "write a text"]),
    "half-a-character": ("my.jsonl", record(source="a\ud800"), ["line 1", "'source' holds half of a character"]),
    "tsv-called-jsonl": ("my.jsonl", tsv(), ["line 1", ".tsv or .csv"]),
    "tsv-old-mac": ("my.tsv", tsv(end="\r"), ["no rows", "ended by LF"]),
    "utf-16": ("my.tsv", tsv().encode("utf-16-le"), ["line 1", "another encoding", "tabular.encoding=utf-16-le"]),
    "utf-16-be": ("my.tsv", tsv().encode("utf-16-be"), ["line 1", "another encoding", "tabular.encoding=utf-16-be"]),
    "nul": ("my.tsv", tsv().replace("hi", "h\0i"), ["line 2", "0x00"]),
    "gz-cut-short": ("my.tsv.gz", gzip.compress(tsv().encode() * 99)[:60], ["damaged gzip"]),
    "parquet-damaged": ("my.parquet", b"PAR1 not really", ["not a readable Parquet"]),
}


@pytest.mark.parametrize(("name", "content", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named_with_file_row_and_value(read, name, content, words):
    columns = {"score": ["score", "mqm"]} if "\tmqm" in str(content) else {}
    with pytest.raises(DataError) as error:
        read(content, name=name, language_pairs=["de-en"], columns=columns)
    assert all(word in str(error.value) for word in [name, *words]), error.value


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"language_pairs": ["de-en", "cs-en"]}, "no column 'language_pair'", id="two-pairs-told"),
        pytest.param({"path": None}, r"dataset\.tabular\.path is not set", id="no-path"),
        pytest.param({"path": "my.txt"}, "must end in", id="another-format"),
        pytest.param({"path": "my.tmx"}, "export source and target from it as .tsv", id="translation-memory"),
        pytest.param({"path": "my.SDLXLIFF"}, "XLIFF has no human scores; export", id="xliff"),
        pytest.param({"path": "my.ods"}, "save the workbook as .xlsx", id="another-workbook"),
        pytest.param({"encoding": "cp12520"}, "tabular.encoding=cp12520: unknown encoding; write", id="encoding"),
        pytest.param({"encoding": "hex"}, "tabular.encoding=hex: unknown encoding; write", id="a-codec-of-no-text"),
        pytest.param({"skip_rows": 9}, "the file is empty", id="all-rows-skipped"),
        pytest.param({"skip_rows": -1}, "skip_rows: expected a number at least 0, got -1", id="negative-skip-rows"),
        pytest.param({"path": "not.tsv"}, r"file not found: not\.tsv \(in ", id="no-file"),
        pytest.param({"path": "a\0b.tsv"}, "file not found: a", id="nul-in-the-name"),
        pytest.param({"path": "x" * 5000 + ".tsv"}, "file not found: xxx", id="a-name-too-long"),
        pytest.param({"path": "folder.tsv"}, r"folder\.tsv: is a folder; name a file", id="folder"),
        pytest.param({"columns": {"scores": "a"}}, "unknown role 'scores'. Did you mean 'score'", id="unknown-role"),
        pytest.param({"columns": {"source": ["a", "b"]}}, r"source is \[a, b\]; name one column", id="two-sources"),
        pytest.param({"columns": {"score": []}}, r"score is \[\]; name one or more", id="no-column"),
        pytest.param({"columns": {"score": ["da", "da"]}}, r"score is \[da, da\].* without repeats", id="one-twice"),
        pytest.param({"columns": {"score": "scor"}}, "score: unknown column 'scor'. Did you mean 'score'", id="typo"),
    ],
)
def test_settings_that_cannot_be_are_refused(write, reader, tmp_path, monkeypatch, settings, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.tsv").mkdir()
    for name in ("my.tsv", "my.txt", "my.tmx", "my.SDLXLIFF", "my.ods"):
        write(name, "source\thypothesis\tscore\na\tb\t1\n")
    with pytest.raises((ConfigError, DataError), match=reason):
        reader("tabular", **{"path": "my.tsv", **settings}).pairs(tmp_path)


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_the_separator_is_the_one_that_the_header_has_most_of(read, sign):
    text = sign.join(["source", "hypothesis", 'score, of ours\n"a,\nb"', "c", "1\n"])
    segments = read(text, name="my.csv", language_pairs=["de-en"], columns={"score": "score, of ours"})
    assert (segments.segments[0].source, segments.human_scores.tolist()) == ("a,\nb", [1.0])


def test_numbers_that_are_no_texts_have_no_decimal_sign(read):
    content = record(score="1,5") + record(score=2.5) + record(score=3)
    segments = read(content, "none", name="my.jsonl", decimal=",")
    assert segments.human_scores.tolist() == [1.5, 2.5, 3.0]


@pytest.mark.parametrize("kind", ["plain", "gzip", "parquet"])
def test_what_is_too_large_or_unpacks_to_too_much_is_refused(write, reader, tmp_path, monkeypatch, kind):
    monkeypatch.setattr("bmx_grid.datasets.tables.LARGEST_TABLE", 100_000)
    path = tmp_path / ("my.parquet" if kind == "parquet" else "my.tsv")
    if kind == "parquet":
        text = pa.array(["a" * 10_000]).take(pa.array([0] * 1000))
        parquet.write_table(pa.table({"source": text, "hypothesis": text, "score": [1.0] * 1000}), path)
        assert path.stat().st_size < 100_000
    else:
        content = TSV.encode() + b"a" * 200_000
        path.write_bytes(content if kind == "plain" else gzip.compress(content))
    with pytest.raises(DataError, match=r"more than 100,000.*; split it, or leave out columns"):
        reader("tabular", path=str(path)).pairs(tmp_path)


HEADERS = {
    "Tee\tMilch\tKaffee": [
        "no column for hypothesis, score, source or reference among Tee, Milch, Kaffee.",
        *(f"dataset.tabular.columns.{role}=NAME" for role in ("hypothesis", "score", "source")),
    ],
    "source\thyp\tKaffee": ["no column for score among", "dataset.tabular.columns.score=NAME"],
}


@pytest.mark.parametrize(("header", "words"), HEADERS.items(), ids=["no-usual-name", "one-unknown"])
def test_all_missing_roles_in_one_message(read, header, words):
    with pytest.raises(DataError) as error:
        read(f"{header}\n" + "x\t" * header.count("\t") + "1\n", language_pairs=["de-en"])
    assert all(word in str(error.value) for word in words), error.value


NAMES = ["it's", 'a"b', "a b", "a\\b", "ü", "=x", "[1]", "null", "True", "NaN", "s\x01c", "a\\'\x7fü", "\u200b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_proposed_setting_can_be_typed_as_it_stands(name):
    typed = override("dataset.tabular.columns.score", name)
    assert typed.isprintable()
    word = subprocess.run(["bash", "-c", f"printf %s {typed}"], capture_output=True, check=True).stdout.decode()
    (parsed,) = OverridesParser.create().parse_overrides([word])
    assert parsed.value() == name


def parquet_with(path, **columns):
    needed = {"source": pa.array(["a", "b"]), "hypothesis": pa.array(["c", "d"]), "score": pa.array([1.0, None])}
    parquet.write_table(pa.table({**needed, **columns}), path)


def invalid_utf8():
    return pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")]
    )


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        pytest.param(pa.array([0, 1], pa.timestamp("us", tz="Nowhere/Nothing")), "cannot be read", id="time-zone"),
        pytest.param(pa.array([2**62, 1], pa.duration("s")), "cannot be read", id="beyond-a-date"),
        pytest.param(pa.array([2**58, 1], pa.timestamp("us")), "; save it as text or numbers", id="year-9999"),
        pytest.param(invalid_utf8(), "cannot be read", id="not-utf8"),
        pytest.param(pa.array([[{"a": 1}], None]), r"\(list\), not text", id="nested"),
        pytest.param(pa.array([b"\xff", b"a"]), r"\(bytes\), not text", id="binary"),
    ],
)
def test_a_parquet_column_that_cannot_be_decoded_matters_where_it_is_needed(reader, tmp_path, column, reason):
    table = reader("tabular", path=str(tmp_path / "my.parquet"), language_pairs=["de-en"])
    parquet_with(tmp_path / "my.parquet", other=column)
    assert [(s.source, s.hypothesis) for s in table.load_segments(tmp_path, "de-en").segments] == [
        ("a", "c"),
        ("b", "d"),
    ]
    parquet_with(tmp_path / "my.parquet", hypothesis=column)
    with pytest.raises(DataError, match=rf"my\.parquet.*'hypothesis' .*{reason}"):
        table.load_segments(tmp_path, "de-en")


def test_parquet_categories_decimals_and_whole_numbers(reader, tmp_path):
    path = tmp_path / "my.parquet"
    decimals = pa.array(["1.5", None]).cast(pa.decimal128(3, 1))
    parquet_with(path, system=pa.array(["X", "X"]).dictionary_encode(), id=pa.array([7, 8]), score=decimals)
    segments = reader("tabular", path=str(path), language_pairs=["de-en"]).load_segments(tmp_path, "de-en")
    assert [s.name for s in segments.segments] == ["7:X", "8:X"]
    assert segments.human_scores[0] == 1.5 and math.isnan(segments.human_scores[1])


def test_a_changed_file_is_read_again(write, reader, tmp_path):
    table = reader("tabular", path=str(write("my.tsv", HEAD + "de-en\ta\tb\t1\ncs-en\ta\tb\t1\n")))
    assert table.pairs(tmp_path) == ("de-en", "cs-en")
    write("my.tsv", HEAD + "fr-en\ta\tb\t1\n")
    assert table.pairs(tmp_path) == ("fr-en",)


@pytest.mark.parametrize("name", ["my.tsv", "my.csv", "my.jsonl", "my.parquet"])
def test_a_table_rewritten_in_place_is_read_again_whatever_size_and_time_say(reader, tmp_path, name):
    """It gave the old human scores: 5 for 7."""
    path = tmp_path / name
    table = reader("tabular", path=str(path))
    read = []
    state = None
    for score in (5, 7, 5):
        rows = pd.DataFrame({"source": ["a", "b"], "hypothesis": ["c", "d"], "score": [score, 1]})
        if name == "my.parquet":
            # Not compressed: each score takes as many bytes.
            content = io.BytesIO()
            rows.to_parquet(content, compression=None)
            text = content.getvalue()
        elif name == "my.jsonl":
            text = rows.to_json(orient="records", lines=True).encode()
        else:
            text = rows.to_csv(index=False, sep="\t" if name == "my.tsv" else ",").encode()
        with path.open("r+b" if path.exists() else "wb") as file:
            file.write(text)
        if state is not None:
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
            assert (path.stat().st_size, path.stat().st_ino) == (state.st_size, state.st_ino)
        state = path.stat()
        read.append(table.load_segments(tmp_path, "none").human_scores[0])
    assert read == [5, 7, 5]


def test_a_table_is_checked_once_for_all_language_pairs(write, reader, tmp_path, monkeypatch):
    checked, check = [], tabular.table_rows
    monkeypatch.setattr(tabular, "table_rows", lambda *arguments: checked.append(arguments) or check(*arguments))
    pairs = [f"{first}{second}-en" for first in "abcdefghij" for second in "klmno"]
    path = write("my.tsv", HEAD + "".join(f"{pair}\ta\tb {pair}\t1\n" for pair in pairs))
    table = reader("tabular", path=str(path))
    texts = {pair: table.load_segments(tmp_path, pair).texts("hypothesis") for pair in table.pairs(tmp_path)}
    assert texts == {pair: [f"b {pair}"] for pair in pairs}
    assert len(checked) == 1


def test_a_wmt_style_table_with_several_human_scores_and_references(read):
    columns = {"score": ["mqm", "da"], "reference": ["ref_a", "ref_b"]}
    rows = [
        "id system document source ref_a ref_b hypothesis da mqm",
        *("1 A d s ra rb h .5 -1", "1 B  s ra  h  -2", "1   s ra  h  -3"),
    ]
    segments = read("\n".join(rows).replace(" ", "\t"), columns=columns, language_pairs=["de-en"])
    assert [(segment.name, segment.document) for segment in segments.segments] == [
        ("1:A", "d"),
        ("1:B", None),
        ("1", None),
    ]
    assert [segment.reference for segment in segments.segments] == ["ra"] * 3
    assert [segment.further_references for segment in segments.segments] == [("rb",), (), ()]
    assert (segments.judgements.primary, segments.judgements.aspects) == ("mqm", ("mqm", "da"))
    np.testing.assert_array_equal(segments.judgements.scores["da"], [0.5, np.nan, np.nan])


@pytest.mark.parametrize(
    ("header", "pairs", "expected"),
    [
        pytest.param("source", [], ("none",), id="nothing names it"),
        pytest.param("source", ["de-en"], ("de-en",), id="told"),
        pytest.param("lp\tsource", [], ("a",), id="a column of a usual name"),
        pytest.param(
            "source", ["de-en", "cs-en"], "the column that names it: .*columns.language_pair=NAME", id="several"
        ),
    ],
)
def test_a_file_without_a_language_pair(write, reader, tmp_path, header, pairs, expected):
    path = write("my.tsv", f"{header}\thypothesis\tscore\n" + "\t".join("ab"[: header.count("\t") + 1]) + "\tb\t1\n")
    table = reader("tabular", path=str(path), language_pairs=pairs)
    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=f"(?i){expected}"):
            table.pairs(tmp_path)
    else:
        assert table.pairs(tmp_path) == expected and len(table.load_segments(tmp_path, *expected)) == 1
