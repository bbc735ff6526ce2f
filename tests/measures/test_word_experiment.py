"""experiments/word_level_2016: sampling, randomisation, distinction and synthetic labellings against plain loops."""

import itertools

import numpy as np
import pytest
from discrimination import SAMPLING, Moments, discrimination, sample_moments
from distinction import distinction
from plain_sampling import measures_of, plain_corpora, plain_values
from randomisation import Randomised, approximate_randomisation, p_bounds
from sampling import erring_sequences, errors_at, sampled_sums
from scipy.stats import binomtest, norm, ttest_ind
from synthetic import synthetic_labels

from bmx_grid.core.ragged import Labels
from bmx_grid.measures.resampling import swaps
from bmx_grid.measures.word_measures import MEASURES, THE_SIX, measures, statistics

SIX = [MEASURES.index(name) for name in THE_SIX]


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    gold = Labels.from_rows(rng.random(n) < 0.3 for n in [0, 1, *rng.integers(1, 12, 60)])
    labellings = [Labels(gold.bad ^ (rng.random(len(gold.bad)) < rate), gold.offsets) for rate in (0.1, 0.3)]
    return gold, [*labellings, gold]


def test_corpora_and_their_measures_are_those_of_the_plain_way(corpus):
    gold, labellings = corpus
    pool, errors = erring_sequences(gold, labellings), np.array([10, 11, 30])
    sums = sampled_sums(pool, errors, 7, np.random.default_rng(4))
    plain = list(plain_corpora(gold, labellings, errors, 7, np.random.default_rng(4)))
    expected = [[statistics(gold, labelling).sum(axis=0) for labelling in corpora] for corpora in plain]
    np.testing.assert_allclose(sums, expected, atol=1e-9)
    values = plain_values(gold, labellings, errors, 7, np.random.default_rng(4))
    np.testing.assert_allclose(measures(sums)[..., SIX], values, atol=1e-12)
    assert len({values[sample, 0, 0] for sample in range(7)}) > 3


@pytest.mark.parametrize(
    ("share", "words", "expected"),
    [(30.1, 1000, 301), (30.01, 25079, 7527), (0.01, 100, 1)],
    ids=["binary-fraction", "rounded-up", "least"],
)
def test_how_many_errors_a_share_is(share, words, expected):
    gold = Labels.from_rows([np.zeros(words)])
    assert errors_at(erring_sequences(gold, []), [share]).tolist() == [expected]


def test_moments_are_of_the_first_samples_of_every_batch(corpus):
    gold, labellings = corpus
    pool, errors = erring_sequences(gold, labellings), np.array([10, 30])
    seen = []
    moments = sample_moments(pool, errors, sizes=(3, 5), repeats=2, seed=7, advance=seen.append)
    twice = sample_moments(pool, errors, sizes=(3, 5), repeats=2, seed=7, threads=2)
    assert twice.mean.tobytes() == moments.mean.tobytes(), "threads change nothing"
    assert seen == [1] * 2 and moments.measures == THE_SIX and moments.sizes == (3, 5)
    for batch in range(2):
        values = plain_values(gold, labellings, errors, 5, np.random.default_rng([7, SAMPLING, batch]))
        for place, size in enumerate((3, 5)):
            np.testing.assert_allclose(moments.mean[batch, :, place], values[:size].mean(axis=0), atol=1e-12)
            np.testing.assert_allclose(moments.variance[batch, :, place], values[:size].var(axis=0, ddof=1), atol=1e-12)


def normal_moments(shift, sizes, repeats, seed=0):
    """Two thresholds, one measure: normal values, those of the second lower by `shift` standard deviations."""
    values = np.random.default_rng(seed).normal(size=(repeats, 2, sizes[-1], 1))
    values[:, 1] -= shift
    firsts = [values[:, :, :size] for size in sizes]
    mean = np.stack([first.mean(axis=2) for first in firsts], axis=2)
    variance = np.stack([first.var(axis=2, ddof=1) for first in firsts], axis=2)
    return values, Moments(mean, variance, ("mcc",), tuple(sizes))


def test_p_values_are_averages_of_unpaired_t_tests_of_different_batches():
    values, moments = normal_moments(0.5, (5, 20), 6)
    result = discrimination(moments)
    for place, size in enumerate((5, 20)):
        # Of six batches and two thresholds, the second threshold is taken three batches earlier.
        p = [ttest_ind(values[r, 0, :size, 0], values[r - 3, 1, :size, 0]).pvalue for r in range(6)]
        assert result.p[0, place, 0] == pytest.approx(np.mean(p))
        assert result.p_error[0, place, 0] == pytest.approx(np.std(p, ddof=1) / np.sqrt(6))
        assert result.significant[0, place, 0] == pytest.approx(np.mean(np.array(p) < 0.05))
    assert result.pairs == ((0, 1),)


def test_effects_and_what_they_ask_for():
    _, moments = normal_moments(0.5, (50, 4000), 40)
    result = discrimination(moments)
    assert result.effect[0, 0] == pytest.approx(0.5, abs=0.02)
    assert result.effect_error[0, 0] < 0.01
    n = result.needed(np.array([0.5, 0.0, -1.0]))
    assert n.tolist() == [pytest.approx(8 * (norm.ppf(0.975) + norm.ppf(0.8)) ** 2), np.inf, np.inf]


