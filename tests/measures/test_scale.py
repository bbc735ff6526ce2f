"""Correlations, tests and verdicts do not depend on the scale of the metric's scores or of the human scores."""

import dataclasses
import functools
from typing import get_args

import numpy as np
import pytest

from bmx_grid.boosts.base import Part
from bmx_grid.boosts.controls import fit_average, fit_curve
from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.learned import Learned
from bmx_grid.evaluations.held_out import nuisance_of, select_rated
from bmx_grid.evaluations.verdicts import evidence_on, label_gains
from bmx_grid.measures.agreement import spa
from bmx_grid.measures.agreement_tests import Scores, compare_agreement
from bmx_grid.measures.annotators import krippendorff_alpha, reliability, standardize_ratings
from bmx_grid.measures.correlation import KINDS, correlate, correlate_grid
from bmx_grid.measures.correlations_of_resamples import Unit, resampled_correlations
from bmx_grid.measures.grid_resampling import GridSample, cross_fit, selection_adjusted
from bmx_grid.measures.grouped import acc_eq_of_halves, grouped_acc_eq, grouped_correlations, within_groups
from bmx_grid.measures.paired_tests import compare, compare_sums
from bmx_grid.measures.pairwise import pairwise_correlations
from bmx_grid.measures.projection import influences
from bmx_grid.measures.systems import (
    mean,
    mean_terms,
    outliers,
    ranges_by_wins,
    rank_ranges,
    system_statistic,
)

SYSTEMS = 4
N = 120
ROWS = np.arange(N)
ITEM, SYSTEM = np.divmod(ROWS, SYSTEMS)
RNG = np.random.default_rng(4)
HUMAN = np.round(RNG.normal(size=N), 2)
X = HUMAN + RNG.normal(size=N)
Y = HUMAN + 0.5 * RNG.normal(size=N)
WORDS = np.log(RNG.integers(5, 40, size=(N, 2)))
MEANS = np.exp(0.3 * Y[:, None] * np.array([0.5, 1.0, 2.0]))
W = np.array([0.0, 0.5, 1.0])
FEATURES = np.column_stack([HUMAN + 2 * RNG.normal(size=N), Y])
RESAMPLES = 60


def part(x, human, features=FEATURES):
    return [Part(x, features, human, ITEM)]


def of_learned(x, human):
    spec = Learned()
    features = np.column_stack([WORDS, *[Y + place * X for place in range(len(spec.names()) - 2)]])
    fitted = spec.fit("pearson", part(x, human, features))
    return fitted.keeps_base_scores, correlate("pearson", fitted.scores(x, features), HUMAN)


def of_fit(fit):
    """Whether a boost abstains, and what its scores reach."""

    def values(x, human):
        fitted = fit("pearson", part(x, human))
        return fitted.keeps_base_scores, correlate("pearson", fitted.scores(x, FEATURES), HUMAN)

    return values


def of_verdict(x, human):
    used = np.ones(N, dtype=bool)
    nuisance = nuisance_of(x, WORDS, [], [], ITEM)
    rated = select_rated("pearson", x, human, WORDS, ITEM, nuisance, used, 0)
    (verdict,) = label_gains(evidence_on("pearson", rated, [Y], RESAMPLES, 0))
    return verdict.verdict, *plain(verdict.gain), *plain(verdict.partial_r), verdict.left


def of_grid_sample(x, human):
    # a grid blends the scores with means on their scale
    size = float(np.abs(x).max() / np.abs(X).max())
    sample = GridSample(size * MEANS, x, human, W, ITEM)
    crossed = cross_fit(sample)
    return *selection_adjusted(sample, RESAMPLES), correlate("pearson", crossed, HUMAN)


def of_grid(kind):
    def values(x, human):
        size = float(np.abs(x).max() / np.abs(X).max())
        return correlate_grid(kind, size * MEANS, x, human, W).ravel()

    return values


def table(scores):
    return scores.reshape(-1, SYSTEMS)


def of_systems(statistic):
    return lambda x, human: system_statistic(statistic, table(x).mean(axis=0), table(human).mean(axis=0))


def slope(x, human):
    """Per unit of the metric's score: free of scale times that."""
    size = float(np.abs(x).max() / np.abs(X).max())
    return size * system_statistic("agreement_slope", table(x).mean(axis=0), table(human).mean(axis=0))


def plain(value):
    """The numbers of an estimate or a comparison, in order."""
    return tuple(getattr(value, item.name) for item in dataclasses.fields(value))


def agreement(statistic, **options):
    return lambda x, human: plain(
        compare_agreement(statistic, Scores(x, Y, human, ITEM, SYSTEM, ITEM), resamples=RESAMPLES, **options)
    )


