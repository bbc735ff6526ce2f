"""Named human scores and their raters: what fits together, and what taking rows keeps."""

import numpy as np
import pytest

from bmx_grid.core.errors import DataError
from bmx_grid.datasets.judgements import Judgements

NAN = float("nan")


def some():
    return Judgements(
        {"z_mean": np.array([0.5, NAN, -1.0]), "mean": np.array([80.0, 60.0, NAN])},
        {"z_mean": np.array([[0.0, 1.0], [NAN, NAN], [-1.0, NAN]])},
    )


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        pytest.param([2, 0], [2, 0], id="indices-in-their-order"),
        pytest.param(np.array([True, False, True]), [0, 2], id="mask"),
        pytest.param([], [], id="none"),
        pytest.param(range(3), [0, 1, 2], id="all"),
    ],
)
def test_taking_rows_keeps_all_aspects_and_raters(rows, kept):
    taken, whole = some().take(rows), some()
    assert taken.aspects == whole.aspects
    for name in whole.aspects:
        np.testing.assert_array_equal(taken.scores[name], whole.scores[name][kept])
    np.testing.assert_array_equal(taken.raters["z_mean"], whole.raters["z_mean"][kept])


@pytest.mark.parametrize(
    ("scores", "raters", "reason"),
    [
        pytest.param({}, {}, "at least one human score", id="no-aspect"),
        pytest.param({"": [1.0]}, {}, "needs a name", id="no-name"),
        pytest.param({"da": [1.0], "mqm": [1.0, 2.0]}, {}, r"'mqm' has the shape \(2,\)", id="lengths"),
        pytest.param({"da": [[1.0]]}, {}, r"'da' has the shape \(1, 1\)", id="two-dimensions"),
        pytest.param({"da": [1.0]}, {"mqm": [[1.0]]}, "raters of 'mqm', but the human scores are da", id="other-name"),
        pytest.param({"da": [1.0]}, {"da": [1.0]}, r"shape \(1,\), expected \(1, raters\)", id="flat-raters"),
        pytest.param({"da": [1.0]}, {"da": [[1.0], [2.0]]}, r"shape \(2, 1\)", id="too-many-rows-of-raters"),
    ],
)
def test_what_does_not_fit_is_refused(scores, raters, reason):
    with pytest.raises(DataError, match=reason):
        Judgements(scores, raters)


@pytest.mark.parametrize("kind", ["score", "rater"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, 2e150, -1.7e308], ids=str)
def test_a_score_without_a_square_is_refused_with_the_number_of_its_segment(kind, value):
    scores = {"mqm": [0.0, 1e150], "da": [NAN, value if kind == "score" else 1.0]}
    raters = {"da": [[0.0, NAN], [NAN, value]]} if kind == "rater" else {}
    with pytest.raises(DataError) as error:
        Judgements(scores, raters)
    assert f"the human score 'da' of segment number 2 is {value:g}; write a number within ±1e+150" in str(error.value)


def test_systems_have_scores_of_their_own_which_a_part_of_the_segments_keeps():
    whole = Judgements({"da": np.full(4, np.nan)}, systems={"da": {"a": 0.5, "b": -1.0}})
    assert whole.take([1, 2]).systems == {"da": {"a": 0.5, "b": -1.0}}
    other = Judgements({"da": np.full(4, np.nan)}, systems={"da": {"a": 0.5, "b": 0.0}})
    without = Judgements({"da": np.full(4, np.nan)})
    assert len({repr(one.fingerprint()) for one in (whole, other, without)}) == 3
    assert "systems" not in without.fingerprint()  # fingerprints of data without them are as they were


@pytest.mark.parametrize(
    ("systems", "reason"),
    [
        pytest.param({"mqm": {"a": 1.0}}, "systems' scores of 'mqm', but the human scores are da", id="unknown-aspect"),
        pytest.param({"da": {"a": np.nan}}, "'da' of the system 'a' is nan", id="not-a-number"),
    ],
)
def test_scores_of_systems_that_cannot_be_are_refused(systems, reason):
    with pytest.raises(DataError, match=reason):
        Judgements({"da": np.zeros(2)}, systems=systems)


def test_fingerprint_covers_names_order_values_and_raters():
    whole = some()
    assert whole.fingerprint() == some().fingerprint()
    swapped = Judgements({name: whole.scores[name] for name in ("mean", "z_mean")}, whole.raters)
    renamed = Judgements({"da": whole.scores["z_mean"], "mean": whole.scores["mean"]})
    without = Judgements(whole.scores)
    other = Judgements({**whole.scores, "mean": np.array([80.0, 60.0, 1.0])}, whole.raters)
    kinds = [repr(one.fingerprint()) for one in (whole, swapped, renamed, without, other)]
    assert len(set(kinds)) == len(kinds)


def test_every_nan_is_the_same_value():
    negative = np.copysign(np.array([np.nan]), -1)
    assert Judgements({"da": negative}).fingerprint() == Judgements({"da": np.array([np.nan])}).fingerprint()
