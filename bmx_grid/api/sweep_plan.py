"""The first step of a sweep: its configuration is checked, its parts are built, and its settings are listed."""

from __future__ import annotations

import itertools
import sys
import typing
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml

from bmx_grid.analysis.finished import FigureOptions, figure_options
from bmx_grid.boosts.base import Boost
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.core.configure import build, build_options, check_seed, convert
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import Component, digest, file_digest
from bmx_grid.core.secrets import asking_nobody, mask_secrets
from bmx_grid.core.storage import check_place as check_cache
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.grid import GridSpec
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.executors.base import Executor
from bmx_grid.sweep.folder import strip_runtime_keys
from bmx_grid.sweep.further import add_further_texts
from bmx_grid.sweep.judge import fingerprint, grid_evaluation
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.settings import NotRun, PlanOptions, SweepPlan
from bmx_grid.sweep.tracking import Tracker

MAX_SEEDS = 100
OF_THE_SWEEP = ("scores", "settings", "ceilings", "seeds")  # tables that no evaluation writes


def check_name(name: str) -> None:
    """Raise ConfigError for a name that a folder cannot have, or that leads elsewhere."""
    if "/" in name or not name.strip(". ") or not name.isprintable():
        raise ConfigError(f"name: {name[:60]!r} cannot name a sweep and its folder; write one without slashes.")


@dataclass(frozen=True)
class Settings(PlanOptions):
    """The keys at the top of a configuration. Raises ConfigError naming the key and the value."""

    name: str
    output_dir: Path
    dry_run: bool
    on_error: Literal["continue", "stop"]
    analysis: bool
    questions: tuple[str, ...]
    figures: FigureOptions

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit must be at least 1 source per language pair, or null for all; got {self.limit}.")
        check_name(self.name)
        check_seed(self.seed)
        for seed in self.seeds:
            check_seed(seed, "seeds: a seed")
        if len(set(self.seeds)) < len(self.seeds) or len(self.seeds) > MAX_SEEDS:
            raise ConfigError(
                f"seeds: a seed is repeated, or there are too many; write at most {MAX_SEEDS} different seeds."
            )
        if self.questions and not self.analysis:
            raise ConfigError("questions require the analysis, but analysis=false; leave out one of the two.")


@dataclass(frozen=True)
class Sweep:
    """A planned sweep and the parts that run it.

    spec: the (p, w) of the grid and the correlation; None without a grid. left_out: evaluations that the data cannot
    have. config: the whole configuration. log: the printed lines.
    """

    settings: Settings
    plan: SweepPlan
    spec: GridSpec | None
    evaluations: Mapping[str, Evaluation]
    left_out: Sequence[NotRun]
    executor: Executor
    tracker: Tracker
    config: Mapping[str, Any]
    log: list[str] = field(default_factory=list)

    @cached_property
    def configuration(self) -> str:
        """SHA-256 of the keys of the configuration that results depend on."""
        return digest(config_text(strip_runtime_keys(self.config)))

    def fingerprint(self) -> str:
        """SHA-256 of all that the files of this sweep depend on, known before anything is computed."""
        from bmx_grid._version import __version__

        refused = [(setting.label, setting.reason) for setting in (*self.plan.left_out, *self.plan.failures)]
        of_settings = [fingerprint(setting, self.evaluations) for setting in self.plan.everything]
        parts = [__version__, self.configuration, vars(self.settings.figures), of_settings, refused]
        # A question of a user has no VERSION: one that failed and was mended must be answered again.
        sources = [file_digest(Path(file)) for file in map(_source_file, self.settings.questions) if file]
        return digest([*parts, sources] if sources else parts)


def _source_file(module: str) -> str | None:
    """The file of a module that was imported; None if it has none."""
    return getattr(sys.modules.get(module), "__file__", None)


def plan_sweep(config: Mapping[str, Any]) -> Sweep:
    """The sweep of a configuration. Raises BmxError for mistakes, before anything runs."""
    hints = typing.get_type_hints(Settings)
    values: dict[str, Any] = {}
    for key, hint in hints.items():
        values[key] = figure_options(config[key]) if key == "figures" else convert(config[key], hint, key)
    settings = Settings(**values)
    datasets = build_options(config, "dataset", DatasetReader)
    metrics = build_options(config, "metric", Metric)
    explainers = build_options(config, "explainer", Explainer, least=0)
    evaluations = build_options(config, "evaluation", Evaluation)
    executor = build(config.get("executor"), Executor, "executor")
    tracker = build(config.get("tracking"), Tracker, "tracking")
    grid = grid_evaluation(evaluations)
    _check_names(datasets, evaluations)
    if settings.seeds and grid is None:
        raise ConfigError(
            "seeds: further seeds compare gains at points of the grid; add grid to evaluation, or write seeds=[]."
        )
    reading = [name for name, evaluation in evaluations.items() if evaluation.reads_ground_truth]
    nodes = config.get("explainer") or {}
    for name, explainer in explainers.items():
        node = nodes.get(name)
        if isinstance(node, Mapping) and node.get("sides") is not None:
            _check_sides(name, explainer, reading)
        elif grid is not None and not reading and not explainer.is_imported:
            explainers[name] = replace(explainer, sides=("hypothesis",))  # nothing reads the words of the other side
    if settings.analysis:
        from bmx_grid.analysis.finished import options_of
        from bmx_grid.analysis.questions import load_questions

        load_questions(options_of(config).questions)  # imported before anything runs
    executor.check()
    if not settings.dry_run:
        check_cache(settings.cache_dir)
    with asking_nobody(dry=settings.dry_run):
        plan = make_plan(datasets, metrics, explainers, settings)
    _warn_of_labels(plan, evaluations)
    applicable, left_out = _applicable(evaluations, plan)
    plan = add_further_texts(plan, applicable, settings.cache_dir)
    return Sweep(settings, plan, None if grid is None else grid.spec, applicable, left_out, executor, tracker, config)


