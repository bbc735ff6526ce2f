"""A recipe for tests: a boost chosen on made-up segments, with what it might have gained."""

from __future__ import annotations

from some_attributions import planted

from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.recipe import ChosenOn, HeldOut, Identity, Recipe
from bmx_grid.core.configure import build, load_option
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.sentence_bleu import SentenceBleu


def identity(name, part) -> Identity:
    return Identity.from_part("explainer" if isinstance(part, Explainer) else "metric", name, part, part.signature)


def recipe(option="share_negative", boost=None) -> Recipe:
    boost = build(load_option("boost", option), Boost, f"boost.{option}") if boost is None else boost
    fitted = boost.fit("pearson", [planted(boost, n=100)[0]])
    return Recipe(
        name="bleu-words",
        metric=identity("sentence_bleu", SentenceBleu()),
        explainer=identity("erasure", Erasure()),
        boost_name=option,
        boost=boost,
        constants=fitted.constants(),
        correlation="pearson",
        chosen_on=(ChosenOn("wmt17", "cs-en", 560, 548, "da"), ChosenOn("wmt17", "de-en", 560, 551, "da")),
        gain=HeldOut.from_estimate(0.033, 0.025, 0.042, "each language pair by the others, without shared references"),
        partial_r=HeldOut.from_estimate(0.03, 0.02, float("nan"), "the same"),
        verdict="helps",
        date="2026-11-22",
    )
