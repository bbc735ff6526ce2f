"""Intervals, thresholds, randomisation and distinction coefficients of word measures against plain loops."""

import itertools

import numpy as np
import pytest
from distinction import bonferroni, distinction
from randomisation import Randomised, approximate_randomisation, p_bounds
from scipy.stats import binomtest
from sklearn.metrics import matthews_corrcoef

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.multiplicity import holm
from bmx_grid.measures.resampling import dealt, interval_levels, seeded_draws, swaps
from bmx_grid.measures.word_labels import (
    MEASURES,
    THE_SIX,
    label_measures,
    mean_over_segments,
    measures_of,
    statistics,
)
from bmx_grid.measures.word_scores import FOLDS, best_threshold, cross_fitted_labels, labels_at
from bmx_grid.words.tags import Labels


def some_labels(rng, texts=40):
    return Labels.from_rows(rng.random(n) < 0.3 for n in rng.integers(1, 12, texts))


def noisy(rng, gold, rate):
    return Labels(gold.bad ^ (rng.random(len(gold.bad)) < rate), gold.offsets)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    gold = some_labels(rng)
    return gold, [noisy(rng, gold, rate) for rate in (0.1, 0.2, 0.25)]


def slow_randomisation(gold, first, second, rounds, seed):
    """One pair of labellings, one round and one corpus after the other, counting what differs as much as observed."""

    def six(one):
        found = measures_of(gold, one)
        return np.array([found[name] for name in THE_SIX])

    observed = six(first) - six(second)
    extreme = np.zeros(len(THE_SIX))
    for exchanged in swaps(np.random.default_rng(seed), len(gold), rounds):
        rows = [(b, a) if swap else (a, b) for a, b, swap in zip(first.rows(), second.rows(), exchanged, strict=True)]
        one, other = (Labels.from_rows(row[side] for row in rows) for side in (0, 1))
        extreme += np.abs(six(one) - six(other)) >= np.abs(observed) - 1e-12
    return observed, (extreme + 1) / (rounds + 1)


def test_approximate_randomisation_equals_a_plain_loop(corpus):
    gold, labellings = corpus
    found = approximate_randomisation([statistics(gold, one) for one in labellings], rounds=60, seed=5)
    assert found.pairs == tuple(itertools.combinations(range(3), 2)) and found.measures == THE_SIX
    for place, (first, second) in enumerate(found.pairs):
        observed, p = slow_randomisation(gold, labellings[first], labellings[second], 60, 5)
        assert found.difference[place] == pytest.approx(observed, abs=1e-12)
        assert found.p[place].tolist() == p.tolist()
    assert found.p.min() < 0.2 < found.p.max()


def test_a_pair_does_not_depend_on_the_others(corpus):
    gold, labellings = corpus
    sums = [statistics(gold, one) for one in labellings]
    all_three, two = (approximate_randomisation(some, rounds=50, seed=1) for some in (sums, sums[:2]))
    assert all_three.p[0].tolist() == two.p[0].tolist()


def test_equal_labellings_do_not_differ(corpus):
    gold, labellings = corpus
    same = statistics(gold, labellings[0])
    found = approximate_randomisation([same, same], rounds=20)
    assert found.p[0].tolist() == [1.0] * 6


def test_a_measure_without_a_value_has_no_p(corpus):
    gold, labellings = corpus
    all_bad = Labels(np.ones(len(gold.bad), bool), gold.offsets)
    found = approximate_randomisation([statistics(gold, one) for one in (labellings[0], all_bad)], rounds=20)
    undefined = dict(zip(found.measures, np.isnan(found.p[0]).tolist(), strict=True))
    assert [name for name, nan in undefined.items() if nan] == ["mcc"]
    assert np.isnan(found.difference[0, found.measures.index("mcc")])


def test_it_has_the_size_it_claims():
    rng = np.random.default_rng(8)
    p = []
    for seed in range(120):
        gold = some_labels(rng, 30)
        pair = [statistics(gold, noisy(rng, gold, 0.2)) for _ in range(2)]
        p.append(approximate_randomisation(pair, ["f1_mult"], rounds=59, seed=seed).p[0, 0])
    assert np.mean(np.array(p) <= 0.2) < 0.3


