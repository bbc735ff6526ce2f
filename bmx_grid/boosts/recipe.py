"""A recipe: a chosen boost in a small file, with the data of the choice and its gain on other data."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bmx_grid.boosts.base import Boost, Features, FittedBoost, Part
from bmx_grid.core.configure import build, convert, load_option, options
from bmx_grid.core.documents import read_json
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, StoreError, unknown
from bmx_grid.core.file_keys import check_keys_of_recipe
from bmx_grid.core.identity import Component, canonical_json, digest, identity
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.storage import expand_home, write_text
from bmx_grid.core.wording import format_interval, shorten
from bmx_grid.measures.correlation import Kind

TARGET_KEY = "_target_"


@dataclass(frozen=True)
class Identity:
    """A metric or an explainer: name in the sweep, signature, and the fingerprint of its computation.

    settings: those that change results and differ from the option of this name; all settings, with a `_target_`,
    without such an option.
    """

    name: str
    signature: str
    fingerprint: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_part(cls, group: str, name: str, part: Component, signature: str) -> Identity:
        """Of a part built from the option `name` of a group. Raises ConfigError for a setting that JSON cannot hold."""
        # Through JSON and back, as a file holds it: tuples are lists.
        try:
            fingerprint = json.loads(canonical_json(part.recipe_fingerprint()))
            settings = json.loads(canonical_json(_differing(group, name, part)))
        except ValueError as error:
            raise ConfigError(
                f"{group} {name}: a setting is not a finite number, and no recipe can hold it."
            ) from error
        return cls(name, signature, fingerprint, settings)

    def node(self, group: str) -> dict[str, Any]:
        """The settings that `configure.build` makes this part of: those of its option, with the recipe's own values.

        group: "metric" or "explainer". Raises ConfigError if the option no longer exists, and for a key that a
        recipe, which is a file, may not set.
        """
        check_keys_of_recipe(self.settings, group, self.name)
        # With a class among them, the settings are complete.
        if TARGET_KEY in self.settings:
            return dict(self.settings)
        # Seed 0, as in `_differing`: the settings are differences from the option with this seed.
        option = load_option(group, self.name, 0)
        return {**option, **self.settings}


def _differing(group: str, name: str, part: Component) -> dict[str, Any]:
    """The settings in which a part differs from the option of its name; all, if it is not of the option's class."""
    settings: dict[str, Any] = json_value(part)
    if name not in options(group):
        return settings
    try:
        option = load_option(group, name, 0)
        default = json_value(build(option, Component, f"{group}.{name}"))
    except ConfigError:
        # The option is incomplete without further settings.
        return settings
    if default[TARGET_KEY] != settings[TARGET_KEY]:
        return settings
    return {key: value for key, value in settings.items() if value != default[key]}


