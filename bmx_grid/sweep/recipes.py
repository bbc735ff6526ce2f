"""Recipes of the boosts that a sweep chose: one file for each metric, explainer and boost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bmx_grid.boosts.recipe import Chosen, Identity, Recipe, read_recipe, write_recipe
from bmx_grid.core.errors import BmxError, ConfigError, DataError
from bmx_grid.core.wording import file_stem
from bmx_grid.evaluations.verdicts import HURTS
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Setting

FOLDER = "recipes"  # below the folder of the sweep


def chosen_boosts(results: Iterable[SettingResult]) -> dict[tuple[str, str], list[Chosen]]:
    """By metric and explainer: what evaluations chose, those whose results have `chosen`, a sequence of `Chosen`.

    Boosts that hurt are left out: nobody needs such a recipe.
    """
    found: dict[tuple[str, str], list[Chosen]] = {}
    for result in results:
        for of_evaluation in result.evaluated.values():
            for one in getattr(of_evaluation, "chosen", ()):
                if isinstance(one, Chosen) and one.verdict != HURTS:
                    found.setdefault((result.metric, result.explainer), []).append(one)
    return found


def recipe_name(metric: str, explainer: str, boost: str) -> str:
    """The name of a recipe, which is that of its file without its ending."""
    return file_stem(metric, explainer, boost, separator="-")


def recipes_of(
    chosen: Mapping[tuple[str, str], Sequence[Chosen]], settings: Iterable[Setting], *, date: str
) -> tuple[list[Recipe], list[str]]:
    """A recipe for each chosen boost, and a sentence for each metric and explainer that none can be written for.

    chosen: by metric and explainer. settings: of the sweep, whose parts the recipes are for. date: YYYY-MM-DD.
    A metric that is fitted to each data set is another one for new texts, and has no recipe.
    """
    parts: dict[tuple[str, str], list[Setting]] = {}
    for setting in settings:
        parts.setdefault((setting.metric_name, setting.explainer_name), []).append(setting)
    made: list[Recipe] = []
    refused: list[str] = []
    for names, boosts in sorted(chosen.items()):
        try:
            metric, explainer, drawn_with = _identities(parts[names])
        except BmxError as error:
            refused.append(f"no recipe for {names[0]} x {names[1]}: {error}")
            continue
        of_both: dict[str, Any] = {"metric": metric, "explainer": explainer, "seed": drawn_with, "date": date}
        for one in boosts:
            made.append(Recipe(**vars(one), name=recipe_name(*names, one.boost_name), **of_both).signed())
    return made, refused


def _identities(settings: Sequence[Setting]) -> tuple[Identity, Identity, int | None]:
    """Of the metric and the explainer that these settings share, and the seed where something is random."""
    first = settings[0]
    if first.explainer is None:
        raise ConfigError("there is no explainer.")
    if not first.words.plain:
        raise ConfigError(f"it was chosen on words={first.words.name}, and `score` knows words between spaces only.")
    if any(one.metric.recipe_fingerprint() != first.metric.recipe_fingerprint() for one in settings):
        raise ConfigError(
            "the metric is another one for each of its data sets and language pairs (it is fitted to them, or its "
            "prompt names the languages), so that it would be another one for new texts."
        )
    metric = Identity.of("metric", first.metric_name, first.metric, first.metric.signature)
    explainer = Identity.of("explainer", first.explainer_name, first.explainer, first.explainer.signature)
    return metric, explainer, first.seed if first.explainer.stochastic else None


def write_recipes(folder: Path, recipes: Iterable[Recipe]) -> list[Path]:
    """Write recipes as NAME.json below `folder`; one that says the same but for its date is left as it is.

    Raises StoreError where a file cannot be written.
    """
    written = []
    for one in recipes:
        path = folder / f"{one.name}.json"
        if not _says_the_same(path, one):
            write_recipe(path, one)
        written.append(path)
    return written


def _says_the_same(path: Path, recipe: Recipe) -> bool:
    try:
        return read_recipe(path).same_but_for_date(recipe)
    except DataError:  # there is none, or one that was damaged or edited: it is written again
        return False
