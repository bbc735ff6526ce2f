"""Splitting a text into words and joining words into a text, for all other modules.

Words are separated by single spaces, as in the paper (section 2.1, one feature per token):
runs of spaces give empty words, and joining restores the text exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# White space, and characters without width that stand between words. The joiners U+200C and U+200D are spelling.
ZERO_WIDTH = "\u200b\u2060\ufeff"
BLANK = re.compile(f"[\\s{ZERO_WIDTH}]")
INVISIBLE = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace()) + ZERO_WIDTH  # for str.strip


def split_words(text: str) -> tuple[str, ...]:
    """Words of `text`; the empty text has none."""
    return tuple(text.split(" ")) if text else ()


def join_words(words: Sequence[str]) -> str:
    """The text of `words`; `join_words(split_words(text)) == text`."""
    return " ".join(words)
