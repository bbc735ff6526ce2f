"""What cannot be is refused with a sentence that says what was given."""

import numpy as np
import pytest

from bmx_grid.boosts.power_mean_grid import scores_at
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Labels, Ragged
from bmx_grid.measures.agreement_tests import Scores, compare_agreement
from bmx_grid.measures.annotators import krippendorff_alpha
from bmx_grid.measures.correlation import correlate, correlate_grid
from bmx_grid.measures.correlations_of_resamples import resampled_correlations
from bmx_grid.measures.grid import GridSpec, compute_grid
from bmx_grid.measures.grouped import grouped_correlations, within_groups
from bmx_grid.measures.multiple_tests import holm
from bmx_grid.measures.paired_tests import compare, compare_sums, williams
from bmx_grid.measures.systems import system_statistic
from bmx_grid.measures.word_measures import rank_words

ONES = np.ones((4, 2))
X, Y, HUMAN = np.random.default_rng(1).normal(size=(3, 40))
GOLD, VALUES = Labels.from_rows([[True, False], [False]]), Ragged.from_rows([np.array([0.1, 0.5]), np.array([0.4])])
XY = np.column_stack([X, Y])
ROWS = np.arange(40)
GROUPS, SYSTEMS = np.divmod(ROWS, 4)
ALL = Scores(X, Y, HUMAN, GROUPS, SYSTEMS, GROUPS)
OTHER = Ragged.from_rows([np.array([0.1]), np.array([0.4, 0.5])])


def first(sums):
    return sums[..., 0]


def rows(count):
    return Ragged.from_rows([np.ones(1)] * count)


def ones(count):
    return np.ones(count)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: rank_words(GOLD, OTHER), "the same numbers of words", id="words of others"),
        pytest.param(lambda: williams(1.25, 0.5, 0.5, 9), "between -1 and 1, not 1.25, 0.5", id="no correlation"),
        pytest.param(lambda: compare_sums(ONES, ONES[:3], first), r"shapes \(4, 2\) and \(3, 2\)", id="segments"),
        pytest.param(lambda: compare(X, Y, HUMAN, unit="both"), "system=", id="a unit without systems"),
        pytest.param(lambda: compare_agreement("spa", Scores(X, Y, HUMAN, ROWS, None)), "system=", id="no systems"),
        pytest.param(lambda: compare(X, Y, HUMAN, [1, 2]), "one length", id="clusters of another length"),
        pytest.param(lambda: correlate("pearson", [1, 2, 3], [1, 2]), r"\(3,\) and \(2,\)", id="arrays of two lengths"),
        pytest.param(
            lambda: compute_grid(GridSpec(), ones(3), rows(2), rows(3), ones(3)), "3 base .* 2 and 3", id="side"
        ),
        pytest.param(
            lambda: compute_grid(GridSpec(), ones(1), rows(1), rows(1), ones(2)), "1 base .* 2 human", id="people"
        ),
        pytest.param(lambda: holm([-0.1]), "p value", id="p below 0"),
        pytest.param(lambda: holm([[0.5]]), "p value", id="p in rows"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: krippendorff_alpha([[1, 2]], "ratio"), "unknown level 'ratio'", id="level"),
        pytest.param(lambda: rank_words(GOLD, VALUES, "expectd"), "Did you mean 'expected'", id="ties"),
        pytest.param(lambda: compare(X, Y, HUMAN, statistic="person"), "Did you mean 'pearson'", id="correlation"),
        pytest.param(lambda: compare(X, Y, HUMAN, unit="input"), "Did you mean 'inputs'", id="unit"),
        pytest.param(lambda: compare(X[:0], Y[:0], HUMAN[:0], statistic="Pearson"), "'pearson'", id="of no segments"),
        pytest.param(lambda: grouped_correlations(["Pearson"], XY, HUMAN, GROUPS, ROWS), "'pearson'", id="of groups"),
        pytest.param(lambda: grouped_correlations("kendal", XY, HUMAN, GROUPS, ROWS), "'kendall'", id="a text"),
        pytest.param(lambda: within_groups("kendall_c", XY, HUMAN, GROUPS), "'kendall'", id="within groups"),
        pytest.param(lambda: resampled_correlations("spearmen", XY, HUMAN, GROUPS % 2, 9, 0), "'spearman'", id="draws"),
        pytest.param(lambda: compare_agreement("acc-eq", ALL), "Did you mean 'acc_eq'", id="agreement"),
        pytest.param(lambda: compare_agreement("spa", ALL, unit="system"), "'systems'", id="unit of agreement"),
        pytest.param(lambda: system_statistic("pairwise-accuracy", X, Y), "'pairwise_accuracy'", id="of systems"),
        pytest.param(lambda: GridSpec(correlation="Kendall"), "'kendall'", id="correlation of a grid"),
        pytest.param(lambda: GridSpec(side="hypotheses"), "'hypothesis'", id="side of a grid"),
        pytest.param(lambda: correlate_grid("pearsn", ONES, X, Y, [1.0]), "Did you mean 'pearson'", id="of a grid"),
        pytest.param(lambda: scores_at(GridSpec(), 1.0, 1.5, ones(1), rows(1), rows(1)), "outside", id="w"),
    ],
)
def test_unknown_names_and_weights_are_refused(call, message):
    with pytest.raises(ConfigError, match=message):
        call()


def test_one_correlation_is_a_list_of_one():
    alone = grouped_correlations("kendall", XY, HUMAN, GROUPS, ROWS)
    assert alone == grouped_correlations(["kendall"], XY, HUMAN, GROUPS, ROWS)
    assert [set(column) for column in alone] == [{"kendall"}, {"kendall"}]
