"""From a sweep to its settings in three moves: read, combine, prepare."""

from __future__ import annotations

from collections.abc import Mapping

from bmx_grid.attribution.languages import warn_of_languages
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.combine import combine, left_out
from bmx_grid.sweep.members import members, unavailable
from bmx_grid.sweep.prepare import prepare
from bmx_grid.sweep.read import read
from bmx_grid.sweep.settings import ALONE, PlanOptions, Refused, SweepPlan


def make_plan(
    datasets: Mapping[str, DatasetReader],
    metrics: Mapping[str, Metric],
    explainers: Mapping[str, Explainer],
    options: PlanOptions,
) -> SweepPlan:
    """Read the data and expand the sweep: what will be run, what is cached, what is left out and why. Scores nothing.

    explainers: without any, the metrics alone are evaluated.
    Data that cannot be read fail their own settings only. Raises ConfigError for what is no such pattern, or costs
    more than the user allows, and BmxError for a metric or explainer that is a file and names none.
    """
    data = read(datasets, options)
    failed = list(data.failed)
    known_metrics = members("metric", metrics, data.sets, failed)
    known_explainers = members("explainer", explainers, data.sets, failed)
    candidates = combine(data, known_metrics, known_explainers if explainers else {ALONE: None}, options.leave_out)
    everything, fallen = prepare(candidates, data, options)
    settings = tuple(setting for setting in everything if setting.repeated_with is None)
    repeats = tuple(setting for setting in everything if setting.repeated_with is not None)
    without = left_out(fallen, options.leave_out)
    if options.seeds and settings and not repeats:
        reason = f"no explainer is random, or there is no seed but {options.seed}: nothing is repeated"
        without.append(Refused("seeds", reason))
    for combination in fallen:
        if combination.kind == "failed":
            failed.append(Refused(combination.label, combination.reason, combination.error))
    missing = unavailable({**known_metrics, **known_explainers})
    plan = SweepPlan(settings, repeats, tuple(without), tuple(failed), missing)
    warn_of_languages((setting.metric_name, setting.metric, setting.segments.language_pair) for setting in settings)
    plan.costs()  # refuses what costs more than the user allows
    return plan
