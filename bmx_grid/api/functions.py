"""Metrics and explainers by name, as objects, or as functions on lists of texts."""

from __future__ import annotations

import hashlib
import inspect
import re
import types
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmx_grid.errors import ConfigError, DataError
from bmx_grid.identity import Component, identity, runtime
from bmx_grid.metrics.base import Floats, Metric
from bmx_grid.words.perturbation import ROLES, Item, Role

PARAMETERS: Mapping[str, Role] = {"sources": "source", "references": "reference", "hypotheses": "hypothesis"}
CONVENTION = (
    "a metric's parameters say what it reads: f(hypotheses, references), f(hypotheses, sources) or all three, lists of "
    "as many texts, for which it returns as many scores"
)


@dataclass(frozen=True)
class Function(Metric):
    """A function on lists of texts, called by the names of its parameters: sources, references, hypotheses.

    code: a digest of its source code and of the values that it reads; a random one where these are unknown.
    """

    function: Callable[..., Any] = runtime()
    name: str = runtime()
    roles: tuple[Role, ...] = identity()
    code: str = identity()

    @property
    def reads(self) -> tuple[Role, ...]:
        return self.roles

    @property
    def signature(self) -> str:
        return f"function|name:{self.name}|code:{self.code[:16]}|version:{self.VERSION}"

    def score(self, items: Sequence[Item]) -> Floats:
        texts = {name: [item.text(role) for item in items] for name, role in PARAMETERS.items() if role in self.roles}
        returned = self.function(**texts)
        if np.ma.isMaskedArray(returned):
            raise DataError(f"the metric {self.name} returned a masked array; fill what is masked.")
        try:
            scores = np.asarray(returned)
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"the metric {self.name} returned no list of numbers: {str(error)[:200]}") from error
        if scores.dtype.kind not in "biuf":
            raise DataError(f"the metric {self.name} returned {returned!r:.60}; return a list of real numbers.")
        if scores.shape != (len(items),):
            counts = f"{len(scores)} scores" if scores.ndim == 1 else f"an array of shape {scores.shape}"
            raise DataError(f"the metric {self.name} returned {counts} for {len(items)} segments; return one for each.")
        return scores.astype(np.float64)


def function_metric(name: str, function: Callable[..., Any]) -> tuple[Function, str]:
    """A function as a metric, and why its scores cannot be kept for another run ("" where they can).

    Raises ConfigError for parameters that do not say what it reads.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"metric {name}: its parameters are unknown; {CONVENTION}.") from error
    others = [
        one.name
        for one in parameters
        if one.name not in PARAMETERS
        and one.default is one.empty
        and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    named = [one.name for one in parameters if one.name in PARAMETERS and one.kind is not one.POSITIONAL_ONLY]
    if others or "hypotheses" not in named or len(named) < 2:
        raise ConfigError(f"metric {name}({', '.join(one.name for one in parameters)}): {CONVENTION}.")
    roles = tuple(role for role in ROLES if role in {PARAMETERS[parameter] for parameter in named})
    try:
        code, unknown = hashlib.sha256(_content(function, function.__module__, set()).encode()).hexdigest(), ""
    except _UnknownContent as error:
        code, unknown = uuid.uuid4().hex, str(error)
    return Function(function, name, roles, code), unknown


class _UnknownContent(Exception):
    """A value that a function reads, and that has no text of its own."""


def _content(value: Any, module: str | None, seen: set[int]) -> str:
    """What a function depends on, as text: its source code, and that of the functions of its module that it calls.

    Modules, and what comes from other modules, are known by name; plain values that it reads are written out.
    """
    if value is None or isinstance(value, str | bytes | int | float | complex):
        return repr(value)
    if isinstance(value, list | tuple | Set):
        parts = [_content(item, module, seen) for item in value]
        return f"{type(value).__name__}{sorted(parts) if isinstance(value, Set) else parts}"
    if isinstance(value, dict):
        return repr([(_content(key, module, seen), _content(item, module, seen)) for key, item in value.items()])
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, types.FunctionType) and value.__module__ == module:
        return "the same function" if id(value) in seen else _source(value, module, seen | {id(value)})
    if isinstance(value, type | types.BuiltinFunctionType | types.FunctionType) and value.__module__ != module:
        return f"{value.__module__}.{value.__qualname__}"
    raise _UnknownContent(f"it reads an object of the class {type(value).__name__}")


def _source(function: types.FunctionType, module: str | None, seen: set[int]) -> str:
    code = function.__code__
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise _UnknownContent("its source code cannot be read") from error
    if function.__name__ == "<lambda>":  # whose line may hold several
        source += code.co_code.hex() + repr(
            [value for value in code.co_consts if not isinstance(value, types.CodeType)]
        )
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    reads = {name: cell.cell_contents for name, cell in cells}
    reads |= {name: function.__globals__[name] for name in _names(code) if name in function.__globals__}
    reads |= {"defaults": [function.__defaults__, function.__kwdefaults__]}
    return source + repr([(name, _content(reads[name], module, seen)) for name in sorted(reads)])


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _names(value)


def parts_of(group: str, value: Any) -> dict[str, Any]:
    """Name -> object, or None for the name of an option: what is given for a group such as metric or explainer.

    A name, an object or a function, a list of these, or a dictionary of objects by name. Raises ConfigError.
    """
    if isinstance(value, Mapping):
        return {str(name): _part(group, item) for name, item in value.items()}
    single = isinstance(value, str | Component) or callable(value) or hasattr(value, "metric")
    if not single and (not isinstance(value, Iterable) or isinstance(value, Set)):
        raise ConfigError(f"{group}: expected a name, an object or a list of these, got {value!r:.60}.")
    parts: dict[str, Any] = {}
    for item in [value] if single else value:
        part = _part(group, item)
        name = item if isinstance(item, str) else _name_of(part)
        if name in parts:
            raise ConfigError(f"{group}: two are called '{name}'; name them: {group}={{'NAME': …, 'OTHER': …}}.")
        parts[name] = part
    return parts


def _part(group: str, item: Any) -> Any:
    if isinstance(item, str):
        return None
    part = getattr(item, "metric", item) if group == "metric" and not isinstance(item, Component) else item
    if getattr(item, "recipe", None) is not None:
        raise ConfigError("metric: a metric boosted by a recipe is judged in a sweep by boost=['recipe'].")
    if isinstance(part, Component) or (group == "metric" and callable(part) and not isinstance(part, type)):
        return part
    raise ConfigError(f"{group}: expected a name, an object or a list of these, got {item!r:.60}.")


def _name_of(part: Any) -> str:
    name = getattr(part, "__name__", None) or getattr(part, "name", None) or type(part).__name__
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name)).lower() if isinstance(part, Component) else str(name)
    return "function" if words == "<lambda>" else words
