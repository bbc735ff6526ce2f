"""Repeated sampling the plain way, one corpus after the other: what tests and a benchmark hold `sampling` against."""

import math

import numpy as np

from bmx_grid.core.ragged import Labels
from bmx_grid.measures.word_measures import MEASURES, THE_SIX, measures, statistics


def measures_of(gold, predicted):
    """The measures of one labelling of a corpus, by name."""
    return dict(zip(MEASURES, measures(statistics(gold, predicted).sum(axis=0)).tolist(), strict=True))


def plain_corpora(gold, labellings, errors, samples, rng):
    """For each sample the labelled corpora with at least these numbers of errors, drawn as `sampled_sums` draws."""
    rows = [labels.rows() for labels in labellings]
    true = gold.rows()
    pool = [
        (labelling, text)
        for labelling in range(len(rows))
        for text in range(len(gold))
        if (rows[labelling][text] != true[text]).any()
    ]
    for _ in range(samples):
        corpus, taken, count, drawn = list(true), set(), 0, 0
        corpora = []
        for wanted in errors:
            while count < wanted:
                place = drawn + math.floor(rng.random() * (len(pool) - drawn))
                pool[drawn], pool[place] = pool[place], pool[drawn]
                labelling, text = pool[drawn]
                drawn += 1
                if text not in taken:
                    taken.add(text)
                    corpus[text] = rows[labelling][text]
                    count += int((corpus[text] != true[text]).sum())
            corpora.append(Labels.from_rows(corpus))
        yield corpora


def plain_values(gold, labellings, errors, samples, rng):
    """float64[samples, T, 6] the six measures, each of a whole corpus."""
    values = []
    for corpora in plain_corpora(gold, labellings, errors, samples, rng):
        measured = [measures_of(gold, corpus) for corpus in corpora]
        values.append([[of_corpus[name] for name in THE_SIX] for of_corpus in measured])
    return np.array(values)
