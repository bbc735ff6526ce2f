"""What cannot be is refused with a sentence that says what was given."""

import numpy as np
import pytest

from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.significance import compare_sums, williams
from bmx_grid.measures.words.labels import label_measures
from bmx_grid.measures.words.scores import cross_fitted_labels
from bmx_grid.words.tags import Labels

ONES = np.ones((4, 2))
GOLD, VALUES = Labels.from_rows([[True, False], [False]]), Ragged.from_rows([np.array([0.1, 0.5]), np.array([0.4])])
OTHER = Ragged.from_rows([np.array([0.1]), np.array([0.4, 0.5])])


def first(sums):
    return sums[..., 0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(lambda: williams(1.25, 0.5, 0.5, 9), "between -1 and 1, not 1.25, 0.5", id="no correlation"),
        pytest.param(lambda: williams(0.5, 0.5, -1.25, 9), "not 0.5, 0.5, -1.25", id="no correlation of the metrics"),
        pytest.param(lambda: compare_sums(ONES, ONES, first, resamples=0), "not 0", id="no resample"),
        pytest.param(lambda: compare_sums(ONES, ONES[:3], first), r"shapes \(4, 2\) and \(3, 2\)", id="segments"),
        pytest.param(lambda: compare_sums(ONES, ONES, first, range(3)), r"shape \(3,\)", id="labels"),
        pytest.param(lambda: cross_fitted_labels(GOLD, VALUES, folds=1), "at least 2 are needed, not 1", id="one fold"),
        pytest.param(lambda: cross_fitted_labels(GOLD, VALUES, [0]), "1 clusters but 2 texts", id="clusters of texts"),
        pytest.param(lambda: cross_fitted_labels(GOLD, OTHER), "the same numbers of words", id="words of others"),
        pytest.param(lambda: label_measures(np.ones((2, 18)), [1, 2, 3]), "3 clusters but 2 texts", id="more clusters"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_two_folds_are_enough_and_one_resample_too():
    assert len(cross_fitted_labels(GOLD, VALUES, folds=2)[1]) == 2
    assert compare_sums(ONES, ONES, first, resamples=1).p == 1
