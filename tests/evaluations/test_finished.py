"""What an evaluation reads of a finished setting, and what its rows must be."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from some_settings import finished

from bmx_grid.evaluations.base import Estimate, Tested, as_columns
from bmx_grid.evaluations.choose import link_selection_sets
from bmx_grid.evaluations.held_out import BoostInputs, RatedSegments
from bmx_grid.evaluations.stored_tables import Tables


def of_words(setting, attributed):
    return dataclasses.replace(setting, scores=dataclasses.replace(setting.scores, attributed=attributed))


def test_words_are_those_of_the_texts_or_those_that_an_explanation_speaks_of():
    setting = finished(12)
    assert setting.text_roles == ("source", "hypothesis")
    texts = [item.hypothesis for item in setting.items]
    assert [list(row) for row in setting.words("hypothesis")] == [text.split(" ") for text in texts]
    assert setting.word_counts("hypothesis").tolist() == [len(text.split(" ")) for text in texts]
    spoken_of = tuple(row[1:] for row in setting.words("hypothesis"))
    part = of_words(setting, {"hypothesis": spoken_of})
    assert part.words("hypothesis") == spoken_of
    assert part.word_counts("hypothesis").tolist() == [len(row) for row in spoken_of]
    assert part.word_counts("source").tolist() == setting.word_counts("source").tolist()
    metric_alone = finished(12, explainer=None)
    named = of_words(metric_alone, {"reference": spoken_of})
    assert named.text_roles == ("source", "reference", "hypothesis"), "in the order of roles"


@dataclass(frozen=True)
class Thing:
    one: float
    two: str


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param({"one": [1.0]}, "columns of Thing are one, two, not one", id="a column is missing"),
        pytest.param({"two": ["a"], "one": [1.0]}, "not two, one", id="another order"),
        pytest.param({}, "not none", id="no column"),
        pytest.param({"one": [1.0], "two": ["a", "b"]}, "differ in length", id="uneven"),
    ],
)
def test_columns_that_are_not_those_of_the_rows_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        as_columns(Thing, columns)


def test_rows_become_columns_in_the_order_of_their_fields():
    assert as_columns(Thing, [Thing(two="a", one=1.0), Thing(2.0, "b")]) == {"one": [1.0, 2.0], "two": ["a", "b"]}
    assert as_columns(Thing, []) == {"one": [], "two": []}


@dataclass(frozen=True)
class Gained:
    gain: Tested
    rest: Estimate


def test_an_estimate_has_columns_for_its_ends_and_a_tested_one_for_its_p_as_well():
    row = Gained(Estimate(0.1, -0.2, 0.3, 0.04), Estimate(1.0, 0.5, 1.5, 0.01))
    columns = as_columns(Gained, [row])
    of_gain = {"gain": [0.1], "low": [-0.2], "high": [0.3], "p": [0.04]}
    assert columns == {**of_gain, "rest": [1.0], "rest_low": [0.5], "rest_high": [1.5]}
    read = Tables({"gained": pd.DataFrame(columns)}).checked_table("gained", Gained)
    assert read.to_dict("list") == columns


def test_a_pair_that_no_other_chooses_for_leaves_the_others_their_choices():
    rng, everyone, places = np.random.default_rng(3), np.ones(9, dtype=bool), np.arange(9)
    rated = [(*rng.normal(size=(2, 9)), np.ones((9, 2)), places, places, places, places, everyone) for _ in range(3)]
    labels = [list("abcdefghi"), list("abcdefghi"), list("jklmnopqr")]
    members = link_selection_sets(
        "pearson",
        [BoostInputs(finished(9), RatedSegments(*arrays), {}, {}, ()) for arrays in rated],
        labels,
        ["x", "y", "y"],
    )
    assert [list(member.choosing) for member in members] == [[2], [], [0]]
