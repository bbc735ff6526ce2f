"""A finished sweep's folder analysed again: the same tables, points, seed and questions give the same numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bmx_grid.analysis.base import NO_SETTINGS, GridTable
from bmx_grid.analysis.load import load_table, sibling_tables
from bmx_grid.analysis.questions import Analysis, analyse_table, load_questions
from bmx_grid.core.configure import build, class_of, convert
from bmx_grid.core.documents import parse_yaml
from bmx_grid.core.errors import BmxError, DataError
from bmx_grid.core.storage import is_file, is_folder
from bmx_grid.core.wording import first_line
from bmx_grid.evaluations.grid_surface import GridOptions
from bmx_grid.evaluations.stored_tables import Tables
from bmx_grid.measures.grid import Point
from bmx_grid.sweep.folder import CONFIG, TABLES, table_path

if TYPE_CHECKING:
    import pandas as pd

NAME = "sweep"  # the fact that is the title of the page
FigureFormat = Literal["svg", "png", "pdf"]
EVALUATIONS = "bmx_grid.evaluations."  # their questions are part of every sweep


@dataclass(frozen=True)
class AnalysisOptions:
    """How a sweep is analysed.

    fixed: the published points by explainer, of its grid; seed: of intervals across settings; questions: the modules of
    further questions, those of its evaluations among them.
    """

    fixed: Mapping[str, Point] = field(default_factory=dict)
    seed: int = 0
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class FigureOptions:
    """Which figures of an analysis are written, and in which formats.

    which: "page", those of report.html, or "all", those of the BMX paper and of each setting, too.
    """

    which: Literal["page", "all"] = "page"
    format: tuple[FigureFormat, ...] = ("svg",)


def figure_options(value: Any) -> FigureOptions:
    """The options in a configuration; figures=all represents figures.which=all. Raises ConfigError."""
    node = value if isinstance(value, Mapping) else {"which": value}
    options: FigureOptions = convert(node, FigureOptions, "figures")
    return options


@dataclass(frozen=True, eq=False)
class Results:
    """The grids of a sweep, none if it has no grid, its other tables, and how they are analysed."""

    table: GridTable
    frames: Mapping[str, pd.DataFrame]
    options: AnalysisOptions = AnalysisOptions()

    def analyse(
        self,
        *,
        questions: Sequence[str] = (),
        select_from: GridTable | None = None,
        fixed: Mapping[str, Point] | None = None,
    ) -> Analysis:
        """The analysis at the points of the sweep.

        questions: modules of further ones. fixed: points that take precedence over those of the sweep. select_from:
        the table whose medians take the place of the points of the sweep.
        Raises ConfigError for a module that is no question, and as `analyse_table`.
        """
        points: dict[str, Point] = {}
        if select_from is None:
            explainers = self.table.non_controls.factor_levels("explainer")
            # Options may give points of explainers that this sweep does not have.
            points = {name: point for name, point in self.options.fixed.items() if name in explainers}
        points |= fixed or {}
        modules = load_questions([*self.options.questions, *questions])
        return analyse_table(
            self.table, self.frames, modules, select_from=select_from, fixed=points, seed=self.options.seed
        )


def options_of(config: Mapping[str, Any], origin: str = "") -> AnalysisOptions:
    """How the sweep of this configuration is analysed; origin: of the configuration, for messages.

    A warning names an evaluation that cannot be imported: its questions are unknown.
    Raises ConfigError for a configuration that was edited wrongly.
    """
    fixed: Mapping[str, Point] = {}
    modules = list(convert(config.get("questions", []), tuple[str, ...], f"{origin}questions"))
    for name, node in convert(config.get("evaluation"), dict[str, Any], f"{origin}evaluation").items():
        where = f"{origin}evaluation.{name}"
        if isinstance(node, Mapping) and str(node.get("_target_")).startswith(EVALUATIONS):
            # Listed by name, since imports take long: only the grid defines options of the analysis.
            if "fixed" in node:
                fixed = convert(node["fixed"], dict[str, Point], f"{where}.fixed")
            continue
        try:
            evaluation = class_of(node, where)
        except BmxError as error:
            _not_asked(error)
            continue
        modules += getattr(evaluation, "QUESTIONS", ())
        if issubclass(evaluation, GridOptions):
            fixed = build(node, GridOptions, where).fixed
    return AnalysisOptions(fixed, convert(config.get("seed", 0), int, f"{origin}seed"), tuple(modules))


def facts_of(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The configuration of a sweep as (name, words), for the page."""
    limit = config.get("limit")
    segments = "all segments" if limit is None else f"the first {limit:,} segment ids of each language pair"
    return [(NAME, str(config.get("name", ""))), ("limit", segments), ("seed", str(config.get("seed", "")))]


def load_results(path: Path) -> Results:
    """Load the results in a sweep's folder, or a results table with those of its sweep in the same folder.

    Warns of tables that are not read. Raises DataError, DataMissingError.
    """
    table = NO_SETTINGS
    frames = Tables({})
    if is_folder(path) and not _has_grid(path):
        # The tables of metrics without an explainer, or of boosts without a grid.
        table = replace(NO_SETTINGS, origin=str(path))
        frames = sibling_tables(table)
    if not frames:
        # The error of a folder without a sweep names the missing file.
        table = load_table(path)
        frames = sibling_tables(table)
    return Results(table, frames, _options_beside(path, frames))


def _has_grid(folder: Path) -> bool:
    """Whether a folder has a table of grids with rows, or one that cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = table_path(folder, "grid")
    if not is_file(file):
        return False
    try:
        return bool(pq.read_metadata(file).num_rows)
    except (pa.ArrowException, OSError):
        return True


def _options_beside(path: Path, frames: Tables) -> AnalysisOptions:
    """How the sweep in this place is analysed, by its config.yaml; a results table of no sweep has no such options."""
    if not frames:
        return AnalysisOptions()
    folder = path if path.is_dir() else path.parent
    if folder.name == TABLES and not (folder / CONFIG).is_file():
        folder = folder.parent
    if (folder / CONFIG).is_file():
        options = options_of(read_config(folder / CONFIG), f"{folder / CONFIG}: ")
        return replace(options, questions=_importable(options.questions))
    settings = frames["settings"]
    if "fixed_w" in settings and settings["fixed_w"].notna().any():
        warnings.warn(
            f"{folder / CONFIG} not found: the published points of the sweep are unknown, gains are at the median best "
            "points. Give the sweep's own folder.",
            stacklevel=2,
        )
    return AnalysisOptions()


def read_config(file: Path) -> dict[str, Any]:
    """The configuration of a finished sweep. Raises DataError for a file that holds none."""
    try:
        config = parse_yaml(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read ({first_line(error)}); run the sweep again.") from error
    if not isinstance(config, dict):
        raise DataError(f"{file}: expected the configuration of a sweep; run the sweep again.")
    return config


def _importable(modules: Sequence[str]) -> tuple[str, ...]:
    """The modules of questions that can be imported; warns of each other one."""
    known = []
    for module in modules:
        try:
            load_questions([module])
        except BmxError as error:
            _not_asked(error)
            continue
        known.append(module)
    return tuple(known)


def _not_asked(error: BmxError) -> None:
    warnings.warn(f"Skipped a question of the sweep: {error}", stacklevel=2)
