"""Published word tags of a setting beside what its explanation says of the same words."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.evaluations.base import Finished, Floats
from bmx_grid.ragged import Ragged
from bmx_grid.words.alignment import Alignment, Carried, align, carry_labels, carry_scores, carry_tags
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import EOS, Labels, Rows, WordScores, WordTags, sums_by_text

Eos = Literal["keep", "drop"]
Side = Literal["target", "source"]
Flags = NDArray[np.bool_]
SIDES: dict[Role, Side] = {"hypothesis": "target", "source": "source"}  # references have no tags


@dataclass(frozen=True)
class Fit:
    """How tags fit the words that an explanation speaks of.

    n_tags: published tags that count; n_compared: words with a tag and something said of them; n_lost: tags on words
    that share no character with any word of the explanation; n_untagged: words of the explanation without a tag;
    n_differing: segments whose characters are not the same on both sides; examples: the first of these, by name.
    """

    n_tags: int
    n_compared: int
    n_lost: int
    n_untagged: int
    n_differing: int
    examples: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TaggedSide:
    """Tags of one side of N segments, and what is said of these words.

    gold: the tags; scores: of the same words, low for a suspected error, None where labels were given; predicted:
    these labels, None for scores. sums: float64[N] of all scores of a text, those of words without a tag among them.
    fit: how the tags fit.
    """

    side: Side
    gold: Labels
    scores: Ragged | None
    predicted: Labels | None
    sums: Floats
    fit: Fit


def tagged_sides(setting: Finished, eos: Eos) -> list[TaggedSide]:
    """The sides of a setting that have tags and an explanation, the target first.

    An explanation made elsewhere is compared on the tags' own words, to which it is carried where its words are
    others; attributions on the words that were scored, to which the tags are carried. `<EOS>` counts where both have
    it and `eos` keeps it.
    """
    found = []
    for role, side in SIDES.items():
        tags = setting.segments.judgements.tags.get(role)
        if tags is None:
            continue
        if role in setting.words:
            found.append(_of_words(setting, tags, setting.words[role], side, eos))
        elif role in setting.scores.by_role:
            found.append(_of_attributions(setting, tags, role, side))
    return found


def _of_attributions(setting: Finished, tags: WordTags, role: Role, side: Side) -> TaggedSide:
    # What a metric gives a low score for the better is turned: a low attribution is a suspected error.
    turn = 1.0 if setting.metric.higher_is_better else -1.0
    attributions = setting.scores.by_role[role]
    turned = Ragged(turn * attributions.values, attributions.offsets)
    own = _without_end(tags, [len(row) - _ends(row) for row in tags.words])
    carried = _carried(own.words, own.labels.bad.tobytes(), setting.words_of(role))
    gold, scores = carried.only_known(turned)
    fit = Fit(
        n_tags=len(own.labels.bad),
        n_compared=len(gold.bad),
        n_lost=len(carried.lost),
        n_untagged=len(carried.untagged),
        n_differing=len(carried.differing),
        examples=_names(setting, carried.differing),
    )
    return TaggedSide(side, gold, scores, None, _sums(turned), fit)


@functools.lru_cache(maxsize=4)  # the same for every metric and explainer
def _carried(words: Rows, bad: bytes, scored: Rows) -> Carried:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in words])]).astype(np.int64)
    return carry_tags(WordTags(words, Labels(np.frombuffer(bad, dtype=np.bool_), offsets)), scored)


def _of_words(setting: Finished, tags: WordTags, given: WordScores, side: Side, eos: Eos) -> TaggedSide:
    theirs, ours = list(map(_ends, given.words)), list(map(_ends, tags.words))
    kept = [eos == "keep" and one and other for one, other in zip(theirs, ours, strict=True)]
    own = _without_end(
        tags, [len(row) - (end and not keep) for row, end, keep in zip(tags.words, ours, kept, strict=True)]
    )
    said = _first_of(
        given, [len(row) - (end and not keep) for row, end, keep in zip(given.words, theirs, kept, strict=True)]
    )
    alignments = [None if one == other else align(one, other) for one, other in zip(said.words, own.words, strict=True)]
    gold, scores, predicted = [], [], []
    for row, alignment in enumerate(alignments):
        known, values, bad = _on_tagged(said, row, alignment)
        gold.append(own.labels[row][known])
        scores.append(values[known])
        predicted.append(bad[known])
    differing = [row for row, one in enumerate(alignments) if one is not None and not one.exact]
    compared = Labels.from_rows(gold)
    fit = Fit(
        n_tags=len(own.labels.bad),
        n_compared=len(compared.bad),
        n_lost=len(own.labels.bad) - len(compared.bad),
        n_untagged=sum(len(one.tokens_without) for one in alignments if one is not None),
        n_differing=len(differing),
        examples=_names(setting, differing),
    )
    if given.are_labels:
        return TaggedSide(side, compared, None, Labels.from_rows(predicted), _sums(given.values), fit)
    return TaggedSide(side, compared, Ragged.from_rows(scores), None, _sums(given.values), fit)


def _on_tagged(given: WordScores, row: int, alignment: Alignment | None) -> tuple[Flags, Floats, Flags]:
    """For the n tagged words of a text whether anything is said of them, their scores, and whether they are BAD."""
    values = given.values[row]
    if alignment is None:
        return np.ones(len(values), dtype=np.bool_), values, values < 0
    bad, known = carry_labels(alignment, values < 0)
    return known, carry_scores(alignment, values), bad


def _without_end(tags: WordTags, lengths: Sequence[int]) -> WordTags:
    """The tags of the first words of each text."""
    words = tuple(row[:n] for row, n in zip(tags.words, lengths, strict=True))
    return WordTags(words, Labels.from_rows(row[:n] for row, n in zip(tags.labels.rows(), lengths, strict=True)))


def _first_of(given: WordScores, lengths: Sequence[int]) -> WordScores:
    words = tuple(row[:n] for row, n in zip(given.words, lengths, strict=True))
    values = Ragged.from_rows(row[:n] for row, n in zip(given.values.rows(), lengths, strict=True))
    return WordScores(words, values, given.are_labels)


def _ends(words: Sequence[str]) -> bool:
    return bool(words) and words[-1] == EOS


def _sums(scores: Ragged) -> Floats:
    """float64[N]; NaN for a text without words."""
    text = np.repeat(np.arange(len(scores)), scores.lengths)
    return np.where(scores.lengths > 0, sums_by_text(scores.values, text, len(scores)), np.nan)


def _names(setting: Finished, rows: Sequence[int], most: int = 3) -> tuple[str, ...]:
    return tuple(setting.segments.segments[row].name for row in rows[:most])
