"""Recipes of the boosts that a sweep chose: one file for each metric, explainer and boost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bmx_grid.boosts.recipe import Chosen, Identity, Recipe
from bmx_grid.core.errors import BmxError, ConfigError
from bmx_grid.core.wording import file_stem
from bmx_grid.evaluations.verdicts import HURTS
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Setting

FOLDER = "recipes"  # below the folder of the sweep


def recipes_of(
    results: Iterable[SettingResult], settings: Sequence[Setting], *, date: str
) -> tuple[list[Recipe], list[str]]:
    """A recipe for each boost that an evaluation chose, and a sentence for each metric and explainer that has none.

    Chosen are those in `chosen` of an evaluation's result, a sequence of `Chosen`; boosts that hurt are left out:
    nobody needs such a recipe. settings: of the sweep, whose parts the recipes are for. date: YYYY-MM-DD.
    A metric that is fitted to each data set is another one for new texts, and has no recipe.
    """
    chosen: dict[tuple[str, str], list[Chosen]] = {}
    for result in results:
        for of_evaluation in result.evaluated.values():
            boosts = [boost for boost in getattr(of_evaluation, "chosen", ()) if isinstance(boost, Chosen)]
            helpful = [boost for boost in boosts if boost.verdict != HURTS]
            if helpful:
                chosen.setdefault((result.metric, result.explainer), []).extend(helpful)
    recipes: list[Recipe] = []
    refused: list[str] = []
    for names, boosts in sorted(chosen.items()):
        try:
            parts = _parts([setting for setting in settings if (setting.metric_name, setting.explainer_name) == names])
        except BmxError as error:
            refused.append(f"no recipe for {names[0]} x {names[1]}: {error}")
            continue
        for boost in boosts:
            name = file_stem(*names, boost.boost_name, separator="-")
            recipes.append(Recipe(**vars(boost), name=name, date=date, **parts).signed())
    return recipes, refused


def _parts(settings: Sequence[Setting]) -> dict[str, Any]:
    """The metric and the explainer that these settings share, and the seed where something is random."""
    first = settings[0]
    if first.explainer is None:
        raise ConfigError("there is no explainer.")
    if not first.words.plain:
        raise ConfigError(f"it was chosen on words={first.words.name}, and `score` knows words between spaces only.")
    if any(setting.metric.recipe_fingerprint() != first.metric.recipe_fingerprint() for setting in settings):
        raise ConfigError(
            "the metric is another one for each of its data sets and language pairs (it is fitted to them, or its "
            "prompt names the languages), so that it would be another one for new texts."
        )
    return {
        "metric": Identity.of("metric", first.metric_name, first.metric, first.metric.signature),
        "explainer": Identity.of("explainer", first.explainer_name, first.explainer, first.explainer.signature),
        "seed": first.seed if first.explainer.stochastic else None,
    }