def test_what_the_number_of_rounds_leaves_open():
    """Clopper and Pearson's interval of the share of extreme rounds, as scipy.stats.binomtest has it."""
    extreme = np.array([0, 3, 50, 100])
    p = np.array([*(extreme + 1) / 101, np.nan])[None]
    low, high = p_bounds(Randomised(((0, 1),), THE_SIX[:5], p, p, 100, 0))
    for place, k in enumerate(extreme.tolist()):
        expected = binomtest(k, 100).proportion_ci(0.95, "exact")
        assert (low[0, place], high[0, place]) == pytest.approx((expected.low, expected.high))
    assert np.isnan([low[0, 4], high[0, 4]]).all()


@pytest.mark.parametrize(("rounds", "shapes"), [(0, (4, 4)), (9, (4, 5))], ids=["no-rounds", "other-texts"])
def test_mistakes_of_randomisation(rounds, shapes):
    with pytest.raises(ValueError):
        approximate_randomisation([np.ones((n, 18)) for n in shapes], rounds=rounds)


def test_the_bootstrap_of_labels_equals_a_plain_loop(corpus):
    gold, labellings = corpus
    cluster = np.arange(len(gold)) // 3
    found = label_measures(statistics(gold, labellings[1]), cluster, resamples=40, seed=2)
    (times,) = seeded_draws(cluster.max() + 1, 40, 2)
    drawn = []
    for column in times.T:
        rows = [row for row in range(len(gold)) for _ in range(int(column[cluster[row]]))]
        drawn.append(measures_of(*(Labels.from_rows(one[row] for row in rows) for one in (gold, labellings[1]))))
    for name in MEASURES:
        ends = np.quantile([one[name] for one in drawn], interval_levels(int(cluster.max()) + 1))
        assert (found[name].low, found[name].high) == pytest.approx(tuple(ends))
        assert found[name].value == pytest.approx(measures_of(gold, labellings[1])[name])
        assert (found[name].n_segments, found[name].clusters) == (len(gold), cluster.max() + 1)


def test_the_bootstrap_of_means():
    values = np.array([0.2, np.nan, 0.4, 0.9, 0.1, np.nan, 0.5])
    found = mean_over_segments(values, ["a", "x", "a", "b", "c", "y", "d"], resamples=200, seed=1)
    assert found.value == pytest.approx(np.nanmean(values))
    assert (found.n_segments, found.n_left_out, found.clusters) == (5, 2, 4)
    assert found.low < found.value < found.high
    again = mean_over_segments(values[[0, 2, 3, 4, 6]], list("aabcd"), resamples=200, seed=1)
    assert (again.low, again.high) == (found.low, found.high)  # clusters that only hold what is left out do not count


def labelled(attributions, threshold):
    """The labels of all texts at one threshold."""
    return labels_at(attributions, np.full(len(attributions), threshold))[0]


def test_the_best_threshold_is_the_best_of_all_cuts():
    rng = np.random.default_rng(4)
    for _ in range(20):
        gold = some_labels(rng, 6)
        values = np.round(rng.normal(size=len(gold.bad)) - gold.bad, 1)
        cuts = [matthews_corrcoef(gold.bad, values <= cut) for cut in np.unique(values)[:-1]]
        chosen = labelled(Ragged(values, gold.offsets), best_threshold(gold.bad, values)).bad
        assert matthews_corrcoef(gold.bad, chosen) == pytest.approx(max(cuts))
        best = np.unique(values)[:-1][np.array(cuts) >= max(cuts) - 1e-12]
        assert chosen.sum() == (values <= best[0]).sum()  # of equally good cuts the one that blames fewest


@pytest.mark.parametrize(
    ("values", "bad"),
    [([1.0, 1.0], [0, 1]), ([1.0, 2.0], [0, 0]), ([np.nan, 2.0], [1, 0]), ([], [])],
    ids=["no-cut", "one-label", "nothing-left", "no-words"],
)
def test_no_threshold(values, bad):
    assert np.isnan(best_threshold(np.array(bad, dtype=bool), np.array(values)))


