"""Recipes go through a file unchanged, by name or by path, are boosts, and wrong ones are refused with a sentence."""

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from fakes import composed
from some_attributions import attributions, planted
from some_recipe import identity, recipe

from bmx_grid.boosts import recipe as module
from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.boosts.recipe import (
    HeldOut,
    Identity,
    RecipeBoost,
    embedded_names,
    find_recipe,
    read_recipe,
    recipes_in_words,
    write_recipe,
)
from bmx_grid.core.configure import build, options
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, StoreError
from bmx_grid.evaluations.verdicts import HELPS, INFORMATIVE, OPEN, REDUNDANT
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "recipe.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> dict:
    path = tmp_path_factory.mktemp("recipes") / "good.json"
    write_recipe(path, recipe())
    return json.loads(path.read_text())


@pytest.mark.parametrize("option", [name for name in options("boost") if name != "recipe"])
def test_a_recipe_comes_back_as_it_was_and_scores_bit_for_bit(tmp_path, option):
    written = recipe(option)
    path = tmp_path / "first.json"
    write_recipe(path, written)
    assert path.stat().st_size < 10_000
    read = read_recipe(path)
    assert read == written.add_signature()
    assert read.partial_r.high is None
    truth, hypothesis = attributions(9, 5)
    base, features = np.arange(9.0), read.boost.features(truth, hypothesis)
    fitted = written.boost.from_constants(written.constants)
    assert read.fitted_boost().scores(base, features).tobytes() == fitted.scores(base, features).tobytes()
    # a single new segment, as the command line meets it
    assert read.fitted_boost().scores(base[:1], features[:1]).tobytes() == fitted.scores(base, features)[:1].tobytes()


@pytest.mark.parametrize("p", [-math.inf, math.inf])
def test_a_recipe_may_have_the_minimum_or_the_maximum(tmp_path, p):
    boost = PowerMeanGrid(p=(-math.inf, 0.0, math.inf), w=(0.5,))
    chosen = dataclasses.replace(recipe("power_mean_grid", boost), constants={"w": 0.5, "p": p})
    write_recipe(tmp_path / "infinite.json", chosen)
    read = read_recipe(tmp_path / "infinite.json")
    assert (read.fitted_boost(), read.boost, read.signature) == (
        chosen.fitted_boost(),
        boost,
        chosen.add_signature().signature,
    )
    assert read.fitted_boost().p == p


def test_the_signature_names_the_parts_and_follows_every_number(good):
    signed = recipe().add_signature()
    assert signed.signature == good["signature"]
    assert signed.signature.startswith("recipe|boost:share_negative|metric:(")
    assert SentenceBleu().signature in signed.signature and Erasure().signature in signed.signature
    others = [{"constants": {**signed.constants, "base_sd": 2.0}}, {"date": "2026-11-23"}, {"correlation": "kendall"}]
    others.append({"gain": dataclasses.replace(signed.gain, value=0.5)})
    others.append({"metric": identity("sentence_bleu", SentenceBleu(lowercase=True))})
    signatures = {dataclasses.replace(signed, **changes).add_signature().signature for changes in others}
    assert len(signatures | {signed.signature}) == 6


def edited(good, *path_and_value):
    *path, value = path_and_value
    copy = json.loads(json.dumps(good))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


