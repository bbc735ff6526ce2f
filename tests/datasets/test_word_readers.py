"""Files of word tags and word scores as experiments/word_level_2016 reads them, sub-words, and error spans."""

import numpy as np
import pytest
from word_submissions import (
    read_gold,
    read_target_scores,
    read_word_predictions,
    submission_name,
    submissions,
)

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.mlqe_pe import word_probabilities
from bmx_grid.words.tags import ErrorSpan, tags_of_spans

TOKENS = ["a b <EOS>", "c <EOS>"]
ROWS = ["0\t0\ta\tOK", "0\t1\tb\tBAD", "0\t2\t<EOS>\tOK", "1\t0\tc\tBAD", "1\t1\t<EOS>\tOK"]


@pytest.fixture
def gold_of(tmp_path):
    def write(tags=("OK BAD OK", "BAD OK"), tokens=TOKENS, texts=("a b", "c"), **choices):
        for name, lines in (("xx-yy.tags", tags), ("mt_tok", tokens), ("mt", texts)):
            (tmp_path / f"test.2022.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return read_gold(tmp_path, "xx-yy", **choices)

    return write


@pytest.fixture
def predicted(tmp_path, gold_of):
    def read(rows=ROWS, pair="xx-yy", header=("1", "2", "3")):
        path = tmp_path / "predictions.txt"
        path.write_text("\n".join([*header, *(f"{pair}\tM\tMT\t{row}" for row in rows)]) + "\n", encoding="utf-8")
        return read_word_predictions(path, gold_of())

    return read


def test_predictions_are_read_in_any_order(predicted):
    assert predicted(ROWS[::-1]).bad.tolist() == [False, True, False, True, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"pair": "en-de"}, "line 4: the language pair 'en-de' is not 'xx-yy'", id="another-pair"),
        pytest.param({"rows": ROWS[:4]}, "sentence 1 are 'c', but line 2 of .*mt_tok has 'c <EOS>'", id="missing"),
        pytest.param({"rows": [*ROWS, ROWS[0]]}, "token 0 of sentence 0 was already tagged", id="doubled"),
        pytest.param({"rows": ["0\t0\ta\tGOOD"]}, "line 4: the tag 'GOOD' is not OK or BAD", id="another-label"),
        pytest.param({"rows": ["0\t0\tz\tOK"]}, "the words of sentence 0 are 'z', but line 1 of", id="another-word"),
        pytest.param({"rows": ["0\tx\ta\tOK"]}, "the token 'x' is not a number from 0", id="token-in-words"),
    ],
)
def test_mistakes_in_predictions(predicted, changes, message):
    with pytest.raises(DataError, match=message):
        predicted(**changes)


def test_mistakes_in_gold_tags(gold_of):
    with pytest.raises(ValueError, match="same numbers of words"):
        gold_of(tags=["OK BAD", "BAD OK"])
    with pytest.raises(DataError, match="line 1: does not end with <EOS>; set eos=keep"):
        gold_of(tokens=["a b .", "c <EOS>"], eos="drop")


def test_zero_width_spaces_have_tags_of_their_own(gold_of):
    given = {"tags": ["OK BAD BAD OK OK", "BAD OK"], "texts": ["a \u200b\u200bb", "c"]}
    dropped, kept = gold_of(**given), gold_of(**given, zero_width="keep")
    assert dropped.surplus == {0: (1, 2)} and dropped.tags.labels[0].tolist() == [False, False, False]
    assert kept.tags.words[0] == ("a", "\u200b", "\u200b", "b", "<EOS>")


def test_target_scores_become_attributions(tmp_path, gold_of):
    path = tmp_path / "target.submission"
    path.write_text("0.5 2.9e-06 -1 \r\n0 3\r\n")
    assert read_target_scores(path, gold_of(eos="keep")).values.tolist() == [-0.5, -2.9e-06, 1, 0, -3]
    assert read_target_scores(path, gold_of(eos="drop")).values.tolist() == [-0.5, -2.9e-06, 0]
    for text, message in (
        ("1 2 3\n", "1 line for 2 sentences of .*mt_tok; give one line per sentence of xx-yy"),
        ("1 2\n1 2\n", "line 1: 2 scores for 3 tokens of .*mt_tok; give one score per token"),
        ("1 2 nan\n1 2\n", "line 1: score 3 is 'nan', not a finite number"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_target_scores(path, gold_of())


def test_names_of_submissions(tmp_path):
    assert submission_name("Team HW-TSC  - 3 submission") == "Team HW-TSC"
    for folder in ("A - 1 submission", "A  - 2 submission"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "predictions.txt").touch()
    with pytest.raises(DataError, match="both submissions of 'A'"):
        submissions(tmp_path, "predictions.txt")


# pieces, log-probabilities, words, expected sums
PIECES = [
    pytest.param("ab@@ c d", [1, 2, 4], "abc d", [3, 4], id="BPE"),
    pytest.param("&quot; a", [1, 2], '" a', [1, 2], id="an-entity"),
    pytest.param("&#@@ 124@@ ; a", [1, 2, 4, 8], "| a", [7, 8], id="an-entity-in-pieces"),
    pytest.param("x@@ y @-@ z", [1, 2, 4, 8], "xy-z", [15], id="Moses-hyphen"),
    pytest.param("▁a b ▁ c .", [1, 2, 4, 8, 16], "ab c .", [3, 12, 16], id="a-separate-mark-counts-with-its-word"),
    pytest.param("'s@@ o", [1, 2], "' so", [1, 3], id="a-piece-in-two-words"),
    pytest.param("a b", [1, 2], "a c", [np.nan, np.nan], id="another-text"),
]


@pytest.mark.parametrize(("pieces", "values", "words", "expected"), PIECES)
def test_sub_words_are_merged_by_characters(pieces, values, words, expected):
    logs = Ragged.from_rows([np.array([*values, 0.0])])
    merged, other_text = word_probabilities([[*pieces.split(), "</s>"]], logs, [words.split()])
    assert merged[0] == pytest.approx(expected, nan_ok=True)
    assert other_text == ([0] if np.isnan(expected).any() else [])


@pytest.mark.parametrize(("how", "expected"), [("sum", -3), ("mean", -1.5), ("min", -2), ("max", -1)])
def test_ways_of_merging(how, expected):
    logs = Ragged.from_rows([np.array([-1.0, -2, 0])])
    assert word_probabilities([["abc@@", "d", "</s>"]], logs, [["abcd"]], how)[0].values.tolist() == [expected]


def test_words_take_the_heaviest_span():
    spans = [[ErrorSpan(4, 9, "minor", "A"), ErrorSpan(8, 11, "major", "B"), ErrorSpan(0, 0, "major", "omission")]]
    tags, scores = tags_of_spans(["the cats sat on"], spans, [["the", "cats", "sat", "on"]])
    assert tags.labels[0].tolist() == [False, True, True, False]
    assert tags.category == (("", "A", "B", ""),)
    assert scores[0].tolist() == [0, -1, -5, 0]
