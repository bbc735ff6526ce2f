"""The readers' logic on small made-up files of the published layouts, and what each says of files that are not so."""

import json
import tarfile

import numpy as np
import pytest
from packed import pack

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.datasets.download import unverifiable

ACL20 = "ACL20-Reference-Free-MT-Evaluation"
GOLD = "wmt-qe-2022-data/test_data-gold_labels"
MLQE = "mlqe-pe/data/direct-assessments/test/en-de-test.tar.gz"
POST_EDITED = "mlqe-pe/data/post-editing/test/en-de-test.tar.gz"
MLQE_HEADER = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores\n"
FORK = "\x00\x05\x16\x07"  # of a Mac
DOCUMENT = {"id": "a", "source": "s", "references": ["r", "r2"]}
RATINGS = {"coherence": 1, "consistency": 2, "fluency": 3, "relevance": 4}
SUMMARY = {"id": "a", "system": "M0", "summary": "h", "expert_annotations": RATINGS}


# data set -> language pair, and its files: a text, or the members of an archive
FILES = {
    "wmt17": (
        "cs-en",
        {
            f"{ACL20}/WMT17/DA-seglevel.csv": "LP DATA SYSTEM SID HUMAN\nen-ru newstest2017 online-A.0 1 9.9\n"
            "cs-en newstest2017 tilde-c.5051 2 0.5\nen-zh newstest2017 online-A.0 2 9.9\n"
            "cs-en newstest2017 online-A.0+nobody-has.this_file 1 -1.25\ncs-en newstest2017 online-A.0 2 0\n",
            f"{ACL20}/WMT17/source/newstest2017-csen-src.cs": '"Ahoj\nDruhá\u2028věta\n',
            f"{ACL20}/WMT17/references/newstest2017-csen-ref.en": "&quot; hello  \nsecond sentence\n",
            f"{ACL20}/WMT17/system-outputs/cs-en/newstest2017.online-A.0.cs-en": "\ufeffhello\nline two \n",
            f"{ACL20}/WMT17/system-outputs/cs-en/newstest2017.tilde-c.5051.cs-en": "hi\nother &amp; line\n",
        },
    ),
    "wmt19": (
        "de-en",
        {
            f"{ACL20}/WMT19/DA-syslevel.csv": "LP HUMAN SYSTEM\nde-en -0.2 online-A.0\nen-cs 9.9 online-A.0\n"
            "de-en 0.136 MSRA.6910\nde-en 0.136 en_de_task.67\nde-en 0.05 FAIR.6750\n",
            f"{ACL20}/WMT19/source/newstest2019-deen-src.de": '"Hallo\nZwei\u2028Wörter\n',
            f"{ACL20}/WMT19/references/newstest2019-deen-ref.en": "hello\ntwo words \n",
            **{
                f"{ACL20}/WMT19/system-outputs/de-en/newstest2019.{system}.de-en": f"hi {system}\nsecond\n"
                for system in ("online-A.0", "MSRA.6910", "en_de_task.67", "FAIR.6750")
            },
        },
    ),
    "mlqe_pe": (
        "en-de",
        {
            MLQE: {
                "en-de/test20.ende.df.short.tsv": MLQE_HEADER
                + '7\t"Open\tx y\t[50]\t50\t[0.5]\t0.5\t-9.0\n9\ta  b\tc\ufeffd\t[1, 2]\t1.5\t[-1, 0]\t-0.5\t-8.0\n',
                "en-de/word-probas/mt.test20.ende": "x\n",
            },
            POST_EDITED: {
                "en-de/test20.src": "Open\na  b\n",
                "en-de/test20.source_tags": "BAD\nOK BAD\n",
                "en-de/test20.mt": "x y\nz\n",
                "en-de/test20.tags": "OK BAD BAD OK BAD\nOK OK OK\n",
            },
        },
    ),
    "eval4nlp21": (
        "ro-en",
        {
            "SharedTask2021/data/test21/ro-en-test21.tar.gz": {
                **{f"ro-en/._test21.{name}": FORK for name in ("src", "mt", "da")},
                "ro-en/test21.src": "a b\nc\n",
                "ro-en/test21.mt": "x y\nz\n",
                "ro-en/test21.da": "10\n20.5\n",
                "ro-en/test21.src-tags": "0 1\n0\n",
                "ro-en/test21.tgt-tags": "1 0\n1\n",
            }
        },
    ),
    "wmt22_words": (
        "en-ru",
        {
            **{f"{GOLD}/{task}/en-ru/test.2022.src": "s\nt\n" for task in ("task1_word-level", "task1_mqm")},
            **{f"{GOLD}/{task}/en-ru/test.2022.mt": "a b\nc\n" for task in ("task1_word-level", "task1_mqm")},
            f"{GOLD}/task1_word-level/en-ru/test2022.mt_tok": "a b <EOS>\nc <EOS>\n",
            f"{GOLD}/task1_word-level/en-ru/test.2022.en-ru.tags": "OK BAD OK\nOK OK\n",
            f"{GOLD}/task1_mqm/en-ru/test.2022.en-ru.mqm_z_score": "0.5\n-1\n",
        },
    ),
    "summeval": (
        "en",
        {"summeval/documents.jsonl": json.dumps(DOCUMENT), "summeval/summaries.jsonl": json.dumps(SUMMARY)},
    ),
}


