"""Segment level: the mean of SciPy's correlations within groups, undefined groups counted, clusters drawn."""

import itertools

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures import correlations_of_resamples, grouped, resampling
from bmx_grid.measures.agreement import SegmentPairs
from bmx_grid.measures.grouped import acc_eq_of_halves, grouped_correlations
from bmx_grid.measures.pairwise import pairwise_correlations
from bmx_grid.measures.resampling import assign_folds, draws, interval_levels

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def grouped_correlation(kind, scores, *arrays):
    """Of one column and one kind."""
    return grouped_correlations([kind], scores[:, None], *arrays)[0][kind]


def grouped_acc_eq(scores, *arrays):
    return grouped.grouped_acc_eq(scores[:, None], *arrays)[0]


def some(n_items=40, n_systems=6, seed=0):
    """Scores, human scores, items, systems."""
    rng = np.random.default_rng(seed)
    items, systems = np.repeat(np.arange(n_items), n_systems), np.tile(np.arange(n_systems), n_items)
    human = rng.normal(size=len(items)) + rng.normal(size=n_items)[items]
    return human + rng.normal(size=len(items)), human, items, systems


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize("grouping", ["none", "item", "system"])
def test_the_value_is_the_mean_over_groups(kind, grouping):
    scores, human, items, systems = some()
    groups = {"none": np.zeros_like(items), "item": items, "system": systems}[grouping]
    result = grouped_correlation(kind, scores, human, groups, items)
    expected = [SCIPY[kind](scores[groups == g], human[groups == g]).statistic for g in np.unique(groups)]
    assert result[0] == pytest.approx(np.mean(expected), abs=1e-12)
    assert result[3:] == (len(expected), 0, len(scores))
    assert np.isnan(result[1:3]).all()  # no resamples, no interval


def test_groups_of_any_size_are_correlated():
    """Small ones together by size, large ones one by one."""
    most = grouped.TOGETHER_UP_TO
    sizes = [3, most, most + 1, most + 2, most + 2]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    x, human = np.random.default_rng(4).normal(size=(2, len(groups)))
    correlations = grouped.within_groups("kendall", x[:, None], human, groups)
    expected = [stats.kendalltau(x[groups == group], human[groups == group]).statistic for group in range(len(sizes))]
    np.testing.assert_allclose(correlations, [expected], atol=1e-12)


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize("name", [str, lambda group: 10**12 * group, lambda group: (group, "x")], ids=["a", "b", "c"])
def test_groups_have_any_labels_and_scores_of_one_metric_one_dimension(kind, name):
    """Texts, numbers far apart, tuples; the groups are in the order of their labels."""
    scores, human, items, systems = some(n_items=12)
    labels = np.empty(len(systems), dtype=object)
    labels[:] = [name(system) for system in systems.tolist()]
    names_in_order = sorted(set(labels.tolist()))
    expected = []
    for label in names_in_order:
        rows = [row for row, of_row in enumerate(labels) if of_row == label]
        expected.append(SCIPY[kind](scores[rows], human[rows]).statistic)
    (within,) = grouped.within_groups(kind, scores.tolist(), human.tolist(), labels.tolist())
    np.testing.assert_allclose(within, expected, atol=1e-12)
    (by_kind,) = grouped_correlations(kind, scores, human, labels, [f"{item:02}" for item in items], 50)
    assert by_kind[kind] == grouped_correlations(kind, scores[:, None], human, systems, items, 50)[0][kind]
    assert by_kind[kind].value == pytest.approx(np.mean(expected), abs=1e-12)
    alone = np.arange(len(human))
    np.testing.assert_equal(
        grouped.grouped_acc_eq(scores, human, labels), grouped.grouped_acc_eq(scores[:, None], human, systems, alone)
    )
    np.testing.assert_equal(
        pairwise_correlations(scores, human, labels, labels),
        pairwise_correlations(scores[:, None], human, systems, systems),
    )


def test_arrays_of_other_segments_are_refused():
    scores, human, items, _ = some(n_items=4)
    for arrays in ((scores[1:], human, items), (scores, human, items[1:]), (scores, human, items, items[1:])):
        with pytest.raises(ValueError, match="of the same segments, not of shapes"):
            grouped_correlations("pearson", *arrays)


def test_undefined_groups_are_counted_and_never_zero():
    scores = np.array([1.0, 2, 3, 1, 2, 3, 1, 2, 5, 5, 5, np.nan, 1, 2])
    human = np.array([1.0, 2, 3, 4, 4, 4, 1, 2, 1, 2, 3, 1, np.nan, 3])
    groups = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4])
    result = grouped_correlation("pearson", scores, human, groups, groups)
    # 0 is defined; 1 has equal judgements, 2 two segments, 3 equal scores, 4 one segment with both
    assert (result[0], *result[3:]) == (pytest.approx(1.0), 5, 4, 12)


@pytest.mark.parametrize("human", [np.ones(30), np.full(30, np.nan), np.empty(0)], ids=["equal", "none", "no segments"])
@pytest.mark.parametrize("kind", SCIPY)
def test_what_is_undefined_has_no_interval_either(kind, human):
    rows = np.arange(len(human))
    result = grouped_correlation(kind, rows.astype(float), human, rows % 3, rows, 50)
    assert np.isnan(result[:3]).all()
    assert result[3] == result[4]


