"""The file layout of mt-metrics-eval, on small trees."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from score_trees import TREE, blocks, plant

from bmx_grid.core.errors import ConfigError, DataError
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
        return set_reader.read(tree / "nowhere", pair)

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
    segments = set_reader.read(tree, "cs-uk")
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
    "nobody-left": ({}, {"leave_out": ["sysA", "sysB"]}, ["none of the systems", "out of leave_out"]),
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
        set_reader.read(tree, pair)


def test_a_named_or_single_reference_is_no_news(read, tree, recwarn):
    read(reference="refB")
    (tree / "toy/references/en-de.refB.txt").unlink()
    read()
    assert not recwarn.list


def test_each_metric_of_a_tree_gives_the_scores_of_its_files(read, tree):
    segments = read()
    members = Imported(file=str(tree / "toy")).members("imported", [segments])
    assert sorted(members) == ["BLEU-refA", "COMET-refA", "COMET-refB", "QE-src"]
    comet = members["COMET-refA"].given(segments)
    np.testing.assert_array_equal(comet.segments, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert comet.systems == {"sysA": 0.2, "sysB": 0.5}
    bleu = members["BLEU-refA"].given(segments)
    assert np.isnan(bleu.segments).all(), "published for systems only"
    assert bleu.systems == {"sysA": 20.0, "sysB": 30.0}
    with_people = read(human_systems=True)
    assert members["QE-src"].given(with_people).segments[:3].tolist() == [0.7, 0.8, 0.9], "refB is judged by this one"