@pytest.fixture
def read(write, reader, tmp_path):
    """read(data set, change, settings): its segments; change: of files and members by the end of their name."""

    def run(name, change=(), **settings):
        def content_of(name, content):
            ends = [end for end in dict(change) if name.endswith(end)]
            return dict(change)[ends[0]] if ends else content

        pair, files = FILES[name]
        for path, content in files.items():
            if isinstance(content, dict):
                members = {member: content_of(member, text) for member, text in content.items()}
                content = pack({member: text for member, text in members.items() if text is not None})
            content = content_of(path, content)
            if content is not None:
                write(path, content)
        return reader(name, **settings).load_segments(tmp_path, pair)

    return run


def rows(segments):
    return [
        (segment.name, segment.source, segment.reference, segment.hypothesis, score)
        for segment, score in zip(segments.segments, segments.human_scores.tolist(), strict=True)
    ]


def tagged(segments, side="hypothesis"):
    tags = segments.judgements.tags[side]
    return [
        " ".join(f"{word}/{'BAD' if bad else 'OK'}" for word, bad in zip(words, row, strict=True))
        for words, row in zip(tags.words, tags.labels.rows(), strict=True)
    ]


def test_wmt17_joins_by_line_and_first_system(read):
    assert rows(read("wmt17", unescape=False)) == [
        ("2:tilde-c.5051", "Druhá\u2028věta", "second sentence", "other &amp; line", 0.5),
        ("1:online-A.0+nobody-has.this_file", '"Ahoj', "&quot; hello", "hello", -1.25),
        ("2:online-A.0", "Druhá\u2028věta", "second sentence", "line two", 0.0),
    ]
    unescaped = read("wmt17").segments
    assert (unescaped[0].hypothesis, unescaped[1].reference) == ("other & line", '" hello')


def test_wmt19_has_segments_of_all_systems_and_scores_of_systems_alone(read):
    segments = read("wmt19")
    assert [row[:4] for row in rows(segments)[:2]] == [
        ("1:MSRA.6910", '"Hallo', "hello", "hi MSRA.6910"),
        ("2:MSRA.6910", "Zwei\u2028Wörter", "two words ", "second"),
    ]
    assert len(segments) == 8 and segments.n_rated == 0
    scores = {"MSRA.6910": 0.136, "en_de_task.67": 0.136, "FAIR.6750": 0.05, "online-A.0": -0.2}
    assert list(segments.judgements.systems["da"].items()) == list(scores.items()), "from the best to the worst"


@pytest.mark.parametrize(
    ("asked", "kept"),
    [("all", 4), ("top:1", 1), ("top:3", 3), ("top:60", 4), ("top:99%", 3)],
    ids=["all", "the-first-of-two-equals", "three", "more-than-there-are", "the-floor-of-a-share"],
)
def test_the_best_systems_are_kept(read, asked, kept):
    segments = read("wmt19", systems=asked)
    assert segments.systems == ("MSRA.6910", "en_de_task.67", "FAIR.6750", "online-A.0")[:kept]
    assert len(segments.all_systems) == 4, "scores made elsewhere may have those left out"


def test_mlqe_pe_does_not_interpret_quotes_and_takes_the_words_between_the_gaps(read):
    segments = read("mlqe_pe")
    assert rows(segments) == [("7", '"Open', None, "x y", 0.5), ("9", "a  b", None, "c\ufeffd", -0.5)]
    assert segments.judgements.aspects == ("z_mean", "mean")
    assert segments.judgements.scores["mean"].tolist() == [50, 1.5]
    np.testing.assert_array_equal(segments.judgements.raters["z_mean"], [[0.5, np.nan], [-1, 0]])
    np.testing.assert_array_equal(segments.judgements.raters["mean"], [[50, np.nan], [1, 2]])
    assert tagged(segments) == ["x/BAD y/OK", "z/OK"]
    assert tagged(segments, "source") == ["Open/BAD", "a/OK b/BAD"]
    without_the_first = read("mlqe_pe", skip=1)
    assert rows(without_the_first) == rows(segments)[1:] and tagged(without_the_first) == ["z/OK"]


