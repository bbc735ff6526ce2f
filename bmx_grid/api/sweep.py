"""A sweep in three steps, plan, run and write; nothing is computed here."""

from __future__ import annotations

import datetime
import itertools
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis import answers
from bmx_grid.analysis.base import FACTORS, Given, each_group, first_row
from bmx_grid.analysis.finished import facts_of, options_of
from bmx_grid.analysis.headline import answer
from bmx_grid.analysis.points import in_sample_in_words
from bmx_grid.analysis.questions import Analysis, numbers, papers_numbers
from bmx_grid.analysis.verdict_rows import of_settings
from bmx_grid.api.sweep_plan import OF_THE_SWEEP, Sweep, config_text, plan_sweep
from bmx_grid.boosts.recipe import write_recipe
from bmx_grid.core.storage import remove_abandoned, write_text
from bmx_grid.core.terminal import Progress, say, working
from bmx_grid.core.wording import counted, visible_lines
from bmx_grid.evaluations.base import Estimate
from bmx_grid.report.answer import coloured
from bmx_grid.report.table import as_markdown, markdown
from bmx_grid.report.terminal_lines import announcement, failures, plan_table, setting_line
from bmx_grid.sweep.folder import CONFIG, RECIPES, TABLES, OutputFolder, alone, recipes_of
from bmx_grid.sweep.judge import SettingResult, judge_sweep
from bmx_grid.sweep.mlflow_runs import Finding
from bmx_grid.sweep.scoring import run_plan
from bmx_grid.sweep.settings import NotRun, Setting, SweepPlan
from bmx_grid.sweep.tables import (
    ceilings_table,
    evaluation_tables,
    scores_table,
    seeds_table,
    settings_table,
    write_csv,
    write_parquet,
)

if TYPE_CHECKING:
    import pyarrow as pa

SETTINGS = "settings.csv"
LOG = "log.txt"  # what was said
MOVED = (
    "all files of an earlier run moved to {place}/: its configuration was another one. To keep each run in a folder of "
    "its own, write output_dir=FOLDER."
)
DESCRIBED = ("selection_by_explainer", "ridge_coefficients")  # tables in the description of a sweep in MLflow
READING = "Gains are differences of correlations with human scores, on segments that a boost was not chosen on."


@dataclass(frozen=True)
class Ended:
    """How a sweep ended. n_failed: settings (or whole parts) that failed; n_done: those that have results.

    failed: why, where it is known: a sweep that is up to date does not ask again.
    moved: where the results of another configuration were moved, as a sentence; "" if there were none.
    """

    n_failed: int
    n_done: int = 0
    failed: tuple[NotRun, ...] = ()
    moved: str = ""


@dataclass(frozen=True)
class Ran:
    """ended: all settings that ended well; results: of those with the sweep's own seed; failed: all other parts.

    all_ended: whether no setting failed while it ran.
    """

    ended: Sequence[SettingResult]
    results: Sequence[SettingResult]
    failed: Sequence[NotRun]
    all_ended: bool


def run_sweep(config: Mapping[str, Any]) -> Ended:
    """Plan, run and write a sweep. Raises BmxError for mistakes found before anything runs."""

    sweep = plan_sweep(config)
    if sweep.plan.settings and not sweep.settings.dry_run:
        with alone(sweep.settings.output_dir) as waited:
            # What another run of the sweep has scored meanwhile is in the cache.
            return _run(plan_sweep(config) if waited else sweep)
    if sweep.plan.settings:
        return _dry_run(sweep)
    return _nothing_to_run(sweep.plan)


def objective(folder: Path) -> float:
    """What a finished sweep reached: its largest gain, without explainers its largest correlation; NaN without any."""
    from pyarrow import parquet

    from bmx_grid.sweep.folder import table_path

    for table, column in (("verdicts", "gain"), ("settings", "baseline")):
        path = table_path(folder, table)
        if path.is_file():
            # `read_table` would import pandas.
            values = parquet.ParquetFile(path).read(columns=[column])[column].to_pylist()
            known = [value for value in values if value is not None and not math.isnan(value)]
            if known:
                return float(max(known))
    return math.nan


