"""Tags carried between tokenisations of the same text by its characters."""

import numpy as np
import pytest

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Labels, Ragged
from bmx_grid.words.alignment import align, carry_labels, carry_scores, carry_tags
from bmx_grid.words.tags import WordTags

# tokens with their tags, scored words, expected tags of the words (None: unknown), exact
CARRIED = [
    pytest.param("a b c", "OBO", "a b c", "OBO", True, id="the-same"),
    pytest.param("Hello , world !", "OBOO", "Hello, world!", "BO", True, id="Moses-tokens-joined"),
    pytest.param("Hello, world!", "BO", "Hello , world !", "BBOO", True, id="and-back"),
    pytest.param("He &apos;s &quot; it &amp; &#124;", "OBOBOB", "He's \"it &|", "BBB", True, id="entities"),
    pytest.param("&amp;amp; b", "OB", "&amp; b", "OB", True, id="an-entity-that-is-text"),
    pytest.param("&amp; b", "OB", "&amp; b", "OB", True, id="escaped-on-both-sides"),
    pytest.param("well @-@ known", "OBO", "well-known", "B", True, id="Moses-hyphen"),
    pytest.param("a b", "OB", "a  b", "O?B", True, id="two-blanks-make-an-empty-word"),
    pytest.param("a b", "OB", "a \u200bb", "OB", True, id="zero-width-space"),
    pytest.param("T ü rk 是", "OBOO", "Türk是", "B", True, id="split-Latin-word"),
    pytest.param("１ ﬁ", "OB", "1 fi", "OB", True, id="compatibility-forms"),
    pytest.param("ක්\u200dර b", "OB", "ක්\u200dර b", "OB", True, id="joiners-are-spelling"),
    pytest.param("a “ b", "OBO", 'a " b', "OBO", False, id="one-sign-for-another"),
    pytest.param("a b <EOS>", "OBB", "a b", "OB", False, id="a-token-that-no-text-has"),
    pytest.param("a b", "OB", "a new b", "O?B", False, id="a-word-without-a-tag"),
    pytest.param("", "", "a b", "??", False, id="no-tokens"),
    pytest.param("a", "B", "", "", False, id="no-words"),
]


def tags_of(text, signs):
    words = tuple(text.split(" ")) if text else ()
    return WordTags((words,), Labels.from_rows([[sign == "B" for sign in signs]]))


@pytest.mark.parametrize(("tokens", "signs", "text", "expected", "exact"), CARRIED)
def test_tags_are_carried_by_characters(tokens, signs, text, expected, exact):
    carried = carry_tags(tags_of(tokens, signs), [text.split(" ") if text else []])
    shown = ["?" if not known else "OB"[int(bad)] for bad, known in zip(carried.labels[0], carried.known, strict=True)]
    assert "".join(shown) == expected
    assert carried.differing == (() if exact else (0,))


def test_what_is_not_aligned_is_named_and_counted():
    words = ["the", "big", "cat", "", "sat"]
    carried = carry_tags(tags_of("the cat sat <EOS>", "OOBB"), [words])
    assert (carried.lost, carried.untagged) == (((0, 3),), ((0, 1),)), "not the empty word"
    assert align(["the", "cat", "sat", "<EOS>"], words).differing == len("<EOS>") + len("big")
    assert carried.labels[0].tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("other", ["yy", "yyyyy"], ids=["same-length", "longer"])
def test_no_tag_moves_to_another_word(other):
    """Words that differ completely are unknown, whatever stands beside them."""
    carried = carry_tags(tags_of("one xx three", "OBO"), [["one", other, "three"]])
    assert (carried.lost, carried.untagged) == (((0, 1),), ((0, 1),))
    labels, attributions = carried.only_known(Ragged.from_rows([np.array([1.0, 2, 3])]))
    assert labels.bad.tolist() == [False, False] and attributions.values.tolist() == [1, 3]
    assert labels.offsets.tolist() == attributions.offsets.tolist() == [0, 2]


@pytest.mark.parametrize(("how", "expected"), [("mean", (1 * 2 + 4 * 3) / 5), ("sum", 5.0), ("min", 1.0), ("max", 4.0)])
def test_a_word_of_several_tokens_has_one_score(how, expected):
    alignment = align(["ab", "cde", "f"], ["abcde", "", "f"])
    scores = carry_scores(alignment, np.array([1.0, 4.0, 7.0]), how)
    assert scores == pytest.approx([expected, np.nan, 7.0], nan_ok=True)


def test_a_divided_token_gives_its_score_to_each_word():
    alignment = align(["a-b"], ["a-", "b"])
    assert carry_scores(alignment, np.array([0.5]), "sum").tolist() == [0.5, 0.5]
    assert carry_labels(alignment, np.array([True]))[0].tolist() == [True, True]


def test_values_that_do_not_fit_their_tokens_are_refused():
    with pytest.raises(ValueError, match="2 values for 1 token"):
        carry_labels(align(["a"], ["a"]), np.array([True, False]))
    with pytest.raises(ConfigError, match="mean"):
        carry_scores(align(["a"], ["a"]), np.array([1.0]), "average")
    with pytest.raises(ValueError, match="longer"):
        carry_tags(tags_of("a", "O"), [["a"], ["b"]])
