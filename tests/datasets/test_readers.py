"""The readers' logic on small made-up files of the published layouts, for machines without the data."""

import tarfile

import numpy as np
import pytest

from bmx_grid.core.errors import ConfigError, DataError

WMT17 = "ACL20-Reference-Free-MT-Evaluation/WMT17"
MLQE = "mlqe-pe/data/direct-assessments/test/en-de-test.tar.gz"
EVAL4NLP = "SharedTask2021/data/test21/ro-en-test21.tar.gz"
POST_EDITED = "mlqe-pe/data/post-editing/test/en-de-test.tar.gz"
TEST21 = "mlqe-pe/data/test21_goldlabels/zero-shot/en-ja-test21.tar.gz"
GOLD = "wmt-qe-2022-data/test_data-gold_labels"
WMT22 = f"{GOLD}/task1_da"
WMT19 = "ACL20-Reference-Free-MT-Evaluation/WMT19"


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
    unescaped = reader("wmt17").read(tmp_path, "cs-en").segments
    assert (unescaped[0].hypothesis, unescaped[1].reference) == ("other & line", '" hello')


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("cs-en newstest2017 online-A.0 3 0.1\n", ["DA-seglevel.csv", "(3)"], id="line-beyond-the-end"),
        pytest.param("cs-en newstest2017 online-A.0 1 good\n", ["DA-seglevel.csv", "'good'"], id="score-is-text"),
        pytest.param("cs-en newstest2017 online-A.0 1 nan\n", ["'nan' is not a finite number"], id="score-is-nan"),
        pytest.param("cs-en newstest2017 online-A.0 1\n", ["line 2", "4 fields, expected 5"], id="field-missing"),
        pytest.param("de-en newstest2017 online-A.0 1 0\n", ["no row for cs-en"], id="pair-missing"),
        pytest.param("cs-en newstest2017 online-X 1 0\n", ["newstest2017.online-X.cs-en"], id="output-missing"),
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
        pytest.param(MLQE_HEADER + "0\ta\tb\t[1]\t1\t[1, x]\t1\t1\n", ["Expecting value"], id="rater-is-text"),
        pytest.param("", ["cannot be read as published"], id="empty"),
    ],
)
def test_mlqe_says_what_is_wrong(write, pack, reader, tmp_path, content, words):
    write(MLQE, pack({"en-de/test20.ende.df.short.tsv": content}))
    with pytest.raises(DataError) as error:
        reader("mlqe_pe").read(tmp_path, "en-de")
    assert all(word in str(error.value) for word in [MLQE, *words]), error.value


def linked(name):
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return link


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(lambda pack: pack({"en-de/test20.doc_ids": "x"}), r"holds no test20\.ende", id="other-partition"),
        pytest.param(lambda pack: b"not an archive", "damaged archive", id="not-an-archive"),
        pytest.param(lambda pack: pack({"x": "y" * 99999})[:90], "damaged archive", id="cut-short"),
        pytest.param(lambda pack: pack({}, (linked("en-de/test20.ende.df.short.tsv"),)), "holds no", id="a-link"),
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
        pytest.param("wmt17", {"sources": [{"repository": "a/b"}]}, "revision", id="source-without-revision"),
        pytest.param("eval4nlp21", {"first": 0}, r"first: expected a number at least 1", id="first-counts-from-one"),
    ],
)
def test_settings_that_cannot_be(reader, name, settings, reason):
    with pytest.raises(ConfigError, match=reason):
        reader(name, **settings)


def tagged(found, side="hypothesis"):
    tags = found.judgements.tags[side]
    return [
        " ".join(f"{word}/{'BAD' if bad else 'OK'}" for word, bad in zip(words, row, strict=True))
        for words, row in zip(tags.words, tags.labels.rows(), strict=True)
    ]


def eval4nlp(**changes):
    files = {"src": "a b\nc\n", "mt": "x y\nz\n", "da": "1\n2\n", "src-tags": "0 1\n0\n", "tgt-tags": "1 0\n1\n"}
    return {f"ro-en/test21.{name}": text for name, text in {**files, **changes}.items() if text is not None}


