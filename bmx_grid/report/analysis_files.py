"""What an analysis leaves in a folder: its figures and report.html."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.analysis import gains, regression, shared_task
from bmx_grid.analysis.examples import Example, WordExample, choose_examples, choose_word_examples
from bmx_grid.analysis.load import frames_of, from_arrow
from bmx_grid.analysis.questions import OF_METRICS, Analysis, analyse, with_others
from bmx_grid.analysis.table import CONTROL, Frames, Options
from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import counted, setting_label
from bmx_grid.evaluations.grid import GridEvaluation
from bmx_grid.measures.grid import GridSpec
from bmx_grid.report.figures.canvas import Drawing, save
from bmx_grid.report.figures.forest import boosts, declared_gains, plausibility
from bmx_grid.report.figures.gains import TOGETHER, gains_by, gains_of_all_points
from bmx_grid.report.figures.grid import setting_drawing
from bmx_grid.report.figures.selection import best_boxes, better_and_worse, better_when_left_out, ridge_bars
from bmx_grid.report.figures.thresholds import agreement_curves
from bmx_grid.report.page.html import write_metrics_report, write_report
from bmx_grid.report.table import as_text
from bmx_grid.report.terminal import fitted, terminal_width
from bmx_grid.sweep.results import SettingResult, evaluation_tables, settings_table
from bmx_grid.sweep.settings import SweepPlan

if TYPE_CHECKING:
    import pyarrow as pa

REPORT = "report.html"
ENDS = 3  # coefficients at each end of the shorter figure of the regression
MANY = 4 * ENDS  # coefficients up to which there is no shorter one
MOST_LINES = 16  # of a table of metrics on a terminal


@dataclass(frozen=True, eq=False)
class SweepAnalysis:
    """The analysis of a sweep, and the files that show it; without one, `note` is what stands in its place."""

    analysis: Analysis | None
    files: tuple[Path, ...]
    note: str


def analyse_sweep(
    results: Sequence[SettingResult],
    plan: SweepPlan,
    grid: GridEvaluation | None,
    output_dir: Path,
    questions: Sequence[str] = (),
    *,
    tables: Mapping[str, pa.Table] | None = None,
    seed: int = 0,
    every_figure: bool = False,
) -> SweepAnalysis:
    """Analyse the finished settings of a sweep and write figures and report.html.

    grid: what was evaluated; its fixed points are evaluated in place of the medians. Without it, and without
    explainers, the metrics alone are shown. questions: modules of further
    questions. tables: those of all evaluations of the sweep, by name; None for those of the grid alone. seed: of
    intervals across settings. every_figure: also that of each setting.
    Raises StoreError when a file cannot be written, ConfigError for a module that is no question.
    """
    alone = len(results) > 0 and not any(result.has_grid for result in results)
    if alone or grid is None:
        return _of_metrics({} if tables is None else tables, output_dir)
    results, spec = [result for result in results if result.has_grid], grid.spec
    real = [result for result in results if CONTROL not in result.names]
    if not real:
        return SweepAnalysis(
            None, (), "no analysis: it needs a setting without the random metric and explainer; 0 finished."
        )
    if tables is None:
        tables = {"settings": settings_table(results), **evaluation_tables(grid, results)}
    try:
        table = from_arrow(tables["grid"], origin=str(output_dir))
    except DataError as error:
        return SweepAnalysis(None, (), f"no analysis: {error}")
    explainers = {result.explainer for result in real}
    points = {name: point for name, point in grid.fixed.items() if name in explainers}
    frames = frames_of(tables)
    analysis = analyse(table, Options(fixed=points, seed=seed), with_others(questions), frames)
    files = write_analysis(
        analysis,
        output_dir,
        examples=choose_examples(results, plan, spec),
        word_examples=choose_word_examples(results, plan),
        facts=_facts(results, spec),
        every_figure=every_figure,
    )
    return SweepAnalysis(analysis, tuple(files), "")


def _of_metrics(tables: Mapping[str, pa.Table], output_dir: Path) -> SweepAnalysis:
    """The page of metrics alone, which have no grid; nothing without the evaluations it rests on."""
    given = Frames(frames_of(tables))
    made = [table for question in OF_METRICS for table in question.tables(given.ask(question.compute))]
    if not made:
        return SweepAnalysis(None, (), "")
    names = given.frames["correlations"] if "correlations" in given.frames else next(iter(given.frames.values()))
    metrics, datasets = (sorted(set(names[column])) for column in ("metric", "dataset"))
    said = f"{counted(len(metrics), 'metric')} on {', '.join(datasets)}, without an explainer."
    unbeaten = given.ask(shared_task.compute)["unbeaten"]
    figures = [
        (one, save(one, output_dir / "figures"))
        for one in agreement_curves(given.ask(shared_task.compute)["thresholds"])
    ]
    write_metrics_report(
        output_dir / REPORT,
        title=f"Metrics on {', '.join(datasets)}",
        introduction=[said, *unbeaten],
        tables=made,
        figures=figures,
    )
    files = (output_dir / REPORT, *(file for _, file in figures))
    first = next((table for table in made if table.brief), None)
    if first is None:
        return SweepAnalysis(None, files, "")
    lines = as_text(replace(first, notes=()), terminal_width()).rstrip().splitlines()
    more = [f"… {counted(len(lines) - MOST_LINES, 'more line')} in {REPORT}"] if len(lines) > MOST_LINES else []
    return SweepAnalysis(None, files, "\n".join([*lines[:MOST_LINES], *more, *map(fitted, unbeaten)]))


def write_analysis(
    analysis: Analysis,
    folder: Path,
    *,
    examples: Sequence[Example] = (),
    word_examples: Sequence[WordExample] = (),
    facts: Sequence[tuple[str, str]] = (),
    every_figure: bool = False,
) -> list[Path]:
    """Write folder/figures/ and report.html, dated today; the paths, in this order.

    every_figure: also those that the page does not show. examples,
    word_examples, facts: as for `write_report`.
    Raises StoreError when a file cannot be written.
    """
    shown = [(one, save(one, folder / "figures")) for one in page_figures(analysis)]
    further = [save(one, folder / "figures") for one in further_figures(analysis)] if every_figure else []
    write_report(
        analysis,
        folder / REPORT,
        figures=shown,
        tables=[one for one in analysis.tables() if not one.data],
        examples=examples,
        word_examples=word_examples,
        facts=facts,
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    )
    return [*(file for _, file in shown), *further, folder / REPORT]


def _facts(results: Sequence[SettingResult], spec: GridSpec) -> list[tuple[str, str]]:
    signatures = {setting_label(result.metric, result.explainer): result.signature for result in results}
    facts = [("correlation", spec.correlation), ("aggregation", type(spec.aggregation).__name__)]
    return [*facts, *sorted(signatures.items())]


def page_figures(analysis: Analysis) -> list[Drawing]:
    """The figures that the page of an analysis shows, that of the boosts first."""
    curves = agreement_curves(analysis.ask(shared_task.compute)["thresholds"])
    return [*boosts(analysis), *declared_gains(analysis), *plausibility(analysis), *curves]


def further_figures(analysis: Analysis) -> list[Drawing]:
    """The figures of the BMX paper: of distributions, selected points and the regression, then of every setting."""
    drawings = [gains_of_all_points(analysis)]
    if len(analysis.real):
        drawings += [best_boxes(analysis), better_and_worse(analysis), better_when_left_out(analysis)]
        if len(analysis.ask(regression.coefficients)) > MANY:
            drawings.append(ridge_bars(analysis, ENDS))
        drawings.append(ridge_bars(analysis))
    best = analysis.ask(gains.compute)["best_explainer"]
    if best is not None:
        drawings += [gains_by(analysis, best, factor) for factor in ("dataset", "language_pair", "metric")]
        if len(analysis.real.factor_levels("language_pair")) > TOGETHER:
            drawings.append(gains_by(analysis, best, "language_pair", suffix="_all"))
    return [*drawings, *(setting_drawing(analysis, row) for row in range(len(analysis.table)))]
