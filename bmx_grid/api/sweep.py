"""Plan, run and write a sweep; other rooms compute."""

from __future__ import annotations

import datetime
import itertools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import SweepTables
from bmx_grid.analysis.finished import facts_of, options_of
from bmx_grid.analysis.verdict_rows import DECLARED, widest_verdicts
from bmx_grid.api.sweep_plan import OF_THE_SWEEP, Sweep, config_text, plan_sweep
from bmx_grid.api.tracked_sweep import SettingsRun, track
from bmx_grid.boosts.recipe import write_recipe
from bmx_grid.core.storage import remove_abandoned, write_text
from bmx_grid.core.terminal import Progress, say, working
from bmx_grid.core.wording import escape_lines, pluralize
from bmx_grid.evaluations.stored_tables import read_frame
from bmx_grid.report.answer import colour_verdicts
from bmx_grid.report.terminal_lines import announcement, failures, plan_table, setting_line
from bmx_grid.sweep.folder import CONFIG, RECIPES, TABLES, OutputFolder, alone, recipes_of, table_path
from bmx_grid.sweep.further import score_further
from bmx_grid.sweep.judge import SettingResult, judge_sweep
from bmx_grid.sweep.scoring import run_plan
from bmx_grid.sweep.settings import NotRun, SweepPlan
from bmx_grid.sweep.tables import (
    ceilings_table,
    evaluation_tables,
    scores_table,
    seeds_table,
    settings_table,
    write_csv,
    write_parquet,
)
from bmx_grid.sweep.time_left import ScoredTexts, TimeLeft

if TYPE_CHECKING:
    import pyarrow as pa

