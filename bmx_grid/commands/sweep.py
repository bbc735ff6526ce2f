"""One composed configuration -> objects -> plan -> run -> what is written and shown. Nothing is computed here."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.commands.planned import Sweep, planned_files
from bmx_grid.commands.settings import Settings, chosen_option, chosen_options
from bmx_grid.commands.written import listed, write_chosen, write_seeds, write_tables
from bmx_grid.configure import build, check_distinct
from bmx_grid.errors import ConfigError
from bmx_grid.identity import digest
from bmx_grid.masking import masked
from bmx_grid.storage.addresses import check as check_cache
from bmx_grid.storage.files import remove_abandoned, write_text
from bmx_grid.terminal import say
from bmx_grid.wording import counted

if TYPE_CHECKING:
    from bmx_grid.commands.watched import Watched
    from bmx_grid.evaluations.base import Evaluation
    from bmx_grid.sweep.evaluated import Outcome
    from bmx_grid.sweep.executors.base import Executor
    from bmx_grid.sweep.output import OutputFolder
    from bmx_grid.sweep.settings import Refused


@dataclass(frozen=True)
class Ended:
    """How a sweep ended. n_failed: settings (or whole parts) that failed; n_done: those that have results.

    failed: why, where it is known: a sweep that is up to date does not ask again.
    """

    n_failed: int
    n_done: int = 0
    failed: tuple[Refused, ...] = ()


def run(config: Mapping[str, Any]) -> int:
    """`run_sweep`; the number of settings (or whole parts) that failed."""
    return run_sweep(config).n_failed


def run_sweep(config: Mapping[str, Any]) -> Ended:
    """Run one sweep.

    Raises BmxError for mistakes found before anything runs.
    """
    from bmx_grid.datasets.base import DatasetReader
    from bmx_grid.evaluations.base import Evaluation
    from bmx_grid.evaluations.grid import GridEvaluation
    from bmx_grid.explainers.base import Explainer
    from bmx_grid.metrics.base import Metric
    from bmx_grid.report.running import MOST_LINES, plan_lines, plan_table
    from bmx_grid.sweep.executors.base import Executor
    from bmx_grid.sweep.output import RUNTIME_KEYS
    from bmx_grid.sweep.plan import make_plan
    from bmx_grid.sweep.tracking.base import Tracker

    settings = Settings.from_config(config)
    datasets = {name: build(node, DatasetReader, f"dataset.{name}") for name, node in chosen_options(config, "dataset")}
    check_distinct("dataset", {key: reader.name for key, reader in datasets.items()})
    metrics = {name: build(node, Metric, f"metric.{name}") for name, node in chosen_options(config, "metric")}
    explainers = {
        name: build(node, Explainer, f"explainer.{name}") for name, node in chosen_options(config, "explainer", least=0)
    }
    evaluations = {
        # the grid's keys are at the top of the configuration, and errors name them as they are written there
        name: build(node, Evaluation, name if name == "grid" else f"evaluation.{name}")
        for name, node in chosen_options(config, "evaluation")
    }
    _check_tables(evaluations)
    _check_said(evaluations, n_metrics=len(metrics), n_explainers=len(explainers))
    if settings.seeds and not any(isinstance(one, GridEvaluation) for one in evaluations.values()):
        raise ConfigError(
            "seeds: what differs between seeds is the gain at points of the grid; add grid to evaluation, or write "
            "seeds=[]."
        )
    executor = build(chosen_option(config, "executor"), Executor, "executor")
    executor.check()
    tracker = build(chosen_option(config, "tracking"), Tracker, "tracking")
    check_cache(settings.cache_dir, writes=not settings.dry_run)
    plan = make_plan(
        datasets,
        metrics,
        explainers,
        data_dir=settings.data_dir,
        cache_dir=settings.cache_dir,
        limit=settings.limit,
        seed=settings.seed,
        seeds=settings.seeds,
        leave_out=settings.leave_out,
        words=settings.words,
    )
    lacking = {
        name: one.lacks(planned.setting.segments for planned in plan.settings) for name, one in evaluations.items()
    }
    if plan.settings:
        _check_lacking(lacking)
        evaluations = {name: one for name, one in evaluations.items() if not lacking[name]}
    kept = {key: node for key, node in config.items() if key not in RUNTIME_KEYS}
    text = _config_text(config)
    sweep = Sweep(settings, plan, evaluations, executor, tracker, text, digest(_config_text(kept)))
    if settings.dry_run:
        spec = None if sweep.grid is None else sweep.grid.spec
        points = (0, 0) if spec is None else (len(spec.p) * len(spec.w), len(spec.p) * sum(w != 1 for w in spec.w))
        say(plan_table(plan, evaluations, *points))
        if len(plan.settings) > MOST_LINES:
            whole = settings.output_dir / "plan.txt"
            write_text(whole, "\n".join([*plan_lines(plan), ""]))
            say(f"all settings, one per line: {whole}")
        if executor.planned():
            say(executor.planned())
        return Ended(len(plan.failed))
    return _run(sweep)


def _run(sweep: Sweep) -> Ended:
    from bmx_grid.report.running import cautions
    from bmx_grid.report.terminal import sweep_table
    from bmx_grid.sweep.output import OutputFolder
    from bmx_grid.sweep.settings import Refused

    start = time.perf_counter()
    plan, settings = sweep.plan, sweep.settings
    if not plan.settings:
        left = [Refused(one.label, f"left out: it {one.reason}") for one in plan.left_out]
        say(sweep_table([], [*plan.failed, *left]))
        return Ended(len(plan.failed) + len(left), failed=(*plan.failed, *left))
    n_cached = sum(planned.cached for planned in plan.settings)
    has_grid = sweep.grid is not None and any(one.setting.explainer is not None for one in plan.settings)
    grid = f", {len(sweep.grid.spec.p) * len(sweep.grid.spec.w):,} grid points each" if has_grid and sweep.grid else ""
    say(
        f"{settings.name}: {counted(len(plan.settings), 'setting')} ({n_cached} cached){grid}, "
        f"at most {counted(plan.n_texts, 'text')} to score"
    )
    for line in cautions(plan):
        print(line, file=sys.stderr)
    if plan.repeats:
        n_repeated = len(next(iter(plan.repeats.values())))
        say(f"{n_repeated} of them again with seed {', '.join(map(str, plan.repeats))}: seeds.parquet")
    elif settings.seeds:
        say(f"seeds: nothing is repeated: no explainer is random, or there is no seed but {settings.seed}")
    for one in plan.left_out:
        say(f"left out: {one.label}: {one.reason}")
    for one in plan.failed:
        print(f"failed: {one.label}: {one.reason}", file=sys.stderr)
    folder = OutputFolder(settings.output_dir)
    fingerprint = sweep.fingerprint()
    unchanged = folder.unchanged(fingerprint) if all(planned.cached for planned in plan.everything) else None
    if unchanged is not None and sweep.is_tracked():
        say(str(unchanged["said"]))
        say(f"0 texts scored in {time.perf_counter() - start:.1f} s; {settings.output_dir}/ is up to date")
        return Ended(int(unchanged["n_failed"]), len(plan.settings))
    return _score_and_write(sweep, folder, fingerprint, start)


def _score_and_write(sweep: Sweep, folder: OutputFolder, fingerprint: str, start: float) -> Ended:
    from bmx_grid.analysis import headline as found_headline
    from bmx_grid.analysis.frames import frames_of
    from bmx_grid.analysis.tested import gains_with_intervals
    from bmx_grid.commands.headline import headline
    from bmx_grid.commands.watched import Watched
    from bmx_grid.progress import working
    from bmx_grid.report.analysis_files import analyse_sweep
    from bmx_grid.report.figures.grid import draw_setting, is_current
    from bmx_grid.report.figures.heat import draw_heat_map
    from bmx_grid.report.running import setting_line
    from bmx_grid.report.terminal import fitted, in_words, sweep_table
    from bmx_grid.sweep.complete import complete
    from bmx_grid.sweep.evaluated import refused
    from bmx_grid.sweep.results import evaluation_tables, write_parquet
    from bmx_grid.sweep.runner import run_plan
    from bmx_grid.sweep.settings import Refused
    from bmx_grid.sweep.tracking.base import CURVES, GRID, HEAT_MAP, ending

    plan, settings, tracker, grid = sweep.plan, sweep.settings, sweep.tracker, sweep.grid
    out = settings.output_dir
    for place in (out, out / "figures", out / "settings", out / "recipes", out.parent):
        remove_abandoned(place)
    folder.begin(planned_files(sweep))
    outcomes: list[Outcome] = []
    said: set[str] = set()
    failed: list[Refused] = []
    written: list[Path] = []
    try:
        tracker.start(settings.name, sweep.config, out)
        tracker.reads(planned.setting.segments for planned in plan.settings)
        with sweep.executor.kept() as executor:
            with Watched(plan, sweep.evaluations, len(executor.workers())) as progress:
                for outcome in run_plan(
                    plan,
                    sweep.evaluations,
                    executor=executor,
                    seed=settings.seed,
                    stop_on_error=settings.on_error == "stop",
                    progress=progress.scored,
                ):
                    outcomes.append(outcome)
                    progress.ended(outcome)
                    progress.say(setting_line(outcome, len(outcomes), len(plan.settings), said))
                    result = outcome.result
                    if result is None:
                        continue
                    figure = out / "figures" / f"{result.file_stem}.png"
                    table = out / "settings" / f"{result.file_stem}.parquet"
                    heat_map = out / "settings" / f"{result.file_stem}.png"
                    if result.has_grid:
                        if not is_current(figure, result.fingerprint):
                            draw_setting(result, figure)
                        if grid is not None and tracker.wants_artifacts(result):
                            write_parquet(evaluation_tables(grid, [result])["grid"], table)
                            draw_heat_map(result, heat_map)
                        written += [figure, table, heat_map]
                    tracker.log(result, {CURVES: figure, HEAT_MAP: heat_map, GRID: table})
                repeats = _run_repeats(sweep, executor, outcomes, progress)
            with working("comparing metrics and language pairs"):
                results, incomplete = complete(outcomes, sweep.evaluations, executor)
        again = [outcome for _, outcome in repeats]
        failed = [*refused([*outcomes, *again], plan), *incomplete]
        tables, files = write_tables(sweep, results, [*outcomes, *again])
        seeds = write_seeds(sweep, results, repeats)
        tables |= seeds
        recipes = write_chosen(sweep, results)
        written += [*files, *(out / f"{name}.parquet" for name in seeds), *recipes]
        note = ""
        sentences: Sequence[str] = ()
        if settings.analysis and results:
            with working("analysis, figures and report"):
                found = analyse_sweep(results, plan, grid, out, settings.questions, tables=tables, seed=settings.seed)
            note = found.note
            written += [*found.files, *(folder.known_below("tables") if found.unchanged else [])]
            written += folder.known_below("figures") if found.unchanged else []
            if found.analysis is not None:
                tracker.analysis(found.numbers, found.files)
                sentences = found.analysis.ask(found_headline.compute).leads
        moved = folder.move_aside([*written, out / "config.yaml"])
        write_text(out / "config.yaml", sweep.config)
        written.append(out / "config.yaml")
        own = [*(path for path in written if path.parent == out), *recipes]
        tracker.headline(*headline(results, failed, sentences), own)
    except BaseException as error:
        failed.append(Refused(settings.name, f"stopped by {type(error).__name__}"))
        tracker.finish(ending(error), failed)
        raise
    tracker.finish("finished", failed)
    of_settings = sweep_table(results, failed, tested=gains_with_intervals(frames_of(tables, ("points", "tests"))))
    words = "\n".join(in_words(sentences))
    shown = "\n".join(part for part in (words, of_settings, note) if part)
    say(f"\n{shown}\n")
    scored = sum(one.result.n_texts for one in (*outcomes, *again) if one.result is not None)
    say(f"{counted(scored, 'text')} scored in {time.perf_counter() - start:.1f} s; written to {out}/:")
    names = ", ".join(listed(out, written))
    say(f"{fitted(f'  {names}')}{tracker.where()}")
    if moved:
        say(f"{counted(len(moved), 'file')} of an earlier run moved to {out}/previous/")
    if tracker.failure is not None:
        say(f"not tracked: {tracker.failure}")
    if all(outcome.result is not None for outcome in (*outcomes, *again)):
        folder.finish(fingerprint, written, said=shown, n_failed=len(failed))
    return Ended(len(failed), len(results), tuple(failed))


def _run_repeats(
    sweep: Sweep, executor: Executor, outcomes: Sequence[Outcome], progress: Watched
) -> list[tuple[int, Outcome]]:
    """Run the settings of further seeds, unless the sweep stops at a failure; their outcomes with their seed."""
    from bmx_grid.report.running import setting_line
    from bmx_grid.sweep.repeats import run_repeats

    plan, stops = sweep.plan, sweep.settings.on_error == "stop"
    done = [outcome.result for outcome in outcomes if outcome.result is not None]
    if sweep.grid is None or not plan.repeats or (stops and len(done) < len(plan.settings)):
        return []
    found: list[tuple[int, Outcome]] = []
    total, said = len(plan.everything) - len(plan.settings), set[str]()
    for seed, outcome in run_repeats(
        plan, done, sweep.grid, executor=executor, stop_on_error=stops, progress=progress.scored
    ):
        found.append((seed, outcome))
        progress.say(setting_line(outcome, len(found), total, said))
    return found


def _check_tables(evaluations: Mapping[str, Evaluation]) -> None:
    """Raise ConfigError where a table would be written twice."""
    of: dict[str, str] = dict.fromkeys(("scores", "settings", "ceilings", "seeds"), "the sweep itself")
    for name, evaluation in evaluations.items():
        for table in evaluation.ROWS:
            if table in of:
                raise ConfigError(f"evaluation.{name} writes {table}.parquet, and so does {of[table]}; leave one out.")
            of[table] = f"evaluation.{name}"


def _check_said(evaluations: Mapping[str, Evaluation], *, n_metrics: int, n_explainers: int) -> None:
    """Raise ConfigError where no evaluation would have anything to say of these settings."""
    reasons = {name: one.silent(n_metrics, n_explainers) for name, one in evaluations.items()}
    if all(reasons.values()):
        said = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
        raise ConfigError(
            f"evaluation=[{','.join(evaluations)}] would write nothing: {said}. Add levels to evaluation for metrics "
            "alone, or add an explainer."
        )


def _check_lacking(lacking: Mapping[str, str]) -> None:
    """Say which evaluations are left out for want of what they need. Raise ConfigError where none is left."""
    left_out = {name: reason for name, reason in lacking.items() if reason}
    if len(left_out) == len(lacking):
        said = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ConfigError(
            f"evaluation=[{','.join(lacking)}] would write nothing: {said}. Add grid or levels to evaluation, or "
            "another data set."
        )
    for name, reason in left_out.items():
        say(f"evaluation {name} left out: {reason}")


def _config_text(config: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(masked(config), sort_keys=False, allow_unicode=True)