def _run(sweep: Sweep) -> Ended:
    """Announce what is planned, and run it, unless an earlier run wrote the same."""

    plan = sweep.plan
    settings = sweep.settings
    start = time.perf_counter()
    lines, warnings = announcement(settings.name, plan, sweep.spec, sweep.left_out)
    for line in lines:
        _say(sweep, line)
    for line in warnings:
        _say(sweep, line, _warn)
    folder = OutputFolder(settings.output_dir)
    fingerprint = sweep.fingerprint()
    unchanged = folder.unchanged(fingerprint) if all(setting.cached for setting in plan.everything) else None
    if unchanged is not None and sweep.tracker.has_runs(settings.name, settings.output_dir, unchanged.get("tracked")):
        return _up_to_date(sweep, unchanged, start)
    return _run_and_write(sweep, folder, fingerprint, start)


def _dry_run(sweep: Sweep) -> Ended:
    """Say what would be run, how long that would take, and what would be downloaded."""
    from bmx_grid.api.dry_run import time_and_downloads

    ends, closing = time_and_downloads(sweep.plan, sweep.evaluations)
    say("\n".join([plan_table(sweep.plan, sweep.evaluations, sweep.spec, ends), *closing]))
    return Ended(len(sweep.plan.failed))


def _nothing_to_run(plan: SweepPlan) -> Ended:
    """Say why there is no setting; all that was asked for counts as failed."""

    left_out = [replace(part, reason=f"left out: {part.reason}") for part in plan.left_out]
    failed = (*plan.failed, *left_out)
    say(failures(failed, "no setting to run; failed or left out"))
    return Ended(len(failed), failed=failed)


def _up_to_date(sweep: Sweep, unchanged: Mapping[str, Any], start: float) -> Ended:
    """Say again what the same sweep said when it wrote these files."""
    from bmx_grid.report.analysis_files import REPORT

    settings = sweep.settings
    page = settings.output_dir / REPORT
    say(coloured(str(unchanged["said"])))
    shown = _page_named(page, shown=settings.analysis and page.is_file())
    say(f"0 texts scored in {time.perf_counter() - start:.1f} s; {settings.output_dir}/ is up to date{shown}")
    return Ended(int(unchanged["n_failed"]), len(sweep.plan.settings))


def _run_and_write(sweep: Sweep, folder: OutputFolder, fingerprint: str, start: float) -> Ended:
    """Score and evaluate what is planned, and write it; start: of the time that is told."""
    from bmx_grid.report.analysis_files import REPORT

    settings = sweep.settings
    tracker = sweep.tracker
    folder.claim(_usual_files(sweep))  # before hours of work: what cannot be written, or may not
    failed: Sequence[NotRun] = ()
    try:
        tracker.start(settings.name, config_text(sweep.config), settings.output_dir)
        ran = run_settings(sweep)
        failed = ran.failed
        place = folder.keep_other(sweep.configuration())
        moved = "" if place is None else MOVED.format(place=place)
        if moved:
            _say(sweep, moved)
        said, written = write(sweep, ran, folder)
    except BaseException as error:
        tracker.finish([*failed, NotRun("failed", settings.name, f"stopped by {type(error).__name__}")], error)
        raise
    tracker.finish(failed)
    scored = sum(result.spent.n_texts for result in ran.ended)
    where = f"{settings.output_dir}/{tracker.where()}"
    page = settings.output_dir / REPORT
    shown = _page_named(page, shown=page in written)
    _say(sweep, f"{counted(scored, 'text')} scored in {time.perf_counter() - start:.1f} s; written to {where}{shown}")
    if tracker.failure is not None:
        _say(sweep, f"not tracked: {tracker.failure}")
    chosen = itertools.chain.from_iterable(result.spent.linear_layers for result in ran.ended)
    sweep.log.extend(f"linear layers of {line}" for line in sorted(set(chosen)))
    tracebacks = [f"\n{label}\n{details}" for label, details in _tracebacks(failed)]
    log = visible_lines("\n".join([*sweep.log, *tracebacks, ""]))
    write_text(settings.output_dir / LOG, log)  # and tracebacks of what failed
    written.append(settings.output_dir / LOG)
    if ran.all_ended:
        tracked = tracker.identify_runs(settings.name, settings.output_dir)
        folder.finish(
            fingerprint,
            written,
            said=said,
            n_failed=len(failed),
            tracked=tracked,
            configuration=sweep.configuration(),
        )
    return Ended(len(failed), len(ran.results), tuple(failed), moved)


