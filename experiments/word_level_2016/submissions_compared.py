"""Submissions to WMT22 ranked by the six measures, tested pair by pair, and compared with synthetic labellings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from distinction import Correction, distinction
from numpy.typing import NDArray
from randomisation import Randomised, approximate_randomisation, p_bounds
from synthetic import DRAWN, SYNTHETIC, synthetic_labels
from word_submissions import Choice, read_gold, read_word_predictions, submissions

from bmx_grid.core.ragged import Labels
from bmx_grid.measures.word_measures import MEASURES, THE_SIX, label_measures, measures, statistics

Floats = NDArray[np.float64]
Row = dict[str, Any]

PAIRS = ("en-cs", "en-de", "en-ja", "en-mr", "en-ru")
LABELLING = 6  # a stream of random numbers of its own, whatever else the seed is used for
ALPHA = 0.05
CORRECTIONS: tuple[Correction, ...] = ("bonferroni", "holm")


@dataclass(frozen=True, eq=False)
class Submitted:
    """One language pair: the true labels, the submissions by name, and `labels.statistics` of each."""

    pair: str
    gold: Labels
    labellings: Mapping[str, Labels]
    statistics: Mapping[str, Floats]

    @classmethod
    def read(cls, data: Path, pair: str, eos: Choice) -> Submitted:
        """From the folder of data sets. Raises what the readers raise."""
        folder = data / "wmt-qe-2022-data"
        truth = read_gold(folder / "test_data-gold_labels" / "task1_word-level" / pair, pair, eos)
        files = submissions(folder / "official_submissions" / "task1_word-level" / pair, "predictions.txt")
        found = {name: read_word_predictions(path, truth) for name, path in files.items()}
        gold = truth.tags.labels
        return cls(pair, gold, found, {name: statistics(gold, one) for name, one in found.items()})

    def values(self) -> Floats:
        """float64[S, 6] of the submissions, in the order of THE_SIX."""
        return np.stack([six(one) for one in self.statistics.values()])


def six(table: Floats) -> Floats:
    """float64[6] of the statistics of a labelling."""
    found: Floats = measures(table.sum(axis=0))[[MEASURES.index(name) for name in THE_SIX]]
    return found


def ranked(given: Submitted, resamples: int, seed: int) -> Iterator[Row]:
    """A row for each submission and measure: value, 95 % bootstrap interval over texts, rank."""
    values = given.values()
    ranks = 1 + (values[None] > values[:, None]).sum(axis=1)
    for place, (name, table) in enumerate(given.statistics.items()):
        found = label_measures(table, resamples=resamples, seed=seed)
        for column, measure in enumerate(THE_SIX):
            value, low, high, n_segments, _ = found[measure]
            yield {
                **{"language_pair": given.pair, "submission": name, "measure": measure},
                **{"value": value, "low": low, "high": high, "rank": int(ranks[place, column])},
                **{"n_segments": n_segments, "n_words": len(given.gold.bad), "n_submissions": len(values)},
            }


def tested(given: Submitted, rounds: int, seed: int) -> Randomised:
    """All pairs of submissions by all six measures."""
    return approximate_randomisation(list(given.statistics.values()), rounds=rounds, seed=seed)


def pair_rows(given: Submitted, found: Randomised) -> Iterator[Row]:
    """A row for each pair of submissions and measure."""
    names, (low, high) = list(given.statistics), p_bounds(found)
    for place, (first, second) in enumerate(found.pairs):
        for column, measure in enumerate(found.measures):
            yield {
                **{"language_pair": given.pair, "first": names[first], "second": names[second], "measure": measure},
                **{"difference": found.difference[place, column], "p": found.p[place, column]},
                **{"p_low": low[place, column], "p_high": high[place, column]},
                **{"rounds": found.rounds, "n_segments": len(given.gold), "n_pairs": len(found.pairs)},
            }


def distinguished(given: Submitted, found: Randomised, systems: int) -> Iterator[Row]:
    """A row for each measure and correction: how many pairs differ, of all, of the upper and of the lower half.

    low, high: how many it would be at the ends of the 95 % intervals that the finite number of rounds leaves each p.
    correction "bonferroni_of_N": by the number of pairs of that many systems, so that the levels of data sets with
    other numbers of systems are the same; without halves.
    """
    values, bounds = given.values(), p_bounds(found)
    for column, measure in enumerate(found.measures):
        ends = [found.p[:, column], bounds[1][:, column], bounds[0][:, column]]
        head = {"language_pair": given.pair, "measure": measure}
        for correction in CORRECTIONS:
            of = [distinction(values[:, column], found.pairs, p, alpha=ALPHA, correction=correction) for p in ends]
            row: Row = {**head, "correction": correction}
            for name, n in (("d", of[0].n), ("d_top", of[0].n_top), ("d_bottom", of[0].n_bottom)):
                row |= _counted(name, n * (n - 1) // 2, [getattr(one, name) for one in of])
            yield row | {"n": of[0].n, "n_top": of[0].n_top, "n_bottom": of[0].n_bottom}
        tests = systems * (systems - 1) // 2
        shares = [float((p * tests <= ALPHA).mean()) for p in ends]
        row = {**head, "correction": f"bonferroni_of_{systems}"}
        yield row | _counted("d", len(found.pairs), shares) | {"n": len(values)}


def _counted(name: str, pairs: int, shares: list[float]) -> Row:
    """The share, and the numbers of pairs it and its ends are; 0 of 0 pairs where there is none."""
    counts = [0 if np.isnan(share) else round(share * pairs) for share in shares]
    return {
        **{name: shares[0], f"{name}_different": counts[0], f"{name}_low": counts[1], f"{name}_high": counts[2]},
        f"{name}_pairs": pairs,
    }


def outranked(given: Submitted, draws: int, seed: int, advance: Callable[[int], object]) -> Iterator[Row]:
    """A row for each synthetic labelling and measure: its value, and how many submissions have a lower one.

    Those that are drawn at random are drawn `draws` times: the mean value, and the median number, with the middle 95 %
    of each. An undefined value (the MCC of a constant labelling) is above no submission's. Shares of words that were
    given BAD, precision and recall of BAD are of the first draw.
    """
    values = given.values()
    for kind, name in enumerate(SYNTHETIC):
        times = draws if name in DRAWN else 1
        found = []
        for draw in range(times):
            rng = np.random.default_rng([seed, LABELLING, kind, draw])
            labels = synthetic_labels(name, given.gold, rng)
            found.append(six(statistics(given.gold, labels)))
            if draw == 0:
                shape = _shape(given.gold, labels)
            advance(1)
        scores = np.stack(found)
        lower = (values[None] < scores[:, None]).sum(axis=1)
        for column, measure in enumerate(THE_SIX):
            low, high = np.quantile(scores[:, column], [0.025, 0.975])
            fewest, middle, most = np.quantile(lower[:, column], [0.025, 0.5, 0.975], method="inverted_cdf")
            yield {
                **{"language_pair": given.pair, "labelling": name, "measure": measure},
                **{"value": scores[:, column].mean(), "low": low, "high": high},
                **{"outranked": int(middle), "outranked_low": int(fewest), "outranked_high": int(most)},
                **{"n_submissions": len(values), "n_draws": times, "n_words": len(given.gold.bad), **shape},
            }


def _shape(gold: Labels, labels: Labels) -> Row:
    right = float((gold.bad & labels.bad).sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = np.divide(right, [labels.bad.sum(), gold.bad.sum()])
        ok = np.divide(float((~gold.bad & ~labels.bad).sum()), (~gold.bad).sum())
    shares = {"bad_share": gold.bad.mean(), "given_bad_share": labels.bad.mean()}
    return {**shares, "bad_precision": precision, "bad_recall": recall, "ok_recall": ok}