SETTINGS = "settings.csv"
LOG = "log.txt"  # the printed text
MOVED = "all files of an earlier run moved to {place}/: its configuration was another one. To keep both, set name=NAME."


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended. n_failed: settings (or whole parts) that failed; n_done: those that have results.

    failed: the reason, if known: a sweep that is up to date does not try again.
    moved: the new place of another configuration's results, as a sentence; "" if nothing was moved.
    """

    n_failed: int
    n_done: int = 0
    failed: tuple[NotRun, ...] = ()
    moved: str = ""


def run_sweep(config: Mapping[str, Any]) -> SweepResult:
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
    """The value of a finished sweep: the largest gain of its verdicts on boosts that were chosen on other data.

    Without verdicts the largest correlation of a metric; NaN if nothing is defined. Published points, controls, and
    single language pairs of a verdict on several do not count.
    """
    frames = {}
    for name in ("verdicts", "settings"):
        path = table_path(folder, name)
        if path.is_file():
            frames[name] = read_frame(path)
    tables = SweepTables(frames)
    reached = tables.settings["baseline"]
    if tables.has_verdicts:
        verdicts = widest_verdicts(tables)
        reached = verdicts.loc[verdicts["question"] == DECLARED, "gain"]
    return float(reached.max())


def _run(sweep: Sweep) -> SweepResult:
    """Announce the plan, and run it, unless an earlier run wrote the same."""

    plan = sweep.plan
    settings = sweep.settings
    start = time.perf_counter()
    lines, warnings = announcement(settings.name, plan, sweep.left_out)
    for line in lines:
        _say(sweep, line)
    for line in warnings:
        _say(sweep, line, _warn)
    folder = OutputFolder(settings.output_dir)
    fingerprint = sweep.fingerprint()
    unchanged = folder.find_unchanged(fingerprint) if all(setting.is_cached for setting in plan.everything) else None
    if unchanged is not None and sweep.tracker.has_runs(settings.name, settings.output_dir, unchanged.get("tracked")):
        return _up_to_date(sweep, unchanged, start)
    return _run_and_write(sweep, folder, fingerprint, start)


def _dry_run(sweep: Sweep) -> SweepResult:
    """Print the plan, its duration, and the models to download."""
    from bmx_grid.api.dry_run import time_and_downloads

    ends, closing = time_and_downloads(sweep.plan, sweep.evaluations)
    say("\n".join([plan_table(sweep.plan, sweep.evaluations, sweep.spec, ends), *closing]))
    return SweepResult(len(sweep.plan.failures))


def _nothing_to_run(plan: SweepPlan) -> SweepResult:
    """Explain why no setting can run; all requested settings count as failed."""

    left_out = [replace(part, reason=f"left out: {part.reason}") for part in plan.left_out]
    failed = (*plan.failures, *left_out)
    say(failures(failed, "nothing to run; failed or skipped"))
    return SweepResult(len(failed), failed=failed)


def _up_to_date(sweep: Sweep, unchanged: Mapping[str, Any], start: float) -> SweepResult:
    """Print again the output of the run that wrote these files."""
    from bmx_grid.report.analysis_files import REPORT

    settings = sweep.settings
    page = settings.output_dir / REPORT
    say(colour_verdicts(str(unchanged["said"])))
    shown = _page_named(page, shown=settings.analysis and page.is_file())
    say(f"0 texts scored in {time.perf_counter() - start:.1f} s; {settings.output_dir}/ is up to date{shown}")
    return SweepResult(int(unchanged["n_failed"]), len(sweep.plan.settings))


def _run_and_write(sweep: Sweep, folder: OutputFolder, fingerprint: str, start: float) -> SweepResult:
    """Score and evaluate the plan, and write the results; start: of the printed duration."""
    from bmx_grid.report.analysis_files import REPORT

    settings = sweep.settings
    tracker = sweep.tracker
    folder.claim(_usual_files(sweep))  # before hours of work: what cannot be written, or may not
    failed: Sequence[NotRun] = ()
    try:
        tracker.start(settings.name, config_text(sweep.config), settings.output_dir)
        run = run_settings(sweep)
        failed = run.failed
        place = folder.keep_other(sweep.configuration)
        moved = "" if place is None else MOVED.format(place=place)
        if moved:
            _say(sweep, moved)
        said, written = write(sweep, run, folder)
    except BaseException as error:
        tracker.finish([*failed, NotRun("failed", settings.name, f"stopped by {type(error).__name__}")], error)
        raise
    tracker.finish(failed)
    scored = sum(result.spent.n_texts for result in run.ended)
    where = f"{settings.output_dir}/{tracker.where()}"
    page = settings.output_dir / REPORT
    shown = _page_named(page, shown=page in written)
    _say(sweep, f"{pluralize(scored, 'text')} scored in {time.perf_counter() - start:.1f} s; written to {where}{shown}")
    if tracker.failure is not None:
        _say(sweep, f"not tracked: {tracker.failure}")
    chosen = itertools.chain.from_iterable(result.spent.linear_layers for result in run.ended)
    sweep.log.extend(f"linear layers of {line}" for line in sorted(set(chosen)))
    tracebacks = [f"\n{label}\n{details}" for label, details in _tracebacks(failed)]
    log = escape_lines("\n".join([*sweep.log, *tracebacks, ""]))
    write_text(settings.output_dir / LOG, log)  # and tracebacks of what failed
    written.append(settings.output_dir / LOG)
    if run.all_ended:
        tracked = tracker.identify_runs(settings.name, settings.output_dir)
        folder.finish(
            fingerprint,
            written,
            said=said,
            n_failed=len(failed),
            tracked=tracked,
            configuration=sweep.configuration,
        )
    return SweepResult(len(failed), len(run.results), tuple(failed), moved)


def _tracebacks(failed: Sequence[NotRun]) -> list[tuple[str, str]]:
    """The label and the traceback of each part that failed with an exception of somebody's code."""
    return [(part.label, part.error.details) for part in failed if part.error is not None and part.error.details]


def _page_named(page: Path, *, shown: bool) -> str:
    """The last printed line with the page's address, after a line break; "" without a page."""
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
    """Print a line by `how`, and keep it for log.txt, with names as on the terminal."""
    text = escape_lines(text)
    how(text)
    sweep.log.append(text)


def _warn(line: str) -> None:
    print(escape_lines(line), file=sys.stderr)


