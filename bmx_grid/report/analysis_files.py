"""Write the files of an analysis: its figures and report.html."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.analysis import headline, metrics_and_people
from bmx_grid.analysis.base import FACTORS, NO_SETTINGS, SettingKey
from bmx_grid.analysis.examples import Example, choose_examples
from bmx_grid.analysis.factors import fit_rows, regression
from bmx_grid.analysis.finished import AnalysisOptions, FigureOptions, Results
from bmx_grid.analysis.load import grids_of_results
from bmx_grid.analysis.points import selection
from bmx_grid.analysis.questions import Analysis, drop_failing_questions
from bmx_grid.core.errors import DataError
from bmx_grid.core.terminal import command_line
from bmx_grid.core.wording import pluralize, setting_label
from bmx_grid.evaluations.stored_tables import Tables
from bmx_grid.report.answer import MOST_ROWS, answer_text
from bmx_grid.report.canvas import Drawing, figure_file, render, save
from bmx_grid.report.figures import boosts, gains_with_intervals, human_ceilings, setting_drawing
from bmx_grid.report.html import write_report
from bmx_grid.report.paper_figures import best_boxes, better_and_worse, gains_by, gains_of_all_points, ridge_bars
from bmx_grid.report.scatter import scatter
from bmx_grid.report.table import sentences, tables_as_text, terminal_width
from bmx_grid.sweep.folder import TABLES, OutputFolder
from bmx_grid.sweep.judge import SettingResult, Spent
from bmx_grid.sweep.tables import write_parquet

if TYPE_CHECKING:
    import pyarrow as pa

REPORT = "report.html"
OF_ANALYSIS = ("selection", "ridge")  # tables of a sweep that its analysis writes
DEFAULT = FigureOptions()


# The files of the analysis, and the text for the terminal; without an analysis, the reason.
SweepAnalysis = tuple[Analysis | None, list[Path], str]


def analyse_sweep(
    results: Sequence[SettingResult],
    options: AnalysisOptions,
    folder: OutputFolder,
    *,
    tables: Mapping[str, pa.Table],
    figures: FigureOptions = DEFAULT,
    facts: Sequence[tuple[str, str]] = (),
) -> SweepAnalysis:
    """Analyse the finished settings of a sweep and write figures, report.html and the tables OF_ANALYSIS.

    options: of the analysis. tables: those of all evaluations of the sweep, by name. figures: which are written, and
    how. facts: as for `write_report`. Without a grid no table of OF_ANALYSIS is written, and no page if no question has
    a table.
    Raises StoreError when a file cannot be written, ConfigError for a module that is no question.
    """
    results = [result for result in results if result.has_grid]
    table = NO_SETTINGS
    if results:
        if all(SettingKey(*result.names).control for result in results):
            return (None, [], "no analysis: it needs a setting without the random metric and explainer; 0 finished.")
        try:
            table = grids_of_results(results, origin=str(folder.path))
        except DataError as error:
            return (None, [], f"no analysis: {error}")
    analysis = Results(table, Tables(tables), options).analyse()
    analysis, refused = drop_failing_questions(analysis)
    # One signature for each metric and explainer, not for each language pair.
    signatures = {}
    for result in results:
        signatures[setting_label(result.metric, result.explainer)] = result.signature
    files: list[Path] = []
    spent = sum((result.spent for result in results), Spent())
    time = ("time", f"{spent.seconds:,.0f} s of scoring in this run, {pluralize(spent.n_texts, 'text')}")
    if results or analysis.tables():
        files = write_analysis(
            analysis,
            folder.path,
            folder.begin,
            examples=choose_examples(results),
            facts=[*facts, time, *sorted(signatures.items())],
            figures=figures,
        )
    if results:
        files += _write_tables(analysis, folder)
    text = terminal_summary(analysis)
    return analysis, files, "\n\n".join(filter(None, [text, sentences(refused)]))


def terminal_summary(analysis: Analysis) -> str:
    """The answer of a sweep in lines that fit the terminal, with the brief tables that the answer has no words for."""
    # The summary answers questions about a grid; it does not know questions of other packages.
    questions = analysis.further_questions if len(analysis.table) else analysis.questions
    brief = [replace(table, notes=()) for table in analysis.tables_of(questions) if table.brief]
    tables = tables_as_text(brief, terminal_width(), MOST_ROWS).strip()
    answer = answer_text(analysis, terminal_width())
    # Of metrics without an explainer the tables are the answer, and the lines remarks on it.
    parts = [answer, tables] if answer else [tables, sentences(headline.summary_lines(analysis))]
    return "\n\n".join(filter(None, parts))


def _write_tables(analysis: Analysis, folder: OutputFolder) -> list[Path]:
    """Write the tables that the analysis adds to those of the evaluations; returns their paths."""
    import pyarrow as pa

    # In the order of OF_ANALYSIS.
    tables = (analysis.compute_once(selection), analysis.compute_once(fit_rows))
    tables_folder = folder.path / TABLES
    paths = [tables_folder / f"{name}.parquet" for name in OF_ANALYSIS]
    folder.begin(paths)
    for path, frame in zip(paths, tables, strict=True):
        write_parquet(pa.Table.from_pandas(frame, preserve_index=False), path)
    return paths


def write_analysis(
    analysis: Analysis,
    folder: Path,
    claim: Callable[[Iterable[Path]], None],
    *,
    examples: Sequence[Example] = (),
    facts: Sequence[tuple[str, str]] = (),
    figures: FigureOptions = DEFAULT,
) -> list[Path]:
    """Write folder/figures/ and report.html, dated today; the paths, in this order. Without a grid the page is shorter.

    claim: called with the files before one is written. figures: which are written, and how; the page holds its own in
    any case. examples, facts: as for `write_report`.
    Raises StoreError when a file cannot be written, ConfigError for one that is somebody else's.
    """
    place = folder / "figures"
    drawings = page_figures(analysis)
    others = further_figures(analysis) if figures.which == "all" and len(analysis.table) else []
    page = folder / REPORT
    # All files are claimed before one is written: a refusal leaves no half of an analysis.
    chosen = list(itertools.product((*drawings, *others), figures.format))
    claim([*(figure_file(drawing, place, form) for drawing, form in chosen), page])
    files = [save(drawing, place, form) for drawing, form in chosen]
    shown = []
    for drawing in drawings:
        file = figure_file(drawing, place)
        # As SVG also if files of other formats were chosen.
        shown.append((drawing, file.read_bytes() if file in files else render(drawing)))
    # Too long for a page: written as CSV only.
    tables = [table for table in analysis.tables() if not table.data]
    today = datetime.datetime.now(tz=datetime.UTC).date()
    facts = [*facts, ("command", command_line()), ("date", today.isoformat())]
    write_report(analysis, page, figures=shown, tables=tables, examples=examples, facts=facts)
    return [*files, page]


def page_figures(analysis: Analysis) -> list[Drawing]:
    """The figures that the page of an analysis shows, that of the boosts first."""
    drawings = [*boosts(analysis), *gains_with_intervals(analysis)]
    metrics = analysis.compute_once(metrics_and_people.compute)["correlations"]
    if metrics is not None:
        drawings += human_ceilings(metrics)
    for question in analysis.questions:
        # A question need not have figures.
        if hasattr(question, "figures"):
            drawings += [
                scatter(analysis, figure) for figure in question.figures(analysis.compute_once(question.compute))
            ]
    return drawings


def further_figures(analysis: Analysis) -> list[Drawing]:
    """The figures of the BMX paper: of distributions, selected points and the regression, then of every setting."""
    drawings = [gains_of_all_points(analysis)]
    if len(analysis.non_controls):
        drawings += [best_boxes(analysis), better_and_worse(analysis)]
    if len(analysis.compute_once(regression)["ridge_coefficients"]):
        drawings.append(ridge_bars(analysis))
    for explainer in analysis.non_controls.factor_levels("explainer"):
        # By all factors but the explainer, which is one.
        drawings += [gains_by(analysis, explainer, factor) for factor in FACTORS[:3]]
    drawings += [setting_drawing(analysis, row) for row in range(len(analysis.table))]
    return drawings
