"""Attributions of other segments, and terms that need none."""

import numpy as np
import pytest

from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.correlation import correlate
from bmx_grid.measures.nuisance import NO_DONOR, Selected, donors, fit_term, log_words


def rng(seed=0):
    return np.random.default_rng(seed)


def ints(*values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("n_words", "clusters", "allowed"),
    [
        pytest.param(ints(5, 5, 5), ints(0, 1, 2), [{1, 2}, {0, 2}, {0, 1}], id="the same number"),
        pytest.param(ints(5, 5, 5, 5), ints(0, 0, 1, 1), [{2, 3}, {2, 3}, {0, 1}, {0, 1}], id="not its own cluster"),
        pytest.param(ints(5, 5, 9), ints(0, 0, 1), [{2}, {2}, {0, 1}], id="the nearest number"),
        pytest.param(ints(5, 3, 7), ints(0, 1, 1), [{1}, {0}, {0}], id="of two equally near ones the smaller"),
        pytest.param(ints(5, 6, 8), ints(0, 0, 1), [{2}, {2}, {1}], id="past a nearer one of its own cluster"),
        pytest.param(ints(5, 9), ints(1, 0), [{1}, {0}], id="the cluster of the first has the highest code"),
        pytest.param(ints(5, 5), ints(0, 0), [{NO_DONOR}, {NO_DONOR}], id="one cluster"),
        pytest.param(ints(5), ints(0), [{NO_DONOR}], id="one segment"),
    ],
)
def test_attributions_come_from_another_cluster_with_as_many_words(n_words, clusters, allowed):
    seen = [set() for _ in n_words]
    for seed in range(40):
        for place, found in enumerate(donors(n_words, clusters, rng(seed)).tolist()):
            seen[place].add(found)
    assert seen == allowed


def test_many_segments_all_get_a_donor_of_another_cluster():
    n_words, clusters = rng(1).integers(1, 60, size=3000), rng(2).integers(0, 700, size=3000)
    clusters[:1000] = 0  # one large cluster
    found = donors(n_words, clusters, rng())
    assert (clusters[found] != clusters).all()
    assert (n_words[found] == n_words).mean() > 0.99
    assert len(np.unique(found)) > 1500  # not one donor for all


def test_no_segments_have_no_donors():
    assert len(donors(ints(), ints(), rng())) == 0


def test_log_words_count_an_empty_side_as_one_word():
    sides = [Ragged.from_rows([np.ones(size) for size in sizes]) for sizes in ((1, 8, 0), (2, 0, 4))]
    np.testing.assert_allclose(log_words(*sides), np.log([[1, 2], [8, 1], [1, 4]]))


def selected(base_weight=1.0, weight=0.5, noise=0.1, n=200, seed=3, shift=0.0):
    draw = rng(seed)
    base, term = draw.normal(size=n), draw.normal(size=(n, 2))
    human = base_weight * base + term @ [weight, -weight] + noise * draw.normal(size=n)
    return Selected(base + shift, term, human)


def test_weights_are_those_of_least_squares_and_keep_the_spread_of_the_metric():
    part = selected()
    columns = np.column_stack([part.base, part.term, np.ones(len(part.base))])
    expected = np.linalg.lstsq(columns, part.human)[0]
    found = fit_term("pearson", [part])
    assert found.own > 0
    np.testing.assert_allclose(found.weights / found.own, expected[1:3] / expected[0], rtol=1e-10)
    scores = found.scores(part.base, part.term)
    assert scores.std() == pytest.approx(part.base.std(), rel=1e-12)
    assert correlate("pearson", scores, part.human) == pytest.approx(
        correlate("pearson", columns @ expected, part.human), rel=1e-12
    )


def test_one_term_for_several_pairs_whatever_their_level_and_scale():
    own = selected(n=4000, noise=0.0)
    other = selected(n=4000, noise=0.0, seed=4, shift=50.0)
    scaled = Selected(other.base, other.term, 1000 * other.human - 7)
    found = fit_term("pearson", [own, scaled])
    np.testing.assert_allclose(found.weights / found.own, [0.5, -0.5], rtol=1e-3)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_scale_of_human_scores_changes_no_weight(kind, scale):
    part = selected()
    one, other = fit_term(kind, [part]), fit_term(kind, [Selected(part.base, part.term, scale * part.human)])
    assert other.own == pytest.approx(one.own, rel=1e-9)
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-9)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_a_rank_correlation_takes_ranks_of_human_scores(kind):
    part = selected(noise=0.0)
    skewed = Selected(part.base, part.term, np.exp(3 * part.human))
    one, other = fit_term(kind, [part]), fit_term(kind, [skewed])
    np.testing.assert_allclose(one.weights, other.weights)
    assert abs(one.weights[0] / one.own - 0.5) < 0.05
    assert abs(fit_term("pearson", [skewed]).weights[0] - one.weights[0]) > 0.05  # the case can tell


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_a_term_that_gains_by_ranks_squared_and_not_by_the_correlation_asked_for_is_left_out(kind):
    abstained = 0
    for seed in range(60):
        part = selected(n=8, weight=0.1, noise=1.0, seed=seed)
        found = fit_term(kind, [part])
        gain = correlate(kind, found.scores(part.base, part.term), part.human) - correlate(kind, part.base, part.human)
        abstained += not found.weights.any()
        assert gain > 0 or (found.own == 1 and not found.weights.any())
    assert 0 < abstained < 60, "the cases can tell"


def test_a_metric_that_would_get_a_negative_weight_is_left_out():
    part = selected(base_weight=-1.0)
    found = fit_term("pearson", [part])
    assert found.own == 0
    assert found.weights[0] > 0 > found.weights[1]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([], id="no pair"),
        pytest.param([Selected(np.arange(3.0), np.ones((3, 2)), np.arange(3.0))], id="as few segments as weights"),
        pytest.param([Selected(np.arange(9.0), np.ones((9, 2)), np.ones(9))], id="all judgements equal"),
        pytest.param([Selected(np.arange(9.0), np.ones((9, 2)), np.arange(9.0))], id="a term without variance"),
        pytest.param([Selected(np.arange(9.0), rng().normal(size=(9, 2)), np.arange(9.0))], id="a perfect metric"),
        pytest.param([Selected(np.ones(9), rng().normal(size=(9, 2)), np.arange(9.0))], id="a constant metric"),
    ],
)
def test_where_nothing_can_be_gained_nothing_is_added(parts):
    found = fit_term("pearson", parts)
    assert found.own == 1
    assert not found.weights.any()
