"""AUC, average precision and recall at top K against scikit-learn, enumeration and values by hand."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.ragged import Ragged
from bmx_grid.measures.word_scores import rank_words
from bmx_grid.words.tags import Labels


def words(tags, attributions):
    return Labels.from_rows(tags), Ragged.from_rows([np.array(row, float) for row in attributions])


def some_segments(rng, decimals):
    lengths = rng.integers(2, 12, 80)
    tags = [rng.random(n) < 0.35 for n in lengths]
    return words(tags, [np.round(rng.normal(size=n) - tag, decimals) for n, tag in zip(lengths, tags, strict=True)])


@pytest.mark.parametrize("decimals", [0, 8], ids=["ties", "distinct"])
def test_auc_and_average_precision_like_sklearn(decimals):
    gold, attributions = some_segments(np.random.default_rng(0), decimals)
    found = rank_words(gold, attributions)
    for row, bad in enumerate(gold.rows()):
        if bad.all() or not bad.any():
            assert np.isnan([found.auc[row], found.ap[row], found.recall_at_k[row]]).all()
            continue
        assert found.auc[row] == pytest.approx(roc_auc_score(bad, -attributions[row]))
        assert found.ap[row] == pytest.approx(average_precision_score(bad, -attributions[row]))
    assert np.isnan(found.auc).sum() == found.all_ok + found.all_bad > 0


def test_the_expected_recall_is_the_mean_over_all_orders_of_tied_words():
    rng = np.random.default_rng(1)
    for _ in range(30):
        bad, values = rng.random(6) < 0.5, rng.integers(0, 3, 6).astype(float)
        if bad.all() or not bad.any():
            continue
        orders = [np.array(order) for order in itertools.permutations(range(6))]
        recalls = [bad[order][np.argsort(values[order], kind="stable")][: bad.sum()].mean() for order in orders]
        assert rank_words(*words([bad], [values])).recall_at_k[0] == pytest.approx(np.mean(recalls))


@pytest.mark.parametrize("ties", ["expected", "argsort"])
def test_the_rule_for_ties_does_not_matter_without_ties(ties):
    gold, attributions = some_segments(np.random.default_rng(2), 8)
    expected = rank_words(gold, attributions).recall_at_k
    assert rank_words(gold, attributions, ties).recall_at_k == pytest.approx(expected, nan_ok=True)


def test_argsort_is_that_of_numpy():
    gold, attributions = some_segments(np.random.default_rng(3), 0)
    found = rank_words(gold, attributions, "argsort")
    for row, bad in enumerate(gold.rows()):
        if bad.any() and not bad.all():
            top = np.argsort(-attributions[row])[::-1][: bad.sum()]
            assert found.recall_at_k[row] == bad[top].mean()


def test_a_low_attribution_is_a_suspected_error():
    gold, attributions = words([[0, 1, 0]], [[0.5, -0.2, 0.1]])
    found = rank_words(gold, attributions)
    assert (found.auc[0], found.ap[0], found.recall_at_k[0]) == (1, 1, 1)


def test_what_is_left_out_is_counted_by_its_reason():
    gold, attributions = words(
        [[0, 0], [1, 1], [], [1, 0], [0, 1], [0, 0]],
        [[1, 2], [1, 2], [], [np.nan, 1], [2, 1], [np.nan, 1]],
    )
    found = rank_words(gold, attributions)
    assert (found.all_ok, found.all_bad, found.empty, found.undefined) == (2, 1, 1, 1)
    assert np.isnan(found.auc).tolist() == [True, True, True, True, False, True]


def test_a_segment_depends_on_itself_alone():
    gold, attributions = some_segments(np.random.default_rng(4), 1)
    whole = rank_words(gold, attributions)
    for row in range(0, len(gold), 7):
        alone = rank_words(Labels.from_rows([gold[row]]), Ragged.from_rows([attributions[row]]))
        for name, values in alone.measures().items():
            assert values[0] == pytest.approx(whole.measures()[name][row], nan_ok=True, abs=0)


def test_no_segments():
    assert len(rank_words(*words([], [])).auc) == 0


def test_mistakes():
    gold, attributions = words([[0, 1]], [[1, 2]])
    with pytest.raises(ConfigError, match="Did you mean 'expected'"):
        rank_words(gold, attributions, "expectd")
    with pytest.raises(ValueError, match="same numbers of words"):
        rank_words(gold, Ragged.from_rows([np.ones(3)]))