def _tracebacks(failed: Sequence[NotRun]) -> list[tuple[str, str]]:
    """The label and the traceback of each part that failed with an exception of somebody's code."""
    return [(part.label, part.error.details) for part in failed if part.error is not None and part.error.details]


def _page_named(page: Path, *, shown: bool) -> str:
    """The last line of what a sweep says, a line break first; nothing where there is no page."""
    return f"\nthe page: {page}" if shown else ""


def _usual_files(sweep: Sweep) -> list[Path]:
    """The files of a sweep whose names are known before it ends: all but figures and recipes."""
    from bmx_grid.report.analysis_files import OF_ANALYSIS, REPORT

    out = sweep.settings.output_dir
    of_evaluations = itertools.chain.from_iterable(part.ROWS for part in sweep.evaluations.values())
    tables = [*OF_THE_SWEEP, *OF_ANALYSIS, *of_evaluations]
    at_the_top = [out / name for name in (CONFIG, LOG, REPORT, SETTINGS)]
    return [*at_the_top, *(out / TABLES / f"{table}.parquet" for table in tables)]


def _say(sweep: Sweep, text: str, how: Callable[[str], None] = say) -> None:
    """Say a line by `how`, and keep it for log.txt: names are written there as on the terminal."""
    text = visible_lines(text)
    how(text)
    sweep.log.append(text)


def _warn(line: str) -> None:
    print(visible_lines(line), file=sys.stderr)


def run_settings(sweep: Sweep) -> Ran:
    """Score and evaluate every setting, then compare settings."""

    plan = sweep.plan
    settings = sweep.settings
    ended: list[SettingResult] = []
    failed: list[NotRun] = []
    reasons = set[str]()
    n_settings = len(plan.everything)
    scores = plan.n_texts_here > 0
    with sweep.executor.kept() as executor:
        with Progress(plan.n_texts_here) if scores else Progress(n_settings, "evaluating", "settings") as progress:
            how: Any = {"executor": executor, "stop_on_error": settings.on_error == "stop"}
            drop = progress.drop if scores else lambda n_texts: None  # else settings are counted, all of which end
            for result in run_plan(plan, sweep.evaluations, progress=progress.advance, drop=drop, **how):
                if not scores:
                    progress.advance(1)
                n_ended = len(ended) + len(failed) + 1
                _say(sweep, setting_line(result, n_ended, n_settings, reasons), progress.say)
                if isinstance(result, NotRun):
                    failed.append(result)
                    continue
                ended.append(result)
                if result.repeated_with is None:
                    sweep.tracker.log(result)
        with working("comparing metrics and language pairs"):
            once = [result for result in ended if result.repeated_with is None]
            results, incomplete = judge_sweep(once, sweep.evaluations, executor)
    return Ran(ended, results, [*plan.failed, *failed, *incomplete], all_ended=not failed)


def write(sweep: Sweep, ran: Ran, folder: OutputFolder) -> tuple[str, list[Path]]:
    """Write tables, recipes, figures and page, and say the answer; what was said, and the files.

    Raises StoreError where a file cannot be written.
    """
    from bmx_grid.report.analysis_files import analyse_sweep

    settings = sweep.settings
    out = sweep.settings.output_dir
    for place in (out, out / "figures", out / "tables", out / "recipes", out.parent):
        remove_abandoned(place)
    tables = _tables(sweep, ran)
    written = _write_results(sweep, ran, tables, folder)
    analysis = None
    note = ""
    if settings.analysis and ran.results:
        with working("analysis, figures and report"):
            analysis, files, note = analyse_sweep(
                ran.results,
                sweep.plan,
                options_of(sweep.config),
                folder,
                tables=tables,
                every_figure=settings.figures == "all",
                facts=facts_of(sweep.config),
            )
        written += files
    moved = folder.move_aside([*written, out / CONFIG, out / LOG])
    write_text(out / CONFIG, config_text(sweep.config))
    written.append(out / CONFIG)
    _track(sweep, ran, analysis, tables, written)
    failed = failures(ran.failed)
    if _tracebacks(ran.failed):
        failed = f"{failed}\n  tracebacks: {out / LOG}"
    summary = visible_lines("\n\n".join(part for part in (failed, note) if part))
    if summary:
        _say(sweep, f"\n{summary}\n", lambda text: say(coloured(text)))
    if moved:
        _say(sweep, f"{counted(len(moved), 'file')} of an earlier run moved to {out}/previous/")
    return summary, written


