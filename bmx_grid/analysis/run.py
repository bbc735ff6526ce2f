"""The whole analysis of a results table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis import baseline, best, controls, density, fixed, medians, points, regression, results, transfer
from bmx_grid.analysis.base import Table
from bmx_grid.analysis.baseline import GainBaseline
from bmx_grid.analysis.best import BestPoints
from bmx_grid.analysis.controls import Controls
from bmx_grid.analysis.density import Densities
from bmx_grid.analysis.fixed import FixedEvaluation
from bmx_grid.analysis.given import Given, Options
from bmx_grid.analysis.medians import Median
from bmx_grid.analysis.points import check_selection
from bmx_grid.analysis.questions import QUESTIONS, Questions
from bmx_grid.analysis.regression import RidgeFit
from bmx_grid.analysis.results import Average
from bmx_grid.analysis.signature import signature
from bmx_grid.analysis.table import GridTable
from bmx_grid.analysis.transfer import Transfer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Analysis(Given):
    """A results table, how it is read, and the questions asked of it; answers are computed when they are first used.

    The answer to any question is `analysis.ask(MODULE.compute)`. Below are short names for what figures use, all over
    the settings that are not controls but for `best`, `controls` and `densities.grid["explainer"]`.
    """

    questions: Questions = QUESTIONS

    def answers(self) -> dict[str, Any]:
        """Every question's Result, by the question's name."""
        return {question.__name__: self.ask(question.compute) for question in self.questions}

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

    @property
    def best(self) -> BestPoints:
        """Best points of all settings of `table`, in its order."""
        return self.ask(best.compute).points

    @property
    def n_tied(self) -> int:
        """Settings of `real` that no (p, w) with w other than 1 improves."""
        return self.ask(best.compute).n_tied_with_baseline

    @property
    def medians(self) -> Mapping[str, Median]:
        """By explainer."""
        return self.ask(medians.compute).medians

    @property
    def fixed(self) -> FixedEvaluation:
        """`real` at the points asked for."""
        return self.ask(fixed.compute).evaluation

    @property
    def points(self) -> points.ChosenPoints:
        """The points asked for and used, and how they may be described."""
        return self.ask(points.compute)

    @property
    def origins(self) -> Mapping[str, str]:
        """By explainer, where its point comes from, in words."""
        return self.points.origins

    @property
    def is_held_out(self) -> bool:
        """Whether every point was chosen on a table that shares no segments with this one."""
        found = self.points.provenance.values()
        return len(found) > 0 and all(one == "held out" for one in found)

    @property
    def best_explainer(self) -> str | None:
        """The explainer with the largest share of better settings (see fixed.best_explainer)."""
        return self.ask(fixed.compute).best_explainer

    @property
    def averages(self) -> Mapping[tuple[str, str], Average]:
        """By (data set, metric)."""
        return self.ask(results.compute).averages

    @property
    def ridge(self) -> RidgeFit:
        """The regression of the gains of `fixed`."""
        return self.ask(regression.compute).ridge

    @property
    def gain_baseline(self) -> GainBaseline:
        """Correlation of the gains of `fixed` with the baseline."""
        return self.ask(baseline.compute).correlations

    @property
    def densities(self) -> Densities:
        """Densities of the gains of the grid and of `fixed`."""
        return self.ask(density.compute).densities

    @property
    def leave_one_out(self) -> Mapping[str, Mapping[str, Transfer]]:
        """By factor and explainer."""
        return self.ask(transfer.compute).leave_one_out

    @property
    def nested(self) -> Mapping[str, Mapping[str, Transfer]]:
        """By factor and explainer."""
        return self.ask(transfer.compute).nested

    @property
    def controls(self) -> Controls:
        """Settings of the random metric or explainer."""
        return self.ask(controls.compute)


def analyse(
    table: GridTable,
    options: Options | None = None,
    questions: Sequence[Any] = QUESTIONS,
    frames: Mapping[str, pd.DataFrame] | None = None,
) -> Analysis:
    """The analysis of a table by these questions (see questions.with_others).

    frames: the other tables of the sweep, by name (see analysis.frames); None for a results table alone.
    Raises ConfigError when points shall be selected from a table that shares settings with the analysed one.
    """
    options = Options() if options is None else options
    if options.select_from is not None:
        check_selection(table, options.select_from)
    return Analysis(table, options, frames=frames or {}, questions=tuple(questions))
