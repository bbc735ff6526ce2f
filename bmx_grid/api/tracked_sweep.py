"""A sweep for its tracker: verdicts on settings, a description in Markdown, files, and recipes as models."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import FACTORS, SweepTables, each_group, first_row
from bmx_grid.analysis.headline import summary_lines
from bmx_grid.analysis.paper_numbers import compare_with_paper
from bmx_grid.analysis.points import describe_in_sample_gains
from bmx_grid.analysis.questions import Analysis, tracked_metrics
from bmx_grid.analysis.verdict_rows import setting_verdicts
from bmx_grid.api.sweep_plan import Sweep
from bmx_grid.core.wording import pluralize
from bmx_grid.evaluations.base import Estimate
from bmx_grid.report.answer import MOST_ROWS, verdict_tables
from bmx_grid.report.table import as_markdown, markdown
from bmx_grid.sweep.folder import helping_recipes
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.mlflow_runs import Finding
from bmx_grid.sweep.mlflow_store import reason_of
from bmx_grid.sweep.settings import NotRun

if TYPE_CHECKING:
    import pyarrow as pa

DESCRIBED = ("selection_by_explainer", "ridge_coefficients")  # tables in the description of a sweep in MLflow
READING = "Gains are differences of correlations with human scores, on segments that a boost was not chosen on."


@dataclass(frozen=True)
class SettingsRun:
    """ended: all settings that ended well; results: of settings with the sweep's own seed; failed: all other parts.

    all_ended: whether no setting failed while it ran.
    """

    ended: Sequence[SettingResult]
    results: Sequence[SettingResult]
    failed: Sequence[NotRun]
    all_ended: bool


def _save_models(written: Sequence[Path], parent: Path) -> list[Path]:
    """Write the recipes that help as models of MLflow into a folder; their folders."""
    helping = helping_recipes(written)
    if not helping:
        return []
    from bmx_grid.api.recipe_model import save_model

    models = []
    for path in helping:
        try:
            models.append(save_model(parent / path.stem, path))
        except Exception as error:  # as for all tracking: the sweep must not end with it
            warnings.warn(
                f"the recipe {path.stem} is not logged as a model to MLflow: {reason_of(error)}.", stacklevel=2
            )
    return models


def track(
    sweep: Sweep, run: SettingsRun, analysis: Analysis | None, tables: Mapping[str, pa.Table], written: Sequence[Path]
) -> None:
    """Hand the tracker the verdict on each setting, the answer of the sweep, its files and its models."""
    # The answer of a sweep that is not tracked would be worded for nobody.
    if not sweep.tracker.store(sweep.settings.name, sweep.settings.output_dir):
        return
    # Some verdicts are on several settings together.
    verdicts = dict(each_group(setting_verdicts(SweepTables(tables)), *FACTORS))
    for result in run.results:
        verdict = None if result.names not in verdicts else first_row(verdicts[result.names])
        sweep.tracker.judge(result, partial(_finding, result, verdict))
    note = f"{pluralize(len(run.results), 'setting')}, {len(run.failed)} failed."
    tags = {"settings": str(len(run.results)), "settings failed": str(len(run.failed))}
    # Metrics without an explainer have no gains, and no answer.
    found = {}
    if analysis is not None and (len(analysis.table) or analysis.has_verdicts):
        note = _description(analysis, note)
        found = tracked_metrics(analysis)
    with tempfile.TemporaryDirectory() as parent:
        models = _save_models(written, Path(parent))
        sweep.tracker.headline(found, note, [*written, *models], tags)


def _description(analysis: Analysis, note: str) -> str:
    """The answer of a sweep in Markdown: its conclusion, verdicts, facts, medians and ridge. note: on the run."""
    reading = " ".join(filter(None, [note, READING, analysis.compute_once(describe_in_sample_gains)]))
    sentences = summary_lines(analysis)
    conclusion = f"**{markdown(sentences[0])}**" if sentences else ""
    lines = [f"- {markdown(line)}" for line in (*sentences[1:], *compare_with_paper(analysis))]
    shown = [replace(table, notes=()) for table in analysis.tables() if table.stem in DESCRIBED]
    # MLflow cuts long notes.
    judged = [replace(table, groups=(table.rows[:MOST_ROWS],)) for table in verdict_tables(analysis)]
    parts = [conclusion, *map(as_markdown, judged), "\n".join(lines)]
    return "\n\n".join(filter(None, [*parts, *map(as_markdown, shown), reading]))


def _finding(result: SettingResult, verdict: Any) -> Finding:
    """The finding of a setting; verdict: its row of the verdicts, None without one."""
    from bmx_grid.report.setting_page import setting_page

    page = setting_page(result)
    if verdict is None:
        return Finding(page=page)
    gain = Estimate(verdict.gain, verdict.gain_low, verdict.gain_high)
    return Finding(verdict.verdict, gain, verdict.baseline, page)
