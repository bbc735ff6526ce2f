"""Nasty (ground truth, hypothesis) pairs, the same for the same seed: what data sets hold by accident."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
PIECES = {
    "nothing": [""],
    "blanks": [" ", "   ", "\t", "\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}", "\u200b", "\u2028", "\v\f"],
    "control characters": ["\x00", "a\x00b", "\x1b[31m", "\x7f", "\x85", "\ufeff", "\ufffe", "\r", "\n"],
    "punctuation": [".", "...", "?!", "&quot;", "&amp;amp;", "\\", "\\1", "{}", "%s", "${seed}", "'", '"', "–", "«»"],
    "emoji": ["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "1️⃣"],
    "right to left": ["שלום", "مرحبا", "\N{RIGHT-TO-LEFT OVERRIDE}abc", "\N{RIGHT-TO-LEFT MARK}", "עברית123english"],
    "combining marks": ["\u0301", "e\u0301", "\u0301\u0302\u0303", "a" + "\u0300" * 50, "ﷺ", "ﬁ"],
    "scripts": ["漢字", "猫坐在垫子上。", "한국어", "ภาษาไทย", "हिन्दी", "Größe", "ẞ", "İ", "ǅ", "𝒜", "\ue000"],
    "numbers": ["3.5", "3,5", "1,000.00", "-1e9", "nan", "inf", "0", "٣", "²", "½"],
    "masks": ["UNKWORDZ", "[MASK]", "<mask>", "[UNK]", "</s>", "##ing", "▁the", "<unk>", "@@"],
    "words": ["the", "cat", "sat", "on", "the", "mat", ".", "The", "THE", "don't", "U.S.", "a.b", "x"],
}  # fmt: skip
KINDS = list(PIECES)


def _words(rng: Rng) -> str:
    """A text of a few pieces, of one kind or of all."""
    chosen = KINDS if rng.random() < 0.5 else [KINDS[rng.integers(len(KINDS))]]
    pieces = [piece for kind in chosen for piece in PIECES[kind]]
    return " ".join(pieces[place] for place in rng.integers(len(pieces), size=rng.integers(0, 13)))


def _repeated(rng: Rng) -> str:
    """One piece again and again."""
    pieces = [piece for kind in KINDS for piece in PIECES[kind]]
    return " ".join([pieces[rng.integers(len(pieces))]] * int(rng.integers(1, 40)))


def _characters(rng: Rng) -> str:
    """Any characters but surrogates, which no UTF-8 file can hold: they are put in by `inputs`."""
    points = rng.integers(0x110000, size=rng.integers(1, 60))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


def _long_side(rng: Rng) -> str:
    """More words than one permutation of SHAP has room for."""
    return " ".join(f"w{number % 97}" for number in range(int(rng.integers(250, 400))))


def _very_long_side(rng: Rng) -> str:
    return " ".join(f"w{number}" for number in range(3_000))


def _long_word(rng: Rng) -> str:
    """A word of 100,000 characters, alone or among others."""
    return "a" * 100_000 + (" b" if rng.random() < 0.5 else "")


_MAKERS: list[tuple[Callable[[Rng], str], int]] = [
    (_words, 60),
    (_repeated, 15),
    (_characters, 20),
    (_long_side, 3),
    (_very_long_side, 1),
    (_long_word, 1),
]
_FIRST = [("", ""), ("", "cat"), ("cat", ""), (" ", " "), (".", "..."), ("\x00", "\x00"), ("cat", "cat")]


def inputs(seed: int, count: int, surrogates: bool = False) -> list[tuple[str, str]]:
    """`count` pairs. The first are the smallest nasty ones; a tenth of the others are equal on both sides.

    surrogates: every tenth pair holds half of a character, which a program may pass on but no file holds.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    makers = [maker for maker, share in _MAKERS for _ in range(share)]
    found = list(_FIRST[:count])
    while len(found) < count:
        truth = makers[rng.integers(len(makers))](rng)
        found.append((truth, truth if rng.random() < 0.1 else makers[rng.integers(len(makers))](rng)))
    if surrogates:
        for row in range(9, count, 10):
            found[row] = (found[row][0] + "\ud83d", found[row][1]) if row % 20 == 9 else (found[row][0], "a \udcff b")
    return found
