"""Tags of zero-width spaces, sub-words, and error spans."""

import numpy as np
import pytest
from word_submissions import read_gold

from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.mlqe_pe import word_probabilities
from bmx_grid.words.tags import ErrorSpan, tags_of_spans


def test_zero_width_spaces_have_tags_of_their_own(tmp_path):
    """As experiments/word_level_2016 reads them; tests/published has the official numbers of what it reads."""
    for name, lines in (
        ("xx-yy.tags", "OK BAD BAD OK OK\nBAD OK\n"),
        ("mt_tok", "a b <EOS>\nc <EOS>\n"),
        ("mt", "a \u200b\u200bb\nc\n"),
    ):
        (tmp_path / f"test.2022.{name}").write_text(lines, encoding="utf-8")
    dropped, kept = read_gold(tmp_path, "xx-yy"), read_gold(tmp_path, "xx-yy", zero_width="keep")
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
    omissions = [ErrorSpan(place, place, "major", "omission") for place in (0, 14)]
    spans = [[ErrorSpan(4, 9, "minor", "A"), ErrorSpan(8, 11, "major", "B"), *omissions]]
    tags, scores = tags_of_spans(["the cats sat on"], spans, [["the", "cats", "sat", "on"]])
    assert tags.labels[0].tolist() == [False, True, True, False]
    assert tags.category == (("", "A", "B", ""),)
    assert scores[0].tolist() == [0, -1, -5, 0]
