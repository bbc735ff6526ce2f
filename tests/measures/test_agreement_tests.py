"""Tests of agreement: every swap and draw done by a plain loop, thresholds tried one by one."""

import dataclasses
import itertools
import math
import tracemalloc

import numpy as np
import pytest

from bmx_grid.measures.agreement import spa
from bmx_grid.measures.agreement_tests import Scores, compare_agreement
from bmx_grid.measures.grouped import grouped_acc_eq
from bmx_grid.measures.paired_tests import unit_variance
from bmx_grid.measures.resampling import draws, swaps

SEED = 6  # whose draws leave every two systems an item: the loops would divide 0 by 0
ITEMS, SYSTEMS = 9, 4
ITEM, SYSTEM = np.repeat(np.arange(ITEMS), SYSTEMS), np.tile(np.arange(SYSTEMS), ITEMS)


def scores(seed, missing=True):
    """Two metrics and people on items of some systems; people and the first metric tie often."""
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 3, len(ITEM)).astype(float)
    x, y = human + rng.integers(0, 4, len(ITEM)), 0.5 * human + rng.normal(size=len(ITEM))
    if missing:
        human[[0, 5]], x[7], y[20] = np.nan, np.nan, np.nan
    return x, y, human


def acc_eq_by_loops(metric, human, item, times):
    """The best accuracy of all thresholds."""
    groups = []  # of each item that several systems have: how often it counts, and both gaps of every pair
    for group in range(ITEMS):
        rows = np.flatnonzero(item == group)
        # standardised, equal distances of whole numbers differ in the last bit
        gaps = [(round(metric[i] - metric[j], 9), human[i] - human[j]) for i, j in itertools.combinations(rows, 2)]
        if gaps:
            groups.append((times[group], gaps))
    thresholds = {0.0, *(abs(gap) for _, gaps in groups for gap, _ in gaps)}
    accuracies = []
    for threshold in thresholds:
        total = weight = 0.0
        for count, gaps in groups:
            right = [(0 if abs(gap) <= threshold else np.sign(gap)) == np.sign(judged) for gap, judged in gaps]
            total += count * np.mean(right)
            weight += count
        accuracies.append(total / weight)
    return max(accuracies)


def p_of_the_first(first, second, times):
    """How likely the first of two systems would be as good by chance: of a normal approximation over shared items."""
    shared = sorted(set(first) & set(second))
    gaps = [(times[item], first[item] - second[item]) for item in shared]
    z = sum(t * gap for t, gap in gaps) / math.sqrt(sum(t * gap * gap for t, gap in gaps))
    return 0.5 * math.erfc(z / math.sqrt(2))


def order_of_means(first, second, times):
    means = []
    for of_items in (first, second):
        total = sum(times[item] * score for item, score in of_items.items())
        means.append(total / sum(times[item] for item in of_items))
    return 0 if math.isclose(*means, abs_tol=1e-9) else np.sign(means[0] - means[1])


def by_loops(statistic, metric, human, item, system, times):
    if statistic == "acc_eq":
        return acc_eq_by_loops(metric, human, item, times)

    def of_systems(values):
        rows = [np.flatnonzero(system == number) for number in range(SYSTEMS)]
        return [dict(zip(item[places].tolist(), values[places].tolist(), strict=True)) for places in rows]

    agree = []
    pairs_of_metric = itertools.combinations(of_systems(metric), 2)
    for by_metric, by_human in zip(pairs_of_metric, itertools.combinations(of_systems(human), 2), strict=True):
        if statistic == "spa":
            agree.append(1 - abs(p_of_the_first(*by_metric, times) - p_of_the_first(*by_human, times)))
        else:
            agree.append(float(order_of_means(*by_metric, times) == order_of_means(*by_human, times)))
    return np.mean(agree)


@pytest.mark.parametrize(
    ("gap", "agrees"), [pytest.param(0.0, 1.0, id="by rounding"), pytest.param(1e-9, 0.0, id="by more")]
)
def test_means_of_systems_that_differ_by_rounding_tie(gap, agrees):
    """Two systems with the same scores in another order, which people tied."""
    metric = np.array([0.1, 0.2, 0.3, 0.3, 0.1, 0.2 + gap])
    human, item, system = np.array([1.0, 2, 3, 3, 1, 2]), np.tile(np.arange(3), 2), np.repeat([0, 1], 3)
    both = Scores(metric, metric, human, item, system, item)
    assert compare_agreement("pairwise_accuracy", both, resamples=40).x == agrees