@pytest.mark.parametrize("low", [1.0, -np.inf], ids=["next-float", "infinite"])
def test_a_threshold_lies_between_what_it_separates(low):
    values = np.array([low, np.nextafter(low, 2) if np.isfinite(low) else 3.0])
    found = labelled(Ragged(values, np.array([0, 2])), best_threshold(np.array([True, False]), values))
    assert found.bad.tolist() == [True, False]


def test_a_text_without_a_threshold_or_with_an_unknown_attribution_has_no_labels():
    attributions = Ragged(np.array([np.nan, 0.1, 0.1, 0.1]), np.array([0, 2, 3, 4]))
    labels, known = labels_at(attributions, np.array([0.5, np.nan, 0.5]))
    assert known.tolist() == [False, False, True]
    assert labels.bad.tolist() == [False, False, False, True]


def test_cross_fitted_labels_are_those_of_thresholds_from_the_other_folds():
    rng = np.random.default_rng(6)
    gold = some_labels(rng, 30)
    attributions = Ragged(rng.normal(size=len(gold.bad)) - gold.bad, gold.offsets)
    attributions.values[0] = np.nan
    cluster = np.arange(30) // 2
    labels, known = cross_fitted_labels(gold, attributions, cluster, folds=4, seed=3)
    assert not known[0] and known[1:].all() and not labels[0].any()
    fold = dealt(cluster, 4, np.random.default_rng([3, FOLDS]))
    for number in range(4):
        words = fold[gold.row_of_word()] != number
        threshold = best_threshold(gold.bad[words], attributions.values[words])
        for row in np.flatnonzero((fold == number) & known).tolist():
            assert labels[row].tolist() == (attributions[row] <= threshold).tolist()


def test_a_label_of_a_text_never_comes_from_its_own_tags():
    rng = np.random.default_rng(7)
    gold = some_labels(rng, 12)
    attributions = Ragged(rng.normal(size=len(gold.bad)), gold.offsets)
    before, _ = cross_fitted_labels(gold, attributions, folds=12)
    for row in range(12):
        turned = gold.bad.copy()
        turned[gold.offsets[row] : gold.offsets[row + 1]] ^= True
        after, _ = cross_fitted_labels(Labels(turned, gold.offsets), attributions, folds=12)
        assert after[row].tolist() == before[row].tolist()


def test_one_cluster_is_never_labelled():
    gold = Labels.from_rows([[1, 0], [0, 1]])
    assert not cross_fitted_labels(gold, Ragged(np.array([1.0, 2, 2, 1]), gold.offsets), [0, 0])[1].any()


def test_distinction_by_hand():
    # Ranked 2, 0, 4, 1, 3: the upper half of five is 2, 0 and 4.
    scores = [0.8, 0.3, 0.9, 0.1, 0.5]
    pairs = list(itertools.combinations(range(5), 2))
    p = np.full(10, 0.5)
    p[pairs.index((0, 2))] = 0.015  # significant among three pairs (.045), not among ten
    p[pairs.index((1, 3))] = 0.04  # the only pair of the lower half
    p[pairs.index((2, 3))] = 0.004
    found = distinction(scores, pairs, p)
    assert (found.d, found.d_top, found.d_bottom) == pytest.approx((0.1, 1 / 3, 1.0))
    assert (found.n, found.n_top, found.n_bottom) == (5, 3, 2)
    assert distinction([np.nan, *scores[1:]], pairs, p).n == 4
    assert np.isnan(distinction([1.0], [], []).d)
    with pytest.raises(ConfigError, match="bonferroni"):
        distinction(scores, pairs, p, correction="bonferoni")


def test_holm_distinguishes_at_least_as_many_as_bonferroni():
    p = np.array([0.01, 0.02, 0.03])
    assert (holm(p) <= bonferroni(p)).all()
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = [distinction([3, 2, 1], pairs, p, correction=name).d for name in ("bonferroni", "holm")]
    assert found == pytest.approx([1 / 3, 1.0])


def test_bonferroni_leaves_undefined_tests_out():
    assert bonferroni([0.01, np.nan, 0.6]).tolist() == pytest.approx([0.02, np.nan, 1.0], nan_ok=True)
