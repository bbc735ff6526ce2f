"""The questions of an analysis, in the order they are shown; add your own question by one line here.

A question from outside this package is named by its module, which lies in a package that the environment variable
BMX_ALLOWED_PACKAGES names: `python -m bmx_grid analyse results=… questions=mypkg.my_question`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from typing import cast

from bmx_grid.analysis import (
    agreement,
    baseline,
    best,
    best_systems,
    ceiling,
    controls,
    density,
    families,
    fixed,
    headline,
    medians,
    overview,
    plausibility,
    rank_ranges,
    regression,
    results,
    settings,
    single_gains,
    transfer,
    verdicts,
    words,
)
from bmx_grid.analysis.base import Question
from bmx_grid.analysis.given import Given, WithFrames
from bmx_grid.configure import ALLOWED_PACKAGES
from bmx_grid.errors import ConfigError

Questions = tuple[Question[Given], ...]
OF_METRICS: tuple[Question[WithFrames], ...] = (agreement, rank_ranges, families, words, best_systems)  # need no grid
QUESTIONS: Questions = (
    verdicts,
    words,
    plausibility,
    headline,
    single_gains,
    overview,
    results,
    ceiling,
    agreement,
    rank_ranges,
    families,
    best_systems,
    best,
    medians,
    fixed,
    regression,
    baseline,
    transfer,
    controls,
    density,
    settings,
)


def with_others(modules: Iterable[str]) -> Questions:
    """The questions of this package and those of the named modules, each once.

    Raises ConfigError for a module that is not allowed, not there, or is no question.
    """
    found = {question.__name__: question for question in QUESTIONS}
    for name in modules:
        if name not in found:
            found[name] = _imported(name)
    return tuple(found.values())


def _imported(name: str) -> Question[Given]:
    allowed = [one for one in os.environ.get(ALLOWED_PACKAGES, "").split(",") if one]
    if name.split(".")[0] not in allowed:
        raise ConfigError(
            f"questions: '{name}' is outside the packages that may be imported ({', '.join(allowed) or 'none'}). Name "
            f"its package in the environment variable {ALLOWED_PACKAGES} if you trust it."
        )
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"questions: there is no module '{error.name}' for '{name}'.") from error
    lacking = [part for part in ("compute", "tables") if not callable(getattr(module, part, None))]
    if lacking:
        raise ConfigError(f"questions: {name} has no function {' and no '.join(lacking)}; a question has both.")
    return cast(Question[Given], module)
