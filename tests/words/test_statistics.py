"""What texts are like: frequencies of words counted in other clusters, and how a text is written."""

import numpy as np
import pytest

from bmx_grid.words.segmentation import TEXT_STATISTICS, text_statistics

TEXTS = ["The cat sat.", "the dog sat", "A DOG barks 12 times!", "", "the the cat"]
ROWS = [text.split() for text in TEXTS]


def statistic_of(rows, clusters, name):
    return text_statistics(rows, np.array(clusters))[:, TEXT_STATISTICS.index(name)]


def test_a_words_frequency_is_counted_in_texts_of_other_clusters():
    elsewhere = [[3, 1, 1], [3, 1, 1], [0, 1, 0, 0, 0], [], [2, 2, 1]]
    expected = [np.log1p(counts) for counts in elsewhere]
    clusters = [0, 1, 2, 3, 4]
    known = [0, 1, 2, 4]
    assert statistic_of(ROWS, clusters, "mean_log_frequency")[known] == pytest.approx(
        [np.mean(expected[row]) for row in known]
    )
    assert statistic_of(ROWS, clusters, "least_log_frequency")[known] == pytest.approx(
        [np.min(expected[row]) for row in known]
    )
    assert statistic_of(ROWS, clusters, "sd_log_frequency")[known] == pytest.approx(
        [np.std(expected[row]) for row in known]
    )
    assert statistic_of(ROWS, clusters, "share_unseen").tolist() == [0, 0, 0.8, 0, 0]
    assert statistic_of(ROWS, [0] * 5, "share_unseen").tolist() == [1, 1, 1, 0, 1], (
        "texts of the own cluster do not count"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("log_characters", [np.log(12), np.log(11), np.log(21), 0, np.log(11)], id="characters"),
        pytest.param("type_token_ratio", [1, 1, 1, 0, 2 / 3], id="types"),
        pytest.param("punctuation", [1 / 12, 0, 1 / 21, 0, 0], id="punctuation"),
        pytest.param("digits", [0, 0, 2 / 21, 0, 0], id="digits"),
        pytest.param("capitals", [1 / 12, 0, 4 / 21, 0, 0], id="capitals"),
        pytest.param("count_unseen", np.log1p([0, 0, 4, 0, 0]), id="words that occur nowhere else"),
        # "sat." and "sat" are two words here
        pytest.param("count_unique", np.log1p([1, 1, 4, 0, 0]), id="words with their punctuation in no other text"),
        pytest.param("count_digits", np.log1p([0, 0, 2, 0, 0]), id="count of digits"),
    ],
)
def test_how_a_text_is_written(name, expected):
    assert statistic_of(ROWS, [0, 1, 2, 3, 4], name) == pytest.approx(expected)
