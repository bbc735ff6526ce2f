"""Synthetic labellings: their shares, precisions and recalls, and that they are drawn from the seed."""

import numpy as np
import pytest
from synthetic import DRAWN, SYNTHETIC, synthetic_labels

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.measures.word_labels import measures_of
from bmx_grid.words.tags import Labels


def truth(words, bad, seed=0):
    """So many words, of which so many are BAD, in texts of ten words."""
    flags = np.random.default_rng(seed).permutation(np.arange(words) < bad)
    return Labels.from_rows(flags[start : start + 10] for start in range(0, words, 10))


def shape(gold, found):
    right = (gold.bad & found.bad).sum()
    with np.errstate(invalid="ignore"):
        return found.bad.mean(), right / found.bad.sum(), right / gold.bad.sum(), (~found.bad)[~gold.bad].mean()


@pytest.mark.parametrize(
    ("name", "bad", "expected"),
    [
        pytest.param("all_bad", 300, (1, 0.3, 1, 0), id="all-bad"),
        pytest.param("all_good", 300, (0, np.nan, 0, 1), id="all-good"),
        pytest.param("optimistic_by_share", 300, (0.02, 0.9, 0.06, 698 / 700), id="98-percent-ok"),
        pytest.param("optimistic_by_recall", 270, (0.03, 0.9, 0.1, 727 / 730), id="recall-.1"),
        pytest.param("pessimistic", 300, (0.9, 0.3, 0.9, 0.1), id="pessimistic"),
    ],
)
def test_labellings_are_what_the_paper_says(name, bad, expected):
    gold = truth(1000, bad)
    found = synthetic_labels(name, gold, np.random.default_rng(1))
    assert found.same_words(gold)
    assert shape(gold, found) == pytest.approx(expected, nan_ok=True)


def test_both_readings_of_optimistic_agree_where_18_percent_are_bad():
    gold = truth(10_000, 1800)
    shapes = [
        shape(gold, synthetic_labels(f"optimistic_by_{by}", gold, np.random.default_rng(2)))
        for by in ("share", "recall")
    ]
    assert shapes == [pytest.approx((0.02, 0.9, 0.1, 1 - 20 / 8200))] * 2


def test_random_labels_have_the_share_of_the_truth():
    gold = truth(20_000, 3000)
    found = synthetic_labels("random", gold, np.random.default_rng(3))
    assert shape(gold, found) == pytest.approx((0.15, 0.15, 0.15, 0.85), abs=0.02)
    assert measures_of(gold, found)["mcc"] == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_draws_come_from_the_generator(name):
    gold = truth(2000, 400)
    same, again, other = (synthetic_labels(name, gold, np.random.default_rng(seed)).bad.tolist() for seed in (5, 5, 6))
    assert same == again
    assert (same != other) == (name in DRAWN)


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("bad", [0, 40, None], ids=["all-ok", "all-bad", "no-words"])
def test_one_label_or_none(name, bad):
    gold = truth(40, bad) if bad is not None else Labels.from_rows([[], []])
    if name == "optimistic_by_share" and bad == 0:
        with pytest.raises(DataError, match="the truth has 0 of 40 words; use optimistic_by_recall"):
            synthetic_labels(name, gold, np.random.default_rng(0))
    else:
        assert synthetic_labels(name, gold, np.random.default_rng(0)).same_words(gold)


def test_an_unknown_labelling_is_named():
    with pytest.raises(ConfigError, match="Did you mean 'pessimistic'"):
        synthetic_labels("pesimistic", truth(10, 3), np.random.default_rng(0))
