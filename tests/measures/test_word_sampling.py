"""Repeated sampling of corpora with errors, and its tests, against the plain way."""

import numpy as np
import pytest
from discrimination import SAMPLING, Moments, discrimination, sample_moments
from plain_sampling import plain_corpora, plain_values
from sampling import erring_sequences, errors_at, sampled_sums
from scipy.stats import norm, ttest_ind

from bmx_grid.core.errors import DataError
from bmx_grid.measures.word_labels import MEASURES, THE_SIX, measures, statistics
from bmx_grid.words.tags import Labels

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
    expected = [[statistics(gold, one).sum(axis=0) for one in corpora] for corpora in plain]
    np.testing.assert_allclose(sums, expected, atol=1e-9)
    values = plain_values(gold, labellings, errors, 7, np.random.default_rng(4))
    np.testing.assert_allclose(measures(sums)[..., SIX], values, atol=1e-12)
    assert len({values[sample, 0, 0] for sample in range(7)}) > 3


def test_errors_reach_the_threshold_and_no_more_than_a_sequence_over(corpus):
    gold, labellings = corpus
    pool = erring_sequences(gold, labellings)
    for corpora in plain_corpora(gold, labellings, [15, 40], 20, np.random.default_rng(1)):
        for wanted, one in zip((15, 40), corpora, strict=True):
            assert wanted <= (one.bad != gold.bad).sum() < wanted + pool.errors.max()


def test_sequences_are_the_texts_with_wrong_labels(corpus):
    gold, labellings = corpus
    pool = erring_sequences(gold, labellings)
    wrong = [[text for text in range(len(gold)) if (one[text] != gold[text]).any()] for one in labellings]
    assert pool.text.tolist() == [text for texts in wrong for text in texts]
    assert pool.errors.sum() == sum((one.bad != gold.bad).sum() for one in labellings)
    assert (pool.texts, pool.words) == (62, len(gold.bad))
    by_text = [[int((one[t] != gold[t]).sum()) for one in labellings if (one[t] != gold[t]).any()] for t in range(62)]
    assert pool.attainable == pytest.approx(sum(np.mean(one) for one in by_text if one) / pool.words)


def test_every_sequence_is_equally_likely_to_be_first():
    gold = Labels.from_rows([[0, 0, 0]] * 3)
    labellings = [Labels.from_rows([[1, 0, 0], [0, 0, 0], [1, 1, 1]]), Labels.from_rows([[1, 1, 0]] * 3)]
    pool = erring_sequences(gold, labellings)
    sums = sampled_sums(pool, np.array([1]), 20_000, np.random.default_rng(2))
    given = np.bincount(np.round(sums[:, 0, 8]).astype(int))  # words given BAD: 1, 3, or 2 of three sequences
    assert given[1:] / 20_000 == pytest.approx([0.2, 0.6, 0.2], abs=0.02)


@pytest.mark.parametrize(
    ("share", "words", "expected"),
    [(30.1, 1000, 301), (30.01, 25079, 7527), (30, 10, 3), (0.01, 100, 1), (0, 100, 0)],
    ids=["binary-fraction", "rounded-up", "whole", "least", "none"],
)
def test_how_many_errors_a_share_is(share, words, expected):
    gold = Labels.from_rows([np.zeros(words)])
    assert errors_at(erring_sequences(gold, []), [share]).tolist() == [expected]


def test_more_errors_than_there_are(corpus):
    gold, labellings = corpus
    pool = erring_sequences(gold, labellings)
    with pytest.raises(DataError, match=rf"{len(gold.bad)} errors .* choose lower thresholds"):
        sampled_sums(pool, np.array([len(gold.bad)]), 3, np.random.default_rng(0))
    with pytest.raises(DataError, match="choose lower thresholds"):
        sampled_sums(erring_sequences(gold, [gold]), np.array([1]), 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="ascending"):
        sampled_sums(pool, np.array([5, 4]), 3, np.random.default_rng(0))


