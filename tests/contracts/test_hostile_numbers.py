"""Every number of every option: one that cannot be is refused with its name when the option is built, or it works."""

import contextlib
import dataclasses
import math
import types
import typing

import numpy as np
import pytest
from fakes import HashMetric

from bmx_grid.attribution.explain import explain_items
from bmx_grid.boosts.base import Boost
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import BmxError, ConfigError
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.aggregation import Aggregation
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.executors.base import Executor
from bmx_grid.sweep.tracking import Tracker
from bmx_grid.words.perturbation import Item

KINDS = {
    "metric": Metric,
    "explainer": Explainer,
    "dataset": DatasetReader,
    "aggregation": Aggregation,
    "executor": Executor,
    "tracking": Tracker,
    "boost": Boost,
}
NEEDS_MORE = ("input_marginalization", "spans")  # a model, a server: these are built only
HOSTILE = (-1, 0, 10**9, math.nan)
ITEM = Item(source="ein Satz mit Worten", reference="a sentence of words", hypothesis="the sentence has words")


def numeric_fields():
    for group, kind in KINDS.items():
        for name in options(group):
            if name == "recipe":  # a file of the user, without numbers
                continue
            cls = type(build(load_option(group, name, 0), kind, f"{group}.{name}"))
            hints = typing.get_type_hints(cls)
            for field in dataclasses.fields(cls):
                hint = hints[field.name]
                kinds = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
                if field.init and kinds & {int, float}:
                    yield group, name, field.name, float in kinds


FIELDS = list(numeric_fields())


@pytest.mark.parametrize(("group", "name", "field", "is_float"), FIELDS, ids=str)
def test_a_hostile_number_is_refused_by_name_or_works(group, name, field, is_float):
    for value in HOSTILE:
        node = load_option(group, name, 0) | {field: float(value) if is_float else value}
        refused = ""
        try:
            built = build(node, KINDS[group], f"{group}.{name}")
        except ConfigError as error:
            refused = str(error)
        if refused:
            assert field in refused
            continue
        assert not (isinstance(value, float) and math.isnan(value)), f"{field}=nan was accepted"
        if group == "metric" and name not in ("imported", "human") and built.cost == "light":  # these score no texts
            assert np.isfinite(built.score([ITEM])).all()
        if group == "explainer" and name not in NEEDS_MORE and getattr(built, "num_samples", 0) < 10**6:
            with contextlib.suppress(BmxError):  # a side too long for so few texts is refused when it is met
                (explanation,) = explain_items(HashMetric(), built, [ITEM], 0)
                assert all(np.isfinite(values).all() for values in explanation.attributions.values())
