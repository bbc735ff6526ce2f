"""The readers' logic on small made-up files of the published layouts, for machines without the data."""

import io
import tarfile

import numpy as np
import pytest

from bmx_grid.core.errors import BmxError, ConfigError, DataError

WMT17 = "ACL20-Reference-Free-MT-Evaluation/WMT17"
MLQE = "mlqe-pe/data/direct-assessments/test/en-de-test.tar.gz"
EVAL4NLP = "SharedTask2021/data/test21/ro-en-test21.tar.gz"
WMT22 = "wmt-qe-2022-data/test_data-gold_labels/task1_da"


@pytest.fixture
def wmt17(write):
    def put(scores):
        write(f"{WMT17}/DA-seglevel.csv", "LP DATA SYSTEM SID HUMAN\n" + scores)
        write(f"{WMT17}/source/newstest2017-csen-src.cs", '"Ahoj\nDruhá\u2028věta\n')
        write(f"{WMT17}/references/newstest2017-csen-ref.en", "&quot; hello  \nsecond sentence\n")
        write(f"{WMT17}/system-outputs/cs-en/newstest2017.online-A.0.cs-en", "\ufeffhello\nline two \n")
        write(f"{WMT17}/system-outputs/cs-en/newstest2017.tilde-c.5051.cs-en", "hi\nother &amp; line\n")

    return put


ROWS = """en-ru newstest2017 online-A.0 1 9.9
cs-en newstest2017 tilde-c.5051 2 0.5
en-zh newstest2017 online-A.0 2 9.9
cs-en newstest2017 online-A.0+nobody-has.this_file 1 -1.25
cs-en newstest2017 online-A.0 2 0
"""


def test_wmt17_joins_by_line_and_first_system(wmt17, reader, tmp_path):
    wmt17(ROWS)
    found = reader("wmt17", unescape=False).read(tmp_path, "cs-en")
    assert [(s.name, s.source, s.reference, s.hypothesis) for s in found.segments] == [
        ("2:tilde-c.5051", "Druhá\u2028věta", "second sentence", "other &amp; line"),
        ("1:online-A.0+nobody-has.this_file", '"Ahoj', "&quot; hello", "hello"),
        ("2:online-A.0", "Druhá\u2028věta", "second sentence", "line two"),
    ]
    assert found.human_scores.tolist() == [0.5, -1.25, 0.0]
    assert [(s.id, s.system) for s in found.segments][:2] == [
        ("2", "tilde-c.5051"),
        ("1", "online-A.0+nobody-has.this_file"),
    ]
    unescaped = reader("wmt17").read(tmp_path, "cs-en").segments
    assert (unescaped[0].hypothesis, unescaped[1].reference) == ("other & line", '" hello')


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("cs-en newstest2017 online-A.0 3 0.1\n", ["DA-seglevel.csv", "(3)"], id="line-beyond-the-end"),
        pytest.param("cs-en newstest2017 online-A.0 x 0.1\n", ["DA-seglevel.csv", "'x'"], id="line-is-text"),
        pytest.param("cs-en newstest2017 online-A.0 1 good\n", ["DA-seglevel.csv", "'good'"], id="score-is-text"),
        pytest.param("cs-en newstest2017 online-A.0 1 nan\n", ["'nan' is not a finite number"], id="score-is-nan"),
        pytest.param("cs-en newstest2017 online-A.0 1\n", ["line 2", "4 fields, expected 5"], id="field-missing"),
        pytest.param("de-en newstest2017 online-A.0 1 0\n", ["no row for cs-en"], id="pair-missing"),
        pytest.param("cs-en newstest2017 online-X 1 0\n", ["newstest2017.online-X.cs-en"], id="output-missing"),
        pytest.param(
            "cs-en newstest2017 online-A.0 1 0\n" * 2, ["segments 1 and 2 are both '1:online-A.0'"], id="row-twice"
        ),
    ],
)
def test_wmt17_says_what_is_wrong(wmt17, reader, tmp_path, rows, words):
    wmt17(rows)
    with pytest.raises(DataError) as error:
        reader("wmt17").read(tmp_path, "cs-en")
    assert all(word in str(error.value) for word in words), error.value


def test_a_file_that_is_not_as_published_is_named(wmt17, write, reader, tmp_path):
    wmt17(ROWS)
    write(f"{WMT17}/references/newstest2017-csen-ref.en", "only one\n")
    with pytest.raises(DataError, match=r"csen-ref.en.* cannot be read as published .* data download wmt17 data_dir="):
        reader("wmt17").read(tmp_path, "cs-en")


MLQE_HEADER = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores\n"


