"""The questions of an analysis, in the order they are shown, and their answers; add your own question by one line here.

A question from outside this package is named by its module, which lies in a package that the environment variable
BMX_ALLOWED_PACKAGES names: `python -m bmx_grid analyse results=… questions=mypkg.my_question`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from bmx_grid.analysis import (
    best_systems,
    correlations,
    gains,
    headline,
    points,
    regression,
    results,
    shared_task,
    transfer,
    verdicts,
    words,
)
from bmx_grid.analysis.base import Question, Table
from bmx_grid.analysis.inputs import Frames, Given, Options
from bmx_grid.analysis.signature import signature
from bmx_grid.analysis.table import GridTable
from bmx_grid.configure import ALLOWED_PACKAGES
from bmx_grid.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

Questions = tuple[Question[Given], ...]
OF_METRICS: tuple[Question[Frames], ...] = (correlations, shared_task, words, best_systems)  # need no grid
QUESTIONS: Questions = (
    *(verdicts, words, headline, results, correlations, shared_task, best_systems),
    *(points, gains, regression, transfer),
)


@dataclass(frozen=True, eq=False)
class Analysis(Given):
    """A results table, how it is read, and the questions asked of it; answers are computed when they are first used.

    The answer to any question is `analysis.ask(MODULE.compute)`.
    """

    questions: Questions = QUESTIONS

    def tables(self) -> list[Table]:
        """Every table of every question, in their order; the signature is the last note of each."""
        last = signature(self)
        return [
            replace(table, notes=(*table.notes, last))
            for question in self.questions
            for table in question.tables(self.ask(question.compute))
        ]

    def data_frames(self) -> dict[str, pd.DataFrame]:
        """Every table as a DataFrame, by its stem; "settings" has one row per setting."""
        return {table.stem: table.frame() for table in self.tables()}


def analyse(
    table: GridTable,
    options: Options | None = None,
    questions: Sequence[Any] = QUESTIONS,
    frames: Mapping[str, pd.DataFrame] | None = None,
) -> Analysis:
    """The analysis of a table by these questions (see with_others).

    frames: the other tables of the sweep, by name (see analysis.frames); None for a results table alone.
    Raises ConfigError when points shall be selected from a table that shares settings with the analysed one.
    """
    options = Options() if options is None else options
    if options.select_from is not None:
        points.check_selection(table, options.select_from)
    return Analysis(frames or {}, table, options, tuple(questions))


def with_others(modules: Iterable[str]) -> Questions:
    """The questions of this package and those of the named modules, each once.

    Raises ConfigError for a module that is not allowed, not there, or is no question.
    """
    questions = {question.__name__: question for question in QUESTIONS}
    for name in modules:
        if name not in questions:
            questions[name] = _imported(name)
    return tuple(questions.values())


def _imported(name: str) -> Question[Given]:
    allowed = [package for package in os.environ.get(ALLOWED_PACKAGES, "").split(",") if package]
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
