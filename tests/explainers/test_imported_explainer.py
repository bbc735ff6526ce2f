"""Explanations made elsewhere: every layout, the sign, what has no counterpart, and one sentence for each mistake."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from packed import pack
from pyarrow import parquet

from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, ExplainError
from bmx_grid.core.ragged import Labels
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.words.segmentation import WHITESPACE, PairWords
from bmx_grid.words.tags import WordTags

TEXTS = ["the cat sat.", "no  dogs"]  # two blanks: an empty word
TOKENS = (("the", "cat", "sat", ".", "<EOS>"), ("no", "dogs", "<EOS>"))


def segments(tagged=False, pair="xx-yy"):
    rows = tuple(Segment(str(row), text, source="ein text") for row, text in enumerate(TEXTS))
    tags = {"hypothesis": WordTags(TOKENS, Labels.from_rows([[0, 1, 0, 0, 0], [0, 0, 0]]))} if tagged else {}
    return SegmentSet("toy", pair, rows, Judgements({"da": np.arange(2.0)}, tags=tags))


def lines(*rows):
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)


def predictions(*rows, pair="xx-yy"):
    return lines("1", "2", "3", *("\t".join((pair, "M", "MT", *row.split())) for row in rows))


LABELLED = ("0 0 the OK", "0 1 cat BAD", "0 2 sat OK", "0 3 . BAD", "0 4 <EOS> OK", "1 0 no OK", "1 1 dogs BAD",
            "1 2 <EOS> OK")  # fmt: skip
ALL = ({"id": 0, "scores": [1, 2, 3]}, {"id": 1, "scores": [4, 5, 6]})


@pytest.fixture
def read(tmp_path):
    """read(name, content, segments, words, **settings) -> the explainer and what it read."""

    def make(name, content, segment_set=None, words=WHITESPACE, **settings):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        explainer = Imported(file=str(path), **{"language_pairs": ("xx-yy",), **settings})
        return explainer.load_attributions(segment_set or segments(), words)

    return make


def rows(result, role="hypothesis"):
    return [row.tolist() for row in result[1].by_role[role].rows()]


@pytest.mark.parametrize(
    ("name", "content", "tagged", "expected"),
    [
        pytest.param("w.jsonl", lines(*ALL), False, [[1, 2, 3], [4, 6]], id="table, an empty word has no attribution"),
        pytest.param(
            "w.jsonl",
            lines({"id": 1, "labels": [0, "OK", 1]}, {"id": 0, "labels": ["OK", "BAD", "0"]}),
            False,
            [[0, -1, 0], [0, -1]],
            id="labels, in any order",
        ),
        pytest.param("w.tsv", "id\tscores\n0\t1 2 3\n1\t4 5 6\n", False, [[1, 2, 3], [4, 6]], id="TSV"),
        pytest.param("w.tsv", "id\tscores\r\n0\t1 2 3\r\n1\t4 5 6\r\n", False, [[1, 2, 3], [4, 6]], id="TSV CR LF"),
        pytest.param(
            "w.jsonl",
            lines(
                {"id": 0, "words": ["the", "cat", "sat", "."], "scores": [1, 2, 3, 7]},
                {"id": 1, "words": ["no", "dogs"], "scores": [4, 6]},
            ),
            False,
            [[1, 2, pytest.approx(4.0)], [4, 6]],
            id="own words: a mean by characters, (3 * 3 + 7) / 4",
        ),
        pytest.param(
            "target.submission", ".1 .2 .3 .4 .5 \r\n1 2 3\r\n", True, [[-0.1, -0.2, -0.325], [-1, -2]], id="submission"
        ),
        pytest.param("predictions.txt", predictions(*LABELLED), True, [[0, -1, -0.25], [0, -1]], id="predictions"),
        pytest.param(
            "predictions.txt",
            predictions(*LABELLED).replace("\n", "\r\n"),
            True,
            [[0, -1, -0.25], [0, -1]],
            id="predictions CR LF",
        ),
    ],
)  # fmt: skip
def test_a_layout_becomes_attributions_of_the_scored_words(read, name, content, tagged, expected):
    result = read(name, content, segments(tagged))
    assert rows(result) == [pytest.approx(row) for row in expected]
    assert result[1].attributed["hypothesis"] == (("the", "cat", "sat."), ("no", "dogs"))


def test_a_decimal_comma_is_of_texts(read):
    texts = read("w.tsv", "id\tscores\n0\t1,5 2 3\n1\t4 5 6,25\n", decimal=",")
    assert rows(texts) == [[1.5, 2, 3], [4, 6.25]]
    numbers = read("w.jsonl", lines({"id": 0, "scores": [1.5, 2, 3]}, ALL[1]), decimal=",")
    assert rows(numbers)[0] == [1.5, 2, 3]


def test_a_parquet_file_holds_lists(read):
    columns = {"seg": [1, 0], "attr": [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]], "side": ["target", "target"]}
    parquet.write_table(pa.table(columns), file := io.BytesIO())
    result = read("w.parquet", file.getvalue(), columns={"id": "seg", "scores": "attr"})
    assert rows(result) == [[1, 2, 3], [4, 6]]


def test_the_files_own_words_are_kept_with_the_end_of_the_sentence(read):
    words = read("target.submission", "1 2 3 4 5\n1 2 3\n", segments(tagged=True))[1].words["hypothesis"]
    assert words.words == TOKENS
    assert words.values.values.tolist() == [-1, -2, -3, -4, -5, -1, -2, -3]
    assert not words.are_labels
    assert read("predictions.txt", predictions(*LABELLED), segments(tagged=True))[1].words["hypothesis"].are_labels


def test_sides_have_rows_of_their_own(read):
    source = ({"id": 0, "side": "source", "scores": [4, 5]}, {"id": 1, "side": "source", "scores": [9, 0]})
    result = read("w.jsonl", lines(*source, *({"side": "target", **row} for row in ALL)))
    assert list(result[1].by_role) == ["source", "hypothesis"]
    assert (rows(result, "source"), rows(result)) == ([[4, 5], [9, 0]], [[1, 2, 3], [4, 6]])


def test_a_text_that_is_not_explained_has_nan_and_is_named(read):
    result = read("w.jsonl", lines(ALL[0], {"id": 1, "scores": None}))
    assert np.isnan(result[1].by_role["hypothesis"][1]).all()
    assert result[1].refused == {1: "it is not explained in the file"}


def test_what_has_no_counterpart_is_left_out_and_named(read):
    table = lines(
        {"id": 0, "words": ["the", "dot", "cat"], "scores": [1, 2, 3]},
        {"id": 1, "words": ["no", "dogs"], "scores": [4, 6]},
    )
    with pytest.warns(UserWarning, match="left out: 'dot' of '0', 'sat.' of '0'"):
        result = read("w.jsonl", table)
    assert rows(result)[0] == [1, 3]
    assert result[1].attributed["hypothesis"][0] == ("the", "cat")


def test_a_zero_width_space_may_have_a_score_of_its_own(read):
    tags = WordTags((("the", "\u200b", "cat"), ("no", "dogs")), Labels.from_rows([[0, 0, 0], [0, 0]]))
    with_tags = segments()
    object.__setattr__(with_tags.judgements, "tags", {"hypothesis": tags})
    with_it, without = (read("target.submission", text, with_tags) for text in ("1 9 2\n3 4\n", "1 2\n3 4\n"))
    assert with_it[1].words["hypothesis"].words == tags.words
    assert without[1].words["hypothesis"].words == (("the", "cat"), ("no", "dogs"))
    assert rows(with_it)[1] == rows(without)[1] == [-3, -4]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("w.jsonl", lines({"id": 0, "scores": [1]}, ALL[1]), "line 1: 1 value for 3 words", id="too few"),
        pytest.param("w.jsonl", lines({"id": 0, "words": ["a"], "scores": [1, 2]}),
                     "line 1: 2 values for 1 word", id="own words do not fit"),
        pytest.param("w.jsonl", lines({"id": 0, "labels": ["OK", "GOOD"]}), "line 1: label 2 is 'GOOD'", id="label"),
        pytest.param("w.jsonl", lines({"id": 0, "scores": [1, "high", 2]}), "score 2 is 'high'; write", id="text"),
        pytest.param("w.tsv", "id\tscores\n0\t1 2 0,5\n1\t1 1 1\n",
                     "line 2: score 3 is '0,5'; if its comma is a decimal comma, add explainer.imported.decimal=,",
                     id="decimal comma"),
        pytest.param("w.jsonl", lines({"id": 0, "scores": 1}), "the column 'scores' holds '1'", id="number"),
        pytest.param("w.jsonl", lines({"id": 0, "text": "x"}), "no columns for scores or labels", id="no column"),
        pytest.param("w.jsonl", lines({**ALL[0], "side": "left"}, {**ALL[1], "side": "source"}),
                     "line 1: unknown side 'left'", id="side"),
        pytest.param("w.txt", "1 2 3\n", "1 score, but toy xx-yy has 2 segments", id="lines"),
        pytest.param("predictions.txt", predictions(*LABELLED, pair="en-de"), "no row of xx-yy", id="another pair"),
        pytest.param("predictions.txt", predictions(*LABELLED, LABELLED[0]), "token 0 of sentence 0", id="twice"),
        pytest.param("predictions.txt", predictions(*LABELLED[1:]), "token 1 of sentence 0 was", id="no token"),
        pytest.param("predictions.txt", predictions(*LABELLED[:4], *LABELLED[5:]),
                     "line 4: the words 'the cat sat .' are not the 5 that have a published tag", id="fewer words"),
        pytest.param("predictions.txt", predictions("0 0 a OK", *LABELLED[1:]),
                     "the words 'a cat sat . <EOS>' are not the 5", id="another word"),
        pytest.param("predictions.txt", predictions("0 0 the OKAY", *LABELLED[1:]),
                     "the tag 'OKAY' is not OK or BAD; correct the line", id="tag"),
        pytest.param("target.submission", "1 2 3 4\n1 2 3\n", "line 1: 4 values for 5 words", id="fewer scores"),
        pytest.param("w.jsonl", lines(*({"id": row, "words": [word], "scores": [1]} for row, word in enumerate("ΔΩ"))),
                     "segment '1' and of most others are not those of its text: 'Ω', not 'no  dogs'", id="other texts"),
        pytest.param("w.jsonl", lines({**ALL[0], "id": "x"}, *ALL), "the id 'x' is not in toy xx-yy", id="unknown id"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(read, name, content, message):
    with pytest.raises((DataError, DataMissingError)) as caught:
        read(name, content, segments(tagged=name.startswith(("pred", "target"))))
    assert message in str(caught.value)


def test_a_file_of_another_pair_is_left_out(read):
    with pytest.raises(DataMissingError, match=r"is of xx-yy"):
        read("w.jsonl", lines(*ALL), segments(pair="zz-yy"))
    with pytest.raises(DataMissingError, match="holds no"):
        read("xx-yy-test.tar.gz", archive(["a", "b"], ["-1 -1", "-1 -1"], pair="zzyy"))
    with pytest.raises(ConfigError, match="does not name its language pair"):
        read("w.jsonl", lines(*ALL), language_pairs=())


def test_the_identity_is_what_was_read(read):
    first, again, turned = (
        read(name, lines(*ALL), **more)[0].fingerprint()
        for name, more in (("a.jsonl", {}), ("b.jsonl", {"extra": "ignore"}), ("a.jsonl", {"errors_are": "high"}))
    )
    assert first == again
    assert first != turned
    signs = {how: rows(read("w.jsonl", lines(*ALL), errors_are=how))[0] for how in ("auto", "low", "high")}
    assert signs == {"auto": [1, 2, 3], "low": [1, 2, 3], "high": [-1, -2, -3]}
    assert read("a.jsonl", lines(ALL[0], {"id": 1, "scores": [4, 5, 7]}))[0].fingerprint() != first


def test_words_are_those_of_the_segmentation(read):
    table = lines({"id": 0, "scores": [1, 2, 3, 4]}, {"id": 1, "scores": [5, 6]})
    result = read("w.jsonl", table, words=PairWords("unicode", "characters"))
    assert result[1].attributed["hypothesis"] == (("the", "cat", "sat", "."), ("no", "dogs"))
    assert rows(result) == [[1, 2, 3, 4], [5, 6]]


def test_it_explains_no_other_text():
    with pytest.raises(ExplainError, match="cannot explain other texts"):
        Imported(file="x.jsonl").plan(("a",), np.random.default_rng(0))


def archive(pieces, values, pair="xxyy"):
    files = {
        f"mt.test20.{pair}": lines(*pieces),
        f"word_probas.test20.{pair}": lines(*values),
        f"test20.{pair}.df.short.tsv": "x\n",
    }
    return pack({f"xx-yy/{name}": text for name, text in files.items()})


GLASS_BOX = archive(["the c@@ at s@@ at .", "no dogs"], ["-1 -2 -3 -4 -5 -6 -7", "-1 -2 -3"])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [-1, -5, -15]),
        ({"sub_words": "mean"}, [-1, -2.5, -5]),
        ({"sub_words": "min"}, [-1, -3, -6]),
        ({"sub_words": "max"}, [-1, -2, -4]),
        ({"probabilities": True}, np.exp([-1, -5, -15]).tolist()),
        ({"sub_words": "each"}, [-1, -2, -3, -4, -5, -6, -7]),
        ({"errors_are": "high"}, [1, 5, 15]),
    ],
    ids=["sum", "mean", "min", "max", "probabilities", "each", "turned"],
)
def test_the_glass_box_of_mlqe_pe(read, settings, expected):
    result = read("xx-yy-test.tar.gz", GLASS_BOX, **settings)
    assert rows(result)[0] == pytest.approx(expected)
    assert ("hypothesis" in result[1].words) == (settings.get("sub_words") != "each")


def test_a_sentence_that_was_translated_again_is_named(read):
    other = archive(["the c@@ at s@@ at .", "some cats"], ["-1 -2 -3 -4 -5 -6 -7", "-1 -2 -3"])
    result = read("xx-yy-test.tar.gz", other)
    assert result[1].refused == {1: "its sub-words in the file are those of another translation"}
    assert np.isnan(result[1].by_role["hypothesis"][1]).all()
    assert len(rows(read("xx-yy-test.tar.gz", other, sub_words="each"))[1]) == 3


def test_quotation_marks_that_a_text_lost_make_no_other_translation(read):
    quoted = archive(["&quot; the c@@ at s@@ at .", "no dogs"], ["-9 -1 -2 -3 -4 -5 -6 -7", "-1 -2 -3"])
    assert rows(read("xx-yy-test.tar.gz", quoted))[0] == [-1, -5, -15]


def test_a_part_of_a_test_set_finds_its_rows(read):
    part = segments().take([1])
    assert rows(read("w.jsonl", lines(*ALL), part)) == [[4, 6]]
    assert rows(read("w.txt", "1 2 3\n4 5 6\n", part)) == [[4, 6]]
    assert rows(read("xx-yy-test.tar.gz", GLASS_BOX, part)) == [[-1, -2]]


SPANS = [
    {"id": "0", "spans": [{"start": 0, "end": 12, "severity": "major"}, {"start": 5, "end": 6, "severity": "minor"}]},
    {"id": "1", "spans": [{"start": 4, "end": 4, "severity": "critical"}]},
]


def test_spans_are_shared_out_to_words_so_that_a_sum_counts_each_once(read):
    """Three words of a major error have 5 / 3 each; an omission is that of the empty word at the end."""
    explainer, words = read("spans.jsonl", lines(*SPANS))
    share = -5 / 3
    np.testing.assert_allclose(words.by_role["hypothesis"][0], [share, share - 1, share, 0], rtol=1e-15)
    assert [row.sum() for row in words.by_role["hypothesis"].rows()] == pytest.approx([-6, -10], rel=1e-15)
    assert words.attributed["hypothesis"] == (("the", "cat", "sat.", ""), ("no", "", "dogs", ""))
    same, other_weights = (
        read("spans.jsonl", lines(*SPANS), weights=weights)[0] for weights in ({"minor": 1.0}, {"critical": 25.0})
    )
    assert same.recipe_fingerprint() == explainer.recipe_fingerprint() != other_weights.recipe_fingerprint()
    assert same.explanations == explainer.explanations != other_weights.explanations


def test_several_raters_are_averaged_and_what_nobody_marked_is_not_explained(read):
    rows = [{"rater": "anna", **SPANS[0]}, {"rater": "ben", "id": "0", "spans": []}]
    _, words = read("spans.jsonl", lines(*rows))
    assert words.by_role["hypothesis"][0].sum() == pytest.approx(-3)
    assert np.isnan(words.by_role["hypothesis"][1]).all()
    assert words.refused == {1: "nobody marked errors in it"}


@pytest.mark.parametrize(("weights", "message"), [({"bad": 1.0}, "unknown severity 'bad'"), ({"minor": -1.0}, "minor")])
def test_weights_of_spans_that_cannot_be_are_refused(weights, message):
    with pytest.raises(ConfigError, match=message):
        Imported(file="x", weights=weights)
