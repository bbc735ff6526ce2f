"""Repeated sampling: corpora with a chosen number of errors, all made by real labellings (Logacheva et al. 2016).

Section 3.2: sequences that hold wrong labels are drawn from the outputs of real systems until the errors reach a
threshold, and all other sequences have their true labels. A sequence is taken as it is, so a corpus may have a few
errors more than the threshold.

Where the paper is ambiguous: a sequence is a text here, of all labellings those that are wrong in it being drawn with
equal probability, without replacement; a text that was already drawn from another labelling is passed over, since the
rest of the corpus can only be "taken from the gold standard" if every text is there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Labels, sums_by_text
from bmx_grid.core.wording import pluralize
from bmx_grid.measures.ordered import compile_kernel
from bmx_grid.measures.word_measures import statistics

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Erring:
    """The M sequences with wrong labels of some labellings of N texts.

    text: int64[M] the text of each; errors: int64[M] its wrong labels, at least 1; changes: float64[M, 18]
    `labels.statistics` of the sequence less those of the true labels of its text. true: float64[18] sums of the
    statistics of the true labels. texts, words: N and how many words they have.
    """

    text: Ints
    errors: Ints
    changes: Floats
    true: Floats
    texts: int
    words: int

    @property
    def attainable(self) -> float:
        """The share of words that is wrong where each text has an erring sequence if there is one: the expected one."""
        sums, counts = (np.bincount(self.text, weights, minlength=self.texts) for weights in (self.errors, None))
        return float((sums / np.maximum(counts, 1)).sum() / self.words)


def erring_sequences(gold: Labels, labellings: Sequence[Labels]) -> Erring:
    """The sequences of labellings that differ from `gold`. Raises ValueError for labellings of other words."""
    perfect = statistics(gold, gold)
    text, errors, changes = [], [], []
    for one in labellings:
        own = statistics(gold, one)
        wrong = sums_by_text(one.bad != gold.bad, gold.row_of_word(), len(gold)).astype(np.int64)
        (rows,) = np.nonzero(wrong)
        text.append(rows.astype(np.int64))
        errors.append(wrong[rows])
        changes.append(own[rows] - perfect[rows])
    return Erring(
        np.concatenate(text, dtype=np.int64) if text else np.empty(0, dtype=np.int64),
        np.concatenate(errors, dtype=np.int64) if errors else np.empty(0, dtype=np.int64),
        np.concatenate(changes) if changes else np.empty((0, perfect.shape[1])),
        perfect.sum(axis=0),
        len(gold),
        len(gold.bad),
    )


def errors_at(pool: Erring, shares: Sequence[float]) -> Ints:
    """int64[T] the fewest wrong words that are at least these shares (in percent) of all words."""
    # Rounded first: 30.1 % of 1,000 words is 301, and not the 302nd because of binary fractions.
    found: Ints = np.ceil(np.round(np.array(shares) * pool.words / 100, 6)).astype(np.int64)
    return found


def sampled_sums(pool: Erring, errors: Ints, samples: int, rng: np.random.Generator) -> Floats:
    """float64[samples, T, 18] statistics of corpora with at least int64[T] `errors`, in ascending order.

    The T corpora of a sample grow from one another, the next one by further sequences: for a comparison of thresholds
    take them from different samples. Raises ValueError for thresholds that descend, DataError where a sample runs out
    of sequences.
    """
    if (np.diff(errors) < 0).any():
        raise ValueError("thresholds must be in ascending order")
    moving = np.flatnonzero((pool.changes != 0).any(axis=0))
    found = np.empty((samples, len(errors), len(moving)))
    order, taken = np.arange(len(pool.text)), np.zeros(pool.texts, dtype=np.int64)
    changes = np.ascontiguousarray(pool.changes[:, moving])
    kept = np.empty(len(order) + 1, dtype=np.int64)
    kernel = compile_kernel(_draw)
    done = kernel(rng, order, taken, pool.text, pool.errors, changes, pool.true[moving], errors, kept, found)
    if done < samples:
        raise DataError(
            f"{pluralize(int(errors[-1]), 'error')} among {pluralize(pool.words, 'word')} cannot be sampled: with one "
            f"erring labelling per text about {100 * pool.attainable:.1f} % of them are wrong; choose lower thresholds."
        )
    sums = np.tile(pool.true, (samples, len(errors), 1))
    sums[..., moving] = found
    return sums


def _draw(
    rng: np.random.Generator,
    order: Ints,
    taken: Ints,
    text: Ints,
    errors: Ints,
    changes: Floats,
    true: Floats,
    wanted: Ints,
    kept: Ints,
    found: Floats,
) -> int:
    """Fill found, one sample after the other; how many there are before one runs out of sequences.

    order is shuffled only as far as sequences are drawn (Fisher and Yates): where it starts does not matter. kept: room
    for the sequences of a sample.
    """
    sequences, columns = len(order), len(true)
    for sample in range(len(found)):
        sums = true.copy()
        count, drawn, held, summed, reached = 0, 0, 0, 0, 0
        while reached < len(wanted):
            if count >= wanted[reached]:
                for place in range(summed, held):
                    one = kept[place]
                    for column in range(columns):
                        sums[column] += changes[one, column]
                summed = held
                found[sample, reached] = sums
                reached += 1
                continue
            if drawn == sequences:
                return sample
            other = drawn + int(rng.random() * (sequences - drawn))
            one = order[other]
            order[other] = order[drawn]
            order[drawn] = one
            drawn += 1
            # Without a branch: whether a text was drawn before is a coin toss, which processors predict badly.
            of_text = text[one]
            new = taken[of_text] != sample + 1
            taken[of_text] = sample + 1
            kept[held] = one
            held += new
            count += errors[one] * new
    return len(found)
