"""Word tags with the segments of each data set: where they are published, where they are not, and where they misfit."""

import pytest

from bmx_grid.core.errors import DataError

EVAL4NLP = "SharedTask2021/data/test21/ro-en-test21.tar.gz"
MLQE = "mlqe-pe/data/direct-assessments/test/en-de-test.tar.gz"
POST_EDITED = "mlqe-pe/data/post-editing/test/en-de-test.tar.gz"
TEST21 = "mlqe-pe/data/test21_goldlabels/zero-shot/en-ja-test21.tar.gz"
WMT22 = "wmt-qe-2022-data/test_data-gold_labels"
DA = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores\n"


def tags(found, side="hypothesis"):
    own = found.judgements.tags[side]
    return [
        " ".join(f"{word}/{'BAD' if bad else 'OK'}" for word, bad in zip(words, row, strict=True))
        for words, row in zip(own.words, own.labels.rows(), strict=True)
    ]


def eval4nlp(**changes):
    files = {"src": "a b\nc\n", "mt": "x y\nz\n", "da": "1\n2\n", "src-tags": "0 1\n0\n", "tgt-tags": "1 0\n1\n"}
    return {f"ro-en/test21.{name}": text for name, text in {**files, **changes}.items() if text is not None}


def test_eval4nlp_with_and_without_tags(write, pack, reader, tmp_path):
    write(EVAL4NLP, pack(eval4nlp()))
    found = reader("eval4nlp21").read(tmp_path, "ro-en")
    assert tags(found) == ["x/BAD y/OK", "z/BAD"]
    assert tags(found, "source") == ["a/OK b/BAD", "c/OK"]
    assert tags(reader("eval4nlp21", first=1).read(tmp_path, "ro-en")) == ["x/BAD y/OK"]
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
    write(MLQE, pack({"en-de/test20.ende.df.short.tsv": DA + rows}))
    assert not reader("mlqe_pe").read(tmp_path, "en-de").judgements.tags, "without the archive of post-editing"
    write(POST_EDITED, pack(post_edited()))
    found = reader("mlqe_pe").read(tmp_path, "en-de")
    assert tags(found) == ["x/BAD y/OK", "z/OK"]
    assert tags(found, "source") == ["a/OK b/BAD", "c/OK"]
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
    assert tags(found) == ["x/BAD ./OK"] and tags(found, "source") == ["a/BAD ./OK"]


@pytest.fixture
def wmt22(write):
    def put(tagged="OK BAD OK\nOK OK\n"):
        for task in ("task1_word-level", "task1_mqm"):
            write(f"{WMT22}/{task}/en-ru/test.2022.src", "s\nt\n")
            write(f"{WMT22}/{task}/en-ru/test.2022.mt", "a b\nc\n")
        write(f"{WMT22}/task1_word-level/en-ru/test2022.mt_tok", "a b <EOS>\nc <EOS>\n")
        write(f"{WMT22}/task1_word-level/en-ru/test.2022.en-ru.tags", tagged)
        write(f"{WMT22}/task1_mqm/en-ru/test.2022.en-ru.mqm_z_score", "0.5\n-1\n")

    return put


@pytest.mark.parametrize("name", ["wmt22_words", "wmt22_task1"])
def test_wmt22_has_tags_and_scores(wmt22, reader, tmp_path, name):
    wmt22()
    found = reader(name).read(tmp_path, "en-ru")
    assert tags(found) == ["a/OK b/BAD <EOS>/OK", "c/OK <EOS>/OK"]
    assert (found.human_name, found.human_scores.tolist()) == ("mqm_z", [0.5, -1])


def test_wmt22_tags_that_do_not_fit(wmt22, reader, tmp_path):
    wmt22("OK BAD\nOK OK\n")
    with pytest.raises(DataError, match="en-ru.* cannot be read as published .*same numbers of words"):
        reader("wmt22_words").read(tmp_path, "en-ru")


# words and errors of source and target
PUBLISHED = {
    ("mlqe_pe", "en-zh"): ((16765, 4254), (17230, 4999)),
    ("wmt22_words", "en-de"): ((0, 0), (13857, 535)),
    ("wmt22_words", "en-yo"): ((0, 0), (25403, 2397)),
    ("mqm21", "zh-en"): ((9607, 403), (267645, 36045)),
}


@pytest.mark.parametrize(("name", "pair"), PUBLISHED, ids="-".join)
def test_published_tags_come_with_the_segments(data_dir, reader, name, pair):
    found = reader(name).read(data_dir, pair).judgements.tags
    counts = [
        (len(found[side].labels.bad), int(found[side].labels.bad.sum())) if side in found else (0, 0)
        for side in ("source", "hypothesis")
    ]
    assert tuple(counts) == PUBLISHED[name, pair]
    assert (found["hypothesis"].severity is not None) == (name == "mqm21")