def test_intervals_are_those_of_drawn_clusters_written_out():
    """The same draws by hand: clusters listed as often as drawn, groups averaged with their copies.

    One system has four items only, so that some resamples leave it without a correlation.
    """
    scores, human, items, systems = some(n_items=12)
    kept = (systems != 5) | (items < 4)
    scores, human, items, systems = scores[kept], human[kept], items[kept], systems[kept]

    def tau(rows):
        varies = len(rows) > 2 and np.ptp(scores[rows]) > 0
        return stats.kendalltau(scores[rows], human[rows]).statistic if varies else np.nan

    by_item, by_system = [], []
    for row in draws(np.random.default_rng(7), 12, 60).astype(int):
        drawn = [np.flatnonzero(items == item) for item in np.repeat(np.arange(12), row)]
        by_item.append(np.mean([tau(rows) for rows in drawn]))
        rows = np.concatenate(drawn)
        by_system.append(np.nanmean([tau(rows[systems[rows] == system]) for system in range(6)]))
    for groups, expected in ((items, by_item), (systems, by_system)):
        result = grouped_correlation("kendall", scores, human, groups, items, 60, 7)
        assert result[1:3] == pytest.approx(tuple(np.quantile(expected, interval_levels(12))))


@pytest.mark.parametrize("grouping", ["none", "item"])
def test_acc_eq_intervals_cover_what_a_full_bootstrap_says(grouping):
    scores, human, items, _ = some(30, 5)
    human = np.round(human)
    groups = {"none": np.zeros_like(items), "item": items}[grouping]
    (value, *ends, _, _, _), epsilon, _ = grouped_acc_eq(scores, human, groups, items, 1000, 3)
    assert value == pytest.approx(SegmentPairs.from_groups(human, groups).agreement(scores, epsilon))
    rng = np.random.default_rng(5)
    full = []
    for _ in range(250):
        drawn = rng.integers(30, size=30)
        rows = np.concatenate([np.flatnonzero(items == item) for item in drawn])
        copy = np.repeat(np.arange(30), 5)
        by = {"none": np.zeros(150, dtype=int), "item": copy}[grouping]
        shares = []
        for group in np.unique(by):
            members = rows[by == group]
            i, j = np.triu_indices(len(members), 1)
            apart = members[i] != members[j]  # copies of a segment are no pair
            gap = scores[members[i]] - scores[members[j]]
            right = np.where(np.abs(gap) <= epsilon, 0, np.sign(gap)) == np.sign(human[members[i]] - human[members[j]])
            shares.append(right[apart].mean())
        full.append(np.mean(shares))
    low, high = np.quantile(full, [0.025, 0.975])
    assert ends[1] - ends[0] == pytest.approx(high - low, rel=0.25)
    assert ends == pytest.approx([low, high], abs=0.03)


@pytest.mark.parametrize("grouping", ["none", "item", "system"])
def test_columns_are_as_if_alone_and_draws_do_not_depend_on_blocks(grouping, monkeypatch):
    scores, human, items, systems = some()
    arrays = human, {"none": np.zeros_like(items), "item": items, "system": systems}[grouping], items, 100, 3
    columns = np.stack([scores, np.round(scores), -human], axis=1)
    together = grouped_correlations(list(SCIPY), columns, *arrays)
    agreed = grouped.grouped_acc_eq(columns, *arrays)
    for module in (resampling, correlations_of_resamples):
        monkeypatch.setattr(module, "CELLS", 7 * len(human))
    for column, by_kind, (agreement, *_) in zip(columns.T, together, agreed, strict=True):
        for kind, result in by_kind.items():
            assert grouped_correlation(kind, column, *arrays) == pytest.approx(result, abs=1e-14)
        assert grouped_acc_eq(column, *arrays)[0] == pytest.approx(agreement, abs=1e-14)


def test_clusters_without_a_defined_group_are_not_counted_for_the_interval():
    """Two items have three translations each: no interval, however many other items there are."""
    items = np.array([0, 0, 0, 1, 1, 1, *range(2, 40)])
    rng = np.random.default_rng(0)
    scores, human = rng.normal(size=(2, len(items)))
    result = grouped_correlation("pearson", scores, human, items, items, 200)
    assert result[3] - result[4] == 2
    assert np.isfinite(result[0]) and np.isnan(result[1:3]).all()


@pytest.mark.parametrize("n_groups", [1, 12])
def test_the_threshold_of_one_half_is_judged_on_the_other(n_groups):
    rng = np.random.default_rng(n_groups)
    human, clusters = rng.integers(0, 3, 36).astype(float), np.repeat(np.arange(12), 3)
    groups, scores = clusters % n_groups, human + rng.normal(size=36)
    half = assign_folds(clusters, 2, np.random.default_rng(7))

    def accuracy(part, threshold):
        shares = []
        for group in np.unique(groups):
            right = []
            for i, j in itertools.combinations(np.flatnonzero((half == part) & (groups == group)), 2):
                gap = scores[i] - scores[j]
                order = 0 if abs(gap) <= threshold else np.sign(gap)
                right.append(order == np.sign(human[i] - human[j]))
            if right:
                shares.append(np.mean(right))
        return np.mean(shares)

    thresholds = sorted({0.0, *(abs(i - j) for i in scores for j in scores)})
    best = [max(thresholds, key=lambda threshold: round(accuracy(part, threshold), 9)) for part in range(2)]
    expected = (accuracy(0, best[1]) + accuracy(1, best[0])) / 2
    assert acc_eq_of_halves(scores[:, None], human, groups, clusters, 7)[0] == pytest.approx(expected, abs=1e-9)
