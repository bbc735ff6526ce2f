"""Batches by token budget, memory that runs out, texts that are too long."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bmx_grid.models.encoding import count_truncated, note_truncated, run_batches, token_budget, tokenize
from bmx_grid.models.loading import LoadedModel, load_model


def a_model() -> LoadedModel:
    import torch

    return LoadedModel("fake", tokenizer=None, network=None, device=torch.device("cpu"), max_length=64)


@pytest.mark.parametrize(
    ("lengths", "budget", "expected"),
    [
        pytest.param([3, 9, 5, 5, 1], 10, [[1], [2, 3], [0], [4]], id="longest-first-and-those-alike-together"),
        pytest.param([9, 10, 9, 10], 20, [[1, 3], [0, 2]], id="longest-first-padded-to-the-longest"),
        pytest.param([16, 8, 8, 8], 64, [[0], [1, 2, 3]], id="a-quarter-full-ends-before-much-shorter-items"),
        pytest.param([16, 8, 8, 8], 256, [[0, 1, 2, 3]], id="less-than-a-quarter-full-goes-on"),
        pytest.param([30, 2, 2], 10, [[0], [1, 2]], id="an-item-above-the-budget-goes-alone"),
        pytest.param([0, 0], 1, [[0], [1]], id="items-without-tokens"),
        pytest.param([], 10, [], id="nothing"),
    ],
)
def test_batches_hold_the_budget_of_padded_tokens(lengths, budget, expected):
    seen = []
    run_batches(lambda batch: seen.append(batch.tolist()), np.array(lengths, dtype=np.int64), a_model(), budget)
    assert seen == expected


def test_memory_that_runs_out_halves_the_batch_and_goes_on():
    import torch

    model, seen, failed = a_model(), [], []

    def work(batch):
        if len(batch) * 4 > 20:
            failed.append(len(batch))
            raise torch.OutOfMemoryError("CUDA out of memory")
        seen.extend(batch.tolist())

    run_batches(work, np.full(40, 4), model, 160)
    assert sorted(seen) == list(range(40))
    assert failed == [40, 20, 10]
    assert token_budget(model, 160) == 20  # learnt: the next call does not try again
    run_batches(work, np.full(40, 4), model, 160)
    assert failed == [40, 20, 10]


def test_long_texts_are_truncated_counted_and_warned_of_once(tiny_model, no_text_truncated):
    model = load_model("encoder", tiny_model("roberta"), layers=1)
    texts = ["cat " * 500, "The cat", "dog " * 500]
    with pytest.warns(UserWarning, match="2 of 3 texts have more than 64 tokens"):
        ids = tokenize(model, texts, None)
    assert [len(tokens) for tokens in ids][::2] == [64, 64]
    assert ids[0][-1] == model.tokenizer.sep_token_id
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenize(model, texts, 1_000)
        (just_the_limit,) = tokenize(model, ["." + " ." * 61], None)
    assert (len(just_the_limit), count_truncated()) == (64, 4)
    assert max(len(tokens) for tokens in tokenize(model, texts, 5)) == 5


def test_counts_add_up_over_models_and_threads_whose_first_texts_are_known(no_text_truncated):
    are_first = [note_truncated(count, model) for count, model in ((0, "a"), (2, "a"), (2, "a"), (1, "b"), (0, "b"))]
    assert (are_first, count_truncated()) == ([False, True, False, True, False], 5)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: note_truncated(1, "c"), range(2000))) == 1
    assert count_truncated() == 2005