def run_settings(sweep: Sweep) -> SettingsRun:
    """Score and evaluate every setting, then compare settings."""

    plan = sweep.plan
    settings = sweep.settings
    ended: list[SettingResult] = []
    failed: list[NotRun] = []
    reasons = set[str]()
    n_settings = len(plan.everything)
    time_left = TimeLeft(plan.texts_here)
    n_texts = plan.n_texts_here
    with sweep.executor.keep_workers() as executor:
        with (
            Progress(n_texts, time_left=time_left.describe)
            if n_texts
            else Progress(n_settings, "evaluating", "settings") as progress
        ):

            def advance_progress(done: ScoredTexts) -> None:
                time_left.record_scored(done)
                progress.advance(done.n_texts)

            def drop(metric: str, n_dropped: int) -> None:
                time_left.record_dropped(metric, n_dropped)
                progress.drop(n_dropped)

            how: Any = {"executor": executor, "stop_on_error": settings.on_error == "stop"}
            for result in run_plan(plan, sweep.evaluations, progress=advance_progress, drop=drop, **how):
                if not n_texts:
                    progress.advance(1)
                n_ended = len(ended) + len(failed) + 1
                _say(sweep, setting_line(result, n_ended, n_settings, reasons), progress.say)
                if isinstance(result, NotRun):
                    failed.append(result)
                    continue
                ended.append(result)
                if result.repeated_with is None:
                    sweep.tracker.log(result)
        with Progress(plan.n_further, "scoring for evaluations") as progress:
            of_plan = (plan, sweep.evaluations, settings.cache_dir)
            ended, not_scored = score_further(ended, *of_plan, executor=executor, progress=progress.advance)
            failed += not_scored
        with working("comparing metrics and language pairs"):
            once = [result for result in ended if result.repeated_with is None]
            results, incomplete = judge_sweep(once, sweep.evaluations, executor)
    return SettingsRun(ended, results, [*plan.failures, *failed, *incomplete], all_ended=not failed)


def write(sweep: Sweep, run: SettingsRun, folder: OutputFolder) -> tuple[str, list[Path]]:
    """Write tables, recipes, figures and page, and print the answer; return the printed text and the files.

    Raises StoreError if a file cannot be written.
    """
    from bmx_grid.report.analysis_files import analyse_sweep

    settings = sweep.settings
    out = sweep.settings.output_dir
    for place in (out, out / "figures", out / "tables", out / "recipes", out.parent):
        remove_abandoned(place)
    tables = _tables(sweep, run)
    written = _write_results(sweep, run, tables, folder)
    analysis = None
    note = ""
    if settings.analysis and run.results:
        with working("analysis, figures and report"):
            analysis, files, note = analyse_sweep(
                run.results,
                options_of(sweep.config),
                folder,
                tables=tables,
                figures=settings.figures,
                facts=facts_of(sweep.config),
            )
        written += files
    moved = folder.move_aside([*written, out / CONFIG, out / LOG])
    write_text(out / CONFIG, config_text(sweep.config))
    written.append(out / CONFIG)
    track(sweep, run, analysis, tables, written)
    failed = failures(run.failed)
    if _tracebacks(run.failed):
        failed = f"{failed}\n  tracebacks: {out / LOG}"
    summary = escape_lines("\n\n".join(part for part in (failed, note) if part))
    if summary:
        _say(sweep, f"\n{summary}\n", lambda text: say(colour_verdicts(text)))
    if moved:
        _say(sweep, f"{pluralize(len(moved), 'file')} of an earlier run moved to {out}/previous/")
    return summary, written


def _tables(sweep: Sweep, run: SettingsRun) -> dict[str, pa.Table]:
    """Every table of the sweep by its name; none if all settings failed."""
    tables: dict[str, Any] = {}
    if run.results:
        for evaluation in sweep.evaluations.values():
            tables |= evaluation_tables(evaluation, run.results)
        tables |= {"settings": settings_table(run.results), "scores": scores_table(run.results)}
        tables["ceilings"] = ceilings_table(setting.segments for setting in sweep.plan.settings)
        tables["seeds"] = seeds_table(run.ended, run.results, sweep.evaluations)
    return {name: table for name, table in tables.items() if table is not None}


def _write_results(sweep: Sweep, run: SettingsRun, tables: Mapping[str, pa.Table], folder: OutputFolder) -> list[Path]:
    """The files written: each table, that of settings as CSV, too, and a recipe for each boost that was chosen.

    Warns of each boost that no recipe can be made of. tables: none if all settings failed.
    """

    recipes, refused = recipes_of(run.results, sweep.plan.settings, date=datetime.date.today().isoformat())
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
