"""Williams, PERM-* and BOOT-*: published values, lists written out, and what is undefined."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.core.errors import ConfigError
from bmx_grid.measures.paired_tests import compare, compare_sums, williams
from bmx_grid.measures.resampling import cluster_mean, draws, interval_levels, swaps
from bmx_grid.measures.systems import mean, mean_terms

NAN = float("nan")


def published(seed, skip=0):
    """nlpstats' test inputs: three uniform 9 x 5 matrices from NumPy's legacy generator, after `skip` others."""
    rng = np.random.RandomState(seed)
    return [rng.random_sample((9, 5)) for _ in range(3 + skip)][skip:]


def test_williams_gives_nlpstats_published_values():
    """nlpstats, tests/correlations/williams_test.py: made with psych's r.test."""
    x, y, human = (matrix.ravel() for matrix in published(12))
    correlations = [abs(stats.pearsonr(a, b)[0]) for a, b in ((x, human), (y, human), (x, y))]
    assert williams(*correlations, 45) == pytest.approx(0.5433956, abs=1e-6)
    x, y, human = (matrix.mean(axis=1) for matrix in published(12, skip=3))
    correlations = [abs(stats.spearmanr(a, b)[0]) for a, b in ((x, human), (y, human), (x, y))]
    assert williams(*correlations, 9) == pytest.approx(0.9317423, abs=1e-6)


def test_williams_of_high_correlations_is_its_equation():
    """Nearly equal, very good metrics leave a spread below 1."""
    r_x, r_y, r_xy, n = 0.9, 0.85, 0.95, 30
    determinant = np.linalg.det([[1, r_x, r_y], [r_x, 1, r_xy], [r_y, r_xy, 1]])
    spread = 2 * (n - 1) / (n - 3) * determinant + (r_x + r_y) ** 2 / 4 * (1 - r_xy) ** 3
    t = (r_x - r_y) * np.sqrt((n - 1) * (1 + r_xy) / spread)
    assert spread < 1
    assert williams(r_x, r_y, r_xy, n) == pytest.approx(2 * stats.t.sf(t, n - 3))
    assert np.isfinite(williams(0.5, 0.4, 0.3, 4)), "four segments are enough"
    assert np.isnan([williams(0.5, 0.4, 0.3, 3), williams(NAN, 0.5, 0.5, 100)]).all()
    assert np.isnan(williams(0.5, 0.5, 1.0, 100)), "two equal metrics"