def test_eval4nlp_with_and_without_tags(read):
    segments = read("eval4nlp21")
    assert rows(segments) == [("0", "a b", None, "x y", 10.0), ("1", "c", None, "z", 20.5)]
    assert tagged(segments) == ["x/BAD y/OK", "z/BAD"]
    assert tagged(segments, "source") == ["a/OK b/BAD", "c/OK"]
    assert tagged(read("eval4nlp21", first=1)) == ["x/BAD y/OK"]
    without = read("eval4nlp21", {"tgt-tags": None})
    assert not without.judgements.tags
    assert without.segments == segments.segments and without.fingerprint() != segments.fingerprint()


@pytest.mark.parametrize(
    ("pair", "tokens"),
    [("en-ru", "test2022.mt_tok"), ("zh-en", "test.2022.mt_tok")],
    ids=["of the repository", "added by hand"],
)
def test_wmt22_words_has_tags(write, reader, tmp_path, pair, tokens):
    for path, text in FILES["wmt22_words"][1].items():
        write(path.replace("en-ru", pair).replace("test2022.mt_tok", tokens), text)
    segments = reader("wmt22_words", language_pairs=[pair]).load_segments(tmp_path, pair)
    assert tagged(segments) == ["a/OK b/BAD <EOS>/OK", "c/OK <EOS>/OK"]
    assert (segments.judgements.primary, segments.human_scores.tolist()) == ("mqm_z", [0.5, -1])


