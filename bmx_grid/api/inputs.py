"""Arguments of the Python API, functions among them, checked before anything is computed."""

from __future__ import annotations

import inspect
import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.attribution.scorer import Scorer
from bmx_grid.attribution.texts import SURROGATE
from bmx_grid.core.configure import LARGEST_COUNT, check_seed, convert
from bmx_grid.core.errors import ComponentError, ConfigError, component_error, exception_line, quote_value
from bmx_grid.core.identity import Component, identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import expand_home
from bmx_grid.core.wording import pluralize
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import ROLES, Item, Role

if TYPE_CHECKING:
    from bmx_grid.boosts.recipe import Recipe

PARAMETERS: Mapping[str, Role] = {"sources": "source", "references": "reference", "hypotheses": "hypothesis"}
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
CONVENTION = (
    "a metric's parameters name the texts that it reads: f(hypotheses, references), f(hypotheses, sources) or all three"
)


def plain_value(value: Any) -> Any:
    """A number or an array of numpy as Python writes it, and a path as text; everything else as it is."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


def check_resampling(resamples: Any, seed: Any, least: int) -> tuple[int, int]:
    """The number of resamples, at least `least`, and their seed. Raises ConfigError."""
    count: int = convert(plain_value(resamples), int, "resamples")
    if not least <= count <= LARGEST_COUNT:
        raise ConfigError(f"resamples must lie between {least} and {LARGEST_COUNT:,}, got {count}.")
    return count, check_seed(convert(plain_value(seed), int, "seed"))


def one_name(argument: str, value: Any, what: str = "a name") -> str | None:
    """A name, None for None. Raises ConfigError for anything else, such as a column in place of its name."""
    if value is None or isinstance(value, str):
        return value
    raise ConfigError(f"{argument}: expected {what} (a text), got a {type(value).__name__}; write {argument}='NAME'.")


def as_name_list(name: str, value: Any) -> list[str]:
    """Names, one or several. Raises ConfigError for anything but a name or an ordered list of different names."""
    value = plain_value(value)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping | Set):
        raise ConfigError(f"{name}: expected a name or a list of names, got {quote_value(value, 60)}.")
    names = [str(item) for item in value]
    if len(set(names)) < len(names):
        raise ConfigError(f"{name}: {', '.join(names)[:60]}: a name is repeated; write each name one time.")
    return names


def as_dict(name: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keys and values; none for None. Raises ConfigError for anything but a mapping."""
    if not isinstance(value, Mapping | None):
        raise ConfigError(f"{name}: expected a dictionary of keys and values, got {quote_value(value, 60)}.")
    return dict(value or {})


def path(name: str, value: str | os.PathLike[str]) -> Path:
    """A path. Raises ConfigError for anything else, and for an empty one."""
    is_path = isinstance(value, str | os.PathLike) and os.fspath(value)
    if not is_path or SURROGATE.search(str(value)):
        raise ConfigError(f"{name}: expected a path, got {quote_value(value, 60)}.")
    return expand_home(value)


def recipe_of(value: str | os.PathLike[str] | Recipe | None) -> Recipe | None:
    """A recipe, by itself, its file, or the name of an embedded one. Raises ConfigError for anything else."""
    from bmx_grid.boosts.recipe import Recipe, find_recipe

    if isinstance(value, Recipe | None):
        return value
    file = path("recipe", value)
    # A text may be the name of an embedded recipe.
    return find_recipe(value if isinstance(value, str) else file)