def test_mlqe_does_not_interpret_quotes(write, pack, reader, tmp_path):
    rows = '7\t"Open\tclose"\t[50]\t50\t[0.5]\t0.5\t-9.0\n9\ta  b\tc\ufeffd\t[1, 2]\t1.5\t[-1, 0]\t-0.5\t-8.0\n'
    files = {"en-de/test20.ende.df.short.tsv": MLQE_HEADER + rows, "en-de/word-probas/mt.test20.ende": "x\n"}
    write(MLQE, pack(files))
    found = reader("mlqe_pe").read(tmp_path, "en-de")
    assert [(s.id, s.source, s.reference, s.hypothesis) for s in found.segments] == [
        ("7", '"Open', None, 'close"'),
        ("9", "a  b", None, "c\ufeffd"),
    ]
    assert found.judgements.aspects == ("z_mean", "mean")
    assert found.human_scores.tolist() == [0.5, -0.5]
    assert found.judgements.scores["mean"].tolist() == [50, 1.5]
    np.testing.assert_array_equal(found.judgements.raters["z_mean"], [[0.5, np.nan], [-1, 0]])
    np.testing.assert_array_equal(found.judgements.raters["mean"], [[50, np.nan], [1, 2]])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(MLQE_HEADER + "0\ta\tb\t[1]\t1\t[1]\tbad\t1\n", ["'bad'"], id="score-is-text"),
        pytest.param(MLQE_HEADER + "0\ta\tb\t[1]\t1\t[1, x]\t1\t1\n", ["' x'"], id="rater-is-text"),
        pytest.param(MLQE_HEADER + "0\ta\tb\t[1]\t1\t[1]\t1\n", ["line 2", "7 fields, expected 8"], id="ragged"),
        pytest.param("a\tb\n", ["cannot be read as published"], id="other-columns"),
        pytest.param("", ["cannot be read as published"], id="empty"),
    ],
)
def test_mlqe_says_what_is_wrong(write, pack, reader, tmp_path, content, words):
    write(MLQE, pack({"en-de/test20.ende.df.short.tsv": content}))
    with pytest.raises(DataError) as error:
        reader("mlqe_pe").read(tmp_path, "en-de")
    assert all(word in str(error.value) for word in [MLQE, *words]), error.value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(lambda pack: pack({"en-de/test20.doc_ids": "x"}), r"holds no test20\.ende", id="other-partition"),
        pytest.param(lambda pack: b"not an archive", "damaged archive", id="not-an-archive"),
        pytest.param(lambda pack: pack({"x": "y" * 99999})[:90], "damaged archive", id="cut-short"),
    ],
)
def test_archive_that_cannot_be_used(write, pack, reader, tmp_path, content, reason):
    write(MLQE, content(pack))
    with pytest.raises(DataError, match=reason):
        reader("mlqe_pe").read(tmp_path, "en-de")


def test_archives_end_at_limits(write, pack, reader, tmp_path, monkeypatch):
    write(MLQE, pack({"en-de/other": bytes(3_000_000), "en-de/test20.ende.df.short.tsv": "x" * 2_000_000}))
    monkeypatch.setattr("bmx_grid.datasets.lines.MEMBER_BYTES", 1_000_000)
    with pytest.raises(DataError, match=r"'en-de/test20\.ende.*' has 2,000,000 bytes, more than 1,000,000"):
        reader("mlqe_pe").read(tmp_path, "en-de")
    monkeypatch.setattr("bmx_grid.datasets.lines.ARCHIVE_BYTES", 2_500_000)
    with pytest.raises(DataError, match="the archive unpacks to more than 2,500,000 bytes"):
        reader("mlqe_pe").read(tmp_path, "en-de")


def test_eval4nlp_reads_aligned_lines(write, pack, reader, tmp_path):
    names = {"src": "s 1\ns 2\ns 3\n", "mt": "m 1\nm 2\nm 3\n", "da": "10\n20.5\n30\n"}
    fork = {f"ro-en-test21/._test21.{name}": "\x00\x05\x16\x07" for name in names}
    write(EVAL4NLP, pack({**fork, **{f"ro-en-test21/test21.{name}": text for name, text in names.items()}}))
    found = reader("eval4nlp21", first=2).read(tmp_path, "ro-en")
    assert [(s.id, s.source, s.hypothesis) for s in found.segments] == [("0", "s 1", "m 1"), ("1", "s 2", "m 2")]
    assert found.human_scores.tolist() == [10.0, 20.5]
    assert len(reader("eval4nlp21").read(tmp_path, "ro-en")) == 3


@pytest.mark.parametrize(("pair", "stem"), [("en-cs", "test.2022"), ("km-en", "test2022"), ("ps-en", "test2022")])
def test_wmt22_knows_the_uneven_names(write, reader, tmp_path, pair, stem):
    write(f"{WMT22}/{pair}/test.2022.src", " source \n")
    write(f"{WMT22}/{pair}/test.2022.mt", "hypothesis\n")
    write(f"{WMT22}/{pair}/{stem}.{pair}.da_score", "-0.5\n")
    found = reader("wmt22_qe").read(tmp_path, pair)
    assert (found.segments[0].source, found.human_scores.tolist()) == (" source ", [-0.5])


@pytest.mark.parametrize("name", ["wmt17", "eval4nlp21", "mlqe_pe", "wmt22_qe", "mqm21"])
def test_a_pair_that_the_data_set_lacks(reader, tmp_path, name):
    with pytest.raises(ConfigError, match=f"dataset.{name}: unknown language pair 'en-xx'"):
        reader(name).read(tmp_path, "en-xx")
    with pytest.raises(ConfigError, match=f"dataset.{name}: unknown language pair 'en-xx'"):
        reader(name, language_pairs=["en-xx"])


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        pytest.param("wmt17", {"language_pairs": ["cs-en", "cs-en"]}, "'cs-en' 2 times", id="pair-twice"),
        pytest.param("wmt17", {"language_pairs": "cs-en"}, "language_pairs", id="pairs-not-a-list"),
        pytest.param("wmt17", {"unescape": "yes"}, "unescape", id="text-for-true"),
        pytest.param("wmt17", {"sources": [{"repository": "a/b"}]}, "revision", id="source-without-revision"),
        pytest.param("eval4nlp21", {"first": 0}, r"first: expected a number at least 1", id="first-counts-from-one"),
    ],
)
def test_settings_that_cannot_be(reader, name, settings, reason):
    with pytest.raises(ConfigError, match=reason):
        reader(name, **settings)


def test_a_link_in_an_archive_is_no_file(write, reader, tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        link = tarfile.TarInfo("en-de/test20.ende.df.short.tsv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    write(MLQE, buffer.getvalue())
    with pytest.raises(BmxError, match="holds no"):
        reader("mlqe_pe").read(tmp_path, "en-de")
