"""Words of texts with and without spaces between them."""

import builtins

import pytest

from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.words.segmentation import segmentation
from bmx_grid.words.text import split_words

TEXTS = [
    pytest.param("", id="empty"),
    pytest.param(" ", id="a-blank"),
    pytest.param("  two  blanks ", id="blanks-everywhere"),
    pytest.param("Don't stop, 3.5% of it!", id="English"),
    pytest.param("米勒豪德也使用爵士乐成语。", id="Chinese"),
    pytest.param("私は学校に行きました。カタカナ", id="Japanese"),
    pytest.param("ខ្ញុំស្រលាញ់ភាសាខ្មែរ", id="Khmer"),
    pytest.param("ฉันรักภาษาไทย", id="Thai"),
    pytest.param("हमने देखा।", id="marks-that-are-part-of-letters"),
    pytest.param("a\u200bb\u00a0c\td\ne", id="other-blanks"),
    pytest.param("😀 𠀀字 e\u0301 👩\u200d👩\u200d👧", id="beyond-the-basic-plane"),
]


@pytest.fixture(params=["icu", "characters"])
def unicode_words(request):
    if request.param == "icu":
        pytest.importorskip("icu4py", reason="words=unicode with ICU needs icu4py")
    return segmentation("unicode", engine=request.param)


@pytest.mark.parametrize("text", TEXTS)
def test_words_and_gaps_are_the_text(unicode_words, text):
    for rule in (unicode_words, segmentation("whitespace")):
        found = rule.segment(text)
        assert found.text() == text
        assert len(found.gaps) == len(found.words) + 1
    assert all(word.strip(" \u200b\u00a0\t\n") == word != "" for word in unicode_words.segment(text).words)


@pytest.mark.parametrize("text", TEXTS)
def test_whitespace_is_how_the_paper_splits(text):
    assert segmentation().segment(text).words == split_words(text)


def test_punctuation_is_a_word_and_an_apostrophe_is_part_of_one(unicode_words):
    found = unicode_words.segment("Don't stop, 3.5% of it!")
    assert found.words == ("Don't", "stop", ",", "3.5", "%", "of", "it", "!")
    assert found.gaps == ("", " ", "", " ", "", " ", " ", "", "")


def test_marks_stay_with_their_letters(unicode_words):
    assert unicode_words.segment("हमने देखा।").words == ("हमने", "देखा", "।")


# What an average of 1.3 words per Chinese source becomes.
@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [
        ("米勒豪德也使用爵士乐成语", 5, 10),
        ("私は学校に行きました", 4, 8),
        ("ខ្ញុំស្រលាញ់ភាសាខ្មែរ", 2, 6),
        ("ฉันรักภาษาไทย", 3, 5),
    ],
)
def test_icu_finds_words_where_there_are_no_spaces(text, fewest, most):
    pytest.importorskip("icu4py", reason="words=unicode with ICU needs icu4py")
    by_icu, by_characters = (
        segmentation("unicode", engine=engine).segment(text).words for engine in ("icu", "characters")
    )
    assert len(segmentation().segment(text).words) == 1
    assert fewest <= len(by_icu) <= most < len(by_characters) or text.startswith("ฉัน")
    assert "".join(by_icu) == "".join(by_characters) == text


def test_without_icu_characters_are_words_and_the_engine_says_so(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.startswith("icu4py"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    found = segmentation("unicode")
    assert found.segment("世界 ok").words == ("世", "界", "ok")
    assert found.fingerprint()["engine"].startswith("characters")
    with pytest.raises(UnavailableError, match="pip install"):
        segmentation("unicode", engine="icu")


def test_which_it_was_is_part_of_the_identity():
    pytest.importorskip("icu4py", reason="words=unicode with ICU needs icu4py")
    chosen = [
        ("whitespace", "", "auto"),
        ("unicode", "", "icu"),
        ("unicode", "ja", "icu"),
        ("unicode", "", "characters"),
    ]
    found = [segmentation(*one).fingerprint() for one in chosen]
    assert len({str(one) for one in found}) == 4


@pytest.mark.parametrize(("name", "engine"), [("unicod", "auto"), ("unicode", "ICU")])
def test_unknown_names(name, engine):
    with pytest.raises(ConfigError, match="Available"):
        segmentation(name, engine=engine)
