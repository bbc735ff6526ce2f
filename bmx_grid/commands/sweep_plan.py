"""The first step of a sweep: its configuration is checked, its parts are built, and its settings are listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from bmx_grid.commands.settings import Settings, chosen_option, chosen_options
from bmx_grid.configure import build, check_distinct
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.errors import ConfigError
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.evaluations.grid import GridEvaluation
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import Component, digest
from bmx_grid.masking import masked
from bmx_grid.metrics.base import Metric
from bmx_grid.storage.addresses import check as check_cache
from bmx_grid.sweep.evaluation import fingerprint
from bmx_grid.sweep.executors.base import Executor
from bmx_grid.sweep.output import RUNTIME_KEYS
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.settings import SweepPlan
from bmx_grid.sweep.tracking.base import Tracker

OF_THE_SWEEP = ("scores", "settings", "ceilings", "seeds")  # tables that no evaluation writes


@dataclass(frozen=True)
class Sweep:
    """A planned sweep and the parts that run it.

    left_out: why evaluations that the data cannot have are left out, by name. config: the whole configuration as YAML.
    """

    settings: Settings
    plan: SweepPlan
    evaluations: Mapping[str, Evaluation]
    left_out: Mapping[str, str]
    executor: Executor
    tracker: Tracker
    config: str
    config_digest: str

    @property
    def grid(self) -> GridEvaluation | None:
        """The grid among the evaluations, which the analysis rests on."""
        return next((one for one in self.evaluations.values() if isinstance(one, GridEvaluation)), None)

    def fingerprints(self) -> dict[str, str]:
        """Of every planned setting, by its label."""
        return {
            one.label: fingerprint(one, self.plan.clusters_of(one), self.evaluations, self.settings.seed)
            for one in (planned.setting for planned in self.plan.settings)
        }

    def is_tracked(self) -> bool:
        """Whether nothing is left to track."""
        out = self.settings.output_dir
        return type(self.tracker) is Tracker or self.tracker.is_complete(
            self.settings.name, self.config, out, self.fingerprints()
        )

    def fingerprint(self) -> str:
        """SHA-256 of all that the files of this sweep depend on, known before anything is computed."""
        from bmx_grid._version import __version__

        refused = [(one.label, one.reason) for one in (*self.plan.left_out, *self.plan.failed)]
        of_settings = list(self.fingerprints().values())
        return digest([__version__, self.config_digest, self.settings.figures, of_settings, refused])


def plan_sweep(config: Mapping[str, Any]) -> Sweep:
    """The sweep of a configuration. Raises BmxError for mistakes, before anything runs."""
    settings = Settings.from_config(config)
    datasets = {name: build(node, DatasetReader, f"dataset.{name}") for name, node in chosen_options(config, "dataset")}
    check_distinct("dataset", {key: reader.name for key, reader in datasets.items()})
    metrics = {name: build(node, Metric, f"metric.{name}") for name, node in chosen_options(config, "metric")}
    explainers = {
        name: build(node, Explainer, f"explainer.{name}") for name, node in chosen_options(config, "explainer", least=0)
    }
    evaluations = _evaluations(config, settings)
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
    left_out = _left_out(evaluations, plan)
    evaluations = {name: one for name, one in evaluations.items() if name not in left_out}
    kept = {key: node for key, node in config.items() if key not in RUNTIME_KEYS}
    whole, identity = _text(config), digest(_text(kept))
    return Sweep(settings, plan, evaluations, left_out, executor, tracker, whole, identity)


def _evaluations(config: Mapping[str, Any], settings: Settings) -> dict[str, Evaluation]:
    """The evaluations by name. Raises ConfigError where two write one table."""
    evaluations = {
        # the grid's keys are at the top of the configuration, and errors name them as they are written there
        name: build(node, Evaluation, name if name == "grid" else f"evaluation.{name}")
        for name, node in chosen_options(config, "evaluation")
    }
    writer = dict.fromkeys(OF_THE_SWEEP, "the sweep itself")
    for name, evaluation in evaluations.items():
        for table in evaluation.ROWS:
            if table in writer:
                raise ConfigError(
                    f"evaluation.{name} writes the table {table}, and so does {writer[table]}; leave one out."
                )
            writer[table] = f"evaluation.{name}"
    if settings.seeds and not any(isinstance(one, GridEvaluation) for one in evaluations.values()):
        raise ConfigError(
            "seeds: what differs between seeds is the gain at points of the grid; add grid to evaluation, or write "
            "seeds=[]."
        )
    return evaluations


def _left_out(evaluations: Mapping[str, Evaluation], plan: SweepPlan) -> dict[str, str]:
    """Why evaluations would write nothing, by name. Raises ConfigError where none is left."""
    if not plan.settings:
        return {}
    settings = [planned.setting for planned in plan.settings]
    n_metrics = len({setting.metric_name for setting in settings})  # an imported one may stand for many
    n_explainers = len({setting.explainer_name for setting in settings if setting.explainer is not None})
    sets = [setting.segments for setting in settings]
    reasons = {name: one.inapplicable(n_metrics, n_explainers, sets) for name, one in evaluations.items()}
    left_out = {name: reason for name, reason in reasons.items() if reason}
    if len(left_out) == len(evaluations):
        told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ConfigError(
            f"evaluation=[{','.join(evaluations)}] would write nothing: {told}. Add grid or levels to evaluation, or "
            "another data set."
        )
    return left_out


def _text(config: Mapping[str, Any]) -> str:
    return yaml.dump(masked(config), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes parts that are objects, as callers in Python give them, as their fingerprint."""


_Dumper.add_multi_representer(Component, lambda dumper, part: dumper.represent_dict(part.fingerprint()))
