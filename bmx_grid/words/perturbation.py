"""Scored texts: the texts of a segment by role, and perturbations of one text.

Explainers use masks (which words are kept); only this module writes text. A metric
that can score masks directly reads them from the same objects.

Words are separated by single spaces, as in the paper (section 2.1, one feature per token): runs of spaces give empty
words, and joining restores the text exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal, NamedTuple

from bmx_grid.core.ragged import Flags

Role = Literal["source", "reference", "hypothesis"]
Sentence = tuple[str | None, str]  # a source, None if missing, and its translation
# The order of the texts of an item.
ROLES: tuple[Role, ...] = ("source", "reference", "hypothesis")
# White space, and characters without width between words. The joiners U+200C and U+200D are spelling.
ZERO_WIDTH = "\u200b\u2060\ufeff"
BLANK = re.compile(f"[\\s{ZERO_WIDTH}]")
# For `str.strip`. U+3000 is the last white space.
_SPACES = [sign for sign in map(chr, range(0x3001)) if sign.isspace()]
INVISIBLE = "".join(_SPACES) + ZERO_WIDTH


def join_words(words: Sequence[str]) -> str:
    """The text of `words`; `join_words(split_words(text)) == text`."""
    return " ".join(words)


class Item(NamedTuple):
    """The texts of one segment that a metric reads, by role; None for a role that it does not read.

    The ground truth is every text except the hypothesis. The further texts are never perturbed. further_references: in
    addition to the reference, for metrics that read all references. context: the sentences before in the same document
    and their translations, the nearest first, for metrics that read documents.
    """

    source: str | None = None
    reference: str | None = None
    hypothesis: str | None = None
    further_references: tuple[str, ...] = ()
    context: tuple[Sentence, ...] = ()

    @property
    def further(self) -> tuple[tuple[Any, ...], ...]:
        """The further texts by field, without the last empty fields: one that came later changes no key of others."""
        fields: Any = self[len(ROLES) :]
        while fields and not fields[-1]:
            fields = fields[:-1]
        return tuple(fields)

    @property
    def n_characters(self) -> int:
        """The characters of all texts."""
        count = sum(map(len, self.texts().values())) + sum(map(len, self.further_references))
        for source, translation in self.context:
            count += len(source or "") + len(translation)
        return count

    def text(self, role: Role) -> str:
        """The text of a role. Raises ValueError when the item lacks it."""
        text: str | None = getattr(self, role)
        if text is None:
            raise ValueError(f"an item without a {role} was handed to something that reads it")
        return text

    def texts(self) -> dict[Role, str]:
        """The texts that are not None, by role, in the order of ROLES."""
        texts: dict[Role, str] = {}
        for role in ROLES:
            text: str | None = getattr(self, role)
            if text is not None:
                texts[role] = text
        return texts

    def only(self, roles: Sequence[Role], further: Mapping[str, int]) -> Item:
        """The same item without other texts than those of these roles, and the first ones of further fields."""
        fields: dict[str, Any] = {role: self.text(role) for role in roles}
        for name, most in further.items():
            fields[name] = getattr(self, name)[:most]
        return Item(**fields)

    def replace_text(self, role: Role, text: str) -> Item:
        """The same item with another text in one role."""
        changed: dict[str, Any] = {role: text}
        return self._replace(**changed)


@dataclass(frozen=True, eq=False)
class Plan:
    """The perturbed versions of one text of one segment (K texts, n words).

    words: the n words of the unperturbed text.
    keep: bool[K, n], True for a kept word; None when `texts` holds the texts themselves.
    replacement: the text in place of a word that is hidden. "" leaves its two spaces (the paper's
        Erasure), None removes the word and one space.
    texts: the K texts, for explainers whose perturbations are not masks.
    gaps: the n + 1 pieces of text before, between and after the words; None for single spaces between them. A word that
        is removed with one space takes the gap before it along, the first word of a text the gap after it.
    design: data of the explainer for turning scores into attributions; no other code reads it.
    """

    words: tuple[str, ...]
    keep: Flags | None = None
    replacement: str | None = None
    texts: Sequence[str] | None = None
    design: Any = None
    gaps: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        count = len(self.words)
        if (self.keep is None) == (self.texts is None):
            raise ValueError("a plan has either masks (keep) or texts")
        if self.keep is not None and self.keep.shape[1:] != (count,):
            raise ValueError(f"masks of shape {self.keep.shape} do not fit {count} words")
        if self.gaps is not None and (self.keep is None or len(self.gaps) != count + 1):
            raise ValueError("gaps need masks: they are the texts before, between and after the masks' words")

    def __len__(self) -> int:
        if self.keep is not None:
            return len(self.keep)
        assert self.texts is not None
        return len(self.texts)

    def render(self, some: slice = slice(None)) -> list[str]:
        """The K perturbed texts, in order, or a slice."""
        if self.texts is not None:
            return list(self.texts[some])
        assert self.keep is not None
        texts = []
        # Lists, as single values of an array take long to read.
        for row in self.keep[some].tolist():
            if self.gaps is not None:
                texts.append(self._join_text(row, self.gaps))
            elif self.replacement is not None:
                shown = [word if kept else self.replacement for word, kept in zip(self.words, row, strict=True)]
                texts.append(join_words(shown))
            else:
                texts.append(join_words(list(compress(self.words, row))))
        return texts

    def _join_text(self, kept: Sequence[bool], gaps: tuple[str, ...]) -> str:
        """One text; gaps[0] and the last gap are always kept."""
        pieces: list[str] = []
        if self.replacement is not None:
            for word, stays, gap_after in zip(self.words, kept, gaps[1:], strict=True):
                pieces.append(word if stays else self.replacement)
                pieces.append(gap_after)
            return gaps[0] + "".join(pieces)
        # A removed word takes the gap before it along; the first kept word has the first gap before it.
        for word, stays, gap_before in zip(self.words, kept, gaps[:-1], strict=True):
            if stays and pieces:
                pieces.append(gap_before)
            if stays:
                pieces.append(word)
        return gaps[0] + "".join(pieces) + gaps[-1]


@dataclass(frozen=True, eq=False)
class Request:
    """A request to score each text of `plan` in place of the text of `role`; other texts of `item` are unchanged."""

    plan: Plan
    role: Role
    item: Item

    def items(self, some: slice = slice(None)) -> list[Item]:
        """The K perturbed items, or a slice."""
        return [self.item.replace_text(self.role, text) for text in self.plan.render(some)]
