"""What every option of every group promises that computes something: its identity, and its way to other processes."""

import pickle

import pytest
from fakes import composed

from bmx_grid.boosts.base import Boost
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.identity import canonical_json
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.aggregation import Aggregation
from bmx_grid.metrics.base import Metric

KINDS = {"metric": Metric, "explainer": Explainer, "boost": Boost, "aggregation": Aggregation, "evaluation": Evaluation}
OPTIONS = [(group, name) for group in KINDS for name in options(group) if name != "recipe"]


@pytest.mark.parametrize(("group", "name"), OPTIONS)
def test_every_field_is_classified_and_it_travels_in_a_small_parcel(group, name):
    if group == "evaluation":
        node = composed(f"evaluation=[{name}]")["evaluation"][name]
    else:
        node = load_option(group, name, 0)
    part = build(node, KINDS[group], f"{group}.{name}")
    assert canonical_json(part.fingerprint())
    parcel = pickle.dumps(part)
    assert len(parcel) < 10_000
    assert pickle.loads(parcel) == part
