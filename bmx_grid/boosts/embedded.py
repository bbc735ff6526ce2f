"""The recipes that come with the package, and recipes by name or file."""

from __future__ import annotations

import math
from pathlib import Path

from bmx_grid.boosts.recipe import HeldOut, Recipe, read_recipe
from bmx_grid.errors import DataMissingError, unknown
from bmx_grid.wording import number

FOLDER = Path(__file__).with_name("recipes")
LIST = "list"  # in place of a name: show them


def embedded() -> list[str]:
    """The names of the embedded recipes, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def find_recipe(given: str | Path) -> Recipe:
    """The recipe in a file, or the embedded one of a name.

    A text without a slash and without a suffix is a name. Raises DataError as `read_recipe` does,
    and DataMissingError with the closest name where there is no embedded recipe of that name.
    """
    path = Path(given).expanduser()
    if isinstance(given, Path) or "/" in given or path.suffix:
        return read_recipe(path)
    if given not in embedded():
        raise DataMissingError(
            f"{unknown('recipe', given, embedded())} Name one of these, or a file with its suffix .json or .yaml."
        )
    return read_recipe(FOLDER / f"{given}.json")


def recipes_in_words() -> str:
    """The embedded recipes, one line each, with what they gain; a sentence where there are none."""
    lines = []
    for name in embedded():
        one = read_recipe(FOLDER / f"{name}.json")
        data = ", ".join(dict.fromkeys(part.dataset for part in one.chosen_on))
        lines.append(
            f"{name}: {one.metric.name} boosted by {one.explainer.name} with {one.boost_name}, chosen on {data}; "
            f"{one.verdict}, gain {interval(one.gain)}, beyond score and length {interval(one.beyond)} "
            f"({one.gain.how})"
        )
    return "\n".join(lines) or "No recipe is embedded; a sweep writes recipes into its folder, as recipes/NAME.json."


def interval(found: HeldOut) -> str:
    """A gain with its interval; n/a where undefined."""
    value, low, high = (
        number(math.nan if one is None else one, "+.4f") for one in (found.value, found.low, found.high)
    )
    return value if found.low is None and found.high is None else f"{value} [{low}, {high}]"
