"""The count of texts that were read in part: it never falls, and each model's first texts are known as such."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bmx_grid.models.encoding import note_truncated, truncated

pytestmark = pytest.mark.usefixtures("no_text_truncated")


def test_counts_add_up_over_models_whose_first_texts_are_known():
    assert truncated() == 0
    told = [note_truncated(count, model) for count, model in ((0, "a"), (2, "a"), (2, "a"), (1, "b"), (0, "b"))]
    assert told == [False, True, False, True, False]
    assert truncated() == 5


def test_threads_lose_no_count_and_one_of_them_is_first():
    with ThreadPoolExecutor(8) as pool:
        firsts = sum(pool.map(lambda _: note_truncated(1, "a"), range(2000)))
    assert (firsts, truncated()) == (1, 2000)