def of_two_systems(x, human):
    """Whether two systems differ in their mean; the difference itself is on the scale of the scores."""
    result = compare_sums(mean_terms(x[:60]), mean_terms(x[60:]), mean, resamples=RESAMPLES)
    return result.p, result.p_bootstrap, result.difference / np.abs(x).max()


def of_raters(x, human):
    raters = np.column_stack([human, human[::-1]])
    of_alpha = [plain(krippendorff_alpha(raters, level, resamples=RESAMPLES)) for level in ("ordinal", "interval")]
    return *of_alpha[0], *of_alpha[1][:3], *reliability(raters).values(), *standardize_ratings(raters).ravel()


CALLS = {
    "selection and folds of a grid": of_grid_sample,
    "slope of agreement": slope,
    "two systems by their means": of_two_systems,
    "raters": of_raters,
    "verdict": of_verdict,
    "learned": of_learned,
    "curve": of_fit(fit_curve),
    "average": of_fit(lambda kind, parts: fit_average(("y", "z"), kind, parts)),
    "z mix": of_fit(lambda kind, parts: FeatureMix(feature="spread").fit(kind, parts)),
    "spa": lambda x, human: spa(table(x), table(human), resamples=RESAMPLES)[0],
    "acc_eq": lambda x, human: grouped_acc_eq(x[:, None], human, ITEM, ITEM, RESAMPLES)[0][0],
    "acc_eq of halves": lambda x, human: acc_eq_of_halves(x[:, None], human, ITEM, ITEM),
    "test of acc_eq": agreement("acc_eq"),
    "test of spa": agreement("spa", unit="both"),
    "test of pairwise accuracy": agreement("pairwise_accuracy", unit="systems"),
    "pairwise differences": lambda x, human: pairwise_correlations(x[:, None], human, ITEM, ITEM, RESAMPLES)[0],
    "ranks": lambda x, human: rank_ranges(table(x).mean(axis=0), table(x)).ravel(),
    "wins": lambda x, human: ranges_by_wins(table(human)).ravel(),
    "outliers": lambda x, human: outliers(human),
}
for kind in KINDS:
    CALLS |= {
        f"{kind}": lambda x, human, kind=kind: correlate(kind, x, human),
        f"{kind} of a grid": of_grid(kind),
        f"{kind} of systems": of_systems(kind),
        f"{kind} within groups": lambda x, human, kind=kind: within_groups(kind, x[:, None], human, ITEM).ravel(),
        f"{kind} in few large groups": lambda x, human, kind=kind: within_groups(
            kind, x[:, None], human, SYSTEM % 2
        ).ravel(),
        f"{kind} by item": lambda x, human, kind=kind: grouped_correlations(
            kind, x[:, None], human, ITEM, ITEM, RESAMPLES
        )[0][kind],
        f"{kind} of resamples": lambda x, human, kind=kind: resampled_correlations(
            kind, x[:, None], human, ITEM, RESAMPLES, 0
        ).ravel(),
        f"{kind} projected": lambda x, human, kind=kind: influences(kind, x, human),
    }
    for unit in get_args(Unit):
        CALLS[f"test of {kind}, {unit}"] = lambda x, human, kind=kind, unit=unit: plain(
            compare(x, Y, human, ITEM, system=SYSTEM, statistic=kind, unit=unit, resamples=RESAMPLES)
        )
    CALLS[f"test of {kind} within systems"] = lambda x, human, kind=kind: plain(
        compare(x, Y, human, ITEM, group=SYSTEM, statistic=kind, resamples=RESAMPLES)
    )


def plain_values(result):
    """Labels, and numbers, undefined ones among them."""
    values = []
    for value in np.atleast_1d(np.asarray(result, dtype=object)):
        values.append(value if isinstance(value, str) else float(value))
    return values


@functools.cache
def unscaled(name):
    values = plain_values(CALLS[name](X, HUMAN))
    # 1e-200 times a number is rounded: what follows differs in the last digits. Kernels of a verdict have conditions of
    # up to 1e8, and multiply that.
    last = 1e-6 if name == "verdict" else 1e-9
    return [value if isinstance(value, str) else pytest.approx(value, abs=last, nan_ok=True) for value in values]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("of_metric", "of_human"),
    [
        pytest.param(1e-300, 1.0, id="tiny scores"),
        pytest.param(1e-160, 1.0, id="scores whose squares have few digits"),
        pytest.param(1e-11, 1e-11, id="scores as small as rounding elsewhere"),
        pytest.param(1.0, 1e-300, id="tiny human scores"),
        pytest.param(1e149, 1e149, id="large scores"),
        pytest.param(1e-200, 1e149, id="tiny scores and large human scores"),
    ],
)
@pytest.mark.parametrize("name", CALLS)
def test_the_scale_of_scores_changes_nothing(name, of_metric, of_human):
    assert plain_values(CALLS[name](of_metric * X, of_human * HUMAN)) == unscaled(name)
