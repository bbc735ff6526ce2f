"""Student's t interval of a system's mean score, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from bmx_grid.measures.system_scores import student_interval


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 30, 100])
def test_the_interval_is_scipys(n, confidence):
    scores = np.random.default_rng(n).normal(size=n)
    found = student_interval(np.append(scores, np.nan), confidence)  # a sentence without a score does not count
    expected = stats.ttest_1samp(scores, 0).confidence_interval(confidence)
    assert (found.score, found.low, found.high) == pytest.approx((scores.mean(), expected.low, expected.high))


@pytest.mark.parametrize("scores", [[], [0.5]])
def test_too_few_scores_have_no_interval(scores):
    found = student_interval(scores)
    assert np.isnan([found.low, found.high]).all() and np.isnan(found.score) == (not scores)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_is_a_share(confidence):
    with pytest.raises(ValueError, match="share between 0 and 1"):
        student_interval([1.0, 2.0], confidence)
