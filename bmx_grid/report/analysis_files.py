"""What an analysis leaves in a folder: its figures and report.html."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis import correlations, placebos
from bmx_grid.analysis.base import CONTROLS, FACTORS, Given, Table
from bmx_grid.analysis.examples import Example, choose_examples
from bmx_grid.analysis.headline import not_evidence
from bmx_grid.analysis.load import of_results
from bmx_grid.analysis.points import Selection, selection
from bmx_grid.analysis.questions import Analysis, analyse_table, of_metrics, with_others
from bmx_grid.analysis.regression import FitRow, fit_rows
from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import counted, setting_label
from bmx_grid.evaluations.stored_tables import Tables
from bmx_grid.measures.grid import Point
from bmx_grid.report.canvas import Drawing, figure_file, save
from bmx_grid.report.figures import boosts, declared_gains, metrics_and_people, setting_drawing
from bmx_grid.report.html import write_metrics_report, write_report
from bmx_grid.report.paper_figures import best_boxes, better_and_worse, gains_by, gains_of_all_points, ridge_bars
from bmx_grid.report.table import as_text
from bmx_grid.report.terminal_lines import fitted, terminal_width
from bmx_grid.sweep.output import TABLES, OutputFolder
from bmx_grid.sweep.results import SettingResult, write_parquet
from bmx_grid.sweep.settings import SweepPlan

if TYPE_CHECKING:
    import pyarrow as pa

REPORT = "report.html"
OF_ANALYSIS = ("selection", "ridge")  # tables of a sweep that its analysis writes
MOST_LINES = 16  # of a table of metrics on a terminal


SweepAnalysis = tuple[Analysis | None, list[Path], str]  # files that show it; without one, a note in its place


def analyse_sweep(
    results: Sequence[SettingResult],
    plan: SweepPlan,
    fixed: Mapping[str, Point],
    folder: OutputFolder,
    questions: Sequence[str] = (),
    *,
    tables: Mapping[str, pa.Table],
    seed: int = 0,
    every_figure: bool = False,
) -> SweepAnalysis:
    """Analyse the finished settings of a sweep and write figures, report.html and the tables OF_ANALYSIS.

    fixed: the points of explainers that are evaluated in place of the medians. Without a grid, and without explainers,
    the metrics alone are shown. questions: modules of further questions. tables: those of all evaluations
    of the sweep, by name. seed: of intervals across settings. every_figure: also that of each setting.
    Raises StoreError when a file cannot be written, ConfigError for a module that is no question.
    """
    results = [result for result in results if result.has_grid]
    if not results:
        return _of_metrics(tables, folder)
    explainers = set()
    for result in results:
        if set(CONTROLS).isdisjoint(result.names):
            explainers.add(result.explainer)
    if not explainers:
        return (None, [], "no analysis: it needs a setting without the random metric and explainer; 0 finished.")
    try:
        table = of_results(results, origin=str(folder.path))
    except DataError as error:
        return (None, [], f"no analysis: {error}")
    # Options may give points of explainers that this sweep does not have.
    points = {}
    for name, point in fixed.items():
        if name in explainers:
            points[name] = point
    analysis = analyse_table(table, Tables(tables), with_others(questions), fixed=points, seed=seed)
    # One signature for each metric and explainer, not for each language pair.
    signatures = {}
    for result in results:
        signatures[setting_label(result.metric, result.explainer)] = result.signature
    files = write_analysis(
        analysis,
        folder.path,
        folder.begin,
        examples=choose_examples(results, plan),
        facts=sorted(signatures.items()),
        every_figure=every_figure,
    )
    return analysis, [*files, *_write_tables(analysis, folder)], ""


def _write_tables(analysis: Analysis, folder: OutputFolder) -> list[Path]:
    """Write the tables of a sweep that the analysis makes, beside those of the evaluations; the paths written."""
    import pandas as pd
    import pyarrow as pa

    # In the order of OF_ANALYSIS.
    tables: tuple[tuple[type, Sequence[Any]], ...] = (
        (Selection, analysis.ask(selection)),
        (FitRow, analysis.ask(fit_rows)),
    )
    tables_folder = folder.path / TABLES
    paths = [tables_folder / f"{name}.parquet" for name in OF_ANALYSIS]
    folder.begin(paths)
    for path, (row_class, rows) in zip(paths, tables, strict=True):
        # Named columns, so that a table without rows has them, too.
        columns = [field.name for field in fields(row_class)]
        frame = pd.DataFrame(rows, columns=columns)
        table = pa.Table.from_pandas(frame, preserve_index=False)
        write_parquet(table, path)
    return paths


def _of_metrics(tables: Mapping[str, pa.Table], folder: OutputFolder) -> SweepAnalysis:
    """The page of metrics alone, which have no grid; nothing without the evaluations it rests on."""
    analysis = Given(Tables(tables))
    shown: list[Table] = []
    for question in of_metrics():
        shown += question.tables(analysis.ask(question.compute))
    if not shown:
        return (None, [], "")
    # Any of the tables names the data sets: not every sweep has correlations.
    any_frame = next(iter(analysis.frames.values()))
    frame = analysis.frames.get("correlations", any_frame)
    datasets = ", ".join(sorted(set(frame["dataset"])))
    n_metrics = counted(frame["metric"].nunique(), "metric")
    unbeaten = analysis.ask(placebos.compute).unbeaten
    remarks = [*unbeaten, *not_evidence(analysis)]
    introduction = [f"{n_metrics} on {datasets}, without an explainer.", *remarks]
    page = folder.path / REPORT
    figures = folder.path / "figures"
    metrics = analysis.ask(correlations.compute).correlations or ()
    drawings = list(metrics_and_people(metrics))
    files = [figure_file(drawing, figures) for drawing in drawings]
    files.append(page)
    # All files are claimed before one is written, as in `write_analysis`.
    folder.begin(files)
    drawn = [(drawing, save(drawing, figures)) for drawing in drawings]
    title = f"Metrics on {datasets}"
    write_metrics_report(page, title=title, introduction=introduction, tables=shown, figures=drawn)
    lines = _brief_lines(shown)
    lines += [fitted(remark) for remark in remarks]
    return None, files, "\n".join(lines)


def _brief_lines(tables: Sequence[Table]) -> list[str]:
    """The brief tables as lines for a terminal, at most MOST_LINES of each."""
    shown: list[str] = []
    for table in tables:
        if table.brief:
            text = as_text(replace(table, notes=()), terminal_width())
            lines = text.rstrip().splitlines()
            if len(lines) > MOST_LINES:
                more = counted(len(lines) - MOST_LINES, "more line")
                lines[MOST_LINES:] = [f"… {more} in {REPORT}"]
            # A line between two tables.
            shown += ["", *lines] if shown else lines
    return shown


def write_analysis(
    analysis: Analysis,
    folder: Path,
    claim: Callable[[Iterable[Path]], None],
    *,
    examples: Sequence[Example] = (),
    facts: Sequence[tuple[str, str]] = (),
    every_figure: bool = False,
) -> list[Path]:
    """Write folder/figures/ and report.html, dated today; the paths, in this order.

    claim: told of the files before one is written. every_figure: also those that the page does not show. examples,
    facts: as for `write_report`.
    Raises StoreError when a file cannot be written, ConfigError for one that is somebody else's.
    """
    figures = folder / "figures"
    drawings = page_figures(analysis)
    others = further_figures(analysis) if every_figure else []
    page = folder / REPORT
    # All files are claimed before one is written: a refusal leaves no half of an analysis.
    files = [figure_file(drawing, figures) for drawing in (*drawings, *others)]
    claim([*files, page])
    shown = [(drawing, save(drawing, figures)) for drawing in drawings]
    further = [save(drawing, figures) for drawing in others]
    # Too long for a page: they are written as CSV alone.
    tables = [table for table in analysis.tables() if not table.data]
    today = datetime.datetime.now(tz=datetime.UTC).date()
    facts = [*facts, ("date", today.isoformat())]
    write_report(analysis, page, figures=shown, tables=tables, examples=examples, facts=facts)
    return [*(file for _, file in shown), *further, page]


def page_figures(analysis: Analysis) -> list[Drawing]:
    """The figures that the page of an analysis shows, that of the boosts first."""
    metrics = analysis.ask(correlations.compute).correlations or ()
    return [*boosts(analysis), *declared_gains(analysis), *metrics_and_people(metrics)]


def further_figures(analysis: Analysis) -> list[Drawing]:
    """The figures of the BMX paper: of distributions, selected points and the regression, then of every setting."""
    drawings = [gains_of_all_points(analysis)]
    if len(analysis.real):
        drawings += [best_boxes(analysis), better_and_worse(analysis), ridge_bars(analysis)]
    for explainer in analysis.real.factor_levels("explainer"):
        # By all factors but the explainer, which is one.
        drawings += [gains_by(analysis, explainer, factor) for factor in FACTORS[:3]]
    drawings += [setting_drawing(analysis, row) for row in range(len(analysis.table))]
    return drawings
