"""What a caller gave, checked before anything is computed: a mistake is one sentence, as on the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.configure import check_seed, convert
from bmx_grid.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from bmx_grid.boosts.recipe import Recipe

MOST_RESAMPLES = 1_000_000


def plain(value: Any) -> Any:
    """A number or an array of numpy as Python writes it; everything else as it is."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def real(name: str, value: Any) -> float:
    """A number. Raises ConfigError for anything else."""
    found: float = convert(plain(value), float, name)
    return found


def drawn(resamples: Any, seed: Any, least: int) -> tuple[int, int]:
    """The number of resamples, at least `least`, and their seed. Raises ConfigError."""
    count: int = convert(plain(resamples), int, "resamples")
    if not least <= count <= MOST_RESAMPLES:
        raise ConfigError(f"resamples must lie between {least} and {MOST_RESAMPLES:,}, got {count}.")
    return count, check_seed(convert(plain(seed), int, "seed"))


def listed(name: str, value: str | Iterable[Any]) -> list[str]:
    """Names, one or several. Raises ConfigError for what is no list."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise ConfigError(f"{name}: expected a name or a list of names, got {value!r:.60}.")
    return [str(one) for one in value]


def keyed(name: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keys and values; none for None. Raises ConfigError for what is no mapping."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name}: expected a dictionary of keys and values, got {value!r:.60}.")
    return dict(value)


def path(name: str, value: str | os.PathLike[str]) -> Path:
    """A path. Raises ConfigError for what is none."""
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name}: expected a path, got {value!r:.60}.")
    return Path(value).expanduser()


def recipe_of(value: str | os.PathLike[str] | Recipe) -> Recipe:
    """A recipe, by itself, its file, or the name of an embedded one. Raises ConfigError for what is none of these."""
    from bmx_grid.boosts.recipe import Recipe, find_recipe

    if isinstance(value, Recipe):
        return value
    return find_recipe(value if isinstance(value, str) else path("recipe", value))


def numbers(column: pd.Series) -> NDArray[np.float64]:
    """float64 of a column; NaN where there is no number, infinite where one is too large."""
    import numpy as np
    import pandas as pd

    if column.dtype.kind not in "mMc":  # times and complex numbers would silently become others
        try:
            found = pd.to_numeric(column, errors="coerce")
            if found.dtype.kind != "c":
                return np.asarray(found.to_numpy(dtype=np.float64, na_value=np.nan))
        except (OverflowError, TypeError, ValueError):  # of what cannot be compared, and of 10**400
            pass
    return np.array([_number(value) for value in column], dtype=np.float64)


def _number(value: Any) -> float:
    if not isinstance(value, str | int | float):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")
    except ValueError:
        return float("nan")


def check_names(names: Sequence[Any]) -> None:
    """Raise ConfigError for columns of one name, as which they are written."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise ConfigError(f"the frame has two columns '{twice}'; give each a name of its own.")
