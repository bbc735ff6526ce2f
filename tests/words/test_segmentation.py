"""Words of texts with and without spaces between them."""

import importlib.util
import sys

import pytest

from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.words.segmentation import segmentation, split_words

TEXTS = [
    pytest.param("", id="empty"),
    pytest.param(" ", id="a-blank"),
    pytest.param("  two  blanks ", id="blanks-everywhere"),
    pytest.param("米勒豪德也使用爵士乐成语。", id="Chinese"),
    pytest.param("私は学校に行きました。カタカナ", id="Japanese"),
    pytest.param("a\u200bb\u00a0c\td\ne", id="other-blanks"),
    pytest.param("😀 𠀀字 e\u0301 👩\u200d👩\u200d👧", id="beyond-the-basic-plane"),
]
ICU = pytest.mark.skipif(importlib.util.find_spec("icu4py") is None, reason="words=unicode needs icu4py")


@pytest.fixture(params=[pytest.param("icu", marks=ICU), "characters"])
def unicode_words(request):
    return segmentation("unicode", engine=request.param)


@pytest.mark.parametrize("text", TEXTS)
def test_words_and_gaps_are_the_text(unicode_words, text):
    for rule in (unicode_words, segmentation("whitespace")):
        words, (first, *gaps) = rule.segment(text)
        pieces = zip(words, gaps, strict=True)
        assert first + "".join(word + gap for word, gap in pieces) == text
    assert all(word.strip(" \u200b\u00a0\t\n") == word != "" for word in unicode_words.segment(text)[0])
    assert segmentation().segment(text)[0] == split_words(text), "as the paper splits"


def test_punctuation_is_a_word_and_an_apostrophe_is_part_of_one(unicode_words):
    words, gaps = unicode_words.segment("Don't stop, 3.5% of it!")
    assert words == ("Don't", "stop", ",", "3.5", "%", "of", "it", "!")
    assert gaps == ("", " ", "", " ", "", " ", " ", "", "")
    assert unicode_words.segment("हमने देखा।")[0] == ("हमने", "देखा", "।"), "marks stay with their letters"


# What an average of 1.3 words per Chinese source becomes.
@ICU
@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [
        ("米勒豪德也使用爵士乐成语", 5, 10),
        ("私は学校に行きました", 4, 8),
        ("ខ្ញុំស្រលាញ់ភាសាខ្មែរ", 2, 6),
    ],
)
def test_icu_finds_words_where_there_are_no_spaces(text, fewest, most):
    by_icu, by_characters = (
        segmentation("unicode", engine=engine).segment(text)[0] for engine in ("icu", "characters")
    )
    assert len(segmentation().segment(text)[0]) == 1
    assert fewest <= len(by_icu) <= most < len(by_characters)
    assert "".join(by_icu) == "".join(by_characters) == text


def test_without_icu_characters_are_words_and_the_engine_says_so(monkeypatch):
    for name in ("icu4py", "icu4py.breakers"):
        monkeypatch.setitem(sys.modules, name, None)
    by_characters = segmentation("unicode")
    assert by_characters.segment("世界 ok")[0] == ("世", "界", "ok")
    assert by_characters.engine.startswith("characters")
    with pytest.raises(UnavailableError, match="pip install"):
        segmentation("unicode", engine="icu")


@ICU
def test_which_it_was_is_part_of_the_identity():
    chosen = [
        ("whitespace", "", "auto"),
        ("unicode", "", "icu"),
        ("unicode", "ja", "icu"),
        ("unicode", "", "characters"),
    ]
    assert len({segmentation(*names).engine for names in chosen}) == 4
    with pytest.raises(ConfigError, match="Available"):
        segmentation("unicod")