def test_the_fewest_samples_are_the_first_size_below_the_corrected_level():
    _, moments = normal_moments(0.0, (10, 20, 30), 15)
    mean = np.repeat(moments.mean, 2, axis=1)[:, :3]
    variance = np.repeat(moments.variance, 2, axis=1)[:, :3]
    result = discrimination(Moments(mean, variance, ("mcc",), (10, 20, 30)))
    assert len(result.pairs) == 3 and result.level == pytest.approx(0.05 / 3)
    p = np.array([[[0.2], [0.016], [0.001]], [[0.2], [0.03], [0.017]], [[0.01], [0.2], [0.2]]])
    assert result.fewest(p)[:, 0].tolist() == [20, 0, 10]


def slow_randomisation(gold, first, second, rounds, seed):
    """One pair of labellings, one round and one corpus after the other, counting what differs as much as observed."""

    def six(labelling):
        values = measures_of(gold, labelling)
        return np.array([values[name] for name in THE_SIX])

    observed = six(first) - six(second)
    extreme = np.zeros(len(THE_SIX))
    for exchanged in swaps(np.random.default_rng(seed), len(gold), rounds):
        rows = zip(first.rows(), second.rows(), exchanged, strict=True)
        pairs = [(b, a) if swap else (a, b) for a, b, swap in rows]
        mixed_first = Labels.from_rows(a for a, _ in pairs)
        mixed_second = Labels.from_rows(b for _, b in pairs)
        extreme += np.abs(six(mixed_first) - six(mixed_second)) >= np.abs(observed) - 1e-12
    return observed, (extreme + 1) / (rounds + 1)


def test_approximate_randomisation_equals_a_plain_loop(corpus):
    gold, (first, second, _) = corpus
    all_bad = Labels(np.ones(len(gold.bad), bool), gold.offsets)
    labellings = [first, second, first, all_bad]
    result = approximate_randomisation([statistics(gold, labelling) for labelling in labellings], rounds=30, seed=5)
    assert result.pairs == tuple(itertools.combinations(range(4), 2)) and result.measures == THE_SIX
    observed, p = slow_randomisation(gold, first, second, 30, 5)
    assert result.difference[0] == pytest.approx(observed, abs=1e-12)
    assert result.p[0].tolist() == p.tolist() and p.min() < 1
    assert result.p[1].tolist() == [1.0] * 6, "equal labellings"
    undefined = [name for name, value in zip(THE_SIX, result.p[2].tolist(), strict=True) if np.isnan(value)]
    assert undefined == ["mcc"], "of a constant labelling"


def test_what_the_number_of_rounds_leaves_open():
    """Clopper and Pearson's interval of the share of extreme rounds, as scipy.stats.binomtest has it."""
    extreme = np.array([0, 3, 50, 100])
    p = np.array([*(extreme + 1) / 101, np.nan])[None]
    low, high = p_bounds(Randomised(((0, 1),), THE_SIX[:5], p, p, 100, 0))
    for place, k in enumerate(extreme.tolist()):
        expected = binomtest(k, 100).proportion_ci(0.95, "exact")
        assert (low[0, place], high[0, place]) == pytest.approx((expected.low, expected.high))
    assert np.isnan([low[0, 4], high[0, 4]]).all()


def test_distinction_by_hand():
    # Ranked 2, 0, 4, 1, 3: the upper half of five is 2, 0 and 4.
    scores = [0.8, 0.3, 0.9, 0.1, 0.5]
    pairs = list(itertools.combinations(range(5), 2))
    p = np.full(10, 0.5)
    p[pairs.index((0, 2))] = 0.015  # significant among three pairs (.045), not among ten
    p[pairs.index((1, 3))] = 0.04  # the only pair of the lower half
    p[pairs.index((2, 3))] = 0.004
    result = distinction(scores, pairs, p)
    assert (result.d, result.d_top, result.d_bottom) == pytest.approx((0.1, 1 / 3, 1.0))
    assert (result.n, result.n_top, result.n_bottom) == (5, 3, 2)
    assert distinction([np.nan, *scores[1:]], pairs, p).n == 4
    assert np.isnan(distinction([1.0], [], []).d)


def truth(words, bad, seed=0):
    """So many words, of which so many are BAD, in texts of ten words."""
    flags = np.random.default_rng(seed).permutation(np.arange(words) < bad)
    return Labels.from_rows(flags[start : start + 10] for start in range(0, words, 10))


def shape(gold, labelling):
    right = (gold.bad & labelling.bad).sum()
    with np.errstate(invalid="ignore"):
        return (
            labelling.bad.mean(),
            right / labelling.bad.sum(),
            right / gold.bad.sum(),
            (~labelling.bad)[~gold.bad].mean(),
        )


@pytest.mark.parametrize(
    ("name", "bad", "expected"),
    [
        pytest.param("all_bad", 300, (1, 0.3, 1, 0), id="all-bad"),
        pytest.param("optimistic_by_share", 300, (0.02, 0.9, 0.06, 698 / 700), id="98-percent-ok"),
        pytest.param("optimistic_by_recall", 270, (0.03, 0.9, 0.1, 727 / 730), id="recall-.1"),
        pytest.param("pessimistic", 300, (0.9, 0.3, 0.9, 0.1), id="pessimistic"),
    ],
)
def test_labellings_are_what_the_paper_says(name, bad, expected):
    gold = truth(1000, bad)
    labelling = synthetic_labels(name, gold, np.random.default_rng(1))
    assert labelling.same_words(gold)
    assert shape(gold, labelling) == pytest.approx(expected, nan_ok=True)