def design(systems=3, items=4, seed=0):
    """x, y, human, item, system of a complete design."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=(systems, items))
    x, y = human + rng.normal(size=human.shape), human + 0.5 * rng.normal(size=human.shape)
    system, item = np.divmod(np.arange(human.size), items)
    return x.ravel(), y.ravel(), human.ravel(), item, system


def standardised(a):
    return (a - a.mean()) / a.std()


def in_a_loop(unit, statistic, x, y, human, item, system, resamples):
    """Differences of resampled and of swapped lists, written out for each resample of the same generators."""
    samples = []
    (_, system_draws), swapping = (part.spawn(2) for part in np.random.SeedSequence(0).spawn(2))
    for draw, seeds in ((draws, (0, system_draws)), (swaps, swapping)):
        generators = [np.random.default_rng(seed) for seed in seeds]
        parts = [
            draw(systems, codes.max() + 1, resamples) for systems, codes in zip(generators, (item, system), strict=True)
        ]
        differences = []
        for of_item, of_system in zip(parts[0].astype(int), parts[1].astype(int), strict=True):
            drawn = {"systems": of_item[item], "inputs": of_system[system]}
            used = [times for left_alone, times in drawn.items() if unit != left_alone]
            if draw is draws:
                rows = np.repeat(np.arange(len(x)), np.prod(used, axis=0))
                a, b, judged, systems = x[rows], y[rows], human[rows], system[rows]
            else:
                swap = np.sum(used, axis=0) % 2 == 1
                a, b, judged, systems = np.where(swap, y, x), np.where(swap, x, y), human, system
            differences.append(statistic(a, judged, systems) - statistic(b, judged, systems))
        samples.append(np.array(differences))
    return samples


# By NumPy and SciPy: scipy.stats.pearsonr and spearmanr also compute p-values, which takes ten times as long.
ORACLES = {
    "pearson": lambda a, b, _: np.corrcoef(a, b)[0, 1] if np.ptp(a) > 0 and np.ptp(b) > 0 else NAN,
    "spearman": lambda a, b, _: np.corrcoef(stats.rankdata([a, b], axis=1))[0, 1],
    "kendall": lambda a, b, _: stats.kendalltau(a, b)[0],
}


def within_systems(scores, human, system):
    parts = [system == name for name in np.unique(system)]
    return np.nanmean([ORACLES["pearson"](scores[rows], human[rows], None) for rows in parts])


@pytest.mark.parametrize(
    ("unit", "grouped", "kind", "outlier"),
    [
        pytest.param("inputs", False, "pearson", 0, id="inputs"),
        pytest.param("systems", False, "pearson", 0, id="systems"),
        pytest.param("both", False, "pearson", 0, id="both"),
        pytest.param("inputs", True, "pearson", 0, id="inputs, within systems"),
        pytest.param("inputs", False, "pearson", 1e6, id="an outlier that has nearly all variance"),
        pytest.param("inputs", True, "pearson", 1e6, id="an outlier, within systems"),
        pytest.param("both", False, "spearman", 0, id="both, Spearman"),
        pytest.param("inputs", False, "kendall", 0, id="inputs, Kendall"),
    ],
)
def test_matrix_products_give_the_numbers_of_lists_in_a_loop(unit, grouped, kind, outlier):
    """With outliers of both metrics on one side, sums have no digits left for the other rows."""
    x, y, human, item, system = design(4, 6)
    x[np.argmax(human)] += outlier
    y[np.argmin(human)] += outlier
    x, y = standardised(x), standardised(y)
    statistic = within_systems if grouped else ORACLES[kind]
    samples, swapped = in_a_loop(unit, statistic, x, y, human, item, system, 100)
    labels = {"group": system} if grouped else {"system": system, "unit": unit}
    comparison = compare(x, y, human, item, **labels, statistic=kind, resamples=100)
    levels = interval_levels({"inputs": 6}.get(unit, 4))
    assert (comparison.low, comparison.high) == pytest.approx(tuple(np.nanquantile(samples, levels)), abs=1e-9)
    observed = statistic(x, human, system) - statistic(y, human, system)
    assert comparison.difference == pytest.approx(observed, abs=1e-9)
    extreme = np.isnan(swapped) | (np.abs(swapped) >= abs(observed) - 1e-9)
    assert comparison.p == (extreme.sum() + 1) / 101


def test_perm_both_is_nlpstats_published_value():
    """Its regression test, of 9,999 resamples."""
    x, y, human = (matrix.ravel() for matrix in published(1234))
    item, system = np.tile(np.arange(5), 9), np.repeat(np.arange(9), 5)
    p = compare(x, y, human, item, system=system, unit="both", resamples=10_000).p
    assert abs(p - 0.5361536) < 4 * np.sqrt(0.25 * (1 / 9999 + 1 / 10_000))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda x, y, human: (x, y, np.ones_like(human)), id="constant judgements"),
        pytest.param(lambda x, y, human: (x, np.ones_like(y), human), id="a constant metric"),
        pytest.param(lambda x, y, human: (x[:2], y[:2], human[:2]), id="two clusters"),
        pytest.param(lambda x, y, human: (x[:0], y[:0], human[:0]), id="no segment"),
    ],
)
@pytest.mark.parametrize("statistic", ["pearson", "kendall"])
def test_nothing_to_test_is_nan(change, statistic):
    rng = np.random.default_rng(8)
    comparison = compare(*change(*rng.normal(size=(3, 30))), statistic=statistic, resamples=20)
    assert np.isnan([comparison.difference, comparison.p, comparison.low, comparison.high])[1:].all()


def test_unrated_rows_are_left_out():
    x, y, human, item, _ = design(1, 40)
    human[3], x[7] = NAN, np.inf
    used = np.isfinite(x) & np.isfinite(human)
    assert compare(x, y, human, item) == compare(x[used], y[used], human[used], item[used])
    assert compare(x, y, human, item).n == 38


def test_a_comparison_of_means_is_that_of_lists_written_out():
    """Two metrics' statistics in 30 groups of 9 clusters; two groups have one of them only."""
    rng = np.random.default_rng(4)
    x, cluster = rng.normal(0.4, 0.3, 30), rng.integers(0, 9, 30)
    y = x - 0.1 + rng.normal(0, 0.2, 30)
    x[3], y[7] = NAN, np.inf
    comparison = compare_sums(mean_terms(x), mean_terms(y), mean, cluster, resamples=200, seed=3)
    used = np.isfinite(x) & np.isfinite(y)
    x, y, names = x[used], y[used], np.unique(cluster[used])
    rows_of_cluster = [np.flatnonzero(cluster[used] == name) for name in names]
    assert (comparison.n, comparison.clusters) == (28, len(names))
    assert (comparison.x, comparison.y) == (pytest.approx(x.mean()), pytest.approx(y.mean()))
    drawing = np.random.default_rng(3)
    swapping = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(1,)))
    resampled = []
    for times in draws(drawing, len(names), 200).astype(int):
        rows = np.concatenate([np.tile(rows_of_cluster[number], times[number]) for number in range(len(names))])
        resampled.append(x[rows].mean() - y[rows].mean())
    levels = interval_levels(len(names))
    np.testing.assert_allclose([comparison.low, comparison.high], np.quantile(resampled, levels), atol=1e-12)
    exchanged = []
    for swapped in swaps(swapping, len(names), 200).astype(bool):
        first, second = x.copy(), y.copy()
        for number in np.flatnonzero(swapped):
            first[rows_of_cluster[number]], second[rows_of_cluster[number]] = (
                y[rows_of_cluster[number]],
                x[rows_of_cluster[number]],
            )
        exchanged.append(first.mean() - second.mean())
    extreme = sum(abs(difference) >= abs(comparison.difference) - 1e-12 for difference in exchanged)
    assert comparison.p == (extreme + 1) / 201
    below, above = sum(difference <= 0 for difference in resampled), sum(difference >= 0 for difference in resampled)
    assert comparison.p_bootstrap == pytest.approx(2 * (min(below, above) + 1) / 201)


