"""Worlds in which people and attributions see the same trait of texts or groups, and one in which errors are marked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from planted import Floats, Ints, Rng, World, words_of

from bmx_grid.words.segmentation import TEXT_STATISTICS, text_statistics

N = 560  # as WMT17
VOCABULARY = 5000  # words, of which the nth is n times rarer than the first
RARE = 2  # occurrences in all texts, at most
OTHER_NOISE = 0.8  # standard deviations, of people
# Of the errors that people see; marked words are right or wrong by chance of these.
WRONG_WORDS = (1.2, 5.0)  # a beta distribution
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def standardised(values: Floats) -> Floats:
    """Float64[n] in standard deviations from the mean."""
    return (values - values.mean()) / (values.std() or 1.0)


def seen(score: Floats, trait: Floats, words: Ints, rng: Rng, **known: object) -> World:
    """People add a trait to the score, and noise; the attributions of each word are the trait, and noise."""
    trait = standardised(trait.astype(np.float64))
    human = score + trait + OTHER_NOISE * rng.normal(size=len(score))
    level = trait - np.median(trait)
    return World(score, human, level, 0.29 * (np.abs(level) + 1), words, **known)  # type: ignore[arg-type]


def written(rng: Rng, n_words: Ints) -> list[list[str]]:
    """Texts of words of a vocabulary, some of them numbers."""
    ranks = np.exp(rng.uniform(0, np.log(VOCABULARY), n_words.sum())).astype(np.int64)
    is_number = rng.random(len(ranks)) < 0.03
    words = [str(rank % 100) if number else spelled(rank) for rank, number in zip(ranks, is_number, strict=True)]
    ends = np.cumsum(n_words)
    return [words[end - size : end] for end, size in zip(ends, n_words, strict=True)]


def spelled(number: int) -> str:
    """A word of letters for each number."""
    word = ""
    while number:
        number, letter = divmod(number, len(LETTERS))
        word += LETTERS[letter]
    return word


def statistic(name: str, texts: list[list[str]]) -> Floats:
    """A statistic of each text, as verdicts know it."""
    columns = text_statistics(texts, np.arange(len(texts)))
    return columns[:, TEXT_STATISTICS.index(name)]


def any_rare(texts: list[list[str]]) -> Floats:
    """1 for texts with a word that occurs RARE times at most, else 0."""
    words, counts = np.unique([word for text in texts for word in text], return_counts=True)
    rare = set(words[counts <= RARE].tolist())
    return np.array([not rare.isdisjoint(text) for text in texts], dtype=np.float64)


def step(values: Floats) -> Floats:
    """Whether values are above their median."""
    return (values > np.median(values)).astype(np.float64)


TRAITS: dict[str, Callable[[list[list[str]]], Floats]] = {
    "a step of the share of unseen words": lambda texts: step(statistic("share_unseen", texts)),
    "the square of the mean frequency": lambda texts: standardised(statistic("mean_log_frequency", texts)) ** 2,
    "any rare word": any_rare,
    "digits": lambda texts: np.expm1(statistic("count_digits", texts)).clip(max=6),
    "unseen words": lambda texts: np.expm1(statistic("count_unseen", texts)).clip(max=8),
}


def by_text(rng: Rng, trait: Callable[[list[list[str]]], Floats], n: int = N) -> World:
    """The trait of a hypothesis."""
    words = words_of(rng, n)
    hypotheses = written(rng, words[:, 1])
    texts = {"hypothesis": [" ".join(text) for text in hypotheses]}
    return seen(rng.normal(size=n), trait(hypotheses), words, rng, texts=texts)


def by_source(rng: Rng, n: int = N) -> World:
    """The length of sources, which the metric does not read."""
    words = words_of(rng, n)
    n_source = np.clip(words[:, 0] + rng.integers(-6, 7, n), 3, None)
    sources = [" ".join(text) for text in written(rng, n_source)]
    return seen(rng.normal(size=n), np.log(n_source), words, rng, texts={"source": sources}, reads_source=False)


def by_slope(rng: Rng, systems: int = 6, n: int = N) -> World:
    """Named systems, each with a slope on the score."""
    system = rng.permutation(n) % systems
    score = rng.normal(size=n)
    slope = rng.normal(size=systems)[system]
    return seen(score, slope * score, words_of(rng, n), rng, systems=system)


def by_small_system(rng: Rng, systems: int = 80, n: int = N) -> World:
    """80 named systems of 7 segments, each with a level."""
    system = rng.permutation(n) % systems
    level = rng.normal(size=systems)[system]
    return seen(rng.normal(size=n), level, words_of(rng, n), rng, systems=system)


def by_rater_of_document(rng: Rng, raters: int = 6, each: int = 8, n: int = N) -> World:
    """Named documents of 8 segments, each rated by one of six people who are not named, with a level each."""
    document = np.arange(n) // each
    rater = rng.integers(raters, size=document.max() + 1)[document]
    level = rng.normal(size=raters)[rater]
    words = words_of(rng, n)
    # No two segments have the same source.
    sources = [f"{row} {' '.join(text)}" for row, text in enumerate(written(rng, words[:, 0]))]
    known = {"groups": document, "blocks": {"document": document}, "texts": {"source": sources}}
    return seen(rng.normal(size=n), level, words, rng, **known)


def by_difficulty(rng: Rng, share: float = 0.48, n: int = N) -> World:
    """A share of the segments are two outputs for one source each; each source has a difficulty."""
    source = np.arange(n)
    n_shared = int(share * n)
    source[:n_shared] //= 2
    source[n_shared:] += 1
    difficulty = rng.normal(size=source.max() + 1)[source]
    return seen(rng.normal(size=n), difficulty, words_of(rng, n), rng, groups=source, items=source)


def by_errors(rng: Rng, precision: float, n: int = 300) -> World:
    """People see the share of wrong words, which the metric misses; attributions mark them with such a precision.

    The recall is the same. Attributions of the source say nothing.
    """
    words = words_of(rng, n)
    rate = rng.beta(*WRONG_WORDS, n).clip(max=0.9)
    is_wrong = rng.random(words[:, 1].sum()) < np.repeat(rate, words[:, 1])
    starts = np.cumsum(words[:, 1]) - words[:, 1]
    share = np.add.reduceat(is_wrong.astype(np.float64), starts) / words[:, 1]
    recall = precision
    wrong = is_wrong.mean()
    falsely = recall * wrong * (1 - precision) / precision / (1 - wrong)
    marked = rng.random(len(is_wrong)) < np.where(is_wrong, recall, falsely)
    marks = np.where(marked, -1.0, 1.0) + 0.3 * rng.normal(size=len(is_wrong))
    score = rng.normal(size=n)
    human = 0.35 * score - 0.4 * standardised(share) + np.sqrt(1 - 0.35**2 - 0.4**2) * rng.normal(size=n)
    return World(score, human, np.ones(n), np.full(n, 0.3), words, marks=marks)


GROUPS: dict[str, Callable[[Rng], World]] = {
    "named systems with a slope on the score": by_slope,
    "80 named systems of 7 segments": by_small_system,
    "named documents, each rater a level": by_rater_of_document,
    "48 % of the segments share a source, its difficulty": by_difficulty,
    "the length of a source that the metric does not read": by_source,
}
PLANTED: dict[str, Callable[[Rng], World]] = {name: partial(by_text, trait=trait) for name, trait in TRAITS.items()}
PLANTED |= GROUPS
