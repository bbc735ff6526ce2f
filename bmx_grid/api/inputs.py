"""Arguments of the Python API, frames and functions among them, checked before anything is computed."""

from __future__ import annotations

import inspect
import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.scorer import SURROGATE, Scorer
from bmx_grid.core.configure import check_seed, convert
from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.identity import Component, identity, runtime
from bmx_grid.core.wording import factor_in_words, setting_label, visible
from bmx_grid.datasets.columns import quoted, recognised
from bmx_grid.datasets.lines import parse_number
from bmx_grid.datasets.tables import Table
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import ROLES, Item, Role
from bmx_grid.words.text import INVISIBLE

if TYPE_CHECKING:
    from bmx_grid.boosts.recipe import Recipe

Columns = Mapping[str, str | Sequence[str]]
Names = tuple[str | None, str | None, str | None, str | None]  # in the order of FACTORS; None for any
FACTORS = ("dataset", "language_pair", "metric", "explainer")
PARTS = ("dataset", "metric", "explainer")  # groups whose options may be objects
Floats = NDArray[np.float64]
MOST_RESAMPLES = 1_000_000
PARAMETERS: Mapping[str, Role] = {"sources": "source", "references": "reference", "hypotheses": "hypothesis"}
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
CONVENTION = (
    "a metric's parameters say what it reads: f(hypotheses, references), f(hypotheses, sources) or all three, lists of "
    "as many texts, for which it returns as many scores"
)


class FrameTable(Table):
    """A DataFrame as a user's table, so that its rows are read like those of a file.

    Raises ConfigError for anything but a DataFrame, DataError for one without rows.
    """

    def __init__(self, frame: object) -> None:
        import pandas as pd

        if not isinstance(frame, pd.DataFrame):
            raise ConfigError(
                f"frame: expected a pandas DataFrame, got a {type(frame).__name__}; pandas.DataFrame makes one."
            )
        if not len(frame):
            raise DataError("the frame has no rows.")
        names = [str(name).strip(INVISIBLE) for name in frame.columns]
        self.frame = frame.set_axis(names, axis=1)
        super().__init__(Path("the frame"), names, len(frame), self._values, lambda row: f"row {row + 1}")

    def _values(self, name: str) -> list[Any]:
        column = self.frame[name]
        values: list[Any] = column.astype(object).where(column.notna(), None).tolist()
        return values


def plain(value: Any) -> Any:
    """A number or an array of numpy as Python writes it; everything else as it is."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def real(name: str, value: Any) -> float:
    """A number. Raises ConfigError for anything else."""
    number: float = convert(plain(value), float, name)
    return number


def drawn(resamples: Any, seed: Any, least: int) -> tuple[int, int]:
    """The number of resamples, at least `least`, and their seed. Raises ConfigError."""
    count: int = convert(plain(resamples), int, "resamples")
    if not least <= count <= MOST_RESAMPLES:
        raise ConfigError(f"resamples must lie between {least} and {MOST_RESAMPLES:,}, got {count}.")
    return count, check_seed(convert(plain(seed), int, "seed"))


def listed(name: str, value: Any) -> list[str]:
    """Names, one or several. Raises ConfigError for anything but a name or an ordered list of names."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping | Set):
        raise ConfigError(f"{name}: expected a name or a list of names, got {value!r:.60}.")
    return [str(item) for item in value]


def keyed(name: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keys and values; none for None. Raises ConfigError for anything but a mapping."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name}: expected a dictionary of keys and values, got {value!r:.60}.")
    return dict(value)


def path(name: str, value: str | os.PathLike[str]) -> Path:
    """A path. Raises ConfigError for anything else, and for an empty one."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value) or SURROGATE.search(str(value)):
        raise ConfigError(f"{name}: expected a path, got {value!r:.60}.")
    return Path(value).expanduser()


def recipe_of(value: str | os.PathLike[str] | Recipe) -> Recipe:
    """A recipe, by itself, its file, or the name of an embedded one. Raises ConfigError for anything else."""
    from bmx_grid.boosts.recipe import Recipe, find_recipe

    if isinstance(value, Recipe):
        return value
    named = path("recipe", value)
    return find_recipe(value if isinstance(value, str) else named)


def check_columns(table: Table, argument: str, names: Sequence[object], hint: str = "") -> None:
    """Raise ConfigError with the closest name for a column that the table does not have."""
    for name in names:
        if name not in table.names:
            raise ConfigError(f"{table.path}: {argument}: {unknown('column', name, table.names)}{hint}")


def roles_of(
    table: Table, columns: Columns | None, needed: Sequence[str], taken: Sequence[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Role -> its columns, as `recognised` finds them; taken: columns that play another part."""
    given = {role: listed(f"columns: {role}", names) for role, names in keyed("columns", columns).items()}
    free = [name for name in dict.fromkeys(table.names) if name not in taken]
    way_out = "columns={{'{}': 'COLUMN'}}" if isinstance(table, FrameTable) else "--columns {}=COLUMN"
    return recognised(free, given, needed, str(table.path), way_out)


def numbers(table: Table, name: str, least: int = 0) -> Floats:
    """float64 of a column, NaN for gaps. Raises DataError naming the row of anything else, and for too few numbers."""
    what, way_out = f"the score in column '{name}'", "leave it empty where there is none"
    values = table.take([name])[name]
    parsed = [parse_number(value, visible(table.where(row)), what, way_out) for row, value in enumerate(values)]
    count = int(np.isfinite(parsed).sum())
    if count < least:
        raise DataError(
            f"the column {name!r} of {table.path} has {count} numbers in {len(table)} rows; a correlation needs "
            f"{least}."
        )
    return np.array(parsed)


def override_value(value: Any) -> str:
    """A value as an override writes it. Raises ConfigError for one that no configuration can hold."""
    value = plain(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return quoted(str(value), "'")
    if isinstance(value, Sequence | set | frozenset):
        return "[" + ",".join(map(override_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{override_value(held)}" for key, held in value.items()) + "}"
    raise ConfigError(
        f"{value!r:.60} is no value of a configuration; give text, numbers, true, false, None, lists or dictionaries."
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


def chosen_setting(settings: Sequence[Sequence[str]], names: Names, method: str) -> int:
    """The position of the one setting, each its four names, that fits; `method`: what was asked for.

    Raises ConfigError for a name that no setting has, and where none or several settings fit.
    """
    for number, (factor, name) in enumerate(zip(FACTORS, names, strict=True)):
        known = {setting[number] for setting in settings}
        if name is not None and name not in known:
            raise ConfigError(f"{factor}: " + unknown(factor_in_words(factor), str(name), known))
    rows = [
        row
        for row, setting in enumerate(settings)
        if all(name in (None, known) for known, name in zip(setting, names, strict=True))
    ]
    if len(rows) != 1:
        some = "; ".join(setting_label(*settings[row]) for row in (rows or range(len(settings)))[:4])
        more = "; …" if len(rows or settings) > 4 else ""
        fit = f"{len(rows)} settings fit ({some}{more}); name one" if rows else f"none fits; there are {some}{more}"
        raise ConfigError(f"{fit}: {method}(language_pair, metric, explainer, dataset).")
    return rows[0]
