"""Recording a library's requests and replaying it with their scores."""

import numpy as np
import pytest

from bmx_grid.errors import ExplainError
from bmx_grid.explainers.replay import global_generator, record, replay

MASKS = np.array([[True, True], [True, False], [True, True]])


def test_masks_are_recorded_in_order_with_repeats():
    def run(answer):
        answer(MASKS[:2])
        answer(MASKS[2:])

    assert record(run).tolist() == MASKS.tolist()


def test_a_mask_that_is_overwritten_after_the_call_is_recorded_as_it_was():
    def run(answer):
        buffer = MASKS.copy()
        answer(buffer)
        buffer[:] = False

    assert record(run).tolist() == MASKS.tolist()


def test_scores_come_back_by_mask_in_any_order():
    found = replay(lambda answer: answer(MASKS[[1, 0]]), MASKS[:2], np.array([0.25, 0.5]), "")
    assert found.tolist() == [0.5, 0.25]


def test_a_choice_that_depends_on_scores_is_refused():
    def run(answer):
        first = answer(MASKS[:1])[0]
        answer(np.array([[False, first > 0.9]]))

    keep = record(run)
    assert keep.tolist() == [[True, True], [False, True]]
    with pytest.raises(ExplainError, match="a side of 2 words.*its choices depend on scores. Do this instead."):
        replay(run, keep, np.array([0.0, 0.0]), "Do this instead.")


def test_the_global_generator_is_seeded_inside_and_restored_even_after_an_error():
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    draws = []

    def draw_and_fail():
        with global_generator(5):
            draws.append(np.random.random())  # noqa: NPY002
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            draw_and_fail()
    assert draws == [np.random.RandomState(5).random_sample()] * 2
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002