def test_moments_are_of_the_first_samples_of_every_batch(corpus):
    gold, labellings = corpus
    pool, errors = erring_sequences(gold, labellings), np.array([10, 30])
    seen = []
    found = sample_moments(pool, errors, sizes=(3, 8), repeats=4, seed=7, advance=seen.append)
    assert seen == [1] * 4 and found.measures == THE_SIX and found.sizes == (3, 8)
    for batch in range(4):
        values = plain_values(gold, labellings, errors, 8, np.random.default_rng([7, SAMPLING, batch]))
        for place, size in enumerate((3, 8)):
            np.testing.assert_allclose(found.mean[batch, :, place], values[:size].mean(axis=0), atol=1e-12)
            np.testing.assert_allclose(found.variance[batch, :, place], values[:size].var(axis=0, ddof=1), atol=1e-12)


def test_threads_change_nothing(corpus):
    pool = erring_sequences(*corpus)
    one, two = (sample_moments(pool, np.array([10, 20]), sizes=(5,), repeats=6, threads=n) for n in (1, 2))
    assert one.mean.tobytes() == two.mean.tobytes() and one.variance.tobytes() == two.variance.tobytes()


def normal_moments(shift, sizes, repeats, seed=0):
    """Two thresholds, one measure: normal values, those of the second lower by `shift` standard deviations."""
    values = np.random.default_rng(seed).normal(size=(repeats, 2, sizes[-1], 1))
    values[:, 1] -= shift
    firsts = [values[:, :, :size] for size in sizes]
    mean, variance = (
        np.stack(found, axis=2) for found in ([f.mean(2) for f in firsts], [f.var(2, ddof=1) for f in firsts])
    )
    return values, Moments(mean, variance, ("mcc",), tuple(sizes))


def test_p_values_are_averages_of_unpaired_t_tests_of_different_batches():
    values, moments = normal_moments(0.5, (5, 20), 6)
    found = discrimination(moments)
    for place, size in enumerate((5, 20)):
        # Of six batches and two thresholds, the second threshold is taken three batches earlier.
        p = [ttest_ind(values[r, 0, :size, 0], values[r - 3, 1, :size, 0]).pvalue for r in range(6)]
        assert found.p[0, place, 0] == pytest.approx(np.mean(p))
        assert found.p_error[0, place, 0] == pytest.approx(np.std(p, ddof=1) / np.sqrt(6))
        assert found.significant[0, place, 0] == pytest.approx(np.mean(np.array(p) < 0.05))
    assert found.pairs == ((0, 1),)


def test_effects_and_what_they_ask_for():
    _, moments = normal_moments(0.5, (50, 4000), 40)
    found = discrimination(moments)
    assert found.effect[0, 0] == pytest.approx(0.5, abs=0.02)
    assert found.effect_error[0, 0] < 0.01
    n = found.needed(np.array([0.5, 0.0, -1.0]))
    assert n.tolist() == [pytest.approx(8 * (norm.ppf(0.975) + norm.ppf(0.8)) ** 2), np.inf, np.inf]
    _, at_n = normal_moments(0.5, (int(n[0]) + 1,), 2000, seed=3)
    assert discrimination(at_n).significant[0, 0, 0] == pytest.approx(0.8, abs=0.03)


def test_the_fewest_samples_are_the_first_size_below_the_corrected_level():
    _, moments = normal_moments(0.0, (10, 20, 30), 15)
    three = Moments(
        *(np.repeat(one, 2, axis=1)[:, :3] for one in (moments.mean, moments.variance)), ("mcc",), (10, 20, 30)
    )
    found = discrimination(three)
    assert len(found.pairs) == 3 and found.level == pytest.approx(0.05 / 3)
    p = np.array([[[0.2], [0.016], [0.001]], [[0.2], [0.03], [0.017]], [[0.01], [0.2], [0.2]]])
    assert found.fewest(p)[:, 0].tolist() == [20, 0, 10]


@pytest.mark.parametrize("sizes", [(), (1, 5), (5, 5), (9, 4)], ids=["none", "one-sample", "twice", "descending"])
def test_mistakes_of_sizes(corpus, sizes):
    with pytest.raises(ValueError, match="sizes"):
        sample_moments(erring_sequences(*corpus), np.array([3]), sizes=sizes, repeats=2)


def test_too_few_repetitions():
    _, moments = normal_moments(0.1, (5,), 1)
    with pytest.raises(ValueError, match="1 repetitions for 2 thresholds"):
        discrimination(moments)
