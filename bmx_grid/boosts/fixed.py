"""The boost of a recipe, as it is: to be judged on rated segments that did not choose it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bmx_grid.boosts.base import Boost, Fitted, Floats, Part
from bmx_grid.boosts.recipe import Recipe, find_recipe
from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity
from bmx_grid.measures.correlation import Kind
from bmx_grid.ragged import Ragged


@dataclass(frozen=True)
class Fixed(Boost):
    """A recipe, by the name of an embedded one or by its file, with the constants it has; nothing is chosen.

    Raises ConfigError without a name, DataError for a file that is no recipe, DataMissingError where there is none.
    """

    recipe: str = identity("")

    def __post_init__(self) -> None:
        if not self.recipe:
            raise ConfigError("boost.recipe.recipe is missing: name a file that a sweep wrote, or an embedded recipe.")
        self.known.fitted()

    @cached_property
    def known(self) -> Recipe:
        """The recipe."""
        return find_recipe(self.recipe)

    def fingerprint(self) -> dict[str, Any]:
        """The recipe by its signature, wherever it is."""
        return {**super().fingerprint(), "recipe": self.known.signature}

    def names(self) -> tuple[str, ...]:
        return self.known.boost.names()

    def of_attributions(self) -> tuple[bool, ...]:
        return self.known.boost.of_attributions()

    def features(self, truth: Ragged, hypothesis: Ragged) -> Floats:
        return self.known.boost.features(truth, hypothesis)

    def fit(self, kind: Kind, parts: Sequence[Part]) -> Fitted:
        """The constants of the recipe, whatever the segments."""
        return self.known.fitted()

    def restored(self, constants: Any) -> Fitted:
        return self.known.boost.restored(constants)
