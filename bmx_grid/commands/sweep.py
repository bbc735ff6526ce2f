"""One composed configuration -> objects -> plan -> run -> what is written and shown. Nothing is computed here."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bmx_grid.configure import build, convert
from bmx_grid.errors import ConfigError
from bmx_grid.files import remove_abandoned, write_text
from bmx_grid.segments import check_name
from bmx_grid.terminal import say

if TYPE_CHECKING:
    from bmx_grid.sweep.results import SettingResult
    from bmx_grid.sweep.runner import Outcome


@dataclass(frozen=True)
class Settings:
    """The top-level keys, checked."""

    name: str
    data_dir: Path
    cache_dir: Path
    output_dir: Path
    limit: int | None
    leave_out: tuple[str, ...]
    seed: int
    dry_run: bool
    on_error: Literal["continue", "stop"]
    analysis: bool

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Settings:
        """Raises ConfigError naming the key and the value."""
        limit = convert(config["limit"], int | None, "limit")
        if limit is not None and limit < 1:
            raise ConfigError(f"limit must be at least 1 segment a language pair, or null for all; got {limit}.")
        seed = convert(config["seed"], int, "seed")
        if seed < 0:
            raise ConfigError(f"seed must be 0 or more, got {seed}.")
        folders = {key: Path(convert(config[key], str, key)) for key in ("data_dir", "cache_dir", "output_dir")}
        return cls(
            name=convert(config["name"], str, "name"),
            **folders,
            limit=limit,
            leave_out=convert(config["leave_out"], tuple[str, ...], "leave_out"),
            seed=seed,
            dry_run=convert(config["dry_run"], bool, "dry_run"),
            on_error=convert(config["on_error"], Literal["continue", "stop"], "on_error"),
            analysis=convert(config["analysis"], bool, "analysis"),
        )


def run(config: Mapping[str, Any]) -> int:
    """Run one sweep; the number of settings (or whole parts) that failed.

    Raises BmxError for mistakes found before anything runs.
    """
    from bmx_grid.datasets.base import DatasetReader
    from bmx_grid.explainers.base import Explainer
    from bmx_grid.metrics.base import Metric
    from bmx_grid.sweep.executors.base import Executor
    from bmx_grid.sweep.plan import make_plan
    from bmx_grid.sweep.tracking.mlflow import Tracker

    settings = Settings.from_config(config)
    datasets = {name: build(node, DatasetReader, f"dataset.{name}") for name, node in _options(config, "dataset")}
    metrics = {name: build(node, Metric, f"metric.{name}") for name, node in _options(config, "metric")}
    explainers = {name: build(node, Explainer, f"explainer.{name}") for name, node in _options(config, "explainer")}
    executor = build(_one(config, "executor"), Executor, "executor")
    tracker = build(_one(config, "tracking"), Tracker, "tracking")
    spec, fixed = _grid(config)
    plan = make_plan(
        datasets,
        metrics,
        explainers,
        data_dir=settings.data_dir,
        cache_dir=settings.cache_dir,
        limit=settings.limit,
        seed=settings.seed,
        leave_out=settings.leave_out,
    )
    if settings.dry_run:
        from bmx_grid.report.progress import plan_table

        boosted = sum(weight != 1 for weight in spec.w)
        say(plan_table(plan, len(spec.p) * len(spec.w), len(spec.p) * boosted))
        return len(plan.failed)
    return _run(config, settings, plan, spec, fixed, executor, tracker)


def _run(
    config: Mapping[str, Any], settings: Settings, plan: Any, spec: Any, fixed: Any, executor: Any, tracker: Any
) -> int:
    from bmx_grid.analysis.as_json import numbers
    from bmx_grid.report.analysis_files import analyse_sweep
    from bmx_grid.report.figures.grid import draw_setting, is_current
    from bmx_grid.report.progress import Progress, setting_line
    from bmx_grid.report.terminal import sweep_table
    from bmx_grid.sweep.plan import Refused
    from bmx_grid.sweep.results import grid_table, write_parquet
    from bmx_grid.sweep.runner import refused, run_plan

    start = time.perf_counter()
    out = settings.output_dir
    if not plan.settings:
        left = [Refused(one.label, f"left out: it {one.reason}") for one in plan.left_out]
        say(sweep_table([], [*plan.failed, *left]))
        return len(plan.failed) + len(left)
    text = _config_text(config)
    write_text(out / "config.yaml", text)
    n_cached = sum(planned.cached for planned in plan.settings)
    n_points = len(spec.p) * len(spec.w)
    say(
        f"{settings.name}: {len(plan.settings)} settings ({n_cached} cached), {n_points:,} grid points each, "
        f"at most {plan.n_texts:,} texts to score"
    )
    for one in plan.left_out:
        say(f"left out: {one.label}: {one.reason}")
    for one in plan.failed:
        print(f"failed: {one.label}: {one.reason}", file=sys.stderr)
    for folder in (out, out / "figures", out / "settings", out.parent):
        remove_abandoned(folder)
    outcomes: list[Outcome] = []
    said: set[str] = set()
    failed: list[Refused] = []
    try:
        tracker.start(settings.name, text, out)
        with Progress(plan.n_texts) as progress:
            for outcome in run_plan(
                plan,
                spec,
                fixed=fixed,
                executor=executor,
                seed=settings.seed,
                stop_on_error=settings.on_error == "stop",
                progress=progress.advance,
            ):
                outcomes.append(outcome)
                progress.say(setting_line(outcome, len(outcomes), len(plan.settings), said))
                if outcome.result is not None:
                    stem = outcome.result.file_stem
                    figure, table = out / "figures" / f"{stem}.png", out / "settings" / f"{stem}.parquet"
                    if not is_current(figure, outcome.result.fingerprint):
                        draw_setting(outcome.result, figure)
                    if tracker.wants_artifacts(outcome.result):
                        write_parquet(grid_table([outcome.result]), table)
                    tracker.log(outcome.result, figure, table)
        failed = refused(outcomes, plan)
        results = [outcome.result for outcome in outcomes if outcome.result is not None]
        written = _write(out, results, outcomes)
        note = ""
        if settings.analysis and results:
            found = analyse_sweep(results, plan, spec, fixed, out)
            note = found.note
            if found.analysis is not None:
                tracker.record(numbers(found.analysis), found.files)
                written += ["analysis.json", "report.html", "tables/"]
    except BaseException as error:
        failed.append(Refused(settings.name, f"stopped by {type(error).__name__}"))
        raise
    finally:
        tracker.finish(out, failed)
    if tracker.failure is not None:
        failed.append(Refused("tracking", tracker.failure))
    say(sweep_table(results, failed))
    scored = sum(result.n_texts for result in results)
    say(f"{scored:,} texts scored in {time.perf_counter() - start:.1f} s; written to {out}/:")
    say(f"  {', '.join(written)}{tracker.where()}")
    if note:
        say(note)
    return len(failed)


def _write(out: Path, results: Sequence[SettingResult], outcomes: Sequence[Outcome]) -> list[str]:
    """Write the tables of a sweep; the names of all that is in its folder. Raises StoreError."""
    from bmx_grid.sweep.results import grid_table, settings_table, write_csv, write_parquet

    written = ["config.yaml"]
    if results:
        write_parquet(grid_table(results), out / "grid.parquet")
        rows = settings_table(results)
        write_parquet(rows, out / "settings.parquet")
        write_csv(rows, out / "settings.csv")
        written = ["grid.parquet", "settings.parquet", "settings.csv", "config.yaml", "figures/*.png"]
    details = [f"{outcome.label}\n{outcome.details}" for outcome in outcomes if outcome.details]
    if details:
        write_text(out / "errors.txt", "\n".join(details))
        written.append("errors.txt")
    return written


def _options(config: Mapping[str, Any], group: str) -> list[tuple[str, Any]]:
    """The chosen options of a list group, in order. Raises ConfigError when there is none."""
    chosen = config.get(group)
    if not isinstance(chosen, Mapping) or not chosen:
        raise ConfigError(f"{group}: choose at least one, as {group}=[NAME,…].")
    for name in chosen:
        check_name(group, str(name), f"{group}.{name}")
    return [(str(name), node) for name, node in chosen.items()]


def _one(config: Mapping[str, Any], group: str) -> Mapping[str, Any]:
    """The one chosen option of a group, or a key with keys below it. Raises ConfigError when it is not there."""
    node = config.get(group)
    if not isinstance(node, Mapping):
        raise ConfigError(f"{group}: expected keys below it, got {node!r}; leave its default in place.")
    return node


def _grid(config: Mapping[str, Any]) -> tuple[Any, dict[str, tuple[float, float]]]:
    """The grid to compute, and the (w, p) evaluated beside the best of each explainer. Raises ConfigError."""
    from bmx_grid.measures.aggregation import Aggregation
    from bmx_grid.measures.grid import GridSpec, p_values

    node = _one(config, "grid")
    aggregation = build(_one(config, "aggregation"), Aggregation, "aggregation")
    ends = {key: convert(_one(node, "p").get(key), float, f"grid.p.{key}") for key in ("start", "stop", "step")}
    spec = GridSpec(
        p=tuple(p_values(**ends).tolist()),
        w=convert(node.get("w"), tuple[float, ...], "grid.w"),
        side=convert(node.get("side"), Literal["both", "hypothesis"], "grid.side"),
        aggregation=aggregation,
        correlation=convert(node.get("correlation"), Literal["pearson", "spearman", "kendall"], "grid.correlation"),
    )
    fixed = convert(node.get("fixed"), dict[str, dict[str, float]], "grid.fixed")
    for name, point in fixed.items():
        if set(point) != {"w", "p"}:
            raise ConfigError(f"grid.fixed.{name}: expected {{w: …, p: …}}, got {dict(point)!r}.")
    return spec, {name: (point["w"], point["p"]) for name, point in fixed.items()}


def _config_text(config: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
