"""A metric or an explainer as a recipe names it: enough to build it again, and to refuse another one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bmx_grid.configure import build, load_option, options
from bmx_grid.errors import ConfigError
from bmx_grid.identity import Component, canonical_json
from bmx_grid.wording import shortened

TARGET = "_target_"


@dataclass(frozen=True)
class Identity:
    """A metric or an explainer: name in the sweep, signature, and the fingerprint that says what it computes.

    settings: those that change results and differ from the option of this name; all of them, with a `_target_`, where
    there is no such option.
    """

    name: str
    signature: str
    fingerprint: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, group: str, name: str, part: Component, signature: str) -> Identity:
        """Of a part built from the option `name` of a group. Raises ConfigError for a setting that JSON cannot hold."""
        try:
            fingerprint = json.loads(canonical_json(part.recipe_fingerprint()))  # as a file holds it: tuples are lists
            settings = json.loads(canonical_json(_differing(group, name, part)))
        except ValueError as error:
            raise ConfigError(
                f"{group} {name}: a setting is not a finite number, and no recipe can hold it."
            ) from error
        return cls(name, signature, fingerprint, settings)

    def node(self, group: str) -> dict[str, Any]:
        """The settings that `configure.build` makes this part of. Raises ConfigError where the option is gone."""
        if TARGET in self.settings:
            return dict(self.settings)
        return {**load_option(group, self.name, 0), **self.settings}

    def differences(self, given: Identity) -> list[str]:
        """In words, by key: what `given` computes otherwise."""
        return list(_differences(self.fingerprint, given.fingerprint))


def _differing(group: str, name: str, part: Component) -> dict[str, Any]:
    own: dict[str, Any] = plain(part)
    if name not in options(group):
        return own
    try:
        default = plain(build(load_option(group, name, 0), Component, f"{group}.{name}"))
    except ConfigError:  # an option that is incomplete without further settings
        return own
    if default[TARGET] != own[TARGET]:
        return own
    return {key: value for key, value in own.items() if value != default[key]}


def plain(value: Any) -> Any:
    """A value as JSON has it; components as the options that `configure.build` reads, without runtime settings."""
    if isinstance(value, Component):
        cls = type(value)
        return {TARGET: f"{cls.__module__}.{cls.__qualname__}", **plain(value.settings())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def _differences(own: Any, given: Any, key: str = "") -> Iterator[str]:
    """In words, by key: what is one thing in the recipe and another here; of another type nothing but that."""
    if isinstance(own, Mapping) and isinstance(given, Mapping):
        names = [*own, *(name for name in given if name not in own)]
        for name in names if own.get("type") == given.get("type") else ["type"]:
            yield from _differences(own.get(name), given.get(name), f"{key}.{name}" if key else str(name))
    elif own != given:
        yield f"{key}: {_short(own)} in the recipe, {_short(given)} here"


def _short(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), 60)
