"""The best averages of scores, against every average correlated by SciPy."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.averages import best_averages

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def by_scipy(kind, tables, human):
    """The mean correlation of each average; NaN if one is undefined."""
    found = {}
    for size in (1, 2, 3):
        for subset in itertools.combinations(range(tables[0].shape[1]), size):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # constant scores, which are the point of some cases
                of_parts = [
                    np.nan if np.ptp(scores) == 0 else SCIPY[kind](scores, humans)[0]
                    for scores, humans in zip([table[:, subset].mean(axis=1) for table in tables], human, strict=True)
                ]
            found[subset] = np.mean(of_parts)
    return found


def scores(case, n=40):
    rng = np.random.default_rng(5)
    human = rng.normal(size=n)
    table = human[:, None] + 2 * rng.normal(size=(n, 6))
    if case == "equal":
        table[:, 4] = table[:, 1]
    if case == "opposed":
        table[:, 4] = -table[:, 1]
    if case == "ties":
        table = np.round(table / 2)
    if case == "constant":
        table[:, 2] = 0.1
    if case == "nearly opposed":
        table[:, 4] = -table[:, 1] + 1e-3 * human
    return table, human


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize("case", ["plain", "equal", "opposed", "ties", "constant", "nearly opposed"])
def test_the_best_are_those_of_scipy(kind, case):
    table, human = scores(case)
    tables, humans = [table, table[:20, ::-1].copy()], [human, human[:20]]
    expected = by_scipy(kind, tables, humans)
    highest = np.nanmax(list(expected.values()))
    found = best_averages(kind, tables, humans)
    members = {tuple(row) for rows in found.members for row in rows.tolist()}
    assert members == {subset for subset, value in expected.items() if value >= highest - 1e-12}
    for values in found.correlations:
        np.testing.assert_allclose(values, highest, atol=1e-12)


def test_without_a_defined_average_none_is_best():
    table = np.full((10, 2), 0.1)
    assert best_averages("pearson", [table], [np.arange(10.0)]).members == ()
