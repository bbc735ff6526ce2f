"""Named human scores, their raters and word tags: what fits together, and what taking rows keeps."""

import numpy as np
import pytest

from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Labels
from bmx_grid.datasets.segments import Judgements
from bmx_grid.words.tags import WordTags

NAN = float("nan")


def tags(*rows):
    words = tuple(tuple("w" for _ in row) for row in rows)
    return WordTags(words, Labels.from_rows([[sign == "B" for sign in row] for row in rows]))


SCORES = {"z_mean": np.array([0.5, NAN, -1.0]), "mean": np.array([80.0, 60.0, NAN])}
RATERS = {"z_mean": np.array([[0.0, 1.0], [NAN, NAN], [-1.0, NAN]])}
WHOLE = Judgements(SCORES, RATERS, {"mean": {"a": 0.5}}, {"hypothesis": tags("OB", "B", "OOO")})


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        pytest.param([2, 0], [2, 0], id="indices-in-their-order"),
        pytest.param(np.array([True, False, True]), [0, 2], id="mask"),
        pytest.param([], [], id="none"),
    ],
)
def test_taking_rows_keeps_aspects_raters_tags_and_systems(rows, kept):
    taken = WHOLE.take(rows)
    assert taken.aspects == WHOLE.aspects
    for name in WHOLE.aspects:
        np.testing.assert_array_equal(taken.scores[name], WHOLE.scores[name][kept])
    np.testing.assert_array_equal(taken.raters["z_mean"], WHOLE.raters["z_mean"][kept])
    shown = ["".join("OB"[int(bad)] for bad in row) for row in taken.tags["hypothesis"].labels.rows()]
    assert shown == [["OB", "B", "OOO"][row] for row in kept]
    assert taken.systems == {"mean": {"a": 0.5}}


ONE = {"da": [1.0]}


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        pytest.param(({},), "at least one human score", id="no-aspect"),
        pytest.param(({"": [1.0]},), "needs a name", id="no-name"),
        pytest.param(({**ONE, "mqm": [1.0, 2.0]},), r"'mqm' has the shape \(2,\)", id="lengths"),
        pytest.param((ONE, {"mqm": [[1.0]]}), "of 'mqm', but the human scores are da", id="raters-of-another"),
        pytest.param((ONE, {}, {"mqm": {"a": 1.0}}), "of 'mqm', but the human scores are da", id="systems-of-another"),
        pytest.param((ONE, {}, {}, {"source": tags("O", "B")}), "word tags of 2 source texts, but 1 human", id="tags"),
    ],
)
def test_what_does_not_fit_is_refused(parts, reason):
    with pytest.raises(DataError, match=reason):
        Judgements(*parts)
    with pytest.raises(ValueError, match="same numbers of words"):
        WordTags((("a", "b"),), Labels.from_rows([[True]]))


@pytest.mark.parametrize("kind", ["score", "rater"])
@pytest.mark.parametrize("value", [np.inf, 2e150, -1.7e308], ids=str)
def test_a_score_without_a_square_is_refused_with_the_number_of_its_segment(kind, value):
    scores = {"mqm": [0.0, 1e150], "da": [NAN, value if kind == "score" else 1.0]}
    raters = {"da": [[0.0, NAN], [NAN, value]]} if kind == "rater" else {}
    with pytest.raises(DataError) as error:
        Judgements(scores, raters)
    assert f"the human score 'da' of segment number 2 is {value:g}; write a number within ±1e+150" in str(error.value)


def test_fingerprint_covers_names_order_values_raters_systems_and_tags():
    others = [
        Judgements(SCORES),
        Judgements(SCORES, RATERS),
        Judgements({name: SCORES[name] for name in ("mean", "z_mean")}, RATERS),
        Judgements({"da": SCORES["z_mean"], "mean": SCORES["mean"]}),
        Judgements({**SCORES, "mean": np.array([80.0, 60.0, 1.0])}, RATERS),
        Judgements(SCORES, RATERS, {"mean": {"a": 0.5}}),
        Judgements(SCORES, RATERS, {"mean": {"a": 0.0}}),
        WHOLE,
        Judgements(SCORES, RATERS, {"mean": {"a": 0.5}}, {"source": tags("OB", "B", "OOO")}),
        Judgements(SCORES, RATERS, {"mean": {"a": 0.5}}, {"hypothesis": tags("BO", "B", "OOO")}),
    ]
    assert len({repr(judged.fingerprint()) for judged in others}) == len(others)
    assert not {"systems", "tags"} & others[0].fingerprint().keys()  # of data without them they are as they were
    negative = np.copysign(np.array([np.nan]), -1)
    assert Judgements({"da": negative}).fingerprint() == Judgements({"da": np.array([np.nan])}).fingerprint()