@pytest.mark.parametrize(("alternative", "side"), [("greater", 1), ("less", -1)])
@pytest.mark.parametrize("unit", ["inputs", "systems", "both"])
def test_a_one_sided_test_counts_swaps_and_draws_on_one_side(alternative, side, unit):
    x, y, human, item, system = design(5, 7)
    x, y = standardised(x), standardised(y)
    samples, swapped = in_a_loop(unit, ORACLES["pearson"], x, y, human, item, system, 200)
    observed = ORACLES["pearson"](x, human, None) - ORACLES["pearson"](y, human, None)
    found = compare(x, y, human, item, system=system, unit=unit, resamples=200, alternative=alternative)
    assert found.p == ((side * swapped >= side * observed - 1e-9).sum() + 1) / 201
    assert found.p_bootstrap == ((side * samples <= 1e-9).sum() + 1) / 201
    both = compare(x, y, human, item, system=system, unit=unit, resamples=200)
    assert (found.difference, found.low, found.high) == (both.difference, both.low, both.high)


def test_a_one_sided_williams_test_is_that_of_its_t():
    """Half of the two-sided p on the side of the difference, the rest on the other."""
    r_x, r_y, r_xy, n = 0.6, 0.5, 0.7, 80
    two_sided = williams(r_x, r_y, r_xy, n)
    assert williams(r_x, r_y, r_xy, n, "greater") == pytest.approx(two_sided / 2, abs=1e-15)
    assert williams(r_x, r_y, r_xy, n, "less") == pytest.approx(1 - two_sided / 2, abs=1e-15)
    assert williams(r_y, r_x, r_xy, n, "less") == pytest.approx(two_sided / 2, abs=1e-15)


@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_intervals_have_any_confidence(confidence):
    """Levels by Hesterberg's formula and SciPy; of few clusters of one size Student's t, also by SciPy."""
    x, y, human, item, system = design(4, 30)
    x, y = standardised(x), standardised(y)
    samples, _ = in_a_loop("inputs", ORACLES["pearson"], x, y, human, item, system, 200)
    t = stats.t.ppf((1 + confidence) / 2, 29)
    level = stats.norm.cdf(-t * np.sqrt(30 / 29))
    found = compare(x, y, human, item, resamples=200, confidence=confidence)
    expected = np.quantile(samples, [level, 1 - level])
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-9)
    sums = compare_sums(mean_terms(x), mean_terms(y), mean, item, resamples=200, confidence=confidence)
    usual = compare_sums(mean_terms(x), mean_terms(y), mean, item, resamples=200)
    assert (sums.high - sums.low < usual.high - usual.low) == (confidence < 0.95)
    means = np.arange(5.0) ** 2
    few = cluster_mean(np.repeat(means, 2), np.repeat(np.arange(5), 2), confidence=confidence)
    expected = stats.ttest_1samp(means, 0).confidence_interval(confidence)
    assert (few.low, few.high) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize("confidence", [0, 1, 95, NAN])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match="write 0.9 for 90 %"):
        compare(*np.eye(3), confidence=confidence)
    with pytest.raises(ConfigError, match="Did you mean 'greater'"):
        compare(*np.eye(3), alternative="greatr")
