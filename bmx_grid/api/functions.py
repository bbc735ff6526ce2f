"""Metrics and explainers by name, as objects, or as functions on lists of texts."""

from __future__ import annotations

import inspect
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.attribution.scorer import Scorer
from bmx_grid.errors import ConfigError, DataError
from bmx_grid.identity import Component, identity, runtime
from bmx_grid.metrics.base import Floats, Metric
from bmx_grid.words.perturbation import ROLES, Item, Role

PARAMETERS: Mapping[str, Role] = {"sources": "source", "references": "reference", "hypotheses": "hypothesis"}
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
CONVENTION = (
    "a metric's parameters say what it reads: f(hypotheses, references), f(hypotheses, sources) or all three, lists of "
    "as many texts, for which it returns as many scores"
)


@dataclass(frozen=True)
class Function(Metric):
    """A function on lists of texts, called by the names of its parameters: sources, references, hypotheses.

    identifier: a random one, since nothing says what a function computes: its scores are not those of another run.
    """

    function: Callable[..., Any] = runtime()
    name: str = runtime()
    roles: tuple[Role, ...] = identity()
    identifier: str = identity()

    @property
    def reads(self) -> tuple[Role, ...]:
        return self.roles

    @property
    def signature(self) -> str:
        return f"function|name:{self.name}|identifier:{self.identifier[:16]}|version:{self.VERSION}"

    def score(self, items: Sequence[Item]) -> Floats:
        texts = {name: [item.text(role) for item in items] for name, role in PARAMETERS.items() if role in self.roles}
        returned = self.function(**texts)
        scores = np.asarray(returned)
        if np.ma.isMaskedArray(returned) or scores.dtype.kind not in "biuf":
            raise DataError(f"the metric {self.name} returned {returned!r:.60}; return a list of real numbers.")
        if scores.shape != (len(items),):
            counts = f"{len(scores)} scores" if scores.ndim == 1 else f"an array of shape {scores.shape}"
            raise DataError(f"the metric {self.name} returned {counts} for {len(items)} segments; return one for each.")
        return scores.astype(np.float64)


def function_metric(name: str, function: Callable[..., Any]) -> Function:
    """A function as a metric. Raises ConfigError for parameters that do not say what it reads."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"metric {name}: its parameters are unknown; {CONVENTION}.") from error
    named = [item.name for item in parameters if item.name in PARAMETERS and item.kind is not item.POSITIONAL_ONLY]
    needed = [item.name for item in parameters if item.default is item.empty and item.kind not in VARIADIC]
    if set(needed) - set(PARAMETERS) or "hypotheses" not in named or len(named) < 2:
        raise ConfigError(f"metric {name}({', '.join(item.name for item in parameters)}): {CONVENTION}.")
    roles = tuple(role for role in ROLES if role in {PARAMETERS[parameter] for parameter in named})
    return Function(function, name, roles, uuid.uuid4().hex)


def parts_of(group: str, value: Any) -> dict[str, Any]:
    """Name -> object, or None for the name of an option: what is given for a group such as metric or explainer.

    A name, an object or a function, a list of these, or a dictionary of objects by name. Raises ConfigError.
    """
    if isinstance(value, Mapping):
        return {str(name): _part(group, item, str(name)) for name, item in value.items()}
    parts: dict[str, Any] = {}
    for item in value if isinstance(value, list | tuple) else [value]:
        part = _part(group, item)
        name = item if part is None else _name_of(part)
        if name in parts:
            raise ConfigError(f"{group}: two are called '{name}'; name them: {group}={{'NAME': …, 'OTHER': …}}.")
        parts[name] = part
    return parts


def _part(group: str, item: Any, name: str | None = None) -> Any:
    if isinstance(item, str):
        return None
    if isinstance(item, Scorer):
        if item.recipe is not None:
            raise ConfigError("metric: a metric boosted by a recipe is judged in a sweep by boost=['recipe'].")
        item = item.metric
    if isinstance(item, Component):
        return item
    if group == "metric" and callable(item) and not isinstance(item, type):
        return function_metric(name or getattr(item, "__name__", "function").replace("<lambda>", "function"), item)
    raise ConfigError(f"{group}: expected a name, an object or a list of these, got {item!r:.60}.")


def _name_of(part: Component) -> str:
    return str(getattr(part, "name", "")) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(part).__name__).lower()
