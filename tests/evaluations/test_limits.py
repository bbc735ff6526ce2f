"""The smallest numbers that evaluations take are those that their messages name."""

import dataclasses

import pytest

from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.core.errors import ConfigError
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.evaluations.difficulty import DifficultyEvaluation
from bmx_grid.evaluations.grid import GridEvaluation, PowerRange
from bmx_grid.evaluations.levels import LevelsEvaluation
from bmx_grid.evaluations.significance import SignificanceEvaluation
from bmx_grid.evaluations.top_systems import TopSystemsEvaluation
from bmx_grid.evaluations.words import WordsEvaluation

GRID = GridEvaluation(p=PowerRange(0, 1, 1), w=(1.0,), fixed={})
SIGNIFICANCE = SignificanceEvaluation(grid=GRID)
BOOSTS = BoostEvaluation(grid=GRID, boosts={"mean": FeatureMix(feature="mean")})


@pytest.mark.parametrize(
    ("evaluation", "name", "least"),
    [
        (GRID, "max_points", 1),
        (LevelsEvaluation(), "resamples", 0),
        *((SIGNIFICANCE, name, least) for name, least in (("resamples", 40), ("rank_resamples", 0))),
        (WordsEvaluation(), "resamples", 0),
        (WordsEvaluation(), "folds", 2),
        (TopSystemsEvaluation(), "resamples", 0),
        (DifficultyEvaluation(), "references", 1),
        (DifficultyEvaluation(), "sentences", 1),
        *(
            (BOOSTS, name, least)
            for name, least in (("draws", 1), ("resamples", 40), ("seed", 0), ("smallest_gain", 0))
        ),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Evaluation) else str(one),
)
def test_the_least_number_is_taken_and_one_less_is_refused(evaluation, name, least):
    assert getattr(dataclasses.replace(evaluation, **{name: least}), name) == least
    with pytest.raises(ConfigError, match=rf"{name}\b.*{least - 1}"):
        dataclasses.replace(evaluation, **{name: least - 1})


@pytest.mark.parametrize("name", ["resamples", "rank_resamples"])
def test_the_most_is_refused_by_its_number(name):
    with pytest.raises(ConfigError, match=f"{name} must lie between .* and [0-9,]+, got 1000001"):
        dataclasses.replace(SIGNIFICANCE, **{name: 1_000_001})


def test_a_share_of_systems_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="top=best: write all"):
        DifficultyEvaluation(top="best")