def test_eval4nlp_with_and_without_tags(write, pack, reader, tmp_path):
    fork = {f"ro-en/._test21.{name}": "\x00\x05\x16\x07" for name in ("src", "mt", "da")}
    write(EVAL4NLP, pack(fork | eval4nlp()))
    found = reader("eval4nlp21").read(tmp_path, "ro-en")
    assert [(s.id, s.source, s.hypothesis) for s in found.segments] == [("0", "a b", "x y"), ("1", "c", "z")]
    assert found.human_scores.tolist() == [1.0, 2.0]
    assert tagged(found) == ["x/BAD y/OK", "z/BAD"]
    assert tagged(found, "source") == ["a/OK b/BAD", "c/OK"]
    assert tagged(reader("eval4nlp21", first=1).read(tmp_path, "ro-en")) == ["x/BAD y/OK"]
    write(EVAL4NLP, pack(eval4nlp(**{"tgt-tags": None})))
    without = reader("eval4nlp21").read(tmp_path, "ro-en")
    assert not without.judgements.tags
    assert without.segments == found.segments and without.fingerprint() != found.fingerprint()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tgt-tags": "1 0 1\n1\n"}, "same numbers of words"),
        ({"src-tags": "0 1\nBAD\n"}, "cannot be read as published"),
        ({"tgt-tags": "1 0\n"}, "same numbers of words"),
    ],
    ids=["another number", "another label", "a line missing"],
)
def test_eval4nlp_tags_that_do_not_fit(write, pack, reader, tmp_path, changes, message):
    write(EVAL4NLP, pack(eval4nlp(**changes)))
    with pytest.raises(DataError, match=message):
        reader("eval4nlp21").read(tmp_path, "ro-en")


def post_edited(**changes):
    files = {
        "src": "a  b\nc\n",
        "source_tags": "OK BAD\nOK\n",
        "mt": "x y\nz\n",
        "tags": "OK BAD BAD OK BAD\nOK OK OK\n",
    }
    return {f"en-de/test20.{name}": text for name, text in {**files, **changes}.items()}


def test_mlqe_pe_takes_the_words_between_the_gaps(write, pack, reader, tmp_path):
    rows = "0\ta  b\tx y\t[1]\t1\t[1]\t1\t1\n1\tc\tz\t[2]\t2\t[2]\t2\t1\n"
    write(MLQE, pack({"en-de/test20.ende.df.short.tsv": MLQE_HEADER + rows}))
    assert not reader("mlqe_pe").read(tmp_path, "en-de").judgements.tags, "without the archive of post-editing"
    write(POST_EDITED, pack(post_edited()))
    found = reader("mlqe_pe").read(tmp_path, "en-de")
    assert tagged(found) == ["x/BAD y/OK", "z/OK"]
    assert tagged(found, "source") == ["a/OK b/BAD", "c/OK"]
    for changes, message in (
        ({"tags": "OK BAD\nOK OK OK\n"}, "same numbers of words"),
        ({name: text.split("\n")[0] + "\n" for name, text in
          (("src", "a b"), ("mt", "x y"), ("tags", "OK OK OK OK OK"), ("source_tags", "OK OK"))},
         "word tags of 1 source texts, but 2 human scores"),
    ):  # fmt: skip
        write(POST_EDITED, pack(post_edited(**changes)))
        with pytest.raises(DataError, match=message):
            reader("mlqe_pe").read(tmp_path, "en-de")


def test_mlqe_pe21_has_tags_of_the_tokenised_text(write, pack, reader, tmp_path):
    files = {"src": "a.\n", "mt": "x.\n", "tok.src": "a .\n", "tok.mt": "x .\n", "da": "0.5\n"}
    rows = {"src": ("source", "a", "."), "mt": ("mt", "x", ".")}
    made = {f"en-ja/test21.{name}": text for name, text in files.items()}
    for name, (column, *words) in rows.items():
        made[f"en-ja/task2_wordlevel_{name}.tags"] = "".join(
            f"en-ja\tREFERENCE\t{column}\t0\t{place}\t{word}\t{('BAD', 'OK')[place]}\n"
            for place, word in enumerate(words)
        )
    write(TEST21, pack(made))
    found = reader("mlqe_pe21").read(tmp_path, "en-ja")
    assert [(one.source, one.hypothesis) for one in found.segments] == [("a.", "x.")]
    assert found.human_scores.tolist() == [0.5]
    assert tagged(found) == ["x/BAD ./OK"] and tagged(found, "source") == ["a/BAD ./OK"]


@pytest.fixture
def wmt22(write):
    def put(tagged="OK BAD OK\nOK OK\n"):
        for task in ("task1_word-level", "task1_mqm"):
            write(f"{GOLD}/{task}/en-ru/test.2022.src", "s\nt\n")
            write(f"{GOLD}/{task}/en-ru/test.2022.mt", "a b\nc\n")
        write(f"{GOLD}/task1_word-level/en-ru/test2022.mt_tok", "a b <EOS>\nc <EOS>\n")
        write(f"{GOLD}/task1_word-level/en-ru/test.2022.en-ru.tags", tagged)
        write(f"{GOLD}/task1_mqm/en-ru/test.2022.en-ru.mqm_z_score", "0.5\n-1\n")

    return put