@pytest.mark.parametrize("name", ["wmt22_words", "wmt22_task1", "mlqe_pe21"])
def test_published_pairs_that_are_not_here_and_cannot_be_fetched_are_named(reader, tmp_path, name, recwarn):
    known = reader(name)
    lacking = {"mlqe_pe21": ["km-en", "ps-en"], "wmt22_task1": ["zh-en"], "wmt22_words": ["km-en", "ps-en", "zh-en"]}
    there = known.pairs(tmp_path)
    assert set(known.language_pairs) - set(there) == set(lacking[name]) == set(unverifiable(known))
    (warning,) = recwarn.list
    message = str(warning.message)
    assert f"data set '{name}': skipped {', '.join(lacking[name])}: files not found in {tmp_path}. Copy them" in message
    assert "\n" not in message and "from https://github.com/" in message
    alone = reader(name, language_pairs=lacking[name])
    assert alone.pairs(tmp_path) == tuple(lacking[name]), "what is left out is not all that was asked for"
    with pytest.raises(DataMissingError, match="put the files there by hand, from https://github.com/"):
        alone.load_segments(tmp_path, lacking[name][-1])
    for path in known.needs(lacking[name][0]):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    assert lacking[name][0] in known.pairs(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_published_files_with_crlf_are_those_with_lf(read, name):
    expected = read(name).fingerprint()
    _, files = FILES[name]
    texts = {}
    for path, content in files.items():
        texts |= content if isinstance(content, dict) else {path: content}
    # a Mac's resource forks are no texts
    crlf = {path: text.replace("\n", "\r\n") for path, text in texts.items() if "/._" not in path}
    assert read(name, crlf).fingerprint() == expected


def wmt17(rows):
    return {"DA-seglevel.csv": f"LP DATA SYSTEM SID HUMAN\n{rows}\n"}


def mlqe(rows):
    return {"short.tsv": MLQE_HEADER + rows}


def summary(**changed):
    return {"summaries.jsonl": json.dumps({**SUMMARY, **changed})}


def fluent(rating):
    return {"expert_annotations": {**RATINGS, "fluency": rating}}


UNREFERENCED = json.dumps({**DOCUMENT, "references": []})
MISFITS = {
    "wmt17-line-beyond-the-end": ("wmt17", wmt17("cs-en newstest2017 online-A.0 3 0.1"), ["DA-seglevel.csv", "(3)"]),
    "wmt17-score-is-text": ("wmt17", wmt17("cs-en newstest2017 online-A.0 1 good"), ["DA-seglevel.csv", "'good'"]),
    "wmt17-score-is-nan": ("wmt17", wmt17("cs-en newstest2017 online-A.0 1 nan"), ["'nan' is not a finite number"]),
    "wmt17-field-missing": ("wmt17", wmt17("cs-en newstest2017 online-A.0 1"), ["line 2", "4 fields, expected 5"]),
    "wmt17-pair-missing": ("wmt17", wmt17("de-en newstest2017 online-A.0 1 0"), ["no row for cs-en"]),
    "wmt17-output-missing": ("wmt17", wmt17("cs-en newstest2017 online-X 1 0"), ["newstest2017.online-X.cs-en"]),
    "wmt17-a-line-less": (
        "wmt17",
        {"ref.en": "only one\n"},
        ["csen-ref.en", "cannot be read as published", "data download wmt17 data_dir="],
    ),
    "mlqe-rater-is-text": ("mlqe_pe", mlqe("0\ta\tb\t[1]\t1\t[1, x]\t1\t1\n"), [MLQE, "cannot be read as published"]),
    "mlqe-other-numbers-of-tags": ("mlqe_pe", {"test20.tags": "OK BAD\nOK OK OK\n"}, ["same numbers of words"]),
    "mlqe-other-partition": ("mlqe_pe", {"short.tsv": None}, ["holds no test20.ende"]),
    "mlqe-not-an-archive": ("mlqe_pe", {MLQE: b"not an archive"}, ["damaged archive"]),
    "mlqe-nested-ratings": ("mlqe_pe", mlqe(f"0\ta\tb\t{'[' * 9999}\t1\t[1]\t1\t1\n"), [MLQE, "as published"]),
    "eval4nlp-another-tag": ("eval4nlp21", {"src-tags": "0 1\nBAD\n"}, ["cannot be read as published"]),
    "summeval-broken-json": ("summeval", {"documents.jsonl": "{"}, ["documents.jsonl, line 1: not a JSON object"]),
    "summeval-no-article": ("summeval", {"documents.jsonl": '{"id": "a"}'}, ["the column 'source' is needed"]),
    "summeval-another-article": ("summeval", summary(id="b"), ["summaries.jsonl, line 1: ", "'b'"]),
    "summeval-no-reference": ("summeval", {"documents.jsonl": UNREFERENCED}, ["line 1: not a summary"]),
    "summeval-no-rating": ("summeval", summary(expert_annotations={"coherence": 1}), ["line 1: ", "consistency"]),
    "summeval-rating-is-nan": ("summeval", summary(**fluent("nan")), ["a rating is missing"]),
    "summeval-rating-is-text": ("summeval", summary(**fluent("good")), ["line 1: the fluency is not a", "'good'"]),
}


@pytest.mark.parametrize(("name", "change", "words"), MISFITS.values(), ids=MISFITS)
def test_files_that_are_not_as_published_are_refused(read, name, change, words):
    with pytest.raises(DataError) as error:
        read(name, change)
    assert all(word in str(error.value) for word in words), error.value


def test_archives_end_at_limits_and_links_in_them_are_no_files(read, write, reader, tmp_path, monkeypatch):
    link = tarfile.TarInfo("en-de/test20.ende.df.short.tsv")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    write(MLQE, pack({}, (link,)))
    with pytest.raises(DataError, match="holds no"):
        reader("mlqe_pe").load_segments(tmp_path, "en-de")
    monkeypatch.setattr("bmx_grid.datasets.archives.MEMBER_BYTES", 1_000_000)
    with pytest.raises(DataError, match=r"'en-de/test20\.ende.*' has 2,000,000 bytes, more than 1,000,000"):
        read("mlqe_pe", {"short.tsv": "x" * 2_000_000})
    monkeypatch.setattr("bmx_grid.datasets.archives.ARCHIVE_BYTES", 1_500_000)
    with pytest.raises(DataError, match="the archive unpacks to more than 1,500,000 bytes"):
        read("mlqe_pe", {"short.tsv": "x" * 2_000_000})


@pytest.mark.parametrize("name", ["wmt17", "eval4nlp21", "mlqe_pe", "wmt22_qe", "mqm21"])
def test_a_pair_that_the_data_set_lacks_is_refused(reader, tmp_path, name):
    with pytest.raises(ConfigError, match=f"dataset.{name}: unknown language pair 'en-xx'"):
        reader(name).load_segments(tmp_path, "en-xx")
    with pytest.raises(ConfigError, match=f"dataset.{name}: unknown language pair 'en-xx'"):
        reader(name, language_pairs=["en-xx"])


SYSTEMS = [{"systems": asked} for asked in ("best", "top:0", "top:101%", "top:-3", "top:3.5", "30%", "")]
SETTINGS = [
    ("wmt17", {"language_pairs": ["cs-en", "cs-en"]}, "'cs-en' 2 times"),
    ("wmt17", {"sources": [{"repository": "a/b"}]}, "revision"),
    ("eval4nlp21", {"first": 0}, "first: expected a number at least 1"),
    ("summeval", {"aspect": "fluent"}, "Did you mean 'fluency'"),
    *(("wmt19", settings, r"dataset\.wmt19\.systems=.*: write all, top:6 .* or top:30%") for settings in SYSTEMS),
]


@pytest.mark.parametrize(("name", "settings", "reason"), SETTINGS, ids=lambda value: str(value)[:30])
def test_settings_that_cannot_be_are_refused_before_any_file_is_read(reader, name, settings, reason):
    with pytest.raises(ConfigError, match=reason):
        reader(name, **settings)


def test_a_share_that_leaves_no_system_says_so(read):
    with pytest.raises(ConfigError, match=r"top:20% keeps none of the 4 systems of de-en"):
        read("wmt19", systems="top:20%")
