"""Files of word tags and word scores as experiments/word_level_2016 reads them, sub-words, and error spans."""

import numpy as np
import pytest
from word_submissions import (
    read_gold,
    read_word_predictions,
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"pair": "en-de"}, "line 4: the language pair 'en-de' is not 'xx-yy'", id="another-pair"),
        pytest.param({"rows": ROWS[:4]}, "sentence 1 are 'c', but line 2 of .*mt_tok has 'c <EOS>'", id="missing"),
        pytest.param({"rows": [*ROWS, ROWS[0]]}, "token 0 of sentence 0 was already tagged", id="doubled"),
        pytest.param({"rows": ["0\t0\ta\tGOOD"]}, "line 4: the tag 'GOOD' is not OK or BAD", id="another-label"),
        pytest.param({"rows": ["0\t0\tz\tOK"]}, "the words of sentence 0 are 'z', but line 1 of", id="another-word"),
    ],
)
def test_mistakes_in_predictions(predicted, changes, message):
    with pytest.raises(DataError, match=message):
        predicted(**changes)


def test_zero_width_spaces_have_tags_of_their_own(gold_of):
    given = {"tags": ["OK BAD BAD OK OK", "BAD OK"], "texts": ["a \u200b\u200bb", "c"]}
    dropped, kept = gold_of(**given), gold_of(**given, zero_width="keep")
    assert dropped.surplus == {0: (1, 2)} and dropped.tags.labels[0].tolist() == [False, False, False]
    assert kept.tags.words[0] == ("a", "\u200b", "\u200b", "b", "<EOS>")


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


def test_words_take_the_heaviest_span():
    spans = [[ErrorSpan(4, 9, "minor", "A"), ErrorSpan(8, 11, "major", "B"), ErrorSpan(0, 0, "major", "omission")]]
    tags, scores = tags_of_spans(["the cats sat on"], spans, [["the", "cats", "sat", "on"]])
    assert tags.labels[0].tolist() == [False, True, True, False]
    assert tags.category == (("", "A", "B", ""),)
    assert scores[0].tolist() == [0, -1, -5, 0]