@pytest.mark.parametrize("unit", ["both", "inputs", "systems"])
@pytest.mark.parametrize("statistic", ["acc_eq", "spa", "pairwise_accuracy"])
def test_values_interval_and_p_are_those_of_plain_loops(statistic, unit):
    x, y, human = scores(1)
    result = compare_agreement(statistic, Scores(x, y, human, ITEM, SYSTEM, ITEM), unit=unit, resamples=40, seed=SEED)
    used = np.isfinite(x + y + human)
    item, system, judged = ITEM[used], SYSTEM[used], human[used]
    metrics, once = [unit_variance(x[used]), unit_variance(y[used])], np.ones(ITEMS)

    def difference(x, y, times=once):
        of_x = by_loops(statistic, x, judged, item, system, times)
        return of_x - by_loops(statistic, y, judged, item, system, times)

    drawing = np.random.default_rng(SEED)
    swapping = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(1,)))
    of_items, of_systems = swapping.spawn(2)
    swapped = {"inputs": 0, "systems": 0}
    if unit != "systems":
        swapped["inputs"] = swaps(of_items, ITEMS, 40)[:, item]
    if unit != "inputs":
        swapped["systems"] = swaps(of_systems, SYSTEMS, 40)[:, system]
    x, y = metrics
    differences = [
        difference(np.where(mask, y, x), np.where(mask, x, y)) for mask in (swapped["inputs"] + swapped["systems"]) % 2
    ]
    observed = difference(x, y)
    reached = [by_loops(statistic, metric, judged, item, system, once) for metric in metrics]
    assert (result.x, result.y) == pytest.approx(tuple(reached), abs=1e-9)
    assert result.difference == pytest.approx(observed, abs=1e-9)
    assert result.p == (sum(abs(value) >= abs(observed) - 1e-9 for value in differences) + 1) / 41
    samples = [difference(*metrics, times) for times in draws(drawing, ITEMS, 40)]
    assert result.p_bootstrap == pytest.approx(
        min(1, 2 * min((sum(sign * value <= 1e-9 for value in samples) + 1) / 41 for sign in (1, -1)))
    )
    assert result.low <= observed <= result.high
    assert (result.n, result.clusters) == (32, 9)


def test_p_values_of_systems_are_those_that_many_permutations_tend_to():
    rng = np.random.default_rng(2)
    human, x, y = (rng.normal(size=(200, 5)) + 0.1 * np.arange(5) for _ in range(3))
    item, system = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    result = compare_agreement("spa", Scores(x.ravel(), y.ravel(), human.ravel(), item, system, item), resamples=1)
    assert result.x == pytest.approx(spa(x, human, resamples=5000)[0], abs=0.01)


@pytest.mark.parametrize("statistic", ["acc_eq", "spa", "pairwise_accuracy"])
@pytest.mark.parametrize(
    "human", [np.full(len(ITEM), np.nan), np.where(SYSTEM == 1, 1.0, np.nan)], ids=["nothing rated", "one system rated"]
)
def test_equal_metrics_do_not_differ_and_without_a_pair_everything_is_nan(statistic, human):
    x, y, judged = scores(5)
    equal = compare_agreement(statistic, Scores(x, x, judged, ITEM, SYSTEM, ITEM), resamples=40)
    assert (equal.difference, equal.p) == (0.0, 1.0)
    result = compare_agreement(statistic, Scores(x, y, human, ITEM, SYSTEM, ITEM), resamples=40)
    assert np.isnan([result.difference, result.low, result.p, result.p_bootstrap]).all()


def test_human_scores_of_systems_take_the_place_of_means():
    x, y, human = scores(6, missing=False)
    means = np.array([human[system == SYSTEM].mean() for system in range(SYSTEMS)])
    of_segments = Scores(x, y, human, ITEM, SYSTEM, ITEM)
    published = Scores(x, y, np.full(len(x), np.nan), ITEM, SYSTEM, ITEM, means)
    by_segments = compare_agreement("pairwise_accuracy", of_segments, resamples=40)
    by_systems = compare_agreement("pairwise_accuracy", published, resamples=40)
    assert (by_segments.difference, by_segments.p) == (by_systems.difference, by_systems.p)


