"""Word tags beside human scores."""

import numpy as np
import pytest

from bmx_grid.core.errors import DataError
from bmx_grid.datasets.judgements import Judgements
from bmx_grid.words.tags import Labels, WordTags


def tags(*rows):
    words = tuple(tuple("w" for _ in row) for row in rows)
    return WordTags(words, Labels.from_rows([[sign == "B" for sign in row] for row in rows]))


@pytest.mark.parametrize("rows", [[2, 0], np.array([True, False, True]), []], ids=["indices", "mask", "none"])
def test_tags_follow_their_segments(rows):
    judged = Judgements({"da": np.arange(3.0)}, tags={"hypothesis": tags("OB", "B", "OOO")})
    found = judged.take(rows)
    expected = [["OB", "B", "OOO"][int(row)] for row in found.scores["da"]]
    assert [["OB"[int(bad)] for bad in row] for row in found.tags["hypothesis"].labels.rows()] == [*map(list, expected)]


def test_tags_are_part_of_the_fingerprint_only_where_there_are_any():
    prints = [
        Judgements({"da": np.zeros(1)}, tags=given).fingerprint()
        for given in ({}, {"hypothesis": tags("OB")}, {"hypothesis": tags("BO")}, {"source": tags("OB")})
    ]
    assert "tags" not in prints[0]
    assert len({str(one) for one in prints}) == 4


def test_tags_of_other_segments_are_refused():
    with pytest.raises(DataError, match="word tags of 2 hypothesis texts, but 1 human"):
        Judgements({"da": np.zeros(1)}, tags={"hypothesis": tags("O", "B")})
    with pytest.raises(ValueError, match="same numbers of words"):
        WordTags((("a", "b"),), Labels.from_rows([[True]]))
