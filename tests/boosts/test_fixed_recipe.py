"""A recipe as a boost: its constants, whatever the segments; the same one from any file."""

import pickle

import numpy as np
import pytest
from fakes import composed
from some_attributions import attributions, planted
from some_recipe import recipe

from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.recipe import Fixed, write_recipe
from bmx_grid.core.configure import build
from bmx_grid.core.errors import DataMissingError


@pytest.fixture
def fixed(tmp_path):
    write_recipe(tmp_path / "one.json", recipe())
    config = composed("evaluation=[boosts]", "boost=[recipe]", f"boost.recipe.recipe={tmp_path / 'one.json'}")
    return build(config["boost"]["recipe"], Boost, "boost.recipe")


def test_it_is_the_boost_of_the_recipe_with_its_constants(fixed):
    made, sides = recipe(), attributions(20)
    assert fixed.names() == made.boost.names() and fixed.of_attributions() == made.boost.of_attributions()
    assert fixed.features(*sides).tobytes() == made.boost.features(*sides).tobytes()
    for parts in ([], [planted(made.boost, n=30, seed=9)[0]]):
        assert fixed.fit("kendall", parts) == made.fitted()
    assert fixed.restored(made.constants) == made.fitted()
    scores = fixed.fit("pearson", []).scores(np.zeros(20), fixed.features(*sides))
    assert (
        pickle.loads(pickle.dumps(fixed)).fit("pearson", []).scores(np.zeros(20), fixed.features(*sides)).tobytes()
        == scores.tobytes()
    )


def test_its_identity_is_that_of_the_recipe_wherever_it_is(fixed, tmp_path):
    write_recipe(tmp_path / "two.json", recipe())
    write_recipe(tmp_path / "other.json", recipe("spread"))
    same, other = (Fixed(recipe=str(tmp_path / f"{name}.json")) for name in ("two", "other"))
    assert fixed.fingerprint() == same.fingerprint() != other.fingerprint()


def test_a_recipe_that_is_not_there_is_said_when_the_sweep_is_planned(tmp_path):
    with pytest.raises(DataMissingError, match="there is no recipe"):
        Fixed(recipe=str(tmp_path / "none.json"))