def acc_eq_of_thresholds(metric, human):
    """acc_eq of float64[items, S] scores without NaN: the best of all thresholds, on differences as they are."""
    first, second = np.triu_indices(metric.shape[1], 1)
    gaps = metric[:, first] - metric[:, second]
    judged = np.sign(human[:, first] - human[:, second])
    distances = np.abs(gaps)
    tied = np.sort(distances[judged == 0])
    ordered_alike = np.sort(distances[(judged != 0) & (np.sign(gaps) == judged)])
    thresholds = np.append(0.0, np.unique(distances))
    # up to a threshold the pairs that people tied are right, beyond it those that are ordered alike
    right = np.searchsorted(tied, thresholds, "right") - np.searchsorted(ordered_alike, thresholds, "right")
    return (right.max() + len(ordered_alike)) / gaps.size


@pytest.mark.parametrize("factor", [1.0, 3.0, 2.0**-660, 2.0**330])
def test_equal_distances_of_whole_numbers_tie_together(factor):
    """As in `grouped_acc_eq`: 3 - 2 and 2 - 1 are one threshold, whatever the deviation of the scores is."""
    rng = np.random.default_rng(0)
    item, system = np.divmod(np.arange(1200), 12)
    for _ in range(5):
        quality = rng.normal(size=1200)
        human = -np.round(np.exp(quality))
        metric = -np.round(2 * np.exp(quality + rng.normal(size=1200)))
        right = acc_eq_of_thresholds(metric.reshape(100, 12), human.reshape(100, 12))
        scaled = factor * metric
        result = compare_agreement("acc_eq", Scores(scaled, human, human, item, system, item), resamples=0)
        assert (result.x, result.y) == pytest.approx((right, 1), abs=1e-12)
        assert grouped_acc_eq(scaled[:, None], human, item, item)[0][0].value == pytest.approx(right, abs=1e-12)


def test_acc_eq_of_every_official_metric_is_that_of_all_thresholds(data_dir):
    """WMT23 en-de as mt-metrics-eval keeps it, whose own search tries every threshold."""
    folder = data_dir / "mt-metrics-eval-v2" / "wmt23"
    if not (folder / "metric-scores").is_dir():
        pytest.skip("the test set wmt23 of mt-metrics-eval is not there")
    people = scores_by_system(folder / "human-scores" / "en-de.mqm.seg.score")
    files = sorted((folder / "metric-scores" / "en-de").glob("*.seg.score"))
    assert files
    for file in files:
        by_system = scores_by_system(file)
        systems = sorted((people.keys() & by_system.keys()) - {"refA", "synthetic_ref"})
        metric = np.array([by_system[name] for name in systems]).T
        human = np.array([people[name] for name in systems]).T
        known = np.isfinite(metric + human).all(axis=1)
        metric, human = metric[known], human[known]
        item, system = np.divmod(np.arange(metric.size), len(systems))
        of_both = Scores(metric.ravel(), human.ravel(), human.ravel(), item, system, item)
        result = compare_agreement("acc_eq", of_both, resamples=0)
        assert result.x == pytest.approx(acc_eq_of_thresholds(metric, human), abs=1e-12), file.name


def scores_by_system(file):
    by_system = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        system, score = line.split("\t")[:2]
        by_system.setdefault(system, []).append(math.nan if score == "None" else float(score))
    return by_system


def test_agreement_on_many_systems_needs_megabytes():
    """Ten resamples of all pairs of 1,000 systems together would need 80 MB for each of a dozen arrays."""
    rng = np.random.default_rng(5)
    quality = np.repeat(rng.normal(size=1000), 3)
    x, y, human = quality + rng.normal(size=(3, 3000))
    table = Scores(x, y, human, cluster=np.tile(np.arange(3), 1000), system=np.repeat(np.arange(1000), 3))
    table = dataclasses.replace(table, item=table.cluster)
    tracemalloc.start()
    try:
        found = compare_agreement("pairwise_accuracy", table, resamples=10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**28
    means = [values.reshape(1000, 3).mean(axis=1) for values in (x, human)]
    order_of_metric, order_of_people = (np.sign(mean[:, None] - mean)[np.triu_indices(1000, 1)] for mean in means)
    assert found.x == pytest.approx((order_of_metric == order_of_people).mean(), abs=1e-12)
