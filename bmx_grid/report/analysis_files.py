"""What an analysis leaves in a folder: analysis.json, figures, tables and report.html."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.analysis.as_json import numbers, to_json
from bmx_grid.analysis.basis import UNKNOWN, Basis, basis_of
from bmx_grid.analysis.examples import Example, choose_examples
from bmx_grid.analysis.frames import frames_of
from bmx_grid.analysis.given import Frames, Options, Point
from bmx_grid.analysis.load import from_arrow
from bmx_grid.analysis.questions import OF_METRICS, with_others
from bmx_grid.analysis.run import Analysis, analyse
from bmx_grid.analysis.table import CONTROL
from bmx_grid.analysis.word_examples import WordExample, choose_word_examples
from bmx_grid.errors import DataError
from bmx_grid.evaluations.grid import GridEvaluation
from bmx_grid.identity import digest
from bmx_grid.measures.grid import GridSpec
from bmx_grid.report.figures.all import draw_all
from bmx_grid.report.figures.canvas import FORMATS, QUICK
from bmx_grid.report.page.html import is_current, write_metrics_report, write_report
from bmx_grid.report.page.pictures import pictures
from bmx_grid.report.summary import WIDEST
from bmx_grid.report.table import as_text, write_tables
from bmx_grid.storage.files import write_text
from bmx_grid.sweep.results import SettingResult, evaluation_tables
from bmx_grid.sweep.settings import SweepPlan
from bmx_grid.wording import counted, setting_label

if TYPE_CHECKING:
    import pyarrow as pa

REPORT, NUMBERS = "report.html", "analysis.json"


@dataclass(frozen=True, eq=False)
class SweepAnalysis:
    """The analysis of a sweep, and the files that hold it; without one, `note` says why in a sentence."""

    analysis: Analysis | None
    files: tuple[Path, ...]
    note: str
    unchanged: bool = False

    @property
    def numbers(self) -> Mapping[str, float]:
        """The selection, its evaluation and the regression as flat names and numbers, for a tracking server."""
        return {} if self.analysis is None else numbers(self.analysis)


def analyse_sweep(
    results: Sequence[SettingResult],
    plan: SweepPlan,
    grid: GridEvaluation | None,
    output_dir: Path,
    questions: Sequence[str] = (),
    *,
    tables: Mapping[str, pa.Table] | None = None,
    seed: int = 0,
) -> SweepAnalysis:
    """Analyse the finished settings of a sweep and write analysis.json, figures, tables and report.html.

    grid: what was evaluated; its fixed points are evaluated in place of the medians. Without it, and without
    explainers, the metrics alone are shown. questions: modules of further
    questions. tables: those of all evaluations of the sweep, by name; None for those of the grid alone. seed: of
    intervals across settings. Figures and page are not drawn again when these results made them.
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
    tables = evaluation_tables(grid, results) if tables is None else tables
    try:
        table = from_arrow(tables["grid"], origin=str(output_dir / "grid.parquet"))
    except DataError as error:
        return SweepAnalysis(None, (), f"no analysis: {error}")
    explainers = {result.explainer for result in real}
    points = {name: Point(p=one.p, w=one.w) for name, one in grid.fixed.items() if name in explainers}
    basis = basis_of(results)
    options = Options(fixed=points, segments=basis.segments, seed=seed)
    frames = frames_of(tables)
    analysis = analyse(table, options, with_others(questions), frames)
    seeds = frames["seeds"]["gain"].tolist() if "seeds" in frames else []  # in no setting's fingerprint
    of_results = sorted(result.fingerprint for result in results)
    made_of = [of_results, str(sorted(points.items())), list(questions), seed, list(map(repr, seeds))]
    fingerprint = digest(made_of)
    if is_current(output_dir / REPORT, fingerprint) and (output_dir / NUMBERS).is_file():
        return SweepAnalysis(analysis, (output_dir / NUMBERS, output_dir / REPORT), "", unchanged=True)
    files = write_analysis(
        analysis,
        output_dir,
        basis=basis,
        formats=QUICK,
        examples=choose_examples(results, plan, spec),
        word_examples=choose_word_examples(results, plan),
        facts=_facts(results, spec),
        fingerprint=fingerprint,
    )
    return SweepAnalysis(analysis, tuple(files), "")


def _of_metrics(tables: Mapping[str, pa.Table], output_dir: Path) -> SweepAnalysis:
    """The tables and the page of metrics alone, which have no grid; nothing without the evaluations they rest on."""
    given = Frames(frames_of(tables))
    made = [table for question in OF_METRICS for table in question.tables(question.compute(given))]
    if not made:
        return SweepAnalysis(None, (), "")
    files = write_tables(made, output_dir / "tables")
    names = given.frames["correlations"] if "correlations" in given.frames else next(iter(given.frames.values()))
    metrics, datasets = (sorted(set(names[column])) for column in ("metric", "dataset"))
    said = f"{counted(len(metrics), 'metric')} on {', '.join(datasets)}, without an explainer."
    write_metrics_report(
        output_dir / REPORT, title=f"Metrics on {', '.join(datasets)}", introduction=[said], tables=made
    )
    wide = shutil.get_terminal_size((80, 24)).columns
    note = "\n\n".join(as_text(table, min(wide, WIDEST)).rstrip() for table in made if table.brief)
    return SweepAnalysis(None, (*files, output_dir / REPORT), note)


def write_analysis(
    analysis: Analysis,
    folder: Path,
    *,
    basis: Basis = UNKNOWN,
    figures: bool = True,
    formats: Sequence[str] = FORMATS,
    report: bool = True,
    examples: Sequence[Example] = (),
    word_examples: Sequence[WordExample] = (),
    facts: Sequence[tuple[str, str]] = (),
    fingerprint: str = "",
) -> list[Path]:
    """Write folder/analysis.json, tables/, figures/ and report.html, dated today; the paths, in this order.

    basis: which correlation, over how many segments; formats: of the figures, SVG among them for the page. examples,
    word_examples, facts, fingerprint: as for `write_report`.
    Raises StoreError when a file cannot be written.
    """
    write_text(folder / NUMBERS, to_json(analysis))
    made = analysis.tables()
    tables = write_tables(made, folder / "tables")
    drawn = draw_all(analysis, folder / "figures", basis=basis, formats=formats) if figures else []
    if not report:
        return [folder / NUMBERS, *tables, *drawn]
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    write_report(
        analysis,
        folder / REPORT,
        figures=pictures(drawn),
        tables=[one for one in made if not one.data],
        examples=examples,
        word_examples=word_examples,
        facts=facts,
        date=date,
        fingerprint=fingerprint,
        basis=basis,
    )
    return [folder / NUMBERS, *tables, *drawn, folder / REPORT]


def _facts(results: Sequence[SettingResult], spec: GridSpec) -> list[tuple[str, str]]:
    signatures = {setting_label(result.metric, result.explainer): result.signature for result in results}
    facts = [("correlation", spec.correlation), ("aggregation", type(spec.aggregation).__name__)]
    return [*facts, *sorted(signatures.items())]
