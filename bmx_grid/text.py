"""The only place that splits a text into words or joins words into a text.

Words are what stands between single spaces, as in the paper (section 2.1, one token a feature):
runs of spaces give empty words, and joining gives back the very same text.
"""

from __future__ import annotations

from collections.abc import Sequence


def split_words(text: str) -> tuple[str, ...]:
    """Words of `text`; the empty text has none."""
    return tuple(text.split(" ")) if text else ()


def join_words(words: Sequence[str]) -> str:
    """The text of `words`; `join_words(split_words(text)) == text`."""
    return " ".join(words)
