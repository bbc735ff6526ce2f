"""Further human scores of a data set as metrics."""

import numpy as np
import pytest

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, DataMissingError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item

HUMAN = build(load_option("metric", "human"), Metric, "metric.human")
ESA = np.array([70.0, np.nan, 90.0])


def set_of(pair, **further):
    segments = tuple(Segment(str(row), f"h{row}", source=f"s{row}") for row in range(3))
    judged = Judgements(
        {"mqm": np.array([-1.0, -5.0, 0.0]), **further}, systems={"esa": {"A": 80.0}} if further else {}
    )
    return SegmentSet("toy", pair, segments, judged)


SETS = [set_of("de-en", esa=ESA, round_2=-ESA), set_of("en-cs")]


def test_it_stands_for_every_further_human_score_of_any_set():
    members = HUMAN.expand("human", SETS)
    assert {name: member.aspect for name, member in members.items()} == {
        "human_esa": "esa",
        "human_round_2": "round_2",
    }
    assert HUMAN.expand("human", SETS[1:]) == {}


def test_its_scores_are_what_people_said_and_are_its_identity():
    esa = HUMAN.expand("human", SETS)["human_esa"].fit(SETS[0])
    scores = esa.load_scores(SETS[0])
    np.testing.assert_array_equal(scores.base_scores, ESA)
    assert scores.systems == {"A": 80.0}
    of_other_scores = HUMAN.expand("human", SETS)["human_esa"].fit(set_of("de-en", esa=ESA + 1))
    assert esa.fingerprint() != of_other_scores.fingerprint() and esa.signature != of_other_scores.signature


def test_a_set_without_it_is_left_out_and_texts_are_not_scored():
    esa = HUMAN.expand("human", SETS)["human_esa"]
    with pytest.raises(DataMissingError, match="human score 'esa' not found"):
        esa.load_scores(SETS[1])
    with pytest.raises(ConfigError, match="use it in a sweep, not on other texts"):
        esa.score([Item(hypothesis="a")])
