"""A recipe applied to texts: alone or in any batch the same, and only for the parts it was chosen for."""

import dataclasses
import datetime

import numpy as np
import pytest
from some_attributions import planted

import bmx_grid
from bmx_grid.attribution.boosted import apply_boost
from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.boosts.recipe import HeldOut, Identity, Recipe
from bmx_grid.core.configure import ALLOWED_PACKAGES, build, load_option, options
from bmx_grid.core.errors import BmxError, ConfigError, DataError
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf

REFERENCES = ["the cat sat on the mat", "a dog barks", "", "only here", "the cat sat on the mat", "x y z"]
HYPOTHESES = ["the cat is on a mat", "the dog barked", "", "", "the cat is on a mat", "z y"]
GAIN = HeldOut(0.03, 0.02, 0.04, "elsewhere")


def recipe_of(boost="share_negative", metric=None, explainer=None, constants=None, **fields) -> Recipe:
    built = build(load_option("boost", boost), Boost, boost) if isinstance(boost, str) else boost
    metric, explainer = metric or Chrf(), explainer or Erasure()
    if constants is None:
        constants = built.fit("pearson", [planted(built, n=100)[0]]).constants()
    return Recipe(
        name="mine",
        metric=Identity.from_part("metric", "chrf", metric, metric.signature),
        explainer=Identity.from_part("explainer", type(explainer).__name__.lower(), explainer, explainer.signature),
        boost_name=boost if isinstance(boost, str) else "own",
        boost=built,
        constants=constants,
        correlation="pearson",
        chosen_on=(),
        gain=GAIN,
        partial_r=GAIN,
        verdict="helps",
        date=datetime.date(2026, 1, 1).isoformat(),
        **fields,
    ).add_signature()


@pytest.mark.parametrize("explainer", [Erasure(), Lime(num_samples=30)], ids=["erasure", "lime"])
@pytest.mark.parametrize("boost", [name for name in options("boost") if name != "recipe"])
def test_a_segment_has_one_score_in_any_order_batch_and_part(boost, explainer, monkeypatch):
    recipe = recipe_of(boost, explainer=explainer, seed=5 if explainer.stochastic else None)
    assert not recipe.fitted_boost().keeps_base_scores
    scorer = bmx_grid.load(recipe=recipe)
    together = scorer.explain(HYPOTHESES, references=REFERENCES)
    assert together.scores.tobytes() == scorer.score(HYPOTHESES, references=REFERENCES).tobytes()
    assert not np.array_equal(together.scores, together.base)
    for rows in ([4, 0, 1], [5], [2], [1, 1, 3]):
        part = scorer.score([HYPOTHESES[row] for row in rows], references=[REFERENCES[row] for row in rows])
        assert part.tobytes() == together.scores[rows].tobytes()
    monkeypatch.setattr("bmx_grid.attribution.scorer.TEXTS_AT_ONCE", 5)
    assert scorer.explain(HYPOTHESES, references=REFERENCES).scores.tobytes() == together.scores.tobytes()
    monkeypatch.setattr("bmx_grid.attribution.boosted.BLOCK_ITEMS", 2)
    assert scorer.explain(HYPOTHESES, references=REFERENCES).scores.tobytes() == together.scores.tobytes()


def test_segments_without_words_keep_the_base_score_and_are_named():
    recipe = recipe_of("learned")
    explained = bmx_grid.load(recipe=recipe).explain(HYPOTHESES, references=REFERENCES)
    assert explained.unboosted == (2, 3)  # the second has no words on one of two sides
    others = [
        dataclasses.replace(explanation, base_score=0.25) for explanation in explained.explanations
    ]  # chrF scores no words with 0
    assert apply_boost(recipe.boost, recipe.fitted_boost(), Chrf(), others)[0][[2, 3]].tolist() == [0.25, 0.25]
    assert np.isfinite(explained.scores).all()
    one_side = recipe_of(FeatureMix(feature="share_negative", side="ground_truth"))
    explained = bmx_grid.load(recipe=one_side).explain([*HYPOTHESES, "words of one side"], references=[*REFERENCES, ""])
    assert explained.unboosted == (2, 6)


def test_a_point_of_the_grid_as_a_recipe_is_that_boost_and_no_boost_the_metric():
    recipe = recipe_of("power_mean_grid", constants={"w": 0.6, "p": -1.0})
    expected = bmx_grid.load("chrf", "erasure", p=-1.0, w=0.6).score(HYPOTHESES, references=REFERENCES)
    assert bmx_grid.load(recipe=recipe).score(HYPOTHESES, references=REFERENCES).tobytes() == expected.tobytes()
    none = bmx_grid.load(recipe=recipe_of("power_mean_grid", constants={"w": 1.0, "p": None}))
    explained = none.explain(HYPOTHESES, references=REFERENCES)
    assert explained.scores.tobytes() == bmx_grid.load("chrf", None).score(HYPOTHESES, references=REFERENCES).tobytes()
    assert explained.unboosted == ()


