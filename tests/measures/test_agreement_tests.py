"""Tests of agreement: every swap and draw done by a plain loop, thresholds tried one by one."""

import itertools
import math

import numpy as np
import pytest

from bmx_grid.measures.agreement import spa
from bmx_grid.measures.agreement_tests import Scores, compare_agreement
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


def by_loops(statistic, metric, human, item, system, times):
    if statistic == "acc_eq":
        groups = [
            [
                (abs(metric[i] - metric[j]), np.sign(metric[i] - metric[j]), np.sign(human[i] - human[j]))
                for i, j in itertools.combinations(np.flatnonzero(item == group), 2)
            ]
            for group in range(ITEMS)
        ]
        thresholds = {0.0, *(gap for pairs in groups for gap, _, _ in pairs)}
        found = []
        for threshold in thresholds:
            right = [[(0 if gap <= threshold else by) == of for gap, by, of in pairs] for pairs in groups]
            weights = [times[group] if right[group] else 0 for group in range(ITEMS)]
            found.append(sum(w * np.mean(own) for w, own in zip(weights, right, strict=True) if w) / sum(weights))
        return max(found)
    rows = [{item[k]: k for k in np.flatnonzero(system == of)} for of in range(SYSTEMS)]
    agree = []
    for one, other in itertools.combinations(range(SYSTEMS), 2):
        found = []
        for values in (metric, human):
            if statistic == "spa":
                both = sorted(set(rows[one]) & set(rows[other]))
                gaps = [(times[i], values[rows[one][i]] - values[rows[other][i]]) for i in both]
                z = sum(t * gap for t, gap in gaps) / math.sqrt(sum(t * gap * gap for t, gap in gaps))
                found.append(0.5 * math.erfc(z / math.sqrt(2)))
            else:
                means = [
                    sum(times[i] * values[k] for i, k in rows[of].items()) / sum(times[i] for i in rows[of])
                    for of in (one, other)
                ]
                found.append(0 if math.isclose(*means, abs_tol=1e-9) else np.sign(means[0] - means[1]))
        agree.append(1 - abs(found[0] - found[1]) if statistic == "spa" else float(found[0] == found[1]))
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
    found = compare_agreement(statistic, Scores(x, y, human, ITEM, SYSTEM, ITEM), unit=unit, resamples=40, seed=SEED)
    used = np.isfinite(x + y + human)
    item, system, judged = ITEM[used], SYSTEM[used], human[used]
    metrics, once = [unit_variance(x[used]), unit_variance(y[used])], np.ones(ITEMS)

    def difference(x, y, times=once):
        return np.subtract(*(by_loops(statistic, metric, judged, item, system, times) for metric in (x, y)))

    drawing = np.random.default_rng(SEED)
    swapping = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(1,)))
    of_items, of_systems = swapping.spawn(2)
    swapped = {"inputs": 0, "systems": 0}
    if unit != "systems":
        swapped["inputs"] = swaps(of_items, ITEMS, 40)[:, item]
    if unit != "inputs":
        swapped["systems"] = swaps(of_systems, SYSTEMS, 40)[:, system]
    differences = [
        difference(*(np.where(mask, other, own) for own, other in (metrics, metrics[::-1])))
        for mask in (swapped["inputs"] + swapped["systems"]) % 2
    ]
    observed = difference(*metrics)
    reached = [by_loops(statistic, metric, judged, item, system, once) for metric in metrics]
    assert (found.x, found.y) == pytest.approx(tuple(reached), abs=1e-9)
    assert found.difference == pytest.approx(observed, abs=1e-9)
    assert found.p == (sum(abs(value) >= abs(observed) - 1e-9 for value in differences) + 1) / 41
    samples = [difference(*metrics, times) for times in draws(drawing, ITEMS, 40)]
    assert found.p_bootstrap == pytest.approx(
        min(1, 2 * min((sum(sign * value <= 1e-9 for value in samples) + 1) / 41 for sign in (1, -1)))
    )
    assert found.low <= observed <= found.high
    assert (found.n, found.clusters) == (32, 9)


def test_p_values_of_systems_are_those_that_many_permutations_tend_to():
    rng = np.random.default_rng(2)
    human, x, y = (rng.normal(size=(200, 5)) + 0.1 * np.arange(5) for _ in range(3))
    item, system = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    found = compare_agreement("spa", Scores(x.ravel(), y.ravel(), human.ravel(), item, system, item), resamples=1)
    assert found.x == pytest.approx(spa(x, human, resamples=5000)[0], abs=0.01)


@pytest.mark.parametrize("statistic", ["acc_eq", "spa", "pairwise_accuracy"])
@pytest.mark.parametrize(
    "human", [np.full(len(ITEM), np.nan), np.where(SYSTEM == 1, 1.0, np.nan)], ids=["nothing rated", "one system rated"]
)
def test_equal_metrics_do_not_differ_and_without_a_pair_everything_is_nan(statistic, human):
    x, y, judged = scores(5)
    equal = compare_agreement(statistic, Scores(x, x, judged, ITEM, SYSTEM, ITEM), resamples=40)
    assert (equal.difference, equal.p) == (0.0, 1.0)
    found = compare_agreement(statistic, Scores(x, y, human, ITEM, SYSTEM, ITEM), resamples=40)
    assert np.isnan([found.difference, found.low, found.p, found.p_bootstrap]).all()


def test_human_scores_of_systems_take_the_place_of_means():
    x, y, human = scores(6, missing=False)
    means = np.array([human[system == SYSTEM].mean() for system in range(SYSTEMS)])
    of_segments = Scores(x, y, human, ITEM, SYSTEM, ITEM)
    published = Scores(x, y, np.full(len(x), np.nan), ITEM, SYSTEM, ITEM, means)
    by_segments, by_systems = (
        compare_agreement("pairwise_accuracy", given, resamples=40) for given in (of_segments, published)
    )
    assert (by_segments.difference, by_segments.p) == (by_systems.difference, by_systems.p)
