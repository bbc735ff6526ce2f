"""Kernel ridge against plain solves, part by part; what it chooses, and what it leaves alone."""

import numpy as np
import pytest
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from bmx_grid.measures import kernel_ridge
from bmx_grid.measures.kernel_ridge import KERNELS, RIDGES, Inputs, out_of_part

N = 90
RNG = np.random.default_rng(2)
VALUES = RNG.normal(size=(N, 2))
PARTS = RNG.permutation(np.arange(N) % 5)


def plain_kernel(distance, width):
    """By loops over pairs."""
    ranks = np.column_stack([rankdata(column) for column in VALUES.T]) / N
    standard = np.clip((VALUES - VALUES.mean(axis=0)) / VALUES.std(axis=0), -4, 4)
    kernel = np.empty((N, N))
    for i in range(N):
        for j in range(N):
            if distance == "squared":
                kernel[i, j] = np.exp(-np.sum((standard[i] - standard[j]) ** 2) / (2 * width**2))
            elif distance == "each input":
                kernel[i, j] = np.mean(np.exp(-np.abs(ranks[i] - ranks[j]) / width))
            elif distance == "city block":
                kernel[i, j] = np.exp(-np.sum(np.abs(ranks[i] - ranks[j])) / width)
            else:
                kernel[i, j] = np.exp(-np.sqrt(np.sum((ranks[i] - ranks[j]) ** 2)) / width)
    return kernel


def plain_predictions(kernel, penalty, target):
    """A solve for each part."""
    predicted = np.empty(N)
    for part in range(5):
        judged, others = part == PARTS, part != PARTS
        among = kernel[np.ix_(others, others)] + penalty * np.eye(others.sum())
        predicted[judged] = kernel[np.ix_(judged, others)] @ np.linalg.solve(among, target[others])
    return predicted


@pytest.mark.parametrize(("distance", "width"), KERNELS)
def test_predictions_are_those_of_a_solve_for_each_part(distance, width, monkeypatch):
    target = 2 * (VALUES[:, 0] > 0) * VALUES[:, 1] + 0.1 * RNG.normal(size=N)
    monkeypatch.setattr(kernel_ridge, "KERNELS", ((distance, width),))
    (predictions,) = out_of_part(VALUES, target[:, None], [PARTS])
    every = [plain_predictions(plain_kernel(distance, width), penalty, target) for penalty in RIDGES]
    errors = [np.sum((target - predicted) ** 2) for predicted in every]
    np.testing.assert_allclose(predictions[:, 0], every[int(np.argmin(errors))], atol=1e-9)


def test_no_prediction_knows_the_target_of_its_own_part(monkeypatch):
    monkeypatch.setattr(kernel_ridge, "KERNELS", KERNELS[:1])
    monkeypatch.setattr(kernel_ridge, "RIDGES", RIDGES[1:2])
    target, judged = RNG.normal(size=(N, 1)), PARTS == 2
    changed = np.where(judged[:, None], 100.0, target)
    (before,) = out_of_part(VALUES, target, [PARTS])
    (after,) = out_of_part(VALUES, changed, [PARTS])
    np.testing.assert_allclose(before[judged], after[judged], atol=1e-8)
    assert np.abs(before[~judged] - after[~judged]).max() > 1


def test_a_step_of_one_of_four_inputs_is_found_in_few_segments():
    rng = np.random.default_rng(0)
    values, parts = rng.normal(size=(200, 4)), np.arange(200) % 5
    step = np.where(values[:, 0] > 0, 1.0, -1.0)
    (predictions,) = out_of_part(values, (step + rng.normal(size=200))[:, None], [parts])
    assert np.mean((predictions[:, 0] - step) ** 2) < 0.2, "kernels of all inputs together leave .24"


def test_each_target_has_its_own_kernel_and_penalty():
    step, noise = 2.0 * (VALUES[:, 0] > 0.2) - 1, np.random.default_rng(3).normal(size=N)
    both = out_of_part(VALUES, np.column_stack([step, noise]), [PARTS])[0]
    assert np.corrcoef(both[:, 0], step)[0, 1] > 0.8
    assert np.sum(both[:, 1] ** 2) < 0.3 * np.sum(noise**2), "noise is shrunk"
    for place, target in enumerate((step, noise)):
        np.testing.assert_allclose(both[:, place], out_of_part(VALUES, target[:, None], [PARTS])[0][:, 0], atol=1e-9)


def test_further_divisions_take_the_choice_of_the_first():
    target, halves = np.sin(3 * VALUES[:, :1]), PARTS % 2
    first, of_halves = out_of_part(VALUES, target, [PARTS, halves])
    (alone,) = out_of_part(VALUES, target, [PARTS])
    np.testing.assert_allclose(first, alone, atol=1e-9)
    assert np.sum((target - first) ** 2) < np.sum((target - of_halves) ** 2) < np.sum(target**2)


def test_many_segments_are_fitted_in_shares_spread_over_any_period(monkeypatch):
    monkeypatch.setattr(kernel_ridge, "LARGEST_FIT", 40)
    monkeypatch.setattr(kernel_ridge, "CHOOSING", 30)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 1))
    target = np.sin(2 * values) + 0.1 * rng.normal(size=(200, 1))
    (predictions,) = out_of_part(values, target, [np.arange(200) % 5])
    assert np.corrcoef(predictions[:, 0], target[:, 0])[0, 1] > 0.9
    for period in (2, 5, 10, 13):
        share = kernel_ridge.scattered(1300)[:130] % period
        counts = np.bincount(share, minlength=period)
        assert counts.max() - counts.min() <= 0.35 * 130 / period + 2, "each of the period's places is seen"


def test_a_constant_input_tells_nothing():
    inputs = Inputs.of(np.column_stack([VALUES[:, 0], np.ones(N)]))
    alone = Inputs.of(VALUES[:, :1])
    for distance, width in KERNELS:
        np.testing.assert_allclose(inputs.kernel(distance, width), alone.kernel(distance, width), atol=1e-12)


def test_the_number_of_threads_changes_no_bit():
    values = np.random.default_rng(4).normal(size=(700, 3))
    targets = np.sin(values[:, :2]) + values[:, 2:]
    division = np.arange(700) % 2
    predictions = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, "blas"):
            predictions.append(out_of_part(values, targets, [division])[0])
    assert np.array_equal(predictions[0], predictions[1])
    assert np.array_equal(predictions[0], predictions[2])