def json_value(value: Any) -> Any:
    """A value as JSON has it; components as the options that `configure.build` reads, without runtime settings."""
    if isinstance(value, Component):
        cls = type(value)
        target = f"{cls.__module__}.{cls.__qualname__}"
        return {TARGET_KEY: target, **json_value(value.settings())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: json_value(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [json_value(item) for item in value]
    # A power may be infinite, and JSON has no such number.
    if isinstance(value, float) and math.isinf(value):
        return repr(value)
    return value


def _differences(in_recipe: Any, here: Any, key: str = "") -> Iterator[str]:
    """In words, by key: values that differ between the recipe and this installation; of another type only the types."""
    if isinstance(in_recipe, Mapping) and isinstance(here, Mapping):
        names: Iterable[str] = ["type"]
        if in_recipe.get("type") == here.get("type"):
            names = dict.fromkeys([*in_recipe, *here])
        for name in names:
            inner_key = f"{key}.{name}" if key else str(name)
            yield from _differences(in_recipe.get(name), here.get(name), inner_key)
    elif in_recipe != here:
        yield f"{key}: {_short(in_recipe)} in the recipe, {_short(here)} here"


def _short(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), 60)


RECIPE_VERSION = 3


@dataclass(frozen=True)
class ChosenOn:
    """Rated segments that the boost was chosen on: how many, in how many clusters, and the human score's name."""

    dataset: str
    language_pair: str
    segments: int
    clusters: int
    human: str


@dataclass(frozen=True)
class HeldOut:
    """A difference of correlations on segments that did not choose, with a 95 % interval; null where undefined.

    how: on which segments, in words.
    """

    value: float | None
    low: float | None
    high: float | None
    how: str

    @classmethod
    def from_estimate(cls, value: float, low: float, high: float, how: str) -> HeldOut:
        """With null in place of NaN, which JSON does not have."""
        numbers = [float(number) if math.isfinite(number) else None for number in (value, low, high)]
        return cls(numbers[0], numbers[1], numbers[2], how)

    def __str__(self) -> str:
        value, low, high = (math.nan if number is None else number for number in (self.value, self.low, self.high))
        return format_interval(value, low, high)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A boost of a metric by an explainer, with its gain on held-out segments.

    boost_name: the option of the group `boost`; boost: its settings; constants: those of its `FittedBoost`, which is
    not the base alone. correlation: the kind it was chosen and judged by. gain: over the metric alone; partial_r:
    the partial correlation controlling for score, lengths, texts and groups. verdict: on such a choice.
    seed: of the draws of the explainer; None if nothing is random. date: of the choice, as YYYY-MM-DD.
    signature: names the parts, and has a digest of everything else in the file.
    """

    boost_name: str
    boost: Boost
    constants: Mapping[str, Any]
    correlation: Kind = "pearson"
    chosen_on: tuple[ChosenOn, ...]
    gain: HeldOut
    partial_r: HeldOut
    verdict: str
    version: int = RECIPE_VERSION
    name: str
    metric: Identity
    explainer: Identity
    seed: int | None = None
    date: str
    signature: str = ""

    def add_signature(self) -> Recipe:
        """With its signature."""
        content = json_value(self)
        del content["signature"]
        # The fingerprint has the version of the boost: of what its constants mean.
        content["boost"] = self.boost.fingerprint()
        signature = (
            f"recipe|boost:{self.boost_name}|metric:({self.metric.signature})|explainer:({self.explainer.signature})"
            f"|version:{self.version}|digest:{digest(content)[:12]}"
        )
        return dataclasses.replace(self, signature=signature)

    def fitted_boost(self) -> FittedBoost:
        """The boost with its constants. Raises ConfigError for constants that are not of this boost."""
        return self.boost.from_constants(self.constants)

    def verdict_in_words(self) -> str:
        """The verdict with its gain and partial correlation, and the segments that they are of."""
        return f"{self.verdict}, held-out gain {self.gain}, partial r {self.partial_r} ({self.gain.how})"

    @property
    def uses_files(self) -> bool:
        """Whether metric or explainer are files, so that new texts cannot be scored with it."""
        return any(part.fingerprint.get("type") == "Imported" for part in (self.metric, self.explainer))

    def check(self, metric: Identity, explainer: Identity) -> None:
        """Refuse a metric or an explainer that it was not chosen for. Raises ConfigError naming what differs."""
        for kind, part, here in (("metric", self.metric, metric), ("explainer", self.explainer, explainer)):
            differences = list(_differences(part.fingerprint, here.fingerprint))
            if differences:
                shown = "; ".join(differences[:3])
                more = f" and {len(differences) - 3} more" if len(differences) > 3 else ""
                raise ConfigError(
                    f"recipe {self.name} was chosen for the {kind} {part.name}, and the {kind} {here.name} given here "
                    f"is another one ({shown}{more}), so its constants do not apply; use the {kind} "
                    "of the recipe, or choose a recipe for this one."
                )


def write_recipe(path: Path, recipe: Recipe) -> None:
    """Write a recipe as JSON, signed. Raises ConfigError for another suffix, StoreError if it cannot be written."""
    if path.suffix != ".json":
        raise ConfigError(f"{path}: recipes are written as JSON; give it the suffix .json.")
    content = json_value(recipe.add_signature())
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, f"{text}\n")


def read_recipe(path: Path) -> Recipe:
    """The recipe in a JSON file.

    Raises DataError (DataMissingError for a missing file) naming the file, the key and the mistake:
    not a recipe, of another version, constants that are not of its boost, or content that does not fit its signature.
    """
    try:
        raw = read_json(path)
    except FileNotFoundError as error:
        raise DataMissingError(
            f"recipe not found: {path} ({path.absolute()}). Name a file that a sweep wrote below recipes/, "
            "or an embedded one."
        ) from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}; name a file that you may read.") from error
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path} is not a recipe, a JSON file: {reason}.") from error
    version = raw.get("version") if isinstance(raw, dict) else None
    if version != RECIPE_VERSION:
        raise DataError(
            f"{path} is not a recipe of version {RECIPE_VERSION}, got version {version!r:.60}. "
            "Run the sweep again: it writes its recipes anew."
        )
    boost = raw.get("boost")
    # It could name any file, itself among them: looked at before it is built, which would read that file.
    if isinstance(boost, Mapping) and boost.get(TARGET_KEY) == f"{RecipeBoost.__module__}.{RecipeBoost.__qualname__}":
        raise DataError(f"{path}: recipe.boost: it is another recipe, or this one; name that one in its place.")
    try:
        recipe: Recipe = convert(raw, Recipe, "recipe")
        recipe.fitted_boost()
        # Signed anew: any edit, and any change of the boost's computation, gives another signature.
        intact = recipe.signature == recipe.add_signature().signature
    except (ConfigError, ValueError) as error:
        raise DataError(f"{path}: {error}") from error
    if not intact:
        raise DataError(
            f"{path}: the signature does not fit the content: the file was edited, or its boost computes something "
            "else in this version of bmx_grid, so that its gains are those of another boost; choose the recipe again."
        )
    return recipe


FOLDER = Path(__file__).with_name("recipes")
LIST = "list"  # in place of a name: show them


def embedded_names() -> list[str]:
    """The names of the embedded recipes, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def find_recipe(name_or_path: str | Path) -> Recipe:
    """The recipe in a file, or the embedded one of a name.

    A text without a slash and without a suffix is a name. Raises DataError as `read_recipe` does,
    and DataMissingError with the closest name if no embedded recipe has that name.
    """
    path = expand_home(name_or_path)
    if isinstance(name_or_path, Path) or "/" in name_or_path or path.suffix:
        return read_recipe(path)
    names = embedded_names()
    if name_or_path not in names:
        raise DataMissingError(
            f"{unknown('recipe', name_or_path, names)} Name a known recipe, or a file with its suffix .json."
        )
    return read_recipe(FOLDER / f"{name_or_path}.json")


def recipes_in_words() -> str:
    """The embedded recipes, one line each, with their gains; a sentence if none exist."""
    lines = []
    for name in embedded_names():
        recipe = read_recipe(FOLDER / f"{name}.json")
        # Each data set once, however many language pairs of it there are.
        datasets = dict.fromkeys(part.dataset for part in recipe.chosen_on)
        data = ", ".join(datasets)
        lines.append(
            f"{name}: {recipe.metric.name} boosted by {recipe.explainer.name} with {recipe.boost_name}, chosen on "
            f"{data}; {recipe.verdict_in_words()}"
        )
    return "\n".join(lines) or "No recipe is embedded; a sweep writes recipes into its folder, as recipes/NAME.json."


@dataclass(frozen=True)
class RecipeBoost(Boost):
    """A recipe, by the name of an embedded one or by its file, with the constants it has; nothing is chosen.

    Raises ConfigError without a name, DataError for a file that is no recipe, DataMissingError for a missing one.
    """

    recipe: str = identity("")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.recipe:
            raise ConfigError("boost.recipe.recipe is missing: name a file that a sweep wrote, or an embedded recipe.")
        self.loaded_recipe.fitted_boost()

    @cached_property
    def loaded_recipe(self) -> Recipe:
        """The recipe."""
        return find_recipe(self.recipe)

    def fingerprint(self) -> dict[str, Any]:
        """The recipe by its signature, wherever it is."""
        # "Fixed" is the name of this class in fingerprints that earlier versions stored.
        return {**super().fingerprint(), "type": "Fixed", "recipe": self.loaded_recipe.signature}

    def names(self) -> tuple[str, ...]:
        return self.loaded_recipe.boost.names()

    def attribution_mask(self) -> tuple[bool, ...]:
        return self.loaded_recipe.boost.attribution_mask()

    @property
    def reads_ground_truth(self) -> bool:
        return self.loaded_recipe.boost.reads_ground_truth

    def features(self, truth: Ragged, hypothesis: Ragged) -> Features:
        return self.loaded_recipe.boost.features(truth, hypothesis)

    @property
    def fixed_fit(self) -> FittedBoost:
        return self.loaded_recipe.fitted_boost()

    def fit(self, kind: Kind, parts: Sequence[Part]) -> FittedBoost:
        """The constants of the recipe, whatever the segments."""
        return self.fixed_fit

    def from_constants(self, constants: Any) -> FittedBoost:
        return self.loaded_recipe.boost.from_constants(constants)


# The path of this class in files that earlier versions wrote.
Fixed = RecipeBoost