def _warn_of_labels(plan: SweepPlan, evaluations: Mapping[str, Evaluation]) -> None:
    """Warn of boosts by power means if an explanation of a file has labels, which are two values only."""
    boosts: dict[str, Boost] = {}
    for evaluation in evaluations.values():
        if isinstance(evaluation, BoostEvaluation):
            boosts |= evaluation.boosts
    by_power_mean = [name for name, boost in boosts.items() if isinstance(boost, PowerMeanGrid)]
    labelled: dict[str, None] = {}  # explainers without duplicates, in order
    for setting in plan.settings:
        words = {} if setting.words_of_file is None else setting.words_of_file.words
        if any(scores.are_labels for scores in words.values()):
            labelled[setting.explainer_name] = None
    if by_power_mean and labelled:
        warnings.warn(
            f"{', '.join(labelled)}: the words have labels, not scores. A power mean cannot use labels: "
            f"replace boost={','.join(by_power_mean)} by boost=[severity].",
            stacklevel=2,
        )


def _check_names(datasets: Mapping[str, DatasetReader], evaluations: Mapping[str, Evaluation]) -> None:
    """Raise ConfigError if two data sets have one name, or two evaluations write one table."""
    named = {reader.name: key for key, reader in datasets.items()}
    for key, reader in datasets.items():
        if named[reader.name] != key:
            both = f"{key} and {named[reader.name]} are both named '{reader.name}'"
            raise ConfigError(f"the datasets {both}; give one another name, as dataset.{key}.name=NAME.")
    tables = [*OF_THE_SWEEP, *itertools.chain.from_iterable(part.ROWS for part in evaluations.values())]
    for table in tables:
        if tables.count(table) > 1:
            raise ConfigError(f"two evaluations, or one and the sweep itself, write the table {table}; leave one out.")


def _check_sides(name: str, explainer: Explainer, reading: Sequence[str]) -> None:
    """Raise ConfigError if the configuration names fewer sides than grid and boosts read.

    reading: the evaluations that read the words of both sides.
    """
    sides = explainer.sides or ()
    if reading and "ground_truth" not in sides:
        raise ConfigError(
            f"explainer.{name}.sides=[{','.join(sides)}], but {' and '.join(reading)} read the words of both sides; "
            f"write explainer.{name}.sides=both, or grid.side=hypothesis and boosts of that side."
        )
    if "hypothesis" not in sides:
        raise ConfigError(
            f"explainer.{name}.sides=[{','.join(sides)}]: grids and boosts read hypotheses; add hypothesis."
        )


def _applicable(
    evaluations: Mapping[str, Evaluation], plan: SweepPlan
) -> tuple[Mapping[str, Evaluation], list[NotRun]]:
    """The evaluations that write something, and the others, with reasons. Raises ConfigError if all are left out."""
    settings = plan.settings
    if not settings:
        return evaluations, []
    n_metrics = len({setting.metric_name for setting in settings})  # an imported one may represent many
    n_explainers = len({setting.explainer_name for setting in settings if setting.explainer is not None})
    sets = [setting.segments for setting in settings]
    applicable = dict(evaluations)
    left_out = []
    for name, evaluation in evaluations.items():
        reason = evaluation.inapplicable(n_metrics, n_explainers, sets)
        if reason:
            del applicable[name]
            left_out.append(NotRun("left out", f"evaluation {name}", reason))
    if not applicable:
        each = "; ".join(f"{part.label.removeprefix('evaluation ')}: {part.reason}" for part in left_out)
        raise ConfigError(f"evaluation=[{','.join(evaluations)}] would write nothing: {each}. Add grid or levels.")
    return applicable, left_out


def config_text(config: Mapping[str, Any]) -> str:
    """A configuration as YAML, without passwords."""
    return yaml.dump(mask_secrets(config), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes parts that are objects, as callers in Python give them, as their fingerprint."""


_Dumper.add_multi_representer(Component, lambda dumper, part: dumper.represent_dict(part.fingerprint()))