@pytest.mark.parametrize("name", ["wmt22_words", "wmt22_task1"])
def test_wmt22_has_tags_and_scores(wmt22, reader, tmp_path, name):
    wmt22()
    found = reader(name).read(tmp_path, "en-ru")
    assert tagged(found) == ["a/OK b/BAD <EOS>/OK", "c/OK <EOS>/OK"]
    assert (found.human_name, found.human_scores.tolist()) == ("mqm_z", [0.5, -1])


def test_wmt22_tags_that_do_not_fit(wmt22, reader, tmp_path):
    wmt22("OK BAD\nOK OK\n")
    with pytest.raises(DataError, match="en-ru.* cannot be read as published .*same numbers of words"):
        reader("wmt22_words").read(tmp_path, "en-ru")


WMT19_TABLE = """LP HUMAN SYSTEM
de-en -0.2 online-A.0
en-cs 9.9 online-A.0
de-en 0.136 MSRA.MADL.6910
de-en 0.136 en_de_task.67
de-en 0.05 Facebook_FAIR.6750
"""
WMT19_SYSTEMS = ("online-A.0", "MSRA.MADL.6910", "en_de_task.67", "Facebook_FAIR.6750")


@pytest.fixture
def wmt19(write):
    def put():
        write(f"{WMT19}/DA-syslevel.csv", WMT19_TABLE)
        write(f"{WMT19}/source/newstest2019-deen-src.de", '"Hallo\nZwei\u2028Wörter\n')
        write(f"{WMT19}/references/newstest2019-deen-ref.en", "hello\ntwo words \n")
        for system in WMT19_SYSTEMS:
            write(f"{WMT19}/system-outputs/de-en/newstest2019.{system}.de-en", f"hi {system}\nsecond\n")

    return put


def test_segments_of_all_systems_and_scores_of_systems_alone(wmt19, reader, tmp_path):
    wmt19()
    found = reader("wmt19").read(tmp_path, "de-en")
    assert found.systems == ("MSRA.MADL.6910", "en_de_task.67", "Facebook_FAIR.6750", "online-A.0")
    assert [(s.name, s.source, s.reference, s.hypothesis) for s in found.segments[:2]] == [
        ("1:MSRA.MADL.6910", '"Hallo', "hello", "hi MSRA.MADL.6910"),
        ("2:MSRA.MADL.6910", "Zwei\u2028Wörter", "two words ", "second"),
    ]
    assert len(found) == 8 and found.rated == 0
    assert np.isnan(found.human_scores).all()
    assert found.judgements.systems["da"] == {
        "MSRA.MADL.6910": 0.136,
        "en_de_task.67": 0.136,
        "Facebook_FAIR.6750": 0.05,
        "online-A.0": -0.2,
    }


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        pytest.param("all", 4, id="all"),
        pytest.param("top:1", 1, id="the-first-of-two-equals"),
        pytest.param("top:3", 3, id="three"),
        pytest.param("top:60", 4, id="more-than-there-are"),
        pytest.param("top:99%", 3, id="the-floor-of-a-share"),
    ],
)
def test_the_best_systems_are_kept(wmt19, reader, tmp_path, asked, kept):
    wmt19()
    found = reader("wmt19", systems=asked).read(tmp_path, "de-en")
    expected = ("MSRA.MADL.6910", "en_de_task.67", "Facebook_FAIR.6750", "online-A.0")[:kept]
    assert found.systems == tuple(found.judgements.systems["da"]) == expected
    assert len(found.all_systems) == 4, "scores made elsewhere may have those left out"


@pytest.mark.parametrize("asked", ["best", "top:0", "top:101%", "top:-3", "top:3.5", "30%", ""])
def test_what_names_no_systems_is_refused_before_any_file_is_read(reader, asked):
    with pytest.raises(ConfigError, match=rf"dataset\.wmt19\.systems={asked}: write all, top:6 .* or top:30%"):
        reader("wmt19", systems=asked)


def test_a_share_that_leaves_no_system_says_so(wmt19, reader, tmp_path):
    wmt19()
    with pytest.raises(ConfigError, match=r"top:20% keeps none of the 4 systems of de-en"):
        reader("wmt19", systems="top:20%").read(tmp_path, "de-en")
