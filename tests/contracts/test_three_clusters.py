"""An interval needs three clusters, wherever there is one: two are one and the same in half of their resamples."""

import math

import numpy as np
import pytest

from bmx_grid.analysis import factors, marked_words, side_by_side
from bmx_grid.evaluations import boost_evidence
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.boost_evidence import build_contrasts, contrast_rows, joint_samples
from bmx_grid.evaluations.held_out import RatedSegments, nuisance_of
from bmx_grid.measures import annotators, grouped, paired_tests, resampling, systems, word_measures
from bmx_grid.measures.correlations_of_resamples import resampled_correlations
from bmx_grid.measures.grid_resampling import GridSample, cross_fit, selection_adjusted

DRAWN = {"resamples": 40, "seed": 1}
N = 24


def numbers(seed):
    return np.random.default_rng(seed).normal(size=N)


X, Y, HUMAN = numbers(1), numbers(2), numbers(3)
GRADES = np.round(np.column_stack([X, X + Y, X - Y]))


def clusters(count):
    return np.arange(N) % count


def sample(count):
    means = np.exp(np.column_stack([numbers(4), numbers(5)]))
    return GridSample(means, X, HUMAN, [0.0, 0.5, 1.0], clusters(count))


def in_one_group(count):
    """All segments in one group, and the draws."""
    return np.zeros(N, dtype=np.int64), clusters(count), DRAWN["resamples"], DRAWN["seed"]


def over_systems(n_systems, n_clusters):
    """Resamples of Pearson's r of systems whose scores do not depend on the segments drawn."""
    return systems.system_samples(
        ["pearson"],
        lambda weights: np.tile(X[:n_systems], (weights.shape[1], 1)),
        lambda weights: np.tile(HUMAN[:n_systems], (weights.shape[1], 1)),
        n_systems,
        n_clusters,
        **DRAWN,
    )["pearson"]


def of_a_boost(count):
    """What a boost gains on a language pair: with its interval, and under draws of clusters of all pairs."""
    codes = clusters(count)
    log_words = np.ones((N, 1))
    nuisance = nuisance_of(X, log_words, [], [], codes)
    rated = RatedSegments(X, HUMAN, log_words, codes, np.arange(N), nuisance, codes, np.ones(N, dtype=bool))
    held = {("boost", "elsewhere"): Y}
    made_contrasts = build_contrasts("pearson", rated, held, DRAWN["seed"])
    joint = joint_samples([(rated, made_contrasts)], *DRAWN.values())
    return contrast_rows(("toy", "de-en", "m", "e"), rated, made_contrasts, *DRAWN.values()), list(joint.values())


def first_sample(samples):
    return samples[0] if len(samples) else math.nan


INTERVALS = {
    "two metrics": lambda count: paired_tests.compare(X, Y, HUMAN, clusters(count), **DRAWN).low,
    "two metrics, p": lambda count: paired_tests.compare(X, Y, HUMAN, clusters(count), **DRAWN).p,
    "two means": lambda count: (
        paired_tests.compare_sums(
            systems.mean_terms(X), systems.mean_terms(Y), systems.mean, clusters(count), **DRAWN
        ).low
    ),
    "a mean of texts": lambda count: word_measures.mean_over_segments(X, clusters(count), **DRAWN)[1],
    "the score of a system": lambda count: systems.system_score(
        systems.mean_terms(X), systems.mean, clusters(count), 40
    )[1],
    "alpha": lambda count: annotators.krippendorff_alpha(GRADES[:count], "interval", **DRAWN).low,
    "kappa": lambda count: annotators.uniform_kappa(GRADES[:count], 9, **DRAWN).low,
    "a mean of settings": lambda count: resampling.cluster_mean(X, clusters(count)).low,
    "its kind": lambda count: float(resampling.interval_kind(count) != "") or math.nan,
    "correlations of segments": lambda count: grouped.grouped_correlations(
        ["pearson"], X[:, None], HUMAN, *in_one_group(count)
    )[0]["pearson"][1],
    "accuracy of segments": lambda count: grouped.grouped_acc_eq(X[:, None], HUMAN, *in_one_group(count))[0][0][1],
    "systems, by their clusters of segments": lambda count: resampling.interval(over_systems(5, count), count)[0],
    "systems, by their number": lambda count: len(over_systems(count, 5)) or math.nan,
    "cross-fitted scores": lambda count: cross_fit(sample(count))[0],
    "the best point of a grid": lambda count: selection_adjusted(sample(count), 40)[1],
    "coefficients": lambda count: factors.cluster_errors(np.abs(X)[:, None], HUMAN, clusters(count), 1, 40)[0],
    "two sweeps": lambda count: side_by_side._difference(
        np.column_stack([X, Y]), HUMAN, clusters(count), "pearson", 40, 1
    )[1],
    "correlations under resamples": lambda count: first_sample(
        resampled_correlations("pearson", X[:, None], HUMAN, clusters(count), 40, 1)[0]
    ),
    "a boost": lambda count: of_a_boost(count)[0][0].gain.low,
    "a boost, over pairs": lambda count: first_sample([sample_of_pair[0] for sample_of_pair in of_a_boost(count)[1]]),
    "a mean of language pairs": lambda count: (
        boost_evidence.pool_language_pairs(X[:count].tolist(), Estimate(0, 0, 0, 0)).p
    ),
    "explanations and gains, of pairs": lambda count: marked_words.relation(X, Y, clusters(count), 1).low,
}


@pytest.mark.parametrize("interval", INTERVALS.values(), ids=INTERVALS)
def test_three_clusters_have_an_interval_and_two_have_none(interval):
    assert math.isfinite(interval(3))
    assert math.isnan(interval(2))


def test_three_points_have_a_correlation_and_two_have_none():
    correlations = [marked_words.relation(X[:count], Y[:count], clusters(3)[:count], 1).rho for count in (3, 2)]
    assert math.isfinite(correlations[0]) and math.isnan(correlations[1])
