"""The file layout of mt-metrics-eval, on small trees."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from score_trees import TREE, blocks, plant

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.datasets.segments import Judgements
from bmx_grid.metrics.imported import Imported


@pytest.fixture
def tree(tmp_path) -> Path:
    """The folder of test sets, with the small test set `toy`: en-de and, without references, cs-uk."""
    plant(tmp_path / "toy", TREE)
    return tmp_path


@pytest.fixture
def read(tree, reader):
    def make(pair="en-de", **settings):
        set_reader = reader("mt_metrics_eval", **{"folder": str(tree), "test_set": "toy", **settings})
        return set_reader.load_segments(tree / "nowhere", pair)

    return make


def test_a_pair_has_its_texts_documents_and_human_scores(read):
    segments = read()
    assert [segment.name for segment in segments.segments] == [
        "1:sysA",
        "2:sysA",
        "3:sysA",
        "1:sysB",
        "2:sysB",
        "3:sysB",
    ]
    first = segments.segments[3]
    assert (first.source, first.reference, first.further_references) == ("s1", "a1", ("b1",))
    assert (first.hypothesis, first.document) == ("B 1", "doc1")
    assert segments.judgements.aspects == ("mqm", "wmt-raw", "wmt-z")
    np.testing.assert_array_equal(segments.human_scores, [-1, np.nan, -5, 0, -0.1, np.nan])
    np.testing.assert_array_equal(segments.judgements.scores["wmt-raw"], [np.nan] * 3 + [70, 80, 90])
    assert np.isnan(segments.judgements.scores["wmt-z"]).all(), "published for systems only"
    assert segments.judgements.systems == {"mqm": {"sysA": -3.0, "sysB": -0.05}, "wmt-z": {"sysB": 0.2}}


def test_pairs_are_those_with_human_scores(reader, tree):
    set_reader = reader("mt_metrics_eval", folder=str(tree), test_set="toy")
    assert set_reader.pairs(tree) == ("cs-uk", "en-de"), "en-zh has texts, but no human scores"
    assert dataclasses.replace(set_reader, human="mqm").pairs(tree) == ("en-de",)
    assert dataclasses.replace(set_reader, human="mqn").pairs(tree) == ("cs-uk", "en-de"), "refused when it is read"
    segments = set_reader.load_segments(tree, "cs-uk")
    assert not segments.has("reference")
    assert segments.judgements.primary == "da-sqm"


SEG, SYS = "human-scores/en-de.mqm.seg.score", "human-scores/en-de.mqm.sys.score"
PEOPLE_AND_B = {"reference": {"en-de": "refB"}, "human_systems": True}
JUDGED = {
    "machines-only": ({}, ("sysA", "sysB"), {"sysA": ("a1", ("b1",))}),
    "a-person-is-not-its-own-reference": (
        {"human_systems": True},
        ("refB", "sysA", "sysB"),
        {"refB": ("a1", ()), "sysA": ("a1", ("b1",))},
    ),
    "another-reference": ({"reference": "refB"}, ("sysA", "sysB"), {"sysA": ("b1", ("a1",))}),
    "the-reference-is-no-system": (PEOPLE_AND_B, ("refA", "sysA", "sysB"), {"refA": ("b1", ())}),
    "an-outlier": ({"leave_out": ["sysA"]}, ("sysB",), {}),
}


@pytest.mark.parametrize(("settings", "systems", "references"), JUDGED.values(), ids=JUDGED)
def test_who_is_judged_against_what(read, settings, systems, references):
    segments = read(**settings)
    assert segments.systems == systems
    assert segments.all_ids == ("1", "2", "3")
    assert segments.all_systems == ("refA", "refB", "sysA", "sysB")
    for system, expected in references.items():
        first = next(segment for segment in segments.segments if segment.system == system)
        assert (first.reference, first.further_references) == expected


def test_missing_translations_and_marks_of_other_systems_are_no_texts(read, tree):
    assert read(human="wmt-raw").judgements.aspects == ("wmt-raw", "mqm", "wmt-z")
    (tree / "toy/system-outputs/en-de/sysB.txt").write_text("B 1\n[No translation supplied]\nB 3\n")
    source = tree / "toy/sources/en-de.txt"
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes().replace(b"\n", b"\r\n"))
    segments = read()
    assert [segment.name for segment in segments.segments[3:]] == ["1:sysB", "3:sysB"], (
        "a missing translation is left out"
    )
    assert segments.texts("source") == ["s1", "s2", "s3", "s1", "s3"], "CR LF and a byte-order mark are no text"


def test_a_tree_with_crlf_is_the_one_with_lf(read, tree):
    expected = {pair: read(pair).fingerprint() for pair in ("en-de", "cs-uk")}
    for name, content in TREE.items():
        (tree / "toy" / name).write_bytes(content.replace("\n", "\r\n").encode())
    assert {pair: read(pair).fingerprint() for pair in expected} == expected


ONE_TWO = {f"references/en-de.ref{name}.txt": None for name in "AB"}
ONE_TWO |= {f"references/en-de.{name}.txt": "r1\nr2\nr3\n" for name in ("one", "two")}
TOO_FEW = blocks(sysA=(-1, None), sysB=(0, -0.1, None))
# changed files, settings, and what the message says
REFUSED = {
    "too-few-rows": ({SEG: TOO_FEW}, {}, ["mqm.seg.score", "2 scores for the system 'sysA'", "3 segments"]),
    "a-system-twice": ({SYS: "sysA 1\nsysA 2\n"}, {}, ["mqm.sys.score", "2 scores", "'sysA'"]),
    "a-pair-mistyped": ({}, {"reference": {"en-dd": "refA"}}, ["unknown language pair 'en-dd'"]),
    "unknown-system": ({SEG: "sysC -1\n"}, {}, ["mqm.seg.score, line 1", "'sysC'", "did you mean 'sys"]),
    "another-number-of-lines": (
        {"sources/en-de.txt": "s1\ns2\n"},
        {},
        ["sources/en-de.txt has 2 lines", "references/en-de.refA.txt has 3 lines"],
    ),
    "no-usual-reference": (ONE_TWO, {}, ["references of en-de are one, two", "mt_metrics_eval.reference=one"]),
    "no-test-set": ({}, {"test_set": None}, ["has toy", "dataset.mt_metrics_eval.test_set=wmt23"]),
    "leaves-the-folder": ({}, {"test_set": "../toy"}, ["'../toy'", "name a folder"]),
    "not-fetched": ({}, {"test_set": "wmt23"}, ["wmt23", "has toy", "--download"]),
    "unknown-pair": ({}, {"pair": "en-fr"}, ["unknown language pair 'en-fr'", "en-de"]),
    "unknown-reference": ({}, {"reference": "refC"}, ["unknown reference 'refC'", "refA, refB"]),
    "unknown-human-score": ({}, {"human": "mqn"}, ["'mqn'", "Did you mean 'mqm'"]),
    "unknown-outlier": ({}, {"leave_out": ["sysC"]}, ["unknown system 'sysC'"]),
    "nobody-left": ({}, {"leave_out": ["sysA", "sysB"]}, ["no system is left to judge", "from leave_out"]),
}


@pytest.mark.parametrize(("change", "settings", "words"), REFUSED.values(), ids=REFUSED)
def test_damaged_trees_and_settings_that_cannot_be_are_refused(read, tree, change, settings, words):
    plant(tree / "toy", {name: text for name, text in change.items() if text is not None})
    for name in [name for name, text in change.items() if text is None]:
        (tree / "toy" / name).unlink()
    with pytest.raises((ConfigError, DataError)) as raised:
        read(**settings)
    assert all(word in str(raised.value) for word in words), raised.value


@pytest.mark.parametrize(
    ("test_set", "pair", "message"),
    [
        pytest.param("wmt22", "en-de", r"of the references refA, refB, metrics read refA;", id="refA"),
        pytest.param("wmt23", "en-he", r"metrics read refB;", id="refB-of-this-pair"),
    ],
)
def test_a_choice_among_references_is_named(tree, reader, test_set, pair, message):
    plant(tree / test_set, {name.replace("en-de", pair): text for name, text in TREE.items()})
    set_reader = reader("mt_metrics_eval", folder=str(tree), test_set=test_set)
    with pytest.warns(UserWarning, match=message):
        set_reader.load_segments(tree, pair)


def test_a_named_or_single_reference_is_no_news(read, tree, recwarn):
    read(reference="refB")
    (tree / "toy/references/en-de.refB.txt").unlink()
    read()
    assert not recwarn.list


def test_each_metric_of_a_tree_gives_the_scores_of_its_files(read, tree):
    segments = read()
    members = Imported(file=str(tree / "toy")).expand("imported", [segments])
    assert sorted(members) == ["BLEU", "COMET", "QE-src"]
    comet = members["COMET"].load_scores(segments)
    np.testing.assert_array_equal(comet.base_scores, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert comet.systems == {"sysA": 0.2, "sysB": 0.5}
    bleu = members["BLEU"].load_scores(segments)
    assert np.isnan(bleu.base_scores).all(), "published for systems only"
    assert bleu.systems == {"sysA": 20.0, "sysB": 30.0}
    with_people = read(human_systems=True)
    assert members["QE-src"].load_scores(with_people).base_scores[:3].tolist() == [0.7, 0.8, 0.9], (
        "refB is judged by this one"
    )


# file of the metric -> the names that it is known by where refA, refB are references, and where refA alone is
METRIC_FILES = {
    "COMET-refA": ("COMET", "COMET"),
    "COMET-all": (None, "COMET"),  # of several references none is the standard one alone
    "COMET-refA.refB": (None, "COMET-refA.refB"),
    "COMET-refB": (None, "COMET-refB"),  # without a reference refB, this is a name
    "MetricX-23-QE-src": ("MetricX-23-QE-src", "MetricX-23-QE-src"),
    "HuaweiTSC_0.3_With-refA": ("HuaweiTSC_0.3_With", "HuaweiTSC_0.3_With"),
    "my-metric": ("my-metric", "my-metric"),
    "slide": ("slide", "slide"),
    "refA": ("refA", "refA"),
}


@pytest.mark.parametrize(("file", "names"), METRIC_FILES.items(), ids=METRIC_FILES)
def test_a_metric_is_known_without_its_reference_and_read_by_the_standard_one(read, tree, file, names):
    folder = tree / "toy/metric-scores/en-de"
    for path in folder.iterdir():
        path.unlink()
    (folder / f"{file}.seg.score").write_text(blocks(sysA=(1,) * 3, sysB=(2,) * 3))
    both = read()
    (tree / "toy/references/en-de.refB.txt").unlink()
    alone = read(leave_out=["refB"])
    for segments, name in zip((both, alone), names, strict=True):
        ((label, member),) = Imported(file=str(tree / "toy")).expand("imported", [segments]).items()
        if name is None:
            with pytest.raises(DataMissingError, match=r"by another reference than refA"):
                member.load_scores(segments)
            continue
        assert label == name
        assert member.load_scores(segments).base_scores.tolist() == [1, 1, 1, 2, 2, 2]


def test_another_reference_has_the_scores_of_other_files(read, tree):
    segments = read(reference="refB")
    assert segments.references == ("refB", "refA")
    members = Imported(file=str(tree / "toy")).expand("imported", [segments])
    assert members["COMET"].load_scores(segments).base_scores.tolist() == [1.0] * 6
    with pytest.raises(DataMissingError, match=r"BLEU-refA.sys.score is by another reference than refB"):
        members["BLEU"].load_scores(segments)


QE = "metric-scores/en-de/QE-src.seg.score"
# rows of a metric's file -> the kind of error, what it says
LACKING = {
    "a-system": (blocks(sysA=(1,) * 3), DataMissingError, "has no scores of the system sysB"),
    "a-segment": (blocks(sysA=(1,) * 3, sysB=(2,) * 2), DataError, "2 scores for the system 'sysB'"),
    "a-system-mistyped": (blocks(sysA=(1,) * 3, sysC=(2,) * 3), DataError, "has segment '1:sysC'"),
    "all-scores": (blocks(sysA=(None,) * 3, sysB=(None,) * 3), DataMissingError, "all are missing"),
}


@pytest.mark.parametrize(("rows", "kind", "words"), LACKING.values(), ids=LACKING)
def test_a_metric_of_a_tree_may_lack_a_system_or_a_pair_but_not_be_damaged(read, tree, rows, kind, words):
    (tree / "toy" / QE).write_text(rows)
    segments = read()
    member = Imported(file=str(tree / "toy")).expand("imported", [segments])["QE-src"]
    with pytest.raises(DataError, match=words) as raised:
        member.load_scores(segments)
    assert type(raised.value) is kind


def test_a_metric_need_not_score_a_system_that_nobody_judged(read, tree):
    (tree / "toy" / SEG).write_text("sysB 0\nsysB 1\nsysB None\n")
    (tree / "toy" / SYS).write_text("sysB 0.5\n")
    (tree / "toy" / QE).write_text(blocks(sysB=(1, 2, 3)))
    segments = read()
    with pytest.warns(UserWarning, match="3 of 6 segments have no score"):
        scores = Imported(file=str(tree / "toy")).expand("imported", [segments])["QE-src"].load_scores(segments)
    np.testing.assert_array_equal(scores.base_scores, [np.nan] * 3 + [1, 2, 3])
    # of one file that is named, every row is expected
    with pytest.raises(DataError, match="no score for segment '1:sysA'"):
        Imported(file=str(tree / "toy" / QE), language_pairs=("en-de",)).load_scores(segments)


def test_a_metric_of_systems_may_say_so_in_its_file_of_segments(read, tree):
    (tree / "toy/metric-scores/en-de/BLEU-refA.seg.score").write_text(blocks(sysA=(None,) * 3, sysB=(None,) * 3))
    segments = read()
    with pytest.warns(UserWarning, match="6 of 6 segments have no score"):
        bleu = Imported(file=str(tree / "toy")).expand("imported", [segments])["BLEU"].load_scores(segments)
    assert np.isnan(bleu.base_scores).all() and bleu.systems == {"sysA": 20.0, "sysB": 30.0}


# mt_metrics_eval/meta_info.py: the standard human score of segments, and of systems
OF_PEOPLE = {
    "wmt19": ("wmt19", ("wmt-raw", "wmt-z"), "wmt-raw", "wmt-z"),
    "wmt20-beside-mqm": ("wmt20", ("wmt-raw", "wmt-z", "mqm", "psqm"), "wmt-raw", "wmt-z"),
    "wmt21": ("wmt21.flores", ("wmt-raw", "wmt-z"), "wmt-raw", "wmt-z"),
    "wmt21-mqm": ("wmt21.news", ("wmt-raw", "wmt-z", "mqm"), "mqm", "mqm"),
    "wmt22": ("wmt22", ("wmt-appraise", "wmt-appraise-z", "mqm"), "mqm", "mqm"),
    "wmt22-into-english": ("wmt22", ("wmt", "wmt-z"), "wmt", "wmt"),
    "wmt23": ("wmt23", ("da-sqm",), "da-sqm", "da-sqm"),
    "raw-alone": ("wmt20", ("wmt-raw",), "wmt-raw", "wmt-raw"),
}


@pytest.mark.parametrize(("test_set", "names", "segment", "system"), OF_PEOPLE.values(), ids=OF_PEOPLE)
def test_the_standard_human_score_is_that_of_each_level(tree, reader, test_set, names, segment, system):
    files = {name: text for name, text in TREE.items() if "cs-uk" not in name and not name.startswith("human-scores")}
    for number, name in enumerate(names):
        files[f"human-scores/en-de.{name}.seg.score"] = blocks(sysA=(number,) * 3, sysB=(number + 1,) * 3)
        files[f"human-scores/en-de.{name}.sys.score"] = f"sysA {number}\nsysB {number + 2}\n"
    plant(tree / test_set, files)
    set_reader = reader("mt_metrics_eval", folder=str(tree), test_set=test_set, reference="refA")
    judgements = set_reader.load_segments(tree, "en-de").judgements
    assert (judgements.primary, judgements.primary_of_systems) == (segment, system)
    assert judgements.take([0, 3]).primary_of_systems == system, "also of a part"
    chosen = dataclasses.replace(set_reader, human=names[0]).load_segments(tree, "en-de").judgements
    assert (chosen.primary, chosen.primary_of_systems) == (names[0], names[0]), "one that is named judges both"
    same = Judgements(judgements.scores, systems=judgements.systems)
    assert (same.fingerprint() == judgements.fingerprint()) == (segment == system)


def as_jsonl(files, newline=""):
    """The texts of a tree as .jsonl, with a second line in each if there is one to add."""
    fields = {"sources": "source", "references": "target", "system-outputs": "hypothesis"}
    found = {}
    for name, text in files.items():
        field = fields.get(name.partition("/")[0])
        if field and name.endswith(".txt"):
            name = name.removesuffix(".txt") + ".jsonl"
            rows = [{"doc_id": "d", field: line + newline} for line in text.splitlines()]
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
        found[name] = text
    return found


def test_texts_of_jsonl_are_those_of_txt_and_may_hold_line_feeds(tree, reader):
    plant(tree / "more" / "toy", as_jsonl(TREE))
    plant(tree / "lines" / "toy", as_jsonl(TREE, newline="\nmore"))
    readers = {}
    for name in ("", "more", "lines"):
        readers[name] = reader("mt_metrics_eval", folder=str(tree / name), test_set="toy", leave_out=["sysB"])
    assert readers["more"].pairs(tree) == readers[""].pairs(tree) == ("cs-uk", "en-de")
    for pair in ("cs-uk", "en-de"):
        settings = {} if pair == "en-de" else {"leave_out": ()}
        plain, same, longer = (
            dataclasses.replace(each, **settings).load_segments(tree, pair) for each in readers.values()
        )
        assert same.fingerprint() == plain.fingerprint()
        for role in ("source", "hypothesis"):
            assert longer.texts(role) == [f"{text}\nmore" for text in plain.texts(role)]
    assert longer.segments[0].further_references == ("b1\nmore",)


# changed files of a tree of .jsonl, and what the message says
BAD_JSONL = {
    "no-field": ({"sources/en-de.jsonl": '{"text": "s1"}\n' * 3}, ["sources/en-de.jsonl", "'source'"]),
    "no-text": (
        {"system-outputs/en-de/sysA.jsonl": '{"hypothesis": "A"}\n{"hypothesis": 2}\n{"hypothesis": "C"}\n'},
        ["sysA.jsonl, line 2", "'hypothesis' is '2'", "write a text"],
    ),
    "another-number": (
        {"references/en-de.refA.jsonl": '{"target": "a1"}\n'},
        ["en-de.refA.jsonl has 1 line", "has 3 lines"],
    ),
    "twice": ({"system-outputs/en-de/sysA.txt": "A 1\nA 2\nA 3\n"}, ["sysA.txt", "sysA.jsonl", "remove one"]),
}


@pytest.mark.parametrize(("change", "words"), BAD_JSONL.values(), ids=BAD_JSONL)
def test_bad_texts_of_jsonl_are_refused(tree, reader, change, words):
    plant(tree / "more" / "toy", as_jsonl(TREE) | change)
    set_reader = reader("mt_metrics_eval", folder=str(tree / "more"), test_set="toy", reference="refA")
    with pytest.raises(DataError) as raised:
        set_reader.load_segments(tree, "en-de")
    assert all(word in str(raised.value) for word in words), raised.value


def test_a_translation_that_is_null_was_not_supplied(tree, reader):
    output = '{"hypothesis": "A 1"}\n{"hypothesis": null}\n{"hypothesis": "A 3"}\n'
    plant(tree / "more" / "toy", as_jsonl(TREE) | {"system-outputs/en-de/sysA.jsonl": output})
    set_reader = reader("mt_metrics_eval", folder=str(tree / "more"), test_set="toy", reference="refA")
    names = [segment.name for segment in set_reader.load_segments(tree, "en-de").segments[:3]]
    assert names == ["1:sysA", "3:sysA", "1:sysB"]