def test_own_settings_and_the_seed_come_with_the_recipe():
    recipe = recipe_of(metric=Chrf(lowercase=True), explainer=Lime(num_samples=30), seed=5)
    assert (recipe.metric.settings, recipe.explainer.settings) == ({"lowercase": True}, {"num_samples": 30})
    scorer = bmx_grid.load(recipe=recipe)
    assert (scorer.metric, scorer.explainer) == (Chrf(lowercase=True), Lime(num_samples=30))
    assert scorer.signature == f"{recipe.signature}|name:mine|seed:5"
    other_seed = bmx_grid.load(recipe=recipe, settings={"seed": 6})
    assert other_seed.signature.endswith("|seed:6")
    assert (
        other_seed.score(HYPOTHESES, references=REFERENCES).tolist()
        != scorer.score(HYPOTHESES, references=REFERENCES).tolist()
    )
    settings = {"metric.lowercase": True, "explainer.num_samples": 30}
    assert bmx_grid.load("chrf", "lime", recipe=recipe, settings=settings) == scorer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"settings": {"metric.lowercase": True}}, "metric chrf .*lowercase: false in", id="a setting"),
        pytest.param({"metric": "sentence_bleu"}, 'metric sentence_bleu given .*type: "Chrf" in', id="metric"),
        pytest.param({"metric": {"_target_": "bmx_grid.metrics.words.Ter"}}, "the metric Ter given", id="a class"),
        pytest.param({"settings": {"explainer.words": "x"}}, "unknown key 'words'", id="no setting"),
        pytest.param({"explainer": None}, "the recipe mine needs its explainer, erasure", id="no explainer"),
        pytest.param({"p": 1.0}, "cannot be combined with p and w", id="p"),
        pytest.param({"settings": {"side": "both"}}, "'side' requires p and w", id="side"),
    ],
)
def test_what_the_recipe_was_not_chosen_for_is_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        bmx_grid.load(**arguments, recipe=recipe_of())


def test_an_option_that_computes_something_else_now_or_is_gone_is_refused(monkeypatch):
    recipe = recipe_of()
    gone = dataclasses.replace(recipe, metric=dataclasses.replace(recipe.metric, name="chrf9"))
    with pytest.raises(ConfigError, match="unknown metric 'chrf9'. Did you mean 'chrf'"):
        bmx_grid.load(recipe=gone)
    monkeypatch.setattr(Erasure, "VERSION", 9)
    with pytest.raises(ConfigError, match=r"explainer erasure .*version: 1 in the recipe, 9 here"):
        bmx_grid.load(recipe=recipe)


@pytest.mark.parametrize("block", [1, 2**14], ids=["in blocks", "at once"])
def test_word_scores_that_are_not_positive_are_refused_with_their_segment(monkeypatch, block):
    monkeypatch.setattr("bmx_grid.attribution.boosted.BLOCK_ITEMS", block)
    boost = PowerMeanGrid(shift="none")
    recipe = recipe_of(boost, constants={"w": 0.6, "p": 1.0})
    references = ["a", "the cat sat on the mat"]
    with pytest.raises(DataError, match=r"^segment 2: a word score of .* is not above 0"):
        bmx_grid.load(recipe=recipe).score(["a", "xyz sat on a b c"], references=references)


def test_attributions_that_are_not_finite_are_an_error(monkeypatch):
    monkeypatch.setenv(ALLOWED_PACKAGES, "fakes")
    monkeypatch.setattr(Erasure, "attribute", lambda self, plan, scores: np.full(len(plan.words), np.inf))
    for references, hypotheses in ((REFERENCES, HYPOTHESES), (["a dog"], [""]), ([""], ["a dog"])):
        with pytest.raises(BmxError, match="a score or attributions that are not finite"):
            bmx_grid.load(recipe=recipe_of()).score(hypotheses, references=references)


def test_every_explainer_and_metric_is_built_again_from_what_a_recipe_holds(tmp_path):
    for group, kind, files in (("metric", Metric, {"imported", "human"}), ("explainer", Explainer, set())):
        for name in sorted(set(options(group)) - files):
            part = build(load_option(group, name, 3), kind, name)
            kept = Identity.from_part(group, name, part, "s")
            assert (
                kept.fingerprint
                == Identity.from_part(group, name, build(kept.node(group), kind, name), "s").fingerprint
            )
            assert set(kept.settings) <= {"seed"}, "the options as they are need no settings"