def _track(
    sweep: Sweep, ran: Ran, analysis: Analysis | None, tables: Mapping[str, pa.Table], written: Sequence[Path]
) -> None:
    """Hand the tracker the verdict on each setting, and what is known of the whole sweep."""

    # Some verdicts are on several settings together.
    verdicts = dict(each_group(of_settings(Given(tables)), *FACTORS))
    planned = {setting.names: setting for setting in sweep.plan.settings}
    for result in ran.results:
        verdict = None if result.names not in verdicts else first_row(verdicts[result.names])
        sweep.tracker.judge(result, partial(_finding, result, planned[result.names], verdict))
    note = f"{counted(len(ran.results), 'setting')}, {len(ran.failed)} failed."
    tags = {"settings": str(len(ran.results)), "settings failed": str(len(ran.failed))}
    # Metrics alone have no gains, and no answer.
    if analysis is None or not (len(analysis.table) or analysis.judged):
        sweep.tracker.headline({}, note, written, tags)
        return
    reading = " ".join(filter(None, [note, READING, analysis.ask(in_sample_in_words)]))
    lines = [f"- {markdown(line)}" for line in answer(analysis)]
    conclusion = markdown(analysis.ask(answers.compute)["conclusion"])
    shown = [replace(table, notes=()) for table in analysis.tables() if table.stem in DESCRIBED]
    parts = [f"**{conclusion}**" if conclusion else "", papers_numbers(analysis), "\n".join(lines)]
    note = "\n\n".join(filter(None, [*parts, *map(as_markdown, shown), reading]))
    sweep.tracker.headline(numbers(analysis), note, written, tags)


def _finding(result: SettingResult, setting: Setting, verdict: Any) -> Finding:
    """What the sweep found of a setting; verdict: its row of the verdicts, None without one."""
    from bmx_grid.report.setting_page import setting_page

    page = setting_page(result, setting)
    if verdict is None:
        return Finding(page=page)
    gain = Estimate(verdict.gain, verdict.gain_low, verdict.gain_high)
    return Finding(verdict.verdict, gain, verdict.baseline, page)


def _tables(sweep: Sweep, ran: Ran) -> dict[str, pa.Table]:
    """Every table of the sweep by its name; none where all settings failed."""

    tables: dict[str, Any] = {}
    if ran.results:
        for evaluation in sweep.evaluations.values():
            tables |= evaluation_tables(evaluation, ran.results)
        tables |= {"settings": settings_table(ran.results), "scores": scores_table(ran.results)}
        tables["ceilings"] = ceilings_table(setting.segments for setting in sweep.plan.settings)
        tables["seeds"] = seeds_table(ran.ended, ran.results, sweep.evaluations)
    return {name: table for name, table in tables.items() if table is not None}


def _write_results(sweep: Sweep, ran: Ran, tables: Mapping[str, pa.Table], folder: OutputFolder) -> list[Path]:
    """The files written: each table, that of settings as CSV, too, and a recipe for each boost that was chosen.

    Warns of each boost that no recipe can be made of. tables: none where all settings failed.
    """

    recipes, refused = recipes_of(ran.results, sweep.plan.settings, date=datetime.date.today().isoformat())
    for sentence in refused:
        _warn(sentence)
    out = folder.path
    writers = dict[Path, Callable[[], None]]()
    if tables:
        writers[out / SETTINGS] = partial(write_csv, tables["settings"], out / SETTINGS)
    for name, table in tables.items():
        path = out / TABLES / f"{name}.parquet"
        writers[path] = partial(write_parquet, table, path)
    for recipe in recipes:
        path = out / RECIPES / f"{recipe.name}.json"
        writers[path] = partial(write_recipe, path, recipe)
    folder.begin(writers)
    for write_file in writers.values():
        write_file()
    return list(writers)