@dataclass(frozen=True)
class Function(Metric):
    """A function on lists of texts, called by the names of its parameters: sources, references, hypotheses.

    identifier: a random one, since a function's results are unknown: its scores are never reused in another run.
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
        """float64[n] scores. For anything else raises ComponentError with the contract of the function."""
        texts = {}
        for name, role in PARAMETERS.items():
            if role in self.roles:
                texts[name] = [item.text(role) for item in items]
        try:
            returned = self.function(**texts)
        # What Python raises for a list if a text was expected.
        except (TypeError, AttributeError) as error:
            raise component_error(error, self._breach(f"raises {exception_line(error)}")) from error
        wrong = _not_scores(returned, len(items))
        if wrong:
            raise ComponentError(self._breach(f"returns {wrong}"))
        scores: Floats = returned
        return scores

    def _breach(self, what_it_does: str) -> str:
        """A mistake of the function, its contract, and how to adapt a function of one segment to lists."""
        parameters = inspect.signature(self.function).parameters
        names = [name for name in parameters if name in PARAMETERS]
        lists = ", ".join(names)
        texts = ", ".join(PARAMETERS[name] for name in names)
        called = getattr(self.function, "__name__", "")
        # That of a lambda is no name.
        if not called.isidentifier():
            called = "of_one_segment"
        return (
            f"the function {self.name} {what_it_does}. It gets lists, with one text per segment, and returns one score "
            f"per segment, as a list of numbers. A function of one segment is wrapped: def by_segment({lists}): return "
            f"[{called}({texts}) for {texts} in zip({lists})]"
        )


def _not_scores(returned: Any, count: int) -> str:
    """Describe a result that is not one score for every segment (`count`); "" for scores."""
    try:
        array = np.asarray(returned)
    except ValueError:
        return "rows of different lengths"
    if array.ndim != 1 or array.dtype == object:
        if isinstance(returned, list | tuple):
            for number, score in enumerate(returned, start=1):
                if not isinstance(score, Real):
                    return f"{quote_value(score)} as the score of segment {number}"
        return f"{quote_value(returned)} ({type(returned).__name__})"
    if len(array) != count:
        return f"{pluralize(len(array), 'value')} for {pluralize(count, 'segment')}"
    # Only booleans and real numbers are scores.
    if array.dtype.kind not in "biuf":
        return f"{quote_value(array[0].item())} as the score of segment 1"
    return ""


def function_metric(function: Callable[..., Any], name: str | None = None) -> Function:
    """A function as a metric. Raises ConfigError for parameters with other names than texts have."""
    name = name or getattr(function, "__name__", "function").replace("<lambda>", "function")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"metric {name}: its parameters are unknown; {CONVENTION}.") from error
    read: set[Role] = set()
    others: list[str] = []  # mandatory ones
    for parameter in parameters:
        if parameter.name not in PARAMETERS:
            if parameter.default is parameter.empty and parameter.kind not in VARIADIC:
                others.append(parameter.name)
        # Texts are passed by name.
        elif parameter.kind is not parameter.POSITIONAL_ONLY:
            read.add(PARAMETERS[parameter.name])
    if others or "hypothesis" not in read or len(read) < 2:
        signature = ", ".join(parameter.name for parameter in parameters)
        raise ConfigError(f"metric {name}({signature}): {CONVENTION}.")
    roles = tuple(role for role in ROLES if role in read)
    return Function(function, name, roles, uuid.uuid4().hex)


def parts_of(group: str, value: Any) -> dict[str, Any]:
    """Name -> object, or None for the name of an option, from an argument such as metric or explainer.

    value: a name, an object or a function, a list, or a dictionary of objects by name. Raises ConfigError.
    """
    if isinstance(value, Mapping):
        return {str(name): _part(group, item, str(name)) for name, item in value.items()}
    parts = {}
    for item in value if isinstance(value, list | tuple) else [value]:
        part = _part(group, item)
        name = item if part is None else getattr(part, "name", "")
        if not name:
            # SentenceBleu: sentence_bleu
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(part).__name__).lower()
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
        # A metric that is boosted at a point is a metric, too.
        item = item.boost or item.metric
    if isinstance(item, Component):
        return item
    if group == "metric" and callable(item) and not isinstance(item, type):
        return function_metric(item, name)
    raise ConfigError(
        f"{group}: expected a name, an object or a list of names and objects, got {quote_value(item, 60)}."
    )
