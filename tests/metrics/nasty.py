"""Texts and masks that break n-gram metrics, and the oracle's view of a request."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pairs import request_of

from bmx_grid.words.perturbation import Plan, Request, split_words

# What tokenizers, entity tables and white space have rules for, and letters that are more than one character.
PIECES = (
    *(".", ",", "-", "'", '"', "&", "<", ">", "/", "@", "5", "12"),
    *("a", "the", "A", "É", "Σ", "ΟΔΟΣ", "İ", "ß", "漢", "。"),
    *("&quot;", "&amp;", "&amp;amp;", "&apos;", "&lt;", "quot;", "<skipped>", "<skip", "ped>", "UNKWORDZ", "_", "~"),
    *("\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}", "\N{LINE SEPARATOR}", "\x85", "\x1c", "\t", "\r", "\n", "-\n"),
    *("\N{ZERO WIDTH SPACE}", "\N{SOFT HYPHEN}", "\N{COMBINING ACUTE ACCENT}", "\N{GRINNING FACE}", "\ufeff"),
)

PAIRS = [
    pytest.param("the cat sat on the mat .", "a cat sat on the mat .", id="plain"),
    pytest.param("paid 5,3 and 3.5 -- 1-2 a.-b .5 5. ,", "paid 5,3 or 3.5 - 1-2 a.-b .5 5.", id="numbers"),
    pytest.param("say &quot; it &amp;amp; that &apos;s", "say \" it &amp; that 's", id="entities"),
    pytest.param("a\N{NO-BREAK SPACE}b c\N{NO-BREAK SPACE}", "a b c", id="no-break-space"),
    pytest.param("ΟΔΟΣ. ΣΑΣ İstanbul", "οδος . σας istanbul", id="lower-casing"),
    pytest.param("one <skipped> two", "one two <skipped>three", id="skipped"),
    pytest.param("so  many   spaces ", " so many  spaces", id="repeated-spaces"),
    pytest.param("lines-\njoined and\nsplit -\n", "linesjoined and split", id="line-feeds"),
    pytest.param("the the the the the", "the the the", id="repeats-clipped"),
    pytest.param("UNKWORDZ is a word UNKWORDZ here", "UNKWORDZ is a word here", id="stand-in-is-a-word"),
    pytest.param("word", "word", id="one-word"),
    pytest.param("word", "other", id="nothing-shared"),
    pytest.param("", "against nothing", id="empty-reference"),
    pytest.param("against nothing", "", id="empty-hypothesis"),
    pytest.param("", "", id="both-empty"),
    pytest.param("   ", " ", id="only-spaces"),
    pytest.param("漢字 の 文。 5 . 3", "漢字 文。 5.3", id="cjk"),
]


def random_text(rng: np.random.Generator, n_pieces: int) -> str:
    """Pieces with spaces thrown in between."""
    return "".join(rng.choice([*PIECES, *[" "] * len(PIECES)]) for _ in range(n_pieces))


def short_texts(alphabet: str, longest: int) -> list[str]:
    """Every text of up to `longest` characters."""
    return ["".join(text) for n in range(longest + 1) for text in itertools.product(alphabet, repeat=n)]


def masked(text: str, other: str, side: str, replacement: str | None, seed: int = 0) -> Request:
    """All words, none of them, each one gone, and some random masks."""
    words = split_words(text)
    rng = np.random.Generator(np.random.PCG64(seed))
    n = len(words)
    keep = np.concatenate([np.ones((1, n)), np.zeros((1, n)), 1 - np.eye(n), rng.random((6, n)) < 0.7]).astype(bool)
    return request_of(Plan(words, keep=keep, replacement=replacement), side, other)


def requests_of(reference: str, hypothesis: str) -> list[Request]:
    """Both sides masked, with every kind of replacement."""
    stand_ins = ("UNKWORDZ", "", None, "the", "5", ".", "two words", "-\n")
    sides = (("ground_truth", reference, hypothesis), ("hypothesis", hypothesis, reference))
    return [masked(text, other, side, stand_in) for side, text, other in sides for stand_in in stand_ins]
