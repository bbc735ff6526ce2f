"""Embedded recipes: only those with an established gain beyond score and length; found by name, or by file."""

import pytest
from some_recipe import recipe

from bmx_grid.boosts import recipe as module
from bmx_grid.boosts.recipe import HeldOut, embedded, find_recipe, recipes_in_words, write_recipe
from bmx_grid.core.configure import build, options
from bmx_grid.core.errors import DataMissingError
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric


@pytest.mark.parametrize("name", embedded())
def test_an_embedded_recipe_is_established_and_fits_the_options(name):
    found = find_recipe(name)
    assert found.name == name
    assert found.verdict == "helps" and not found.fitted().abstains
    assert found.chosen_on and all(one.dataset in options("dataset") for one in found.chosen_on)
    for group, own, kind in (("metric", found.metric, Metric), ("explainer", found.explainer, Explainer)):
        part = build(own.node(group), kind, group)
        assert own.fingerprint == type(own).of(group, own.name, part, part.signature).fingerprint


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of embedded recipes, with one in it."""
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    write_recipe(tmp_path / "bleu-words.json", recipe())
    return tmp_path


def test_by_name_and_by_file(folder, monkeypatch):
    assert embedded() == ["bleu-words"]
    monkeypatch.chdir(folder.parent)
    expected = find_recipe("bleu-words")
    for given in (folder / "bleu-words.json", str(folder / "bleu-words.json"), f"{folder.name}/bleu-words.json"):
        assert find_recipe(given) == expected == recipe().signed()


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ("bleu-word", DataMissingError, r"unknown recipe 'bleu-word'. Did you mean 'bleu-words'\? .*suffix .json"),
        ("bleu-words.json", DataMissingError, "there is no recipe bleu-words.json"),
        ("./none", DataMissingError, "there is no recipe"),
        ("", DataMissingError, "unknown recipe ''"),
    ],
)
def test_what_is_not_there(folder, given, kind, said):
    with pytest.raises(kind, match=said):
        find_recipe(given)


def test_they_are_shown_with_what_they_gain(folder):
    assert recipes_in_words() == (
        "bleu-words: sentence_bleu boosted by erasure with share_negative, chosen on wmt17; helps, gain +0.0330 "
        "[+0.0250, +0.0420], beyond score and length +0.0300 (each language "
        "pair by the others, without shared references)"
    )
    assert module.interval(HeldOut(None, None, None, "x")) == "n/a"
    assert module.interval(HeldOut(0.1, None, None, "x")) == "+0.1000"
    (folder / "bleu-words.json").unlink()
    assert recipes_in_words().startswith("No recipe is embedded; a sweep writes recipes")
