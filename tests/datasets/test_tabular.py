"""The user's own table: every format gives the same segments, every mistake is named with file, row and value."""

import gzip
import json
import math

import pytest

from bmx_grid.errors import ConfigError, DataError, DataMissingError

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
    import pyarrow as pa
    from pyarrow import parquet

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


def test_columns_by_other_names(read):
    content = "src\tmt\tda\tsys\nA\tB\t1\tX\n"
    found = read(
        content,
        columns={"source": "src", "hypothesis": "mt", "score": "da", "system": "sys"},
        language_pairs=["de-en"],
    )
    (segment,) = found.segments
    assert (segment.id, segment.source, segment.reference, segment.system) == ("1", "A", None, "X")


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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(HEAD + "de-en\ta\tb\t1\nde-en\ta\tb\tabc\n", ["line 3", "'abc'", "'score'"], id="score-is-text"),
        pytest.param(HEAD + "de-en\ta\tb\t0,5\n", ["line 2", "'0,5'"], id="decimal-comma"),
        pytest.param(HEAD + "de-en\ta\tb\t1_000\n", ["line 2", "'1_000'"], id="underscore"),
        pytest.param(HEAD + "de-en\ta\tb\tinf\n", ["line 2", "'inf'"], id="infinite"),
        pytest.param(HEAD + "de-en\ta\tb\n", ["line 2", "3 fields", "header has 4"], id="row-too-short"),
        pytest.param(HEAD + "de-en\ta\tb\tc\t1\n", ["line 2", "5 fields"], id="row-too-long"),
        pytest.param(HEAD + "de-en\ta\tb\t1\n\nde-en\ta\tb\t1\n", ["line 3", "1 fields"], id="blank-line-inside"),
        pytest.param(HEAD, ["no rows"], id="header-only"),
        pytest.param("", ["empty"], id="empty-file"),
        pytest.param("a\tb\ta\n1\t2\t3\n", ["line 1", "'a' is there 2 times"], id="column-twice"),
        pytest.param("source\tscore\na\t1\n", ["'hypothesis'", "source"], id="no-hypothesis"),
        pytest.param("source\thypothesis\ta\na\tb\t1\n", ["'score'", "columns.score="], id="no-score"),
        pytest.param("hypothesis\tscore\na\t1\n", ["neither a source nor a reference"], id="no-ground-truth"),
        pytest.param(
            "id\tsource\thypothesis\tscore\nx\ta\tb\t1\ny\ta\tb\t1\nx\ta\tb\t1\n",
            ["line 4", "'x'", "line 2"],
            id="id-twice",
        ),
        pytest.param(b"source\thypothesis\tscore\nM\xfcller\tb\t1\n", ["line 2", "0xfc"], id="not-utf8"),
    ],
)
def test_mistakes_in_a_tsv(read, content, words):
    with pytest.raises(DataError) as error:
        read(content, language_pairs=["de-en"])
    assert all(word in str(error.value) for word in ["my.tsv", *words]), error.value


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("my.csv", 'source,hypothesis,score\n"a,b,1\n', ["line 2"], id="csv-open-quote"),
        pytest.param("my.csv", "source,hypothesis,score\na,b,c,1\n", ["line 2", "4 fields"], id="csv-bare-comma"),
        pytest.param("my.jsonl", '{"source": "a"\n', ["line 1", "not JSON"], id="jsonl-broken"),
        pytest.param("my.jsonl", '{"a": 1}\n[1]\n', ["line 2", "[1]"], id="jsonl-no-object"),
        pytest.param("my.jsonl", '{"a": 1}\n{"b": 1}\n', ["line 2", "'a'"], id="jsonl-other-fields"),
        pytest.param(
            "my.jsonl",
            '{"source": null, "hypothesis": "b", "score": 1}\n',
            ["line 1", "'source'", "None"],
            id="null-text",
        ),
        pytest.param(
            "my.jsonl", '{"source": "a", "hypothesis": "b", "score": true}\n', ["line 1", "True"], id="truth-for-score"
        ),
        pytest.param(
            "my.jsonl", '{"source": "a", "hypothesis": "b", "score": [1]}\n', ["line 1", "[1]"], id="list-for-score"
        ),
        pytest.param("my.parquet", b"PAR1 not really", ["not a readable Parquet"], id="parquet-damaged"),
        pytest.param("my.tsv.gz", b"not gzip", ["damaged gzip"], id="gz-damaged"),
        pytest.param("my.tsv.gz", gzip.compress(tsv().encode() * 99)[:60], ["damaged gzip"], id="gz-cut-short"),
    ],
)
def test_mistakes_in_other_formats(read, name, content, words):
    with pytest.raises(DataError) as error:
        read(content, name=name, language_pairs=["de-en"])
    assert all(word in str(error.value) for word in [name, *words]), error.value


def test_a_line_feed_inside_a_quoted_field(read):
    found = read('source,hypothesis,score\n"a\nb",c,1\n', name="my.csv", language_pairs=["de-en"])
    assert found.segments[0].source == "a\nb"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({}, "no language_pair column", id="pair-not-told"),
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


def test_a_named_column_must_be_there(read):
    with pytest.raises(DataError, match=r"unknown column 'refernce'\. Did you mean 'reference'"):
        read(tsv(), columns={"reference": "refernce"})


def test_no_such_file(reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataMissingError) as error:
        reader("tabular", path="my.tsv").pairs(tmp_path)
    assert "my.tsv" in str(error.value)
    assert str(tmp_path) in str(error.value)
