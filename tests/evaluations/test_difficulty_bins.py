"""How difficulties of words spread over bins, by hand."""

import numpy as np
import pytest

from bmx_grid.evaluations.difficulty import BINS, _bins


def test_bins_have_the_shares_of_words_and_the_ends_hold_what_lies_beyond():
    texts = [np.array([-0.2, 0.04, 0.05, 1.0]), np.zeros(3), np.array([1.2])]
    found = _bins(7, texts)
    assert [(one.low, one.high) for one in found] == [(at / 20, (at + 1) / 20) for at in range(BINS)]
    assert [one.share for one in found] == pytest.approx([5 / 8, 1 / 8, *[0] * 17, 2 / 8])
    (of_all,) = {(one.systems, one.tokens, one.mean, one.references, one.zero) for one in found}
    assert of_all == (7, 8, pytest.approx(2.09 / 8), 3, 1)


def test_no_word_has_no_mean_and_empty_bins():
    found = _bins(7, [])
    assert [one.share for one in found] == [0] * BINS
    assert np.isnan(found[0].mean) and found[0].tokens == 0
    assert _bins(7, [np.empty(0)])[0].zero == 0, "a text without words is not one without difficulty"