def test_a_recipe_names_no_other_recipe_and_not_itself(written, good, tmp_path):
    """A file that named itself ended in a RecursionError."""
    itself = tmp_path / "itself.json"
    for path, target in ((tmp_path / "second.json", written(good)), (itself, itself)):
        boost = {"_target_": "bmx_grid.boosts.recipe.RecipeBoost", "recipe": str(target)}
        path.write_text(json.dumps(edited(good, "boost", boost)))
        with pytest.raises(DataError, match=r"recipe\.boost: it is another recipe, or this one"):
            read_recipe(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(b"", "recipe", id="empty"),
        pytest.param(b"{", "recipe", id="half a file"),
        pytest.param(b'{"name": NaN}', "recipe", id="NaN"),
        pytest.param(b"\xff\xfe", "recipe", id="bytes"),
        pytest.param(b"[" * 100_000, "recipe", id="deep"),
        pytest.param(("constants", "base_sd", 3.5), "the signature does not fit the content", id="an edited constant"),
        pytest.param(("signature", ""), "the signature does not fit", id="no signature"),
        pytest.param(("version", 4), "version 3, got version 4", id="newer"),
        pytest.param(("constants", {"w": 1}), "constants: unknown key 'w'", id="constants of another boost"),
        pytest.param(("constants", "base_sd", "big"), "constants.base_sd: expected a number", id="a text"),
        pytest.param(("metric", []), "recipe.metric: expected keys below it", id="no identity"),
        pytest.param(("chosen_on", 0, "segments", 1.5), "expected a whole number, got 1.5", id="half a segment"),
        pytest.param(("boost", "_target_", "os.system"), "is outside the packages", id="foreign code"),
        pytest.param(
            ("boost", "_target_", "bmx_grid.metrics.chrf.Chrf"), "Chrf is not a dataclass made of Boost", id="no boost"
        ),
        pytest.param(("colour", "red"), "unknown key 'colour'", id="an unknown key"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_file_and_key(written, good, change, message):
    """Content that is none at all, or a good recipe with another value at the end of a path of keys."""
    path = written(change if isinstance(change, bytes) else edited(good, *change))
    with pytest.raises(DataError) as caught:
        read_recipe(path)
    sentence = str(caught.value)
    assert sentence.startswith(str(path)) and message in sentence.removeprefix(str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataMissingError, match="recipe not found: "):
        read_recipe(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(StoreError, match="cannot read"):
        read_recipe(tmp_path / "folder.json")
    with pytest.raises(ConfigError, match="give it the suffix .json"):
        write_recipe(tmp_path / "recipe.txt", recipe())


def test_a_boost_that_computes_something_else_now_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "recipe.json"
    write_recipe(path, recipe())
    monkeypatch.setattr(type(recipe().boost), "VERSION", 2)
    with pytest.raises(DataError, match="computes something else in this version"):
        read_recipe(path)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (SentenceBleu(lowercase=True), r"metric sentence_bleu, .*lowercase: false in the recipe, true here"),
        (Chrf(), r'the metric m given here is another one .*type: "SentenceBleu" in the recipe, "Chrf" here'),
    ],
)
def test_another_metric_is_refused_with_what_differs(metric, message):
    recipe().check(identity("m", SentenceBleu()), identity("e", Erasure()))
    with pytest.raises(ConfigError, match=message):
        recipe().check(identity("m", metric), identity("e", Erasure()))


@pytest.mark.parametrize("name", embedded_names())
def test_an_embedded_recipe_gains_significantly_and_fits_the_options(name):
    embedded_recipe = find_recipe(name)
    assert embedded_recipe.name == name
    assert embedded_recipe.verdict in (HELPS, INFORMATIVE, REDUNDANT, OPEN) and embedded_recipe.gain.low > 0
    assert not embedded_recipe.fitted_boost().keeps_base_scores
    assert embedded_recipe.chosen_on
    assert {chosen_on.dataset for chosen_on in embedded_recipe.chosen_on} <= set(options("dataset"))
    parts = (("metric", embedded_recipe.metric, Metric), ("explainer", embedded_recipe.explainer, Explainer))
    for group, part, kind in parts:
        built = build(part.node(group), kind, group)
        assert part.fingerprint == type(part).from_part(group, part.name, built, built.signature).fingerprint


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of embedded recipes, with one in it."""
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    write_recipe(tmp_path / "bleu-words.json", recipe())
    return tmp_path


def test_a_recipe_is_found_by_its_name_and_by_its_file(folder, monkeypatch):
    assert embedded_names() == ["bleu-words"]
    monkeypatch.chdir(folder.parent)
    expected = find_recipe("bleu-words")
    for path in (folder / "bleu-words.json", str(folder / "bleu-words.json"), f"{folder.name}/bleu-words.json"):
        assert find_recipe(path) == expected == recipe().add_signature()


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("bleu-word", DataMissingError, r"unknown recipe 'bleu-word'. Did you mean 'bleu-words'\? .*suffix .json"),
        ("bleu-words.json", DataMissingError, "recipe not found: bleu-words.json"),
        ("./none", DataMissingError, "recipe not found: "),
        ("", DataMissingError, "unknown recipe ''"),
    ],
)
def test_a_recipe_that_is_not_there_is_named(folder, path, kind, message):
    with pytest.raises(kind, match=message):
        find_recipe(path)


def test_they_are_shown_with_what_they_gain(folder):
    assert recipes_in_words() == (
        "bleu-words: sentence_bleu boosted by erasure with share_negative, chosen on wmt17; helps, held-out gain "
        "+0.0330 [+0.0250, +0.0420], partial r +0.0300 (each language pair by the others, without shared references)"
    )
    assert str(HeldOut(None, None, None, "x")) == "n/a"
    assert str(HeldOut(0.1, None, None, "x")) == "+0.1000"
    (folder / "bleu-words.json").unlink()
    assert recipes_in_words().startswith("No recipe is embedded; a sweep writes recipes")


@pytest.fixture
def fixed(tmp_path):
    write_recipe(tmp_path / "one.json", recipe())
    config = composed("evaluation=[boosts]", "boost=[recipe]", f"boost.recipe.recipe={tmp_path / 'one.json'}")
    return build(config["boost"]["recipe"], Boost, "boost.recipe")


def test_it_is_the_boost_of_the_recipe_with_its_constants(fixed):
    chosen, sides = recipe(), attributions(20)
    assert fixed.names() == chosen.boost.names() and fixed.attribution_mask() == chosen.boost.attribution_mask()
    assert fixed.features(*sides).tobytes() == chosen.boost.features(*sides).tobytes()
    for parts in ([], [planted(chosen.boost, n=30, seed=9)[0]]):
        assert fixed.fit("kendall", parts) == chosen.fitted_boost()
    assert fixed.from_constants(chosen.constants) == chosen.fitted_boost()
    sent = pickle.loads(pickle.dumps(fixed))
    once, again = (boost.fit("pearson", []).scores(np.zeros(20), boost.features(*sides)) for boost in (fixed, sent))
    assert once.tobytes() == again.tobytes()


def test_its_identity_is_that_of_the_recipe_wherever_it_is(fixed, tmp_path):
    write_recipe(tmp_path / "two.json", recipe())
    write_recipe(tmp_path / "other.json", recipe("spread"))
    same, other_recipe = (RecipeBoost(recipe=str(tmp_path / f"{name}.json")) for name in ("two", "other"))
    assert fixed.fingerprint() == same.fingerprint() != other_recipe.fingerprint()


@pytest.mark.parametrize("setting", [{"base_url": "http://elsewhere.invalid/v1"}, {"key_variable": "AWS_SECRET"}])
def test_a_recipe_names_no_server_and_no_key(setting):
    of_judge = {"model": "m", "prompt": "plain"} | setting
    for settings in (of_judge, {"_target_": "bmx_grid.guests.judge.judge.Judge", **of_judge}):
        with pytest.raises(ConfigError, match=r"metric\.\w+: .* is named by a file"):
            Identity("judge", "", {}, settings).node("metric")
