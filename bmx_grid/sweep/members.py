"""The metrics and explainers that the options of a sweep stand for, and those that are unavailable here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from bmx_grid.attribution.contracts import check_explainer, check_metric
from bmx_grid.core.errors import BmxError, ComponentError, ConfigError, component_errors
from bmx_grid.core.storage import check_name
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.settings import Refused

MetricOrExplainer = TypeVar("MetricOrExplainer", Metric, Explainer)


def members(
    group: str, parts: Mapping[str, MetricOrExplainer], sets: Sequence[SegmentSet], failed: list[Refused]
) -> dict[str, MetricOrExplainer]:
    """The parts by name, where an option may stand for several; adds to `failed` those that break their contract.

    Raises ConfigError for a name that occurs twice, BmxError for options that stand for nothing, such as a file that
    names no metric.
    """
    known: dict[str, MetricOrExplainer] = {}
    for option, part in parts.items():
        members: Mapping[str, MetricOrExplainer] = {}
        try:
            with component_errors():
                members = part.members(option, sets)
                for member in members.values():
                    check_metric(member) if isinstance(member, Metric) else check_explainer(member)
        except BmxError as error:
            if not members and not isinstance(error, ComponentError):
                raise
            failed.append(Refused(f"{group} {option}", str(error), error))
            continue
        for name in members:
            check_name(group, name, f"{group}.{option}")
            if name in known:
                raise ConfigError(
                    f"{group}.{option}: there is another {group} '{name}'; give one of them another name."
                )
        known |= members
    return known


def unavailable(parts: Mapping[str, Metric | Explainer]) -> dict[str, str]:
    """The reasons of the parts that are unavailable here, by their name."""
    reasons = {}
    for name, part in parts.items():
        try:
            with component_errors():
                part.check()
        except BmxError as error:
            reasons[name] = str(error)
    return reasons
