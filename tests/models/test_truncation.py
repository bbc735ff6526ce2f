"""The count of texts that were read in part: it never falls, and each model's first texts are known as such."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bmx_grid.models.truncation import note, truncated, truncated_by_model

pytestmark = pytest.mark.usefixtures("no_text_truncated")


def test_counts_add_up_over_models():
    assert truncated() == 0
    for count, model in ((2, "a"), (0, "b"), (3, "b"), (5, "a")):
        note(count, model)
    assert truncated() == 10
    assert truncated_by_model() == {"a": 7, "b": 3}


def test_only_a_models_first_texts_are_its_first():
    told = [note(count, model) for count, model in ((0, "a"), (2, "a"), (2, "a"), (1, "b"), (0, "b"))]
    assert told == [False, True, False, True, False]


def test_the_total_never_falls():
    note(2, "a")
    with pytest.raises(ValueError, match="-1 truncated texts of model 'a'"):
        note(-1, "a")
    assert truncated() == 2


def test_threads_lose_no_count_and_one_of_them_is_first():
    with ThreadPoolExecutor(8) as pool:
        firsts = sum(pool.map(lambda _: note(1, "a"), range(2000)))
    assert (firsts, truncated()) == (1, 2000)
